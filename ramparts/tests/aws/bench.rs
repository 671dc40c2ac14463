//! A sandbox with one user group, and the layers under test talking to it.

use std::{collections::BTreeMap, sync::Arc};

use aws_sdk_ssm::config::Credentials;
use jiff::Timestamp;
use ramparts::{
    aws::{self, Clients, CreatedUser, ElastiCache, Ssm},
    gate::Gate,
    metrics::Metrics,
};
use ramparts_core::{
    acl::CacheProfile,
    failure::Failure,
    ledger::{Body, CredentialNames, IssueDraft, Placement, Record},
    name::{
        Access, AppName, CacheUser, DatabaseName, Installation, KeyPrefix, RecordNo, RoleName, Short, StorePrefix,
        TargetName, TenantName,
    },
    published::{PublishedCopy, Whereabouts},
    secret::{Password, Secret},
    settings::{self, Endpoint, Tier},
};
use sandbox::aws::Aws;

pub const GROUP: &str = "prod";

pub struct Bench {
    pub aws: Aws,
    pub clients: Clients,
    pub ssm: Ssm,
    pub users: ElastiCache,
}

pub async fn bench() -> Bench {
    bench_on(Aws::start(None).await.unwrap()).await
}

pub async fn bench_on(aws: Aws) -> Bench {
    aws.create_user_group(GROUP).unwrap();
    let settings = settings::Aws {
        region: Some(aws.region().to_owned()),
        endpoint: Some(aws.endpoint()),
    };
    let clients = aws::clients_as(&settings, Credentials::new("AKIATEST", "secret", None, None, "test")).await;
    let ssm = store(&clients);
    let users = users_of(&clients, GROUP);
    Bench {
        aws,
        clients,
        ssm,
        users,
    }
}

pub fn store(clients: &Clients) -> Ssm {
    let credentials = settings::Credentials {
        prefix: StorePrefix::parse("/ramparts").unwrap(),
        kms_key: None,
        tier: Tier::Standard,
    };
    Ssm::new(clients.ssm.clone(), &credentials, installation(), gate())
}

pub fn users_of(clients: &Clients, group: &str) -> ElastiCache {
    ElastiCache::new(clients.elasticache.clone(), group.to_owned(), installation(), gate())
}

impl Bench {
    /// Makes the cache user of an app, as record 1 issued it.
    pub async fn create_user(&self, app: &str, password: &Secret) -> Result<CreatedUser, Failure> {
        let rules = CacheProfile::Standard.access_string(&prefix());
        self.users
            .create_user(&acme(), &self::app(app), RecordNo::FIRST, &user(app), &rules, password)
            .await
    }

    /// Makes a user past the operator, with these tags.
    pub async fn raw_user(&self, id: &str, name: &str, tags: &[(&str, &str)]) {
        let tag = |(key, value): &(&str, &str)| {
            aws_sdk_elasticache::types::Tag::builder()
                .key(*key)
                .value(*value)
                .build()
        };
        let request = self
            .clients
            .elasticache
            .create_user()
            .user_id(id)
            .user_name(name)
            .engine("redis");
        let request = request
            .access_string("on ~x:* -@all +@read")
            .passwords("0123456789abcdef");
        request
            .set_tags(Some(tags.iter().map(tag).collect()))
            .send()
            .await
            .unwrap();
    }
}

pub fn gate() -> Gate {
    Gate::new(Arc::new(Metrics::default()))
}

pub fn installation() -> Installation {
    Installation::parse("prod").unwrap()
}

pub fn acme() -> TenantName {
    TenantName::parse("acme").unwrap()
}

pub fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

pub fn number(number: u32) -> RecordNo {
    RecordNo::new(number).unwrap()
}

pub fn prefix() -> KeyPrefix {
    KeyPrefix::of(&acme(), RecordNo::FIRST)
}

pub fn user(app: &str) -> CacheUser {
    CacheUser::of(&installation(), &acme(), &Short::parse(app).unwrap(), RecordNo::FIRST).unwrap()
}

/// A password of ours whose random part ends with this letter.
pub fn password(letter: char) -> Secret {
    let body = format!("0123456789abcdefghijABCDEFGHIJ012345678{letter}");
    Password::seal(&body).unwrap()
}

/// An issue for two apps, all of whose passwords end with this letter.
pub fn issue(record: u32, letter: char) -> Record {
    let names = |app: &str| CredentialNames {
        login: RoleName::login(&acme(), &Short::parse(app).unwrap(), number(record)).unwrap(),
        access: Access::Owner,
        cache: Some((user(app), CacheProfile::Standard)),
    };
    let draft = IssueDraft {
        number: number(record),
        uid: "uid-1".to_owned(),
        at: at(),
        placement: Placement {
            database: target("main"),
            cache: Some(target("main")),
        },
        apps: BTreeMap::from([(app("api"), names("api")), (app("worker"), names("worker"))]),
    };
    draft.seal(|| password(letter))
}

pub fn void(record: u32) -> Record {
    Record {
        number: number(record),
        uid: "uid-1".to_owned(),
        at: at(),
        body: Body::Void,
    }
}

pub fn copy(letter: char) -> PublishedCopy {
    let Body::Issue { apps, .. } = issue(1, letter).body else {
        panic!("an issue was made")
    };
    let whereabouts = Whereabouts {
        database: Endpoint {
            host: "db".to_owned(),
            port: 5432,
        },
        name: DatabaseName::of(&acme()),
        cache: Some(Endpoint {
            host: "cache".to_owned(),
            port: 6379,
        }),
        prefix: prefix(),
    };
    PublishedCopy::of(&apps[&app("api")], RecordNo::FIRST, at(), &whereabouts).unwrap()
}

pub fn target(name: &str) -> TargetName {
    TargetName::parse(name).unwrap()
}

fn at() -> Timestamp {
    "2026-11-16T02:00:00Z".parse().unwrap()
}
