//! A server is enrolled once, from wherever an earlier attempt stopped, and a server that is somebody else's stays as it is.

use std::fs;

use ramparts_core::{
    enrolment::ServerSide,
    failure::{Class, Failure},
    name::TenantName,
    observed::Presence,
    reason::Reason,
    settings::PasswordSource,
};
use sandbox::Version;
use tokio_postgres::error::SqlState;

use crate::fixture::{Blank, ID, blank, kind, open, refusal, settings, text};

const COMMENT: &str = "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = 'ramparts__databases'";
const ENROLLED: &str = "ramparts v1 installation=prod server=5f0c-9a state=enrolled";
const ENROLLING: &str = "ramparts v1 installation=prod server=5f0c-9a state=enrolling";

async fn look(blank: &Blank, id: &str) -> Result<(), Failure> {
    let acme = TenantName::parse("acme").unwrap();
    let view = blank.server.observe(None, id, &acme, &[]).await?;
    assert_eq!(view.database, Presence::Absent);
    Ok(())
}

async fn a_server_is_enrolled_from_nothing(version: Version) {
    let blank = blank(version).await;
    let server = &blank.server;
    assert_eq!(server.enrolment().await.unwrap(), ServerSide::Absent);
    assert_eq!(
        kind(&look(&blank, ID).await.unwrap_err()),
        (Class::Blocked, Reason::NotEnrolled),
        "nothing to look at yet"
    );

    server.mark_enrolling(ID).await.unwrap();
    assert_eq!(server.enrolment().await.unwrap(), ServerSide::Enrolling(ID.into()));
    assert_eq!(text(&blank.superuser, COMMENT).await.as_deref(), Some(ENROLLING));

    server.confirm_enrolled(ID).await.unwrap();
    assert_eq!(server.enrolment().await.unwrap(), ServerSide::Enrolled(ID.into()));
    look(&blank, ID).await.unwrap();
    let owner = "SELECT concat_ws(' ', rolcanlogin, rolsuper, rolcreaterole, rolcreatedb) FROM pg_roles WHERE rolname = 'ramparts__databases'";
    assert_eq!(text(&blank.superuser, owner).await.as_deref(), Some("f f f f"));
    let members = "SELECT string_agg(DISTINCT member::regrole::text, ' ') FROM pg_auth_members WHERE roleid = 'ramparts__databases'::regrole";
    assert_eq!(text(&blank.superuser, members).await.as_deref(), Some("ramparts"));
}

async fn nobody_else_enters_the_operators_database(version: Version) {
    let blank = blank(version).await;
    blank.server.mark_enrolling(ID).await.unwrap();
    blank.server.confirm_enrolled(ID).await.unwrap();
    blank
        .superuser
        .batch_execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
        .await
        .unwrap();
    let entered = blank.postgres.login("stranger", "stranger", "ramparts").await.map(drop);
    let maintenance = blank.postgres.login("stranger", "stranger", "postgres").await.map(drop);
    blank.superuser.batch_execute("DROP ROLE stranger").await.unwrap();
    assert_eq!(entered.unwrap_err().code(), Some("42501"));
    assert!(maintenance.is_ok(), "a stranger who can log in at all");
}

async fn an_enrolment_is_resumed_wherever_it_stopped(version: Version) {
    let blank = blank(version).await;
    let (server, superuser) = (&blank.server, &blank.superuser);
    server.mark_enrolling(ID).await.unwrap();
    let stops = [
        "CREATE DATABASE ramparts OWNER ramparts__databases TEMPLATE template0 ALLOW_CONNECTIONS false",
        "REVOKE ALL ON DATABASE ramparts FROM PUBLIC",
        "COMMENT ON ROLE ramparts__databases IS 'ramparts v1 installation=prod server=5f0c-9a state=enrolling'",
    ];
    for stop in stops {
        superuser.batch_execute(stop).await.unwrap();
        assert_eq!(
            server.enrolment().await.unwrap(),
            ServerSide::Enrolling(ID.into()),
            "{stop}"
        );
        server.confirm_enrolled(ID).await.unwrap();
        assert_eq!(
            server.enrolment().await.unwrap(),
            ServerSide::Enrolled(ID.into()),
            "{stop}"
        );
        look(&blank, ID).await.unwrap();
        let acl = "SELECT datacl::text FROM pg_database WHERE datname = 'ramparts'";
        let acl = text(superuser, acl).await.unwrap();
        assert!(!acl.contains("{=") && !acl.contains(",="), "PUBLIC has nothing: {acl}");
        superuser
            .batch_execute(&format!("COMMENT ON ROLE ramparts__databases IS '{ENROLLING}'"))
            .await
            .unwrap();
    }
    server.confirm_enrolled(ID).await.unwrap();
    server.confirm_enrolled(ID).await.unwrap();
    assert_eq!(
        server.enrolment().await.unwrap(),
        ServerSide::Enrolled(ID.into()),
        "twice is once"
    );
}

