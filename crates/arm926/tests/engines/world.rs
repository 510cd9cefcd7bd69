//! The system on which two engines are compared: 256 KB of memory, a device with interrupts,
//! translation tables.

use crate::rig::board::{self, Part, write_control};
use boardlab_arm926::config::{CacheSize, TlbIndex};
use boardlab_arm926::{Config, Cycles, Lines, Physical, Processor, Ram, Reply, Waits, Width};
use boardlab_sim::Stream;
use serde::{Deserialize, Serialize};

/// The size of memory.
pub(crate) const MEMORY: u32 = 0x4_0000;

/// The address of the device.
const DEVICE: u32 = 0x8_0000;

/// The first-level table, and the second-level tables of the four FCSE slots and of the pages high up.
const TABLE: u32 = 0x4000;
const PAGES: u32 = 0x8000;

/// The addresses of ARM code, Thumb code and data.
pub(crate) const ARM: u32 = 0x1_0000;
pub(crate) const THUMB: u32 = 0x1_4000;
pub(crate) const DATA: u32 = 0x1_8000;

/// The aliases of the first megabyte: flat below 32 MB under any PID (small pages), by write-back,
/// write-through and uncached sections, and by pages with holes.
pub(crate) const BACK: u32 = 0x8000_0000;
pub(crate) const THROUGH: u32 = 0xC000_0000;
pub(crate) const UNCACHED: u32 = 0xD000_0000;
pub(crate) const HOLES: u32 = 0xE000_0000;

/// Memory and a device.
pub(crate) type Board = board::Board<Device>;

/// A device that counts, and asserts an interrupt for some cycles of each period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Device {
    touched: u32,
    period: u64,
    length: u64,
}

impl Device {
    /// The phase of the period, and the start of the next one.
    fn phase(&self, now: Cycles) -> (u64, Cycles) {
        let (turn, within) = (now.0 / self.period, now.0 % self.period);
        let next = if within < self.length { self.length } else { self.period };
        let line = if within < self.length { 1 + turn % 3 } else { 0 };
        (line, Cycles(turn * self.period + next))
    }
}

impl Part for Device {
    fn is_apart(&self, at: Physical) -> bool {
        at.0 & !0xFF != DEVICE
    }

    fn read(&mut self, at: Physical, width: Width, _now: Cycles) -> Option<Reply> {
        if at.0 & !0xFF != DEVICE {
            return None;
        }
        self.touched += 1;
        let value = self.touched ^ at.0 & (u32::MAX >> (32 - 8 * width.bytes()));
        Some(Reply { value: value & 0xFF, waits: Waits { first: 3, next: 0 } })
    }

    fn write(&mut self, at: Physical, _width: Width, value: u32, _now: Cycles) -> Option<Waits> {
        if at.0 & !0xFF != DEVICE {
            return None;
        }
        self.touched += 1;
        self.period = 1000 + u64::from(value & 0xFFF);
        Some(Waits { first: 1, next: 0 })
    }

    fn lines(&mut self, now: Cycles) -> Option<Lines> {
        let (line, until) = self.phase(now);
        Some(Lines { irq: line & 1 != 0, fiq: line & 2 != 0, until, halt: false })
    }
}

/// The handlers: those of data aborts skip the instruction, that of SWI toggles user and system mode,
/// that of prefetch aborts restarts.
fn handlers(ram: &mut Ram) {
    ram.put(
        0,
        &[
            0xEA00_0016, // b 0x60
            0xE1B0_F00E, // movs pc, lr
            0xEA00_000C, // b 0x40
            0xEA00_0013, // b 0x60
            0xE25E_F004, // subs pc, lr, #4
            0xE1A0_0000, // nop
            0xE25E_F004, // subs pc, lr, #4
            0xE25E_F004, // subs pc, lr, #4
        ],
    );
    ram.put(
        0x40,
        &[
            0xE14F_C000, // mrs r12, spsr
            0xE22C_C00F, // eor r12, r12, #15
            0xE161_F00C, // msr spsr_c, r12
            0xE1B0_F00E, // movs pc, lr
        ],
    );
    ram.put(
        0x60,
        &[
            0xE14F_C000, // mrs r12, spsr
            0xE3CC_C020, // bic r12, r12, #0x20
            0xE161_F00C, // msr spsr_c, r12
            0xE3A0_E102, // mov lr, #0x80000000
            0xE38E_E801, // orr lr, lr, #0x10000
            0xE1B0_F00E, // movs pc, lr
        ],
    );
}

