//! Which steps of a plan still run when others did not.

use crate::common::{now, passes::Fate, tenant, told, world};
use ramparts_core::{
    cursor::{Cursor, Outcome},
    failure::Failure,
    observed::Layer,
    plan::Plan,
    reason::Reason,
};

fn ran(plan: &Plan, outcomes: &[Outcome]) -> Vec<String> {
    let steps = plan.steps.iter().zip(outcomes);
    steps
        .filter(|(_, outcome)| **outcome != Outcome::Skipped)
        .map(|(planned, _)| planned.step.to_string())
        .collect()
}

#[test]
fn a_server_that_did_not_answer_is_not_asked_again_in_this_pass_and_the_others_are() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api").app("reporting"));
    // Step 7 makes the first login.
    let passed = world
        .pass_with(
            &mut wish,
            now(),
            |index| if index == 6 { Fate::Fails } else { Fate::Happens },
        )
        .unwrap();
    assert_eq!(
        ran(&passed.plan, &passed.outcomes)[6..],
        [
            "create login acme_api",
            "create cache user prod-acme-api",
            "add prod-acme-api to the user group",
            "log in to the cache as prod-acme-api",
        ]
    );
}

#[test]
fn a_step_that_the_server_refused_stops_only_what_waits_for_it() {
    let plan = world().plan(&tenant("acme").app("api").app("reporting"));
    let mut cursor = Cursor::new(&plan);
    while let Some(index) = cursor.advance() {
        let refused = plan.steps[index].step.to_string() == "create login acme_api";
        let denied = || Outcome::Failed(Failure::blocked(Reason::AccessDenied, "permission denied"));
        cursor.note(if refused { denied() } else { Outcome::Done });
    }
    let ran = ran(&plan, &cursor.finish());
    assert!(ran.contains(&"publish record 1 for reporting".into()), "{ran:?}");
    assert!(
        !ran.iter()
            .any(|step| step == "publish record 1 for api" || step == "log in as acme_api"),
        "{ran:?}"
    );
}

#[test]
fn law_2_nothing_runs_after_a_commit_that_failed() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api"));
    for fate in [Fate::Fails, Fate::ReplyLost] {
        let passed = world
            .pass_with(&mut wish, now(), |index| if index == 0 { fate } else { Fate::Happens })
            .unwrap();
        assert_eq!(
            ran(&passed.plan, &passed.outcomes),
            ["commit record 1 with credentials for api"]
        );
        world = crate::common::world();
    }
}

#[test]
fn a_pending_step_stops_only_what_waits_for_it() {
    let (mut world, mut wish) = (world(), tenant("acme").app("api").app("reporting"));
    world.slow_cache = true;
    let passed = world.pass(&mut wish, now());
    let ran = ran(&passed.plan, &passed.outcomes);
    assert!(ran.contains(&"publish record 1 for reporting".into()), "{ran:?}");
    assert!(!ran.contains(&"add prod-acme-api to the user group".into()), "{ran:?}");
}

#[test]
fn a_plan_is_printed_with_how_each_layer_stands_and_what_is_held_back() {
    let mut ready = crate::common::World::ready(&["reporting"]);
    ready.login_mut("acme_reporting").connections = 1;
    assert_eq!(
        ready.plan(&tenant("acme").app("reporting")).to_string(),
        "database: changing\ncache: in sync\nstore: in sync\n \
         1. configure login acme_reporting on main: it differs from what the plan says\n \
         2. log in as acme_reporting on main: Ready means that it logs in still\n"
    );
    let held = ready.plan(&tenant("acme").app("reporting").suspended());
    assert_eq!(
        held.to_string(),
        "database: waiting\ncache: in sync\nstore: wrong\n\
         ! Suspended: 1 step waits until suspend is lifted\n \
         -. configure login acme_reporting on main: held back\n \
         1. log in as acme_reporting on main: Ready means that it logs in still\n"
    );
    assert_eq!(
        held.to_json()["held"][0]["text"],
        "configure login acme_reporting on main"
    );
    assert_eq!(held.to_json()["layers"][Layer::Database.as_str()], "waiting");
    assert_eq!(told(&held), ["log in as acme_reporting"]);
}
