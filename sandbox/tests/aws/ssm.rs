//! Parameter Store through its SDK.

use crate::client::{config, refusal, sandbox, ssm};
use aws_sdk_ssm::Client;
use aws_sdk_ssm::operation::put_parameter::builders::PutParameterFluentBuilder;
use aws_sdk_ssm::types::{ParameterTier, ParameterType, ResourceTypeForTagging, Tag};
use futures::future::join_all;
use sandbox::aws::Quotas;
use std::time::Duration;

pub fn put(ssm: &Client, name: &str, value: &str) -> PutParameterFluentBuilder {
    ssm.put_parameter()
        .name(name)
        .value(value)
        .r#type(ParameterType::SecureString)
}

pub async fn fill(ssm: &Client, names: impl IntoIterator<Item = String>) {
    for name in names {
        put(ssm, &name, "value").send().await.unwrap();
    }
}

#[tokio::test]
async fn a_parameter_is_created_once_and_read_back() {
    let (aws, ssm, _) = sandbox().await;
    let made = put(&ssm, "/ramparts/acme/api", "s3cret")
        .key_id("alias/tenants")
        .send()
        .await
        .unwrap();
    assert_eq!((made.version(), made.tier()), (1, Some(&ParameterTier::Standard)));

    let again = put(&ssm, "/ramparts/acme/api", "other").send().await;
    assert!(
        again
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_parameter_already_exists()
    );
    assert_eq!(refusal(again), "400 ParameterAlreadyExists");

    let read = ssm
        .get_parameter()
        .name("/ramparts/acme/api")
        .with_decryption(true)
        .send()
        .await
        .unwrap();
    let parameter = read.parameter().unwrap();
    assert_eq!((parameter.value(), parameter.version()), (Some("s3cret"), 1));
    assert_eq!(parameter.r#type(), Some(&ParameterType::SecureString));
    assert_eq!(
        parameter.arn(),
        Some("arn:aws:ssm:eu-west-1:123456789012:parameter/ramparts/acme/api")
    );
    assert!(parameter.last_modified_date().is_some());
    assert_eq!(aws.hand().parameter("/ramparts/acme/api").unwrap().value, "s3cret");
}

#[tokio::test]
async fn of_many_simultaneous_creations_one_succeeds() {
    let (aws, ssm, _) = sandbox().await;
    let answers = join_all((0..64).map(|number| put(&ssm, "/race", &format!("v{number}")).send())).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(aws.hand().parameter("/race").unwrap().version, 1);
    assert_eq!(aws.count("ssm.PutParameter"), 64);
}

#[tokio::test]
async fn a_secure_value_is_opaque_without_decryption() {
    let (_aws, ssm, _) = sandbox().await;
    put(&ssm, "/a", "s3cret").send().await.unwrap();
    let first = ssm.get_parameter().name("/a").send().await.unwrap().parameter.unwrap();
    let second = ssm.get_parameter().name("/a").send().await.unwrap().parameter.unwrap();
    assert!(first.value().unwrap().len() > 100 && !first.value().unwrap().contains("s3cret"));
    assert_eq!((first.value(), first.version()), (second.value(), 1));
}

#[tokio::test]
async fn overwriting_adds_a_version_and_keeps_the_old_ones() {
    let (_aws, ssm, _) = sandbox().await;
    put(&ssm, "/a", "one").send().await.unwrap();
    let again = ssm
        .put_parameter()
        .name("/a")
        .value("one")
        .overwrite(true)
        .send()
        .await
        .unwrap();
    assert_eq!(again.version(), 2, "the same value makes a version too");
    ssm.put_parameter()
        .name("/a")
        .value("three")
        .overwrite(true)
        .send()
        .await
        .unwrap();

    let old = ssm
        .get_parameter()
        .name("/a:2")
        .with_decryption(true)
        .send()
        .await
        .unwrap()
        .parameter
        .unwrap();
    assert_eq!((old.value(), old.selector()), (Some("one"), Some(":2")));
    assert_eq!(
        refusal(ssm.get_parameter().name("/a:9").send().await),
        "400 ParameterVersionNotFound"
    );
    let history = ssm
        .get_parameter_history()
        .name("/a")
        .with_decryption(true)
        .send()
        .await
        .unwrap();
    let values: Vec<_> = history
        .parameters()
        .iter()
        .filter_map(|version| version.value())
        .collect();
    assert_eq!(values, ["one", "one", "three"]);
}

#[tokio::test]
async fn puts_that_break_a_rule_are_refused() {
    let (aws, ssm, _) = sandbox().await;
    put(&ssm, "/held", "value").send().await.unwrap();
    let overwrite = || ssm.put_parameter().name("/held").value("new").overwrite(true);
    let tag = Tag::builder().key("k").value("v").build().unwrap();
    let (standard, advanced) = ("v".repeat(4097), "v".repeat(8193));
    let cases = [
        (overwrite().tags(tag), "ValidationException"),
        (
            overwrite().r#type(ParameterType::String),
            "HierarchyTypeMismatchException",
        ),
        (put(&ssm, "/big", &standard), "ValidationException"),
        (
            put(&ssm, "/big", &advanced).tier(ParameterTier::Advanced),
            "ValidationException",
        ),
        (put(&ssm, "/nest", "{{ssm:x}}"), "ValidationException"),
        (put(&ssm, "a/b", "v"), "ValidationException"),
        (put(&ssm, "/a b", "v"), "ValidationException"),
        (put(&ssm, "/ssm/x", "v"), "ValidationException"),
        (put(&ssm, "/aws/x", "v"), "AccessDeniedException"),
        (put(&ssm, &"/l".repeat(16), "v"), "HierarchyLevelLimitExceededException"),
        (put(&ssm, "/key", "v").key_id("no spaces"), "ValidationException"),
        (ssm.put_parameter().name("/typeless").value("v"), "ValidationException"),
        (
            put(&ssm, "/odd", "v").r#type(ParameterType::from("Odd")),
            "UnsupportedParameterType",
        ),
        (put(&ssm, "/pattern", "v").allowed_pattern("^a"), "ValidationException"),
    ];
    for (request, code) in cases {
        assert_eq!(
            refusal(request.clone().send().await),
            format!("400 {code}"),
            "{:?}",
            request.get_name()
        );
    }
    assert_eq!(aws.hand().parameters("/").len(), 1, "nothing was made");
    put(&ssm, "/big", &standard)
        .tier(ParameterTier::IntelligentTiering)
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_deleted_parameter_is_not_found() {
    let (_aws, ssm, _) = sandbox().await;
    fill(&ssm, ["/a".to_owned(), "/b".to_owned()]).await;
    ssm.delete_parameter().name("/a").send().await.unwrap();
    let missing = ssm.get_parameter().name("/a").send().await;
    assert!(
        missing
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_parameter_not_found()
    );
    assert_eq!(refusal(missing), "400 ParameterNotFound");
    assert_eq!(
        refusal(ssm.delete_parameter().name("/a").send().await),
        "400 ParameterNotFound"
    );
    let many = ssm.delete_parameters().names("/a").names("/b").send().await.unwrap();
    assert_eq!(
        (many.deleted_parameters(), many.invalid_parameters()),
        (&["/b".to_owned()][..], &["/a".to_owned()][..])
    );
}

#[tokio::test]
async fn tags_are_set_at_creation_and_added_later() {
    let (_aws, ssm, _) = sandbox().await;
    let tag = |key: &str| Tag::builder().key(key).value("v").build().unwrap();
    put(&ssm, "/a", "value").tags(tag("one")).send().await.unwrap();
    let parameter = ResourceTypeForTagging::Parameter;
    let add = ssm
        .add_tags_to_resource()
        .resource_type(parameter.clone())
        .resource_id("/a");
    add.clone().tags(tag("two")).send().await.unwrap();
    let list = ssm.list_tags_for_resource().resource_type(parameter.clone());
    let held = list.clone().resource_id("/a").send().await.unwrap();
    let keys: Vec<_> = held.tag_list().iter().map(Tag::key).collect();
    assert_eq!(keys, ["one", "two"]);
    assert_eq!(refusal(list.resource_id("/none").send().await), "400 InvalidResourceId");
    let many = (0..49).map(|number| tag(&format!("t{number}"))).collect();
    assert_eq!(refusal(add.set_tags(Some(many)).send().await), "400 TooManyTagsError");
    let remove = ssm
        .remove_tags_from_resource()
        .resource_type(parameter)
        .resource_id("/a");
    remove.tag_keys("one").send().await.unwrap();
}

#[tokio::test]
async fn each_region_has_parameters_of_its_own() {
    let (aws, ssm, _) = sandbox().await;
    put(&ssm, "/a", "value").send().await.unwrap();
    let elsewhere = Client::new(&config(&aws, "us-east-1", "AKIATEST", 1));
    assert_eq!(
        refusal(elsewhere.get_parameter().name("/a").send().await),
        "400 ParameterNotFound"
    );
    put(&elsewhere, "/a", "another").send().await.unwrap();
    assert_eq!(aws.hand().parameter("/a").unwrap().value, "value");
    assert_eq!(aws.hand_in("us-east-1").parameter("/a").unwrap().value, "another");
}

#[tokio::test]
async fn a_read_may_be_late_but_a_creation_never_is() {
    let (aws, ssm, _) = sandbox().await;
    put(&ssm, "/a", "one").send().await.unwrap();
    aws.set_stale_reads(Duration::from_hours(1));
    assert_eq!(
        refusal(ssm.get_parameter().name("/a").send().await),
        "400 ParameterNotFound"
    );
    assert_eq!(
        refusal(put(&ssm, "/a", "two").send().await),
        "400 ParameterAlreadyExists"
    );

    tokio::time::sleep(Duration::from_secs(2)).await;
    aws.set_stale_reads(Duration::from_secs(2));
    ssm.put_parameter()
        .name("/a")
        .value("two")
        .overwrite(true)
        .send()
        .await
        .unwrap();
    let stale = ssm
        .get_parameter()
        .name("/a")
        .with_decryption(true)
        .send()
        .await
        .unwrap()
        .parameter
        .unwrap();
    assert_eq!((stale.value(), stale.version()), (Some("one"), 1));
}

#[tokio::test]
async fn a_person_changes_parameters_without_a_trace_in_the_log() {
    let (aws, ssm, _) = sandbox().await;
    let hand = aws.hand();
    assert_eq!(hand.put_parameter("/a", "one").unwrap(), 1);
    assert_eq!(hand.put_parameter("/a", "two").unwrap(), 2);
    let read = ssm
        .get_parameter()
        .name("/a")
        .with_decryption(true)
        .send()
        .await
        .unwrap();
    assert_eq!(read.parameter().unwrap().value(), Some("two"));
    let values: Vec<_> = hand.history("/a").into_iter().map(|kept| kept.value).collect();
    assert_eq!(values, ["one", "two"]);
    assert!(hand.delete_parameter("/a") && !hand.delete_parameter("/a"));
    assert_eq!(aws.calls_since(0).len(), 1);
}

#[tokio::test]
async fn the_log_names_the_call_and_holds_no_value() {
    let (aws, client, _) = sandbox().await;
    let mark = aws.mark();
    put(&client, "/canary", "canary-value-1").send().await.unwrap();
    let update = client
        .put_parameter()
        .name("/canary")
        .value("canary-value-2")
        .overwrite(true);
    update.send().await.unwrap();
    ssm(&aws)
        .get_parameters()
        .names("/canary")
        .names("/b")
        .send()
        .await
        .unwrap();

    let calls = aws.calls_since(mark);
    assert_eq!(
        (calls[0].name().as_str(), calls[0].key.as_str()),
        ("ssm.PutParameter", "/canary")
    );
    assert!(!calls[0].has_flag("overwrite") && calls[1].has_flag("overwrite"));
    assert_eq!(
        (calls[2].key.as_str(), calls[2].outcome.as_deref()),
        ("/canary,/b", Some("ok"))
    );
    assert_eq!(
        (calls[0].caller.as_str(), calls[0].region.as_str()),
        ("AKIATEST", "eu-west-1")
    );
    assert_eq!(aws.writes_since(mark).len(), 2);
    assert!(!format!("{calls:?}{aws:?}").contains("canary-value"));
    aws.reset_counters();
    assert!(aws.counters().is_empty());
    assert_eq!(aws.calls_since(mark).len(), 3, "the log stays");
}

#[tokio::test]
async fn the_parameters_of_a_region_are_limited_by_tier() {
    let (aws, ssm, _) = sandbox().await;
    aws.set_quotas(Quotas {
        standard_parameters: 1,
        ..Quotas::default()
    });
    put(&ssm, "/a", "value").send().await.unwrap();
    assert_eq!(
        refusal(put(&ssm, "/b", "value").send().await),
        "400 ParameterLimitExceeded"
    );
    put(&ssm, "/b", "value")
        .tier(ParameterTier::Advanced)
        .send()
        .await
        .unwrap();
    ssm.put_parameter()
        .name("/a")
        .value("new")
        .overwrite(true)
        .send()
        .await
        .unwrap();
}
