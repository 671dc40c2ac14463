//! The way in: verified TLS, and the operator's password read afresh for every connection. What is put together here is never printed.

use std::{io, sync::Arc, time::Duration};

use ramparts_core::{failure::Failure, name::TargetName, reason::Reason, secret::Secret, settings::PasswordSource};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Inner;

/// For one address of the server; the gate's deadline holds for all of them together.
const CONNECT: Duration = Duration::from_secs(5);
/// A peer that has vanished without a word is given up after this.
const SILENCE: Duration = Duration::from_secs(15);

/// Whom a server's certificate must come from.
pub(super) enum Roots {
    /// The authorities in this file, read at each connection, since authorities are replaced while programs run.
    File(String),
    /// Those that the machine trusts.
    System(Arc<ClientConfig>),
}

impl Roots {
    pub(super) fn new(server: &TargetName, ca: Option<&str>) -> Result<Self, Failure> {
        if let Some(path) = ca {
            let text = std::fs::read(path);
            text.and_then(|text| trusting(&text))
                .map_err(|error| unreadable(server, path, &error))?;
            return Ok(Self::File(path.to_owned()));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let empty = io::Error::other("this machine trusts no certificate authority: name a file in tls.ca");
        let config = if roots.is_empty() { Err(empty) } else { client(roots) };
        config
            .map(Self::System)
            .map_err(|error| unreadable(server, "the machine's own store", &error))
    }

    async fn config(&self, server: &TargetName) -> Result<Arc<ClientConfig>, Failure> {
        match self {
            Self::System(config) => Ok(config.clone()),
            Self::File(path) => {
                let text = tokio::fs::read(path).await;
                text.and_then(|text| trusting(&text))
                    .map_err(|error| unreadable(server, path, &error))
            }
        }
    }
}

fn unreadable(server: &TargetName, path: &str, error: &io::Error) -> Failure {
    let message = format!("reading the certificate authorities for server {server} from {path}: {error}");
    Failure::blocked(Reason::DatabaseUnreachable, message)
}

fn trusting(pem: &[u8]) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots
            .add(certificate.map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(io::Error::other("there is no certificate in it"));
    }
    client(roots)
}

fn client(roots: RootCertStore) -> io::Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl Inner {
    pub(super) async fn tls(&self) -> Result<MakeRustlsConnect, Failure> {
        let config = self.roots.config(&self.name).await?;
        Ok(MakeRustlsConnect::new(Arc::unwrap_or_clone(config)))
    }

    /// Whoever logs in: there, over TLS, under our name.
    pub(super) fn config(&self, user: &str, password: &Secret, database: &str) -> Config {
        let mut config = Config::new();
        config
            .host(&self.endpoint.host)
            .port(self.endpoint.port)
            .ssl_mode(SslMode::Require);
        config
            .connect_timeout(CONNECT)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        config
            .user(user)
            .password(password.expose())
            .dbname(database)
            .application_name("ramparts");
        config
    }

    /// The operator's own password, as it is now: whoever changes it need not restart us.
    pub(super) async fn admin_password(&self) -> Result<Secret, Failure> {
        let (text, place) = match &self.password {
            PasswordSource::Env(name) => (
                std::env::var(name).map_err(|error| error.to_string()),
                format!("the environment's {name}"),
            ),
            PasswordSource::File(path) => (
                tokio::fs::read_to_string(path).await.map_err(|error| error.to_string()),
                path.clone(),
            ),
        };
        let secret = |text: String| Secret::new(text.trim_end_matches(['\n', '\r']).to_owned());
        text.map(secret).map_err(|error| {
            let message = format!(
                "reading the password of {} on server {} from {place}: {error}",
                self.user, self.name
            );
            Failure::blocked(Reason::AccessDenied, message)
        })
    }
}
