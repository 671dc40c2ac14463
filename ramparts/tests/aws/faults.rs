//! Every class of error, at every operation: what was refused, throttled or lost is never taken for absent, and says what happens next.

use std::{sync::Arc, time::Duration};

use aws_config::profile::ProfileFileCredentialsProvider;
use aws_sdk_ssm::config::timeout::TimeoutConfig;
use ramparts::{
    aws::{Clients, clients_as},
    gate::Gate,
    metrics::Metrics,
};
use ramparts_core::{
    failure::{Class, Failure},
    name::RecordNo,
    observed::Presence,
    reason::Reason,
};
use sandbox::aws::{Fault, Rule, Times};

use crate::bench::{Bench, acme, app, bench, copy, issue, number, password, store, target, user, users_of};

/// What a fault must come to: class, and reason at the store and at the cache.
type Expected = (Class, Reason, Reason);

fn error(code: &str, status: u16) -> Fault {
    Fault::Error {
        code: code.to_owned(),
        status,
    }
}

fn faults() -> Vec<(Fault, Expected)> {
    let transient = |reason| (Class::Transient, reason, reason);
    let blocked = |reason| (Class::Blocked, reason, reason);
    let unreachable = (Class::Transient, Reason::StoreUnreachable, Reason::CacheUnreachable);
    vec![
        (Fault::Throttle, transient(Reason::Throttled)),
        (error("RequestLimitExceeded", 503), transient(Reason::Throttled)),
        (Fault::AccessDenied, blocked(Reason::AccessDenied)),
        (error("UnrecognizedClientException", 400), blocked(Reason::AccessDenied)),
        (error("ExpiredTokenException", 400), blocked(Reason::AccessDenied)),
        (error("InvalidKeyId", 400), blocked(Reason::AccessDenied)),
        (error("SomethingForbidden", 403), blocked(Reason::AccessDenied)),
        (error("InternalServerError", 500), unreachable),
        (error("", 502), unreachable),
        (error("TooManyUpdates", 400), unreachable),
        (Fault::LostRequest, unreachable),
        (Fault::LostReply, unreachable),
        (
            error("ValidationException", 400),
            (Class::Defect, Reason::Defect, Reason::Defect),
        ),
        (
            error("InvalidParameterCombination", 400),
            (Class::Defect, Reason::Defect, Reason::Defect),
        ),
        (
            error("SomethingNew", 400),
            (Class::Defect, Reason::Unexpected, Reason::Unexpected),
        ),
    ]
}

fn same(failure: &Failure, class: Class, reason: Reason, target: &str, fault: &Fault) {
    assert_eq!((failure.class, failure.reason), (class, reason), "{fault:?}: {failure}");
    assert!(failure.message.contains(target), "{fault:?}: {failure}");
}

#[tokio::test]
async fn no_fault_of_the_store_looks_like_an_empty_store() {
    let bench = bench().await;
    for (fault, (class, reason, _)) in faults() {
        let rule = bench.aws.fail("ssm.*", fault.clone(), Times::UntilCleared);
        let check = |failure: &Failure, target: &str| same(failure, class, reason, target, &fault);
        check(&bench.ssm.observe(&acme()).await.unwrap_err(), "/ramparts/");
        check(
            &bench.ssm.record(&acme(), number(1), false).await.unwrap_err(),
            "/ramparts/_ledger/acme/1",
        );
        check(
            &bench.ssm.record(&acme(), number(1), true).await.unwrap_err(),
            "/ramparts/_ledger/acme/1",
        );
        check(
            &bench.ssm.server(&target("main")).await.unwrap_err(),
            "/ramparts/_servers/main",
        );
        check(
            &bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap_err(),
            "/ramparts/_ledger/acme/1",
        );
        check(
            &bench
                .ssm
                .create_copy(&acme(), &app("api"), &copy('a'))
                .await
                .unwrap_err(),
            "/ramparts/acme/api",
        );
        check(
            &bench.ssm.create_server(&target("main"), "id").await.unwrap_err(),
            "/ramparts/_servers/main",
        );
        bench.aws.clear_fault(rule);
        for name in [
            "/ramparts/_ledger/acme/1",
            "/ramparts/acme/api",
            "/ramparts/_servers/main",
        ] {
            bench.aws.hand().delete_parameter(name);
        }
    }
}

