//! A PostgreSQL server of the stack, as an operator meets it on RDS: TCP only over TLS, passwords only as SCRAM, and an admin that may create roles
//! and databases but is no superuser. The superuser exists for tests alone, behind a Unix socket in the server's folder.

use crate::folder;
use crate::ports;
use crate::process::{Account, Farewell, Launch, Process};
use crate::secret::Secret;
use crate::site::Site;
use crate::tls::{self, Authority};
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The admin's role name; see [`Postgres::admin_password`].
pub const ADMIN: &str = "ramparts";
const SUPERUSER: &str = "postgres";
const READY_WITHIN: Duration = Duration::from_mins(1);
/// The kernel's limit for the path of a Unix socket, less the name that PostgreSQL appends.
const LONGEST_SOCKET_FOLDER: usize = 107 - "/.s.PGSQL.65535.lock".len();

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Version {
    #[value(name = "15")]
    V15,
    #[default]
    #[value(name = "18")]
    V18,
}

impl Version {
    pub fn major(self) -> u32 {
        match self {
            Self::V15 => 15,
            Self::V18 => 18,
        }
    }
}

#[derive(Debug)]
pub struct Postgres {
    tools: Tools,
    directory: PathBuf,
    root: PathBuf,
    account: Option<Account>,
    version: Version,
    port: u16,
    admin_password: Secret,
    ca_pem: String,
    /// None while an outage is played.
    process: Mutex<Option<Process>>,
}

impl Postgres {
    pub async fn start(site: Site<'_>, version: Version) -> Result<Self> {
        tls::install_crypto_provider();
        if site.directory.as_os_str().len() > LONGEST_SOCKET_FOLDER {
            bail!(
                "{} is too long a path for a Unix socket: choose a shorter folder",
                site.directory.display()
            );
        }
        let account = Account::unprivileged()?;
        folder::part(site.directory, account.as_ref())?;
        let mut server = Self {
            tools: site.tools.clone(),
            directory: site.directory.to_owned(),
            root: site.tools.postgres(version.major())?,
            account,
            version,
            port: 0,
            admin_password: Secret::random(),
            ca_pem: site.authority.pem(),
            process: Mutex::new(None),
        };
        server.initialise(site.authority).await?;
        server.start_on_a_free_port().await?;
        server.create_admin().await?;
        Ok(server)
    }

