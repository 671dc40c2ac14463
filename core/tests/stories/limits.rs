//! A plan changes limits, never credentials: only what differs is named to the server, only our own keys are reset, and it reaches
//! every login of the tenant.

use crate::common::{World, record, tenant, told, world, writes};
use ramparts_core::{
    name::RoleName,
    plan::Plan,
    step::{LoginChanges, Step},
};

fn configured(plan: &Plan) -> Vec<(&RoleName, &LoginChanges)> {
    plan.steps
        .iter()
        .filter_map(|planned| match &planned.step {
            Step::ConfigureLogin { login, changes } => Some((login, changes)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_plan_change_names_only_what_differs_and_resets_only_our_keys() {
    let mut world = World::ready(&["api"]);
    world
        .login_mut("acme_api")
        .settings
        .insert("log_statement".into(), "all".into());
    let plan = world.plan(&tenant("acme").app("api").plan("large"));
    let changes = configured(&plan)[0].1;
    assert_eq!(changes.connections, Some(80));
    assert_eq!(changes.set, [("temp_file_limit".to_owned(), "1GB".to_owned())].into());
    assert_eq!(
        changes.reset,
        ["work_mem"],
        "log_statement is no plan's: somebody else set it"
    );
    assert_eq!(changes.join, None);
}

#[test]
fn law_1_a_plan_change_reaches_every_login_and_touches_nothing_else() {
    // A retained app, and a login of an older record.
    let world = World::ready(&["api", "worker"])
        .with_record(2, &["api"])
        .with_login("api", 2)
        .with_copy("api", 2);
    let plan = world
        .with_cache_user("api", 2)
        .plan(&tenant("acme").app("api").plan("large"));
    assert_eq!(
        writes(&plan),
        [
            "configure login acme_api",
            "configure login acme_api_2",
            "configure login acme_worker"
        ]
    );
}

#[test]
fn a_limit_changed_by_hand_is_set_back() {
    let mut world = World::ready(&["reporting"]);
    world.login_mut("acme_reporting").connections = -1;
    world
        .login_mut("acme_reporting")
        .settings
        .insert("work_mem".into(), "4GB".into());
    let plan = world.plan(&tenant("acme").app("reporting"));
    let changes = LoginChanges {
        connections: Some(20),
        set: [("work_mem".to_owned(), "16MB".to_owned())].into(),
        ..LoginChanges::default()
    };
    assert_eq!(configured(&plan), [(&crate::common::role("acme_reporting"), &changes)]);
}

#[test]
fn a_login_that_left_its_group_joins_it_again() {
    let mut world = World::ready(&["worker"]);
    world.login_mut("acme_worker").member_of.clear();
    let plan = world.plan(&tenant("acme").app("worker"));
    let changes = LoginChanges {
        join: Some(crate::common::role("acme__readwrite")),
        ..LoginChanges::default()
    };
    assert_eq!(configured(&plan), [(&crate::common::role("acme_worker"), &changes)]);
}

#[test]
fn an_owner_that_no_longer_acts_as_its_group_does_so_again_before_it_is_published() {
    let mut world = World::ready(&["api"]).without_copy("api");
    world.login_mut("acme_api").settings.remove("role");
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        told(&plan),
        [
            "configure login acme_api",
            "log in as acme_api <- 1",
            "log in to the cache as prod-acme-api",
            "publish record 1 for api <- 2 3",
        ]
    );
}

#[test]
fn an_app_keeps_the_access_that_it_was_issued_with() {
    // The settings make it an owner now; its login was issued as readOnly, and a rotation would change that.
    let mut world = World::ready(&["reporting"]);
    if let ramparts_core::ledger::Body::Issue { apps, .. } =
        &mut world.store.ledger.records.get_mut(&record(1)).unwrap().body
    {
        apps.get_mut("reporting").unwrap().access = ramparts_core::name::Access::ReadWrite;
    }
    world.login_mut("acme_reporting").member_of = vec![crate::common::role("acme__readwrite")];
    assert_eq!(writes(&world.plan(&tenant("acme").app("reporting"))), [""; 0]);
}

#[test]
fn a_database_of_an_older_layout_is_prepared_again() {
    let mut world = World::ready(&["reporting"]);
    if let ramparts_core::observed::Presence::Ours(seen) = &mut world.database.database {
        seen.mark.as_mut().unwrap().layout = None;
    }
    assert_eq!(
        told(&world.plan(&tenant("acme").app("reporting"))),
        ["set privileges inside database acme", "log in as acme_reporting <- 1"]
    );
}

#[test]
fn a_database_that_others_can_reach_is_closed_again_and_keeps_its_layout() {
    let mut world = World::ready(&["reporting"]);
    if let ramparts_core::observed::Presence::Ours(seen) = &mut world.database.database {
        seen.sealed = false;
    }
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(writes(&plan), ["close database acme to all but its own groups"]);
    assert!(
        matches!(plan.steps[0].step, Step::SealDatabase { layout: Some(1), .. }),
        "{:?}",
        plan.steps[0]
    );
}

#[test]
fn logins_without_a_record_are_not_configured() {
    let world = world()
        .with_body(1, "uid-1", ramparts_core::ledger::Body::Void)
        .with_groups()
        .with_database()
        .with_login("reporting", 1);
    assert_eq!(
        writes(&world.plan(&tenant("acme").app("reporting").plan("large"))),
        [""; 0]
    );
}
