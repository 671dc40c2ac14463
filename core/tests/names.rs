//! Names: what is let through, what is refused, and that two owners never share a name, however they were chosen.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use ramparts_core::name::{
    Access, AppName, CacheUser, DatabaseName, Installation, KeyPrefix, NameErrorKind, PlanName, RecordNo, RoleName,
    Short, StorePrefix, TargetName, TenantName,
};

fn tenant(text: &str) -> TenantName {
    TenantName::parse(text).unwrap()
}

fn record(number: u32) -> RecordNo {
    RecordNo::new(number).unwrap()
}

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
            dice.text(b"ab1-", 30),
            dice.text(b"ab1", 10),
            first.to_string(),
        ];
        let Some(one) = owner(&parts) else { continue };
        let names_of_one = names(&one);
        for _ in 0..8 {
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

#[test]
fn a_name_is_whole_or_refused_and_has_room_for_every_later_record() {
    let installation = Installation::parse("prod").unwrap();
    for length in 1..=40 {
        let tenant = tenant(&"a".repeat(length));
        for short in ["a", "api", "abcdefghijklmnop"] {
            let short = Short::parse(short).unwrap();
            let logins = [1, 2, 9999].map(|number| RoleName::login(&tenant, &short, record(number)));
            let users = [1, 2, 9999].map(|number| CacheUser::of(&installation, &tenant, &short, record(number)));
            let fits = length + 1 + short.as_str().len() + 5;
            assert!(
                logins.iter().all(|login| login.is_ok() == (fits <= 63)),
                "{tenant} {short}"
            );
            assert!(
                users.iter().all(|user| user.is_ok() == (fits + 5 <= 40)),
                "{tenant} {short}"
            );
            for login in logins.into_iter().flatten() {
                assert!(login.as_str().starts_with(&format!("{tenant}_{short}")) && login.as_str().len() <= 63);
            }
            for user in users.into_iter().flatten() {
                assert!(user.as_str().starts_with(&format!("prod-{tenant}-{short}")) && user.as_str().len() <= 40);
            }
        }
        assert!(
            Access::ALL
                .iter()
                .all(|access| RoleName::group(&tenant, *access).as_str().len() <= 63)
        );
    }
}

#[test]
fn the_longest_that_fits_is_taken_and_one_more_is_refused() {
    let short = Short::parse("api").unwrap();
    let installation = Installation::parse("prod").unwrap();
    let user = |length: usize| CacheUser::of(&installation, &tenant(&"a".repeat(length)), &short, RecordNo::FIRST);
    assert_eq!(user(26).unwrap().as_str().len() + "-9999".len(), 40);
    let error = user(27).unwrap_err();
    assert_eq!(error.kind(), NameErrorKind::TooLong);
    assert_eq!(
        error.to_string(),
        "cache user \"prod-aaaaaaaaaaaaaaaaaaaaaaaaaaa-api\" would be 41 bytes with a four-digit record number, \
         ElastiCache keeps 40"
    );
    assert!(RoleName::parse(&"r".repeat(63)).is_ok() && DatabaseName::parse(&"é".repeat(31)).is_ok());
    for error in [
        RoleName::parse(&"r".repeat(64)).unwrap_err(),
        DatabaseName::parse(&"é".repeat(32)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), NameErrorKind::TooLong);
    }
}

#[test]
fn names_are_as_the_design_says() {
    let (installation, short) = (Installation::parse("prod").unwrap(), Short::parse("api").unwrap());
    let prefix = StorePrefix::parse("/ramparts").unwrap();
    let acme = tenant("acme-eu");
    let made = |number: u32| {
        let record = record(number);
        let login = RoleName::login(&acme, &short, record).unwrap();
        let user = CacheUser::of(&installation, &acme, &short, record).unwrap();
        [
            login.to_string(),
            user.to_string(),
            KeyPrefix::of(&acme, record).to_string(),
            prefix.record(&acme, record),
        ]
    };
    assert_eq!(
        made(1),
        [
            "acme_eu_api",
            "prod-acme-eu-api",
            "acme-eu:",
            "/ramparts/_ledger/acme-eu/1"
        ]
    );
    assert_eq!(
        made(2),
        [
            "acme_eu_api_2",
            "prod-acme-eu-api-2",
            "acme-eu.2:",
            "/ramparts/_ledger/acme-eu/2"
        ]
    );
    assert_eq!(DatabaseName::of(&acme).as_str(), "acme_eu");
    let groups = Access::ALL.map(|access| RoleName::group(&acme, access).to_string());
    assert_eq!(groups, ["acme_eu__owner", "acme_eu__readwrite", "acme_eu__readonly"]);
    assert_eq!(RoleName::databases_owner().as_str(), "ramparts__databases");
    assert_eq!(
        prefix.copy(&acme, &AppName::parse("web-admin").unwrap()),
        "/ramparts/acme-eu/web-admin"
    );
    assert_eq!(
        (prefix.ledger(&acme), prefix.copies(&acme)),
        ("/ramparts/_ledger/acme-eu".into(), "/ramparts/acme-eu".into())
    );
    assert_eq!(
        prefix.server(&TargetName::parse("main").unwrap()),
        "/ramparts/_servers/main"
    );
}

