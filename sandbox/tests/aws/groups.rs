//! User groups through the `ElastiCache` SDK.

use crate::client::{PASSWORD, make_user, refusal, sandbox, show_user};
use aws_sdk_elasticache::Client;
use aws_sdk_elasticache::operation::modify_user_group::builders::ModifyUserGroupFluentBuilder;
use aws_sdk_elasticache::types::UserGroup;
use sandbox::aws::{Aws, Quotas, Transition};
use std::time::Duration;

const SLOW: Duration = Duration::from_hours(1);

/// A sandbox with the group `prod` and users `a`, `b` and `c` outside it.
async fn group() -> (Aws, Client) {
    let (aws, _, cache) = sandbox().await;
    aws.create_user_group("prod").unwrap();
    for id in ["a", "b", "c"] {
        make_user(&cache, id).await;
    }
    (aws, cache)
}

fn modify(cache: &Client) -> ModifyUserGroupFluentBuilder {
    cache.modify_user_group().user_group_id("prod")
}

async fn show(cache: &Client) -> UserGroup {
    let answer = cache.describe_user_groups().user_group_id("PROD").send().await.unwrap();
    answer.user_groups()[0].clone()
}

#[tokio::test]
async fn a_group_is_born_with_a_disabled_default_user() {
    let (aws, cache) = group().await;
    let group = show(&cache).await;
    assert_eq!((group.status(), group.engine()), (Some("active"), Some("redis")));
    assert_eq!(group.user_ids(), ["prod-default"]);
    assert_eq!(
        group.arn(),
        Some("arn:aws:elasticache:eu-west-1:123456789012:usergroup:prod")
    );
    let default = show_user(&cache, "prod-default").await;
    assert_eq!(
        (default.user_name(), default.access_string()),
        (Some("default"), Some("off -@all"))
    );
    assert_eq!(
        refusal(cache.delete_user().user_id("prod-default").send().await),
        "400 DefaultUserAssociatedToUserGroup"
    );
    let again = cache
        .create_user_group()
        .user_group_id("prod")
        .engine("redis")
        .user_ids("default");
    assert_eq!(refusal(again.send().await), "400 UserGroupAlreadyExists");
    assert!(
        aws.writes_since(0)
            .iter()
            .all(|call| call.operation != "CreateUserGroup" || call.outcome.as_deref() != Some("ok"))
    );
}

#[tokio::test]
async fn users_join_and_leave() {
    let (aws, cache) = group().await;
    let joined = modify(&cache)
        .user_ids_to_add("A")
        .user_ids_to_add("b")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (joined.status(), joined.user_ids()),
        (Some("active"), &["a", "b", "prod-default"].map(str::to_owned)[..])
    );
    assert_eq!(show_user(&cache, "a").await.user_group_ids(), ["prod"]);
    modify(&cache).user_ids_to_remove("a").send().await.unwrap();
    assert_eq!(aws.hand().members("prod"), ["b"]);
    let last = aws.writes_since(0).pop().unwrap();
    assert_eq!((last.key.as_str(), last.flags), ("prod", vec!["remove=a".to_owned()]));
}

#[tokio::test]
async fn while_a_group_is_modifying_the_old_membership_holds_and_nobody_else_may_change_it() {
    let (aws, cache) = group().await;
    modify(&cache).user_ids_to_add("a").send().await.unwrap();
    aws.set_delay(Transition::GroupModify, SLOW);
    let answer = modify(&cache).user_ids_to_add("b").send().await.unwrap();
    assert_eq!(answer.status(), Some("modifying"));

    let group = show(&cache).await;
    assert_eq!(group.user_ids(), ["a", "prod-default"]);
    assert_eq!(group.pending_changes().unwrap().user_ids_to_add(), ["b"]);
    assert_eq!(aws.hand().members("prod"), ["a"]);
    let other = modify(&cache).user_ids_to_add("c").send().await;
    assert!(
        other
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_invalid_user_group_state_fault()
    );
    assert_eq!(refusal(other), "400 InvalidUserGroupState");
    let delete = cache.delete_user_group().user_group_id("prod").send().await;
    assert_eq!(refusal(delete), "400 InvalidUserGroupState");

    aws.hand().finish();
    let group = show(&cache).await;
    assert_eq!((group.status(), group.pending_changes()), (Some("active"), None));
    assert_eq!(aws.hand().members("prod"), ["a", "b"]);
}

#[tokio::test]
async fn a_request_with_one_bad_user_is_refused_as_a_whole() {
    let (aws, cache) = group().await;
    modify(&cache).user_ids_to_add("a").send().await.unwrap();
    let value = "400 InvalidParameterValue";
    for (request, expected) in [
        (
            modify(&cache).user_ids_to_add("b").user_ids_to_add("none"),
            "404 UserNotFound",
        ),
        (modify(&cache).user_ids_to_add("b").user_ids_to_add("a"), value),
        (modify(&cache).user_ids_to_add("b").user_ids_to_remove("c"), value),
        (modify(&cache).user_ids_to_add("b").user_ids_to_remove("none"), value),
        (
            modify(&cache).user_ids_to_add("b").user_ids_to_add("default"),
            "400 DuplicateUserName",
        ),
        (
            modify(&cache).user_ids_to_add("b").user_ids_to_remove("prod-default"),
            "400 DefaultUserRequired",
        ),
        (modify(&cache), "400 InvalidParameterCombination"),
        (
            cache.modify_user_group().user_group_id("none").user_ids_to_add("b"),
            "404 UserGroupNotFound",
        ),
    ] {
        assert_eq!(refusal(request.send().await), expected);
    }
    assert_eq!(aws.hand().members("prod"), ["a"]);
}

