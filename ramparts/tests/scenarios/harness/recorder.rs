//! Keeps every version of every Tenant that the API server ever showed, as plain JSON: what a field's absence hides from a typed reader is
//! here to be seen.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use futures::{StreamExt, pin_mut};
use kube::{
    Api,
    core::DynamicObject,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::until;

/// One version of one Tenant.
#[derive(Clone, Debug)]
pub struct Version {
    pub name: String,
    pub uid: String,
    /// The resource version.
    pub number: String,
    /// The object is gone with this version.
    pub gone: bool,
    pub object: Value,
}

pub struct Recorder {
    versions: Arc<Mutex<Vec<Version>>>,
    task: JoinHandle<()>,
}

impl Recorder {
    /// Records from now on.
    pub async fn start(api: Api<DynamicObject>) -> Self {
        let versions = Arc::new(Mutex::new(Vec::new()));
        let listed = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(record(api, Arc::clone(&versions), Arc::clone(&listed)));
        until("the recorder watches", async || {
            listed.load(Ordering::Acquire).then_some(())
        })
        .await;
        Self { versions, task }
    }

    pub fn versions(&self, name: &str) -> Vec<Version> {
        let all = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|version| version.name == name).cloned().collect()
    }

    /// Waits until this version was recorded.
    pub async fn has_seen(&self, name: &str, resource_version: &str) {
        until("the recorder has seen the newest version", async || {
            let versions = self.versions(name);
            versions
                .iter()
                .any(|version| version.number == resource_version)
                .then_some(())
        })
        .await;
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn record(api: Api<DynamicObject>, versions: Arc<Mutex<Vec<Version>>>, listed: Arc<AtomicBool>) {
    // Without a pause between tries, a client whose runtime is ending would keep it from ending.
    let events = watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    while let Some(event) = events.next().await {
        let (object, gone) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            Ok(Event::InitDone) => {
                listed.store(true, Ordering::Release);
                continue;
            }
            // A watch that breaks is opened anew by the watcher; what it lists then was mostly seen before.
            Ok(Event::Init) | Err(_) => continue,
        };
        let version = Version {
            name: object.metadata.name.clone().unwrap_or_default(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            number: object.metadata.resource_version.clone().unwrap_or_default(),
            gone,
            object: serde_json::to_value(object).unwrap(),
        };
        let mut all = versions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |old: &Version| old.uid == version.uid && old.number == version.number;
        if !all.iter().any(known) {
            all.push(version);
        }
    }
}
