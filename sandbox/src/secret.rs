//! A password or token of the stack. It can be handed on, but `Debug` does not print it: the stack's own output is pasted into reports.

use rand::distr::{Alphanumeric, SampleString};
use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Letters and digits only: it goes unquoted into URLs, SQL, ACL files and CSV.
    pub fn random() -> Self {
        Self(Alphanumeric.sample_string(&mut rand::rng(), 32))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
