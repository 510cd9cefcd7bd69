//! Parallel work whose result does not depend on the order of completion.
//!
//! Layer: rank 9. Main types: [`Crew`], pieces of work of any kind, and [`Slot`], the result of one.
//! Function: [`in_order`], for pieces of one kind.

use crate::{Cause, Failure, Progress, Request, heap};
use boardlab_sim::Bytes;
use rayon::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The memory that work may take for each core. With two cores a program stays below 480 MiB.
const PER_CORE: Bytes = Bytes::mib(216);

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
    /// Its place in the order in which pieces were added.
    at: usize,
    is_beside: bool,
    memory: Bytes,
    perform: Box<dyn FnOnce() -> Result<(), Failure> + Send + 'w>,
}

/// Independent pieces of work. The longest are added first, so that no core is left with one at the
/// end. Those that take memory come before all others, as many at a time as there is memory for.
pub struct Crew<'w> {
    pieces: Vec<Piece<'w>>,
    /// What those performed at a time may take together. One alone may take more.
    memory: Bytes,
}

impl Default for Crew<'_> {
    fn default() -> Self {
        let cores = u64::try_from(rayon::current_num_threads()).unwrap_or(1);
        Self { pieces: Vec::new(), memory: PER_CORE * cores }
    }
}

impl<'w> Crew<'w> {
    /// Adds work for the cores. If it fails, the system `name` has failed, and `help` says what to try.
    pub fn add<T: Send + Sync + 'w>(
        &mut self,
        name: impl Into<String>,
        help: &'static str,
        work: impl FnOnce() -> Result<T, Cause> + Send + 'w,
    ) -> Slot<T> {
        self.add_large(name, help, Bytes::ZERO, work)
    }

    /// Adds work for the cores that takes so much `memory`.
    pub fn add_large<T: Send + Sync + 'w>(
        &mut self,
        name: impl Into<String>,
        help: &'static str,
        memory: Bytes,
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
        let at = self.pieces.len();
        self.pieces.push(Piece { name, at, is_beside: false, memory, perform });
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
        let one = |Piece { name, at, perform, .. }: Piece<'w>| {
            let done = request.stop.check().and_then(|()| perform()).map(|()| {
                let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
                (request.progress)(Progress { step: &name, done, total });
            });
            (at, done)
        };
        let (beside, waiting) = self.pieces.into_iter().partition(|piece| piece.is_beside);
        let waiting = Waiting::new(waiting, self.memory);
        let mut all = thread::scope(|scope| {
            let one = &one;
            let beside: Vec<_> =
                Vec::into_iter(beside).map(|piece| scope.spawn(move || one(piece))).collect();
            rayon::scope(|scope| {
                for _ in 0..rayon::current_num_threads() {
                    scope.spawn(|scope| waiting.work(scope, one));
                }
            });
            let mut all = waiting.into_done();
            all.extend(
                beside
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))),
            );
            all
        });
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().try_for_each(|(_, done)| done)
    }
}

/// The outcome of a piece, with its place.
type Done = (usize, Result<(), Failure>);

/// The pieces that are not begun, and what became of the others.
struct Waiting<'w>(Mutex<Queue<'w>>);

struct Queue<'w> {
    /// In the order in which they are begun.
    pieces: Vec<Piece<'w>>,
    /// The memory that no piece has taken.
    free: Bytes,
    performed: usize,
    done: Vec<Done>,
}

