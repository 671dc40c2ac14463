//! Whose a thing on the server is, by the comment on it; and the guards that read it again in the very transaction that changes the thing.

use ramparts_core::{
    failure::Failure,
    mark::{EnrolmentMark, Mark, MarkRead},
    name::{DatabaseName, Installation, RoleName, TenantName},
    observed::Presence,
    quote::identifier,
    reason::Reason,
};
use tokio_postgres::{
    Transaction,
    types::{ToSql, Type},
};

use super::failure::failure;

/// The tenant that a pass is about, in this installation.
#[derive(Clone, Copy)]
pub(super) struct Whose<'a> {
    pub installation: &'a Installation,
    pub tenant: &'a TenantName,
}

impl Whose<'_> {
    /// What a comment makes of the thing that bears it.
    pub(super) fn read(&self, comment: Option<&str>) -> Presence<Mark> {
        let Some(comment) = comment else {
            return Presence::Foreign("it bears no mark".into());
        };
        match Mark::read(comment) {
            MarkRead::Mark(mark) if mark.installation == *self.installation && mark.tenant == *self.tenant => {
                Presence::Ours(mark)
            }
            MarkRead::Mark(mark) => Presence::Foreign(format!(
                "it bears the mark of tenant {} of installation {}",
                mark.tenant, mark.installation
            )),
            MarkRead::NotAMark => Presence::Foreign(format!("its comment is {}", shown(comment))),
            MarkRead::Malformed(text) => Presence::Unknown(Failure::blocked(
                Reason::Malformed,
                format!("its mark cannot be understood: {}", shown(&text)),
            )),
        }
    }
}

/// Quoted, and no longer than a line: a comment may be anything.
pub(super) fn shown(comment: &str) -> String {
    const LONGEST: usize = 80;
    match comment.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}", format!("{}…", &comment[..end])),
        None => format!("{comment:?}"),
    }
}

/// What must hold of a thing for a transaction to go on.
pub(super) enum Guard<'a> {
    /// The server is marked with this id, by this installation.
    Server {
        installation: &'a Installation,
        id: &'a str,
    },
    /// A group role of the tenant.
    Group(Whose<'a>, &'a RoleName),
    /// A login of the tenant.
    Login(Whose<'a>, &'a RoleName),
    /// The tenant's database, marked or, fresh from its creation, not yet.
    Database(Whose<'a>, &'a DatabaseName),
}

const ROLE: &str = "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = $1";
const DATABASE: &str = "SELECT shobj_description(d.oid, 'pg_database'), r.rolname::text
    FROM pg_database d LEFT JOIN pg_roles r ON r.oid = d.datdba WHERE d.datname = $1";

impl Guard<'_> {
    pub(super) async fn check(&self, transaction: &Transaction<'_>, doing: &str) -> Result<(), Failure> {
        let owner = RoleName::databases_owner();
        let (sql, name) = match self {
            Self::Server { .. } => (ROLE, owner.as_str()),
            Self::Group(_, role) | Self::Login(_, role) => (ROLE, role.as_str()),
            Self::Database(_, database) => (DATABASE, database.as_str()),
        };
        let row = transaction.query_typed_opt(sql, &[(&name, Type::NAME)]).await;
        let Some(row) = row.map_err(|error| failure(doing, &error))? else {
            let message = format!("{doing}: {name} is not there any more; the next pass looks again");
            return Err(Failure::transient(Reason::LostRace, message));
        };
        let comment: Option<&str> = row.get(0);
        let refused = |what: &str| {
            let message = format!("{doing}: {name} is not ours ({what}); it is left alone");
            Err(Failure::blocked(Reason::NotOwned, message))
        };
        let (mark, fits) = match self {
            Self::Server { installation, id } => return server(comment, installation, id, doing),
            Self::Database(whose, _) => {
                let holder: Option<&str> = row.get(1);
                if holder != Some(owner.as_str()) {
                    return refused(&format!("it belongs to {}", holder.unwrap_or("nobody")));
                }
                match comment {
                    None => return Ok(()),
                    Some(_) => (whose.read(comment), true),
                }
            }
            Self::Group(whose, _) => (whose.read(comment), is_app(comment) == Some(false)),
            Self::Login(whose, _) => (whose.read(comment), is_app(comment) == Some(true)),
        };
        match mark {
            Presence::Ours(_) if fits => Ok(()),
            Presence::Ours(mark) => refused(&format!("it bears the mark {mark}")),
            Presence::Foreign(what) => refused(&what),
            Presence::Unknown(unknown) => refused(&unknown.message),
            Presence::Absent => refused("it is absent"),
        }
    }
}