#[test]
fn a_tenants_name_that_could_be_mistaken_is_refused() {
    for text in [
        "a",
        "acme",
        "a1",
        "a-1",
        "acme-eu-2",
        "pa-g",
        "a-pg",
        "rampart",
        "postgresql",
        "a-rds",
        &"a".repeat(40),
    ] {
        assert!(TenantName::parse(text).is_ok(), "{text}");
    }
    for text in [
        "",
        "-",
        "-a",
        "a-",
        "a--b",
        "1a",
        "A",
        "aB",
        "a_b",
        "a.b",
        "a b",
        " a",
        "a ",
        "a\n",
        "a\0",
        "a*",
        "a:b",
        "a/b",
        "é",
        "aé",
        "а",
        "a\u{200d}b",
        "ａ",
        "a'b",
        "a\"b",
        "a;b",
        "a[b",
        "a?",
    ] {
        assert_eq!(
            TenantName::parse(text).unwrap_err().kind(),
            NameErrorKind::Invalid,
            "{text:?}"
        );
    }
    assert_eq!(
        TenantName::parse(&"a".repeat(41)).unwrap_err().kind(),
        NameErrorKind::TooLong
    );
    for text in [
        "postgres",
        "template0",
        "template1",
        "public",
        "none",
        "all",
        "default",
        "ramparts",
        "ramparts-x",
        "pg",
        "pg-stat",
        "pgbouncer",
        "rds",
        "rdsadmin",
        "rds-x",
        "aws",
        "aws-x",
        "awsome",
        "ssm",
        "ssm1",
        "current-user",
        "session-user",
        "user",
        "replication",
    ] {
        assert_eq!(
            TenantName::parse(text).unwrap_err().kind(),
            NameErrorKind::Reserved,
            "{text}"
        );
    }
}

#[test]
fn a_refusal_names_the_rule_that_was_broken() {
    for (text, told) in [
        (
            "Foo",
            "tenant name \"Foo\" has 'F' at byte 0; only a-z, 0-9 and single hyphens are allowed, starting with a letter",
        ),
        (
            "fo--o",
            "tenant name \"fo--o\" has a double hyphen at byte 2; only a-z, 0-9 and single hyphens are allowed, starting with a letter",
        ),
        (
            "",
            "tenant name \"\" is empty; only a-z, 0-9 and single hyphens are allowed, starting with a letter",
        ),
        (
            "pg-1",
            "tenant name \"pg-1\" is reserved: names that start with pg belong to PostgreSQL and its poolers",
        ),
        (
            &"a".repeat(41),
            "tenant name \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" is 41 bytes, at most 40 are allowed",
        ),
    ] {
        assert_eq!(TenantName::parse(text).unwrap_err().to_string(), told);
    }
    let long = TenantName::parse(&"é\n".repeat(5000)).unwrap_err().to_string();
    assert!(long.len() < 500 && !long.contains('\n'), "{long}");
}

