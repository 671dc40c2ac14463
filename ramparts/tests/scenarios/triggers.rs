//! T: triggers that must do nothing.

use std::time::Duration;

use sandbox::User;
use serde_json::json;

use crate::harness::{Manner, Oracle::*, Scenario, SettingsText, until};

/// Applied as kubectl and as Terraform do it, again and again.
async fn apply_fifty_times(scenario: &mut Scenario, name: &str) {
    let spec = json!({"plan": "standard"});
    scenario.provision(name, &spec).await;
    for _ in 0..44 {
        scenario.apply(name, &spec).await;
    }
    let manifest = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": name}, "spec": spec});
    for _ in 0..6 {
        scenario.stack().kube.apply(&manifest.to_string()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_the_same_manifest_applied_fifty_times_changes_nothing() {
    let mut scenario = Scenario::begin().await;
    apply_fifty_times(&mut scenario, "t1-acme").await;
    scenario.holds(&[Qu, Cr, St]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_is_seen_to_fail_on_a_mutant_that_overwrites_on_create() {
    let mut scenario = Scenario::with(Manner::mutant("overwrites-on-create")).await;
    apply_fifty_times(&mut scenario, "t1-mutant").await;
    let found = scenario.violations(&[Qu, Cr]).await;
    assert!(
        found.iter().any(|it| it.oracle == Cr && it.what.contains("overwrite")),
        "cr saw no overwrite: {found:?}"
    );
    assert!(
        found
            .iter()
            .any(|it| it.oracle == Cr && it.what.contains("does not log in")),
        "cr saw no lost login: {found:?}"
    );
    assert!(found.iter().any(|it| it.oracle == Qu), "qu saw no write");
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t1_a_reapply_a_label_and_our_own_status_write_cost_no_external_call() {
    let mut scenario = Scenario::without_operator().await;
    scenario.set(&SettingsText::of(scenario.stack()).without_sweeps());
    scenario.start(&Manner::shipped()).await;
    let (name, spec) = ("t1-quiet", json!({"plan": "standard"}));
    scenario.apply(name, &spec).await;
    // From here on: the status that was just written is our own.
    scenario.ready(name).await;
    let before = Costs::now(&scenario).await;
    for round in 0..10 {
        scenario.apply(name, &spec).await;
        scenario
            .tenants
            .merge(name, &json!({"metadata": {"labels": {"round": round.to_string()}}}))
            .await;
        scenario
            .tenants
            .merge(
                name,
                &json!({"metadata": {"annotations": {"round": round.to_string()}}}),
            )
            .await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = Costs::now(&scenario).await;
    assert_eq!(
        after, before,
        "thirty edits that change nothing and our own status write"
    );
    assert!(
        before.operator > 0 && before.aws > 0 && before.statements > 0 && before.cache > 0,
        "{before:?}"
    );
    scenario.end().await;
}

/// Calls by three witnesses besides the operator itself.
#[derive(Debug, PartialEq, Eq)]
struct Costs {
    operator: u64,
    aws: u64,
    sessions: usize,
    statements: usize,
    cache: u64,
}

impl Costs {
    async fn now(scenario: &Scenario) -> Self {
        Self {
            operator: scenario.operators[0].calls().await,
            aws: scenario.stack().aws.mark(),
            sessions: scenario.log().sessions_since(0),
            statements: scenario.log().statements_since(0),
            cache: logins_at_the_cache(scenario).await,
        }
    }
}

/// How often anybody but the sandbox logged in to the cache.
async fn logins_at_the_cache(scenario: &Scenario) -> u64 {
    let mut admin = scenario.stack().redis.admin().connect().await.unwrap();
    let statistics: String = redis::cmd("INFO")
        .arg("commandstats")
        .query_async(&mut admin)
        .await
        .unwrap();
    // The proof asks for a key; the sandbox, which governs users, never does.
    let line = statistics
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_exists:calls="));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn t2_labels_and_annotations_come_and_go_unnoticed() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("t2-acme", &json!({})).await;
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    for value in [json!("blue"), json!("green"), json!(null)] {
        for kind in ["labels", "annotations"] {
            scenario
                .tenants
                .merge(
                    "t2-acme",
                    &json!({"metadata": {kind: {"team": value, "example.com/owner": value}}}),
                )
                .await;
        }
    }
    scenario.holds(&[Qu, Cr, St]).await;
    assert_eq!(scenario.writes_since(calls, statements), Vec::<String>::new());
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t3_a_replace_with_the_original_manifest_changes_nothing() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("t3-acme", &json!({"plan": "large"})).await;
    scenario
        .tenants
        .merge("t3-acme", &json!({"metadata": {"labels": {"team": "blue"}}}))
        .await;
    let manifest = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": "t3-acme"}, "spec": {"plan": "large"}});
    for _ in 0..3 {
        let replace = ["replace", "-f", "-"];
        scenario
            .stack()
            .kube
            .kubectl_as(User::Administrator, &replace, &manifest.to_string())
            .await
            .unwrap();
    }
    scenario.holds(&[Qu, Cr, St, Da]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t4_an_idle_operator_restarted_ten_times_writes_nothing() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("t4-acme", &json!({"plan": "large"})).await;
    scenario.provision("t4-zenith", &json!({})).await;
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    for round in 0..10 {
        if round % 2 == 0 {
            scenario.stop().await;
        } else {
            scenario.operators.remove(0).kill().await;
        }
        scenario.start(&Manner::shipped()).await;
        until("the new process has looked at both tenants", async || {
            (scenario.operators[0].says("tenant_already_provisioned") >= 2).then_some(())
        })
        .await;
    }
    scenario.holds(&[Qu, Cr, St]).await;
    assert_eq!(
        scenario.writes_since(calls, statements),
        Vec::<String>::new(),
        "a restart writes nothing outside"
    );
    scenario.end().await;
}

/// As fast as the API allows, as a Terraform replace does; then it goes on with what is there.
async fn replace_again_and_again(scenario: &mut Scenario, name: &str) {
    let spec = json!({"plan": "large"});
    scenario.provision(name, &spec).await;
    for _ in 0..15 {
        scenario.tenants.delete(name).await;
        scenario.apply(name, &spec).await;
    }
    scenario.ready(name).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_tenant_deleted_and_created_again_in_a_breath_keeps_everything() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("t7-bystander").await;
    replace_again_and_again(&mut scenario, "t7-acme").await;
    // A pod that restarts in the middle of a replace reads what it always read.
    scenario.holds(&[Qu, Cr, Da, Ot, St]).await;
    scenario.status_is_complete("t7-acme").await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_is_seen_to_fail_on_a_mutant_that_patches_status_in_parts() {
    let mut scenario = Scenario::with(Manner::mutant("patches-status-in-parts")).await;
    replace_again_and_again(&mut scenario, "t7-mutant").await;
    let found = scenario.violations(&[St]).await;
    assert!(
        found.iter().any(|it| it.oracle == St && it.what.contains("redisReady")),
        "st saw nothing: {found:?}"
    );
    scenario.end().await;
}
