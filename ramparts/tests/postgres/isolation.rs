//! Tenants cannot reach each other, and no tenant can undo what protects it.

use ramparts_core::name::Access;
use sandbox::Version;
use tokio_postgres::error::SqlState;

use crate::fixture::{LAYOUT, first, provisioned, refusal, tenant};

async fn a_tenant_enters_no_database_but_its_own(version: Version) {
    let (one, other) = (
        provisioned(version, "near").await,
        provisioned(version, "near-by").await,
    );
    for access in Access::ALL {
        for closed in [other.database().as_str(), "ramparts"] {
            assert_eq!(
                one.session_in(access, closed).await.map(drop).unwrap_err(),
                "42501",
                "{access} {closed}"
            );
        }
        one.session(access).await;
        other.session(access).await;
    }
}

async fn nobody_enters_a_database_that_is_not_closed_to_others_yet(version: Version) {
    let stranger = provisioned(version, "early-bird").await;
    let tenant = tenant(version, "half-made").await;
    let mut lock = tenant.lock().await;
    tenant.make_groups(&mut lock).await.unwrap();
    lock.create_database(&tenant.database()).await.unwrap();
    assert_eq!(
        stranger
            .session_in(Access::Owner, "half_made")
            .await
            .map(drop)
            .unwrap_err(),
        "55000"
    );
    lock.seal_database(&tenant.name, &tenant.database(), first(), None)
        .await
        .unwrap();
    assert_eq!(
        stranger
            .session_in(Access::Owner, "half_made")
            .await
            .map(drop)
            .unwrap_err(),
        "42501"
    );
    lock.release().await;
}

async fn a_tenant_cannot_undo_what_protects_it(version: Version) {
    let tenant = provisioned(version, "captive").await;
    let outsider = provisioned(version, "outsider").await;
    let inside = tenant.session(Access::Owner).await;
    let outside = tenant.session_in(Access::Owner, "postgres").await.unwrap();
    let attempts = [
        "DROP DATABASE captive",
        "ALTER DATABASE captive RENAME TO free",
        "ALTER DATABASE captive OWNER TO captive_owner",
        "ALTER DATABASE captive ALLOW_CONNECTIONS false",
        "ALTER DATABASE captive CONNECTION LIMIT 1",
        "ALTER DATABASE captive SET search_path = evil",
        "COMMENT ON DATABASE captive IS 'ramparts v1 installation=prod tenant=outsider record=1'",
        "COMMENT ON ROLE captive__owner IS 'ramparts v1 installation=prod tenant=outsider record=1'",
        "COMMENT ON ROLE captive_owner IS NULL",
        "SET ROLE ramparts",
        "SET ROLE ramparts__databases",
        "SET ROLE outsider__readonly",
        "GRANT ramparts__databases TO captive_owner",
        "GRANT outsider__owner TO captive_owner",
        "GRANT captive__owner TO outsider_owner",
        "CREATE ROLE accomplice",
        "ALTER ROLE captive_readonly PASSWORD 'x'",
        "ALTER ROLE captive_owner CONNECTION LIMIT -1",
        "ALTER ROLE captive_owner CREATEROLE",
        "SELECT rolpassword FROM pg_authid",
    ];
    for session in [&inside, &outside] {
        for attempt in attempts {
            assert_eq!(
                refusal(session, attempt).await,
                SqlState::INSUFFICIENT_PRIVILEGE,
                "{attempt}"
            );
        }
    }
    // A grant that nobody had the right to give is a warning, not an error: what counts is that the other is still outside.
    for attempt in [
        "GRANT CONNECT ON DATABASE captive TO PUBLIC",
        "GRANT ALL ON DATABASE captive TO outsider_owner",
    ] {
        drop(inside.batch_execute(attempt).await);
        assert_eq!(
            outsider
                .session_in(Access::Owner, "captive")
                .await
                .map(drop)
                .unwrap_err(),
            "42501",
            "{attempt}"
        );
    }
}

/// Things of a tenant's own, under the names that the operator uses inside its database, and an operator's session that could meet them.
async fn nothing_of_a_tenant_runs_as_the_operator(version: Version) {
    let tenant = provisioned(version, "trapper").await;
    let traps = "CREATE FUNCTION public.shobj_description(oid, name) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
        CREATE FUNCTION public.shobj_description(oid, text) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
        CREATE VIEW public.pg_roles AS SELECT 0::oid AS oid, 'x'::name AS rolname;
        CREATE VIEW public.pg_database AS SELECT 0::oid AS oid, 'x'::name AS datname, 0::oid AS datdba;
        GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO PUBLIC";
    tenant.session(Access::Owner).await.batch_execute(traps).await.unwrap();
    let mut lock = tenant.lock().await;
    lock.prepare_database(&tenant.name, &tenant.database(), first(), LAYOUT + 1)
        .await
        .unwrap();
    lock.release().await;
    let log = String::from_utf8_lossy(&std::fs::read(tenant.log()).unwrap()).into_owned();
    assert!(!log.contains("trapped ramparts"));
}

on_every_release! {
    nothing_of_a_tenant_runs_as_the_operator
    a_tenant_enters_no_database_but_its_own
    nobody_enters_a_database_that_is_not_closed_to_others_yet
    a_tenant_cannot_undo_what_protects_it
}
