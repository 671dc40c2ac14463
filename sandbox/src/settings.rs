//! What the operator and a person at a terminal need to use a stack: a settings file for Ramparts, and environment variables.

use crate::cluster::User;
use crate::folder;
use crate::postgres;
use crate::stack::{Stack, USER_GROUP};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::PathBuf;

/// Where the AWS sandbox pretends to be.
const REGION: &str = "eu-west-1";

impl Stack {
    /// The settings file of a Ramparts installation on this stack, also found at [`Self::settings_file`]. It needs every part but the cluster.
    pub fn settings_yaml(&self) -> String {
        format!(
            "installation: demo
defaultPlan: standard
apps:
  api: {{access: owner, cache: standard}}
  worker: {{access: readWrite, cache: standard}}
  web-admin: {{short: webadmin, access: readWrite}}
  reporting: {{access: readOnly, optIn: true}}
plans:
  standard: {{connections: 20, statementTimeout: 30s, idleInTransactionTimeout: 60s, settings: {{work_mem: 16MB}}}}
  large: {{connections: 60, statementTimeout: 120s, idleInTransactionTimeout: 60s, settings: {{work_mem: 64MB}}}}
databases:
  main:
    endpoint: {database}
    admin: {{user: {admin}, password: {{file: \"{password}\"}}}}
    tls: {{ca: \"{ca}\"}}
caches:
  main:
    endpoint: {cache}
    tls: {{ca: \"{ca}\"}}
    elasticache: {{userGroup: {USER_GROUP}}}
credentials: {{store: ssm, prefix: /ramparts}}
aws: {{region: {REGION}, endpoint: \"{aws}\"}}
sweep: {{interval: 2s, proof: 2s}}
",
            database = self.postgres.endpoint(),
            admin = postgres::ADMIN,
            password = self.password_file().display(),
            ca = self.ca().display(),
            cache = self.redis.endpoint(),
            aws = self.aws.endpoint(),
        )
    }

    pub fn settings_file(&self) -> PathBuf {
        self.directory().join("settings.yaml")
    }

    fn password_file(&self) -> PathBuf {
        self.directory().join("postgres-admin-password")
    }

    /// What a Ramparts process is started with: it has the operator's rights in the cluster, not the administrator's.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = self.common();
        if let Some(kube) = self.kube.get() {
            variables.push((
                "KUBECONFIG".into(),
                kube.kubeconfig(User::Operator).display().to_string(),
            ));
        }
        variables
    }

    /// What a person at a terminal wants: kubectl as the administrator, psql and redis-cli without any options but the obvious.
    pub fn person_environment(&self) -> Vec<(String, String)> {
        let mut variables = self.common();
        let mut add = |name: &str, value: String| variables.push((name.to_owned(), value));
        add("SANDBOX_DIR", self.directory().display().to_string());
        add("SANDBOX_CA", self.ca().display().to_string());
        if let Some(kube) = self.kube.get() {
            add("KUBECONFIG", kube.kubeconfig(User::Administrator).display().to_string());
            add(
                "SANDBOX_OPERATOR_KUBECONFIG",
                kube.kubeconfig(User::Operator).display().to_string(),
            );
        }
        if let Some(postgres) = self.postgres.get() {
            add("PGHOST", postgres.host().to_owned());
            add("PGPORT", postgres.port().to_string());
            add("PGUSER", postgres::ADMIN.to_owned());
            add("PGDATABASE", "postgres".to_owned());
            add("PGPASSFILE", self.directory().join("pgpass").display().to_string());
            add("PGSSLMODE", "verify-full".to_owned());
            add("PGSSLROOTCERT", self.ca().display().to_string());
            add("SANDBOX_PGSOCKET", postgres.socket_folder().display().to_string());
        }
        if let Some(redis) = self.redis.get() {
            let admin = redis.admin();
            add("SANDBOX_REDIS_PORT", admin.port.to_string());
            add("SANDBOX_REDIS_USER", admin.user);
            add("REDISCLI_AUTH", admin.password.expose().to_owned());
        }
        if let Some(aws) = self.aws.get() {
            add("AWS_ENDPOINT_URL", aws.endpoint());
        }
        variables
    }

    fn common(&self) -> Vec<(String, String)> {
        let fixed = [
            ("AWS_ACCESS_KEY_ID", "sandbox"),
            ("AWS_SECRET_ACCESS_KEY", "sandbox"),
            ("AWS_REGION", REGION),
            // Some clients look for this one only.
            ("AWS_DEFAULT_REGION", REGION),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        let mut variables: Vec<_> = fixed.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        if self.has_settings() {
            variables.push(("RAMPARTS_SETTINGS".into(), self.settings_file().display().to_string()));
        }
        variables
    }

    fn has_settings(&self) -> bool {
        self.postgres.get().is_some() && self.redis.get().is_some() && self.aws.get().is_some()
    }

    /// [`Self::person_environment`] as lines for a shell, to be pasted or sourced.
    pub fn exports(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.person_environment() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "export {name}={}", quoted(&value));
        }
        let tools = self.tools().binaries();
        let _ = writeln!(text, "export PATH={}:\"$PATH\"", quoted(&tools.display().to_string()));
        text
    }

    /// Writes all that the operator and a person need into the stack's folder.
    pub(crate) fn write_files(&self) -> Result<()> {
        if let Some(postgres) = self.postgres.get() {
            let password = postgres.admin_password().expose();
            folder::write(&self.password_file(), password, 0o600)?;
            let line = format!(
                "{}:{}:*:{}:{password}\n",
                postgres.host(),
                postgres.port(),
                postgres::ADMIN
            );
            folder::write(&self.directory().join("pgpass"), &line, 0o600)?;
        }
        if self.has_settings() {
            folder::write(&self.settings_file(), &self.settings_yaml(), 0o644)?;
        }
        folder::write(&self.directory().join("env"), &self.exports(), 0o600).context("writing the environment file")
    }
}

/// A word that a POSIX shell reads as exactly this text.
fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._:-".contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_exactly_what_was_quoted() {
        for text in ["/tmp/a-b_c.d:1", "a b", "it's $HOME `x`", "", "\"\\"] {
            let script = format!("printf %s {}", quoted(text));
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .output()
                .expect("sh runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
