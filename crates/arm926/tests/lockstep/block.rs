//! A block of random code under construction: the known values of its registers, so that accesses stay
//! in its data, and its branch targets.
//!
//! The memory of a case is code, then constants (written here, read only), then data. Blocks only run
//! forward. A register is free (may be written), a pointer (its possible values are known) or small (an
//! offset of known value). An instruction that may be skipped adds possible values to a pointer.

use boardlab_sim::Stream;

use super::oracle::{Banks, CODE, Case, DATA, State};
use super::simulated::has_spsr;

/// The size of the constants after the code.
const CONSTANTS: u32 = 0x100;
const CODE_BYTES: u32 = 0x200;
const DATA_BYTES: u32 = 0x500;
/// The maximum number of possible values of a pointer.
const VALUES: usize = 4;
/// Edge cases of shifts, carries and signs.
const EDGES: [u32; 14] = [
    0,
    1,
    2,
    31,
    32,
    33,
    64,
    255,
    256,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

/// The known contents of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    Free,
    Pointer(Vec<u32>),
    Small(u32),
}

/// The requirements of an access on its address.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// Bytes from the address on.
    pub size: u32,
    /// The address is a multiple of it.
    pub align: u32,
    pub load: bool,
}

pub struct Block<'a> {
    pub stream: &'a mut Stream,
    pub base: u32,
    pub code: Vec<u8>,
    pub thumb: bool,
    /// The five mode bits.
    pub mode: u32,
    pub spsr: Option<u32>,
    pub carry: Option<bool>,
    pub known: [Known; 15],
    /// The targets of branches that are still ahead.
    targets: Vec<u32>,
    constants: Vec<u32>,
    /// Each instruction's address and class.
    pub classes: Vec<(u32, usize)>,
    start: (u32, State, Option<Banks>),
}

impl<'a> Block<'a> {
    pub fn new(stream: &'a mut Stream, base: u32) -> Self {
        let thumb = stream.chance(2, 5);
        let modes = [0x10, 0x11, 0x12, 0x13, 0x17, 0x1B, 0x1F];
        let mode = modes[index(stream, modes.len())];
        let flags = bits(stream, 5) << 27 | bits(stream, 2) << 6;
        let cpsr = flags | mode | if thumb { 0x20 } else { 0 };
        let spsr = if has_spsr(mode) { Self::status(stream) } else { 0 };
        let banks = stream.chance(1, 3).then(|| Self::random_banks(stream));
        let mut block = Self {
            base,
            code: Vec::with_capacity(CODE),
            thumb,
            mode,
            spsr: has_spsr(mode).then_some(spsr),
            carry: Some(cpsr >> 29 & 1 != 0),
            known: std::array::from_fn(|_| Known::Free),
            targets: Vec::new(),
            constants: Vec::new(),
            classes: Vec::new(),
            start: (base | u32::from(thumb), State { cpsr, r: [0; 15], spsr }, banks),
            stream,
        };
        block.registers();
        block
    }

    /// A status with a valid mode.
    fn status(stream: &mut Stream) -> u32 {
        let modes = [0x10, 0x11, 0x12, 0x13, 0x17, 0x1B, 0x1F];
        bits(stream, 5) << 27 | bits(stream, 3) << 5 | modes[index(stream, modes.len())]
    }

    fn random_banks(stream: &mut Stream) -> Banks {
        let mut banks = Banks::default();
        for (n, bank) in banks.single.iter_mut().enumerate() {
            let spsr = if n < 5 { Self::status(stream) } else { 0 };
            *bank = [bits(stream, 32), bits(stream, 32), spsr];
        }
        banks.fiq = std::array::from_fn(|_| bits(stream, 32));
        banks.other = std::array::from_fn(|_| bits(stream, 32));
        banks
    }

    /// Gives the registers their roles and values.
    fn registers(&mut self) {
        for n in 0..15 {
            self.start.1.r[n] = if self.chance(1, 3) {
                EDGES[index(self.stream, EDGES.len())]
            } else {
                bits(self.stream, 32)
            };
        }
        let roles = [self.near(), self.near(), self.far(), self.far()];
        for value in roles {
            let n = index(self.stream, 15);
            self.start.1.r[n] = value;
            self.known[n] = Known::Pointer(vec![value]);
        }
        if self.chance(1, 2) {
            let value = self.near();
            self.start.1.r[13] = value;
            self.known[13] = Known::Pointer(vec![value]);
        }
        for tiny in [true, true, false] {
            let n = index(self.stream, 15);
            let value = if tiny {
                4 * bits(self.stream, 6)
            } else {
                bits(self.stream, 7).rotate_left(bits(self.stream, 5))
            };
            self.start.1.r[n] = value;
            self.known[n] = Known::Small(value);
        }
        // Thumb code only accesses r0 to r7, and needs some of them.
        for n in [index(self.stream, 8), index(self.stream, 8), index(self.stream, 8)] {
            self.known[n] = Known::Free;
        }
    }

