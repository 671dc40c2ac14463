//! The definition of Tenant on a real API server: the table of manifests that `core/tests/crd.rs` runs through the rules without a
//! cluster is sent to one, and objects that were there before a rule can still be changed and deleted.

#![allow(clippy::unwrap_used)]

use sandbox::{
    Stack,
    cluster::{Cluster, User},
};
use serde::Deserialize;
use serde_json::{Value, json};

const TABLE: &str = include_str!("../../core/tests/fixtures/manifests.yaml");

#[derive(Deserialize)]
struct Row {
    name: String,
    accepted: bool,
    why: String,
    manifest: Value,
}

async fn define(cluster: &Cluster, definition: &str) {
    cluster.apply(definition).await.unwrap();
    cluster
        .kubectl(&[
            "wait",
            "--for=condition=Established",
            "crd/tenants.ramparts.com",
            "--timeout=30s",
        ])
        .await
        .unwrap();
}

async fn create(cluster: &Cluster, manifest: &Value, dry: bool) -> anyhow::Result<String> {
    let mut arguments = vec!["create", "--validate=strict", "-f", "-"];
    if dry {
        arguments.push("--dry-run=server");
    }
    cluster
        .kubectl_as(User::Administrator, &arguments, &manifest.to_string())
        .await
}

#[tokio::test]
async fn a_real_api_server_accepts_and_refuses_what_the_table_says() {
    let stack = Stack::builder().kube().start().await.unwrap();
    define(&stack.kube, &ramparts_core::api::crd_yaml()).await;
    let rows: Vec<Row> = serde_saphyr::from_str(TABLE).unwrap();
    assert!(rows.len() >= 20, "the table has {} rows", rows.len());
    for row in rows {
        let answer = create(&stack.kube, &row.manifest, true).await;
        assert_eq!(answer.is_ok(), row.accepted, "{} ({}): {answer:?}", row.name, row.why);
    }
}

#[tokio::test]
async fn an_object_older_than_a_rule_can_still_be_changed_and_deleted() {
    let stack = Stack::builder().kube().start().await.unwrap();
    let mut lenient = serde_json::to_value(ramparts_core::api::crd()).unwrap();
    let schema = &mut lenient["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert!(
        schema["x-kubernetes-validations"].take().is_array(),
        "the name is guarded at the root"
    );
    schema.as_object_mut().unwrap().remove("x-kubernetes-validations");
    define(&stack.kube, &lenient.to_string()).await;
    let misnamed = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": "1.acme", "finalizers": ["example.com/hold"]}});
    create(&stack.kube, &misnamed, false).await.unwrap();

    define(&stack.kube, &ramparts_core::api::crd_yaml()).await;
    let another = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": "2.acme"}});
    assert!(
        create(&stack.kube, &another, true).await.is_err(),
        "the rule holds for new objects"
    );
    let kubectl = async |arguments: &[&str]| stack.kube.kubectl(arguments).await.unwrap();
    kubectl(&["label", "tn/1.acme", "team=a"]).await;
    let status = r#"{"status": {"phase": "Blocked", "dbReady": false, "redisReady": false, "credentialsReady": false, "apps": [], "conditions": []}}"#;
    kubectl(&[
        "patch",
        "tn/1.acme",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ])
    .await;
    kubectl(&["delete", "tn/1.acme", "--wait=false"]).await;
    kubectl(&[
        "patch",
        "tn/1.acme",
        "--type=merge",
        "-p",
        r#"{"metadata": {"finalizers": []}}"#,
    ])
    .await;
    assert_eq!(kubectl(&["get", "tn", "-o", "name"]).await.trim(), "");
}

#[tokio::test]
async fn the_columns_are_those_that_people_script_on() {
    let stack = Stack::builder().kube().start().await.unwrap();
    define(&stack.kube, &ramparts_core::api::crd_yaml()).await;
    create(
        &stack.kube,
        &json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": "acme"}}),
        false,
    )
    .await
    .unwrap();
    let table = stack.kube.kubectl(&["get", "ramparts"]).await.unwrap();
    let columns: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        columns,
        ["NAME", "PLAN", "PHASE", "DB", "REDIS", "READY", "REASON", "AGE"]
    );
}
