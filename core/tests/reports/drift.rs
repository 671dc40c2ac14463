//! A credential that is refused. On PostgreSQL that is drift at once, for the catalog shows a login that could log in; on the cache only
//! at the second sighting of a user that is active, a member, and with nothing pending.

use crate::common::{World, condition, flags, minutes_later, now, tenant, world};
use ramparts_core::{
    api::{AppState, Phase},
    observed::Membership,
    report::{Next, Report},
};

fn state(report: &Report, app: &str) -> AppState {
    report.status.apps.iter().find(|it| it.name == app).unwrap().state
}

#[test]
fn a_login_refused_by_postgresql_has_drifted_and_the_others_stay_ready() {
    let (mut world, mut wish) = (
        World::ready(&["api", "reporting"]),
        tenant("acme").app("api").app("reporting"),
    );
    world.pass(&mut wish, now());
    world.refusing.insert("acme_api".into());
    let passed = world.pass(&mut wish, minutes_later(24 * 60 + 1));
    let report = &passed.report;
    assert_eq!(
        (flags(report), report.status.phase),
        ([false, true, true], Phase::Degraded)
    );
    assert_eq!(
        condition(&report.status, "DatabaseReady"),
        Some(("False", "CredentialDrift"))
    );
    assert_eq!(
        (state(report, "api"), state(report, "reporting")),
        (AppState::Degraded, AppState::Ready)
    );
    assert!(!passed.plan.writes());
}

#[test]
fn a_login_set_nologin_by_hand_degrades_its_app_only() {
    let (mut world, mut wish) = (
        World::ready(&["api", "reporting"]),
        tenant("acme").app("api").app("reporting"),
    );
    world.pass(&mut wish, now());
    world.login_mut("acme_api").can_login = false;
    let report = world.pass(&mut wish, minutes_later(1)).report;
    assert_eq!(
        (flags(&report), report.status.phase),
        ([false, true, true], Phase::Degraded)
    );
    assert_eq!(
        (state(&report, "api"), state(&report, "reporting")),
        (AppState::Degraded, AppState::Ready)
    );
    assert_eq!(
        condition(&report.status, "Stalled"),
        None,
        "the tenant works, with less than it should have"
    );
}

#[test]
fn a_cache_that_refuses_once_is_asked_again_and_twice_it_is_drift() {
    let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
    world.pass(&mut wish, now());
    world.refusing.insert("prod-acme-api".into());
    let first = world.pass(&mut wish, minutes_later(24 * 60 + 1)).report;
    assert_eq!(
        condition(&first.status, "CacheReady"),
        Some(("False", "CacheUserPending"))
    );
    assert_eq!((flags(&first), first.next), ([true, false, true], Next::Soon));
    let second = world.pass(&mut wish, minutes_later(24 * 60 + 2)).report;
    assert_eq!(
        condition(&second.status, "CacheReady"),
        Some(("False", "CredentialDrift"))
    );
    assert_eq!(
        (flags(&second), second.status.phase),
        ([true, false, true], Phase::Degraded)
    );
    world.refusing.clear();
    let healed = world.pass(&mut wish, minutes_later(24 * 60 + 3)).report;
    assert_eq!((flags(&healed), healed.status.phase), ([true; 3], Phase::Ready));
    world.refusing.insert("prod-acme-api".into());
    let anew = world.pass(&mut wish, minutes_later(48 * 60 + 4)).report;
    assert_eq!(
        condition(&anew.status, "CacheReady"),
        Some(("False", "CacheUserPending")),
        "the count starts again"
    );
}

#[test]
fn a_cache_that_is_still_changing_does_not_drift_however_often_it_refuses() {
    for unsettle in [
        (|world| world.cache.group_busy = Some("modifying".into())) as fn(&mut World),
        |world| world.user_mut("prod-acme-api").pending = Some("modifying".into()),
    ] {
        let (mut world, mut wish) = (World::ready(&["api"]), tenant("acme").app("api"));
        world.refusing.insert("prod-acme-api".into());
        unsettle(&mut world);
        for minute in 0..4 {
            let report = world.pass(&mut wish, minutes_later(minute)).report;
            assert_eq!(
                condition(&report.status, "CacheReady"),
                Some(("False", "CacheUserPending")),
                "minute {minute}"
            );
        }
        // Refusals while it was changing were no sightings: the first after it has settled is the first.
        world.cache.group_busy = None;
        world.user_mut("prod-acme-api").pending = None;
        let report = world.pass(&mut wish, minutes_later(5)).report;
        assert_eq!(
            condition(&report.status, "CacheReady"),
            Some(("False", "CacheUserPending"))
        );
        let report = world.pass(&mut wish, minutes_later(6)).report;
        assert_eq!(
            condition(&report.status, "CacheReady"),
            Some(("False", "CredentialDrift"))
        );
    }
}

#[test]
fn a_user_that_joined_in_this_very_pass_is_given_time() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    world.refusing.insert("prod-acme-api".into());
    let first = world.pass(&mut wish, now()).report;
    assert_eq!(
        condition(&first.status, "CacheReady"),
        Some(("False", "CacheUserPending"))
    );
    assert_eq!(world.user_mut("prod-acme-api").membership, Membership::Member);
    let second = world.pass(&mut wish, minutes_later(1)).report;
    assert_eq!(
        condition(&second.status, "CacheReady"),
        Some(("False", "CacheUserPending")),
        "the first settled sighting"
    );
    let third = world.pass(&mut wish, minutes_later(2)).report;
    assert_eq!(
        condition(&third.status, "CacheReady"),
        Some(("False", "CredentialDrift"))
    );
    assert!(world.store.copies.is_empty(), "and nothing was published");
}

#[test]
fn a_copy_that_the_cache_refuses_while_a_record_is_mended_is_drift_in_the_end() {
    let (mut world, mut wish) = (
        World::ready(&["api"]).lost_record(1).confirmed(1),
        tenant("acme").app("api"),
    );
    world.refusing.insert("prod-acme-api".into());
    world.pass(&mut wish, now());
    let second = world.pass(&mut wish, minutes_later(1)).report;
    assert_eq!(
        condition(&second.status, "CacheReady"),
        Some(("False", "CredentialDrift"))
    );
    assert!(!world.has_record(1));
}
