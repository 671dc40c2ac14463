//! Every row of the design's table (section 7), in its order.

use crate::common::{World, app, findings, now, record, role, tenant, told, troubles, world, world::mark, writes};
use ramparts_core::{
    ledger::Body,
    name::Access,
    observed::{Membership, Presence},
    secret::Secret,
    step::Step,
};

#[test]
fn no_record_no_login_new() {
    let plan = world().plan(&tenant("acme").app("reporting"));
    assert_eq!(told(&plan)[0], "commit record 1 with credentials for reporting");
}

#[test]
fn a_record_never_published_and_half_the_objects_the_rest_is_made_from_the_ledger() {
    let world = world()
        .with_record(1, &["api", "worker"])
        .with_groups()
        .with_database()
        .with_login("api", 1);
    assert_eq!(
        told(&world.plan(&tenant("acme").app("api").app("worker"))),
        [
            "create login acme_worker",
            "configure login acme_worker <- 1",
            "create cache user prod-acme-api",
            "create cache user prod-acme-worker",
            "add prod-acme-api and prod-acme-worker to the user group <- 3 4",
            "log in as acme_api",
            "log in to the cache as prod-acme-api <- 5",
            "publish record 1 for api <- 6 7",
            "log in as acme_worker <- 1 2",
            "log in to the cache as prod-acme-worker <- 5",
            "publish record 1 for worker <- 9 10",
        ]
    );
}

#[test]
fn a_database_that_was_made_and_not_closed_is_closed_and_prepared_before_any_login() {
    let mut world = world().with_record(1, &["reporting"]).with_groups();
    world.database.database = Presence::Ours(ramparts_core::observed::DatabaseSeen {
        mark: None,
        sealed: false,
    });
    assert_eq!(
        told(&world.plan(&tenant("acme").app("reporting"))),
        [
            "close database acme to all but its own groups",
            "set privileges inside database acme <- 1",
            "create login acme_reporting <- 2",
            "configure login acme_reporting <- 3",
            "log in as acme_reporting <- 2 3 4",
            "publish record 1 for reporting <- 5",
        ]
    );
}

#[test]
fn published_and_all_there_not_one_write() {
    let plan = World::ready(&["api", "worker"]).plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(
        told(&plan),
        [
            "log in as acme_api",
            "log in to the cache as prod-acme-api",
            "log in as acme_worker",
            "log in to the cache as prod-acme-worker",
        ]
    );
    assert_eq!(findings(&plan), [""; 0]);
}

#[test]
fn a_fresh_proof_spares_even_the_login() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.pass(&mut wish, now());
    assert_eq!(told(&world.plan(&wish)), [""; 0]);
}

#[test]
fn another_role_of_the_same_name_is_proven_again() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.pass(&mut wish, now());
    world.login_mut("acme_api").oid += 1;
    assert_eq!(told(&world.plan(&wish)), ["log in as acme_api"]);
}

#[test]
fn law_1_a_dropped_login_is_made_again_by_the_same_record_under_the_same_name() {
    let world = World::ready(&["api", "worker"]).without_login("acme_api");
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(writes(&plan), ["create login acme_api", "configure login acme_api"]);
    let Step::CreateLogin { record: from, .. } = &plan.steps[0].step else {
        panic!("{:?}", plan.steps[0])
    };
    assert_eq!(*from, record(1));
    assert_eq!(findings(&plan), [""; 0]);
}

#[test]
fn law_1_a_deleted_cache_user_is_made_again_by_the_same_record_and_joins_its_group() {
    let plan = World::ready(&["api"])
        .without_user("prod-acme-api")
        .plan(&tenant("acme").app("api"));
    assert_eq!(
        writes(&plan),
        ["create cache user prod-acme-api", "add prod-acme-api to the user group"]
    );
}

#[test]
fn a_cache_user_that_cannot_be_made_does_not_keep_the_others_out_of_their_group() {
    let mut world = World::ready(&["api", "worker"]).without_user("prod-acme-worker");
    world.user_mut("prod-acme-api").membership = Membership::Outside;
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(
        told(&plan)[..3],
        [
            "create cache user prod-acme-worker",
            "add prod-acme-api to the user group",
            "add prod-acme-worker to the user group <- 1",
        ]
    );
}

