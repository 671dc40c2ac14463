//! The parts of the stack, started together in one folder, and gone together when it is dropped or when the program dies.

use crate::aws::Aws;
use crate::cluster::Cluster;
use crate::folder::{self, Folder};
use crate::postgres::{Postgres, Version};
use crate::redis::Redis;
use crate::site::Site;
use crate::tls::Authority;
use crate::tools::Tools;
use anyhow::{Context, Result, anyhow};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::{self, Runtime};
use tokio::sync::OnceCell;

/// The `ElastiCache` user group that is there from the beginning, as an administrator would have made it.
pub const USER_GROUP: &str = "demo";

/// The order of the fields is the order in which they end: the folder goes when nothing writes to it any more.
#[derive(Debug)]
pub struct Stack {
    pub kube: Part<Cluster>,
    pub aws: Part<Aws>,
    pub redis: Part<Redis>,
    pub postgres: Part<Postgres>,
    authority: Authority,
    tools: Tools,
    folder: Folder,
}

impl Stack {
    /// Everything, with the newest PostgreSQL.
    pub async fn start() -> Result<Self> {
        Self::builder().everything(Version::default()).start().await
    }

    /// One stack for all tests of a program, started by whoever asks first. It ends with the program.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<Stack> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The certificate authority that the stack's servers are signed by.
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// An authority that has nothing to do with this stack: who trusts it must refuse every server of the stack.
    pub fn strange_ca(&self) -> PathBuf {
        self.folder.path().join("strange-ca.pem")
    }

    /// One more PostgreSQL server, in a folder of the stack's with this name.
    pub async fn another_postgres(&self, name: &str, version: Version) -> Result<Postgres> {
        let directory = self.folder.path().join(name);
        Postgres::start(
            Site {
                tools: &self.tools,
                authority: &self.authority,
                directory: &directory,
            },
            version,
        )
        .await
    }
}

/// A part of the stack that was asked for. To use one that was not is a mistake in the caller, and panics.
#[derive(Debug)]
pub struct Part<T>(Option<T>);

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
            .as_ref()
            .expect("the stack's builder was asked for the part that is used here")
    }
}

impl<T> Part<T> {
    /// The part, if this stack has it.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// Which parts to start, and where. It starts as an empty stack.
#[derive(Clone, Default)]
pub struct Builder {
    kube: bool,
    postgres: Option<Version>,
    redis: bool,
    aws: bool,
    directory: Option<PathBuf>,
    progress: Option<Progress>,
}

impl Builder {
    #[must_use]
    pub fn everything(self, version: Version) -> Self {
        self.kube().postgres(version).redis().aws()
    }

    #[must_use]
    pub fn kube(mut self) -> Self {
        self.kube = true;
        self
    }

    #[must_use]
    pub fn postgres(mut self, version: Version) -> Self {
        self.postgres = Some(version);
        self
    }

    #[must_use]
    pub fn redis(mut self) -> Self {
        self.redis = true;
        self
    }

    /// SSM and ElastiCache. If there is a Redis as well, the users made in ElastiCache can log in to it.
    #[must_use]
    pub fn aws(mut self) -> Self {
        self.aws = true;
        self
    }

    /// A folder of the caller's choice instead of a temporary one. It is removed at the end all the same.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Is told one line for every part that is ready.
    #[must_use]
    pub fn progress(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(tell));
        self
    }

    /// Starts all parts at once. If one fails, the others end with it.
    pub async fn start(self) -> Result<Stack> {
        background()?
            .spawn(self.assemble())
            .await
            .context("starting the stack")?
    }

    async fn assemble(self) -> Result<Stack> {
        crate::tls::install_crypto_provider();
        let tools = Tools::locate()?;
        let folder = self.directory.as_deref().map_or_else(Folder::temporary, Folder::at)?;
        let authority = Authority::new("Ramparts sandbox")?;
        let path = folder.path();
        folder::write(&path.join("ca.pem"), &authority.pem(), 0o644)?;
        folder::write(
            &path.join("strange-ca.pem"),
            &Authority::new("Somebody else")?.pem(),
            0o644,
        )?;

        let site = |directory| Site {
            tools: &tools,
            authority: &authority,
            directory,
        };
        // The names are short because a Unix socket's path must be.
        let (kube, postgres, redis) = (path.join("kube"), path.join("pg"), path.join("redis"));
        let (kube, postgres, (redis, aws)) = tokio::try_join!(
            self.timed("kube-apiserver", self.kube.then(|| Cluster::start(site(&kube)))),
            self.timed(
                "PostgreSQL",
                self.postgres.map(|version| Postgres::start(site(&postgres), version))
            ),
            self.start_caches(site(&redis)),
        )?;
        let stack = Stack {
            kube: Part(kube),
            aws: Part(aws),
            redis: Part(redis),
            postgres: Part(postgres),
            authority,
            tools,
            folder,
        };
        stack.write_files()?;
        Ok(stack)
    }

    /// Redis, then the AWS sandbox, which governs its users from its first moment on.
    async fn start_caches(&self, site: Site<'_>) -> Result<(Option<Redis>, Option<Aws>)> {
        let redis = self.timed("Redis", self.redis.then(|| Redis::start(site))).await?;
        let admin = redis.as_ref().map(Redis::admin);
        let aws = async {
            let aws = Aws::start(admin).await?;
            aws.create_user_group(USER_GROUP)?;
            Ok(aws)
        };
        let aws = self.timed("the AWS sandbox", self.aws.then_some(aws)).await?;
        Ok((redis, aws))
    }

    async fn timed<T>(&self, name: &str, start: Option<impl Future<Output = Result<T>>>) -> Result<Option<T>> {
        let Some(start) = start else { return Ok(None) };
        let begun = Instant::now();
        let server = start.await.with_context(|| format!("starting {name}"))?;
        if let Some(tell) = &self.progress {
            tell(&format!("{name} is ready ({})", seconds(begun.elapsed())));
        }
        Ok(Some(server))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kube,
            postgres,
            redis,
            aws,
            directory,
            progress: _,
        } = self;
        let mut text = f.debug_struct("Builder");
        text.field("kube", kube)
            .field("postgres", postgres)
            .field("redis", redis)
            .field("aws", aws);
        text.field("directory", directory).finish_non_exhaustive()
    }
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A runtime that lives as long as the program. A stack that is shared between tests must not hang on the runtime of the test that came first.
fn background() -> Result<&'static Runtime> {
    static BACKGROUND: OnceLock<Option<Runtime>> = OnceLock::new();
    let build = || {
        runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("sandbox")
            .enable_all()
            .build()
            .ok()
    };
    BACKGROUND
        .get_or_init(build)
        .as_ref()
        .ok_or_else(|| anyhow!("the sandbox's own runtime could not be started"))
}
