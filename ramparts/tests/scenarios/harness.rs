//! What every scenario stands on: a leased stack, operator processes on it, a recorder, and the six oracles.

mod baseline;
mod ground;
mod operator;
mod oracle;
mod recorder;
mod scenario;
mod server_log;
mod settings;
mod snapshot;
mod tenants;
mod wipe;

pub use operator::Manner;
pub use oracle::{Flag, Oracle};
pub use scenario::Scenario;
pub use server_log::ServerLog;
pub use settings::SettingsText;
pub use snapshot::Thing;
pub use tenants::{condition, document, is_ready, reason_of};

use std::time::{Duration, Instant};

/// The sweep of the stack's settings.
pub const SWEEP: Duration = Duration::from_secs(2);
/// Bounds every wait for something that should happen. It is long because the machine may be busy, and is never waited out when all is well.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Looks again and again until there is an answer; `what` is said when there is none in time.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = look().await {
            return answer;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "not within {} s: {what}",
            PATIENCE.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}
