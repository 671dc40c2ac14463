//! The story, on one page: desire → observe → plan → execute → report. It is generic over the world and the cluster, so that the
//! operator, a folder of manifests and a simulation run the very same code.
//!
//! A pass that will write takes the tenant's lock, reads the Tenant again, and observes again under the lock. Status is written once,
//! whole, at the end.

use std::time::Instant;

use jiff::Timestamp;
use ramparts_core::{
    api::Tenant,
    cursor::{Cursor, Outcome},
    desired::{Desired, desire},
    failure::Failure,
    observed::Observed,
    plan::{Plan, plan},
    reason::Reason,
    recall::Recall,
    report::{Next, Pass, Report, refuse, report},
    settings::Settings,
};

use crate::{
    cluster::Cluster,
    memory::Memory,
    metrics::Metrics,
    world::{Session, World},
};

/// What a pass stands on.
#[derive(Debug)]
pub struct Context<'a, W, C> {
    /// The servers.
    pub world: &'a W,
    /// Where Tenants are read and statuses written.
    pub cluster: &'a C,
    /// The settings in force.
    pub settings: &'a Settings,
    /// What this process remembers.
    pub memory: &'a Memory,
    /// What is counted.
    pub metrics: &'a Metrics,
}

/// One pass over one tenant.
pub async fn reconcile<W: World, C: Cluster>(name: &str, ctx: &Context<'_, W, C>) -> Result<Next, Failure> {
    let started = Instant::now();
    let Some(tenant) = ctx.cluster.read(name).await? else {
        ctx.memory.forget(name);
        return Ok(Next::Sweep);
    };
    if tenant.metadata.deletion_timestamp.is_some() {
        // Deletion under Retain: nothing to do. Everything stays, and a Tenant created again returns to it.
        return Ok(Next::Sweep);
    }
    let report = match desire(&tenant, ctx.settings) {
        Err(refusal) => refuse(
            &refusal,
            tenant.metadata.generation.unwrap_or_default(),
            tenant.status.as_ref(),
            now(),
        ),
        Ok(desired) => match pass(&tenant, &desired, ctx).await? {
            Some(report) => report,
            // The Tenant changed while the lock was awaited: what was wanted a moment ago is no longer wanted.
            None => return Ok(Next::Soon),
        },
    };
    write(&tenant, &report, ctx).await?;
    ctx.metrics.reconciled(result_label(report.next), started.elapsed());
    Ok(report.next)
}

async fn pass<W: World, C: Cluster>(
    tenant: &Tenant,
    desired: &Desired,
    ctx: &Context<'_, W, C>,
) -> Result<Option<Report>, Failure> {
    let mut session = ctx.world.session(desired);
    let recall = ctx.memory.recall(tenant, ctx.settings.sweep.proof);
    let looked = look(tenant, desired, &recall, &mut session, ctx).await;
    let outcomes = match &looked {
        Ok(Some((_, plan))) => execute(plan, &mut session, ctx.metrics).await,
        Ok(None) | Err(_) => Vec::new(),
    };
    session.close().await;
    let Some((observed, plan)) = looked? else {
        return Ok(None);
    };
    let pass = Pass {
        desired,
        observed: &observed,
        plan: &plan,
        outcomes: &outcomes,
    };
    ctx.memory.keep(tenant, recall.after(pass, now()));
    let report = report(pass, tenant.status.as_ref(), now());
    if report.next == Next::Sweep && !plan.writes() {
        announce_unchanged(desired, ctx.memory.is_first_sight(tenant));
    }
    Ok(Some(report))
}

/// Observes and plans. Where the plan writes, it is made again from an observation under the lock. A Tenant that is new or changed is
/// expected to need writes, so its lock is taken first and it is observed once.
async fn look<W: World, C: Cluster>(
    tenant: &Tenant,
    desired: &Desired,
    recall: &Recall,
    session: &mut <W as World>::Session,
    ctx: &Context<'_, W, C>,
) -> Result<Option<(Observed, Plan)>, Failure> {
    let settled = tenant.status.as_ref().is_some_and(|status| {
        status.observed_generation == tenant.metadata.generation && status.db_ready && status.credentials_ready
    });
    let mut refused = None;
    if !settled && !desired.suspend {
        refused = session.lock().await.err();
    }
    // Twice is the rule; a third time covers a ledger that places the tenant on another server than was guessed.
    for _ in 0..3 {
        if session.is_locked() && !is_still_wanted(tenant, ctx.cluster).await? {
            return Ok(None);
        }
        let observed = session.observe(recall.clone()).await;
        let plan = plan(desired, &observed, now());
        if !plan.writes() || session.is_locked() {
            return Ok(Some((observed, plan)));
        }
        let refused = match refused.take() {
            Some(failure) => Some(failure),
            None => session.lock().await.err(),
        };
        if let Some(failure) = refused {
            return Ok(Some((observed, plan.without_writes(failure))));
        }
    }
    Err(Failure::transient(
        Reason::LostRace,
        format!("{} keeps moving between servers; looking again", desired.tenant),
    ))
}

/// Under the lock, and read live: the object that asked is still there and still asks the same.
async fn is_still_wanted<C: Cluster>(tenant: &Tenant, cluster: &C) -> Result<bool, Failure> {
    let name = tenant.metadata.name.as_deref().unwrap_or_default();
    let live = cluster.read(name).await?;
    Ok(live.is_some_and(|live| {
        live.metadata.uid == tenant.metadata.uid
            && live.metadata.generation == tenant.metadata.generation
            && live.metadata.deletion_timestamp.is_none()
    }))
}

/// The only writer.
async fn execute<S: Session>(plan: &Plan, session: &mut S, metrics: &Metrics) -> Vec<Outcome> {
    let mut cursor = Cursor::new(plan);
    while let Some(index) = cursor.advance() {
        let planned = &plan.steps[index];
        let outcome = session.apply(&planned.step).await;
        metrics.stepped(&planned.step, &outcome);
        match &outcome {
            Outcome::Done if planned.step.writes() => {
                tracing::info!(step = %planned.step, because = planned.because, "done");
            }
            Outcome::Done | Outcome::Skipped => {}
            Outcome::Pending(reason, message) => tracing::info!(step = %planned.step, %reason, message, "pending"),
            Outcome::Failed(failure) => {
                metrics.failed(failure);
                tracing::warn!(step = %planned.step, reason = %failure.reason, message = failure.message, "failed");
            }
        }
        cursor.note(outcome);
    }
    cursor.finish()
}

async fn write<W, C: Cluster>(tenant: &Tenant, report: &Report, ctx: &Context<'_, W, C>) -> Result<(), Failure> {
    if tenant.status.as_ref() != Some(&report.status) {
        ctx.cluster.write_status(tenant, &report.status).await?;
        ctx.metrics.status_written();
    }
    ctx.cluster.publish(tenant, &report.events).await;
    Ok(())
}

fn announce_unchanged(desired: &Desired, first_sight: bool) {
    if first_sight {
        tracing::info!(tenant = %desired.tenant, "tenant_already_provisioned");
    } else {
        tracing::debug!(tenant = %desired.tenant, "tenant_already_provisioned");
    }
}

fn result_label(next: Next) -> &'static str {
    match next {
        Next::Sweep => "in-sync",
        Next::Soon => "pending",
        Next::Retry(class) => class.as_str(),
    }
}

fn now() -> Timestamp {
    Timestamp::now()
}
