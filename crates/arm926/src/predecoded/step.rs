//! The steps of predecoded blocks, and the state that they change.
//!
//! Layer: rank 3. A [`Step`] is a handler and its operands. Each handler ends by calling the next one,
//! so that every step has its own indirect jump for the host's branch prediction. [`Core`] holds the
//! registers, the separate flags and the counts during a chain of blocks. `missed` has the accesses that
//! miss the look-aside.

use super::cache::JumpKey;
use super::missed;
use super::port::Port;
use crate::instruction::{Condition, Register};
use crate::memory::lookaside::{Hits, LineHit};
use crate::registers::{Psr, Registers};

/// The exit of a block: one word, which the host returns in a register, so that handlers end in jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Exit(u64);

/// What ends a chain at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cause {
    /// The reference executes its instruction.
    Reference = 3,
    /// The reference executes its instruction, after which the block goes on.
    System,
    /// The boundary behind its instruction has work.
    Boundary,
    /// An interrupt may be taken behind it: its access reached a device, or it enabled one.
    Sampled,
    /// Its access aborted.
    DataAbort,
    /// The fetch of its line aborted.
    FetchAbort,
    /// Its line was fetched, and the boundary behind its instruction has work.
    Fetched,
    /// Its line has other contents than when the block was built.
    Changed,
}

impl Exit {
    /// After the last piece, which was executed: exit 0.
    pub(super) const EXECUTED: Self = Self(0);
    /// After the last piece, which was skipped: exit 1.
    pub(super) const SKIPPED: Self = Self(1);
    /// Like [`Exit::EXECUTED`], to [`Progress::target`].
    pub(super) const DYNAMIC: Self = Self(2);

    /// At the first of `steps`.
    #[inline(always)]
    pub(super) const fn at(steps: &[Step], cause: Cause) -> Self {
        Self((steps.len() as u64) << 8 | cause as u64)
    }

    /// The index of the exit after the last piece, if its target is static.
    #[inline(always)]
    pub(super) const fn outcome(self) -> Option<usize> {
        match self {
            Self::EXECUTED => Some(0),
            Self::SKIPPED => Some(1),
            _ => None,
        }
    }

    /// What ended the chain at a step; `None` at the end of the block.
    pub(super) const fn cause(self) -> Option<Cause> {
        const CAUSES: [Cause; 8] = [
            Cause::Reference,
            Cause::System,
            Cause::Boundary,
            Cause::Sampled,
            Cause::DataAbort,
            Cause::FetchAbort,
            Cause::Fetched,
            Cause::Changed,
        ];
        match (self.0 & 0xFF) as usize {
            0..3 => None,
            cause => Some(CAUSES[cause - 3]),
        }
    }

    /// The number of remaining steps.
    pub(super) const fn steps(self) -> usize {
        (self.0 >> 8) as usize
    }
}

/// The function of a step.
pub(super) type Handler = fn(&mut Core, &[Step], &mut Port<'_>) -> Exit;

/// The number of a register, as steps store it.
#[allow(clippy::cast_possible_truncation, reason = "below 16")]
pub(super) const fn byte(register: Register) -> u8 {
    register.index() as u8
}

/// A handler and its operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) handler: Handler,
    /// A constant, or as the handler defines it.
    pub(super) imm: u32,
    /// The destination, or the register stored.
    pub(super) d: u8,
    /// The first operand, or the base.
    pub(super) n: u8,
    /// The second operand.
    pub(super) m: u8,
    /// The shift amount, or the register that holds it.
    pub(super) s: u8,
}

impl Step {
    pub(super) const fn new(handler: Handler) -> Self {
        Self { handler, imm: 0, d: 0, n: 0, m: 0, s: 0 }
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

/// Calls the handler of the first step; at the end of the block, exits.
#[inline(always)]
pub(super) fn dispatch(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    match steps.first() {
        Some(step) => (step.handler)(core, steps, port),
        None => Exit::EXECUTED,
    }
}

/// The core's registers and flags during a chain of blocks.
#[derive(Debug)]
pub(super) struct Core {
    /// r0 to r14; the last one holds r15's value for a step that reads it.
    pub(super) r: [u32; 16],
    /// N in bit 31.
    pub(super) n: u32,
    /// Zero if Z is set.
    pub(super) z: u32,
    /// C as 0 or 1.
    pub(super) c: u32,
    /// V in bit 31.
    pub(super) v: u32,
    /// CPSR without these four, in ARM state; steps do not change the mode.
    pub(super) status: u32,
    /// Whether the mode is privileged.
    privileged: bool,
    pub(super) progress: Progress,
}

/// The progress of a chain of blocks besides registers and flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The clock at the entry of the block, plus stalls, minus the cycles saved by skipped
    /// instructions. Plus [`before`](super::block::Piece::before), it is the time of a piece.
    pub(super) base: u64,
    /// The target of [`Exit::DYNAMIC`], with the state in bit 0.
    pub(super) target: u32,
    /// Whether the last conditional piece with two successor states was skipped.
    pub(super) was_skipped: bool,
    /// The current instruction line.
    pub(super) line: LineHit,
    /// The number of lines entered.
    pub(super) lines: u64,
    /// The number of reads that hit.
    pub(super) reads: u64,
    /// The number of writes that hit.
    pub(super) writes: u64,
    /// The number of instructions.
    pub(super) instructions: u64,
    /// Of these, those skipped.
    pub(super) skipped: u64,
    /// Of these, those whose access missed.
    pub(super) stepped: u64,
}

impl Progress {
    /// The start of a chain in `line`; `base` is the clock.
    pub(super) const fn new(base: u64, line: LineHit) -> Self {
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
        }
    }

