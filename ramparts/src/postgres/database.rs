//! A tenant's groups and its database. The database belongs to a role of which no tenant is a member, so that no tenant can drop it,
//! open it to others or change its mark; what a tenant's owner group has, it has by grant. It accepts no connection before it is closed
//! to PUBLIC, so that no stranger's session is older than that.

use ramparts_core::{
    failure::Failure,
    mark::Mark,
    name::{Access, DatabaseName, RecordNo, RoleName, TenantName},
    quote::{identifier, literal},
};

use super::{
    MEMBERSHIP_OPTIONS, TenantLock,
    guard::{Closed, Guard},
    session::{Deed, Session},
};

/// From template0, since a session of anybody in template1 would refuse it, and since nobody has put anything into it.
pub(super) fn creates(database: &str) -> String {
    format!(
        "CREATE DATABASE {} OWNER {} TEMPLATE template0 ALLOW_CONNECTIONS false",
        identifier(database),
        identifier(RoleName::databases_owner().as_str())
    )
}

impl Session {
    /// A new role with its mark. Before 16, CREATEROLE alone is enough to administer it, but an upgrade takes that away from all but
    /// those who have ADMIN: so it is given at once. From 16 on the creator has ADMIN; what the server might add to that by
    /// `createrole_self_grant` is turned off, so that every further right of ours is one that we gave ourselves.
    pub(super) fn creates_role(&self, role: &RoleName, options: &str, mark: &str) -> String {
        let (role, mark) = (identifier(role.as_str()), literal(mark));
        if self.version >= MEMBERSHIP_OPTIONS {
            format!(
                "SET LOCAL createrole_self_grant = ''; CREATE ROLE {role} {options}; COMMENT ON ROLE {role} IS {mark};\n"
            )
        } else {
            format!("CREATE ROLE {role} {options} ADMIN CURRENT_USER; COMMENT ON ROLE {role} IS {mark};\n")
        }
    }

    /// The operator's own membership, where it must act with the role's rights. Before 16 ADMIN has made it a member already.
    pub(super) fn joins_us_to(&self, role: &RoleName) -> String {
        if self.version >= MEMBERSHIP_OPTIONS {
            format!(
                "GRANT {} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE;\n",
                identifier(role.as_str())
            )
        } else {
            String::new()
        }
    }
}

impl TenantLock {
    /// The tenant's groups that are missing: NOLOGIN, marked, all or none. The operator becomes a member of the owner group alone: it
    /// sets default privileges in its name.
    pub async fn create_groups(
        &mut self,
        tenant: &TenantName,
        groups: &[(Access, RoleName)],
        record: RecordNo,
    ) -> Result<(), Failure> {
        self.is_for(tenant)?;
        let mark = self.mark(record, None).to_string();
        let mut sql = String::new();
        for (access, role) in groups {
            sql += &self.session.creates_role(role, "NOLOGIN", &mark);
            if *access == Access::Owner {
                sql += &self.session.joins_us_to(role);
            }
        }
        let doing = format!("creating the groups of tenant {tenant} on server {}", self.server.name);
        let deed = Deed {
            operation: "create-groups",
            target: tenant.as_str(),
            doing: &doing,
        };
        self.session.transact(deed, &[], &sql).await
    }

    /// An empty database that refuses connections. It is ours from the instant it exists, by its owner.
    pub async fn create_database(&mut self, database: &DatabaseName) -> Result<(), Failure> {
        let doing = format!("creating database {database} on server {}", self.server.name);
        let deed = Deed {
            operation: "create-database",
            target: database.as_str(),
            doing: &doing,
        };
        self.session.run(deed, &creates(database.as_str())).await
    }

