//! Panics: where they happen, and that none crosses into Python. And the one interpreter of the module.
//!
//! Layer: rank 12. Functions: [`expect_one_interpreter`] and [`install`], once; [`guarded`], around each function that Python calls;
//! [`caught`], around the work of a thread. Main type: [`Spot`], where a panic of one run happened: the
//! threads of two runs at once do not mix theirs up.

use crate::fault::Fault;
use pyo3::exceptions::PyImportError;
use pyo3::{ffi, prelude::*};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a panic of one run happened: file, line and column in the source.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spot(Arc<Mutex<Option<String>>>);

thread_local! {
    /// The run that this thread works for.
    static RUN: RefCell<Option<Spot>> = const { RefCell::new(None) };
}

impl Spot {
    /// Makes this thread one of the run.
    pub(crate) fn enter(&self) {
        RUN.with(|run| *run.borrow_mut() = Some(self.clone()));
    }

    fn note(&self, place: String) {
        // The first panic is the cause of the others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(place);
    }

    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The interpreter that has loaded the module.
static INTERPRETER: AtomicI64 = AtomicI64::new(-1);

/// Refuses a second interpreter of this process: objects of the first would get into it, since PyO3
/// keeps some in statics.
pub(crate) fn expect_one_interpreter() -> PyResult<()> {
    // SAFETY: the thread is attached to an interpreter, which loads the module; the state of that
    // lives longer than this call.
    let own = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match INTERPRETER.compare_exchange(-1, own, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first) if first != own => Err(PyImportError::new_err(
            "another interpreter of this process has loaded boardlab, which cannot be in a subinterpreter besides: \
             use a process, as multiprocessing does",
        )),
        _ => Ok(()),
    }
}

/// Notes from now on where a panic of a run happens. Panics of other threads are reported as before.
pub(crate) fn install() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string);
        let of_run = RUN.try_with(|run| {
            let run = run.try_borrow().ok()?;
            let spot = run.as_ref()?;
            spot.note(place.unwrap_or_default());
            Some(())
        });
        if !matches!(of_run, Ok(Some(()))) {
            before(info);
        }
    }));
}

/// Calls `work`, a part of the run of `spot`; a panic is a fault.
pub(crate) fn caught<T>(
    what: &str,
    spot: &Spot,
    work: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, Fault> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Fault::Panic { what: what.into(), words: words(&*panic), place: spot.take() })
    })
}

/// Calls `work` for Python; a panic becomes an exception.
pub(crate) fn guarded<T>(
    py: Python<'_>,
    what: &str,
    work: impl FnOnce() -> Result<T, Fault>,
) -> PyResult<T> {
    let spot = Spot::default();
    let before = RUN.with(|run| run.borrow_mut().replace(spot.clone()));
    let done = caught(what, &spot, work);
    RUN.with(|run| *run.borrow_mut() = before);
    done.map_err(|fault| fault.raise(py))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words").into()
}
