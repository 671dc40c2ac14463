//! Access strings: what is refused, and the canonical form in which the service hands them back. Rules are applied from left to right, so
//! their order within keys, channels and commands is kept.

use crate::aws::refusal::Refusal;

const CATEGORIES: &[&str] = &[
    "all",
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
    "json",
    "search",
];

#[derive(Default)]
struct Rules {
    on: bool,
    keys: Vec<String>,
    channels: Vec<String>,
    commands: Vec<String>,
    selectors: Vec<String>,
}

/// The canonical form of an access string: state, keys, channels, then commands from a stated base.
pub fn canonical(given: &str) -> Result<String, Refusal> {
    if given.trim().is_empty() {
        return Err(Refusal::value("Access string must not be blank."));
    }
    let (plain, selectors) = split_selectors(given)?;
    let mut rules = Rules {
        selectors,
        ..Rules::default()
    };
    for token in plain.split_whitespace() {
        rules.take(token)?;
    }
    Ok(rules.write())
}

impl Rules {
    fn take(&mut self, token: &str) -> Result<(), Refusal> {
        match token.to_ascii_lowercase().as_str() {
            "on" => self.on = true,
            "off" => self.on = false,
            "allkeys" => self.keys.push("~*".to_owned()),
            "resetkeys" => self.keys.clear(),
            "allchannels" => self.channels.push("&*".to_owned()),
            "resetchannels" => self.channels = vec!["resetchannels".to_owned()],
            "allcommands" => self.command("+@all"),
            "nocommands" => self.command("-@all"),
            lower if is_command(lower) => self.command(lower),
            _ if is_key(token) => self.keys.push(token.to_owned()),
            _ if token.len() > 1 && token.starts_with('&') => self.channels.push(token.to_owned()),
            // The token may be a password out of place: it is not repeated.
            _ => return Err(Refusal::value("Access string contains a rule that is not allowed.")),
        }
        Ok(())
    }

    /// A rule for all commands makes those before it void.
    fn command(&mut self, rule: &str) {
        if rule.ends_with("@all") {
            self.commands.clear();
        }
        self.commands.push(rule.to_owned());
    }

    fn write(mut self) -> String {
        if !self.commands.first().is_some_and(|first| first.ends_with("@all")) {
            self.commands.insert(0, "-@all".to_owned());
        }
        let state = if self.on { "on" } else { "off" }.to_owned();
        let parts = [vec![state], self.keys, self.channels, self.commands, self.selectors];
        parts.concat().join(" ")
    }
}

/// Takes the `( … )` selectors out; what is inside them is left as it is.
fn split_selectors(given: &str) -> Result<(String, Vec<String>), Refusal> {
    let (mut plain, mut selectors, mut rest) = (String::new(), Vec::new(), given);
    while let Some((before, after)) = rest.split_once('(') {
        let (inside, after) = after
            .split_once(')')
            .ok_or_else(|| Refusal::value("Access string has an unclosed selector."))?;
        plain.push_str(before);
        plain.push(' ');
        selectors.push(format!("({})", inside.split_whitespace().collect::<Vec<_>>().join(" ")));
        rest = after;
    }
    plain.push_str(rest);
    Ok((plain, selectors))
}

fn is_command(rule: &str) -> bool {
    let Some(name) = rule.strip_prefix(['+', '-']) else {
        return false;
    };
    if let Some(category) = name.strip_prefix('@') {
        return CATEGORIES.contains(&category);
    }
    let word = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_lowercase())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte))
    };
    name.split('|').count() <= 2 && name.split('|').all(word)
}

fn is_key(rule: &str) -> bool {
    let pattern = ["~", "%R~", "%W~", "%RW~", "%WR~"]
        .iter()
        .find_map(|sign| rule.strip_prefix(sign));
    pattern.is_some_and(|pattern| !pattern.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_access_string_comes_back_in_canonical_form() {
        for (given, expected) in [
            ("on ~app:* +@read", "on ~app:* -@all +@read"),
            (
                "~objects:* ~items:* ~public:*",
                "off ~objects:* ~items:* ~public:* -@all",
            ),
            ("on ~* +@all", "on ~* +@all"),
            ("+get ON ~a", "on ~a -@all +get"),
            ("on allkeys allcommands", "on ~* +@all"),
            ("on ~a +@read -@all +GET", "on ~a -@all +get"),
            ("on resetchannels &x &y ~k -@all", "on ~k resetchannels &x &y -@all"),
            ("on ~a +@read (~b +get)", "on ~a -@all +@read (~b +get)"),
            ("off -@all", "off -@all"),
        ] {
            assert_eq!(canonical(given).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn the_canonical_form_is_its_own_canonical_form() {
        for form in [
            "on ~acme:* resetchannels &acme:* -@all +@read +@write -@dangerous -client|kill +client|getname",
            "on %R~a:* ~b:* -@all +@read",
        ] {
            assert_eq!(canonical(form).unwrap(), form);
        }
    }

    #[test]
    fn what_is_no_rule_or_not_allowed_is_refused() {
        for bad in [
            "",
            "  ",
            "this is not acl",
            "on >password",
            "on nopass",
            "reset",
            "on +@nonsense",
            "on ~",
            "on (~a",
        ] {
            assert_eq!(
                canonical(bad).err().map(|refusal| refusal.code).as_deref(),
                Some("InvalidParameterValue"),
                "{bad}"
            );
        }
    }
}
