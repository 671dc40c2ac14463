//! The login proof, at a real Redis that the sandbox's user group governs.

use std::time::{Duration, Instant};

use ramparts::cache::prove;
use ramparts_core::{
    failure::{Class, Failure},
    reason::Reason,
    secret::Secret,
    settings::Endpoint,
};
use sandbox::{Stack, aws::Aws};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Bench, bench_on, gate, password, user};

struct Site {
    stack: Stack,
    bench: Bench,
}

/// A cache with one user of ours in its group.
async fn site() -> Site {
    let stack = Stack::builder().redis().start().await.unwrap();
    let bench = bench_on(Aws::start(Some(stack.redis.admin())).await.unwrap()).await;
    bench.create_user("api", &password('a')).await.unwrap();
    bench.users.join(&[user("api")]).await.unwrap();
    assert!(
        bench.aws.projected(Duration::from_secs(5)).await,
        "Redis did not follow the user group"
    );
    Site { stack, bench }
}

impl Site {
    fn endpoint(&self) -> Endpoint {
        Endpoint::parse(&self.stack.redis.endpoint()).unwrap()
    }

    async fn prove(&self, app: &str, password: &Secret, prefix: &str) -> Result<(), Failure> {
        let ca = self.stack.ca();
        prove(&gate(), &self.endpoint(), ca.to_str(), &user(app), password, prefix).await
    }
}

#[tokio::test]
async fn a_user_in_its_group_logs_in_and_reads_its_own_keys() {
    let site = site().await;
    site.prove("api", &password('a'), "acme:").await.unwrap();
    let failure = site.prove("api", &password('a'), "acme2:").await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Blocked, Reason::AccessDenied),
        "{failure}"
    );
}

#[tokio::test]
async fn a_wrong_password_and_a_user_outside_its_group_are_refused_alike() {
    let site = site().await;
    site.bench.create_user("worker", &password('b')).await.unwrap();
    for (app, letter) in [("api", 'b'), ("worker", 'b'), ("nobody", 'a')] {
        let failure = site.prove(app, &password(letter), "acme:").await.unwrap_err();
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Blocked, Reason::LoginRefused),
            "{app}: {failure}"
        );
        assert!(failure.message.contains(user(app).as_str()), "{failure}");
    }
}

/// Listens at an address, breaks the first connections, and passes the next one on to the cache.
async fn in_front_of(cache: Endpoint, address: &str, broken: usize) -> Endpoint {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for _ in 0..broken {
            drop(listener.accept().await.unwrap());
        }
        let (mut front, _) = listener.accept().await.unwrap();
        let mut back = TcpStream::connect((cache.host.as_str(), cache.port)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut front, &mut back).await;
    });
    let host = if address == "127.0.0.1" { "localhost" } else { address };
    Endpoint {
        host: host.to_owned(),
        port,
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_never_sent_a_password() {
    let site = site().await;
    let (ca, strange) = (site.stack.ca(), site.stack.strange_ca());
    // The certificate is for localhost and 127.0.0.1.
    let misnamed = in_front_of(site.endpoint(), "127.0.0.2", 0).await;
    for (endpoint, ca) in [
        (site.endpoint(), strange.to_str()),
        (site.endpoint(), None),
        (misnamed, ca.to_str()),
    ] {
        let failure = prove(&gate(), &endpoint, ca, &user("api"), &password('a'), "acme:")
            .await
            .unwrap_err();
        assert_eq!(
            (failure.class, failure.reason),
            (Class::Blocked, Reason::CacheUnreachable),
            "{failure}"
        );
        assert!(failure.message.contains("TLS"), "{failure}");
    }
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_read_is_named() {
    let endpoint = Endpoint {
        host: "localhost".to_owned(),
        port: 1,
    };
    let failure = prove(
        &gate(),
        &endpoint,
        Some("/nowhere.pem"),
        &user("api"),
        &password('a'),
        "acme:",
    )
    .await
    .unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Blocked, Reason::CacheUnreachable)
    );
    assert!(failure.message.contains("/nowhere.pem"), "{failure}");
}

#[tokio::test]
async fn a_cache_that_is_down_is_neither_refused_nor_proven() {
    let site = site().await;
    site.stack.redis.stop().await.unwrap();
    let failure = site.prove("api", &password('a'), "acme:").await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::CacheUnreachable),
        "{failure}"
    );
    site.stack.redis.restart().await.unwrap();
    site.prove("api", &password('a'), "acme:").await.unwrap();
}

#[tokio::test]
async fn a_connection_that_breaks_once_is_tried_once_more() {
    let site = site().await;
    for (broken, proven) in [(1, true), (2, false)] {
        let endpoint = in_front_of(site.endpoint(), "127.0.0.1", broken).await;
        let ca = site.stack.ca();
        let proof = prove(&gate(), &endpoint, ca.to_str(), &user("api"), &password('a'), "acme:").await;
        assert_eq!(proof.is_ok(), proven, "{proof:?}");
    }
}

#[tokio::test]
async fn a_cache_that_never_answers_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let begun = Instant::now();
    let failure = prove(&gate(), &endpoint, None, &user("api"), &password('a'), "acme:")
        .await
        .unwrap_err();
    assert_eq!(
        (failure.class, failure.reason),
        (Class::Transient, Reason::CacheUnreachable),
        "{failure}"
    );
    assert!(begun.elapsed() < ramparts::gate::DEADLINE, "{:?}", begun.elapsed());
}
