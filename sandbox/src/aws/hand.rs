//! What a person does and sees past the operator: direct access to one region, which leaves no trace in the call log. It obeys the same
//! rules as the API, save those that a test has to break.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::elasticache::{self, Authentication, Form, Group, Status, User};
use super::place::Place;
use super::refusal::Refusal;
use super::ssm::{self, Kind, Put};
use super::state::{ACCOUNT, Region, Shared};
use super::terms::Terms;

/// Longer than any delay that a test sets.
const AGES: Duration = Duration::from_hours(10 * 365 * 24);

/// A parameter as it is stored, decrypted.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredParameter {
    pub name: String,
    pub value: String,
    pub version: u64,
    pub secure: bool,
    pub tags: BTreeMap<String, String>,
}

impl fmt::Debug for StoredParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredParameter({} version {})", self.name, self.version)
    }
}

/// A cache user as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredUser {
    pub id: String,
    pub name: String,
    pub status: String,
    pub access_string: String,
    pub passwords: Vec<String>,
    pub groups: Vec<String>,
    pub tags: BTreeMap<String, String>,
}

impl fmt::Debug for StoredUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredUser({} {} in {:?})", self.id, self.status, self.groups)
    }
}

/// A person's hand on one region.
#[derive(Clone, Debug)]
pub struct Hand {
    pub(super) shared: Arc<Shared>,
    pub(super) region: String,
}

impl Hand {
    fn with<T>(&self, act: impl FnOnce(&mut Region, &Terms) -> T) -> T {
        let result = {
            let state = &mut *self.shared.lock();
            let (region, terms) = state.region_and_terms(&self.region);
            region.directory.settle(Instant::now());
            let result = act(region, terms);
            region.directory.settle(Instant::now());
            result
        };
        self.shared.changed.notify_waiters();
        result
    }

    pub fn parameter(&self, name: &str) -> Option<StoredParameter> {
        self.history(name).pop()
    }

    /// Every version of a parameter that is kept, oldest first.
    pub fn history(&self, name: &str) -> Vec<StoredParameter> {
        self.with(|region, _| {
            let parameter = region.parameters.get(&ssm::key(name));
            parameter.into_iter().flat_map(stored).collect()
        })
    }

    /// Every parameter whose name begins with `prefix`, in order.
    pub fn parameters(&self, prefix: &str) -> Vec<StoredParameter> {
        self.with(|region, _| {
            let below = region.parameters.below(prefix);
            below
                .filter_map(|(_, parameter)| stored(parameter).next_back())
                .collect()
        })
    }

    /// Creates or overwrites a secure parameter and returns its version.
    pub fn put_parameter(&self, name: &str, value: &str) -> Result<u64, Refusal> {
        let kind = self.parameter(name).is_none().then_some(Kind::SecureString);
        self.with(|region, terms| {
            let put = Put {
                name: name.to_owned(),
                value: value.to_owned(),
                kind,
                overwrite: true,
                ..Put::default()
            };
            let at = Place {
                account: ACCOUNT,
                region: &self.region,
                now: Instant::now(),
                terms,
            };
            region
                .parameters
                .put(put, at.arn("ssm", "parameter").len(), at.now, terms)
                .map(|(version, _)| version)
        })
    }

    pub fn delete_parameter(&self, name: &str) -> bool {
        self.with(|region, _| region.parameters.delete(&ssm::key(name)))
    }

    pub fn user(&self, id: &str) -> Option<StoredUser> {
        self.users().into_iter().find(|user| user.id.eq_ignore_ascii_case(id))
    }

    /// Every user but the one named `default` that AWS gives each region.
    pub fn users(&self) -> Vec<StoredUser> {
        self.with(|region, _| {
            let directory = &region.directory;
            let show = |user: &User| StoredUser {
                id: user.id.clone(),
                name: user.name.clone(),
                status: user.status.name().to_owned(),
                access_string: user.access.clone(),
                passwords: match &user.authentication {
                    Authentication::Passwords(passwords) => passwords.clone(),
                    Authentication::NoPassword | Authentication::Iam => Vec::new(),
                },
                groups: directory.groups_of(&user.id).cloned().collect(),
                tags: user.tags.clone(),
            };
            directory
                .users
                .values()
                .filter(|user| user.id != "default")
                .map(show)
                .collect()
        })
    }

