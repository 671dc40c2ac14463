//! A real control plane: etcd and kube-apiserver, no controllers, no nodes. Two users: an administrator, and the operator's own, which starts with
//! no rights at all, so that tests run with exactly what the chart grants.

use crate::folder;
use crate::http::Request;
use crate::ports;
use crate::process::{Farewell, Launch, Process};
use crate::secret::Secret;
use crate::site::Site;
use crate::tls;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use rcgen::KeyPair;
use rustls::ClientConfig;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

const READY_WITHIN: Duration = Duration::from_mins(2);
/// The operator's user name: what the chart's `ClusterRole` is bound to in tests.
pub const OPERATOR: &str = "ramparts";
const ADMINISTRATOR: &str = "sandbox-admin";

/// In whose name `kubectl` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    Administrator,
    Operator,
}

#[derive(Debug)]
pub struct Cluster {
    tools: Tools,
    directory: PathBuf,
    ca: PathBuf,
    tls: Arc<ClientConfig>,
    administrator: Secret,
    etcd_port: u16,
    port: u16,
    etcd: Mutex<Option<Process>>,
    /// None while an outage is played.
    apiserver: Mutex<Option<Process>>,
}

impl Cluster {
    pub async fn start(site: Site<'_>) -> Result<Self> {
        let directory = site.directory;
        folder::part(directory, None)?;
        let ca = directory.join("ca.pem");
        folder::write(&ca, &site.authority.pem(), 0o644)?;
        let identity = site
            .authority
            .issue(&[&tls::NAMES[..], &["kubernetes", "kubernetes.default.svc"]].concat())?;
        identity.write(&directory.join("server.crt"), &directory.join("server.key"))?;
        let key = KeyPair::generate().context("generating the service accounts' key")?;
        folder::write(&directory.join("sa.key"), &key.serialize_pem(), 0o600)?;
        folder::write(&directory.join("sa.pub"), &key.public_key_pem(), 0o644)?;
        let (administrator, operator) = (Secret::random(), Secret::random());
        let tokens = format!(
            "{},{ADMINISTRATOR},1,\"system:masters\"\n{},{OPERATOR},2\n",
            administrator.expose(),
            operator.expose()
        );
        folder::write(&directory.join("tokens.csv"), &tokens, 0o600)?;

        let mut cluster = Self {
            tools: site.tools.clone(),
            directory: directory.to_owned(),
            ca,
            tls: Arc::new(site.authority.client_config()?),
            administrator,
            etcd_port: 0,
            port: 0,
            etcd: Mutex::new(None),
            apiserver: Mutex::new(None),
        };
        cluster.start_etcd().await?;
        cluster.start_apiserver().await?;
        cluster.write_kubeconfig(User::Administrator, &cluster.administrator)?;
        cluster.write_kubeconfig(User::Operator, &operator)?;
        Ok(cluster)
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.directory.join(match user {
            User::Administrator => "administrator.kubeconfig",
            User::Operator => "operator.kubeconfig",
        })
    }

    pub fn log(&self) -> PathBuf {
        self.directory.join("kube-apiserver.log")
    }

