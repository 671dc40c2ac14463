//! Two owners never share a name, however they were chosen.

use std::collections::BTreeMap;

use ramparts_core::name::{
    Access, AppName, CacheUser, DatabaseName, Installation, KeyPrefix, RecordNo, RoleName, Short, StorePrefix,
    TargetName, TenantName,
};

use super::record;

/// Whose a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    installation: Installation,
    tenant: TenantName,
    short: Short,
    record: RecordNo,
}

/// Every text of at most so many characters of this alphabet that `parse` lets through.
fn all<T>(alphabet: &[char], longest: usize, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let mut texts = vec![String::new()];
    let mut found = Vec::new();
    for _ in 0..longest {
        texts = texts
            .iter()
            .flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}")))
            .collect();
        found.extend(texts.iter().filter_map(|text| parse(text)));
    }
    found
}

/// All short names of the most confusable alphabet: letters, digits and the separator itself.
fn all_owners() -> Vec<Owner> {
    let tenants = all(&['a', '1', '2', '-'], 5, |text| TenantName::parse(text).ok());
    let shorts = all(&['a', '1'], 3, |text| Short::parse(text).ok());
    let mut owners = Vec::new();
    for installation in ["a", "a1", "aa"] {
        for tenant in &tenants {
            for short in &shorts {
                for number in [1, 2, 11, 12] {
                    owners.push(Owner {
                        installation: Installation::parse(installation).unwrap(),
                        tenant: tenant.clone(),
                        short: short.clone(),
                        record: record(number),
                    });
                }
            }
        }
    }
    owners
}

/// Fails where one name has two owners.
fn keep<O: PartialEq + std::fmt::Debug>(names: &mut BTreeMap<String, O>, name: &str, owner: O) {
    if let Some(other) = names.get(name) {
        assert_eq!(other, &owner, "{name}");
    } else {
        names.insert(name.to_owned(), owner);
    }
}

#[test]
fn no_two_owners_share_a_role_whatever_its_kind() {
    let mut roles: BTreeMap<String, String> = BTreeMap::new();
    keep(
        &mut roles,
        RoleName::databases_owner().as_str(),
        "the server".to_owned(),
    );
    for Owner {
        tenant, short, record, ..
    } in all_owners()
    {
        let login = RoleName::login(&tenant, &short, record).unwrap();
        keep(&mut roles, login.as_str(), format!("login {tenant} {short} {record}"));
        for access in Access::ALL {
            keep(
                &mut roles,
                RoleName::group(&tenant, access).as_str(),
                format!("group {tenant} {access}"),
            );
        }
    }
    assert!(roles.len() > 5000, "{}", roles.len());
}

#[test]
fn no_two_owners_share_a_cache_user_and_each_is_read_from_its_name() {
    let mut users = BTreeMap::new();
    for owner in all_owners() {
        let user = CacheUser::of(&owner.installation, &owner.tenant, &owner.short, owner.record).unwrap();
        let read = CacheUser::read(user.as_str(), &owner.installation);
        assert_eq!(
            read,
            Some((owner.tenant.clone(), owner.short.clone(), owner.record)),
            "{user}"
        );
        assert_eq!(CacheUser::parse(user.as_str()).as_ref(), Ok(&user));
        keep(&mut users, user.as_str(), owner);
    }
}

