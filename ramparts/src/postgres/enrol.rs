//! Enrolment, the server's side of it: the role that owns every tenant's database carries the mark, and the operator gets a database of
//! its own that nobody else can enter. Every point between is one transaction or one statement, and each can be resumed from.

use ramparts_core::{
    enrolment::ServerSide,
    failure::Failure,
    mark::{EnrolmentMark, EnrolmentState, MarkRead},
    name::{Installation, RoleName},
    quote::{identifier, literal},
    reason::Reason,
};
use serde::Deserialize;
use tokio_postgres::types::Type;

use super::{
    Inner, MAINTENANCE, MEMBERSHIP_OPTIONS, Server, WORKPLACE,
    guard::{Guard, shown},
    session::{Deed, Parameter, Session},
};

/// What the server says about itself and about us.
#[derive(Debug, Deserialize)]
struct Standing {
    recovery: bool,
    /// What the operator's role lacks, in PostgreSQL's words.
    lacks: Vec<String>,
    /// The comment on the role that owns the databases; none if the role is not there.
    enrolment: Option<String>,
    /// The operator has that role's rights, and may act as it.
    member: bool,
    workplace: Option<Workplace>,
    /// Roles that bear our mark and that the operator may not administer.
    estranged: Vec<String>,
    /// Databases of others that anybody may enter.
    doors: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Workplace {
    owner: Option<String>,
    open: bool,
    marked: bool,
    public: bool,
}

/// `$1` the workplace, `$2` the owner of databases, `$3` how our marks begin. Memberships before 16 are inherited only by a role that
/// inherits at all. ADMIN is looked up edge by edge: asking `pg_has_role` for it walks all of the operator's memberships every time.
const STANDING: &str = "
SELECT json_build_object(
    'recovery', pg_is_in_recovery(),
    'lacks', (SELECT array_remove(ARRAY[
        CASE WHEN NOT (rolcreaterole OR rolsuper) THEN 'CREATEROLE' END,
        CASE WHEN NOT (rolcreatedb OR rolsuper) THEN 'CREATEDB' END,
        CASE WHEN NOT rolinherit THEN 'INHERIT' END], NULL) FROM pg_roles WHERE rolname = current_user),
    'enrolment', (SELECT coalesce(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE rolname = $2),
    'member', (SELECT coalesce(bool_or(pg_has_role(oid, 'USAGE') AND pg_has_role(oid, '{assume}')), false)
        FROM pg_roles WHERE rolname = $2),
    'workplace', (SELECT json_build_object(
        'owner', (SELECT rolname FROM pg_roles WHERE oid = datdba),
        'open', datallowconn,
        'marked', shobj_description(oid, 'pg_database') IS NOT NULL,
        'public', EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0)
    ) FROM pg_database WHERE datname = $1),
    'estranged', (SELECT coalesce(json_agg(ours.rolname ORDER BY ours.rolname), '[]')
        FROM pg_roles AS ours, pg_roles AS us
        WHERE us.rolname = current_user AND NOT us.rolsuper
          AND ours.oid IN (SELECT objoid FROM pg_shdescription
                           WHERE classoid = 'pg_authid'::regclass AND starts_with(description, $3))
          AND NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = ours.oid AND member = us.oid AND admin_option)),
    'doors', (SELECT coalesce(json_agg(datname ORDER BY datname), '[]') FROM pg_database
        WHERE datallowconn AND datdba NOT IN (SELECT oid FROM pg_roles WHERE rolname = $2)
          AND EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba)))
                      WHERE grantee = 0 AND privilege_type = 'CONNECT'))
)::text";

impl Server {
    /// What the server says of its enrolment. It works before there is a database of the operator's own.
    pub async fn enrolment(&self) -> Result<ServerSide, Failure> {
        let inner = &self.0;
        let mut session = match inner.open(WORKPLACE).await {
            Ok(session) => session,
            Err(not) if not.closed => inner.open(MAINTENANCE).await?,
            Err(not) => return Err(not.into()),
        };
        let standing = inner.standing(&mut session).await?;
        let owner = RoleName::databases_owner();
        let side = side(&inner.installation, standing.enrolment.as_deref());
        if let Some(workplace) = standing
            .workplace
            .as_ref()
            .filter(|it| it.owner.as_deref() != Some(owner.as_str()))
        {
            let holder = shown(workplace.owner.as_deref().unwrap_or("nobody"));
            return Ok(ServerSide::Foreign(format!(
                "a database {WORKPLACE} that belongs to {holder}"
            )));
        }
        if !standing.member && matches!(side, ServerSide::Enrolling(_) | ServerSide::Enrolled(_)) {
            return Err(inner.not_a_member(&owner, session.version));
        }
        inner.warn_of_estranged(&standing);
        Ok(side)
    }

