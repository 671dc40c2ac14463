//! The store of credentials, AWS, and how often we look.

use std::time::Duration;

use super::super::{
    Aws, Credentials, Sweep, Tier,
    problem::Problems,
    read::{At, Keys, Map},
    tree::Value,
};
use crate::name::StorePrefix;

const CREDENTIALS: Keys = Keys {
    known: &["store", "prefix", "kmsKey", "tier"],
    later: &[],
};
const AWS: Keys = Keys {
    known: &["region", "endpoint"],
    later: &[],
};
const SWEEP: Keys = Keys {
    known: &["interval", "proof"],
    later: &[],
};

/// Stores that are designed, and do not work yet.
const LATER_STORES: [&str; 2] = ["kubernetes", "files"];

fn store(at: &At<'_>, problems: &mut Problems) -> Option<()> {
    if let Value::Text(text) = &at.node.value
        && LATER_STORES.contains(&text.as_str())
    {
        problems.add(
            at.line(),
            format!("{}: store {text:?} is not supported by this version", at.path),
        );
        return None;
    }
    at.choice(&[("ssm", ())], problems)
}

pub(super) fn credentials(at: &At<'_>, problems: &mut Problems) -> Option<Credentials> {
    let map = Map::strict(at, &CREDENTIALS, problems)?;
    let store = map.need("store", problems).and_then(|at| store(&at, problems));
    let prefix = map
        .need("prefix", problems)
        .and_then(|at| at.parsed("a path like /ramparts", problems, StorePrefix::parse));
    let kms_key = match map.get("kmsKey") {
        Some(at) => Some(at.text("a key id, an ARN or alias/NAME", problems)?.to_owned()),
        None => None,
    };
    let tiers = [("standard", Tier::Standard), ("advanced", Tier::Advanced)];
    let tier = map
        .get("tier")
        .map_or(Some(Tier::Standard), |at| at.choice(&tiers, problems));
    store?;
    Some(Credentials {
        prefix: prefix?,
        kms_key,
        tier: tier?,
    })
}

pub(super) fn aws(at: &At<'_>, problems: &mut Problems) -> Option<Aws> {
    let map = Map::strict(at, &AWS, problems)?;
    let region = match map.get("region") {
        Some(at) => Some(at.text("a region like eu-west-1", problems)?.to_owned()),
        None => None,
    };
    let endpoint = match map.get("endpoint") {
        Some(at) => {
            let url = at.text("a URL", problems)?;
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                at.wrong("a URL that starts with http:// or https://", problems);
            }
            Some(url.to_owned())
        }
        None => None,
    };
    Some(Aws { region, endpoint })
}

pub(super) fn sweep(at: &At<'_>, problems: &mut Problems) -> Option<Sweep> {
    let map = Map::strict(at, &SWEEP, problems)?;
    let default = Sweep::default();
    let longest = Duration::from_hours(24 * 365);
    let interval = map
        .get("interval")
        .map_or(Some(default.interval), |at| super::time(&at, longest, problems));
    let proof = map
        .get("proof")
        .map_or(Some(default.proof), |at| super::time(&at, longest, problems));
    Some(Sweep {
        interval: interval?,
        proof: proof?,
    })
}
