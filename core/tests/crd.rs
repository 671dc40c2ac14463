//! The Tenant resource: what a cluster will accept, tried without one; what is read whatever a cluster holds; what is written.

#![allow(clippy::unwrap_used)]

mod structural;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Resource,
    core::cel::{ValidationErrors, Validator},
};
use ramparts_core::{
    api::{
        AppState, AppStatus, Condition, DeletionPolicy, Phase, PlacementStatus, Tenant, TenantSpec, TenantStatus, crd,
        crd_yaml,
    },
    name::TenantName,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::to_value(
        crd().spec.versions[0]
            .schema
            .as_ref()
            .unwrap()
            .open_api_v3_schema
            .as_ref()
            .unwrap(),
    )
    .unwrap()
}

/// The evaluator here hands `oldSelf` over as the object or null, where a cluster gives an optional; the rest of a rule is the same.
fn schema_for_here() -> Value {
    let text = schema().to_string();
    assert_eq!(
        text.matches("oldSelf").count(),
        text.matches("oldSelf.hasValue()").count()
    );
    serde_json::from_str(&text.replace("oldSelf.hasValue()", "oldSelf != null")).unwrap()
}

fn rules(object: &Value, old: Option<&Value>) -> Result<(), ValidationErrors> {
    Validator::new().validate(&schema_for_here(), object, old)
}

#[derive(Deserialize)]
struct Case {
    name: String,
    accepted: bool,
    manifest: Value,
}

fn cases() -> Vec<Case> {
    serde_saphyr::from_str(include_str!("fixtures/manifests.yaml")).unwrap()
}

#[test]
fn every_manifest_of_the_table_is_accepted_or_refused_as_it_says() {
    let schema = schema();
    for Case {
        name,
        accepted,
        manifest,
    } in cases()
    {
        let problems = structural::problems(&schema, &manifest);
        let rules = rules(&manifest, None);
        assert_eq!(
            problems.is_empty() && rules.is_ok(),
            accepted,
            "{name}: {problems:?} {rules:?}"
        );
    }
}

#[test]
fn what_is_accepted_can_be_read_and_is_written_back_the_same() {
    for Case { name, manifest, .. } in cases().into_iter().filter(|case| case.accepted) {
        let tenant: Tenant = serde_json::from_value(manifest.clone()).unwrap();
        let written = serde_json::to_value(&tenant).unwrap();
        let spec = manifest.get("spec").cloned().unwrap_or_else(|| json!({}));
        assert_eq!(written["spec"], spec, "{name}");
    }
}

#[test]
fn the_rule_on_the_name_and_the_reconciler_agree() {
    let mut names: Vec<String> = cases()
        .iter()
        .map(|case| case.manifest["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        texts = texts
            .iter()
            .flat_map(|text| ["a", "1", "-", "."].map(|c| format!("{text}{c}")))
            .collect();
        names.extend(texts.iter().cloned());
    }
    let reserved = [
        "template0",
        "template1",
        "none",
        "all",
        "default",
        "user",
        "current-user",
        "session-user",
        "replication",
    ];
    names.extend(reserved.map(str::to_owned));
    names.extend(
        ["pg", "rds", "aws", "ssm", "ramparts-"]
            .iter()
            .flat_map(|start| [format!("{start}x"), format!("x-{start}")]),
    );
    for length in [39, 40, 41, 63] {
        names.push("a".repeat(length));
    }
    let compiled = kube::core::cel::compile_schema(&schema_for_here());
    for name in names {
        let object = json!({"metadata": {"name": name}});
        let accepted = Validator::new().validate_compiled(&compiled, &object, None).is_ok();
        assert_eq!(accepted, TenantName::parse(&name).is_ok(), "{name}");
    }
}

#[test]
fn an_object_that_is_already_there_can_always_be_changed() {
    let old = json!({"metadata": {"name": "pg--1"}, "spec": {}});
    let new = json!({"metadata": {"name": "pg--1", "labels": {"a": "b"}}, "spec": {"suspend": true}});
    assert!(rules(&new, None).is_err());
    assert!(rules(&new, Some(&old)).is_ok());
}

#[test]
fn a_refusal_says_what_a_name_may_be() {
    let told = rules(&json!({"metadata": {"name": "1"}}), None)
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("at most 40 of a-z, 0-9 and single hyphens, and starts with a letter"),
        "{told}"
    );
}