    /// Makes the role that will own the databases, marked *enrolling* with this id.
    pub async fn mark_enrolling(&self, id: &str) -> Result<(), Failure> {
        let inner = &self.0;
        let mut session = inner.open(MAINTENANCE).await?;
        let owner = RoleName::databases_owner();
        let mark = inner.enrolment_mark(id, EnrolmentState::Enrolling);
        let sql = session.creates_role(&owner, "NOLOGIN", &mark.to_string()) + &session.joins_us_to(&owner);
        let doing = format!("creating role {owner} on server {}", inner.name);
        session
            .transact(
                Deed {
                    operation: "enrol-role",
                    target: owner.as_str(),
                    doing: &doing,
                },
                &[],
                &sql,
            )
            .await
    }

    /// Makes the operator's own database, closes it to everybody else, and marks the server *enrolled*. What is done already is not
    /// done again. Doors that the operator cannot close are named in the log.
    pub async fn confirm_enrolled(&self, id: &str) -> Result<(), Failure> {
        let inner = &self.0;
        let mut session = inner.open(MAINTENANCE).await?;
        let standing = inner.standing(&mut session).await?;
        inner.make_workplace(&mut session, &standing, id).await?;
        let owner = RoleName::databases_owner();
        let mark = inner.enrolment_mark(id, EnrolmentState::Enrolled).to_string();
        let doing = format!("marking server {} as enrolled", inner.name);
        let deed = Deed {
            operation: "enrol-confirm",
            target: owner.as_str(),
            doing: &doing,
        };
        let sql = format!("COMMENT ON ROLE {} IS {}", identifier(owner.as_str()), literal(&mark));
        session
            .transact(
                deed,
                &[Guard::Server {
                    installation: &inner.installation,
                    id,
                }],
                &sql,
            )
            .await?;
        if !standing.doors.is_empty() {
            tracing::warn!(
                server = %inner.name,
                databases = standing.doors.join(" "),
                "every tenant's login can connect to these databases through PUBLIC; their owner can REVOKE CONNECT"
            );
        }
        Ok(())
    }
}

/// What the comment on the role that owns the databases says.
pub(super) fn side(installation: &Installation, comment: Option<&str>) -> ServerSide {
    let Some(comment) = comment else {
        return ServerSide::Absent;
    };
    match EnrolmentMark::read(comment) {
        MarkRead::Mark(mark) if mark.installation != *installation => {
            ServerSide::Foreign(format!("it is enrolled by installation {}", mark.installation))
        }
        MarkRead::Mark(EnrolmentMark {
            id,
            state: EnrolmentState::Enrolling,
            ..
        }) => ServerSide::Enrolling(id),
        MarkRead::Mark(EnrolmentMark {
            id,
            state: EnrolmentState::Enrolled,
            ..
        }) => ServerSide::Enrolled(id),
        MarkRead::NotAMark | MarkRead::Malformed(_) => ServerSide::Foreign(format!(
            "role {} has the comment {}",
            RoleName::databases_owner(),
            shown(comment)
        )),
    }
}

impl Inner {
    fn enrolment_mark(&self, id: &str, state: EnrolmentState) -> EnrolmentMark {
        EnrolmentMark {
            installation: self.installation.clone(),
            id: id.to_owned(),
            state,
        }
    }

