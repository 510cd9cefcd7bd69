//! The execution of a region, and the host functions that it calls.
//!
//! Layer: rank 3. [`Region::run`] enters compiled code and restores the processor's state at the exit.
//! The host functions receive the frame, which refers to the [`Context`] of the run.

use super::class::{Class, class};
use super::code::{Arguments, Code, Entry, Hosts};
use super::frame::{Frame, QUANTUM, Tally, Terms, form, status};
use super::lower::{Exit, Site};
use super::plan::{Key, Plan};
use crate::address::{Cycles, Virtual};
use crate::bus::{Bus, Width};
use crate::exception::Exception;
use crate::execute::{self, End};
use crate::instruction::{Instruction, Item, Operation};
use crate::memory::lookaside::LineHit;
use crate::memory::{Abort, Access};
use crate::processor::{Processor, Stop};
use crate::registers::Psr;
use crate::timing::{Outcome, RegisterSet, Timing};

/// A compiled region.
#[derive(Debug)]
pub(super) struct Region {
    entry: Entry,
    sites: Vec<Site>,
    head: Key,
    privileged: bool,
    /// Its lines with the contents compiled, by ascending addresses.
    lines: Vec<LineHit>,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The first cycle at which no instruction may begin, as far as is known.
    pub(super) deadline: Cycles,
    /// The same, by the limit of the run alone.
    pub(super) limit: Cycles,
    /// The limit of the count of instructions.
    pub(super) instructions: u64,
}

/// A run in progress.
struct Context<B> {
    processor: *mut Processor<B>,
    region: *const Region,
    bounds: Bounds,
    /// The cycle at which the frame's budget is used up.
    end: i64,
    /// The end of the last instruction that the reference executed, if the region exits after it.
    finish: Option<End>,
    /// Whether a line has other contents than those compiled, or the same with another stamp.
    stale: bool,
    /// How many losses of lines there were when the region was entered.
    losses: u64,
}

/// The exit of a region.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegionExit {
    /// The reason to stop the run, if any.
    pub(super) stop: Option<Stop>,
    /// Whether code changed, so that the region is invalid.
    pub(super) stale: bool,
}

/// The host functions for a processor on a bus of this type.
pub(super) fn hosts<B: Bus>() -> Hosts {
    Hosts {
        instruction: instruction::<B>,
        load: access::<B, true>,
        store: store::<B>,
        refill: refill::<B>,
        line: line::<B>,
    }
}

impl Region {
    /// Compiles the region from `head` on; `None` if its first instruction cannot be compiled.
    pub(super) fn compile<B: Bus>(
        code: &mut Code,
        processor: &mut Processor<B>,
        head: Key,
    ) -> Option<Self> {
        let memory = &mut processor.memory;
        let privileged = processor.registers.cpsr().mode().privileged();
        let fetch = |at| {
            let line = memory.instruction_line(Virtual(at), privileged);
            line.or_else(|| memory.current_line(Virtual(at), privileged)).copied()
        };
        let plan = Plan::new(head, &fetch)?;
        let hit = |&line: &u32| memory.line_of(Virtual(line), privileged);
        let lines = plan.lines.iter().map(hit).collect::<Option<Vec<_>>>()?;
        let (entry, sites) = code.compile(&plan, &lines)?;
        Some(Self { entry, sites, head, privileged, lines })
    }

    /// Enters the head's line as a fetch would. Returns whether it hits with the compiled contents, now and
    /// when it is entered again: the current line may have lost its translation.
    pub(super) fn enter_line<B: Bus>(&self, processor: &mut Processor<B>) -> bool {
        let (at, memory) = (Virtual(self.head.place.at), &mut processor.memory);
        let Some(&compiled) = self.lines.iter().find(|line| line.is_of(at.0)) else { return false };
        if memory.line_hit(at, self.privileged) != Some(compiled) {
            return false;
        }
        if let Some(current) = memory.current_hit(at, self.privileged) {
            return current == compiled;
        }
        memory.enter_line(at, self.privileged);
        memory.note_hits(0, 0, 1);
        true
    }

    /// Looks up line `number`, whose entry the look-aside may have lost.
    fn look_up<B: Bus>(&self, processor: &mut Processor<B>, number: usize) -> LineState {
        let compiled = self.lines[number];
        match processor.memory.line_hit(Virtual(compiled.at()), self.privileged) {
            Some(line) if line == compiled => LineState::Hits,
            Some(_) => LineState::Changed,
            None => LineState::Misses,
        }
    }

