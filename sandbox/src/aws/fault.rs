//! Faults on demand: a rule names the calls it hits and what becomes of them, and each is one that AWS or the network really commits.
//! Rates are the standing fault: a token bucket per group of operations.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::log::{Service, is_write};
use super::refusal::Refusal;

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Refused with this code and HTTP status.
    Error { code: String, status: u16 },
    /// Refused as too many calls.
    Throttle,
    /// Refused for want of a right.
    AccessDenied,
    /// Never applied, never answered.
    Timeout,
    /// The connection breaks before the call is applied.
    LostRequest,
    /// Applied, then the connection breaks.
    LostReply,
    /// Applied, never answered: the moment to kill the caller.
    HeldReply,
    /// Applied and answered, but later.
    Delay(#[serde(with = "millis")] Duration),
}

impl Fault {
    /// What the caller is told, for a fault that tells something.
    pub fn refusal(&self, service: Service) -> Option<Refusal> {
        match self {
            Self::Error { code, status } => {
                Some(Refusal::new(code, *status, "the sandbox was told to refuse this call"))
            }
            Self::Throttle => Some(throttled(service)),
            Self::AccessDenied => Some(denied(service)),
            Self::Timeout | Self::LostRequest | Self::LostReply | Self::HeldReply | Self::Delay(_) => None,
        }
    }
}

fn throttled(service: Service) -> Refusal {
    let code = match service {
        Service::Ssm => "ThrottlingException",
        Service::ElastiCache | Service::Sts => "Throttling",
    };
    Refusal::client(code, "Rate exceeded")
}

fn denied(service: Service) -> Refusal {
    let message = "User: arn:aws:iam::123456789012:user/sandbox is not authorized to perform this operation";
    match service {
        Service::Ssm => Refusal::client("AccessDeniedException", message),
        Service::ElastiCache | Service::Sts => Refusal::new("AccessDenied", 403, message),
    }
}

/// How often a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Count(u32),
    UntilCleared,
}

/// Which calls a fault strikes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `PutParameter`, `ssm.PutParameter`, `ssm.*`, `reads`, `writes` or `*`.
    pub operation: String,
    /// Only calls about this name; a trailing `*` stands for anything.
    #[serde(default)]
    pub key: Option<String>,
    /// So many calls pass first.
    #[serde(default)]
    pub skip: u32,
    /// So many are struck; absent: all, until cleared.
    #[serde(default)]
    pub times: Option<u32>,
    pub fault: Fault,
}

impl Rule {
    pub fn new(operation: &str, fault: Fault, times: Times) -> Self {
        let times = match times {
            Times::Count(times) => Some(times),
            Times::UntilCleared => None,
        };
        Self {
            operation: operation.to_owned(),
            key: None,
            skip: 0,
            times,
            fault,
        }
    }

    #[must_use]
    pub fn about(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    #[must_use]
    pub fn after(mut self, calls: u32) -> Self {
        self.skip = calls;
        self
    }
}

/// Names a rule, to clear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleId(pub u64);

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A token bucket shared by the operations that its pattern names.
#[derive(Clone, Debug)]
struct Bucket {
    operation: String,
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

/// The rules and rates in force.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Vec<(RuleId, Rule)>,
    buckets: Vec<Bucket>,
    last: u64,
}

impl Faults {
    pub fn add(&mut self, rule: Rule) -> RuleId {
        self.last += 1;
        self.rules.push((RuleId(self.last), rule));
        RuleId(self.last)
    }

    pub fn clear(&mut self, id: RuleId) -> bool {
        let before = self.rules.len();
        self.rules.retain(|(held, _)| *held != id);
        self.rules.len() < before
    }

    pub fn clear_all(&mut self) {
        self.rules.clear();
    }

    /// Whether a rule is in force still, or spent but not cleared: a call that hangs by it goes on hanging.
    pub fn holds(&self, id: RuleId) -> bool {
        self.rules.iter().any(|(held, _)| *held == id)
    }

    pub fn rules(&self) -> impl Iterator<Item = &(RuleId, Rule)> {
        self.rules.iter()
    }

