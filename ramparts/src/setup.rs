//! The settings in force, with the servers that they name. A file that changes is read again; a bad new file leaves the old one in force
//! and says so.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use anyhow::Context;
use futures::{SinkExt, channel::mpsc};
use ramparts_core::settings::Settings;

use crate::{gate::Gate, live::Live, metrics::Metrics};

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Settings and the world that they describe.
#[derive(Debug)]
pub struct Setup {
    /// What the file says.
    pub settings: Settings,
    /// Its servers.
    pub world: Arc<Live>,
}

impl Setup {
    /// From a settings file.
    pub async fn read(path: &Path, metrics: &Arc<Metrics>) -> anyhow::Result<(String, Self)> {
        let text = tokio::fs::read_to_string(path)
            .await
            .with_context(|| format!("reading the settings {}", path.display()))?;
        let setup = Self::parse(&text, metrics)
            .await
            .with_context(|| format!("in the settings {}", path.display()))?;
        Ok((text, setup))
    }

    async fn parse(text: &str, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let settings = Settings::parse(text)?;
        let world = Arc::new(Live::new(&settings, Gate::new(Arc::clone(metrics))).await?);
        Ok(Self { settings, world })
    }
}

/// The setup in force.
#[derive(Debug)]
pub struct Current(RwLock<Arc<Setup>>);

impl Current {
    /// To begin with.
    pub fn new(setup: Setup) -> Self {
        Self(RwLock::new(Arc::new(setup)))
    }

    /// As it is now; a pass keeps what it began with.
    pub fn get(&self) -> Arc<Setup> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, setup: Setup) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(setup);
    }
}

/// Reads the file again whenever its text changes, for as long as somebody listens. A mounted `ConfigMap` is replaced by a new link, so the
/// text is compared, not the file's time.
pub async fn follow(
    path: PathBuf,
    mut text: String,
    current: Arc<Current>,
    metrics: Arc<Metrics>,
    mut changed: mpsc::Sender<()>,
) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Ok(found) = tokio::fs::read_to_string(&path).await else {
            continue;
        };
        if found == text {
            continue;
        }
        text = found;
        let installation = current.get().settings.installation.clone();
        match Setup::parse(&text, &metrics).await {
            Ok(setup) if setup.settings.installation != installation => {
                metrics.settings_refused(true);
                tracing::error!(from = %installation, to = %setup.settings.installation, "settings refused: installation never changes; the old ones stay in force");
            }
            Ok(setup) => {
                current.set(setup);
                metrics.settings_refused(false);
                tracing::info!("new settings are in force");
                if changed.send(()).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                metrics.settings_refused(true);
                tracing::error!(
                    error = format!("{error:#}"),
                    "settings refused; the old ones stay in force"
                );
            }
        }
    }
}
