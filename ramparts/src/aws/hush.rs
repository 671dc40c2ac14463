//! What the SDK and the layers below it may log. At TRACE the SDK prints whole requests and responses, passwords included; so below
//! INFO these targets are silent, whatever the log filter says.

use tracing::{Level, Metadata};

/// Crates that are given secrets, by the beginning of their log targets.
pub const NOISY_TARGETS: &[&str] = &["aws_", "h2", "hyper", "redis", "rustls", "tower", "tokio_postgres"];

/// Whether an event or span may be shown. Telemetry puts this in front of every other filter.
pub fn is_quiet(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO || !NOISY_TARGETS.iter().any(|noisy| metadata.target().starts_with(noisy))
}
