//! Where Tenants come from and where statuses go: a Kubernetes API server, read live and never from a cache. Status has one writer, one
//! field manager and one form: whole, server-side applied, strictly validated, on the very version that was read.

use std::future::Future;

use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams, ValidationDirective},
    core::Status,
    runtime::events::{Event as KubeEvent, EventType, Recorder, Reporter},
};
use ramparts_core::{
    api::{Tenant, TenantStatus},
    failure::Failure,
    reason::Reason,
    report::Event,
};
use serde_json::json;

/// The name under which everything that we write in Kubernetes is owned.
pub const FIELD_MANAGER: &str = "ramparts";

/// Where Tenants are read and reported on.
pub trait Cluster: Send + Sync + 'static {
    /// The Tenant as it is now.
    fn read(&self, name: &str) -> impl Future<Output = Result<Option<Tenant>, Failure>> + Send;

    /// Writes the whole status, if the Tenant is still the version that was read.
    fn write_status(&self, tenant: &Tenant, status: &TenantStatus) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Publishes events. They are news, not state: one that is lost is logged and forgotten.
    fn publish(&self, tenant: &Tenant, events: &[Event]) -> impl Future<Output = ()> + Send;
}

/// A real API server.
#[derive(Clone)]
pub struct Kubernetes {
    tenants: Api<Tenant>,
    recorder: Recorder,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kubernetes")
    }
}

impl Kubernetes {
    /// Over this client. `instance` names the pod in events.
    pub fn new(client: Client, instance: Option<String>) -> Self {
        let reporter = Reporter {
            controller: FIELD_MANAGER.into(),
            instance,
        };
        Self {
            tenants: Api::all(client.clone()),
            recorder: Recorder::new(client, reporter),
        }
    }
}

impl Cluster for Kubernetes {
    async fn read(&self, name: &str) -> Result<Option<Tenant>, Failure> {
        self.tenants
            .get_opt(name)
            .await
            .map_err(|error| failure("reading", name, &error))
    }

    async fn write_status(&self, tenant: &Tenant, status: &TenantStatus) -> Result<(), Failure> {
        let name = tenant.name_any();
        let patch = json!({
            "apiVersion": Tenant::api_version(&()),
            "kind": Tenant::kind(&()),
            "metadata": {
                "name": name,
                "uid": tenant.metadata.uid,
                "resourceVersion": tenant.metadata.resource_version,
            },
            "status": status,
        });
        #[cfg(feature = "chaos")]
        let patch = crate::mutant::patch_in_parts(patch);
        let mut params = PatchParams::apply(FIELD_MANAGER).force();
        params.field_validation = Some(ValidationDirective::Strict);
        self.tenants
            .patch_status(&name, &params, &Patch::Apply(&patch))
            .await
            .map(drop)
            .map_err(|error| failure("writing the status of", &name, &error))
    }

    async fn publish(&self, tenant: &Tenant, events: &[Event]) {
        for event in events {
            let event = KubeEvent {
                type_: if event.warning {
                    EventType::Warning
                } else {
                    EventType::Normal
                },
                reason: event.reason.as_str().to_owned(),
                note: Some(event.message.chars().take(1000).collect()),
                action: "Reconcile".into(),
                secondary: None,
            };
            if let Err(error) = self.recorder.publish(&event, &tenant.object_ref(&())).await {
                tracing::warn!(%error, reason = event.reason, "an event could not be published");
            }
        }
    }
}

fn failure(doing: &str, name: &str, error: &kube::Error) -> Failure {
    let message = format!("{doing} Tenant {name}: {error}");
    let status = if let kube::Error::Api(status) = error {
        Some(status)
    } else {
        None
    };
    let is = |test: fn(&Status) -> bool| status.is_some_and(|status| test(status));
    if is(Status::is_forbidden) {
        Failure::blocked(Reason::AccessDenied, message)
    } else if is(Status::is_invalid) {
        Failure::defect(message)
    } else if is(Status::is_conflict) {
        Failure::transient(Reason::LostRace, message)
    } else {
        Failure::transient(Reason::Unexpected, message)
    }
}
