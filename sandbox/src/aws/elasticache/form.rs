//! AWS Query input: a flat form whose dotted names spell out lists and structures.

use std::collections::BTreeMap;
use std::fmt;

use super::directory::Tags;
use crate::aws::refusal::Refusal;

/// The fields of a request, or of one structure inside it. `Debug` names the fields and hides what is in them.
#[derive(Clone, Default)]
pub struct Form(BTreeMap<String, String>);

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Form {
    pub fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    pub fn of(fields: &[(&str, &str)]) -> Self {
        Self(
            fields
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn require(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| Refusal::value(format!("The request must contain the parameter {name}.")))
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value == "true")
    }

    pub fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let parse = |value: &str| {
            value
                .parse()
                .map_err(|_| Refusal::value(format!("{name} is not a number")))
        };
        self.get(name).map(parse).transpose()
    }

    /// The structures of a list such as `Tags.Tag.1.Key`, whatever the list calls its members.
    pub fn items(&self, name: &str) -> Vec<Self> {
        let mut items: BTreeMap<usize, Self> = BTreeMap::new();
        for (key, value) in &self.0 {
            let Some(rest) = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            let Some((_member, place)) = rest.split_once('.') else {
                continue;
            };
            let (place, field) = place.split_once('.').unwrap_or((place, ""));
            if let Ok(place) = place.parse() {
                items
                    .entry(place)
                    .or_default()
                    .0
                    .insert(field.to_owned(), value.clone());
            }
        }
        items.into_values().collect()
    }

    /// The texts of a list such as `Passwords.member.1`.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.items(name)
            .into_iter()
            .filter_map(|mut item| item.0.remove(""))
            .collect()
    }

    pub fn tags(&self) -> Tags {
        let pair = |tag: Self| {
            Some((
                tag.get("Key")?.to_owned(),
                tag.get("Value").unwrap_or_default().to_owned(),
            ))
        };
        self.items("Tags").into_iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_structures_are_read_in_order() {
        let form = Form::parse(
            b"Passwords.member.2=two&Passwords.member.1=o%2Bne&Tags.Tag.1.Key=k&Tags.Tag.1.Value=v&Filters.member.1.Name=user-id\
              &Filters.member.1.Values.member.1=a&Filters.member.1.Values.member.2=b&UserIds=",
        );
        assert_eq!(form.list("Passwords"), ["o+ne", "two"]);
        assert_eq!(form.tags().get("k").map(String::as_str), Some("v"));
        let filters = form.items("Filters");
        assert_eq!(filters[0].get("Name"), Some("user-id"));
        assert_eq!(filters[0].list("Values"), ["a", "b"]);
        assert!(form.list("UserIds").is_empty());
    }
}
