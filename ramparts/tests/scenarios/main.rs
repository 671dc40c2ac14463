//! The operator from outside: the shipped binary, a real API server, PostgreSQL and Redis, the AWS sandbox with its call log, and a
//! recorder that keeps every version of every Tenant. A scenario does to a tenant what people, clouds and crashes do, and six oracles say
//! whether the laws held. A test is named after its scenario's letter and number, and each oracle is seen to fail on a mutant of the operator.

#![allow(clippy::unwrap_used, clippy::panic)]

mod creation;
mod deletion;
mod drift;
mod harness;
mod instances;
mod oracles;
mod status;
mod triggers;
