//! The port between deciding and doing: a session over one tenant can observe, take the tenant's lock, and carry out a step. The live
//! implementation stands in `live.rs`; a simulation implements the same four verbs.

use std::future::Future;

use ramparts_core::{
    cursor::Outcome, desired::Desired, failure::Failure, observed::Observed, recall::Recall, step::Step,
};

/// Where tenants live.
pub trait World: Send + Sync + 'static {
    /// One pass over one tenant.
    type Session: Session;

    /// Begins a pass.
    fn session(&self, desired: &Desired) -> Self::Session;
}

/// One pass over one tenant. It holds what was read, and the lock, for as long as the pass lasts.
pub trait Session: Send {
    /// Looks at every layer.
    fn observe(&mut self, recall: Recall) -> impl Future<Output = Observed> + Send;

    /// Takes the tenant's lock on the server where it lives. What was observed before is void.
    fn lock(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Whether the lock is held.
    fn is_locked(&self) -> bool;

    /// Carries out one step, with the credentials that the store gave back and no others.
    fn apply(&mut self, step: &Step) -> impl Future<Output = Outcome> + Send;

    /// Ends the pass and releases the lock.
    fn close(self) -> impl Future<Output = ()> + Send;
}
