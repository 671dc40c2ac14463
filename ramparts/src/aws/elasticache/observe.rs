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

impl ElastiCache {
    /// The users that are asked for, and how they stand to the group. Without users nothing is asked.
    pub async fn observe(&self, tenant: &TenantName, wanted: &[CacheUser]) -> Result<CacheView, Failure> {
        if wanted.is_empty() {
            return Ok(CacheView::default());
        }
        let described = stream::iter(wanted.to_vec())
            .map(|user| async move {
                let described = self.describe(&user).await?;
                Ok::<_, Failure>((user, described))
            })
            .buffered(AT_ONCE)
            .try_collect::<Vec<_>>();
        let (group, described) = try_join(self.group(), described).await?;
        let users = stream::iter(described)
            .map(|(user, described)| {
                let membership = group.membership(&user);
                async move {
                    let presence = self.judge(tenant, &user, described, membership).await;
                    (user, presence)
                }
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        Ok(CacheView {
            users,
            group_busy: group.busy,
        })
    }

    /// Whose a described user is, and how it stands.
    async fn judge(
        &self,
        tenant: &TenantName,
        user: &CacheUser,
        described: Option<User>,
        membership: Membership,
    ) -> Presence<CacheUserSeen> {
        let Some(described) = described else {
            self.known().marks.remove(user);
            return Presence::Absent;
        };
        let name = described.user_name.as_deref().unwrap_or_default();
        if name != user.as_str() {
            return Presence::Foreign(format!(
                "cache user {user} logs in as {name:?}, which none of ours would"
            ));
        }
        let status = described.status.unwrap_or_default();
        let pending = (status != "active").then_some(status);
        // A user that can be added to the group is never believed to be ours from memory: another may have been made in its place
        // between two looks. One that is changing is not added, and its tags cannot be read.
        let joinable = pending.is_none() && membership != Membership::Member;
        let mark = match self.mark(user, described.arn.as_deref(), !joinable).await {
            Ok(mark) => mark,
            Err(why) => return Presence::Unknown(why),
        };
        let found = self.owned(tenant, user, mark);
        let mut known = self.known();
        match &found {
            Presence::Ours(mark) => known.marks.insert(user.clone(), mark.clone()),
            Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => known.marks.remove(user),
        };
        match found {
            Presence::Ours(mark) => Presence::Ours(CacheUserSeen {
                mark,
                pending,
                membership,
            }),
            Presence::Absent => Presence::Absent,
            Presence::Foreign(what) => Presence::Foreign(what),
            Presence::Unknown(why) => Presence::Unknown(why),
        }
    }

    /// The mark of a user of this tenant, or why it is none.
    fn owned(&self, tenant: &TenantName, user: &CacheUser, mark: MarkRead) -> Presence<Mark> {
        match mark {
            MarkRead::Mark(mark) if mark.installation == self.installation && mark.tenant == *tenant => {
                Presence::Ours(mark)
            }
            MarkRead::Mark(mark) => Presence::Foreign(format!("cache user {user} is marked as {mark}")),
            MarkRead::NotAMark => Presence::Foreign(format!("cache user {user} has no tags of ours")),
            MarkRead::Malformed(tags) => {
                let message = format!("the tags of cache user {user} cannot be understood: {tags}; it is left alone");
                Presence::Unknown(Failure::blocked(Reason::Malformed, message))
            }
        }
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

    /// The mark of a user that is there, from its tags, unless this process knows it already and `memory_will_do`.
    async fn mark(&self, user: &CacheUser, arn: Option<&str>, memory_will_do: bool) -> Result<MarkRead, Failure> {
        let known = self.known().marks.get(user).filter(|_| memory_will_do).cloned();
        if let Some(mark) = known {
            return Ok(MarkRead::Mark(mark));
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
