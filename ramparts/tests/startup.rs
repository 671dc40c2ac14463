//! The operator as a process on a real API server that is not as it should be: a definition without the status subresource, a server that
//! no longer answers, a store whose listings lag.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    ffi::OsString,
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use sandbox::{
    Stack, Version,
    cluster::{Cluster, OPERATOR},
    ports,
    process::{Farewell, Launch, Process},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const PATIENCE: Duration = Duration::from_mins(1);

struct Operator {
    process: Process,
    port: u16,
    log: PathBuf,
}

impl Operator {
    fn start(stack: &Stack) -> Self {
        let port = ports::free().unwrap();
        let log = stack.directory().join("operator.log");
        // A few short names in a test's memory, for as long as the test runs.
        let mut env: Vec<(&'static str, OsString)> = stack
            .environment()
            .into_iter()
            .map(|(name, value)| (&*name.leak(), value.into()))
            .collect();
        env.push(("NO_COLOR", "1".into()));
        let listen = format!("127.0.0.1:{port}");
        let settings = stack.settings_file();
        let launch = Launch {
            name: "ramparts",
            program: env!("CARGO_BIN_EXE_ramparts").into(),
            args: ["run", "--log-format", "text", "--listen", &listen, "--settings"]
                .iter()
                .map(OsString::from)
                .chain([settings.into()])
                .collect(),
            env,
            directory: stack.directory().to_owned(),
            log: log.clone(),
            account: None,
            farewell: Farewell::Kill,
        };
        let process = Process::spawn(stack.tools(), launch).unwrap();
        Self { process, port, log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Status and body of a page.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split_whitespace().nth(1)?.parse().ok()?, body.to_owned()))
    }

    async fn ready(&self) {
        until("the operator is ready", async || {
            self.get("/readyz").await.filter(|it| it.0 == 200)
        })
        .await;
    }
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = look().await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

async fn define(cluster: &Cluster, definition: &str) {
    cluster.apply(definition).await.unwrap();
    let wait = [
        "wait",
        "--for=condition=Established",
        "crd/tenants.ramparts.com",
        "--timeout=30s",
    ];
    cluster.kubectl(&wait).await.unwrap();
}

/// A whole stack whose operator has the rights that are shipped.
async fn stack(definition: &str) -> Stack {
    let stack = Stack::builder().everything(Version::default()).start().await.unwrap();
    define(&stack.kube, definition).await;
    stack
        .kube
        .apply(include_str!("../../deploy/rbac/clusterrole.yaml"))
        .await
        .unwrap();
    let user = format!("--user={OPERATOR}");
    let bind = [
        "create",
        "clusterrolebinding",
        "operator",
        "--clusterrole=ramparts",
        &user,
    ];
    stack.kube.kubectl(&bind).await.unwrap();
    stack
}

async fn create(cluster: &Cluster, name: &str) {
    let tenant = json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": name}});
    cluster.apply(&tenant.to_string()).await.unwrap();
}

async fn status(cluster: &Cluster, name: &str) -> Value {
    let text = cluster.kubectl(&["get", "tenant", name, "-o", "json"]).await.unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["status"].take()
}

async fn provisioned(cluster: &Cluster, name: &str) {
    until("the tenant is ready", async || {
        (status(cluster, name).await["phase"] == "Ready").then_some(())
    })
    .await;
}

#[tokio::test]
async fn without_a_place_for_statuses_nothing_outside_is_touched_until_there_is_one() {
    let mut bare = serde_json::to_value(ramparts_core::api::crd()).unwrap();
    let version = bare["spec"]["versions"][0].as_object_mut().unwrap();
    assert!(version.remove("subresources").is_some());
    let stack = stack(&bare.to_string()).await;
    create(&stack.kube, "acme").await;
    let operator = Operator::start(&stack);
    let (code, said) = until("the operator says what is missing", async || {
        operator
            .get("/readyz")
            .await
            .filter(|(_, said)| said.contains("tenants/status"))
    })
    .await;
    assert_eq!(code, 503, "{said}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(operator.get("/readyz").await.unwrap().0, 503);
    assert!(operator.log().contains("tenants/status"), "{}", operator.log());
    assert!(operator.log().contains("deploy/crd"), "{}", operator.log());
    assert_eq!(stack.aws.calls_since(0).len(), 0, "AWS was called");

    define(&stack.kube, &ramparts_core::api::crd_yaml()).await;
    operator.ready().await;
    provisioned(&stack.kube, "acme").await;
}

#[tokio::test]
async fn an_api_server_that_no_longer_answers_does_not_keep_the_operator_from_ending() {
    let stack = stack(&ramparts_core::api::crd_yaml()).await;
    let mut operator = Operator::start(&stack);
    operator.ready().await;
    create(&stack.kube, "acme").await;
    provisioned(&stack.kube, "acme").await;
    stack.kube.freeze().unwrap();
    // Longer than a sweep: a pass has begun and hangs.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let begun = Instant::now();
    operator.process.signal(Signal::TERM).unwrap();
    while operator.process.exited().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(40), "{}", operator.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stack.kube.thaw().unwrap();
    assert!(operator.log().contains("stopped"), "{}", operator.log());
}

#[tokio::test]
async fn a_pass_that_hangs_at_the_api_server_ends_at_its_deadline_and_is_counted() {
    let stack = stack(&ramparts_core::api::crd_yaml()).await;
    let operator = Operator::start(&stack);
    operator.ready().await;
    create(&stack.kube, "acme").await;
    provisioned(&stack.kube, "acme").await;
    stack.kube.freeze().unwrap();
    let counted = until("a call to the API server timed out", async || {
        let (_, text) = operator.get("/metrics").await?;
        let line = text
            .lines()
            .find(|line| line.contains("layer=\"kubernetes\"") && line.contains("Transient"));
        line.map(str::to_owned)
    })
    .await;
    stack.kube.thaw().unwrap();
    assert!(counted.starts_with("ramparts_kubernetes_calls_total{"), "{counted}");
    assert!(
        operator.log().contains("did not answer within 15 s"),
        "{}",
        operator.log()
    );
}

#[tokio::test]
async fn a_listing_that_lags_does_not_take_back_that_credentials_are_ready() {
    let stack = stack(&ramparts_core::api::crd_yaml()).await;
    let operator = Operator::start(&stack);
    operator.ready().await;
    create(&stack.kube, "acme").await;
    provisioned(&stack.kube, "acme").await;
    // Put again by hand, as they are: records and copies are there, and listings do not show them for a while.
    stack.aws.set_stale_reads(Duration::from_millis(1500));
    let hand = stack.aws.hand();
    for _ in 0..4 {
        for copy in hand.parameters("/ramparts/acme/") {
            hand.delete_parameter(&copy.name);
            hand.put_parameter(&copy.name, &copy.value).unwrap();
        }
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let status = status(&stack.kube, "acme").await;
            assert_eq!(status["credentialsReady"], true, "{status:#}\n{}", operator.log());
        }
    }
}
