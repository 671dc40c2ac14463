//! Plans: limits on every login of a tenant.

use std::{collections::BTreeMap, time::Duration};

use super::super::{
    Plan, guc,
    problem::Problems,
    read::{At, Keys, Map, kind},
    tree::Value,
};

const PLAN: Keys = Keys {
    known: &[
        "connections",
        "statementTimeout",
        "idleInTransactionTimeout",
        "settings",
    ],
    later: &[],
};

/// PostgreSQL keeps a timeout as milliseconds in 32 bits with a sign.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);
/// The most that `max_connections` can be.
const MOST_CONNECTIONS: i64 = 262_143;

pub(super) fn plan(at: &At<'_>, problems: &mut Problems) -> Option<Plan> {
    let map = Map::strict(at, &PLAN, problems)?;
    let connections = map
        .need("connections", problems)
        .and_then(|at| connections(&at, problems));
    let mut timeout = |key: &str| map.get(key).and_then(|at| super::time(&at, LONGEST_TIMEOUT, problems));
    let statement_timeout = timeout("statementTimeout");
    let idle_in_transaction_timeout = timeout("idleInTransactionTimeout");
    let settings = map
        .get("settings")
        .map_or_else(|| Some(BTreeMap::new()), |at| plan_settings(&at, problems));
    Some(Plan {
        connections: connections?,
        statement_timeout,
        idle_in_transaction_timeout,
        settings: settings?,
    })
}

fn connections(at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = if let Value::Number(number) = &at.node.value {
        if (1..=MOST_CONNECTIONS).contains(number) {
            return i32::try_from(*number).ok();
        }
        number.to_string()
    } else {
        kind(&at.node.value).to_owned()
    };
    at.wrong(
        &format!("a whole number from 1 to {MOST_CONNECTIONS}, not {found}"),
        problems,
    );
    None
}

fn plan_settings(at: &At<'_>, problems: &mut Problems) -> Option<BTreeMap<String, String>> {
    let map = Map::open(at, problems)?;
    let mut settings = BTreeMap::new();
    for (name, line, at) in map.each() {
        if let Some(refusal) = refused(name) {
            problems.add(line, format!("{} {refusal}", at.path));
        }
        settings.extend(plan_value(&at, problems).map(|value| (name.to_owned(), value)));
    }
    Some(settings)
}

/// A plan limits what a session may use; it does not say who the session is, or what its names mean.
fn refused(name: &str) -> Option<String> {
    let first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let rest = |byte: u8| first(byte) || byte.is_ascii_digit() || byte == b'.';
    let spelled = name.bytes().next().is_some_and(first) && name.bytes().all(rest) && name.len() <= 63;
    match name {
        "role" | "session_authorization" | "search_path" => Some("may not be set by a plan".to_owned()),
        // The server rewrites what it is given for these, so that no comparison would ever find them set.
        "temp_tablespaces" | "local_preload_libraries" | "session_preload_libraries" => {
            Some("is a quoted list, which a plan cannot set".to_owned())
        }
        guc::STATEMENT_TIMEOUT => Some("has a key of its own: use statementTimeout".to_owned()),
        guc::IDLE_IN_TRANSACTION_TIMEOUT => Some("has a key of its own: use idleInTransactionTimeout".to_owned()),
        _ if !spelled => Some("is not the name of a PostgreSQL setting: only a-z, 0-9, '_' and '.'".to_owned()),
        _ => None,
    }
}

fn plan_value(at: &At<'_>, problems: &mut Problems) -> Option<String> {
    match &at.node.value {
        Value::Bool(value) => Some(if *value { "on" } else { "off" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Fraction(number) => Some(number.to_string()),
        Value::Text(text) if !text.chars().any(char::is_control) => Some(text.clone()),
        Value::Text(_) => {
            at.wrong("a text without control characters", problems);
            None
        }
        other @ (Value::Nothing | Value::List(_) | Value::Map(_)) => {
            at.wrong(&format!("a number, a boolean or a text, not {}", kind(other)), problems);
            None
        }
    }
}
