//! The AWS layers against the sandbox's real wire protocols and a real Redis: every operation, every class of error, and no secret in
//! anything that can be printed.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bench;
mod cache;
mod faults;
mod proof;
mod secrecy;
mod store;
