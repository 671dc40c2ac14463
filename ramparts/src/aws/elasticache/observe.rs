//! Looking at users and their group.

use std::collections::BTreeSet;

use aws_sdk_elasticache::{
    operation::{
        describe_user_groups::DescribeUserGroupsError, describe_users::DescribeUsersError,
        list_tags_for_resource::ListTagsForResourceError,
    },
    types::{User, UserGroup},
};
use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use ramparts_core::{
    failure::Failure,
    mark::{Mark, MarkRead},
    name::{CacheUser, TenantName},
    observed::{CacheUserSeen, CacheView, Membership, Presence},
    reason::Reason,
};

use super::{ElastiCache, call};
use crate::aws::error::failure;

/// How many users of one tenant are looked at at once.
const AT_ONCE: usize = 4;

/// The group, with changes under way counted.
pub(super) struct Group {
    members: BTreeSet<String>,
    joining: BTreeSet<String>,
    leaving: BTreeSet<String>,
    pub(super) engine: String,
    busy: Option<String>,
}

/// A user as the service describes it, and whose it is.
enum Found {
    Absent,
    Ours { mark: Mark, pending: Option<String> },
    Foreign(String),
    Unknown(Failure),
}

impl ElastiCache {
    /// The users that are asked for, and how they stand to the group. Without users nothing is asked.
    pub async fn observe(&self, tenant: &TenantName, wanted: &[CacheUser]) -> Result<CacheView, Failure> {
        if wanted.is_empty() {
            return Ok(CacheView::default());
        }
        let users = stream::iter(wanted.to_vec())
            .map(|user| async move {
                let found = self.find(tenant, &user).await?;
                Ok::<_, Failure>((user, found))
            })
            .buffered(AT_ONCE)
            .try_collect::<Vec<_>>();
        let (group, users) = try_join(self.group(), users).await?;
        let users = users
            .into_iter()
            .map(|(user, found)| {
                let presence = match found {
                    Found::Absent => Presence::Absent,
                    Found::Foreign(what) => Presence::Foreign(what),
                    Found::Unknown(why) => Presence::Unknown(why),
                    Found::Ours { mark, pending } => Presence::Ours(CacheUserSeen {
                        mark,
                        pending,
                        membership: group.membership(&user),
                    }),
                };
                (user, presence)
            })
            .collect();
        Ok(CacheView {
            users,
            group_busy: group.busy,
        })
    }

    async fn find(&self, tenant: &TenantName, user: &CacheUser) -> Result<Found, Failure> {
        let Some(described) = self.describe(user).await? else {
            self.known().marks.remove(user);
            return Ok(Found::Absent);
        };
        let name = described.user_name.as_deref().unwrap_or_default();
        if name != user.as_str() {
            return Ok(Found::Foreign(format!(
                "cache user {user} logs in as {name:?}, which none of ours would"
            )));
        }
        let mark = match self.mark(user, described.arn.as_deref()).await {
            Ok(MarkRead::Mark(mark)) => mark,
            Ok(MarkRead::NotAMark) => return Ok(Found::Foreign(format!("cache user {user} has no tags of ours"))),
            Ok(MarkRead::Malformed(tags)) => {
                let message = format!("the tags of cache user {user} cannot be understood: {tags}; it is left alone");
                return Ok(Found::Unknown(Failure::blocked(Reason::Malformed, message)));
            }
            Err(why) => return Ok(Found::Unknown(why)),
        };
        if mark.installation != self.installation || mark.tenant != *tenant {
            return Ok(Found::Foreign(format!("cache user {user} is marked as {mark}")));
        }
        self.known().marks.insert(user.clone(), mark.clone());
        let status = described.status.unwrap_or_default();
        Ok(Found::Ours {
            mark,
            pending: (status != "active").then_some(status),
        })
    }

