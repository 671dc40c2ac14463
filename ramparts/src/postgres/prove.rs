//! The proof that a credential opens what it is for: a login with it. The password is judged before anything else, so that a refusal for
//! another reason that comes after it proves the password as well.

use std::time::{Duration, Instant};

use ramparts_core::{
    failure::{Class, Failure},
    name::{DatabaseName, RoleName},
    reason::Reason,
    secret::Secret,
};
use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

use super::{Inner, Server, connect::connected, failure::failure, session::Deed};

/// A connection that breaks once may be a failover; a second one, a moment later, is an answer.
const PAUSE: Duration = Duration::from_millis(200);
/// A server that took longer than this to fail is not asked again in the same pass.
const QUICK: Duration = Duration::from_secs(6);

impl Server {
    /// Logs in. Ok: the server has accepted this password for this login.
    pub async fn prove(&self, database: &DatabaseName, login: &RoleName, password: &Secret) -> Result<(), Failure> {
        let begun = Instant::now();
        match self.0.log_in(database, login, password).await {
            Err(failure) if failure.class == Class::Transient && begun.elapsed() < QUICK => {
                tracing::debug!(server = %self.0.name, %login, %failure, "the proof could not be made; trying once more");
                tokio::time::sleep(PAUSE).await;
                self.0.log_in(database, login, password).await
            }
            judged => judged,
        }
    }
}

impl Inner {
    async fn log_in(&self, database: &DatabaseName, login: &RoleName, password: &Secret) -> Result<(), Failure> {
        let doing = format!(
            "logging in to {database} on server {} ({}) as {login}",
            self.name, self.endpoint
        );
        let deed = Deed {
            operation: "prove-login",
            target: login.as_str(),
            doing: &doing,
        };
        let config = self.config(login.as_str(), password, database.as_str());
        let work = async {
            match connected(&config, self.tls().await?).await {
                Ok((client, connection)) => {
                    drop(client);
                    // Waits until the server has been told: the slot is the tenant's. How that went proves nothing.
                    drop(connection.await);
                    Ok(())
                }
                Err(error) => judge(&doing, &error),
            }
        };
        self.gate.pass(deed.call(), work).await
    }
}

/// What a login that failed says about the password.
fn judge(doing: &str, error: &Error) -> Result<(), Failure> {
    let Some(answer) = error.as_db_error() else {
        return Err(failure(doing, error));
    };
    let code = answer.code();
    if *code == SqlState::INVALID_PASSWORD {
        let message = format!("{doing}: the password is refused ({})", code.code());
        return Err(Failure::blocked(Reason::LoginRefused, message));
    }
    if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && is_about_the_role(answer) {
        let message = format!("{doing}: the login is disabled ({})", code.code());
        return Err(Failure::blocked(Reason::LoginRefused, message));
    }
    if is_after_the_password(answer) {
        tracing::debug!(
            code = code.code(),
            "{doing}: the password was accepted, then the session was refused"
        );
        return Ok(());
    }
    Err(failure(doing, error))
}

/// NOLOGIN. A line of `pg_hba.conf` that is missing has the same code, and says nothing about the login.
fn is_about_the_role(answer: &DbError) -> bool {
    answer.routine() == Some("InitializeSessionUserId")
}

/// The role's or the database's limit, no CONNECT, a database that is missing or takes no connections. A server that has no slot left
/// for anybody has the code of a limit as well, and says so before it looks at a password: the routine tells them apart.
fn is_after_the_password(answer: &DbError) -> bool {
    let codes = [
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_DATABASE,
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
    ];
    let routines = ["InitializeSessionUserId", "CheckMyDatabase", "InitPostgres"];
    codes.contains(answer.code()) && answer.routine().is_some_and(|routine| routines.contains(&routine))
}