    /// Makes `line` the current line, by a lookup that hits.
    #[inline(always)]
    pub(super) const fn enter(&mut self, line: LineHit) {
        self.line = line;
        self.lines += 1;
    }
}

impl Core {
    /// Loads the registers.
    #[inline]
    pub(super) fn load(registers: &Registers, progress: Progress) -> Self {
        let mut r = [0; 16];
        r[..15].copy_from_slice(&registers.r);
        let status = registers.cpsr();
        let privileged = status.privileged();
        let mut core = Self { r, n: 0, z: 0, c: 0, v: 0, status: 0, privileged, progress };
        core.set_status(status.0);
        core
    }

    /// Whether the mode is privileged.
    #[inline(always)]
    pub(super) const fn privileged(&self) -> bool {
        self.privileged
    }

    /// The key of the last dynamic jump.
    #[inline(always)]
    pub(super) fn jump_key(&self) -> JumpKey {
        JumpKey::new(self.progress.target, self.privileged())
    }

    /// Stores the registers except r15, and CPSR except for the state.
    pub(super) fn store(&self, registers: &mut Registers) {
        registers.r.copy_from_slice(&self.r[..15]);
        registers.set_status(self.status | self.flags());
    }

    /// Sets flags and status from CPSR.
    pub(super) const fn set_status(&mut self, status: u32) {
        self.status = status & !(Psr::N | Psr::Z | Psr::C | Psr::V | Psr::T);
        self.set_flags(status);
    }

    /// N, Z, C and V at their positions in a status register.
    #[inline]
    pub(super) const fn flags(&self) -> u32 {
        let zero = if self.z == 0 { Psr::Z } else { 0 };
        (self.n & Psr::N) | zero | self.c << 29 | (self.v >> 31) << 28
    }

    /// Sets N, Z, C and V from their positions in a status register.
    pub(super) const fn set_flags(&mut self, flags: u32) {
        self.n = flags & Psr::N;
        self.z = if flags & Psr::Z == 0 { 1 } else { 0 };
        self.c = flags >> 29 & 1;
        self.v = flags << 3 & 1 << 31;
    }

    #[inline(always)]
    pub(super) const fn get(&self, register: u8) -> u32 {
        self.r[(register & 15) as usize]
    }

    #[inline(always)]
    pub(super) const fn set(&mut self, register: u8, value: u32) {
        self.r[(register & 15) as usize] = value;
    }

    /// Sets N and Z.
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

/// The handler for a condition, of a family generic over the condition's number.
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

/// Skips the next `s` steps unless a condition holds, which saves `imm` cycles.
fn skip_unless<const CONDITION: u8>(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    if core.holds::<CONDITION>() {
        core.progress.was_skipped = false;
        return dispatch(core, rest, port);
    }
    core.progress.was_skipped = true;
    core.progress.skipped += 1;
    core.progress.base = core.progress.base.wrapping_sub(u64::from(step.imm));
    dispatch(core, rest.get(usize::from(step.s)..).unwrap_or(&[]), port)
}

/// Exits the block unless a condition holds: the last piece is skipped.
fn exit_unless<const CONDITION: u8>(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [_, rest @ ..] = steps else { return Exit::EXECUTED };
    if core.holds::<CONDITION>() {
        return dispatch(core, rest, port);
    }
    core.progress.skipped += 1;
    Exit::SKIPPED
}

/// Exits before an instruction that the reference executes.
pub(super) fn system(_: &mut Core, steps: &[Step], _: &mut Port<'_>) -> Exit {
    Exit::at(steps, Cause::System)
}

/// A step that skips `count` steps, which saves `cycles`, unless `condition` holds.
pub(super) fn skip_if_not(condition: Condition, count: u8, cycles: u32) -> Step {
    Step::new(by_condition!(condition, skip_unless)).imm(cycles).s(count)
}

/// A step that exits the block unless `condition` holds.
pub(super) fn exit_if_not(condition: Condition) -> Step {
    Step::new(by_condition!(condition, exit_unless))
}

/// Makes `line` the current line if it hits the look-aside.
#[inline(always)]
pub(super) fn enter(core: &mut Core, port: &mut Port<'_>, line: LineHit) -> bool {
    let hits = port.hits(core).0.lines[Hits::line_place(line.at())] == line;
    if hits {
        core.progress.enter(line);
    }
    hits
}

/// Enters the line of a step made by [`line_entry`].
fn enter_line(core: &mut Core, steps: &[Step], port: &mut Port<'_>) -> Exit {
    let [step, rest @ ..] = steps else { return Exit::EXECUTED };
    let stamp = u32::from_le_bytes([step.d, step.n, step.m, step.s]);
    let line = LineHit::new(step.imm, stamp);
    if enter(core, port, line) {
        dispatch(core, rest, port)
    } else {
        missed::line(core, steps, port, line)
    }
}

/// The step that enters `line`.
pub(super) fn line_entry(line: LineHit) -> Step {
    let [d, n, m, s] = line.stamp().to_le_bytes();
    Step { handler: enter_line, imm: line.at(), d, n, m, s }
}
