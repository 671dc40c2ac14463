//! The call log: what was asked of the sandbox, by whom, about what, and how it ended. It holds names and counts, never values: a request
//! body does not reach it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

/// A service that the sandbox speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    Ssm,
    ElastiCache,
    Sts,
}

impl Service {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssm => "ssm",
            Self::ElastiCache => "elasticache",
            Self::Sts => "sts",
        }
    }
}

/// One call, entered on arrival and completed when it was answered.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// Rises by one with every call, from 1.
    pub seq: u64,
    pub at: Timestamp,
    pub service: Service,
    pub operation: String,
    pub region: String,
    /// The access key id that signed the request: tells one client from another.
    pub caller: String,
    /// What the call was about: a parameter, a path, a user, a group; several names are joined by commas.
    pub key: String,
    /// What else matters to a reader, such as `overwrite` or `add=a,b`.
    pub flags: Vec<String>,
    /// `ok`, an error code, or what the fault did; absent while the call is under way or if the client hung up.
    pub outcome: Option<String>,
}

impl Call {
    /// Whether an operation of this kind changes something, whatever came of this call.
    pub fn is_write(&self) -> bool {
        is_write(&self.operation)
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// `service.Operation`, as counters and fault rules name it.
    pub fn name(&self) -> String {
        format!("{}.{}", self.service.name(), self.operation)
    }
}

/// Whether an operation changes something: told by its verb, so that an operation added later is counted too.
pub fn is_write(operation: &str) -> bool {
    !["Get", "Describe", "List"]
        .iter()
        .any(|verb| operation.starts_with(verb))
}

/// What a request says about itself that may be logged.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    pub key: String,
    pub flags: Vec<String>,
}

/// Every call since the start, and counters that can be set back to nought.
#[derive(Debug, Default)]
pub struct Log {
    calls: Vec<Call>,
    counters: BTreeMap<String, u64>,
}

impl Log {
    pub fn begin(&mut self, service: Service, operation: &str, region: &str, caller: &str, subject: &Subject) -> u64 {
        let call = Call {
            seq: self.mark() + 1,
            at: Timestamp::now(),
            service,
            operation: operation.to_owned(),
            region: region.to_owned(),
            caller: caller.to_owned(),
            key: subject.key.clone(),
            flags: subject.flags.clone(),
            outcome: None,
        };
        *self.counters.entry(call.name()).or_default() += 1;
        self.calls.push(call);
        self.mark()
    }

    pub fn end(&mut self, seq: u64, outcome: &str) {
        let place = usize::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            call.outcome = Some(outcome.to_owned());
        }
    }

    /// The number of the last call so far.
    pub fn mark(&self) -> u64 {
        self.calls.len() as u64
    }

    pub fn since(&self, mark: u64) -> &[Call] {
        usize::try_from(mark)
            .ok()
            .and_then(|mark| self.calls.get(mark..))
            .unwrap_or_default()
    }

    pub fn counters(&self) -> &BTreeMap<String, u64> {
        &self.counters
    }

    pub fn reset_counters(&mut self) {
        self.counters.clear();
    }
}
