//! The same program with the test-only feature `chaos`. Never shipped.

use std::process::ExitCode;

fn main() -> ExitCode {
    ramparts::cli::main()
}
