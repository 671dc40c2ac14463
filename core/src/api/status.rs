//! What we answer. The whole of it is computed in one pass and written by one writer, so no field ever disappears; and reading
//! it never fails, whatever somebody else has written there.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, definition, lenient};

/// What was observed and done, in the last pass that finished.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantStatus {
    /// The generation of the spec that this status answers.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_generation: Option<i64>,

    /// Where the tenant stands, in one word.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub phase: Phase,

    /// The plan in force.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub plan: Option<String>,

    /// Whether every app can log in to its database.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub db_ready: bool,

    /// Whether every app that has a cache user can log in to its cache.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub redis_ready: bool,

    /// Whether every app's credentials are published.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub credentials_ready: bool,

    /// Where the tenant lives.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub placement: Option<PlacementStatus>,

    /// Every app of the tenant, and where its credentials are.
    #[serde(default, deserialize_with = "lenient::or_default")]
    #[schemars(length(max = definition::MOST_APP_STATUSES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub apps: Vec<AppStatus>,

    /// What holds and what does not, by type: Ready sums up, one each for database, cache and credentials; Reconciling and Stalled only while they are true.
    #[serde(default, deserialize_with = "lenient::or_default")]
    #[schemars(length(max = definition::MOST_CONDITIONS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// Where a tenant stands.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing has been committed yet.
    #[default]
    Pending,
    /// On the way to its first Ready.
    Provisioning,
    /// Everything published has been proven.
    Ready,
    /// It was ready, and something does not answer or was taken away.
    Degraded,
    /// Only a person can help.
    Blocked,
    /// It is being deleted.
    Terminating,
}

/// Where a tenant lives: a database server and a cache, by their names in the settings.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// The database server.
    pub database: String,

    /// The cache, where some app has a cache user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
}

/// One app of the tenant.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    /// The app, by its name in the settings.
    pub name: String,

    /// The number of the ledger record that issued its credential.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub record: Option<i32>,

    /// When its credential was issued.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "definition::time")]
    pub issued_at: Option<String>,

    /// Its login on the database server.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub login: Option<String>,

    /// Its user on the cache.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_user: Option<String>,

    /// Where its pods read the credential.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub parameter: Option<String>,

    /// The version of what stands there.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub version: Option<String>,

    /// Where the app stands.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub state: AppState,
}

/// Where an app of a tenant stands.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AppState {
    /// Nothing has been issued yet.
    #[default]
    Pending,
    /// Issued, and not published yet.
    Provisioning,
    /// Published and proven.
    Ready,
    /// Published, and no longer proven.
    Degraded,
    /// Only a person can help.
    Blocked,
    /// No longer one of the tenant's apps; what it had is kept.
    Retained,
}
