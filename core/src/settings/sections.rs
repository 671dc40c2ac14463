//! The sections of the file: which keys each has, and what their values mean.

mod targets;

use std::{collections::BTreeMap, time::Duration};

use super::{
    App, Aws, Credentials, Plan, Settings, SettingsError, Sweep, Tier, guc, length,
    problem::Problems,
    read::{At, Keys, Map, kind},
    tree::{Node, Value},
};
use crate::{
    acl::CacheProfile,
    name::{Access, AppName, Installation, NameError, PlanName, Short, StorePrefix},
};

const TOP: Keys = Keys {
    known: &[
        "installation",
        "defaultPlan",
        "apps",
        "plans",
        "databases",
        "caches",
        "credentials",
        "aws",
        "sweep",
    ],
    later: &["rotation"],
};
const APP: Keys = Keys {
    known: &["access", "cache", "short", "optIn"],
    later: &[],
};
const PLAN: Keys = Keys {
    known: &[
        "connections",
        "statementTimeout",
        "idleInTransactionTimeout",
        "settings",
    ],
    later: &[],
};
const CREDENTIALS: Keys = Keys {
    known: &["store", "prefix", "kmsKey", "tier"],
    later: &[],
};
const AWS: Keys = Keys {
    known: &["region", "endpoint"],
    later: &[],
};
const SWEEP: Keys = Keys {
    known: &["interval", "proof"],
    later: &[],
};

/// PostgreSQL keeps a timeout as milliseconds in 32 bits with a sign.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);
/// The most that `max_connections` can be.
const MOST_CONNECTIONS: i64 = 262_143;

pub(super) fn settings(root: &Node) -> Result<Settings, SettingsError> {
    let mut problems = Problems::default();
    let settings = read(
        &At {
            path: String::new(),
            node: root,
        },
        &mut problems,
    );
    problems.none_or_error()?;
    settings.ok_or_else(|| SettingsError::one(None, "the file could not be understood"))
}

/// Every section is read before any missing one stops us, so that all problems are found.
fn read(root: &At<'_>, problems: &mut Problems) -> Option<Settings> {
    let top = Map::strict(root, &TOP, problems)?;
    let installation = top
        .need("installation", problems)
        .and_then(|at| at.parsed("a name for this installation", problems, Installation::parse));
    let plans = top
        .need("plans", problems)
        .and_then(|at| named(&at, problems, PlanName::parse, plan));
    let default_plan = top
        .need("defaultPlan", problems)
        .and_then(|at| default_plan(&at, plans.as_ref(), problems));
    let databases = top
        .need("databases", problems)
        .and_then(|at| targets::databases(&at, problems));
    let caches = top
        .get("caches")
        .map_or_else(|| Some(BTreeMap::new()), |at| targets::caches(&at, problems));
    let apps = top
        .need("apps", problems)
        .and_then(|at| apps(&at, top.has("caches"), problems));
    let credentials = top
        .need("credentials", problems)
        .and_then(|at| credentials(&at, problems));
    let aws = top
        .get("aws")
        .map_or_else(|| Some(Aws::default()), |at| aws(&at, problems));
    let sweep = top
        .get("sweep")
        .map_or_else(|| Some(Sweep::default()), |at| sweep(&at, problems));
    Some(Settings {
        installation: installation?,
        default_plan: default_plan?,
        apps: apps?,
        plans: plans?,
        databases: databases?,
        caches: caches?,
        credentials: credentials?,
        aws: aws?,
        sweep: sweep?,
    })
}

