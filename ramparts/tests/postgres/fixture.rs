//! A server of each release for all tests, enrolled once; a second one that tests of enrolment empty and share in turn; and a tenant,
//! provisioned as far as a test wants it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use ramparts::{
    gate::Gate,
    metrics::Metrics,
    postgres::{Server, TenantLock},
};
use ramparts_core::{
    failure::{Class, Failure},
    name::{Access, AppName, DatabaseName, Installation, RecordNo, RoleName, Short, TargetName, TenantName},
    observed::{DatabaseView, LoginSeen, Presence},
    reason::Reason,
    secret::{Password, Secret},
    settings::{Database, Endpoint, PasswordSource},
};
use rand::distr::{Alphanumeric, SampleString};
use sandbox::{Postgres, Stack, Version, postgres::ADMIN};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Mutex, MutexGuard, OnceCell, watch},
};
use tokio_postgres::{Client, error::SqlState};

pub const ID: &str = "5f0c-9a";
pub const LAYOUT: u32 = 1;

pub fn installation() -> Installation {
    Installation::parse("prod").unwrap()
}

pub fn first() -> RecordNo {
    RecordNo::FIRST
}

/// A password such as the ledger holds.
pub fn password() -> Secret {
    Password::seal(&Alphanumeric.sample_string(&mut rand::rng(), Password::BODY)).unwrap()
}

/// The stack of that release; its own server is enrolled, its second one is for whoever holds the lock.
struct Shared {
    stack: Stack,
    blank: Mutex<Postgres>,
}

async fn shared(version: Version) -> &'static Shared {
    static V15: OnceCell<Shared> = OnceCell::const_new();
    static V18: OnceCell<Shared> = OnceCell::const_new();
    let cell = if version == Version::V15 { &V15 } else { &V18 };
    cell.get_or_init(|| async {
        let stack = Stack::builder().postgres(version).start().await.unwrap();
        let blank = stack.another_postgres("pg2", version).await.unwrap();
        let server = server_at(&stack, &stack.postgres);
        server.mark_enrolling(ID).await.unwrap();
        server.confirm_enrolled(ID).await.unwrap();
        Shared {
            stack,
            blank: Mutex::new(blank),
        }
    })
    .await
}

/// The settings under which the operator reaches a server.
pub fn settings(stack: &Stack, postgres: &Postgres) -> Database {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let file = stack
        .directory()
        .join(format!("admin-{}", FILES.fetch_add(1, Ordering::Relaxed)));
    fs::write(&file, format!("{}\n", postgres.admin_password().expose())).unwrap();
    Database {
        endpoint: Endpoint::parse(&postgres.endpoint()).unwrap(),
        admin_user: ADMIN.to_owned(),
        admin_password: PasswordSource::File(file.display().to_string()),
        ca: Some(stack.ca().display().to_string()),
    }
}

pub fn open(settings: &Database) -> Result<Server, Failure> {
    Server::new(
        TargetName::parse("main").unwrap(),
        settings,
        installation(),
        Gate::new(Arc::default()),
    )
}

fn server_at(stack: &Stack, postgres: &Postgres) -> Server {
    open(&settings(stack, postgres)).unwrap()
}

/// A server on which nothing of ours is, for as long as this is held.
pub struct Blank {
    pub stack: &'static Stack,
    pub postgres: MutexGuard<'static, Postgres>,
    pub server: Server,
    pub superuser: Client,
}

pub async fn blank(version: Version) -> Blank {
    let shared = shared(version).await;
    let postgres = shared.blank.lock().await;
    let superuser = postgres.superuser().await.unwrap();
    for statement in [
        "DROP DATABASE IF EXISTS ramparts WITH (FORCE)",
        "DROP ROLE IF EXISTS ramparts__databases",
        "ALTER ROLE ramparts LOGIN CREATEROLE CREATEDB INHERIT",
        "ALTER ROLE ramparts RESET ALL",
    ] {
        superuser.batch_execute(statement).await.unwrap();
    }
    let server = server_at(&shared.stack, &postgres);
    Blank {
        stack: &shared.stack,
        postgres,
        server,
        superuser,
    }
}

/// A tenant on the enrolled server, with an app of each access.
pub struct Tenant {
    pub stack: &'static Stack,
    pub server: Server,
    pub metrics: Arc<Metrics>,
    pub name: TenantName,
    pub passwords: BTreeMap<Access, Secret>,
}

/// Each test has a tenant of its own name.
pub async fn tenant(version: Version, name: &str) -> Tenant {
    let stack = &shared(version).await.stack;
    let metrics = Arc::<Metrics>::default();
    let main = TargetName::parse("main").unwrap();
    let server = Server::new(
        main,
        &settings(stack, &stack.postgres),
        installation(),
        Gate::new(metrics.clone()),
    );
    Tenant {
        stack,
        server: server.unwrap(),
        metrics,
        name: TenantName::parse(name).unwrap(),
        passwords: Access::ALL.into_iter().map(|access| (access, password())).collect(),
    }
}

