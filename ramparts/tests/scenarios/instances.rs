//! R: instances, network, time.

use serde_json::json;

use crate::harness::{Manner, Oracle::*, Scenario, SettingsText, is_ready, until};

#[tokio::test(flavor = "multi_thread")]
async fn r1_two_replicas_without_election_give_fifty_tenants_one_password_each() {
    let mut scenario = Scenario::without_operator().await;
    // Two operators that prove fifty tenants every two seconds are more than two cores can carry; what matters here is creation.
    scenario.set(&SettingsText::of(scenario.stack()).with("interval: 2s, proof: 2s", "interval: 30s, proof: 1h"));
    for _ in 0..2 {
        scenario.start(&Manner::shipped()).await;
    }
    scenario.bystander("r1-bystander").await;
    let names: Vec<String> = (0..50).map(|number| format!("r1-t{number}")).collect();
    for name in &names {
        scenario.apply(name, &json!({"plan": "standard"})).await;
    }
    until("all fifty are Ready", async || {
        let all = scenario.tenants.all().await;
        (all.len() > names.len() && all.iter().all(is_ready)).then_some(())
    })
    .await;
    for name in &names {
        scenario.one_password_ever(name).await;
    }
    scenario.holds(&[St, Ot]).await;
    scenario.end().await;
}
