//! The bus between a CPU and one or more NOR chips, with the time of each access.
//!
//! Layer: below the drivers. A write cycle is latched, and a read cycle sampled, at its *end*: an
//! embedded operation starts when the confirming write ends, and a poll sees the state at the end
//! of its read.
//!
//! Several chips share the bus; [`ChipIndex`] selects one. Linear addresses are interleaved over the
//! chips in units of a write buffer ([`Bus::locate`]), so that one chip programs while the next
//! chip's buffer is filled.

use crate::chip::{Address, Chip};
use crate::part::{BusWidth, Part};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};

/// Number of a chip on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChipIndex(pub usize);

/// The time of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusTiming {
    /// One read of a bus word by the CPU.
    pub read_cycle: Duration,
    /// One write of a bus word by the CPU.
    pub write_cycle: Duration,
}

/// The time of a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// At the end of the bus cycle with this number, counted from 1.
    Cycle(u64),
    /// At a point in time, also in the middle of a wait.
    Time(Instant),
}

/// The bus and its chips.
#[derive(Debug, Clone)]
pub struct Bus {
    chips: Vec<Chip>,
    timing: BusTiming,
    width: BusWidth,
    /// The unit of interleaving: a write buffer.
    stripe: Bytes,
    cycles: u64,
    /// The cycle of the power cut; `u64::MAX` for none.
    cut_cycle: u64,
    cut_time: Instant,
    /// The time of the power cut, until the power returns.
    power_lost_at: Option<Instant>,
}

impl Bus {
    /// A bus with `chips`, which are all of the same part.
    ///
    /// # Panics
    /// Without a chip.
    #[must_use]
    pub fn new(chips: Vec<Chip>, timing: BusTiming) -> Self {
        let part = chips.first().expect("Bus::new: no chip").part();
        let width = part.width;
        let stripe = part.write_buffer.unwrap_or(Bytes::new(width.bytes()));
        Self {
            chips,
            timing,
            width,
            stripe,
            cycles: 0,
            cut_cycle: u64::MAX,
            cut_time: Instant::MAX,
            power_lost_at: None,
        }
    }

    /// The part of all chips.
    #[must_use]
    pub fn part(&self) -> &Part {
        self.chips[0].part()
    }

    /// The number of chips.
    #[must_use]
    pub fn chip_count(&self) -> usize {
        self.chips.len()
    }

    /// A chip, for inspection.
    #[must_use]
    pub fn chip(&self, index: ChipIndex) -> &Chip {
        &self.chips[index.0]
    }

    /// A chip, for fault injection and preloading.
    pub fn chip_mut(&mut self, index: ChipIndex) -> &mut Chip {
        &mut self.chips[index.0]
    }

    /// The time of an access.
    #[must_use]
    pub const fn timing(&self) -> BusTiming {
        self.timing
    }

    /// The bytes that one bus cycle transfers.
    #[must_use]
    pub const fn word(&self) -> Bytes {
        Bytes::new(self.width.bytes())
    }

    /// Bus cycles so far.
    #[must_use]
    pub const fn cycles(&self) -> u64 {
        self.cycles
    }

