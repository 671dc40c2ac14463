//! Published copies.

use crate::{
    acme,
    common::{
        CANARY, app, now, record, role, tenant, user,
        world::{credential, placement},
    },
    malformed, prod,
};
use ramparts_core::{
    name::RecordNo,
    published::{PublishedCopy, Whereabouts},
    record::Read,
    secret::Secret,
};
use serde_json::{Value, json};

fn whereabouts() -> Whereabouts {
    tenant("acme")
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
    odd.database.username = role("a/b@c:d");
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
    assert!(!spoil(|it| it.database.username = role("other")));
    assert!(!spoil(|it| it.database.password = Secret::new("other".into())));
    assert!(!spoil(|it| it.cache = None));
    assert!(!spoil(|it| it.cache.as_mut().unwrap().username = user("other")));
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
fn law_8_a_copy_does_not_show_itself() {
    let shown = format!("{:?}", copy("api"));
    assert!(!shown.contains(CANARY), "{shown}");
}
