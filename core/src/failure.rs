//! What went wrong, classed by what happens next and not by where it came from. A failure never holds a secret: its message is
//! written by us, from names and codes.

use std::{fmt, time::Duration};

use crate::reason::Reason;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Times out, throttles, loses races: tried again soon, faster at first.
    Transient,
    /// Our own invariant broke or an answer made no sense: tried again slowly, logged as an error.
    Defect,
    /// A person has to do something outside the manifest: tried again slowly.
    Blocked,
    /// The manifest or the settings must change: waits for that.
    Refused,
}

impl Class {
    /// The spelling used as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "Transient",
            Self::Defect => "Defect",
            Self::Blocked => "Blocked",
            Self::Refused => "Refused",
        }
    }
}

/// One failure: its class, its reason, and a sentence that says what was being done, to what, and what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happens next.
    pub class: Class,
    /// The word for it.
    pub reason: Reason,
    /// The sentence.
    pub message: String,
}

impl Failure {
    /// Tried again soon.
    pub fn transient(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            class: Class::Transient,
            reason,
            message: message.into(),
        }
    }

    /// Waits for a person, and is tried again slowly.
    pub fn blocked(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            class: Class::Blocked,
            reason,
            message: message.into(),
        }
    }

    /// Waits for another manifest or other settings.
    pub fn refused(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            class: Class::Refused,
            reason,
            message: message.into(),
        }
    }

    /// A bug, here or in an answer.
    pub fn defect(message: impl Into<String>) -> Self {
        Self {
            class: Class::Defect,
            reason: Reason::Defect,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl std::error::Error for Failure {}

/// How long to wait before the next try. `attempt` counts failures in a row from 0; `jitter` is drawn by the caller from 0 to 1
/// and spreads retries over the whole interval; nothing waits longer than the sweep, which visits every tenant anyway.
pub fn delay(class: Class, attempt: u32, sweep: Duration, jitter: f64) -> Duration {
    let (first, longest) = match class {
        Class::Transient => (Duration::from_secs(1), Duration::from_mins(5)),
        Class::Blocked | Class::Defect => (Duration::from_mins(1), Duration::from_mins(30)),
        Class::Refused => (sweep, sweep),
    };
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.min(16)));
    let ceiling = doubled.min(longest).min(sweep);
    // At least a tenth: a full-jitter zero would turn a broken server into a busy loop.
    ceiling.mul_f64(0.1 + 0.9 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: Duration = Duration::from_mins(10);

    #[test]
    fn transient_failures_back_off_from_a_second_to_five_minutes() {
        let waits: Vec<_> = [0, 1, 2, 9, 40]
            .map(|n| delay(Class::Transient, n, SWEEP, 1.0).as_secs())
            .to_vec();
        assert_eq!(waits, [1, 2, 4, 300, 300]);
    }

    #[test]
    fn nothing_waits_longer_than_a_sweep_or_spins() {
        for class in [Class::Transient, Class::Defect, Class::Blocked, Class::Refused] {
            for attempt in [0, 5, u32::MAX] {
                assert!(delay(class, attempt, SWEEP, 1.0) <= SWEEP);
                assert!(delay(class, attempt, SWEEP, 0.0) >= Duration::from_millis(100));
            }
        }
    }
}
