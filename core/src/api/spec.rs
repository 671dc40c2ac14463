//! What a person asks for. Everything is optional and nothing has a default in the schema: what is in force stands in the
//! status, so that no client sees a difference that it did not write.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{definition, lenient, status::TenantStatus};
use crate::name::limit;

/// What this tenant should have, where it differs from what the settings give every tenant.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[kube(
    group = "ramparts.com",
    version = "v1",
    kind = "Tenant",
    plural = "tenants",
    shortname = "tn",
    category = "ramparts",
    status = "TenantStatus",
    derive = "PartialEq",
    doc = "A tenant of the product: its database, its roles, its cache users and the credentials that its apps read.",
    validation = definition::name_is_well_formed(),
    validation = definition::name_is_free(),
    printcolumn(name = "PLAN", type_ = "string", json_path = ".status.plan", description = "The plan in force."),
    printcolumn(name = "PHASE", type_ = "string", json_path = ".status.phase", description = "Where the tenant stands."),
    printcolumn(
        name = "DB",
        type_ = "boolean",
        json_path = ".status.dbReady",
        description = "Whether every app can log in to its database."
    ),
    printcolumn(
        name = "REDIS",
        type_ = "boolean",
        json_path = ".status.redisReady",
        description = "Whether every app that has a cache user can log in to its cache."
    ),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "True once everything published has been proven."
    ),
    printcolumn(
        name = "REASON",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why, in one word."
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct TenantSpec {
    /// The plan, by its name in the settings; without one, the settings' default plan. A plan changes limits, never credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::PLAN), regex(pattern = definition::LABEL))]
    pub plan: Option<String>,

    /// How this tenant's apps differ from the settings' apps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<AppChanges>,

    /// What becomes of the data and credentials when this object is deleted. Retain, unless said otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,

    /// Which credentials are to be replaced, by their age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,

    /// Where the tenant is to live. A pin chooses once; it never moves a tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementPin>,

    /// Observe and report only: nothing outside is written, cleanup included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// Differences from the settings' apps, so that a new app reaches every tenant.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = definition::added_is_not_removed())]
pub struct AppChanges {
    /// Apps that the settings mark optIn and that this tenant is to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = definition::MOST_APPS), inner(length(min = 1, max = limit::APP), regex(pattern = definition::LABEL)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub add: Vec<String>,

    /// Apps that this tenant is not to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = definition::MOST_APPS), inner(length(min = 1, max = limit::APP), regex(pattern = definition::LABEL)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub remove: Vec<String>,
}

/// What becomes of data and credentials when this object is deleted: they are kept unless it says Delete.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeletionPolicy {
    /// All of it stays, and a Tenant of the same name goes on with it.
    #[default]
    Retain,
    /// Database, roles, cache users and published copies are destroyed.
    Delete,
}

/// Credentials issued before a time are replaced, each by a new one beside it.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rotation {
    /// For all apps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "definition::time")]
    pub issued_before: Option<String>,

    /// For one app each, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "definition::times")]
    pub apps: Option<BTreeMap<String, String>>,
}

/// A database server and a cache, by their names in the settings.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementPin {
    /// The database server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::TARGET), regex(pattern = definition::LABEL))]
    pub database: Option<String>,

    /// The cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::TARGET), regex(pattern = definition::LABEL))]
    pub cache: Option<String>,
}

/// An object without a spec is one with an empty spec: serde offers a field that is not there to whoever asks for an option.
/// A deletion policy of a later version counts as Retain.
impl<'de> Deserialize<'de> for TenantSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Written {
            plan: Option<String>,
            apps: Option<AppChanges>,
            #[serde(deserialize_with = "lenient::or_default")]
            deletion_policy: Option<DeletionPolicy>,
            rotation: Option<Rotation>,
            placement: Option<PlacementPin>,
            suspend: Option<bool>,
        }
        let Written {
            plan,
            apps,
            deletion_policy,
            rotation,
            placement,
            suspend,
        } = Option::deserialize(deserializer)?.unwrap_or_default();
        Ok(Self {
            plan,
            apps,
            deletion_policy,
            rotation,
            placement,
            suspend,
        })
    }
}
