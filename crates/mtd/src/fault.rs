//! Middleware that injects faults by rules: operations that fail, and bit flips in reads and programs.
//!
//! Layer: rank 2. Main types: [`FaultInjector`], [`Rule`], [`Fault`], [`Trigger`]. Each fault
//! states in one line what happens in the medium. Each rule has its own random stream, named by the
//! rule's number, so a rule added at the end never changes the effect of an earlier one.
//!
//! Left out: faults due to wear, retention time and read counts (crate `media`).

use crate::device::{Mtd, ReadResult};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use crate::operation::{Kind, Operation, device_below};
use crate::tear::{self, Progress};
use boardlab_sim::{Bytes, Clock, Duration, Seed, Stream, Trigger, TriggerState};
use std::collections::BTreeSet;
use std::ops::Range;

/// The fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Some cells do not reach the programmed threshold within the chip's limit of pulses; the chip
    /// reports [`Error::ProgramFailed`] and leaves a partial program.
    ProgramFails,
    /// Weak cells pass the chip's own verification and soon read as erased: a program that reports
    /// success leaves this many zeros as ones.
    ProgramLosesBits(u32),
    /// Because of electrons trapped in the oxide, some cells do not reach the erased threshold within
    /// the chip's limit of pulses: [`Error::EraseFailed`], and the block is partially erased.
    EraseFails,
    /// The charge pump does not reach its voltage, so the chip stays busy and changes nothing until
    /// the driver's timeout after this time: [`Error::Timeout`] of a program or an erase.
    Hangs(Duration),
    /// Noise at the sense amplifier flips this many bits of one read; the cells keep their charge.
    ReadFlips(u32),
    /// Charge has leaked from this many cells, and the ECC corrects them: the data are right and
    /// the [`ReadHealth`] shows the correction.
    ReadCorrected(u32),
    /// Charge has leaked from more cells than the ECC can correct: [`Error::Uncorrectable`].
    ReadUncorrectable,
}

impl Fault {
    /// Whether operations of this kind can have the fault.
    #[must_use]
    pub const fn applies_to(self, kind: Kind) -> bool {
        match self {
            Self::ProgramFails | Self::ProgramLosesBits(_) => {
                matches!(kind, Kind::Program | Kind::ProgramOob)
            }
            Self::EraseFails => matches!(kind, Kind::Erase),
            Self::Hangs(_) => matches!(kind, Kind::Program | Kind::ProgramOob | Kind::Erase),
            Self::ReadFlips(_) | Self::ReadCorrected(_) | Self::ReadUncorrectable => {
                matches!(kind, Kind::Read | Kind::ReadOob)
            }
        }
    }
}

/// A fault with its trigger and place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The fault.
    pub fault: Fault,
    /// The trigger.
    pub trigger: Trigger,
    /// Only operations that touch these bytes; all when `None`. An operation on OOB bytes touches
    /// its page.
    pub within: Option<Range<Bytes>>,
}

impl Rule {
    /// A rule for the whole device.
    #[must_use]
    pub const fn new(fault: Fault, trigger: Trigger) -> Self {
        Self { fault, trigger, within: None }
    }

    /// This rule for the bytes of `range` only.
    #[must_use]
    pub const fn within(mut self, range: Range<Bytes>) -> Self {
        self.within = Some(range);
        self
    }

    fn concerns(&self, operation: Operation, geometry: &Geometry) -> bool {
        let Some(range) = operation.range(geometry) else { return false };
        let touches = |ours: &Range<Bytes>| ours.start < range.end && range.start < ours.end;
        self.fault.applies_to(operation.kind)
            && !range.is_empty()
            && self.within.as_ref().is_none_or(touches)
    }
}