#[test]
fn a_cache_user_outside_its_group_joins_it_again() {
    let mut world = World::ready(&["api"]);
    world.user_mut("prod-acme-api").membership = Membership::Outside;
    assert_eq!(
        writes(&world.plan(&tenant("acme").app("api"))),
        ["add prod-acme-api to the user group"]
    );
}

#[test]
fn a_deleted_copy_is_written_again_after_the_proof() {
    let plan = World::ready(&["api"])
        .without_copy("api")
        .plan(&tenant("acme").app("api"));
    assert_eq!(
        told(&plan),
        [
            "log in as acme_api",
            "log in to the cache as prod-acme-api",
            "publish record 1 for api <- 1 2"
        ]
    );
}

#[test]
fn law_7_a_database_that_a_copy_remembers_is_never_made_again_empty() {
    let mut world = World::ready(&["api"]).without_database();
    world.database.logins.clear();
    world.database.groups.clear();
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["database wrong: DatabaseLost".into()])
    );
}

#[test]
fn law_7_a_database_that_a_login_remembers_is_never_made_again_empty() {
    let world = World::ready(&["api"]).without_database().without_copy("api");
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["database wrong: DatabaseLost".into()])
    );
}

#[test]
fn law_7_a_database_that_the_status_remembers_is_never_made_again_empty() {
    let world = world().with_record(1, &["api"]);
    let plan = world.plan(&tenant("acme").app("api").once_ready());
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["database wrong: DatabaseLost".into()])
    );
}

#[test]
fn a_database_that_was_never_reached_before_the_crash_is_not_lost() {
    let plan = world()
        .with_record(1, &["api"])
        .with_groups()
        .plan(&tenant("acme").app("api"));
    assert_eq!(told(&plan)[0], "create database acme");
    assert_eq!(findings(&plan), [""; 0]);
}

#[test]
fn void_and_no_copy_the_password_is_unknowable_and_the_other_apps_go_on() {
    let world = World::ready(&["api", "worker"])
        .with_body(1, "uid-1", Body::Void)
        .without_copy("api")
        .without_copy("worker")
        .with_record(2, &["reporting"])
        .with_login("reporting", 2);
    let wish = tenant("acme").app("api").app("reporting").app("worker");
    // An old `issuedBefore` left in the manifest asks for nothing: it is older than the void.
    for wish in [wish.clone(), wish.issued_before("2020-01-01T00:00:00Z")] {
        let plan = world.plan(&wish);
        assert_eq!(
            told(&plan),
            ["log in as acme_reporting_2", "publish record 2 for reporting <- 1"]
        );
        assert_eq!(
            troubles(&plan),
            ["store api wrong: CredentialLost", "store worker wrong: CredentialLost"]
        );
    }
}

#[test]
fn a_lost_credential_does_not_keep_a_new_app_from_getting_its_own() {
    let world = World::ready(&["api"])
        .with_body(1, "uid-1", Body::Void)
        .without_copy("api");
    let plan = world.plan(&tenant("acme").app("api").app("reporting"));
    assert_eq!(told(&plan)[0], "commit record 2 with credentials for reporting");
    assert!(!writes(&plan).iter().any(|step| step.contains("api")), "{plan}");
}

#[test]
fn a_lost_app_has_no_credential_made_even_where_its_login_is_gone_too() {
    // Only the cache user still says that there was one.
    let world = World::ready(&["api", "worker"])
        .with_body(1, "uid-1", Body::Void)
        .without_copy("api")
        .without_copy("worker")
        .without_login("acme_api");
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(writes(&plan), [""; 0]);
    assert_eq!(
        troubles(&plan),
        ["store api wrong: CredentialLost", "store worker wrong: CredentialLost"]
    );
}

#[test]
fn law_1_a_login_set_nologin_or_expired_by_hand_has_drifted_and_is_not_altered() {
    let mut nologin = World::ready(&["api", "worker"]);
    nologin.login_mut("acme_api").can_login = false;
    let mut expired = World::ready(&["api", "worker"]);
    expired.login_mut("acme_api").expired = true;
    for (world, reason) in [(nologin, "CredentialDrift"), (expired, "LoginExpired")] {
        let plan = world.plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(writes(&plan), [""; 0]);
        assert_eq!(findings(&plan), [format!("database api wrong: {reason}")]);
        assert!(told(&plan).contains(&"log in as acme_worker".into()));
        assert!(!told(&plan).contains(&"log in as acme_api".into()));
    }
}

