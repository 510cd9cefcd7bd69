//! The threads that run the points.
//!
//! Layer: rank 10. Function: [`run`]. Each thread takes the next remaining point, and runs it in a pool
//! of its own, in which the experiment works in parallel. So as many points are in memory as there are
//! threads, and no thread begins another point while it waits for parts of its own.

use crate::Order;
use crate::figures::{Figures, Line, Outcome};
use crate::journal::Journal;
use crate::plan::{Plan, pool};
use boardlab_document::error::Error;
use boardlab_experiment::{Failure, Progress};
use rayon::ThreadPool;
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The journal, which one thread at a time writes.
struct Records {
    journal: Journal,
    done: usize,
    error: Option<Error>,
}

/// Runs the points `rest` of `plan`, which `journal` lacks, and records them there.
pub(crate) fn run(
    order: &Order<'_>,
    plan: &Plan<'_>,
    rest: &[usize],
    journal: Journal,
) -> Result<Journal, Failure> {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = order.threads.map_or_else(cores, NonZeroUsize::get);
    let at_once = threads.min(rest.len());
    let pools = (0..at_once).map(|_| pool((threads / at_once).max(1)));
    let pools = pools.collect::<Result<Vec<_>, _>>()?;
    let total = plan.grid.count();
    let done = total - journal.rest().len();
    let (next, records) = (AtomicUsize::new(0), Mutex::new(Records { journal, done, error: None }));
    let work = |pool: &ThreadPool| {
        while let Some(&point) = rest.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = pool.install(|| outcome(plan, point));
            // A point that was stopped in its course has not failed: it is not recorded.
            if order.stop.is_asked() {
                return;
            }
            let line = Line { point, outcome };
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            if records.error.is_some() {
                return;
            }
            if let Err(error) = records.journal.append(&line) {
                records.error = Some(error);
                // No thread begins another point.
                next.store(rest.len(), Ordering::Relaxed);
                return;
            }
            records.done += 1;
            let done = records.done;
            drop(records);
            (order.progress)(Progress { step: &plan.grid.label(point), done, total });
        }
    };
    thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work(pool));
        }
    });
    let Records { journal, error, .. } =
        records.into_inner().unwrap_or_else(PoisonError::into_inner);
    order.stop.check()?;
    error.map_or(Ok(journal), |error| Err(error.into()))
}

/// The outcome of `point`. A broken invariant is the failure of one point, reported on standard error,
/// and not the end of a night's work.
pub(crate) fn outcome(plan: &Plan<'_>, point: usize) -> Outcome {
    match panic::catch_unwind(AssertUnwindSafe(|| plan.run(point))) {
        Ok(Ok(run)) => Outcome::Done(Figures::of(&run)),
        Ok(Err(failure)) => Outcome::Failed(message(&failure)),
        Err(panic) => Outcome::Failed(format!("broken invariant: {}", words(&*panic))),
    }
}

/// The first line of the message of `failure`: which system failed, and why.
fn message(failure: &Failure) -> String {
    let text = failure.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words")
}
