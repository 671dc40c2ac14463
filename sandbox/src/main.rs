//! `sandbox up`: the whole stack for a person or a script, until it is told to stop.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use sandbox::{Stack, Version};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tokio::signal::unix::{SignalKind, signal};

/// The local stack of Ramparts: etcd, kube-apiserver, PostgreSQL, Redis and an AWS sandbox, for real, on loopback ports.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(Up),
}

/// Start everything and stay until Ctrl-C or SIGTERM; then nothing is left.
///
/// Progress goes to standard error. When all is ready, lines to paste into another shell are printed on standard output; the same lines are in
/// the file `env` of the stack's folder, and in --env-file. They set up kubectl (as the cluster's administrator), psql (as the operator's admin
/// role), redis-cli, the AWS command line and ramparts (`RAMPARTS_SETTINGS`).
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
struct Up {
    /// The PostgreSQL release to run
    #[arg(long, value_enum, default_value = "18", value_name = "VERSION")]
    postgres: Version,
    /// The folder for data, logs and keys: absent or empty, and removed at the end; a temporary one if not given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write the lines that set up a shell here, in one piece, once everything is ready; removed at the end
    #[arg(long, value_name = "PATH")]
    env_file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples, in another shell after pasting or sourcing the lines:
  kubectl get --raw /readyz
  psql -c 'select current_user'                        the admin, over TLS
  psql -h \"$SANDBOX_PGSOCKET\" -U postgres              the superuser, for looking behind the scenes
  redis-cli --tls --cacert \"$SANDBOX_CA\" -h localhost -p \"$SANDBOX_REDIS_PORT\" --user \"$SANDBOX_REDIS_USER\" acl list
  aws ssm describe-parameters

In a script:
  sandbox up --env-file env & until [ -e env ]; do sleep 0.1; done; . ./env

Environment:
  RAMPARTS_TOOLS   where the programs are, if not in the usual cache (scripts/setup stack puts them there)
  SANDBOX_KEEP=1   leave the folder in place at the end, for a look at the logs";

fn main() -> ExitCode {
    let Command::Up(up) = Arguments::parse().command;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime
        .context("starting the runtime")
        .and_then(|runtime| runtime.block_on(run(&up)))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(up: &Up) -> Result<()> {
    if let Some(path) = up.env_file.as_deref().filter(|path| path.exists()) {
        // A script that waits for the file must not be served what an earlier stack left.
        std::fs::remove_file(path).with_context(|| format!("removing the old {}", path.display()))?;
    }
    // Before anything is started, so that a signal during the start cleans up as well.
    let end = end()?;
    let begun = Instant::now();
    let mut builder = Stack::builder()
        .everything(up.postgres)
        .progress(|line| eprintln!("sandbox: {line}"));
    if let Some(dir) = &up.dir {
        builder = builder.directory(dir);
    }
    eprintln!(
        "sandbox: starting PostgreSQL {}, Redis, the control plane and the AWS sandbox",
        up.postgres.major()
    );
    tokio::pin!(end);
    let stack = tokio::select! {
        stack = builder.start() => stack?,
        // The program's end takes all that has been started with it.
        () = &mut end => return Ok(()),
    };
    let exports = stack.exports();
    eprintln!(
        "sandbox: ready after {:.1} s in {}",
        begun.elapsed().as_secs_f64(),
        stack.directory().display()
    );
    std::io::stdout()
        .write_all(exports.as_bytes())
        .context("printing the environment")?;
    if let Some(path) = &up.env_file {
        publish(path, &exports)?;
    }
    eprintln!("sandbox: Ctrl-C ends it");
    end.await;
    eprintln!("sandbox: ending");
    if let Some(path) = &up.env_file {
        std::fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
    }
    drop(stack);
    Ok(())
}

/// Whoever waits for this file may read it as soon as it is there.
fn publish(path: &Path, exports: &str) -> Result<()> {
    let mut nascent = path.as_os_str().to_owned();
    nascent.push(".new");
    sandbox::folder::write(Path::new(&nascent), exports, 0o600)?;
    std::fs::rename(&nascent, path).with_context(|| format!("writing {}", path.display()))
}

fn end() -> Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).context("listening for signals");
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
