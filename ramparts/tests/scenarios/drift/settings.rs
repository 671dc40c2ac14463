//! Settings that say something else than they did.

use sandbox::Version;
use serde_json::{Value, json};

use crate::harness::{Manner, Oracle::*, Scenario, ServerLog, SettingsText, condition};

/// Restarts on these settings, makes a tenant under them, and expects that nothing is written anywhere until the line is mended.
async fn refuses(scenario: &mut Scenario, settings: &SettingsText, fresh: &str) -> Value {
    scenario.stop().await;
    scenario.set(settings);
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    scenario.start(&Manner::shipped()).await;
    scenario.apply(fresh, &json!({})).await;
    let mut said = Value::Null;
    for name in ["d13-old", fresh] {
        let refused = |tenant: &Value| {
            condition(tenant, "Ready")
                .is_some_and(|ready| ready["status"] != "True" && ready["reason"] == "NotEnrolled")
        };
        said = scenario.wait(name, "NotEnrolled", refused).await;
    }
    scenario.two_sweeps().await;
    assert_eq!(scenario.writes_since(calls, statements), Vec::<String>::new());
    condition(&said, "Ready").unwrap()["message"].clone()
}

/// Back on the right line everything is well, the new tenant included.
async fn mended(scenario: &mut Scenario) {
    scenario.stop().await;
    scenario.set(&SettingsText::of(scenario.stack()));
    scenario.start(&Manner::shipped()).await;
    scenario.holds(&[Li, Cr, St, Da]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d13_another_prefix_or_region_writes_nothing_and_says_why() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d13-old", &json!({})).await;
    let right = SettingsText::of(scenario.stack());
    let prefix = right.with("prefix: /ramparts", "prefix: /rampart");
    let message = refuses(&mut scenario, &prefix, "d13-prefix").await;
    assert!(
        message.to_string().contains("wrong region, account or prefix"),
        "{message}"
    );
    assert!(scenario.stack().aws.hand().parameters("/rampart/").is_empty());
    mended(&mut scenario).await;

    let region = right.with("region: eu-west-1", "region: eu-west-2");
    let message = refuses(&mut scenario, &region, "d13-region").await;
    assert!(
        message.to_string().contains("wrong region, account or prefix"),
        "{message}"
    );
    let there = scenario.stack().aws.hand_in("eu-west-2");
    assert!(there.parameters("/").is_empty() && there.users().is_empty());
    mended(&mut scenario).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d13_an_empty_server_in_the_place_of_the_right_one_stays_empty() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d13-old", &json!({})).await;
    let other = scenario.stack().another_postgres("pg-d13", Version::V18).await.unwrap();
    let password = scenario.stack().directory().join("d13-password");
    std::fs::write(&password, other.admin_password().expose()).unwrap();
    let (log, mark) = (ServerLog::of(&other), ServerLog::of(&other).mark());
    let right = scenario.stack().directory().join("postgres-admin-password");
    let settings = SettingsText::of(scenario.stack())
        .with(
            &format!("endpoint: {}", scenario.stack().postgres.endpoint()),
            &format!("endpoint: {}", other.endpoint()),
        )
        .with(&right.display().to_string(), &password.display().to_string());
    let message = refuses(&mut scenario, &settings, "d13-server").await;
    assert!(message.to_string().contains("never enrolled"), "{message}");
    assert_eq!(log.writes_since(mark), Vec::<String>::new());
    mended(&mut scenario).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_an_app_that_enters_the_settings_reaches_every_tenant_and_stays_when_it_leaves() {
    let mut scenario = Scenario::begin().await;
    let names = ["d15-acme", "d15-zenith"];
    for name in names {
        scenario.provision(name, &json!({})).await;
    }
    let without = SettingsText::of(scenario.stack());
    let line = "  worker: {access: readWrite, cache: standard}\n";
    scenario.set(&without.with(
        line,
        &format!("{line}  billing: {{access: readWrite, cache: standard}}\n"),
    ));
    for name in names {
        let app = |tenant: &Value| {
            tenant["status"]["apps"]
                .as_array()
                .unwrap()
                .iter()
                .find(|app| app["name"] == "billing")
                .cloned()
        };
        let tenant = scenario
            .wait(name, "billing is Ready", |tenant| {
                app(tenant).is_some_and(|app| app["state"] == "Ready")
            })
            .await;
        assert_eq!(app(&tenant).unwrap()["record"], 2);
        assert!(scenario.reads(name).await.contains_key("billing"));
    }
    scenario.holds(&[Li, Qu, Cr, St, Da]).await;

    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    scenario.set(&without);
    for name in names {
        let retained = |tenant: &Value| {
            let apps = tenant["status"]["apps"].as_array().unwrap();
            apps.iter()
                .any(|app| app["name"] == "billing" && app["state"] == "Retained" && app["login"].is_string())
        };
        scenario.wait(name, "billing is Retained", retained).await;
        assert!(scenario.reads(name).await.contains_key("billing"), "its pods read on");
    }
    scenario.holds(&[Li, Qu, Cr, St, Da, Ot]).await;
    assert_eq!(scenario.writes_since(calls, statements), Vec::<String>::new());
    scenario.end().await;
}
