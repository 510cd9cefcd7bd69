//! Running a region, and what it calls.
//!
//! Layer: rank 3. [`Region`] is compiled code with what is known of it. [`Region::run`] enters it, and makes the processor's state of the site where it was left. The
//! host functions get the frame, and by it the [`Context`] of the run.

use std::sync::atomic::{AtomicU64, Ordering};

use super::class::{Class, class};
use super::code::{Arguments, Code, Entry, Hosts};
use super::frame::{Frame, QUANTUM, Tally, form, status};
use super::lower::{Exit, Site};
use super::plan::{Key, Plan};
use crate::address::{Cycles, LINE, Virtual};
use crate::bus::Bus;
use crate::exception::Exception;
use crate::execute::{self, End};
use crate::instruction::{Instruction, Operation};
use crate::memory::Access;
use crate::memory::lookaside::LineHit;
use crate::processor::{Processor, Stop};
use crate::registers::Psr;
use crate::timing::Outcome;

/// A compiled region.
#[derive(Debug)]
pub(super) struct Region {
    entry: Entry,
    sites: Vec<Site>,
    head: Key,
    privileged: bool,
    /// The addresses of its lines, in order.
    lines: Vec<u32>,
    contents: Vec<[u8; LINE as usize]>,
    /// Each line with its contents, as the look-aside names it, if it was seen to hit; compiled code reads them here.
    hits: Box<[AtomicU64]>,
}

/// Until when a region may run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// No instruction begins at or after this cycle, as far as the processor knows.
    pub(super) deadline: Cycles,
    /// Nor at or after this one, whatever happens.
    pub(super) limit: Cycles,
    /// To this count of instructions.
    pub(super) instructions: u64,
}

/// A run in progress.
struct Context<B> {
    processor: *mut Processor<B>,
    region: *const Region,
    bounds: Bounds,
    /// The cycle at which none is left of the frame's.
    end: i64,
    /// How the instruction went that the reference executed last, if the region is to be left behind it.
    finish: Option<End>,
    /// A line has other contents than those that were compiled.
    stale: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegionExit {
    /// The run is to stop.
    pub(super) stop: Option<Stop>,
    /// The code was changed: the region is of no use.
    pub(super) stale: bool,
}

/// The host functions for a processor on this kind of bus.
pub(super) fn hosts<B: Bus>() -> Hosts {
    Hosts {
        instruction: instruction::<B>,
        access: access::<B>,
        refill: refill::<B>,
        line: line::<B>,
    }
}

impl Region {
    /// Compiles the region from `head` on; nothing if its first instruction cannot be compiled.
    pub(super) fn compile<B: Bus>(
        code: &mut Code,
        processor: &Processor<B>,
        head: Key,
    ) -> Option<Self> {
        let memory = &processor.memory;
        let privileged = processor.registers.cpsr().mode().privileged();
        let fetch = |at| {
            let line = memory.instruction_line(Virtual(at), privileged);
            line.or_else(|| memory.current_line(Virtual(at), privileged)).copied()
        };
        let plan = Plan::new(head, &fetch)?;
        let mut lines: Vec<u32> = plan.lines().into_iter().collect();
        lines.sort_unstable();
        let contents = lines.iter().map(|&line| fetch(line)).collect::<Option<Vec<_>>>()?;
        let never = || AtomicU64::new(LineHit::NEVER.bits());
        let hits: Box<[AtomicU64]> = lines.iter().map(|_| never()).collect();
        let (entry, sites) = code.compile(&plan, &lines, hits.as_ptr().cast())?;
        Some(Self { entry, sites, head, privileged, lines, contents, hits })
    }

    /// Makes the first line the current one, as fetching would; whether it would hit, with the contents that were compiled.
    pub(super) fn enter_line<B: Bus>(&self, processor: &mut Processor<B>) -> bool {
        let at = Virtual(self.head.place.at);
        let Ok(number) = self.lines.binary_search(&self.head.place.line()) else { return false };
        if let Some(contents) = processor.memory.current_line(at, self.privileged) {
            return *contents == self.contents[number];
        }
        let hits = self.know(processor, number) == LineState::Hits;
        if hits {
            processor.memory.enter_line(at, self.privileged);
            processor.memory.note_hits(0, 0, 1);
        }
        hits
    }

