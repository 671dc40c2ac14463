//! The two changes that are ever made: a new user, and users added to the group.

use aws_sdk_elasticache::{error::ProvideErrorMetadata, types::Tag};
use ramparts_core::{
    failure::Failure,
    mark::Mark,
    name::{AppName, CacheUser, RecordNo, TenantName},
    reason::Reason,
    secret::Secret,
};

use super::{ElastiCache, call};
use crate::aws::error::failure;

/// What came of making a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreatedUser {
    /// It can be used.
    Active,
    /// The service is at work; this is its word for it.
    Pending(String),
}

/// What came of adding users to the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// They are members.
    Done,
    /// The service is at work, on this change or on one before it.
    Pending(String),
}

impl ElastiCache {
    /// Makes a user, tagged from its first moment. One that is there already is left as it is, and the next pass looks at it.
    pub async fn create_user(
        &self,
        tenant: &TenantName,
        app: &AppName,
        record: RecordNo,
        user: &CacheUser,
        access_string: &str,
        password: &Secret,
    ) -> Result<CreatedUser, Failure> {
        let engine = self.engine().await?;
        let mark = Mark {
            installation: self.installation.clone(),
            tenant: tenant.clone(),
            app: Some(app.clone()),
            record,
            layout: None,
        };
        let call = call("CreateUser", user.as_str());
        let request = self
            .client
            .create_user()
            .user_id(user.as_str())
            .user_name(user.as_str())
            .engine(engine)
            .access_string(access_string)
            .passwords(password.expose())
            .set_tags(Some(
                mark.tags()
                    .into_iter()
                    .map(|(key, value)| Tag::builder().key(key).value(value).build())
                    .collect(),
            ));
        let answer = async {
            request.send().await.map_err(
                |error| match error.as_service_error().and_then(ProvideErrorMetadata::code) {
                    Some("UserAlreadyExists") => Failure::transient(
                        Reason::LostRace,
                        format!("{call}: it is there already; the next pass looks whose it is"),
                    ),
                    Some("DuplicateUserName") => Failure::blocked(
                        Reason::NotOwned,
                        format!("{call}: another user has this name; it is left alone"),
                    ),
                    _ => failure(&call, &error, &[password]),
                },
            )
        };
        let created = self.gate.pass(call, Box::pin(answer)).await?;
        self.known().marks.insert(user.clone(), mark);
        let status = created.status.unwrap_or_default();
        Ok(if status == "active" {
            CreatedUser::Active
        } else {
            CreatedUser::Pending(status)
        })
    }

    /// Adds users to the group, in one call. A group or user that is changing is no failure: it takes the change later.
    pub async fn join(&self, users: &[CacheUser]) -> Result<Joined, Failure> {
        if users.is_empty() {
            return Ok(Joined::Done);
        }
        let _turn = self.joining.lock().await;
        let call = call("ModifyUserGroup", &self.user_group);
        let ids = users.iter().map(|user| user.as_str().to_owned()).collect();
        let request = self
            .client
            .modify_user_group()
            .user_group_id(&*self.user_group)
            .set_user_ids_to_add(Some(ids));
        let answer = async {
            let error = match request.send().await {
                Ok(group) => {
                    let status = group.status.unwrap_or_default();
                    let waiting = || Joined::Pending(format!("user group {} is {status}", self.user_group));
                    return Ok(if status == "active" { Joined::Done } else { waiting() });
                }
                Err(error) => error,
            };
            let said = error
                .as_service_error()
                .and_then(ProvideErrorMetadata::message)
                .unwrap_or_default();
            match error.as_service_error().and_then(ProvideErrorMetadata::code) {
                Some("InvalidUserGroupState" | "InvalidUserState") => Ok(Joined::Pending(said.to_owned())),
                Some("UserNotFound") => Err(lost_race(&call, said)),
                Some("InvalidParameterValue") if said.contains("already a member") => Err(lost_race(&call, said)),
                Some("UserGroupNotFound") => Err(self.no_group()),
                Some("DuplicateUserName" | "DefaultUserRequired") => {
                    let message = format!("{call}: {said}; a person has to look at this group");
                    Err(Failure::blocked(Reason::NotOwned, message))
                }
                _ => Err(failure(&call, &error, &[])),
            }
        };
        self.gate.pass(call, Box::pin(answer)).await
    }

    /// The engine of the group, which its users must share.
    async fn engine(&self) -> Result<String, Failure> {
        let known = self.known().engine.clone();
        match known {
            Some(engine) => Ok(engine),
            None => Ok(self.group().await?.engine),
        }
    }
}

/// What was observed is no longer so; nothing was changed.
fn lost_race(call: &crate::gate::Call<'_>, said: &str) -> Failure {
    Failure::transient(Reason::LostRace, format!("{call}: {said}; the next pass looks again"))
}
