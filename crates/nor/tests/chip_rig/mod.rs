//! A chip on a test rig: parts with round figures, and a clock that moves on with every cycle.
//!
//! Times are constants, so that tests can say to the nanosecond when something happens. The
//! figures are chosen to be told apart, not to be those of any part.

#![allow(dead_code, reason = "each test file uses its own share")]

use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{
    Boot, BusWidth, Cfi, CfiTimes, Features, Identity, OperationTime, Part, Region, Timing,
};
use boardlab_sim::{Bytes, Duration, Instant, QuantileTable, Seed};
use std::sync::Arc;

pub(crate) const WORD_TIME: Duration = Duration::from_micros(60);
pub(crate) const WORD_MAX: Duration = Duration::from_micros(500);
pub(crate) const BUFFER_TIME: Duration = Duration::from_micros(200);
pub(crate) const BUFFER_OVERHEAD: Duration = Duration::from_micros(40);
pub(crate) const BUFFER_MAX: Duration = Duration::from_micros(900);
pub(crate) const ERASE_TIME: Duration = Duration::from_millis(200);
pub(crate) const ERASE_MAX: Duration = Duration::from_millis(1_100);
pub(crate) const WINDOW: Duration = Duration::from_micros(50);
pub(crate) const SUSPEND_LATENCY: Duration = Duration::from_micros(20);
pub(crate) const PROTECTED_LATENCY: Duration = Duration::from_micros(100);
pub(crate) const RESET_LATENCY: Duration = Duration::from_micros(35);
/// Each bus cycle of the rig takes this long and is sampled at its end.
pub(crate) const CYCLE: Duration = Duration::from_nanos(100);

pub(crate) const DQ7: u16 = 0x80;
pub(crate) const DQ6: u16 = 0x40;
pub(crate) const DQ5: u16 = 0x20;
pub(crate) const DQ3: u16 = 0x08;
pub(crate) const DQ2: u16 = 0x04;
pub(crate) const DQ1: u16 = 0x02;

pub(crate) const WIDTHS: [BusWidth; 2] = [BusWidth::X8, BusWidth::X16];

fn timed(time: Duration, max: Duration) -> OperationTime {
    OperationTime { time: QuantileTable::constant(time), max }
}

/// Constant times.
pub(crate) fn timing() -> Timing {
    Timing {
        word_program: timed(WORD_TIME, WORD_MAX),
        buffer_program: timed(BUFFER_TIME, BUFFER_MAX),
        buffer_overhead: BUFFER_OVERHEAD,
        sector_erase: timed(ERASE_TIME, ERASE_MAX),
        erase_window: WINDOW,
        suspend_latency: SUSPEND_LATENCY,
        protected_latency: PROTECTED_LATENCY,
        reset_latency: RESET_LATENCY,
    }
}

/// A part with all features, 64 bytes of write buffer and the identity of the QEMU test's part.
pub(crate) fn part(width: BusWidth, boot: Boot, runs: &[(u32, u64)]) -> Part {
    let region = |&(count, kib): &(u32, u64)| Region { count, size: Bytes::kib(kib) };
    let times = CfiTimes {
        word_typical: 6,
        buffer_typical: 8,
        erase_typical: 8,
        chip_typical: 15,
        word_max: 3,
        buffer_max: 2,
        erase_max: 2,
        chip_max: 1,
    };
    let cfi = Cfi {
        times,
        vcc: [0x27, 0x36],
        vpp: [0, 0],
        interface: 2,
        primary_minor: b'3',
        silicon_revision: 0x14,
        protection_group: 1,
        protection_scheme: 8,
        page_mode: 2,
    };
    Part {
        name: "rig".into(),
        width,
        regions: runs.iter().map(region).collect(),
        boot,
        write_buffer: Some(Bytes::new(64)),
        identity: Identity { manufacturer: 0xBF, device: 0x236D, device_extended: None },
        cfi: Some(cfi),
        timing: timing(),
        features: Features {
            unlock_bypass: true,
            erase_suspend: true,
            program_suspend: true,
            status_register: false,
            ppb: true,
            masks_ones: true,
        },
        endurance: 100_000,
    }
}

/// 128 sectors of 64 KiB.
pub(crate) fn uniform(width: BusWidth) -> Part {
    part(width, Boot::Uniform, &[(128, 64)])
}

/// Small sectors at the highest addresses.
pub(crate) fn top_boot(width: BusWidth) -> Part {
    part(width, Boot::Top, &[(127, 64), (1, 32), (2, 8), (1, 16)])
}

/// Small sectors at the lowest addresses.
pub(crate) fn bottom_boot(width: BusWidth) -> Part {
    part(width, Boot::Bottom, &[(1, 16), (2, 8), (1, 32), (127, 64)])
}

