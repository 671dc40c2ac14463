//! Logs: text for people, JSON for machines, and never a secret, whatever `RUST_LOG` says: the targets that would print request bodies
//! are silenced before any filter is asked.

use std::io::IsTerminal;

use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::aws::hush;

/// Starts logging to standard error.
pub fn start(json: bool) {
    let chosen = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,kube_runtime=warn"));
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = if json {
        lines.json().flatten_event(true).boxed()
    } else {
        lines.with_target(false).boxed()
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter_fn(hush::is_quiet).and(chosen)))
        .init();
}
