//! The memory card of the system: a modelled one with the contents of the RAM disk, which can be put into the board's slot.
//!
//! Layer: rank 11. Function: [`with`]. Blocks are written before the board's time begins, as in another reader. The board's lines are
//! infinitely fast, so the card's model brings the time of the bus with it.

use crate::fcse::scenario::Exec;
use boardlab_block::{BlockDevice, Completion, Error, Extent, Layer, Layered, Payload, Request};
use boardlab_experiment::Cause;
use boardlab_parts::card::compose::in_slot;
use boardlab_realview::{Card, Medium};
use boardlab_sd::Data;
use boardlab_sim::{Bytes, Duration, Instant, Seed};

/// A device that was used before time began.
struct Used {
    /// For how long.
    before: Duration,
}

impl<D: BlockDevice> Layer<D> for Used {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        let done = device.submit(at + self.before, request)?;
        let since = |instant: Instant| Instant::ZERO + instant.since(Instant::ZERO + self.before);
        let Completion { accepted, started, ended, cause } = done;
        let [accepted, started, ended] = [accepted, started, ended].map(since);
        Ok(Completion { accepted, started, ended, cause })
    }
}

/// The scenario's card with `image` in its first blocks.
pub(crate) fn with(image: &[u8], exec: &Exec, seed: Seed) -> Result<Card, Cause> {
    let mut card = in_slot(&exec.card, &exec.slot, Data::Newest, seed)?;
    let extent = Extent::new(0, Bytes::of(image) / card.geometry().block);
    let write = Request::Write { extent, data: Payload::Bytes(image), durable: true };
    let before = card.submit(Instant::ZERO, write)?.ended.since(Instant::ZERO);
    let medium = Medium::Device(Box::new(Layered::new(Used { before }, card)));
    Ok(Card::new(medium, false)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_block::{Costs, Geometry, RamBlock, Target};

    #[test]
    fn a_device_that_was_used_before_takes_as_long_as_one_that_was_not() {
        let read = Duration::from_micros(70);
        let device = RamBlock::new(Geometry::of_size(Bytes::mib(1)))
            .with_costs(Costs { read, ..Costs::default() });
        let mut used = Layered::new(Used { before: Duration::from_secs(3) }, device);
        let request = || Request::Read { extent: Extent::new(0, 1), into: Target::Nowhere };
        let at = Instant::from_nanos(1_000);
        assert_eq!(used.submit(at, request()).unwrap().ended, at + read);
        assert_eq!(used.submit(at, request()).unwrap().ended, at + read * 2);
    }
}
