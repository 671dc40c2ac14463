//! The parameters of one region: what is kept, and the one write that the operator's safety rests on, create-if-absent.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Instant;

use jiff::Timestamp;
use rand::RngExt as _;

use super::name;
use crate::aws::place::Place;
use crate::aws::refusal::Refusal;
use crate::aws::terms::{Quotas, Terms};

const VERSIONS: usize = 100;
const STANDARD_BYTES: usize = 4096;
const ADVANCED_BYTES: usize = 8192;
pub const TAGS: usize = 50;

pub type Tags = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    String,
    StringList,
    SecureString,
}

impl Kind {
    pub fn parse(given: &str) -> Result<Self, Refusal> {
        match given {
            "String" => Ok(Self::String),
            "StringList" => Ok(Self::StringList),
            "SecureString" => Ok(Self::SecureString),
            other => Err(Refusal::client(
                "UnsupportedParameterType",
                format!("The parameter type {other} is not supported."),
            )),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::StringList => "StringList",
            Self::SecureString => "SecureString",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Standard,
    Advanced,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "Standard",
            Self::Advanced => "Advanced",
        }
    }
}

/// One value that a parameter had.
#[derive(Clone)]
pub struct Version {
    pub number: u64,
    pub value: String,
    /// What a reader without the right to decrypt is shown.
    pub ciphertext: String,
    pub at: Timestamp,
    pub description: Option<String>,
    put: Instant,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub kind: Kind,
    pub key_id: Option<String>,
    pub tier: Tier,
    pub tags: Tags,
    /// Oldest first, never empty.
    pub versions: VecDeque<Version>,
}

impl Parameter {
    /// The newest version that a reader sees.
    pub fn seen(&self, at: &Place<'_>) -> Option<&Version> {
        self.versions.iter().rev().find(|version| at.sees(version.put))
    }
}

/// A put, as the request says it.
#[derive(Default)]
pub struct Put {
    pub name: String,
    pub value: String,
    pub kind: Option<Kind>,
    pub key_id: Option<String>,
    pub overwrite: bool,
    /// As given: Standard, Advanced or Intelligent-Tiering.
    pub tier: Option<String>,
    pub tags: Tags,
    pub description: Option<String>,
}

impl fmt::Debug for Put {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Put").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every parameter of one region, by its name with a leading slash.
#[derive(Debug, Default)]
pub struct Parameters {
    by_key: BTreeMap<String, Parameter>,
}

impl Parameters {
    pub fn put(&mut self, put: Put, arn_prefix: usize, now: Instant, terms: &Terms) -> Result<(u64, Tier), Refusal> {
        name::check(&put.name, arn_prefix)?;
        check_value(&put)?;
        if put.overwrite && !put.tags.is_empty() {
            return Err(Refusal::validation(
                "Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please \
                 remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or \
                 RemoveTagsFromResource.",
            ));
        }
        match self.by_key.get_mut(&name::key(&put.name)) {
            Some(_) if !put.overwrite => Err(Refusal::client(
                "ParameterAlreadyExists",
                "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
            )),
            Some(parameter) => update(parameter, put, now),
            None => self.create(put, now, &terms.quotas),
        }
    }

    fn create(&mut self, put: Put, now: Instant, quotas: &Quotas) -> Result<(u64, Tier), Refusal> {
        let kind = put
            .kind
            .ok_or_else(|| Refusal::validation("A parameter type is required when you create a parameter."))?;
        check_key(put.key_id.as_deref(), kind)?;
        if put.tags.len() > TAGS {
            return Err(Refusal::client(
                "TooManyTagsError",
                "A parameter can have at most 50 tags.",
            ));
        }
        let tier = resolve_tier(put.tier.as_deref(), None, put.value.len())?;
        let quota = match tier {
            Tier::Standard => quotas.standard_parameters,
            Tier::Advanced => quotas.advanced_parameters,
        };
        let held = || self.by_key.values().filter(|parameter| parameter.tier == tier).count();
        // Counting is slow: it waits until the quota can be reached at all.
        if self.by_key.len() >= quota && held() >= quota {
            return Err(Refusal::client(
                "ParameterLimitExceeded",
                format!(
                    "You have exceeded the number of {} parameters for this account.",
                    tier.name()
                ),
            ));
        }
        let key_id = (kind == Kind::SecureString).then(|| put.key_id.unwrap_or_else(|| "alias/aws/ssm".to_owned()));
        let version = Version::new(1, put.value, put.description, now);
        let parameter = Parameter {
            name: put.name.trim().to_owned(),
            kind,
            key_id,
            tier,
            tags: put.tags,
            versions: [version].into(),
        };
        self.by_key.insert(name::key(&put.name), parameter);
        Ok((1, tier))
    }

