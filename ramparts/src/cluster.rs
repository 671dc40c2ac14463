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

use crate::gate::Gate;

/// The name under which everything that we write in Kubernetes is owned.
pub const FIELD_MANAGER: &str = "ramparts";

/// What is done at the API server, for words and for counting.
const READ: &str = "read";
const WRITE_STATUS: &str = "write-status";
const PUBLISH_EVENT: &str = "publish-event";
const DISCOVER: &str = "discover";

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
    client: Client,
    tenants: Api<Tenant>,
    recorder: Recorder,
    gate: Gate,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kubernetes")
    }
}

impl Kubernetes {
    /// Over this client. `instance` names the pod in events.
    pub fn new(client: Client, instance: Option<String>, gate: Gate) -> Self {
        let reporter = Reporter {
            controller: FIELD_MANAGER.into(),
            instance,
        };
        Self {
            tenants: Api::all(client.clone()),
            recorder: Recorder::new(client.clone(), reporter),
            client,
            gate,
        }
    }

    /// What the API server would have to serve for us to work, and does not. Without a place for statuses everything would be made
    /// and nothing reported.
    pub async fn missing(&self) -> Result<Vec<String>, Failure> {
        let version = Tenant::api_version(&());
        let work = async {
            match self.client.list_api_group_resources(&version).await {
                Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Vec::new()),
                Err(error) => Err(failure(DISCOVER, &version, &error)),
            }
        };
        let served: Vec<String> = self.gate.pass_kubernetes(DISCOVER, &version, work).await?;
        let tenants = Tenant::plural(&());
        let needed = [tenants.to_string(), format!("{tenants}/status")];
        Ok(needed.into_iter().filter(|name| !served.contains(name)).collect())
    }
}

impl Cluster for Kubernetes {
    async fn read(&self, name: &str) -> Result<Option<Tenant>, Failure> {
        let work = self.tenants.get_opt(name);
        let work = async { work.await.map_err(|error| failure(READ, name, &error)) };
        self.gate.pass_kubernetes(READ, name, work).await
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
        let patch = Patch::Apply(&patch);
        let work = self.tenants.patch_status(&name, &params, &patch);
        let work = async {
            work.await
                .map(drop)
                .map_err(|error| failure(WRITE_STATUS, &name, &error))
        };
        self.gate.pass_kubernetes(WRITE_STATUS, &name, work).await
    }

    async fn publish(&self, tenant: &Tenant, events: &[Event]) {
        let name = tenant.name_any();
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
            let about = tenant.object_ref(&());
            let work = self.recorder.publish(&event, &about);
            let work = async { work.await.map_err(|error| failure(PUBLISH_EVENT, &name, &error)) };
            if let Err(failure) = self.gate.pass_kubernetes(PUBLISH_EVENT, &name, work).await {
                tracing::warn!(%failure, reason = event.reason, "an event could not be published; no more are tried in this pass");
                return;
            }
        }
    }
}

fn failure(operation: &str, name: &str, error: &kube::Error) -> Failure {
    let message = format!("{operation} {name} at the API server: {error}");
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