    /// Runs from the head. Its line is entered, and no work is due at the boundary before it.
    pub(super) fn run<B: Bus>(&self, processor: &mut Processor<B>, bounds: Bounds) -> RegionExit {
        let flags = processor.registers.cpsr();
        let r = processor.registers.r;
        let losses = processor.memory.lookaside().line_losses();
        let processor: *mut Processor<B> = processor;
        let mut context =
            Context { processor, region: self, bounds, end: 0, finish: None, stale: false, losses };
        let mut frame = Frame {
            left: 0,
            counts: 0,
            privileged: self.privileged,
            result: result_of(flags),
            carry: u32::from(flags.has(Psr::C)),
            overflow: (flags.0 & Psr::V) << 3,
            form: form::ALL,
            a: 0,
            b: 0,
            target: 0,
            address: 0,
            value: 0,
            arguments: [0; 2],
            status: status::CONTINUE,
            r,
            context: (&raw mut context).cast(),
        };
        // SAFETY: `processor` is the caller's exclusive reference and is not used before the exit. The
        // look-aside's tables and the data cache are on the heap and neither move nor are freed during
        // a run. The entries of the tables have addresses of the data cache of the same memory system,
        // which keeps its bytes in one place as long as it lives; a copy begins with empty tables, and
        // safe code cannot take the tables out. The engine owns the code and drops it together with its
        // regions.
        let site = unsafe {
            let arguments = arguments(processor, &raw mut frame, self.privileged);
            context.fill(&mut frame, &*processor);
            self.entry.call(arguments)
        };
        // SAFETY: as above, after the exit.
        let processor = unsafe { &mut *processor };
        let stop = self.leave(processor, &frame, &context, site);
        RegionExit { stop, stale: context.stale }
    }

    /// Restores the processor's state at the exit.
    fn leave<B: Bus>(
        &self,
        processor: &mut Processor<B>,
        frame: &Frame,
        context: &Context<B>,
        site: u32,
    ) -> Option<Stop> {
        let site = self.sites.get(site as usize)?;
        add_counts(processor, Tally(frame.counts).plus(site.tally));
        if site.line != self.head.place.line() {
            processor.memory.enter_line(Virtual(site.line), self.privileged);
        }
        processor.registers.r = frame.r;
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

/// Completes the instruction at `at`, a memory access by the reference.
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

/// The result of the lookup of a line.
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
// SAFETY: the contract is stated above; the one caller keeps it.
unsafe fn arguments<B: Bus>(
    processor: *mut Processor<B>,
    frame: *mut Frame,
    privileged: bool,
) -> Arguments {
    // SAFETY: the contract of this function.
    let processor = unsafe { &mut *processor };
    let hits = std::ptr::from_ref(processor.memory.lookaside().hits(privileged));
    Arguments { frame, hits }
}

/// Adds a tally to the counts.
fn add_counts<B: Bus>(processor: &mut Processor<B>, tally: Tally) {
    let [instructions, skipped, lines, reads, writes] = tally.fields();
    processor.counts.instructions += instructions;
    processor.counts.skipped += skipped;
    processor.memory.note_hits(reads, writes, lines);
}

/// A number with the sign N that is zero if Z is set. N and Z are not both set: see [`representable`].
const fn result_of(status: Psr) -> u32 {
    if status.has(Psr::Z) { 0 } else { status.0 & Psr::N | 1 }
}

/// Whether a result can represent these flags.
pub(super) const fn representable(status: Psr) -> bool {
    !(status.has(Psr::N) && status.has(Psr::Z))
}

impl<B: Bus> Context<B> {
    /// Sets the frame's budget to the cycles available from `processor.now` on.
    fn fill(&mut self, frame: &mut Frame, processor: &Processor<B>) {
        let now = processor.now.0;
        let cycles = self.bounds.deadline.0.saturating_sub(now);
        // An instruction takes at least one cycle, so this respects the limit of instructions too.
        let instructions = self.bounds.instructions.saturating_sub(processor.counts.instructions);
        let left = i64::try_from(cycles.min(instructions)).unwrap_or(i64::MAX).min(QUANTUM);
        frame.left = left;
        self.end = now.cast_signed() + left;
    }

    /// After a bus transfer by the instruction of `site`, samples the interrupt lines as its boundary
    /// would and reduces the budget. Returns whether no more work is due and the path may continue.
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

    /// Whether all lines that the region entered still hit.
    fn has_lines(&self, processor: &Processor<B>) -> bool {
        processor.memory.lookaside().line_losses() == self.losses
    }

    /// The current cycle of the frame.
    fn now(&self, frame: &Frame) -> Cycles {
        Cycles((self.end - frame.left).cast_unsigned())
    }
}

/// The objects of the run, in a call from compiled code.
///
/// # Safety
///
/// `frame` is the argument that [`Region::run`] of the same `B` passed to the running region.
// SAFETY: the contract is stated above; compiled code passes on its frame.
unsafe fn run_of<'a, B>(
    frame: *mut Frame,
) -> (&'a mut Frame, &'a mut Context<B>, &'a mut Processor<B>, &'a Region) {
    // SAFETY: by the contract the four objects are distinct, outlive the call, and have no other user.
    unsafe {
        let frame = &mut *frame;
        let context = &mut *frame.context.cast::<Context<B>>();
        let (processor, region) = (context.processor, context.region);
        (frame, context, &mut *processor, &*region)
    }
}

/// Adds the tally to the counts and refills the budget; status 1 if it does not exceed `cycles`. The
/// counts include `lines` that are entered next. If the region exits instead, they are taken off.
extern "C" fn refill<B: Bus>(frame: *mut Frame) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, _) = unsafe { run_of::<B>(frame) };
    let [cycles, lines] = frame.arguments;
    let counted = Tally::LINE.times(lines);
    add_counts(processor, Tally(frame.counts).minus(counted));
    processor.now = context.now(frame);
    context.fill(frame, processor);
    let leaves = frame.left <= i64::from(cycles);
    frame.counts = if leaves { 0 } else { counted.0 };
    frame.status = u32::from(leaves);
}

