//! A tenant that nobody has heard of: one record, then every server from it, then proof, then what pods read.

use crate::common::{findings, now, tenant, told, troubles, world, writes};
use ramparts_core::{
    name::{Access, RecordNo},
    observed::Layer,
    plan::Verdict,
    step::Step,
};

#[test]
fn law_2_the_record_comes_first_and_every_other_step_waits_for_its_read_back() {
    let wish = tenant("acme").app("api").app("reporting").app("worker");
    let plan = world().plan(&wish);
    assert_eq!(
        told(&plan),
        [
            "commit record 1 with credentials for api, reporting and worker",
            "read record 1 back <- 1",
            "create roles acme__owner, acme__readwrite and acme__readonly <- 2",
            "create database acme <- 2 3",
            "close database acme to all but its own groups <- 2 4",
            "set privileges inside database acme <- 2 5",
            "create login acme_api <- 2 6",
            "configure login acme_api <- 2 7",
            "create login acme_reporting <- 2 6",
            "configure login acme_reporting <- 2 9",
            "create login acme_worker <- 2 6",
            "configure login acme_worker <- 2 11",
            "create cache user prod-acme-api <- 2",
            "create cache user prod-acme-worker <- 2",
            "add prod-acme-api and prod-acme-worker to the user group <- 2 13 14",
            "log in as acme_api <- 2 6 7 8",
            "log in to the cache as prod-acme-api <- 2 15",
            "publish record 1 for api <- 2 16 17",
            "log in as acme_reporting <- 2 6 9 10",
            "publish record 1 for reporting <- 2 19",
            "log in as acme_worker <- 2 6 11 12",
            "log in to the cache as prod-acme-worker <- 2 15",
            "publish record 1 for worker <- 2 21 22",
        ]
    );
    assert_eq!(findings(&plan), [""; 0]);
    for layer in Layer::ALL {
        assert_eq!(plan.verdict(layer), Verdict::Changing, "{layer:?}");
    }
}

#[test]
fn the_record_names_the_object_that_asked_the_moment_and_the_place() {
    let plan = world().plan(&tenant("acme").app("api").app("worker").app("web-admin"));
    let Step::CommitIssue(draft) = &plan.steps[0].step else {
        panic!("{:?}", plan.steps[0])
    };
    assert_eq!(
        (draft.number, draft.uid.as_str(), draft.at),
        (RecordNo::FIRST, "uid-1", now())
    );
    assert_eq!(
        (
            draft.placement.database.as_str(),
            draft.placement.cache.as_ref().unwrap().as_str()
        ),
        ("main", "main")
    );
    let names: Vec<_> = draft
        .apps
        .iter()
        .map(|(app, names)| {
            (
                app.as_str(),
                names.login.as_str(),
                names.access,
                names.cache.as_ref().map(|(user, _)| user.as_str()),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("api", "acme_api", Access::Owner, Some("prod-acme-api")),
            ("web-admin", "acme_webadmin", Access::ReadWrite, None),
            ("worker", "acme_worker", Access::ReadWrite, Some("prod-acme-worker")),
        ]
    );
}

#[test]
fn a_new_login_gets_the_plans_limits_and_an_owner_acts_as_its_group() {
    let plan = world().plan(&tenant("acme").app("api").app("reporting"));
    let configured: Vec<_> = plan
        .steps
        .iter()
        .filter_map(|planned| match &planned.step {
            Step::ConfigureLogin { login, changes } => Some((
                login.as_str(),
                changes.connections,
                changes
                    .set
                    .iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect::<Vec<_>>()
                    .join(" "),
                changes.reset.len(),
                changes.join.is_some(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        configured,
        [
            (
                "acme_api",
                Some(20),
                "role=acme__owner statement_timeout=30s work_mem=16MB".into(),
                0,
                false
            ),
            (
                "acme_reporting",
                Some(20),
                "statement_timeout=30s work_mem=16MB".into(),
                0,
                false
            ),
        ]
    );
}

#[test]
fn where_there_is_no_cache_nothing_is_said_to_one() {
    let plan = world().plan(&tenant("acme").app("api").without_caches());
    assert_eq!(
        told(&plan),
        [
            "commit record 1 with credentials for api",
            "read record 1 back <- 1",
            "create roles acme__owner, acme__readwrite and acme__readonly <- 2",
            "create database acme <- 2 3",
            "close database acme to all but its own groups <- 2 4",
            "set privileges inside database acme <- 2 5",
            "create login acme_api <- 2 6",
            "configure login acme_api <- 2 7",
            "log in as acme_api <- 2 6 7 8",
            "publish record 1 for api <- 2 9",
        ]
    );
}

#[test]
fn law_8_a_plan_can_be_printed_in_every_way_without_a_secret() {
    let wish = tenant("acme").app("api").app("worker");
    let mut world = crate::common::World::ready(&["api"]);
    world.login_mut("acme_api").connections = 1;
    let plan = world.plan(&wish);
    for shown in [
        plan.to_string(),
        plan.to_json().to_string(),
        format!("{plan:?}"),
        format!("{plan:#?}"),
    ] {
        assert!(!shown.contains(crate::common::CANARY), "{shown}");
        assert!(shown.contains("acme_worker"), "{shown}");
    }
}

#[test]
fn the_same_world_gives_the_same_plan() {
    let wish = tenant("acme").app("worker").app("api");
    assert_eq!(world().plan(&wish), world().plan(&wish));
}

#[test]
fn an_app_added_later_is_one_record_and_leaves_the_others_alone() {
    let wish = tenant("acme").app("api").app("worker");
    let plan = crate::common::World::ready(&["api"]).plan(&wish);
    assert_eq!(
        told(&plan),
        [
            "commit record 2 with credentials for worker",
            "read record 2 back <- 1",
            "create login acme_worker_2 <- 2",
            "configure login acme_worker_2 <- 2 3",
            "create cache user prod-acme-worker-2 <- 2",
            "add prod-acme-worker-2 to the user group <- 2 5",
            "log in as acme_api",
            "log in to the cache as prod-acme-api",
            "log in as acme_worker_2 <- 2 3 4",
            "log in to the cache as prod-acme-worker-2 <- 2 6",
            "publish record 2 for worker <- 2 9 10",
        ]
    );
    assert_eq!(troubles(&plan), [""; 0]);
}

#[test]
fn law_7_an_app_that_leaves_keeps_everything() {
    let plan = crate::common::World::ready(&["api", "worker"]).plan(&tenant("acme").app("api"));
    assert_eq!(writes(&plan), [""; 0]);
    assert_eq!(findings(&plan), [""; 0]);
}

#[test]
fn an_app_that_comes_back_returns_to_the_credential_it_had() {
    let world = crate::common::World::ready(&["api", "worker"]);
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(writes(&plan), [""; 0]);
}
