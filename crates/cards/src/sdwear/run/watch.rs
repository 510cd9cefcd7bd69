//! A card under observation: each write is a sample with the reason for its speed.
//!
//! Layer: rank 10, between workload and card. Main type: [`Watch`], a block device over a [`Card`]. What a write had
//! to wait for is told by what the flash did while it was served: the reason other than the host's own pages
//! that kept dies busy longest, when that is a twentieth of the write's time at least. Otherwise the cells that
//! took the data, told by how long their programs took.

use super::measure::Sample;
use boardlab_block::{BlockDevice, Completion, Error, Geometry, Request};
use boardlab_ftl::{Cause, CellTimes, Counters, Event, Translation};
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Layer;
use boardlab_sd::Card;
use boardlab_sim::{Duration, Instant};

/// Data went to cells with all their bits.
pub(crate) const ORDINARY: &str = "ordinary cells";
/// Data went to cells in SLC mode.
pub(crate) const SLC: &str = "single-bit cells";

/// A card whose writes are noted.
pub(crate) struct Watch<'c> {
    pub(crate) card: &'c mut Card<Layer>,
    times: Times,
    pub(crate) samples: Vec<Sample>,
}

/// What tells the cells apart.
struct Times {
    /// Mean program and erase, in native mode.
    native: (u64, u64),
    /// The same in SLC mode.
    slc: (u64, u64),
    /// Mapped pages of one program.
    pages: u64,
    /// Dies that an erase keeps busy.
    dies: u64,
}

impl<'c> Watch<'c> {
    pub(crate) fn new(card: &'c mut Card<Layer>, part: &CardPart) -> Self {
        let mean = |times: &CellTimes| {
            let sum: u64 = times.program.iter().map(|time| time.as_nanos()).sum();
            let rows = u64::try_from(times.program.len()).unwrap_or(1).max(1);
            (sum / rows, times.erase.as_nanos())
        };
        let stripe = part.managed.flash.stripe(part.managed.page);
        let times = Times {
            native: mean(&part.managed.flash.native),
            slc: mean(&part.managed.flash.slc),
            pages: stripe.program_pages().into(),
            dies: stripe.all_dies().into(),
        };
        Self { card, times, samples: Vec::new() }
    }

    /// What the write that has just been served had to wait for.
    fn cause(&self, done: &Counters, span: Duration) -> &'static str {
        let work = self.card.work();
        let foreign =
            work.iter().filter(|(cause, _)| !matches!(cause, Cause::Host | Cause::Padding));
        let (cause, time) = foreign.max_by_key(|&(_, time)| time).unwrap_or((Cause::Host, 0));
        if time * 20 >= span.as_nanos() && time > 0 {
            return cause.name();
        }
        if self.card.events().has(Event::CacheFull) {
            return Event::CacheFull.name();
        }
        self.times.cells(work[Cause::Host], done)
    }
}

impl Times {
    /// The cells that programs of `work` nanoseconds in all went to.
    fn cells(&self, work: u64, done: &Counters) -> &'static str {
        let programs = (done.programs[Cause::Host] / self.pages).max(1);
        let spent = |(program, erase): (u64, u64)| {
            let erases = done.erases[Cause::Host] * erase * self.dies;
            (program * programs + erases).abs_diff(work)
        };
        if spent(self.slc) < spent(self.native) { SLC } else { ORDINARY }
    }
}

impl BlockDevice for Watch<'_> {
    fn geometry(&self) -> &Geometry {
        self.card.geometry()
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        let write = matches!(request, Request::Write { .. });
        if !write {
            return self.card.submit(at, request);
        }
        let bytes = self.card.geometry().bytes(request.extent()).get();
        let before = *self.card.translation().counters();
        let completion = self.card.submit(at, request)?;
        let done = self.card.translation().counters().since(&before);
        let span = completion.ended.since(at);
        let own = done.programs[Cause::Host];
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.samples.push(Sample {
            bytes,
            span,
            cause: self.cause(&done, span),
            moved: number(done.programs.total() - own),
            erases: number(done.erases.total()),
        });
        Ok(completion)
    }
}
