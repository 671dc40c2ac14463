//! Faults as a client meets them.

use crate::client::{cache, config, make_user, refusal, sandbox, ssm};
use aws_sdk_ssm::Client;
use aws_sdk_ssm::error::SdkError;
use aws_sdk_ssm::types::ParameterType;
use sandbox::aws::{Aws, Fault, Rule, Times};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn put(client: &Client, name: &str) -> aws_sdk_ssm::operation::put_parameter::builders::PutParameterFluentBuilder {
    client
        .put_parameter()
        .name(name)
        .value("value")
        .r#type(ParameterType::SecureString)
}

/// A client that tries as often as the SDK does by default.
fn patient(aws: &Aws) -> Client {
    Client::new(&config(aws, "eu-west-1", "AKIATEST", 3))
}

fn last_outcome(aws: &Aws) -> String {
    let last = aws.calls_since(0).pop();
    last.and_then(|call| call.outcome).unwrap_or_default()
}

#[tokio::test]
async fn a_fault_strikes_as_often_as_it_was_told_to() {
    let (aws, ssm, _) = sandbox().await;
    let fault = Fault::Error {
        code: "TooManyUpdates".to_owned(),
        status: 400,
    };
    aws.fail("PutParameter", fault, Times::Count(2));
    assert_eq!(refusal(put(&ssm, "/a").send().await), "400 TooManyUpdates");
    assert_eq!(refusal(put(&ssm, "/a").send().await), "400 TooManyUpdates");
    assert_eq!(last_outcome(&aws), "TooManyUpdates");
    assert_eq!(aws.hand().parameter("/a"), None);
    put(&ssm, "/a").send().await.unwrap();
}

#[tokio::test]
async fn each_service_throttles_and_denies_in_its_own_words() {
    let (aws, ssm, cache) = sandbox().await;
    let rule = aws.fail("*", Fault::Throttle, Times::UntilCleared);
    assert_eq!(
        refusal(ssm.get_parameter().name("/a").send().await),
        "400 ThrottlingException"
    );
    assert_eq!(refusal(cache.describe_users().send().await), "400 Throttling");
    aws.clear_fault(rule);
    aws.fail("*", Fault::AccessDenied, Times::UntilCleared);
    assert_eq!(
        refusal(ssm.get_parameter().name("/a").send().await),
        "400 AccessDeniedException"
    );
    assert_eq!(refusal(cache.describe_users().send().await), "403 AccessDenied");
    aws.clear_faults();
    cache.describe_users().send().await.unwrap();
}

#[tokio::test]
async fn a_throttled_call_is_tried_again_by_the_sdk() {
    let aws = Aws::start(None).await.unwrap();
    aws.fail("PutParameter", Fault::Throttle, Times::Count(2));
    put(&patient(&aws), "/a").send().await.unwrap();
    assert_eq!(aws.count("ssm.PutParameter"), 3);
}

#[tokio::test]
async fn a_lost_reply_makes_the_retry_collide_with_itself() {
    let aws = Aws::start(None).await.unwrap();
    aws.fail("PutParameter", Fault::LostReply, Times::Count(1));
    assert_eq!(
        refusal(put(&patient(&aws), "/a").send().await),
        "400 ParameterAlreadyExists"
    );
    assert_eq!(aws.hand().parameter("/a").unwrap().version, 1);
    let outcomes: Vec<_> = aws.calls_since(0).into_iter().filter_map(|call| call.outcome).collect();
    assert_eq!(outcomes, ["lost-reply ok", "ParameterAlreadyExists"]);

    aws.fail("CreateUser", Fault::LostReply, Times::Count(1));
    let lost = cache(&aws)
        .create_user()
        .user_id("u")
        .user_name("u")
        .engine("redis")
        .access_string("off -@all");
    let answer = lost.no_password_required(true).send().await;
    assert!(answer.unwrap_err().raw_response().is_none());
    assert!(aws.hand().user("u").is_some());
}

#[tokio::test]
async fn a_lost_request_changes_nothing() {
    let (aws, ssm, _) = sandbox().await;
    aws.fail("PutParameter", Fault::LostRequest, Times::Count(1));
    assert!(matches!(
        put(&ssm, "/a").send().await,
        Err(SdkError::DispatchFailure(_))
    ));
    assert_eq!(aws.hand().parameter("/a"), None);
}

#[tokio::test]
async fn a_call_hangs_until_the_client_gives_up_or_the_fault_is_cleared() {
    let (aws, ssm, _) = sandbox().await;
    aws.fail("writes", Fault::Timeout, Times::Count(1));
    let hanging = tokio::spawn(put(&ssm, "/a").send());
    wait_for(&aws, "timeout").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!hanging.is_finished());
    aws.clear_faults();
    assert!(hanging.await.unwrap().unwrap_err().raw_response().is_none());
    assert_eq!(aws.hand().parameter("/a"), None, "it was never applied");

    aws.fail("writes", Fault::HeldReply, Times::Count(1));
    let held = tokio::spawn(put(&ssm, "/b").send());
    wait_for(&aws, "held-reply ok").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!held.is_finished(), "no answer came");
    assert!(aws.hand().parameter("/b").is_some(), "it was applied");
}

