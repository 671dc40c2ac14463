//! A plan's limits reach a login, what others set on it survives, and its password is never touched.

use std::collections::BTreeMap;

use ramparts_core::{failure::Class, name::Access, reason::Reason, step::LoginChanges};
use sandbox::Version;

use crate::fixture::{Tenant, kind, provisioned, text};

async fn configure(
    tenant: &Tenant,
    access: Access,
    changes: &LoginChanges,
) -> Result<(), ramparts_core::failure::Failure> {
    let mut lock = tenant.lock().await;
    let done = lock
        .configure_login(&tenant.database(), &tenant.login(access), changes)
        .await;
    lock.release().await;
    done
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

async fn limits_are_set_and_only_what_is_named_is_reset(version: Version) {
    let tenant = provisioned(version, "limited").await;
    let superuser = tenant.superuser().await;
    superuser
        .batch_execute("ALTER ROLE limited_readwrite IN DATABASE limited SET lock_timeout = '9s'")
        .await
        .unwrap();
    let verifier = "SELECT rolpassword FROM pg_authid WHERE rolname = 'limited_readwrite'";
    let before = text(&superuser, verifier).await;

    let set = map(&[("statement_timeout", "30s"), ("work_mem", "16MB")]);
    configure(
        &tenant,
        Access::ReadWrite,
        &LoginChanges {
            connections: Some(20),
            set,
            ..LoginChanges::default()
        },
    )
    .await
    .unwrap();
    let seen = tenant.seen(Access::ReadWrite).await;
    assert_eq!(seen.connections, 20);
    assert_eq!(
        seen.settings,
        map(&[
            ("lock_timeout", "9s"),
            ("statement_timeout", "30s"),
            ("work_mem", "16MB")
        ])
    );
    let session = tenant.session(Access::ReadWrite).await;
    assert_eq!(
        text(&session, "SHOW statement_timeout").await.as_deref(),
        Some("30s"),
        "it holds for the app"
    );
    let elsewhere = tenant.session_in(Access::ReadWrite, "postgres").await.unwrap();
    assert_eq!(
        text(&elsewhere, "SHOW statement_timeout").await.as_deref(),
        Some("0"),
        "in its tenant's database only"
    );

    let reset = vec!["work_mem".to_owned()];
    configure(
        &tenant,
        Access::ReadWrite,
        &LoginChanges {
            reset,
            ..LoginChanges::default()
        },
    )
    .await
    .unwrap();
    let seen = tenant.seen(Access::ReadWrite).await;
    assert_eq!(
        seen.settings,
        map(&[("lock_timeout", "9s"), ("statement_timeout", "30s")]),
        "what a DBA set is still there"
    );
    assert_eq!(seen.connections, 20, "what was not named is as it was");
    assert_eq!(text(&superuser, verifier).await, before);
    tenant.prove(Access::ReadWrite).await.unwrap();
}

async fn a_value_comes_back_whatever_is_in_it(version: Version) {
    let tenant = provisioned(version, "odd-values").await;
    let values = [
        ("application_name", r#"it's "so" \ 'E' \'; DROP ROLE ramparts; --"#),
        ("application_name", "a=b=c"),
        ("application_name", "Ünï 漢字 🦀"),
        ("application_name", ""),
        ("datestyle", "ISO, DMY"),
    ];
    for (name, value) in values {
        let set = map(&[(name, value)]);
        let changes = LoginChanges {
            set: set.clone(),
            ..LoginChanges::default()
        };
        configure(&tenant, Access::ReadOnly, &changes).await.unwrap();
        assert_eq!(tenant.seen(Access::ReadOnly).await.settings, set);
        let session = tenant.session(Access::ReadOnly).await;
        if value.is_ascii() {
            assert_eq!(
                text(&session, &format!("SHOW {name}")).await.as_deref(),
                Some(value),
                "{name}"
            );
        }
        let reset = vec![name.to_owned()];
        configure(
            &tenant,
            Access::ReadOnly,
            &LoginChanges {
                reset,
                ..LoginChanges::default()
            },
        )
        .await
        .unwrap();
    }
}

async fn a_setting_that_the_server_does_not_take_changes_nothing_at_all(version: Version) {
    let tenant = provisioned(version, "refused").await;
    for (name, value) in [
        ("work_mem", "much"),
        ("no_such_setting", "1"),
        ("shared_buffers", "1GB"),
        ("port", "1"),
    ] {
        let changes = LoginChanges {
            connections: Some(3),
            set: map(&[(name, value)]),
            ..LoginChanges::default()
        };
        let failure = configure(&tenant, Access::ReadWrite, &changes).await.unwrap_err();
        assert_eq!(failure.class, Class::Refused, "{failure}");
        assert!(
            failure.message.contains("refused_readwrite") && failure.message.contains(name),
            "{failure}"
        );
    }
    let changes = LoginChanges {
        set: map(&[("log_statement", "none")]),
        ..LoginChanges::default()
    };
    let failure = configure(&tenant, Access::ReadWrite, &changes).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Blocked, Reason::AccessDenied),
        "only a superuser may: {failure}"
    );
    let seen = tenant.seen(Access::ReadWrite).await;
    assert_eq!((seen.connections, seen.settings), (-1, BTreeMap::new()));
}

