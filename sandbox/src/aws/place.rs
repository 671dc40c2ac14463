//! Where, when and under which terms a call is answered.

use std::time::Instant;

use super::terms::Terms;

/// The circumstances of one call.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub account: &'a str,
    pub region: &'a str,
    pub now: Instant,
    pub terms: &'a Terms,
}

impl Place<'_> {
    pub fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{resource}", self.region, self.account)
    }

    /// Whether a reader sees what was put at that instant.
    pub fn sees(&self, put: Instant) -> bool {
        put + self.terms.stale_reads <= self.now
    }
}
