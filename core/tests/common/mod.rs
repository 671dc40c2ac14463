//! Words to tell a story with: what a Tenant asks for, what the world looks like, and what a plan or a report says about it.

// Each test binary uses the words that its stories need.
#![allow(dead_code)]

pub mod passes;
mod servers;
pub mod wish;
pub mod world;

pub use wish::{Wish, tenant};
pub use world::{World, world};

use jiff::Timestamp;
use ramparts_core::{
    api::TenantStatus,
    failure::Failure,
    name::{AppName, CacheUser, RecordNo, RoleName},
    observed::Layer,
    plan::{FindingKind, Plan},
    reason::Reason,
    report::Report,
};

/// In every password of every test: whatever shows it has leaked.
pub const CANARY: &str = "CANARY";

pub fn now() -> Timestamp {
    "2026-11-15T09:00:00Z".parse().unwrap()
}

/// A moment after `now`.
pub fn minutes_later(minutes: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_mins(minutes)
}

pub fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

pub fn role(name: &str) -> RoleName {
    RoleName::parse(name).unwrap()
}

pub fn user(name: &str) -> CacheUser {
    CacheUser::parse(name).unwrap()
}

pub fn record(number: u32) -> RecordNo {
    RecordNo::new(number).unwrap()
}

/// A server that does not answer.
pub fn fault(reason: Reason) -> Failure {
    Failure::transient(reason, "it does not answer")
}

/// The steps, each with the numbers of those that it waits for.
pub fn told(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .map(|planned| {
            let mut needs: Vec<usize> = planned.needs.iter().map(|need| need + 1).collect();
            needs.sort_unstable();
            needs.dedup();
            let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
            if needs.is_empty() {
                planned.step.to_string()
            } else {
                format!("{} <- {}", planned.step, needs.join(" "))
            }
        })
        .collect()
}

/// The steps that change something, without what they wait for.
pub fn writes(plan: &Plan) -> Vec<String> {
    plan.steps
        .iter()
        .filter(|planned| planned.step.writes())
        .map(|planned| planned.step.to_string())
        .collect()
}

/// What stands in the way: layer, app, weight, reason.
pub fn findings(plan: &Plan) -> Vec<String> {
    plan.findings
        .iter()
        .map(|finding| {
            let app = finding.app.as_ref().map_or(String::new(), |app| format!(" {app}"));
            let kind = match finding.kind {
                FindingKind::Waiting => "waiting",
                FindingKind::Unknown => "unknown",
                FindingKind::Wrong => "wrong",
            };
            format!("{}{app} {kind}: {}", finding.layer.as_str(), finding.failure.reason)
        })
        .collect()
}

/// What is wrong, or could not be read; what merely waits is left out.
pub fn troubles(plan: &Plan) -> Vec<String> {
    findings(plan)
        .into_iter()
        .filter(|finding| !finding.contains("waiting:"))
        .collect()
}

/// The three flags, in the order database, cache, credentials.
pub fn flags(report: &Report) -> [bool; 3] {
    [
        report.status.db_ready,
        report.status.redis_ready,
        report.status.credentials_ready,
    ]
}

/// A condition's status and reason; nothing if it is not there.
pub fn condition<'a>(status: &'a TenantStatus, kind: &str) -> Option<(&'a str, &'a str)> {
    let found = status.conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((&found.status, &found.reason))
}

/// The word and weight of each event.
pub fn events(report: &Report) -> Vec<String> {
    report
        .events
        .iter()
        .map(|event| format!("{} {}", if event.warning { "Warning" } else { "Normal" }, event.reason))
        .collect()
}

pub fn layers() -> [Layer; 3] {
    Layer::ALL
}
