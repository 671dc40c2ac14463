//! Cache users in a real Redis: who may log in there is who is in the group.

use crate::client::{PASSWORD, cache, make_user};
use aws_sdk_elasticache::Client;
use redis::aio::MultiplexedConnection;
use sandbox::Stack;
use sandbox::aws::{Aws, Transition};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// A Redis that is governed by the group `prod`.
async fn governed() -> (Stack, Aws, Client) {
    let stack = Stack::builder().redis().start().await.unwrap();
    let aws = Aws::start(Some(stack.redis.admin())).await.unwrap();
    aws.create_user_group("prod").unwrap();
    let cache = cache(&aws);
    (stack, aws, cache)
}

async fn join(cache: &Client, id: &str) {
    cache
        .modify_user_group()
        .user_group_id("prod")
        .user_ids_to_add(id)
        .send()
        .await
        .unwrap();
}

async fn leave(cache: &Client, id: &str) {
    cache
        .modify_user_group()
        .user_group_id("prod")
        .user_ids_to_remove(id)
        .send()
        .await
        .unwrap();
}

async fn ping(session: &mut MultiplexedConnection) -> bool {
    redis::cmd("PING").query_async::<String>(session).await.is_ok()
}

async fn enters(stack: &Stack, user: &str, password: &str) -> bool {
    match stack.redis.login(user, password).await {
        Ok(mut session) => ping(&mut session).await,
        Err(_) => false,
    }
}

async fn write(stack: &Stack, user: &str, key: &str) -> redis::RedisResult<()> {
    let mut session = stack.redis.login(user, PASSWORD).await.unwrap();
    redis::cmd("SET").arg(key).arg("v").query_async(&mut session).await
}

#[tokio::test]
async fn a_user_enters_once_it_is_in_the_group_and_with_its_access_only() {
    let (stack, aws, cache) = governed().await;
    make_user(&cache, "prod-acme").await;
    assert!(!enters(&stack, "prod-acme", PASSWORD).await, "a user outside the group");
    join(&cache, "prod-acme").await;
    assert!(
        enters(&stack, "prod-acme", PASSWORD).await,
        "the answer came when the cache knew"
    );
    assert!(!enters(&stack, "prod-acme", "wrong-password-000").await);
    write(&stack, "prod-acme", "acme:1").await.unwrap();
    assert!(write(&stack, "prod-acme", "other:1").await.is_err());
    assert!(aws.projection("prod").unwrap().names.contains("prod-acme"));
    assert!(!enters(&stack, "default", "").await);
}

#[tokio::test]
async fn a_user_that_leaves_or_is_deleted_is_thrown_out() {
    let (stack, _aws, cache) = governed().await;
    for id in ["leaves", "dies", "stays"] {
        make_user(&cache, id).await;
        join(&cache, id).await;
    }
    let mut sessions = Vec::new();
    for id in ["leaves", "dies", "stays"] {
        sessions.push(stack.redis.login(id, PASSWORD).await.unwrap());
    }
    leave(&cache, "leaves").await;
    cache.delete_user().user_id("dies").send().await.unwrap();
    assert!(
        !ping(&mut sessions[0]).await && !ping(&mut sessions[1]).await,
        "their connections are closed"
    );
    assert!(ping(&mut sessions[2]).await, "the others are not touched");
    assert!(!enters(&stack, "leaves", PASSWORD).await && !enters(&stack, "dies", PASSWORD).await);
}

#[tokio::test]
async fn a_pending_membership_does_not_let_anyone_in() {
    let (stack, aws, cache) = governed().await;
    make_user(&cache, "slow").await;
    aws.set_delay(Transition::GroupModify, Duration::from_hours(1));
    join(&cache, "slow").await;
    assert!(!enters(&stack, "slow", PASSWORD).await);
    aws.hand().finish();
    let groups = cache.describe_user_groups().user_group_id("prod").send().await.unwrap();
    assert_eq!(groups.user_groups()[0].status(), Some("active"));
    assert!(
        enters(&stack, "slow", PASSWORD).await,
        "active means that the cache knows"
    );
}

#[tokio::test]
async fn passwords_changed_by_a_person_hold_at_once_and_sessions_stay() {
    let (stack, aws, cache) = governed().await;
    make_user(&cache, "u").await;
    join(&cache, "u").await;
    let mut session = stack.redis.login("u", PASSWORD).await.unwrap();
    let other = "another-password-of-length";
    assert!(aws.hand().set_passwords("u", &[other]));
    assert!(aws.projected(PATIENCE).await);
    assert!(enters(&stack, "u", other).await && !enters(&stack, "u", PASSWORD).await);
    assert!(ping(&mut session).await);
}

#[tokio::test]
async fn while_the_cache_is_down_calls_succeed_and_it_catches_up_afterwards() {
    let (stack, aws, cache) = governed().await;
    for id in ["before", "leaver"] {
        make_user(&cache, id).await;
        join(&cache, id).await;
    }
    stack.redis.stop().await.unwrap();
    make_user(&cache, "during").await;
    join(&cache, "during").await;
    leave(&cache, "leaver").await;
    assert!(!aws.projected(Duration::from_millis(300)).await);
    assert!(aws.projection("prod").unwrap().trouble.is_some());

    stack.redis.restart().await.unwrap();
    assert!(aws.projected(PATIENCE).await);
    assert_eq!(aws.projection("prod").unwrap().trouble, None);
    assert!(enters(&stack, "before", PASSWORD).await && enters(&stack, "during", PASSWORD).await);
    assert!(!enters(&stack, "leaver", PASSWORD).await);
}

#[tokio::test]
async fn users_lost_by_the_cache_are_put_back_and_strangers_left_alone() {
    let (stack, _aws, cache) = governed().await;
    make_user(&cache, "u").await;
    join(&cache, "u").await;
    let mut admin = stack.redis.admin().connect().await.unwrap();
    redis::cmd("ACL")
        .arg(&["SETUSER", "stranger", "on", ">stranger-password"])
        .exec_async(&mut admin)
        .await
        .unwrap();
    redis::cmd("ACL")
        .arg(&["DELUSER", "u"])
        .exec_async(&mut admin)
        .await
        .unwrap();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !enters(&stack, "u", PASSWORD).await {
        assert!(tokio::time::Instant::now() < deadline, "the user was not put back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let names: Vec<String> = redis::cmd("ACL").arg("USERS").query_async(&mut admin).await.unwrap();
    assert!(names.contains(&"stranger".to_owned()));
}

#[tokio::test]
async fn a_rule_that_redis_does_not_know_keeps_nobody_else_out() {
    let (stack, aws, cache) = governed().await;
    let odd = cache.create_user().user_id("a-odd").user_name("a-odd").engine("redis");
    odd.access_string("on ~a -@all +nosuchcommand")
        .passwords(PASSWORD)
        .send()
        .await
        .unwrap();
    make_user(&cache, "u").await;
    join(&cache, "a-odd").await;
    join(&cache, "u").await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !enters(&stack, "u", PASSWORD).await {
        assert!(tokio::time::Instant::now() < deadline, "the good user was not let in");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(aws.projection("prod").unwrap().trouble.unwrap().contains("a-odd"));
}
