//! From an SDK error to a failure, in one place. The class is decided by the service's code, never by a type of the SDK; the message is
//! code and service message, from which anything that looks like a password is taken out. An SDK error is never printed itself: its
//! `Debug` holds the request.

use std::{collections::BTreeMap, error::Error};

use aws_sdk_ssm::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};
use ramparts_core::{
    failure::{Class, Failure},
    reason::Reason,
    secret::{Password, Secret},
};

use crate::gate::{Call, unreachable_reason};

/// The longest service message that is repeated.
const LONGEST: usize = 300;

/// Codes that ask us to slow down, of both services and of AWS at large.
const THROTTLED: [&str; 12] = [
    "BandwidthLimitExceeded",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttled",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// Codes after which a person has to look at permissions, keys or credentials.
const DENIED: [&str; 27] = [
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "DisabledException",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidGrantTokenException",
    "InvalidIdentityToken",
    "InvalidKeyId",
    "InvalidSignatureException",
    "InvalidToken",
    "KMSAccessDeniedException",
    "KMSInvalidStateException",
    "KMSNotFoundException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "NotAuthorized",
    "OptInRequired",
    "RequestExpired",
    "ServiceLinkedRoleNotFoundFault",
    "SignatureDoesNotMatch",
    "UnauthorizedOperation",
    "UnrecognizedClientException",
];

/// Codes that say that there is no room.
const QUOTA: [&str; 8] = [
    "LimitExceededException",
    "ParameterLimitExceeded",
    "ParameterMaxVersionLimitExceeded",
    "ServiceQuotaExceededException",
    "TagQuotaPerResourceExceeded",
    "TooManyTagsError",
    "UserGroupQuotaExceeded",
    "UserQuotaExceeded",
];

/// Codes for a moment that passes.
const PASSING: [&str; 8] = [
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "TooManyUpdates",
];

/// Codes for a request that we should not have made.
const OUR_FAULT: [&str; 17] = [
    "HierarchyLevelLimitExceededException",
    "HierarchyTypeMismatchException",
    "InvalidAction",
    "InvalidAllowedPatternException",
    "InvalidFilterKey",
    "InvalidNextToken",
    "InvalidParameterCombination",
    "InvalidParameterValue",
    "InvalidRequest",
    "MalformedQueryString",
    "MissingParameter",
    "ParameterPatternMismatchException",
    "SerializationException",
    "UnknownOperationException",
    "UnsupportedParameterType",
    "ValidationError",
    "ValidationException",
];

/// What happens next after this error of this call. `hidden` is what the request held and no message may repeat.
pub(super) fn failure<E>(call: &Call<'_>, error: &SdkError<E, HttpResponse>, hidden: &[&Secret]) -> Failure
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let passing = |what: &str, detail: &str| {
        let detail = scrub(detail, hidden);
        Failure::transient(unreachable_reason(call.layer), format!("{call}: {what}: {detail}"))
    };
    match error {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            refused(
                call,
                answer.err().code(),
                status,
                &scrub(answer.err().message().unwrap_or_default(), hidden),
            )
        }
        SdkError::TimeoutError(_) => passing("no answer in time", "the request may or may not have been carried out"),
        SdkError::DispatchFailure(_) => {
            let causes = scrub(&causes(error), hidden);
            without_credentials(call, &causes).unwrap_or_else(|| passing("no connection, or it broke", &causes))
        }
        SdkError::ResponseError(answer) => {
            let status = answer.raw().status().as_u16();
            passing("the answer could not be understood", &format!("HTTP status {status}"))
        }
        SdkError::ConstructionFailure(_) => Failure::defect(format!(
            "{call}: the request could not be built: {}",
            scrub(&causes(error), hidden)
        )),
        _ => passing("failed", "in a way that this version of the SDK does not name"),
    }
}

/// The class of an answer that is a refusal.
fn refused(call: &Call<'_>, code: Option<&str>, status: u16, message: &str) -> Failure {
    let code = code.unwrap_or_default();
    let known = |codes: &[&str]| codes.contains(&code);
    let said = match (code, message) {
        ("", _) => format!("{call}: HTTP status {status} without a code"),
        (_, "") => format!("{call}: {code}"),
        _ => format!("{call}: {code}: {message}"),
    };
    if known(&THROTTLED) || status == 429 {
        Failure::transient(Reason::Throttled, said)
    } else if known(&DENIED) {
        Failure::blocked(Reason::AccessDenied, said)
    } else if known(&QUOTA) {
        Failure::blocked(Reason::QuotaExceeded, said)
    } else if known(&PASSING) || status >= 500 || status == 408 {
        Failure::transient(unreachable_reason(call.layer), said)
    } else if known(&OUR_FAULT) {
        Failure::defect(said)
    } else if status == 401 || status == 403 {
        Failure::blocked(Reason::AccessDenied, said)
    } else {
        Failure {
            class: Class::Defect,
            reason: Reason::Unexpected,
            message: said,
        }
    }
}

