//! The oracles themselves: each sees what a hand does behind the operator's back. An oracle that cannot fail proves nothing.

use serde_json::json;

use crate::harness::{Oracle, Oracle::*, Scenario};

async fn found(scenario: &mut Scenario, oracle: Oracle, words: &[&str]) {
    let found = scenario.violations(&[oracle]).await;
    for word in words {
        assert!(
            found.iter().any(|it| it.oracle == oracle && it.what.contains(word)),
            "{oracle:?} did not see {word}: {found:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_oracle_sees_what_a_hand_does() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("o-bystander").await;
    scenario.provision("o-acme", &json!({})).await;
    scenario.holds(&[Cr, St, Ot, Da]).await;
    // Nobody mends what follows.
    scenario.stop().await;
    let superuser = scenario.stack().postgres.superuser().await.unwrap();
    let hand = scenario.stack().aws.hand();

    superuser
        .batch_execute("ALTER ROLE o_bystander_worker CONNECTION LIMIT 7")
        .await
        .unwrap();
    hand.remove_member("demo", "demo-o-bystander-api");
    found(&mut scenario, Ot, &["o_bystander_worker", "demo-o-bystander-api"]).await;

    superuser
        .batch_execute("DROP DATABASE o_acme WITH (FORCE)")
        .await
        .unwrap();
    superuser.batch_execute("DROP ROLE o_acme_worker").await.unwrap();
    superuser.batch_execute("CREATE ROLE o_acme_worker").await.unwrap();
    hand.delete_parameter("/ramparts/o-acme/worker");
    hand.delete_user("demo-o-acme-worker");
    found(
        &mut scenario,
        Da,
        &[
            "Database(\"o_acme\")",
            "Role(\"o_acme_worker\")",
            "/ramparts/o-acme/worker",
            "demo-o-acme-worker",
        ],
    )
    .await;

    superuser
        .batch_execute("ALTER ROLE o_acme_api PASSWORD 'x'")
        .await
        .unwrap();
    let record = hand.parameter("/ramparts/_ledger/o-acme/1").unwrap();
    hand.put_parameter(&record.name, &record.value).unwrap();
    hand.set_passwords("demo-o-acme-api", &["0123456789abcdef"]);
    let words = [
        "o_acme_api",
        "/ramparts/_ledger/o-acme/1",
        "demo-o-acme-api",
        "the open database session",
        "does not log in",
    ];
    found(&mut scenario, Cr, &words).await;

    scenario.tenants.empty_status("o-acme").await;
    found(
        &mut scenario,
        St,
        &[
            "redisReady vanished",
            "apps/api/login vanished",
            "conditions/Ready vanished",
        ],
    )
    .await;
    scenario.end().await;
}
