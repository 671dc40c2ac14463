//! What the database server lacks: groups, the database itself, logins, their limits.

use std::collections::BTreeMap;

use crate::{
    failure::Failure,
    name::{Access, RoleName},
    observed::{Layer, LoginSeen, Presence, StoreView},
    published::Whereabouts,
    reason::Reason,
    recall::login_object,
    step::{LoginChanges, Source, Step},
};

use super::{Draft, credential::Holding};

/// The version of what `PrepareDatabase` sets inside a tenant's database; a database marked with a lower one is prepared again.
pub const LAYOUT: u32 = 1;

/// Why a credential is proven before it is published, and again afterwards.
pub(super) const FIRST: &str = "only what has logged in is published";
pub(super) const STILL: &str = "Ready means that it logs in still";

fn proves(holding: &Holding) -> Step {
    Step::ProveLogin {
        app: holding.app.clone(),
        record: holding.record,
        login: holding.names.login.clone(),
        from: Source::Ledger,
    }
}

impl Draft<'_> {
    /// A database that this tenant once had and that is gone is never made again: it would be empty, and look right.
    pub(super) fn database_is_not_lost(&mut self, store: &StoreView) -> bool {
        let Some(view) = self.observed.database.known() else {
            return true;
        };
        let name = self.desired.database();
        match &view.database {
            Presence::Ours(_) => true,
            Presence::Foreign(what) => {
                let message = format!("database {name} exists and is not ours ({what}); it is left alone");
                self.wrong(Layer::Database, None, Failure::blocked(Reason::NotOwned, message));
                false
            }
            Presence::Unknown(_) => false,
            Presence::Absent => {
                let copy = store.copies.values().any(|copy| matches!(copy, Presence::Ours(_)));
                let login = view.logins.values().any(|login| matches!(login, Presence::Ours(_)));
                let once = copy || login || self.desired.once_ready;
                // What could not be read may be what remembers a database.
                let perhaps = store.copies.values().any(|copy| matches!(copy, Presence::Unknown(_)))
                    || view.logins.values().any(|login| matches!(login, Presence::Unknown(_)));
                if once {
                    let message = format!(
                        "database {name} is gone although this tenant once had it; restore it: it is never made again empty"
                    );
                    self.wrong(Layer::Database, None, Failure::blocked(Reason::DatabaseLost, message));
                }
                !once && !perhaps
            }
        }
    }

    /// Groups, then the database, closed before it is opened, then what is inside it.
    pub(super) fn prepare_database(&mut self, store: &StoreView, groups: Option<Vec<(Access, RoleName)>>) {
        let (Some(view), Some(groups)) = (self.observed.database.known(), groups) else {
            return;
        };
        let record = store.ledger.life();
        let database = self.desired.database();
        let mut last: Vec<usize> = Vec::new();
        // A group that is made again has lost all that the old one was granted.
        let made_again = !groups.is_empty();
        if made_again {
            let because = "the tenant's privileges belong to groups, not to logins";
            last = vec![self.step(Step::CreateGroups { groups, record }, because, vec![])];
        }
        let (exists, sealed, layout) = match &view.database {
            Presence::Ours(seen) => (
                true,
                seen.sealed && seen.mark.is_some() && !made_again,
                seen.mark.as_ref().and_then(|mark| mark.layout).filter(|_| !made_again),
            ),
            Presence::Absent | Presence::Foreign(_) | Presence::Unknown(_) => (false, false, None),
        };
        if !exists {
            let because = "the ledger has the tenant, the server does not have its database";
            last = vec![self.step(
                Step::CreateDatabase {
                    database: database.clone(),
                },
                because,
                last,
            )];
        }
        if !sealed {
            let step = Step::SealDatabase {
                database: database.clone(),
                record,
                layout,
            };
            last = vec![self.step(step, "others could connect to it, or its own groups could not", last)];
        }
        if layout.is_none_or(|layout| layout < LAYOUT) {
            let step = Step::PrepareDatabase {
                database,
                record,
                layout: LAYOUT,
            };
            last = vec![self.step(step, "what its owner creates must be usable by the other groups", last)];
        }
        self.database_ready = last;
    }

    /// The groups to create; none if one of the names is taken.
    pub(super) fn missing_groups(&mut self) -> Option<Vec<(Access, RoleName)>> {
        let view = self.observed.database.known()?;
        let mut missing = Vec::new();
        for access in Access::ALL {
            let role = RoleName::group(&self.desired.tenant, access);
            match view.group(access) {
                Presence::Ours(()) => {}
                Presence::Absent => missing.push((access, role)),
                Presence::Foreign(what) => {
                    let message = format!("role {role} exists and is not ours ({what}); it is left alone");
                    self.wrong(Layer::Database, None, Failure::blocked(Reason::NotOwned, message));
                    self.database_blocked = true;
                }
                Presence::Unknown(_) => self.database_blocked = true,
            }
        }
        (!self.database_blocked).then_some(missing)
    }

    /// Logins that are missing, and the limits of every login that this tenant has, those of retained apps included.
    pub(super) fn plan_logins(&mut self, store: &StoreView, holdings: &[Holding]) {
        let Some(view) = self.observed.database.known() else {
            return;
        };
        if self.database_blocked {
            return;
        }
        for holding in holdings {
            let login = holding.names.login.clone();
            if *view.login(&login) == Presence::Absent {
                let step = Step::CreateLogin {
                    app: holding.app.clone(),
                    record: holding.record,
                    login: login.clone(),
                    access: holding.names.access,
                };
                let needs = self.database_ready.clone();
                let create = self.step(step, "the ledger has it, the server does not", needs);
                let changes = self.changes(None, holding.names.access);
                self.step(
                    Step::ConfigureLogin { login, changes },
                    "a new login gets the plan's limits",
                    vec![create],
                );
            }
        }
        for (name, login) in &view.logins {
            let Presence::Ours(seen) = login else { continue };
            let issued = seen
                .mark
                .app
                .as_ref()
                .and_then(|app| store.ledger.credential(seen.mark.record, app));
            // A role whose mark and name do not belong together is not one that the ledger issued.
            let Some(credential) = issued.filter(|credential| credential.login == *name) else {
                continue;
            };
            let changes = self.changes(Some(seen), credential.access);
            if !changes.is_empty() {
                let step = Step::ConfigureLogin {
                    login: name.clone(),
                    changes,
                };
                let needs = self.database_ready.clone();
                self.step(step, "it differs from what the plan says", needs);
            }
        }
    }

    /// What must change on a login, so that it has the plan's limits, acts as its owner group if it is an owner, and is in its group.
    fn changes(&self, seen: Option<&LoginSeen>, access: Access) -> LoginChanges {
        let limits = self.desired.plan.as_ref().map(|(_, limits)| limits);
        let group = RoleName::group(&self.desired.tenant, access);
        let mut wanted = limits.map_or_else(BTreeMap::new, |limits| limits.settings.clone());
        if access == Access::Owner {
            wanted.insert("role".into(), group.to_string());
        }
        let none = BTreeMap::new();
        let has = seen.map_or(&none, |seen| &seen.settings);
        LoginChanges {
            connections: limits
                .map(|it| it.connections)
                .filter(|it| seen.map(|seen| seen.connections) != Some(*it)),
            reset: limits
                .into_iter()
                .flat_map(|limits| limits.ours.iter())
                .filter(|key| has.contains_key(*key) && !wanted.contains_key(*key))
                .cloned()
                .collect(),
            set: wanted
                .into_iter()
                .filter(|(key, value)| has.get(key) != Some(value))
                .collect(),
            join: seen.filter(|seen| !seen.member_of.contains(&group)).map(|_| group),
        }
    }

    /// What a proof of the login takes: the proof's step, none if it is fresh, and `None` if it cannot be proven at all. A server whose catalog cannot be
    /// read is asked for the login all the same: what pods have may work where the operator does not get in, or be down with it.
    pub(super) fn prove_login(&mut self, holding: &Holding, at: &Whereabouts, publish: bool) -> Option<Vec<usize>> {
        let login = &holding.names.login;
        let created = self.creates_login(login);
        let seen = self.observed.database.known().map(|view| view.login(login));
        match seen {
            None if publish => return None,
            None => return Some(vec![self.proof(proves(holding), STILL, vec![], false)]),
            Some(presence) => match presence {
                Presence::Absent => {
                    created?;
                }
                Presence::Ours(seen) => {
                    self.is_healthy(holding, seen).then_some(())?;
                    let object = login_object(at, seen);
                    let recall = &self.observed.recall;
                    if !publish && recall.is_fresh(&holding.app, Layer::Database, holding.record, &object, self.now) {
                        return Some(vec![]);
                    }
                }
                Presence::Foreign(what) => {
                    self.taken(Layer::Database, &holding.app, &format!("role {login}"), &what.clone());
                    return None;
                }
                Presence::Unknown(_) => return None,
            },
        }
        let because = if publish { FIRST } else { STILL };
        let mut needs: Vec<usize> = created.into_iter().collect();
        needs.extend(self.database_ready.iter().copied());
        if publish {
            // An owner that does not act as its group yet would make objects that the other apps cannot use.
            needs.extend(self.configures_login(login));
        }
        Some(vec![self.proof(proves(holding), because, needs, publish)])
    }

    fn configures_login(&self, wanted: &RoleName) -> Option<usize> {
        self.plan
            .steps
            .iter()
            .position(|planned| matches!(&planned.step, Step::ConfigureLogin { login, .. } if login == wanted))
    }

    fn creates_login(&self, wanted: &RoleName) -> Option<usize> {
        self.plan
            .steps
            .iter()
            .position(|planned| matches!(&planned.step, Step::CreateLogin { login, .. } if login == wanted))
    }

    /// A login of ours that bears another's mark is in other hands; one that was disabled by hand has drifted.
    fn is_healthy(&mut self, holding: &Holding, seen: &LoginSeen) -> bool {
        let login = &holding.names.login;
        let app = &holding.app;
        if seen.mark.app.as_ref() != Some(app) || seen.mark.record != holding.record {
            self.taken(Layer::Database, app, &format!("role {login}"), &seen.mark.to_string());
            return false;
        }
        if !seen.can_login {
            let message =
                format!("login {login} was set NOLOGIN by another's hand; it is not altered: a rotation replaces it");
            self.wrong(
                Layer::Database,
                Some(app),
                Failure::blocked(Reason::CredentialDrift, message),
            );
            return false;
        }
        if seen.expired {
            let message =
                format!("login {login} was given a VALID UNTIL that has passed; it is not altered: lift it, or rotate");
            self.wrong(
                Layer::Database,
                Some(app),
                Failure::blocked(Reason::LoginExpired, message),
            );
            return false;
        }
        true
    }
}