#[test]
fn an_object_without_a_spec_has_an_empty_one() {
    for object in [
        json!({"metadata": {"name": "acme"}}),
        json!({"metadata": {"name": "acme"}, "spec": null}),
        json!({"metadata": {"name": "acme"}, "spec": {}}),
    ] {
        let tenant: Tenant = serde_json::from_value(object).unwrap();
        assert_eq!((tenant.spec, tenant.status), (TenantSpec::default(), None));
    }
}

#[test]
fn one_odd_object_does_not_stop_the_others() {
    let odd = json!({"metadata": {"name": "Ünï"}, "spec": {
        "plan": "No Such Plan", "apps": {"add": ["???"]}, "deletionPolicy": "Obliterate", "colour": "red",
        "rotation": {"issuedBefore": "yesterday", "apps": {"": ""}}, "placement": {"database": "::"},
    }});
    let tenant: Tenant = serde_json::from_value(odd).unwrap();
    assert_eq!(tenant.spec.plan.as_deref(), Some("No Such Plan"));
    assert_eq!(tenant.spec.deletion_policy.unwrap_or_default(), DeletionPolicy::Retain);
    assert_eq!(
        tenant.spec.rotation.unwrap().issued_before.as_deref(),
        Some("yesterday")
    );
}

#[test]
fn a_status_that_somebody_scribbled_in_is_read_for_what_it_still_says() {
    let read = |status: Value| -> TenantStatus {
        let tenant: Tenant = serde_json::from_value(json!({"metadata": {"name": "acme"}, "status": status})).unwrap();
        tenant.status.unwrap_or_default()
    };
    for rubbish in [
        json!(null),
        json!({}),
        json!({"phase": "Confused", "apps": 5, "conditions": [{}, 1], "placement": {}}),
    ] {
        assert_eq!(read(rubbish), TenantStatus::default());
    }
    let partly = read(
        json!({"dbReady": true, "phase": 3, "placement": {"database": "main"}, "apps": [{"name": "api", "record": "x"}]}),
    );
    assert!(partly.db_ready && partly.phase == Phase::Pending);
    assert_eq!(
        partly.placement,
        Some(PlacementStatus {
            database: "main".to_owned(),
            cache: None
        })
    );
    assert_eq!(
        partly.apps,
        [AppStatus {
            name: "api".to_owned(),
            ..AppStatus::default()
        }]
    );
}

fn condition() -> Condition {
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "Proven", "message": "", "observedGeneration": 3,
        "lastTransitionTime": "2026-11-15T09:00:00Z",
    });
    serde_json::from_value(condition).unwrap()
}

fn full_status() -> TenantStatus {
    let text = |text: &str| Some(text.to_owned());
    TenantStatus {
        observed_generation: Some(3),
        phase: Phase::Ready,
        plan: text("standard"),
        db_ready: true,
        redis_ready: true,
        credentials_ready: true,
        placement: Some(PlacementStatus {
            database: "main".to_owned(),
            cache: text("main"),
        }),
        apps: vec![AppStatus {
            name: "api".to_owned(),
            record: Some(1),
            issued_at: text("2026-11-15T09:00:00Z"),
            login: text("acme_api"),
            cache_user: text("prod-acme-api"),
            parameter: text("/ramparts/acme/api"),
            version: text("1"),
            state: AppState::Ready,
        }],
        conditions: vec![condition()],
    }
}

