//! The local stack.

pub mod aws;
