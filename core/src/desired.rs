//! `desire`: from the resource and the settings to what should be, every name parsed once; or a refusal that names the rule.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    acl::CacheProfile,
    api::{Condition, DeletionPolicy, Tenant, TenantSpec, TenantStatus},
    failure::Failure,
    ledger::{CredentialNames, Placement},
    name::{
        Access, AppName, CacheUser, DatabaseName, Installation, NameError, NameErrorKind, PlanName, RecordNo, RoleName,
        Short, StorePrefix, TargetName, TenantName,
    },
    observed::StoreView,
    reason::Reason,
    settings::{Endpoint, Settings, Tier, guc},
};

/// What a tenant should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// The installation that does it.
    pub installation: Installation,
    /// The tenant's name.
    pub tenant: TenantName,
    /// The object that asks.
    pub uid: String,
    /// The generation of it that was read.
    pub generation: i64,
    /// The plan that is asked for, and what it allows every login; none if the settings do not know it: then the limits in force stay.
    pub plan: Option<(PlanName, Limits)>,
    /// The apps that should have a credential.
    pub apps: BTreeMap<AppName, DesiredApp>,
    /// A placement that the manifest pins.
    pub pin: Pin,
    /// Where the status says that it lives: a hint where to look first, nothing more.
    pub hint: Option<Placement>,
    /// The status says that the database was once ready: enough to refuse, never enough to act.
    pub once_ready: bool,
    /// Observe and report only.
    pub suspend: bool,
    /// What the manifest asks and the settings do not know. A tenant that is there is looked after all the same; a new one waits.
    pub complaints: Vec<Failure>,
    /// What the manifest asks that this version does not do.
    pub unsupported: Vec<&'static str>,
    /// Where records and copies are kept.
    pub prefix: StorePrefix,
    /// How large a record may be.
    pub tier: Tier,
    /// The database servers that the settings name.
    pub databases: BTreeMap<TargetName, Endpoint>,
    /// The caches that the settings name.
    pub caches: BTreeMap<TargetName, Endpoint>,
}

/// An app that should have a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredApp {
    /// The short name, used in roles and users.
    pub short: Short,
    /// What it may do in the database.
    pub access: Access,
    /// Its cache profile, if it uses the cache.
    pub cache: Option<CacheProfile>,
}

/// What a plan sets on every login of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CONNECTION LIMIT.
    pub connections: i32,
    /// Role settings in the tenant's database.
    pub settings: BTreeMap<String, String>,
    /// Every key that some plan sets: those are ours to reset, others are not.
    pub ours: BTreeSet<String>,
}

/// What the manifest pins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// The database server.
    pub database: Option<TargetName>,
    /// The cache.
    pub cache: Option<TargetName>,
}

/// What should be, for this resource under these settings.
pub fn desire(tenant: &Tenant, settings: &Settings) -> Result<Desired, Failure> {
    let name =
        TenantName::parse(tenant.metadata.name.as_deref().unwrap_or_default()).map_err(|error| refusal(&error))?;
    let spec = &tenant.spec;
    let mut complaints = Vec::new();
    let plan = limits(spec, settings).map_err(|failure| complaints.push(failure)).ok();
    let apps = apps(&name, spec, settings, &mut complaints)?;
    let status = tenant.status.as_ref();
    Ok(Desired {
        installation: settings.installation.clone(),
        uid: tenant.metadata.uid.clone().unwrap_or_default(),
        generation: tenant.metadata.generation.unwrap_or_default(),
        plan,
        apps,
        complaints,
        pin: pin(spec, settings)?,
        hint: status
            .and_then(|status| status.placement.as_ref())
            .and_then(|placement| {
                Some(Placement {
                    database: TargetName::parse(&placement.database).ok()?,
                    cache: placement
                        .cache
                        .as_deref()
                        .and_then(|cache| TargetName::parse(cache).ok()),
                })
            }),
        once_ready: status.is_some_and(remembers_a_database),
        suspend: spec.suspend.unwrap_or(false),
        unsupported: unsupported(spec),
        prefix: settings.credentials.prefix.clone(),
        tier: settings.credentials.tier,
        databases: settings
            .databases
            .iter()
            .map(|(name, it)| (name.clone(), it.endpoint.clone()))
            .collect(),
        caches: settings
            .caches
            .iter()
            .map(|(name, it)| (name.clone(), it.endpoint.clone()))
            .collect(),
        tenant: name,
    })
}

/// Whether a status knows of a database. A flag comes and goes: the version of a copy stays until there is a copy again, and a database
/// that was reported lost stays lost until it is there again.
fn remembers_a_database(status: &TenantStatus) -> bool {
    let lost = |condition: &Condition| condition.reason == Reason::DatabaseLost.as_str();
    let issued = status.apps.iter().any(|app| app.record.is_some());
    (status.db_ready && issued)
        || status.apps.iter().any(|app| app.version.is_some())
        || status.conditions.iter().any(lost)
}

/// A broken name, in the words of the vocabulary.
pub fn refusal(error: &NameError) -> Failure {
    let reason = match error.kind() {
        NameErrorKind::Invalid => Reason::InvalidName,
        NameErrorKind::TooLong => Reason::NameTooLong,
        NameErrorKind::Reserved => Reason::ReservedName,
    };
    Failure::refused(reason, error.to_string())
}

