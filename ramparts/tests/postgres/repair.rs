//! What other hands did to a tenant is put right in one go, or it is said who must; nothing is mended for ever without being mended.

use std::{
    io,
    sync::{Arc, Mutex},
};

use ramparts_core::{
    failure::{Class, Failure},
    name::Access,
    observed::Presence,
    reason::Reason,
    step::LoginChanges,
};
use sandbox::Version;
use tokio_postgres::{Client, error::SqlState};

use crate::fixture::{LAYOUT, Tenant, first, kind, provisioned, refusal, text};

async fn seal(tenant: &Tenant) -> Result<(), Failure> {
    let mut lock = tenant.lock().await;
    let done = lock
        .seal_database(&tenant.name, &tenant.database(), first(), Some(LAYOUT))
        .await;
    lock.release().await;
    done
}

async fn is_sealed(tenant: &Tenant) -> bool {
    matches!(tenant.look().await.database, Presence::Ours(seen) if seen.sealed)
}

async fn a_door_that_another_role_opened_is_not_said_to_be_closed(version: Version) {
    let tenant = provisioned(version, "ajar").await;
    let superuser = tenant.superuser().await;
    let opens = "DROP ROLE IF EXISTS \"Bob's\"; CREATE ROLE \"Bob's\";
        GRANT CONNECT ON DATABASE ajar TO \"Bob's\" WITH GRANT OPTION;
        SET ROLE \"Bob's\"; GRANT CONNECT ON DATABASE ajar TO PUBLIC; RESET ROLE;
        REVOKE CONNECT ON DATABASE ajar FROM ajar__readonly";
    superuser.batch_execute(opens).await.unwrap();
    assert!(!is_sealed(&tenant).await);
    let acl = "SELECT datacl::text FROM pg_database WHERE datname = 'ajar'";
    let before = text(&superuser, acl).await;
    let failure = seal(&tenant).await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::AccessDenied), "{failure}");
    let cure = "SET ROLE \"Bob's\"; REVOKE CONNECT ON DATABASE \"ajar\" FROM PUBLIC; RESET ROLE";
    assert!(failure.message.contains(cure), "{failure}");
    assert_eq!(text(&superuser, acl).await, before, "all or nothing");

    superuser.batch_execute(cure).await.unwrap();
    seal(&tenant).await.unwrap();
    assert!(is_sealed(&tenant).await);
}

/// As a DBA does it: whatever the group was given is taken away, and then the group is.
async fn drop_group(superuser: &Client, tenant: &Tenant, access: Access) {
    let group = tenant.group(access);
    superuser
        .batch_execute(&format!("DROP OWNED BY {group}; DROP ROLE {group}"))
        .await
        .unwrap();
}

async fn make_again(tenant: &Tenant, access: Access) {
    let group = tenant.group(access);
    let mut lock = tenant.lock().await;
    lock.create_groups(&tenant.name, &[(access, group.clone())], first())
        .await
        .unwrap();
    lock.seal_database(&tenant.name, &tenant.database(), first(), None)
        .await
        .unwrap();
    lock.prepare_database(&tenant.name, &tenant.database(), first(), LAYOUT)
        .await
        .unwrap();
    let changes = LoginChanges {
        join: Some(group),
        ..LoginChanges::default()
    };
    lock.configure_login(&tenant.database(), &tenant.login(access), &changes)
        .await
        .unwrap();
    lock.release().await;
}

