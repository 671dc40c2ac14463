//! Every metric, by name, in one file. Labels are bounded: no tenant, app or role ever becomes one.

use std::time::Duration;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};
use ramparts_core::{cursor::Outcome, failure::Failure, observed::Layer, step::Step};

type Label = &'static str;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    layer: Label,
    operation: Label,
    result: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DurationLabels {
    layer: Label,
    operation: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabels {
    layer: Label,
    kind: Label,
    outcome: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReconcileLabels {
    result: Label,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabels {
    class: Label,
    reason: Label,
}

/// The registry and what is in it.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Family<DurationLabels, Histogram>,
    kubernetes_calls: Family<CallLabels, Counter>,
    kubernetes_call_seconds: Family<DurationLabels, Histogram>,
    steps: Family<StepLabels, Counter>,
    reconciles: Family<ReconcileLabels, Counter>,
    reconcile_seconds: Histogram,
    failures: Family<FailureLabels, Counter>,
    status_writes: Counter,
    undecodable: Counter,
    settings_refused: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = || Histogram::new([0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0]);
        let mut metrics = Self {
            registry: Registry::with_prefix("ramparts"),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(seconds),
            kubernetes_calls: Family::default(),
            kubernetes_call_seconds: Family::new_with_constructor(seconds),
            steps: Family::default(),
            reconciles: Family::default(),
            reconcile_seconds: seconds(),
            failures: Family::default(),
            status_writes: Counter::default(),
            undecodable: Counter::default(),
            settings_refused: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "build",
            "What is running",
            Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register(
            "external_calls",
            "Calls to PostgreSQL, AWS and caches",
            metrics.calls.clone(),
        );
        registry.register(
            "external_call_seconds",
            "How long they took",
            metrics.call_seconds.clone(),
        );
        registry.register(
            "kubernetes_calls",
            "Calls to the API server, but for the watch",
            metrics.kubernetes_calls.clone(),
        );
        registry.register(
            "kubernetes_call_seconds",
            "How long they took",
            metrics.kubernetes_call_seconds.clone(),
        );
        registry.register("steps", "Steps carried out", metrics.steps.clone());
        registry.register("reconcile", "Passes over a tenant", metrics.reconciles.clone());
        registry.register(
            "reconcile_duration_seconds",
            "How long they took",
            metrics.reconcile_seconds.clone(),
        );
        registry.register("failures", "Failures, by what happens next", metrics.failures.clone());
        registry.register(
            "status_writes",
            "Statuses written to Kubernetes",
            metrics.status_writes.clone(),
        );
        registry.register(
            "undecodable_objects",
            "Tenants that could not be decoded",
            metrics.undecodable.clone(),
        );
        registry.register(
            "settings_refused",
            "1 while a newer settings file is refused",
            metrics.settings_refused.clone(),
        );
        metrics
    }
}

impl Metrics {
    /// An external call came back.
    pub fn called(&self, layer: Layer, operation: Label, took: Duration, failure: Option<&Failure>) {
        let layer = layer.as_str();
        let result = failure.map_or("ok", |failure| failure.class.as_str());
        self.calls
            .get_or_create(&CallLabels {
                layer,
                operation,
                result,
            })
            .inc();
        self.call_seconds
            .get_or_create(&DurationLabels { layer, operation })
            .observe(took.as_secs_f64());
    }

    /// A call to the API server came back.
    pub fn called_kubernetes(&self, operation: Label, took: Duration, failure: Option<&Failure>) {
        let layer = "kubernetes";
        let result = failure.map_or("ok", |failure| failure.class.as_str());
        self.kubernetes_calls
            .get_or_create(&CallLabels {
                layer,
                operation,
                result,
            })
            .inc();
        self.kubernetes_call_seconds
            .get_or_create(&DurationLabels { layer, operation })
            .observe(took.as_secs_f64());
    }

    /// A step was tried.
    pub fn stepped(&self, step: &Step, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Done => "done",
            Outcome::Pending(..) => "pending",
            Outcome::Failed(_) => "failed",
            Outcome::Skipped => "skipped",
        };
        let labels = StepLabels {
            layer: step.layer().as_str(),
            kind: step.kind(),
            outcome,
        };
        self.steps.get_or_create(&labels).inc();
    }

    /// A pass ended.
    pub fn reconciled(&self, result: Label, took: Duration) {
        self.reconciles.get_or_create(&ReconcileLabels { result }).inc();
        self.reconcile_seconds.observe(took.as_secs_f64());
    }

    /// Something failed.
    pub fn failed(&self, failure: &Failure) {
        let labels = FailureLabels {
            class: failure.class.as_str(),
            reason: failure.reason.as_str(),
        };
        self.failures.get_or_create(&labels).inc();
    }

    /// A status was written.
    pub fn status_written(&self) {
        self.status_writes.inc();
    }

    /// An object could not be decoded.
    pub fn undecodable(&self) {
        self.undecodable.inc();
    }

    /// Whether a newer settings file is being refused.
    pub fn settings_refused(&self, refused: bool) {
        self.settings_refused.set(i64::from(refused));
    }

    /// The exposition text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.registry) {
            tracing::error!(%error, "metrics could not be rendered");
        }
        text
    }
}
