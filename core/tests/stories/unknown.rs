//! Law 3: what could not be read leads to no write anywhere it could matter, and to no commit at all.

use crate::common::{World, app, fault, findings, role, tenant, told, troubles, user, world, writes};
use ramparts_core::{
    failure::Failure,
    ledger::Body,
    name::Access,
    observed::{Layer, Presence},
    plan::Verdict,
    reason::Reason,
    step::Step,
};

fn blind(mut world: World, layer: Layer) -> World {
    match layer {
        Layer::Store => world.store_fault = Some(fault(Reason::StoreUnreachable)),
        Layer::Database => world.database_fault = Some(fault(Reason::DatabaseUnreachable)),
        Layer::Cache => world.cache_fault = Some(fault(Reason::CacheUnreachable)),
    }
    world
}

fn half_built() -> World {
    world().with_record(1, &["api"]).with_groups().with_database()
}

#[test]
fn law_3_a_new_tenant_waits_until_every_layer_was_read() {
    for layer in Layer::ALL {
        let plan = blind(world(), layer).plan(&tenant("acme").app("api"));
        assert_eq!(told(&plan), [""; 0], "{layer:?}");
        assert_eq!(troubles(&plan).len(), 1, "{layer:?}: {plan}");
        assert_eq!(plan.verdict(layer), Verdict::Unknown);
        for other in Layer::ALL {
            assert_ne!(
                plan.verdict(other),
                Verdict::InSync,
                "{other:?} while {layer:?} is unknown"
            );
        }
    }
}

#[test]
fn law_3_nothing_is_written_anywhere_while_the_store_or_the_database_is_unknown() {
    for layer in [Layer::Store, Layer::Database] {
        for world in [
            half_built(),
            World::ready(&["api"]),
            World::ready(&["api"]).without_user("prod-acme-api"),
        ] {
            let plan = blind(world, layer).plan(&tenant("acme").app("api").app("worker").plan("large"));
            assert_eq!(writes(&plan), [""; 0], "{layer:?}");
        }
    }
}

