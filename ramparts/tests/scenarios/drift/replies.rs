//! Services that refuse, lose their replies, or are busy with somebody else's change.

use std::time::Duration;

use sandbox::aws::{Fault, Rule, Times};
use serde_json::{Value, json};

use crate::harness::{Manner, Oracle::*, Scenario, condition};

#[tokio::test(flavor = "multi_thread")]
async fn d4_while_the_store_cannot_be_read_nothing_is_written_and_nothing_is_claimed() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d4-old", &json!({})).await;
    let kms = Fault::Error {
        code: "KMSAccessDeniedException".into(),
        status: 400,
    };
    for (round, fault) in [Fault::AccessDenied, kms, Fault::Throttle].into_iter().enumerate() {
        let fresh = format!("d4-new-{round}");
        let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
        for operation in ["GetParameter", "GetParameters", "GetParametersByPath"] {
            scenario.stack().aws.fail(operation, fault.clone(), Times::UntilCleared);
        }
        scenario.apply(&fresh, &json!({})).await;
        let unknown =
            |tenant: &Value| condition(tenant, "CredentialsReady").is_some_and(|it| it["status"] == "Unknown");
        for name in ["d4-old", &fresh] {
            scenario.wait(name, "Unknown", unknown).await;
        }
        // A process that remembers nothing knows no more.
        scenario.stop().await;
        scenario.start(&Manner::shipped()).await;
        scenario.two_sweeps().await;
        assert_eq!(
            scenario.writes_since(calls, statements),
            Vec::<String>::new(),
            "{fault:?}"
        );
        scenario.stack().aws.clear_faults();
        scenario.holds(&[Li, Cr, St, Da]).await;
        scenario.one_password_ever(&fresh).await;
    }
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_a_write_whose_reply_is_lost_is_adopted_and_not_repeated() {
    let mut scenario = Scenario::begin().await;
    let lost = [
        ("d6-record", "PutParameter", "/ramparts/_ledger/d6-record/1"),
        ("d6-copy", "PutParameter", "/ramparts/d6-copy/api"),
        ("d6-user", "CreateUser", "demo-d6-user-api"),
        ("d6-group", "ModifyUserGroup", "demo"),
    ];
    for (name, operation, key) in lost {
        let mark = scenario.stack().aws.mark();
        // The reply of every retry of the client is lost too: the next pass has to look.
        let rule = Rule::new(operation, Fault::LostReply, Times::Count(3)).about(key);
        let rule = scenario.stack().aws.inject(rule);
        scenario.apply(name, &json!({})).await;
        let object = scenario.ready(name).await;
        scenario.stack().aws.clear_fault(rule);
        let calls = scenario.stack().aws.calls_since(mark);
        assert!(
            calls.iter().any(|call| call.operation == operation && call.key == key),
            "{operation} of {key} was never called"
        );
        scenario.one_password_ever(name).await;
        scenario.take_baseline(name, &object).await;
    }
    scenario.holds(&[Qu, Cr, St, Da]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d8_a_cache_user_that_somebody_else_changes_is_waited_for() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d8-acme", &json!({"plan": "standard"})).await;
    let mark = scenario.stack().aws.mark();
    let users = scenario.stack().aws.hand().users().len();
    assert!(
        scenario
            .stack()
            .aws
            .hand()
            .hold_user("demo-d8-acme-api", Duration::from_secs(3))
    );
    scenario.apply("d8-acme", &json!({"plan": "large"})).await;
    scenario
        .wait("d8-acme", "the plan is in force", |tenant| {
            tenant["status"]["plan"] == "large"
        })
        .await;
    scenario.holds(&[Li, Qu, Cr, Da]).await;
    assert_eq!(scenario.stack().aws.hand().users().len(), users, "no second user");
    assert!(
        scenario.stack().aws.writes_since(mark).is_empty(),
        "a cache user is never modified"
    );
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d12_a_plan_goes_up_and_down_and_no_credential_with_it() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d12-bystander").await;
    scenario.provision("d12-acme", &json!({"plan": "standard"})).await;
    for (plan, connections) in [("large", 60), ("standard", 20), ("large", 60)] {
        scenario.apply("d12-acme", &json!({"plan": plan})).await;
        let tenant = scenario.ready("d12-acme").await;
        assert_eq!(tenant["status"]["plan"], plan);
        assert_eq!(scenario.connection_limits("d12-acme").await, [connections; 3]);
    }
    scenario.holds(&[Qu, Cr, St, Da, Ot]).await;
    scenario.end().await;
}
