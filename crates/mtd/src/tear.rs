//! The state of the medium after an interrupted operation: partial programs and erases.
//!
//! Layer: rank 2, used by [`PowerCut`](crate::PowerCut) and [`FaultInjector`](crate::FaultInjector).
//! The torn state is written through the device's own program and erase, so any device can be torn.
//!
//! - A program writes its units in order. In the interrupted unit, each bit to be cleared is 0 or
//!   still 1 with equal probability.
//! - An erase of NOR first programs the whole block to zeros and then erases all of it at once (the
//!   "Embedded Erase algorithm": S29AL004D data sheet of 2005-02-18, "Sector Erase Command
//!   Sequence"). Interrupted in the first phase, it leaves zeros from the start on and the old bytes
//!   after them; interrupted in the second, it leaves each bit 0 or 1. Assumed: the first phase takes
//!   a quarter of the time.
//! - An erase of NAND has no such first phase: each bit that was 0 is still 0 or already 1.
//!
//! Main types: [`Change`], an operation that can be torn, and the trait [`Tear`] of devices that can
//! apply a torn operation. A device that models the physics of a power cut implements it itself;
//! devices without physics use the functions here.
//!
//! Left out: bits that read differently each time, and disturb of neighbouring cells.

use crate::device::Mtd;
use crate::error::{Error, TearOutcome};
use crate::geometry::FlashKind;
use crate::index::{BlockIndex, PageIndex};
use crate::operation::Kind;
use crate::ram::RamMtd;
use boardlab_sim::{Bytes, Clock, Duration, Stream};
use std::ops::Range;

/// An operation that changes the medium, with its data.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// [`Mtd::program`]: offset and data.
    Program(Bytes, &'a [u8]),
    /// [`Mtd::program_oob`]: page, data and free spare bytes.
    ProgramOob(PageIndex, &'a [u8], &'a [u8]),
    /// [`Mtd::erase`].
    Erase(BlockIndex),
    /// [`Mtd::mark_bad`].
    MarkBad(BlockIndex),
}

impl Change<'_> {
    /// The kind of operation.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Program(..) => Kind::Program,
            Self::ProgramOob(..) => Kind::ProgramOob,
            Self::Erase(_) => Kind::Erase,
            Self::MarkBad(_) => Kind::MarkBad,
        }
    }

    /// Performs the operation.
    ///
    /// # Errors
    /// Those of the method.
    pub fn apply<M: Mtd + ?Sized>(self, device: &mut M, clock: &mut Clock) -> Result<(), Error> {
        match self {
            Self::Program(offset, data) => device.program(clock, offset, data),
            Self::ProgramOob(page, data, oob) => device.program_oob(clock, page, data, oob),
            Self::Erase(block) => device.erase(clock, block),
            Self::MarkBad(block) => device.mark_bad(clock, block),
        }
    }

    /// Performs the operation up to `progress`, through the device's own program and erase.
    pub(crate) fn tear<M: Mtd + ?Sized>(
        self,
        device: &mut M,
        clock: &mut Clock,
        progress: Progress,
        stream: &mut Stream,
    ) -> Result<(), Error> {
        match self {
            Self::Program(offset, data) => program(device, clock, offset, data, progress, stream),
            Self::ProgramOob(page, data, oob) => {
                program_page(device, clock, page, data, oob, stream)
            }
            Self::Erase(block) => erase(device, clock, block, progress, stream),
            // The mark is a byte: if too few of its bits are programmed, the block is not marked.
            Self::MarkBad(block) if stream.chance(1, 2) => device.mark_bad(clock, block),
            Self::MarkBad(_) => Ok(()),
        }
    }
}

/// A device that can be forked and can apply a torn operation.
pub trait Tear: Mtd + Clone {
    /// The outcomes that a cut during an operation of `kind` can have on this device.
    fn outcomes(&self, kind: Kind) -> &'static [TearOutcome];

    /// Applies `change` with the outcome `torn`. Errors are ignored, because there is no caller to
    /// report them to. `stream` selects the bits of a partial outcome.
    fn tear(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        stream: &mut Stream,
    );
}

impl Tear for RamMtd {
    fn outcomes(&self, _kind: Kind) -> &'static [TearOutcome] {
        &TearOutcome::PLAIN
    }

    fn tear(
        &mut self,
        clock: &mut Clock,
        change: Change<'_>,
        torn: TearOutcome,
        stream: &mut Stream,
    ) {
        let progress = Progress::random(stream);
        let _ = match torn {
            TearOutcome::NotBegun => Ok(()),
            TearOutcome::Partial => change.tear(self, clock, progress, stream),
            TearOutcome::Weak | TearOutcome::Finished => change.apply(self, clock),
        };
    }
}

/// The progress of an operation: a fraction, at least 0 and less than 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress(u64);

/// The denominator of a [`Progress`].
const WHOLE: u64 = 1 << 32;

impl Progress {
    /// A uniformly distributed progress.
    pub(crate) fn random(stream: &mut Stream) -> Self {
        Self(stream.below(WHOLE))
    }

