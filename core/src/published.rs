//! The published copy: what pods read. One flat JSON document per app, all values strings, so that `jq`, External Secrets and the
//! CSI driver need no help. It mirrors a ledger record and adds the endpoints as the settings now say.

use std::{collections::BTreeMap, fmt::Write};

use jiff::Timestamp;

use crate::{
    ledger::Credential,
    name::{AppName, CacheUser, DatabaseName, Installation, KeyPrefix, RecordNo, RoleName, TenantName},
    record::{Read, Stamp},
    secret::Secret,
    settings::Endpoint,
};

const FORM: &str = "copy/v1";

/// One app's published document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedCopy {
    /// The record whose credential this is.
    pub record: RecordNo,
    /// When that record was issued.
    pub issued_at: Timestamp,
    /// How to reach the database.
    pub database: DatabaseAccess,
    /// How to reach the cache, if the app uses it.
    pub cache: Option<CacheAccess>,
}

/// The database half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseAccess {
    /// Where.
    pub endpoint: Endpoint,
    /// Which database.
    pub name: DatabaseName,
    /// As whom.
    pub username: RoleName,
    /// With what.
    pub password: Secret,
}

/// The cache half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheAccess {
    /// Where.
    pub endpoint: Endpoint,
    /// As whom.
    pub username: CacheUser,
    /// With what.
    pub password: Secret,
    /// What every key and channel must start with.
    pub prefix: String,
}

/// Where pods find the servers, and under which names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// The database server.
    pub database: Endpoint,
    /// The tenant's database.
    pub name: DatabaseName,
    /// The cache.
    pub cache: Option<Endpoint>,
    /// The tenant's keys.
    pub prefix: KeyPrefix,
}

impl PublishedCopy {
    /// The document for a credential. `None` if the credential has a cache user and no cache is known.
    pub fn of(credential: &Credential, record: RecordNo, issued_at: Timestamp, at: &Whereabouts) -> Option<Self> {
        let cache = match (&credential.cache, &at.cache) {
            (None, _) => None,
            (Some(cache), Some(endpoint)) => Some(CacheAccess {
                endpoint: endpoint.clone(),
                username: cache.user.clone(),
                password: cache.password.clone(),
                prefix: at.prefix.to_string(),
            }),
            (Some(_), None) => return None,
        };
        Some(Self {
            record,
            issued_at,
            database: DatabaseAccess {
                endpoint: at.database.clone(),
                name: at.name.clone(),
                username: credential.login.clone(),
                password: credential.login_password.clone(),
            },
            cache,
        })
    }

    /// Whether this copy holds that credential, value for value.
    pub fn holds(&self, credential: &Credential) -> bool {
        let cache = self.cache.as_ref().map(|cache| (&cache.username, &cache.password));
        self.database.username == credential.login
            && self.database.password == credential.login_password
            && cache == credential.cache.as_ref().map(|cache| (&cache.user, &cache.password))
    }

    /// Whether it points where the settings now point.
    pub fn points_at(&self, at: &Whereabouts) -> bool {
        self.database.endpoint == at.database
            && self.database.name == at.name
            && self
                .cache
                .as_ref()
                .is_none_or(|cache| Some(&cache.endpoint) == at.cache.as_ref() && cache.prefix == at.prefix.to_string())
    }

