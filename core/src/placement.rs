//! Where a tenant lives: as its ledger says, and while it has none, as it is pinned, hinted, or first in the settings. A tenant is never
//! moved: a pin that differs is refused, and a server that the settings no longer name blocks.

use crate::{
    desired::Desired,
    failure::Failure,
    ledger::Placement,
    name::{KeyPrefix, RecordNo, TargetName},
    published::Whereabouts,
    reason::Reason,
};

impl Desired {
    /// Where this tenant lives: as the ledger says; else as pinned, hinted, or the first that the settings name.
    pub fn place(&self, ledger: Option<&Placement>) -> Result<Placement, Failure> {
        let placement = if let Some(fixed) = ledger {
            self.agrees(fixed)?;
            let cache = fixed.cache.clone().or_else(|| self.choose_cache());
            Placement {
                database: fixed.database.clone(),
                cache,
            }
        } else {
            let hinted = self
                .hint
                .as_ref()
                .map(|hint| &hint.database)
                .filter(|name| self.databases.contains_key(*name));
            let database = self
                .pin
                .database
                .as_ref()
                .or(hinted)
                .or_else(|| self.databases.keys().next());
            let database = database.cloned().ok_or_else(|| {
                Failure::refused(
                    Reason::UnknownPlacement,
                    "the settings name no database to place this tenant on",
                )
            })?;
            Placement {
                database,
                cache: self.choose_cache(),
            }
        };
        let gone = |kind: &str, name: &TargetName| {
            Failure::blocked(
                Reason::UnknownPlacement,
                format!(
                    "the ledger places this tenant on {kind} {name:?}, which the settings no longer name; put it back"
                ),
            )
        };
        if !self.databases.contains_key(&placement.database) {
            return Err(gone("database", &placement.database));
        }
        match &placement.cache {
            Some(cache) if !self.caches.contains_key(cache) => Err(gone("cache", cache)),
            _ => Ok(placement),
        }
    }

    fn choose_cache(&self) -> Option<TargetName> {
        let hinted = self
            .hint
            .as_ref()
            .and_then(|hint| hint.cache.as_ref())
            .filter(|name| self.caches.contains_key(*name));
        self.pin
            .cache
            .as_ref()
            .or(hinted)
            .or_else(|| self.caches.keys().next())
            .cloned()
    }

    fn agrees(&self, fixed: &Placement) -> Result<(), Failure> {
        let differs = |kind: &str, pinned: &TargetName, fixed: &TargetName| {
            Failure::refused(
                Reason::PlacementMismatch,
                format!(
                    "placement.{kind} is {pinned}, but this tenant lives on {fixed}; a tenant is never moved by a pin"
                ),
            )
        };
        match &self.pin.database {
            Some(pinned) if *pinned != fixed.database => return Err(differs("database", pinned, &fixed.database)),
            _ => {}
        }
        match (&self.pin.cache, &fixed.cache) {
            (Some(pinned), Some(fixed)) if pinned != fixed => Err(differs("cache", pinned, fixed)),
            _ => Ok(()),
        }
    }

    /// Where pods find this tenant's servers, in the life that began with that record.
    pub fn whereabouts(&self, placement: &Placement, life: RecordNo) -> Option<Whereabouts> {
        Some(Whereabouts {
            database: self.databases.get(&placement.database)?.clone(),
            name: self.database(),
            cache: match &placement.cache {
                Some(cache) => Some(self.caches.get(cache)?.clone()),
                None => None,
            },
            prefix: KeyPrefix::of(&self.tenant, life),
        })
    }
}
