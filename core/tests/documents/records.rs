//! Ledger records.

use crate::{
    acme,
    common::{
        CANARY, app, now,
        world::{credential, placement},
    },
    malformed, prod,
};
use ramparts_core::{
    ledger::{Body, Placement, Record},
    name::RecordNo,
    record::Read,
    secret::Secret,
};
use serde_json::{Value, json};

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

#[test]
fn law_8_a_record_does_not_show_itself() {
    let record = issue(&["api"], placement());
    let written = record.write(&prod(), &acme());
    for shown in [format!("{record:?}"), format!("{written:?} {written}")] {
        assert!(!shown.contains(CANARY), "{shown}");
    }
}