#[tokio::test]
async fn a_fault_on_a_later_page_or_on_one_listing_spoils_the_whole_view() {
    let bench = bench().await;
    bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap();
    bench.aws.set_short_pages(true);
    let listing = || Rule::new("GetParametersByPath", Fault::Throttle, Times::Count(1));
    for rule in [
        listing().about("/ramparts/acme"),
        listing().about("/ramparts/_ledger/acme").after(1),
    ] {
        let rule = bench.aws.inject(rule);
        let failure = bench.ssm.observe(&acme()).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Throttled);
        bench.aws.clear_fault(rule);
    }
    assert_eq!(bench.ssm.observe(&acme()).await.unwrap().ledger.records.len(), 1);
}

#[tokio::test]
async fn of_two_listings_that_fail_the_ledger_s_failure_is_told_whichever_came_first() {
    let Bench { aws, clients, .. } = bench().await;
    let ssm = store(&impatient(&clients));
    let fail = |fault, path| aws.inject(Rule::new("GetParametersByPath", fault, Times::UntilCleared).about(path));
    fail(Fault::Timeout, "/ramparts/_ledger/acme");
    fail(Fault::Throttle, "/ramparts/acme");
    let failure = ssm.observe(&acme()).await.unwrap_err();
    assert_eq!(failure.reason, Reason::StoreUnreachable, "{failure}");
    assert!(failure.message.contains("/ramparts/_ledger/acme"), "{failure}");
}

#[tokio::test]
async fn no_fault_of_the_cache_service_looks_like_an_absent_user() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    for (fault, (class, _, reason)) in faults() {
        for operation in ["DescribeUsers", "DescribeUserGroups"] {
            let rule = bench.aws.fail(operation, fault.clone(), Times::UntilCleared);
            let failure = bench
                .users
                .observe(&acme(), &[user("api"), user("worker")])
                .await
                .unwrap_err();
            same(&failure, class, reason, operation, &fault);
            bench.aws.clear_fault(rule);
        }
        let rule = bench
            .aws
            .fail("ListTagsForResource", fault.clone(), Times::UntilCleared);
        let fresh = users_of(&bench.clients, crate::bench::GROUP);
        let view = fresh.observe(&acme(), &[user("api")]).await.unwrap();
        let Presence::Unknown(failure) = view.user(&user("api")) else {
            panic!("{fault:?}: {view:?}")
        };
        same(failure, class, reason, "ListTagsForResource", &fault);
        bench.aws.clear_fault(rule);
    }
}

#[tokio::test]
async fn a_change_at_the_cache_service_that_fails_says_why() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    for (fault, (class, _, reason)) in faults() {
        let rule = bench.aws.fail("elasticache.*", fault.clone(), Times::UntilCleared);
        let failure = bench.create_user("worker", &password('b')).await.unwrap_err();
        same(&failure, class, reason, "CreateUser prod-acme-worker", &fault);
        let failure = bench.users.join(&[user("api")]).await.unwrap_err();
        same(&failure, class, reason, "ModifyUserGroup prod", &fault);
        bench.aws.clear_fault(rule);
        bench.aws.hand().delete_user("prod-acme-worker");
        bench.aws.hand().remove_member("prod", "prod-acme-api");
    }
}

#[tokio::test]
async fn a_used_up_quota_waits_for_a_person() {
    let bench = bench().await;
    bench.create_user("api", &password('a')).await.unwrap();
    let quotas = sandbox::aws::Quotas {
        users: 2,
        users_per_group: 1,
        standard_parameters: 0,
        ..Default::default()
    };
    bench.aws.set_quotas(quotas);
    for failure in [
        bench.ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap_err(),
        bench.create_user("worker", &password('b')).await.unwrap_err(),
        bench.users.join(&[user("api")]).await.unwrap_err(),
    ] {
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Blocked, Reason::QuotaExceeded),
            "{failure}"
        );
    }
}

