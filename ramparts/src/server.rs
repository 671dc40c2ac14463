//! `/livez`, `/readyz` and `/metrics`. Live means that the process turns; ready means that the Tenants were listed. Neither asks a
//! backend: an outage of RDS must not restart the operator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// What the first listing of the Tenants still waits for; `None` when they were listed.
#[derive(Debug)]
pub struct Health(Mutex<Option<String>>);

impl Default for Health {
    fn default() -> Self {
        let waiting = "the Tenants were not listed yet: is the CRD there, and may we list it?";
        Self(Mutex::new(Some(waiting.to_owned())))
    }
}

impl Health {
    /// They were listed.
    pub fn ready(&self) {
        *self.waiting() = None;
    }

    /// They cannot be listed before this is so.
    pub fn waits_for(&self, what: String) {
        *self.waiting() = Some(what);
    }

    fn waiting(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: Arc<Health>) -> std::io::Result<()> {
    let router = Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .with_state(health)
        .route("/metrics", get(async move || metrics.render()));
    axum::serve(listener, router).await
}

async fn readyz(State(health): State<Arc<Health>>) -> (StatusCode, String) {
    match &*health.waiting() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(what) => (StatusCode::SERVICE_UNAVAILABLE, format!("{what}\n")),
    }
}
