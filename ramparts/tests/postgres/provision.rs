//! From nothing to three apps that can do what their access says: each step is seen by the next look, and none can be taken twice.

use std::collections::BTreeMap;

use ramparts_core::{
    failure::Class,
    mark::Mark,
    name::{Access, DatabaseName, RoleName},
    observed::{DatabaseSeen, DatabaseView, LoginSeen, Presence},
    reason::Reason,
    step::LoginChanges,
};
use sandbox::Version;
use tokio_postgres::error::SqlState;

use crate::fixture::{ID, LAYOUT, Tenant, app, first, installation, kind, provisioned, refusal, tenant, text};

fn mark(tenant: &Tenant, layout: Option<u32>) -> Mark {
    Mark {
        installation: installation(),
        tenant: tenant.name.clone(),
        app: None,
        record: first(),
        layout,
    }
}

fn database(tenant: &Tenant, layout: Option<u32>) -> Presence<DatabaseSeen> {
    Presence::Ours(DatabaseSeen {
        mark: Some(mark(tenant, layout)),
        sealed: true,
    })
}

async fn every_step_is_seen_by_the_next_look(version: Version) {
    let tenant = tenant(version, "step-by-step").await;
    let groups = |presence: Presence<()>| {
        Access::ALL
            .into_iter()
            .map(|access| (access, presence.clone()))
            .collect()
    };
    let mut wanted = DatabaseView {
        database: Presence::Absent,
        groups: groups(Presence::Absent),
        logins: BTreeMap::default(),
    };
    assert_eq!(tenant.look().await, wanted);

    let mut lock = tenant.lock().await;
    tenant.make_groups(&mut lock).await.unwrap();
    wanted.groups = groups(Presence::Ours(()));
    assert_eq!(tenant.look().await, wanted);

    lock.create_database(&tenant.database()).await.unwrap();
    wanted.database = Presence::Ours(DatabaseSeen {
        mark: None,
        sealed: false,
    });
    assert_eq!(tenant.look().await, wanted);

    lock.seal_database(&tenant.name, &tenant.database(), first(), None)
        .await
        .unwrap();
    wanted.database = database(&tenant, None);
    assert_eq!(tenant.look().await, wanted);

    lock.prepare_database(&tenant.name, &tenant.database(), first(), LAYOUT)
        .await
        .unwrap();
    wanted.database = database(&tenant, Some(LAYOUT));
    assert_eq!(tenant.look().await, wanted);

    for access in Access::ALL {
        tenant.make_login(&mut lock, access).await.unwrap();
        let login = tenant.login(access);
        let oid = text(
            &tenant.superuser().await,
            &format!("SELECT '{login}'::regrole::oid::text"),
        )
        .await
        .unwrap();
        let acts_as = (access == Access::Owner).then(|| ("role".to_owned(), tenant.group(access).to_string()));
        let seen = LoginSeen {
            mark: Mark {
                app: Some(app(access)),
                ..mark(&tenant, None)
            },
            oid: oid.parse().unwrap(),
            can_login: true,
            expired: false,
            connections: -1,
            settings: acts_as.into_iter().collect(),
            member_of: vec![tenant.group(access)],
        };
        wanted.logins.insert(login, Presence::Ours(seen));
        assert_eq!(tenant.look().await, wanted);
        tenant.prove(access).await.unwrap();
    }
    let on_the_lock = tenant
        .server
        .observe(Some(&mut lock), ID, &tenant.name, &[])
        .await
        .unwrap();
    assert_eq!(on_the_lock, wanted, "what is marked is found without being asked for");
    lock.release().await;
}

async fn what_exists_is_not_made_again_and_not_changed(version: Version) {
    let tenant = provisioned(version, "twice").await;
    let superuser = tenant.superuser().await;
    let verifiers = "SELECT string_agg(oid || ' ' || coalesce(rolpassword, '-'), ' ' ORDER BY oid) FROM pg_authid WHERE rolname ~ '^twice'";
    let (before, view) = (text(&superuser, verifiers).await, tenant.look().await);
    let mut lock = tenant.lock().await;
    let failures = [
        tenant.make_groups(&mut lock).await.unwrap_err(),
        lock.create_database(&tenant.database()).await.unwrap_err(),
        tenant.make_login(&mut lock, Access::Owner).await.unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(kind(&failure), (Class::Transient, Reason::LostRace), "{failure}");
    }
    lock.release().await;
    assert_eq!(text(&superuser, verifiers).await, before);
    assert_eq!(tenant.look().await, view);
}

