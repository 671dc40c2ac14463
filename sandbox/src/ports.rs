//! Free loopback ports, from below the range that the kernel hands out to outgoing connections. A port inside that range could be taken by any
//! client while a server plays an outage, and a client that retries against it can even end up connected to itself.

use crate::process;
use anyhow::{Context, Error, Result, bail};
use rand::RngExt;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

/// What is left free below: well-known ports and those of servers that people run by hand (5432, 6379, 8080 and so on).
const LOWEST: u16 = 12_000;
const ATTEMPTS: usize = 200;

/// A port that nothing listens on at this moment. It is not reserved: whoever starts a server on it tries again with another if it was lost.
pub fn free() -> Result<u16> {
    let range = candidates();
    for _ in 0..ATTEMPTS {
        let port = rand::rng().random_range(range.clone());
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "looking for a free loopback port: {ATTEMPTS} ports between {} and {} are all in use",
        range.start,
        range.end
    )
}

/// A server's repeated attempts to be the first on a free port.
#[derive(Debug)]
pub struct Claim {
    server: &'static str,
    left: u32,
}

impl Claim {
    pub fn new(server: &'static str) -> Self {
        Self { server, left: 4 }
    }

    pub fn next(&self) -> Result<u16> {
        free().with_context(|| format!("starting {}", self.server))
    }

    /// Whether to try again after this failure: only if the port went to somebody else, and not for ever.
    pub fn lost(&mut self, error: Error) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 && process::lost_its_port(&error) {
            Ok(())
        } else {
            Err(error)
        }
    }
}

fn candidates() -> Range<u16> {
    let ephemeral = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u16>().ok());
    match ephemeral {
        Some(low) if low > LOWEST + 1_000 => LOWEST..low,
        _ => LOWEST..u16::MAX,
    }
}
