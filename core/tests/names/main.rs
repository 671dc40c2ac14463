//! Names: the alphabets and lengths that people have to keep to, and what that buys.

#![allow(clippy::unwrap_used)]

mod injective;
mod spelling;

use ramparts_core::name::{RecordNo, TenantName};

fn tenant(text: &str) -> TenantName {
    TenantName::parse(text).unwrap()
}

fn record(number: u32) -> RecordNo {
    RecordNo::new(number).unwrap()
}
