//! Reading a map of known keys. A key that is not known is answered with the nearest one that is; a key of a later version says
//! so; a value of the wrong kind is described by its kind, never repeated, since it could be a password in the wrong place.

use super::{
    problem::Problems,
    tree::{Node, Value},
};

/// The keys of one kind of map.
pub(super) struct Keys {
    pub known: &'static [&'static str],
    /// Designed, and not working yet.
    pub later: &'static [&'static str],
}

/// A map whose keys were checked.
pub(super) struct Map<'n> {
    path: String,
    line: u64,
    entries: Vec<(&'n str, u64, &'n Node)>,
}

/// A value and the words for where it stands.
#[derive(Clone)]
pub(super) struct At<'n> {
    pub path: String,
    pub node: &'n Node,
}

impl<'n> Map<'n> {
    /// With these keys and no others.
    pub fn strict(at: &At<'n>, keys: &Keys, problems: &mut Problems) -> Option<Self> {
        let map = Self::open(at, problems)?;
        for (key, line, _) in &map.entries {
            if keys.later.contains(key) {
                problems.add(
                    *line,
                    format!("{key:?}{} is not supported by this version", map.inside()),
                );
            } else if !keys.known.contains(key) {
                let hint = match nearest(key, keys.known) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => format!("the keys here are {}", keys.known.join(", ")),
                };
                problems.add(*line, format!("unknown key {key:?}{}; {hint}", map.inside()));
            }
        }
        Some(map)
    }

    /// With keys that are names. Nothing at all is an empty map.
    pub fn open(at: &At<'n>, problems: &mut Problems) -> Option<Self> {
        let entries = match &at.node.value {
            Value::Nothing => &[],
            Value::Map(entries) => entries.as_slice(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Fraction(_) | Value::Text(_) | Value::List(_)) => {
                problems.add(
                    at.line(),
                    format!("{} must be a map of keys, not {}", at.words(), kind(other)),
                );
                return None;
            }
        };
        let entries = entries
            .iter()
            .map(|(key, node)| (key.value.as_str(), key.referenced.line(), node))
            .collect();
        Some(Self {
            path: at.path.clone(),
            line: at.line(),
            entries,
        })
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, ..)| *name == key)
    }

    pub fn get(&self, key: &str) -> Option<At<'n>> {
        self.entries
            .iter()
            .find(|(name, ..)| *name == key)
            .map(|(.., node)| At {
                path: self.join(key),
                node,
            })
    }

    pub fn need(&self, key: &str, problems: &mut Problems) -> Option<At<'n>> {
        let found = self.get(key);
        if found.is_none() {
            let whole = if self.path.is_empty() { "the file" } else { &self.path };
            problems.add(self.line, format!("{whole} has no {key:?}"));
        }
        found
    }

    /// Every entry with its key, the key's line and its value.
    pub fn each(&self) -> impl Iterator<Item = (&'n str, u64, At<'n>)> {
        self.entries.iter().map(|&(key, line, node)| {
            (
                key,
                line,
                At {
                    path: self.join(key),
                    node,
                },
            )
        })
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn inside(&self) -> String {
        if self.path.is_empty() {
            String::new()
        } else {
            format!(" in {}", self.path)
        }
    }
}

impl At<'_> {
    pub fn line(&self) -> u64 {
        self.node.referenced.line().max(1)
    }

    fn words(&self) -> &str {
        if self.path.is_empty() { "the file" } else { &self.path }
    }

    pub fn wrong(&self, wanted: &str, problems: &mut Problems) {
        problems.add(self.line(), format!("{} must be {wanted}", self.words()));
    }

    /// A word. A number or a boolean is not one: `"20"` is, `20` is not.
    pub fn text(&self, wanted: &str, problems: &mut Problems) -> Option<&str> {
        if let Value::Text(text) = &self.node.value
            && !text.is_empty()
        {
            return Some(text);
        }
        self.wrong(&format!("{wanted}, not {}", kind(&self.node.value)), problems);
        None
    }

    /// A word that something makes sense of; what it says of a word that makes none is the problem.
    pub fn parsed<T, E: ToString>(
        &self,
        wanted: &str,
        problems: &mut Problems,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(self.text(wanted, problems)?) {
            Ok(value) => Some(value),
            Err(error) => {
                problems.add(self.line(), format!("{}: {}", self.words(), error.to_string()));
                None
            }
        }
    }

    /// One word of a few. The word is repeated: it stands where a choice stands.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)], problems: &mut Problems) -> Option<T> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let wanted = words.join(" or ");
        let text = self.text(&wanted, problems)?;
        let found = choices
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, choice)| *choice);
        if found.is_none() {
            let hint = nearest(text, &words)
                .map(|near| format!("; did you mean {near:?}?"))
                .unwrap_or_default();
            self.wrong(&format!("{wanted}, not {text:?}{hint}"), problems);
        }
        found
    }

    pub fn truth(&self, problems: &mut Problems) -> Option<bool> {
        let Value::Bool(value) = &self.node.value else {
            self.wrong(&format!("true or false, not {}", kind(&self.node.value)), problems);
            return None;
        };
        Some(*value)
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nothing => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Fraction(_) => "a fraction",
        Value::Text(text) if text.is_empty() => "an empty text",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}

/// The likeliest intention, if there is one: the same but for case and separators, or a typing error or two away.
fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let bare = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let written = bare(written);
    let near = known
        .iter()
        .map(|key| (distance(&written, &bare(key)), *key))
        .min_by_key(|(distance, _)| *distance)?;
    (near.0 <= 1.max(written.chars().count() / 3)).then_some(near.1)
}

/// How many characters must be put in, left out, replaced, or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let mut best = (rows[i][j] + usize::from(l != r))
                .min(rows[i][j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}
