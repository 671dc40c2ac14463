//! The users and user groups of one region and the slow machine that moves them from state to state. Whoever looks first lets time pass
//! (`settle`), so that a state never depends on who polls how often.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use crate::aws::refusal::Refusal;

pub type Tags = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Creating,
    Active,
    Modifying,
    Deleting,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Active => "active",
            Self::Modifying => "modifying",
            Self::Deleting => "deleting",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Redis,
    Valkey,
}

impl Engine {
    pub fn parse(given: &str) -> Result<Self, Refusal> {
        match given.to_ascii_lowercase().as_str() {
            "redis" => Ok(Self::Redis),
            "valkey" => Ok(Self::Valkey),
            other => Err(Refusal::value(format!(
                "{other} is not an engine: it is redis or valkey."
            ))),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
        }
    }
}

/// How a user proves who it is.
#[derive(Clone, PartialEq, Eq)]
pub enum Authentication {
    Passwords(Vec<String>),
    NoPassword,
    Iam,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passwords(passwords) => write!(f, "Passwords({})", passwords.len()),
            Self::NoPassword => f.write_str("NoPassword"),
            Self::Iam => f.write_str("Iam"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct User {
    pub id: String,
    pub name: String,
    pub engine: Engine,
    /// In canonical form.
    pub access: String,
    pub authentication: Authentication,
    pub tags: Tags,
    pub status: Status,
    /// When the present status ends; absent in a lasting one.
    pub until: Option<Instant>,
}

/// What a group will be when it is active again.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    pub add: Vec<String>,
    pub remove: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub id: String,
    pub engine: Engine,
    /// The membership that is in force.
    pub members: BTreeSet<String>,
    pub pending: Option<Pending>,
    pub tags: Tags,
    pub status: Status,
    pub until: Option<Instant>,
}

/// The users and groups of one region.
#[derive(Debug)]
pub struct Directory {
    pub users: BTreeMap<String, User>,
    pub groups: BTreeMap<String, Group>,
    /// Rises with every change that a cache has to follow.
    pub epoch: u64,
}

impl Default for Directory {
    /// AWS gives every region a user `default` that can do everything and cannot be removed.
    fn default() -> Self {
        let default = User {
            id: "default".to_owned(),
            name: "default".to_owned(),
            engine: Engine::Redis,
            access: "on ~* +@all".to_owned(),
            authentication: Authentication::NoPassword,
            tags: Tags::new(),
            status: Status::Active,
            until: None,
        };
        Self {
            users: [("default".to_owned(), default)].into(),
            groups: BTreeMap::new(),
            epoch: 0,
        }
    }
}

impl Directory {
    /// Lets every state that has run out pass into the next.
    pub fn settle(&mut self, now: Instant) {
        let due = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let before = self.users.len() + self.groups.len();
        self.users
            .retain(|_, user| !(user.status == Status::Deleting && due(user.until)));
        self.groups
            .retain(|_, group| !(group.status == Status::Deleting && due(group.until)));
        let mut changed = self.users.len() + self.groups.len() != before;
        for user in self.users.values_mut().filter(|user| due(user.until)) {
            (user.status, user.until) = (Status::Active, None);
            changed = true;
        }
        for group in self.groups.values_mut().filter(|group| due(group.until)) {
            let pending = group.pending.take().unwrap_or_default();
            group.members.extend(pending.add);
            pending.remove.iter().for_each(|id| {
                group.members.remove(id);
            });
            (group.status, group.until) = (Status::Active, None);
            changed = true;
        }
        if changed {
            self.epoch += 1;
        }
    }

    pub fn user(&self, id: &str) -> Result<&User, Refusal> {
        self.users
            .get(&id.to_ascii_lowercase())
            .ok_or_else(|| user_not_found(id))
    }

    pub fn group(&self, id: &str) -> Result<&Group, Refusal> {
        self.groups
            .get(&id.to_ascii_lowercase())
            .ok_or_else(|| group_not_found(id))
    }

    pub fn groups_of<'a>(&'a self, user: &'a str) -> impl Iterator<Item = &'a String> {
        self.groups
            .values()
            .filter(move |group| group.members.contains(user))
            .map(|group| &group.id)
    }

    /// The users whom a cache with this group lets in: those whose membership is in force.
    pub fn effective(&self, group: &str) -> impl Iterator<Item = &User> {
        let group = self.groups.get(&group.to_ascii_lowercase());
        let in_force = group.filter(|group| matches!(group.status, Status::Active | Status::Modifying));
        in_force
            .into_iter()
            .flat_map(|group| &group.members)
            .filter_map(|id| self.users.get(id))
    }
}

pub fn user_not_found(id: &str) -> Refusal {
    Refusal::new("UserNotFound", 404, format!("User {id} not found."))
}

pub fn group_not_found(id: &str) -> Refusal {
    Refusal::new("UserGroupNotFound", 404, format!("User group {id} not found."))
}

/// An id of a user or a group, as it is stored: in lower case.
pub fn checked_id(given: &str) -> Result<String, Refusal> {
    let good = given.starts_with(|first: char| first.is_ascii_alphabetic())
        && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !given.ends_with('-')
        && !given.contains("--");
    if good {
        return Ok(given.to_ascii_lowercase());
    }
    Err(Refusal::value(format!(
        "The parameter {given} is not a valid identifier. Identifiers must begin with a letter; must contain only ASCII \
         letters, digits, and hyphens; and must not end with a hyphen or contain two consecutive hyphens."
    )))
}