    /// The progress after `passed` of an operation that takes `all`; `None` if it is complete.
    pub(crate) fn after(passed: Duration, all: Duration) -> Option<Self> {
        let (passed, all) = (u128::from(passed.as_nanos()), u128::from(all.as_nanos()));
        let fraction = (passed * u128::from(WHOLE)).checked_div(all)?;
        u64::try_from(fraction).ok().filter(|&fraction| fraction < WHOLE).map(Self)
    }

    /// The index of the current one of `count` units, which are processed in order.
    fn unit(self, count: u64) -> u64 {
        let unit = u128::from(self.0) * u128::from(count) / u128::from(WHOLE);
        u64::try_from(unit).expect("less than the count")
    }

    /// The progress within the first `parts`-th of the operation; `None` if it is beyond that.
    fn within_first(self, parts: u64) -> Option<Self> {
        (self.0 < WHOLE / parts).then_some(Self(self.0 * parts))
    }
}

/// Sets each zero bit of `bytes` with probability 1/2: for a program the bits not yet programmed, for
/// an erase the bits already erased.
fn set_half_of_the_zeros(bytes: &mut [u8], stream: &mut Stream) {
    let mut mask = vec![0; bytes.len()];
    stream.fill(&mut mask);
    bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte |= mask);
}

/// Programs `data` up to `progress`.
pub(crate) fn program<M: Mtd + ?Sized>(
    device: &mut M,
    clock: &mut Clock,
    offset: Bytes,
    data: &[u8],
    progress: Progress,
    stream: &mut Stream,
) -> Result<(), Error> {
    device.geometry().program_range(offset, Bytes::of(data))?;
    let unit = device.geometry().write_size;
    if data.is_empty() {
        return Ok(());
    }
    let done = unit * progress.unit(Bytes::of(data) / unit);
    let (before, rest) = data.split_at(done.to_usize());
    if !before.is_empty() {
        device.program(clock, offset, before)?;
    }
    let mut hit = rest[..unit.to_usize()].to_vec();
    set_half_of_the_zeros(&mut hit, stream);
    device.program(clock, offset + done, &hit)
}

/// Programs about half of the bits of a page and its OOB area: a page is one unit.
pub(crate) fn program_page<M: Mtd + ?Sized>(
    device: &mut M,
    clock: &mut Clock,
    page: PageIndex,
    data: &[u8],
    oob: &[u8],
    stream: &mut Stream,
) -> Result<(), Error> {
    let (mut data, mut oob) = (data.to_vec(), oob.to_vec());
    set_half_of_the_zeros(&mut data, stream);
    set_half_of_the_zeros(&mut oob, stream);
    device.program_oob(clock, page, &data, &oob)
}

/// Erases a block up to `progress`.
pub(crate) fn erase<M: Mtd + ?Sized>(
    device: &mut M,
    clock: &mut Clock,
    block: BlockIndex,
    progress: Progress,
    stream: &mut Stream,
) -> Result<(), Error> {
    let range = device.geometry().block_range(block)?;
    let length = range.end - range.start;
    if device.geometry().kind != FlashKind::Nor {
        return mix_pages(device, clock, block, stream);
    }
    if let Some(zeroing) = progress.within_first(4) {
        let zeros = vec![0; length.to_usize()];
        return program(device, clock, range.start, &zeros, zeroing, stream);
    }
    let mut mixture = vec![0; length.to_usize()];
    set_half_of_the_zeros(&mut mixture, stream);
    device.erase(clock, block)?;
    device.program(clock, range.start, &mixture)
}

/// The contents of a page, or of a block without pages, before the erase.
struct OldPage {
    start: Bytes,
    data: Vec<u8>,
    oob: Vec<u8>,
}

/// Erases a block and programs some of the old zeros of each page again. A page without zeros is not
/// programmed, so that it remains erased.
fn mix_pages<M: Mtd + ?Sized>(
    device: &mut M,
    clock: &mut Clock,
    block: BlockIndex,
    stream: &mut Stream,
) -> Result<(), Error> {
    let range = device.geometry().block_range(block)?;
    let unit = device.geometry().write_size;
    let pages = old_pages(device, clock, range);
    device.erase(clock, block)?;
    for OldPage { start, mut data, mut oob } in pages {
        set_half_of_the_zeros(&mut data, stream);
        set_half_of_the_zeros(&mut oob, stream);
        match u32::try_from(start / unit) {
            Ok(page) if !oob.is_empty() => {
                device.program_oob(clock, PageIndex(page), &data, &oob)?;
            }
            _ => device.program(clock, start, &data)?,
        }
    }
    Ok(())
}

