//! Access strings: one tenant's keys and channels, and no rule that a name brought in. What a real server makes of them is tested
//! beside the servers.

#![allow(clippy::unwrap_used)]

use ramparts_core::{
    acl::{CacheProfile, KEYLESS},
    name::{KeyPrefix, RecordNo, TenantName},
};

const PROFILES: [CacheProfile; 2] = [CacheProfile::Standard, CacheProfile::Queues];

fn prefix(tenant: &str, life: u32) -> KeyPrefix {
    KeyPrefix::of(&TenantName::parse(tenant).unwrap(), RecordNo::new(life).unwrap())
}

#[test]
fn the_standard_profile_is_written_out_here_because_users_in_use_were_made_with_it() {
    assert_eq!(
        CacheProfile::Standard.access_string(&prefix("acme", 1)),
        "on ~acme:* resetchannels &acme:* -@all +@string +@hash +@list +@set +@sortedset +@stream +@bitmap +@hyperloglog \
         +@geo +@keyspace +@pubsub +@connection +@transaction -@dangerous -scan -randomkey -dbsize -pubsub -pfmerge -client \
         +client|id +client|getname +client|setname +client|info +cluster|slots +cluster|shards +cluster|nodes \
         +cluster|keyslot"
    );
}

#[test]
fn a_user_has_its_own_keys_and_channels_and_no_other() {
    for profile in PROFILES {
        for (tenant, life, own) in [
            ("acme", 1, "acme:*"),
            ("acme", 7, "acme.7:*"),
            ("a-1-b", 9999, "a-1-b.9999:*"),
        ] {
            let rules = profile.access_string(&prefix(tenant, life));
            let starting = |sign: char| {
                rules
                    .split(' ')
                    .filter(move |rule| rule.starts_with(sign))
                    .collect::<Vec<_>>()
            };
            assert_eq!(starting('~'), [format!("~{own}")]);
            assert_eq!(starting('&'), [format!("&{own}")]);
            assert!(
                starting('%').is_empty() && starting('(').is_empty() && starting('>').is_empty(),
                "{rules}"
            );
        }
    }
}

#[test]
fn everything_is_refused_before_anything_is_let_in() {
    for profile in PROFILES {
        let rules = profile.access_string(&prefix("acme", 1));
        let rules: Vec<&str> = rules.split(' ').collect();
        let nothing = rules.iter().position(|rule| *rule == "-@all").unwrap();
        let first = rules.iter().position(|rule| rule.starts_with('+')).unwrap();
        assert_eq!((rules[0], nothing + 1), ("on", first));
        for wide in [
            "+@all",
            "+@dangerous",
            "+@admin",
            "+@read",
            "+@write",
            "+@scripting",
            "allkeys",
            "allchannels",
            "nopass",
        ] {
            assert!(!rules.contains(&wide), "{wide}");
        }
    }
}

/// The cache's own pattern matching, as far as our patterns use it.
fn matches(pattern: &str, key: &str) -> bool {
    key.starts_with(pattern.strip_prefix('~').unwrap().strip_suffix('*').unwrap())
}

#[test]
fn no_tenants_pattern_covers_a_key_of_another_or_of_another_life() {
    let all: Vec<KeyPrefix> = ["a", "a-1", "a-b", "ab", "acme", "acme2", "acme-2", "acme-eu", "b"]
        .into_iter()
        .flat_map(|tenant| [1, 2, 11, 9999].map(|life| prefix(tenant, life)))
        .collect();
    for one in &all {
        let rules = CacheProfile::Standard.access_string(one);
        let pattern = rules.split(' ').nth(1).unwrap();
        for other in &all {
            assert_eq!(
                matches(pattern, &format!("{other}key")),
                one == other,
                "{pattern} {other}"
            );
        }
    }
}

#[test]
fn the_list_of_keyless_commands_is_in_order_and_names_each_once() {
    assert!(KEYLESS.is_sorted_by(|left, right| left < right));
}
