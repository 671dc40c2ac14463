//! The settings file: what it means, and what is said of every mistake, word for word.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use ramparts_core::{
    acl::CacheProfile,
    name::Access,
    settings::{PasswordSource, Settings, Sweep, Tier},
};

/// Every key that this version accepts, once.
const WHOLE: &str = "\
installation: prod
defaultPlan: standard
apps:
  api: {access: owner, cache: standard}
  web-admin: {short: webadmin, access: readWrite}
  reporting: {access: readOnly, optIn: true}
plans:
  standard:
    connections: 20
    statementTimeout: 30s
    idleInTransactionTimeout: 5m
    settings: {work_mem: 16MB, random_page_cost: 1.1, jit: off, effective_io_concurrency: 200, enable_sort: true}
databases:
  main:
    endpoint: main.abc.eu-west-1.rds.amazonaws.com:5432
    admin: {user: ramparts, password: {file: /etc/ramparts/main}}
    tls: {ca: /etc/ramparts/rds.pem}
  second:
    endpoint: 127.0.0.1:5433
    admin: {user: ramparts, password: {env: SECOND_PASSWORD}}
caches:
  main: {endpoint: 'cache:6379', tls: {ca: /etc/ramparts/cache.pem}, elasticache: {userGroup: prod}}
credentials: {store: ssm, prefix: /ramparts, kmsKey: alias/tenants, tier: advanced}
aws: {region: eu-west-1, endpoint: 'http://127.0.0.1:4566'}
sweep: {interval: 15m, proof: 12h}
";

const LEAST: &str = "\
installation: prod
defaultPlan: small
apps: {api: {access: owner}}
plans: {small: {connections: 5}}
databases: {main: {endpoint: 'db:5432', admin: {user: ramparts, password: {env: P}}}}
credentials: {store: ssm, prefix: /ramparts}
";

#[test]
fn every_key_has_its_meaning() {
    let settings = Settings::parse(WHOLE).unwrap();
    assert_eq!(settings.installation.as_str(), "prod");
    assert_eq!(settings.default_plan.as_str(), "standard");

    let app = |app: &str| settings.apps[app].clone();
    assert_eq!((app("api").short.as_str(), app("api").access), ("api", Access::Owner));
    assert_eq!(
        (app("api").cache, app("api").opt_in),
        (Some(CacheProfile::Standard), false)
    );
    assert_eq!(
        (app("web-admin").short.as_str(), app("web-admin").access),
        ("webadmin", Access::ReadWrite)
    );
    assert_eq!((app("reporting").cache, app("reporting").opt_in), (None, true));

    let plan = &settings.plans[&settings.default_plan];
    assert_eq!(plan.connections, 20);
    assert_eq!(plan.statement_timeout, Some(Duration::from_secs(30)));
    assert_eq!(plan.idle_in_transaction_timeout, Some(Duration::from_mins(5)));

    let main = &settings.databases["main"];
    assert_eq!(main.endpoint.to_string(), "main.abc.eu-west-1.rds.amazonaws.com:5432");
    assert_eq!(main.admin_user, "ramparts");
    assert_eq!(
        main.admin_password,
        PasswordSource::File("/etc/ramparts/main".to_owned())
    );
    assert_eq!(main.ca.as_deref(), Some("/etc/ramparts/rds.pem"));
    let second = &settings.databases["second"];
    assert_eq!(second.admin_password, PasswordSource::Env("SECOND_PASSWORD".to_owned()));
    assert_eq!(second.ca, None);

    let cache = &settings.caches["main"];
    assert_eq!((cache.endpoint.host.as_str(), cache.endpoint.port), ("cache", 6379));
    assert_eq!(
        (cache.ca.as_deref(), cache.user_group.as_str()),
        (Some("/etc/ramparts/cache.pem"), "prod")
    );

    assert_eq!(settings.credentials.prefix.as_str(), "/ramparts");
    assert_eq!(settings.credentials.kms_key.as_deref(), Some("alias/tenants"));
    assert_eq!(settings.credentials.tier, Tier::Advanced);
    assert_eq!(settings.aws.region.as_deref(), Some("eu-west-1"));
    assert_eq!(settings.aws.endpoint.as_deref(), Some("http://127.0.0.1:4566"));
    assert_eq!(settings.sweep.interval, Duration::from_mins(15));
    assert_eq!(settings.sweep.proof, Duration::from_hours(12));
}

