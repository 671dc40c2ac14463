//! The terms of service that a test may change: how long state changes take, the quotas, how late a read may see a write, and how pages
//! are cut. The defaults are the kindest AWS there could be, except for the quotas, which are those of a fresh account.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A change of state that takes time on AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transition {
    UserCreate,
    UserModify,
    UserDelete,
    GroupCreate,
    GroupModify,
    GroupDelete,
}

/// How many of each thing the account may hold in one region.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    pub users: usize,
    pub groups: usize,
    pub users_per_group: usize,
    pub standard_parameters: usize,
    pub advanced_parameters: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            users: 2_000,
            groups: 200,
            users_per_group: 100,
            standard_parameters: 10_000,
            advanced_parameters: 100_000,
        }
    }
}

/// What holds for every call until a test says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    delays: BTreeMap<Transition, Duration>,
    pub quotas: Quotas,
    /// A read does not see what was put less than this long ago.
    pub stale_reads: Duration,
    /// The first page of a listing is empty and the others are short, as AWS allows itself.
    pub short_pages: bool,
}

impl Terms {
    pub fn delay(&self, of: Transition) -> Duration {
        self.delays.get(&of).copied().unwrap_or_default()
    }

    pub fn set_delay(&mut self, of: Transition, delay: Duration) {
        self.delays.insert(of, delay);
    }
}
