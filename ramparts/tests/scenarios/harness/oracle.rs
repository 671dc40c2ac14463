//! The six oracles. Each looks at what really is, never at what the operator says about itself, and names every violation that it finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use sandbox::{Stack, aws::Call};
use serde_json::Value;

use super::{
    baseline::{Baseline, copies, log_in, log_in_to_cache},
    recorder::Version,
    server_log::ServerLog,
    snapshot::{Snapshot, Thing},
};

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Credentials as in the baseline, and none written since.
    Cr,
    /// No status key vanishes, and no flag turns false without an outage.
    St,
    /// No write anywhere for two sweeps.
    Qu,
    /// Ready again, with nobody restarting anything.
    Li,
    /// No other tenant's thing touched.
    Ot,
    /// Nothing dropped.
    Da,
}

/// Where one did not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    pub oracle: Oracle,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.oracle, self.what)
    }
}

/// The flags of a status that say ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    Database,
    Cache,
    Credentials,
}

impl Flag {
    pub const ALL: [Self; 3] = [Self::Database, Self::Cache, Self::Credentials];

    pub fn key(self) -> &'static str {
        match self {
            Self::Database => "dbReady",
            Self::Cache => "redisReady",
            Self::Credentials => "credentialsReady",
        }
    }
}

fn violation(oracle: Oracle, what: impl Into<String>) -> Violation {
    Violation {
        oracle,
        what: what.into(),
    }
}

/// `cr`: values, versions and verifiers as they were; no credential written since; old sessions and new logins work.
pub async fn credentials(stack: &Stack, log: &ServerLog, baseline: &mut Baseline) -> Vec<Violation> {
    let mut found = Vec::new();
    let now = Snapshot::take(stack).await;
    for (thing, then) in baseline.own() {
        let same = now.things.get(thing).map(|trace| {
            let user = matches!(thing, Thing::CacheUser(_)) && trace.rest != then.rest;
            (
                trace.identity == then.identity,
                trace.credential == then.credential,
                !user,
            )
        });
        match same {
            None => found.push(violation(Oracle::Cr, format!("{thing:?} is gone"))),
            Some((true, true, true)) => {}
            Some((_, false, _)) => found.push(violation(Oracle::Cr, format!("{thing:?} keeps another credential"))),
            Some((false, _, _)) => found.push(violation(Oracle::Cr, format!("{thing:?} was made or written anew"))),
            Some((_, _, false)) => found.push(violation(Oracle::Cr, format!("{thing:?} was modified"))),
        }
    }
    let calls = stack.aws.writes_since(baseline.calls);
    found.extend(
        calls
            .iter()
            .filter(|call| is_credential_write(call, baseline))
            .map(|call| {
                violation(
                    Oracle::Cr,
                    format!("{} of {} {:?}: {:?}", call.name(), call.key, call.flags, call.outcome),
                )
            }),
    );
    found.extend(
        role_writes(log, baseline)
            .into_iter()
            .map(|sql| violation(Oracle::Cr, sql)),
    );
    found.extend(
        baseline
            .sessions
            .check()
            .await
            .err()
            .map(|what| violation(Oracle::Cr, what)),
    );
    for (app, copy) in copies(&now, &baseline.tenant) {
        let refused = [
            log_in(stack, &copy).await.err(),
            log_in_to_cache(stack, &copy).await.err(),
        ];
        for what in refused.into_iter().flatten() {
            found.push(violation(
                Oracle::Cr,
                format!("what is published for {app} does not log in: {what}"),
            ));
        }
    }
    found
}

/// Any write about a thing that the baseline has, whatever came of it; a new record beside the old ones is none.
fn is_credential_write(call: &Call, baseline: &Baseline) -> bool {
    let names: Vec<&str> = call.key.split(',').collect();
    baseline.own().any(|(thing, _)| match thing {
        Thing::Parameter(name) => names.contains(&name.as_str()),
        Thing::CacheUser(id) => call.operation != "ModifyUserGroup" && names.contains(&id.as_str()),
        Thing::Member(id) => call
            .flags
            .iter()
            .any(|flag| flag.starts_with("remove=") && flag.contains(id.as_str())),
        Thing::Role(_) | Thing::Database(_) => false,
    })
}

