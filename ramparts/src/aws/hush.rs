//! What the SDK and the layers below it may log. At TRACE the SDK prints requests and responses; whether bodies are among them hangs on its
//! version and on its environment: with `LOG_SENSITIVE_BODIES` it prints every value it reads. So below INFO these targets are silent,
//! whatever the log filter says.

use tracing::{Level, Metadata};

/// Crates that are given secrets, by the beginning of their log targets.
pub const NOISY_TARGETS: &[&str] = &["aws_", "h2", "hyper", "redis", "rustls", "tower", "tokio_postgres"];

/// Whether an event or span may be shown. Telemetry puts this in front of every other filter.
pub fn is_quiet(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO || !NOISY_TARGETS.iter().any(|noisy| metadata.target().starts_with(noisy))
}
