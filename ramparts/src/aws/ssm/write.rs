//! The only writes to the store. All of them go through one function, which never overwrites.

use aws_sdk_ssm::{
    operation::put_parameter::PutParameterError,
    types::{ParameterTier, ParameterType, Tag, builders::TagBuilder},
};
use ramparts_core::{
    failure::Failure,
    ledger::Record,
    mark::Mark,
    name::{AppName, RecordNo, TargetName, TenantName},
    published::PublishedCopy,
    secret::Secret,
    settings::Tier,
};

use super::{Ssm, call, read::SERVER_FORM};
use crate::aws::{Created, error::failure};

impl Ssm {
    /// Commits a record at its number, if nothing is there.
    pub async fn create_record(&self, tenant: &TenantName, record: &Record) -> Result<Created, Failure> {
        let name = self.prefix.record(tenant, record.number);
        let tags = self.mark(tenant, None, record.number).tags();
        self.create(&name, &record.write(&self.installation, tenant), tags)
            .await
    }

    /// Publishes a copy, if nothing is there.
    pub async fn create_copy(
        &self,
        tenant: &TenantName,
        app: &AppName,
        copy: &PublishedCopy,
    ) -> Result<Created, Failure> {
        let name = self.prefix.copy(tenant, app);
        let tags = self.mark(tenant, Some(app), copy.record).tags();
        self.create(&name, &copy.write(&self.installation, tenant, app), tags)
            .await
    }

    /// Tells the store about a server, if it knows none of this name. The id is no secret, and is encrypted all the same: this is the
    /// first write ever made, and shows before anything is committed that the key can be used.
    pub async fn create_server(&self, server: &TargetName, id: &str) -> Result<Created, Failure> {
        let text = serde_json::json!({
            "ramparts": SERVER_FORM,
            "installation": self.installation.as_str(),
            "server": server.as_str(),
            "id": id,
        });
        let tags = vec![
            ("ramparts:installation".to_owned(), self.installation.to_string()),
            ("ramparts:server".to_owned(), server.to_string()),
        ];
        self.create(&self.prefix.server(server), &Secret::new(text.to_string()), tags)
            .await
    }

    fn mark(&self, tenant: &TenantName, app: Option<&AppName>, record: RecordNo) -> Mark {
        Mark {
            installation: self.installation.clone(),
            tenant: tenant.clone(),
            app: app.cloned(),
            record,
            layout: None,
        }
    }

    /// The create-only write: the point of agreement that the laws rest on.
    async fn create(&self, name: &str, value: &Secret, tags: Vec<(String, String)>) -> Result<Created, Failure> {
        let call = call("PutParameter", name);
        let request = self
            .client
            .put_parameter()
            .name(name)
            .value(value.expose())
            .overwrite(false)
            .r#type(ParameterType::SecureString)
            .set_key_id(self.kms_key.clone())
            .tier(match self.tier {
                Tier::Standard => ParameterTier::Standard,
                Tier::Advanced => ParameterTier::Advanced,
            })
            .set_tags(Some(service_tags(&call, tags)?));
        let answer = async {
            match request.send().await {
                Ok(_) => Ok(Created::Written),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(PutParameterError::is_parameter_already_exists) =>
                {
                    Ok(Created::Existed)
                }
                Err(error) => Err(failure(&call, &error, &[value])),
            }
        };
        self.gate.pass(call, Box::pin(answer)).await
    }
}

fn service_tags(call: &crate::gate::Call<'_>, tags: Vec<(String, String)>) -> Result<Vec<Tag>, Failure> {
    tags.into_iter()
        .map(|(key, value)| TagBuilder::default().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::defect(format!("{call}: a tag could not be built: {error}")))
}
