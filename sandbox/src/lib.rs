//! The local stack: everything the operator talks to, for real, on free loopback ports in one temporary folder. Nothing of it survives the
//! program that started it, and it is never linked into the operator.

pub mod aws;
pub mod cluster;
pub mod folder;
mod http;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod redis;
pub mod secret;
mod settings;
pub mod site;
pub mod stack;
pub mod tls;
pub mod tools;

pub use cluster::{Cluster, User};
pub use postgres::{Postgres, Version};
pub use redis::{Redis, RedisAdmin};
pub use secret::Secret;
pub use stack::{Builder, Stack};