const MIGRATE: &str = r#"CREATE TABLE orders (id serial PRIMARY KEY, what text);
    CREATE SCHEMA "Bill ing"; CREATE TABLE "Bill ing"."In ""voices" (id int);
    CREATE VIEW "Bill ing".all_orders AS SELECT * FROM public.orders;
    CREATE TYPE "Bill ing".mood AS ENUM ('good');
    CREATE FUNCTION twice(n int, m "Bill ing".mood DEFAULT 'good') RETURNS int LANGUAGE sql RETURN n * 2;
    CREATE PROCEDURE done(INOUT n int, OUT m int) LANGUAGE plpgsql AS 'BEGIN m := n; END';
    CREATE FUNCTION kept(float8, int) RETURNS float8 LANGUAGE sql RETURN $1;
    CREATE FUNCTION given(float8, float8) RETURNS float8 LANGUAGE sql RETURN $1 + $2;
    CREATE AGGREGATE middle(float8 ORDER BY int) (SFUNC = kept, STYPE = float8, INITCOND = '1', FINALFUNC = given);
    CREATE TABLE hidden (id int); REVOKE ALL ON hidden FROM regrouped__readonly, regrouped__readwrite;
    CREATE TEMPORARY TABLE scratch (id int)"#;

const USES: [&str; 7] = [
    "SELECT * FROM orders",
    r#"SELECT * FROM "Bill ing"."In ""voices""#,
    r#"SELECT * FROM "Bill ing".all_orders"#,
    "SELECT last_value FROM orders_id_seq",
    "SELECT twice(2)",
    "CALL done(1, NULL)",
    "SELECT middle(0.5) WITHIN GROUP (ORDER BY n) FROM generate_series(1, 3) AS n",
];