async fn a_login_that_lost_its_group_is_brought_back(version: Version) {
    let tenant = provisioned(version, "dropout").await;
    let group = tenant.group(Access::ReadWrite);
    tenant
        .stack
        .postgres
        .admin()
        .await
        .unwrap()
        .batch_execute("REVOKE dropout__readwrite FROM dropout_readwrite")
        .await
        .unwrap();
    assert_eq!(tenant.seen(Access::ReadWrite).await.member_of, []);
    assert_eq!(
        tenant
            .session_in(Access::ReadWrite, "dropout")
            .await
            .map(drop)
            .unwrap_err(),
        "42501"
    );
    configure(
        &tenant,
        Access::ReadWrite,
        &LoginChanges {
            join: Some(group.clone()),
            ..LoginChanges::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(tenant.seen(Access::ReadWrite).await.member_of, [group]);
    tenant.session(Access::ReadWrite).await;
}

async fn a_login_is_not_put_into_a_group_of_another_tenant(version: Version) {
    let (tenant, other) = (
        provisioned(version, "joiner").await,
        provisioned(version, "joined").await,
    );
    let changes = LoginChanges {
        join: Some(other.group(Access::Owner)),
        ..LoginChanges::default()
    };
    let failure = configure(&tenant, Access::ReadOnly, &changes).await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::NotOwned), "{failure}");
    let mut lock = tenant.lock().await;
    let changes = LoginChanges {
        connections: Some(1),
        ..LoginChanges::default()
    };
    let failure = lock
        .configure_login(&other.database(), &other.login(Access::Owner), &changes)
        .await
        .unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::NotOwned), "{failure}");
    assert_eq!(
        tenant.seen(Access::ReadOnly).await.member_of,
        [tenant.group(Access::ReadOnly)]
    );
    assert_eq!(other.seen(Access::Owner).await.connections, -1);
    lock.release().await;
}

async fn what_became_of_a_login_is_seen(version: Version) {
    let tenant = provisioned(version, "aged").await;
    let superuser = tenant.superuser().await;
    superuser
        .batch_execute(
            "ALTER ROLE aged_owner VALID UNTIL '2001-01-01'; ALTER ROLE aged_readonly NOLOGIN VALID UNTIL 'infinity'",
        )
        .await
        .unwrap();
    let owner = tenant.seen(Access::Owner).await;
    assert_eq!((owner.expired, owner.can_login), (true, true));
    let reader = tenant.seen(Access::ReadOnly).await;
    assert_eq!((reader.expired, reader.can_login), (false, false));
}

on_every_release! {
    limits_are_set_and_only_what_is_named_is_reset
    a_value_comes_back_whatever_is_in_it
    a_setting_that_the_server_does_not_take_changes_nothing_at_all
    a_login_that_lost_its_group_is_brought_back
    a_login_is_not_put_into_a_group_of_another_tenant
    what_became_of_a_login_is_seen
}
