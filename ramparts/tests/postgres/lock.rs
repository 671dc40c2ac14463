//! One tenant, one pass at a time; and who has lost the lock writes nothing.

use std::time::{Duration, Instant};

use ramparts_core::{failure::Class, name::Access, observed::Presence, reason::Reason};
use sandbox::Version;

use crate::fixture::{Proxy, kind, open, provisioned, settings, tenant};

async fn two_passes_cannot_hold_one_tenants_lock(version: Version) {
    let (one, same, other) = (
        tenant(version, "locked").await,
        tenant(version, "locked").await,
        tenant(version, "locked-not").await,
    );
    let lock = one.lock().await;
    let begun = Instant::now();
    other.lock().await.release().await;
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "another tenant's lock is free"
    );
    let failure = same.server.lock(&same.name).await.unwrap_err();
    assert_eq!(kind(&failure), (Class::Transient, Reason::Locked), "{failure}");
    lock.release().await;
    let lock = same.lock().await;
    drop(lock);
    one.lock().await.release().await;
}

async fn a_lost_lock_is_a_failed_write(version: Version) {
    let tenant = tenant(version, "unlocked").await;
    let mut lock = tenant.lock().await;
    let superuser = tenant.superuser().await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND ((classid::bigint << 32) | objid::bigint) = hashtextextended('ramparts/prod/unlocked', 0)";
    assert_eq!(
        superuser.query(cut, &[]).await.unwrap().len(),
        1,
        "somebody ends the session that holds the lock"
    );
    let failure = tenant.make_groups(&mut lock).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Transient, Reason::DatabaseUnreachable),
        "{failure}"
    );
    let failure = lock.create_database(&tenant.database()).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Transient, Reason::DatabaseUnreachable),
        "{failure}"
    );
    lock.release().await;
    let view = tenant.look().await;
    assert_eq!(
        (&view.database, view.group(Access::Owner)),
        (&Presence::Absent, &Presence::Absent)
    );
}

async fn a_lock_lost_on_the_way_is_noticed_before_the_second_session_writes(version: Version) {
    let tenant = provisioned(version, "halfway").await;
    let mut lock = tenant.lock().await;
    let superuser = tenant.superuser().await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND ((classid::bigint << 32) | objid::bigint) = hashtextextended('ramparts/prod/halfway', 0)";
    assert_eq!(superuser.query(cut, &[]).await.unwrap().len(), 1);
    let before = tenant.look().await;
    let failure = lock
        .prepare_database(&tenant.name, &tenant.database(), crate::fixture::first(), 2)
        .await
        .unwrap_err();
    assert_eq!(failure.class, Class::Transient, "{failure}");
    assert_eq!(tenant.look().await, before, "layout 2 was not written");
}

async fn a_call_that_was_given_up_on_ends_its_session_and_its_lock(version: Version) {
    let tenant = tenant(version, "given-up").await;
    let proxy = Proxy::start("127.0.0.1", tenant.stack.postgres.port()).await;
    let mut settings = settings(tenant.stack, &tenant.stack.postgres);
    settings.endpoint.port = proxy.port;
    let server = open(&settings).unwrap();
    let mut lock = server.lock(&tenant.name).await.unwrap();
    proxy.stall.send_replace(true);
    let failure = tenant.make_groups(&mut lock).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Transient, Reason::DatabaseUnreachable),
        "{failure}"
    );
    assert!(failure.message.contains("did not answer"), "{failure}");
    proxy.stall.send_replace(false);
    let begun = Instant::now();
    let failure = tenant.make_groups(&mut lock).await.unwrap_err();
    assert_eq!(
        kind(&failure),
        (Class::Transient, Reason::DatabaseUnreachable),
        "answers come again, but not to it"
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
    lock.release().await;
    tenant.lock().await.release().await;
    assert_eq!(tenant.look().await.group(Access::Owner), &Presence::Absent);
}

async fn a_lock_is_for_one_tenant(version: Version) {
    let (tenant, other) = (tenant(version, "mine").await, tenant(version, "yours").await);
    let mut lock = tenant.lock().await;
    assert_eq!(other.make_groups(&mut lock).await.unwrap_err().class, Class::Defect);
    lock.release().await;
    assert_eq!(other.look().await.group(Access::Owner), &Presence::Absent);
}

async fn looks_and_locks_share_one_session(version: Version) {
    let tenant = tenant(version, "thrifty").await;
    for _ in 0..3 {
        tenant.look().await;
        tenant.lock().await.release().await;
    }
    let metrics = tenant.metrics.render();
    let connects = metrics
        .lines()
        .find(|line| line.contains("external_calls_total") && line.contains("\"connect\""));
    assert!(connects.unwrap().ends_with(" 1"), "{metrics}");
}

async fn a_kept_session_that_died_is_replaced_without_a_failure(version: Version) {
    let tenant = tenant(version, "revived").await;
    tenant.look().await;
    let superuser = tenant.superuser().await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%json_build_object%' AND datname = 'ramparts'
        AND usename = 'ramparts' AND state = 'idle' AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')";
    // Other tests' kept sessions may go with it: that each of them bears it is what this is about. One that holds a lock is no kept one.
    assert!(!superuser.query(cut, &[]).await.unwrap().is_empty());
    tenant.look().await;
    tenant.lock().await.release().await;
}

on_every_release! {
    two_passes_cannot_hold_one_tenants_lock
    a_lost_lock_is_a_failed_write
    a_lock_lost_on_the_way_is_noticed_before_the_second_session_writes
    a_call_that_was_given_up_on_ends_its_session_and_its_lock
    a_lock_is_for_one_tenant
    looks_and_locks_share_one_session
    a_kept_session_that_died_is_replaced_without_a_failure
}
