//! Law 8: whatever is printed, written or sent, no secret is in it; and no field of a status is null.

use crate::common::{CANARY, World, fault, now, passes::Passed, tenant, world};
use ramparts_core::{failure::Failure, ledger::Body, observed::Presence, reason::Reason, secret::Secret};

fn worlds() -> Vec<World> {
    let mut drifted = World::ready(&["api", "worker"]);
    drifted.refusing.extend(["acme_api".into(), "prod-acme-worker".into()]);
    let mut conflict = World::ready(&["api", "worker"]);
    conflict.copy_mut("api").copy.database.password = Secret::new(format!("{CANARY} other"));
    let mut unread = World::ready(&["api"]);
    unread.store.copies.insert(
        crate::common::app("worker"),
        Presence::Unknown(fault(Reason::AccessDenied)),
    );
    let mut blind = World::ready(&["api"]);
    blind.store_fault = Some(fault(Reason::StoreUnreachable));
    vec![
        world(),
        World::ready(&["api", "worker"]),
        World::ready(&["api"]).without_login("acme_api").without_copy("api"),
        World::ready(&["api"]).lost_record(1).confirmed(1),
        World::ready(&["api"])
            .with_body(1, "uid-1", Body::Void)
            .without_copy("api"),
        World::ready(&["api"]).without_database(),
        World::ready(&["api"]).foreign_user("prod-acme-api"),
        drifted,
        conflict,
        unread,
        blind,
    ]
}

fn passed(mut world: World) -> (World, Passed) {
    let mut wish = tenant("acme").app("api").app("worker");
    let passed = world.pass(&mut wish, now());
    (world, passed)
}

#[test]
fn law_8_no_secret_is_in_anything_that_can_be_printed() {
    let desired = tenant("acme").app("api").app("worker").desired();
    for start in worlds() {
        let observed = start.observe(&desired);
        let (end, passed) = passed(start);
        let shown = [
            format!("{observed:?}"),
            format!("{observed:#?}"),
            format!("{end:?}"),
            format!("{:?}", passed.plan),
            passed.plan.to_string(),
            passed.plan.to_json().to_string(),
            format!("{:?}", passed.outcomes),
            format!("{:?}", passed.report),
            serde_json::to_string(&passed.report.status).unwrap(),
            format!("{desired:?}"),
        ];
        for text in shown {
            assert!(!text.contains(CANARY), "{text}");
        }
    }
}

#[test]
fn law_8_the_canary_is_there_to_be_found() {
    let (world, _) = passed(world());
    let exposed = world
        .credentials()
        .values()
        .all(|credential| credential.login_password.expose().contains(CANARY));
    assert!(exposed && !world.credentials().is_empty());
}

#[test]
fn law_8_a_failure_shows_its_words_and_nothing_else() {
    let failure = Failure::blocked(Reason::CredentialConflict, "two values for record 1");
    assert_eq!(failure.to_string(), "CredentialConflict: two values for record 1");
}

#[test]
fn law_5_no_field_of_a_status_is_ever_null() {
    fn nulls(at: &str, value: &serde_json::Value) -> Vec<String> {
        match value {
            serde_json::Value::Null => vec![at.to_owned()],
            serde_json::Value::Array(items) => items.iter().flat_map(|item| nulls(&format!("{at}[]"), item)).collect(),
            serde_json::Value::Object(map) => map
                .iter()
                .flat_map(|(key, item)| nulls(&format!("{at}.{key}"), item))
                .collect(),
            _ => vec![],
        }
    }
    for start in worlds() {
        let (_, passed) = passed(start);
        let written = serde_json::to_value(&passed.report.status).unwrap();
        assert_eq!(nulls("status", &written), [""; 0]);
    }
}

#[test]
fn law_5_a_field_that_was_once_written_never_disappears() {
    for start in worlds() {
        let mut wish = tenant("acme").app("api").app("worker");
        World::ready(&["api", "worker"]).pass(&mut wish, now());
        let before = serde_json::to_value(wish.tenant.status.as_ref().unwrap()).unwrap();
        let after = serde_json::to_value(start.clone().pass(&mut wish, now()).report.status).unwrap();
        for key in before.as_object().unwrap().keys() {
            assert!(after.get(key).is_some(), "{key} vanished");
        }
    }
}