    /// Shuts PUBLIC out, lets the groups in, marks it, and only then lets it accept connections; all in one transaction, which ends
    /// with a look at whether it worked.
    pub async fn seal_database(
        &mut self,
        tenant: &TenantName,
        database: &DatabaseName,
        record: RecordNo,
        layout: Option<u32>,
    ) -> Result<(), Failure> {
        self.is_for(tenant)?;
        let sql = seals(tenant, database, &self.mark(record, layout));
        let doing = format!("closing database {database} on server {} to others", self.server.name);
        let deed = Deed {
            operation: "seal-database",
            target: database.as_str(),
            doing: &doing,
        };
        let groups = Access::ALL.map(|access| RoleName::group(tenant, access));
        let mut guards = vec![Guard::Database(self.server.whose(tenant), database)];
        guards.extend(
            groups
                .iter()
                .map(|group| Guard::Group(self.server.whose(tenant), group)),
        );
        let closed = Closed {
            database,
            groups: &groups,
        };
        self.session.transact_until(deed, &guards, &sql, Some(closed)).await
    }

    /// Schema, default privileges and what a new group missed, from a second session, inside the database. What it did is in the database's mark.
    pub async fn prepare_database(
        &mut self,
        tenant: &TenantName,
        database: &DatabaseName,
        record: RecordNo,
        layout: u32,
    ) -> Result<(), Failure> {
        self.is_for(tenant)?;
        let doing = format!(
            "setting privileges inside database {database} on server {}",
            self.server.name
        );
        let deed = Deed {
            operation: "prepare-database",
            target: database.as_str(),
            doing: &doing,
        };
        let mut inside = self.server.open(database.as_str()).await?;
        // The lock's session must answer after the other one was opened: a lock that was lost by now has lost its say.
        self.session
            .rows(
                Deed {
                    operation: "check-lock",
                    ..deed
                },
                "SELECT 1",
                &[],
            )
            .await?;
        let sql = prepares(tenant, database, &self.mark(record, Some(layout)));
        let groups = Access::ALL.map(|access| RoleName::group(tenant, access));
        let mut guards = vec![Guard::Database(self.whose(), database)];
        guards.extend(groups.iter().map(|group| Guard::Group(self.whose(), group)));
        inside.transact(deed, &guards, &sql).await
    }

    fn mark(&self, record: RecordNo, layout: Option<u32>) -> Mark {
        Mark {
            installation: self.server.installation.clone(),
            tenant: self.tenant.clone(),
            app: None,
            record,
            layout,
        }
    }
}

struct Groups {
    owner: String,
    read_write: String,
    read_only: String,
}

impl Groups {
    fn of(tenant: &TenantName) -> Self {
        let group = |access| identifier(RoleName::group(tenant, access).as_str());
        Self {
            owner: group(Access::Owner),
            read_write: group(Access::ReadWrite),
            read_only: group(Access::ReadOnly),
        }
    }
}

/// Temporary tables are for all three: PUBLIC would have them, and what reports are made with relies on them.
fn seals(tenant: &TenantName, database: &DatabaseName, mark: &Mark) -> String {
    let (database, mark) = (identifier(database.as_str()), literal(&mark.to_string()));
    let Groups {
        owner,
        read_write,
        read_only,
    } = Groups::of(tenant);
    format!(
        "REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT, CREATE, TEMPORARY ON DATABASE {database} TO {owner};
GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {read_write}, {read_only};
COMMENT ON DATABASE {database} IS {mark};
ALTER DATABASE {database} ALLOW_CONNECTIONS true"
    )
}

/// A group that has nothing in this database yet gets what it would have had by default privileges, had it been there when each thing
/// of the owner group's was made; `{…}` are literals. That is a group that was dropped and made again: a role that still has anything
/// cannot be dropped. One that has something is left as it is, since the owner may have taken from it what it lacks. It comes before
/// whatever else gives the groups something. A thing that is dropped at the same moment needs no grant.
const CATCHES_UP: &str = "DO $ramparts$
DECLARE
    fresh record;
    given text;
