//! One predecoded step, and the state that steps work on.
//!
//! Layer: rank 3. A [`Step`] is a function and its operands; each function ends by calling that of the next step, so that the
//! host's branch predictor sees one indirect jump a step. [`Working`] holds the registers with the flags apart, and what is counted; it is loaded from
//! the processor and stored back around a run of blocks. A step that cannot be done as a hit leaves ([`Leave::Slow`]) before it changes anything.

use super::code::JumpKey;
use crate::instruction::{Condition, Register};
use crate::memory::lookaside::Hits;
use crate::registers::{Psr, Registers};

/// How a block was left: one word, so that the host returns it in a register and each step can end in a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Leave(u64);

impl Leave {
    /// Behind its last piece, which was executed: way 0.
    pub(super) const EXECUTED: Self = Self(0);
    /// Behind its last piece, which was skipped: way 1.
    pub(super) const SKIPPED: Self = Self(1);
    /// As [`Leave::EXECUTED`], to [`Working::target`].
    pub(super) const DYNAMIC: Self = Self(2);
    const SLOW: u64 = 3;
    const LINE: u64 = 4;

    /// In front of the first of these steps, which is not a hit.
    #[inline(always)]
    pub(super) const fn slow(steps: &[Step]) -> Self {
        Self((steps.len() as u64) << 8 | Self::SLOW)
    }

    /// In front of the first of these steps, which enters a line that is not known to hit.
    #[inline(always)]
    pub(super) const fn line(steps: &[Step]) -> Self {
        Self((steps.len() as u64) << 8 | Self::LINE)
    }

    /// The way behind the last piece, if it goes on where that leads.
    #[inline(always)]
    pub(super) const fn way(self) -> Option<usize> {
        match self {
            Self::EXECUTED => Some(0),
            Self::SKIPPED => Some(1),
            _ => None,
        }
    }

    /// In front of a step that is not a hit, rather than of a line.
    pub(super) const fn is_slow(self) -> bool {
        self.0 & 0xFF == Self::SLOW
    }

    /// How many steps were to go.
    pub(super) const fn steps(self) -> usize {
        (self.0 >> 8) as usize
    }
}

/// What a step does.
pub(super) type Run = fn(&mut Working<'_>, &[Step]) -> Leave;

/// A register's number as a step holds it.
#[allow(clippy::cast_possible_truncation, reason = "below 16")]
pub(super) const fn byte(register: Register) -> u8 {
    register.index() as u8
}

/// A function and its operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) run: Run,
    /// The constant, or whatever the function wants.
    pub(super) imm: u32,
    /// The result, or what is stored.
    pub(super) d: u8,
    /// The first operand, or the base.
    pub(super) n: u8,
    /// The second operand.
    pub(super) m: u8,
    /// The amount of a shift, or the register that holds it.
    pub(super) s: u8,
}

impl Step {
    pub(super) const fn new(run: Run) -> Self {
        Self { run, imm: 0, d: 0, n: 0, m: 0, s: 0 }
    }

    pub(super) const fn d(self, register: Register) -> Self {
        Self { d: byte(register), ..self }
    }

    pub(super) const fn n(self, register: Register) -> Self {
        Self { n: byte(register), ..self }
    }

    pub(super) const fn m(self, register: Register) -> Self {
        Self { m: byte(register), ..self }
    }

    pub(super) const fn s(self, amount: u8) -> Self {
        Self { s: amount, ..self }
    }

    pub(super) const fn imm(self, imm: u32) -> Self {
        Self { imm, ..self }
    }
}

/// Goes on with the first of `steps`; behind the last one the block is left.
#[inline(always)]
pub(super) fn go_on(core: &mut Working<'_>, steps: &[Step]) -> Leave {
    match steps.first() {
        Some(step) => (step.run)(core, steps),
        None => Leave::EXECUTED,
    }
}