#[test]
fn every_chosen_name_has_its_own_alphabet_and_length() {
    let longest = |length: usize| "a".repeat(length);
    assert!(Installation::parse(&longest(8)).is_ok() && Installation::parse(&longest(9)).is_err());
    assert!(Short::parse(&longest(16)).is_ok() && Short::parse(&longest(17)).is_err());
    assert!(AppName::parse(&longest(63)).is_ok() && AppName::parse(&longest(64)).is_err());
    assert!(TargetName::parse(&longest(40)).is_ok() && TargetName::parse(&longest(41)).is_err());
    assert!(PlanName::parse(&longest(40)).is_ok() && PlanName::parse(&longest(41)).is_err());
    for text in ["a-b", "a_b", "1", "1a", "", "A"] {
        assert!(
            Installation::parse(text).is_err() && Short::parse(text).is_err(),
            "{text}"
        );
    }
    for text in ["a--b", "a-", "-a", "a_b", "1a", "", "A", "a.b"] {
        assert!(
            AppName::parse(text).is_err() && TargetName::parse(text).is_err() && PlanName::parse(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn a_record_number_is_read_in_one_spelling_only() {
    for number in [1, 2, 10, 999, 9999] {
        assert_eq!(RecordNo::parse(&number.to_string()), RecordNo::new(number));
    }
    for text in [
        "",
        "0",
        "01",
        "+1",
        "-1",
        " 1",
        "1 ",
        "1.0",
        "10000",
        "65537",
        "4294967297",
        "١",
        "a",
    ] {
        assert_eq!(RecordNo::parse(text), None, "{text:?}");
    }
    assert_eq!(
        (RecordNo::new(0), RecordNo::new(10_000), RecordNo::new(65_537)),
        (None, None, None)
    );
    assert_eq!(
        (RecordNo::FIRST.next(), RecordNo::LAST.next()),
        (RecordNo::new(2), None)
    );
    assert!(serde_json::from_str::<RecordNo>("0").is_err() && serde_json::from_str::<RecordNo>("10000").is_err());
    assert_eq!(serde_json::to_string(&record(7)).unwrap(), "7");
}

#[test]
fn a_cache_user_of_somebody_else_is_nobodys() {
    let prod = Installation::parse("prod").unwrap();
    for text in [
        "",
        "prod",
        "prod-",
        "prod-acme",
        "prod-acme-2",
        "prod-acme-api-1",
        "prod-acme-api-02",
        "prod-acme-api-10000",
        "prod2-acme-api",
        "pro-acme-api",
        "Prod-acme-api",
        "prod-Acme-api",
        "prod-acme--api",
        "prod--api",
        "prod-postgres-api",
        "default",
        "prod-acme-api-",
        "xprod-acme-api",
    ] {
        assert_eq!(CacheUser::read(text, &prod), None, "{text}");
    }
    let (tenant, short, record) = CacheUser::read("prod-acme-2-api-3", &prod).unwrap();
    assert_eq!((tenant.as_str(), short.as_str(), record.get()), ("acme-2", "api", 3));
}

#[test]
fn a_key_prefix_is_read_back_and_nothing_else_passes_for_one() {
    for (name, life) in [("acme", 1), ("acme", 2), ("acme-eu-1", 9999)] {
        let prefix = KeyPrefix::of(&tenant(name), record(life));
        assert_eq!(KeyPrefix::parse(prefix.as_str()), Ok(prefix));
    }
    for text in [
        "", ":", "acme", "acme.1:", "acme.02:", "acme.:", "acme:*", "acme: ~*", "acme.2", "*:", "Acme:", "a.b.2:",
        "pg:",
    ] {
        assert!(KeyPrefix::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_store_prefix_belongs_to_us_alone() {
    for text in ["/ramparts", "/a", "/prod/ramparts", "/A.b-c_d/9", "/ramparts/aws"] {
        assert_eq!(StorePrefix::parse(text).unwrap().as_str(), text);
    }
    for text in [
        "",
        "/",
        "ramparts",
        "//",
        "/a/",
        "/a//b",
        "/a b",
        "/a*",
        "/é",
        "/_ledger",
        "/ramparts/_ledger",
        "/a\n",
        "/a/b/c/d/e/f/g/h/i/j/k",
    ] {
        assert_eq!(
            StorePrefix::parse(text).unwrap_err().kind(),
            NameErrorKind::Invalid,
            "{text:?}"
        );
    }
    for text in ["/aws", "/AWS/x", "/awsome", "/ssm", "/Ssm-x"] {
        assert_eq!(
            StorePrefix::parse(text).unwrap_err().kind(),
            NameErrorKind::Reserved,
            "{text:?}"
        );
    }
    assert_eq!(
        StorePrefix::parse(&format!("/{}", "a".repeat(200))).unwrap_err().kind(),
        NameErrorKind::TooLong
    );
}

#[test]
fn names_are_strings_in_json_and_are_checked_on_the_way_in() {
    let json = serde_json::to_string(&tenant("acme")).unwrap();
    assert_eq!(json, "\"acme\"");
    assert_eq!(serde_json::from_str::<TenantName>(&json).unwrap(), tenant("acme"));
    for bad in ["\"Acme\"", "\"pg\"", "\"\"", "5", "null"] {
        assert!(serde_json::from_str::<TenantName>(bad).is_err(), "{bad}");
    }
    let spelled = Access::ALL.map(|access| serde_json::to_string(&access).unwrap());
    assert_eq!(spelled, ["\"owner\"", "\"readWrite\"", "\"readOnly\""]);
}
