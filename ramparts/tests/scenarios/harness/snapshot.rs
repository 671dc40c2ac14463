//! Everything that exists outside Kubernetes at one moment, read past the operator: parameters, roles with what they keep of a password,
//! databases, cache users and who is in the group.

use std::collections::BTreeMap;

use sandbox::{Postgres, Stack, stack::USER_GROUP};

/// One thing outside, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    Parameter(String),
    Role(String),
    Database(String),
    CacheUser(String),
    Member(String),
}

/// What a thing was at that moment.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    /// The tenant whose it is, by path, mark or tag.
    pub tenant: Option<String>,
    /// What a thing of the same name that was made anew does not share: an oid, a version.
    pub identity: String,
    /// What it keeps of a credential.
    pub credential: String,
    /// Everything else: marks, rights, limits.
    pub rest: String,
}

#[derive(Clone, Default)]
pub struct Snapshot {
    pub things: BTreeMap<Thing, Trace>,
}

/// What the operator's own role is a member of grows with every tenant.
const ROLES: &str = "SELECT r.rolname::text, r.oid::text, coalesce(r.rolpassword, ''),
        coalesce(shobj_description(r.oid, 'pg_authid'), ''),
        concat_ws(' ', r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil,
            (SELECT string_agg(s.setconfig::text, ' ' ORDER BY s.setdatabase) FROM pg_db_role_setting s WHERE s.setrole = r.oid),
            (SELECT string_agg(g.rolname::text, ' ' ORDER BY g.rolname) FROM pg_auth_members m JOIN pg_authid g ON g.oid = m.roleid
             WHERE m.member = r.oid AND r.rolname <> 'ramparts'))
    FROM pg_authid r WHERE r.rolname NOT LIKE 'pg\\_%'";
const DATABASES: &str = "SELECT datname::text, oid::text, coalesce(shobj_description(oid, 'pg_database'), ''),
        concat_ws(' ', datallowconn, datacl::text) FROM pg_database";

impl Snapshot {
    pub async fn take(stack: &Stack) -> Self {
        let mut things = BTreeMap::new();
        let hand = stack.aws.hand();
        for parameter in hand.parameters("/") {
            let trace = Trace {
                tenant: tenant_of_path(&parameter.name),
                identity: parameter.version.to_string(),
                credential: parameter.value,
                rest: String::new(),
            };
            things.insert(Thing::Parameter(parameter.name), trace);
        }
        let members = hand.members(USER_GROUP);
        for user in hand.users() {
            let tenant = user.tags.get("ramparts:tenant").cloned();
            if members.contains(&user.id) {
                let trace = Trace::of(tenant.clone());
                things.insert(Thing::Member(user.id.clone()), trace);
            }
            let trace = Trace {
                credential: user.passwords.join(" "),
                rest: format!("{} {:?}", user.access_string, user.tags),
                ..Trace::of(tenant)
            };
            things.insert(Thing::CacheUser(user.id), trace);
        }
        things.extend(catalog(&stack.postgres).await);
        Self { things }
    }

    /// What belongs to a tenant.
    pub fn of<'a>(&'a self, tenant: &'a str) -> impl Iterator<Item = (&'a Thing, &'a Trace)> {
        self.things
            .iter()
            .filter(move |(_, trace)| trace.tenant.as_deref() == Some(tenant))
    }
}

async fn catalog(server: &Postgres) -> Vec<(Thing, Trace)> {
    let superuser = server.superuser().await.unwrap();
    let mut things = Vec::new();
    for row in superuser.query(ROLES, &[]).await.unwrap() {
        let mark: String = row.get(3);
        let trace = Trace {
            tenant: tenant_of_mark(&mark),
            identity: row.get(1),
            credential: row.get(2),
            rest: format!("{mark} {}", row.get::<_, String>(4)),
        };
        things.push((Thing::Role(row.get(0)), trace));
    }
    for row in superuser.query(DATABASES, &[]).await.unwrap() {
        let mark: String = row.get(2);
        let trace = Trace {
            tenant: tenant_of_mark(&mark),
            identity: row.get(1),
            credential: String::new(),
            rest: format!("{mark} {}", row.get::<_, String>(3)),
        };
        things.push((Thing::Database(row.get(0)), trace));
    }
    things
}

impl Trace {
    fn of(tenant: Option<String>) -> Self {
        Self {
            tenant,
            identity: String::new(),
            credential: String::new(),
            rest: String::new(),
        }
    }
}

/// `/ramparts/acme/api` and `/ramparts/_ledger/acme/1` are acme's.
pub fn tenant_of_path(path: &str) -> Option<String> {
    let mut parts = path.trim_start_matches('/').split('/').skip(1);
    match parts.next()? {
        "_ledger" => parts.next().map(str::to_owned),
        "_servers" => None,
        tenant => Some(tenant.to_owned()),
    }
}

fn tenant_of_mark(mark: &str) -> Option<String> {
    mark.split_whitespace()
        .find_map(|word| word.strip_prefix("tenant="))
        .map(str::to_owned)
}
