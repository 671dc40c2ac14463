//! Test only (feature `chaos`): the two bugs of the operator that Ramparts replaces, to be chosen by name, so that the oracles can be
//! seen to catch them. Nothing of this is in the shipped binary.

use serde_json::{Value, json};

use ramparts_core::{
    name::{AppName, TenantName},
    published::PublishedCopy,
};

use crate::{aws::Ssm, chaos::mutant, live::LiveSession};

/// `patches-status-in-parts`: applies only a part of the status, as two handlers with one field manager do; what a part leaves out is
/// removed by the API server.
pub fn patch_in_parts(mut patch: Value) -> Value {
    if mutant("patches-status-in-parts")
        && let Some(status) = patch.get_mut("status").and_then(Value::as_object_mut)
        && status.get("dbReady") == Some(&json!(true))
    {
        status.remove("redisReady");
    }
    patch
}

/// `overwrites-on-create`: at the end of every pass draws new passwords and overwrites what pods read, as a create handler does that
/// fires again.
pub async fn overwrite_on_create(session: &LiveSession) {
    if mutant("overwrites-on-create") {
        session.overwrite_copies().await;
    }
}

impl Ssm {
    pub(crate) async fn overwrite_copy(&self, tenant: &TenantName, app: &AppName, copy: &PublishedCopy) {
        let text = copy.write(&self.installation, tenant, app);
        let put = self
            .client
            .put_parameter()
            .name(self.prefix.copy(tenant, app))
            .value(text.expose())
            .overwrite(true);
        let answer = put.send().await;
        tracing::warn!(overwritten = answer.is_ok(), "mutant");
    }
}
