//! Where things stand in the credential store. Our own branches start with `_`, which no tenant does.

use super::{AppName, NameError, RecordNo, TargetName, TenantName, limit, text_name};

/// The branch of the store that belongs to us: `/ramparts`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePrefix(String);

text_name!(StorePrefix);

impl StorePrefix {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let noun = "store prefix";
        let rule = "it is a slash and then segments of letters, digits, '.', '-' and '_', no segment starting with '_'";
        let invalid = |found: &str| NameError::invalid(noun, text, found, rule);
        let inside = text
            .strip_prefix('/')
            .ok_or_else(|| invalid("does not start with a slash"))?;
        if inside.ends_with('/') {
            return Err(invalid("ends with a slash"));
        }
        for segment in inside.split('/') {
            let plain = segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
            if segment.is_empty() || !plain || segment.starts_with('_') {
                return Err(invalid(&format!("has the segment {segment:?}")));
            }
        }
        let first = inside.to_ascii_lowercase();
        if first.starts_with("aws") || first.starts_with("ssm") {
            return Err(NameError::reserved(
                noun,
                text,
                "Parameter Store keeps what starts with aws or ssm",
            ));
        }
        if text.len() > limit::STORE_PREFIX {
            return Err(NameError::too_long(noun, text, limit::STORE_PREFIX));
        }
        if inside.split('/').count() > limit::STORE_LEVELS {
            return Err(invalid(&format!("has more than {} segments", limit::STORE_LEVELS)));
        }
        Ok(Self(text.to_owned()))
    }

    /// The branch that holds a tenant's records.
    pub fn ledger(&self, tenant: &TenantName) -> String {
        format!("{self}/_ledger/{tenant}")
    }

    pub fn record(&self, tenant: &TenantName, record: RecordNo) -> String {
        format!("{self}/_ledger/{tenant}/{record}")
    }

    /// The branch that holds a tenant's published copies.
    pub fn copies(&self, tenant: &TenantName) -> String {
        format!("{self}/{tenant}")
    }

    pub fn copy(&self, tenant: &TenantName, app: &AppName) -> String {
        format!("{self}/{tenant}/{app}")
    }

    /// The store's side of a server's enrolment.
    pub fn server(&self, server: &TargetName) -> String {
        format!("{self}/_servers/{server}")
    }
}