#[test]
fn what_may_be_left_out_has_its_default() {
    let settings = Settings::parse(LEAST).unwrap();
    assert!(settings.caches.is_empty());
    assert_eq!(settings.credentials.tier, Tier::Standard);
    assert_eq!(settings.credentials.kms_key, None);
    assert_eq!((settings.aws.region, settings.aws.endpoint), (None, None));
    assert_eq!(
        settings.sweep,
        Sweep {
            interval: Duration::from_mins(10),
            proof: Duration::from_hours(24)
        }
    );
    let plan = &settings.plans[&settings.default_plan];
    assert_eq!(plan.role_settings(), [].into());
}

#[test]
fn a_plan_speaks_postgresqls_own_words() {
    let settings = Settings::parse(WHOLE).unwrap();
    let expected = [
        ("effective_io_concurrency", "200"),
        ("enable_sort", "on"),
        ("idle_in_transaction_session_timeout", "300s"),
        ("jit", "off"),
        ("random_page_cost", "1.1"),
        ("statement_timeout", "30s"),
        ("work_mem", "16MB"),
    ];
    let found = settings.plans[&settings.default_plan].role_settings();
    assert_eq!(
        found,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    );
}

/// One mistake each: what stands in [`WHOLE`], what somebody writes in its place, and what they are told.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str, &str)] = &[
    // keys
    ("    connections: 20", "    conections: 20", "line 9: unknown key \"conections\" in plans.standard; did you mean \"connections\"?\nline 9: plans.standard has no \"connections\""),
    ("defaultPlan: standard", "default_plan: standard", "line 1: the file has no \"defaultPlan\"\nline 2: unknown key \"default_plan\"; did you mean \"defaultPlan\"?"),
    ("optIn: true", "optin: true", "line 6: unknown key \"optin\" in apps.reporting; did you mean \"optIn\"?"),
    ("sweep: {interval: 15m", "sweep: {colour: 15m", "line 25: unknown key \"colour\" in sweep; the keys here are interval, proof"),
    ("tls: {ca: /etc/ramparts/rds.pem}", "tls: {insecure: true}", "line 17: unknown key \"insecure\" in databases.main.tls; the keys here are ca"),
    ("    tls: {ca: /etc/ramparts/rds.pem}", "    extensions: [pgcrypto]", "line 17: \"extensions\" in databases.main is not supported by this version"),
    ("    tls: {ca: /etc/ramparts/rds.pem}", "    connect: [datadog]", "line 17: \"connect\" in databases.main is not supported by this version"),
    ("    tls: {ca: /etc/ramparts/rds.pem}", "    capacity: 800", "line 17: \"capacity\" in databases.main is not supported by this version"),
    ("    tls: {ca: /etc/ramparts/rds.pem}", "    open: false", "line 17: \"open\" in databases.main is not supported by this version"),
    ("    tls: {ca: /etc/ramparts/rds.pem}", "    publish: {host: pgbouncer, port: 6432}", "line 17: \"publish\" in databases.main is not supported by this version"),
    ("elasticache: {userGroup: prod}", "redis: {nodes: []}", "line 22: \"redis\" in caches.main is not supported by this version"),
    ("{file: /etc/ramparts/main}", "{ssm: /admin/main}", "line 16: \"ssm\" in databases.main.admin.password is not supported by this version"),
    ("sweep: {interval: 15m, proof: 12h}", "rotation: {grace: 7d}", "line 25: \"rotation\" is not supported by this version"),
    ("cache: standard}", "cache: queues}", "line 4: apps.api.cache: profile \"queues\" is not supported by this version"),
    ("store: ssm", "store: files", "line 23: credentials.store: store \"files\" is not supported by this version"),
    ("store: ssm", "store: kubernetes", "line 23: credentials.store: store \"kubernetes\" is not supported by this version"),
    // names
    ("installation: prod", "installation: Prod", "line 1: installation: installation \"Prod\" has 'P' at byte 0; only a-z and 0-9 are allowed, starting with a letter"),
    ("installation: prod", "installation: production", "line 1: installation: installation \"production\" is 10 bytes, at most 8 are allowed"),
    ("installation: prod", "installation: 5", "line 1: installation must be a name for this installation, not a number"),
    ("  reporting:", "  Reporting:", "line 6: app name \"Reporting\" has 'R' at byte 0; only a-z, 0-9 and single hyphens are allowed, starting with a letter"),
    ("  second:", "  second-:", "line 18: target name \"second-\" ends with a hyphen; only a-z, 0-9 and single hyphens are allowed, starting with a letter"),
    ("short: webadmin, ", "", "line 5: apps.web-admin needs a \"short\" for its logins and cache users: short \"web-admin\" has '-' at byte 3; only a-z and 0-9 are allowed, starting with a letter"),
    ("short: webadmin, ", "short: web_admin, ", "line 5: apps.web-admin.short: short \"web_admin\" has '_' at byte 3; only a-z and 0-9 are allowed, starting with a letter"),
    ("short: webadmin, ", "short: api, ", "line 5: apps api and web-admin have the same short \"api\""),
    // references
    ("defaultPlan: standard", "defaultPlan: gold", "line 2: defaultPlan must be the name of a plan, and there is no plan \"gold\""),
    ("endpoint: 127.0.0.1:5433", "endpoint: main.abc.eu-west-1.rds.amazonaws.com:5432", "line 14: databases main and second have the same endpoint: one server, one name"),
    // values
    ("access: owner", "access: readonly", "line 4: apps.api.access must be owner or readWrite or readOnly, not \"readonly\"; did you mean \"readOnly\"?"),
    ("access: owner", "access: superuser", "line 4: apps.api.access must be owner or readWrite or readOnly, not \"superuser\""),
    ("access: owner, ", "", "line 4: apps.api has no \"access\""),
    ("cache: standard}", "cache: true}", "line 4: apps.api.cache must be standard, not a boolean"),
    ("optIn: true", "optIn: yes", "line 6: apps.reporting.optIn must be true or false, not a text"),
    ("connections: 20", "connections: 0", "line 9: plans.standard.connections must be a whole number from 1 to 262143, not 0"),
    ("connections: 20", "connections: -1", "line 9: plans.standard.connections must be a whole number from 1 to 262143, not -1"),
    ("connections: 20", "connections: many", "line 9: plans.standard.connections must be a whole number from 1 to 262143, not a text"),
    ("statementTimeout: 30s", "statementTimeout: 30", "line 10: plans.standard.statementTimeout must be a length of time like 30s, 5m, 24h or 7d, not a number"),
    ("statementTimeout: 30s", "statementTimeout: 30ms", "line 10: plans.standard.statementTimeout must be a length of time like 30s, 5m, 24h or 7d, and at most 24d"),
    ("statementTimeout: 30s", "statementTimeout: 25d", "line 10: plans.standard.statementTimeout must be a length of time like 30s, 5m, 24h or 7d, and at most 24d"),
    ("interval: 15m", "interval: 0s", "line 25: sweep.interval must be a length of time like 30s, 5m, 24h or 7d, and at most 365d"),
    ("work_mem: 16MB", "search_path: public", "line 12: plans.standard.settings.search_path may not be set by a plan"),
    ("work_mem: 16MB", "role: postgres", "line 12: plans.standard.settings.role may not be set by a plan"),
    ("work_mem: 16MB", "session_authorization: postgres", "line 12: plans.standard.settings.session_authorization may not be set by a plan"),
    ("work_mem: 16MB", "statement_timeout: 1s", "line 12: plans.standard.settings.statement_timeout has a key of its own: use statementTimeout"),
    ("work_mem: 16MB", "idle_in_transaction_session_timeout: 1s", "line 12: plans.standard.settings.idle_in_transaction_session_timeout has a key of its own: use idleInTransactionTimeout"),
    ("work_mem: 16MB", "Search_Path: public", "line 12: plans.standard.settings.Search_Path is not the name of a PostgreSQL setting: only a-z, 0-9, '_' and '.'"),
    ("work_mem: 16MB", "work_mem: [16MB]", "line 12: plans.standard.settings.work_mem must be a number, a boolean or a text, not a list"),
    ("work_mem: 16MB", "work_mem: \"1\\n6\"", "line 12: plans.standard.settings.work_mem must be a text without control characters"),
    ("endpoint: 127.0.0.1:5433", "endpoint: 127.0.0.1", "line 19: databases.second.endpoint must be HOST:PORT, a name or an IPv4 address and a port"),
    ("endpoint: 127.0.0.1:5433", "endpoint:", "line 19: databases.second.endpoint must be HOST:PORT, a name or an IPv4 address and a port, not nothing"),
    ("{env: SECOND_PASSWORD}", "{env: A, file: /b}", "line 20: databases.second.admin.password must be either {env: NAME} or {file: PATH}"),
    ("{env: SECOND_PASSWORD}", "{}", "line 20: databases.second.admin.password must be either {env: NAME} or {file: PATH}"),
    ("user: ramparts, password: {env", "password: {env", "line 20: databases.second.admin has no \"user\""),
    ("userGroup: prod", "userGroup: Prod", "line 22: caches.main.elasticache.userGroup must be the id of a user group as AWS keeps it: a-z, 0-9 and hyphens, starting with a letter"),
    ("prefix: /ramparts", "prefix: ramparts", "line 23: credentials.prefix: store prefix \"ramparts\" does not start with a slash; it is a slash and then segments of letters, digits, '.', '-' and '_', no segment starting with '_'"),
    ("prefix: /ramparts", "prefix: /aws/ramparts", "line 23: credentials.prefix: store prefix \"/aws/ramparts\" is reserved: Parameter Store keeps what starts with aws or ssm"),
    ("tier: advanced", "tier: clever", "line 23: credentials.tier must be standard or advanced, not \"clever\""),
    ("'http://127.0.0.1:4566'", "127.0.0.1:4566", "line 24: aws.endpoint must be a URL that starts with http:// or https://"),
    // shape
    ("apps:\n", "apps: []\nplan:\n", "line 3: apps must be a map of keys, not a list\nline 4: unknown key \"plan\"; did you mean \"plans\"?"),
];

