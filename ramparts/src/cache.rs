//! The proof at a cache: a login over verified TLS with the very credential that pods will use, and a harmless read under its own
//! prefix. It changes nothing. A refusal, a missing permission and a cache that cannot be reached are three different answers.

use std::{error::Error, io, sync::Arc, time::Duration};

use ramparts_core::{
    failure::{Class, Failure},
    name::CacheUser,
    observed::Layer,
    reason::Reason,
    secret::Secret,
    settings::Endpoint,
};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisError, ServerErrorKind,
    TlsCertificates, aio::MultiplexedConnection,
};

use crate::gate::{Call, Gate};

/// How long a connection, TLS included, may take to be made; there are two tries within the gate's deadline.
const CONNECT: Duration = Duration::from_secs(4);

/// How long a command may take.
const ANSWER: Duration = Duration::from_secs(3);

/// Logs in as `user` and reads below `prefix`. `ca` is the file of the authority that the cache's certificate is checked against;
/// without one it is the system's.
pub async fn prove(
    gate: &Gate,
    endpoint: &Endpoint,
    ca: Option<&str>,
    user: &CacheUser,
    password: &Secret,
    prefix: &str,
) -> Result<(), Failure> {
    let call = Call {
        layer: Layer::Cache,
        operation: "prove",
        target: user.as_str(),
    };
    gate.pass(call, async {
        let mut connection = connect(endpoint, ca).await?;
        let refused = |error: &RedisError| refused(endpoint, user, error);
        let login = command("AUTH", &[user.as_str(), password.expose()]);
        login
            .query_async::<()>(&mut connection)
            .await
            .map_err(|error| refused(&error))?;
        command("PING", &[])
            .query_async::<()>(&mut connection)
            .await
            .map_err(|error| refused(&error))?;
        let key = format!("{prefix}ramparts");
        match command("EXISTS", &[&key]).query_async::<i64>(&mut connection).await {
            Ok(_) => Ok(()),
            // A cluster checks permission before it looks where a key lives.
            Err(error) if lives_elsewhere(&error) => Ok(()),
            Err(error) => Err(refused(&error)),
        }
    })
    .await
}

fn command(name: &str, arguments: &[&str]) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(arguments);
    command
}

/// A connection that nobody has logged in on. One that cannot be made is tried once more: a cache that fails over is back soon.
async fn connect(endpoint: &Endpoint, ca: Option<&str>) -> Result<MultiplexedConnection, Failure> {
    let client = client(endpoint, ca).await?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER));
    let once = || client.get_multiplexed_async_connection_with_config(&config);
    match once().await.map_err(|error| unreachable(endpoint, &error)) {
        Err(failure) if failure.class == Class::Transient => {
            tokio::time::sleep(Duration::from_millis(200)).await;
            once().await.map_err(|error| unreachable(endpoint, &error))
        }
        first => first,
    }
}

async fn client(endpoint: &Endpoint, ca: Option<&str>) -> Result<Client, Failure> {
    install_crypto_provider();
    let blocked = |what: String| {
        Failure::blocked(
            Reason::CacheUnreachable,
            format!("connecting to cache {endpoint}: {what}"),
        )
    };
    let root_cert = match ca {
        Some(file) => Some(
            tokio::fs::read(file)
                .await
                .map_err(|error| blocked(format!("reading {file}: {error}")))?,
        ),
        None => None,
    };
    let address = ConnectionAddr::TcpTls {
        host: endpoint.host.clone(),
        port: endpoint.port,
        insecure: false,
        tls_params: None,
    };
    let info = address
        .into_connection_info()
        .map_err(|error| blocked(error.to_string()))?;
    // The client would tell the server its name before it has logged in.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert,
    };
    Client::build_with_tls(info.set_redis_settings(settings), certificates)
        .map_err(|error| blocked(format!("TLS cannot be prepared: {error}")))
}

/// Makes aws-lc-rs the process's cryptography, if nobody has chosen one yet.
fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error only means that another thread was faster.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}

fn unreachable(endpoint: &Endpoint, error: &RedisError) -> Failure {
    if let Some(rustls::Error::InvalidCertificate(why)) = tls(error) {
        let message = format!(
            "connecting to cache {endpoint}: TLS: its certificate is not trusted: {why}; the login is not tried"
        );
        return Failure::blocked(Reason::CacheUnreachable, message);
    }
    Failure::transient(
        Reason::CacheUnreachable,
        format!("connecting to cache {endpoint}: {error}"),
    )
}

/// The TLS error at the bottom of a connection error. The client keeps it in an `Arc`, which the chain of sources steps over.
fn tls(error: &RedisError) -> Option<&rustls::Error> {
    let shared = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    shared.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()
}

/// What an answer to the login or to a command after it means. Only code and text of the server are repeated, which never hold the
/// password.
fn refused(endpoint: &Endpoint, user: &CacheUser, error: &RedisError) -> Failure {
    let doing = format!("logging in to cache {endpoint} as {user}");
    let said = error.detail().unwrap_or_default();
    match (error.code(), error.kind()) {
        (Some(code @ ("WRONGPASS" | "NOAUTH")), _) => {
            Failure::blocked(Reason::LoginRefused, format!("{doing}: {code}: {said}"))
        }
        (_, ErrorKind::Server(ServerErrorKind::NoPerm)) => Failure::blocked(
            Reason::AccessDenied,
            format!("{doing}: the password is right and the user may not read its own keys: NOPERM: {said}"),
        ),
        (Some(code), _) => Failure::transient(Reason::CacheUnreachable, format!("{doing}: {code}: {said}")),
        (None, _) => Failure::transient(Reason::CacheUnreachable, format!("{doing}: {}", error.category())),
    }
}

fn lives_elsewhere(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask)
    )
}