    pub fn version(&self) -> Version {
        self.version
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

    /// The password of the role [`ADMIN`].
    pub fn admin_password(&self) -> &Secret {
        &self.admin_password
    }

    /// Every statement that the server was sent, and every connection, is in here.
    pub fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    /// Where the superuser's Unix socket is: what `psql -h` takes.
    pub fn socket_folder(&self) -> &Path {
        &self.directory
    }

    /// A session of the superuser, over the socket.
    pub async fn superuser(&self) -> Result<Client> {
        self.superuser_in("postgres").await
    }

    pub async fn superuser_in(&self, database: &str) -> Result<Client> {
        let mut config = Config::new();
        config
            .host_path(&self.directory)
            .port(self.port)
            .user(SUPERUSER)
            .dbname(database);
        let (client, connection) = config
            .connect(NoTls)
            .await
            .with_context(|| format!("connecting to {database} as the superuser"))?;
        // The task ends with the session; what ended it, the session's user hears as well.
        tokio::spawn(connection);
        Ok(client)
    }

    /// A session of the admin, as the operator has it: over TLS, the server's chain and name verified.
    pub async fn admin(&self) -> Result<Client> {
        self.login(ADMIN, self.admin_password.expose(), "postgres")
            .await
            .context("connecting as the admin")
    }

    /// A session of any role, over TLS. The error is the server's own, so that its code can be looked at.
    pub async fn login(&self, user: &str, password: &str, database: &str) -> Result<Client, LoginError> {
        let tls = tls::client_config(&self.ca_pem).map_err(LoginError::Tls)?;
        let mut config = self.config();
        config.user(user).password(password).dbname(database);
        let (client, connection) = config.connect(MakeRustlsConnect::new(tls)).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Host, port and the demand for TLS; who and where to is the caller's.
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .host(self.host())
            .port(self.port)
            .ssl_mode(SslMode::Require)
            .connect_timeout(Duration::from_secs(5));
        config
    }

    /// Plays an outage: sessions are cut and the port refuses. Data, port and passwords stay for [`Self::restart`].
    pub async fn stop(&self) -> Result<()> {
        let process = self.process().take();
        match process {
            Some(process) => process.stop(Signal::INT).await,
            None => Ok(()),
        }
    }

    /// Ends the outage, on the same port with the same data.
    pub async fn restart(&self) -> Result<()> {
        self.stop().await?;
        let process = self.run(self.port).await?;
        *self.process() = Some(process);
        Ok(())
    }

    /// Plays a server that no longer answers: new connections hang, open sessions go on, until [`Self::thaw`].
    pub fn freeze(&self) -> Result<()> {
        self.process().as_ref().map_or(Ok(()), Process::freeze)
    }

    pub fn thaw(&self) -> Result<()> {
        self.process().as_ref().map_or(Ok(()), Process::thaw)
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn launch(&self, name: &'static str, args: Vec<std::ffi::OsString>, log: &str, farewell: Farewell) -> Launch {
        Launch {
            name,
            program: self.root.join("bin").join(name),
            args,
            env: Vec::new(),
            directory: self.directory.clone(),
            log: self.directory.join(log),
            account: self.account.clone(),
            farewell,
        }
    }

    async fn initialise(&self, authority: &Authority) -> Result<()> {
        let mut args: Vec<std::ffi::OsString> = vec!["--pgdata".into(), self.data().into()];
        let options = [
            "--username=postgres",
            "--auth=scram-sha-256",
            "--auth-local=trust",
            "--encoding=UTF8",
        ];
        args.extend(options.iter().map(Into::into));
        args.extend(["--no-locale", "--no-sync", "--no-instructions"].iter().map(Into::into));
        let launch = self.launch("initdb", args, "initdb.log", Farewell::Kill);
        Process::spawn(&self.tools, launch)?.success().await?;

        let (certificate, key) = (self.directory.join("server.crt"), self.directory.join("server.key"));
        authority.issue(&tls::NAMES)?.write(&certificate, &key)?;
        let (settings, access) = (
            self.directory.join("postgresql.conf"),
            self.directory.join("pg_hba.conf"),
        );
        folder::write(&settings, &self.settings(), 0o600)?;
        folder::write(&access, ACCESS, 0o600)?;
        if let Some(account) = &self.account {
            for file in [&certificate, &key, &settings, &access] {
                account.give(file)?;
            }
        }
        Ok(())
    }

    /// Durability is off: a machine that goes down takes the stack with it anyway. That a *process* dies loses nothing.
    fn settings(&self) -> String {
        let directory = self.directory.display();
        format!(
            "data_directory = '{directory}/data'
hba_file = '{directory}/pg_hba.conf'
ident_file = '{directory}/data/pg_ident.conf'
unix_socket_directories = '{directory}'
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = 32MB
# Its files go with the folder, unlike those in /dev/shm.
dynamic_shared_memory_type = mmap
password_encryption = 'scram-sha-256'
ssl = on
ssl_cert_file = '{directory}/server.crt'
ssl_key_file = '{directory}/server.key'
fsync = off
synchronous_commit = off
full_page_writes = off
log_statement = all
log_connections = on
log_line_prefix = '%m [%p] %q%u@%d '
"
        )
    }

    async fn start_on_a_free_port(&mut self) -> Result<()> {
        let mut claim = ports::Claim::new("PostgreSQL");
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
        let settings = self.directory.join("postgresql.conf");
        let mut option = std::ffi::OsString::from("--config-file=");
        option.push(settings);
        let args = vec![option, "-p".into(), port.to_string().into()];
        let mut process = Process::spawn(&self.tools, self.launch("postgres", args, "server.log", Farewell::Quit))?;
        process
            .wait_until(READY_WITHIN, || async { self.superuser().await.map(drop) })
            .await?;
        Ok(process)
    }

    async fn create_admin(&self) -> Result<()> {
        let superuser = self.superuser().await?;
        // The log is searched for passwords by those who promise that none is in it.
        superuser
            .batch_execute("SET log_statement = 'none'")
            .await
            .context("keeping the admin's password out of the log")?;
        let sql = format!(
            "CREATE ROLE {ADMIN} LOGIN CREATEROLE CREATEDB NOSUPERUSER NOREPLICATION NOBYPASSRLS PASSWORD '{}'",
            self.admin_password.expose()
        );
        superuser.batch_execute(&sql).await.context("creating the admin")
    }
}

/// There is no line for plaintext over TCP, so it is refused.
const ACCESS: &str = "local   all postgres              trust
hostssl all all      127.0.0.1/32 scram-sha-256
";

#[derive(Debug)]
pub enum LoginError {
    Tls(anyhow::Error),
    Refused(tokio_postgres::Error),
}

impl LoginError {
    /// The server's code for the refusal, if it was the server that refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Tls(_) => None,
            Self::Refused(error) => error.code().map(tokio_postgres::error::SqlState::code),
        }
    }
}

impl From<tokio_postgres::Error> for LoginError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Refused(error)
    }
}

impl std::fmt::Display for LoginError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tls(error) => write!(f, "preparing TLS: {error:#}"),
            Self::Refused(error) => write!(f, "logging in: {error}"),
        }
    }
}

impl std::error::Error for LoginError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tls(error) => error.source(),
            Self::Refused(error) => error.source(),
        }
    }
}
