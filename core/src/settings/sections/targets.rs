//! The servers: databases and caches, and how to reach them.

use std::collections::BTreeMap;

use super::{
    super::{
        Cache, Database, Endpoint, PasswordSource,
        problem::Problems,
        read::{At, Keys, Map},
    },
    named,
};
use crate::name::TargetName;

const DATABASE: Keys = Keys {
    known: &["endpoint", "admin", "tls"],
    later: &["publish", "extensions", "connect", "capacity", "open"],
};
const ADMIN: Keys = Keys {
    known: &["user", "password"],
    later: &[],
};
const PASSWORD: Keys = Keys {
    known: &["env", "file"],
    later: &["ssm"],
};
const TLS: Keys = Keys {
    known: &["ca"],
    later: &[],
};
const CACHE: Keys = Keys {
    known: &["endpoint", "tls", "elasticache"],
    later: &["redis"],
};
const ELASTICACHE: Keys = Keys {
    known: &["userGroup"],
    later: &[],
};

pub(super) fn databases(at: &At<'_>, problems: &mut Problems) -> Option<BTreeMap<TargetName, Database>> {
    let databases = named(at, problems, TargetName::parse, database)?;
    let mut endpoints: BTreeMap<&Endpoint, &TargetName> = BTreeMap::new();
    for (name, database) in &databases {
        if let Some(other) = endpoints.insert(&database.endpoint, name) {
            problems.add(
                at.line(),
                format!("databases {other} and {name} have the same endpoint: one server, one name"),
            );
        }
    }
    Some(databases)
}

pub(super) fn caches(at: &At<'_>, problems: &mut Problems) -> Option<BTreeMap<TargetName, Cache>> {
    named(at, problems, TargetName::parse, cache)
}

fn database(at: &At<'_>, problems: &mut Problems) -> Option<Database> {
    let map = Map::strict(at, &DATABASE, problems)?;
    let endpoint = map.need("endpoint", problems).and_then(|at| endpoint(&at, problems));
    let admin = map.need("admin", problems).and_then(|at| admin(&at, problems));
    let ca = ca(&map, problems);
    let (admin_user, admin_password) = admin?;
    Some(Database {
        endpoint: endpoint?,
        admin_user,
        admin_password,
        ca,
    })
}

fn cache(at: &At<'_>, problems: &mut Problems) -> Option<Cache> {
    let map = Map::strict(at, &CACHE, problems)?;
    let endpoint = map.need("endpoint", problems).and_then(|at| endpoint(&at, problems));
    let ca = ca(&map, problems);
    // A cache of the other kind has been answered already.
    let elasticache = if map.has("redis") {
        map.get("elasticache")
    } else {
        map.need("elasticache", problems)
    };
    let user_group = elasticache.and_then(|at| user_group(&at, problems));
    Some(Cache {
        endpoint: endpoint?,
        ca,
        user_group: user_group?,
    })
}

/// What stands there is not repeated: a URL may have a password in it.
fn endpoint(at: &At<'_>, problems: &mut Problems) -> Option<Endpoint> {
    let wanted = "HOST:PORT, a name or an IPv4 address and a port";
    let endpoint = Endpoint::parse(at.text(wanted, problems)?);
    if endpoint.is_none() {
        at.wrong(wanted, problems);
    }
    endpoint
}

fn admin(at: &At<'_>, problems: &mut Problems) -> Option<(String, PasswordSource)> {
    let map = Map::strict(at, &ADMIN, problems)?;
    let user = map
        .need("user", problems)
        .and_then(|at| at.text("a login", problems).map(str::to_owned));
    let password = map.need("password", problems).and_then(|at| password(&at, problems));
    Some((user?, password?))
}

fn password(at: &At<'_>, problems: &mut Problems) -> Option<PasswordSource> {
    let map = Map::strict(at, &PASSWORD, problems)?;
    let env = map.get("env");
    let file = map.get("file");
    match (env, file) {
        (Some(env), None) => env
            .text("the name of an environment variable", problems)
            .map(|name| PasswordSource::Env(name.to_owned())),
        (None, Some(file)) => file
            .text("the path of a file", problems)
            .map(|path| PasswordSource::File(path.to_owned())),
        (None, None) if map.has("ssm") => None,
        _ => {
            at.wrong("either {env: NAME} or {file: PATH}", problems);
            None
        }
    }
}

fn ca(map: &Map<'_>, problems: &mut Problems) -> Option<String> {
    let tls = Map::strict(&map.get("tls")?, &TLS, problems)?;
    tls.get("ca")?.text("the path of a file", problems).map(str::to_owned)
}

fn user_group(at: &At<'_>, problems: &mut Problems) -> Option<String> {
    let map = Map::strict(at, &ELASTICACHE, problems)?;
    let at = map.need("userGroup", problems)?;
    let group = at.text("the id of a user group", problems)?;
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !group.starts_with(|first: char| first.is_ascii_lowercase()) || !group.bytes().all(inside) {
        at.wrong(
            "the id of a user group as AWS keeps it: a-z, 0-9 and hyphens, starting with a letter",
            problems,
        );
        return None;
    }
    Some(group.to_owned())
}