    /// The size of all chips together.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.part().size() * self.chips.len() as u64
    }

    /// The chip, and the offset in it, of the byte at linear `offset`.
    #[must_use]
    #[inline]
    pub fn locate(&self, offset: Bytes) -> (ChipIndex, Bytes) {
        let chips = self.chips.len() as u64;
        if chips == 1 {
            return (ChipIndex(0), offset);
        }
        let (stripe, within) = (offset / self.stripe, offset.get() % self.stripe.get());
        let chip = usize::try_from(stripe % chips).expect("fewer chips than usize");
        (ChipIndex(chip), self.stripe * (stripe / chips) + Bytes::new(within))
    }

    /// The bus address of the byte at `offset` of a chip.
    ///
    /// # Panics
    /// When the offset lies beyond what u32 words can address.
    #[must_use]
    #[inline]
    pub fn address(&self, offset: Bytes) -> Address {
        Address(u32::try_from(offset.get() / self.width.bytes()).expect("Bus: beyond 2^32 words"))
    }

    /// Writes one bus word.
    #[inline]
    pub fn write(&mut self, clock: &mut Clock, chip: ChipIndex, address: Address, value: u16) {
        clock.advance(self.timing.write_cycle);
        if self.is_powered(clock) {
            self.chips[chip.0].write(clock.now(), address, value);
        }
    }

    /// Writes bus words at consecutive addresses of one chip, as one [`Bus::write`] each; at once what a chip
    /// takes as further words of its write buffer.
    pub fn write_words(
        &mut self,
        clock: &mut Clock,
        chip: ChipIndex,
        first: Address,
        values: &[u16],
    ) {
        let (mut left, mut address) = (values, first);
        while let [value, others @ ..] = left {
            let cycles = left.len() as u64;
            let end = clock.now() + self.timing.write_cycle * cycles;
            if self.has_power_for(cycles, end) && self.chips[chip.0].load_words(address, left) {
                self.cycles += cycles;
                clock.advance_to(end);
                return;
            }
            self.write(clock, chip, address, *value);
            (left, address) = (others, Address(address.0.wrapping_add(1)));
        }
    }

    /// Reads one bus word; all ones without power.
    #[inline]
    pub fn read(&mut self, clock: &mut Clock, chip: ChipIndex, address: Address) -> u16 {
        clock.advance(self.timing.read_cycle);
        if self.is_powered(clock) {
            self.chips[chip.0].read(clock.now(), address)
        } else {
            u16::MAX
        }
    }

    /// Reads a range of one chip; the time is that of its bus cycles.
    ///
    /// A chip that is not in array mode is read cycle by cycle and returns its status or tables.
    pub fn read_range(
        &mut self,
        clock: &mut Clock,
        chip: ChipIndex,
        offset: Bytes,
        buffer: &mut [u8],
    ) {
        let word = self.width.bytes();
        let span = Bytes::new(offset.get() % word) + Bytes::of(buffer);
        let cycles = span.div_ceil(Bytes::new(word));
        let end = clock.now() + self.timing.read_cycle * cycles;
        if self.has_power_for(cycles, end) && self.chips[chip.0].in_array_mode(clock.now()) {
            self.cycles += cycles;
            clock.advance_to(end);
            let whole = self.chips[chip.0].read_array(clock.now(), offset, buffer);
            assert!(whole, "Bus::read_range: the chip left array mode by itself");
            return;
        }
        self.read_cycles(clock, chip, offset, buffer);
    }

    fn read_cycles(
        &mut self,
        clock: &mut Clock,
        chip: ChipIndex,
        offset: Bytes,
        buffer: &mut [u8],
    ) {
        let word = self.width.bytes();
        let mut at = offset.get();
        let mut left = buffer;
        while !left.is_empty() {
            let value = self.read(clock, chip, self.address(Bytes::new(at))).to_le_bytes();
            let within = usize::try_from(at % word).expect("less than a word");
            let bytes = &value[within..usize::try_from(word).expect("one or two bytes")];
            let (head, tail) = left.split_at_mut(bytes.len().min(left.len()));
            head.copy_from_slice(&bytes[..head.len()]);
            at += bytes.len() as u64;
            left = tail;
        }
    }

    /// How many further bus cycles there is power for, and until when, as far as a cut is scheduled.
    #[must_use]
    pub(crate) fn until_cut(&self) -> Option<(u64, Instant)> {
        let (cycle, time) = (self.cut_cycle, self.cut_time);
        let scheduled = (cycle, time) != (u64::MAX, Instant::MAX);
        scheduled.then(|| (cycle.saturating_sub(self.cycles + 1), time))
    }

    /// Counts so many reads of a busy chip, an even number, whose time has passed.
    pub(crate) fn pass_reads(&mut self, chip: ChipIndex, count: u64) {
        self.cycles += count;
        self.chips[chip.0].pass_reads(count);
    }

    /// Draws the bits that the next torn operation of each chip leaves from `seed`.
    pub fn set_torn_streams(&mut self, seed: Seed) {
        for (index, chip) in self.chips.iter_mut().enumerate() {
            chip.set_torn_stream(seed.stream(&format!("nor.torn.{index}")));
        }
    }

    /// Schedules a power cut at `point`.
    pub fn cut_power_at(&mut self, point: CutPoint) {
        match point {
            CutPoint::Cycle(cycle) => self.cut_cycle = cycle,
            CutPoint::Time(instant) => self.cut_time = instant,
        }
    }

    /// The time of the power cut, if there is no power; drivers check it after every operation.
    #[must_use]
    pub const fn power_lost_at(&self) -> Option<Instant> {
        self.power_lost_at
    }

    /// Applies a power cut that is due after time without bus cycles, such as a wait.
    pub fn pass_time(&mut self, clock: &Clock) {
        if clock.now() >= self.cut_time {
            self.cut(self.cut_time.min(clock.now()));
        }
    }

    /// Restores the power: the chips start in array mode.
    pub fn power_on(&mut self, clock: &Clock) {
        (self.cut_cycle, self.cut_time, self.power_lost_at) = (u64::MAX, Instant::MAX, None);
        self.chips.iter_mut().for_each(|chip| chip.power_on(clock.now()));
    }

    /// Whether no power cut comes within so many further bus cycles, the last of which ends at `end`.
    fn has_power_for(&self, cycles: u64, end: Instant) -> bool {
        self.power_lost_at.is_none() && self.cycles + cycles < self.cut_cycle && end < self.cut_time
    }

    /// Counts a bus cycle; returns whether there is power at its end.
    #[inline]
    fn is_powered(&mut self, clock: &Clock) -> bool {
        self.cycles += 1;
        // A limit once exceeded stays exceeded until the power returns.
        if self.cycles < self.cut_cycle && clock.now() < self.cut_time {
            return true;
        }
        self.cut(self.cut_time.min(clock.now()));
        false
    }

    #[cold]
    fn cut(&mut self, at: Instant) {
        if self.power_lost_at.is_none() {
            self.power_lost_at = Some(at);
            self.chips.iter_mut().for_each(|chip| chip.power_cut(at));
        }
    }
}