#[test]
fn every_mistake_is_told_with_its_line_and_its_remedy() {
    let told = |(from, to, _): &(&str, &str, &str)| {
        assert!(WHOLE.contains(from), "{from:?} is not in the file");
        let text = WHOLE.replacen(from, to, 1);
        Settings::parse(&text).map_or_else(|error| error.to_string(), |_| "nothing".to_owned())
    };
    let wrong: Vec<String> = MISTAKES
        .iter()
        .map(|mistake| (mistake, told(mistake)))
        .filter(|((.., expected), told)| told != expected)
        .map(|((from, to, expected), told)| format!("{from:?} → {to:?}\n  expected {expected:?}\n  told     {told:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_is_no_map_or_no_yaml_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "the file has no \"installation\""),
        ("just words", "line 1: the file must be a map of keys, not a text"),
        ("- a\n- b\n", "line 1: the file must be a map of keys, not a list"),
        ("installation: prod\napps: {api: {access: owner}\n", "line "),
        ("installation: prod\ninstallation: test\n", "line 2: "),
        ("installation: prod\n---\ninstallation: test\n", ""),
    ] {
        let told = Settings::parse(text).unwrap_err().to_string();
        assert!(told.contains(expected), "{text:?} → {told}");
    }
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let text = WHOLE
        .replace("prod", "PROD")
        .replace("20", "none")
        .replace("ssm", "smm")
        .replace("15m", "15");
    let error = Settings::parse(&text).unwrap_err();
    let lines: Vec<u64> = error.problems().iter().filter_map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 9, 22, 23, 25], "{error}");
}

