//! The store: ledger records, published copies and enrolments in SSM Parameter Store. Every write is create-only, and there is no
//! other; what could not be read is a failure and never looks absent; values are secrets from the moment they arrive. Requests are boxed:
//! the SDK's futures are some ten kilobytes each.

mod read;
mod write;

use std::time::Duration;

use aws_sdk_ssm::{Client, operation::get_parameter::GetParameterError, types::Parameter};
use futures::future::join;
use ramparts_core::{
    failure::Failure,
    name::{Installation, StorePrefix, TenantName},
    observed::{Layer, StoreView},
    reason::Reason,
    secret::Secret,
    settings::{self, Tier},
};

use super::error::failure;
use crate::gate::{Call, Gate};

/// How long to wait before each further look at a parameter that must be there: about two seconds in all.
const READ_AFTER_WRITE: [Duration; 5] = [
    Duration::from_millis(60),
    Duration::from_millis(140),
    Duration::from_millis(300),
    Duration::from_millis(600),
    Duration::from_millis(900),
];

/// One installation's branch of Parameter Store.
#[derive(Clone, Debug)]
pub struct Ssm {
    pub(crate) client: Client,
    pub(crate) prefix: StorePrefix,
    kms_key: Option<String>,
    tier: Tier,
    pub(crate) installation: Installation,
    gate: Gate,
}

/// A parameter as it was read.
struct Stored {
    name: String,
    value: Secret,
    version: i64,
}

impl Ssm {
    /// The store that the settings describe.
    pub fn new(client: Client, settings: &settings::Credentials, installation: Installation, gate: Gate) -> Self {
        Self {
            client,
            prefix: settings.prefix.clone(),
            kms_key: settings.kms_key.clone(),
            tier: settings.tier,
            installation,
            gate,
        }
    }

    /// Ledger and copies of a tenant, by two listings. A record of ours that cannot be understood makes the whole store unknown: what
    /// it says could be anything.
    pub async fn observe(&self, tenant: &TenantName) -> Result<StoreView, Failure> {
        let (ledger, copies) = (self.prefix.ledger(tenant), self.prefix.copies(tenant));
        let (records, copies) = join(self.list(&ledger), self.list(&copies)).await;
        // Of two failures always the same one is told, whichever came first: a status must not change for as long as an outage lasts.
        let (records, copies) = (records?, copies?);
        let mut view = StoreView::default();
        for stored in records {
            self.take_record(tenant, &stored, &mut view)?;
        }
        for stored in copies {
            self.take_copy(tenant, &stored, &mut view);
        }
        Ok(view)
    }

    /// Everything directly under a path. A page may be short or empty and still not be the last: only the token says.
    async fn list(&self, path: &str) -> Result<Vec<Stored>, Failure> {
        let call = call("GetParametersByPath", path);
        let mut all = Vec::new();
        let mut next = None;
        loop {
            let request = self
                .client
                .get_parameters_by_path()
                .path(path)
                .with_decryption(true)
                .set_next_token(next);
            let answer = async { request.send().await.map_err(|error| failure(&call, &error, &[])) };
            let page = self.gate.pass(call, Box::pin(answer)).await?;
            for parameter in page.parameters.unwrap_or_default() {
                all.push(stored(&call, parameter)?);
            }
            next = page.next_token.filter(|token| !token.is_empty());
            if next.is_none() {
                return Ok(all);
            }
        }
    }

    /// One parameter that must be there, because it was just put or a put was refused for it: its absence is looked at again for about
    /// two seconds, for a read may lag behind a write.
    async fn get_expected(&self, name: &str) -> Result<Option<Stored>, Failure> {
        let mut waits = READ_AFTER_WRITE.iter();
        loop {
            match (self.get(name).await?, waits.next()) {
                (None, Some(wait)) => tokio::time::sleep(*wait).await,
                (found, _) => return Ok(found),
            }
        }
    }

    /// One parameter; `None` only if the store says that there is none of this name.
    async fn get(&self, name: &str) -> Result<Option<Stored>, Failure> {
        let call = call("GetParameter", name);
        let request = self.client.get_parameter().name(name).with_decryption(true);
        let answer = async {
            match request.send().await {
                Ok(found) => Ok(found.parameter),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(GetParameterError::is_parameter_not_found) =>
                {
                    Ok(None)
                }
                Err(error) => Err(failure(&call, &error, &[])),
            }
        };
        self.gate
            .pass(call, Box::pin(answer))
            .await?
            .map(|parameter| stored(&call, parameter))
            .transpose()
    }
}

fn call<'a>(operation: &'static str, target: &'a str) -> Call<'a> {
    Call {
        layer: Layer::Store,
        operation,
        target,
    }
}

fn stored(call: &Call<'_>, parameter: Parameter) -> Result<Stored, Failure> {
    match (parameter.name, parameter.value) {
        (Some(name), Some(value)) => Ok(Stored {
            name,
            value: Secret::new(value),
            version: parameter.version,
        }),
        (name, _) => Err(Failure::transient(
            Reason::StoreUnreachable,
            format!(
                "{call}: the answer leaves out name or value of {}",
                name.as_deref().unwrap_or("a parameter")
            ),
        )),
    }
}
