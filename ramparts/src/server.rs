//! `/livez`, `/readyz` and `/metrics`. Live means that the process turns; ready means that the Tenants were listed. Neither asks a
//! backend: an outage of RDS must not restart the operator.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// Whether the Tenants were listed.
#[derive(Debug, Default)]
pub struct Health(AtomicBool);

impl Health {
    /// They were.
    pub fn ready(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
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

async fn readyz(State(health): State<Arc<Health>>) -> (StatusCode, &'static str) {
    if health.is_ready() {
        (StatusCode::OK, "ok\n")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "the Tenants were not listed yet: is the CRD there, and may we list it?\n",
        )
    }
}
