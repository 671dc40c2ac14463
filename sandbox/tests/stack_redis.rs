//! The Redis of the stack: TLS only, nobody unnamed, and an outage loses neither users nor keys.

#![allow(clippy::unwrap_used, clippy::panic)]

use redis::AsyncCommands;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use sandbox::Stack;
use sandbox::tls::client_config;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

async fn stack() -> Stack {
    Stack::builder().redis().start().await.unwrap()
}

fn trusting(file: PathBuf) -> ClientConfig {
    client_config(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn socket(stack: &Stack) -> TcpStream {
    let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, stack.redis.port())).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// What the server answers to a PING of a client that is not logged in, if TLS allows the client to ask.
fn ping(stack: &Stack, name: &'static str, tls: ClientConfig) -> Result<String, String> {
    let connection = ClientConnection::new(Arc::new(tls), ServerName::try_from(name).unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, socket(stack));
    stream.write_all(b"PING\r\n").map_err(|error| error.to_string())?;
    let mut answer = [0; 128];
    let length = stream.read(&mut answer).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

#[tokio::test]
async fn the_certificate_holds_for_the_right_authority_and_name_only() {
    let stack = stack().await;
    assert!(
        ping(&stack, "localhost", trusting(stack.ca()))
            .unwrap()
            .starts_with("-NOAUTH")
    );
    assert!(
        ping(&stack, "127.0.0.1", trusting(stack.ca()))
            .unwrap()
            .starts_with("-NOAUTH")
    );
    let error = ping(&stack, "localhost", trusting(stack.strange_ca())).unwrap_err();
    assert!(error.contains("UnknownIssuer"), "{error}");
    let error = ping(&stack, "cache.example.com", trusting(stack.ca())).unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");

    let mut admin = stack.redis.admin();
    admin.ca = stack.strange_ca();
    assert!(
        admin.connect().await.is_err(),
        "a client of the usual library refuses it too"
    );
}

#[tokio::test]
async fn plaintext_is_refused() {
    let stack = stack().await;
    let mut socket = socket(&stack);
    socket.write_all(b"PING\r\n").unwrap();
    let mut answer = Vec::new();
    // A reset instead of an end is as good a refusal.
    let _ = socket.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("PONG") && !String::from_utf8_lossy(&answer).contains("NOAUTH"));
}

#[tokio::test]
async fn only_those_who_name_themselves_get_in() {
    let stack = stack().await;
    let admin = stack.redis.admin();
    assert!(stack.redis.login(&admin.user, admin.password.expose()).await.is_ok());
    assert!(stack.redis.login(&admin.user, "wrong").await.is_err());
    assert!(stack.redis.login("default", "").await.is_err());
}

#[tokio::test]
async fn users_and_keys_survive_an_outage_on_the_same_port() {
    let stack = stack().await;
    let port = stack.redis.port();
    let mut admin = stack.redis.admin().connect().await.unwrap();
    let rules = ["on", ">pass", "~acme:*", "+@all"];
    redis::cmd("ACL")
        .arg("SETUSER")
        .arg("acme")
        .arg(&rules)
        .query_async::<()>(&mut admin)
        .await
        .unwrap();
    let mut acme = stack.redis.login("acme", "pass").await.unwrap();
    acme.set::<_, _, ()>("acme:key", "value").await.unwrap();

    stack.redis.stop().await.unwrap();
    assert!(
        acme.get::<_, String>("acme:key").await.is_err(),
        "open sessions are cut"
    );
    assert!(stack.redis.login("acme", "pass").await.is_err(), "nothing answers");

    stack.redis.restart().await.unwrap();
    assert_eq!(stack.redis.port(), port);
    let mut acme = stack.redis.login("acme", "pass").await.unwrap();
    assert_eq!(acme.get::<_, String>("acme:key").await.unwrap(), "value");
    assert!(
        acme.set::<_, _, ()>("other:key", "value").await.is_err(),
        "with the same limits"
    );
}