async fn a_server_of_somebody_else_is_left_alone(version: Version) {
    let blank = blank(version).await;
    let (server, superuser) = (&blank.server, &blank.superuser);
    superuser
        .batch_execute("CREATE ROLE ramparts__databases")
        .await
        .unwrap();
    let comments = [
        "NULL",
        "'a role of the DBA'",
        "'ramparts v1 installation=test server=5f0c-9a state=enrolled'",
        "'ramparts v1 installation=prod server=5f0c-9a state=enrolled '",
    ];
    for comment in comments {
        superuser
            .batch_execute(&format!("COMMENT ON ROLE ramparts__databases IS {comment}"))
            .await
            .unwrap();
        let before = text(superuser, COMMENT).await;
        assert!(
            matches!(server.enrolment().await.unwrap(), ServerSide::Foreign(_)),
            "{comment}"
        );
        assert_eq!(
            kind(&server.mark_enrolling(ID).await.unwrap_err()),
            (Class::Transient, Reason::LostRace),
            "{comment}"
        );
        assert_eq!(
            kind(&server.confirm_enrolled(ID).await.unwrap_err()),
            (Class::Blocked, Reason::NotEnrolled),
            "{comment}"
        );
        assert_eq!(text(superuser, COMMENT).await, before);
        let databases = "SELECT count(*)::text FROM pg_database WHERE datname = 'ramparts'";
        assert_eq!(text(superuser, databases).await.as_deref(), Some("0"), "{comment}");
    }
    superuser.batch_execute("DROP ROLE ramparts__databases").await.unwrap();
    superuser
        .batch_execute("CREATE DATABASE ramparts TEMPLATE template0")
        .await
        .unwrap();
    assert!(
        matches!(server.enrolment().await.unwrap(), ServerSide::Foreign(_)),
        "somebody's database has our database's name"
    );
}

async fn a_server_with_another_id_is_not_looked_at(version: Version) {
    let blank = blank(version).await;
    blank.server.mark_enrolling(ID).await.unwrap();
    blank.server.confirm_enrolled(ID).await.unwrap();
    let failure = look(&blank, "another").await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::NotEnrolled));
    assert!(
        failure.message.contains("another") && failure.message.contains(ID),
        "{failure}"
    );
    assert_eq!(
        kind(&blank.server.confirm_enrolled("another").await.unwrap_err()),
        (Class::Blocked, Reason::NotEnrolled)
    );
    assert_eq!(text(&blank.superuser, COMMENT).await.as_deref(), Some(ENROLLED));
}

async fn an_admin_that_lacks_a_right_is_told_which(version: Version) {
    let blank = blank(version).await;
    blank
        .superuser
        .batch_execute("ALTER ROLE ramparts NOCREATEDB NOCREATEROLE")
        .await
        .unwrap();
    for failure in [
        blank.server.enrolment().await.unwrap_err(),
        blank.server.confirm_enrolled(ID).await.unwrap_err(),
    ] {
        assert_eq!(kind(&failure), (Class::Blocked, Reason::AccessDenied));
        assert!(
            failure.message.ends_with("ALTER ROLE ramparts CREATEROLE CREATEDB"),
            "{failure}"
        );
    }
}

async fn an_admin_that_an_upgrade_took_its_membership_from_is_told_how_to_get_it_back(version: Version) {
    let blank = blank(version).await;
    blank.server.mark_enrolling(ID).await.unwrap();
    let revoke = "REVOKE ramparts__databases FROM ramparts GRANTED BY ramparts CASCADE";
    let revoke = if version == Version::V15 {
        "REVOKE ramparts__databases FROM ramparts"
    } else {
        revoke
    };
    blank.superuser.batch_execute(revoke).await.unwrap();
    let failure = blank.server.enrolment().await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::AccessDenied));
    let (_, cure) = failure.message.split_once("can run: ").unwrap();
    blank.superuser.batch_execute(cure).await.unwrap();
    assert_eq!(
        blank.server.enrolment().await.unwrap(),
        ServerSide::Enrolling(ID.into())
    );
}

