//! An app's login. It appears with its password's verifier, its membership, the group that it acts as and its mark, or not at all; after
//! that its password is never named again.

use ramparts_core::{
    failure::Failure,
    mark::Mark,
    name::{Access, AppName, DatabaseName, RecordNo, RoleName, TenantName},
    quote::{identifier, literal},
    secret::Secret,
    step::LoginChanges,
};

use super::{
    MEMBERSHIP_OPTIONS, TenantLock,
    guard::Guard,
    session::{Deed, Session},
};

impl Session {
    /// On a server where a membership has options they are all stated: the member's own attributes decide nothing.
    fn joins(&self, login: &RoleName, group: &RoleName) -> String {
        let options = if self.version >= MEMBERSHIP_OPTIONS {
            " WITH INHERIT TRUE, SET TRUE"
        } else {
            ""
        };
        format!(
            "GRANT {} TO {}{options};\n",
            identifier(group.as_str()),
            identifier(login.as_str())
        )
    }

    /// Before 16 it is the member's own attribute that says whether any membership of its gives it something; a role that inherits
    /// nothing would be a member for ever without having anything from it.
    fn inherits(&self, login: &RoleName) -> String {
        if self.version >= MEMBERSHIP_OPTIONS {
            String::new()
        } else {
            format!("ALTER ROLE {} INHERIT;\n", identifier(login.as_str()))
        }
    }
}

impl TenantLock {
    /// A login for an app. The server hears a SCRAM verifier made here, so that no log of its own can hold the password.
    pub async fn create_login(
        &mut self,
        tenant: &TenantName,
        app: &AppName,
        record: RecordNo,
        login: &RoleName,
        access: Access,
        password: &Secret,
    ) -> Result<(), Failure> {
        self.is_for(tenant)?;
        let (database, group) = (DatabaseName::of(tenant), RoleName::group(tenant, access));
        let mark = Mark {
            installation: self.server.installation.clone(),
            tenant: tenant.clone(),
            app: Some(app.clone()),
            record,
            layout: None,
        };
        let verifier = postgres_protocol::password::scram_sha_256(password.expose().as_bytes());
        let options = format!("LOGIN INHERIT PASSWORD {}", literal(&verifier));
        let mut sql = self.session.creates_role(login, &options, &mark.to_string());
        sql += &self.session.joins(login, &group);
        if access == Access::Owner {
            // What an owner creates must belong to the group, or the next owner login could not alter it.
            sql += &sets(&database, login, "role", group.as_str());
        }
        let doing = format!("creating login {login} on server {}", self.server.name);
        let deed = Deed {
            operation: "create-login",
            target: login.as_str(),
            doing: &doing,
        };
        let whose = self.server.whose(tenant);
        let guards = [Guard::Group(whose, &group), Guard::Database(whose, &database)];
        self.session.transact(deed, &guards, &sql).await
    }

    /// Brings a login to what the plan says. Only what differs is named.
    pub async fn configure_login(
        &mut self,
        database: &DatabaseName,
        login: &RoleName,
        changes: &LoginChanges,
    ) -> Result<(), Failure> {
        let mut sql = Vec::new();
        if let Some(connections) = changes.connections {
            sql.push(format!(
                "ALTER ROLE {} CONNECTION LIMIT {connections};\n",
                identifier(login.as_str())
            ));
        }
        sql.extend(
            changes
                .set
                .iter()
                .map(|(name, value)| sets(database, login, name, value)),
        );
        let settings = settings_of(database, login);
        sql.extend(
            changes
                .reset
                .iter()
                .map(|name| format!("{settings} RESET {};\n", parameter(name))),
        );
        if let Some(group) = &changes.join {
            sql.push(self.session.inherits(login));
            sql.push(self.session.joins(login, group));
        }
        let doing = format!("configuring login {login} on server {}", self.server.name);
        let deed = Deed {
            operation: "configure-login",
            target: login.as_str(),
            doing: &doing,
        };
        let whose = self.server.whose(&self.tenant);
        let mut guards = vec![Guard::Login(whose, login), Guard::Database(whose, database)];
        guards.extend(changes.join.iter().map(|group| Guard::Group(whose, group)));
        self.session.transact(deed, &guards, &sql.concat()).await
    }
}

fn settings_of(database: &DatabaseName, login: &RoleName) -> String {
    format!(
        "ALTER ROLE {} IN DATABASE {}",
        identifier(login.as_str()),
        identifier(database.as_str())
    )
}

fn sets(database: &DatabaseName, login: &RoleName, name: &str, value: &str) -> String {
    format!(
        "{} SET {} = {};\n",
        settings_of(database, login),
        parameter(name),
        literal(value)
    )
}

/// `work_mem`, `app.tenant`: the dot of a custom setting stands outside the quotes.
fn parameter(name: &str) -> String {
    name.split('.').map(identifier).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_settings_name_is_quoted() {
        assert_eq!(parameter("work_mem"), r#""work_mem""#);
        assert_eq!(parameter("app.tenant"), r#""app"."tenant""#);
        assert_eq!(parameter(r#"a"; DROP"#), r#""a""; DROP""#);
    }
}
