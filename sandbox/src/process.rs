//! Child processes that end with us: on drop, and when this program dies by whatever signal. Each is started through `setpriv`, which asks the
//! kernel to signal it when its parent dies (doing that in this program would need unsafe code) and can change the account on the way.
//!
//! The kernel counts the *thread* that forked as the parent, and the threads of a test's runtime come and go. So every child is forked by one
//! thread that lives as long as the program.

use crate::tools::Tools;
use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Run by the child between `setpriv` and the program. If we died before the kernel was asked to tell, nobody will: then do not start.
const GUARD: &str = r#"test "$PPID" = "$0" || exit 1; exec "$@""#;
const POLL: Duration = Duration::from_millis(20);
/// Every server of the stack is gone well within this when asked; after it, it is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// What to run, and how it is told to end.
#[derive(Debug)]
pub struct Launch {
    pub name: &'static str,
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment besides `PATH`, `LC_ALL` and `TZ`: a person's PGHOST or `HTTPS_PROXY` must not reach the stack.
    pub env: Vec<(&'static str, OsString)>,
    pub directory: PathBuf,
    /// Standard output and error are appended here.
    pub log: PathBuf,
    pub account: Option<Account>,
    /// How it is asked to end when it is dropped or when we die.
    pub farewell: Farewell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    Kill,
    /// For PostgreSQL, an immediate shutdown: unlike a kill it leaves no shared memory behind.
    Quit,
}

/// An account without privileges, for servers that refuse to run as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    farewell: Farewell,
}

impl Process {
    pub fn spawn(tools: &Tools, launch: Launch) -> Result<Self> {
        let command = command(tools, &launch)?;
        let child = fork(command)?.with_context(|| format!("starting {}", launch.name))?;
        Ok(Self {
            name: launch.name,
            child,
            log: launch.log,
            farewell: launch.farewell,
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.child
            .try_wait()
            .with_context(|| format!("looking after {}", self.name))
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| anyhow!("signalling {}: {} is no process id", self.name, self.child.id()))?;
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }

    /// Stops it where it stands, until [`Self::thaw`]: connections to it hang instead of failing.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Waits until `ready` says so. A process that ends meanwhile, or takes longer than `limit`, is an error with the end of its log.
    pub async fn wait_until<F, Fut>(&mut self, limit: Duration, mut ready: F) -> Result<()>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<()>>,
    {
        let start = Instant::now();
        loop {
            if let Some(status) = self.exited()? {
                return Err(self.complaint(&format!("ended with {status}")));
            }
            let Err(error) = ready().await else { return Ok(()) };
            if start.elapsed() > limit {
                return Err(self.complaint(&format!("was not ready after {} s ({error:#})", limit.as_secs())));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits for a program that does one thing and ends.
    pub async fn success(&mut self) -> Result<()> {
        loop {
            match self.exited()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(self.complaint(&format!("ended with {status}"))),
                None => tokio::time::sleep(POLL).await,
            }
        }
    }

    /// Ends the process by `signal` and waits until it is gone.
    pub async fn stop(mut self, signal: Signal) -> Result<()> {
        if self.exited()?.is_some() {
            return Ok(());
        }
        self.signal(signal)?;
        // A frozen process hears nothing else.
        self.thaw()?;
        let start = Instant::now();
        while self.exited()?.is_none() {
            if start.elapsed() > PATIENCE {
                bail!(
                    "{} did not end within {} s of being asked; it is killed",
                    self.name,
                    PATIENCE.as_secs()
                );
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    fn complaint(&self, what: &str) -> anyhow::Error {
        anyhow!(
            "{} {what}; {} ends with:\n{}",
            self.name,
            self.log.display(),
            tail(&self.log)
        )
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if self.farewell == Farewell::Quit && self.signal(Signal::QUIT).and_then(|()| self.thaw()).is_ok() {
            let start = Instant::now();
            while start.elapsed() < PATIENCE {
                if matches!(self.child.try_wait(), Ok(Some(_))) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        // Nothing useful can be done about a failure here: the process is gone, or the kernel ends it when we are.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a failed start is one that another port would cure.
pub fn lost_its_port(error: &anyhow::Error) -> bool {
    format!("{error:#}")
        .to_ascii_lowercase()
        .contains("address already in use")
}

fn command(tools: &Tools, launch: &Launch) -> Result<Command> {
    let log = File::options().create(true).append(true).open(&launch.log);
    let log = log.with_context(|| format!("opening {}", launch.log.display()))?;
    let mut command = Command::new(tools.on_path("setpriv")?);
    command.args([
        "--pdeathsig",
        if launch.farewell == Farewell::Quit {
            "QUIT"
        } else {
            "KILL"
        },
    ]);
    if let Some(account) = &launch.account {
        command.args([
            "--reuid",
            &account.uid.to_string(),
            "--regid",
            &account.gid.to_string(),
            "--clear-groups",
        ]);
    }
    command.args(["--", "/bin/sh", "-c", GUARD, &std::process::id().to_string()]);
    command.arg(&launch.program).args(&launch.args);
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(&launch.directory);
    // A group of its own: a Ctrl-C at the terminal is for us, and we end the servers in order.
    command.process_group(0);
    command
        .stdin(Stdio::null())
        .stderr(log.try_clone().context("sharing the log")?)
        .stdout(log);
    Ok(command)
}

struct Order {
    command: Command,
    reply: mpsc::Sender<io::Result<Child>>,
}

/// Forks from the thread that never ends.
fn fork(command: Command) -> Result<io::Result<Child>> {
    static SPAWNER: OnceLock<Option<mpsc::Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        let work = move || {
            for Order { mut command, reply } in inbox {
                // An order whose sender is gone has a child that nobody keeps: end it at once.
                if let Err(mpsc::SendError(Ok(mut orphan))) = reply.send(command.spawn()) {
                    let _ = orphan.kill();
                    let _ = orphan.wait();
                }
            }
        };
        thread::Builder::new()
            .name("spawner".into())
            .spawn(work)
            .ok()
            .map(|_| orders)
    });
    let spawner = spawner
        .as_ref()
        .ok_or_else(|| anyhow!("the thread that starts processes could not be started"))?;
    let (reply, answer) = mpsc::channel();
    spawner
        .send(Order { command, reply })
        .map_err(|_| anyhow!("the thread that starts processes is gone"))?;
    answer
        .recv()
        .map_err(|_| anyhow!("the thread that starts processes is gone"))
}

impl Account {
    /// The account for servers that refuse root: none is needed unless we are root. Debian's package brings `postgres`.
    pub fn unprivileged() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("looking for an account that is not root")?;
        let named = |name: &str| {
            accounts
                .lines()
                .find_map(|line| Self::parse(line).filter(|it| it.name == name))
        };
        let found = named("postgres").or_else(|| named("nobody"));
        found
            .map(Some)
            .ok_or_else(|| anyhow!("PostgreSQL refuses to run as root, and there is no account postgres or nobody"))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Self { name, uid, gid })
    }

    pub fn give(&self, path: &Path) -> Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
            .with_context(|| format!("giving {} to {}", path.display(), self.name))
    }
}

/// The end of a log, as much as fits on a screen.
fn tail(log: &Path) -> String {
    let text = fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
