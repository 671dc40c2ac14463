//! Users and user groups at ElastiCache.

use std::time::Duration;

use futures::future::join_all;
use ramparts::aws::{CreatedUser, Joined};
use ramparts_core::{
    failure::Class,
    mark::Mark,
    name::CacheUser,
    observed::{CacheView, Membership, Presence},
    reason::Reason,
};
use sandbox::aws::{Fault, Times, Transition};

use crate::bench::{Bench, GROUP, acme, app, bench, installation, number, password, user, users_of};

const SLOW: Duration = Duration::from_mins(1);

async fn look(bench: &Bench, app: &str) -> Presence<ramparts_core::observed::CacheUserSeen> {
    let view = bench.users.observe(&acme(), &[user(app)]).await.unwrap();
    view.user(&user(app)).clone()
}

async fn membership(bench: &Bench, app: &str) -> Membership {
    let seen = look(bench, app).await;
    let Presence::Ours(user) = seen else { panic!("{seen:?}") };
    user.membership
}

#[tokio::test]
async fn without_users_nothing_is_asked() {
    let bench = bench().await;
    assert_eq!(bench.users.observe(&acme(), &[]).await.unwrap(), CacheView::default());
    assert_eq!(bench.users.join(&[]).await.unwrap(), Joined::Done);
    assert_eq!(bench.aws.calls_since(0).len(), 0);
}

#[tokio::test]
async fn a_user_is_made_with_its_password_its_rules_and_its_mark() {
    let bench = bench().await;
    assert_eq!(look(&bench, "api").await, Presence::Absent);
    bench.create_user("api", &password('a')).await.unwrap();
    let stored = bench.aws.hand().user("prod-acme-api").unwrap();
    assert_eq!(stored.name, "prod-acme-api");
    assert_eq!(stored.passwords, [password('a').expose()]);
    assert!(
        stored
            .access_string
            .starts_with("on ~acme:* resetchannels &acme:* -@all +"),
        "{}",
        stored.access_string
    );
    let Presence::Ours(seen) = look(&bench, "api").await else {
        panic!("not ours")
    };
    let mark = Mark {
        installation: installation(),
        tenant: acme(),
        app: Some(app("api")),
        record: number(1),
        layout: None,
    };
    assert_eq!(
        (seen.mark, seen.pending, seen.membership),
        (mark, None, Membership::Outside)
    );
}

#[tokio::test]
async fn a_user_that_the_service_is_still_making_is_pending() {
    let bench = bench().await;
    bench.aws.set_delay(Transition::UserCreate, SLOW);
    let created = bench.create_user("api", &password('a')).await.unwrap();
    assert_eq!(created, CreatedUser::Pending("creating".to_owned()));
    let Presence::Ours(seen) = look(&bench, "api").await else {
        panic!("not ours")
    };
    assert_eq!(seen.pending.as_deref(), Some("creating"));
    let Joined::Pending(why) = bench.users.join(&[user("api")]).await.unwrap() else {
        panic!("joined")
    };
    assert!(why.contains("creating"), "{why}");
}

#[tokio::test]
async fn a_user_that_exists_keeps_its_password() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    let failure = bench.create_user("api", &password('b')).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::LostRace),
        "{failure}"
    );
    assert_eq!(
        bench.aws.hand().user("prod-acme-api").unwrap().passwords,
        [password('a').expose()]
    );
}

#[tokio::test]
async fn after_a_lost_reply_the_user_is_seen_as_ours() {
    let bench = bench().await;
    bench.aws.fail("CreateUser", Fault::LostReply, Times::Count(1));
    let failure = bench.create_user("api", &password('a')).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::CacheUnreachable)
    );
    assert_eq!(
        bench.aws.count("elasticache.CreateUser"),
        1,
        "the SDK does not try again by itself"
    );
    assert!(matches!(look(&bench, "api").await, Presence::Ours(_)));
}

#[tokio::test]
async fn a_user_that_we_did_not_make_is_foreign() {
    let bench = bench().await;
    let ours = [
        ("ramparts:installation", "prod"),
        ("ramparts:app", "api"),
        ("ramparts:record", "1"),
    ];
    let tenant = |name| [&ours[..], &[("ramparts:tenant", name)]].concat();
    let other = [
        ("ramparts:installation", "test"),
        ("ramparts:tenant", "acme"),
        ("ramparts:record", "1"),
    ];
    for (name, tags) in [
        ("prod-acme-api", vec![("owner", "somebody")]),
        ("prod-acme-api", tenant("other")),
        ("prod-acme-api", other.to_vec()),
        ("somebody", tenant("acme")),
    ] {
        bench.raw_user("prod-acme-api", name, &tags).await;
        let seen = look(&bench, "api").await;
        assert!(matches!(seen, Presence::Foreign(_)), "{name} {tags:?}: {seen:?}");
        bench.aws.hand().delete_user("prod-acme-api");
    }
}

#[tokio::test]
async fn tags_that_claim_to_be_ours_and_cannot_be_understood_are_unknown() {
    let bench = bench().await;
    bench
        .raw_user(
            "prod-acme-api",
            "prod-acme-api",
            &[("ramparts:tenant", "acme"), ("ramparts:record", "one")],
        )
        .await;
    let Presence::Unknown(failure) = look(&bench, "api").await else {
        panic!("known")
    };
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Blocked, Reason::Malformed),
        "{failure}"
    );
}