/// A server that was told to be a replica, of nothing.
async fn a_replica_is_neither_looked_at_nor_written_to(version: Version) {
    let blank = blank(version).await;
    blank.server.mark_enrolling(ID).await.unwrap();
    blank.server.confirm_enrolled(ID).await.unwrap();
    let signal = blank.postgres.socket_folder().join("data/standby.signal");
    fs::write(&signal, "").unwrap();
    blank.postgres.restart().await.unwrap();
    let failures = [
        blank.server.enrolment().await.map(drop),
        look(&blank, ID).await,
        blank.server.confirm_enrolled(ID).await,
        blank.server.mark_enrolling(ID).await,
    ];
    fs::remove_file(signal).unwrap();
    blank.postgres.restart().await.unwrap();
    for failure in failures.map(Result::unwrap_err) {
        assert_eq!(
            kind(&failure),
            (Class::Transient, Reason::DatabaseUnreachable),
            "{failure}"
        );
    }
    look(&blank, ID).await.unwrap();
}

async fn a_server_that_takes_no_writes_is_tried_again(version: Version) {
    let blank = blank(version).await;
    blank
        .superuser
        .batch_execute("ALTER ROLE ramparts SET default_transaction_read_only = on")
        .await
        .unwrap();
    let failure = blank.server.mark_enrolling(ID).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Transient, Reason::DatabaseUnreachable),
        "{failure}"
    );
    assert_eq!(
        text(
            &blank.superuser,
            "SELECT count(*)::text FROM pg_roles WHERE rolname ~ '^ramparts__'"
        )
        .await
        .as_deref(),
        Some("0")
    );
}

async fn the_admins_password_is_read_again_at_each_connection(version: Version) {
    let blank = blank(version).await;
    let settings = settings(blank.stack, &blank.postgres);
    let PasswordSource::File(file) = &settings.admin_password else {
        panic!("a file")
    };
    fs::write(file, "wrong").unwrap();
    let server = open(&settings).unwrap();
    let failure = server.enrolment().await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Blocked, Reason::AccessDenied), "{failure}");
    assert!(
        failure.message.contains("28P01") && !failure.message.contains("wrong"),
        "{failure}"
    );
    fs::write(file, format!("{}\r\n", blank.postgres.admin_password().expose())).unwrap();
    assert_eq!(server.enrolment().await.unwrap(), ServerSide::Absent);
    fs::remove_file(file).unwrap();
    assert_eq!(
        kind(&server.enrolment().await.unwrap_err()),
        (Class::Blocked, Reason::AccessDenied)
    );
}

async fn the_operators_sessions_are_bounded_and_trust_no_ones_names(version: Version) {
    let blank = blank(version).await;
    blank
        .superuser
        .batch_execute("ALTER ROLE ramparts SET search_path = evil; ALTER ROLE ramparts SET statement_timeout = 0")
        .await
        .unwrap();
    blank.server.mark_enrolling(ID).await.unwrap();
    blank.server.confirm_enrolled(ID).await.unwrap();
    look(&blank, ID).await.unwrap();
    let log = fs::read_to_string(blank.postgres.log()).unwrap();
    assert!(
        log.contains("ramparts v1 installation=prod server=5f0c-9a"),
        "the log is the right one"
    );
    let admin = blank.postgres.admin().await.unwrap();
    let names = "SELECT application_name FROM pg_stat_activity WHERE usename = 'ramparts' AND datname = 'ramparts'";
    assert_eq!(
        text(&admin, names).await.as_deref(),
        Some("ramparts"),
        "the session that is kept"
    );
    assert_eq!(
        refusal(&admin, "ALTER DATABASE postgres RENAME TO other").await,
        SqlState::INSUFFICIENT_PRIVILEGE,
        "no superuser"
    );
}

on_every_release! {
    a_server_is_enrolled_from_nothing
    nobody_else_enters_the_operators_database
    an_enrolment_is_resumed_wherever_it_stopped
    a_server_of_somebody_else_is_left_alone
    a_server_with_another_id_is_not_looked_at
    an_admin_that_lacks_a_right_is_told_which
    an_admin_that_an_upgrade_took_its_membership_from_is_told_how_to_get_it_back
    a_replica_is_neither_looked_at_nor_written_to
    a_server_that_takes_no_writes_is_tried_again
    the_admins_password_is_read_again_at_each_connection
    the_operators_sessions_are_bounded_and_trust_no_ones_names
}
