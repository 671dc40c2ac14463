//! What a ledger holds and what was ever stored of it; and a clean slate, for scenarios that need servers which no operator has ever seen.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Scenario,
    baseline::{log_in, log_in_to_cache},
    document,
};

impl Scenario {
    /// The records of a tenant, by number.
    pub fn records(&self, name: &str) -> BTreeMap<String, Value> {
        let folder = format!("/ramparts/_ledger/{name}/");
        let parameters = self.stack().aws.hand().parameters(&folder).into_iter();
        parameters
            .map(|it| (it.name[folder.len()..].to_owned(), document(&it.value)))
            .collect()
    }

    /// Exactly one value was ever stored for each app: one record, never overwritten; copies that say the same, never overwritten; and
    /// it logs in at both servers.
    pub async fn one_password_ever(&self, name: &str) {
        let hand = self.stack().aws.hand();
        let parameters =
            [format!("/ramparts/_ledger/{name}/"), format!("/ramparts/{name}/")].map(|folder| hand.parameters(&folder));
        let calls = self.stack().aws.writes_since(0);
        for parameter in parameters.iter().flatten() {
            assert_eq!(parameter.version, 1, "{} was overwritten", parameter.name);
            let mut puts = calls.iter().filter(|call| call.key == parameter.name);
            assert!(
                puts.all(|call| !call.has_flag("overwrite")),
                "{} was to be overwritten",
                parameter.name
            );
        }
        let records = self.records(name);
        assert_eq!(records.len(), 1, "records {:?}", records.keys());
        let copies = self.reads(name).await;
        let issued = records["1"]["apps"].as_object().unwrap();
        assert_eq!(
            copies.keys().collect::<Vec<_>>(),
            issued.keys().collect::<Vec<_>>(),
            "every app of the record is published"
        );
        for (app, copy) in &copies {
            assert!(
                copy["database_password"] == issued[app]["login_password"],
                "{app}: the copy has another password"
            );
            assert!(
                copy.get("cache_password") == issued[app].get("cache_password"),
                "{app}: the copy has another cache password"
            );
            log_in(self.stack(), copy).await.unwrap();
            log_in_to_cache(self.stack(), copy).await.unwrap();
        }
    }

    /// The limit of each login of a tenant, as the server has it.
    pub async fn connection_limits(&self, tenant: &str) -> Vec<i32> {
        let superuser = self.stack().postgres.superuser().await.unwrap();
        let sql =
            "SELECT rolconnlimit FROM pg_authid WHERE rolcanlogin AND shobj_description(oid, 'pg_authid') LIKE $1";
        let rows = superuser.query(sql, &[&format!("%tenant={tenant} %")]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Nothing of any tenant is left outside Kubernetes, and the server was never enrolled.
    pub async fn wipe(&self) {
        let superuser = self.stack().postgres.superuser().await.unwrap();
        let databases = "SELECT quote_ident(datname) FROM pg_database WHERE datdba = to_regrole('ramparts__databases')";
        for row in superuser.query(databases, &[]).await.unwrap() {
            let drop = format!("DROP DATABASE {} WITH (FORCE)", row.get::<_, String>(0));
            superuser.batch_execute(&drop).await.unwrap();
        }
        let roles =
            "SELECT quote_ident(rolname) FROM pg_roles WHERE shobj_description(oid, 'pg_authid') LIKE 'ramparts %'";
        for row in superuser.query(roles, &[]).await.unwrap() {
            let drop = format!("DROP ROLE {}", row.get::<_, String>(0));
            superuser.batch_execute(&drop).await.unwrap();
        }
        let hand = self.stack().aws.hand();
        for parameter in hand.parameters("/") {
            hand.delete_parameter(&parameter.name);
        }
        for user in hand
            .users()
            .into_iter()
            .filter(|user| user.tags.contains_key("ramparts:tenant"))
        {
            hand.delete_user(&user.id);
        }
    }
}