BEGIN
    FOR fresh IN
        SELECT rolname, tables, sequences, (SELECT oid FROM pg_roles WHERE rolname = {owner}) AS owner
        FROM pg_roles JOIN (VALUES
            ({read_write}, 'SELECT, INSERT, UPDATE, DELETE', 'USAGE, SELECT, UPDATE'),
            ({read_only}, 'SELECT', 'SELECT')) AS rights (name, tables, sequences) ON rolname = name
        WHERE NOT EXISTS (SELECT FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = pg_roles.oid
            AND deptype = 'a' AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()))
    LOOP
        FOR given IN
            WITH place AS (
                SELECT oid, nspname, nspowner FROM pg_namespace
                WHERE NOT starts_with(nspname, 'pg_') AND has_schema_privilege(oid, 'USAGE')
            )
            SELECT format('USAGE ON SCHEMA %I', nspname) FROM place WHERE nspowner = fresh.owner
            UNION ALL
            SELECT format('%s ON TABLE %I.%I', fresh.tables, nspname, relname) FROM pg_class JOIN place ON place.oid = relnamespace
            WHERE relowner = fresh.owner AND relkind IN ('r', 'p', 'v', 'm', 'f')
            UNION ALL
            SELECT format('%s ON SEQUENCE %I.%I', fresh.sequences, nspname, relname) FROM pg_class JOIN place ON place.oid = relnamespace
            WHERE relowner = fresh.owner AND relkind = 'S'
            UNION ALL
            SELECT CASE prokind
                WHEN 'p' THEN format('EXECUTE ON PROCEDURE %I.%I(%s)', nspname, proname, pg_get_function_identity_arguments(pg_proc.oid))
                ELSE format('EXECUTE ON FUNCTION %s', pg_proc.oid::regprocedure) END
            FROM pg_proc JOIN place ON place.oid = pronamespace WHERE proowner = fresh.owner
        LOOP
            BEGIN
                EXECUTE format('GRANT %s TO %I', given, fresh.rolname);
            EXCEPTION WHEN undefined_table OR undefined_function OR undefined_object OR invalid_schema_name THEN
                NULL;
            END;
        END LOOP;
    END LOOP;
END $ramparts$;
";

fn catches_up(tenant: &TenantName) -> String {
    let group = |access| literal(RoleName::group(tenant, access).as_str());
    CATCHES_UP
        .replace("{owner}", &group(Access::Owner))
        .replace("{read_write}", &group(Access::ReadWrite))
        .replace("{read_only}", &group(Access::ReadOnly))
}

/// Default privileges hold for what the owner group creates, in whichever schema: an owner login always acts as its group. None is
/// limited to a schema, because only one that is not can take from PUBLIC what PUBLIC has everywhere, the right to run routines.
/// - `readWrite` changes rows and not tables: no TRUNCATE, no TRIGGER, no REFERENCES.
/// - `readOnly` runs routines too: views and defaults call them, and they run with the caller's rights, unless the owner says otherwise.
/// - Types stay as they are: that PUBLIC may name one shows nobody a row.
fn prepares(tenant: &TenantName, database: &DatabaseName, mark: &Mark) -> String {
    let (database, mark) = (identifier(database.as_str()), literal(&mark.to_string()));
    let Groups {
        owner,
        read_write,
        read_only,
    } = Groups::of(tenant);
    let defaults = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {owner}");
    let catches_up = catches_up(tenant);
    format!(
        "{catches_up}REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO {owner};
GRANT USAGE ON SCHEMA public TO {read_write}, {read_only};
{defaults} GRANT USAGE ON SCHEMAS TO {read_write}, {read_only};
{defaults} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {read_write};
{defaults} GRANT SELECT ON TABLES TO {read_only};
{defaults} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO {read_write};
{defaults} GRANT SELECT ON SEQUENCES TO {read_only};
{defaults} REVOKE EXECUTE ON ROUTINES FROM PUBLIC;
{defaults} GRANT EXECUTE ON ROUTINES TO {read_write}, {read_only};
COMMENT ON DATABASE {database} IS {mark}"
    )
}
