//! X: deletion.

use serde_json::json;

use crate::harness::{Oracle::*, Scenario, until};

#[tokio::test(flavor = "multi_thread")]
async fn x6_a_tenant_that_is_deleted_and_created_again_has_the_same_credentials() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("x6-bystander").await;
    let first = scenario.provision("x6-acme", &json!({"plan": "large"})).await;
    scenario.tenants.delete("x6-acme").await;
    until("the object is gone", async || {
        scenario.tenants.get("x6-acme").await.is_none().then_some(())
    })
    .await;
    scenario.holds(&[Qu, Cr, Da]).await;

    scenario.apply("x6-acme", &json!({"plan": "large"})).await;
    let second = scenario.ready("x6-acme").await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    assert_eq!(
        first["status"]["apps"], second["status"]["apps"],
        "the same records, logins, users and versions"
    );
    let records = scenario.records("x6-acme");
    let kinds: Vec<&str> = records.values().filter_map(|record| record["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        ["issue", "open"],
        "the new object says that it goes on with what is there, once"
    );
    scenario.holds(&[Qu, Cr, Da, St, Ot]).await;
    scenario.end().await;
}
