//! What is let through, what is refused and in which words, and that nothing is ever cut.

use ramparts_core::name::{
    Access, AppName, CacheUser, DatabaseName, Installation, KeyPrefix, NameErrorKind, PlanName, RecordNo, RoleName,
    Short, StorePrefix, TargetName, TenantName,
};

use super::{record, tenant};

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
