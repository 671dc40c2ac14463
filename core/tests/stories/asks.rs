//! What a manifest may ask, and what is refused: suspend, things this version does not do, placement, plans, names, sizes.

use crate::common::{World, findings, tenant, told, troubles, world, writes};
use ramparts_core::{failure::Class, observed::Layer, plan::Verdict, reason::Reason, step::Step};

#[test]
fn a_suspended_tenant_is_looked_at_and_nothing_is_written() {
    let wish = tenant("acme").app("api").app("worker").suspended();
    for world in [
        world(),
        World::ready(&["api"]),
        World::ready(&["api", "worker"]).without_copy("api"),
    ] {
        let plan = world.plan(&wish);
        assert_eq!(writes(&plan), [""; 0]);
        assert_eq!(troubles(&plan), ["store wrong: Suspended"]);
    }
    let plan = World::ready(&["api"]).plan(&wish);
    assert_eq!(
        told(&plan),
        ["log in as acme_api", "log in to the cache as prod-acme-api"]
    );
}

#[test]
fn a_suspended_tenant_does_not_look_finished_where_it_is_not() {
    let plan = world().plan(&tenant("acme").app("api").suspended());
    for layer in Layer::ALL {
        assert_ne!(plan.verdict(layer), Verdict::InSync, "{layer:?}");
    }
    let half = World::ready(&["api"])
        .without_user("prod-acme-api")
        .without_login("acme_api");
    let plan = half.plan(&tenant("acme").app("api").suspended());
    for layer in [Layer::Database, Layer::Cache] {
        assert_ne!(plan.verdict(layer), Verdict::InSync, "{layer:?}");
    }
}

#[test]
fn a_suspended_tenant_that_lacks_nothing_is_simply_ready() {
    let plan = World::ready(&["api"]).plan(&tenant("acme").app("api").suspended());
    assert_eq!(findings(&plan), [""; 0]);
}

#[test]
fn what_this_version_does_not_do_is_answered_and_everything_else_goes_on() {
    let wish = tenant("acme").app("api").app("worker");
    for world in [world(), World::ready(&["api"]), World::ready(&["api", "worker"])] {
        let asked = wish.clone().deleting_everything().issued_before("2026-11-14T00:00:00Z");
        assert_eq!(world.plan(&asked), world.plan(&wish));
        let answers = asked.desired().unsupported;
        assert_eq!(answers.len(), 2);
        assert!(
            answers[0].contains("Delete") && answers[1].contains("rotation"),
            "{answers:?}"
        );
    }
}

#[test]
fn a_pin_chooses_where_a_new_tenant_lives() {
    let plan = world().plan(&tenant("acme").app("api").pinned(Some("second"), Some("main")));
    let Step::CommitIssue(draft) = &plan.steps[0].step else {
        panic!("{plan}")
    };
    assert_eq!(draft.placement.database.as_str(), "second");
}

#[test]
fn a_pin_that_disagrees_with_the_ledger_moves_nothing() {
    let world = World::ready(&["api"]).without_login("acme_api");
    let plan = world.plan(&tenant("acme").app("api").app("worker").pinned(Some("second"), None));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store wrong: PlacementMismatch".into()])
    );
    assert_eq!(plan.placement, None);
}

#[test]
fn a_pin_that_agrees_with_the_ledger_changes_nothing() {
    let plan = World::ready(&["api"]).plan(&tenant("acme").app("api").pinned(Some("main"), Some("main")));
    assert_eq!((writes(&plan), findings(&plan)), (vec![], vec![]));
}

#[test]
fn a_placement_that_the_settings_no_longer_know_is_blocked_and_never_chosen_anew() {
    for world in [
        World::ready(&["api"]).placed_on("gone", Some("main")),
        World::ready(&["api"]).placed_on("main", Some("gone")),
    ] {
        let plan = world
            .without_login("acme_api")
            .plan(&tenant("acme").app("api").app("worker"));
        assert_eq!(
            (told(&plan), findings(&plan)),
            (vec![], vec!["store wrong: UnknownPlacement".into()])
        );
        assert_eq!(plan.findings[0].failure.class, Class::Blocked);
    }
}

#[test]
fn later_records_repeat_the_placement_of_the_first() {
    let plan = World::ready(&["api"])
        .placed_on("second", Some("main"))
        .plan(&tenant("acme").app("api").app("reporting"));
    let draft = plan.steps.iter().find_map(|planned| match &planned.step {
        Step::CommitIssue(draft) => Some(draft),
        _ => None,
    });
    assert_eq!(draft.unwrap().placement.database.as_str(), "second");
}

#[test]
fn a_record_that_would_not_fit_is_refused_before_anything_is_written() {
    let many = (0..40).fold(tenant("acme"), |wish, n| wish.app(&format!("app{n}")));
    let plan = world().plan(&many);
    assert_eq!(
        (told(&plan), troubles(&plan)),
        (vec![], vec!["store wrong: RecordTooLarge".into()])
    );
    let few = (0..20).fold(tenant("acme"), |wish, n| wish.app(&format!("app{n}")));
    assert!(world().plan(&few).writes());
}

#[test]
fn what_the_settings_do_not_have_is_refused_by_name() {
    let refused = |wish: crate::common::Wish| wish.desire().unwrap_err();
    let wish = || tenant("acme").app("api");
    let complained = |wish: crate::common::Wish| wish.desired().complaints[0].clone();
    for (failure, reason, name) in [
        (complained(wish().plan("huge")), Reason::UnknownPlan, "huge"),
        (complained(wish().plan("NOT A PLAN")), Reason::UnknownPlan, "NOT A PLAN"),
        (complained(wish().adding("nosuch")), Reason::UnknownApp, "nosuch"),
        (
            refused(wish().pinned(Some("third"), None)),
            Reason::UnknownPlacement,
            "third",
        ),
        (
            refused(wish().pinned(None, Some("third"))),
            Reason::UnknownPlacement,
            "third",
        ),
    ] {
        assert_eq!((failure.class, failure.reason), (Class::Refused, reason));
        assert!(failure.message.contains(name), "{failure}");
    }
}

#[test]
fn law_9_a_name_that_would_not_fit_or_is_anothers_is_refused_before_anything_is_looked_at() {
    let refused = |name: &str| tenant(name).app("worker").desire().unwrap_err();
    // prod- + 28 + -worker + room for -9999 is 45; ElastiCache keeps 40.
    for (name, reason) in [
        ("a".repeat(28).as_str(), Reason::NameTooLong),
        ("a".repeat(41).as_str(), Reason::NameTooLong),
        ("Acme", Reason::InvalidName),
        ("acme--x", Reason::InvalidName),
        ("acme_x", Reason::InvalidName),
        ("", Reason::InvalidName),
        ("postgres", Reason::ReservedName),
        ("rds-one", Reason::ReservedName),
    ] {
        let failure = refused(name);
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Refused, reason),
            "{name:?}: {failure}"
        );
    }
    // prod- + 23 + -worker + -9999 is exactly 40.
    assert!(tenant(&"a".repeat(23)).app("worker").desire().is_ok());
    assert!(tenant(&"a".repeat(24)).app("worker").desire().is_err());
}

#[test]
fn a_tenant_without_apps_is_given_nothing() {
    assert_eq!(told(&world().plan(&tenant("acme"))), [""; 0]);
}
