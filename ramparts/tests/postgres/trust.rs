//! Nothing is sent to a server that has not proven who it is, and no password is ever where it could be read.

use std::fs;

use ramparts_core::{
    failure::{Class, Failure},
    name::{Access, DatabaseName, RoleName},
    reason::Reason,
    settings::{Database, Endpoint, PasswordSource},
};
use sandbox::Version;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::fixture::{Proxy, kind, open, password, provisioned, settings, tenant, text};

/// Both ways in: the operator's own, and that of a proof.
async fn refusals(settings: &Database) -> [Failure; 2] {
    let server = open(settings).unwrap();
    let (database, login) = (
        DatabaseName::parse("acme").unwrap(),
        RoleName::parse("acme_api").unwrap(),
    );
    [
        server.enrolment().await.unwrap_err(),
        server.prove(&database, &login, &password()).await.unwrap_err(),
    ]
}

async fn a_server_of_another_authority_is_refused(version: Version) {
    let stack = tenant(version, "trusting").await.stack;
    let mut settings = settings(stack, &stack.postgres);
    settings.ca = Some(stack.strange_ca().display().to_string());
    for failure in refusals(&settings).await {
        assert_eq!(
            kind(&failure),
            (Class::Blocked, Reason::DatabaseUnreachable),
            "{failure}"
        );
        assert!(
            failure.message.contains("TLS") && failure.message.contains("UnknownIssuer"),
            "{failure}"
        );
    }
    settings.ca = None;
    for failure in refusals(&settings).await {
        assert!(
            failure.message.contains("UnknownIssuer"),
            "the machine does not trust it either: {failure}"
        );
    }
}

async fn a_server_under_another_name_is_refused(version: Version) {
    let stack = tenant(version, "named").await.stack;
    let mut settings = settings(stack, &stack.postgres);
    // The machine's own name for the loopback address, which no certificate of the stack has.
    settings.endpoint = Endpoint {
        host: "127.0.0.2".into(),
        port: Proxy::start("127.0.0.2", stack.postgres.port()).await.port,
    };
    for failure in refusals(&settings).await {
        assert_eq!(
            kind(&failure),
            (Class::Blocked, Reason::DatabaseUnreachable),
            "{failure}"
        );
        assert!(
            failure.message.contains("TLS") && failure.message.contains("not valid for name"),
            "{failure}"
        );
    }
}

/// A server without TLS hears the question for it, and then nothing.
#[tokio::test]
async fn a_server_without_tls_is_told_nothing() {
    let stack = tenant(Version::V18, "silent").await.stack;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut settings = settings(stack, &stack.postgres);
    settings.endpoint = Endpoint {
        host: "localhost".into(),
        port: listener.local_addr().unwrap().port(),
    };
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        for _ in 0..2 {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut question = [0; 8];
            client.read_exact(&mut question).await.unwrap();
            heard.push(question.to_vec());
            client.write_all(b"N").await.unwrap();
            client.read_to_end(heard.last_mut().unwrap()).await.unwrap();
        }
        heard
    });
    for failure in refusals(&settings).await {
        assert_eq!(
            kind(&failure),
            (Class::Blocked, Reason::DatabaseUnreachable),
            "{failure}"
        );
        assert!(failure.message.contains("does not support TLS"), "{failure}");
    }
    let question = [0, 0, 0, 8, 4, 210, 22, 47];
    assert_eq!(heard.await.unwrap(), [question, question]);
}

#[tokio::test]
async fn authorities_that_cannot_be_read_are_refused_at_once() {
    let stack = tenant(Version::V18, "unreadable").await.stack;
    let mut settings = settings(stack, &stack.postgres);
    let empty = stack.directory().join("empty.pem");
    fs::write(&empty, "no certificate").unwrap();
    for file in [empty.display().to_string(), "/nowhere/ca.pem".into()] {
        settings.ca = Some(file.clone());
        let failure = open(&settings).unwrap_err();
        assert_eq!(failure.class, Class::Blocked);
        assert!(failure.message.contains(&file), "{failure}");
    }
}

async fn no_password_is_in_the_servers_log_or_in_clear_in_its_catalog(version: Version) {
    let tenant = provisioned(version, "discreet").await;
    for access in Access::ALL {
        tenant.prove(access).await.unwrap();
        assert!(
            tenant
                .server
                .prove(&tenant.database(), &tenant.login(access), &password())
                .await
                .is_err()
        );
    }
    let mut lock = tenant.lock().await;
    let failure = tenant.make_login(&mut lock, Access::Owner).await.unwrap_err();
    lock.release().await;
    let log = String::from_utf8_lossy(&fs::read(tenant.log()).unwrap()).into_owned();
    assert!(
        log.contains("discreet_owner") && log.contains("SCRAM-SHA-256$"),
        "the statements are in this log"
    );
    let superuser = tenant.superuser().await;
    for (access, password) in &tenant.passwords {
        let verifier = format!(
            "SELECT rolpassword FROM pg_authid WHERE rolname = '{}'",
            tenant.login(*access)
        );
        let verifier = text(&superuser, &verifier).await.unwrap();
        assert!(verifier.starts_with("SCRAM-SHA-256$4096:"), "{verifier}");
        for place in [&log, &verifier, &failure.to_string(), &format!("{:?}", tenant.server)] {
            assert!(!place.contains(password.expose()));
        }
        assert!(!failure.to_string().contains("SCRAM"), "{failure}");
    }
    assert!(!log.contains(tenant.stack.postgres.admin_password().expose()));
}

async fn a_password_may_come_from_the_environment(version: Version) {
    let stack = tenant(version, "environment").await.stack;
    let mut settings = settings(stack, &stack.postgres);
    settings.admin_password = PasswordSource::Env("RAMPARTS_TEST_NO_SUCH_VARIABLE".into());
    let failure = open(&settings).unwrap().enrolment().await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::AccessDenied));
    assert!(failure.message.contains("RAMPARTS_TEST_NO_SUCH_VARIABLE"), "{failure}");
    settings.admin_password = PasswordSource::Env("PATH".into());
    let failure = open(&settings).unwrap().enrolment().await.unwrap_err();
    assert!(
        failure.message.contains("28P01"),
        "it was read, and is not the password: {failure}"
    );
}

on_every_release! {
    a_server_of_another_authority_is_refused
    a_server_under_another_name_is_refused
    no_password_is_in_the_servers_log_or_in_clear_in_its_catalog
    a_password_may_come_from_the_environment
}
