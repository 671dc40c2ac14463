//! The command line: arguments, and what each command does.

use std::{io::IsTerminal, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};
use futures::{FutureExt, channel::mpsc};
use kube::{Client, Resource};
use ramparts_core::api::Tenant;
use tokio::net::TcpListener;

use crate::{
    cluster::Kubernetes,
    controller::{self, Operator},
    gate::Gate,
    memory::Memory,
    metrics::Metrics,
    server::{self, Health},
    setup::{self, Current, Setup},
    telemetry,
};

/// How long passes under way may take to end after a signal: two calls that time out. Kubernetes must allow for more before it kills.
const GRACE: Duration = Duration::from_secs(30);

/// How often an API server without our definition is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// Gives every tenant its database, its cache users and its credentials, and never changes a credential unless asked.
#[derive(Debug, Parser)]
#[command(name = "ramparts", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch Tenants and keep what they ask for
    Run(RunArguments),
    /// Print the custom resource definition of Tenant
    Crd,
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    /// The settings file; it is read again when it changes
    #[arg(
        long,
        env = "RAMPARTS_SETTINGS",
        value_name = "FILE",
        default_value = "/etc/ramparts/settings.yaml"
    )]
    settings: PathBuf,
    /// Where /livez, /readyz and /metrics are served
    #[arg(
        long,
        env = "RAMPARTS_LISTEN",
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8080"
    )]
    listen: SocketAddr,
    /// How many tenants are worked on at once
    #[arg(long, env = "RAMPARTS_CONCURRENCY", value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
    /// How logs are written; `auto` is text on a terminal and JSON elsewhere
    #[arg(long, env = "RAMPARTS_LOG_FORMAT", value_enum, default_value_t = LogFormat::Auto)]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Auto,
    Json,
    Text,
}

/// Parses the arguments and does what they say.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Crd => crd(),
        Command::Run(arguments) => run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ramparts: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn crd() -> anyhow::Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(ramparts_core::api::crd_yaml().as_bytes()) {
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("writing the definition"),
    }
}

#[tokio::main]
async fn run(arguments: RunArguments) -> anyhow::Result<()> {
    telemetry::start(match arguments.log_format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    });
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was installed twice"))?;
    let metrics = Arc::new(Metrics::default());
    let (text, setup) = Setup::read(&arguments.settings, &metrics).await?;
    tracing::info!(installation = %setup.settings.installation, version = env!("CARGO_PKG_VERSION"), "starting");
    let client = client().await?;
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("listening on {}", arguments.listen))?;
    let health = Arc::new(Health::default());
    let serving = tokio::spawn(server::serve(listener, Arc::clone(&metrics), Arc::clone(&health)));

    let shutdown = shutdown()?.shared();
    let gate = Gate::new(Arc::clone(&metrics));
    let cluster = Kubernetes::new(client.clone(), std::env::var("HOSTNAME").ok(), gate);
    tokio::select! {
        () = defined(&cluster, &health) => {}
        () = shutdown.clone() => return Ok(()),
    }
    let current = Arc::new(Current::new(setup));
    let operator = Arc::new(Operator {
        current: Arc::clone(&current),
        cluster,
        memory: Memory::default(),
        metrics: Arc::clone(&metrics),
    });
    let (changed, new_settings) = mpsc::channel(1);
    let following = tokio::spawn(setup::follow(arguments.settings, text, current, metrics, changed));
    let running = controller::run(
        client,
        operator,
        arguments.concurrency,
        new_settings,
        health,
        shutdown.clone(),
    );
    tokio::select! {
        () = running => {}
        // A pass may be cut off anywhere: the next one finds what it left.
        () = async { shutdown.await; tokio::time::sleep(GRACE).await } => {
            tracing::warn!("passes under way did not end in time; they are cut off");
        }
    }
    following.abort();
    serving.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Waits until the API server serves Tenants and their statuses; nothing outside is touched before.
async fn defined(cluster: &Kubernetes, health: &Health) {
    loop {
        let why = match cluster.missing().await {
            Ok(missing) if missing.is_empty() => return,
            Ok(missing) => format!(
                "the API server does not serve {} of {}; apply deploy/crd/tenants.ramparts.com.yaml (or the output of `ramparts crd`)",
                missing.join(" and "),
                Tenant::api_version(&())
            ),
            Err(failure) => format!("the API server does not say whether it serves Tenants: {failure}"),
        };
        tracing::error!(why, "nothing is done until the API server serves Tenants");
        health.waits_for(why);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn client() -> anyhow::Result<Client> {
    let mut config = kube::Config::infer()
        .await
        .context("looking for a cluster (KUBECONFIG, or a service account)")?;
    // Retries are owned by the reconciler's backoff: the client's own would hold a pass for minutes.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).context("building the Kubernetes client")
}

fn shutdown() -> anyhow::Result<impl Future<Output = ()> + Send + Sync + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: passes under way end first");
    })
}