    /// Whether line `number` would hit; remembers it.
    fn know<B: Bus>(&self, processor: &mut Processor<B>, number: usize) -> LineState {
        let at = Virtual(self.lines[number]);
        let Some(line) = processor.memory.line_hit(at, self.privileged) else {
            return LineState::Misses;
        };
        if line.bits() == self.hits[number].load(Ordering::Relaxed) {
            return LineState::Hits;
        }
        if processor.memory.instruction_line(at, self.privileged) != Some(&self.contents[number]) {
            return LineState::Changed;
        }
        self.hits[number].store(line.bits(), Ordering::Relaxed);
        LineState::Hits
    }

    /// Runs from the head, which the processor has come to, with its line entered and nothing to be done at the boundary.
    pub(super) fn run<B: Bus>(&self, processor: &mut Processor<B>, bounds: Bounds) -> RegionExit {
        let flags = processor.registers.cpsr();
        let line = self.head.place.line();
        let processor: *mut Processor<B> = processor;
        let mut context =
            Context { processor, region: self, bounds, end: 0, finish: None, stale: false };
        let mut frame = Frame {
            left: 0,
            counts: 0,
            result: result_of(flags),
            carry: u32::from(flags.has(Psr::C)),
            overflow: (flags.0 & Psr::V) << 3,
            form: form::ALL,
            a: 0,
            b: 0,
            line,
            target: 0,
            address: 0,
            value: 0,
            status: status::ON,
            context: (&raw mut context).cast(),
        };
        // SAFETY: `processor` is the exclusive reference of the caller, which is not used before the region was left; the tables
        // of the look-aside and the bytes of the data cache are on the heap, and neither moves nor is freed while the memory
        // system works. The code is alive: the engine drops its regions with it.
        let site = unsafe {
            let arguments = arguments(processor, &raw mut frame, self.privileged);
            context.fill(&mut frame, &*processor);
            self.entry.call(arguments)
        };
        // SAFETY: as above; the region was left.
        let processor = unsafe { &mut *processor };
        let stop = self.leave(processor, &frame, &context, site);
        RegionExit { stop, stale: context.stale }
    }

    /// Makes the processor's state of what the region left.
    fn leave<B: Bus>(
        &self,
        processor: &mut Processor<B>,
        frame: &Frame,
        context: &Context<B>,
        site: u32,
    ) -> Option<Stop> {
        let site = self.sites.get(site as usize)?;
        note(processor, Tally(frame.counts).plus(site.tally));
        if frame.line != self.head.place.line() {
            processor.memory.enter_line(Virtual(frame.line), self.privileged);
        }
        processor.registers.set_flags(frame.flags());
        processor.pipeline = site.pipeline;
        if let (Some(end), Some(instruction)) = (context.finish, &site.instruction) {
            return finish(processor, end, instruction, site.place.at);
        }
        let end = Cycles(u64::try_from(context.end - frame.left).unwrap_or(0));
        processor.now = end.plus(u64::from(site.cycles));
        let (target, thumb) = match site.exit {
            Exit::Here => (site.place.at, site.place.thumb),
            Exit::Jump => (frame.target, site.place.thumb),
            Exit::Exchange => (frame.target, frame.target & 1 != 0),
        };
        processor.registers.set_thumb(thumb);
        processor.registers.pc = target & if thumb { !1 } else { !3 };
        None
    }
}

/// What is left to do when the reference has executed the instruction at `at`, a memory access.
fn finish<B: Bus>(
    processor: &mut Processor<B>,
    end: End,
    instruction: &Instruction,
    at: u32,
) -> Option<Stop> {
    processor.counts.instructions += 1;
    match end {
        End::Abort(abort) => {
            processor.memory.note_data_abort(abort);
            processor.enter(Exception::DataAbort, at)
        }
        End::Done(outcome) => {
            processor.now.0 += u64::from(processor.pipeline.advance(instruction, outcome));
            None
        }
        _ => None,
    }
}

/// What is known of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    Hits,
    Misses,
    Changed,
}

