//! Passes over the world: what the operator does, step by step, with whatever goes wrong on the way.

use jiff::Timestamp;
use ramparts_core::{
    cursor::{Cursor, Outcome},
    observed::{Membership, Observed, Presence},
    plan::{Plan, plan},
    report::{Pass, Report, report},
};

use super::{Wish, World, servers::unreachable};

/// What came of one pass.
pub struct Passed {
    pub plan: Plan,
    pub outcomes: Vec<Outcome>,
    pub report: Report,
}

/// What becomes of the step with that index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It happens, and we hear of it.
    Happens,
    /// It happens, and the reply is lost.
    ReplyLost,
    /// It does not happen.
    Fails,
    /// It does not happen, and we are killed.
    KilledBefore,
    /// It happens, and we are killed.
    KilledAfter,
}

impl World {
    /// One whole pass; the Tenant keeps the status that it gets.
    pub fn pass(&mut self, wish: &mut Wish, at: Timestamp) -> Passed {
        self.pass_with(wish, at, |_| Fate::Happens).expect("nobody was killed")
    }

    /// One pass, some of whose steps go wrong; nothing if we were killed.
    pub fn pass_with(&mut self, wish: &mut Wish, at: Timestamp, fate: impl Fn(usize) -> Fate) -> Option<Passed> {
        let desired = wish.desired();
        let observed = self.observe(&desired);
        let plan = plan(&desired, &observed, at);
        let mut cursor = Cursor::new(&plan);
        while let Some(index) = cursor.advance() {
            let step = &plan.steps[index].step;
            let outcome = match fate(index) {
                Fate::Happens => self.apply(&desired, step),
                Fate::ReplyLost => {
                    self.apply(&desired, step);
                    unreachable(step)
                }
                Fate::Fails => unreachable(step),
                Fate::KilledBefore => return None,
                Fate::KilledAfter => {
                    self.apply(&desired, step);
                    return None;
                }
            };
            cursor.note(outcome);
        }
        let outcomes = cursor.finish();
        let pass = Pass {
            desired: &desired,
            observed: &observed,
            plan: &plan,
            outcomes: &outcomes,
        };
        let report = report(pass, wish.tenant.status.as_ref(), at);
        self.recall = self.recall.after(pass, at);
        wish.tenant.status = Some(report.status.clone());
        Some(Passed { plan, outcomes, report })
    }

    /// The services finish what they were at.
    pub fn settle(&mut self) {
        for presence in self.cache.users.values_mut() {
            if let Presence::Ours(seen) = presence {
                seen.pending = None;
                if seen.membership == Membership::Joining {
                    seen.membership = Membership::Member;
                }
            }
        }
    }
}

/// What is said of a plan with those outcomes.
pub fn finish(wish: &Wish, observed: &Observed, plan: &Plan, outcomes: &[Outcome], at: Timestamp) -> Report {
    let desired = &wish.desired();
    let pass = Pass {
        desired,
        observed,
        plan,
        outcomes,
    };
    report(pass, wish.tenant.status.as_ref(), at)
}
