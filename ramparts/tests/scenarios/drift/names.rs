//! Names that somebody has already, and names that look like another's.

use serde_json::json;

use crate::harness::{Oracle::*, Scenario, reason_of};

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_parameter_that_was_there_before_is_left_alone() {
    let mut scenario = Scenario::begin().await;
    let hand = scenario.stack().aws.hand();
    hand.put_parameter("/ramparts/d7-copy/api", "somebody's own").unwrap();
    hand.put_parameter("/ramparts/_ledger/d7-record/1", "{\"password\": \"somebody's own\"}")
        .unwrap();
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    for (name, parameter) in [
        ("d7-copy", "/ramparts/d7-copy/api"),
        ("d7-record", "/ramparts/_ledger/d7-record/1"),
    ] {
        let before = hand.parameter(parameter).unwrap();
        scenario.apply(name, &json!({})).await;
        let tenant = scenario
            .wait(name, "NotOwned", |tenant| reason_of(tenant) == "NotOwned")
            .await;
        assert_eq!(tenant["status"]["phase"], "Blocked");
        scenario.two_sweeps().await;
        assert_eq!(hand.parameter(parameter).unwrap(), before);
        assert!(
            hand.users().iter().all(|user| !user.id.contains(name)),
            "a cache user was made"
        );
    }
    let writes = scenario.writes_since(calls, statements);
    let about: Vec<_> = writes.iter().filter(|write| write.contains("d7")).collect();
    assert!(about.is_empty(), "{about:?}");

    // Out of the way, the tenant is made.
    for parameter in ["/ramparts/d7-copy/api", "/ramparts/_ledger/d7-record/1"] {
        hand.delete_parameter(parameter);
    }
    scenario.holds(&[Li, St, Qu]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d11_names_that_join_alike_belong_to_different_tenants() {
    let mut scenario = Scenario::begin().await;
    // d11-api's database is called like d11's login, and its group like d11's app: hyphens and underscores say the same in SQL.
    for name in ["d11", "d11-api", "d11-api-worker", "d11-web"] {
        scenario.provision(name, &json!({})).await;
    }
    let mut names = std::collections::BTreeSet::new();
    for tenant in ["d11", "d11-api", "d11-api-worker", "d11-web"] {
        for (app, copy) in scenario.baseline(tenant).copies() {
            assert!(
                names.insert(copy["database_username"].to_string()),
                "{tenant}/{app} shares its login"
            );
            let user = copy["cache_username"].to_string();
            assert!(
                user == "null" || names.insert(user),
                "{tenant}/{app} shares its cache user"
            );
        }
    }
    // Each logs in to its own database and to no other.
    let copy = scenario.published("d11", "api");
    let (user, password) = (
        copy["database_username"].as_str().unwrap(),
        copy["database_password"].as_str().unwrap(),
    );
    let refused = scenario
        .stack()
        .postgres
        .login(user, password, "d11_api")
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("42501"), "{refused}");
    scenario.holds(&[Qu, Cr, St, Da, Ot]).await;
    scenario.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d11_a_name_in_other_hands_is_refused_with_a_reason() {
    let mut scenario = Scenario::begin().await;
    scenario.bystander("d11-bystander").await;
    let superuser = scenario.stack().postgres.superuser().await.unwrap();
    let foreign = "DROP DATABASE IF EXISTS d11_base; DROP ROLE IF EXISTS d11_taken_api; CREATE ROLE d11_taken_api LOGIN PASSWORD 'x'";
    for statement in foreign.split("; ").chain(["CREATE DATABASE d11_base"]) {
        superuser.batch_execute(statement).await.unwrap();
    }
    let before = "SELECT rolpassword FROM pg_authid WHERE rolname = 'd11_taken_api'";
    let password: String = superuser.query_one(before, &[]).await.unwrap().get(0);
    let (calls, statements) = (scenario.stack().aws.mark(), scenario.log().mark());
    for name in ["d11-taken", "d11-base"] {
        scenario.apply(name, &json!({})).await;
        let tenant = scenario
            .wait(name, "NotOwned", |tenant| reason_of(tenant) == "NotOwned")
            .await;
        assert_eq!(tenant["status"]["phase"], "Blocked");
    }
    // Forty letters are a name, and with prefix and app more than a cache user's name may have.
    let long = format!("d11-{}", "x".repeat(36));
    scenario.apply(&long, &json!({})).await;
    scenario
        .wait(&long, "NameTooLong", |tenant| reason_of(tenant) == "NameTooLong")
        .await;
    for (name, word) in [
        (format!("{long}x"), "at most 40"),
        ("D11".to_owned(), "lowercase"),
        ("d11--x".to_owned(), "single hyphens"),
    ] {
        let error = scenario
            .tenants
            .create(&name, &json!({}))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{name}: {error}");
    }
    scenario.two_sweeps().await;
    assert_eq!(
        scenario.writes_since(calls, statements),
        Vec::<String>::new(),
        "a refused tenant leaves nothing anywhere"
    );
    let after: String = superuser.query_one(before, &[]).await.unwrap().get(0);
    assert_eq!(after, password);
    scenario.holds(&[Cr, St, Ot, Da]).await;
    scenario.end().await;
}
