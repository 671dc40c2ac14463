//! What stands in the store: records and copies, byte for byte as they were ever written, and everything else that may be found in
//! their place. What is not ours is Foreign; what is ours and cannot be understood is Malformed, and no message quotes it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

#[allow(unused_imports)]
mod common;

use common::{
    CANARY, app, now, record,
    world::{credential, placement},
};
use ramparts_core::{
    ledger::{Body, Placement, Record},
    name::{Installation, RecordNo, TenantName},
    published::{PublishedCopy, Whereabouts},
    record::Read,
    secret::Secret,
};
use serde_json::{Value, json};

fn prod() -> Installation {
    Installation::parse("prod").unwrap()
}

fn acme() -> TenantName {
    TenantName::parse("acme").unwrap()
}

fn issue(apps: &[&str], placement: Placement) -> Record {
    let apps = apps.iter().map(|name| (app(name), credential(name, 1))).collect();
    let body = Body::Issue { placement, apps };
    Record {
        number: RecordNo::FIRST,
        uid: "uid-1".into(),
        at: now(),
        body,
    }
}

fn read_record(text: &str) -> Read<Record> {
    Record::read(&Secret::new(text.into()), &prod(), &acme(), RecordNo::FIRST)
}

/// A record as it is stored, for tests to spoil.
fn stored() -> Value {
    let text = issue(&["api", "reporting"], placement()).write(&prod(), &acme());
    serde_json::from_str(text.expose()).unwrap()
}

