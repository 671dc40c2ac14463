//! A scenario's settings file: the stack's own, with single lines changed, as a person changes them.

use std::path::{Path, PathBuf};

use sandbox::Stack;

#[derive(Clone)]
pub struct SettingsText {
    text: String,
}

impl SettingsText {
    pub fn of(stack: &Stack) -> Self {
        Self {
            text: stack.settings_yaml(),
        }
    }

    /// The same with one text in place of another, which must be there exactly once.
    pub fn with(&self, from: &str, to: &str) -> Self {
        assert_eq!(
            self.text.matches(from).count(),
            1,
            "the stack's settings have {from:?} once:\n{}",
            self.text
        );
        Self {
            text: self.text.replace(from, to),
        }
    }

    /// Sweeps so rare that none happens: whatever is called is called for another reason.
    pub fn without_sweeps(&self) -> Self {
        self.with("sweep: {interval: 2s, proof: 2s}", "sweep: {interval: 1h, proof: 24h}")
    }

    /// Written whole and then moved into place, as a mounted `ConfigMap` is.
    pub fn write(&self, path: &Path) -> PathBuf {
        let new = path.with_extension("new");
        std::fs::write(&new, &self.text).unwrap();
        std::fs::rename(&new, path).unwrap();
        path.to_owned()
    }
}
