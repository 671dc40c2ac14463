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

    /// What was put after this instant is not seen by readers yet; absent: everything is seen.
    pub fn horizon(&self) -> Option<Instant> {
        if self.terms.stale_reads.is_zero() {
            None
        } else {
            self.now.checked_sub(self.terms.stale_reads)
        }
    }
}
