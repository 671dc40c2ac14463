//! S: the status.

use std::time::Duration;

use kube::api::{Patch, PatchParams, ValidationDirective};
use ramparts_core::api::{AppState, AppStatus, Condition, Phase, PlacementStatus, TenantStatus};
use sandbox::aws::Transition;
use serde_json::{Value, json};

use crate::harness::{Flag, Oracle::*, Scenario, condition, until};

#[tokio::test(flavor = "multi_thread")]
async fn s2_while_the_cache_is_down_the_database_stays_ready() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("s2-old", &json!({})).await;
    scenario.outage(Flag::Cache);
    scenario.stack().redis.stop().await.unwrap();
    scenario.apply("s2-new", &json!({})).await;
    let down = |tenant: &Value| tenant["status"]["dbReady"] == true && tenant["status"]["redisReady"] == false;
    for name in ["s2-old", "s2-new"] {
        let tenant = scenario.wait(name, "dbReady without redisReady", down).await;
        assert_eq!(condition(&tenant, "CacheReady").unwrap()["status"], "False", "{name}");
        assert_eq!(condition(&tenant, "DatabaseReady").unwrap()["status"], "True", "{name}");
    }
    let published = scenario.reads("s2-new").await;
    let half: Vec<_> = published
        .iter()
        .filter(|(_, copy)| copy.get("cache_username").is_some())
        .collect();
    assert!(
        half.is_empty(),
        "published though the cache has not proven it: {half:?}"
    );
    scenario.stack().redis.restart().await.unwrap();
    scenario.holds(&[Li, Qu, Cr, St, Da]).await;
    scenario.one_password_ever("s2-new").await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_a_status_that_another_client_emptied_is_restored_by_the_next_sweep() {
    let mut scenario = Scenario::begin().await;
    let before = scenario.provision("s3-acme", &json!({"plan": "large"})).await;
    scenario.tenants.empty_status("s3-acme").await;
    let after = scenario.ready("s3-acme").await;
    scenario.forget_history("s3-acme").await;
    for key in [
        "plan",
        "placement",
        "apps",
        "dbReady",
        "redisReady",
        "credentialsReady",
        "phase",
    ] {
        assert_eq!(after["status"][key], before["status"][key], "{key}");
    }
    scenario.holds(&[Qu, Cr, St, Da]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_a_plan_changed_while_the_cache_user_is_being_made_reaches_the_logins() {
    let mut scenario = Scenario::begin().await;
    let transitions = [Transition::UserCreate, Transition::GroupModify];
    for transition in transitions {
        scenario.stack().aws.set_delay(transition, Duration::from_secs(3));
    }
    scenario.apply("s4-acme", &json!({"plan": "standard"})).await;
    until("the cache user is being made", async || {
        scenario.stack().aws.hand().user("demo-s4-acme-api")
    })
    .await;
    scenario.apply("s4-acme", &json!({"plan": "large"})).await;
    let tenant = scenario.ready("s4-acme").await;
    for transition in transitions {
        scenario.stack().aws.set_delay(transition, Duration::ZERO);
    }
    assert_eq!(tenant["status"]["plan"], "large");
    assert_eq!(scenario.connection_limits("s4-acme").await, [60; 3]);
    scenario.one_password_ever("s4-acme").await;
    scenario.take_baseline("s4-acme", &tenant).await;
    scenario.holds(&[Qu, Cr, St]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_every_field_of_a_status_comes_back_as_it_was_written() {
    let mut scenario = Scenario::without_operator().await;
    scenario.apply("s5-acme", &json!({})).await;
    let status = full_status();
    let mut params = PatchParams::apply("ramparts").force();
    params.field_validation = Some(ValidationDirective::Strict);
    let write = async |status: &Value| {
        let object = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": "s5-acme"}, "status": status});
        scenario
            .tenants
            .api()
            .patch_status("s5-acme", &params, &Patch::Apply(object))
            .await
    };
    let written = serde_json::to_value(&status).unwrap();
    write(&written).await.unwrap();
    let read = scenario.tenants.get("s5-acme").await.unwrap()["status"].clone();
    assert_eq!(read, written);
    assert_eq!(serde_json::from_value::<TenantStatus>(read).unwrap(), status);

    // Strictness is real: what the definition does not know is refused and not dropped.
    let mut odd = written.clone();
    odd["colour"] = json!("red");
    let error = write(&odd).await.unwrap_err().to_string();
    assert!(error.contains("colour"), "{error}");
    scenario.end().await;
}

/// No field is empty; were a field added to the types, this would not compile.
fn full_status() -> TenantStatus {
    let condition = |kind: &str| Condition {
        type_: kind.into(),
        status: "True".into(),
        reason: "Provisioned".into(),
        message: "every published credential logs in".into(),
        observed_generation: Some(3),
        last_transition_time: serde_json::from_value(json!("2026-11-15T09:00:00Z")).unwrap(),
    };
    let app = |name: &str, state| AppStatus {
        name: name.into(),
        record: Some(7),
        issued_at: Some("2026-11-15T09:00:00Z".into()),
        login: Some("acme_api".into()),
        cache_user: Some("demo-acme-api".into()),
        parameter: Some("/ramparts/acme/api".into()),
        version: Some("1".into()),
        state,
    };
    TenantStatus {
        observed_generation: Some(3),
        phase: Phase::Degraded,
        plan: Some("standard".into()),
        db_ready: true,
        redis_ready: true,
        credentials_ready: true,
        placement: Some(PlacementStatus {
            database: "main".into(),
            cache: Some("main".into()),
        }),
        apps: vec![
            app("a", AppState::Pending),
            app("b", AppState::Provisioning),
            app("c", AppState::Ready),
            app("d", AppState::Degraded),
            app("e", AppState::Blocked),
            app("f", AppState::Retained),
        ],
        conditions: [
            "Ready",
            "DatabaseReady",
            "CacheReady",
            "CredentialsReady",
            "Reconciling",
            "Stalled",
        ]
        .map(condition)
        .into(),
    }
}
