//! What the process remembers of each tenant between passes: fresh proofs, refusals seen, failures in a row. All of it can be lost at
//! any time and is: a restart starts with nothing, and costs a proof.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ramparts_core::{api::Tenant, failure::Class, recall::Recall};

#[derive(Debug, Default)]
struct Remembered {
    uid: Option<String>,
    recall: Recall,
    /// Failures in a row of one class; none stands for something that is only under way.
    failures: (Option<Class>, u32),
    sighted: bool,
}

/// The memory, by tenant name.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<String, Remembered>>);

impl Memory {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of this object; nothing of a namesake.
    pub fn recall(&self, tenant: &Tenant, proof_lasts: Duration) -> Recall {
        let all = self.all();
        let remembered = all.get(name(tenant)).filter(|it| it.uid == tenant.metadata.uid);
        let mut recall = remembered.map_or_else(Recall::default, |it| it.recall.clone());
        recall.proof_lasts = proof_lasts;
        recall
    }

    /// Remembers what a pass learned.
    pub fn keep(&self, tenant: &Tenant, recall: Recall) {
        let mut all = self.all();
        let remembered = all.entry(name(tenant).to_owned()).or_default();
        remembered.uid.clone_from(&tenant.metadata.uid);
        remembered.recall = recall;
    }

    /// Whether this is the first time that the process finds this tenant unchanged.
    pub fn is_first_sight(&self, tenant: &Tenant) -> bool {
        let mut all = self.all();
        let remembered = all.entry(name(tenant).to_owned()).or_default();
        !std::mem::replace(&mut remembered.sighted, true)
    }

    /// Counts a failure; gives how many of its class there were in a row before it. Another class begins anew: what was blocked for a day
    /// and now meets a passing fault is looked at again soon.
    pub fn failed(&self, name: &str, class: Option<Class>) -> u32 {
        let mut all = self.all();
        let failures = &mut all.entry(name.to_owned()).or_default().failures;
        let before = if failures.0 == class { failures.1 } else { 0 };
        *failures = (class, before.saturating_add(1));
        before
    }

    /// A pass ended well.
    pub fn succeeded(&self, name: &str) {
        if let Some(remembered) = self.all().get_mut(name) {
            remembered.failures = (None, 0);
        }
    }

    /// The object is gone.
    pub fn forget(&self, name: &str) {
        self.all().remove(name);
    }
}

fn name(tenant: &Tenant) -> &str {
    tenant.metadata.name.as_deref().unwrap_or_default()
}
