//! The reads of Parameter Store. All of them may be late by `Terms::stale_reads`; none shows a secure value without decryption.

use serde_json::{Value, json};

use super::input::{self, Filter, GetMany, History, Listing, Named};
use super::name::Wanted;
use super::store::{Kind, Parameter, Parameters, Version};
use super::{arn, bad_token, not_found};
use crate::aws::page;
use crate::aws::place::Place;
use crate::aws::refusal::Refusal;

const DESCRIBE_PAGE: usize = 50;
const PATH_PAGE: usize = 10;

pub fn get(request: &Named, kept: &Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    let found = find(&request.name, kept, at)?;
    Ok(json!({"Parameter": found.view(request.with_decryption.unwrap_or_default(), at)}))
}

pub fn get_many(request: &GetMany, kept: &Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    input::one_to_ten(&request.names)?;
    let decrypt = request.with_decryption.unwrap_or_default();
    let mut names: Vec<&String> = request.names.iter().collect();
    names.sort();
    let (mut parameters, mut invalid) = (Vec::new(), Vec::new());
    for name in names {
        match find(name, kept, at) {
            Ok(found) => parameters.push(found.view(decrypt, at)),
            Err(_) => invalid.push(name),
        }
    }
    Ok(json!({"Parameters": parameters, "InvalidParameters": invalid}))
}

pub fn by_path(request: &Listing, kept: &Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    let limit = input::page_size(request.max_results, PATH_PAGE)?;
    let path = request.path.as_deref().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(Refusal::validation(
            "The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward slash \"/\".",
        ));
    }
    let prefix = if path.ends_with('/') {
        path.to_owned()
    } else {
        format!("{path}/")
    };
    let (decrypt, recursive) = (
        request.with_decryption.unwrap_or_default(),
        request.recursive.unwrap_or_default(),
    );
    let filters = request.parameter_filters.as_deref().unwrap_or_default();
    if let Some(unknown) = filters
        .iter()
        .find(|filter| !["Type", "KeyId", "Label"].contains(&filter.key.as_str()))
    {
        return Err(invalid_filter(&unknown.key));
    }
    let listing = kept
        .below(&prefix)
        .filter(|(key, _)| recursive || !key[prefix.len()..].contains('/'))
        .filter(|(key, parameter)| filters.iter().all(|filter| matches(filter, key, parameter)))
        .filter_map(|(key, parameter)| {
            let version = parameter.seen(at)?;
            Some((
                key.clone(),
                Found {
                    key,
                    parameter,
                    version,
                    selector: None,
                }
                .view(decrypt, at),
            ))
        });
    let page = page::cut(listing, request.next_token.as_deref(), limit, at.terms.short_pages).map_err(bad_token)?;
    Ok(with_token(json!({"Parameters": page.items}), page.next))
}

pub fn describe(request: &Listing, kept: &Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    let limit = input::page_size(request.max_results, DESCRIBE_PAGE)?;
    let filters: Vec<&Filter> = request
        .parameter_filters
        .iter()
        .chain(&request.filters)
        .flatten()
        .collect();
    let known = |key: &str| ["Name", "Path", "Type", "KeyId", "Tier"].contains(&key) || key.starts_with("tag:");
    if let Some(unknown) = filters.iter().find(|filter| !known(&filter.key)) {
        return Err(invalid_filter(&unknown.key));
    }
    if filters
        .iter()
        .any(|filter| filter.values.as_ref().is_some_and(|values| values.len() > 50))
    {
        return Err(Refusal::validation("a filter can have at most 50 values"));
    }
    let listing = kept
        .iter()
        .filter(|(key, parameter)| filters.iter().all(|filter| matches(filter, key, parameter)))
        .filter_map(|(key, parameter)| {
            let version = parameter.seen(at)?;
            Some((key.clone(), metadata(key, parameter, version, at)))
        });
    let page = page::cut(listing, request.next_token.as_deref(), limit, at.terms.short_pages).map_err(bad_token)?;
    Ok(with_token(json!({"Parameters": page.items}), page.next))
}

pub fn history(request: &History, kept: &Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    let limit = input::page_size(request.max_results, DESCRIBE_PAGE)?;
    let key = super::key(&request.name);
    let parameter = kept.get(&key).ok_or_else(not_found)?;
    let decrypt = request.with_decryption.unwrap_or_default();
    let listing = parameter.versions.iter().map(|version| {
        let mut view = metadata(&key, parameter, version, at);
        view["Value"] = json!(shown(parameter, version, decrypt));
        view["Labels"] = json!([]);
        (format!("{:08}", version.number), view)
    });
    let page = page::cut(listing, request.next_token.as_deref(), limit, false).map_err(bad_token)?;
    Ok(with_token(json!({"Parameters": page.items}), page.next))
}

