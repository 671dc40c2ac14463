//! What a stack tells the operator is what the operator understands, and it is true.

#![allow(clippy::unwrap_used, clippy::panic)]

use ramparts_core::settings::{PasswordSource, Settings};
use sandbox::tls::client_config;
use sandbox::{Stack, User, Version};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

#[tokio::test]
async fn the_settings_lead_the_operator_to_every_server() {
    let stack = Stack::builder()
        .postgres(Version::V15)
        .redis()
        .aws()
        .start()
        .await
        .unwrap();
    let text = fs::read_to_string(stack.settings_file()).unwrap();
    assert_eq!(text, stack.settings_yaml());
    let settings = Settings::parse(&text).unwrap();

    let database = settings.databases.values().next().unwrap();
    let PasswordSource::File(password) = &database.admin_password else {
        panic!("{:?}", database.admin_password)
    };
    assert_eq!(fs::metadata(password).unwrap().permissions().mode() & 0o777, 0o600);
    let ca = fs::read_to_string(database.ca.as_ref().unwrap()).unwrap();
    let mut config = tokio_postgres::Config::new();
    config
        .host(&database.endpoint.host)
        .port(database.endpoint.port)
        .ssl_mode(SslMode::Require)
        .dbname("postgres");
    config
        .user(&database.admin_user)
        .password(fs::read_to_string(password).unwrap());
    config
        .connect(MakeRustlsConnect::new(client_config(&ca).unwrap()))
        .await
        .map(drop)
        .unwrap();

    let cache = settings.caches.values().next().unwrap();
    assert_eq!(
        format!("{}:{}", cache.endpoint.host, cache.endpoint.port),
        stack.redis.endpoint()
    );
    assert_eq!(fs::read_to_string(cache.ca.as_ref().unwrap()).unwrap(), ca);
    let endpoint = settings.aws.endpoint.unwrap();
    TcpStream::connect(endpoint.strip_prefix("http://").unwrap()).unwrap();
    assert_eq!(settings.aws.region.as_deref(), Some(stack.aws.region()));
    assert!(
        !text.contains(stack.postgres.admin_password().expose()),
        "the file can be shown to anybody"
    );
}

#[tokio::test]
async fn the_environment_gives_a_process_the_operators_rights_and_a_person_the_administrators() {
    let stack = Stack::builder().kube().start().await.unwrap();
    let operator: BTreeMap<_, _> = stack.environment().into_iter().collect();
    let person: BTreeMap<_, _> = stack.person_environment().into_iter().collect();
    assert_eq!(
        operator["KUBECONFIG"],
        stack.kube.kubeconfig(User::Operator).to_str().unwrap()
    );
    assert_eq!(
        person["KUBECONFIG"],
        stack.kube.kubeconfig(User::Administrator).to_str().unwrap()
    );
    assert_eq!(operator["AWS_EC2_METADATA_DISABLED"], "true");
    assert!(
        !operator.contains_key("RAMPARTS_SETTINGS"),
        "a stack without servers has no settings"
    );
}

#[tokio::test]
#[should_panic(expected = "the stack's builder was asked for the part that is used here")]
async fn a_part_that_was_not_asked_for_cannot_be_used() {
    let stack = Stack::builder().redis().start().await.unwrap();
    stack.postgres.port();
}
