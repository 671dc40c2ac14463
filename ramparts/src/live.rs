//! The live world: the servers that the settings name. It is built anew when the settings change; nothing in it outlives them.

mod session;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use ramparts_core::{
    desired::Desired,
    enrolment::{EnrolmentStep, StoreSide, enrol},
    failure::Failure,
    name::TargetName,
    secret::{Password, Secret},
    settings::{self, Settings},
};
use rand::distr::{Alphanumeric, SampleString};

use crate::{
    aws::{self, ElastiCache, Ssm},
    gate::Gate,
    postgres::Server,
    world::World,
};

pub use session::LiveSession;

/// The servers of one settings file.
#[derive(Debug)]
pub struct Live {
    gate: Gate,
    store: Ssm,
    databases: BTreeMap<TargetName, Server>,
    caches: BTreeMap<TargetName, LiveCache>,
    /// The ids of the servers that were found to be enrolled. Store and settings are fixed for the life of this value, so one
    /// look at the store's side is enough; the server's side is looked at with every observation.
    enrolled: Mutex<BTreeMap<TargetName, String>>,
    /// One at a time: the first tenants of a new server come together.
    enrolling: tokio::sync::Mutex<()>,
}

/// A cache: its users' API, and the endpoint where they log in.
#[derive(Debug)]
struct LiveCache {
    users: ElastiCache,
    settings: settings::Cache,
}

impl Live {
    /// The servers of these settings. Nothing is contacted yet.
    pub async fn new(settings: &Settings, gate: Gate) -> Result<Self, Failure> {
        let clients = aws::clients(&settings.aws).await;
        let installation = &settings.installation;
        let databases = settings
            .databases
            .iter()
            .map(|(name, it)| {
                let server = Server::new(name.clone(), it, installation.clone(), gate.clone())?;
                Ok((name.clone(), server))
            })
            .collect::<Result<_, Failure>>()?;
        let caches = settings
            .caches
            .iter()
            .map(|(name, it)| {
                let group = it.user_group.clone();
                let users = ElastiCache::new(clients.elasticache.clone(), group, installation.clone(), gate.clone());
                (
                    name.clone(),
                    LiveCache {
                        users,
                        settings: it.clone(),
                    },
                )
            })
            .collect();
        let store = Ssm::new(clients.ssm, &settings.credentials, installation.clone(), gate.clone());
        Ok(Self {
            gate,
            store,
            databases,
            caches,
            enrolled: Mutex::default(),
            enrolling: tokio::sync::Mutex::default(),
        })
    }

    /// The id by which a server and the store know each other, after finishing an enrolment that is not finished.
    async fn enrolled(&self, name: &TargetName) -> Result<String, Failure> {
        if let Some(id) = self.known_id(name) {
            return Ok(id);
        }
        let _turn = self.enrolling.lock().await;
        if let Some(id) = self.known_id(name) {
            return Ok(id);
        }
        let server = self.server(name)?;
        // Four answers lead to the end; a fifth round would mean that somebody undoes what we do.
        for _ in 0..5 {
            let (server_side, store_side) = tokio::join!(server.enrolment(), self.store.server(name));
            match enrol(name.as_str(), &server_side?, &store_side?)? {
                EnrolmentStep::MarkServer => server.mark_enrolling(&new_server_id()).await?,
                EnrolmentStep::TellStore(id) => {
                    self.store.create_server(name, &id).await?;
                }
                EnrolmentStep::Confirm(id) => server.confirm_enrolled(&id).await?,
                EnrolmentStep::Complete(id) => {
                    tracing::info!(server = %name, "enrolled");
                    self.enrolled
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(name.clone(), id.clone());
                    return Ok(id);
                }
            }
        }
        let store_side = self.store.server(name).await.unwrap_or(StoreSide::Absent);
        Err(Failure::defect(format!(
            "server {name} does not get through its enrolment (the store says {store_side:?})"
        )))
    }

    fn known_id(&self, name: &TargetName) -> Option<String> {
        self.enrolled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    fn server(&self, name: &TargetName) -> Result<&Server, Failure> {
        self.databases
            .get(name)
            .ok_or_else(|| Failure::defect(format!("database {name} is not in the settings")))
    }

    fn cache(&self, name: &TargetName) -> Result<&LiveCache, Failure> {
        self.caches
            .get(name)
            .ok_or_else(|| Failure::defect(format!("cache {name} is not in the settings")))
    }
}

/// An id by which a server and a store will know each other.
fn new_server_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// A new password. It exists nowhere but in the record that is about to be written.
fn draw() -> Secret {
    let body = Alphanumeric.sample_string(&mut rand::rng(), 40);
    Password::seal(&body).expect("forty letters and digits are a valid body")
}

impl World for Arc<Live> {
    type Session = LiveSession;

    fn session(&self, desired: &Desired) -> LiveSession {
        LiveSession::new(Self::clone(self), desired.clone())
    }
}
