//! The Tenant resource: what a person writes and what we answer. The definition that the cluster gets is made from these types
//! and from nothing else. They read whatever a cluster holds: values stay strings here, and are parsed where a bad one can be
//! reported on the one object that has it, since a list that does not decode would stop every tenant.

mod definition;
mod lenient;
mod spec;
mod status;

pub use definition::{crd, crd_yaml};
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
pub use spec::{AppChanges, DeletionPolicy, PlacementPin, Rotation, Tenant, TenantSpec};
pub use status::{AppState, AppStatus, Phase, PlacementStatus, TenantStatus};
