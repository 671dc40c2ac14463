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
    /// The access string of a user, in the form in which ElastiCache gives it back: on, keys, channels, `-@all`, then the
    /// commands. The prefix is a type of its own, which holds no space and no pattern character, so that no name can bring in
    /// a rule.
    pub fn access_string(self, prefix: &KeyPrefix) -> String {
        let mut rules = vec![
            "on".to_owned(),
            format!("~{prefix}*"),
            "resetchannels".to_owned(),
            format!("&{prefix}*"),
        ];
        rules.extend(COMMANDS.iter().map(|&rule| rule.to_owned()));
        match self {
            Self::Standard => {}
            Self::Queues => rules.extend(SCRIPTS.iter().map(|&rule| rule.to_owned())),
        }
        rules.join(" ")
    }
}

/// Read from left to right. A key pattern fences only commands that name keys, so everything else is let in one by one.
///
/// The kinds of data are named, not `@read` and `@write`: those hold `FUNCTION FLUSH`, and whatever a module brings.
const COMMANDS: [&str; 29] = [
    "-@all",
    "+@string",
    "+@hash",
    "+@list",
    "+@set",
    "+@sortedset",
    "+@stream",
    "+@bitmap",
    "+@hyperloglog",
    "+@geo",
    "+@keyspace",
    "+@pubsub",
    "+@connection",
    "+@transaction",
    // FLUSHALL, KEYS, SWAPDB, MIGRATE, and SORT, which reads keys that its pattern makes up.
    "-@dangerous",
    // They name no key, and answer about everybody's.
    "-scan",
    "-randomkey",
    "-dbsize",
    "-pubsub",
    // With no source, Redis 7.0 looks at no key of it at all: `PFMERGE other:key` writes into another's prefix.
    "-pfmerge",
    // CLIENT TRACKING ON BCAST tells every key that anybody writes; what libraries ask about their own connection stays.
    "-client",
    "+client|id",
    "+client|getname",
    "+client|setname",
    "+client|info",
    // The topology, without which no cluster client starts; not CLUSTER GETKEYSINSLOT.
    "+cluster|slots",
    "+cluster|shards",
    "+cluster|nodes",
    "+cluster|keyslot",
];

/// A script runs with its caller's rights. Not SCRIPT FLUSH and not FUNCTION, which are everybody's.
const SCRIPTS: [&str; 6] = [
    "+eval",
    "+eval_ro",
    "+evalsha",
    "+evalsha_ro",
    "+script|load",
    "+script|exists",
];

/// Every command of Redis 7.0 that the standard profile lets through without a key or a channel to check: it concerns the caller's
/// own connection, or tells what is no secret. Anything else that shows up on a real server is a hole.
pub const KEYLESS: [&str; 37] = [
    "asking",
    "auth",
    "client|getname",
    "client|id",
    "client|info",
    "client|setname",
    "cluster|keyslot",
    "cluster|nodes",
    "cluster|shards",
    "cluster|slots",
    "command",
    "command|count",
    "command|docs",
    "command|getkeys",
    "command|getkeysandflags",
    "command|help",
    "command|info",
    "command|list",
    "discard",
    "echo",
    "exec",
    "hello",
    "multi",
    "object|help",
    "ping",
    "punsubscribe",
    "quit",
    "readonly",
    "readwrite",
    "reset",
    "select",
    "sunsubscribe",
    "unsubscribe",
    "unwatch",
    "wait",
    "xgroup|help",
    "xinfo|help",
];

impl fmt::Display for CacheProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Queues => "queues",
        })
    }
}
