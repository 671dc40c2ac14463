//! Every command of the server.

use std::collections::BTreeSet;

use ramparts_core::acl::{CacheProfile, KEYLESS};

use crate::server::{Command, Server, prefix, send};

/// What belongs to another tenant, whether a command takes it for a key or for a channel.
const OUTSIDE: &str = "acme2:x";

/// Every way in which words that name nothing of the tenant's own are put after a command: only strange names, and numbers among them,
/// for the commands that are told how many keys there are.
fn attempts(command: &Command) -> Vec<Vec<String>> {
    let name: Vec<String> = command.name.split('|').map(str::to_owned).collect();
    let mut attempts = Vec::new();
    for length in command.words.max(name.len())..=command.words.max(name.len()) + 3 {
        let mut words = name.clone();
        words.resize(length, OUTSIDE.to_owned());
        for at in name.len()..length {
            for number in ["0", "1", "2"] {
                let mut counted = words.clone();
                number.clone_into(&mut counted[at]);
                attempts.push(counted);
            }
        }
        attempts.push(words);
    }
    attempts
}

/// The commands that these rules let through with nothing of the tenant's own.
async fn let_through(server: &mut Server, rules: &str) -> BTreeSet<String> {
    let mut user = server.user_with("acme", rules).await;
    let mut through = BTreeSet::new();
    for command in server.commands().await {
        for words in attempts(&command) {
            if !server.dry_run("acme", &words).await {
                continue;
            }
            // Where a command that takes keys makes no sense, a dry run sees none and lets it pass; then nothing may come of it.
            if !command.keyed || send(&mut user, &words).await.is_ok() {
                through.insert(command.name.clone());
            }
        }
    }
    through
}

fn rules(profile: CacheProfile) -> String {
    profile.access_string(&prefix("acme", 1))
}

#[tokio::test]
async fn what_passes_without_a_key_or_channel_of_its_own_is_exactly_what_was_reviewed() {
    let mut server = Server::start().await;
    assert!(
        server.commands().await.len() > 300,
        "the server does not list its commands"
    );
    let through = let_through(&mut server, &rules(CacheProfile::Standard)).await;
    let reviewed: BTreeSet<String> = KEYLESS.iter().map(ToString::to_string).collect();
    let holes: Vec<_> = through.difference(&reviewed).collect();
    let stale: Vec<_> = reviewed.difference(&through).collect();
    assert!(
        holes.is_empty() && stale.is_empty(),
        "holes: {holes:?}; reviewed and not let through: {stale:?}"
    );
}

#[tokio::test]
async fn the_queues_profile_adds_scripts_and_nothing_else() {
    let mut server = Server::start().await;
    let standard = let_through(&mut server, &rules(CacheProfile::Standard)).await;
    let queues = let_through(&mut server, &rules(CacheProfile::Queues)).await;
    let added: Vec<_> = queues.difference(&standard).cloned().collect();
    assert_eq!(
        added,
        ["script|exists", "script|load"],
        "a script of nonsense does not run"
    );
    assert!(standard.is_subset(&queues));
}

/// The rules that one would write first.
const NAIVE: &str =
    "on ~acme:* resetchannels &acme:* -@all +@read +@write +@pubsub +@connection +@transaction -@dangerous";

#[tokio::test]
async fn the_holes_of_simpler_rules_are_seen() {
    let mut server = Server::start().await;
    let through = let_through(&mut server, NAIVE).await;
    for hole in [
        "client|tracking",
        "dbsize",
        "function|flush",
        "function|load",
        "pfmerge",
        "pubsub|channels",
        "randomkey",
        "scan",
    ] {
        assert!(through.contains(hole), "{hole} is not among {through:?}");
    }
    assert!(!through.contains("get"));
}
