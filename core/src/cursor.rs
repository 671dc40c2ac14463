//! What may run next, given the outcomes so far. Pure: `execute` is a loop of a few lines around it, so that a test, a simulation and
//! the operator walk a plan in exactly the same way.

use crate::{
    failure::{Class, Failure},
    observed::Layer,
    plan::Plan,
    reason::Reason,
};

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, or had happened already.
    Done,
    /// The service is at it; ask again soon.
    Pending(Reason, String),
    /// It did not happen, or nobody knows.
    Failed(Failure),
    /// Something it needs is not done.
    Skipped,
}

/// A walk over a plan.
#[derive(Debug)]
pub struct Cursor<'a> {
    plan: &'a Plan,
    outcomes: Vec<Outcome>,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a plan.
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            outcomes: Vec::with_capacity(plan.steps.len()),
        }
    }

    /// The next step that may run, if any. Steps that may not run are passed over as skipped.
    pub fn advance(&mut self) -> Option<usize> {
        loop {
            let index = self.outcomes.len();
            let planned = self.plan.steps.get(index)?;
            let ready = planned
                .needs
                .iter()
                .all(|need| self.outcomes.get(*need) == Some(&Outcome::Done));
            if ready && !self.is_out_of_reach(planned.step.layer()) {
                return Some(index);
            }
            self.outcomes.push(Outcome::Skipped);
        }
    }

    /// Notes what came of the step that `advance` gave.
    pub fn note(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// One outcome for each step of the plan.
    pub fn finish(mut self) -> Vec<Outcome> {
        self.outcomes.resize(self.plan.steps.len(), Outcome::Skipped);
        self.outcomes
    }

    /// A server that did not answer is not asked again in this pass: every further call would wait for its deadline too.
    fn is_out_of_reach(&self, layer: Layer) -> bool {
        self.outcomes.iter().zip(&self.plan.steps).any(|(outcome, planned)| {
            planned.step.layer() == layer
                && matches!(outcome, Outcome::Failed(failure) if failure.class == Class::Transient)
        })
    }
}