/// A request that was never signed: no credentials were found, or the exchange for them was refused.
fn without_credentials(call: &Call<'_>, causes: &str) -> Option<Failure> {
    let missing = [
        "no providers in chain provided credentials",
        "the credential provider was not enabled",
        "the credentials provider was not properly configured",
    ];
    let refused = DENIED.iter().find(|code| causes.contains(**code));
    if refused.is_none() && !missing.iter().any(|text| causes.contains(text)) {
        return None;
    }
    Some(Failure::blocked(
        Reason::AccessDenied,
        format!("{call}: no AWS credentials: {causes}"),
    ))
}

/// The sentences of an error and its causes, without `Debug`.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next.filter(|_| said.len() < 8) {
        let sentence = error.to_string();
        if said.last() != Some(&sentence) {
            said.push(sentence);
        }
        next = error.source();
    }
    said.join(": ")
}

/// The same text for the same refusal: services put the id of the request into some messages, and a status would change with each try.
fn without_request_ids(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for (at, found) in ["request id", "requestid"]
        .iter()
        .flat_map(|name| lower.match_indices(name))
        .collect::<BTreeMap<_, _>>()
    {
        let after = at + found.len();
        let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let id = text[after..].trim_start_matches([':', '=', ' ', '"']);
        let begin = text.len() - id.len();
        if begin == after || at < kept {
            continue;
        }
        clean.push_str(&text[kept..begin]);
        clean.push('…');
        kept = text.len() - id.trim_start_matches(is_id).len();
    }
    clean.push_str(&text[kept..]);
    clean
}

/// A text from outside, fit for a message: no longer than a few lines, the same each time, and without anything that looks like a password of ours or is
/// one of `hidden`. Services do repeat the values that they refuse.
fn scrub(text: &str, hidden: &[&Secret]) -> String {
    let mut text = text.replace(char::is_control, " ");
    for secret in hidden
        .iter()
        .map(|secret| secret.expose())
        .filter(|secret| !secret.is_empty())
    {
        text = text.replace(secret, "<redacted>");
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(Password::PREFIX) {
        clean.push_str(&rest[..at]);
        clean.push_str("<redacted>");
        rest = rest[at + Password::PREFIX.len()..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    }
    clean.push_str(rest);
    let clean = without_request_ids(&clean);
    match clean.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ramparts_core::observed::Layer;

    const CALL: Call<'static> = Call {
        layer: Layer::Store,
        operation: "PutParameter",
        target: "/ramparts/acme/api",
    };

    #[test]
    fn every_known_code_has_one_class() {
        let mut codes: Vec<&str> = [&THROTTLED[..], &DENIED, &QUOTA, &PASSING, &OUR_FAULT].concat();
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn an_answer_without_a_code_goes_by_its_status() {
        for (status, class, reason) in [
            (503, Class::Transient, Reason::StoreUnreachable),
            (429, Class::Transient, Reason::Throttled),
            (403, Class::Blocked, Reason::AccessDenied),
            (404, Class::Defect, Reason::Unexpected),
        ] {
            let failure = refused(&CALL, None, status, "");
            assert_eq!((failure.class, failure.reason), (class, reason), "{status}");
            assert!(failure.message.contains("PutParameter /ramparts/acme/api"), "{failure}");
        }
    }

    #[test]
    fn the_same_refusal_reads_the_same_however_often_it_is_met() {
        let said = |id: &str| {
            format!("denied (Service: AWSKMS; Status Code: 400; Request ID: {id}; Proxy: null), RequestId={id}")
        };
        let (one, other) = (scrub(&said("0f1e-2d3c"), &[]), scrub(&said("aa55-77"), &[]));
        assert_eq!(one, other);
        assert!(
            one.starts_with("denied (Service: AWSKMS; Status Code: 400; Request ID: …; Proxy: null)"),
            "{one}"
        );
    }

    #[test]
    fn a_service_that_repeats_a_password_is_not_repeated() {
        let password = Password::seal("0123456789abcdefghijABCDEFGHIJ0123456789").unwrap();
        let other = Secret::new("{\"old\":\"hunter2hunter2\"}".to_owned());
        let text = format!(
            "value '{}' and {} do not\nmatch; rmp_ neither",
            password.expose(),
            other.expose()
        );
        let said = scrub(&text, &[&other]);
        assert_eq!(
            said,
            "value '<redacted>' and <redacted> do not match; <redacted> neither"
        );
        assert!(scrub(&"é".repeat(1000), &[]).chars().count() <= LONGEST + 1);
    }
}
