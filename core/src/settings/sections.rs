//! The sections of the file: which keys each has, and what their values mean.

mod plans;
mod services;
mod targets;

use std::{collections::BTreeMap, time::Duration};

use super::{
    App, Aws, Settings, SettingsError, Sweep, length,
    problem::Problems,
    read::{At, Keys, Map},
    tree::{Node, Value},
};
use crate::{
    acl::CacheProfile,
    name::{Access, AppName, Installation, NameError, PlanName, Short},
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
        .and_then(|at| named(&at, problems, PlanName::parse, plans::plan));
    let default_plan = top
        .need("defaultPlan", problems)
        .and_then(|at| default_plan(&at, &top, problems));
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
        .and_then(|at| services::credentials(&at, problems));
    let aws = top
        .get("aws")
        .map_or_else(|| Some(Aws::default()), |at| services::aws(&at, problems));
    let sweep = top
        .get("sweep")
        .map_or_else(|| Some(Sweep::default()), |at| services::sweep(&at, problems));
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

/// Whether there is such a plan is asked of the file, not of what could be read of it: a plan with a mistake in it is there.
fn default_plan(at: &At<'_>, top: &Map<'_>, problems: &mut Problems) -> Option<PlanName> {
    let name = at.parsed("the name of a plan", problems, PlanName::parse)?;
    let plans = top
        .get("plans")
        .and_then(|plans| Map::open(&plans, &mut Problems::default()));
    if plans.is_some_and(|plans| !plans.has(name.as_str())) {
        at.wrong(
            &format!("the name of a plan, and there is no plan {:?}", name.as_str()),
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