/// A device with faults injected by rules.
///
/// ```
/// use boardlab_mtd::{Error, Fault, FaultInjector, Mtd, RamMtd, Rule, Trigger};
/// use boardlab_sim::{Bytes, Clock, Seed};
///
/// let rule = Rule::new(Fault::ProgramFails, Trigger::From(0)).within(Bytes::ZERO..Bytes::kib(64));
/// let mut device = FaultInjector::new(RamMtd::nor(2, Bytes::kib(64)), Seed::new(1)).rule(rule);
/// let mut clock = Clock::new();
/// device.program(&mut clock, Bytes::kib(64), &[0]).unwrap();
/// let failed = device.program(&mut clock, Bytes::ZERO, &[0]);
/// assert_eq!(failed, Err(Error::ProgramFailed { offset: Bytes::ZERO }));
/// ```
#[derive(Debug, Clone)]
pub struct FaultInjector<M> {
    device: M,
    seed: Seed,
    rules: Vec<(Rule, TriggerState)>,
}

impl<M: Mtd> FaultInjector<M> {
    /// A device without faults.
    #[must_use]
    pub const fn new(device: M, seed: Seed) -> Self {
        Self { device, seed, rules: Vec::new() }
    }

    /// Adds a rule. When several apply to one operation, the first added wins.
    ///
    /// # Panics
    /// When a probability has the denominator zero.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        let stream = self.seed.stream(&format!("mtd.fault.{}", self.rules.len()));
        let state = TriggerState::new(rule.trigger, stream);
        self.rules.push((rule, state));
        self
    }

    /// The number of times that each rule fired, in the order of addition.
    pub fn counts(&self) -> impl Iterator<Item = (&Rule, u64)> {
        self.rules.iter().map(|(rule, state)| (rule, state.fired()))
    }

    device_below!(M, "disturbed");

    /// The device, and the fault that applies to this operation with the stream of its rule.
    fn choose(&mut self, operation: Operation) -> (&mut M, Option<(Fault, &mut Stream)>) {
        let Self { device, rules, .. } = self;
        let geometry = device.geometry();
        let concerned = rules.iter_mut().filter(|(rule, _)| rule.concerns(operation, geometry));
        let watched = concerned.map(|(rule, state)| (rule.fault, state));
        let fault = TriggerState::first_to_fire(watched);
        (device, fault)
    }
}

/// The offset of a page's main bytes; zero if there is no such page.
fn page_start<M: Mtd>(device: &M, page: PageIndex) -> Bytes {
    device.geometry().page_range(page).map_or(Bytes::ZERO, |range| range.start)
}

/// Simulates a hang: the driver waits until its timeout.
fn hang(clock: &mut Clock, offset: Bytes, waited: Duration) -> Result<(), Error> {
    clock.advance(waited);
    Err(Error::Timeout { offset, waited })
}

/// Applies a fault to the result of a read. Only the buffer is changed, never the medium.
fn corrupt_read(
    read: ReadResult,
    fault: Option<(Fault, &mut Stream)>,
    offset: Bytes,
    buffer: &mut [u8],
) -> ReadResult {
    let mut health = read?;
    match fault {
        Some((Fault::ReadFlips(count), stream)) => {
            for (byte, bit) in choose_bits(buffer, count, stream, |_| 0xFF) {
                buffer[byte] ^= bit;
            }
        }
        Some((Fault::ReadCorrected(bits), _)) => {
            health.add(bits, bits);
        }
        Some((Fault::ReadUncorrectable, _)) => return Err(Error::Uncorrectable { offset }),
        _ => {}
    }
    Ok(health)
}

/// Up to `count` different bits of `bytes`, as byte index and mask, drawn uniformly from the bits
/// that `candidates` returns for each byte.
fn choose_bits(
    bytes: &[u8],
    count: u32,
    stream: &mut Stream,
    candidates: impl Fn(u8) -> u8,
) -> Vec<(usize, u8)> {
    let total = bytes.iter().map(|&byte| u64::from(candidates(byte).count_ones())).sum();
    let ranks = choose_ranks(total, u64::from(count), stream);
    let (mut ranks, mut rank, mut chosen) = (ranks.into_iter().peekable(), 0, Vec::new());
    for (index, &byte) in bytes.iter().enumerate() {
        let wanted = candidates(byte);
        for bit in (0..8).map(|bit| 1_u8 << bit).filter(|bit| wanted & bit != 0) {
            chosen.extend(ranks.next_if_eq(&rank).map(|_| (index, bit)));
            rank += 1;
        }
    }
    chosen
}