/// Looks up a line; status 1 unless it hits with the compiled contents. The counts include `lines`, as
/// in [`refill`].
extern "C" fn line<B: Bus>(frame: *mut Frame) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, region) = unsafe { run_of::<B>(frame) };
    let [number, lines] = frame.arguments;
    let known = region.look_up(processor, number as usize);
    context.stale |= known == LineState::Changed;
    let leaves = known != LineState::Hits;
    if leaves {
        frame.counts = Tally(frame.counts).minus(Tally::LINE.times(lines)).0;
    }
    frame.status = u32::from(leaves);
}

/// Executes the instruction of a site; status 1 if the region must exit after it.
extern "C" fn instruction<B: Bus>(frame: *mut Frame) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, region) = unsafe { run_of::<B>(frame) };
    frame.status = 1;
    let Some(site) = region.sites.get(frame.arguments[0] as usize) else { return };
    let Some(instruction) = &site.instruction else { return };
    let begin = context.now(frame).plus(u64::from(site.cycles));
    processor.now = begin;
    processor.registers.set_thumb(site.place.thumb);
    processor.registers.pc = site.place.following().at;
    processor.registers.r = frame.r;
    let misses = processor.memory.statistics().data_cache.write_misses;
    let end = execute::execute(processor, instruction, site.place.at);
    debug_assert!(
        changed(&frame.r, &processor.registers.r)
            & !Timing::of(instruction, Outcome::Executed).written
            == 0,
        "{instruction:?} writes more than its timing says"
    );
    frame.r = processor.registers.r;
    frame.left -= (processor.now.0 - begin.0).cast_signed();
    let ahead = site.ahead();
    // The lines are sampled before the boundary only if the run does not end there.
    let continues = end == End::Done(Outcome::Executed)
        && !site.jumps
        && frame.left > ahead
        && context.has_lines(processor)
        && context.settle(frame, processor, site);
    frame.status = u32::from(!continues);
    if !continues {
        context.finish = Some(end);
    }
    if matches!(end, End::Done(_))
        && misses == processor.memory.statistics().data_cache.write_misses
    {
        add_hits(processor, instruction, frame.address, region.privileged);
    }
}

/// The registers that differ.
fn changed(before: &[u32; 15], after: &[u32; 15]) -> RegisterSet {
    let differ = before.iter().zip(after).map(|(before, after)| before != after);
    (0..).zip(differ).fold(0, |set, (index, differs)| set | RegisterSet::from(differs) << index)
}

