//! What the cache lacks: users, their membership. A cache user is created and joined, never modified.

use crate::{
    name::CacheUser,
    observed::{CacheUserSeen, Layer, Membership, Presence},
    published::Whereabouts,
    reason::Reason,
    recall::user_object,
    step::{Source, Step},
};

use super::{
    Draft,
    credential::Holding,
    database::{FIRST, STILL},
};

impl Draft<'_> {
    /// Users that are missing, and one change of the group for all that are outside, and one for all that are made.
    pub(super) fn plan_cache_users(&mut self, holdings: &[Holding]) {
        let Some(view) = self.observed.cache.known() else {
            return;
        };
        let mut outside = Vec::new();
        let mut made = Vec::new();
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
                    made.push(holding);
                }
                Presence::Ours(seen) if self.is_as_marked(holding, user, seen) => {
                    match (&seen.pending, seen.membership) {
                        (None, Membership::Outside) => outside.push(holding),
                        // A member whose user the service is changing may well log in: the proof says so, or not.
                        (Some(_), Membership::Member) if holding.copy_version.is_some() => {}
                        (Some(state), _) => {
                            let message = format!("cache user {user} is {state}");
                            self.wait(Layer::Cache, &holding.app, Reason::CacheUserPending, message);
                        }
                        (None, Membership::Joining | Membership::Leaving) => {
                            let message = format!("the service is changing the membership of cache user {user}");
                            self.wait(Layer::Cache, &holding.app, Reason::UserGroupPending, message);
                        }
                        (None, Membership::Member) => {}
                    }
                }
                Presence::Ours(_) | Presence::Unknown(_) => {}
                Presence::Foreign(what) => {
                    self.taken(Layer::Cache, &holding.app, &format!("cache user {user}"), &what.clone());
                }
            }
        }
        // Apart, so that a user that cannot be made does not keep those that are there out of their group.
        self.join(&outside, vec![]);
        self.join(&made, needs);
    }

    fn join(&mut self, joining: &[&Holding], needs: Vec<usize>) {
        let busy = self.observed.cache.known().and_then(|view| view.group_busy.as_ref());
        if let Some(state) = busy {
            for holding in joining {
                let message = format!("the user group is {state}; it takes no members until that is done");
                self.wait(Layer::Cache, &holding.app, Reason::UserGroupPending, message);
            }
            return;
        }
        let users: Vec<CacheUser> = joining
            .iter()
            .filter_map(|holding| holding.names.cache.as_ref().map(|(user, _)| user.clone()))
            .collect();
        if !users.is_empty() {
            let step = Step::JoinUserGroup { users };
            self.step(step, "a user outside the group cannot log in", needs);
        }
    }

    fn is_as_marked(&mut self, holding: &Holding, user: &CacheUser, seen: &CacheUserSeen) -> bool {
        let same = is_of(holding, seen);
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
            Some(Presence::Ours(seen)) if !is_of(holding, seen) => return None,
            Some(Presence::Ours(seen))
                if seen.membership == Membership::Member && (seen.pending.is_none() || !publish) =>
            {
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

/// Whether a user bears the mark of the very record that issued it.
fn is_of(holding: &Holding, seen: &CacheUserSeen) -> bool {
    seen.mark.app.as_ref() == Some(&holding.app) && seen.mark.record == holding.record
}