    /// A user by its id; `None` only if the service says that there is none.
    async fn describe(&self, user: &CacheUser) -> Result<Option<User>, Failure> {
        let call = call("DescribeUsers", user.as_str());
        let request = self.client.describe_users().user_id(user.as_str());
        let answer = async {
            match request.send().await {
                Ok(page) => Ok(page.users.unwrap_or_default()),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DescribeUsersError::is_user_not_found_fault) =>
                {
                    Ok(Vec::new())
                }
                Err(error) => Err(failure(&call, &error, &[])),
            }
        };
        let users = self.gate.pass(call, Box::pin(answer)).await?;
        let is_this = |found: &User| {
            found
                .user_id
                .as_deref()
                .is_some_and(|id| id.eq_ignore_ascii_case(user.as_str()))
        };
        match (users.is_empty(), users.into_iter().find(is_this)) {
            (true, _) => Ok(None),
            (false, Some(user)) => Ok(Some(user)),
            (false, None) => Err(Failure::transient(
                Reason::CacheUnreachable,
                format!("{call}: the answer is about other users"),
            )),
        }
    }

    /// The mark of a user that is there, from its tags unless this process knows it already.
    async fn mark(&self, user: &CacheUser, arn: Option<&str>) -> Result<MarkRead, Failure> {
        if let Some(mark) = self.known().marks.get(user) {
            return Ok(MarkRead::Mark(mark.clone()));
        }
        let call = call("ListTagsForResource", user.as_str());
        let request = self
            .client
            .list_tags_for_resource()
            .set_resource_name(arn.map(str::to_owned));
        let answer = async {
            match request.send().await {
                Ok(answer) => Ok(answer.tag_list.unwrap_or_default()),
                // Said of a user that is there and changing: it is not absent.
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(ListTagsForResourceError::is_user_not_found_fault) =>
                {
                    let message = format!("{call}: the service does not show the tags of this user yet");
                    Err(Failure::transient(Reason::CacheUserPending, message))
                }
                Err(error) => Err(failure(&call, &error, &[])),
            }
        };
        let tags = self.gate.pass(call, Box::pin(answer)).await?;
        Ok(Mark::from_tags(tags.into_iter().map(|tag| {
            (tag.key.unwrap_or_default(), tag.value.unwrap_or_default())
        })))
    }

    pub(super) async fn group(&self) -> Result<Group, Failure> {
        let call = call("DescribeUserGroups", &self.user_group);
        let request = self.client.describe_user_groups().user_group_id(&*self.user_group);
        let answer = async {
            match request.send().await {
                Ok(page) => Ok(page.user_groups.unwrap_or_default()),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DescribeUserGroupsError::is_user_group_not_found_fault) =>
                {
                    Err(self.no_group())
                }
                Err(error) => Err(failure(&call, &error, &[])),
            }
        };
        let groups = self.gate.pass(call, Box::pin(answer)).await?;
        let group = groups.into_iter().next().ok_or_else(|| self.no_group())?;
        let group = Group::of(group);
        self.known().engine = Some(group.engine.clone());
        Ok(group)
    }

    /// The group is the operator's to name and a person's to make.
    pub(super) fn no_group(&self) -> Failure {
        Failure::blocked(
            Reason::UnknownPlacement,
            format!(
                "user group {} does not exist in this account and region; create it, or correct elasticache.userGroup in the settings",
                self.user_group
            ),
        )
    }
}

impl Group {
    fn of(group: UserGroup) -> Self {
        let set = |ids: Option<Vec<String>>| -> BTreeSet<String> {
            ids.unwrap_or_default()
                .into_iter()
                .map(|id| id.to_ascii_lowercase())
                .collect()
        };
        let pending = group.pending_changes;
        let (joining, leaving) = pending.map_or((None, None), |pending| {
            (pending.user_ids_to_add, pending.user_ids_to_remove)
        });
        let status = group.status.unwrap_or_default();
        Self {
            members: set(group.user_ids),
            joining: set(joining),
            leaving: set(leaving),
            engine: group.engine.unwrap_or_default(),
            busy: (status != "active").then_some(status),
        }
    }

    fn membership(&self, user: &CacheUser) -> Membership {
        let user = user.as_str();
        if self.leaving.contains(user) {
            Membership::Leaving
        } else if self.members.contains(user) {
            Membership::Member
        } else if self.joining.contains(user) {
            Membership::Joining
        } else {
            Membership::Outside
        }
    }
}
