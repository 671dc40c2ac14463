//! N: the creation window.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Manner, Oracle::*, Scenario, SettingsText, is_ready, until};

#[tokio::test(flavor = "multi_thread")]
async fn n1_a_new_tenant_with_a_plan_gets_one_password_and_a_whole_status() {
    let mut scenario = Scenario::begin().await;
    let tenant = scenario.provision("n1-acme", &json!({"plan": "large"})).await;
    scenario.one_password_ever("n1-acme").await;
    assert_eq!(tenant["status"]["plan"], "large");
    assert_eq!(tenant["status"]["redisReady"], true);
    scenario.holds(&[Qu, Cr, St, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n1_is_seen_to_fail_on_a_mutant_that_patches_status_in_parts() {
    let mut scenario = Scenario::with(Manner::mutant("patches-status-in-parts")).await;
    scenario.provision("n1-mutant", &json!({"plan": "large"})).await;
    let found = scenario.violations(&[St]).await;
    assert!(
        found.iter().any(|it| it.oracle == St && it.what.contains("redisReady")),
        "st saw nothing: {found:?}"
    );
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n2_a_plan_changed_right_after_creation_is_the_plan_in_the_end() {
    let mut scenario = Scenario::begin().await;
    let delays = [0, 10, 50, 200, 1000];
    for delay in delays {
        let name = format!("n2-after-{delay}");
        scenario.apply(&name, &json!({"plan": "standard"})).await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        scenario.apply(&name, &json!({"plan": "large"})).await;
    }
    for delay in delays {
        let name = format!("n2-after-{delay}");
        let tenant = scenario.ready(&name).await;
        assert_eq!(tenant["status"]["plan"], "large", "{name}");
        scenario.one_password_ever(&name).await;
        assert_eq!(scenario.connection_limits(&name).await, [60, 60, 60], "{name}");
        scenario.take_baseline(&name, &tenant).await;
    }
    scenario.holds(&[Qu, Cr, St]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n5_ten_tenants_at_once_get_through_a_throttled_account() {
    let mut scenario = Scenario::without_operator().await;
    // Sweeps of two seconds would use up the whole rate by themselves.
    scenario.set(&SettingsText::of(scenario.stack()).with("interval: 2s, proof: 2s", "interval: 30s, proof: 1h"));
    scenario.start(&Manner::shipped()).await;
    scenario.stack().aws.set_rate("ssm.*", 30.0, 10.0);
    scenario.stack().aws.set_rate("elasticache.*", 15.0, 15.0);
    let mark = scenario.stack().aws.mark();
    let names: Vec<String> = (0..10).map(|number| format!("n5-t{number}")).collect();
    for name in &names {
        scenario.apply(name, &json!({})).await;
    }
    for name in &names {
        scenario.ready(name).await;
    }
    scenario.stack().aws.clear_rates();
    let calls = scenario.stack().aws.calls_since(mark);
    let throttled = calls
        .iter()
        .filter(|call| call.outcome.as_deref().is_some_and(|it| it.starts_with("Throttling")))
        .count();
    eprintln!(
        "ten tenants in a throttled account: {} AWS calls, of them {throttled} throttled",
        calls.len()
    );
    assert!(throttled > 0, "the account was not throttled");
    for name in &names {
        scenario.one_password_ever(name).await;
    }
    scenario.holds(&[St]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n6_killed_before_any_external_call_it_resumes_with_the_one_password() {
    killed_at_every_call("RAMPARTS_CHAOS_KILL_BEFORE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n6_killed_after_any_external_call_it_resumes_with_the_one_password() {
    killed_at_every_call("RAMPARTS_CHAOS_KILL_AFTER").await;
}

/// On servers that have never seen an operator, so that enrolment's calls are among them. One app is enough: the second repeats the first.
async fn killed_at_every_call(variable: &'static str) {
    let mut scenario = Scenario::without_operator().await;
    let settings = SettingsText::of(scenario.stack())
        .with("  worker: {access: readWrite, cache: standard}\n", "")
        .with("  web-admin: {short: webadmin, access: readWrite}\n", "")
        .with("  reporting: {access: readOnly, optIn: true}\n", "");
    scenario.set(&settings.without_sweeps());
    let mut call = 0;
    loop {
        call += 1;
        scenario.wipe().await;
        scenario.apply("n6-acme", &json!({})).await;
        if survives(&scenario, &Manner::killed(variable, call)).await {
            break;
        }
        scenario.start(&Manner::shipped()).await;
        scenario.ready("n6-acme").await;
        scenario.one_password_ever("n6-acme").await;
        scenario.operators.remove(0).kill().await;
        scenario.tenants.delete("n6-acme").await;
    }
    eprintln!(
        "{variable}: {} calls lead from nothing to the first Ready tenant",
        call - 1
    );
    assert!(call > 20, "the operator was killed at only {} calls", call - 1);
    scenario.holds(&[St]).await;
    scenario.end().await;
}

/// Whether the operator comes as far as Ready without dying.
async fn survives(scenario: &Scenario, manner: &Manner) -> bool {
    let mut operator = scenario.launch(manner);
    let survived = until("the operator dies, or the tenant is Ready", async || {
        if operator.is_over() {
            assert_eq!(
                operator.says("chaos: killed"),
                1,
                "it died of something else:\n{}",
                operator.tail()
            );
            return Some(false);
        }
        scenario
            .tenants
            .get("n6-acme")
            .await
            .is_some_and(|tenant: Value| is_ready(&tenant))
            .then_some(true)
    })
    .await;
    if survived {
        operator.kill().await;
    }
    survived
}

#[tokio::test(flavor = "multi_thread")]
async fn n1_the_cost_of_a_new_tenant_and_of_an_unchanged_sweep_is_known() {
    let mut scenario = Scenario::without_operator().await;
    let settings = SettingsText::of(scenario.stack());
    scenario.set(&settings.without_sweeps());
    scenario.start(&Manner::shipped()).await;
    // The first tenant enrols the server; what that costs is paid once.
    scenario.apply("n1-first", &json!({})).await;
    scenario.ready("n1-first").await;
    let (calls, log) = (scenario.operators[0].calls().await, scenario.log().mark());
    scenario.stack().aws.reset_counters();
    scenario.apply("n1-second", &json!({})).await;
    scenario.ready("n1-second").await;
    let new = scenario.operators[0].calls().await - calls;
    let aws = scenario.stack().aws.counters();
    let (sessions, statements) = (scenario.log().sessions_since(log), scenario.log().statements_since(log));
    eprintln!(
        "a new tenant with three apps: {new} external calls; AWS {aws:?}; PostgreSQL {sessions} sessions, {statements} statements"
    );
    assert_eq!(aws["ssm.PutParameter"], 4, "one record and three copies");
    assert_eq!(aws["elasticache.CreateUser"], 2);
    assert_eq!(aws["elasticache.ModifyUserGroup"], 1);
    assert!(new < 60, "{new} calls");

    scenario.tenants.delete("n1-first").await;
    for (what, sweep) in [
        ("with proofs", "2s, proof: 2s"),
        ("while proofs are fresh", "2s, proof: 24h"),
    ] {
        scenario.stop().await;
        scenario.set(&settings.with("2s, proof: 2s", sweep));
        scenario.start(&Manner::shipped()).await;
        let seen = |passes: usize| {
            let operator = &scenario.operators[0];
            async move {
                until("a sweep", async || {
                    (operator.says("tenant_already_provisioned") >= passes).then_some(())
                })
                .await;
                operator.calls().await
            }
        };
        // The first pass of a process opens its sessions and proves; the fourth is like every later one.
        let third = seen(3).await;
        scenario.stack().aws.reset_counters();
        let fourth = seen(4).await;
        eprintln!(
            "an unchanged sweep of one tenant, {what}: {} external calls; AWS {:?}",
            fourth - third,
            scenario.stack().aws.counters()
        );
        assert!(fourth - third < 20, "{} calls", fourth - third);
    }
    scenario.end().await;
}
