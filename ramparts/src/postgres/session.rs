//! One session of the operator. It knows whether its last call ended: one that was given up on is never used again, and neither is what
//! hung on it, such as a lock.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use ramparts_core::{failure::Failure, observed::Layer, reason::Reason};
use tokio::task::AbortHandle;
use tokio_postgres::{
    Client, Row,
    error::{DbError, Severity},
    types::{ToSql, Type},
};

use super::{
    Inner,
    failure::failure,
    guard::{Closed, Guard},
};
use crate::gate::{Call, Gate};

/// How long the one kept session may stay unused.
const IDLE: Duration = Duration::from_mins(1);

pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// What is being done, for counting, for words and for errors.
#[derive(Clone, Copy)]
pub(super) struct Deed<'a> {
    pub operation: &'static str,
    /// The name of what it is done to.
    pub target: &'a str,
    /// `creating login acme_api on server main`
    pub doing: &'a str,
}

impl<'a> Deed<'a> {
    pub(super) fn call(&self) -> Call<'a> {
        Call {
            layer: Layer::Database,
            operation: self.operation,
            target: self.target,
        }
    }
}

pub(super) struct Session {
    pub(super) client: Client,
    pub(super) task: AbortHandle,
    pub(super) gate: Gate,
    /// The major release.
    pub(super) version: u32,
    /// No call is under way, and none was given up on.
    pub(super) settled: bool,
}

impl Session {
    /// It can no longer be used, and whatever the server kept for it is gone or going.
    pub(super) fn is_lost(&self) -> bool {
        !self.settled || self.client.is_closed()
    }

    /// A query without effect. One round trip.
    pub(super) async fn rows(
        &mut self,
        deed: Deed<'_>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        self.begin(deed)?;
        let Self {
            client, gate, settled, ..
        } = self;
        let work = async {
            let rows = client.query_typed(sql, parameters).await;
            *settled = !rows.as_ref().is_err_and(ends_session);
            rows.map_err(|error| failure(deed.doing, &error))
        };
        gate.pass(deed.call(), work).await
    }

    /// One statement that cannot be in a transaction.
    pub(super) async fn run(&mut self, deed: Deed<'_>, sql: &str) -> Result<(), Failure> {
        self.begin(deed)?;
        let Self {
            client, gate, settled, ..
        } = self;
        let work = async {
            let done = client.batch_execute(sql).await;
            *settled = !done.as_ref().is_err_and(ends_session);
            done.map_err(|error| failure(deed.doing, &error))
        };
        gate.pass(deed.call(), work).await
    }

    /// All or nothing: first the guards look, in the same transaction, whether what is to be changed is ours.
    pub(super) async fn transact(&mut self, deed: Deed<'_>, guards: &[Guard<'_>], sql: &str) -> Result<(), Failure> {
        self.transact_until(deed, guards, sql, None).await
    }

    /// The same, and kept only if the database is closed in the end.
    pub(super) async fn transact_until(
        &mut self,
        deed: Deed<'_>,
        guards: &[Guard<'_>],
        sql: &str,
        end: Option<Closed<'_>>,
    ) -> Result<(), Failure> {
        self.begin(deed)?;
        let Self {
            client, gate, settled, ..
        } = self;
        let work = async {
            let done = transaction(client, deed, guards, sql, end).await;
            *settled = true;
            done
        };
        gate.pass(deed.call(), work).await
    }

    /// Unsettled until the answer is there: a call that is dropped half way leaves it so.
    fn begin(&mut self, deed: Deed<'_>) -> Result<(), Failure> {
        if self.is_lost() {
            let message = format!(
                "{}: the session to the server was lost; the next pass opens another",
                deed.doing
            );
            return Err(Failure::transient(Reason::DatabaseUnreachable, message));
        }
        self.settled = false;
        Ok(())
    }
}

/// The server's last word on a session comes before the connection is seen to close.
fn ends_session(error: &tokio_postgres::Error) -> bool {
    let fatal = |severity| matches!(severity, Severity::Fatal | Severity::Panic);
    error
        .as_db_error()
        .and_then(DbError::parsed_severity)
        .is_some_and(fatal)
}

async fn transaction(
    client: &mut Client,
    deed: Deed<'_>,
    guards: &[Guard<'_>],
    sql: &str,
    end: Option<Closed<'_>>,
) -> Result<(), Failure> {
    let failed = |error| failure(deed.doing, &error);
    let transaction = client.transaction().await.map_err(failed)?;
    for guard in guards {
        guard.check(&transaction, deed.doing).await?;
    }
    transaction.batch_execute(sql).await.map_err(failed)?;
    if let Some(closed) = end {
        closed.check(&transaction, deed.doing).await?;
    }
    transaction.commit().await.map_err(failed)
}

impl Drop for Session {
    /// A settled session takes its leave; from one that hangs, the socket is taken away.
    fn drop(&mut self) {
        if !self.settled {
            self.task.abort();
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("version", &self.version)
            .field("settled", &self.settled)
            .finish_non_exhaustive()
    }
}

/// At most one session in the workplace, kept between looks so that a sweep does not log in for each tenant.
#[derive(Default)]
pub(super) struct Idle {
    kept: Option<(Session, Instant)>,
    /// A task is waiting to let go of what is kept.
    watched: bool,
}

impl Inner {
    /// The kept session, if it is still good.
    pub(super) fn kept(&self) -> Option<Session> {
        let (session, since) = self.idle().kept.take()?;
        (!session.is_lost() && since.elapsed() < IDLE).then_some(session)
    }

    /// Keeps a session for the next look, if it is in order and none is kept yet.
    pub(super) fn keep(self: &Arc<Self>, session: Session) {
        let mut idle = self.idle();
        if session.is_lost() || idle.kept.is_some() {
            return;
        }
        idle.kept = Some((session, Instant::now()));
        if !std::mem::replace(&mut idle.watched, true) {
            let server = Arc::downgrade(self);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(IDLE).await;
                    let Some(server) = server.upgrade() else { return };
                    if server.let_go() {
                        return;
                    }
                }
            });
        }
    }

    /// Ends a session that was not used for long; says whether nothing is kept any more.
    fn let_go(&self) -> bool {
        let mut idle = self.idle();
        if idle.kept.as_ref().is_some_and(|(_, since)| since.elapsed() >= IDLE) {
            idle.kept = None;
        }
        idle.watched = idle.kept.is_some();
        !idle.watched
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
