//! Policies written in Python, which a run asks for many operations at a time.
//!
//! Layer: rank 12. Main types: [`Given`], a policy as Python hands it over, and [`Errors`], what the policies of a
//! run have raised; function for Python: [`end_policies`], when the interpreter ends. Each device works on a deep copy
//! of the policy, so that runs at the same time, and one after the other, do not know of each other. The first
//! exception ends the run, and is what the caller gets.

use boardlab_experiment::Stop;
use boardlab_sim::own::Column;
use boardlab_sim::{Decide, OwnPolicy};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the end of the interpreter looks whether the calls have ended.
const POLL: Duration = Duration::from_millis(5);

/// A policy: the key that it stands for, its name, how many operations it sees at a time, and the object, which
/// takes columns of numbers by their names and returns numbers.
#[derive(FromPyObject)]
pub(crate) struct Given(String, String, usize, Py<PyAny>);

/// What the policies of a run have raised, and how the run is ended then.
#[derive(Debug, Clone)]
pub(crate) struct Errors {
    first: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<Stop>,
}

struct Own {
    name: Arc<str>,
    batch: usize,
    /// `None` once the run is to end, so that it cannot be copied any more.
    object: Option<Py<PyAny>>,
    errors: Errors,
}

impl Errors {
    /// Those of the run that `stop` ends.
    pub(crate) fn new(stop: Arc<Stop>) -> Self {
        Self { first: Arc::default(), stop }
    }

    /// Takes the first one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does `work` with the interpreter; nothing once the run is to end. What it raises ends the run.
    fn attached<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        let _call = Call::begin().filter(|_| !self.stop.is_asked())?;
        match Python::try_attach(work)? {
            Ok(value) => Some(value),
            Err(error) => {
                self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                self.stop.ask();
                None
            }
        }
    }
}

/// A call of a policy that goes on. A thread that the interpreter ends within one would abort the process.
struct Call(());

/// Whether the interpreter ends, so that no policy is called any more.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The calls that go on in the process `OWNER`; a fork takes the number along, but not the threads.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static OWNER: AtomicU32 = AtomicU32::new(0);

impl Call {
    fn begin() -> Option<Self> {
        let own = process::id();
        if OWNER.swap(own, Ordering::SeqCst) != own {
            CALLS.store(0, Ordering::SeqCst);
        }
        CALLS.fetch_add(1, Ordering::SeqCst);
        let call = Self(());
        (!ENDING.load(Ordering::SeqCst)).then_some(call)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets the calls of policies end, and no further one begin. Python calls it when the interpreter ends.
#[pyfunction]
pub(crate) fn end_policies(py: Python<'_>) -> PyResult<()> {
    ENDING.store(true, Ordering::SeqCst);
    while OWNER.load(Ordering::SeqCst) == process::id() && CALLS.load(Ordering::SeqCst) > 0 {
        py.detach(|| thread::sleep(POLL));
        py.check_signals()?;
    }
    Ok(())
}

impl Given {
    /// The key, and the policy for it.
    pub(crate) fn into_policy(self, errors: &Errors) -> (String, OwnPolicy) {
        let Self(key, name, batch, object) = self;
        let object = Some(object);
        let own = Own { name: name.into(), batch, object, errors: errors.clone() };
        (key, OwnPolicy::new(own))
    }
}

impl Decide for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn decide(&mut self, seen: &[Column<'_>]) -> Vec<u64> {
        let Some(object) = &self.object else { return vec![] };
        let said = self.errors.attached(|py| {
            let columns = PyDict::new(py);
            for (name, numbers) in seen {
                columns.set_item(name, numbers.to_vec())?;
            }
            object.call1(py, (columns,))?.extract(py)
        });
        said.unwrap_or_default()
    }

    fn boxed_clone(&self) -> Box<dyn Decide> {
        let copy = |object: &Py<PyAny>| {
            self.errors.attached(|py| {
                let copied = py.import("copy")?.call_method1("deepcopy", (object.bind(py),))?;
                Ok(copied.unbind())
            })
        };
        let (name, errors) = (Arc::clone(&self.name), self.errors.clone());
        let object = self.object.as_ref().and_then(copy);
        Box::new(Self { name, batch: self.batch, object, errors })
    }
}
