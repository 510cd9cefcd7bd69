//! What is known of a run when it has ended.
//!
//! Layer: rank 9. Main type: [`Measurement`].

use super::masked::Stretch;
use super::profile::Profile;
use super::session::Session;
use boardlab_realview::Outcome;
use boardlab_sim::Seed;

/// A run that has ended: all that its tables and findings are made of.
pub(super) struct Measurement<'a> {
    pub(super) session: &'a Session,
    pub(super) outcome: &'a Outcome,
    /// Where cycles went, and how long interrupts were masked.
    pub(super) profile: Option<&'a (Profile, Vec<Stretch>)>,
    pub(super) seed: Seed,
}
