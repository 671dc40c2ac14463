//! What a stored value is: ours, another's, or ours and not to be understood.

use ramparts_core::{
    enrolment::StoreSide,
    failure::Failure,
    ledger::Record,
    name::{AppName, RecordNo, TargetName, TenantName},
    observed::{CopySeen, Presence, StoreView},
    published::PublishedCopy,
    reason::Reason,
    record::Read,
};
use serde::Deserialize;

use super::{Ssm, Stored};

pub(super) const SERVER_FORM: &str = "server/v1";

/// The store's side of an enrolment. Strings only, and none of them secret.
#[derive(Deserialize)]
struct ServerText {
    ramparts: String,
    #[serde(default)]
    installation: String,
    #[serde(default)]
    server: String,
    #[serde(default)]
    id: String,
}

impl Ssm {
    /// One record, read by its very name. When it is `expected`, because it was just put, its absence is looked at again for about two
    /// seconds: a read may lag behind a write.
    pub async fn record(
        &self,
        tenant: &TenantName,
        number: RecordNo,
        expected: bool,
    ) -> Result<Option<Record>, Failure> {
        let name = self.prefix.record(tenant, number);
        let found = if expected {
            self.get_expected(&name).await?
        } else {
            self.get(&name).await?
        };
        let Some(stored) = found else { return Ok(None) };
        match Record::read(&stored.value, &self.installation, tenant, number) {
            Read::Ours(record) => Ok(Some(record)),
            Read::Foreign => Err(Failure::blocked(
                Reason::NotOwned,
                format!("{name} holds a value that is not a record of this installation; it is left alone"),
            )),
            Read::Malformed(why) => Err(malformed(&name, &why)),
        }
    }

    /// The copy of an app that must be there, read by its very name: a listing may not show it yet.
    pub async fn copy(&self, tenant: &TenantName, app: &AppName) -> Result<Presence<CopySeen>, Failure> {
        let found = self.get_expected(&self.prefix.copy(tenant, app)).await?;
        Ok(found.map_or(Presence::Absent, |stored| self.judge_copy(tenant, app, &stored)))
    }

    /// What the store knows about a server.
    pub async fn server(&self, server: &TargetName) -> Result<StoreSide, Failure> {
        let name = self.prefix.server(server);
        let Some(stored) = self.get(&name).await? else {
            return Ok(StoreSide::Absent);
        };
        let Ok(text) = serde_json::from_str::<ServerText>(stored.value.expose()) else {
            return Ok(StoreSide::Foreign(format!(
                "{name} holds something else than an enrolment"
            )));
        };
        if text.ramparts.split('/').next() != Some("server") {
            return Ok(StoreSide::Foreign(format!(
                "{name} holds another kind of document of ours"
            )));
        }
        if text.installation != self.installation.as_str() || text.server != server.as_str() {
            return Ok(StoreSide::Foreign(format!(
                "{name} is of another installation or another server"
            )));
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if text.ramparts != SERVER_FORM || text.id.is_empty() || !text.id.bytes().all(plain) {
            return Err(malformed(&name, "it is not an enrolment that this version can read"));
        }
        Ok(StoreSide::Recorded(text.id))
    }

    /// Enters a parameter found among the records. What is not named like a record is none.
    pub(super) fn take_record(
        &self,
        tenant: &TenantName,
        stored: &Stored,
        view: &mut StoreView,
    ) -> Result<(), Failure> {
        let Some(number) = stored.last_segment().and_then(RecordNo::parse) else {
            return Ok(());
        };
        match Record::read(&stored.value, &self.installation, tenant, number) {
            Read::Ours(record) => {
                view.ledger.records.insert(number, record);
            }
            Read::Foreign => view.foreign_record = Some(stored.name.clone()),
            Read::Malformed(why) => return Err(malformed(&stored.name, &why)),
        }
        Ok(())
    }

    /// Enters a parameter found among the copies. What is not named like an app is no copy.
    pub(super) fn take_copy(&self, tenant: &TenantName, stored: &Stored, view: &mut StoreView) {
        let Some(app) = stored.last_segment().and_then(|name| AppName::parse(name).ok()) else {
            return;
        };
        let presence = self.judge_copy(tenant, &app, stored);
        view.copies.insert(app, presence);
    }

    fn judge_copy(&self, tenant: &TenantName, app: &AppName, stored: &Stored) -> Presence<CopySeen> {
        match PublishedCopy::read(&stored.value, &self.installation, tenant, app) {
            Read::Ours(copy) => Presence::Ours(CopySeen {
                copy,
                version: stored.version.to_string(),
            }),
            Read::Foreign => Presence::Foreign(format!("{} holds a value that is not a copy of ours", stored.name)),
            Read::Malformed(why) => Presence::Unknown(malformed(&stored.name, &why)),
        }
    }
}

impl Stored {
    fn last_segment(&self) -> Option<&str> {
        self.name.rsplit('/').next()
    }
}

fn malformed(name: &str, why: &str) -> Failure {
    Failure::blocked(
        Reason::Malformed,
        format!(
            "{name} bears our mark and cannot be understood: {why}; nothing is built on it until a person has looked"
        ),
    )
}