/// Every path of a JSON value that holds null.
fn nulls(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Null => vec![path.to_owned()],
        Value::Array(items) => items
            .iter()
            .flat_map(|item| nulls(item, &format!("{path}[]")))
            .collect(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| nulls(value, &format!("{path}.{key}")))
            .collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[test]
fn a_status_has_all_three_booleans_and_never_a_null() {
    let sparse = TenantStatus {
        apps: vec![AppStatus::default()],
        placement: Some(PlacementStatus::default()),
        ..TenantStatus::default()
    };
    for status in [TenantStatus::default(), sparse, full_status()] {
        let written = serde_json::to_value(&status).unwrap();
        assert_eq!(nulls(&written, "status"), Vec::<String>::new());
        assert!(
            ["dbReady", "redisReady", "credentialsReady"]
                .iter()
                .all(|field| written[field].is_boolean())
        );
        assert!(["apps", "conditions"].iter().all(|field| written[field].is_array()) && written["phase"].is_string());
        let problems = structural::problems(&schema()["properties"]["status"], &written);
        assert_eq!(
            problems,
            Vec::<String>::new(),
            "what we write is what the definition allows"
        );
        assert_eq!(serde_json::from_value::<TenantStatus>(written).unwrap(), status);
    }
}

/// Every schema in a schema, with its path.
fn schemas<'s>(path: String, schema: &'s Value, all: &mut Vec<(String, &'s Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        schemas(format!("{path}.{name}"), property, all);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            schemas(format!("{path}[]"), &schema[inner], all);
        }
    }
    all.push((path, schema));
}

#[test]
fn the_schema_has_nothing_that_a_client_could_trip_over() {
    let root = schema();
    let mut all = Vec::new();
    schemas(String::new(), &root, &mut all);
    assert!(all.len() > 30);
    for (path, schema) in all {
        for key in [
            "default",
            "nullable",
            "oneOf",
            "anyOf",
            "allOf",
            "not",
            "x-kubernetes-preserve-unknown-fields",
        ] {
            assert!(schema.get(key).is_none(), "{path} has {key}");
        }
        assert!(schema["type"].is_string(), "{path} has no type");
        assert!(
            !schema["format"]
                .as_str()
                .is_some_and(|format| format.starts_with("uint")),
            "{path} is unsigned"
        );
        assert!(
            !schema["enum"]
                .as_array()
                .is_some_and(|values| values.contains(&Value::Null)),
            "{path} lists null"
        );
        let unbounded = schema["type"] == "array"
            && (schema.get("maxItems").is_none() || schema.get("x-kubernetes-list-type").is_none());
        assert!(!unbounded, "{path} is a list without a bound or a kind");
        let endless = schema.get("additionalProperties").is_some() && schema.get("maxProperties").is_none();
        assert!(!endless, "{path} is a map without a bound");
    }
    assert!(root.get("required").is_none(), "spec is optional");
}

#[test]
fn lists_are_merged_by_what_names_their_items() {
    let schema = schema();
    let status = &schema["properties"]["status"]["properties"];
    assert_eq!(status["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));
    assert_eq!(status["apps"]["x-kubernetes-list-map-keys"], json!(["name"]));
    let apps = &schema["properties"]["spec"]["properties"]["apps"]["properties"];
    assert_eq!(
        (
            &apps["add"]["x-kubernetes-list-type"],
            &apps["remove"]["x-kubernetes-list-type"]
        ),
        (&json!("set"), &json!("set"))
    );
}

#[test]
fn the_resource_is_named_as_everybody_knows_it() {
    let crd = crd();
    assert_eq!(crd.metadata.name.as_deref(), Some("tenants.ramparts.com"));
    assert_eq!(
        (crd.spec.group.as_str(), crd.spec.scope.as_str()),
        ("ramparts.com", "Cluster")
    );
    assert_eq!(crd.spec.names.short_names, Some(vec!["tn".to_owned()]));
    assert_eq!(crd.spec.names.categories, Some(vec!["ramparts".to_owned()]));
    let version = &crd.spec.versions[0];
    assert_eq!(
        (version.name.as_str(), version.served, version.storage),
        ("v1", true, true)
    );
    assert!(version.subresources.as_ref().unwrap().status.is_some());
    let columns: Vec<&str> = version
        .additional_printer_columns
        .iter()
        .flatten()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["PLAN", "PHASE", "DB", "REDIS", "READY", "REASON", "AGE"]);
    assert_eq!(
        (Tenant::api_version(&()), Tenant::kind(&())),
        ("ramparts.com/v1".into(), "Tenant".into())
    );
}

#[test]
fn the_committed_definition_is_the_one_that_the_types_give() {
    let committed = include_str!("../../deploy/crd/tenants.ramparts.com.yaml");
    assert_eq!(committed.trim_end(), crd_yaml().trim_end(), "run `make gen`");
    let read: CustomResourceDefinition = serde_saphyr::from_str(committed).unwrap();
    assert_eq!(read, crd());
}
