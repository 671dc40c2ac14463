//! Records, copies and enrolments in Parameter Store.

use std::time::{Duration, Instant};

use aws_sdk_ssm::types::ParameterType;
use ramparts::aws::Created;
use ramparts_core::{
    enrolment::StoreSide,
    failure::Class,
    observed::{Presence, StoreView},
    reason::Reason,
};
use sandbox::aws::{Fault, Times};

use crate::bench::{acme, app, bench, copy, issue, number, target, void};

const RECORD: &str = "/ramparts/_ledger/acme/1";
const COPY: &str = "/ramparts/acme/api";
const SERVER: &str = "/ramparts/_servers/main";

#[tokio::test]
async fn a_tenant_that_nobody_has_heard_of_has_an_empty_store() {
    let bench = bench().await;
    assert_eq!(bench.ssm.observe(&acme()).await.unwrap(), StoreView::default());
    assert_eq!(bench.ssm.record(&acme(), number(1), false).await.unwrap(), None);
    assert_eq!(bench.ssm.server(&target("main")).await.unwrap(), StoreSide::Absent);
}

#[tokio::test]
async fn a_record_is_stored_encrypted_and_tagged_and_comes_back_as_it_was() {
    let bench = bench().await;
    let record = issue(1, 'a');
    assert_eq!(
        bench.ssm.create_record(&acme(), &record).await.unwrap(),
        Created::Written
    );
    let stored = bench.aws.hand().parameter(RECORD).unwrap();
    assert!(stored.secure);
    let tags: Vec<_> = stored
        .tags
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        tags,
        [
            ("ramparts:installation", "prod"),
            ("ramparts:record", "1"),
            ("ramparts:tenant", "acme")
        ]
    );
    assert_eq!(
        bench.ssm.record(&acme(), number(1), true).await.unwrap().as_ref(),
        Some(&record)
    );
    let view = bench.ssm.observe(&acme()).await.unwrap();
    assert_eq!(
        view.ledger.records.into_iter().collect::<Vec<_>>(),
        [(number(1), record)]
    );
}

#[tokio::test]
async fn a_copy_is_stored_encrypted_and_tagged_and_comes_back_with_its_version() {
    let bench = bench().await;
    assert_eq!(
        bench.ssm.create_copy(&acme(), &app("api"), &copy('a')).await.unwrap(),
        Created::Written
    );
    let stored = bench.aws.hand().parameter(COPY).unwrap();
    assert!(stored.secure);
    assert_eq!(stored.tags["ramparts:app"], "api");
    let view = bench.ssm.observe(&acme()).await.unwrap();
    let Presence::Ours(seen) = view.copy(&app("api")) else {
        panic!("{view:?}")
    };
    assert_eq!((&seen.copy, seen.version.as_str()), (&copy('a'), "1"));
}

#[tokio::test]
async fn a_second_put_leaves_the_first_value_as_it_is() {
    let bench = bench().await;
    bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap();
    bench.ssm.create_copy(&acme(), &app("api"), &copy('a')).await.unwrap();
    bench.ssm.create_server(&target("main"), "first").await.unwrap();
    assert_eq!(
        bench.ssm.create_record(&acme(), &issue(1, 'b')).await.unwrap(),
        Created::Existed
    );
    assert_eq!(
        bench.ssm.create_copy(&acme(), &app("api"), &copy('b')).await.unwrap(),
        Created::Existed
    );
    assert_eq!(
        bench.ssm.create_server(&target("main"), "second").await.unwrap(),
        Created::Existed
    );
    for name in [RECORD, COPY, SERVER] {
        assert_eq!(bench.aws.hand().parameter(name).unwrap().version, 1, "{name}");
    }
    assert_eq!(
        bench.ssm.record(&acme(), number(1), true).await.unwrap(),
        Some(issue(1, 'a'))
    );
    assert_eq!(
        bench.ssm.server(&target("main")).await.unwrap(),
        StoreSide::Recorded("first".to_owned())
    );
}

