//! The stack's certificate authority. Every server of the stack has a certificate for `localhost` and 127.0.0.1 from it; clients verify both
//! the chain and the name, as they do in production. A second authority is one more `Authority::new`, for tests that must be refused.

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;

/// The names under which the stack's servers are reached.
pub const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A server's certificate and its private key, both PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(common_name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new()).context("describing the certificate authority")?;
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().context("generating the certificate authority's key")?;
        let issuer = CertifiedIssuer::self_signed(params, key).context("signing the certificate authority")?;
        Ok(Self { issuer })
    }

    /// The authority's own certificate: what a client must trust.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server certificate for `names`, host names and addresses alike.
    pub fn issue(&self, names: &[&str]) -> Result<Identity> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let common_name = names.first().cloned().unwrap_or_default();
        let mut params = CertificateParams::new(names).context("describing a server certificate")?;
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().context("generating a server's key")?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .context("signing a server certificate")?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// A client that trusts this authority and nothing else.
    pub fn client_config(&self) -> Result<ClientConfig> {
        client_config(&self.pem())
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Identity {
    /// Writes both files; the key is readable by its owner only, which PostgreSQL insists on.
    pub fn write(&self, certificate: &Path, key: &Path) -> Result<()> {
        crate::folder::write(certificate, &self.certificate, 0o644)?;
        crate::folder::write(key, &self.key, 0o600)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// A client that trusts the authorities in `ca_pem` and nothing else, and checks the server's name.
pub fn client_config(ca_pem: &str) -> Result<ClientConfig> {
    install_crypto_provider();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots
            .add(certificate.context("reading a CA certificate")?)
            .context("trusting a CA certificate")?;
    }
    Ok(ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Makes aws-lc-rs the process's crypto provider. Safe to call often and from anywhere: the first caller wins, and if that was the program
/// that uses the sandbox, its choice stands.
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Err only means that another thread was faster, which is just as well.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}