#[test]
fn an_app_cannot_use_a_cache_that_nobody_named() {
    let text = LEAST.replace("access: owner", "access: owner, cache: standard");
    let told = Settings::parse(&text).unwrap_err().to_string();
    assert_eq!(
        told,
        "line 3: apps.api.cache asks for a cache, and the file has no \"caches\""
    );
    let told = Settings::parse(&format!("{text}caches: {{}}\n"))
        .unwrap_err()
        .to_string();
    assert_eq!(told, "line 7: caches is empty; it needs at least one entry");
}

#[test]
fn a_password_in_the_wrong_place_is_never_repeated() {
    let place = |from: &str, to: &str| WHOLE.replacen(from, to, 1);
    for text in [
        place("{file: /etc/ramparts/main}", "canary"),
        place("{file: /etc/ramparts/main}", "[canary]"),
        place("{file: /etc/ramparts/main}", "{file: [canary]}"),
        place("{file: /etc/ramparts/main}", "{file: canary, env: canary}"),
        place("{file: /etc/ramparts/main}", "{file: \"canary}"),
        place(
            "endpoint: 127.0.0.1:5433",
            "endpoint: postgres://ramparts:canary@db:5432",
        ),
        place("'http://127.0.0.1:4566'", "'canary@host'"),
        place("{user: ramparts, password: {env: SECOND_PASSWORD}}", "ramparts:canary"),
    ] {
        let error = Settings::parse(&text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
}