fn unsupported(spec: &TenantSpec) -> Vec<&'static str> {
    let delete = matches!(spec.deletion_policy, Some(DeletionPolicy::Delete));
    let rotation = spec.rotation.as_ref().is_some_and(|rotation| {
        rotation.issued_before.is_some() || rotation.apps.as_ref().is_some_and(|apps| !apps.is_empty())
    });
    [
        (
            delete,
            "deletionPolicy Delete is not carried out by this version: deleting this Tenant keeps everything",
        ),
        (
            rotation,
            "rotation is not carried out by this version: credentials stay as they are",
        ),
    ]
    .into_iter()
    .filter_map(|(asked, answer)| asked.then_some(answer))
    .collect()
}

fn limits(spec: &TenantSpec, settings: &Settings) -> Result<(PlanName, Limits), Failure> {
    let unknown = |name: &str| {
        let known: Vec<_> = settings.plans.keys().map(PlanName::as_str).collect();
        Failure::refused(
            Reason::UnknownPlan,
            format!(
                "plan {name:?} is not in the settings (they have {}); the plan in force stays",
                known.join(", ")
            ),
        )
    };
    let name = match &spec.plan {
        None => settings.default_plan.clone(),
        Some(name) => PlanName::parse(name).map_err(|_| unknown(name))?,
    };
    let plan = settings.plans.get(&name).ok_or_else(|| unknown(name.as_str()))?;
    let named = settings
        .plans
        .values()
        .flat_map(|plan| plan.role_settings().into_keys());
    let limits = Limits {
        connections: plan.connections,
        settings: plan.role_settings(),
        // The timeouts have keys of their own: nobody else sets them, even when no plan does any more.
        ours: named
            .chain([guc::STATEMENT_TIMEOUT, guc::IDLE_IN_TRANSACTION_TIMEOUT].map(str::to_owned))
            .collect(),
    };
    Ok((name, limits))
}

fn apps(
    tenant: &TenantName,
    spec: &TenantSpec,
    settings: &Settings,
    complaints: &mut Vec<Failure>,
) -> Result<BTreeMap<AppName, DesiredApp>, Failure> {
    let known = |name: &String| AppName::parse(name).ok().filter(|app| settings.apps.contains_key(app));
    let changes = spec.apps.as_ref();
    let mut add = BTreeSet::new();
    for name in changes.map_or(&[][..], |changes| &changes.add) {
        match known(name) {
            Some(app) => {
                add.insert(app);
            }
            None => complaints.push(Failure::refused(
                Reason::UnknownApp,
                format!("app {name:?} in spec.apps.add is not in the settings; what it has is kept"),
            )),
        }
    }
    // What the settings do not have is removed already.
    let remove: BTreeSet<AppName> = changes
        .map_or(&[][..], |changes| &changes.remove)
        .iter()
        .filter_map(known)
        .collect();
    let mut apps = BTreeMap::new();
    for (name, app) in &settings.apps {
        if remove.contains(name) || (app.opt_in && !add.contains(name)) {
            continue;
        }
        let desired = DesiredApp {
            short: app.short.clone(),
            access: app.access,
            cache: app.cache,
        };
        // Refuses a name for which some later record would have no room, before anything is committed.
        desired
            .names(&settings.installation, tenant, RecordNo::FIRST)
            .map_err(|error| refusal(&error))?;
        apps.insert(name.clone(), desired);
    }
    Ok(apps)
}

fn pin(spec: &TenantSpec, settings: &Settings) -> Result<Pin, Failure> {
    fn known<T>(
        pinned: Option<&String>,
        targets: &BTreeMap<TargetName, T>,
        kind: &str,
    ) -> Result<Option<TargetName>, Failure> {
        let Some(name) = pinned else { return Ok(None) };
        let target = TargetName::parse(name)
            .ok()
            .filter(|target| targets.contains_key(target))
            .ok_or_else(|| {
                Failure::refused(
                    Reason::UnknownPlacement,
                    format!("placement.{kind} {name:?} is not in the settings"),
                )
            })?;
        Ok(Some(target))
    }
    let pinned = spec.placement.as_ref();
    Ok(Pin {
        database: known(
            pinned.and_then(|pin| pin.database.as_ref()),
            &settings.databases,
            "database",
        )?,
        cache: known(pinned.and_then(|pin| pin.cache.as_ref()), &settings.caches, "cache")?,
    })
}

impl DesiredApp {
    /// The names that a record of that number gives this app.
    pub fn names(
        &self,
        installation: &Installation,
        tenant: &TenantName,
        record: RecordNo,
    ) -> Result<CredentialNames, NameError> {
        Ok(CredentialNames {
            login: RoleName::login(tenant, &self.short, record)?,
            access: self.access,
            cache: match self.cache {
                Some(profile) => Some((CacheUser::of(installation, tenant, &self.short, record)?, profile)),
                None => None,
            },
        })
    }
}

impl Desired {
    /// The tenant's database.
    pub fn database(&self) -> DatabaseName {
        DatabaseName::of(&self.tenant)
    }

    /// The names under which this tenant's things are looked for, each once: those that were issued, those that a lost record may have
    /// given, and those that a new app would get, to see whether they are free.
    pub fn names_to_look_for(&self, store: &StoreView) -> Vec<CredentialNames> {
        let ledger = &store.ledger;
        let highest = store.numbers().max();
        let missing = ledger.missing(highest);
        let next = highest.map_or(Some(RecordNo::FIRST), RecordNo::next);
        let issued = ledger.apps().into_iter().filter_map(|app| ledger.newest(app));
        let mut wanted: Vec<CredentialNames> = issued.map(|(_, credential)| credential.names()).collect();
        for (name, app) in &self.apps {
            let fresh = next.filter(|_| ledger.newest(name).is_none());
            for number in missing.iter().copied().chain(fresh) {
                let names = app.names(&self.installation, &self.tenant, number).ok();
                wanted.extend(names.filter(|names| !wanted.contains(names)));
            }
        }
        wanted
    }
}
