//! What a Tenant asks for, under settings that hold just the apps of the story.

use std::{collections::BTreeMap, sync::Mutex};

use ramparts_core::{
    api::{AppStatus, DeletionPolicy, PlacementPin, Rotation, Tenant, TenantSpec, TenantStatus},
    desired::{Desired, desire},
    failure::Failure,
    settings::Settings,
};

/// A Tenant and the settings it meets.
#[derive(Clone)]
pub struct Wish {
    pub tenant: Tenant,
    pub apps: Vec<String>,
    pub caches: bool,
    pub endpoint: String,
    pub extra_settings: String,
}

/// A Tenant object of that name, uid `uid-1`, with no apps yet.
pub fn tenant(name: &str) -> Wish {
    let mut tenant = Tenant::new(name, TenantSpec::default());
    tenant.metadata.uid = Some("uid-1".into());
    tenant.metadata.generation = Some(1);
    Wish {
        tenant,
        apps: Vec::new(),
        caches: true,
        endpoint: "db.example:5432".into(),
        extra_settings: String::new(),
    }
}

/// Settings are parsed once for all the passes of all the stories that share them.
static PARSED: Mutex<BTreeMap<String, Settings>> = Mutex::new(BTreeMap::new());

/// The apps that stories may speak of.
fn catalogue(app: &str, caches: bool) -> String {
    let cache = if caches { ", cache: standard" } else { "" };
    match app {
        "api" => format!("api: {{access: owner{cache}}}"),
        "worker" => format!("worker: {{access: readWrite{cache}}}"),
        "web-admin" => "web-admin: {short: webadmin, access: readWrite}".into(),
        "reporting" => "reporting: {access: readOnly}".into(),
        other => format!("{other}: {{access: readOnly}}"),
    }
}

impl Wish {
    /// The settings have this app.
    pub fn app(mut self, name: &str) -> Self {
        self.apps.push(name.into());
        self
    }

    /// No longer one of the tenant's apps.
    pub fn without_app(mut self, name: &str) -> Self {
        self.apps.retain(|app| app != name);
        self
    }

    pub fn without_caches(mut self) -> Self {
        self.caches = false;
        self
    }

    pub fn uid(mut self, uid: &str) -> Self {
        self.tenant.metadata.uid = Some(uid.into());
        self
    }

    pub fn plan(mut self, plan: &str) -> Self {
        self.tenant.spec.plan = Some(plan.into());
        self
    }

    /// `spec.apps.add`, whether the settings know the app or not.
    pub fn adding(mut self, app: &str) -> Self {
        let changes = self.tenant.spec.apps.get_or_insert_default();
        changes.add.push(app.into());
        self
    }

    pub fn suspended(mut self) -> Self {
        self.tenant.spec.suspend = Some(true);
        self
    }

    pub fn deleting_everything(mut self) -> Self {
        self.tenant.spec.deletion_policy = Some(DeletionPolicy::Delete);
        self
    }

    pub fn issued_before(mut self, time: &str) -> Self {
        self.tenant.spec.rotation = Some(Rotation {
            issued_before: Some(time.into()),
            apps: None,
        });
        self
    }

    pub fn pinned(mut self, database: Option<&str>, cache: Option<&str>) -> Self {
        self.tenant.spec.placement = Some(PlacementPin {
            database: database.map(Into::into),
            cache: cache.map(Into::into),
        });
        self
    }

    /// The settings move the database server `main`.
    pub fn endpoint(mut self, endpoint: &str) -> Self {
        self.endpoint = endpoint.into();
        self
    }

    pub fn status(mut self, status: TenantStatus) -> Self {
        self.tenant.status = Some(status);
        self
    }

    /// The status says that record 1 was issued and that the database was once ready.
    pub fn once_ready(self) -> Self {
        let apps = self.apps.iter().map(|name| AppStatus {
            name: name.clone(),
            record: Some(1),
            ..AppStatus::default()
        });
        let apps = apps.collect();
        self.status(TenantStatus {
            db_ready: true,
            apps,
            ..TenantStatus::default()
        })
    }

    pub fn settings(&self) -> Settings {
        let apps: Vec<String> = self
            .apps
            .iter()
            .map(|app| format!("  {}\n", catalogue(app, self.caches)))
            .collect();
        let apps = if apps.is_empty() {
            "  reporting: {access: readOnly, optIn: true}\n".into()
        } else {
            apps.concat()
        };
        let caches = if self.caches {
            "caches:\n  main: {endpoint: 'cache.example:6379', elasticache: {userGroup: prod}}\n"
        } else {
            ""
        };
        let text = format!(
            "installation: prod
defaultPlan: standard
apps:
{apps}plans:
  standard: {{connections: 20, statementTimeout: 30s, settings: {{work_mem: 16MB}}}}
  large: {{connections: 80, statementTimeout: 30s, settings: {{temp_file_limit: 1GB}}}}
databases:
  main: {{endpoint: '{}', admin: {{user: ramparts, password: {{env: PASSWORD}}}}}}
  second: {{endpoint: 'second.example:5432', admin: {{user: ramparts, password: {{env: PASSWORD}}}}}}
{caches}credentials: {{store: ssm, prefix: /ramparts}}
{}",
            self.endpoint, self.extra_settings
        );
        let mut parsed = PARSED.lock().unwrap();
        let fresh = || Settings::parse(&text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
        parsed.entry(text.clone()).or_insert_with(fresh).clone()
    }

    pub fn desire(&self) -> Result<Desired, Failure> {
        desire(&self.tenant, &self.settings())
    }

    pub fn desired(&self) -> Desired {
        self.desire().unwrap()
    }
}
