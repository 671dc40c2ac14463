//! The operator as a process: started with its own rights and nothing else from outside, asked for its health and its counters, and ended
//! in the ways in which processes end.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::process::Signal;
use sandbox::{
    Stack, ports,
    process::{Farewell, Launch, Process},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::until;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Which build runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// What is shipped.
    Shipped,
    /// The build that can be told to die at a call, or to be wrong.
    Chaos,
}

/// How an operator is started.
#[derive(Clone, Debug)]
pub struct Manner {
    pub binary: Binary,
    /// Variables of the chaos build.
    pub chaos: Vec<(&'static str, String)>,
}

impl Manner {
    pub fn shipped() -> Self {
        Self {
            binary: Binary::Shipped,
            chaos: Vec::new(),
        }
    }

    pub fn mutant(name: &str) -> Self {
        Self {
            binary: Binary::Chaos,
            chaos: vec![("RAMPARTS_CHAOS_MUTANT", name.to_owned())],
        }
    }

    /// `variable` is `RAMPARTS_CHAOS_KILL_BEFORE` or `RAMPARTS_CHAOS_KILL_AFTER`.
    pub fn killed(variable: &'static str, call: u32) -> Self {
        Self {
            binary: Binary::Chaos,
            chaos: vec![(variable, call.to_string())],
        }
    }
}

/// A running operator. It is killed when it is dropped.
pub struct Operator {
    process: Process,
    port: u16,
    pub log: PathBuf,
}

impl Operator {
    pub fn start(stack: &Stack, settings: &Path, manner: &Manner) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let port = ports::free().unwrap();
        let log = stack.directory().join(format!("operator-{number}.log"));
        let mut env: Vec<(&'static str, OsString)> = stack
            .environment()
            .into_iter()
            .filter(|(name, _)| name != "RAMPARTS_SETTINGS")
            // A few short names in a test's memory, for as long as the test runs.
            .map(|(name, value)| (&*name.leak(), value.into()))
            .collect();
        env.extend(manner.chaos.iter().map(|(name, value)| (*name, value.into())));
        env.push(("RUST_LOG", "info,ramparts=debug".into()));
        env.push(("NO_COLOR", "1".into()));
        let launch = Launch {
            name: "ramparts",
            program: program(manner.binary),
            args: [
                "run",
                "--log-format",
                "text",
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--settings",
            ]
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
        Self {
            process: Process::spawn(stack.tools(), launch).unwrap(),
            port,
            log,
        }
    }

    /// Waits until it has listed the Tenants.
    pub async fn ready(&mut self) {
        until("the operator is ready", async || {
            assert!(!self.is_over(), "the operator ended:\n{}", self.tail());
            self.get("/readyz").await
        })
        .await;
    }

    /// Whether the process is gone, by itself or by us.
    pub fn is_over(&mut self) -> bool {
        self.process.exited().unwrap().is_some()
    }

    /// Ends it as the kernel would, without a word.
    pub async fn kill(self) {
        self.process.stop(Signal::KILL).await.unwrap();
    }

    /// Ends it as Kubernetes would, and waits.
    pub async fn terminate(self) {
        self.process.stop(Signal::TERM).await.unwrap();
    }

    /// All external calls that it says it has made.
    pub async fn calls(&self) -> u64 {
        let text = self
            .get("/metrics")
            .await
            .expect("a running operator serves its metrics");
        let lines = text
            .lines()
            .filter(|line| line.starts_with("ramparts_external_calls_total{"));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    }

    /// How often its log says this.
    pub fn says(&self, text: &str) -> usize {
        std::fs::read_to_string(&self.log)
            .unwrap_or_default()
            .matches(text)
            .count()
    }

    pub fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// The body of a 200, or nothing.
    async fn get(&self, path: &str) -> Option<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        (head.split_whitespace().nth(1) == Some("200")).then(|| body.to_owned())
    }
}

fn program(binary: Binary) -> PathBuf {
    let shipped = PathBuf::from(env!("CARGO_BIN_EXE_ramparts"));
    match binary {
        Binary::Shipped => shipped,
        Binary::Chaos => {
            let chaos = shipped.with_file_name("ramparts-chaos");
            assert!(
                chaos.is_file(),
                "{} is missing; run: cargo build -p ramparts --features chaos --bin ramparts-chaos",
                chaos.display()
            );
            chaos
        }
    }
}

/// The definition of Tenant, as the shipped binary prints it.
pub fn definition() -> String {
    let output = Command::new(program(Binary::Shipped)).arg("crd").output().unwrap();
    assert!(
        output.status.success(),
        "ramparts crd: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