/// A map from names to things, with at least one of them.
fn named<N: Ord, T>(
    at: &At<'_>,
    problems: &mut Problems,
    name: impl Fn(&str) -> Result<N, NameError>,
    thing: impl Fn(&At<'_>, &mut Problems) -> Option<T>,
) -> Option<BTreeMap<N, T>> {
    let map = Map::open(at, problems)?;
    let mut things = BTreeMap::new();
    for (key, line, at) in map.each() {
        let name = name(key).map_err(|error| problems.add(line, error.to_string())).ok();
        let thing = thing(&at, problems);
        things.extend(name.zip(thing));
    }
    if map.each().next().is_none() {
        problems.add(map.line(), format!("{} is empty; it needs at least one entry", at.path));
    }
    Some(things)
}

fn default_plan(at: &At<'_>, plans: Option<&BTreeMap<PlanName, Plan>>, problems: &mut Problems) -> Option<PlanName> {
    let name = at.parsed("the name of a plan", problems, PlanName::parse)?;
    if plans.is_some_and(|plans| !plans.contains_key(&name)) {
        at.wrong(
            &format!("one of the plans, and there is no plan {:?}", name.as_str()),
            problems,
        );
    }
    Some(name)
}

fn apps(at: &At<'_>, caches: bool, problems: &mut Problems) -> Option<BTreeMap<AppName, App>> {
    let apps = named(at, problems, AppName::parse, |at, problems| app(at, caches, problems))?;
    let mut shorts: BTreeMap<&Short, &AppName> = BTreeMap::new();
    for (name, app) in &apps {
        if let Some(other) = shorts.insert(&app.short, name) {
            let line = Map::open(at, problems)?
                .each()
                .find(|(key, ..)| *key == name.as_str())
                .map_or(1, |found| found.1);
            problems.add(
                line,
                format!("apps {other} and {name} have the same short {:?}", app.short.as_str()),
            );
        }
    }
    Some(apps)
}

fn app(at: &At<'_>, caches: bool, problems: &mut Problems) -> Option<App> {
    let map = Map::strict(at, &APP, problems)?;
    let access = map
        .need("access", problems)
        .and_then(|at| at.choice(&Access::ALL.map(|access| (spelling(access), access)), problems));
    let cache = match map.get("cache") {
        Some(at) => Some(profile(&at, caches, problems)?),
        None => None,
    };
    let short = match map.get("short") {
        Some(at) => at.parsed("a short name", problems, Short::parse),
        None => short_of(at, problems),
    };
    let opt_in = map.get("optIn").map_or(Some(false), |at| at.truth(problems));
    Some(App {
        short: short?,
        access: access?,
        cache,
        opt_in: opt_in?,
    })
}

fn spelling(access: Access) -> &'static str {
    match access {
        Access::Owner => "owner",
        Access::ReadWrite => "readWrite",
        Access::ReadOnly => "readOnly",
    }
}

fn profile(at: &At<'_>, caches: bool, problems: &mut Problems) -> Option<CacheProfile> {
    if let Value::Text(text) = &at.node.value
        && text == "queues"
    {
        problems.add(
            at.line(),
            format!("{}: profile \"queues\" is not supported by this version", at.path),
        );
        return None;
    }
    let profile = at.choice(&[("standard", CacheProfile::Standard)], problems)?;
    if !caches {
        problems.add(
            at.line(),
            format!("{} asks for a cache, and the file has no \"caches\"", at.path),
        );
    }
    Some(profile)
}

/// An app's own name, where that would do.
fn short_of(at: &At<'_>, problems: &mut Problems) -> Option<Short> {
    let name = at.path.rsplit('.').next().unwrap_or_default();
    let short = Short::parse(name);
    if let Err(error) = &short
        && AppName::parse(name).is_ok()
    {
        problems.add(
            at.line(),
            format!("{} needs a \"short\" for its logins and cache users: {error}", at.path),
        );
    }
    short.ok()
}

fn plan(at: &At<'_>, problems: &mut Problems) -> Option<Plan> {
    let map = Map::strict(at, &PLAN, problems)?;
    let connections = map
        .need("connections", problems)
        .and_then(|at| connections(&at, problems));
    let mut timeout = |key: &str| match map.get(key) {
        Some(at) => time(&at, LONGEST_TIMEOUT, problems).map(Some),
        None => Some(None),
    };
    let statement_timeout = timeout("statementTimeout");
    let idle_in_transaction_timeout = timeout("idleInTransactionTimeout");
    let settings = map
        .get("settings")
        .map_or_else(|| Some(BTreeMap::new()), |at| plan_settings(&at, problems));
    Some(Plan {
        connections: connections?,
        statement_timeout: statement_timeout?,
        idle_in_transaction_timeout: idle_in_transaction_timeout?,
        settings: settings?,
    })
}

fn connections(at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    match &at.node.value {
        Value::Number(number) if (1..=MOST_CONNECTIONS).contains(number) => i32::try_from(*number).ok(),
        other => {
            let found = if let Value::Number(number) = other {
                number.to_string()
            } else {
                kind(other).to_owned()
            };
            at.wrong(
                &format!("a whole number from 1 to {MOST_CONNECTIONS}, not {found}"),
                problems,
            );
            None
        }
    }
}

