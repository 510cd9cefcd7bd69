//! A card under observation: each write is a sample with the cause of its speed.
//!
//! Layer: rank 10, between workload and card. Main type: [`Watch`], a layer on a [`Card`]. The cause of
//! a write's speed follows from the work of the flash during the write. It is the work, other than
//! programs of the host's own pages, that kept dies busy longest, if that is at least a twentieth of
//! the write's time. Otherwise it is the kind of cells that took the data, which follows from the time
//! of their programs.

use super::measure::Sample;
use boardlab_block::{BlockDevice, Completion, Error, Layer, Request};
use boardlab_ftl::{Cause, CellTimes, Counters, Event, Translation};
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Layer as ManagedFlash;
use boardlab_sd::Card;
use boardlab_sim::{Duration, Instant};

/// The data went to cells with all their bits in use.
pub(crate) const ORDINARY: &str = "ordinary cells";
/// The data went to cells in SLC mode.
pub(crate) const SLC: &str = "single-bit cells";

/// A layer on a card that makes each write a sample.
pub(crate) struct Watch {
    times: Times,
    pub(crate) samples: Vec<Sample>,
}

/// The times that tell the kinds of cells apart.
struct Times {
    /// The mean program and the erase, with all bits of a cell in use.
    native: (u64, u64),
    /// The same in SLC mode.
    slc: (u64, u64),
    /// Mapped pages of one program.
    pages: u64,
    /// Dies that an erase keeps busy.
    dies: u64,
}

impl Watch {
    pub(crate) fn new(part: &CardPart) -> Self {
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
        Self { times, samples: Vec::new() }
    }

    /// What the write that `card` has just completed had to wait for.
    fn cause(&self, card: &Card<ManagedFlash>, did: &Counters, span: Duration) -> &'static str {
        let work = card.work();
        let foreign =
            work.iter().filter(|(cause, _)| !matches!(cause, Cause::Host | Cause::Padding));
        let (cause, time) = foreign.max_by_key(|&(_, time)| time).unwrap_or((Cause::Host, 0));
        if time * 20 >= span.as_nanos() && time > 0 {
            return cause.name();
        }
        if card.events().has(Event::CacheFull) {
            return Event::CacheFull.name();
        }
        self.times.cells(work[Cause::Host], did)
    }
}

impl Times {
    /// The cells that the programs of the host, which took `work` nanoseconds in all, went to.
    fn cells(&self, work: u64, did: &Counters) -> &'static str {
        let programs = (did.programs[Cause::Host] / self.pages).max(1);
        let spent = |(program, erase): (u64, u64)| {
            let erases = did.erases[Cause::Host] * erase * self.dies;
            (program * programs + erases).abs_diff(work)
        };
        if spent(self.slc) < spent(self.native) { SLC } else { ORDINARY }
    }
}

impl Layer<Card<ManagedFlash>> for Watch {
    fn around(
        &mut self,
        card: &mut Card<ManagedFlash>,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        if !matches!(request, Request::Write { .. }) {
            return card.submit(at, request);
        }
        let bytes = card.geometry().bytes(request.extent()).get();
        let before = *card.translation().counters();
        let completion = card.submit(at, request)?;
        let did = card.translation().counters().since(&before);
        let span = completion.ended.since(at);
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.samples.push(Sample {
            bytes,
            span,
            cause: self.cause(card, &did, span),
            moved: number(did.programs.total() - did.programs[Cause::Host]),
            erases: number(did.erases.total()),
        });
        Ok(completion)
    }
}
