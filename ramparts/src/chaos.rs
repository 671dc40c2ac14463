//! Test only (feature `chaos`): ends the process at a chosen external call, as a SIGKILL would, and turns on wrong protocols by name,
//! so that the oracles can be seen to catch them. Nothing of this is in the shipped binary.

use std::{
    env,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::gate::Call;

/// Calls run side by side, so those that began and those that came back are counted apart.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
static KILL_BEFORE: LazyLock<Option<u64>> = LazyLock::new(|| number("RAMPARTS_CHAOS_KILL_BEFORE"));
static KILL_AFTER: LazyLock<Option<u64>> = LazyLock::new(|| number("RAMPARTS_CHAOS_KILL_AFTER"));
static MUTANT: LazyLock<Option<String>> = LazyLock::new(|| env::var("RAMPARTS_CHAOS_MUTANT").ok());

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

/// A call is about to be made.
pub fn before(call: &Call<'_>) {
    let next = BEGUN.fetch_add(1, Ordering::SeqCst) + 1;
    if *KILL_BEFORE == Some(next) {
        die("before", next, call);
    }
}

/// A call came back.
pub fn after(call: &Call<'_>) {
    let done = DONE.fetch_add(1, Ordering::SeqCst) + 1;
    if *KILL_AFTER == Some(done) {
        die("after", done, call);
    }
}

/// Whether this wrong protocol was chosen.
pub fn mutant(name: &str) -> bool {
    MUTANT.as_deref() == Some(name)
}

fn die(when: &str, number: u64, call: &Call<'_>) -> ! {
    eprintln!("chaos: killed {when} call {number}: {call}");
    std::process::abort()
}