fn role_writes(log: &ServerLog, baseline: &Baseline) -> Vec<String> {
    let statements = log.writes_since(baseline.statements);
    let parts = statements.iter().flat_map(|sql| sql.split(';')).map(str::trim);
    let about = |part: &str, verb: &str| {
        let role = part
            .strip_prefix(verb)
            .and_then(|rest| rest.strip_prefix('"')?.split('"').next());
        role.is_some_and(|role| {
            baseline
                .own()
                .any(|(thing, _)| matches!(thing, Thing::Role(it) if it == role))
        })
    };
    let credential = |part: &&str| {
        about(part, "CREATE ROLE ")
            || about(part, "DROP ROLE ")
            || (about(part, "ALTER ROLE ") && part.contains(" PASSWORD "))
    };
    parts
        .filter(credential)
        .map(|part| part.split('\'').next().unwrap_or_default().to_owned())
        .collect()
}

/// `da`: everything that was there is there still, and no namesake made anew.
pub async fn nothing_dropped(stack: &Stack, baseline: &Baseline) -> Vec<Violation> {
    let now = Snapshot::take(stack).await;
    let lost = baseline
        .snapshot
        .things
        .iter()
        .filter(|(thing, _)| !baseline.forgotten.contains(*thing));
    let lost = lost.filter(|(thing, then)| match now.things.get(*thing) {
        None => true,
        Some(trace) => matches!(thing, Thing::Role(_) | Thing::Database(_)) && trace.identity != then.identity,
    });
    lost.map(|(thing, _)| violation(Oracle::Da, format!("{thing:?} was dropped")))
        .collect()
}

/// `ot`: what belongs to none of these tenants is as it was.
pub async fn others_untouched(stack: &Stack, before: &Snapshot, acting: &BTreeSet<String>) -> Vec<Violation> {
    let now = Snapshot::take(stack).await;
    let others = before
        .things
        .iter()
        .filter(|(_, trace)| trace.tenant.as_ref().is_none_or(|it| !acting.contains(it)));
    let touched = others.filter(|(thing, then)| now.things.get(*thing) != Some(*then));
    touched
        .map(|(thing, _)| violation(Oracle::Ot, format!("{thing:?} is another's and was touched")))
        .collect()
}

/// `st`: over every recorded version of a Tenant.
pub fn status(name: &str, versions: &[Version], baseline: Option<&Baseline>, outages: &[Flag]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut last: BTreeMap<&str, (BTreeSet<String>, Value)> = BTreeMap::new();
    for version in versions.iter().filter(|version| !version.gone) {
        let status = &version.object["status"];
        let at = format!("{name} at version {}", version.number);
        let keys = status_keys(status);
        if let Some((before, old)) = last.get(version.uid.as_str()) {
            let known = baseline
                .filter(|baseline| baseline.uid == version.uid)
                .map(|baseline| &baseline.status_keys);
            let settled = known.filter(|known| known.is_subset(before)).into_iter().flatten();
            let gone: BTreeSet<_> = before
                .iter()
                .chain(settled)
                .filter(|key| !keys.contains(*key))
                .collect();
            found.extend(
                gone.into_iter()
                    .map(|key| violation(Oracle::St, format!("{at}: {key} vanished"))),
            );
            for flag in Flag::ALL.into_iter().filter(|flag| !outages.contains(flag)) {
                if old[flag.key()] == true && status[flag.key()] == false {
                    let reason = super::reason_of(&version.object);
                    found.push(violation(
                        Oracle::St,
                        format!("{at}: {} turned false ({reason})", flag.key()),
                    ));
                }
            }
        }
        if status.is_object() {
            let missing = Flag::ALL.into_iter().filter(|flag| !status[flag.key()].is_boolean());
            found.extend(missing.map(|flag| violation(Oracle::St, format!("{at}: {} is missing", flag.key()))));
        }
        last.insert(&version.uid, (keys, status.clone()));
    }
    found
}

/// Every key of a status, those of its apps and conditions by their names. Reconciling and Stalled are there only while they are true.
pub fn status_keys(status: &Value) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (key, value) in status.as_object().into_iter().flatten() {
        keys.insert(key.clone());
        match (key.as_str(), value) {
            ("apps", Value::Array(apps)) => {
                for app in apps {
                    let name = app["name"].as_str().unwrap_or_default();
                    keys.extend(
                        app.as_object()
                            .into_iter()
                            .flatten()
                            .map(|(key, _)| format!("apps/{name}/{key}")),
                    );
                }
            }
            ("conditions", Value::Array(conditions)) => {
                let kinds = conditions.iter().filter_map(|condition| condition["type"].as_str());
                let lasting = kinds.filter(|kind| !["Reconciling", "Stalled"].contains(kind));
                keys.extend(lasting.map(|kind| format!("conditions/{kind}")));
            }
            (_, Value::Object(inner)) => keys.extend(inner.keys().map(|inner| format!("{key}/{inner}"))),
            _ => {}
        }
    }
    keys
}