async fn a_group_that_was_made_again_has_what_it_had(version: Version) {
    let tenant = provisioned(version, "regrouped").await;
    // It stays open: its temporary table is nobody else's business.
    let owner = tenant.session(Access::Owner).await;
    owner.batch_execute(MIGRATE).await.unwrap();
    let superuser = tenant.stack.postgres.superuser_in("regrouped").await.unwrap();
    superuser
        .batch_execute("CREATE TABLE public.dba (id int); CREATE SCHEMA dba")
        .await
        .unwrap();

    drop_group(&superuser, &tenant, Access::ReadWrite).await;
    make_again(&tenant, Access::ReadWrite).await;
    let writer = tenant.session(Access::ReadWrite).await;
    for sql in USES {
        writer
            .batch_execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    writer
        .batch_execute("INSERT INTO orders (what) VALUES ('tea'); UPDATE orders SET what = 'ink'; DELETE FROM orders")
        .await
        .unwrap();
    for sql in ["TRUNCATE orders", "SELECT * FROM dba", "CREATE TABLE dba.mine (id int)"] {
        assert_eq!(refusal(&writer, sql).await, SqlState::INSUFFICIENT_PRIVILEGE, "{sql}");
    }
    owner.batch_execute("CREATE TABLE later (id int)").await.unwrap();
    writer.batch_execute("INSERT INTO later VALUES (1)").await.unwrap();
    let reader = tenant.session(Access::ReadOnly).await;
    let hidden = refusal(&reader, "SELECT * FROM hidden").await;
    assert_eq!(
        hidden,
        SqlState::INSUFFICIENT_PRIVILEGE,
        "what its owner took from a group that stayed is not given back"
    );

    drop_group(&superuser, &tenant, Access::ReadOnly).await;
    make_again(&tenant, Access::ReadOnly).await;
    let reader = tenant.session(Access::ReadOnly).await;
    for sql in USES {
        reader
            .batch_execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    for sql in ["INSERT INTO orders VALUES (1)", "SELECT nextval('orders_id_seq')"] {
        assert_eq!(refusal(&reader, sql).await, SqlState::INSUFFICIENT_PRIVILEGE, "{sql}");
    }
}

async fn preparing_twice_changes_no_privilege(version: Version) {
    let tenant = provisioned(version, "prepared-twice").await;
    let owner = tenant.session(Access::Owner).await;
    owner
        .batch_execute("CREATE TABLE orders (id serial); REVOKE ALL ON orders FROM prepared_twice__readonly")
        .await
        .unwrap();
    let acls = "SELECT concat_ws(' ', (SELECT string_agg(relname || relacl::text, ' ' ORDER BY relname) FROM pg_class WHERE relacl IS NOT NULL),
        (SELECT string_agg(nspname || nspacl::text, ' ' ORDER BY nspname) FROM pg_namespace WHERE nspacl IS NOT NULL),
        (SELECT string_agg(defaclacl::text, ' ' ORDER BY defaclobjtype) FROM pg_default_acl))";
    let before = text(&owner, acls).await;
    let mut lock = tenant.lock().await;
    lock.prepare_database(&tenant.name, &tenant.database(), first(), LAYOUT)
        .await
        .unwrap();
    lock.release().await;
    assert_eq!(text(&owner, acls).await, before);
}

async fn a_login_that_inherits_nothing_any_more_is_mended_once(version: Version) {
    let tenant = provisioned(version, "heirless").await;
    let superuser = tenant.superuser().await;
    let (login, group) = (tenant.login(Access::ReadWrite), tenant.group(Access::ReadWrite));
    superuser
        .batch_execute(&format!("ALTER ROLE {login} NOINHERIT CREATEDB"))
        .await
        .unwrap();
    // From 16 on the membership itself says whether it is inherited; the attribute is only for memberships to come.
    let needs_it = tenant.seen(Access::ReadWrite).await.member_of.is_empty();
    assert_eq!(needs_it, version == Version::V15);
    if version != Version::V15 {
        superuser
            .batch_execute(&format!("GRANT {group} TO {login} WITH INHERIT FALSE"))
            .await
            .unwrap();
        superuser
            .batch_execute(&format!(
                "GRANT {group} TO {login} WITH INHERIT FALSE GRANTED BY ramparts"
            ))
            .await
            .unwrap();
        assert_eq!(tenant.seen(Access::ReadWrite).await.member_of, []);
    }
    let changes = LoginChanges {
        join: Some(group.clone()),
        ..LoginChanges::default()
    };
    let mut lock = tenant.lock().await;
    lock.configure_login(&tenant.database(), &login, &changes)
        .await
        .unwrap();
    lock.release().await;
    assert_eq!(tenant.seen(Access::ReadWrite).await.member_of, [group]);
    tenant.session(Access::ReadWrite).await;
    let attributes = format!(
        "SELECT concat_ws(' ', rolcreatedb, rolconnlimit, rolcanlogin) FROM pg_roles WHERE rolname = '{login}'"
    );
    assert_eq!(
        text(&superuser, &attributes).await.as_deref(),
        Some("t -1 t"),
        "nothing else is named"
    );
}

/// What was logged, for the time that it is kept.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn a_role_that_was_given_more_than_ours_have_is_pointed_out(version: Version) {
    let tenant = provisioned(version, "mighty").await;
    let superuser = tenant.superuser().await;
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let said = || String::from_utf8(std::mem::take(&mut *lines.0.lock().unwrap())).unwrap();
    tenant.look().await;
    assert!(!said().contains("WARN"), "as we made them there is nothing to say");
    superuser
        .batch_execute("ALTER ROLE mighty_readonly SUPERUSER BYPASSRLS; ALTER ROLE mighty__owner CREATEROLE")
        .await
        .unwrap();
    tenant.look().await;
    drop(guard);
    let said = said();
    for (role, powers) in [
        ("mighty_readonly", "SUPERUSER, BYPASSRLS"),
        ("mighty__owner", "CREATEROLE"),
    ] {
        let warned = said
            .lines()
            .any(|line| line.contains("WARN") && line.contains(role) && line.contains(powers));
        assert!(warned, "{role}: {said}");
    }
    let kept = "SELECT concat_ws(' ', rolsuper, rolbypassrls) FROM pg_roles WHERE rolname = 'mighty_readonly'";
    assert_eq!(
        text(&superuser, kept).await.as_deref(),
        Some("t t"),
        "it is not ours to take"
    );
}

on_every_release! {
    a_door_that_another_role_opened_is_not_said_to_be_closed
    a_group_that_was_made_again_has_what_it_had
    preparing_twice_changes_no_privilege
    a_login_that_inherits_nothing_any_more_is_mended_once
    a_role_that_was_given_more_than_ours_have_is_pointed_out
}