/// A version of a parameter that a reader asked for.
struct Found<'a> {
    key: &'a str,
    parameter: &'a Parameter,
    version: &'a Version,
    selector: Option<String>,
}

fn find<'a>(name: &str, kept: &'a Parameters, at: &Place<'_>) -> Result<Found<'a>, Refusal> {
    let wanted = Wanted::parse(name);
    let (key, parameter) = kept.get_entry(&wanted.key).ok_or_else(not_found)?;
    let newest = parameter.seen(at).ok_or_else(not_found)?;
    let version = match &wanted.selector {
        None => newest,
        Some(selector) => parameter
            .versions
            .iter()
            .find(|version| version.number <= newest.number && version.number.to_string() == *selector)
            .ok_or_else(|| {
                Refusal::client(
                    "ParameterVersionNotFound",
                    format!(
                        "Systems Manager could not find version {selector} of {}. Verify the version and try again.",
                        wanted.key
                    ),
                )
            })?,
    };
    Ok(Found {
        key,
        parameter,
        version,
        selector: wanted.selector,
    })
}

impl Found<'_> {
    fn view(&self, decrypt: bool, at: &Place<'_>) -> Value {
        let mut view = json!({
            "Name": self.parameter.name,
            "Type": self.parameter.kind.name(),
            "Value": shown(self.parameter, self.version, decrypt),
            "Version": self.version.number,
            "LastModifiedDate": seconds(self.version),
            "ARN": arn(self.key, at),
            "DataType": "text",
        });
        if let Some(selector) = &self.selector {
            view["Selector"] = json!(format!(":{selector}"));
        }
        view
    }
}

fn metadata(key: &str, parameter: &Parameter, version: &Version, at: &Place<'_>) -> Value {
    let mut view = json!({
        "Name": parameter.name,
        "ARN": arn(key, at),
        "Type": parameter.kind.name(),
        "LastModifiedDate": seconds(version),
        "LastModifiedUser": format!("arn:aws:iam::{}:user/sandbox", at.account),
        "Version": version.number,
        "Tier": parameter.tier.name(),
        "Policies": [],
        "DataType": "text",
    });
    if let Some(key_id) = &parameter.key_id {
        view["KeyId"] = json!(key_id);
    }
    if let Some(description) = &version.description {
        view["Description"] = json!(description);
    }
    view
}

fn shown<'a>(parameter: &Parameter, version: &'a Version, decrypt: bool) -> &'a str {
    if parameter.kind == Kind::SecureString && !decrypt {
        &version.ciphertext
    } else {
        &version.value
    }
}

/// Epoch seconds with milliseconds, as JSON 1.1 writes a time.
#[allow(clippy::cast_precision_loss)]
fn seconds(version: &Version) -> f64 {
    version.at.as_millisecond() as f64 / 1000.0
}

fn matches(filter: &Filter, key: &str, parameter: &Parameter) -> bool {
    let option = filter.option.as_deref().unwrap_or("Equals");
    let compare = |held: &str, wanted: &str| match option {
        "BeginsWith" => held.starts_with(wanted),
        "Contains" => held.contains(wanted),
        _ => held == wanted,
    };
    let test = |wanted: &String| match filter.key.as_str() {
        "Name" => compare(&parameter.name, wanted) || compare(key, wanted),
        "Type" => parameter.kind.name() == wanted,
        "KeyId" => parameter.key_id.as_ref() == Some(wanted),
        "Tier" => parameter.tier.name() == wanted,
        "Path" => {
            let below = key
                .strip_prefix(wanted.trim_end_matches('/'))
                .and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|rest| option == "Recursive" || !rest.contains('/'))
        }
        other => {
            let tag = other.strip_prefix("tag:").and_then(|tag| parameter.tags.get(tag));
            tag.is_some_and(|held| compare(held, wanted))
        }
    };
    match filter.values.as_deref() {
        Some(values) if !values.is_empty() => values.iter().any(test),
        _ => filter
            .key
            .strip_prefix("tag:")
            .is_some_and(|tag| parameter.tags.contains_key(tag)),
    }
}

fn invalid_filter(key: &str) -> Refusal {
    Refusal::client("InvalidFilterKey", format!("The filter key {key} is not valid here."))
}

fn with_token(mut answer: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    answer
}