#[test]
fn ledger_and_copy_that_differ_are_a_conflict_and_nothing_is_made_from_either() {
    let mut by_password = World::ready(&["api", "worker"])
        .without_login("acme_api")
        .without_user("prod-acme-api");
    by_password.copy_mut("api").copy.database.password = Secret::new("CANARY other".into());
    let mut by_user = World::ready(&["api", "worker"])
        .without_login("acme_api")
        .without_user("prod-acme-api");
    by_user.copy_mut("api").copy.cache = None;
    for world in [by_password, by_user] {
        let plan = world.plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(
            (writes(&plan), findings(&plan)),
            (vec![], vec!["store api wrong: CredentialConflict".into()])
        );
    }
}

#[test]
fn an_endpoint_that_the_settings_moved_is_reported_and_the_copy_stays() {
    let plan = World::ready(&["api"]).plan(&tenant("acme").app("api").endpoint("new.example:5432"));
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["store api wrong: EndpointChanged".into()])
    );
}

#[test]
fn a_copy_of_an_older_record_is_not_published_over() {
    let world = World::ready(&["reporting"]).with_record(2, &["reporting"]);
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["store reporting wrong: NotSupported".into()])
    );
}

#[test]
fn a_group_that_was_dropped_is_made_again_before_its_logins_join_it() {
    let mut world = World::ready(&["reporting"]);
    world.database.groups.remove(&Access::ReadOnly);
    world.login_mut("acme_reporting").member_of.clear();
    if let Presence::Ours(seen) = &mut world.database.database {
        seen.sealed = false;
    }
    assert_eq!(
        told(&world.plan(&tenant("acme").app("reporting"))),
        [
            "create roles acme__readonly",
            "close database acme to all but its own groups <- 1",
            "set privileges inside database acme <- 2",
            "configure login acme_reporting <- 3",
            "log in as acme_reporting <- 3",
        ]
    );
}

#[test]
fn law_6_a_login_marked_for_another_app_or_record_is_in_other_hands() {
    for mark in [mark(Some("worker"), 1), mark(Some("api"), 2), mark(None, 1)] {
        let mut world = World::ready(&["api", "worker"]).with_record(2, &["reporting"]);
        let seen = world.login_mut("acme_api");
        seen.mark = mark.clone();
        seen.connections = 1;
        let plan = world.plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(
            (writes(&plan), findings(&plan)),
            (vec![], vec!["database api wrong: NotOwned".into()]),
            "{mark}"
        );
        assert!(!told(&plan).contains(&"log in as acme_api".into()));
    }
}

#[test]
fn law_6_a_cache_user_marked_for_another_app_or_record_is_in_other_hands() {
    for (mark, copied) in [
        (mark(Some("worker"), 1), true),
        (mark(Some("api"), 2), true),
        (mark(None, 1), false),
    ] {
        let mut world = World::ready(&["api", "worker"]).with_record(2, &["reporting"]);
        world.user_mut("prod-acme-api").mark = mark.clone();
        if !copied {
            world.store.copies.remove(&app("api"));
        }
        let plan = world.plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(
            (writes(&plan), troubles(&plan)),
            (vec![], vec!["cache api wrong: NotOwned".into()]),
            "{mark}"
        );
        assert!(
            !told(&plan).contains(&"log in to the cache as prod-acme-api".into()),
            "{mark}"
        );
    }
}

#[test]
fn a_role_of_another_name_that_bears_an_apps_mark_is_not_configured() {
    let mut world = World::ready(&["reporting"]);
    let mut twin = world.database.logins[&role("acme_reporting")].clone();
    if let Presence::Ours(seen) = &mut twin {
        seen.connections = 5;
    }
    world.database.logins.insert(role("somebody"), twin);
    assert_eq!(writes(&world.plan(&tenant("acme").app("reporting"))), [""; 0]);
}
