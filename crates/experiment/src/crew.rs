//! Parallel work whose result does not depend on the order of completion.
//!
//! Layer: rank 9. Main types: [`Crew`], pieces of work of any kind, and [`Slot`], the result of one.
//! Function: [`in_order`], for pieces of one kind.

use crate::{Cause, Failure, Progress, Request};
use rayon::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

/// Returns all results in the order of the work, or the first error in that order. Collecting into a
/// `Result` would return whichever error comes first in time.
pub fn in_order<T: Send, E: Send>(
    work: impl ParallelIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let all: Vec<Result<T, E>> = work.collect();
    all.into_iter().collect()
}

/// The result of a piece of work.
#[derive(Debug)]
pub struct Slot<T>(Arc<OnceLock<T>>);

impl<T> Slot<T> {
    /// Takes the result.
    ///
    /// # Panics
    /// Before [`Crew::perform`] has succeeded.
    #[must_use]
    pub fn take(self) -> T {
        let made = Arc::into_inner(self.0).and_then(OnceLock::into_inner);
        made.expect("the crew has performed")
    }
}

/// A piece of work with its name in reports of progress.
struct Piece<'w> {
    name: String,
    is_beside: bool,
    perform: Box<dyn FnOnce() -> Result<(), Failure> + Send + 'w>,
}

/// Independent pieces of work. The longest are added first, so that no core is left with one at the
/// end.
#[derive(Default)]
pub struct Crew<'w> {
    pieces: Vec<Piece<'w>>,
}

impl<'w> Crew<'w> {
    /// Adds work for the cores. If it fails, the system `name` has failed, and `help` says what to try.
    pub fn add<T: Send + Sync + 'w>(
        &mut self,
        name: impl Into<String>,
        help: &'static str,
        work: impl FnOnce() -> Result<T, Cause> + Send + 'w,
    ) -> Slot<T> {
        let slot = Arc::new(OnceLock::new());
        let name = name.into();
        let (into, system) = (Arc::clone(&slot), name.clone());
        let perform = Box::new(move || match work() {
            Ok(made) => {
                let _ = into.set(made);
                Ok(())
            }
            // A failure that names its system stays as it is.
            Err(error) => Err(match error.downcast() {
                Ok(failure) => *failure,
                Err(error) => Failure::Run { system, error, help },
            }),
        });
        self.pieces.push(Piece { name, is_beside: false, perform });
        Slot(slot)
    }

    /// Adds work that waits more than it computes, for another program or for time to pass. It gets a
    /// thread of its own, because a core of the pool would be idle meanwhile.
    pub fn add_beside<T: Send + Sync + 'w>(
        &mut self,
        name: impl Into<String>,
        help: &'static str,
        work: impl FnOnce() -> Result<T, Cause> + Send + 'w,
    ) -> Slot<T> {
        let slot = self.add(name, help, work);
        if let Some(piece) = self.pieces.last_mut() {
            piece.is_beside = true;
        }
        slot
    }

    /// Performs all work, and reports the progress of `request`.
    ///
    /// # Errors
    /// The first one in the order in which work was added.
    pub fn perform(self, request: &Request<'_>) -> Result<(), Failure> {
        let (finished, total) = (AtomicUsize::new(0), self.pieces.len());
        let one = |Piece { name, perform, .. }: Piece<'w>| {
            perform()?;
            let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
            (request.progress)(Progress { step: &name, done, total });
            Ok(())
        };
        let numbered = self.pieces.into_iter().enumerate();
        let (beside, pooled): (Vec<_>, Vec<_>) = numbered.partition(|(_, piece)| piece.is_beside);
        let mut all: Vec<(usize, Result<(), Failure>)> = thread::scope(|scope| {
            let one = &one;
            let start = |(at, piece)| (at, scope.spawn(move || one(piece)));
            let beside: Vec<_> = beside.into_iter().map(start).collect();
            let pooled = pooled.into_par_iter().with_max_len(1);
            let mut all: Vec<_> = pooled.map(|(at, piece)| (at, one(piece))).collect();
            let joined = |(at, thread): (_, thread::ScopedJoinHandle<'_, _>)| {
                (at, thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            };
            all.extend(beside.into_iter().map(joined));
            all
        });
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().try_for_each(|(_, done)| done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_document::Document;
    use boardlab_document::source::{Kind, Source};
    use boardlab_sim::Seed;
    use std::sync::Mutex;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn the_first_error_is_that_of_the_first_piece_of_work() {
        let waits = [30_u64, 0, 0, 0, 0, 0];
        let fail = |(number, wait): (usize, &u64)| {
            sleep(Duration::from_millis(*wait));
            Err::<(), usize>(number)
        };
        assert_eq!(in_order(waits.par_iter().enumerate().map(fail)), Err(0));
    }

    /// Performs `crew`; how many pieces were told to be done, and of how many.
    fn perform(crew: Crew<'_>) -> (Result<(), Failure>, Vec<[usize; 2]>) {
        let told = Mutex::new(Vec::new());
        let progress = |progress: Progress<'_>| {
            told.lock().unwrap().push([progress.done, progress.total]);
        };
        let document = Document::parse(&Source::new(Kind::Scenario, "x", "")).unwrap();
        let seed = Seed::new(1);
        let request = Request { document: &document, scenario: "x", seed, progress: &progress };
        let done = crew.perform(&request);
        (done, told.into_inner().unwrap())
    }

    #[test]
    fn each_piece_fills_its_slot_whatever_its_type_and_its_thread() {
        let mut crew = Crew::default();
        let number = crew.add("number", "", || Ok(1));
        let word = crew.add_beside("word", "", || Ok(thread::current().name().map(String::from)));
        let (done, mut told) = perform(crew);
        done.unwrap();
        told.sort_unstable();
        assert_eq!(told, [[1, 2], [2, 2]]);
        assert_eq!((number.take(), word.take()), (1, None));
    }

    #[test]
    fn the_first_failure_is_that_of_the_piece_that_was_added_first() {
        let mut crew = Crew::default();
        let _ = crew.add_beside("late", "", || {
            sleep(Duration::from_millis(30));
            Err::<(), _>("no".into())
        });
        let _ = crew.add("early", "", || Err::<(), _>("no".into()));
        let (done, told) = perform(crew);
        assert!(done.unwrap_err().to_string().contains("late") && told.is_empty());
    }
}
