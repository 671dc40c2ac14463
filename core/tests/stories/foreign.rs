//! Law 6: what is not ours is reported and left alone, wherever it stands; and no credential is issued whose names are taken.

use crate::common::{World, findings, tenant, told, troubles, world, writes};
use ramparts_core::{
    name::Access,
    observed::{Layer, Presence},
    plan::Verdict,
};

fn foreign<T>() -> Presence<T> {
    Presence::Foreign("it has no mark".into())
}

#[test]
fn law_6_a_new_tenant_is_not_issued_anything_while_one_of_its_names_is_taken() {
    let mut database = world();
    database.database.database = foreign();
    let mut group = world();
    group.database.groups.insert(Access::ReadWrite, foreign());
    let mut ledger = world();
    ledger.store.foreign_record = Some("/ramparts/_ledger/acme/1".into());
    for (world, finding) in [
        (database, "database wrong: NotOwned"),
        (group, "database wrong: NotOwned"),
        (ledger, "store wrong: NotOwned"),
        (world().foreign_role("acme_api"), "database api wrong: NotOwned"),
        (world().foreign_user("prod-acme-api"), "cache api wrong: NotOwned"),
        (world().foreign_copy("api"), "store api wrong: NotOwned"),
    ] {
        let plan = world.plan(&tenant("acme").app("api").app("reporting"));
        assert_eq!((told(&plan), troubles(&plan)), (vec![], vec![finding.into()]));
        for layer in Layer::ALL {
            assert_ne!(plan.verdict(layer), Verdict::InSync, "{layer:?}, {finding}");
        }
    }
}

#[test]
fn law_6_a_foreign_login_is_left_alone_and_the_other_apps_go_on() {
    let world = world()
        .with_record(1, &["api", "reporting"])
        .with_groups()
        .with_database()
        .foreign_role("acme_api");
    let plan = world.plan(&tenant("acme").app("api").app("reporting"));
    assert_eq!(
        writes(&plan),
        [
            "create login acme_reporting",
            "configure login acme_reporting",
            "create cache user prod-acme-api",
            "add prod-acme-api to the user group",
            "publish record 1 for reporting",
        ]
    );
    assert_eq!(troubles(&plan), ["database api wrong: NotOwned"]);
}

#[test]
fn law_6_a_foreign_cache_user_is_left_alone_and_its_app_is_not_published() {
    let world = World::ready(&["api", "worker"])
        .without_copy("api")
        .without_copy("worker")
        .foreign_user("prod-acme-api");
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(writes(&plan), ["publish record 1 for worker"]);
    assert_eq!(troubles(&plan), ["cache api wrong: NotOwned"]);
}

#[test]
fn law_6_a_foreign_copy_is_not_overwritten() {
    let plan = World::ready(&["api", "worker"])
        .foreign_copy("api")
        .plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(
        (writes(&plan), findings(&plan)),
        (vec![], vec!["store api wrong: NotOwned".into()])
    );
}

#[test]
fn law_6_a_foreign_database_stops_everything() {
    let mut world = World::ready(&["api"]).without_user("prod-acme-api");
    world.database.database = foreign();
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["database wrong: NotOwned".into()])
    );
}

#[test]
fn law_6_a_foreign_group_keeps_new_logins_from_being_made() {
    let mut world = World::ready(&["api", "reporting"]).without_login("acme_reporting");
    world.database.groups.insert(Access::ReadOnly, foreign());
    let plan = world.plan(&tenant("acme").app("api").app("reporting"));
    assert_eq!(
        (writes(&plan), troubles(&plan)),
        (vec![], vec!["database wrong: NotOwned".into()])
    );
}

#[test]
fn law_6_something_foreign_in_the_ledgers_place_stops_everything() {
    let mut world = World::ready(&["api"]).without_login("acme_api");
    world.store.foreign_record = Some("/ramparts/_ledger/acme/7".into());
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store wrong: NotOwned".into()])
    );
}

#[test]
fn law_6_a_login_of_ours_under_a_name_that_a_new_app_needs_is_in_its_way() {
    // Left by an app that once had the same short.
    let mut world = World::ready(&["api"]);
    let seen = world.database.logins[&crate::common::role("acme_api")].clone();
    world
        .database
        .logins
        .insert(crate::common::role("acme_reporting_2"), seen);
    let plan = world.plan(&tenant("acme").app("api").app("reporting"));
    assert_eq!(
        (writes(&plan), troubles(&plan)),
        (vec![], vec!["database reporting wrong: NotOwned".into()])
    );
}
