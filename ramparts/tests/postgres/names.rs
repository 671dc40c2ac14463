//! Whatever is quoted, the server reads it back as the same bytes.

use ramparts_core::{
    name::{Access, DatabaseName, RoleName},
    observed::Presence,
    quote::{identifier, literal},
    step::LoginChanges,
};
use sandbox::Version;
use tokio_postgres::{Client, types::Type};

use crate::fixture::{ID, app, first, password, provisioned};

/// Names that break out of quotes, and names that are as long as a name can be.
fn odd() -> Vec<String> {
    let mut odd: Vec<String> = [
        r#"a"b"#,
        r#"""#,
        "it's",
        r"back\slash",
        r"\",
        "a b;--",
        "UPPER",
        "Ünï 漢字 🦀",
        "$1",
        "a\nb",
        "select",
    ]
    .map(String::from)
    .into();
    odd.push("x".repeat(63));
    odd.push("é".repeat(31));
    odd.push(r#"""#.repeat(63));
    odd
}

async fn bytes(client: &Client, sql: &str, name: &str) -> Option<Vec<u8>> {
    let row = client.query_typed_opt(sql, &[(&name, Type::TEXT)]).await.unwrap();
    row.map(|row| row.get::<_, String>(0).into_bytes())
}

async fn a_quoted_identifier_is_read_back_as_the_same_bytes(version: Version) {
    let tenant = provisioned(version, "quoting").await;
    let owner = tenant.session(Access::Owner).await;
    for name in odd() {
        owner
            .batch_execute(&format!("CREATE TABLE {} ()", identifier(&name)))
            .await
            .unwrap();
        let found = bytes(
            &owner,
            "SELECT relname::text FROM pg_class WHERE relname::text = $1",
            &name,
        )
        .await;
        assert_eq!(found.as_deref(), Some(name.as_bytes()), "{name:?}");
    }
}

async fn a_quoted_literal_is_read_back_as_the_same_bytes(version: Version) {
    let tenant = provisioned(version, "literals").await;
    let owner = tenant.session(Access::Owner).await;
    for standard in ["on", "off"] {
        owner
            .batch_execute(&format!(
                "SET standard_conforming_strings = {standard}; SET escape_string_warning = off"
            ))
            .await
            .unwrap();
        for text in odd() {
            let query = format!("SELECT{} || $1", literal(&text));
            let query = if text.contains('\\') {
                query
            } else {
                format!("SELECT {} || $1", literal(&text))
            };
            assert_eq!(
                bytes(&owner, &query, "").await.as_deref(),
                Some(text.as_bytes()),
                "{standard} {text:?}"
            );
        }
    }
}

async fn a_login_may_have_any_name_that_the_server_can_hold(version: Version) {
    let tenant = provisioned(version, "odd-logins").await;
    let database = DatabaseName::of(&tenant.name);
    for (at, name) in odd().into_iter().enumerate() {
        // Names are the server's, not a tenant's; and SCRAM takes the name from the startup packet, where anything goes.
        let (login, password) = (RoleName::parse(&name).unwrap(), password());
        let mut lock = tenant.lock().await;
        lock.create_login(
            &tenant.name,
            &app(Access::Owner),
            first(),
            &login,
            Access::Owner,
            &password,
        )
        .await
        .unwrap();
        let limit = i32::try_from(at).unwrap() + 5;
        let changes = LoginChanges {
            connections: Some(limit),
            ..LoginChanges::default()
        };
        lock.configure_login(&database, &login, &changes).await.unwrap();
        lock.release().await;
        let view = tenant
            .server
            .observe(None, ID, &tenant.name, std::slice::from_ref(&login))
            .await
            .unwrap();
        let Presence::Ours(seen) = view.login(&login) else {
            panic!("{name:?}: {:?}", view.login(&login))
        };
        assert_eq!(seen.connections, limit, "{name:?}");
        assert_eq!(seen.settings["role"], "odd_logins__owner");
        tenant.server.prove(&database, &login, &password).await.unwrap();
    }
}

on_every_release! {
    a_quoted_identifier_is_read_back_as_the_same_bytes
    a_quoted_literal_is_read_back_as_the_same_bytes
    a_login_may_have_any_name_that_the_server_can_hold
}