fn malformed<T: std::fmt::Debug>(read: Read<T>) -> String {
    match read {
        Read::Malformed(message) => {
            assert!(!message.contains(CANARY), "{message}");
            message
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_is_written_as_it_always_was() {
    assert_eq!(
        stored(),
        json!({
            "ramparts": "record/v1",
            "installation": "prod",
            "tenant": "acme",
            "record": 1,
            "kind": "issue",
            "uid": "uid-1",
            "at": "2026-11-15T09:00:00Z",
            "placement": {"database": "main", "cache": "main"},
            "apps": {
                "api": {
                    "login": "acme_api",
                    "login_password": "rmp_CANARYdbapi1",
                    "access": "owner",
                    "cache_user": "prod-acme-api",
                    "cache_password": "rmp_CANARYcacheapi1",
                    "cache_profile": "standard"
                },
                "reporting": {
                    "login": "acme_reporting",
                    "login_password": "rmp_CANARYdbreporting1",
                    "access": "readOnly"
                }
            }
        })
    );
}

#[test]
fn every_kind_of_record_comes_back_as_it_was() {
    let uncached = Placement {
        cache: None,
        ..placement()
    };
    let plain = |body| Record {
        body,
        ..issue(&[], placement())
    };
    for written in [
        issue(&["api", "worker", "reporting", "web-admin"], placement()),
        issue(&["reporting"], uncached),
        plain(Body::Open),
        plain(Body::Void),
    ] {
        assert_eq!(
            read_record(written.write(&prod(), &acme()).expose()),
            Read::Ours(written)
        );
    }
}

#[test]
fn what_does_not_bear_our_mark_is_foreign() {
    let mut other_installation = stored();
    other_installation["installation"] = "test".into();
    let mut other_tenant = stored();
    other_tenant["tenant"] = "acme2".into();
    let mut a_copy = stored();
    a_copy["ramparts"] = "copy/v1".into();
    let mut unmarked = stored();
    unmarked.as_object_mut().unwrap().remove("ramparts");
    for text in [
        String::new(),
        "hunter2".into(),
        "{}".into(),
        "[1]".into(),
        "{\"password\": \"x\"}".into(),
        other_installation.to_string(),
        other_tenant.to_string(),
        a_copy.to_string(),
        unmarked.to_string(),
    ] {
        assert_eq!(read_record(&text), Read::Foreign, "{text}");
    }
}

#[test]
fn law_3_what_is_ours_and_not_understood_is_never_taken_for_absent_or_foreign() {
    let spoil = |change: fn(&mut Value)| {
        let mut value = stored();
        change(&mut value);
        malformed(read_record(&value.to_string()))
    };
    assert_eq!(
        spoil(|it| it["ramparts"] = "record/v2".into()),
        "its form is record/v2, this version reads record/v1"
    );
    assert_eq!(spoil(|it| it["record"] = 2.into()), "it says that it is record 2");
    // A later version's deletion must stop this one, not be passed over.
    spoil(|it| it["kind"] = "close".into());
    spoil(|it| it["hold"] = "a field of a later version".into());
    spoil(|it| it["at"] = "yesterday".into());
    spoil(|it| drop(it.as_object_mut().unwrap().remove("uid")));
    spoil(|it| drop(it.as_object_mut().unwrap().remove("placement")));
    spoil(|it| it["kind"] = "open".into());
    spoil(|it| it["placement"]["database"] = "Not A Name".into());
    spoil(|it| it["apps"]["api"]["login"] = "".into());
    spoil(|it| it["apps"]["api"]["access"] = "everything".into());
    spoil(|it| it["apps"]["api"]["cache_profile"] = "unheard-of".into());
    spoil(|it| drop(it["apps"]["api"].as_object_mut().unwrap().remove("cache_password")));
}

#[test]
fn an_open_or_a_void_holds_no_credentials() {
    for kind in ["open", "void"] {
        let mut value = stored();
        value["kind"] = kind.into();
        value.as_object_mut().unwrap().remove("placement");
        malformed(read_record(&value.to_string()));
    }
}

#[test]
fn law_3_half_a_record_bears_our_mark_and_is_malformed() {
    let whole = stored().to_string();
    let at = whole.find("record/v1").unwrap();
    for end in at + "record/v1\"".len()..whole.len() {
        malformed(read_record(&whole[..end]));
    }
}

#[test]
fn law_8_no_message_quotes_what_was_stored_wherever_a_password_ended_up() {
    let paths = [
        "/at",
        "/kind",
        "/uid",
        "/record",
        "/placement/database",
        "/placement/cache",
    ];
    let app = [
        "login",
        "login_password",
        "access",
        "cache_user",
        "cache_password",
        "cache_profile",
    ];
    let app = app.map(|field| format!("/apps/api/{field}"));
    for path in paths.into_iter().map(str::to_owned).chain(app) {
        for spoilt in [
            json!(format!("{CANARY}!\u{0}")),
            json!([CANARY]),
            json!({CANARY: CANARY}),
        ] {
            let mut value = stored();
            *value.pointer_mut(&path).unwrap() = spoilt;
            if let Read::Malformed(message) = read_record(&value.to_string()) {
                assert!(!message.contains(CANARY), "{path}: {message}");
            }
        }
    }
    let mut value = stored();
    let credential = value["apps"]["api"].take();
    value["apps"] = json!({format!("{CANARY}!"): credential});
    malformed(read_record(&value.to_string()));
}

fn whereabouts() -> Whereabouts {
    common::tenant("acme")
        .app("api")
        .desired()
        .whereabouts(&placement(), RecordNo::FIRST)
        .unwrap()
}

fn copy(name: &str) -> PublishedCopy {
    PublishedCopy::of(&credential(name, 1), record(1), now(), &whereabouts()).unwrap()
}

fn read_copy(text: &str) -> Read<PublishedCopy> {
    PublishedCopy::read(&Secret::new(text.into()), &prod(), &acme(), &app("api"))
}

fn published(name: &str) -> Value {
    serde_json::from_str(copy(name).write(&prod(), &acme(), &app(name)).expose()).unwrap()
}

#[test]
fn a_copy_is_flat_all_strings_and_written_as_it_always_was() {
    assert_eq!(
        published("api"),
        json!({
            "ramparts": "copy/v1",
            "installation": "prod",
            "tenant": "acme",
            "app": "api",
            "record": "1",
            "issued_at": "2026-11-15T09:00:00Z",
            "database_host": "db.example",
            "database_port": "5432",
            "database_name": "acme",
            "database_username": "acme_api",
            "database_password": "rmp_CANARYdbapi1",
            "database_url": "postgresql://acme_api:rmp_CANARYdbapi1@db.example:5432/acme?sslmode=verify-full",
            "cache_host": "cache.example",
            "cache_port": "6379",
            "cache_username": "prod-acme-api",
            "cache_password": "rmp_CANARYcacheapi1",
            "cache_prefix": "acme:",
            "cache_url": "rediss://prod-acme-api:rmp_CANARYcacheapi1@cache.example:6379/0"
        })
    );
}

#[test]
fn a_copy_for_an_app_without_a_cache_says_nothing_of_one() {
    let published = published("reporting");
    let fields: Vec<_> = published
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| key.starts_with("cache"))
        .collect();
    assert!(fields.is_empty(), "{fields:?}");
}

#[test]
fn a_url_can_be_parsed_whatever_is_in_a_name_or_password() {
    let mut odd = copy("api");
    odd.database.username = common::role("a/b@c:d");
    odd.database.password = Secret::new("p%:/?#[]@é \"".into());
    let text = odd.write(&prod(), &acme(), &app("api"));
    let fields: Value = serde_json::from_str(text.expose()).unwrap();
    assert_eq!(
        fields["database_url"],
        "postgresql://a%2Fb%40c%3Ad:p%25%3A%2F%3F%23%5B%5D%40%C3%A9%20%22@db.example:5432/acme?sslmode=verify-full"
    );
    assert_eq!(fields["database_username"], "a/b@c:d");
}

#[test]
fn a_copy_comes_back_as_it_was() {
    assert_eq!(read_copy(&published("api").to_string()), Read::Ours(copy("api")));
    let text = copy("reporting").write(&prod(), &acme(), &app("reporting"));
    assert_eq!(
        PublishedCopy::read(&text, &prod(), &acme(), &app("reporting")),
        Read::Ours(copy("reporting"))
    );
}

#[test]
fn a_copy_without_our_mark_or_with_another_apps_is_foreign() {
    let mut another_app = published("api");
    another_app["app"] = "worker".into();
    let mut a_record = published("api");
    a_record["ramparts"] = "record/v1".into();
    for text in [
        "hunter2".into(),
        "{\"database_url\": \"x\"}".into(),
        another_app.to_string(),
        a_record.to_string(),
    ] {
        assert_eq!(read_copy(&text), Read::Foreign, "{text}");
    }
}

#[test]
fn law_3_a_copy_that_is_ours_and_not_understood_is_malformed_and_names_only_the_field() {
    let mut newer = published("api");
    newer["ramparts"] = "copy/v2".into();
    assert_eq!(
        malformed(read_copy(&newer.to_string())),
        "its form is copy/v2, this version reads copy/v1"
    );
    for field in [
        "record",
        "issued_at",
        "database_host",
        "database_port",
        "database_name",
        "database_username",
        "database_password",
        "cache_host",
        "cache_port",
        "cache_password",
        "cache_prefix",
    ] {
        let mut without = published("api");
        without.as_object_mut().unwrap().remove(field);
        assert_eq!(
            malformed(read_copy(&without.to_string())),
            format!("its {field} is missing or not valid")
        );
    }
    let mut number = published("api");
    number["database_port"] = 5432.into();
    malformed(read_copy(&number.to_string()));
    let whole = published("api").to_string();
    malformed(read_copy(&whole[..whole.len() - 1]));
}

#[test]
fn a_later_version_may_add_a_field_to_a_copy() {
    let mut later = published("api");
    later["cache_cluster"] = "yes".into();
    assert_eq!(read_copy(&later.to_string()), Read::Ours(copy("api")));
}

#[test]
fn a_copy_holds_a_credential_only_value_for_value() {
    let issued = credential("api", 1);
    assert!(copy("api").holds(&issued));
    let spoil = |change: fn(&mut PublishedCopy)| {
        let mut copy = copy("api");
        change(&mut copy);
        copy.holds(&issued)
    };
    assert!(!spoil(|it| it.database.username = common::role("other")));
    assert!(!spoil(|it| it.database.password = Secret::new("other".into())));
    assert!(!spoil(|it| it.cache = None));
    assert!(!spoil(|it| it.cache.as_mut().unwrap().username = common::user("other")));
    assert!(!spoil(
        |it| it.cache.as_mut().unwrap().password = Secret::new("other".into())
    ));
    assert!(
        spoil(|it| it.database.endpoint.port = 1),
        "where it is has nothing to do with what it is"
    );
}

#[test]
fn a_copy_points_where_the_settings_point_or_elsewhere() {
    assert!(copy("api").points_at(&whereabouts()));
    let spoil = |change: fn(&mut Whereabouts)| {
        let mut at = whereabouts();
        change(&mut at);
        copy("api").points_at(&at)
    };
    assert!(!spoil(|at| at.database.host = "new.example".into()));
    assert!(!spoil(|at| at.database.port = 1));
    assert!(!spoil(|at| at.cache.as_mut().unwrap().host = "new.example".into()));
    assert!(!spoil(|at| at.cache = None));
    let mut moved = whereabouts();
    moved.cache = None;
    assert!(
        copy("reporting").points_at(&moved),
        "an app without a cache does not mind"
    );
}

#[test]
fn a_credential_with_a_cache_user_and_no_cache_to_name_is_not_published() {
    let at = Whereabouts {
        cache: None,
        ..whereabouts()
    };
    assert_eq!(PublishedCopy::of(&credential("api", 1), record(1), now(), &at), None);
}

#[test]
fn law_8_neither_document_shows_itself() {
    let record = issue(&["api"], placement());
    let written = record.write(&prod(), &acme());
    for shown in [
        format!("{record:?}"),
        format!("{written:?} {written}"),
        format!("{:?}", copy("api")),
    ] {
        assert!(!shown.contains(CANARY), "{shown}");
    }
}