    /// Refuses a server that could never work, before anything is written to it.
    async fn standing(&self, session: &mut Session) -> Result<Standing, Failure> {
        let doing = format!("reading the enrolment of server {}", self.name);
        let deed = Deed {
            operation: "enrolment",
            target: self.name.as_str(),
            doing: &doing,
        };
        // Before 16 who has a role's rights may assume it; to ask for both would make the server walk every membership twice.
        let assume = if session.version >= MEMBERSHIP_OPTIONS {
            "SET"
        } else {
            "USAGE"
        };
        let owner = RoleName::databases_owner();
        let (owner, begins) = (
            owner.as_str(),
            format!("ramparts v1 installation={} ", self.installation),
        );
        let parameters: [Parameter<'_>; 3] = [(&WORKPLACE, Type::NAME), (&owner, Type::NAME), (&begins, Type::TEXT)];
        let rows = session
            .rows(deed, &STANDING.replace("{assume}", assume), &parameters)
            .await?;
        let text: Option<&str> = rows.first().map(|row| row.get(0));
        let standing: Standing = serde_json::from_str(text.unwrap_or_default())
            .map_err(|error| Failure::defect(format!("{doing}: the answer makes no sense: {error}")))?;
        if standing.recovery {
            let message = format!("{doing}: it is a replica, or in the middle of a failover; nothing is written to it");
            return Err(Failure::transient(Reason::DatabaseUnreachable, message));
        }
        if !standing.lacks.is_empty() {
            let (user, lacks) = (&self.user, standing.lacks.join(" "));
            let message =
                format!("{doing}: role {user} lacks {lacks}; an administrator can run: ALTER ROLE {user} {lacks}");
            return Err(Failure::blocked(Reason::AccessDenied, message));
        }
        Ok(standing)
    }

    /// A database that refused connections until PUBLIC was shut out: nobody's session is ever older than that.
    async fn make_workplace(&self, session: &mut Session, standing: &Standing, id: &str) -> Result<(), Failure> {
        let owner = RoleName::databases_owner();
        let (name, guard) = (
            identifier(WORKPLACE),
            Guard::Server {
                installation: &self.installation,
                id,
            },
        );
        let doing = format!("creating database {WORKPLACE} on server {}", self.name);
        let deed = Deed {
            operation: "enrol-database",
            target: WORKPLACE,
            doing: &doing,
        };
        match &standing.workplace {
            Some(it) if it.owner.as_deref() != Some(owner.as_str()) => {
                let message =
                    format!("{doing}: there is one already, and it belongs to another role; it is left alone");
                return Err(Failure::blocked(Reason::NotOwned, message));
            }
            Some(it) if it.open && it.marked && !it.public => return Ok(()),
            Some(_) => {}
            None => {
                session.transact(deed, &[guard], "").await?;
                session.run(deed, &super::database::creates(WORKPLACE)).await?;
            }
        }
        let mark = self.enrolment_mark(id, EnrolmentState::Enrolled).to_string();
        let sql = format!(
            "REVOKE ALL ON DATABASE {name} FROM PUBLIC; COMMENT ON DATABASE {name} IS {}; ALTER DATABASE {name} ALLOW_CONNECTIONS true",
            literal(&mark)
        );
        let doing = format!("closing database {WORKPLACE} on server {} to others", self.name);
        let deed = Deed {
            operation: "enrol-seal",
            target: WORKPLACE,
            doing: &doing,
        };
        session
            .transact(
                deed,
                &[Guard::Server {
                    installation: &self.installation,
                    id,
                }],
                &sql,
            )
            .await
    }

    /// They work, and nothing rests on changing them until somebody wants to: so this is a warning.
    fn warn_of_estranged(&self, standing: &Standing) {
        if let Some(one) = standing.estranged.first() {
            tracing::warn!(
                server = %self.name,
                roles = standing.estranged.len(),
                "{} may not administer roles of ours, as after an upgrade; an administrator can run for each: GRANT {one} TO {} WITH ADMIN OPTION",
                self.user,
                self.user,
            );
        }
    }

    /// As after an upgrade to 16 of a server where the role was not created with ADMIN for the operator.
    fn not_a_member(&self, owner: &RoleName, version: u32) -> Failure {
        let options = if version >= MEMBERSHIP_OPTIONS {
            "ADMIN TRUE, INHERIT TRUE, SET TRUE"
        } else {
            "ADMIN OPTION"
        };
        let message = format!(
            "role {user} on server {server} has not the rights of {owner}; an administrator can run: GRANT {owner} TO {user} WITH {options}",
            user = self.user,
            server = self.name,
        );
        Failure::blocked(Reason::AccessDenied, message)
    }
}
