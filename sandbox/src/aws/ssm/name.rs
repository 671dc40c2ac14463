//! The rules for parameter names, and the one spelling under which a parameter is kept.

use crate::aws::refusal::Refusal;

const LEVELS: usize = 15;
const LENGTH_WITH_ARN: usize = 1011;

/// A name as a reader gave it: plain or as an ARN, perhaps with a version.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub key: String,
    pub selector: Option<String>,
}

impl Wanted {
    pub fn parse(given: &str) -> Self {
        let plain = match given
            .strip_prefix("arn:aws:ssm:")
            .and_then(|rest| rest.split_once(":parameter"))
        {
            Some((_, name)) => name,
            None => given,
        };
        match plain.split_once(':') {
            Some((name, selector)) => Self {
                key: key(name),
                selector: Some(selector.to_owned()),
            },
            None => Self {
                key: key(plain),
                selector: None,
            },
        }
    }
}

/// The spelling under which a parameter is kept: `/X` and `X` are one name.
pub fn key(name: &str) -> String {
    let name = name.trim();
    if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("/{name}")
    }
}

/// The name of a parameter that is about to be made.
pub fn check(name: &str, arn_prefix: usize) -> Result<(), Refusal> {
    let path = name.strip_prefix('/').unwrap_or(name);
    let levels: Vec<&str> = path.split('/').collect();
    if path.is_empty() || levels.iter().any(|level| level.is_empty()) {
        return Err(Refusal::validation(
            "Parameter name must not be empty and must not contain an empty level.",
        ));
    }
    if !path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte))
    {
        return Err(Refusal::validation(
            "Invalid parameter name. Please use correct syntax for referencing a version/label  <name>:<version/label>",
        ));
    }
    if levels.len() > 1 && !name.starts_with('/') {
        return Err(Refusal::validation("Parameter name must be a fully qualified name."));
    }
    reserved(name, path, levels.len() > 1)?;
    if levels.len() > LEVELS {
        return Err(Refusal::client(
            "HierarchyLevelLimitExceededException",
            format!("A hierarchy can have a maximum of {LEVELS} levels."),
        ));
    }
    if arn_prefix + key(name).len() > LENGTH_WITH_ARN {
        return Err(Refusal::validation(format!(
            "Parameter name is longer than {LENGTH_WITH_ARN} with its ARN."
        )));
    }
    Ok(())
}

fn reserved(name: &str, path: &str, hierarchy: bool) -> Result<(), Refusal> {
    let lower = path.to_ascii_lowercase();
    if hierarchy && lower.starts_with("aws") {
        return Err(Refusal::client(
            "AccessDeniedException",
            format!("No access to reserved parameter name: {name}."),
        ));
    }
    if lower.starts_with("aws") || lower.starts_with("ssm") {
        return Err(Refusal::validation(
            "Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive).",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str) -> Option<String> {
        check(name, 50).err().map(|refusal| refusal.code)
    }

    #[test]
    fn names_follow_the_rules_of_the_service() {
        for good in ["X", "/X", "/ramparts/_ledger/acme/1", "a.b-c_d"] {
            assert_eq!(code(good), None, "{good}");
        }
        for bad in [
            "", "/", "/a//b", "/a/", "a/b", "a b", "/a:1", "ssm-x", "/ssm/x", "AwsThing", "/é",
        ] {
            assert_eq!(code(bad).as_deref(), Some("ValidationException"), "{bad}");
        }
        assert_eq!(code("/aws/x").as_deref(), Some("AccessDeniedException"));
        assert_eq!(code(&"/l".repeat(15)), None);
        assert_eq!(
            code(&"/l".repeat(16)).as_deref(),
            Some("HierarchyLevelLimitExceededException")
        );
        assert_eq!(
            code(&format!("/{}", "n".repeat(1000))).as_deref(),
            Some("ValidationException")
        );
    }

    #[test]
    fn a_wanted_name_may_be_an_arn_with_a_version() {
        let wanted = |key: &str, selector: Option<&str>| Wanted {
            key: key.to_owned(),
            selector: selector.map(str::to_owned),
        };
        assert_eq!(Wanted::parse("X"), wanted("/X", None));
        assert_eq!(Wanted::parse("/a/b:3"), wanted("/a/b", Some("3")));
        assert_eq!(
            Wanted::parse("arn:aws:ssm:eu-west-1:1:parameter/a/b:3"),
            wanted("/a/b", Some("3"))
        );
    }
}
