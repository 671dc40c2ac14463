//! The names we make on a database server and a cache. Each is a join of chosen names with a separator that those names do
//! not have, so that two different owners never share one; each is read from the right. A number is left out when it is 1.

use super::{Access, Installation, NameError, RecordNo, Short, TenantName, limit, text_name};

/// A database on a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseName(String);

/// A role on a server: a login, a group, or the owner of all databases.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleName(String);

/// A user of a cache: its id and its name at once, since an id is what ElastiCache keeps in lower case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheUser(String);

/// What every key and channel of a tenant starts with. It ends with a colon, so that no prefix starts with another, and has
/// no character that a cache's access rule reads as a pattern or as the next rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPrefix(String);

text_name!(DatabaseName);
text_name!(RoleName);
text_name!(CacheUser);
text_name!(KeyPrefix);

/// Names must hold this much more than their first form: `_9999`.
const NUMBER_ROOM: usize = 5;

impl DatabaseName {
    pub fn of(tenant: &TenantName) -> Self {
        Self(tenant.folded())
    }

    /// Any name that a server may hold; a name in use is read from the ledger, and need not be one that we would make.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        identifier("database name", text).map(Self)
    }
}

impl RoleName {
    pub fn login(tenant: &TenantName, short: &Short, record: RecordNo) -> Result<Self, NameError> {
        let first = format!("{}_{short}", tenant.folded());
        numbered("login", first, '_', record, "PostgreSQL", limit::POSTGRES).map(Self)
    }

    /// A group's two underscores are in no login: a tenant has no double hyphen and a short has none at all.
    pub fn group(tenant: &TenantName, access: Access) -> Self {
        Self(format!("{}__{}", tenant.folded(), access.group_suffix()))
    }

    /// The NOLOGIN role that owns every tenant's database on a server.
    pub fn databases_owner() -> Self {
        Self("ramparts__databases".to_owned())
    }

    pub fn parse(text: &str) -> Result<Self, NameError> {
        identifier("role name", text).map(Self)
    }
}

impl CacheUser {
    pub fn of(
        installation: &Installation,
        tenant: &TenantName,
        short: &Short,
        record: RecordNo,
    ) -> Result<Self, NameError> {
        let first = format!("{installation}-{tenant}-{short}");
        numbered("cache user", first, '-', record, "ElastiCache", limit::CACHE_USER).map(Self)
    }

    pub fn parse(text: &str) -> Result<Self, NameError> {
        super::chosen::label("cache user", text, limit::CACHE_USER).map(Self)
    }

    /// Whose user this is, if it has the form of one that this installation makes.
    pub fn read(text: &str, installation: &Installation) -> Option<(TenantName, Short, RecordNo)> {
        let rest = text.strip_prefix(installation.as_str())?.strip_prefix('-')?;
        let (head, last) = rest.rsplit_once('-')?;
        let (owner, record) = match RecordNo::parse(last) {
            Some(RecordNo::FIRST) => return None,
            Some(record) => (head, record),
            None => (rest, RecordNo::FIRST),
        };
        let (tenant, short) = owner.rsplit_once('-')?;
        let (tenant, short) = (TenantName::parse(tenant).ok()?, Short::parse(short).ok()?);
        Self::of(installation, &tenant, &short, record).ok()?;
        Some((tenant, short, record))
    }
}

impl KeyPrefix {
    /// `life` is the record that began this life of the tenant: a later namesake never reads the keys of an earlier one.
    pub fn of(tenant: &TenantName, life: RecordNo) -> Self {
        Self(if life == RecordNo::FIRST {
            format!("{tenant}:")
        } else {
            format!("{tenant}.{life}:")
        })
    }

    pub fn parse(text: &str) -> Result<Self, NameError> {
        let rule = "it is a tenant, a dot and the record of a later life, and a colon";
        let refused = || NameError::invalid("key prefix", text, "is not one of ours", rule);
        let owner = text.strip_suffix(':').ok_or_else(refused)?;
        let (tenant, life) = match owner.split_once('.') {
            Some((tenant, life)) => (tenant, RecordNo::parse(life).ok_or_else(refused)?),
            None => (owner, RecordNo::FIRST),
        };
        let prefix = Self::of(&TenantName::parse(tenant)?, life);
        if prefix.0 == text { Ok(prefix) } else { Err(refused()) }
    }
}

fn numbered(
    noun: &str,
    first: String,
    separator: char,
    record: RecordNo,
    keeper: &str,
    limit: usize,
) -> Result<String, NameError> {
    let longest = first.len() + NUMBER_ROOM;
    if longest > limit {
        return Err(NameError::would_be_too_long(noun, &first, longest, keeper, limit));
    }
    Ok(if record == RecordNo::FIRST {
        first
    } else {
        format!("{first}{separator}{record}")
    })
}

fn identifier(noun: &str, text: &str) -> Result<String, NameError> {
    let rule = "PostgreSQL takes 1 to 63 bytes without NUL";
    if text.is_empty() {
        return Err(NameError::invalid(noun, text, "is empty", rule));
    }
    if let Some(at) = text.find('\0') {
        return Err(NameError::invalid(
            noun,
            text,
            format_args!("has a NUL at byte {at}"),
            rule,
        ));
    }
    if text.len() > limit::POSTGRES {
        return Err(NameError::too_long(noun, text, limit::POSTGRES));
    }
    Ok(text.to_owned())
}
