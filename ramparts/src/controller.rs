//! Watches Tenants and calls `reconcile`: wiring only. Everything that needs kube's unstable stream inputs stays in this file.
//!
//! A pass is triggered by a new object, a new generation, a change of finalizers or deletion; by the sweep; and by new settings. A label, an
//! annotation and our own status write trigger nothing.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use futures::{Stream, StreamExt, TryStreamExt};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        Controller, Predicate, PredicateConfig, WatchStreamExt,
        controller::{self, Action, Config},
        reflector, watcher,
    },
};
use ramparts_core::{
    api::Tenant,
    failure::{Class, Failure, delay},
    report::Next,
};
use tracing::Instrument;

use crate::{
    cluster::Kubernetes,
    memory::Memory,
    metrics::Metrics,
    reconcile::{Context, reconcile},
    server::Health,
    setup::{Current, Setup},
};

type Watched = DeserializeGuard<Tenant>;

/// What the operator runs on.
#[derive(Debug)]
pub struct Operator {
    /// The settings in force and their servers.
    pub current: Arc<Current>,
    /// The API server.
    pub cluster: Kubernetes,
    /// What is remembered between passes.
    pub memory: Memory,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

/// Runs until `shutdown` resolves; then lets the passes under way end.
pub async fn run(
    client: Client,
    operator: Arc<Operator>,
    concurrency: u16,
    new_settings: impl Stream<Item = ()> + Send + 'static,
    health: Arc<Health>,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let tenants: Api<Watched> = Api::all(client);
    let (store, writer) = reflector::store();
    let triggers = watcher(tenants, watcher::Config::default())
        .default_backoff()
        .inspect_ok(move |event| {
            if matches!(event, watcher::Event::InitDone) {
                tracing::info!("the Tenants are listed and watched");
                health.ready();
            }
        })
        .reflect(writer)
        .applied_objects()
        .predicate_filter(Trigger, PredicateConfig::default());
    Controller::for_stream(triggers, store)
        .with_config(Config::default().concurrency(concurrency))
        .reconcile_all_on(new_settings)
        .graceful_shutdown_on(shutdown)
        .run(visit, after_failure, operator)
        .for_each(|result| async {
            match result {
                // What a pass returned was logged there; an object that is gone needs no more.
                Ok(_) | Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    tracing::warn!(
                        error = format!("{error:#}"),
                        "the watch was interrupted; it is begun again"
                    );
                }
            }
        })
        .await;
}

/// What makes a Tenant worth a look.
struct Trigger;

impl Predicate<Watched> for Trigger {
    fn hash_property(&self, object: &Watched) -> Option<u64> {
        let meta = object.meta();
        let mut hasher = DefaultHasher::new();
        (
            &meta.uid,
            meta.generation,
            &meta.finalizers,
            meta.deletion_timestamp.is_some(),
        )
            .hash(&mut hasher);
        Some(hasher.finish())
    }
}

async fn visit(object: Arc<Watched>, operator: Arc<Operator>) -> Result<Action, Failure> {
    let name = object.name_any();
    if let Err(error) = &object.0 {
        // One Tenant that cannot be decoded must not stop the others; it is left alone until it changes.
        operator.metrics.undecodable();
        tracing::error!(tenant = name, %error, "this Tenant cannot be decoded");
        return Ok(Action::await_change());
    }
    let setup = operator.current.get();
    let span = tracing::info_span!("reconcile", tenant = name);
    let next = Box::pin(pass(&name, &operator, &setup)).instrument(span).await?;
    let sweep = setup.settings.sweep.interval;
    let wait = match next {
        Next::Sweep => {
            operator.memory.succeeded(&name);
            // Spread, so that a fleet that started together does not stay together.
            sweep.mul_f64(0.9 + 0.2 * rand::random::<f64>())
        }
        Next::Soon => {
            let tries = operator.memory.failed(&name, None).min(4);
            Duration::from_millis(500).saturating_mul(2_u32.pow(tries)).min(sweep)
        }
        Next::Retry(class) => delay(class, operator.memory.failed(&name, Some(class)), sweep, rand::random()),
    };
    Ok(Action::requeue(wait))
}

async fn pass(name: &str, operator: &Operator, setup: &Setup) -> Result<Next, Failure> {
    let context = Context {
        world: &setup.world,
        cluster: &operator.cluster,
        settings: &setup.settings,
        memory: &operator.memory,
        metrics: &operator.metrics,
    };
    let result = Box::pin(reconcile(name, &context)).await;
    if let Err(failure) = &result {
        operator.metrics.failed(failure);
        match failure.class {
            Class::Defect => tracing::error!(reason = %failure.reason, message = failure.message, "the pass failed"),
            Class::Transient | Class::Blocked | Class::Refused => {
                tracing::warn!(reason = %failure.reason, message = failure.message, "the pass failed");
            }
        }
    }
    result
}

#[expect(clippy::needless_pass_by_value, reason = "the signature is the controller's")]
fn after_failure(object: Arc<Watched>, failure: &Failure, operator: Arc<Operator>) -> Action {
    let sweep = operator.current.get().settings.sweep.interval;
    Action::requeue(delay(
        failure.class,
        operator.memory.failed(&object.name_any(), Some(failure.class)),
        sweep,
        rand::random(),
    ))
}
