//! A server that loses its port to somebody else says so in a way that is recognised, and comes up when the port is free again.

#![allow(clippy::unwrap_used, clippy::panic)]

use sandbox::process::lost_its_port;
use sandbox::{Stack, Version};
use std::net::{Ipv4Addr, TcpListener};

#[tokio::test]
async fn a_lost_port_is_recognised_in_what_each_server_says() {
    let stack = Stack::builder().everything(Version::V18).start().await.unwrap();
    let kube_port = stack.kube.url().rsplit(':').next().unwrap().parse().unwrap();

    stack.postgres.stop().await.unwrap();
    stack.redis.stop().await.unwrap();
    stack.kube.stop();
    let thieves = [stack.postgres.port(), stack.redis.port(), kube_port]
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    for error in [
        stack.postgres.restart().await.unwrap_err(),
        stack.redis.restart().await.unwrap_err(),
        stack.kube.restart().await.unwrap_err(),
    ] {
        assert!(lost_its_port(&error), "{error:#}");
    }

    drop(thieves);
    stack.postgres.restart().await.unwrap();
    stack.redis.restart().await.unwrap();
    stack.kube.restart().await.unwrap();
}
