//! A Redis server of the stack, the cache behind the AWS sandbox: TLS only, nobody gets in unnamed, and one administrator with all rights through
//! which ElastiCache users are projected. Users and keys survive an outage.

use crate::folder;
use crate::ports;
use crate::process::{Farewell, Launch, Process};
use crate::secret::Secret;
use crate::site::Site;
use crate::tls;
use crate::tools::Tools;
use ::redis::aio::MultiplexedConnection;
use ::redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, TlsCertificates};
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

const ADMIN: &str = "sandbox-admin";
const READY_WITHIN: Duration = Duration::from_secs(30);

/// All that is needed to administer the cache: what the AWS sandbox is given.
#[derive(Debug, Clone)]
pub struct RedisAdmin {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Secret,
    /// The file with the certificate authority to trust.
    pub ca: PathBuf,
}

impl RedisAdmin {
    pub fn client(&self) -> Result<Client> {
        let ca = std::fs::read(&self.ca).with_context(|| format!("reading {}", self.ca.display()))?;
        client(&self.host, self.port, &self.user, self.password.expose(), ca)
    }

    pub async fn connect(&self) -> Result<MultiplexedConnection> {
        let connection = self.client()?.get_multiplexed_async_connection().await;
        connection.with_context(|| format!("connecting to the cache as {}", self.user))
    }
}

#[derive(Debug)]
pub struct Redis {
    tools: Tools,
    directory: PathBuf,
    port: u16,
    password: Secret,
    /// None while an outage is played.
    process: Mutex<Option<Process>>,
}

impl Redis {
    pub async fn start(site: Site<'_>) -> Result<Self> {
        tls::install_crypto_provider();
        folder::part(site.directory, None)?;
        let directory = site.directory;
        folder::write(&directory.join("ca.pem"), &site.authority.pem(), 0o644)?;
        let identity = site.authority.issue(&tls::NAMES)?;
        identity.write(&directory.join("server.crt"), &directory.join("server.key"))?;
        let password = Secret::random();
        let users = format!(
            "user default off resetpass -@all\nuser {ADMIN} on >{} ~* &* +@all\n",
            password.expose()
        );
        folder::write(&directory.join("users.acl"), &users, 0o600)?;

        let mut server = Self {
            tools: site.tools.clone(),
            directory: directory.to_owned(),
            port: 0,
            password,
            process: Mutex::new(None),
        };
        server.start_on_a_free_port().await?;
        Ok(server)
    }

    pub fn host(&self) -> &'static str {
        "localhost"
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, as the settings have it.
    pub fn endpoint(&self) -> String {
        format!("{}:{}", self.host(), self.port)
    }

    pub fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    pub fn admin(&self) -> RedisAdmin {
        RedisAdmin {
            host: self.host().to_owned(),
            port: self.port,
            user: ADMIN.to_owned(),
            password: self.password.clone(),
            ca: self.directory.join("ca.pem"),
        }
    }

    /// A session of any user, over TLS. The error is the client's own, so that its code can be looked at.
    pub async fn login(&self, user: &str, password: &str) -> Result<MultiplexedConnection> {
        let ca = std::fs::read(self.directory.join("ca.pem")).context("reading the authority's certificate")?;
        let connection = client(self.host(), self.port, user, password, ca)?
            .get_multiplexed_async_connection()
            .await;
        connection.with_context(|| format!("connecting to the cache as {user}"))
    }

    /// Plays an outage. The users of the moment are saved first, as the service would keep them; keys are in the append-only file.
    pub async fn stop(&self) -> Result<()> {
        let process = self.process().take();
        let Some(process) = process else { return Ok(()) };
        let saved = self.save_users().await;
        process.stop(Signal::TERM).await?;
        saved
    }

    /// Ends the outage, on the same port with the same users and keys.
    pub async fn restart(&self) -> Result<()> {
        self.stop().await?;
        let process = self.run(self.port).await?;
        *self.process() = Some(process);
        Ok(())
    }

    async fn save_users(&self) -> Result<()> {
        let mut connection = self.admin().connect().await?;
        ::redis::cmd("ACL")
            .arg("SAVE")
            .query_async::<()>(&mut connection)
            .await
            .context("saving the cache's users")
    }

    /// Plays a server that no longer answers: every call to it hangs, until [`Self::thaw`].
    pub fn freeze(&self) -> Result<()> {
        self.process().as_ref().map_or(Ok(()), Process::freeze)
    }

    pub fn thaw(&self) -> Result<()> {
        self.process().as_ref().map_or(Ok(()), Process::thaw)
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn start_on_a_free_port(&mut self) -> Result<()> {
        let mut claim = ports::Claim::new("Redis");
        loop {
            self.port = claim.next()?;
            match self.run(self.port).await {
                Ok(process) => {
                    *self.process() = Some(process);
                    return Ok(());
                }
                Err(error) => claim.lost(error)?,
            }
        }
    }

    async fn run(&self, port: u16) -> Result<Process> {
        let settings = self.directory.join("redis.conf");
        folder::write(&settings, &configuration(&self.directory, port), 0o600)?;
        let launch = Launch {
            name: "redis-server",
            program: self.tools.on_path("redis-server")?,
            args: vec![settings.into()],
            env: Vec::new(),
            directory: self.directory.clone(),
            log: self.log(),
            account: None,
            farewell: Farewell::Kill,
        };
        let mut process = Process::spawn(&self.tools, launch)?;
        let ping = || async {
            let mut connection = self.admin().connect().await?;
            ::redis::cmd("PING")
                .query_async::<()>(&mut connection)
                .await
                .context("asking the cache")
        };
        process.wait_until(READY_WITHIN, ping).await?;
        Ok(process)
    }
}

fn configuration(directory: &Path, port: u16) -> String {
    let directory = directory.display();
    format!(
        "bind 127.0.0.1
# No plaintext port.
port 0
tls-port {port}
tls-cert-file {directory}/server.crt
tls-key-file {directory}/server.key
tls-ca-cert-file {directory}/ca.pem
tls-auth-clients no
aclfile {directory}/users.acl
dir {directory}
save \"\"
appendonly yes
appendfsync no
maxclients 2000
"
    )
}

fn client(host: &str, port: u16, user: &str, password: &str, ca: Vec<u8>) -> Result<Client> {
    tls::install_crypto_provider();
    let address = ConnectionAddr::TcpTls {
        host: host.to_owned(),
        port,
        insecure: false,
        tls_params: None,
    };
    let settings = RedisConnectionInfo::default().set_username(user).set_password(password);
    let info = address
        .into_connection_info()
        .context("describing the cache")?
        .set_redis_settings(settings);
    Client::build_with_tls(
        info,
        TlsCertificates {
            client_tls: None,
            root_cert: Some(ca),
        },
    )
    .context("preparing TLS for the cache")
}
