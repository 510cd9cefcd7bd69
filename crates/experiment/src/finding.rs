//! Findings of experiments, each of which a test must reach under altered settings.
//!
//! Layer: rank 9. Functions: `find`, `find_if`, `on_print`; [`added_by`] for that test.

use boardlab_result::RunResult;
use std::cell::RefCell;
use std::panic::Location;

/// A finding with the call that added it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedFinding {
    /// The place of the call.
    pub at: &'static Location<'static>,
    /// The sentence.
    pub finding: String,
}

thread_local! {
    static ADDED: RefCell<Option<Vec<AddedFinding>>> = const { RefCell::new(None) };
}

/// Adds a finding that any run may have, and returns its index. Its first sentence, up to the first
/// `. `, is a headline: the conclusion with its key figure. Evidence and mechanism follow. A case of the tests in
/// `tests/sentences` must reach each call of this function, with settings other than the published
/// ones.
#[track_caller]
pub fn find(run: &mut RunResult, finding: impl Into<String>) -> usize {
    add(run, finding.into())
}

/// As [`find`], for a finding that not every run has.
#[track_caller]
pub fn find_if(run: &mut RunResult, finding: Option<String>) {
    if let Some(finding) = finding {
        add(run, finding);
    }
}

/// Adds a finding about the print, which only the published scenario has, and returns its index.
#[track_caller]
pub fn on_print(run: &mut RunResult, finding: impl Into<String>) -> usize {
    add(run, finding.into())
}

#[track_caller]
fn add(run: &mut RunResult, finding: String) -> usize {
    let at = Location::caller();
    ADDED.with_borrow_mut(|added| {
        added.iter_mut().for_each(|all| all.push(AddedFinding { at, finding: finding.clone() }));
    });
    run.find(finding)
}

/// Performs `work`; returns its result, and the findings that it added on this thread, in order.
pub fn added_by<T>(work: impl FnOnce() -> T) -> (T, Vec<AddedFinding>) {
    ADDED.set(Some(Vec::new()));
    let made = work();
    (made, ADDED.take().unwrap_or_default())
}
