//! What somebody takes away or changes behind the operator's back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Oracle::*, Scenario, Thing, reason_of, until};

fn parameter(name: &str) -> Thing {
    Thing::Parameter(name.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_a_deleted_copy_is_written_again_with_the_same_value() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d1-copy-bystander").await;
    scenario.provision("d1-copy", &json!({})).await;
    let before = scenario.published("d1-copy", "api");
    scenario.touches(&parameter("/ramparts/d1-copy/api"));
    assert!(scenario.stack().aws.hand().delete_parameter("/ramparts/d1-copy/api"));
    let after = until("the copy is back", async || {
        scenario.reads("d1-copy").await.get("api").cloned()
    })
    .await;
    assert_eq!(after, before);
    scenario.holds(&[Li, Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_a_deleted_record_is_filled_from_the_copies() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d1-record", &json!({})).await;
    let before = scenario.records("d1-record");
    scenario.touches(&parameter("/ramparts/_ledger/d1-record/1"));
    assert!(
        scenario
            .stack()
            .aws
            .hand()
            .delete_parameter("/ramparts/_ledger/d1-record/1")
    );
    let after = until("the record is back", async || {
        Some(scenario.records("d1-record")).filter(|it| !it.is_empty())
    })
    .await;
    assert_eq!(after["1"]["apps"], before["1"]["apps"], "the same credentials");
    assert_eq!(after.len(), 1, "and no others");
    // Ready was there before and says nothing yet.
    scenario.two_sweeps().await;
    scenario.holds(&[Li, Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_where_record_and_copy_are_both_gone_no_new_credential_is_made() {
    let mut scenario = Scenario::begin().await;
    let spec = json!({"rotation": {"issuedBefore": "2020-01-01T00:00:00Z"}});
    scenario.bystander("d1-both-bystander").await;
    scenario.provision("d1-both", &spec).await;
    let (record, copy) = ("/ramparts/_ledger/d1-both/1", "/ramparts/d1-both/api");
    for name in [record, copy] {
        scenario.touches(&parameter(name));
    }
    // Both are gone before anybody can look.
    scenario.stop().await;
    for name in [record, copy] {
        assert!(scenario.stack().aws.hand().delete_parameter(name));
    }
    scenario.start(&crate::harness::Manner::shipped()).await;
    lost(&scenario, "d1-both").await;
    scenario.apply("d1-both", &spec).await;
    scenario.two_sweeps().await;
    lost(&scenario, "d1-both").await;
    let records = scenario.records("d1-both");
    let apps: Vec<_> = records["1"]["apps"].as_object().unwrap().keys().collect();
    assert_eq!(
        (records.len(), apps),
        (1, vec![&"web-admin".to_owned(), &"worker".to_owned()]),
        "filled from the copies that are left"
    );
    assert!(
        !scenario.reads("d1-both").await.contains_key("api"),
        "nothing is published in the place of what was lost"
    );
    // The open sessions of the oracle are those of the lost credential: running pods are not affected.
    scenario.holds(&[Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_where_everything_in_the_store_is_gone_no_new_credential_is_made() {
    let mut scenario = Scenario::begin().await;
    scenario.provision("d1-all", &json!({})).await;
    let names = [
        "/ramparts/_ledger/d1-all/1",
        "/ramparts/d1-all/api",
        "/ramparts/d1-all/worker",
        "/ramparts/d1-all/web-admin",
    ];
    scenario.stop().await;
    for name in names {
        scenario.touches(&parameter(name));
        assert!(scenario.stack().aws.hand().delete_parameter(name));
    }
    scenario.start(&crate::harness::Manner::shipped()).await;
    lost(&scenario, "d1-all").await;
    scenario.two_sweeps().await;
    let issued: BTreeMap<String, Value> = scenario
        .records("d1-all")
        .into_iter()
        .filter(|(_, it)| it["kind"] == "issue")
        .collect();
    assert!(issued.is_empty(), "a new credential was issued: {:?}", issued.keys());
    assert!(scenario.reads("d1-all").await.is_empty());
    scenario.holds(&[Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

async fn lost(scenario: &Scenario, name: &str) {
    let tenant = scenario
        .wait(name, "CredentialLost", |tenant| reason_of(tenant) == "CredentialLost")
        .await;
    assert_eq!(tenant["status"]["phase"], "Blocked");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_dropped_login_is_made_again_with_the_stored_password() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d2-bystander").await;
    scenario.provision("d2-acme", &json!({})).await;
    scenario.touches(&Thing::Role("d2_acme_worker".into()));
    let superuser = scenario.stack().postgres.superuser().await.unwrap();
    superuser.batch_execute("DROP ROLE d2_acme_worker").await.unwrap();
    until("the login is back", async || {
        let sql = "SELECT FROM pg_authid WHERE rolname = 'd2_acme_worker'";
        superuser.query_opt(sql, &[]).await.unwrap()
    })
    .await;
    // `cr` logs in with what is published, which is what it was: the parameter is among what it compares.
    scenario.holds(&[Li, Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_a_deleted_cache_user_is_made_again_with_the_stored_password() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d3-bystander").await;
    scenario.provision("d3-acme", &json!({})).await;
    let user = "demo-d3-acme-worker".to_owned();
    scenario.touches(&Thing::CacheUser(user.clone()));
    scenario.touches(&Thing::Member(user.clone()));
    let before = scenario.stack().aws.hand().user(&user).unwrap();
    assert!(scenario.stack().aws.hand().delete_user(&user));
    let after = until("the user is back, and in its group", async || {
        scenario
            .stack()
            .aws
            .hand()
            .user(&user)
            .filter(|user| !user.groups.is_empty())
    })
    .await;
    assert_eq!(
        (&after.passwords, &after.access_string),
        (&before.passwords, &before.access_string)
    );
    scenario.holds(&[Li, Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d10_a_password_changed_by_hand_is_reported_and_not_fought_over() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d10-bystander").await;
    scenario.provision("d10-acme", &json!({})).await;
    scenario.touches(&Thing::Role("d10_acme_worker".into()));
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    let superuser = scenario.stack().postgres.superuser().await.unwrap();
    superuser
        .batch_execute("ALTER ROLE d10_acme_worker PASSWORD 'by-hand'")
        .await
        .unwrap();
    let tenant = scenario
        .wait("d10-acme", "CredentialDrift", |tenant| {
            reason_of(tenant) == "CredentialDrift"
        })
        .await;
    assert_eq!(tenant["status"]["phase"], "Degraded");
    assert_eq!(
        tenant["status"]["credentialsReady"], true,
        "what is published is published still"
    );
    scenario.two_sweeps().await;
    assert_eq!(scenario.writes_since(calls, statements), Vec::<String>::new());
    assert_eq!(scenario.reads("d10-acme").await, scenario.baseline("d10-acme").copies());
    scenario
        .stack()
        .postgres
        .login("d10_acme_worker", "by-hand", "d10_acme")
        .await
        .expect("no third value");
    // Put back by hand, all is well: what was stored is what counts.
    let stored = scenario.published("d10-acme", "worker")["database_password"]
        .as_str()
        .unwrap()
        .to_owned();
    superuser
        .batch_execute(&format!("ALTER ROLE d10_acme_worker PASSWORD '{stored}'"))
        .await
        .unwrap();
    scenario.holds(&[Li, Qu, Cr, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d14_a_dropped_database_is_never_made_again_empty() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d14-bystander").await;
    for name in ["d14-acme", "d14-bare"] {
        scenario.provision(name, &json!({})).await;
    }
    scenario.outage(crate::harness::Flag::Database);
    scenario.stop().await;
    let superuser = scenario.stack().postgres.superuser().await.unwrap();
    for database in ["d14_acme", "d14_bare"] {
        superuser
            .batch_execute(&format!("DROP DATABASE {database} WITH (FORCE)"))
            .await
            .unwrap();
    }
    scenario.tenants.empty_status("d14-bare").await;
    scenario.forget_history("d14-bare").await;
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    scenario.start(&crate::harness::Manner::shipped()).await;
    for name in ["d14-acme", "d14-bare"] {
        let tenant = scenario
            .wait(name, "DatabaseLost", |tenant| reason_of(tenant) == "DatabaseLost")
            .await;
        assert_eq!(tenant["status"]["phase"], "Blocked");
    }
    scenario.apply("d14-acme", &json!({"plan": "large"})).await;
    scenario.two_sweeps().await;
    let made = superuser
        .query("SELECT FROM pg_database WHERE datname IN ('d14_acme', 'd14_bare')", &[])
        .await
        .unwrap();
    assert!(made.is_empty(), "a database was made again");
    assert_eq!(scenario.writes_since(calls, statements), Vec::<String>::new());
    scenario.holds(&[St, Ot]).await;
    scenario.end().await;
}