/// The arguments of a region.
///
/// # Safety
///
/// `processor` points to a processor that nothing else uses.
// SAFETY: the contract is said above; the one caller keeps it.
unsafe fn arguments<B: Bus>(
    processor: *mut Processor<B>,
    frame: *mut Frame,
    privileged: bool,
) -> Arguments {
    // SAFETY: the contract of this function.
    let processor = unsafe { &mut *processor };
    let (lookaside, data) = processor.memory.hits();
    let (hits, data) = (std::ptr::from_ref(lookaside.hits(privileged)), data.as_mut_ptr());
    Arguments { registers: processor.registers.r.as_mut_ptr(), frame, hits, data }
}

/// The bits of `counts` that have no variable of their own.
fn note<B: Bus>(processor: &mut Processor<B>, tally: Tally) {
    let [instructions, skipped, lines, reads, writes] = tally.fields();
    processor.counts.instructions += instructions;
    processor.counts.skipped += skipped;
    processor.memory.note_hits(reads, writes, lines);
}

/// A number whose sign is N and that is zero if Z is set. (N and Z are not both set: see [`representable`].)
const fn result_of(status: Psr) -> u32 {
    if status.has(Psr::Z) { 0 } else { status.0 & Psr::N | 1 }
}

/// Whether compiled code can begin with these flags.
pub(super) const fn representable(status: Psr) -> bool {
    !(status.has(Psr::N) && status.has(Psr::Z))
}

impl<B: Bus> Context<B> {
    /// Gives cycles to the frame, as many as may be had from `processor.now` on.
    fn fill(&mut self, frame: &mut Frame, processor: &Processor<B>) {
        let now = processor.now.0;
        let cycles = self.bounds.deadline.0.saturating_sub(now);
        // An instruction takes a cycle at least, so the count of instructions is met too.
        let instructions = self.bounds.instructions.saturating_sub(processor.counts.instructions);
        let left = i64::try_from(cycles.min(instructions)).unwrap_or(i64::MAX).min(QUANTUM);
        frame.left = left;
        self.end = now.cast_signed() + left;
    }

    /// If the instruction of `site` made a transfer of its own on the bus, asks for the interrupt lines, as the boundary behind it
    /// would, and shortens what is left. Whether that boundary needs nothing more, and the node may go on.
    fn settle(&mut self, frame: &mut Frame, processor: &mut Processor<B>, site: &Site) -> bool {
        if !processor.memory.touched() {
            return true;
        }
        let before = processor.now;
        processor.now = before.plus(u64::from(site.executed));
        processor.settle();
        let settled = !processor.memory.touched();
        let deadline = processor.deadline().min(self.bounds.limit);
        processor.now = before;
        self.bounds.deadline = deadline;
        let now = self.now(frame).0.cast_signed();
        let most = i64::try_from(deadline.0).unwrap_or(i64::MAX).saturating_sub(now);
        frame.left = frame.left.min(most);
        self.end = now + frame.left;
        settled && frame.left > site.ahead()
    }

    /// The cycle that the frame is at.
    fn now(&self, frame: &Frame) -> Cycles {
        Cycles((self.end - frame.left).cast_unsigned())
    }
}

/// The frame and the run of a call from compiled code.
///
/// # Safety
///
/// `frame` is the one that [`Region::run`] of the same `B` made, with the region in progress.
// SAFETY: the contract is said above; compiled code passes on the frame that it was given.
unsafe fn run_of<'a, B>(
    frame: *mut Frame,
) -> (&'a mut Frame, &'a mut Context<B>, &'a mut Processor<B>, &'a Region) {
    // SAFETY: the contract of this function: all four outlive the call, are different objects, and are used by nothing else before it returns.
    unsafe {
        let frame = &mut *frame;
        let context = &mut *frame.context.cast::<Context<B>>();
        let (processor, region) = (context.processor, context.region);
        (frame, context, &mut *processor, &*region)
    }
}

/// Notes counts, and gives more cycles; status 1 if not more than `cycles` can be had.
extern "C" fn refill<B: Bus>(frame: *mut Frame, cycles: u32) {
    // SAFETY: compiled code passes on the frame that it was called with.
    let (frame, context, processor, _) = unsafe { run_of::<B>(frame) };
    note(processor, Tally(frame.counts));
    frame.counts = 0;
    processor.now = context.now(frame);
    context.fill(frame, processor);
    frame.status = u32::from(frame.left <= i64::from(cycles));
}