/// What must hold of a database once it was closed to others. The owner takes back only what it gave itself: a role that was given the
/// right to give may have let others in, and only it, or a superuser in its name, can shut them out.
#[derive(Clone, Copy)]
pub(super) struct Closed<'a> {
    pub database: &'a DatabaseName,
    /// Those that must be able to enter.
    pub groups: &'a [RoleName],
}

const OPEN_DOORS: &str = "SELECT privilege_type, pg_get_userbyid(grantor)::text
    FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE datname = $1 AND grantee = 0 ORDER BY 2, 1";
const SHUT_OUT: &str = "SELECT rolname::text FROM pg_roles, pg_database
    WHERE datname = $1 AND rolname = ANY ($2) AND NOT has_database_privilege(pg_roles.oid, pg_database.oid, 'CONNECT') ORDER BY 1";

impl Closed<'_> {
    pub(super) async fn check(&self, transaction: &Transaction<'_>, doing: &str) -> Result<(), Failure> {
        let failed = |error| failure(doing, &error);
        let name = self.database.as_str();
        let database = identifier(name);
        let doors = transaction.query_typed(OPEN_DOORS, &[(&name, Type::NAME)]).await;
        let (mut found, mut cures) = (Vec::new(), Vec::new());
        for door in doors.map_err(failed)? {
            let (privilege, grantor): (&str, &str) = (door.get(0), door.get(1));
            let grantor = identifier(grantor);
            found.push(format!("PUBLIC still has {privilege}, granted by {grantor}"));
            cures.push(format!(
                "SET ROLE {grantor}; REVOKE {privilege} ON DATABASE {database} FROM PUBLIC; RESET ROLE"
            ));
        }
        let groups: Vec<&str> = self.groups.iter().map(RoleName::as_str).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::NAME), (&groups, Type::NAME_ARRAY)];
        for group in transaction.query_typed(SHUT_OUT, &parameters).await.map_err(failed)? {
            let group = identifier(group.get(0));
            found.push(format!("{group} still may not connect"));
            cures.push(format!("GRANT CONNECT ON DATABASE {database} TO {group}"));
        }
        if found.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{doing}: {}; nothing was changed, and a superuser must run: {}",
            found.join(", "),
            cures.join("; ")
        );
        Err(Failure::blocked(Reason::AccessDenied, message))
    }
}

/// Whether a mark is that of an app's login.
fn is_app(comment: Option<&str>) -> Option<bool> {
    Mark::read(comment?).mark().map(|mark| mark.app.is_some())
}

fn server(comment: Option<&str>, installation: &Installation, id: &str, doing: &str) -> Result<(), Failure> {
    match comment.map(EnrolmentMark::read) {
        Some(MarkRead::Mark(mark)) if mark.installation == *installation && mark.id == id => Ok(()),
        _ => {
            let found = comment.map_or("no mark".to_owned(), shown);
            let message =
                format!("{doing}: this server bears {found} and not the id that it should; nothing is written to it");
            Err(Failure::blocked(Reason::NotEnrolled, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mark_of_this_tenant_and_installation_is_ours() {
        let installation = Installation::parse("prod").unwrap();
        let tenant = TenantName::parse("acme").unwrap();
        let whose = Whose {
            installation: &installation,
            tenant: &tenant,
        };
        let read = |text: &str| whose.read(Some(text));
        assert!(matches!(
            read("ramparts v1 installation=prod tenant=acme app=api record=2"),
            Presence::Ours(_)
        ));
        for foreign in [
            "",
            "the acme database",
            "ramparts v1 installation=test tenant=acme app=api record=2",
            "ramparts v1 installation=prod tenant=acme-eu app=api record=2",
        ] {
            assert!(matches!(read(foreign), Presence::Foreign(_)), "{foreign:?}");
        }
        assert!(matches!(whose.read(None), Presence::Foreign(_)));
        assert!(matches!(
            read("ramparts v1 installation=prod tenant=acme app=api record=02"),
            Presence::Unknown(_)
        ));
    }

    #[test]
    fn a_long_comment_is_shown_in_one_short_line() {
        let text = shown(&"é\n".repeat(500));
        assert!(text.len() < 400 && !text.contains('\n'), "{text}");
    }
}