/// A chip and a clock.
#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) chip: Chip,
    pub(crate) now: Instant,
    pub(crate) wide: bool,
    /// Cycles so far, reads without a value; only when it was asked for.
    pub(crate) log: Option<Vec<(Instant, Address, Option<u16>)>>,
}

impl Rig {
    pub(crate) fn new(part: Part) -> Self {
        let wide = part.width == BusWidth::X16;
        let chip = Chip::new(Arc::new(part), Seed::new(1)).unwrap();
        Self { chip, now: Instant::ZERO, wide, log: None }
    }

    /// The bus address of the byte at `offset`.
    pub(crate) fn at(&self, offset: u64) -> Address {
        let address = if self.wide { offset / 2 } else { offset };
        Address(u32::try_from(address).unwrap())
    }

    /// A bus address printed for x16, as command tables do; 2AAh is 555h in x8.
    pub(crate) fn command_at(&self, word: u32) -> Address {
        match (self.wide, word) {
            (true, _) => Address(word),
            (false, 0x2AA) => Address(0x555),
            (false, _) => Address(word * 2),
        }
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        self.now += span;
    }

    pub(crate) fn write_at(&mut self, address: Address, value: u16) {
        self.now += CYCLE;
        if let Some(log) = &mut self.log {
            log.push((self.now, address, Some(value)));
        }
        self.chip.write(self.now, address, value);
    }

    pub(crate) fn read_at(&mut self, address: Address) -> u16 {
        self.now += CYCLE;
        if let Some(log) = &mut self.log {
            log.push((self.now, address, None));
        }
        self.chip.read(self.now, address)
    }

    /// Writes at a byte offset.
    pub(crate) fn write(&mut self, offset: u64, value: u16) {
        self.write_at(self.at(offset), value);
    }

    /// Reads at a byte offset.
    pub(crate) fn read(&mut self, offset: u64) -> u16 {
        self.read_at(self.at(offset))
    }

    /// Writes a command at an address of the x16 table.
    pub(crate) fn command(&mut self, word: u32, value: u16) {
        self.write_at(self.command_at(word), value);
    }

    /// Reads identity or CFI at an address of the x16 table.
    pub(crate) fn query(&mut self, word: u32) -> u16 {
        let address = if self.wide { word } else { word * 2 };
        self.read_at(Address(address))
    }

    pub(crate) fn unlock(&mut self) {
        self.command(0x555, 0xAA);
        self.command(0x2AA, 0x55);
    }

    /// `AA 55` and a command at 555h.
    pub(crate) fn unlocked(&mut self, value: u16) {
        self.unlock();
        self.command(0x555, value);
    }

    pub(crate) fn reset(&mut self) {
        self.write(0, 0xF0);
    }

    pub(crate) fn abort_reset(&mut self) {
        self.unlocked(0xF0);
    }

    /// Contents of a bus word that is erased.
    pub(crate) fn erased(&self) -> u16 {
        if self.wide { 0xFFFF } else { 0xFF }
    }

    pub(crate) fn start_program(&mut self, offset: u64, value: u16) {
        self.unlocked(0xA0);
        self.write(offset, value);
    }

    pub(crate) fn program(&mut self, offset: u64, value: u16) {
        self.start_program(offset, value);
        self.wait_ready();
    }

    /// The six cycles up to the first sector, that one included.
    pub(crate) fn start_erase(&mut self, offset: u64) {
        self.unlocked(0x80);
        self.unlock();
        self.write(offset, 0x30);
    }

    pub(crate) fn start_chip_erase(&mut self) {
        self.unlocked(0x80);
        self.unlocked(0x10);
    }

    /// `25`, the count and the words, without `29`.
    pub(crate) fn load(&mut self, sector: u64, words: &[(u64, u16)]) {
        self.unlock();
        self.write(sector, 0x25);
        self.write(sector, u16::try_from(words.len() - 1).unwrap());
        words.iter().for_each(|&(offset, value)| self.write(offset, value));
    }

    /// A whole buffered program, to its end.
    pub(crate) fn buffer_program(&mut self, words: &[(u64, u16)]) {
        self.load(words[0].0, words);
        self.write(words[0].0, 0x29);
        self.wait_ready();
    }

    /// Lets the running operation end.
    pub(crate) fn wait_ready(&mut self) {
        if let Some(end) = self.chip.ready_at() {
            self.now = self.now.max(end);
            self.chip.advance(self.now);
        }
    }

    /// Whether DQ6 differs between two reads of a place.
    pub(crate) fn toggles(&mut self, offset: u64) -> bool {
        (self.read(offset) ^ self.read(offset)) & DQ6 != 0
    }

    /// Whether DQ2 differs between two reads of a place.
    pub(crate) fn toggles_dq2(&mut self, offset: u64) -> bool {
        (self.read(offset) ^ self.read(offset)) & DQ2 != 0
    }

    pub(crate) fn is_ready(&mut self) -> bool {
        self.chip.is_ready(self.now)
    }
}