    /// Makes a user that is outside every group.
    pub fn create_user(&self, id: &str, access: &str, password: &str, tags: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut fields: Vec<(String, &str)> = [
            ("UserId", id),
            ("UserName", id),
            ("Engine", "redis"),
            ("AccessString", access),
            ("Passwords.member.1", password),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (place, (key, value)) in tags.iter().enumerate() {
            fields.push((format!("Tags.Tag.{place}.Key"), key));
            fields.push((format!("Tags.Tag.{place}.Value"), value));
        }
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.with(|region, terms| {
            let at = Place {
                account: ACCOUNT,
                region: &self.region,
                now: Instant::now(),
                terms,
            };
            elasticache::answer("CreateUser", &Form::of(&fields), &mut region.directory, &at).map(|_| ())
        })
    }

    /// Deletes a user at once and takes it out of every group.
    pub fn delete_user(&self, id: &str) -> bool {
        let id = id.to_ascii_lowercase();
        self.with(|region, _| {
            for group in region.directory.groups.values_mut() {
                group.members.remove(&id);
            }
            region.directory.epoch += 1;
            region.directory.users.remove(&id).is_some()
        })
    }

    /// Replaces a user's passwords, as somebody does who then forgets to tell.
    pub fn set_passwords(&self, id: &str, passwords: &[&str]) -> bool {
        self.change_user(id, |user| {
            user.authentication = Authentication::Passwords(passwords.iter().map(|&text| text.to_owned()).collect());
        })
    }

    /// Puts a user into `modifying` for so long, as somebody else's change does.
    pub fn hold_user(&self, id: &str, time: Duration) -> bool {
        self.change_user(id, |user| {
            (user.status, user.until) = (Status::Modifying, Some(Instant::now() + time));
        })
    }

    fn change_user(&self, id: &str, change: impl FnOnce(&mut User)) -> bool {
        self.with(|region, _| {
            region.directory.epoch += 1;
            region
                .directory
                .users
                .get_mut(&id.to_ascii_lowercase())
                .map(change)
                .is_some()
        })
    }

    /// Lets every change of state that is under way end now, however long it would have taken.
    pub fn finish(&self) {
        self.with(|region, _| region.directory.settle(Instant::now() + AGES));
    }

    /// The ids of a group's members whose membership is in force, without its user named `default`.
    pub fn members(&self, group: &str) -> Vec<String> {
        self.with(|region, _| {
            let users = region.directory.effective(group).filter(|user| user.name != "default");
            users.map(|user| user.id.clone()).collect()
        })
    }

    pub fn remove_member(&self, group: &str, user: &str) -> bool {
        self.change_group(group, |group| group.members.remove(&user.to_ascii_lowercase()))
    }

    pub fn add_member(&self, group: &str, user: &str) -> bool {
        self.change_group(group, |group| group.members.insert(user.to_ascii_lowercase()))
    }

    /// Puts a group into `modifying` for so long, as somebody else's change does.
    pub fn hold_group(&self, group: &str, time: Duration) -> bool {
        self.change_group(group, |group| {
            (group.status, group.until) = (Status::Modifying, Some(Instant::now() + time));
            true
        })
    }

    /// The status of a group, or nothing if there is none.
    pub fn group_status(&self, group: &str) -> Option<&'static str> {
        self.with(|region, _| region.directory.group(group).ok().map(|group| group.status.name()))
    }

    fn change_group(&self, id: &str, change: impl FnOnce(&mut Group) -> bool) -> bool {
        self.with(|region, _| {
            region.directory.epoch += 1;
            region
                .directory
                .groups
                .get_mut(&id.to_ascii_lowercase())
                .is_some_and(change)
        })
    }
}

/// The versions of a parameter, oldest first.
fn stored(parameter: &ssm::Parameter) -> impl DoubleEndedIterator<Item = StoredParameter> {
    parameter.versions.iter().map(|version| StoredParameter {
        name: parameter.name.clone(),
        value: version.value.clone(),
        version: version.number,
        secure: parameter.kind == Kind::SecureString,
        tags: parameter.tags.clone(),
    })
}