    pub fn get(&self, key: &str) -> Option<&Parameter> {
        self.by_key.get(key)
    }

    pub fn get_entry(&self, key: &str) -> Option<(&str, &Parameter)> {
        self.by_key
            .get_key_value(key)
            .map(|(key, parameter)| (key.as_str(), parameter))
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Parameter> {
        self.by_key.get_mut(key)
    }

    pub fn delete(&mut self, key: &str) -> bool {
        self.by_key.remove(key).is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Parameter)> {
        self.by_key.iter()
    }

    /// The parameters whose name begins with `prefix`, in order.
    pub fn below(&self, prefix: &str) -> impl Iterator<Item = (&String, &Parameter)> {
        self.by_key
            .range(prefix.to_owned()..)
            .take_while(move |(key, _)| key.starts_with(prefix))
    }
}

impl Version {
    fn new(number: u64, value: String, description: Option<String>, now: Instant) -> Self {
        Self {
            number,
            value,
            ciphertext: ciphertext(),
            at: Timestamp::now(),
            description,
            put: now,
        }
    }
}

fn update(parameter: &mut Parameter, put: Put, now: Instant) -> Result<(u64, Tier), Refusal> {
    if put.kind.is_some_and(|kind| kind != parameter.kind) {
        return Err(Refusal::client(
            "HierarchyTypeMismatchException",
            "Parameter Store doesn't support changing a parameter type in a hierarchy.",
        ));
    }
    check_key(put.key_id.as_deref(), parameter.kind)?;
    let tier = resolve_tier(put.tier.as_deref(), Some(parameter.tier), put.value.len())?;
    let number = parameter.versions.back().map_or(1, |latest| latest.number + 1);
    parameter.tier = tier;
    parameter.key_id = put.key_id.or(parameter.key_id.take());
    parameter
        .versions
        .push_back(Version::new(number, put.value, put.description, now));
    if parameter.versions.len() > VERSIONS {
        parameter.versions.pop_front();
    }
    Ok((number, tier))
}

fn check_value(put: &Put) -> Result<(), Refusal> {
    if put.value.is_empty() {
        return Err(Refusal::validation(
            "1 validation error detected: Value at 'value' failed to satisfy constraint: Member must have length \
             greater than or equal to 1",
        ));
    }
    if put.value.contains("{{") {
        return Err(Refusal::validation(
            "Parameter value can't nest another parameter. Do not use \"{{}}\" in the value.",
        ));
    }
    Ok(())
}

fn check_key(key_id: Option<&str>, kind: Kind) -> Result<(), Refusal> {
    let Some(key_id) = key_id else { return Ok(()) };
    if kind != Kind::SecureString {
        return Err(Refusal::validation(
            "KeyId is required for SecureString type parameter only.",
        ));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":/_-".contains(&byte);
    if key_id.is_empty() || key_id.len() > 256 || !key_id.bytes().all(allowed) {
        return Err(Refusal::validation(
            "KeyId must match ^([a-zA-Z0-9:/_-]+)$ and be at most 256 long.",
        ));
    }
    Ok(())
}

fn resolve_tier(asked: Option<&str>, held: Option<Tier>, bytes: usize) -> Result<Tier, Refusal> {
    let tier = match (asked, held) {
        (None | Some("Standard"), None) => Tier::Standard,
        (Some("Standard"), Some(Tier::Advanced)) => {
            return Err(Refusal::validation(
                "This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the \
                 advanced-parameter tier to the standard-parameter tier.",
            ));
        }
        (None | Some("Standard"), Some(held)) => held,
        (Some("Intelligent-Tiering"), held) if bytes <= STANDARD_BYTES => held.unwrap_or(Tier::Standard),
        (Some("Advanced" | "Intelligent-Tiering"), _) => Tier::Advanced,
        (Some(other), _) => return Err(Refusal::validation(format!("{other} is not a parameter tier."))),
    };
    match tier {
        Tier::Standard if bytes > STANDARD_BYTES => Err(Refusal::validation(
            "Standard tier parameters support a maximum parameter value of 4096 characters. To create a larger \
             parameter value, upgrade the parameter to use the advanced-parameter tier.",
        )),
        Tier::Advanced if bytes > ADVANCED_BYTES => Err(Refusal::validation(
            "Advanced tier parameters support a maximum parameter value of 8192 characters.",
        )),
        Tier::Standard | Tier::Advanced => Ok(tier),
    }
}

/// Looks like what KMS makes, is the same for one version at every read, and says nothing about the value.
fn ciphertext() -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut random = rand::rng();
    let tail = (0..196).map(|_| char::from(ALPHABET[random.random_range(0..64)]));
    "AQICAHh".chars().chain(tail).chain("=".chars()).collect()
}