async fn an_app_can_do_what_its_access_says(version: Version) {
    let tenant = provisioned(version, "three-apps").await;
    let owner = tenant.session(Access::Owner).await;
    let (writer, reader) = (
        tenant.session(Access::ReadWrite).await,
        tenant.session(Access::ReadOnly).await,
    );
    let migrate = "CREATE TABLE orders (id serial PRIMARY KEY, what text);
        CREATE SCHEMA billing; CREATE TABLE billing.invoices (id int);
        CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql RETURN n * 2;
        CREATE TYPE mood AS ENUM ('good')";
    owner.batch_execute(migrate).await.unwrap();
    let belongs = "SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relname IN ('orders', 'invoices')";
    assert_eq!(
        text(&owner, belongs).await,
        Some(tenant.group(Access::Owner).to_string()),
        "what an owner makes is the group's"
    );

    writer
        .batch_execute("INSERT INTO orders (what) VALUES ('tea'); INSERT INTO billing.invoices VALUES (twice(2))")
        .await
        .unwrap();
    writer
        .batch_execute("UPDATE orders SET what = 'ink'; CREATE TEMPORARY TABLE scratch (id int)")
        .await
        .unwrap();
    for sql in [
        "CREATE TABLE mine (id int)",
        "ALTER TABLE orders ADD more int",
        "TRUNCATE orders",
        "CREATE SCHEMA mine",
    ] {
        assert_eq!(refusal(&writer, sql).await, SqlState::INSUFFICIENT_PRIVILEGE, "{sql}");
    }

    assert_eq!(text(&reader, "SELECT what FROM orders").await.as_deref(), Some("ink"));
    assert_eq!(
        text(&reader, "SELECT sum(twice(id))::text FROM billing.invoices")
            .await
            .as_deref(),
        Some("8")
    );
    for sql in [
        "INSERT INTO orders (what) VALUES ('x')",
        "DELETE FROM orders",
        "SELECT nextval('orders_id_seq')",
        "CREATE TABLE mine (id int)",
    ] {
        assert_eq!(refusal(&reader, sql).await, SqlState::INSUFFICIENT_PRIVILEGE, "{sql}");
    }
    let strangers = "SELECT count(*)::text FROM pg_proc, aclexplode(proacl) WHERE proname = 'twice' AND grantee = 0";
    assert_eq!(
        text(&owner, strangers).await.as_deref(),
        Some("0"),
        "PUBLIC runs nothing of the tenant's"
    );
    writer.batch_execute("DELETE FROM orders").await.unwrap();
    owner
        .batch_execute("DROP TABLE orders; DROP SCHEMA billing CASCADE")
        .await
        .unwrap();
}

async fn what_bears_no_mark_of_this_tenant_is_foreign_and_stays_as_it_is(version: Version) {
    let tenant = provisioned(version, "claimed").await;
    let superuser = tenant.superuser().await;
    let login = tenant.login(Access::ReadOnly);
    let changes = LoginChanges {
        connections: Some(7),
        ..LoginChanges::default()
    };
    let comments = [
        ("NULL", true),
        ("'hands off'", true),
        (
            "'ramparts v1 installation=prod tenant=other app=readonly record=1'",
            true,
        ),
        (
            "'ramparts v1 installation=test tenant=claimed app=readonly record=1'",
            true,
        ),
        (
            "'ramparts v1 installation=prod tenant=claimed app=readonly record=01'",
            false,
        ),
    ];
    let mut lock = tenant.lock().await;
    for (comment, foreign) in comments {
        superuser
            .batch_execute(&format!("COMMENT ON ROLE {login} IS {comment}"))
            .await
            .unwrap();
        let found = tenant.look().await.login(&login).clone();
        assert_eq!(matches!(found, Presence::Foreign(_)), foreign, "{comment}: {found:?}");
        assert_eq!(matches!(found, Presence::Unknown(_)), !foreign, "{comment}: {found:?}");
        let failure = lock
            .configure_login(&tenant.database(), &login, &changes)
            .await
            .unwrap_err();
        assert_eq!(kind(&failure), (Class::Blocked, Reason::NotOwned), "{comment}");
    }
    let group = tenant.group(Access::ReadOnly);
    superuser
        .batch_execute(&format!("COMMENT ON ROLE {group} IS 'mine'"))
        .await
        .unwrap();
    assert!(matches!(
        tenant.look().await.group(Access::ReadOnly),
        Presence::Foreign(_)
    ));
    let sealing = lock
        .seal_database(&tenant.name, &tenant.database(), first(), None)
        .await
        .unwrap_err();
    assert_eq!(
        kind(&sealing),
        (Class::Blocked, Reason::NotOwned),
        "a stranger's group is given nothing"
    );
    lock.release().await;
    let limit = format!("SELECT rolconnlimit::text FROM pg_roles WHERE rolname = '{login}'");
    assert_eq!(text(&superuser, &limit).await.as_deref(), Some("-1"));
}

