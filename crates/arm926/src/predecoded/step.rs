//! One predecoded step, and the state that steps work on.
//!
//! Layer: rank 3. A [`Step`] is a function and its operands; each function ends by calling that of the next step, so that the
//! host's branch predictor sees one indirect jump a step. [`Working`] holds the registers with the flags apart, and what is counted; it is loaded from
//! the processor and stored back around a run of blocks. An access that is not a known hit leaves ([`Leave::missed`]) before it changes anything.

use super::code::JumpKey;
use crate::instruction::{Condition, Item, Register};
use crate::memory::lookaside::{Hits, LineHit};
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
    const MISSED: u64 = 3;
    const LINE: u64 = 4;

    /// In front of the first of these steps, an access that is not a known hit.
    #[inline(always)]
    pub(super) const fn missed(core: &mut Working, steps: &[Step], missed: Miss) -> Self {
        core.progress.missed = missed;
        Self((steps.len() as u64) << 8 | Self::MISSED)
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

    /// In front of an access, rather than of a line.
    pub(super) const fn is_access(self) -> bool {
        self.0 & 0xFF == Self::MISSED
    }

    /// How many steps were to go.
    pub(super) const fn steps(self) -> usize {
        (self.0 >> 8) as usize
    }
}

/// What a step does.
pub(super) type Run = fn(&mut Working, &[Step], &mut Lookup<'_>) -> Leave;

/// An access that is not a known hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Miss {
    pub(super) what: MissKind,
    /// The lowest address.
    pub(super) at: u32,
    /// The base afterwards.
    pub(super) base: u32,
}

/// What an access loads or stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissKind {
    Load(Item),
    /// A word, to r15.
    LoadJump,
    Store(Item),
    LoadSeveral,
    /// The last of them to r15.
    LoadSeveralJump,
    StoreSeveral,
}

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
pub(super) fn go_on(core: &mut Working, steps: &[Step], lookup: &mut Lookup<'_>) -> Leave {
    match steps.first() {
        Some(step) => (step.run)(core, steps, lookup),
        None => Leave::EXECUTED,
    }
}

/// The state that steps work on.
#[derive(Debug)]
pub(super) struct Working {
    /// r0 to r14; the last is r15 as read where a step needs it as a register.
    pub(super) r: [u32; 16],
    /// N: the highest bit.
    pub(super) n: u32,
    /// Z: zero if set.
    pub(super) z: u32,
    /// C: 0 or 1.
    pub(super) c: u32,
    /// V: the highest bit.
    pub(super) v: u32,
    /// CPSR without these four, in ARM state; no step changes it.
    pub(super) status: u32,
    pub(super) progress: Progress,
}

/// What the accesses of a run of blocks are looked up in.
#[derive(Debug)]
pub(super) struct Lookup<'a> {
    /// The hits at the privilege that there is.
    pub(super) hits: &'a Hits,
    /// The data cache's array.
    pub(super) data: &'a mut [u8],
}

/// How far a run of blocks has come, beside registers and flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The clock at the entry of the block, put later by each wait and earlier by what was skipped: with
    /// the sum in front of a piece, the instant of that piece.
    pub(super) base: u64,
    /// Where to, and bit 0 the state, with [`Leave::DYNAMIC`].
    pub(super) target: u32,
    /// The last conditional piece with two states behind it was skipped.
    pub(super) was_skipped: bool,
    /// The line that fetching is in.
    pub(super) line: LineHit,
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
    /// Of these: whose access was no known hit.
    pub(super) stepped: u64,
    /// The last of those accesses.
    pub(super) missed: Miss,
}

impl Progress {
    /// In the line `line`, with `base` as the instant.
    pub(super) const fn new(base: u64, line: LineHit) -> Self {
        let missed = Miss { what: MissKind::LoadJump, at: 0, base: 0 };
        Self {
            base,
            target: 0,
            was_skipped: false,
            line,
            lines: 0,
            reads: 0,
            writes: 0,
            instructions: 0,
            skipped: 0,
            stepped: 0,
            missed,
        }
    }
}

impl Working {
    /// From the registers.
    #[inline]
    pub(super) fn load(registers: &Registers, progress: Progress) -> Self {
        let mut r = [0; 16];
        r[..15].copy_from_slice(&registers.r);
        let status = registers.cpsr();
        Self {
            r,
            n: status.0 & Psr::N,
            z: u32::from(!status.has(Psr::Z)),
            c: u32::from(status.has(Psr::C)),
            v: u32::from(status.has(Psr::V)) << 31,
            status: status.0 & !(Psr::N | Psr::Z | Psr::C | Psr::V | Psr::T),
            progress,
        }
    }

    /// In a privileged mode.
    #[inline(always)]
    pub(super) const fn privileged(&self) -> bool {
        Psr(self.status).privileged()
    }

    /// The key of the dynamic jump that was taken last.
    #[inline(always)]
    pub(super) fn jump_key(&self) -> JumpKey {
        JumpKey::new(self.progress.target, self.privileged())
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
fn skip_unless<const CONDITION: u8>(
    core: &mut Working,
    steps: &[Step],
    lookup: &mut Lookup<'_>,
) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::EXECUTED };
    if core.holds::<CONDITION>() {
        core.progress.was_skipped = false;
        return go_on(core, rest, lookup);
    }
    core.progress.was_skipped = true;
    core.progress.skipped += 1;
    core.progress.base = core.progress.base.wrapping_sub(u64::from(step.imm));
    go_on(core, rest.get(usize::from(step.s)..).unwrap_or(&[]), lookup)
}

/// Leaves the block unless a condition holds: the last piece is skipped.
fn leave_unless<const CONDITION: u8>(
    core: &mut Working,
    steps: &[Step],
    lookup: &mut Lookup<'_>,
) -> Leave {
    let [_, rest @ ..] = steps else { return Leave::EXECUTED };
    if core.holds::<CONDITION>() {
        return go_on(core, rest, lookup);
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

/// Makes `line` the one that fetching is in, if it is known to hit.
#[inline(always)]
pub(super) fn enter(core: &mut Working, lookup: &Lookup<'_>, line: LineHit) -> bool {
    let hits = lookup.hits.lines[Hits::line_place(line.at())] == line;
    if hits {
        core.progress.line = line;
        core.progress.lines += 1;
    }
    hits
}

/// Enters a line; [`line_entry`] makes it.
fn enter_line(core: &mut Working, steps: &[Step], lookup: &mut Lookup<'_>) -> Leave {
    let [step, rest @ ..] = steps else { return Leave::EXECUTED };
    let stamp = u32::from_le_bytes([step.d, step.n, step.m, step.s]);
    if enter(core, lookup, LineHit::new(step.imm, stamp)) {
        go_on(core, rest, lookup)
    } else {
        Leave::line(steps)
    }
}

/// The entry of `line`.
pub(super) fn line_entry(line: LineHit) -> Step {
    let [d, n, m, s] = line.stamp().to_le_bytes();
    Step { run: enter_line, imm: line.at(), d, n, m, s }
}