    /// Runs the pinned kubectl as the administrator and returns what it printed; a failure is an error with what it said.
    pub async fn kubectl<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        self.kubectl_as(User::Administrator, args, "").await
    }

    /// Applies a manifest as the administrator.
    pub async fn apply(&self, manifest: &str) -> Result<String> {
        self.kubectl_as(User::Administrator, &["apply", "-f", "-"], manifest)
            .await
    }

    pub async fn kubectl_as<S: AsRef<OsStr>>(&self, user: User, args: &[S], input: &str) -> Result<String> {
        let mut command = tokio::process::Command::new(self.tools.cached("kubectl")?);
        command
            .args(args)
            .env("KUBECONFIG", self.kubeconfig(user))
            .env("HOME", &self.directory)
            .kill_on_drop(true);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("starting kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            // A kubectl that fails early does not read; what it says matters more than the broken pipe.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await.context("waiting for kubectl")?;
        if !output.status.success() {
            let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
            bail!(
                "kubectl {}: {}",
                args.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        String::from_utf8(output.stdout).context("reading kubectl's output")
    }

    /// Forgets every version but the present ones: a watch that then resumes from an older one is answered 410 Gone. etcd is compacted, and the API
    /// server started anew, because it would go on serving older versions from memory.
    pub async fn forget_history(&self) -> Result<()> {
        let now = self
            .ask_etcd("/v3/kv/range", r#"{"key":"AA==","keys_only":true,"limit":"1"}"#)
            .await?;
        let now: serde_json::Value = serde_json::from_str(&now).context("reading etcd's answer")?;
        let revision = now["header"]["revision"]
            .as_str()
            .context("etcd's answer names no revision")?;
        let body = serde_json::json!({"revision": revision, "physical": true}).to_string();
        self.ask_etcd("/v3/kv/compaction", &body).await?;
        self.restart().await
    }

    /// Plays an outage of the API server; etcd, and with it every object, stays.
    pub fn stop(&self) {
        drop(self.apiserver().take());
    }

    /// Ends the outage, on the same port.
    pub async fn restart(&self) -> Result<()> {
        self.stop();
        let process = self.run_apiserver(self.port).await?;
        *self.apiserver() = Some(process);
        Ok(())
    }

    /// Plays an API server that no longer answers: every request hangs, until [`Self::thaw`].
    pub fn freeze(&self) -> Result<()> {
        self.apiserver().as_ref().map_or(Ok(()), Process::freeze)
    }

    pub fn thaw(&self) -> Result<()> {
        self.apiserver().as_ref().map_or(Ok(()), Process::thaw)
    }

    fn apiserver(&self) -> MutexGuard<'_, Option<Process>> {
        self.apiserver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start_etcd(&mut self) -> Result<()> {
        let mut claim = ports::Claim::new("etcd");
        loop {
            let (client, peer) = (claim.next()?, claim.next()?);
            self.etcd_port = client;
            match self.run_etcd(client, peer).await {
                Ok(process) => {
                    self.etcd = Mutex::new(Some(process));
                    return Ok(());
                }
                Err(error) => claim.lost(error)?,
            }
        }
    }

    async fn run_etcd(&self, client: u16, peer: u16) -> Result<Process> {
        let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let mut args: Vec<OsString> = vec!["--data-dir".into(), self.directory.join("etcd").into()];
        let options = [
            ["--listen-client-urls", &client],
            ["--advertise-client-urls", &client],
            ["--listen-peer-urls", &peer],
            ["--initial-advertise-peer-urls", &peer],
            ["--initial-cluster", &format!("default={peer}")],
            ["--log-level", "warn"],
        ];
        args.extend(options.concat().iter().map(OsString::from));
        args.push("--unsafe-no-fsync".into());
        let mut process = Process::spawn(&self.tools, self.launch("etcd", args)?)?;
        process
            .wait_until(READY_WITHIN, || async {
                self.ask_etcd("/v3/maintenance/status", "{}").await.map(drop)
            })
            .await?;
        Ok(process)
    }

    async fn start_apiserver(&mut self) -> Result<()> {
        let mut claim = ports::Claim::new("kube-apiserver");
        loop {
            self.port = claim.next()?;
            match self.run_apiserver(self.port).await {
                Ok(process) => {
                    *self.apiserver() = Some(process);
                    return Ok(());
                }
                Err(error) => claim.lost(error)?,
            }
        }
    }

    async fn run_apiserver(&self, port: u16) -> Result<Process> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let args = [
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", file("server.crt")),
            format!("--tls-private-key-file={}", file("server.key")),
            "--service-account-issuer=https://localhost".into(),
            format!("--service-account-key-file={}", file("sa.pub")),
            format!("--service-account-signing-key-file={}", file("sa.key")),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            format!("--token-auth-file={}", file("tokens.csv")),
            "--authorization-mode=RBAC".into(),
            // Nothing makes the default service accounts that it would wait for.
            "--disable-admission-plugins=ServiceAccount".into(),
            "--profiling=false".into(),
        ];
        let launch = self.launch("kube-apiserver", args.iter().map(OsString::from).collect())?;
        let mut process = Process::spawn(&self.tools, launch)?;
        process
            .wait_until(READY_WITHIN, || async { self.ready().await })
            .await?;
        Ok(process)
    }

    async fn ready(&self) -> Result<()> {
        let (tls, token) = (Some(Arc::clone(&self.tls)), Some(self.administrator.clone()));
        let request = Request {
            port: self.port,
            tls,
            token,
            method: "GET",
            path: "/readyz".into(),
            body: String::new(),
        };
        request.send().await.map(drop)
    }

    async fn ask_etcd(&self, path: &str, body: &str) -> Result<String> {
        let (path, body) = (path.to_owned(), body.to_owned());
        Request {
            port: self.etcd_port,
            tls: None,
            token: None,
            method: "POST",
            path,
            body,
        }
        .send()
        .await
    }

    fn launch(&self, name: &'static str, args: Vec<OsString>) -> Result<Launch> {
        Ok(Launch {
            name,
            program: self.tools.cached(name)?,
            args,
            env: Vec::new(),
            directory: self.directory.clone(),
            log: self.directory.join(format!("{name}.log")),
            account: None,
            farewell: Farewell::Kill,
        })
    }

    fn write_kubeconfig(&self, user: User, token: &Secret) -> Result<()> {
        let name = match user {
            User::Administrator => ADMINISTRATOR,
            User::Operator => OPERATOR,
        };
        folder::write(
            &self.kubeconfig(user),
            &kubeconfig(&self.url(), &self.ca, name, token),
            0o600,
        )
    }
}

fn kubeconfig(url: &str, ca: &Path, user: &str, token: &Secret) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: sandbox
clusters:
- name: sandbox
  cluster: {{server: \"{url}\", certificate-authority: \"{}\"}}
users:
- name: {user}
  user: {{token: \"{}\"}}
contexts:
- name: sandbox
  context: {{cluster: sandbox, user: {user}}}
",
        ca.display(),
        token.expose()
    )
}
