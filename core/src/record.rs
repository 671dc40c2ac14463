//! The ledger record as JSON: written once, in a versioned form that bears our mark inside; read strictly. These writers are, with
//! those of `published.rs`, the only places where a secret becomes text, and what they return is a secret again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    acl::CacheProfile,
    ledger::{Body, CacheCredential, Credential, Placement, Record},
    name::{Access, AppName, CacheUser, Installation, RecordNo, RoleName, TargetName, TenantName},
    secret::Secret,
};

const FORM: &str = "record/v1";

/// What a stored value turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<T> {
    /// Ours, and understood.
    Ours(T),
    /// Readable, and not marked as ours.
    Foreign,
    /// Marked as ours, and not understood: nothing may be built on it.
    Malformed(String),
}

/// The part that says whose a document is. Read first, leniently, so that what is ours but newer is never taken for foreign.
#[derive(Deserialize)]
pub(crate) struct Stamp {
    ramparts: String,
    #[serde(default)]
    installation: String,
    #[serde(default)]
    tenant: String,
    #[serde(default)]
    app: Option<String>,
}

impl Stamp {
    /// Decides whose a text is: `Ok` with the form it claims to have, or what it is instead.
    pub(crate) fn read<T>(
        text: &str,
        kind: &str,
        installation: &Installation,
        tenant: &TenantName,
        app: Option<&AppName>,
    ) -> Result<String, Read<T>> {
        let Ok(stamp) = serde_json::from_str::<Self>(text) else {
            // Half a document of ours is not somebody else's.
            return Err(if text.contains(&format!("\"ramparts\":\"{kind}/")) {
                Read::Malformed("it bears our mark and is not whole".into())
            } else {
                Read::Foreign
            });
        };
        let ours = stamp.ramparts.split('/').next() == Some(kind)
            && stamp.installation == installation.as_str()
            && stamp.tenant == tenant.as_str()
            && stamp.app.as_deref() == app.map(AppName::as_str);
        if ours { Ok(stamp.ramparts) } else { Err(Read::Foreign) }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    ramparts: String,
    installation: String,
    tenant: String,
    record: u32,
    kind: Kind,
    uid: String,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    placement: Option<PlacementText>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    apps: BTreeMap<String, CredentialText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Issue,
    Open,
    Void,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacementText {
    database: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cache: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialText {
    login: String,
    login_password: String,
    access: Access,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cache_user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cache_password: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cache_profile: Option<CacheProfile>,
}

// The texts hold clear passwords for the length of one call; they are wiped when they go.
impl Drop for CredentialText {
    fn drop(&mut self) {
        use zeroize::Zeroize;
        self.login_password.zeroize();
        if let Some(password) = &mut self.cache_password {
            password.zeroize();
        }
    }
}

impl Record {
    /// The record as it is stored.
    pub fn write(&self, installation: &Installation, tenant: &TenantName) -> Secret {
        let (kind, placement, apps) = match &self.body {
            Body::Issue { placement, apps } => (Kind::Issue, Some(placement), Some(apps)),
            Body::Open => (Kind::Open, None, None),
            Body::Void => (Kind::Void, None, None),
        };
        let document = Document {
            ramparts: FORM.into(),
            installation: installation.to_string(),
            tenant: tenant.to_string(),
            record: self.number.get(),
            kind,
            uid: self.uid.clone(),
            at: self.at,
            placement: placement.map(|placement| PlacementText {
                database: placement.database.to_string(),
                cache: placement.cache.as_ref().map(ToString::to_string),
            }),
            apps: apps
                .into_iter()
                .flatten()
                .map(|(app, credential)| (app.to_string(), credential.text()))
                .collect(),
        };
        Secret::new(serde_json::to_string(&document).expect("strings and numbers always serialise"))
    }

    /// What is stored under a record's name.
    pub fn read(text: &Secret, installation: &Installation, tenant: &TenantName, number: RecordNo) -> Read<Self> {
        let form = match Stamp::read(text.expose(), "record", installation, tenant, None) {
            Ok(form) => form,
            Err(read) => return read,
        };
        if form != FORM {
            return Read::Malformed(format!("its form is {form}, this version reads {FORM}"));
        }
        // The parser's own message may quote the text; a password must not ride along.
        let Ok(document) = serde_json::from_str::<Document>(text.expose()) else {
            return Read::Malformed("it is not a record that this version can read".into());
        };
        if document.record != number.get() {
            return Read::Malformed(format!("it says that it is record {}", document.record));
        }
        document
            .into_record(number)
            .map_or_else(|what| Read::Malformed(what.into()), Read::Ours)
    }
}

impl Document {
    /// What is wrong is named, never quoted: a password may stand where a name should.
    fn into_record(self, number: RecordNo) -> Result<Record, &'static str> {
        let body = match (self.kind, self.placement) {
            (Kind::Issue, Some(placement)) => Body::Issue {
                placement: placement.parse().ok_or("its placement is not one")?,
                apps: self.apps.iter().map(parse_app).collect::<Result<_, _>>()?,
            },
            (Kind::Open | Kind::Void, None) if !self.apps.is_empty() => return Err("only an issue has apps"),
            (Kind::Open, None) => Body::Open,
            (Kind::Void, None) => Body::Void,
            (Kind::Issue, None) => return Err("an issue has no placement"),
            (Kind::Open | Kind::Void, Some(_)) => return Err("only an issue has a placement"),
        };
        Ok(Record {
            number,
            uid: self.uid,
            at: self.at,
            body,
        })
    }
}

fn parse_app((app, text): (&String, &CredentialText)) -> Result<(AppName, Credential), &'static str> {
    let app = AppName::parse(app).map_err(|_| "an app's name is not one")?;
    Ok((app, text.parse()?))
}

impl PlacementText {
    fn parse(&self) -> Option<Placement> {
        Some(Placement {
            database: TargetName::parse(&self.database).ok()?,
            cache: self.cache.as_deref().map(TargetName::parse).transpose().ok()?,
        })
    }
}

impl CredentialText {
    fn parse(&self) -> Result<Credential, &'static str> {
        let cache = match (&self.cache_user, &self.cache_password, self.cache_profile) {
            (Some(user), Some(password), Some(profile)) => Some(CacheCredential {
                user: CacheUser::parse(user).map_err(|_| "a cache user's name is not one")?,
                password: Secret::new(password.clone()),
                profile,
            }),
            (None, None, None) => None,
            _ => return Err("a cache credential needs user, password and profile"),
        };
        Ok(Credential {
            login: RoleName::parse(&self.login).map_err(|_| "a login's name is not one")?,
            login_password: Secret::new(self.login_password.clone()),
            access: self.access,
            cache,
        })
    }
}

impl Credential {
    fn text(&self) -> CredentialText {
        CredentialText {
            login: self.login.to_string(),
            login_password: self.login_password.expose().to_owned(),
            access: self.access,
            cache_user: self.cache.as_ref().map(|cache| cache.user.to_string()),
            cache_password: self.cache.as_ref().map(|cache| cache.password.expose().to_owned()),
            cache_profile: self.cache.as_ref().map(|cache| cache.profile),
        }
    }
}
