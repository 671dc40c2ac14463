//! Ownership marks: whose a thing is, written on the thing itself, with nothing secret in it. A mark is read strictly: what
//! bears our magic word and does not come back exactly as we would write it is malformed, which is not the same as absent.

use std::fmt;

use crate::name::{AppName, Installation, RecordNo, TenantName};

const MAGIC: &str = "ramparts";
const VERSION: &str = "v1";

/// On a role, a database, a cache user, a record or a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    pub installation: Installation,
    pub tenant: TenantName,
    /// Absent on what belongs to the tenant as a whole: its database and its groups.
    pub app: Option<AppName>,
    pub record: RecordNo,
    /// Which layout of grants and groups a database was brought to; absent on everything else.
    pub layout: Option<u32>,
}

/// What a comment or a set of tags turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkRead<M = Mark> {
    /// A mark of our form; whether of *this* installation and tenant is for the reader to compare.
    Mark(M),
    /// Nothing of ours.
    NotAMark,
    /// It claims to be ours and cannot be understood: the text, for a person to look at.
    Malformed(String),
}

impl<M> MarkRead<M> {
    pub fn mark(&self) -> Option<&M> {
        match self {
            Self::Mark(mark) => Some(mark),
            Self::NotAMark | Self::Malformed(_) => None,
        }
    }
}

mod tag {
    pub const ALL: &str = "ramparts:";
    pub const INSTALLATION: &str = "ramparts:installation";
    pub const TENANT: &str = "ramparts:tenant";
    pub const APP: &str = "ramparts:app";
    pub const RECORD: &str = "ramparts:record";
}

impl Mark {
    pub fn read(text: &str) -> MarkRead {
        strictly(text, |fields| {
            Some(Self {
                installation: Installation::parse(fields.get("installation")?).ok()?,
                tenant: TenantName::parse(fields.get("tenant")?).ok()?,
                app: fields.get("app").map(AppName::parse).transpose().ok()?,
                record: RecordNo::parse(fields.get("record")?)?,
                layout: fields.get("layout").map(str::parse).transpose().ok()?,
            })
        })
    }

    /// For what takes tags in place of a comment. A layout is a database's, and databases have comments.
    pub fn tags(&self) -> Vec<(String, String)> {
        let mut tags = vec![
            (tag::INSTALLATION.to_owned(), self.installation.to_string()),
            (tag::TENANT.to_owned(), self.tenant.to_string()),
        ];
        tags.extend(self.app.iter().map(|app| (tag::APP.to_owned(), app.to_string())));
        tags.push((tag::RECORD.to_owned(), self.record.to_string()));
        tags
    }

    /// Tags of others are passed over; they may stand beside ours.
    pub fn from_tags<K: AsRef<str>, V: AsRef<str>>(tags: impl IntoIterator<Item = (K, V)>) -> MarkRead {
        let ours: Vec<(String, String)> = tags
            .into_iter()
            .filter(|(key, _)| key.as_ref().starts_with(tag::ALL))
            .map(|(key, value)| (key.as_ref().to_owned(), value.as_ref().to_owned()))
            .collect();
        if ours.is_empty() {
            return MarkRead::NotAMark;
        }
        let value = |name: &str| {
            ours.iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
        };
        let mark = || {
            Some(Self {
                installation: Installation::parse(value(tag::INSTALLATION)?).ok()?,
                tenant: TenantName::parse(value(tag::TENANT)?).ok()?,
                app: value(tag::APP).map(AppName::parse).transpose().ok()?,
                record: RecordNo::parse(value(tag::RECORD)?)?,
                layout: None,
            })
        };
        match mark() {
            Some(mark) if mark.tags().len() == ours.len() => MarkRead::Mark(mark),
            _ => {
                let shown: Vec<String> = ours.iter().map(|(key, value)| format!("{key}={value}")).collect();
                MarkRead::Malformed(shown.join(" "))
            }
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{MAGIC} {VERSION} installation={} tenant={}",
            self.installation, self.tenant
        )?;
        if let Some(app) = &self.app {
            write!(f, " app={app}")?;
        }
        write!(f, " record={}", self.record)?;
        if let Some(layout) = self.layout {
            write!(f, " layout={layout}")?;
        }
        Ok(())
    }
}

/// On the role that owns every database of a server: that the server and a store belong together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnrolmentMark {
    pub installation: Installation,
    /// Random, of `a-z`, `0-9` and hyphens; the same as in the store's record.
    pub id: String,
    pub state: EnrolmentState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnrolmentState {
    /// The store may not have heard of it yet.
    Enrolling,
    Enrolled,
}

impl EnrolmentMark {
    pub fn read(text: &str) -> MarkRead<Self> {
        strictly(text, |fields| {
            let id = fields.get("server")?;
            let plain = id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let state = match fields.get("state")? {
                "enrolling" => EnrolmentState::Enrolling,
                "enrolled" => EnrolmentState::Enrolled,
                _ => return None,
            };
            let installation = Installation::parse(fields.get("installation")?).ok()?;
            (plain && !id.is_empty()).then(|| Self {
                installation,
                id: id.to_owned(),
                state,
            })
        })
    }
}

impl fmt::Display for EnrolmentMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{MAGIC} {VERSION} installation={} server={} state={}",
            self.installation, self.id, self.state
        )
    }
}