#[test]
fn no_two_tenants_share_a_database_a_key_or_a_place_in_the_store() {
    let prefix = StorePrefix::parse("/ramparts").unwrap();
    let (mut databases, mut keys, mut paths) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let apps = all(&['a', '1', '-'], 3, |text| AppName::parse(text).ok());
    for tenant in all(&['a', '1', '2', '-'], 5, |text| TenantName::parse(text).ok()) {
        keep(&mut databases, DatabaseName::of(&tenant).as_str(), tenant.clone());
        keep(&mut paths, &prefix.ledger(&tenant), format!("ledger {tenant}"));
        keep(&mut paths, &prefix.copies(&tenant), format!("copies {tenant}"));
        for number in [1, 2, 11, 12, 9999] {
            keep(
                &mut keys,
                KeyPrefix::of(&tenant, record(number)).as_str(),
                (tenant.clone(), number),
            );
            keep(
                &mut paths,
                &prefix.record(&tenant, record(number)),
                format!("record {tenant} {number}"),
            );
        }
        for app in &apps {
            keep(&mut paths, &prefix.copy(&tenant, app), format!("copy {tenant} {app}"));
        }
    }
    for target in all(&['a', '1', '-'], 3, |text| TargetName::parse(text).ok()) {
        keep(&mut paths, &prefix.server(&target), format!("server {target}"));
    }
    for (one, other) in keys.keys().zip(keys.keys().skip(1)) {
        assert!(!other.starts_with(one), "{one} covers the keys of {other}");
    }
}

/// xorshift64*: the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % bound
    }

    fn text(&mut self, alphabet: &[u8], longest: usize) -> String {
        (0..=self.below(longest))
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }
}

/// The four parts of a cache user as plain text, which need not be valid.
type Parts = [String; 4];

/// Another owner who would like the same name: a part's end or beginning wanders to its neighbour, or it is spelled otherwise.
fn neighbour(dice: &mut Dice, parts: &Parts) -> Parts {
    let mut other = parts.clone();
    let at = dice.below(3);
    let cut = dice.below(other[at].len() + 1);
    match dice.below(6) {
        0 => {
            let tail = other[at].split_off(cut);
            other[at + 1].insert_str(0, &tail);
        }
        1 => {
            let cut = dice.below(other[at + 1].len() + 1);
            let rest = other[at + 1].split_off(cut);
            let head = std::mem::replace(&mut other[at + 1], rest);
            other[at].push_str(&head);
        }
        2 => other[1] = format!("{}-{}", other[1], other[3]),
        3 => other.swap(at, at + 1),
        4 => other[at].insert(cut, '-'),
        _ => other[at] = other[at].replacen('-', "", 1),
    }
    other
}

fn owner([installation, tenant, short, record]: &Parts) -> Option<Owner> {
    Some(Owner {
        installation: Installation::parse(installation).ok()?,
        tenant: TenantName::parse(tenant).ok()?,
        short: Short::parse(short).ok()?,
        record: RecordNo::parse(record)?,
    })
}

fn names(owner: &Owner) -> Option<(RoleName, CacheUser)> {
    let Owner {
        installation,
        tenant,
        short,
        record,
    } = owner;
    Some((
        RoleName::login(tenant, short, *record).ok()?,
        CacheUser::of(installation, tenant, short, *record).ok()?,
    ))
}

#[test]
fn a_million_neighbours_do_not_share_a_name() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut pairs, mut compared) = (0_u32, 0_u32);
    while pairs < 1_000_000 {
        let first = dice.below(RecordNo::LAST.get() as usize) + 1;
        let parts = [
            dice.text(b"ab1", 8),
            dice.text(b"aab1ba1ab-", 30),
            dice.text(b"ab1", 10),
            first.to_string(),
        ];
        let Some(one) = owner(&parts) else { continue };
        let names_of_one = names(&one);
        for _ in 0..32 {
            pairs += 1;
            let Some(other) = owner(&neighbour(&mut dice, &parts)) else {
                continue;
            };
            let (Some(left), Some(right)) = (&names_of_one, names(&other)) else {
                continue;
            };
            let same = (&one.tenant, &one.short, one.record) == (&other.tenant, &other.short, other.record);
            assert_eq!(left.0 == right.0, same, "{one:?} {other:?}");
            assert_eq!(left.1 == right.1, one == other, "{one:?} {other:?}");
            compared += 1;
        }
    }
    assert!(compared > 100_000, "only {compared} of the pairs were two valid owners");
}