/// The same clients with less patience, so that a test need not have the real amount.
fn impatient(clients: &Clients) -> Clients {
    let timeouts = TimeoutConfig::builder()
        .operation_timeout(Duration::from_millis(300))
        .build();
    let ssm = clients
        .ssm
        .config()
        .to_builder()
        .timeout_config(timeouts.clone())
        .build();
    let elasticache = clients
        .elasticache
        .config()
        .to_builder()
        .timeout_config(timeouts)
        .build();
    Clients {
        ssm: aws_sdk_ssm::Client::from_conf(ssm),
        elasticache: aws_sdk_elasticache::Client::from_conf(elasticache),
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_is_transient_and_says_that_it_may_have_happened() {
    let Bench { aws, clients, .. } = bench().await;
    let clients = impatient(&clients);
    let (ssm, users) = (store(&clients), users_of(&clients, crate::bench::GROUP));
    for fault in [Fault::Timeout, Fault::HeldReply] {
        let rule = aws.fail("*", fault, Times::UntilCleared);
        let at_store = [
            ssm.observe(&acme()).await.unwrap_err(),
            ssm.record(&acme(), RecordNo::FIRST, true).await.unwrap_err(),
            ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap_err(),
        ];
        for failure in at_store {
            same(
                &failure,
                Class::Transient,
                Reason::StoreUnreachable,
                "no answer in time",
                &Fault::Timeout,
            );
        }
        let failure = users.observe(&acme(), &[user("api")]).await.unwrap_err();
        same(
            &failure,
            Class::Transient,
            Reason::CacheUnreachable,
            "no answer in time",
            &Fault::Timeout,
        );
        aws.clear_fault(rule);
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_transient() {
    let bench = bench().await;
    let Bench { aws, ssm, users, .. } = bench;
    drop(aws);
    let failure = ssm.observe(&acme()).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::StoreUnreachable),
        "{failure}"
    );
    let failure = users.observe(&acme(), &[user("api")]).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::CacheUnreachable),
        "{failure}"
    );
}

#[tokio::test]
async fn without_credentials_a_person_has_to_do_something() {
    let Bench { aws, .. } = bench().await;
    let settings = ramparts_core::settings::Aws {
        region: Some(aws.region().to_owned()),
        endpoint: Some(aws.endpoint()),
    };
    let nobody = ProfileFileCredentialsProvider::builder()
        .profile_name("nobody-has-this-profile")
        .build();
    let clients = clients_as(&settings, nobody).await;
    let failure = store(&clients).observe(&acme()).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Blocked, Reason::AccessDenied),
        "{failure}"
    );
    assert!(failure.message.contains("no AWS credentials"), "{failure}");
    assert_eq!(aws.calls_since(0).len(), 0);
}

#[tokio::test]
async fn every_call_is_counted_under_its_operation_and_class() {
    let bench = bench().await;
    let metrics = Arc::new(Metrics::default());
    let gate = Gate::new(Arc::clone(&metrics));
    let credentials = ramparts_core::settings::Credentials {
        prefix: "/ramparts".parse().unwrap(),
        kms_key: None,
        tier: ramparts_core::settings::Tier::Standard,
    };
    let ssm = ramparts::aws::Ssm::new(
        bench.clients.ssm.clone(),
        &credentials,
        crate::bench::installation(),
        gate,
    );
    ssm.create_record(&acme(), &issue(1, 'a')).await.unwrap();
    ssm.create_record(&acme(), &issue(1, 'b')).await.unwrap();
    bench.aws.fail("PutParameter", Fault::AccessDenied, Times::Count(1));
    ssm.create_record(&acme(), &issue(1, 'b')).await.unwrap_err();
    let text = metrics.render();
    let counted = |result: &str, count: u32| {
        let line = format!(
            "ramparts_external_calls_total{{layer=\"store\",operation=\"PutParameter\",result=\"{result}\"}} {count}"
        );
        assert!(text.contains(&line), "{line} is not in\n{text}");
    };
    counted("ok", 2);
    counted("Blocked", 1);
}