#[tokio::test]
async fn tags_that_the_service_does_not_show_yet_do_not_make_a_user_absent() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    let fault = Fault::Error {
        code: "UserNotFound".to_owned(),
        status: 404,
    };
    bench.aws.fail("ListTagsForResource", fault, Times::UntilCleared);
    let view = users_of(&bench.clients, GROUP)
        .observe(&acme(), &[user("api")])
        .await
        .unwrap();
    let Presence::Unknown(failure) = view.user(&user("api")) else {
        panic!("{view:?}")
    };
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::CacheUserPending)
    );
}

#[tokio::test]
async fn the_tags_of_a_member_are_asked_for_once_until_it_is_seen_absent() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    bench.users.join(&[user("api")]).await.unwrap();
    look(&bench, "api").await;
    assert_eq!(
        bench.aws.count("elasticache.ListTagsForResource"),
        0,
        "who made it knows its tags"
    );
    let restarted = users_of(&bench.clients, GROUP);
    for _ in 0..3 {
        let view = restarted.observe(&acme(), &[user("api")]).await.unwrap();
        assert!(matches!(view.user(&user("api")), Presence::Ours(_)));
    }
    assert_eq!(bench.aws.count("elasticache.ListTagsForResource"), 1);
    bench.aws.hand().delete_user("prod-acme-api");
    restarted.observe(&acme(), &[user("api")]).await.unwrap();
    bench.raw_user("prod-acme-api", "prod-acme-api", &[]).await;
    let view = restarted.observe(&acme(), &[user("api")]).await.unwrap();
    assert!(matches!(view.user(&user("api")), Presence::Foreign(_)), "{view:?}");
}

#[tokio::test]
async fn a_user_made_in_the_place_of_ours_between_two_looks_is_foreign() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    bench.users.join(&[user("api")]).await.unwrap();
    assert_eq!(membership(&bench, "api").await, Membership::Member);
    let hand = bench.aws.hand();
    hand.delete_user("prod-acme-api");
    hand.create_user("prod-acme-api", "on ~* +@all", "0123456789abcdef", &[])
        .unwrap();
    let seen = look(&bench, "api").await;
    assert!(matches!(seen, Presence::Foreign(_)), "{seen:?}");
    hand.add_member(GROUP, "prod-acme-api");
    let seen = look(&bench, "api").await;
    assert!(
        matches!(seen, Presence::Foreign(_)),
        "what was seen to be another's is not remembered as ours: {seen:?}"
    );
}

#[tokio::test]
async fn membership_counts_what_is_under_way() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    assert_eq!(membership(&bench, "api").await, Membership::Outside);
    bench.aws.set_delay(Transition::GroupModify, Duration::from_millis(300));
    assert!(matches!(
        bench.users.join(&[user("api")]).await.unwrap(),
        Joined::Pending(_)
    ));
    let view = bench.users.observe(&acme(), &[user("api")]).await.unwrap();
    assert_eq!(view.group_busy.as_deref(), Some("modifying"));
    assert_eq!(membership(&bench, "api").await, Membership::Joining);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(membership(&bench, "api").await, Membership::Member);
    bench.aws.set_delay(Transition::GroupModify, SLOW);
    let remove = bench.clients.elasticache.modify_user_group().user_group_id(GROUP);
    remove.user_ids_to_remove("prod-acme-api").send().await.unwrap();
    assert_eq!(membership(&bench, "api").await, Membership::Leaving);
}

#[tokio::test]
async fn a_group_that_is_changing_takes_users_later() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    bench.aws.hand().hold_group(GROUP, SLOW);
    let Joined::Pending(why) = bench.users.join(&[user("api")]).await.unwrap() else {
        panic!("joined")
    };
    assert!(why.contains("modifying"), "{why}");
    assert_eq!(bench.aws.hand().members(GROUP), Vec::<String>::new());
}

#[tokio::test]
async fn users_that_join_at_once_do_not_fail_each_other() {
    let bench = bench().await;
    let apps = ["api", "worker", "web", "cron", "mail"];
    for app in apps {
        bench.create_user(app, &password('a')).await.unwrap();
    }
    let users: Vec<CacheUser> = apps.iter().map(|app| user(app)).collect();
    let joins = join_all(users.iter().map(|user| bench.users.join(std::slice::from_ref(user)))).await;
    for joined in joins {
        joined.unwrap();
    }
    assert_eq!(bench.aws.hand().members(GROUP).len(), apps.len());
}

#[tokio::test]
async fn a_user_that_is_gone_or_joined_already_is_looked_at_again() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    bench.users.join(&[user("api")]).await.unwrap();
    for who in ["api", "worker"] {
        let failure = bench.users.join(&[user(who)]).await.unwrap_err();
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Transient, Reason::LostRace),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn a_group_that_is_not_there_waits_for_a_person() {
    let bench = bench().await;
    let nowhere = users_of(&bench.clients, "nowhere");
    let rules = "on ~acme:* -@all";
    for failure in [
        nowhere.observe(&acme(), &[user("api")]).await.unwrap_err(),
        nowhere.join(&[user("api")]).await.unwrap_err(),
        nowhere
            .create_user(&acme(), &app("api"), number(1), &user("api"), rules, &password('a'))
            .await
            .unwrap_err(),
    ] {
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Blocked, Reason::UnknownPlacement),
            "{failure}"
        );
        assert!(failure.message.contains("user group nowhere"), "{failure}");
    }
    assert_eq!(bench.aws.count("elasticache.CreateUser"), 0);
}
