//! The names that people choose. Their alphabets are what keeps every derived name apart: no `_` anywhere, no hyphen in an
//! installation or a short, no double or trailing hyphen, and a letter first.

use super::{NameError, limit, text_name};

/// Which Ramparts made a thing: in every mark and every cache user. Chosen once, never changed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Installation(String);

/// A tenant, as its resource is named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantName(String);

/// An app, as it stands in paths and status: a DNS label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppName(String);

/// An app, as it stands in role and cache user names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Short(String);

/// A database server or a cache, as the settings name it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName(String);

/// A plan, as the settings name it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanName(String);

text_name!(Installation);
text_name!(TenantName);
text_name!(AppName);
text_name!(Short);
text_name!(TargetName);
text_name!(PlanName);

impl Installation {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        word("installation", text, limit::INSTALLATION).map(Self)
    }
}

impl TenantName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = label("tenant name", text, limit::TENANT)?;
        match reserved(&name) {
            Some(by) => Err(NameError::reserved("tenant name", text, by)),
            None => Ok(Self(name)),
        }
    }

    /// The name as PostgreSQL has it. Since the alphabet has no `_`, no two tenants share it.
    pub(super) fn folded(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl AppName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        label("app name", text, limit::APP).map(Self)
    }
}

impl Short {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        word("short", text, limit::SHORT).map(Self)
    }
}

impl TargetName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        label("target name", text, limit::TARGET).map(Self)
    }
}

impl PlanName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        label("plan name", text, limit::PLAN).map(Self)
    }
}

/// `[a-z][a-z0-9]*`
pub(super) fn word(noun: &str, text: &str, limit: usize) -> Result<String, NameError> {
    let rule = "only a-z and 0-9 are allowed, starting with a letter";
    spelled(noun, text, limit, rule, |_| false)
}

/// `[a-z][a-z0-9]*(-[a-z0-9]+)*`
pub(super) fn label(noun: &str, text: &str, limit: usize) -> Result<String, NameError> {
    let rule = "only a-z, 0-9 and single hyphens are allowed, starting with a letter";
    let name = spelled(noun, text, limit, rule, |byte| byte == b'-')?;
    if let Some(at) = name.find("--") {
        return Err(NameError::invalid(
            noun,
            text,
            format_args!("has a double hyphen at byte {at}"),
            rule,
        ));
    }
    if name.ends_with('-') {
        return Err(NameError::invalid(noun, text, "ends with a hyphen", rule));
    }
    Ok(name)
}

fn spelled(noun: &str, text: &str, limit: usize, rule: &str, also: impl Fn(u8) -> bool) -> Result<String, NameError> {
    if text.is_empty() {
        return Err(NameError::invalid(noun, text, "is empty", rule));
    }
    // By bytes: a character of several is refused at its first, and so is never split.
    let fits = |(at, byte): (usize, u8)| byte.is_ascii_lowercase() || at > 0 && (byte.is_ascii_digit() || also(byte));
    if let Some(at) = text.bytes().enumerate().position(|entry| !fits(entry)) {
        let found = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        return Err(NameError::invalid(
            noun,
            text,
            format_args!("has {found:?} at byte {at}"),
            rule,
        ));
    }
    if text.len() > limit {
        return Err(NameError::too_long(noun, text, limit));
    }
    Ok(text.to_owned())
}

/// Names that mean something to somebody, and to whom.
pub(crate) const RESERVED_WORDS: [(&str, &str); 17] = [
    ("postgres", "PostgreSQL's maintenance database and superuser"),
    ("template0", "a template database of PostgreSQL"),
    ("template1", "a template database of PostgreSQL"),
    ("public", "PostgreSQL's name for everybody"),
    ("none", "PostgreSQL's name for nobody"),
    ("all", "every database or user in PostgreSQL's access rules"),
    ("replication", "a keyword of PostgreSQL's access rules"),
    ("sameuser", "a keyword of PostgreSQL's access rules"),
    ("samerole", "a keyword of PostgreSQL's access rules"),
    ("samegroup", "a keyword of PostgreSQL's access rules"),
    ("user", "a role keyword of PostgreSQL"),
    ("current-user", "a role keyword of PostgreSQL"),
    ("current-role", "a role keyword of PostgreSQL"),
    ("session-user", "a role keyword of PostgreSQL"),
    ("system-user", "a keyword of PostgreSQL"),
    ("default", "the user that every cache is born with"),
    ("ramparts", "our own database and roles"),
];

/// Beginnings that are somebody's: a tenant `pg` would have a login `pg_api`, and PostgreSQL keeps `pg_` for itself.
pub(crate) const RESERVED_PREFIXES: [(&str, &str); 5] = [
    ("pg", "names that start with pg belong to PostgreSQL and its poolers"),
    ("rds", "names that start with rds belong to RDS"),
    ("aws", "names that start with aws belong to AWS"),
    ("ssm", "names that start with ssm belong to Parameter Store"),
    ("ramparts-", "names that start with ramparts- are our own"),
];

fn reserved(name: &str) -> Option<&'static str> {
    let word = RESERVED_WORDS.iter().find(|(word, _)| *word == name);
    let claim = word.or_else(|| RESERVED_PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)));
    claim.map(|(_, by)| *by)
}
