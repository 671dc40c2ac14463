//! A proof says what the server said about the password, and nothing that it did not say.

use std::time::Duration;

use ramparts_core::{
    failure::Class,
    name::{Access, DatabaseName, RoleName},
    reason::Reason,
};
use sandbox::Version;

use crate::fixture::{blank, kind, open, password, provisioned, settings};

async fn a_right_password_is_proven_and_a_wrong_one_is_refused(version: Version) {
    let tenant = provisioned(version, "proven").await;
    for access in Access::ALL {
        tenant.prove(access).await.unwrap();
        let failure = tenant
            .server
            .prove(&tenant.database(), &tenant.login(access), &password())
            .await
            .unwrap_err();
        assert_eq!(kind(&failure), (Class::Blocked, Reason::LoginRefused), "{failure}");
        assert!(failure.message.contains(tenant.login(access).as_str()), "{failure}");
    }
    let nobody = RoleName::parse("proven_nobody").unwrap();
    let failure = tenant
        .server
        .prove(&tenant.database(), &nobody, &password())
        .await
        .unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::LoginRefused), "{failure}");
}

async fn a_disabled_or_expired_login_is_refused(version: Version) {
    let tenant = provisioned(version, "disabled").await;
    tenant
        .superuser()
        .await
        .batch_execute("ALTER ROLE disabled_owner NOLOGIN; ALTER ROLE disabled_readonly VALID UNTIL '2001-01-01'")
        .await
        .unwrap();
    for access in [Access::Owner, Access::ReadOnly] {
        assert_eq!(
            kind(&tenant.prove(access).await.unwrap_err()),
            (Class::Blocked, Reason::LoginRefused),
            "{access}"
        );
    }
    let failure = tenant
        .server
        .prove(&tenant.database(), &tenant.login(Access::Owner), &password())
        .await
        .unwrap_err();
    assert!(
        failure.message.contains("28P01"),
        "the password is judged first: {failure}"
    );
}

async fn a_refusal_after_the_password_proves_the_password_and_only_that(version: Version) {
    let tenant = provisioned(version, "after").await;
    let superuser = tenant.superuser().await;
    let barriers = [
        (
            "ALTER ROLE after_owner CONNECTION LIMIT 0",
            "ALTER ROLE after_owner CONNECTION LIMIT -1",
        ),
        (
            "ALTER DATABASE after CONNECTION LIMIT 0",
            "ALTER DATABASE after CONNECTION LIMIT -1",
        ),
        (
            "REVOKE CONNECT ON DATABASE after FROM after__owner",
            "GRANT CONNECT ON DATABASE after TO after__owner",
        ),
        (
            "ALTER DATABASE after ALLOW_CONNECTIONS false",
            "ALTER DATABASE after ALLOW_CONNECTIONS true",
        ),
        (
            "ALTER DATABASE after RENAME TO gone",
            "ALTER DATABASE gone RENAME TO after",
        ),
    ];
    for (barrier, lifted) in barriers {
        superuser.batch_execute(barrier).await.unwrap();
        assert!(tenant.session_in(Access::Owner, "after").await.is_err(), "{barrier}");
        tenant
            .prove(Access::Owner)
            .await
            .unwrap_or_else(|failure| panic!("{barrier}: {failure}"));
        let wrong = tenant
            .server
            .prove(&tenant.database(), &tenant.login(Access::Owner), &password())
            .await;
        assert_eq!(
            kind(&wrong.unwrap_err()),
            (Class::Blocked, Reason::LoginRefused),
            "{barrier}"
        );
        superuser.batch_execute(lifted).await.unwrap();
    }
}

/// A full server answers with the code of a full role, before it has looked at any password.
async fn a_server_without_a_free_slot_proves_nothing(version: Version) {
    let blank = blank(version).await;
    blank
        .superuser
        .batch_execute("ALTER SYSTEM SET max_connections = 8")
        .await
        .unwrap();
    blank.postgres.restart().await.unwrap();
    let mut sessions = Vec::new();
    while let Ok(session) = blank.postgres.superuser().await {
        sessions.push(session);
    }
    let (database, admin) = (
        DatabaseName::parse("postgres").unwrap(),
        RoleName::parse("ramparts").unwrap(),
    );
    let right = ramparts_core::secret::Secret::new(blank.postgres.admin_password().expose().to_owned());
    let mut outcomes = Vec::new();
    for secret in [right, password()] {
        outcomes.push(blank.server.prove(&database, &admin, &secret).await);
    }
    let observed = blank.server.enrolment().await;
    sessions.pop();
    sessions.pop();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let superuser = blank.postgres.superuser().await.unwrap();
    superuser
        .batch_execute("ALTER SYSTEM RESET max_connections")
        .await
        .unwrap();
    drop((sessions, superuser));
    blank.postgres.restart().await.unwrap();
    for failure in outcomes
        .into_iter()
        .map(Result::unwrap_err)
        .chain([observed.unwrap_err()])
    {
        assert_eq!(
            kind(&failure),
            (Class::Transient, Reason::DatabaseUnreachable),
            "{failure}"
        );
    }
}

async fn a_server_that_is_away_proves_nothing(version: Version) {
    let blank = blank(version).await;
    let server = open(&settings(blank.stack, &blank.postgres)).unwrap();
    blank.postgres.stop().await.unwrap();
    let (database, login) = (
        DatabaseName::parse("acme").unwrap(),
        RoleName::parse("acme_api").unwrap(),
    );
    let proof = server.prove(&database, &login, &password()).await;
    let enrolment = server.enrolment().await;
    blank.postgres.restart().await.unwrap();
    for failure in [proof.unwrap_err(), enrolment.unwrap_err()] {
        assert_eq!(
            kind(&failure),
            (Class::Transient, Reason::DatabaseUnreachable),
            "{failure}"
        );
    }
}

on_every_release! {
    a_right_password_is_proven_and_a_wrong_one_is_refused
    a_disabled_or_expired_login_is_refused
    a_refusal_after_the_password_proves_the_password_and_only_that
    a_server_without_a_free_slot_proves_nothing
    a_server_that_is_away_proves_nothing
}
