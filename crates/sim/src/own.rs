//! Policies that somebody outside of the models gives: a wait, or the choice of a block.
//!
//! Layer: rank 0. Main types: [`Decide`], what such a policy does, and [`OwnPolicy`], a handle that a scenario
//! carries. A policy sees many events at a time, so that one written in a slow language is not called for each.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::ptr;
use std::sync::Arc;

/// Numbers that are called so. Those of one kind of thing are as many as there are things; one that holds for all stands
/// alone.
pub type Column<'a> = (&'static str, &'a [u64]);

/// A policy with its state.
pub trait Decide: Send + Sync {
    /// What its author calls it.
    fn name(&self) -> &str;

    /// How many events it wants to see at a time; one at least.
    fn batch(&self) -> usize;

    /// Decides by what was seen since the last time, or by what there is.
    ///
    /// What it returns depends on who asks; nothing means that all stays as it is. A policy that fails returns
    /// nothing too, and has the run end early.
    fn decide(&mut self, seen: &[Column<'_>]) -> Vec<u64>;

    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn Decide>;
}

impl Clone for Box<dyn Decide> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

impl Debug for dyn Decide {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A policy in its initial state; each device that uses it starts a copy.
#[derive(Clone)]
pub struct OwnPolicy(Arc<dyn Decide>);

impl OwnPolicy {
    /// The policy `initial`.
    #[must_use]
    pub fn new(initial: impl Decide + 'static) -> Self {
        Self(Arc::new(initial))
    }

    /// What its author calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// How many events it sees at a time.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.0.batch().max(1)
    }

    /// A copy in the initial state.
    #[must_use]
    pub fn start(&self) -> Box<dyn Decide> {
        self.0.boxed_clone()
    }

    fn address(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }
}

impl Debug for OwnPolicy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "OwnPolicy({})", self.name())
    }
}

/// Handles of the same policy are equal, others are not, whatever they do.
impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.address(), other.address())
    }
}

impl Eq for OwnPolicy {}

impl Hash for OwnPolicy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}