    fn window(&self) -> (u32, u32) {
        (self.base + CODE_BYTES + CONSTANTS, self.base + CODE_BYTES + DATA_BYTES)
    }

    fn near(&mut self) -> u32 {
        let (low, high) = self.window();
        low + 8 * below(self.stream, (high - low) / 8)
    }

    fn far(&mut self) -> u32 {
        let (low, _) = self.window();
        low + 4 * below(self.stream, 1900) - 3600
    }

    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.stream.chance(numerator, denominator)
    }

    pub fn bits(&mut self, count: u32) -> u32 {
        bits(self.stream, count)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        below(self.stream, bound)
    }

    /// The address of the next instruction.
    pub fn at(&self) -> u32 {
        self.base + u32::try_from(self.code.len()).unwrap()
    }

    /// The value that the next instruction reads as r15.
    pub fn pc(&self) -> u32 {
        self.at() + if self.thumb { 4 } else { 8 }
    }

    pub fn word(&mut self, word: u32) {
        self.code.extend(word.to_le_bytes());
    }

    pub fn half(&mut self, half: u32) {
        self.code.extend(u16::try_from(half).expect("sixteen bits").to_le_bytes());
    }

    /// Whether the next instruction is always reached.
    pub fn settled(&mut self) -> bool {
        let at = self.at();
        self.targets.retain(|&target| target > at);
        self.targets.is_empty()
    }

    /// Whether no branch target is within the next `bytes`.
    pub fn undivided(&self, bytes: u32) -> bool {
        let at = self.at();
        !self.targets.iter().any(|&target| target > at && target < at + bytes)
    }

    /// Adds a branch target some instructions after the next `bytes`; returns its address.
    pub fn forward(&mut self, bytes: u32) -> u32 {
        let size = if self.thumb { 2 } else { 4 };
        let target = self.at() + bytes + size * self.below(5);
        self.targets.push(target);
        target
    }

    /// Adds the branch target `target`.
    pub fn branch_to(&mut self, target: u32) {
        self.targets.push(target);
    }

    /// Continues at `target` in the given state; the code in between is never executed.
    pub fn go_on(&mut self, target: u32, thumb: bool) {
        while self.at() < target {
            let byte = self.bits(8);
            self.code.push(u8::try_from(byte).unwrap());
        }
        self.thumb = thumb;
    }

    /// A register below `limit` that may be written.
    pub fn free(&mut self, limit: u32) -> Option<u32> {
        let start = self.below(limit);
        (0..limit).map(|n| (start + n) % limit).find(|&n| self.known[n as usize] == Known::Free)
    }

    pub fn is_free(&self, n: u32) -> bool {
        self.known.get(n as usize) == Some(&Known::Free)
    }

    pub fn set_free(&mut self, n: u32) {
        self.known[n as usize] = Known::Free;
    }

    /// A pointer below r`limit`, with its possible values.
    pub fn pointer(&mut self, limit: u32) -> Option<(u32, Vec<u32>)> {
        let start = self.below(limit);
        (0..limit).map(|n| (start + n) % limit).find_map(|n| match &self.known[n as usize] {
            Known::Pointer(values) => Some((n, values.clone())),
            _ => None,
        })
    }

    /// An offset in a register below r`limit`.
    pub fn small(&mut self, limit: u32) -> Option<(u32, u32)> {
        let start = self.below(limit);
        (0..limit).map(|n| (start + n) % limit).find_map(|n| match self.known[n as usize] {
            Known::Small(value) => Some((n, value)),
            _ => None,
        })
    }

    /// Whether an access may go to `address`.
    pub fn fits(&self, address: u32, need: Need) -> bool {
        let (low, high) = self.window();
        let low = if need.load { self.base } else { low };
        let room = high - low - need.size;
        address.is_multiple_of(need.align) && address.wrapping_sub(low) <= room
    }

    /// An offset from `min` to `max` in steps of `step` with which all of `values` fit.
    pub fn offset(&mut self, values: &[u32], range: (i32, i32, u32), need: Need) -> Option<i32> {
        let (min, max, step) = range;
        let (low, high) = self.window();
        for _ in 0..12 {
            let target = low + need.align * self.below((high - low) / need.align);
            let offset = target.wrapping_sub(values[0]).cast_signed();
            let possible = offset >= min
                && offset <= max
                && offset.unsigned_abs().is_multiple_of(step)
                && values.iter().all(|value| self.fits(value.wrapping_add_signed(offset), need));
            if possible {
                return Some(offset);
            }
        }
        None
    }

    /// Records that pointer `n` moves by `offset`, certainly or possibly.
    pub fn moved(&mut self, n: u32, offset: i32, certain: bool) {
        let certain = certain && self.settled();
        let (low, high) = self.window();
        let Known::Pointer(values) = &mut self.known[n as usize] else { return };
        let mut after: Vec<u32> =
            values.iter().map(|value| value.wrapping_add_signed(offset)).collect();
        if !certain {
            after.extend(values.iter());
        }
        after.sort_unstable();
        after.dedup();
        let near = |value: &u32| value.wrapping_sub(low - 3900) < high - low + 2 * 3900;
        let usable = after.len() <= VALUES && after.iter().all(near);
        self.known[n as usize] = if usable { Known::Pointer(after) } else { Known::Free };
    }

    /// The address for `count` new constants, at a multiple of `step` from `pc` and at most `reach`
    /// away.
    pub fn room(&self, pc: u32, count: u32, step: u32, reach: u32) -> Option<u32> {
        let used = u32::try_from(self.constants.len()).unwrap();
        let first = self.base + CODE_BYTES + 4 * used;
        let address = first + (pc.wrapping_sub(first) & (step - 1));
        let end = self.base + CODE_BYTES + CONSTANTS;
        (address + 4 * count <= end && address - pc <= reach).then_some(address)
    }

    /// Writes constants at `address`, which [`Block::room`] returned.
    pub fn put(&mut self, address: u32, words: &[u32]) {
        while self.base + CODE_BYTES + 4 * u32::try_from(self.constants.len()).unwrap() < address {
            let filler = self.bits(32);
            self.constants.push(filler);
        }
        self.constants.extend(words);
    }

    /// Records that the mode is `mode` from here on, with its banked registers.
    pub fn enter(&mut self, mode: u32) {
        if mode == self.mode {
            return;
        }
        let first = if (mode == 0x11) == (self.mode == 0x11) { 13 } else { 8 };
        for known in &mut self.known[first..] {
            *known = Known::Free;
        }
        self.spsr = None;
        self.mode = mode;
    }

    pub const fn privileged(&self) -> bool {
        self.mode != 0x10
    }

    /// Whether there are few pointers.
    pub fn wants_pointers(&self) -> bool {
        self.known.iter().filter(|known| matches!(known, Known::Pointer(_))).count() < 5
    }

    /// Whether there are few offsets.
    pub fn wants_offsets(&self) -> bool {
        self.known.iter().filter(|known| matches!(known, Known::Small(_))).count() < 3
    }

    /// Whether the banked registers are set and compared, so that code may use them.
    pub const fn with_banks(&self) -> bool {
        self.start.2.is_some()
    }

    pub const fn has_spsr(&self) -> bool {
        has_spsr(self.mode)
    }

    /// The furthest branch target.
    pub fn furthest(&self) -> u32 {
        self.targets.iter().copied().max().unwrap_or(0)
    }

    /// The case, with random bytes in unused memory.
    pub fn case(mut self) -> (Case, Vec<(u32, usize)>) {
        let end = self.at();
        // Undefined in both states, for engines that cannot be stopped at an address.
        if self.thumb {
            self.half(0xDE00);
        } else {
            self.word(0xE7F0_00F0);
        }
        let mut memory = std::mem::take(&mut self.code);
        assert!(memory.len() <= CODE, "the code fits its place");
        let from = memory.len();
        memory.resize(CODE + DATA, 0);
        self.stream.fill(&mut memory[from..]);
        for (n, word) in self.constants.iter().enumerate() {
            memory[CODE + 4 * n..][..4].copy_from_slice(&word.to_le_bytes());
        }
        let (entry, state, banks) = self.start;
        let case = Case { base: self.base, entry, end, state, banks, memory, verdict_only: false };
        (case, self.classes)
    }
}

/// A random number of `count` bits.
pub fn bits(stream: &mut Stream, count: u32) -> u32 {
    u32::try_from(stream.next_u64() >> 32).unwrap() >> (32 - count)
}

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(u64::from(bound))).unwrap()
}

fn index(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(bound as u64)).unwrap()
}