#[tokio::test]
async fn after_a_lost_reply_the_next_try_adopts_what_was_written() {
    let bench = bench().await;
    bench.aws.fail("PutParameter", Fault::LostReply, Times::Count(1));
    let lost = bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap_err();
    assert_eq!(
        (lost.class, lost.reason),
        (Class::Transient, Reason::StoreUnreachable),
        "{lost}"
    );
    assert_eq!(
        bench.aws.count("ssm.PutParameter"),
        1,
        "the SDK does not try again by itself"
    );
    assert_eq!(
        bench.ssm.create_record(&acme(), &issue(1, 'b')).await.unwrap(),
        Created::Existed
    );
    assert_eq!(
        bench.ssm.record(&acme(), number(1), true).await.unwrap(),
        Some(issue(1, 'a'))
    );
}

#[tokio::test]
async fn a_listing_is_read_to_its_end_however_its_pages_are_cut() {
    let bench = bench().await;
    for record in 1..=25 {
        bench.ssm.create_record(&acme(), &void(record)).await.unwrap();
    }
    for short in [false, true] {
        bench.aws.set_short_pages(short);
        let view = bench.ssm.observe(&acme()).await.unwrap();
        let numbers: Vec<u32> = view.ledger.records.keys().map(|number| number.get()).collect();
        assert_eq!(numbers, (1..=25).collect::<Vec<_>>(), "short pages: {short}");
    }
}

#[tokio::test]
async fn a_record_that_was_just_put_is_waited_for() {
    let bench = bench().await;
    bench.aws.set_stale_reads(Duration::from_millis(500));
    bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap();
    assert_eq!(
        bench.ssm.record(&acme(), number(1), false).await.unwrap(),
        None,
        "the sandbox does not lag"
    );
    assert_eq!(
        bench.ssm.record(&acme(), number(1), true).await.unwrap(),
        Some(issue(1, 'a'))
    );
    let begun = Instant::now();
    assert_eq!(bench.ssm.record(&acme(), number(2), true).await.unwrap(), None);
    let waited = begun.elapsed();
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(4)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_copy_that_must_be_there_is_waited_for_and_read_by_its_name() {
    let bench = bench().await;
    bench.aws.set_stale_reads(Duration::from_millis(500));
    bench.ssm.create_copy(&acme(), &app("api"), &copy('a')).await.unwrap();
    let listed = bench.ssm.observe(&acme()).await.unwrap();
    assert_eq!(listed.copy(&app("api")), &Presence::Absent, "the sandbox does not lag");
    let found = bench.ssm.copy(&acme(), &app("api")).await.unwrap();
    let Presence::Ours(seen) = &found else {
        panic!("{found:?}")
    };
    assert_eq!((&seen.copy, seen.version.as_str()), (&copy('a'), "1"));
    assert_eq!(bench.ssm.copy(&acme(), &app("worker")).await.unwrap(), Presence::Absent);
    bench.aws.hand().put_parameter(COPY, "another's").unwrap();
    bench.aws.set_stale_reads(Duration::ZERO);
    let found = bench.ssm.copy(&acme(), &app("api")).await.unwrap();
    assert!(matches!(found, Presence::Foreign(_)), "{found:?}");
}

#[tokio::test]
async fn values_that_are_not_ours_are_foreign_and_never_read_as_ours() {
    let bench = bench().await;
    let hand = bench.aws.hand();
    let elsewhere = issue(1, 'a').write(&"other".parse().unwrap(), &acme());
    for value in [
        "",
        "null",
        "{}",
        "just a text",
        "{\"ramparts\":\"copy/v1\"}",
        elsewhere.expose(),
    ] {
        if value.is_empty() {
            continue;
        }
        hand.put_parameter(RECORD, value).unwrap();
        hand.put_parameter(COPY, value).unwrap();
        hand.put_parameter(SERVER, value).unwrap();
        let view = bench.ssm.observe(&acme()).await.unwrap();
        assert_eq!(view.foreign_record.as_deref(), Some(RECORD), "{value}");
        assert!(view.ledger.records.is_empty());
        assert!(
            matches!(view.copy(&app("api")), Presence::Foreign(_)),
            "{value}: {view:?}"
        );
        let direct = bench.ssm.record(&acme(), number(1), false).await.unwrap_err();
        assert_eq!((direct.class, direct.reason), (Class::Blocked, Reason::NotOwned));
        assert!(
            matches!(bench.ssm.server(&target("main")).await.unwrap(), StoreSide::Foreign(_)),
            "{value}"
        );
    }
}

#[tokio::test]
async fn a_record_of_ours_that_cannot_be_understood_makes_the_store_unknown() {
    let bench = bench().await;
    for (name, value) in [
        (
            RECORD,
            r#"{"ramparts":"record/v2","installation":"prod","tenant":"acme"}"#,
        ),
        (
            RECORD,
            r#"{"ramparts":"record/v1","installation":"prod","tenant":"acme","record":7}"#,
        ),
        (
            SERVER,
            r#"{"ramparts":"server/v2","installation":"prod","server":"main","id":"x"}"#,
        ),
        (
            SERVER,
            r#"{"ramparts":"server/v1","installation":"prod","server":"main","id":"No Id"}"#,
        ),
    ] {
        bench.aws.hand().put_parameter(name, value).unwrap();
        let failure = if name == RECORD {
            bench.ssm.record(&acme(), number(1), false).await.unwrap_err();
            bench.ssm.observe(&acme()).await.unwrap_err()
        } else {
            bench.ssm.server(&target("main")).await.unwrap_err()
        };
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Blocked, Reason::Malformed),
            "{value}: {failure}"
        );
        assert!(failure.message.contains(name), "{failure}");
    }
}