    /// The document as it is stored.
    pub fn write(&self, installation: &Installation, tenant: &TenantName, app: &AppName) -> Secret {
        let mut fields: BTreeMap<&str, String> = BTreeMap::new();
        fields.insert("ramparts", FORM.into());
        fields.insert("installation", installation.to_string());
        fields.insert("tenant", tenant.to_string());
        fields.insert("app", app.to_string());
        fields.insert("record", self.record.to_string());
        fields.insert("issued_at", self.issued_at.to_string());
        let database = &self.database;
        fields.insert("database_host", database.endpoint.host.clone());
        fields.insert("database_port", database.endpoint.port.to_string());
        fields.insert("database_name", database.name.to_string());
        fields.insert("database_username", database.username.to_string());
        fields.insert("database_password", database.password.expose().to_owned());
        fields.insert("database_url", database.url());
        if let Some(cache) = &self.cache {
            fields.insert("cache_host", cache.endpoint.host.clone());
            fields.insert("cache_port", cache.endpoint.port.to_string());
            fields.insert("cache_username", cache.username.to_string());
            fields.insert("cache_password", cache.password.expose().to_owned());
            fields.insert("cache_prefix", cache.prefix.clone());
            fields.insert("cache_url", cache.url());
        }
        let text = Secret::new(serde_json::to_string(&fields).expect("strings always serialise"));
        fields.values_mut().for_each(zeroize::Zeroize::zeroize);
        text
    }

    /// What is stored under a copy's name.
    pub fn read(text: &Secret, installation: &Installation, tenant: &TenantName, app: &AppName) -> Read<Self> {
        let form = match Stamp::read(text.expose(), "copy", installation, tenant, Some(app)) {
            Ok(form) => form,
            Err(read) => return read,
        };
        if form != FORM {
            return Read::Malformed(format!("its form is {form}, this version reads {FORM}"));
        }
        let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, String>>(text.expose()) else {
            return Read::Malformed("it is not a flat document of strings".into());
        };
        let read = Fields(&fields).copy();
        fields.values_mut().for_each(zeroize::Zeroize::zeroize);
        read.map_or_else(
            |field| Read::Malformed(format!("its {field} is missing or not valid")),
            Read::Ours,
        )
    }
}

struct Fields<'a>(&'a BTreeMap<String, String>);

impl Fields<'_> {
    fn take<T>(&self, field: &'static str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, &'static str> {
        self.0.get(field).and_then(|text| parse(text)).ok_or(field)
    }

    fn text(&self, field: &'static str) -> Result<String, &'static str> {
        self.take(field, |text| (!text.is_empty()).then(|| text.to_owned()))
    }

    fn port(&self, field: &'static str) -> Result<u16, &'static str> {
        self.take(field, |text| text.parse().ok())
    }

    fn copy(&self) -> Result<PublishedCopy, &'static str> {
        let database = DatabaseAccess {
            endpoint: Endpoint {
                host: self.text("database_host")?,
                port: self.port("database_port")?,
            },
            name: self.take("database_name", |text| DatabaseName::parse(text).ok())?,
            username: self.take("database_username", |text| RoleName::parse(text).ok())?,
            password: Secret::new(self.text("database_password")?),
        };
        let cache = if self.0.contains_key("cache_username") {
            Some(CacheAccess {
                endpoint: Endpoint {
                    host: self.text("cache_host")?,
                    port: self.port("cache_port")?,
                },
                username: self.take("cache_username", |text| CacheUser::parse(text).ok())?,
                password: Secret::new(self.text("cache_password")?),
                prefix: self.text("cache_prefix")?,
            })
        } else {
            None
        };
        Ok(PublishedCopy {
            record: self.take("record", RecordNo::parse)?,
            issued_at: self.take("issued_at", |text| text.parse().ok())?,
            database,
            cache,
        })
    }
}

impl DatabaseAccess {
    fn url(&self) -> String {
        format!(
            "postgresql://{}:{}@{}:{}/{}?sslmode=verify-full",
            encode(self.username.as_str()),
            encode(self.password.expose()),
            self.endpoint.host,
            self.endpoint.port,
            encode(self.name.as_str()),
        )
    }
}

impl CacheAccess {
    fn url(&self) -> String {
        format!(
            "rediss://{}:{}@{}:{}/0",
            encode(self.username.as_str()),
            encode(self.password.expose()),
            self.endpoint.host,
            self.endpoint.port,
        )
    }
}

/// Percent-encodes all but the characters that no URL parser minds.
fn encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String takes all that is written to it");
        }
        out
    })
}
