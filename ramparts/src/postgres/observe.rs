//! Looking at one tenant's part of a server. A look is worth something only on the server that it is about: enrolled by this
//! installation under the id that the store has, and not a replica.

use std::{collections::BTreeMap, sync::Arc};

use ramparts_core::{
    enrolment::ServerSide,
    failure::Failure,
    name::{Access, RoleName, TenantName},
    observed::{DatabaseSeen, DatabaseView, LoginSeen, Presence},
    reason::Reason,
};

use super::{
    Inner, Server, TenantLock,
    catalog::{Catalog, DatabaseRow, RoleRow},
    enrol,
    guard::{Whose, shown},
    session::{Deed, Session},
};

impl Server {
    /// Everything that bears this tenant's mark, and whatever stands under the names asked for. Under the lock it is read on the
    /// lock's own session.
    pub async fn observe(
        &self,
        lock: Option<&mut TenantLock>,
        id: &str,
        tenant: &TenantName,
        wanted: &[RoleName],
    ) -> Result<DatabaseView, Failure> {
        let inner = &self.0;
        let whose = Whose {
            installation: &inner.installation,
            tenant,
        };
        let catalog = match lock {
            Some(lock) => inner.look(lock.session(), whose, wanted).await?,
            None => inner.look_anywhere(whose, wanted).await?,
        };
        inner.is_the_one(&catalog, id)?;
        inner.points_out_powers(whose, &catalog);
        view(whose, &catalog)
    }
}

impl Inner {
    /// On the kept session or, if there is none or it turns out to be dead, on a new one.
    async fn look_anywhere(self: &Arc<Self>, whose: Whose<'_>, wanted: &[RoleName]) -> Result<Catalog, Failure> {
        if let Some(mut kept) = self.kept() {
            let seen = self.look(&mut kept, whose, wanted).await;
            if !kept.is_lost() {
                self.keep(kept);
                return seen;
            }
        }
        let mut session = self.workplace().await?;
        let seen = self.look(&mut session, whose, wanted).await;
        self.keep(session);
        seen
    }

    async fn look(&self, session: &mut Session, whose: Whose<'_>, wanted: &[RoleName]) -> Result<Catalog, Failure> {
        let doing = format!("looking at tenant {} on server {}", whose.tenant, self.name);
        let deed = Deed {
            operation: "observe",
            target: whose.tenant.as_str(),
            doing: &doing,
        };
        session.catalog(deed, whose, wanted).await
    }

    /// What another's hand added to a role of ours is not ours to take away, but somebody should know.
    fn points_out_powers(&self, whose: Whose<'_>, catalog: &Catalog) {
        let ours = |role: &&RoleRow| matches!(whose.read(role.comment.as_deref()), Presence::Ours(_));
        for role in catalog.roles.iter().filter(|role| !role.powers.is_empty()).filter(ours) {
            tracing::warn!(
                server = %self.name,
                tenant = %whose.tenant,
                role = role.name,
                attributes = role.powers,
                "a role of this tenant has attributes that it was not made with; they are left as they are"
            );
        }
    }

    fn is_the_one(&self, catalog: &Catalog, id: &str) -> Result<(), Failure> {
        if catalog.recovery {
            let message = format!(
                "server {} is a replica, or in the middle of a failover: nothing rests on it",
                self.name
            );
            return Err(Failure::transient(Reason::DatabaseUnreachable, message));
        }
        let found = match enrol::side(&self.installation, catalog.enrolment.as_deref()) {
            ServerSide::Enrolled(found) if found == id => return Ok(()),
            ServerSide::Enrolled(found) => format!("it is enrolled as {found}"),
            ServerSide::Enrolling(found) => format!("its enrolment as {found} is unfinished"),
            ServerSide::Foreign(what) => what,
            ServerSide::Absent => "it was never enrolled".to_owned(),
        };
        let message = format!(
            "server {} is not the one that the store knows as {id}: {found}",
            self.name
        );
        Err(Failure::blocked(Reason::NotEnrolled, message))
    }
}

