//! What stands in the store: records and copies, byte for byte as they were ever written, and everything else that may be found in
//! their place. What is not ours is Foreign; what is ours and cannot be understood is Malformed, and no message quotes it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

#[allow(unused_imports)]
#[path = "../common/mod.rs"]
mod common;

mod copies;
mod records;

use ramparts_core::{
    name::{Installation, TenantName},
    record::Read,
};

fn prod() -> Installation {
    Installation::parse("prod").unwrap()
}

fn acme() -> TenantName {
    TenantName::parse("acme").unwrap()
}

fn malformed<T: std::fmt::Debug>(read: Read<T>) -> String {
    match read {
        Read::Malformed(message) => {
            assert!(!message.contains(common::CANARY), "{message}");
            message
        }
        other => panic!("{other:?}"),
    }
}
