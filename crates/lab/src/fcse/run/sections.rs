//! How long interrupts are off in a loaded system.
//!
//! Layer: rank 11. Function: [`measure`]; the stretches are those of [`boardlab_computer::masked`].

use super::guest::Guest;
use boardlab_computer::instruments::{Watching, locked};
use boardlab_computer::masked::Stretch;
use boardlab_experiment::Cause;
use boardlab_sim::Duration;

/// The stretches while the system runs for `watched` under these commands, longest first.
pub(crate) fn measure(
    saved: &[u8],
    watched: Duration,
    load: &[&str],
) -> Result<Vec<Stretch>, Cause> {
    let mut guest = Guest::restored(saved)?;
    for command in load {
        guest.run(command)?;
    }
    let watching = Watching::default();
    guest.machine().set_engine(watching.clone());
    guest.go_on(watched)?;
    Ok(locked(&watching.0).longest())
}
