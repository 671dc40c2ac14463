//! A tenant's lock: a session in the operator's own database, where no tenant can take locks. Every write of a pass runs on that very
//! session, so that who has lost the lock cannot write any more.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use ramparts_core::{failure::Failure, name::TenantName, reason::Reason};
use tokio_postgres::types::Type;

use super::{
    Inner, Server,
    guard::Whose,
    session::{Deed, Session},
};

/// How long to wait for another pass over the same tenant.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// Every holder asks the same server for the hash, so it need not be the same anywhere else.
const TAKE: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
const GIVE: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";

/// Held until it is released or dropped.
pub struct TenantLock {
    pub(super) server: Arc<Inner>,
    pub(super) tenant: TenantName,
    pub(super) session: Session,
}

impl Server {
    /// Waits a few seconds for the tenant's lock.
    pub async fn lock(&self, tenant: &TenantName) -> Result<TenantLock, Failure> {
        let inner = &self.0;
        if let Some(session) = inner.kept() {
            let mut lock = TenantLock {
                server: inner.clone(),
                tenant: tenant.clone(),
                session,
            };
            let taken = lock.take().await;
            if !lock.session.is_lost() {
                return taken.map(|()| lock);
            }
        }
        let session = inner.workplace().await?;
        let mut lock = TenantLock {
            server: inner.clone(),
            tenant: tenant.clone(),
            session,
        };
        lock.take().await.map(|()| lock)
    }
}

impl TenantLock {
    async fn take(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        while !self.ask("lock", TAKE).await? {
            if begun.elapsed() > PATIENCE {
                let message = format!(
                    "tenant {} on server {} is being worked on by another pass; the next pass tries again",
                    self.tenant, self.server.name
                );
                return Err(Failure::transient(Reason::Locked, message));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Lets the next one in, and keeps the session for the next look.
    pub async fn release(mut self) {
        match self.ask("unlock", GIVE).await {
            Ok(true) => self.server.clone().keep(self.session),
            // The session ends here, and the lock with it.
            Ok(false) => tracing::error!(tenant = %self.tenant, "the lock was not held when it was released"),
            Err(failure) => tracing::debug!(tenant = %self.tenant, %failure, "the lock goes with its session"),
        }
    }

    async fn ask(&mut self, operation: &'static str, sql: &str) -> Result<bool, Failure> {
        let doing = format!(
            "asking for the {operation} of tenant {} on server {}",
            self.tenant, self.server.name
        );
        let deed = Deed {
            operation,
            target: self.tenant.as_str(),
            doing: &doing,
        };
        let key = format!("ramparts/{}/{}", self.server.installation, self.tenant);
        let rows = self.session.rows(deed, sql, &[(&key, Type::TEXT)]).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    pub(super) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(super) fn whose(&self) -> Whose<'_> {
        Whose {
            installation: &self.server.installation,
            tenant: &self.tenant,
        }
    }

    /// A lock of one tenant allows nothing on another's things.
    pub(super) fn is_for(&self, tenant: &TenantName) -> Result<(), Failure> {
        if *tenant == self.tenant {
            return Ok(());
        }
        Err(Failure::defect(format!(
            "the lock of tenant {} was used to change tenant {tenant}",
            self.tenant
        )))
    }
}

impl fmt::Debug for TenantLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantLock({} on server {})", self.tenant, self.server.name)
    }
}
