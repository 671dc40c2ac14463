//! The next number, and numbers whose record was lost. A number that any layer names has a record that was read, or nothing is committed.

use crate::common::{World, app, findings, now, record, role, tenant, told, troubles, world, world::mark, writes};
use ramparts_core::{
    ledger::Body,
    name::RecordNo,
    observed::Presence,
    plan::Plan,
    step::{Source, Step},
};

fn first_commit(plan: &Plan) -> Option<RecordNo> {
    plan.steps.iter().find_map(|planned| match &planned.step {
        Step::CommitIssue(draft) => Some(draft.number),
        _ => None,
    })
}

#[test]
fn a_record_that_the_store_has_not_shown_yet_stops_everything() {
    let world = World::ready(&["api"]).lost_record(1).without_login("acme_api");
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store unknown: LedgerStale".into()])
    );
}

#[test]
fn a_lost_record_is_filled_from_the_copies_that_name_it_once_they_have_logged_in() {
    let world = World::ready(&["api", "worker"])
        .lost_record(1)
        .confirmed(1)
        .without_user("prod-acme-worker");
    let plan = world.plan(&tenant("acme").app("api").app("worker"));
    assert_eq!(
        told(&plan),
        [
            "log in as acme_api",
            "log in to the cache as prod-acme-api",
            "write record 1 again from the copies of api <- 1 2",
        ],
        "the worker's copy cannot be proven without its cache user"
    );
    assert!(plan.again, "what else there is to do is seen once the ledger is whole");
    for planned in &plan.steps {
        match &planned.step {
            Step::ProveLogin { from, .. } | Step::ProveCacheUser { from, .. } => assert_eq!(*from, Source::Copy),
            Step::FillRecord { record: number, .. } => assert_eq!(*number, record(1)),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn law_1_a_filled_record_gives_back_the_very_same_credentials() {
    let (mut world, mut wish) = (
        World::ready(&["api", "worker"]),
        tenant("acme").app("api").app("worker"),
    );
    let before = (
        world.credentials(),
        world.store.copies.clone(),
        world.database.clone(),
        world.cache.clone(),
    );
    world = world.lost_record(1).confirmed(1);
    let mending = world.pass(&mut wish, now());
    assert_eq!(
        writes(&mending.plan),
        ["write record 1 again from the copies of api and worker"]
    );
    assert_ne!(
        mending.report.status.phase,
        ramparts_core::api::Phase::Ready,
        "it was not looked at yet"
    );
    let after = world.pass(&mut wish, now());
    assert_eq!(writes(&after.plan), [""; 0]);
    assert_eq!(after.report.status.phase, ramparts_core::api::Phase::Ready);
    assert_eq!(
        (world.credentials(), world.store.copies, world.database, world.cache),
        before
    );
}

#[test]
fn a_copy_that_is_refused_once_is_tried_again_and_one_that_is_refused_for_good_stands_for_nothing() {
    let mut world = World::ready(&["api", "worker"]).lost_record(1).confirmed(1);
    let mut wish = tenant("acme").app("api").app("worker");
    world.refusing.insert("acme_api".into());
    for minute in 0..2 {
        world.pass(&mut wish, crate::common::minutes_later(minute));
        assert!(!world.has_record(1));
    }
    world.pass(&mut wish, crate::common::minutes_later(2));
    let ledger = &world.store.ledger;
    assert!(
        ledger.credential(record(1), &app("worker")).is_some(),
        "the others' values are safe again"
    );
    assert!(ledger.credential(record(1), &app("api")).is_none());
    let plan = world.plan(&wish);
    assert_eq!(
        (writes(&plan), troubles(&plan)),
        (vec![], vec!["store api wrong: CredentialLost".into()])
    );
}

#[test]
fn a_copy_with_another_number_and_the_same_values_is_a_conflict_and_no_trace_of_a_record() {
    for number in [2, 400] {
        let mut world = World::ready(&["api"]);
        world.copy_mut("api").copy.record = record(number);
        let plan = world.plan(&tenant("acme").app("api"));
        assert_eq!(
            (writes(&plan), troubles(&plan)),
            (vec![], vec!["store api wrong: CredentialConflict".into()])
        );
    }
}

#[test]
fn a_number_far_beyond_the_ledger_is_left_to_a_person() {
    let mut world = World::ready(&["api"]);
    world.login_mut("acme_api").mark.record = record(400);
    let plan = world.plan(&tenant("acme").app("api"));
    assert_eq!(
        (writes(&plan), troubles(&plan)),
        (vec![], vec!["store wrong: RecordsMissing".into()])
    );
}

#[test]
fn law_1_a_lost_record_without_a_copy_becomes_void_and_never_a_new_credential() {
    for with_old_wish in [false, true] {
        let mut world = World::ready(&["api", "worker"])
            .lost_record(1)
            .confirmed(1)
            .without_copy("api")
            .without_copy("worker");
        let mut wish = tenant("acme").app("api").app("worker");
        if with_old_wish {
            wish = wish.issued_before("2020-01-01T00:00:00Z");
        }
        let mending = world.pass(&mut wish, now());
        assert_eq!(told(&mending.plan), ["commit record 1 as void"]);
        assert_ne!(mending.report.status.phase, ramparts_core::api::Phase::Ready);
        let after = world.plan(&wish);
        assert_eq!(writes(&after), [""; 0]);
        assert_eq!(
            troubles(&after),
            ["store api wrong: CredentialLost", "store worker wrong: CredentialLost"]
        );
        assert_eq!(world.drawn, 0);
    }
}

#[test]
fn a_copy_whose_login_is_gone_cannot_be_proven_and_stands_for_nothing() {
    let world = World::ready(&["reporting"])
        .lost_record(1)
        .confirmed(1)
        .without_login("acme_reporting");
    assert_eq!(
        told(&world.plan(&tenant("acme").app("reporting"))),
        ["commit record 1 as void"]
    );
}

#[test]
fn a_lost_record_is_not_declared_void_on_the_word_of_a_server_that_its_copy_does_not_name() {
    // The record said where the tenant lives. Without it the first server of the settings is asked, which has never heard of it.
    let mut world = world().with_copy("reporting", 1).confirmed(1);
    world.copy_mut("reporting").copy.database.endpoint.host = "second.example".into();
    let plan = world.plan(&tenant("acme").app("reporting"));
    assert_eq!(
        (told(&plan), findings(&plan)),
        (vec![], vec!["store reporting wrong: UnknownPlacement".into()])
    );
    // A pin says where to look.
    let found = world.with_groups().with_database().with_login("reporting", 1);
    let plan = found.plan(&tenant("acme").app("reporting").pinned(Some("second"), None));
    assert_eq!(writes(&plan), ["write record 1 again from the copies of reporting"]);
}

#[test]
fn the_next_number_is_one_more_than_the_highest_in_any_layer() {
    let wish = tenant("acme").app("reporting").app("worker");
    let by_record = World::ready(&["reporting"]).with_body(2, "uid-1", Body::Open);
    assert_eq!(first_commit(&by_record.plan(&wish)), Some(record(3)));
    let after_void = World::ready(&["reporting"])
        .with_body(2, "uid-1", Body::Void)
        .with_body(3, "uid-1", Body::Void);
    assert_eq!(first_commit(&after_void.plan(&wish)), Some(record(4)));
}

#[test]
fn nothing_is_committed_while_a_number_above_the_ledger_has_no_record_that_was_read() {
    let start = || World::ready(&["reporting"]);
    let by_login = start().with_login("api", 2);
    let by_user = start().with_cache_user("api", 2);
    let by_copy = start().with_copy("api", 2);
    let mut by_database = start();
    if let Presence::Ours(seen) = &mut by_database.database.database {
        seen.mark = Some(mark(None, 2));
    }
    for (what, world) in [
        ("login", by_login),
        ("user", by_user),
        ("copy", by_copy),
        ("database", by_database),
    ] {
        let plan = world.plan(&tenant("acme").app("reporting").app("worker"));
        assert_eq!(
            (told(&plan), findings(&plan)),
            (vec![], vec!["store unknown: LedgerStale".into()]),
            "{what}"
        );
    }
}

#[test]
fn every_number_up_to_the_highest_is_mended_and_only_once_all_are_confirmed() {
    let wish = tenant("acme").app("reporting").app("worker");
    let world = World::ready(&["reporting"])
        .with_login("api", 4)
        .confirmed(2)
        .confirmed(4);
    assert_eq!(told(&world.plan(&wish)), [""; 0], "3 was not read directly yet");
    let world = world.confirmed(3);
    assert_eq!(
        told(&world.plan(&wish)),
        [
            "commit record 2 as void",
            "commit record 3 as void",
            "commit record 4 as void"
        ]
    );
}

#[test]
fn a_late_number_in_the_middle_is_mended_too() {
    let world = World::ready(&["reporting"])
        .with_body(3, "uid-1", Body::Open)
        .confirmed(2);
    assert_eq!(
        told(&world.plan(&tenant("acme").app("reporting"))),
        ["commit record 2 as void"]
    );
}

#[test]
fn a_ledger_that_is_full_issues_nothing_and_the_rest_goes_on() {
    let mut world = World::ready(&["reporting"]).without_login("acme_reporting");
    for number in 2..=9999 {
        world = world.with_body(number, "uid-1", Body::Void);
    }
    let plan = world.plan(&tenant("acme").app("reporting").app("worker"));
    assert_eq!(
        writes(&plan),
        ["create login acme_reporting", "configure login acme_reporting"]
    );
    assert_eq!(troubles(&plan), ["store wrong: LedgerFull"]);
}

#[test]
fn while_a_record_is_mended_nothing_else_is_written() {
    let world = World::ready(&["api", "reporting"])
        .lost_record(1)
        .confirmed(1)
        .without_login("acme_reporting");
    let plan = world.plan(&tenant("acme").app("api").app("reporting").app("worker").plan("large"));
    assert_eq!(writes(&plan), ["write record 1 again from the copies of api"]);
}

#[test]
fn a_suspended_tenant_is_not_mended() {
    let world = World::ready(&["api"]).lost_record(1).confirmed(1).without_copy("api");
    let plan = world.plan(&tenant("acme").app("api").suspended());
    assert_eq!(writes(&plan), [""; 0]);
    assert!(!plan.again);
    assert_eq!(troubles(&plan), ["store wrong: Suspended"]);
}

#[test]
fn the_marks_of_others_do_not_count() {
    let mut world = World::ready(&["reporting"]);
    world
        .database
        .logins
        .insert(role("acme_api_7"), Presence::Foreign("another installation's".into()));
    assert_eq!(
        first_commit(&world.plan(&tenant("acme").app("reporting").app("worker"))),
        Some(record(2))
    );
}

#[test]
fn a_world_with_nothing_in_it_has_no_number() {
    let wish = tenant("acme").app("reporting");
    assert_eq!(world().observe(&wish.desired()).highest(), None);
    assert_eq!(first_commit(&world().plan(&wish)), Some(RecordNo::FIRST));
}

#[test]
fn a_tenant_is_looked_for_under_every_name_that_it_has_may_have_had_or_would_get() {
    let logins = |world: &World, wish: &crate::common::Wish| -> Vec<String> {
        let names = wish.desired().names_to_look_for(&world.store);
        names.iter().map(|names| names.login.to_string()).collect()
    };
    let wish = tenant("acme").app("api").app("reporting");
    assert_eq!(logins(&world(), &wish), ["acme_api", "acme_reporting"], "would get");
    assert_eq!(
        logins(&World::ready(&["api"]), &wish),
        ["acme_api", "acme_reporting_2"],
        "has, and would get"
    );
    let retained = World::ready(&["api", "worker"]);
    assert_eq!(
        logins(&retained, &tenant("acme").app("api")),
        ["acme_api", "acme_worker"],
        "has, though it left"
    );
    let lost = World::ready(&["api"]).lost_record(1);
    assert_eq!(
        logins(&lost, &wish),
        ["acme_api", "acme_api_2", "acme_reporting", "acme_reporting_2"],
        "the copy names record 1, which may have given any app a login"
    );
}