impl<'w> Waiting<'w> {
    fn new(mut pieces: Vec<Piece<'w>>, free: Bytes) -> Self {
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.memory));
        Self(Mutex::new(Queue { pieces, free, performed: 0, done: Vec::new() }))
    }

    fn queue(&self) -> MutexGuard<'_, Queue<'w>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_done(self) -> Vec<Done> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).done
    }

    /// Performs pieces as long as there is one that the memory suffices for. Never waits: who ends a piece calls for
    /// another worker.
    fn work<'s>(&'s self, scope: &rayon::Scope<'s>, one: &'s (impl Fn(Piece<'w>) -> Done + Sync)) {
        let mut before = Bytes::ZERO;
        while let Some((piece, taken)) = self.begin() {
            // A piece as large reuses what the last one freed. Before a smaller one it is returned, for other threads.
            if piece.memory < before {
                heap::trim();
            }
            before = piece.memory;
            if self.end(taken, one(piece)) {
                scope.spawn(|scope| self.work(scope, one));
            }
        }
        if !before.is_zero() {
            heap::trim();
        }
    }

    /// Takes the first piece that the memory suffices for, or the first of all when none is performed.
    fn begin(&self) -> Option<(Piece<'w>, Bytes)> {
        let mut queue = self.queue();
        let Queue { pieces, free, performed, .. } = &mut *queue;
        let fitting = pieces.iter().position(|piece| piece.memory <= *free);
        let next = fitting.or_else(|| (*performed == 0 && !pieces.is_empty()).then_some(0))?;
        let piece = pieces.remove(next);
        let taken = piece.memory.min(*free);
        *free = *free - taken;
        *performed += 1;
        Some((piece, taken))
    }

    /// Notes what became of a piece, and gives its memory back; returns whether others wait.
    fn end(&self, taken: Bytes, done: Done) -> bool {
        let mut queue = self.queue();
        queue.done.push(done);
        queue.free += taken;
        queue.performed -= 1;
        !queue.pieces.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NEVER, Stop};
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

    #[test]
    fn pieces_that_are_not_begun_when_somebody_stops_the_run_are_left_out() {
        let (stop, begun) = (Stop::new(), AtomicUsize::new(0));
        let mut crew = Crew::default();
        for _ in 0..100 {
            let _ = crew.add("piece", "", || {
                begun.fetch_add(1, Ordering::SeqCst);
                stop.ask();
                Ok(())
            });
        }
        let (done, _) = perform_until(crew, &stop);
        assert!(matches!(done, Err(Failure::Stopped)));
        // One a thread at most: each looks before it begins another.
        assert!((1..=rayon::current_num_threads()).contains(&begun.into_inner()));
    }

    fn perform(crew: Crew<'_>) -> (Result<(), Failure>, Vec<[usize; 2]>) {
        perform_until(crew, &NEVER)
    }

    /// Performs `crew`; how many pieces were told to be done, and of how many.
    fn perform_until(crew: Crew<'_>, stop: &Stop) -> (Result<(), Failure>, Vec<[usize; 2]>) {
        let told = Mutex::new(Vec::new());
        let progress = |progress: Progress<'_>| {
            told.lock().unwrap().push([progress.done, progress.total]);
        };
        let document = Document::parse(&Source::new(Kind::Scenario, "x", "")).unwrap();
        let seed = Seed::new(1);
        let request =
            Request { document: &document, scenario: "x", seed, progress: &progress, stop };
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
    fn no_more_is_begun_than_there_is_memory_for() {
        // What is taken, the most of it, and the most without the piece that takes more than there is.
        let [taken, most, most_of_others] = [const { AtomicUsize::new(0) }; 3];
        let take = |mib: usize| {
            let now = taken.fetch_add(mib, Ordering::SeqCst) + mib;
            most.fetch_max(now, Ordering::SeqCst);
            if mib < 14 {
                most_of_others.fetch_max(now, Ordering::SeqCst);
            }
            sleep(Duration::from_millis(2));
            taken.fetch_sub(mib, Ordering::SeqCst);
            Ok(())
        };
        let mut crew = Crew { memory: Bytes::mib(10), ..Crew::default() };
        for mib in [3, 6, 4, 1, 9, 5, 2, 14] {
            let (take, memory) = (&take, Bytes::mib(u64::try_from(mib).unwrap()));
            let _ = crew.add_large("large", "", memory, move || take(mib));
        }
        let (done, told) = perform(crew);
        done.unwrap();
        assert_eq!(told.len(), 8);
        assert_eq!(most.into_inner(), 14);
        assert!(most_of_others.into_inner() <= 10);
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
