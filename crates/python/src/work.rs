//! A run in a thread of its own.
//!
//! Layer: rank 12. Function: [`perform`]; main types: [`Terms`], what the caller wants of a run, and
//! [`Control`], what the run has of it. The calling thread gives the interpreter's lock away and
//! waits. Every [`POLL`] it takes the lock back, for signals and for the caller's progress. When
//! either raises, it asks the run to end, waits up to [`PATIENCE`] and raises: what is left of the run
//! goes on in the background up to the end of its step, and calls nothing of Python.
//!
//! Each run has threads of its own. So a run in a child process after a fork has them too, and two
//! runs at a time do not wait for each other.

use crate::fault::Fault;
use crate::guard::{self, Spot};
use crate::own::Errors;
use boardlab_experiment::{Failure, Progress, Stop};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the caller looks for signals.
const POLL: Duration = Duration::from_millis(50);
/// How long the caller waits for the end of a run that it has asked to end.
const PATIENCE: Duration = Duration::from_millis(300);
/// The stack of each thread: that of a program's first thread on Linux.
const STACK: usize = 8 << 20;

/// What the caller wants of a run.
#[derive(FromPyObject)]
pub(crate) struct Terms(
    /// Called with the number of completed steps, the number of all, and the name of the last.
    Option<Py<PyAny>>,
    /// Threads; that of all cores if `None`.
    Option<usize>,
);

impl Terms {
    /// Those of a call without progress, on all cores.
    pub(crate) const NONE: Self = Self(None, None);

    /// The number of threads, if the caller says it.
    pub(crate) const fn threads(&self) -> Option<usize> {
        self.1
    }
}

/// A completed step.
struct Step {
    done: usize,
    total: usize,
    name: String,
}

/// What a run has of its caller.
pub(crate) struct Control {
    /// Whether it is to end.
    pub(crate) stop: Arc<Stop>,
    /// What policies of the caller have raised.
    pub(crate) errors: Errors,
    steps: Sender<Step>,
    is_told: bool,
}

impl Control {
    /// Reports progress, from any thread.
    pub(crate) fn report(&self, progress: Progress<'_>) {
        if self.is_told {
            let Progress { step, done, total } = progress;
            // Nobody listens any more once the run is to end.
            let _ = self.steps.send(Step { done, total, name: step.into() });
        }
    }
}

/// Performs `job` in a thread of its own, for the function `what` of the package.
pub(crate) fn perform<T: Send + 'static>(
    py: Python<'_>,
    what: &'static str,
    terms: &Terms,
    job: impl FnOnce(&Control) -> Result<T, Fault> + Send + 'static,
) -> PyResult<T> {
    let (steps, told) = mpsc::channel();
    let stop = Arc::new(Stop::new());
    let errors = Errors::new(Arc::clone(&stop));
    let is_told = terms.0.is_some();
    let control = Control { stop: Arc::clone(&stop), errors: errors.clone(), steps, is_told };
    let threads = terms.threads().unwrap_or(0);
    let spot = Spot::default();
    let work = move || {
        spot.enter();
        guard::caught(what, &spot.clone(), || {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .stack_size(STACK)
                .thread_name(|number| format!("boardlab-{number}"))
                .start_handler(move |_| spot.enter())
                .build();
            pool.map_err(no_thread)?.install(|| job(&control))
        })
    };
    let thread = thread::Builder::new().name("boardlab".into()).stack_size(STACK).spawn(work);
    let thread = thread.map_err(|error| no_thread(error).raise(py))?;
    match follow(py, terms, told) {
        Ok(()) => {
            let ended = end(py, what, thread);
            errors.take().map_or(ended, Err)
        }
        Err(error) => {
            stop.ask();
            py.detach(|| wait(&thread));
            Err(error)
        }
    }
}

fn no_thread(error: impl Into<boardlab_experiment::Cause>) -> Fault {
    Failure::run("threads", error, "ask for fewer: threads=1").into()
}

/// Follows a run up to its end.
fn follow(py: Python<'_>, terms: &Terms, mut told: Receiver<Step>) -> PyResult<()> {
    let (mut looked, mut done) = (Instant::now(), 0);
    loop {
        let event;
        (event, told) = py.detach(move || (told.recv_timeout(POLL), told));
        match event {
            Ok(step) => {
                // Threads report in any order; progress never goes back.
                done = step.done.max(done);
                if let Some(progress) = &terms.0 {
                    progress.call1(py, (done, step.total, step.name))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if looked.elapsed() >= POLL {
            py.check_signals()?;
            looked = Instant::now();
        }
    }
}

/// The outcome of a run that has ended.
fn end<T: Send>(py: Python<'_>, what: &str, thread: JoinHandle<Result<T, Fault>>) -> PyResult<T> {
    let joined = py.detach(|| thread.join());
    let done = joined.unwrap_or_else(|_| {
        let words = "the thread of the run ended without an outcome".into();
        Err(Fault::Panic { what: what.into(), words, place: None })
    });
    done.map_err(|fault| fault.raise(py))
}

/// Waits for the end of a run that was asked to end.
fn wait<T>(thread: &JoinHandle<T>) {
    let begun = Instant::now();
    while !thread.is_finished() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(2));
    }
}
