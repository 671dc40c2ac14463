//! Decides.

pub mod acl;
pub mod api;
pub mod mark;
pub mod name;
pub mod quote;
pub mod secret;