/// The translation tables.
fn tables(ram: &mut Ram, stream: &mut Stream) {
    for (at, kind) in [(BACK, 0xC0E), (THROUGH, 0xC0A), (UNCACHED, 0xC02)] {
        ram.put((TABLE + (at >> 20) * 4) as usize, &[kind]);
    }
    let slots = [0u32, 1, 2, 3].map(|slot| slot << 25);
    for (index, base) in slots.into_iter().chain([HOLES]).enumerate() {
        let table = PAGES + 0x400 * u32::try_from(index).unwrap();
        let domain = if index == 3 { 1 << 5 } else { 0 };
        ram.put((TABLE + (base >> 20) * 4) as usize, &[table | domain | 1]);
        for page in 0..MEMORY >> 12 {
            ram.put((table + 4 * page) as usize, &[page_entry(index, page, stream)]);
        }
    }
}

/// A page of a slot: flat and write-back for code, random for data.
fn page_entry(index: usize, page: u32, stream: &mut Stream) -> u32 {
    let code = page << 12 < DATA;
    if code && index < 4 {
        // One slot has other code at the same addresses.
        let page = if index == 2 && page >> 1 == ARM >> 13 { page ^ 1 } else { page };
        return page << 12 | 0xFFE;
    }
    let kind = [0xE, 0xE, 0xE, 0xA, 6, 2][draw(stream, 6) as usize];
    let permission = [0xFF0, 0xFF0, 0xAA0, 0x550, 0xE40][draw(stream, 5) as usize];
    let to = (DATA >> 12) + draw(stream, 32);
    match draw(stream, 12) {
        0 => 0,
        1 => to << 12 & !0xFFFF | permission | kind & 0xC | 1,
        _ => to << 12 | permission | kind,
    }
}

pub(crate) fn draw(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(u64::from(bound))).unwrap()
}

/// A core with the MMU enabled, at the start of the ARM code, in user or system mode.
pub(crate) fn start(stream: &mut Stream, code: &[u32], thumb: &[u32]) -> Processor<Board> {
    let waits = Waits { first: 4, next: 1 };
    let mut ram = Ram::new(MEMORY as usize, waits);
    stream.fill(&mut ram.bytes_mut()[DATA as usize..]);
    handlers(&mut ram);
    tables(&mut ram, stream);
    ram.put(ARM as usize, code);
    ram.put(THUMB as usize, thumb);
    let size = |stream: &mut Stream| CacheSize::from_kib(4 << draw(stream, 2)).unwrap();
    let config = Config {
        instruction_cache: size(stream),
        data_cache: size(stream),
        tlb_index: if stream.chance(1, 2) { TlbIndex::Low } else { TlbIndex::Folded },
        stop_without_handler: false,
        semihosting: false,
        ..Config::default()
    };
    let board = Board { ram, part: Device { touched: 0, period: 2000, length: 60 } };
    let mut processor = Processor::new(&config, board);
    let round_robin = draw(stream, 2) << 14;
    for (crn, value) in [(2, TABLE), (3, 0b0101), (1, 0x1005 | round_robin)] {
        write_control(&mut processor, (crn, 0), value);
    }
    processor.registers.pc = BACK + ARM;
    let mode = if stream.chance(1, 2) { 0x10 } else { 0x1F };
    processor.registers.set_cpsr(boardlab_arm926::Psr(mode));
    for register in &mut processor.registers.r {
        *register = BACK + DATA + draw(stream, 0x4000) * 4;
    }
    processor
}

/// Moves a core to another place and mode, with r8 to r14 pointing to data, since programs soon end in
/// a short loop.
pub(crate) fn go_on_at(processor: &mut Processor<Board>, place: u32, mode: u32, bases: [u32; 7]) {
    processor.registers.set_cpsr(boardlab_arm926::Psr(mode | (place & 1) << 5));
    processor.registers.pc = place & !1;
    for (register, base) in processor.registers.r[8..].iter_mut().zip(bases) {
        *register = base & !3;
    }
}
