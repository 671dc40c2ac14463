//! Whose a tenant is: every record names the object that asked. Another object opens before it does anything else; one that was
//! superseded never does anything more.

use crate::common::{World, findings, now, tenant, told, troubles, world, writes};
use ramparts_core::{ledger::Body, plan::Plan, step::Step};

fn uids(plan: &Plan) -> Vec<&str> {
    plan.steps
        .iter()
        .filter_map(|planned| match &planned.step {
            Step::CommitIssue(draft) => Some(draft.uid.as_str()),
            Step::CommitOpen { uid, .. } | Step::CommitVoid { uid, .. } | Step::FillRecord { uid, .. } => Some(uid),
            _ => None,
        })
        .collect()
}

#[test]
fn law_7_a_tenant_created_again_opens_and_returns_to_the_same_credentials() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api").uid("uid-2"));
    let before = world.credentials();
    let plan = world.plan(&wish);
    assert_eq!(
        told(&plan),
        [
            "commit record 2, which takes over what an earlier Tenant left",
            "log in as acme_api",
            "log in to the cache as prod-acme-api",
        ],
        "looking needs no claim"
    );
    assert_eq!(uids(&plan), ["uid-2"]);
    world.pass(&mut wish, now());
    assert_eq!(told(&world.plan(&wish)), [""; 0]);
    assert_eq!(world.credentials(), before);
}

#[test]
fn whatever_a_tenant_created_again_has_to_write_waits_for_its_claim() {
    let mut world = World::ready(&["api", "worker"])
        .without_login("acme_api")
        .without_copy("worker");
    world.login_mut("acme_worker").connections = 1;
    let plan = world.plan(&tenant("acme").app("api").app("worker").uid("uid-2"));
    assert_eq!(
        told(&plan),
        [
            "commit record 2, which takes over what an earlier Tenant left",
            "create login acme_api <- 1",
            "configure login acme_api <- 1 2",
            "configure login acme_worker <- 1",
            "log in as acme_api <- 2",
            "log in to the cache as prod-acme-api",
            "log in as acme_worker <- 1 4",
            "log in to the cache as prod-acme-worker <- 1",
            "publish record 1 for worker <- 1 7 8",
        ]
    );
}

#[test]
fn a_tenant_created_again_that_issues_anyway_does_not_open_as_well() {
    let plan = World::ready(&["api"]).plan(&tenant("acme").app("api").app("reporting").uid("uid-2"));
    assert_eq!(told(&plan)[0], "commit record 2 with credentials for reporting");
    assert_eq!(uids(&plan), ["uid-2"]);
}

#[test]
fn a_tenant_created_again_opens_even_where_a_new_apps_name_is_taken() {
    let world = World::ready(&["api"]).foreign_role("acme_reporting_2");
    let plan = world.plan(&tenant("acme").app("api").app("reporting").uid("uid-2"));
    assert_eq!(
        writes(&plan),
        ["commit record 2, which takes over what an earlier Tenant left"]
    );
    assert_eq!(troubles(&plan), ["database reporting wrong: NotOwned"]);
}

#[test]
fn one_that_was_superseded_writes_nothing_more() {
    let world = World::ready(&["api"])
        .with_body(2, "uid-2", Body::Open)
        .without_login("acme_api")
        .without_copy("api");
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store wrong: Superseded".into()])
    );
}

#[test]
fn one_that_was_superseded_does_not_even_mend_a_lost_record() {
    let world = World::ready(&["api"]).with_body(3, "uid-2", Body::Open).confirmed(2);
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store wrong: Superseded".into()])
    );
}

#[test]
fn a_uid_opens_once_and_the_next_one_opens_after_it() {
    let world = World::ready(&["api"]).with_body(2, "uid-2", Body::Open);
    assert_eq!(writes(&world.plan(&tenant("acme").app("api").uid("uid-2"))), [""; 0]);
    assert_eq!(
        writes(&world.plan(&tenant("acme").app("api").uid("uid-3"))),
        ["commit record 3, which takes over what an earlier Tenant left"]
    );
}

#[test]
fn history_is_mended_under_the_uid_that_last_held_it_and_makes_nobody_superseded() {
    // The first record is lost and the last one is another Tenant's: a repair by the newcomer must not look like a claim of its own.
    let mut world = World::ready(&["api"])
        .lost_record(1)
        .with_body(2, "uid-1", Body::Open)
        .confirmed(1);
    let mut wish = tenant("acme").app("api").uid("uid-2");
    let passed = world.pass(&mut wish, now());
    assert_eq!(writes(&passed.plan), ["write record 1 again from the copies of api"]);
    assert_eq!(uids(&passed.plan), ["uid-1"]);
    assert_eq!(
        writes(&world.plan(&wish)),
        ["commit record 3, which takes over what an earlier Tenant left"]
    );
}

#[test]
fn a_void_above_the_last_record_keeps_the_last_uid_too() {
    let mut world = World::ready(&["reporting"]).with_login("api", 2).confirmed(2);
    let mut newcomer = tenant("acme").app("reporting").uid("uid-2");
    let passed = world.pass(&mut newcomer, now());
    assert_eq!(
        (writes(&passed.plan), uids(&passed.plan)),
        (vec!["commit record 2 as void".into()], vec!["uid-1"])
    );
    assert_eq!(
        writes(&world.plan(&newcomer)),
        ["commit record 3, which takes over what an earlier Tenant left"]
    );
    let holder = tenant("acme").app("reporting");
    assert_eq!(
        writes(&world.plan(&holder)),
        [""; 0],
        "the one that held it holds it still"
    );
}

#[test]
fn where_every_record_is_lost_the_mender_holds_what_it_mended() {
    let mut world = World::ready(&["api"]).lost_record(1).confirmed(1);
    let mut wish = tenant("acme").app("api").uid("uid-9");
    let passed = world.pass(&mut wish, now());
    assert_eq!(uids(&passed.plan), ["uid-9"]);
    assert_eq!(writes(&world.plan(&wish)), [""; 0]);
}

#[test]
fn a_tenant_that_nobody_holds_is_simply_issued() {
    let plan = world().plan(&tenant("acme").app("api").uid("uid-7"));
    assert_eq!(uids(&plan), ["uid-7"]);
}
