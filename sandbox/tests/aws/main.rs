//! The AWS sandbox as its users see it: through the real SDKs, over HTTP, with a real Redis behind it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod client;
mod faults;
mod groups;
mod listing;
mod projection;
mod ssm;
mod users;
