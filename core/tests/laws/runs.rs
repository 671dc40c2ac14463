//! What holds for whole runs from any start: they come to rest, they change nothing that was there, and what they say is so.

use proptest::{prelude::*, test_runner::RngSeed};
use ramparts_core::{
    api::Phase,
    cursor::Outcome,
    observed::{LoginSeen, Presence},
};

use crate::{
    any::{Scene, scene},
    common::{
        CANARY, Wish, World, minutes_later,
        passes::{Fate, Passed},
    },
};

/// What a pass has written.
fn done(passed: &Passed) -> Vec<String> {
    let ran = passed.plan.steps.iter().zip(&passed.outcomes);
    ran.filter(|(planned, outcome)| planned.step.writes() && **outcome == Outcome::Done)
        .map(|(planned, _)| planned.step.to_string())
        .collect()
}

/// Passes until one has written nothing; a copy that waits for a login that is refused waits for ever.
fn rest(world: &mut World, wish: &mut Wish) -> bool {
    (0..8).any(|minute| {
        let passed = world.pass(wish, minutes_later(minute));
        world.settle();
        done(&passed).is_empty()
    })
}

/// Who a login is, apart from its limits.
fn identity(seen: &LoginSeen) -> (u32, bool, bool, String) {
    (seen.oid, seen.can_login, seen.expired, seen.mark.to_string())
}

fn assert_nothing_was_taken_or_changed(before: &World, after: &World) -> Result<(), TestCaseError> {
    for (number, record) in &before.store.ledger.records {
        prop_assert_eq!(after.store.ledger.records.get(number), Some(record), "a record changed");
    }
    for (app, copy) in before
        .store
        .copies
        .iter()
        .filter(|(_, copy)| **copy != Presence::Absent)
    {
        prop_assert_eq!(after.store.copies.get(app), Some(copy), "a copy changed");
    }
    for (name, login) in &before.database.logins {
        match (login, after.database.login(name)) {
            (Presence::Absent, _) => {}
            (Presence::Ours(was), Presence::Ours(is)) => prop_assert_eq!(identity(was), identity(is)),
            (was, is) => prop_assert_eq!(was, is),
        }
    }
    for (id, user) in &before.cache.users {
        match (user, after.cache.user(id)) {
            (Presence::Absent, _) => {}
            (Presence::Ours(was), Presence::Ours(is)) => prop_assert_eq!(&was.mark, &is.mark),
            (was, is) => prop_assert_eq!(was, is),
        }
    }
    if matches!(before.database.database, Presence::Foreign(_) | Presence::Unknown(_)) {
        prop_assert_eq!(&before.database.database, &after.database.database);
    }
    Ok(())
}

/// Every app that a Tenant wants has a copy that holds what the ledger last issued to it.
fn is_published(world: &World, wish: &Wish) -> bool {
    wish.desired()
        .apps
        .keys()
        .all(|app| match (world.store.copy(app), world.store.ledger.newest(app)) {
            (Presence::Ours(seen), Some((_, credential))) => seen.copy.holds(credential),
            _ => false,
        })
}

fn told(scene: &Scene) -> (World, Wish) {
    (scene.world(), scene.wish())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(crate::SEED), ..ProptestConfig::default() })]

    #[test]
    fn law_1_from_any_start_a_run_comes_to_rest_and_changes_nothing_that_was_there(scene in scene()) {
        let (mut world, mut wish) = told(&scene);
        let before = world.clone();
        prop_assert!(rest(&mut world, &mut wish), "it does not come to rest");
        assert_nothing_was_taken_or_changed(&before, &world)?;
        let settled = world.clone();
        let passed = world.pass(&mut wish, minutes_later(9));
        prop_assert_eq!(done(&passed), Vec::<String>::new(), "what wrote nothing writes nothing again");
        prop_assert_eq!((world.store, world.database, world.cache), (settled.store, settled.database, settled.cache));
    }

    #[test]
    fn law_1_a_fault_on_the_way_changes_only_when_it_comes_to_rest(scene in scene(), at in 0..24_usize, fate in 0..4_usize) {
        let fate = [Fate::KilledBefore, Fate::KilledAfter, Fate::ReplyLost, Fate::Fails][fate];
        let (mut world, mut wish) = told(&scene);
        let before = world.clone();
        world.pass_with(&mut wish, minutes_later(0), |index| if index == at { fate } else { Fate::Happens });
        prop_assert!(rest(&mut world, &mut wish), "it does not come to rest");
        assert_nothing_was_taken_or_changed(&before, &world)?;
        // Credentials are drawn once for each app that had none: never again because of a fault.
        let (mut calm, mut same) = told(&scene);
        prop_assert!(rest(&mut calm, &mut same));
        prop_assert_eq!(world.drawn, calm.drawn);
    }

    #[test]
    fn law_4_ready_means_that_every_app_can_read_what_logs_in(scene in scene()) {
        let (mut world, mut wish) = told(&scene);
        for minute in 0..4 {
            let status = world.pass(&mut wish, minutes_later(minute)).report.status;
            if status.phase == Phase::Ready {
                prop_assert!(is_published(&world, &wish));
                prop_assert!(matches!(world.database.database, Presence::Ours(_)));
                prop_assert!(status.db_ready && status.redis_ready && status.credentials_ready);
            }
            let ready = status.conditions.iter().find(|it| it.type_ == "Ready").unwrap();
            prop_assert_eq!(ready.status == "True", status.phase == Phase::Ready);
            world.settle();
        }
    }

    #[test]
    fn law_5_a_first_flag_is_true_only_for_what_is_there(scene in scene()) {
        let (mut world, mut wish) = told(&scene);
        wish.tenant.status = None;
        let status = world.pass(&mut wish, minutes_later(0)).report.status;
        if status.db_ready {
            prop_assert!(matches!(world.database.database, Presence::Ours(_)));
        }
        if status.credentials_ready {
            prop_assert!(is_published(&world, &wish));
        }
    }

    #[test]
    fn law_5_at_rest_the_status_says_the_same_again_and_nothing_happens(scene in scene()) {
        let (mut world, mut wish) = told(&scene);
        prop_assert!(rest(&mut world, &mut wish));
        // Once more for a proof, and once more for a cache's second refusal.
        for minute in 10..13 {
            world.pass(&mut wish, minutes_later(minute));
        }
        let before = wish.tenant.status.clone();
        let passed = world.pass(&mut wish, minutes_later(14));
        prop_assert_eq!(Some(passed.report.status), before);
        prop_assert_eq!(passed.report.events, vec![]);
    }

    #[test]
    fn law_8_no_report_shows_a_secret_and_no_field_is_null(scene in scene()) {
        let (mut world, mut wish) = told(&scene);
        for minute in 0..3 {
            let passed = world.pass(&mut wish, minutes_later(minute));
            let status = serde_json::to_string(&passed.report.status).unwrap();
            prop_assert!(!status.contains("null"), "{}", status);
            let shown = format!("{:?}{status}", passed.report);
            prop_assert!(!shown.contains(CANARY), "{}", shown);
        }
    }
}
