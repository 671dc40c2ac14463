//! Stories about plans: what a Tenant asks for, what is there, and the steps that follow, written by hand from the design.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm)]

#[path = "../common/mod.rs"]
mod common;

mod asks;
mod claims;
mod crash;
mod cursor;
mod foreign;
mod limits;
mod new_tenant;
mod numbers;
mod table;
mod unknown;
