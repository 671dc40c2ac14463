//! The one place that every external call passes: to PostgreSQL, to AWS, to a cache. Here a call gets its deadline, is counted and
//! timed, and, in the test-only build, can be made the last thing that the process ever does. Calls to the API server pass here too, for
//! the deadline and the count.

use std::{
    fmt::{self, Display},
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use ramparts_core::{failure::Failure, observed::Layer, reason::Reason};
use tokio::time::error::Elapsed;

use crate::metrics::Metrics;

/// How long any one call may take. Grace periods and locks are sized against this.
pub const DEADLINE: Duration = Duration::from_secs(15);

/// What a call is, for counting and for words.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Which kind of server it goes to.
    pub layer: Layer,
    /// What it does there: a bounded word, such as `PutParameter` or `create-role`.
    pub operation: &'static str,
    /// To what: a name, never a value.
    pub target: &'a str,
}

/// The gate. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct Gate {
    metrics: Arc<Metrics>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Gate {
    /// A gate that counts into these metrics.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }

    /// Makes a call to the API server. It has the same deadline and is counted, but apart: the cluster is where we work, not a server
    /// that we work on.
    pub async fn pass_kubernetes<T>(
        &self,
        operation: &'static str,
        target: &str,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let answer = tokio::time::timeout(DEADLINE, work).await;
        let result = answered(
            answer,
            Reason::Unexpected,
            format!("{operation} {target} at the API server"),
        );
        self.metrics
            .called_kubernetes(operation, started.elapsed(), result.as_ref().err());
        result
    }

    /// Makes a call. One that does not answer in time is Transient.
    pub async fn pass<T>(&self, call: Call<'_>, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let started = Instant::now();
        #[cfg(feature = "chaos")]
        crate::chaos::before(&call);
        let answer = tokio::time::timeout(DEADLINE, work).await;
        let result = answered(answer, unreachable_reason(call.layer), call);
        #[cfg(feature = "chaos")]
        crate::chaos::after(&call);
        self.metrics
            .called(call.layer, call.operation, started.elapsed(), result.as_ref().err());
        if let Err(failure) = &result {
            tracing::debug!(layer = call.layer.as_str(), operation = call.operation, target = call.target, %failure, "call failed");
        } else {
            tracing::trace!(
                layer = call.layer.as_str(),
                operation = call.operation,
                target = call.target,
                "call done"
            );
        }
        result
    }
}

/// What came of a call. No answer within the deadline says nothing about what is there.
fn answered<T>(answer: Result<Result<T, Failure>, Elapsed>, reason: Reason, what: impl Display) -> Result<T, Failure> {
    answer.unwrap_or_else(|_| {
        let message = format!("{what} did not answer within {} s", DEADLINE.as_secs());
        Err(Failure::transient(reason, message))
    })
}

impl Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation, self.target)
    }
}

/// The word for a layer that cannot be reached.
pub fn unreachable_reason(layer: Layer) -> Reason {
    match layer {
        Layer::Store => Reason::StoreUnreachable,
        Layer::Database => Reason::DatabaseUnreachable,
        Layer::Cache => Reason::CacheUnreachable,
    }
}
