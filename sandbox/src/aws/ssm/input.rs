//! The requests of Parameter Store, field by field as its service model names them.

use std::fmt;

use serde::Deserialize;

use super::store::Tags;
use crate::aws::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PutRequest {
    pub name: String,
    pub value: String,
    #[serde(rename = "Type")]
    pub kind: Option<String>,
    pub key_id: Option<String>,
    pub overwrite: Option<bool>,
    pub tier: Option<String>,
    pub tags: Option<Vec<Tag>>,
    pub description: Option<String>,
    pub allowed_pattern: Option<String>,
    pub policies: Option<String>,
}

impl fmt::Debug for PutRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PutRequest")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Tag {
    pub key: String,
    pub value: String,
}

pub fn tags(list: Vec<Tag>) -> Tags {
    list.into_iter().map(|tag| (tag.key, tag.value)).collect()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Named {
    pub name: String,
    pub with_decryption: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GetMany {
    pub names: Vec<String>,
    pub with_decryption: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeleteMany {
    pub names: Vec<String>,
}

/// `GetParametersByPath` and `DescribeParameters`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Listing {
    pub path: Option<String>,
    pub recursive: Option<bool>,
    pub with_decryption: Option<bool>,
    pub parameter_filters: Option<Vec<Filter>>,
    /// The old filters of `DescribeParameters`.
    pub filters: Option<Vec<Filter>>,
    pub max_results: Option<usize>,
    pub next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Filter {
    pub key: String,
    pub option: Option<String>,
    pub values: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct History {
    pub name: String,
    pub with_decryption: Option<bool>,
    pub max_results: Option<usize>,
    pub next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Tagging {
    pub resource_type: String,
    pub resource_id: String,
    pub tags: Option<Vec<Tag>>,
    pub tag_keys: Option<Vec<String>>,
}

pub fn one_to_ten(names: &[String]) -> Result<(), Refusal> {
    if (1..=10).contains(&names.len()) {
        return Ok(());
    }
    Err(Refusal::validation(format!(
        "1 validation error detected: {} names at 'names' failed to satisfy constraint: Member must have length \
         between 1 and 10",
        names.len()
    )))
}

pub fn page_size(asked: Option<usize>, most: usize) -> Result<usize, Refusal> {
    let size = asked.unwrap_or(most);
    if (1..=most).contains(&size) {
        return Ok(size);
    }
    Err(Refusal::validation(format!(
        "1 validation error detected: Value '{size}' at 'maxResults' failed to satisfy constraint: Member must have \
         value between 1 and {most}"
    )))
}