async fn wait_for(aws: &Aws, outcome: &str) {
    while last_outcome(aws) != outcome {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_delayed_call_is_applied_late() {
    let (aws, ssm, _) = sandbox().await;
    aws.fail(
        "PutParameter",
        Fault::Delay(Duration::from_millis(200)),
        Times::Count(1),
    );
    let begun = Instant::now();
    put(&ssm, "/a").send().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_fault_can_wait_for_its_call_and_spare_other_names() {
    let (aws, ssm, cache) = sandbox().await;
    aws.inject(
        Rule::new("ssm.PutParameter", Fault::Throttle, Times::UntilCleared)
            .about("/acme/*")
            .after(1),
    );
    put(&ssm, "/acme/1").send().await.unwrap();
    put(&ssm, "/globex/1").send().await.unwrap();
    assert_eq!(refusal(put(&ssm, "/acme/2").send().await), "400 ThrottlingException");
    make_user(&cache, "u").await;
}

#[tokio::test]
async fn a_rate_lets_a_burst_through_and_then_throttles() {
    let (aws, ssm, _) = sandbox().await;
    aws.set_rate("PutParameter", 0.001, 3.0);
    let mut passed = 0;
    for number in 0..6 {
        passed += usize::from(put(&ssm, &format!("/{number}")).send().await.is_ok());
    }
    assert_eq!(passed, 3);
    ssm.get_parameters().names("/0").send().await.unwrap();
    aws.clear_rates();
    put(&ssm, "/9").send().await.unwrap();
}

/// What a shell script does with curl.
async fn http(aws: &Aws, method: &str, path: &str, body: &str) -> (u16, String) {
    let host = aws.endpoint().replace("http://", "");
    let mut stream = TcpStream::connect(&host).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

async fn get(aws: &Aws, path: &str) -> Value {
    let (status, body) = http(aws, "GET", path, "").await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn a_script_reads_the_log_and_sets_faults_over_http() {
    let (aws, ssm, cache) = sandbox().await;
    put(&ssm, "/a").send().await.unwrap();
    make_user(&cache, "u").await;
    let calls = get(&aws, "/_sandbox/calls?since=1").await;
    assert_eq!(
        (calls[0]["operation"].as_str(), calls[0]["key"].as_str()),
        (Some("CreateUser"), Some("u"))
    );
    assert_eq!(calls[0]["service"], "elasticache");
    assert_eq!(get(&aws, "/_sandbox/writes").await.as_array().unwrap().len(), 2);
    assert_eq!(
        get(&aws, "/_sandbox/counters").await,
        json!({"elasticache.CreateUser": 1, "ssm.PutParameter": 1})
    );
    assert_eq!(
        get(&aws, "/_sandbox/parameters?prefix=/").await,
        json!([{"name": "/a", "version": 1, "tags": {}}])
    );
    assert_eq!(get(&aws, "/_sandbox/users").await[0]["passwords"], 1);
    assert_eq!(get(&aws, "/_sandbox/projection").await, json!([]));

    for (body, code) in [
        (
            r#"{"operation": "GetParameter", "fault": "throttle", "times": 1}"#,
            "400 ThrottlingException",
        ),
        (
            r#"{"operation": "GetParameter", "fault": {"error": {"code": "InvalidKeyId", "status": 400}}, "times": 1}"#,
            "400 InvalidKeyId",
        ),
    ] {
        assert_eq!(http(&aws, "POST", "/_sandbox/fault", body).await.0, 200);
        assert_eq!(refusal(ssm.get_parameter().name("/a").send().await), code);
    }
    assert_eq!(get(&aws, "/_sandbox/fault").await.as_array().unwrap().len(), 2);
    assert_eq!(http(&aws, "DELETE", "/_sandbox/fault", "").await.0, 204);
    assert_eq!(
        http(&aws, "POST", "/_sandbox/fault", r#"{"operation": "X", "fault": "odd"}"#)
            .await
            .0,
        422
    );
    let terms = r#"{"delays": {"user-create": 60000}, "quotas": {"users": 9}, "short_pages": true, "stale_reads": 1}"#;
    assert_eq!(http(&aws, "POST", "/_sandbox/terms", terms).await.0, 204);
    make_user(&cache, "slow").await;
    assert_eq!(aws.hand().user("slow").unwrap().status, "creating");
    let rate = r#"{"operation": "reads", "per_second": 0.001, "burst": 1}"#;
    assert_eq!(http(&aws, "POST", "/_sandbox/rate", rate).await.0, 204);
    assert_eq!(http(&aws, "DELETE", "/_sandbox/rate", "").await.0, 204);
    assert_eq!(http(&aws, "DELETE", "/_sandbox/counters", "").await.0, 204);
    assert!(aws.counters().is_empty());
}

#[tokio::test]
async fn an_unsigned_or_unknown_call_is_refused() {
    let (aws, _, _) = sandbox().await;
    let (status, body) = http(&aws, "POST", "/", "Action=DescribeUsers&Version=2015-02-02").await;
    assert_eq!(status, 403);
    assert!(body.contains("<Code>MissingAuthenticationToken</Code>"), "{body}");
    assert_eq!(http(&aws, "GET", "/nonsense", "").await.0, 404);
    let odd = ssm(&aws).list_commands().send().await;
    assert_eq!(refusal(odd), "400 UnknownOperationException");
    assert_eq!(
        refusal(cache(&aws).describe_cache_clusters().send().await),
        "400 InvalidAction"
    );
}

#[tokio::test]
async fn a_sandbox_that_is_dropped_takes_its_connections_along() {
    let (aws, ssm, _) = sandbox().await;
    put(&ssm, "/a").send().await.unwrap();
    drop(aws);
    assert!(matches!(
        put(&ssm, "/b").send().await,
        Err(SdkError::DispatchFailure(_))
    ));
}
