//! Why a name was refused: which name, and which rule it broke.

use std::fmt;

/// What a caller does about a refused name depends on this alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameErrorKind {
    /// A byte that the alphabet does not have, or nothing at all.
    Invalid,
    /// It does not fit where it has to go, and is not cut.
    TooLong,
    /// It means something to PostgreSQL, RDS, SSM or to us.
    Reserved,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    kind: NameErrorKind,
    message: String,
}

impl NameError {
    pub fn kind(&self) -> NameErrorKind {
        self.kind
    }

    pub(super) fn invalid(noun: &str, text: &str, found: impl fmt::Display, rule: &str) -> Self {
        Self {
            kind: NameErrorKind::Invalid,
            message: format!("{noun} {} {found}; {rule}", shown(text)),
        }
    }

    pub(super) fn too_long(noun: &str, text: &str, limit: usize) -> Self {
        Self {
            kind: NameErrorKind::TooLong,
            message: format!(
                "{noun} {} is {} bytes, at most {limit} are allowed",
                shown(text),
                text.len()
            ),
        }
    }

    /// For a name that we would make: it is refused already now if its four-digit successor would not fit.
    pub(super) fn would_be_too_long(noun: &str, text: &str, longest: usize, keeper: &str, limit: usize) -> Self {
        Self {
            kind: NameErrorKind::TooLong,
            message: format!(
                "{noun} {} would be {longest} bytes with a four-digit record number, {keeper} keeps {limit}",
                shown(text)
            ),
        }
    }

    pub(super) fn reserved(noun: &str, text: &str, by: &str) -> Self {
        Self {
            kind: NameErrorKind::Reserved,
            message: format!("{noun} {} is reserved: {by}", shown(text)),
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NameError {}

/// Quoted, with control characters escaped, and no longer than a line: a refused name may be anything.
fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}