async fn a_database_of_somebody_else_is_foreign_and_stays_as_it_is(version: Version) {
    let tenant = tenant(version, "squatted").await;
    let superuser = tenant.superuser().await;
    let mut lock = tenant.lock().await;
    tenant.make_groups(&mut lock).await.unwrap();
    superuser.batch_execute("CREATE DATABASE squatted").await.unwrap();
    let state = "SELECT concat_ws(' ', datdba::regrole, datacl, shobj_description(oid, 'pg_database')) FROM pg_database WHERE datname = 'squatted'";
    let before = text(&superuser, state).await;
    assert!(matches!(tenant.look().await.database, Presence::Foreign(_)));
    let database = DatabaseName::of(&tenant.name);
    for failure in [
        lock.create_database(&database).await.unwrap_err(),
        lock.seal_database(&tenant.name, &database, first(), None)
            .await
            .unwrap_err(),
        lock.prepare_database(&tenant.name, &database, first(), LAYOUT)
            .await
            .unwrap_err(),
    ] {
        assert!(
            [Reason::LostRace, Reason::NotOwned].contains(&failure.reason),
            "{failure}"
        );
    }
    assert_eq!(text(&superuser, state).await, before);

    superuser
        .batch_execute("ALTER DATABASE squatted OWNER TO ramparts__databases")
        .await
        .unwrap();
    for (comment, unknown) in [
        ("installation=prod tenant=other record=1", false),
        ("installation=prod tenant=squatted record=x", true),
    ] {
        superuser
            .batch_execute(&format!("COMMENT ON DATABASE squatted IS 'ramparts v1 {comment}'"))
            .await
            .unwrap();
        let found = tenant.look().await.database;
        assert_eq!(matches!(found, Presence::Unknown(_)), unknown, "{found:?}");
        assert_eq!(matches!(found, Presence::Foreign(_)), !unknown, "{found:?}");
        let failure = lock
            .seal_database(&tenant.name, &database, first(), None)
            .await
            .unwrap_err();
        assert_eq!(kind(&failure), (Class::Blocked, Reason::NotOwned), "{failure}");
    }
    lock.release().await;
}

async fn a_database_that_was_opened_to_others_is_seen_and_closed_again(version: Version) {
    let tenant = provisioned(version, "reopened").await;
    let superuser = tenant.superuser().await;
    let doors = [
        "GRANT CONNECT ON DATABASE reopened TO PUBLIC",
        "GRANT TEMPORARY ON DATABASE reopened TO PUBLIC",
        "REVOKE CONNECT ON DATABASE reopened FROM reopened__readonly",
        "ALTER DATABASE reopened ALLOW_CONNECTIONS false",
    ];
    for door in doors {
        superuser.batch_execute(door).await.unwrap();
        let seen = Presence::Ours(DatabaseSeen {
            mark: Some(mark(&tenant, Some(LAYOUT))),
            sealed: false,
        });
        assert_eq!(tenant.look().await.database, seen, "{door}");
        let mut lock = tenant.lock().await;
        lock.seal_database(&tenant.name, &tenant.database(), first(), Some(LAYOUT))
            .await
            .unwrap();
        lock.release().await;
        assert_eq!(tenant.look().await.database, database(&tenant, Some(LAYOUT)), "{door}");
    }
}

async fn a_login_whose_group_is_gone_is_not_half_made(version: Version) {
    let tenant = tenant(version, "no-group").await;
    let mut lock = tenant.lock().await;
    let failure = tenant.make_login(&mut lock, Access::Owner).await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Transient, Reason::LostRace), "{failure}");
    lock.release().await;
    assert_eq!(tenant.look().await.logins, BTreeMap::<RoleName, _>::default());
}

async fn many_tenants_are_made_at_once(version: Version) {
    let names: Vec<String> = (0..8).map(|number| format!("crowd-{number}")).collect();
    let tenants = futures::future::join_all(names.iter().map(|name| provisioned(version, name))).await;
    for tenant in &tenants {
        tenant.prove(Access::ReadOnly).await.unwrap();
        assert_eq!(tenant.look().await.database, database(tenant, Some(LAYOUT)));
    }
}

on_every_release! {
    many_tenants_are_made_at_once
    every_step_is_seen_by_the_next_look
    what_exists_is_not_made_again_and_not_changed
    an_app_can_do_what_its_access_says
    what_bears_no_mark_of_this_tenant_is_foreign_and_stays_as_it_is
    a_database_of_somebody_else_is_foreign_and_stays_as_it_is
    a_database_that_was_opened_to_others_is_seen_and_closed_again
    a_login_whose_group_is_gone_is_not_half_made
}
