//! Opening the operator's sessions. Each is set up in the connection request itself, before the server does anything for it: names mean
//! what the catalog says, and no statement outlives the gate's deadline.

use ramparts_core::{
    failure::{Class, Failure},
    reason::Reason,
};
use tokio_postgres::{Client, Config, Connection, Socket, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    Inner, WORKPLACE,
    failure::failure,
    session::{Deed, Session},
};

/// The oldest release that works as described.
const OLDEST: u32 = 15;

/// Times in milliseconds, all shorter than the gate's deadline, so that the server has given up when we do. `search_path` keeps a
/// tenant's objects from taking the place of the catalog's; JIT would cost more than every query here.
const OPTIONS: &str = "-c search_path=pg_catalog -c statement_timeout=12000 -c lock_timeout=5000 \
    -c idle_in_transaction_session_timeout=14000 -c client_min_messages=warning -c standard_conforming_strings=on -c jit=off";

/// A session that was not opened.
pub(super) struct NotOpened {
    failure: Failure,
    /// The operator is let in, but there is no such database, or it takes no connections.
    pub(super) closed: bool,
}

impl From<NotOpened> for Failure {
    fn from(not: NotOpened) -> Self {
        not.failure
    }
}

impl Inner {
    /// A session in the operator's own database. That it is missing on an enrolled server is for a person to know about.
    pub(super) async fn workplace(&self) -> Result<Session, Failure> {
        self.open(WORKPLACE).await.map_err(|not| {
            if !not.closed {
                return not.failure;
            }
            let message = format!(
                "server {} has no database {WORKPLACE} that takes connections: it is not enrolled, or somebody dropped or closed it",
                self.name
            );
            Failure::blocked(Reason::NotEnrolled, message)
        })
    }

    /// A session of the operator in that database.
    pub(super) async fn open(&self, database: &str) -> Result<Session, NotOpened> {
        let mut closed = false;
        let doing = format!(
            "connecting to {database} on server {} ({}) as {}",
            self.name, self.endpoint, self.user
        );
        let deed = Deed {
            operation: "connect",
            target: database,
            doing: &doing,
        };
        let opened = self
            .gate
            .pass(deed.call(), self.enter(database, &doing, &mut closed))
            .await;
        opened.map_err(|failure| NotOpened { failure, closed })
    }

    async fn enter(&self, database: &str, doing: &str, closed: &mut bool) -> Result<Session, Failure> {
        let password = self.admin_password().await?;
        let mut config = self.config(&self.user, &password, database);
        config.options(OPTIONS);
        let (client, connection) = connected(&config, self.tls().await?).await.map_err(|error| {
            let code = error.code();
            let missing = [SqlState::UNDEFINED_DATABASE, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE];
            *closed = code.is_some_and(|code| missing.contains(code));
            if code == Some(&SqlState::INVALID_PASSWORD) {
                let message = format!("{doing}: its password is refused (28P01); it is read again at the next attempt");
                return Failure::blocked(Reason::AccessDenied, message);
            }
            failure(doing, &error)
        })?;
        let version = connection.parameter("server_version").and_then(major);
        let session = Session {
            client,
            // What ended it, the session's user hears as well.
            task: tokio::spawn(async { drop(connection.await) }).abort_handle(),
            gate: self.gate.clone(),
            version: version.unwrap_or_default(),
            settled: true,
        };
        if session.version < OLDEST {
            let version = version.map_or("no release we know".to_owned(), |version| {
                format!("PostgreSQL {version}")
            });
            let message = format!(
                "server {} is {version}; {OLDEST} is the oldest that is supported",
                self.name
            );
            return Err(Failure {
                class: Class::Blocked,
                reason: Reason::NotSupported,
                message,
            });
        }
        Ok(session)
    }
}

type Connected = (
    Client,
    Connection<Socket, <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream>,
);

/// The password is in this configuration: it goes no further than here.
pub(super) async fn connected(config: &Config, tls: MakeRustlsConnect) -> Result<Connected, tokio_postgres::Error> {
    config.connect(tls).await
}

/// `15.18 (Debian 15.18-1)`, `18beta1`
fn major(version: &str) -> Option<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_release_is_what_stands_before_anything_else() {
        for (text, release) in [
            ("15.18 (Debian 15.18-1)", Some(15)),
            ("18beta1", Some(18)),
            ("18", Some(18)),
            ("devel", None),
        ] {
            assert_eq!(major(text), release, "{text}");
        }
    }
}