#[tokio::test]
async fn a_copy_of_ours_that_cannot_be_understood_is_unknown_and_hides_nothing_else() {
    let bench = bench().await;
    bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap();
    let newer = r#"{"ramparts":"copy/v2","installation":"prod","tenant":"acme","app":"api"}"#;
    bench.aws.hand().put_parameter(COPY, newer).unwrap();
    let view = bench.ssm.observe(&acme()).await.unwrap();
    assert_eq!(view.ledger.records.len(), 1);
    let Presence::Unknown(failure) = view.copy(&app("api")) else {
        panic!("{view:?}")
    };
    assert_eq!((failure.class, failure.reason), (Class::Blocked, Reason::Malformed));
}

#[tokio::test]
async fn names_that_no_record_and_no_app_has_are_passed_over() {
    let bench = bench().await;
    for name in [
        "/ramparts/_ledger/acme/01",
        "/ramparts/_ledger/acme/note",
        "/ramparts/acme/Api_1",
        "/ramparts/acme/api/old",
    ] {
        bench.aws.hand().put_parameter(name, "x").unwrap();
    }
    assert_eq!(bench.ssm.observe(&acme()).await.unwrap(), StoreView::default());
}

#[tokio::test]
async fn a_tenant_does_not_see_what_belongs_to_a_longer_name() {
    let bench = bench().await;
    let longer = "acme-2".parse().unwrap();
    bench.ssm.create_record(&longer, &issue(1, 'a')).await.unwrap();
    bench.ssm.create_copy(&longer, &app("api"), &copy('a')).await.unwrap();
    assert_eq!(bench.ssm.observe(&acme()).await.unwrap(), StoreView::default());
}

#[tokio::test]
async fn a_copy_that_somebody_stored_unencrypted_can_still_be_read() {
    let bench = bench().await;
    let text = copy('a').write(&"prod".parse().unwrap(), &acme(), &app("api"));
    let put = bench
        .clients
        .ssm
        .put_parameter()
        .name(COPY)
        .value(text.expose())
        .r#type(ParameterType::String);
    put.send().await.unwrap();
    let view = bench.ssm.observe(&acme()).await.unwrap();
    assert!(matches!(view.copy(&app("api")), Presence::Ours(_)), "{view:?}");
}
