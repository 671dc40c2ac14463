//! The PostgreSQL servers of the stack keep their promises, on every release that is supported.

#![allow(clippy::unwrap_used, clippy::panic)]

use rustls::ClientConfig;
use sandbox::postgres::ADMIN;
use sandbox::tls::{Authority, client_config};
use sandbox::{Stack, Version};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, NoTls, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

async fn shared(version: Version) -> &'static Stack {
    static V15: OnceCell<Stack> = OnceCell::const_new();
    static V18: OnceCell<Stack> = OnceCell::const_new();
    let cell = match version {
        Version::V15 => &V15,
        Version::V18 => &V18,
    };
    cell.get_or_init(|| async { Stack::builder().postgres(version).start().await.unwrap() })
        .await
}

async fn text(client: &Client, query: &str) -> String {
    client.query_one(query, &[]).await.unwrap().get(0)
}

async fn connect(stack: &Stack, host: &str, tls: ClientConfig) -> Result<Client, String> {
    let mut config = tokio_postgres::Config::new();
    config
        .host(host)
        .hostaddr(IpAddr::V4(Ipv4Addr::LOCALHOST))
        .port(stack.postgres.port())
        .ssl_mode(SslMode::Require);
    config
        .user(ADMIN)
        .password(stack.postgres.admin_password().expose())
        .dbname("postgres");
    match config.connect(MakeRustlsConnect::new(tls)).await {
        Ok((client, connection)) => {
            tokio::spawn(connection);
            Ok(client)
        }
        Err(error) => Err(format!("{:#}", anyhow::Error::from(error))),
    }
}

fn trusting(file: std::path::PathBuf) -> ClientConfig {
    client_config(&std::fs::read_to_string(file).unwrap()).unwrap()
}

async fn the_admin_logs_in_over_verified_tls(version: Version) {
    let stack = shared(version).await;
    let client = connect(stack, "localhost", trusting(stack.ca())).await.unwrap();
    assert_eq!(text(&client, "SELECT current_user::text").await, ADMIN);
    assert_eq!(
        text(
            &client,
            "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        )
        .await,
        "true"
    );
    assert!(
        text(&client, "SHOW server_version")
            .await
            .starts_with(&version.major().to_string())
    );
    assert!(
        connect(stack, "127.0.0.1", trusting(stack.ca())).await.is_ok(),
        "the address is in the certificate too"
    );
}

async fn a_server_under_another_authority_or_name_is_refused(version: Version) {
    let stack = shared(version).await;
    let error = connect(stack, "localhost", trusting(stack.strange_ca()))
        .await
        .unwrap_err();
    assert!(error.contains("UnknownIssuer"), "{error}");
    let error = connect(stack, "db.example.com", trusting(stack.ca()))
        .await
        .unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");
    let stranger = Authority::new("Somebody else").unwrap();
    let error = connect(stack, "localhost", stranger.client_config().unwrap())
        .await
        .unwrap_err();
    assert!(error.contains("UnknownIssuer"), "{error}");
}

async fn plaintext_and_wrong_passwords_are_refused(version: Version) {
    let stack = shared(version).await;
    let mut config = stack.postgres.config();
    config
        .ssl_mode(SslMode::Disable)
        .user(ADMIN)
        .password(stack.postgres.admin_password().expose())
        .dbname("postgres");
    let error = config.connect(NoTls).await.map(drop).unwrap_err();
    assert_eq!(
        error.code(),
        Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION),
        "{error:?}"
    );
    let error = stack
        .postgres
        .login(ADMIN, "wrong", "postgres")
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.code(), Some("28P01"), "{error:?}");
}

async fn the_admin_has_what_it_has_on_rds_and_no_more(version: Version) {
    let stack = shared(version).await;
    let admin = stack.postgres.admin().await.unwrap();
    let rights = "SELECT concat_ws(' ', rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls)
                  FROM pg_roles WHERE rolname = current_user";
    assert_eq!(text(&admin, rights).await, "f t t f f");
    for forbidden in [
        "CREATE ROLE root SUPERUSER LOGIN",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT rolpassword FROM pg_authid",
    ] {
        let error = admin.batch_execute(forbidden).await.unwrap_err();
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{forbidden}: {error:?}"
        );
    }
    let superuser = stack.postgres.superuser().await.unwrap();
    let verifier = format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{ADMIN}'");
    assert!(text(&superuser, &verifier).await.starts_with("SCRAM-SHA-256$"));
}

async fn the_log_holds_every_statement_and_no_password_of_the_admin(version: Version) {
    let stack = shared(version).await;
    let admin = stack.postgres.admin().await.unwrap();
    admin.batch_execute("SELECT 'a needle in the log'").await.unwrap();
    let log = std::fs::read_to_string(stack.postgres.log()).unwrap();
    assert!(log.contains("ramparts@postgres LOG:  statement: SELECT 'a needle in the log'"));
    assert!(!log.contains(stack.postgres.admin_password().expose()));
}

async fn after_an_outage_the_same_port_serves_the_same_data(version: Version) {
    let stack = Stack::builder().postgres(version).start().await.unwrap();
    let (postgres, port) = (&stack.postgres, stack.postgres.port());
    let admin = postgres.admin().await.unwrap();
    admin.batch_execute("CREATE DATABASE kept").await.unwrap();

    postgres.stop().await.unwrap();
    assert!(admin.batch_execute("SELECT 1").await.is_err(), "open sessions are cut");
    let error = postgres
        .login(ADMIN, postgres.admin_password().expose(), "kept")
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.code(), None, "nothing answers: {error:?}");

    postgres.restart().await.unwrap();
    assert_eq!(postgres.port(), port);
    assert!(
        postgres
            .login(ADMIN, postgres.admin_password().expose(), "kept")
            .await
            .is_ok()
    );

    let another = stack.another_postgres("pg2", version).await.unwrap();
    let names = "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database";
    assert_eq!(
        text(&another.admin().await.unwrap(), names).await,
        "postgres template0 template1",
        "another server is empty"
    );
}

async fn a_frozen_server_hangs_until_it_is_thawed(version: Version) {
    let stack = Stack::builder().postgres(version).start().await.unwrap();
    stack.postgres.freeze().unwrap();
    let moment = Duration::from_millis(500);
    let refused = tokio::time::timeout(moment, stack.postgres.admin()).await;
    assert!(refused.is_err(), "neither an answer nor a refusal");
    stack.postgres.thaw().unwrap();
    stack.postgres.admin().await.unwrap();
    stack.postgres.freeze().unwrap();
    let begun = Instant::now();
    drop(stack);
    assert!(begun.elapsed() < Duration::from_secs(5), "it ends all the same");
}

macro_rules! on_every_release {
    ($($promise:ident)*) => {
        mod postgres_15 {
            $(#[tokio::test] async fn $promise() { super::$promise(sandbox::Version::V15).await })*
        }
        mod postgres_18 {
            $(#[tokio::test] async fn $promise() { super::$promise(sandbox::Version::V18).await })*
        }
    };
}

on_every_release! {
    the_admin_logs_in_over_verified_tls
    a_server_under_another_authority_or_name_is_refused
    plaintext_and_wrong_passwords_are_refused
    the_admin_has_what_it_has_on_rds_and_no_more
    the_log_holds_every_statement_and_no_password_of_the_admin
    after_an_outage_the_same_port_serves_the_same_data
    a_frozen_server_hangs_until_it_is_thawed
}
