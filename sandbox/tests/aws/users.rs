//! Cache users through the `ElastiCache` SDK.

use crate::client::{PASSWORD, config, make_user, refusal, sandbox, show_user};
use aws_sdk_elasticache::Client;
use aws_sdk_elasticache::operation::create_user::builders::CreateUserFluentBuilder;
use aws_sdk_elasticache::types::{AuthenticationMode, AuthenticationType, Filter, InputAuthenticationType, Tag};
use sandbox::aws::{Quotas, Transition};
use std::time::Duration;

fn create(cache: &Client, id: &str) -> CreateUserFluentBuilder {
    cache
        .create_user()
        .user_id(id)
        .user_name(id)
        .engine("redis")
        .access_string("on ~a:* -@all +@read")
}

#[tokio::test]
async fn a_user_is_created_in_lower_case_with_its_access_in_canonical_form() {
    let (aws, _, cache) = sandbox().await;
    let request = cache
        .create_user()
        .user_id("Prod-Acme")
        .user_name("prod-acme")
        .engine("REDIS");
    let made = request
        .access_string("on ~acme:* +@read")
        .passwords(PASSWORD)
        .send()
        .await
        .unwrap();
    assert_eq!(
        (made.user_id(), made.status(), made.engine()),
        (Some("prod-acme"), Some("active"), Some("redis"))
    );

    let user = show_user(&cache, "PROD-acme").await;
    assert_eq!(
        (user.user_id(), user.user_name()),
        (Some("prod-acme"), Some("prod-acme"))
    );
    assert_eq!(user.access_string(), Some("on ~acme:* -@all +@read"));
    assert_eq!(
        user.arn(),
        Some("arn:aws:elasticache:eu-west-1:123456789012:user:prod-acme")
    );
    let authentication = user.authentication().unwrap();
    assert_eq!(authentication.r#type(), Some(&AuthenticationType::Password));
    assert_eq!(
        (authentication.password_count(), user.user_group_ids().len()),
        (Some(1), 0)
    );
    assert_eq!(aws.hand().user("prod-acme").unwrap().passwords, [PASSWORD]);
}

#[tokio::test]
async fn a_user_id_is_used_once() {
    let (_aws, _, cache) = sandbox().await;
    make_user(&cache, "a").await;
    let again = create(&cache, "A").passwords(PASSWORD).send().await;
    assert!(
        again
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_user_already_exists_fault()
    );
    assert_eq!(refusal(again), "400 UserAlreadyExists");
}

#[tokio::test]
async fn users_that_break_a_rule_are_refused() {
    let (aws, _, cache) = sandbox().await;
    let user = |id: &str| create(&cache, id).passwords(PASSWORD);
    let with = |password: &str| create(&cache, "u").passwords(password);
    let mode = |kind: InputAuthenticationType| AuthenticationMode::builder().r#type(kind).build();
    let (long, slash) = ("p".repeat(129), format!("{PASSWORD}/"));
    let value = "400 InvalidParameterValue";
    let combination = "400 InvalidParameterCombination";
    let cases = [
        (user("u_4"), value),
        (user("4u"), value),
        (user("u--v"), value),
        (user("u-"), value),
        (with("short"), value),
        (with(&long), value),
        (with(&slash), value),
        (with("sixteen@letters!"), value),
        (user("u").passwords(PASSWORD).passwords(PASSWORD), value),
        (create(&cache, "u"), value),
        (user("u").access_string("this is not acl"), value),
        (user("u").access_string(" "), value),
        (user("u").access_string("on >password"), value),
        (user("u").engine("memcached"), value),
        (user("u").no_password_required(true), combination),
        (
            create(&cache, "u").engine("valkey").no_password_required(true),
            combination,
        ),
        (
            create(&cache, "u")
                .user_name("v")
                .authentication_mode(mode(InputAuthenticationType::Iam)),
            combination,
        ),
        (
            user("u").authentication_mode(mode(InputAuthenticationType::Iam)),
            combination,
        ),
    ];
    for (number, (request, expected)) in cases.into_iter().enumerate() {
        assert_eq!(refusal(request.send().await), expected, "case {number}");
    }
    assert!(aws.hand().users().is_empty());
}

#[tokio::test]
async fn a_user_without_a_password_reads_back_so() {
    let (_aws, _, cache) = sandbox().await;
    create(&cache, "open").no_password_required(true).send().await.unwrap();
    let iam = AuthenticationMode::builder()
        .r#type(InputAuthenticationType::Iam)
        .build();
    create(&cache, "iam").authentication_mode(iam).send().await.unwrap();
    let kind = |user: &aws_sdk_elasticache::types::User| user.authentication().unwrap().r#type().cloned();
    assert_eq!(
        kind(&show_user(&cache, "open").await),
        Some(AuthenticationType::NoPassword)
    );
    assert_eq!(kind(&show_user(&cache, "iam").await), Some(AuthenticationType::Iam));
}

#[tokio::test]
async fn users_are_listed_in_pages_and_found_by_filter() {
    let (aws, _, cache) = sandbox().await;
    for number in 0..44 {
        make_user(&cache, &format!("u{number:02}")).await;
    }
    for short in [false, true] {
        aws.set_short_pages(short);
        let pages = cache
            .describe_users()
            .max_records(20)
            .into_paginator()
            .send()
            .try_collect()
            .await
            .unwrap();
        let all: usize = pages.iter().map(|page| page.users().len()).sum();
        assert_eq!(all, 45, "with the region's own default user");
    }
    aws.set_short_pages(false);
    let filter = Filter::builder()
        .name("user-id")
        .values("u03")
        .values("U07")
        .values("none")
        .build();
    let found = cache.describe_users().filters(filter).send().await.unwrap();
    let ids: Vec<_> = found.users().iter().filter_map(|user| user.user_id()).collect();
    assert_eq!(ids, ["u03", "u07"]);
    let odd = Filter::builder().name("odd").values("x").build();
    assert_eq!(
        refusal(cache.describe_users().filters(odd).send().await),
        "400 InvalidParameterValue"
    );
    assert_eq!(
        refusal(cache.describe_users().max_records(5).send().await),
        "400 InvalidParameterValue"
    );
    assert_eq!(
        refusal(cache.describe_users().marker("odd").send().await),
        "400 InvalidParameterValue"
    );
}

#[tokio::test]
async fn what_is_not_there_is_a_404() {
    let (_aws, _, cache) = sandbox().await;
    let missing = cache.describe_users().user_id("none").send().await;
    assert!(
        missing
            .as_ref()
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_user_not_found_fault()
    );
    assert_eq!(refusal(missing), "404 UserNotFound");
    assert_eq!(
        refusal(cache.delete_user().user_id("none").send().await),
        "404 UserNotFound"
    );
    assert_eq!(
        refusal(cache.modify_user().user_id("none").send().await),
        "404 UserNotFound"
    );
    let tags = cache
        .list_tags_for_resource()
        .resource_name("arn:aws:elasticache:eu-west-1:123456789012:user:none");
    assert_eq!(refusal(tags.send().await), "404 UserNotFound");
}

#[tokio::test]
async fn a_user_passes_through_its_states_in_the_time_set() {
    let (aws, _, cache) = sandbox().await;
    let slow = Duration::from_hours(1);
    for transition in [Transition::UserCreate, Transition::UserModify, Transition::UserDelete] {
        aws.set_delay(transition, slow);
    }
    let made = create(&cache, "u").passwords(PASSWORD).send().await.unwrap();
    assert_eq!(made.status(), Some("creating"));
    assert_eq!(
        refusal(cache.delete_user().user_id("u").send().await),
        "400 InvalidUserState"
    );
    aws.hand().finish();
    assert_eq!(show_user(&cache, "u").await.status(), Some("active"));

    let modified = cache
        .modify_user()
        .user_id("u")
        .append_access_string("+@write")
        .send()
        .await
        .unwrap();
    assert_eq!(modified.status(), Some("modifying"));
    assert_eq!(modified.access_string(), Some("on ~a:* -@all +@read +@write"));
    let again = cache.modify_user().user_id("u").passwords(PASSWORD).send().await;
    assert_eq!(refusal(again), "400 InvalidUserState");
    let tags = cache.list_tags_for_resource().resource_name(modified.arn().unwrap());
    assert_eq!(
        refusal(tags.send().await),
        "404 UserNotFound",
        "a user that is modifying cannot be tagged"
    );
    aws.hand().finish();

    let deleted = cache.delete_user().user_id("u").send().await.unwrap();
    assert_eq!(deleted.status(), Some("deleting"));
    assert_eq!(
        refusal(create(&cache, "u").passwords(PASSWORD).send().await),
        "400 UserAlreadyExists"
    );
    aws.hand().finish();
    assert_eq!(
        refusal(cache.describe_users().user_id("u").send().await),
        "404 UserNotFound"
    );
}

#[tokio::test]
async fn modifying_replaces_the_passwords_and_is_in_the_log() {
    let (aws, _, cache) = sandbox().await;
    make_user(&cache, "u").await;
    let mark = aws.mark();
    let other = "another-password-of-length";
    cache
        .modify_user()
        .user_id("u")
        .passwords(other)
        .passwords(PASSWORD)
        .send()
        .await
        .unwrap();
    assert_eq!(aws.hand().user("u").unwrap().passwords, [other, PASSWORD]);
    let writes = aws.writes_since(mark);
    assert_eq!(
        (writes[0].name().as_str(), writes[0].key.as_str()),
        ("elasticache.ModifyUser", "u")
    );
    assert!(writes[0].has_flag("passwords=2") && !format!("{writes:?}").contains(other));
    assert_eq!(
        refusal(cache.modify_user().user_id("u").send().await),
        "400 InvalidParameterCombination"
    );
}

#[tokio::test]
async fn the_users_of_a_region_are_limited() {
    let (aws, _, cache) = sandbox().await;
    aws.set_quotas(Quotas {
        users: 2,
        ..Quotas::default()
    });
    make_user(&cache, "a").await;
    assert_eq!(
        refusal(create(&cache, "b").passwords(PASSWORD).send().await),
        "400 UserQuotaExceeded"
    );
}

#[tokio::test]
async fn tags_are_set_at_creation_and_added_later() {
    let (aws, _, cache) = sandbox().await;
    make_user(&cache, "u").await;
    let user = show_user(&cache, "u").await;
    let arn = user.arn().unwrap();
    let tag = |key: &str| Tag::builder().key(key).value("v <&>").build();
    let add = cache.add_tags_to_resource().resource_name(arn);
    let held = add.clone().tags(tag("more")).send().await.unwrap();
    assert_eq!(held.tag_list().len(), 2);
    let list = cache.list_tags_for_resource().resource_name(arn).send().await.unwrap();
    let pairs: Vec<_> = list
        .tag_list()
        .iter()
        .map(|tag| (tag.key().unwrap(), tag.value().unwrap()))
        .collect();
    assert_eq!(pairs, [("more", "v <&>"), ("ramparts", "prod")]);
    let many = (0..49).map(|number| tag(&format!("t{number}"))).collect();
    assert_eq!(
        refusal(add.set_tags(Some(many)).send().await),
        "400 TagQuotaPerResourceExceeded"
    );
    cache
        .remove_tags_from_resource()
        .resource_name(arn)
        .tag_keys("more")
        .send()
        .await
        .unwrap();
    assert_eq!(aws.hand().user("u").unwrap().tags.len(), 1);
}

#[tokio::test]
async fn each_region_has_users_of_its_own() {
    let (aws, _, cache) = sandbox().await;
    make_user(&cache, "u").await;
    let elsewhere = Client::new(&config(&aws, "us-east-1", "AKIATEST", 1));
    assert_eq!(
        refusal(elsewhere.describe_users().user_id("u").send().await),
        "404 UserNotFound"
    );
    assert!(aws.hand_in("us-east-1").users().is_empty());
}

#[tokio::test]
async fn the_default_user_of_the_region_stays_as_it_is() {
    let (_aws, _, cache) = sandbox().await;
    assert_eq!(show_user(&cache, "default").await.access_string(), Some("on ~* +@all"));
    assert_eq!(
        refusal(cache.delete_user().user_id("default").send().await),
        "400 InvalidParameterValue"
    );
    let modify = cache.modify_user().user_id("default").access_string("off -@all");
    assert_eq!(refusal(modify.send().await), "400 InvalidParameterValue");
}
