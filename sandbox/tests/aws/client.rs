//! SDK clients for a sandbox, and what their answers say.

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_elasticache::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_elasticache::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_elasticache::types::{Tag, User};
use sandbox::aws::Aws;
use std::fmt::Debug;
use std::time::Duration;

pub const PASSWORD: &str = "rmp0123456789abcdef";

/// A sandbox without a Redis, and a client of each service.
pub async fn sandbox() -> (Aws, aws_sdk_ssm::Client, aws_sdk_elasticache::Client) {
    let aws = Aws::start(None).await.unwrap();
    let (ssm, cache) = (ssm(&aws), cache(&aws));
    (aws, ssm, cache)
}

/// No retries, so that one call in a test is one call in the log.
pub fn config(aws: &Aws, region: &str, key: &str, attempts: u32) -> SdkConfig {
    let credentials = Credentials::new(key, "secret", None, None, "test");
    let retries = RetryConfig::standard()
        .with_max_attempts(attempts)
        .with_initial_backoff(Duration::from_millis(1));
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region.to_owned()))
        .endpoint_url(aws.endpoint())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(retries)
        .timeout_config(
            TimeoutConfig::builder()
                .operation_attempt_timeout(Duration::from_secs(5))
                .build(),
        )
        .build()
}

pub fn ssm(aws: &Aws) -> aws_sdk_ssm::Client {
    aws_sdk_ssm::Client::new(&config(aws, "eu-west-1", "AKIATEST", 1))
}

pub fn cache(aws: &Aws) -> aws_sdk_elasticache::Client {
    aws_sdk_elasticache::Client::new(&config(aws, "eu-west-1", "AKIATEST", 1))
}

/// `404 UserNotFound`, as the service said it.
pub fn refusal<T: Debug, E: ProvideErrorMetadata + Debug>(answer: Result<T, SdkError<E>>) -> String {
    let error = answer.expect_err("the call was expected to be refused");
    let status = error
        .raw_response()
        .unwrap_or_else(|| panic!("no answer at all: {error:?}"))
        .status()
        .as_u16();
    format!("{status} {}", error.code().unwrap_or_default())
}

pub async fn make_user(cache: &aws_sdk_elasticache::Client, id: &str) {
    let access = "on ~acme:* -@all +@read +@write +@connection";
    let tag = Tag::builder().key("ramparts").value("prod").build();
    let request = cache
        .create_user()
        .user_id(id)
        .user_name(id)
        .engine("redis")
        .access_string(access);
    request.passwords(PASSWORD).tags(tag).send().await.unwrap();
}

pub async fn show_user(cache: &aws_sdk_elasticache::Client, id: &str) -> User {
    let answer = cache.describe_users().user_id(id).send().await.unwrap();
    answer.users()[0].clone()
}
