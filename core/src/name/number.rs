//! What a derived name holds beside the names people chose: the number of a ledger record, and a kind of access.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a ledger record, 1 to 9999. Names have room for four digits, so no later record can outgrow them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct RecordNo(u16);

impl RecordNo {
    pub const FIRST: Self = Self(1);
    pub const LAST: Self = Self(9999);

    pub fn new(number: u32) -> Option<Self> {
        let number = u16::try_from(number).ok()?;
        (Self::FIRST.0..=Self::LAST.0).contains(&number).then_some(Self(number))
    }

    /// Decimal, in the one way that we write it: no sign, no leading zero, nothing around it.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        plain.then(|| text.parse().ok()).flatten().and_then(Self::new)
    }

    pub fn get(self) -> u32 {
        u32::from(self.0)
    }

    pub fn next(self) -> Option<Self> {
        Self::new(self.get() + 1)
    }
}

impl fmt::Display for RecordNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<RecordNo> for u32 {
    fn from(number: RecordNo) -> Self {
        number.get()
    }
}

impl TryFrom<u32> for RecordNo {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        Self::new(number).ok_or_else(|| format!("record number {number} is not between 1 and {}", Self::LAST))
    }
}

/// What an app may do in its tenant's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Access {
    Owner,
    ReadWrite,
    ReadOnly,
}

impl Access {
    pub const ALL: [Self; 3] = [Self::Owner, Self::ReadWrite, Self::ReadOnly];

    /// How the group role of this access ends: `acme__readwrite`.
    pub fn group_suffix(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::ReadWrite => "readwrite",
            Self::ReadOnly => "readonly",
        }
    }
}

/// As the settings spell it.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "owner",
            Self::ReadWrite => "readWrite",
            Self::ReadOnly => "readOnly",
        })
    }
}
