//! Killed anywhere, told nothing, told too late: whatever happens to one pass, the next ones finish the work, with the credentials
//! that were committed and no others.

use crate::common::{
    Wish, World, minutes_later, now,
    passes::{Fate, Passed},
    tenant, world, writes,
};
use ramparts_core::{api::Phase, plan::Plan, step::Step};

const FATES: [Fate; 4] = [Fate::KilledBefore, Fate::KilledAfter, Fate::ReplyLost, Fate::Fails];

fn three_apps() -> Wish {
    tenant("acme").app("api").app("reporting").app("worker")
}

fn commits(passed: &Passed) -> usize {
    passed
        .plan
        .steps
        .iter()
        .filter(|planned| matches!(planned.step, Step::CommitIssue(_)))
        .count()
}

/// Passes without faults until a plan has nothing to write; then it is Ready, and one more pass changes nothing at all.
fn converge(world: &mut World, wish: &mut Wish, story: &str) {
    for minute in 1..=8 {
        let passed = world.pass(wish, minutes_later(minute));
        world.settle();
        let found = world.has_record(1) && commits(&passed) > 0 && minute > 1;
        assert!(!found, "{story}: a second commit\n{}", passed.plan);
        if !passed.plan.writes() && passed.plan.steps.is_empty() {
            assert_eq!(passed.report.status.phase, Phase::Ready, "{story}");
            return;
        }
    }
    panic!("{story}: it did not come to rest");
}

/// What is published is what was issued, and it logs in.
fn assert_whole(world: &World, wish: &Wish, story: &str) {
    assert_eq!(world.store.ledger.records.len(), 1, "{story}");
    assert_eq!(world.drawn, 5, "{story}: three logins and two cache users, drawn once");
    for app in wish.desired().apps.keys() {
        let (_, credential) = world.store.ledger.newest(app).unwrap();
        let ramparts_core::observed::Presence::Ours(seen) = world.store.copy(app) else {
            panic!("{story}: {app}")
        };
        assert!(seen.copy.holds(credential), "{story}: {app}");
    }
}

#[test]
fn law_1_a_fault_at_any_one_step_never_issues_a_second_credential() {
    for slow in [false, true] {
        for fate in FATES {
            for at in 0..world().plan(&three_apps()).steps.len() {
                let story = format!("{fate:?} at step {}, slow cache {slow}", at + 1);
                let (mut world, mut wish) = (world(), three_apps());
                world.slow_cache = slow;
                world.pass_with(&mut wish, now(), |index| if index == at { fate } else { Fate::Happens });
                let committed = world.credentials();
                world.settle();
                converge(&mut world, &mut wish, &story);
                if !committed.is_empty() {
                    assert_eq!(world.credentials(), committed, "{story}");
                }
                assert_whole(&world, &wish, &story);
            }
        }
    }
}

#[test]
fn law_1_a_second_fault_during_the_recovery_changes_nothing_either() {
    let steps = world().plan(&three_apps()).steps.len();
    for first in 0..steps {
        let (mut half, mut wish) = (world(), three_apps());
        half.pass_with(&mut wish, now(), |index| {
            if index == first {
                Fate::KilledAfter
            } else {
                Fate::Happens
            }
        });
        let left = half.plan(&wish).steps.len();
        for second in 0..left {
            for fate in [Fate::KilledAfter, Fate::ReplyLost] {
                let story = format!("killed after step {}, then {fate:?} at {}", first + 1, second + 1);
                let (mut world, mut wish) = (half.clone(), wish.clone());
                world.pass_with(&mut wish, minutes_later(1), |index| {
                    if index == second { fate } else { Fate::Happens }
                });
                converge(&mut world, &mut wish, &story);
                assert_whole(&world, &wish, &story);
            }
        }
    }
}

/// What a plan changes, object by object: users may join their group together or apart.
fn changes(plan: &Plan) -> Vec<String> {
    let steps = plan
        .steps
        .iter()
        .map(|planned| &planned.step)
        .filter(|step| step.writes());
    let mut changes: Vec<String> = steps
        .flat_map(|step| match step {
            Step::JoinUserGroup { users } => users.iter().map(|user| format!("{user} joins")).collect(),
            other => vec![other.to_string()],
        })
        .collect();
    changes.sort();
    changes
}

#[test]
fn after_a_crash_exactly_the_rest_is_done() {
    let plan = world().plan(&three_apps());
    for killed in 0..plan.steps.len() {
        let (mut world, mut wish) = (world(), three_apps());
        world.pass_with(&mut wish, now(), |index| {
            if index == killed {
                Fate::KilledAfter
            } else {
                Fate::Happens
            }
        });
        let rest = Plan {
            steps: plan.steps[killed + 1..].to_vec(),
            ..plan.clone()
        };
        let left = world.plan(&wish);
        assert_eq!(
            changes(&left),
            changes(&rest),
            "killed after {}",
            plan.steps[killed].step
        );
    }
}

#[test]
fn law_4_nothing_is_published_whose_login_is_refused() {
    for refused in ["acme_api", "prod-acme-api"] {
        let (mut world, mut wish) = (world(), tenant("acme").app("api").app("reporting"));
        world.refusing.insert(refused.into());
        for minute in 0..4 {
            world.pass(&mut wish, minutes_later(minute));
        }
        let published: Vec<_> = world.store.copies.keys().map(ToString::to_string).collect();
        assert_eq!(published, ["reporting"], "{refused}");
    }
}

#[test]
fn law_1_a_ready_tenant_is_left_alone_for_ever() {
    let (mut world, mut wish) = (World::ready(&["api", "reporting", "worker"]), three_apps());
    let (store, database, cache) = (world.store.clone(), world.database.clone(), world.cache.clone());
    for minute in [0, 1, 2, 24 * 60, 48 * 60 + 1] {
        let passed = world.pass(&mut wish, minutes_later(minute));
        assert_eq!(writes(&passed.plan), [""; 0], "minute {minute}");
    }
    assert_eq!((world.store, world.database, world.cache), (store, database, cache));
}