#[test]
fn law_3_without_the_store_nobody_even_knows_what_to_prove() {
    let plan = blind(World::ready(&["api"]), Layer::Store).plan(&tenant("acme").app("api"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store unknown: StoreUnreachable".into()])
    );
}

#[test]
fn law_3_while_a_server_cannot_be_described_what_is_published_is_proven_all_the_same() {
    for (layer, finding) in [
        (Layer::Database, "database unknown: DatabaseUnreachable"),
        (Layer::Cache, "cache unknown: CacheUnreachable"),
    ] {
        let plan = blind(World::ready(&["api"]), layer).plan(&tenant("acme").app("api"));
        assert_eq!(
            told(&plan),
            ["log in as acme_api", "log in to the cache as prod-acme-api"]
        );
        assert_eq!(findings(&plan), [finding]);
    }
}

#[test]
fn law_3_while_the_cache_is_unknown_the_database_goes_on_and_nothing_is_published() {
    let plan = blind(half_built(), Layer::Cache).plan(&tenant("acme").app("api"));
    assert_eq!(
        told(&plan),
        [
            "create login acme_api",
            "configure login acme_api <- 1",
            "log in as acme_api <- 1 2"
        ]
    );
    assert_eq!(troubles(&plan), ["cache unknown: CacheUnreachable"]);
    assert_eq!(
        plan.verdict(Layer::Store),
        Verdict::Waiting,
        "the copy is still to come"
    );
}

#[test]
fn law_3_an_app_without_a_cache_is_published_while_the_cache_is_unknown() {
    let mut world = world()
        .with_record(1, &["reporting"])
        .with_groups()
        .with_database()
        .with_login("reporting", 1);
    world.cache_fault = Some(fault(Reason::CacheUnreachable));
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(writes(&plan), ["publish record 1 for reporting"]);
}

#[test]
fn law_3_no_new_app_is_issued_while_any_layer_is_unknown() {
    for layer in Layer::ALL {
        let plan = blind(World::ready(&["api"]), layer).plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(writes(&plan), [""; 0], "{layer:?}");
    }
}

#[test]
fn law_3_a_tenant_created_again_does_nothing_while_any_layer_is_unknown() {
    for layer in Layer::ALL {
        let world = blind(
            World::ready(&["api"]).without_login("acme_api").without_copy("api"),
            layer,
        );
        let plan = world.plan(&tenant("acme").app("api").uid("uid-2"));
        assert_eq!(writes(&plan), [""; 0], "{layer:?}");
    }
}

/// One object that could not be read, in each place where one can stand.
fn unreadable(world: &World) -> Vec<(&'static str, World)> {
    let failure = || fault(Reason::AccessDenied);
    let mut copy = world.clone();
    copy.store.copies.insert(app("reporting"), Presence::Unknown(failure()));
    let mut database = world.clone();
    database.database.database = Presence::Unknown(failure());
    let mut group = world.clone();
    group
        .database
        .groups
        .insert(Access::ReadOnly, Presence::Unknown(failure()));
    let mut login = world.clone();
    login
        .database
        .logins
        .insert(role("acme_reporting"), Presence::Unknown(failure()));
    let mut user_ = world.clone();
    user_
        .cache
        .users
        .insert(user("prod-acme-worker"), Presence::Unknown(failure()));
    vec![
        ("copy", copy),
        ("database", database),
        ("group", group),
        ("login", login),
        ("user", user_),
    ]
}

fn commits(plan: &ramparts_core::plan::Plan) -> bool {
    plan.steps.iter().any(|planned| {
        matches!(
            planned.step,
            Step::CommitIssue(_) | Step::CommitOpen { .. } | Step::CommitVoid { .. } | Step::FillRecord { .. }
        )
    })
}

#[test]
fn law_3_one_object_that_could_not_be_read_keeps_everything_from_being_committed() {
    let wish = tenant("acme").app("api").app("reporting").app("worker");
    let lost = || World::ready(&["api"]).lost_record(1).confirmed(1);
    for (what, start) in [
        ("new", world()),
        ("a new app", World::ready(&["api"])),
        ("a lost record", lost()),
        ("a lost record and copy", lost().without_copy("api")),
    ] {
        for (where_, world) in unreadable(&start) {
            let plan = world.plan(&wish);
            assert!(!commits(&plan), "{what}, {where_} unknown:\n{plan}");
            assert!(
                troubles(&plan).iter().any(|it| it.contains("unknown")),
                "{what}, {where_} unknown:\n{plan}"
            );
        }
    }
}

#[test]
fn law_3_one_object_that_could_not_be_read_keeps_a_tenant_created_again_from_writing() {
    let wish = tenant("acme").app("api").app("reporting").app("worker").uid("uid-2");
    for (where_, world) in unreadable(&World::ready(&["api"]).without_copy("api")) {
        assert_eq!(writes(&world.plan(&wish)), [""; 0], "{where_} unknown");
    }
}

#[test]
fn law_3_a_database_is_not_made_while_a_copy_that_may_remember_one_cannot_be_read() {
    let mut world = world().with_record(1, &["reporting"]);
    world
        .store
        .copies
        .insert(app("reporting"), Presence::Unknown(fault(Reason::AccessDenied)));
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(writes(&plan), [""; 0]);
    assert_eq!(findings(&plan), ["store reporting unknown: AccessDenied"]);
}

#[test]
fn law_3_a_database_is_not_made_while_a_login_that_may_remember_one_cannot_be_read() {
    let mut world = world().with_record(1, &["reporting"]);
    world
        .database
        .logins
        .insert(role("acme_reporting"), Presence::Unknown(fault(Reason::Unexpected)));
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(writes(&plan), [""; 0]);
    assert_eq!(findings(&plan), ["database reporting unknown: Unexpected"]);
}

#[test]
fn law_3_a_copy_that_cannot_be_read_holds_only_its_own_app() {
    let mut world = World::ready(&["api", "reporting"])
        .without_login("acme_reporting")
        .without_copy("reporting");
    world
        .store
        .copies
        .insert(app("api"), Presence::Unknown(fault(Reason::AccessDenied)));
    let plan = world.plan(&tenant("acme").app("api").app("reporting"));
    assert_eq!(
        writes(&plan),
        [
            "create login acme_reporting",
            "configure login acme_reporting",
            "publish record 1 for reporting"
        ]
    );
    assert_eq!(findings(&plan), ["store api unknown: AccessDenied"]);
}

#[test]
fn law_3_a_user_that_cannot_be_read_is_neither_made_nor_joined_nor_proven() {
    let mut world = World::ready(&["api"]).without_copy("api");
    world
        .cache
        .users
        .insert(user("prod-acme-api"), Presence::Unknown(fault(Reason::Throttled)));
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(told(&plan), ["log in as acme_api"]);
    assert_eq!(troubles(&plan), ["cache api unknown: Throttled"]);
}

#[test]
fn law_3_a_server_that_is_not_enrolled_is_unknown_and_a_person_is_told() {
    let mut world = World::ready(&["api"]);
    world.database_fault = Some(Failure::blocked(Reason::NotEnrolled, "server main was never enrolled"));
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(writes(&plan), [""; 0]);
    assert_eq!(troubles(&plan), ["database unknown: NotEnrolled"]);
}

#[test]
fn law_3_a_void_does_not_make_an_unreadable_copy_a_lost_one() {
    let mut world = world()
        .with_body(1, "uid-1", Body::Void)
        .with_groups()
        .with_database()
        .with_login("reporting", 1);
    world
        .store
        .copies
        .insert(app("reporting"), Presence::Unknown(fault(Reason::AccessDenied)));
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(
        (writes(&plan), troubles(&plan)),
        (vec![], vec!["store reporting unknown: AccessDenied".into()])
    );
}
