//! Tenants as their users handle them: applied, labelled, deleted, and read as plain JSON, in which what is missing is missing.

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams, ValidationDirective},
    core::DynamicObject,
};
use ramparts_core::api::Tenant;
use serde_json::{Value, json};

pub fn resource() -> ApiResource {
    ApiResource::erase::<Tenant>(&())
}

#[derive(Clone)]
pub struct Tenants {
    api: Api<DynamicObject>,
}

impl Tenants {
    pub fn new(client: Client) -> Self {
        Self {
            api: Api::all_with(client, &resource()),
        }
    }

    pub fn api(&self) -> &Api<DynamicObject> {
        &self.api
    }

    /// Server-side apply under a manager of its own, as Terraform does it.
    pub async fn apply(&self, name: &str, spec: &Value) {
        let mut params = PatchParams::apply("terraform").force();
        params.field_validation = Some(ValidationDirective::Strict);
        self.api
            .patch(name, &params, &Patch::Apply(manifest(name, spec)))
            .await
            .unwrap();
    }

    pub async fn create(&self, name: &str, spec: &Value) -> Result<(), kube::Error> {
        let object: DynamicObject = serde_json::from_value(manifest(name, spec)).unwrap();
        self.api.create(&PostParams::default(), &object).await.map(drop)
    }

    pub async fn merge(&self, name: &str, patch: &Value) {
        self.api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub async fn delete(&self, name: &str) {
        self.api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn get(&self, name: &str) -> Option<Value> {
        self.api
            .get_opt(name)
            .await
            .unwrap()
            .map(|object| serde_json::to_value(object).unwrap())
    }

    pub async fn all(&self) -> Vec<Value> {
        let list = self.api.list(&ListParams::default()).await.unwrap();
        list.into_iter()
            .map(|object| serde_json::to_value(object).unwrap())
            .collect()
    }

    /// What a client does that thinks it owns the status.
    pub async fn empty_status(&self, name: &str) {
        let nothing = json!([{"op": "remove", "path": "/status"}]);
        let patch: Patch<()> = Patch::Json(serde_json::from_value(nothing).unwrap());
        self.api
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

pub fn manifest(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "ramparts.com/v1", "kind": "Tenant", "metadata": {"name": name}, "spec": spec})
}

/// A condition of a Tenant, by its type.
pub fn condition<'a>(tenant: &'a Value, kind: &str) -> Option<&'a Value> {
    tenant["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

/// The reason of its Ready condition.
pub fn reason_of(tenant: &Value) -> &str {
    condition(tenant, "Ready")
        .and_then(|ready| ready["reason"].as_str())
        .unwrap_or_default()
}

/// Ready, for the generation that there is.
pub fn is_ready(tenant: &Value) -> bool {
    let status = &tenant["status"];
    status["observedGeneration"] == tenant["metadata"]["generation"]
        && status["phase"] == "Ready"
        && condition(tenant, "Ready").is_some_and(|ready| ready["status"] == "True")
}

/// A published copy, read as a pod reads it.
pub fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