/// A tenant with everything.
pub async fn provisioned(version: Version, name: &str) -> Tenant {
    let tenant = tenant(version, name).await;
    let mut lock = tenant.lock().await;
    tenant.make_groups(&mut lock).await.unwrap();
    lock.create_database(&tenant.database()).await.unwrap();
    lock.seal_database(&tenant.name, &tenant.database(), first(), None)
        .await
        .unwrap();
    lock.prepare_database(&tenant.name, &tenant.database(), first(), LAYOUT)
        .await
        .unwrap();
    for access in Access::ALL {
        tenant.make_login(&mut lock, access).await.unwrap();
    }
    lock.release().await;
    tenant
}

pub fn app(access: Access) -> AppName {
    AppName::parse(access.group_suffix()).unwrap()
}

impl Tenant {
    pub fn database(&self) -> DatabaseName {
        DatabaseName::of(&self.name)
    }

    pub fn group(&self, access: Access) -> RoleName {
        RoleName::group(&self.name, access)
    }

    pub fn login(&self, access: Access) -> RoleName {
        RoleName::login(&self.name, &Short::parse(access.group_suffix()).unwrap(), first()).unwrap()
    }

    pub async fn lock(&self) -> TenantLock {
        self.server.lock(&self.name).await.unwrap()
    }

    pub async fn make_groups(&self, lock: &mut TenantLock) -> Result<(), Failure> {
        let groups = Access::ALL.map(|access| (access, self.group(access)));
        lock.create_groups(&self.name, &groups, first()).await
    }

    pub async fn make_login(&self, lock: &mut TenantLock, access: Access) -> Result<(), Failure> {
        let (login, password) = (self.login(access), &self.passwords[&access]);
        lock.create_login(&self.name, &app(access), first(), &login, access, password)
            .await
    }

    pub async fn look(&self) -> DatabaseView {
        let wanted = Access::ALL.map(|access| self.login(access));
        self.server.observe(None, ID, &self.name, &wanted).await.unwrap()
    }

    /// A login of ours as the catalog shows it.
    pub async fn seen(&self, access: Access) -> LoginSeen {
        let view = self.look().await;
        let found = view.login(&self.login(access));
        let Presence::Ours(seen) = found else {
            panic!("{found:?}")
        };
        seen.clone()
    }

    pub async fn prove(&self, access: Access) -> Result<(), Failure> {
        self.server
            .prove(&self.database(), &self.login(access), &self.passwords[&access])
            .await
    }

    /// The app itself, in its tenant's database.
    pub async fn session(&self, access: Access) -> Client {
        self.session_in(access, self.database().as_str()).await.unwrap()
    }

    /// The app itself, wherever it tries to go; else the server's code.
    pub async fn session_in(&self, access: Access, database: &str) -> Result<Client, String> {
        let (login, password) = (self.login(access), &self.passwords[&access]);
        let session = self
            .stack
            .postgres
            .login(login.as_str(), password.expose(), database)
            .await;
        session.map_err(|error| error.code().unwrap_or("none").to_owned())
    }

    pub async fn superuser(&self) -> Client {
        self.stack.postgres.superuser().await.unwrap()
    }

    pub fn log(&self) -> PathBuf {
        self.stack.postgres.log()
    }
}

/// The same server at another address, whose answers can be held back.
pub struct Proxy {
    pub port: u16,
    pub stall: watch::Sender<bool>,
}

impl Proxy {
    pub async fn start(address: &'static str, port: u16) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            stall: watch::Sender::new(false),
        };
        let stalled = proxy.stall.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(forward(client, server, stalled.clone()));
            }
        });
        proxy
    }
}

async fn forward(client: TcpStream, server: TcpStream, mut stalled: watch::Receiver<bool>) {
    let ((mut ask, mut hear), (mut answers, mut asked)) = (client.into_split(), server.into_split());
    let asking = async { drop(tokio::io::copy(&mut ask, &mut asked).await) };
    let answering = async {
        let mut buffer = vec![0; 8192];
        while let Ok(read @ 1..) = answers.read(&mut buffer).await {
            if stalled.wait_for(|stalled| !stalled).await.is_err() || hear.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
    };
    // Whichever side ends, both connections go.
    tokio::select! { () = asking => {}, () = answering => {} }
}

/// One value, as text.
pub async fn text(client: &Client, query: &str) -> Option<String> {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// The code with which the server refuses a statement.
pub async fn refusal(client: &Client, sql: &str) -> SqlState {
    match client.batch_execute(sql).await {
        Ok(()) => panic!("it was allowed: {sql}"),
        Err(error) => error.code().unwrap_or_else(|| panic!("{sql}: {error:?}")).clone(),
    }
}

/// What a failure is, without its words.
pub fn kind(failure: &Failure) -> (Class, Reason) {
    (failure.class, failure.reason)
}