#[tokio::test]
async fn a_user_that_is_not_active_cannot_join() {
    let (aws, cache) = group().await;
    assert!(aws.hand().hold_user("b", SLOW));
    let refused = modify(&cache).user_ids_to_add("a").user_ids_to_add("b").send().await;
    assert_eq!(refusal(refused), "400 InvalidUserState");
    assert!(aws.hand().members("prod").is_empty());
    aws.hand().finish();
    modify(&cache)
        .user_ids_to_add("a")
        .user_ids_to_add("b")
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn deleting_a_user_takes_it_out_of_its_groups() {
    let (aws, cache) = group().await;
    modify(&cache)
        .user_ids_to_add("a")
        .user_ids_to_add("b")
        .send()
        .await
        .unwrap();
    aws.set_delay(Transition::UserDelete, SLOW);
    cache.delete_user().user_id("a").send().await.unwrap();
    assert_eq!(aws.hand().members("prod"), ["b"]);
    let leave = modify(&cache).user_ids_to_remove("a").send().await;
    assert_eq!(refusal(leave), "400 InvalidParameterValue");
}

#[tokio::test]
async fn the_members_of_a_group_are_limited() {
    let (aws, cache) = group().await;
    aws.set_quotas(Quotas {
        users_per_group: 2,
        groups: 1,
        ..Quotas::default()
    });
    modify(&cache).user_ids_to_add("a").send().await.unwrap();
    assert_eq!(
        refusal(modify(&cache).user_ids_to_add("b").send().await),
        "400 UserGroupQuotaExceeded"
    );
    let second = cache
        .create_user_group()
        .user_group_id("second")
        .engine("redis")
        .user_ids("default");
    assert_eq!(refusal(second.send().await), "400 UserGroupQuotaExceeded");
}

#[tokio::test]
async fn groups_are_created_listed_and_deleted() {
    let (aws, cache) = group().await;
    let create = |id: &str| cache.create_user_group().user_group_id(id).engine("redis");
    assert_eq!(refusal(create("x").send().await), "400 DefaultUserRequired");
    assert_eq!(refusal(create("x").user_ids("none").send().await), "404 UserNotFound");
    aws.set_delay(Transition::GroupCreate, SLOW);
    let made = create("Second").user_ids("default").user_ids("a").send().await.unwrap();
    assert_eq!(
        (made.user_group_id(), made.status()),
        (Some("second"), Some("creating"))
    );
    assert!(
        aws.hand().members("second").is_empty(),
        "nobody is a member of a group that is not there yet"
    );
    aws.hand().finish();
    assert_eq!(aws.hand().members("second"), ["a"]);

    let all = cache.describe_user_groups().send().await.unwrap();
    let ids: Vec<_> = all
        .user_groups()
        .iter()
        .filter_map(|group| group.user_group_id())
        .collect();
    assert_eq!(ids, ["prod", "second"]);
    let deleted = cache.delete_user_group().user_group_id("second").send().await.unwrap();
    assert_eq!(deleted.status(), Some("deleting"));
    let missing = cache.describe_user_groups().user_group_id("second").send().await;
    assert!(
        missing
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_user_group_not_found_fault()
    );
    assert_eq!(refusal(missing), "404 UserGroupNotFound");
}

#[tokio::test]
async fn a_valkey_group_holds_only_users_that_prove_themselves() {
    let (_aws, cache) = group().await;
    let user = |id: &str, engine: &str| {
        cache
            .create_user()
            .user_id(id)
            .user_name(id)
            .engine(engine)
            .access_string("on ~* -@all +@read")
    };
    user("open", "redis").no_password_required(true).send().await.unwrap();
    user("vk", "valkey").passwords(PASSWORD).send().await.unwrap();
    let create = |id: &str, member: &str| {
        cache
            .create_user_group()
            .user_group_id(id)
            .engine("valkey")
            .user_ids(member)
    };
    assert_eq!(
        refusal(create("v", "open").send().await),
        "400 InvalidParameterCombination"
    );
    create("v", "vk").user_ids("a").send().await.unwrap();
    assert_eq!(
        refusal(modify(&cache).user_ids_to_add("vk").send().await),
        "400 InvalidParameterCombination"
    );
}

#[tokio::test]
async fn a_person_changes_members_without_a_trace_in_the_log() {
    let (aws, cache) = group().await;
    let (hand, mark) = (aws.hand(), aws.mark());
    hand.create_user("by-hand", "on ~a:*", PASSWORD, &[("ramparts", "prod")])
        .unwrap();
    let made = hand.user("by-hand").unwrap();
    assert_eq!(
        (made.access_string.as_str(), made.tags["ramparts"].as_str()),
        ("on ~a:* -@all", "prod")
    );
    assert_eq!(
        hand.create_user("by-hand", "on ~a:*", PASSWORD, &[]).unwrap_err().code,
        "UserAlreadyExists"
    );
    assert!(hand.add_member("prod", "a") && hand.add_member("prod", "b"));
    assert!(hand.remove_member("prod", "b"));
    assert_eq!(hand.members("prod"), ["a"]);
    assert!(hand.hold_group("prod", SLOW));
    assert_eq!(hand.group_status("prod"), Some("modifying"));
    assert_eq!(
        refusal(modify(&cache).user_ids_to_add("c").send().await),
        "400 InvalidUserGroupState"
    );
    assert!(hand.delete_user("a"));
    assert_eq!(hand.user("a"), None);
    assert_eq!(aws.calls_since(mark).len(), 1);
}

#[tokio::test]
async fn a_change_of_state_ends_by_itself_when_its_time_is_up() {
    let (aws, cache) = group().await;
    aws.set_delay(Transition::GroupModify, Duration::from_millis(100));
    modify(&cache).user_ids_to_add("a").send().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(show(&cache).await.status(), Some("active"));
}
