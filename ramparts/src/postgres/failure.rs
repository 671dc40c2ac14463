//! What an error of the server or of the way to it means for what happens next. Messages are ours or the server's primary message;
//! neither statements nor their details are ever in them.

use std::{error::Error as _, io};

use ramparts_core::{
    failure::{Class, Failure},
    reason::Reason,
};
use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

/// What PostgreSQL says, without being translated, when two writers meet in one row of the catalog.
const CONCURRENT_UPDATE: &str = "tuple concurrently updated";

/// The failure of doing that; `doing` says what and to what.
pub(super) fn failure(doing: &str, error: &Error) -> Failure {
    match error.as_db_error() {
        Some(answer) => answered(doing, answer),
        None => broken(doing, error),
    }
}

/// The server answered.
fn answered(doing: &str, answer: &DbError) -> Failure {
    let code = answer.code();
    let message = format!("{doing}: {} ({})", spoken(answer), code.code());
    if lost_a_race(answer) {
        return Failure::transient(Reason::LostRace, format!("{message}; the next pass looks again"));
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return Failure::blocked(Reason::AccessDenied, message);
    }
    if is_no_setting(answer) || wrong_value(code) {
        return Failure {
            class: Class::Refused,
            reason: Reason::Unexpected,
            message,
        };
    }
    if is_passing(code) {
        return Failure::transient(Reason::DatabaseUnreachable, message);
    }
    if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        return Failure::blocked(Reason::AccessDenied, message);
    }
    Failure {
        class: Class::Defect,
        reason: Reason::Unexpected,
        message,
    }
}

/// A name that is no setting has the code of a role that is gone; where the server noticed it, by release, tells them apart.
fn is_no_setting(answer: &DbError) -> bool {
    let routines = ["find_option", "assignable_custom_variable_name"];
    *answer.code() == SqlState::UNDEFINED_OBJECT && answer.routine().is_some_and(|routine| routines.contains(&routine))
}

/// A value of a plan that this server does not take.
fn wrong_value(code: &SqlState) -> bool {
    [SqlState::INVALID_PARAMETER_VALUE, SqlState::CANT_CHANGE_RUNTIME_PARAM].contains(code)
}

/// Something was made, changed or dropped between the look and the deed, or at the same moment.
fn lost_a_race(answer: &DbError) -> bool {
    let code = answer.code();
    let codes = [
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_DATABASE,
        SqlState::UNIQUE_VIOLATION,
        SqlState::UNDEFINED_DATABASE,
        SqlState::OBJECT_IN_USE,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    let gone = *code == SqlState::UNDEFINED_OBJECT && !is_no_setting(answer);
    let concurrent = *code == SqlState::INTERNAL_ERROR && answer.message() == CONCURRENT_UPDATE;
    gone || concurrent || codes.contains(code)
}

/// It goes away by itself: a failover, a shutdown, no connections or no resources left, a cancelled statement.
fn is_passing(code: &SqlState) -> bool {
    let classes = ["08", "53", "57", "58"];
    *code == SqlState::READ_ONLY_SQL_TRANSACTION || classes.iter().any(|class| code.code().starts_with(class))
}

/// No statement of ours makes the server quote a verifier back; should one ever, it stays here.
fn spoken(answer: &DbError) -> &str {
    if answer.message().contains("SCRAM-SHA-256") {
        "(message withheld)"
    } else {
        answer.message()
    }
}

/// The server did not answer, or could not be trusted.
fn broken(doing: &str, error: &Error) -> Failure {
    match tls_problem(error) {
        Some(problem) => Failure::blocked(
            Reason::DatabaseUnreachable,
            format!("{doing}: TLS: {problem}; without a verified server nothing is sent"),
        ),
        None => Failure::transient(Reason::DatabaseUnreachable, format!("{doing}: {}", chain(error))),
    }
}

/// The server's certificate, its name, or that it has none: what a person must look at. A handshake cut short by the network is not.
fn tls_problem(error: &Error) -> Option<String> {
    let cause = error.source()?;
    match cause.downcast_ref::<io::Error>() {
        Some(cause) => cause
            .get_ref()?
            .downcast_ref::<rustls::Error>()
            .map(ToString::to_string),
        // The only other thing that ends a handshake.
        None => error.to_string().contains("TLS handshake").then(|| cause.to_string()),
    }
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
