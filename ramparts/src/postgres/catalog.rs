//! The catalog query about one tenant: everything in one round trip and one snapshot, as one JSON document, so that no value's spelling
//! depends on a driver. It reads what any role may read: `pg_authid` and its verifiers are not among it.

use ramparts_core::{
    failure::Failure,
    mark::Mark,
    name::{Access, DatabaseName, RecordNo, RoleName},
};
use serde::Deserialize;
use tokio_postgres::types::Type;

use super::{
    MEMBERSHIP_OPTIONS,
    guard::Whose,
    session::{Deed, Parameter, Session},
};

/// What the server said.
#[derive(Debug, Deserialize)]
pub(super) struct Catalog {
    pub recovery: bool,
    /// The comment on the role that owns the databases; none if the role is not there.
    pub enrolment: Option<String>,
    pub database: Option<DatabaseRow>,
    pub roles: Vec<RoleRow>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DatabaseRow {
    pub owner: Option<String>,
    pub comment: Option<String>,
    /// It accepts connections.
    pub open: bool,
    /// What PUBLIC may do in it.
    pub public: Vec<String>,
    /// Groups of the tenant that are missing or may not connect.
    pub shut_out: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RoleRow {
    pub name: String,
    pub oid: u32,
    pub comment: Option<String>,
    pub can_login: bool,
    pub connections: i32,
    pub expired: bool,
    /// `name=value`, in the tenant's database.
    pub settings: Option<Vec<String>>,
    pub member_of: Vec<String>,
    /// Attributes that no role of ours is made with.
    pub powers: String,
}

/// `$1` the database, `$2` the roles asked for, `$3` the groups, `$4` how a mark of this tenant begins, `$5` the owner of databases.
/// A NULL access list stands for the defaults, in which PUBLIC may connect. `{usable}` decides which memberships count.
const QUERY: &str = "
WITH base AS (
    SELECT oid, datdba, datallowconn, coalesce(datacl, acldefault('d', datdba)) AS acl FROM pg_database WHERE datname = $1
), role AS (
    SELECT * FROM pg_roles
    WHERE rolname = ANY ($2) OR rolname = ANY ($3)
       OR oid IN (SELECT objoid FROM pg_shdescription WHERE classoid = 'pg_authid'::regclass AND starts_with(description, $4))
)
SELECT json_build_object(
    'recovery', pg_is_in_recovery(),
    'enrolment', (SELECT coalesce(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE rolname = $5),
    'database', (SELECT json_build_object(
        'owner', (SELECT rolname FROM pg_roles WHERE oid = base.datdba),
        'comment', shobj_description(base.oid, 'pg_database'),
        'open', base.datallowconn,
        'public', (SELECT coalesce(json_agg(privilege_type), '[]') FROM aclexplode(base.acl) WHERE grantee = 0),
        'shut_out', (SELECT coalesce(json_agg(wanted), '[]') FROM unnest($3) AS wanted WHERE NOT EXISTS (
            SELECT FROM pg_roles WHERE rolname = wanted AND has_database_privilege(oid, base.oid, 'CONNECT')))
    ) FROM base),
    'roles', (SELECT coalesce(json_agg(json_build_object(
        'name', role.rolname,
        'oid', role.oid::bigint,
        'comment', shobj_description(role.oid, 'pg_authid'),
        'can_login', role.rolcanlogin,
        'connections', role.rolconnlimit,
        'expired', coalesce(role.rolvaliduntil < now(), false),
        'powers', concat_ws(', ', CASE WHEN role.rolsuper THEN 'SUPERUSER' END, CASE WHEN role.rolcreaterole THEN 'CREATEROLE' END,
            CASE WHEN role.rolcreatedb THEN 'CREATEDB' END, CASE WHEN role.rolreplication THEN 'REPLICATION' END,
            CASE WHEN role.rolbypassrls THEN 'BYPASSRLS' END),
        'settings', (SELECT to_json(setconfig) FROM pg_db_role_setting
            WHERE setrole = role.oid AND setdatabase = (SELECT oid FROM base)),
        'member_of', (SELECT coalesce(json_agg(DISTINCT held.rolname::text), '[]')
            FROM pg_auth_members AS edge JOIN pg_roles AS held ON held.oid = edge.roleid
            WHERE edge.member = role.oid AND {usable})
    )), '[]') FROM role)
)::text";

/// A membership that is there but gives nothing is none: the role must be inherited and, where that can be said, be assumable.
fn query(version: u32) -> String {
    let usable = if version >= MEMBERSHIP_OPTIONS {
        "pg_has_role(role.oid, held.oid, 'USAGE') AND pg_has_role(role.oid, held.oid, 'SET')"
    } else {
        "pg_has_role(role.oid, held.oid, 'USAGE')"
    };
    QUERY.replace("{usable}", usable)
}

/// How every mark of this tenant begins, whatever its app and record.
fn mark_begins(whose: Whose<'_>) -> String {
    let (installation, tenant) = (whose.installation.clone(), whose.tenant.clone());
    let mark = Mark {
        installation,
        tenant,
        app: None,
        record: RecordNo::FIRST,
        layout: None,
    }
    .to_string();
    mark.strip_suffix("record=1").unwrap_or(&mark).to_owned()
}

impl Session {
    pub(super) async fn catalog(
        &mut self,
        deed: Deed<'_>,
        whose: Whose<'_>,
        wanted: &[RoleName],
    ) -> Result<Catalog, Failure> {
        let database = DatabaseName::of(whose.tenant);
        let wanted: Vec<&str> = wanted.iter().map(RoleName::as_str).collect();
        let groups = Access::ALL.map(|access| RoleName::group(whose.tenant, access));
        let groups: Vec<&str> = groups.iter().map(RoleName::as_str).collect();
        let (begins, owner) = (mark_begins(whose), RoleName::databases_owner());
        let (database, owner) = (database.as_str(), owner.as_str());
        let parameters: [Parameter<'_>; 5] = [
            (&database, Type::NAME),
            (&wanted, Type::NAME_ARRAY),
            (&groups, Type::NAME_ARRAY),
            (&begins, Type::TEXT),
            (&owner, Type::NAME),
        ];
        let rows = self.rows(deed, &query(self.version), &parameters).await?;
        let text: Option<&str> = rows.first().map(|row| row.get(0));
        serde_json::from_str(text.unwrap_or_default())
            .map_err(|error| Failure::defect(format!("{}: the answer makes no sense: {error}", deed.doing)))
    }
}

#[cfg(test)]
mod tests {
    use ramparts_core::name::{Installation, TenantName};

    use super::*;

    #[test]
    fn a_mark_begins_with_its_tenant_and_a_space() {
        let installation = Installation::parse("prod").unwrap();
        let tenant = TenantName::parse("acme").unwrap();
        let begins = mark_begins(Whose {
            installation: &installation,
            tenant: &tenant,
        });
        assert_eq!(begins, "ramparts v1 installation=prod tenant=acme ");
    }
}
