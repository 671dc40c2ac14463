//! SSM Parameter Store as it speaks: JSON 1.1, one operation per `X-Amz-Target`. Operations that the operator has no use for answer
//! `UnknownOperationException`, so that nothing is silently half there.

mod input;
mod name;
mod reading;
mod store;

use serde::Deserialize;
use serde_json::{Value, json};

pub use self::name::key;
pub use self::store::{Kind, Parameter, Parameters, Put, Tags};
use super::log::Subject;
use super::page;
use super::place::Place;
use super::refusal::Refusal;
use input::{DeleteMany, GetMany, History, Listing, Named, PutRequest, Tagging};

/// What a request is about, for the log. Only names and switches are taken, never `Value`.
pub fn subject(input: &Value) -> Subject {
    let text = |field: &str| input.get(field).and_then(Value::as_str);
    let names = || -> Option<String> {
        let names = input.get("Names")?.as_array()?;
        Some(names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","))
    };
    let key = text("Name")
        .or(text("Path"))
        .or(text("ResourceId"))
        .map(str::to_owned)
        .or_else(names);
    let switch =
        |field: &str, flag: &str| (input.get(field).and_then(Value::as_bool) == Some(true)).then(|| flag.to_owned());
    let flags = [
        switch("Overwrite", "overwrite"),
        switch("WithDecryption", "decrypt"),
        switch("Recursive", "recursive"),
        text("NextToken").map(|_| "next-page".to_owned()),
    ];
    Subject {
        key: key.unwrap_or_default(),
        flags: flags.into_iter().flatten().collect(),
    }
}

pub fn answer(operation: &str, input: Value, kept: &mut Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    match operation {
        "PutParameter" => put(parse(input)?, kept, at),
        "GetParameter" => reading::get(&parse(input)?, kept, at),
        "GetParameters" => reading::get_many(&parse::<GetMany>(input)?, kept, at),
        "GetParametersByPath" => reading::by_path(&parse::<Listing>(input)?, kept, at),
        "DescribeParameters" => reading::describe(&parse::<Listing>(input)?, kept, at),
        "GetParameterHistory" => reading::history(&parse::<History>(input)?, kept, at),
        "DeleteParameter" => delete(&parse(input)?, kept),
        "DeleteParameters" => delete_many(&parse(input)?, kept),
        "ListTagsForResource" => list_tags(&parse(input)?, kept),
        "AddTagsToResource" => add_tags(parse(input)?, kept),
        "RemoveTagsFromResource" => remove_tags(&parse(input)?, kept),
        other => Err(Refusal::client(
            "UnknownOperationException",
            format!("the sandbox has no operation {other}"),
        )),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(input: Value) -> Result<T, Refusal> {
    // The parser's message may quote the offending value: it is not passed on.
    T::deserialize(input).map_err(|_| {
        Refusal::client(
            "SerializationException",
            "the request does not have the shape of this operation",
        )
    })
}

fn put(request: PutRequest, kept: &mut Parameters, at: &Place<'_>) -> Result<Value, Refusal> {
    if request.allowed_pattern.is_some() || request.policies.is_some() {
        return Err(Refusal::validation(
            "the sandbox does not support AllowedPattern and Policies",
        ));
    }
    let put = Put {
        name: request.name,
        value: request.value,
        kind: request.kind.as_deref().map(Kind::parse).transpose()?,
        key_id: request.key_id,
        overwrite: request.overwrite.unwrap_or_default(),
        tier: request.tier,
        tags: input::tags(request.tags.unwrap_or_default()),
        description: request.description,
    };
    let (version, tier) = kept.put(put, arn("", at).len(), at.now, at.terms)?;
    Ok(json!({"Version": version, "Tier": tier.name()}))
}

fn delete(request: &Named, kept: &mut Parameters) -> Result<Value, Refusal> {
    if kept.delete(&key(&request.name)) {
        Ok(json!({}))
    } else {
        Err(not_found())
    }
}

fn delete_many(request: &DeleteMany, kept: &mut Parameters) -> Result<Value, Refusal> {
    input::one_to_ten(&request.names)?;
    let (deleted, invalid): (Vec<_>, Vec<_>) = request.names.iter().partition(|name| kept.delete(&key(name)));
    Ok(json!({"DeletedParameters": deleted, "InvalidParameters": invalid}))
}

fn tagged<'a>(request: &Tagging, kept: &'a mut Parameters) -> Result<&'a mut Tags, Refusal> {
    if request.resource_type != "Parameter" {
        return Err(Refusal::client(
            "InvalidResourceType",
            "the sandbox tags parameters only",
        ));
    }
    let parameter = kept.get_mut(&key(&request.resource_id));
    parameter.map(|parameter| &mut parameter.tags).ok_or_else(|| {
        Refusal::client(
            "InvalidResourceId",
            "The resource ID isn't valid. Verify that you entered the correct ID and try again.",
        )
    })
}

fn list_tags(request: &Tagging, kept: &mut Parameters) -> Result<Value, Refusal> {
    let tags = tagged(request, kept)?;
    let list: Vec<_> = tags
        .iter()
        .map(|(key, value)| json!({"Key": key, "Value": value}))
        .collect();
    Ok(json!({"TagList": list}))
}

fn add_tags(mut request: Tagging, kept: &mut Parameters) -> Result<Value, Refusal> {
    let new = input::tags(request.tags.take().unwrap_or_default());
    let tags = tagged(&request, kept)?;
    let mut merged = tags.clone();
    merged.extend(new);
    if merged.len() > store::TAGS {
        return Err(Refusal::client(
            "TooManyTagsError",
            "A parameter can have at most 50 tags.",
        ));
    }
    *tags = merged;
    Ok(json!({}))
}

fn remove_tags(request: &Tagging, kept: &mut Parameters) -> Result<Value, Refusal> {
    let tags = tagged(request, kept)?;
    for key in request.tag_keys.iter().flatten() {
        tags.remove(key);
    }
    Ok(json!({}))
}

fn arn(key: &str, at: &Place<'_>) -> String {
    at.arn("ssm", &format!("parameter{key}"))
}

fn not_found() -> Refusal {
    Refusal::client(
        "ParameterNotFound",
        "The parameter couldn't be found. Verify the name and try again.",
    )
}

fn bad_token(_: page::BadToken) -> Refusal {
    Refusal::client("InvalidNextToken", "The specified token isn't valid.")
}