/// Looks at a line; status 1 if it would not hit with the contents that were compiled.
extern "C" fn line<B: Bus>(frame: *mut Frame, number: u32) {
    // SAFETY: compiled code passes on the frame that it was called with.
    let (frame, context, processor, region) = unsafe { run_of::<B>(frame) };
    let known = region.know(processor, number as usize);
    context.stale |= known == LineState::Changed;
    frame.status = u32::from(known != LineState::Hits);
}

/// Executes the instruction of a site; status 1 if the region must be left behind it.
extern "C" fn instruction<B: Bus>(frame: *mut Frame, site: u32) {
    // SAFETY: compiled code passes on the frame that it was called with.
    let (frame, context, processor, region) = unsafe { run_of::<B>(frame) };
    frame.status = 1;
    let Some(site) = region.sites.get(site as usize) else { return };
    let Some(instruction) = &site.instruction else { return };
    let begin = context.now(frame).plus(u64::from(site.cycles));
    processor.now = begin;
    processor.registers.set_thumb(site.place.thumb);
    processor.registers.pc = site.place.following().at;
    let misses = processor.memory.statistics().data_cache.write_misses;
    let end = execute::execute(processor, instruction, site.place.at);
    frame.left -= (processor.now.0 - begin.0).cast_signed();
    let ahead = site.ahead();
    // The lines are asked ahead of the boundary only if the run does not end there.
    let goes_on = end == End::Done(Outcome::Executed)
        && !site.jumps
        && frame.left > ahead
        && context.settle(frame, processor, site);
    frame.status = u32::from(!goes_on);
    if !goes_on {
        context.finish = Some(end);
    }
    if matches!(end, End::Done(_))
        && misses == processor.memory.statistics().data_cache.write_misses
    {
        learn(processor, instruction, frame.address, region.privileged);
    }
}

/// Loads or stores the item of a site as the reference would, but leaves the registers to compiled code. What is not aligned is left to
/// the reference.
extern "C" fn access<B: Bus>(caller: *mut Frame, number: u32) {
    // SAFETY: compiled code passes on the frame that it was called with.
    let (frame, context, processor, region) = unsafe { run_of::<B>(caller) };
    let Some(site) = region.sites.get(number as usize) else { return };
    let Some(Operation::Transfer(transfer)) = site.operation() else { return };
    let (load, item) = (transfer.load, transfer.item);
    if frame.address & (item.bytes() - 1) != 0 {
        return instruction::<B>(caller, number);
    }
    let begin = context.now(frame).plus(u64::from(site.cycles));
    processor.now = begin;
    let at = Virtual(frame.address);
    let access = Access { at, width: item.width(), privileged: region.privileged };
    let misses = processor.memory.statistics().data_cache.write_misses;
    let Processor { memory, bus, now, .. } = &mut *processor;
    let done = if load {
        memory.read(access, bus, now).map(|value| frame.value = item.loaded(value))
    } else {
        memory.write(access, item.stored(frame.value), bus, now)
    };
    frame.left -= (processor.now.0 - begin.0).cast_signed();
    if done.is_ok() && misses == processor.memory.statistics().data_cache.write_misses {
        processor.memory.learn(at, item.bytes(), (region.privileged, !load));
    }
    frame.status = match done {
        Ok(()) if frame.left > site.ahead() && context.settle(frame, processor, site) => status::ON,
        Ok(()) => status::WRITE_AND_LEAVE,
        Err(_) => status::LEAVE,
    };
    if frame.status != status::ON {
        processor.registers.set_thumb(site.place.thumb);
        processor.registers.pc = site.place.following().at;
        context.finish = Some(done.map_or_else(End::Abort, |()| End::Done(Outcome::Executed)));
    }
}

/// Remembers the lines of an access that the reference made, if they would hit now.
fn learn<B: Bus>(
    processor: &mut Processor<B>,
    instruction: &Instruction,
    address: u32,
    privileged: bool,
) {
    if class(instruction) == Class::Called {
        return;
    }
    let (load, bytes) = match instruction.operation {
        Operation::Transfer(transfer) => (transfer.load, transfer.item.bytes()),
        Operation::BlockTransfer(transfer) => (transfer.load, 4 * transfer.words()),
        _ => return,
    };
    processor.memory.learn(Virtual(address), bytes, (privileged, !load));
}
