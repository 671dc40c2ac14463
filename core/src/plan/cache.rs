//! What the cache lacks: users, their membership. A cache user is created and joined, never modified.

use crate::{
    failure::Failure,
    name::CacheUser,
    observed::{CacheUserSeen, Layer, Membership, Presence},
    published::Whereabouts,
    reason::Reason,
    recall::user_object,
    step::{Source, Step},
};

use super::{
    Draft, FindingKind,
    credential::Holding,
    database::{FIRST, STILL},
};

impl Draft<'_> {
    /// Users that are missing, and one change of the group for all that are outside.
    pub(super) fn plan_cache_users(&mut self, holdings: &[Holding]) {
        let Some(view) = self.observed.cache.known() else {
            return;
        };
        let mut joining = Vec::new();
        let mut needs = Vec::new();
        for holding in holdings {
            let Some((user, _)) = &holding.names.cache else {
                continue;
            };
            match view.user(user) {
                Presence::Absent => {
                    let step = Step::CreateCacheUser {
                        app: holding.app.clone(),
                        record: holding.record,
                        user: user.clone(),
                    };
                    needs.push(self.step(step, "the ledger has it, the cache does not", vec![]));
                    joining.push(user.clone());
                }
                Presence::Ours(seen) if self.is_as_marked(holding, user, seen) => {
                    match (&seen.pending, seen.membership) {
                        (None, Membership::Outside) => joining.push(user.clone()),
                        (Some(state), _) => self.wait(
                            holding,
                            Reason::CacheUserPending,
                            format!("cache user {user} is {state}"),
                        ),
                        (None, Membership::Joining | Membership::Leaving) => {
                            self.wait(
                                holding,
                                Reason::UserGroupPending,
                                format!("cache user {user} is joining its group"),
                            );
                        }
                        (None, Membership::Member) => {}
                    }
                }
                Presence::Ours(_) => {}
                Presence::Foreign(what) => {
                    self.taken(Layer::Cache, &holding.app, &format!("cache user {user}"), &what.clone());
                }
                Presence::Unknown(failure) => {
                    self.find(Layer::Cache, Some(&holding.app), FindingKind::Unknown, failure.clone());
                }
            }
        }
        if joining.is_empty() {
            return;
        }
        if let Some(state) = &view.group_busy {
            let message = format!("the user group is {state}; it takes no members until that is done");
            let failure = Failure::transient(Reason::UserGroupPending, message);
            self.find(Layer::Cache, None, FindingKind::Waiting, failure);
        } else {
            let step = Step::JoinUserGroup { users: joining };
            self.step(step, "a user outside the group cannot log in", needs);
        }
    }

    fn is_as_marked(&mut self, holding: &Holding, user: &CacheUser, seen: &CacheUserSeen) -> bool {
        let same = seen.mark.app.as_ref() == Some(&holding.app) && seen.mark.record == holding.record;
        if !same {
            self.taken(
                Layer::Cache,
                &holding.app,
                &format!("cache user {user}"),
                &seen.mark.to_string(),
            );
        }
        same
    }

    fn wait(&mut self, holding: &Holding, reason: Reason, message: String) {
        self.find(
            Layer::Cache,
            Some(&holding.app),
            FindingKind::Waiting,
            Failure::transient(reason, message),
        );
    }

    /// What a proof of the cache user takes: the proof's step, none if there is nothing to prove or it is fresh, and `None` if it cannot be proven now. Where
    /// the service that describes users cannot be read, the cache itself is asked all the same.
    pub(super) fn prove_cache_user(
        &mut self,
        holding: &Holding,
        at: &Whereabouts,
        publish: bool,
    ) -> Option<Vec<usize>> {
        let Some((user, _)) = &holding.names.cache else {
            return Some(vec![]);
        };
        at.cache.as_ref()?;
        let joined = self
            .plan
            .steps
            .iter()
            .position(|planned| matches!(&planned.step, Step::JoinUserGroup { users } if users.contains(user)));
        match self.observed.cache.known().map(|view| view.user(user)) {
            None if publish => return None,
            None => {}
            Some(Presence::Ours(seen)) if seen.membership == Membership::Member && seen.pending.is_none() => {
                let object = user_object(at, user);
                let recall = &self.observed.recall;
                if !publish && recall.is_fresh(&holding.app, Layer::Cache, holding.record, &object, self.now) {
                    return Some(vec![]);
                }
            }
            Some(Presence::Absent | Presence::Ours(_)) => {
                joined?;
            }
            Some(Presence::Foreign(_) | Presence::Unknown(_)) => return None,
        }
        let step = Step::ProveCacheUser {
            app: holding.app.clone(),
            record: holding.record,
            user: user.clone(),
            from: Source::Ledger,
        };
        let because = if publish { FIRST } else { STILL };
        Some(vec![self.proof(step, because, joined.into_iter().collect(), publish)])
    }
}