/// The pages in `range` that are not erased; on a device without pages, the range as one piece.
fn old_pages<M: Mtd + ?Sized>(
    device: &mut M,
    clock: &mut Clock,
    range: Range<Bytes>,
) -> Vec<OldPage> {
    let geometry = device.geometry();
    let spare = geometry.oob.map_or(0, |oob| oob.size.to_usize());
    let write_size = geometry.write_size;
    let paged = geometry.kind == FlashKind::Nand || spare > 0;
    let unit = if paged { write_size } else { range.end - range.start };
    let mut pages = Vec::new();
    for number in 0..(range.end - range.start) / unit {
        let start = range.start + unit * number;
        let (mut data, mut oob) = (vec![0xFF; unit.to_usize()], vec![0xFF; spare]);
        // In a torn block, uncorrectable bytes serve as well as any others.
        let _ = device.read(clock, start, &mut data);
        if let Ok(page) = u32::try_from(start / write_size)
            && spare > 0
        {
            let _ = device.read_oob(clock, PageIndex(page), &mut oob);
        }
        if data.iter().chain(&oob).any(|&byte| byte != 0xFF) {
            pages.push(OldPage { start, data, oob });
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::RamMtd;
    use boardlab_sim::Seed;

    /// The progress of `numerator` sixteenths.
    fn sixteenths(numerator: u64) -> Progress {
        Progress(numerator * WHOLE / 16)
    }

    #[test]
    fn progress_is_a_fraction_of_the_time_and_chooses_the_unit() {
        let nanos = Duration::from_nanos;
        assert_eq!(Progress::after(nanos(3), nanos(4)).map(|half| half.unit(8)), Some(6));
        assert_eq!(Progress::after(nanos(0), nanos(4)).map(|none| none.unit(8)), Some(0));
        assert_eq!(Progress::after(nanos(4), nanos(4)), None);
        assert_eq!(Progress::after(nanos(0), nanos(0)), None);
        assert_eq!(Progress(WHOLE - 1).unit(u64::MAX), u64::MAX - (1 << 32));
        assert_eq!(sixteenths(2).within_first(4), Some(sixteenths(8)));
        assert_eq!(sixteenths(4).within_first(4), None);
    }

    #[test]
    fn a_torn_program_is_a_prefix_and_a_weak_unit() {
        let (mut flash, mut clock) = (RamMtd::nor(1, Bytes::new(32)), Clock::new());
        let mut stream = Seed::new(5).stream("tear");
        let at = Bytes::new(8);
        program(&mut flash, &mut clock, at, &[0x00; 16], sixteenths(6), &mut stream).unwrap();
        let image = flash.image();
        assert_eq!(image[8..14], [0; 6]);
        assert!(image[..8].iter().chain(&image[15..]).all(|&byte| byte == 0xFF));
        assert_ne!(image[14], 0);
    }

    #[test]
    fn a_nor_erase_stopped_early_leaves_zeros_and_old_bytes() {
        let (mut flash, mut clock) = (RamMtd::nor(1, Bytes::new(32)), Clock::new());
        flash.program(&mut clock, Bytes::ZERO, &[0x5A; 32]).unwrap();
        let mut stream = Seed::new(5).stream("tear");
        erase(&mut flash, &mut clock, BlockIndex(0), sixteenths(2), &mut stream).unwrap();
        let image = flash.image();
        assert_eq!(image[..16], [0; 16]);
        assert_eq!(image[17..], [0x5A; 15]);
        assert_eq!(image[16] & !0x5A, 0);
    }

    #[test]
    fn a_nor_erase_stopped_late_leaves_a_mixture() {
        let (mut flash, mut clock) = (RamMtd::nor(1, Bytes::kib(1)), Clock::new());
        flash.program(&mut clock, Bytes::ZERO, &[0xFF; 1_024]).unwrap();
        let mut stream = Seed::new(5).stream("tear");
        erase(&mut flash, &mut clock, BlockIndex(0), sixteenths(9), &mut stream).unwrap();
        let ones: u32 = flash.image().iter().map(|byte| byte.count_ones()).sum();
        assert!((3_800..4_400).contains(&ones), "{ones}");
    }

    #[test]
    fn a_nand_erase_stopped_leaves_old_zeros_and_keeps_erased_pages_erased() {
        let flash = RamMtd::nand(1, 4, Bytes::new(512), Bytes::new(16));
        let (mut flash, mut clock) = (flash.program_once(), Clock::new());
        flash.program_oob(&mut clock, PageIndex(1), &[0x0F; 512], &[0xF0; 16]).unwrap();
        let mut stream = Seed::new(5).stream("tear");
        erase(&mut flash, &mut clock, BlockIndex(0), sixteenths(1), &mut stream).unwrap();
        let image = flash.image();
        assert!(image[512..1_024].iter().all(|byte| byte & 0x0F == 0x0F));
        let zeros: u32 = image[512..1_024].iter().map(|byte| byte.count_zeros()).sum();
        assert!((900..1_150).contains(&zeros), "{zeros}");
        flash.program(&mut clock, Bytes::ZERO, &[0; 512]).unwrap();
        let page = PageIndex(1);
        let again = flash.program(&mut clock, Bytes::new(512), &[0; 512]);
        assert_eq!(again, Err(Error::AlreadyProgrammed { page }));
    }
}
