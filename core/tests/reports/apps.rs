//! The list of apps in the status: every app that is wanted, and every app that was ever issued a credential.

use crate::common::{World, minutes_later, now, passes::Fate, tenant, world};
use ramparts_core::{
    api::{AppState, AppStatus},
    ledger::Body,
    report::Report,
};

fn listed(report: &Report) -> Vec<(&str, AppState)> {
    report
        .status
        .apps
        .iter()
        .map(|app| (app.name.as_str(), app.state))
        .collect()
}

#[test]
fn an_entry_says_where_the_credential_is_and_who_it_is_for() {
    let expected = [
        AppStatus {
            name: "api".into(),
            record: Some(1),
            issued_at: Some("2026-11-15T09:00:00Z".into()),
            login: Some("acme_api".into()),
            cache_user: Some("prod-acme-api".into()),
            parameter: Some("/ramparts/acme/api".into()),
            version: Some("1".into()),
            state: AppState::Ready,
        },
        AppStatus {
            name: "web-admin".into(),
            record: Some(1),
            issued_at: Some("2026-11-15T09:00:00Z".into()),
            login: Some("acme_webadmin".into()),
            cache_user: None,
            parameter: Some("/ramparts/acme/web-admin".into()),
            version: Some("1".into()),
            state: AppState::Ready,
        },
    ];
    let (mut world, mut wish) = (world(), tenant("acme").app("api").app("web-admin"));
    // The pass that makes it and the pass that finds it say the same: a create-only put is version 1.
    for minute in 0..2 {
        assert_eq!(
            world.pass(&mut wish, now()).report.status.apps,
            expected,
            "pass {minute}"
        );
    }
}

#[test]
fn an_app_that_left_is_retained_with_all_it_had() {
    let (mut world, mut wish) = (World::ready(&["api", "reporting"]), tenant("acme").app("api"));
    let report = world.pass(&mut wish, now()).report;
    assert_eq!(
        listed(&report),
        [("api", AppState::Ready), ("reporting", AppState::Retained)]
    );
    assert_eq!(report.status.apps[1].login.as_deref(), Some("acme_reporting"));
    assert_eq!(report.status.apps[1].version.as_deref(), Some("1"));
}

#[test]
fn an_app_on_its_way_is_provisioning_and_the_others_are_ready() {
    let (mut world, mut wish) = (World::ready(&["reporting"]), tenant("acme").app("reporting"));
    world.pass(&mut wish, now());
    world.slow_cache = true;
    wish = wish.app("api");
    let report = world.pass(&mut wish, minutes_later(1)).report;
    assert_eq!(
        listed(&report),
        [("api", AppState::Provisioning), ("reporting", AppState::Ready)]
    );
    assert_eq!(
        (report.status.apps[0].record, report.status.apps[0].version.as_deref()),
        (Some(2), None)
    );
}

#[test]
fn an_app_without_a_credential_is_pending_and_one_without_a_copy_was_never_degraded() {
    let (mut fresh, mut wish) = (world(), tenant("acme").app("api"));
    let report = fresh.pass_with(&mut wish, now(), |_| Fate::Fails).unwrap().report;
    assert_eq!(listed(&report), [("api", AppState::Pending)]);
    let (mut half, mut wish) = (world().with_record(1, &["api"]), tenant("acme").app("api"));
    let report = half.pass_with(&mut wish, now(), |_| Fate::Fails).unwrap().report;
    assert_eq!(listed(&report), [("api", AppState::Provisioning)]);
}

#[test]
fn a_commit_that_failed_for_a_new_app_leaves_the_others_ready() {
    let (mut world, mut wish) = (World::ready(&["reporting"]), tenant("acme").app("reporting"));
    world.pass(&mut wish, now());
    wish = wish.app("api");
    let report = world
        .pass_with(&mut wish, minutes_later(1), |_| Fate::Fails)
        .unwrap()
        .report;
    assert_eq!(
        listed(&report),
        [("api", AppState::Pending), ("reporting", AppState::Ready)]
    );
}

#[test]
fn a_lost_credential_blocks_its_own_app() {
    let mut world = World::ready(&["api", "reporting"])
        .with_body(1, "uid-1", Body::Void)
        .without_copy("api")
        .without_copy("reporting")
        .without_login("acme_reporting")
        .with_record(2, &["reporting"])
        .with_login("reporting", 2)
        .with_copy("reporting", 2);
    let report = world
        .pass(&mut tenant("acme").app("api").app("reporting"), now())
        .report;
    assert_eq!(
        listed(&report),
        [("api", AppState::Blocked), ("reporting", AppState::Ready)]
    );
}

#[test]
fn the_list_stays_while_the_store_cannot_be_read() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    let before = world.pass(&mut wish, now()).report.status.apps;
    world.store_fault = Some(crate::common::fault(ramparts_core::reason::Reason::StoreUnreachable));
    assert_eq!(world.pass(&mut wish, minutes_later(1)).report.status.apps, before);
}