fn time(at: &At<'_>, longest: Duration, problems: &mut Problems) -> Option<Duration> {
    let wanted = "a length of time like 30s, 5m, 24h or 7d";
    let found = length::parse(at.text(wanted, problems)?);
    if found.is_none_or(|length| length > longest) {
        at.wrong(
            &format!("{wanted}, and at most {}d", longest.as_secs() / 86_400),
            problems,
        );
        return None;
    }
    found
}

fn plan_settings(at: &At<'_>, problems: &mut Problems) -> Option<BTreeMap<String, String>> {
    let map = Map::open(at, problems)?;
    let mut settings = BTreeMap::new();
    for (name, line, at) in map.each() {
        if let Some(refusal) = refused(name) {
            problems.add(line, format!("{} {refusal}", at.path));
        }
        settings.extend(plan_value(&at, problems).map(|value| (name.to_owned(), value)));
    }
    Some(settings)
}

/// A plan limits what a session may use; it does not say who the session is, or what its names mean.
fn refused(name: &str) -> Option<String> {
    let first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let rest = |byte: u8| first(byte) || byte.is_ascii_digit() || byte == b'.';
    let spelled = name.bytes().next().is_some_and(first) && name.bytes().all(rest) && name.len() <= 63;
    match name {
        "role" | "session_authorization" | "search_path" => Some("may not be set by a plan".to_owned()),
        guc::STATEMENT_TIMEOUT => Some("has a key of its own: use statementTimeout".to_owned()),
        guc::IDLE_IN_TRANSACTION_TIMEOUT => Some("has a key of its own: use idleInTransactionTimeout".to_owned()),
        _ if !spelled => Some("is not the name of a PostgreSQL setting: only a-z, 0-9, '_' and '.'".to_owned()),
        _ => None,
    }
}

fn plan_value(at: &At<'_>, problems: &mut Problems) -> Option<String> {
    match &at.node.value {
        Value::Bool(value) => Some(if *value { "on" } else { "off" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Fraction(number) => Some(number.to_string()),
        Value::Text(text) if !text.chars().any(char::is_control) => Some(text.clone()),
        Value::Text(_) => {
            at.wrong("a text without control characters", problems);
            None
        }
        other @ (Value::Nothing | Value::List(_) | Value::Map(_)) => {
            at.wrong(&format!("a number, a boolean or a text, not {}", kind(other)), problems);
            None
        }
    }
}

fn credentials(at: &At<'_>, problems: &mut Problems) -> Option<Credentials> {
    let map = Map::strict(at, &CREDENTIALS, problems)?;
    let store = map.need("store", problems).and_then(|at| match &at.node.value {
        Value::Text(text) if text == "kubernetes" || text == "files" => {
            problems.add(
                at.line(),
                format!("{}: store {text:?} is not supported by this version", at.path),
            );
            None
        }
        _ => at.choice(&[("ssm", ())], problems),
    });
    let prefix = map
        .need("prefix", problems)
        .and_then(|at| at.parsed("a path like /ramparts", problems, StorePrefix::parse));
    let kms_key = match map.get("kmsKey") {
        Some(at) => Some(at.text("a key id, an ARN or alias/NAME", problems)?.to_owned()),
        None => None,
    };
    let tiers = [("standard", Tier::Standard), ("advanced", Tier::Advanced)];
    let tier = map
        .get("tier")
        .map_or(Some(Tier::Standard), |at| at.choice(&tiers, problems));
    store?;
    Some(Credentials {
        prefix: prefix?,
        kms_key,
        tier: tier?,
    })
}

fn aws(at: &At<'_>, problems: &mut Problems) -> Option<Aws> {
    let map = Map::strict(at, &AWS, problems)?;
    let region = match map.get("region") {
        Some(at) => Some(at.text("a region like eu-west-1", problems)?.to_owned()),
        None => None,
    };
    let endpoint = match map.get("endpoint") {
        Some(at) => {
            let url = at.text("a URL", problems)?;
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                at.wrong("a URL that starts with http:// or https://", problems);
            }
            Some(url.to_owned())
        }
        None => None,
    };
    Some(Aws { region, endpoint })
}

fn sweep(at: &At<'_>, problems: &mut Problems) -> Option<Sweep> {
    let map = Map::strict(at, &SWEEP, problems)?;
    let default = Sweep::default();
    let longest = Duration::from_hours(24 * 365);
    let interval = map
        .get("interval")
        .map_or(Some(default.interval), |at| time(&at, longest, problems));
    let proof = map
        .get("proof")
        .map_or(Some(default.proof), |at| time(&at, longest, problems));
    Some(Sweep {
        interval: interval?,
        proof: proof?,
    })
}
