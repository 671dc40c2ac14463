//! What an API server checks beside the rules: kinds, bounds, patterns, formats, and that no field is unknown. Only what our schema
//! uses; anything else in a schema is a problem, so that nothing is passed over.

use kube::core::cel::Validator;
use serde_json::{Value, json};

/// The keywords that are checked here or elsewhere, or that only describe.
const KNOWN: [&str; 19] = [
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "maxItems",
    "maxProperties",
    "format",
    "description",
    "title",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
    "minimum",
    "maximum",
];

/// What the API server adds to every object, and checks itself.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    for keyword in schema.as_object().into_iter().flat_map(|schema| schema.keys()) {
        if !KNOWN.contains(&keyword.as_str()) {
            found.push(format!("{path}: the schema says {keyword}, which is not checked here"));
        }
    }
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        _ => false,
    };
    if !fits {
        found.push(format!("{path} is not of type {}", schema["type"]));
        return;
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        found.push(format!("{path} is none of {}", schema["enum"]));
    }
    match value {
        Value::Object(map) => object(schema, map, path, found),
        Value::Array(items) => list(schema, items, path, found),
        Value::String(text) => string(schema, text, path, found),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn object(schema: &Value, map: &serde_json::Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (key, value) in map {
        let inner = format!("{path}.{key}");
        if let Some(property) = schema["properties"].get(key) {
            check(property, value, &inner, found);
        } else if schema["additionalProperties"].is_object() {
            check(&schema["additionalProperties"], value, &inner, found);
        } else if !(path.is_empty() && OF_EVERY_OBJECT.contains(&key.as_str())) {
            found.push(format!("{inner} is unknown"));
        }
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        if !map.contains_key(required.as_str().unwrap_or_default()) {
            found.push(format!("{path} lacks {required}"));
        }
    }
    if schema["maxProperties"]
        .as_u64()
        .is_some_and(|most| map.len() as u64 > most)
    {
        found.push(format!("{path} has too many entries"));
    }
}

fn list(schema: &Value, items: &[Value], path: &str, found: &mut Vec<String>) {
    for item in items {
        check(&schema["items"], item, &format!("{path}[]"), found);
    }
    if schema["maxItems"]
        .as_u64()
        .is_some_and(|most| items.len() as u64 > most)
    {
        found.push(format!("{path} has too many items"));
    }
    let key = |item: &Value| match schema["x-kubernetes-list-map-keys"][0].as_str() {
        Some(key) => item[key].clone(),
        None => item.clone(),
    };
    let doubled = items
        .iter()
        .enumerate()
        .any(|(at, item)| items[..at].iter().any(|other| key(other) == key(item)));
    if doubled && schema["x-kubernetes-list-type"] != "atomic" {
        found.push(format!("{path} has an item twice"));
    }
}

fn string(schema: &Value, text: &str, path: &str, found: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if schema["minLength"].as_u64().is_some_and(|least| length < least)
        || schema["maxLength"].as_u64().is_some_and(|most| length > most)
    {
        found.push(format!("{path} is too short or too long"));
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let rule = format!("self.matches('{pattern}')");
        let schema = json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
        if Validator::new().validate(&schema, &json!(text), None).is_err() {
            found.push(format!("{path} does not match {pattern}"));
        }
    }
    let time = schema["format"] == "date-time";
    if time && text.parse::<jiff::Timestamp>().is_err() {
        found.push(format!("{path} is no time"));
    }
}