fn view(whose: Whose<'_>, catalog: &Catalog) -> Result<DatabaseView, Failure> {
    let mut roles: BTreeMap<&str, &RoleRow> = catalog.roles.iter().map(|role| (role.name.as_str(), role)).collect();
    let groups = Access::ALL.map(|access| {
        let found = roles.remove(RoleName::group(whose.tenant, access).as_str());
        (access, found.map_or(Presence::Absent, |role| group(whose, role)))
    });
    let logins: Result<_, Failure> = roles
        .into_values()
        .map(|role| Ok((name(&role.name)?, login(whose, role)?)))
        .collect();
    Ok(DatabaseView {
        database: catalog
            .database
            .as_ref()
            .map_or(Presence::Absent, |row| database(whose, row)),
        groups: groups.into(),
        logins: logins?,
    })
}

fn name(text: &str) -> Result<RoleName, Failure> {
    RoleName::parse(text).map_err(|error| Failure::defect(format!("the catalog names a role that cannot be: {error}")))
}

fn database(whose: Whose<'_>, row: &DatabaseRow) -> Presence<DatabaseSeen> {
    let owner = row.owner.as_deref().unwrap_or("nobody");
    if owner != RoleName::databases_owner().as_str() {
        return Presence::Foreign(format!("it belongs to {}", shown(owner)));
    }
    let sealed = row.open && row.public.is_empty() && row.shut_out.is_empty();
    if row.comment.is_none() {
        return Presence::Ours(DatabaseSeen { mark: None, sealed });
    }
    match whose.read(row.comment.as_deref()) {
        Presence::Ours(mark) => Presence::Ours(DatabaseSeen {
            mark: Some(mark),
            sealed,
        }),
        Presence::Foreign(what) => Presence::Foreign(what),
        Presence::Unknown(failure) => Presence::Unknown(failure),
        Presence::Absent => Presence::Absent,
    }
}

fn group(whose: Whose<'_>, row: &RoleRow) -> Presence<()> {
    match whose.read(row.comment.as_deref()) {
        Presence::Ours(mark) if mark.app.is_some() => Presence::Foreign(format!("it bears the mark {mark}")),
        Presence::Ours(_) => Presence::Ours(()),
        Presence::Foreign(what) => Presence::Foreign(what),
        Presence::Unknown(failure) => Presence::Unknown(failure),
        Presence::Absent => Presence::Absent,
    }
}

fn login(whose: Whose<'_>, row: &RoleRow) -> Result<Presence<LoginSeen>, Failure> {
    let mark = match whose.read(row.comment.as_deref()) {
        Presence::Ours(mark) => mark,
        Presence::Foreign(what) => return Ok(Presence::Foreign(what)),
        Presence::Unknown(failure) => return Ok(Presence::Unknown(failure)),
        Presence::Absent => return Ok(Presence::Absent),
    };
    let member_of: Result<_, Failure> = row.member_of.iter().map(|role| name(role)).collect();
    Ok(Presence::Ours(LoginSeen {
        mark,
        oid: row.oid,
        can_login: row.can_login,
        expired: row.expired,
        connections: row.connections,
        settings: row
            .settings
            .iter()
            .flatten()
            .filter_map(|setting| pair(setting))
            .collect(),
        member_of: member_of?,
    }))
}

/// A value may have `=` in it, a name has none. PostgreSQL keeps a few names in mixed case and takes them in any.
fn pair(setting: &str) -> Option<(String, String)> {
    let (name, value) = setting.split_once('=')?;
    Some((name.to_ascii_lowercase(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_ends_its_name_at_the_first_equals_sign() {
        let pair = |text| pair(text).unwrap();
        assert_eq!(pair("work_mem=16MB"), ("work_mem".into(), "16MB".into()));
        assert_eq!(pair("app.filter=a=b=c"), ("app.filter".into(), "a=b=c".into()));
        assert_eq!(pair("DateStyle=ISO, DMY"), ("datestyle".into(), "ISO, DMY".into()));
        assert_eq!(pair("app.empty="), ("app.empty".into(), String::new()));
    }
}
