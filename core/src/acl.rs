//! What a tenant's user may do on a cache: its own keys and channels, and nothing that reaches beyond them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::KeyPrefix;

/// A set of commands, fixed with the user it was issued for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CacheProfile {
    Standard,
    /// Standard, and what queue libraries need.
    Queues,
}

impl CacheProfile {
    /// The access string of a user, in the form in which ElastiCache gives it back. The prefix is a type of its own, which
    /// holds no space and no pattern character, so that no name can bring in a rule.
    pub fn access_string(self, prefix: &KeyPrefix) -> String {
        format!("on ~{prefix}* resetchannels &{prefix}* -@all {}", self.commands())
    }

    fn commands(self) -> &'static str {
        match self {
            Self::Standard => STANDARD,
            Self::Queues => QUEUES,
        }
    }
}

const STANDARD: &str =
    "+@read +@write +@pubsub +@connection +@transaction -@dangerous -scan -randomkey -dbsize -pubsub";
const QUEUES: &str =
    "+@read +@write +@pubsub +@connection +@transaction +@scripting -@dangerous -scan -randomkey -dbsize -pubsub";

impl fmt::Display for CacheProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Queues => "queues",
        })
    }
}
