//! The threads that run the points.
//!
//! Layer: rank 10. Function: [`run`]. Each thread takes the next point that is left, and hands it a
//! pool of its own for what the experiment does at once: so as many points are in memory as there
//! are threads, and no thread begins another point while it waits for parts of its own.

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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What the threads share.
struct Work<'a> {
    order: &'a Order<'a>,
    plan: &'a Plan,
    /// The points that are left, in order.
    rest: &'a [usize],
    /// The next one of `rest`.
    next: AtomicUsize,
    /// Why no more points are begun.
    stop: AtomicBool,
    records: Mutex<Records>,
}

/// What is written by one thread at a time.
struct Records {
    journal: Journal,
    done: usize,
    error: Option<Error>,
}

/// Runs the points `rest` of `plan`, which `journal` lacks, and puts them on record there.
pub(crate) fn run(
    order: &Order<'_>,
    plan: &Plan,
    rest: &[usize],
    journal: Journal,
) -> Result<Journal, Failure> {
    let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = order.threads.map_or_else(cores, NonZeroUsize::get);
    let at_once = threads.min(rest.len());
    let pools = (0..at_once).map(|_| pool((threads / at_once).max(1)));
    let pools = pools.collect::<Result<Vec<_>, _>>()?;
    let done = plan.grid.count() - journal.rest().len();
    let work = Work {
        order,
        plan,
        rest,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        records: Mutex::new(Records { journal, done, error: None }),
    };
    thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| work.go_on(pool));
        }
    });
    let Records { journal, error, .. } =
        work.records.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(journal), |error| Err(error.into()))
}

impl Work<'_> {
    /// Runs points in `pool` until none is left.
    fn go_on(&self, pool: &ThreadPool) {
        while !self.stop.load(Ordering::Relaxed) {
            let Some(&point) = self.rest.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let outcome = pool.install(|| self.outcome(point));
            self.record(&Line { point, outcome });
        }
    }

    /// What comes of `point`. A broken invariant is one point's failure, told on standard error,
    /// and not the end of a night's work.
    fn outcome(&self, point: usize) -> Outcome {
        let run = panic::catch_unwind(AssertUnwindSafe(|| self.plan.run(point)));
        match run {
            Ok(Ok(run)) => Outcome::Done(Figures::of(&run)),
            Ok(Err(failure)) => Outcome::Failed(message(&failure)),
            Err(panic) => Outcome::Failed(format!("broken invariant: {}", words(&*panic))),
        }
    }

    fn record(&self, line: &Line) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.error.is_some() {
            return;
        }
        if let Err(error) = records.journal.append(line) {
            records.error = Some(error);
            self.stop.store(true, Ordering::Relaxed);
            return;
        }
        records.done += 1;
        let (done, total) = (records.done, self.plan.grid.count());
        drop(records);
        (self.order.progress)(Progress { step: &self.plan.grid.label(line.point), done, total });
    }
}

/// The first line of what a failure says: which system, and what it met.
fn message(failure: &Failure) -> String {
    let text = failure.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words")
}
