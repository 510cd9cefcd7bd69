//! What the ways to a board have in common.
//!
//! Layer: rank 12. Main types: [`Board`], an agent that runs; [`Next`].

use super::problem::Problem;
use std::time::Duration;

/// An agent that runs.
pub(super) trait Board {
    /// What comes next, within `wait`.
    fn next(&mut self, wait: Duration) -> Next;

    /// Asks the agent to end in order: it sets back what it changed and says how far it came.
    fn stop(&mut self);

    /// Leaves the agent at once.
    fn abandon(&mut self);

    /// Cleans up, and returns the exit status of the agent, as far as it is known.
    fn finish(self: Box<Self>) -> Result<Option<i32>, Problem>;
}

/// What came from a board.
pub(super) enum Next {
    /// Bytes of the measurement.
    Bytes(Vec<u8>),
    /// A line for people.
    Words(String),
    /// Nothing yet.
    Nothing,
    /// The connection broke: why.
    Lost(String),
    /// The agent has ended, and all of it was read.
    End,
}