/// The state that steps work on.
#[derive(Debug)]
pub(super) struct Working<'a> {
    /// r0 to r14; the last is r15 as read where a step needs it as a register.
    pub(super) r: [u32; 16],
    /// The hits at the privilege that there is.
    pub(super) hits: &'a Hits,
    /// The data cache's array.
    pub(super) data: &'a mut [u8],
    /// N: the highest bit.
    pub(super) n: u32,
    /// Z: zero if set.
    pub(super) z: u32,
    /// C: 0 or 1.
    pub(super) c: u32,
    /// V: the highest bit.
    pub(super) v: u32,
    pub(super) progress: Progress,
    /// The FCSE process number.
    pub(super) pid: u8,
    /// In a privileged mode.
    pub(super) privileged: bool,
}

/// What a run of blocks looks things up in, and as whom.
#[derive(Debug)]
pub(super) struct Lookup<'a> {
    pub(super) hits: &'a Hits,
    pub(super) data: &'a mut [u8],
    pub(super) pid: u8,
    pub(super) privileged: bool,
}

/// How far a run of blocks has come, beside registers and flags.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// The clock at the entry of the block, put later by each wait and earlier by what was skipped: with
    /// the sum in front of a piece, the instant of that piece.
    pub(super) base: u64,
    /// Where to, and bit 0 the state, with [`Leave::DYNAMIC`].
    pub(super) target: u32,
    /// The last conditional piece with two states behind it was skipped.
    pub(super) was_skipped: bool,
    /// The stamp of the line that fetching is in; 0 if that is to be found out.
    pub(super) stamp: u64,
    /// That line's address, if any line was entered.
    pub(super) line: u32,
    /// Lines entered.
    pub(super) lines: u64,
    /// Words, half-words and bytes read by hits.
    pub(super) reads: u64,
    /// Words, half-words and bytes written by hits.
    pub(super) writes: u64,
    /// Instructions.
    pub(super) instructions: u64,
    /// Of these: skipped.
    pub(super) skipped: u64,
    /// Of these: executed by the reference, for their access was no known hit.
    pub(super) stepped: u64,
}

impl<'a> Working<'a> {
    /// From the registers.
    pub(super) fn load(
        registers: &Registers,
        progress: Progress,
        Lookup { hits, data, pid, privileged }: Lookup<'a>,
    ) -> Self {
        let mut r = [0; 16];
        r[..15].copy_from_slice(&registers.r);
        let status = registers.cpsr();
        Self {
            r,
            hits,
            data,
            n: status.0 & Psr::N,
            z: u32::from(!status.has(Psr::Z)),
            c: u32::from(status.has(Psr::C)),
            v: u32::from(status.has(Psr::V)) << 31,
            progress,
            pid,
            privileged,
        }
    }

    /// The key of the dynamic jump that was taken last.
    #[inline(always)]
    pub(super) fn jump_key(&self) -> JumpKey {
        JumpKey::new(self.progress.target, self.pid, self.privileged)
    }

    /// Back into the registers; not r15.
    pub(super) fn store(&self, registers: &mut Registers) {
        registers.r.copy_from_slice(&self.r[..15]);
        registers.set_flags(self.flags());
    }

    /// N, Z, C, V in their places.
    #[inline]
    pub(super) const fn flags(&self) -> u32 {
        let zero = if self.z == 0 { Psr::Z } else { 0 };
        (self.n & Psr::N) | zero | self.c << 29 | (self.v >> 31) << 28
    }

    #[inline(always)]
    pub(super) const fn get(&self, register: u8) -> u32 {
        self.r[(register & 15) as usize]
    }

    #[inline(always)]
    pub(super) const fn set(&mut self, register: u8, value: u32) {
        self.r[(register & 15) as usize] = value;
    }

    /// N and Z of a result.
    #[inline(always)]
    pub(super) const fn set_sign_and_zero(&mut self, result: u32) {
        self.n = result;
        self.z = result;
    }