/// Performs the access of a site, a load or a store, like the reference, but leaves the registers to
/// compiled code. The reference executes unaligned accesses.
#[inline(never)]
extern "C" fn access<B: Bus, const LOAD: bool>(caller: *mut Frame) {
    // SAFETY: compiled code passes on its frame.
    let terms = Terms::unpack(unsafe { (*caller).arguments[1] });
    // Nearly all are of words: what depends on the item is constant there.
    match terms.item {
        Item::Word => transfer::<B, LOAD>(caller, Terms { item: Item::Word, ..terms }),
        _ => transfer::<B, LOAD>(caller, terms),
    }
}

/// As [`access`].
#[inline(always)]
fn transfer<B: Bus, const LOAD: bool>(caller: *mut Frame, terms: Terms) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, _) = unsafe { run_of::<B>(caller) };
    if frame.address & (terms.item.bytes() - 1) != 0 {
        return instruction::<B>(caller);
    }
    let begin = context.now(frame).plus(u64::from(terms.cycles));
    let mut now = begin;
    let done = perform::<B, LOAD>(frame, processor, terms.item, &mut now);
    frame.left -= (now.0 - begin.0).cast_signed();
    let in_time = frame.left > i64::from(terms.ahead);
    let settled = !processor.memory.touched() && context.has_lines(processor);
    if done.is_ok() && in_time && settled {
        frame.status = status::CONTINUE;
    } else {
        conclude::<B>(caller, now, done);
    }
}

/// Performs the store of a site. Most are of words in memory that are known to miss the cache: nothing but
/// the write buffer is involved then.
extern "C" fn store<B: Bus>(caller: *mut Frame) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, _) = unsafe { run_of::<B>(caller) };
    let Terms { item, cycles, ahead } = Terms::unpack(frame.arguments[1]);
    let aligned_word = item == Item::Word && frame.address & 3 == 0;
    let begin = context.now(frame).plus(u64::from(cycles));
    let mut now = begin;
    let Processor { memory, bus, .. } = processor;
    let (at, privileged) = (Virtual(frame.address), frame.privileged);
    let word = Access { at, width: Width::Word, privileged };
    if !aligned_word || !memory.write_known_miss(word, frame.value, bus, &mut now) {
        return access::<B, false>(caller);
    }
    frame.left -= (now.0 - begin.0).cast_signed();
    frame.status = status::CONTINUE;
    if frame.left <= i64::from(ahead) {
        conclude::<B>(caller, now, Ok(()));
    }
}

/// Sets the status after the access of a site that ended at `now`, if the region may have to exit.
#[inline(never)]
fn conclude<B: Bus>(caller: *mut Frame, now: Cycles, done: Result<(), Abort>) {
    // SAFETY: compiled code passes on its frame.
    let (frame, context, processor, region) = unsafe { run_of::<B>(caller) };
    let Some(site) = region.sites.get(frame.arguments[0] as usize) else { return };
    processor.now = now;
    let on = frame.left > site.ahead() && context.has_lines(processor);
    frame.status = match done {
        Ok(()) if on && context.settle(frame, processor, site) => status::CONTINUE,
        Ok(()) => status::WRITE_AND_LEAVE,
        Err(_) => status::LEAVE,
    };
    if frame.status != status::CONTINUE {
        processor.registers.set_thumb(site.place.thumb);
        processor.registers.pc = site.place.following().at;
        context.finish = Some(done.map_or_else(End::Abort, |()| End::Done(Outcome::Executed)));
    }
}

/// Loads or stores the frame's item, and adds the entry of its line.
#[inline(always)]
fn perform<B: Bus, const LOAD: bool>(
    frame: &mut Frame,
    processor: &mut Processor<B>,
    item: Item,
    now: &mut Cycles,
) -> Result<(), Abort> {
    let (at, privileged) = (Virtual(frame.address), frame.privileged);
    let access = Access { at, width: item.width(), privileged };
    let Processor { memory, bus, .. } = processor;
    if LOAD {
        frame.value = item.loaded(memory.read(access, bus, now)?);
    } else {
        memory.write_quickly(access, item.stored(frame.value), bus, now)?;
    }
    memory.learn_item(at, (privileged, !LOAD));
    Ok(())
}

/// Adds look-aside entries for an access by the reference, as far as it would hit now.
fn add_hits<B: Bus>(
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
