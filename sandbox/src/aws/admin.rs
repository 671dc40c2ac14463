//! The sandbox's own HTTP interface under `/_sandbox`, for shell scripts: the call log, counters, faults and what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::{Rule, RuleId};
use super::hand::Hand;
use super::log::Call;
use super::state::{HOME, Shared};
use super::terms::{Quotas, Transition};

type Sandbox = State<Arc<Shared>>;

pub fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/health", get(|| async { "ok\n" }))
        .route("/calls", get(calls))
        .route("/writes", get(writes))
        .route("/counters", get(counters).delete(reset_counters))
        .route("/fault", get(faults).post(fault).delete(clear))
        .route("/terms", post(terms))
        .route("/rate", post(rate).delete(clear_rates))
        .route("/parameters", get(parameters))
        .route("/users", get(users))
        .route("/projection", get(projection))
}

/// What came after `?`, by name.
struct Query(BTreeMap<String, String>);

impl Query {
    fn new(raw: Option<String>) -> Self {
        Self(
            form_urlencoded::parse(raw.unwrap_or_default().as_bytes())
                .into_owned()
                .collect(),
        )
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }

    fn hand(&self, shared: Arc<Shared>) -> Hand {
        let region = self.0.get("region").map_or(HOME, String::as_str).to_owned();
        Hand { shared, region }
    }
}

async fn calls(State(shared): Sandbox, RawQuery(raw): RawQuery) -> Json<Vec<Call>> {
    let since = Query::new(raw).number("since").unwrap_or(0);
    Json(shared.lock().log.since(since).to_vec())
}

async fn writes(State(shared): Sandbox, RawQuery(raw): RawQuery) -> Json<Vec<Call>> {
    let since = Query::new(raw).number("since").unwrap_or(0);
    Json(
        shared
            .lock()
            .log
            .since(since)
            .iter()
            .filter(|call| call.is_write())
            .cloned()
            .collect(),
    )
}

async fn counters(State(shared): Sandbox) -> Json<BTreeMap<String, u64>> {
    Json(shared.lock().log.counters().clone())
}

async fn reset_counters(State(shared): Sandbox) -> StatusCode {
    shared.lock().log.reset_counters();
    StatusCode::NO_CONTENT
}

async fn faults(State(shared): Sandbox) -> Json<Value> {
    let rules: Vec<Value> = shared
        .lock()
        .faults
        .rules()
        .map(|(id, rule)| json!({"id": id, "rule": rule}))
        .collect();
    Json(json!(rules))
}

async fn fault(State(shared): Sandbox, Json(rule): Json<Rule>) -> Json<Value> {
    Json(json!({"id": shared.lock().faults.add(rule)}))
}

/// Clears one rule by `?id=` or all of them; what hangs by them breaks.
async fn clear(State(shared): Sandbox, RawQuery(raw): RawQuery) -> StatusCode {
    {
        let faults = &mut shared.lock().faults;
        match Query::new(raw).number("id") {
            Some(id) => {
                faults.clear(RuleId(id));
            }
            None => faults.clear_all(),
        }
    }
    shared.cleared.send_replace(());
    StatusCode::NO_CONTENT
}

/// What of the terms is to change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTerms {
    /// Milliseconds by transition, such as `{"group-modify": 2000}`.
    #[serde(default)]
    delays: BTreeMap<Transition, u64>,
    quotas: Option<Quotas>,
    stale_reads: Option<u64>,
    short_pages: Option<bool>,
}

async fn terms(State(shared): Sandbox, Json(new): Json<NewTerms>) -> StatusCode {
    let terms = &mut shared.lock().terms;
    for (transition, millis) in new.delays {
        terms.set_delay(transition, Duration::from_millis(millis));
    }
    if let Some(quotas) = new.quotas {
        terms.quotas = quotas;
    }
    if let Some(millis) = new.stale_reads {
        terms.stale_reads = Duration::from_millis(millis);
    }
    if let Some(short) = new.short_pages {
        terms.short_pages = short;
    }
    StatusCode::NO_CONTENT
}

/// A token bucket for the operations that a pattern names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    operation: String,
    per_second: f64,
    burst: f64,
}

async fn rate(State(shared): Sandbox, Json(rate): Json<Rate>) -> StatusCode {
    shared
        .lock()
        .faults
        .set_rate(&rate.operation, rate.per_second, rate.burst, Instant::now());
    StatusCode::NO_CONTENT
}

async fn clear_rates(State(shared): Sandbox) -> StatusCode {
    shared.lock().faults.clear_rates();
    StatusCode::NO_CONTENT
}

/// Names and versions; values are read with the AWS command line.
async fn parameters(State(shared): Sandbox, RawQuery(raw): RawQuery) -> Json<Value> {
    let query = Query::new(raw);
    let prefix = query.0.get("prefix").map_or("/", String::as_str);
    let list = query.hand(shared).parameters(prefix);
    Json(
        list.iter()
            .map(|kept| json!({"name": kept.name, "version": kept.version, "tags": kept.tags}))
            .collect(),
    )
}

async fn users(State(shared): Sandbox, RawQuery(raw): RawQuery) -> Json<Value> {
    let list = Query::new(raw).hand(shared).users();
    let show = |user: &super::StoredUser| {
        json!({
            "id": user.id,
            "name": user.name,
            "status": user.status,
            "access": user.access_string,
            "passwords": user.passwords.len(),
            "groups": user.groups,
            "tags": user.tags,
        })
    };
    Json(list.iter().map(show).collect())
}

async fn projection(State(shared): Sandbox) -> Json<Value> {
    let state = shared.lock();
    let show = |projection: &super::project::Projection| {
        let progress = projection.progress.borrow();
        json!({
            "region": projection.region,
            "group": projection.group,
            "users": progress.names,
            "trouble": progress.trouble,
        })
    };
    Json(state.projections.iter().map(show).collect())
}