    /// Whether the condition with this number holds.
    #[inline(always)]
    pub(super) const fn holds<const CONDITION: u8>(&self) -> bool {
        let less = (self.n ^ self.v) >> 31 != 0;
        let positive = match CONDITION >> 1 {
            0 => self.z == 0,
            1 => self.c != 0,
            2 => self.n >> 31 != 0,
            3 => self.v >> 31 != 0,
            4 => self.c != 0 && self.z != 0,
            5 => !less,
            6 => self.z != 0 && !less,
            _ => true,
        };
        positive == (CONDITION & 1 == 0)
    }
}

/// The function for a condition, of a family that is generic over the condition's number.
macro_rules! by_condition {
    ($condition:expr, $family:ident) => {
        match $condition {
            Condition::Eq => $family::<0>,
            Condition::Ne => $family::<1>,
            Condition::Cs => $family::<2>,
            Condition::Cc => $family::<3>,
            Condition::Mi => $family::<4>,
            Condition::Pl => $family::<5>,
            Condition::Vs => $family::<6>,
            Condition::Vc => $family::<7>,
            Condition::Hi => $family::<8>,
            Condition::Ls => $family::<9>,
            Condition::Ge => $family::<10>,
            Condition::Lt => $family::<11>,
            Condition::Gt => $family::<12>,
            Condition::Le => $family::<13>,
            Condition::Al => $family::<14>,
        }
    };
}

pub(super) use by_condition;

/// Skips the following step unless a condition holds: `imm` cycles less.
fn skip_unless<const CONDITION: u8>(core: &mut Working<'_>, steps: &[Step]) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::EXECUTED };
    if core.holds::<CONDITION>() {
        core.progress.was_skipped = false;
        return go_on(core, rest);
    }
    core.progress.was_skipped = true;
    core.progress.skipped += 1;
    core.progress.base = core.progress.base.wrapping_sub(u64::from(step.imm));
    go_on(core, rest.get(usize::from(step.s)..).unwrap_or(&[]))
}

/// Leaves the block unless a condition holds: the last piece is skipped.
fn leave_unless<const CONDITION: u8>(core: &mut Working<'_>, steps: &[Step]) -> Leave {
    let [_, rest @ ..] = steps else { return Leave::EXECUTED };
    if core.holds::<CONDITION>() {
        return go_on(core, rest);
    }
    core.progress.skipped += 1;
    Leave::SKIPPED
}

/// `count` steps are skipped unless `condition` holds, which saves `cycles`.
pub(super) fn skip(condition: Condition, count: u8, cycles: u32) -> Step {
    Step::new(by_condition!(condition, skip_unless)).imm(cycles).s(count)
}

/// The block is left unless `condition` holds.
pub(super) fn leave(condition: Condition) -> Step {
    Step::new(by_condition!(condition, leave_unless))
}

/// Enters a line; [`line_entry`] makes it.
fn enter_line(core: &mut Working<'_>, steps: &[Step]) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::EXECUTED };
    let stamp = u64::from(step.imm) | u64::from(u16::from_le_bytes([step.d, step.n])) << 32;
    let place = usize::from(u16::from_le_bytes([step.m, step.s]));
    match core.hits.lines.get(place) {
        Some(hit) if hit.stamp == stamp && stamp != 0 => {
            (core.progress.stamp, core.progress.line) = (stamp, hit.tag);
            core.progress.lines += 1;
            go_on(core, rest)
        }
        _ => Leave::line(steps),
    }
}

/// The entry of the line at `at` in the stay `stamp`.
pub(super) fn line_entry(at: u32, stamp: u64) -> Step {
    let place = u16::try_from(Hits::line_place(at)).unwrap_or(0).to_le_bytes();
    let [a, b, c, d, e, f, _, _] = stamp.to_le_bytes();
    let step = Step::new(enter_line).imm(u32::from_le_bytes([a, b, c, d]));
    Step { d: e, n: f, m: place[0], s: place[1], ..step }
}