impl fmt::Display for EnrolmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enrolling => "enrolling",
            Self::Enrolled => "enrolled",
        })
    }
}

/// The `key=value` words of a mark.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl Fields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// Reads what it can, writes it again and compares: so order, spacing, doubles, other versions and unknown words are all
/// refused by one rule.
fn strictly<M: fmt::Display>(text: &str, build: impl Fn(&Fields<'_>) -> Option<M>) -> MarkRead<M> {
    let mut words = text.split_whitespace();
    if words.next() != Some(MAGIC) {
        return MarkRead::NotAMark;
    }
    let fields = Fields(words.filter_map(|word| word.split_once('=')).collect());
    match build(&fields) {
        Some(mark) if mark.to_string() == text => MarkRead::Mark(mark),
        _ => MarkRead::Malformed(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        Mark {
            installation: Installation::parse("prod").unwrap(),
            tenant: TenantName::parse("acme-eu").unwrap(),
            app: Some(AppName::parse("web-admin").unwrap()),
            record: RecordNo::new(12).unwrap(),
            layout: None,
        }
    }

    #[test]
    fn a_mark_is_read_back_as_it_was_written() {
        assert_eq!(
            mark().to_string(),
            "ramparts v1 installation=prod tenant=acme-eu app=web-admin record=12"
        );
        let tenant = Mark {
            app: None,
            layout: Some(1),
            ..mark()
        };
        assert_eq!(
            tenant.to_string(),
            "ramparts v1 installation=prod tenant=acme-eu record=12 layout=1"
        );
        for mark in [mark(), tenant, Mark { app: None, ..mark() }] {
            assert_eq!(Mark::read(&mark.to_string()), MarkRead::Mark(mark));
        }
    }

    #[test]
    fn a_comment_of_somebody_else_is_not_a_mark() {
        for text in [
            "",
            " ",
            "the acme database",
            "rampartsv1",
            "Ramparts v1 installation=prod",
            "see ramparts v1",
        ] {
            assert_eq!(Mark::read(text), MarkRead::NotAMark, "{text:?}");
        }
    }

    #[test]
    fn a_mark_that_is_not_exactly_ours_is_malformed_and_not_absent() {
        for text in [
            "ramparts",
            "ramparts v1",
            "ramparts v2 installation=prod tenant=acme record=1",
            "ramparts v1 tenant=acme installation=prod record=1",
            "ramparts v1  installation=prod tenant=acme record=1",
            "ramparts v1 installation=prod tenant=acme record=1 ",
            " ramparts v1 installation=prod tenant=acme record=1",
            "ramparts v1 installation=prod tenant=acme record=01",
            "ramparts v1 installation=prod tenant=acme record=0",
            "ramparts v1 installation=prod tenant=acme record=10000",
            "ramparts v1 installation=prod tenant=Acme record=1",
            "ramparts v1 installation=prod tenant=acme tenant=acme record=1",
            "ramparts v1 installation=prod tenant=acme record=1 colour=red",
            "ramparts v1 installation=prod tenant=acme record=1 layout=-1",
            "ramparts v1 installation=prod server=ab state=enrolled",
        ] {
            assert_eq!(Mark::read(text), MarkRead::Malformed(text.to_owned()));
        }
    }

    #[test]
    fn tags_are_read_back_beside_the_tags_of_others() {
        let mut tags = mark().tags();
        tags.insert(0, ("team".to_owned(), "platform".to_owned()));
        tags.reverse();
        assert_eq!(Mark::from_tags(tags), MarkRead::Mark(mark()));
        assert_eq!(
            Mark::from_tags([("team", "platform"), ("Ramparts", "x")]),
            MarkRead::NotAMark
        );
        let without = |lost: &str| Mark::from_tags(mark().tags().into_iter().filter(|(key, _)| key != lost));
        for lost in ["ramparts:installation", "ramparts:tenant", "ramparts:record"] {
            assert!(matches!(without(lost), MarkRead::Malformed(_)), "{lost}");
        }
        let mut odd = mark().tags();
        odd.push(("ramparts:colour".to_owned(), "red".to_owned()));
        assert!(matches!(Mark::from_tags(odd), MarkRead::Malformed(_)));
    }

    #[test]
    fn an_enrolment_is_read_back_and_no_other_mark_passes_for_one() {
        let enrolled = EnrolmentMark {
            installation: Installation::parse("prod").unwrap(),
            id: "5f0c-9a".to_owned(),
            state: EnrolmentState::Enrolled,
        };
        assert_eq!(
            enrolled.to_string(),
            "ramparts v1 installation=prod server=5f0c-9a state=enrolled"
        );
        let enrolling = EnrolmentMark {
            state: EnrolmentState::Enrolling,
            ..enrolled.clone()
        };
        for mark in [enrolled, enrolling] {
            assert_eq!(EnrolmentMark::read(&mark.to_string()), MarkRead::Mark(mark));
        }
        let other = mark().to_string();
        assert_eq!(EnrolmentMark::read(&other), MarkRead::Malformed(other));
        let empty = "ramparts v1 installation=prod server= state=enrolled".to_owned();
        assert_eq!(EnrolmentMark::read(&empty), MarkRead::Malformed(empty));
        assert_eq!(EnrolmentMark::read("owner of databases"), MarkRead::NotAMark);
    }
}