    /// The fault that strikes this call, if any; the oldest rule wins.
    pub fn strike(&mut self, service: Service, operation: &str, key: &str) -> Option<(RuleId, Fault)> {
        for (id, rule) in &mut self.rules {
            if rule.times == Some(0) || !names(&rule.operation, service, operation) || !about(rule.key.as_deref(), key)
            {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if let Some(times) = &mut rule.times {
                *times -= 1;
            }
            return Some((*id, rule.fault.clone()));
        }
        None
    }

    pub fn set_rate(&mut self, operation: &str, per_second: f64, burst: f64, now: Instant) {
        self.buckets.retain(|bucket| bucket.operation != operation);
        let operation = operation.to_owned();
        self.buckets.push(Bucket {
            operation,
            per_second,
            burst,
            tokens: burst,
            filled: now,
        });
    }

    pub fn clear_rates(&mut self) {
        self.buckets.clear();
    }

    /// Takes a token from every bucket that counts this call, or refuses it.
    pub fn admit(&mut self, service: Service, operation: &str, now: Instant) -> Result<(), Refusal> {
        for bucket in self
            .buckets
            .iter_mut()
            .filter(|bucket| names(&bucket.operation, service, operation))
        {
            let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
            bucket.tokens = (bucket.tokens + passed * bucket.per_second).min(bucket.burst);
            bucket.filled = now;
            if bucket.tokens < 1.0 {
                return Err(throttled(service));
            }
            bucket.tokens -= 1.0;
        }
        Ok(())
    }
}

fn names(pattern: &str, service: Service, operation: &str) -> bool {
    match pattern {
        "*" => true,
        "writes" => is_write(operation),
        "reads" => !is_write(operation),
        _ => match pattern.split_once('.') {
            Some((named, wanted)) => named == service.name() && (wanted == "*" || wanted == operation),
            None => pattern == operation,
        },
    }
}

fn about(wanted: Option<&str>, key: &str) -> bool {
    let Some(wanted) = wanted else { return true };
    key.split(',').any(|name| match wanted.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == wanted,
    })
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub fn serialize<S: Serializer>(delay: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
        u64::deserialize(input).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_strikes_the_calls_it_names_and_no_others() {
        let mut faults = Faults::default();
        faults.add(
            Rule::new("ssm.PutParameter", Fault::Throttle, Times::Count(2))
                .about("/a/*")
                .after(1),
        );
        let mut strike = |operation, key| faults.strike(Service::Ssm, operation, key).is_some();
        assert!(!strike("PutParameter", "/b/1"), "another key");
        assert!(!strike("GetParameter", "/a/1"), "another operation");
        assert!(!strike("PutParameter", "/a/1"), "the first one passes");
        assert!(strike("PutParameter", "/a/1"));
        assert!(strike("PutParameter", "/x,/a/2"));
        assert!(!strike("PutParameter", "/a/1"), "spent");
    }

    #[test]
    fn patterns_name_one_operation_or_many() {
        for (pattern, service, operation, hit) in [
            ("*", Service::Sts, "GetCallerIdentity", true),
            ("writes", Service::ElastiCache, "ModifyUserGroup", true),
            ("writes", Service::ElastiCache, "DescribeUsers", false),
            ("reads", Service::Ssm, "GetParameters", true),
            ("elasticache.*", Service::Ssm, "GetParameters", false),
            ("ListTagsForResource", Service::ElastiCache, "ListTagsForResource", true),
            (
                "ssm.ListTagsForResource",
                Service::ElastiCache,
                "ListTagsForResource",
                false,
            ),
        ] {
            assert_eq!(names(pattern, service, operation), hit, "{pattern} {operation}");
        }
    }

    #[test]
    fn a_bucket_lets_a_burst_through_and_fills_again() {
        let (mut faults, start) = (Faults::default(), Instant::now());
        faults.set_rate("PutParameter", 10.0, 3.0, start);
        let mut passed = |after| {
            let now = start + Duration::from_millis(after);
            (0..10)
                .filter(|_| faults.admit(Service::Ssm, "PutParameter", now).is_ok())
                .count()
        };
        assert_eq!(passed(0), 3);
        assert_eq!(passed(210), 2);
    }
}