/// `count` different numbers below `total`, or all of them if there are fewer.
fn choose_ranks(total: u64, count: u64, stream: &mut Stream) -> BTreeSet<u64> {
    if count >= total {
        return (0..total).collect();
    }
    let count = usize::try_from(count).expect("usize holds u32");
    let mut ranks = BTreeSet::new();
    while ranks.len() < count {
        ranks.insert(stream.below(total));
    }
    ranks
}

/// `data` with `count` of its zero bits set to one.
fn lose_bits(data: &[u8], count: u32, stream: &mut Stream) -> Vec<u8> {
    let mut weak = data.to_vec();
    for (byte, bit) in choose_bits(data, count, stream, |byte| !byte) {
        weak[byte] |= bit;
    }
    weak
}

impl<M: Mtd> Mtd for FaultInjector<M> {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        let (device, fault) = self.choose(Operation::bytes(Kind::Read, offset, buffer));
        let read = device.read(clock, offset, buffer);
        corrupt_read(read, fault, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        let (device, fault) = self.choose(Operation::bytes(Kind::Program, offset, data));
        match fault {
            Some((Fault::ProgramFails, stream)) => {
                let progress = Progress::random(stream);
                tear::program(device, clock, offset, data, progress, stream)?;
                Err(Error::ProgramFailed { offset })
            }
            Some((Fault::ProgramLosesBits(count), stream)) => {
                device.program(clock, offset, &lose_bits(data, count, stream))
            }
            Some((Fault::Hangs(waited), _)) => hang(clock, offset, waited),
            _ => device.program(clock, offset, data),
        }
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let (device, fault) = self.choose(Operation::block(Kind::Erase, block));
        match fault {
            Some((Fault::EraseFails, stream)) => {
                let progress = Progress::random(stream);
                tear::erase(device, clock, block, progress, stream)?;
                Err(Error::EraseFailed { block })
            }
            Some((Fault::Hangs(waited), _)) => {
                hang(clock, device.geometry().block_range(block)?.start, waited)
            }
            _ => device.erase(clock, block),
        }
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        let operation = Operation::page(Kind::ReadOob, page, Bytes::of(buffer));
        let (device, fault) = self.choose(operation);
        let read = device.read_oob(clock, page, buffer);
        corrupt_read(read, fault, page_start(device, page), buffer)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        let length = Bytes::of(data) + Bytes::of(oob);
        let (device, fault) = self.choose(Operation::page(Kind::ProgramOob, page, length));
        match fault {
            Some((Fault::ProgramFails, stream)) => {
                tear::program_page(device, clock, page, data, oob, stream)?;
                Err(Error::ProgramFailed { offset: page_start(device, page) })
            }
            Some((Fault::ProgramLosesBits(count), stream)) => {
                let weak = lose_bits(&[data, oob].concat(), count, stream);
                let (data, oob) = weak.split_at(data.len());
                device.program_oob(clock, page, data, oob)
            }
            Some((Fault::Hangs(waited), _)) => hang(clock, page_start(device, page), waited),
            _ => device.program_oob(clock, page, data, oob),
        }
    }

    fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.device.is_bad(clock, block)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.device.mark_bad(clock, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::ReadHealth;
    use crate::ram::RamMtd;

    const ALWAYS: Trigger = Trigger::From(0);

    fn nor(fault: Fault, trigger: Trigger) -> FaultInjector<RamMtd> {
        let flash = RamMtd::nor(4, Bytes::new(64));
        FaultInjector::new(flash, Seed::new(3)).rule(Rule::new(fault, trigger))
    }

    fn nand(fault: Fault) -> FaultInjector<RamMtd> {
        let flash = RamMtd::nand(1, 2, Bytes::new(64), Bytes::new(8));
        FaultInjector::new(flash, Seed::new(3)).rule(Rule::new(fault, ALWAYS))
    }

    fn zeros(image: &[u8]) -> u32 {
        image.iter().map(|byte| byte.count_zeros()).sum()
    }

    #[test]
    fn a_failed_program_leaves_part_of_the_data() {
        let (mut device, mut clock) = (nor(Fault::ProgramFails, Trigger::Nth(1)), Clock::new());
        device.program(&mut clock, Bytes::ZERO, &[0; 64]).unwrap();
        let offset = Bytes::new(64);
        let failed = device.program(&mut clock, offset, &[0; 64]);
        assert_eq!(failed, Err(Error::ProgramFailed { offset }));
        device.program(&mut clock, Bytes::new(128), &[0; 64]).unwrap();
        let image = device.device().image();
        assert_eq!((zeros(&image[..64]), zeros(&image[128..])), (512, 512));
        assert!((1..512).contains(&zeros(&image[64..128])));
        assert_eq!(device.counts().map(|(_, count)| count).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn lost_bits_are_lost_without_a_word() {
        let (mut device, mut clock) = (nor(Fault::ProgramLosesBits(3), ALWAYS), Clock::new());
        device.program(&mut clock, Bytes::ZERO, &[0xF0; 16]).unwrap();
        device.program(&mut clock, Bytes::new(64), &[0xFE]).unwrap();
        let image = device.into_inner().image();
        assert_eq!((zeros(&image[..16]), zeros(&image[64..65])), (61, 0));
        assert!(image[..16].iter().all(|byte| byte & 0xF0 == 0xF0));
    }

    #[test]
    fn a_failed_erase_leaves_a_mixture_and_says_which_block() {
        let (mut device, mut clock) = (nor(Fault::EraseFails, ALWAYS), Clock::new());
        device.program(&mut clock, Bytes::ZERO, &[0x0F; 256]).unwrap();
        let block = BlockIndex(2);
        assert_eq!(device.erase(&mut clock, block), Err(Error::EraseFailed { block }));
        let image = device.into_inner().image();
        assert_eq!(image[..128], [0x0F; 128]);
        assert!(image[128..192].iter().any(|&byte| byte != 0xFF));
    }

    #[test]
    fn a_hanging_chip_costs_the_drivers_patience_and_changes_nothing() {
        let waited = Duration::from_millis(3);
        let (mut device, mut clock) = (nor(Fault::Hangs(waited), ALWAYS), Clock::new());
        let offset = Bytes::new(64);
        let timeout = Err(Error::Timeout { offset, waited });
        assert_eq!(device.program(&mut clock, offset, &[0]), timeout);
        assert_eq!(device.erase(&mut clock, BlockIndex(1)), timeout);
        assert_eq!(clock.now().since(boardlab_sim::Instant::ZERO), waited * 2);
        assert_eq!(zeros(&device.into_inner().image()), 0);
    }

    #[test]
    fn flipped_bits_are_in_the_read_alone() {
        let (mut device, mut clock) = (nor(Fault::ReadFlips(5), Trigger::Nth(1)), Clock::new());
        let counts = [(); 3].map(|()| {
            let mut buffer = [0; 32];
            device.read(&mut clock, Bytes::ZERO, &mut buffer).unwrap();
            zeros(&buffer)
        });
        assert_eq!(counts, [0, 5, 0]);
        let (mut device, mut one) = (nor(Fault::ReadFlips(9), ALWAYS), [0]);
        device.read(&mut clock, Bytes::ZERO, &mut one).unwrap();
        assert_eq!(zeros(&one), 8, "a byte has no ninth bit");
    }

    #[test]
    fn corrected_bits_show_in_the_health_and_uncorrectable_ones_in_the_error() {
        let (mut device, mut clock) = (nand(Fault::ReadCorrected(4)), Clock::new());
        let health = ReadHealth { corrected: 4, worst: 4 };
        assert_eq!(device.read(&mut clock, Bytes::ZERO, &mut [0]), Ok(health));
        assert_eq!(device.read_oob(&mut clock, PageIndex(1), &mut [0]), Ok(health));
        let mut device = nand(Fault::ReadUncorrectable);
        let offset = Bytes::new(64);
        let failed = Err(Error::Uncorrectable { offset });
        assert_eq!(device.read(&mut clock, offset, &mut [0]), failed);
        assert_eq!(device.read_oob(&mut clock, PageIndex(1), &mut [0]), failed);
    }

    #[test]
    fn pages_with_spare_bytes_fail_as_a_whole() {
        let (mut device, mut clock) = (nand(Fault::ProgramFails), Clock::new());
        let failed = device.program_oob(&mut clock, PageIndex(1), &[0; 64], &[0; 8]);
        assert_eq!(failed, Err(Error::ProgramFailed { offset: Bytes::new(64) }));
        assert!((1..512).contains(&zeros(&device.device().image()[64..])));
        let mut device = nand(Fault::ProgramLosesBits(2));
        device.program_oob(&mut clock, PageIndex(0), &[], &[0; 8]).unwrap();
        let mut oob = [0; 8];
        device.read_oob(&mut clock, PageIndex(0), &mut oob).unwrap();
        assert_eq!(zeros(&oob), 62);
        let waited = Duration::from_micros(1);
        let hung = nand(Fault::Hangs(waited)).program_oob(&mut clock, PageIndex(1), &[], &[0]);
        assert_eq!(hung, Err(Error::Timeout { offset: Bytes::new(64), waited }));
    }

    #[test]
    fn a_rule_counts_only_what_touches_its_range() {
        let rule = Rule::new(Fault::ProgramFails, Trigger::Nth(1));
        let rule = rule.within(Bytes::new(70)..Bytes::new(72));
        let flash = RamMtd::nor(4, Bytes::new(64));
        let (mut device, mut clock) =
            (FaultInjector::new(flash, Seed::new(1)).rule(rule), Clock::new());
        let mut program = |offset, length| {
            device.program(&mut clock, Bytes::new(offset), &vec![0; length]).is_ok()
        };
        assert!(program(60, 10), "ends where the range begins");
        assert!(program(72, 10), "begins where the range ends");
        assert!(program(60, 11), "number 0");
        assert!(!program(250, 10), "does not lie within the device");
        assert!(program(71, 0), "nothing at all");
        assert!(!program(71, 1), "number 1");
        assert!(program(71, 1), "number 2");
    }

    #[test]
    fn a_chance_is_met_about_as_often_as_it_says_and_repeats_with_the_seed() {
        let run = |seed, rules: u64| {
            let flash = RamMtd::nor(1, Bytes::kib(1));
            let chance = Trigger::Chance { numerator: 1, denominator: 10 };
            let rule = Rule::new(Fault::ReadUncorrectable, chance);
            let mut device = FaultInjector::new(flash, Seed::new(seed)).rule(rule);
            for _ in 1..rules {
                device = device.rule(Rule::new(Fault::ReadCorrected(1), chance));
            }
            let read = |_| device.read(&mut Clock::new(), Bytes::ZERO, &mut [0]).is_err();
            (0..1_000).map(read).collect::<Vec<_>>()
        };
        let failures = run(1, 1).iter().filter(|&&failed| failed).count();
        assert!((70..130).contains(&failures), "{failures}");
        assert_eq!(run(1, 1), run(1, 1));
        assert_ne!(run(1, 1), run(2, 1));
        assert_eq!(run(1, 1), run(1, 3), "a later rule does not change an earlier one");
    }
}
