//! D: partial and odd external state.

mod names;
mod objects;
mod replies;
mod settings;

use serde_json::json;

use crate::harness::{Flag, Oracle::*, Scenario, condition};

#[tokio::test(flavor = "multi_thread")]
async fn d5_while_the_database_cannot_be_reached_nothing_is_written_for_old_or_new() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d5-old", &json!({})).await;
    scenario.outage(Flag::Database);
    scenario.stack().postgres.stop().await.unwrap();
    let calls = scenario.stack().aws.mark();
    scenario.apply("d5-new", &json!({"plan": "large"})).await;
    for name in ["d5-old", "d5-new"] {
        let unreachable = scenario.wait(name, "DatabaseUnreachable", |tenant| {
            condition(tenant, "DatabaseReady").is_some_and(|it| it["reason"] == "DatabaseUnreachable")
        });
        let tenant = unreachable.await;
        assert_ne!(condition(&tenant, "Ready").unwrap()["status"], "True", "{name}");
    }
    // The new one once more, and now by a generation that was never seen with the server up.
    scenario.apply("d5-old", &json!({"plan": "large"})).await;
    scenario.two_sweeps().await;
    assert!(
        scenario.stack().aws.writes_since(calls).is_empty(),
        "{:?}",
        scenario.stack().aws.writes_since(calls)
    );

    scenario.stack().postgres.restart().await.unwrap();
    scenario.holds(&[Li, Qu, Cr, St, Da]).await;
    scenario.one_password_ever("d5-new").await;
    scenario.end().await;
}
