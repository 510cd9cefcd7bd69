//! A medium with timing: a link, channels, dies with planes, and a buffer.
//!
//! Layer: a medium. Main types: [`Timing`], [`CellTimes`], [`TimedMedium`]. There is no event queue: the
//! link, each channel and each die store until when they are busy, and an operation begins when all
//! the resources that it needs are free. That is exact as long as each serves in order of arrival.
//! A request allocates nothing.
//!
//! ```text
//!   host -- link --> buffer (slots) -- channel --> page registers -- program --> cells
//!                      ^                              |
//!                      `---------- channel -----------+--------- read -------- cells
//! ```
//!
//! Pages that a die programs at once (planes times mapped pages of a flash page) form a group; it
//! is sent when it is complete, or when the host flushes. Without slots, host data pass directly
//! into the page registers, and the link waits for the end of the program, as in the simplest
//! cards. With n slots a transfer may begin when the n-th group before it has left the buffer.
//! Without cache program a register is free when the program ends, with it when the program begins.
//! Of a long run only the first groups are computed one by one ([`laps`]), and nothing of one that the
//! last run on an idle part was like ([`idle`]).
//!
//! Source: busy-until recurrences as in FEMU's timing model (`ssd_advance_status`, ftl.c 8.0), and
//! ONFI 4.2 for multi-plane and cache program. Left out: program and erase suspend, reads that
//! overtake, copyback within a die, times that depend on wear.

mod idle;
mod laps;

use crate::cause::{ByCause, Cause};
use crate::error::Error;
use crate::geometry::{Geometry, Page, PageRun, Place};
use crate::medium::{Busy, CellMode, Cells, Copies, Medium, OperationCounts, RequestTiming, Stamp};
use boardlab_sim::{Bytes, Duration, Instant, Rate};
use idle::Outcome;

/// The array times in one cell mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellTimes {
    /// Read of a row into the register (tR); the list repeats over the rows, since the rows of a
    /// word line differ.
    pub read: Vec<Duration>,
    /// Program of a row (tPROG); the list repeats over the rows.
    pub program: Vec<Duration>,
    /// Erase of a block (tBERS).
    pub erase: Duration,
}

impl CellTimes {
    /// The same times for all rows.
    #[must_use]
    pub fn uniform(read: Duration, program: Duration, erase: Duration) -> Self {
        Self { read: vec![read], program: vec![program], erase }
    }
}

/// The timing of a part, its controller and its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The cells in native mode.
    pub native: CellTimes,
    /// The same cells in SLC mode.
    pub slc: CellTimes,
    /// The rate of each channel.
    pub channel: Rate,
    /// The rate of the link to the host, with its overhead for each block or frame. A link on which
    /// a group takes no time stands for one that the device above models: requests then begin when
    /// their data have arrived, or have a pace ([`Medium::pace`]).
    pub link: Rate,
    /// The time on the link before the data of each request.
    pub command: Duration,
    /// The number of groups that fit into the buffer; zero when a transfer waits for the program
    /// before it.
    pub slots: u32,
    /// Whether a register takes the next group while the cells are programmed.
    pub cache_program: bool,
}

/// One resource: until when it is busy, and for how long it was, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Resource {
    free: u64,
    busy: u64,
}

impl Resource {
    /// Occupies the resource for `span` as soon as it is free, from `ready` on. Returns start and end.
    #[inline]
    fn serve(&mut self, ready: u64, span: u64) -> (u64, u64) {
        let start = self.free.max(ready);
        self.free = start + span;
        self.busy += span;
        (start, self.free)
    }
}

/// A die: its cells, and its page registers.
#[derive(Debug, Clone, Copy)]
struct Die {
    cells: Resource,
    /// When the page registers can take the next group.
    register: u64,
    /// The group that the page registers hold after a read.
    loaded: u64,
    /// The end and the cause of the die's last operation that was not for the host.
    others: (u64, Cause),
}

/// A slot of the buffer.
#[derive(Debug, Clone, Copy)]
struct Slot {
    free: u64,
    /// What delayed the last group in it.
    behind: Cause,
}

const NOTHING: u64 = u64::MAX;

/// Pages of a block that wait in the buffer for the rest of their group.
#[derive(Debug, Clone, Copy, Default)]
struct PendingGroup {
    /// When the transfer of the first of them began, and when that of the last ended.
    begun: u64,
    arrived: u64,
    pages: u32,
    from_host: bool,
}

/// Pages of one group, and where they are on the part.
#[derive(Debug, Clone, Copy)]
struct Part {
    run: PageRun,
    place: Place,
}

/// The times of one cell mode in nanoseconds.
#[derive(Debug, Clone)]
struct Cycle {
    read: Box<[u64]>,
    program: Box<[u64]>,
    erase: u64,
}

impl Cycle {
    fn new(times: &CellTimes) -> Result<Self, Error> {
        let nanos = |spans: &[Duration]| spans.iter().map(|span| span.as_nanos()).collect();
        let (read, program): (Box<[u64]>, Box<[u64]>) = (nanos(&times.read), nanos(&times.program));
        if read.is_empty() || program.is_empty() {
            let what = "number of times for the rows of a block";
            return Err(Error::Policy { what, found: 0, least: 1, most: u64::MAX });
        }
        Ok(Self { read, program, erase: times.erase.as_nanos() })
    }

    #[inline]
    fn of(spans: &[u64], row: u32) -> u64 {
        match spans {
            [one] => *one,
            _ => spans[row as usize % spans.len()],
        }
    }
}

/// A medium with timing.
#[derive(Debug, Clone)]
pub struct TimedMedium {
    geometry: Geometry,
    cells: Cells,
    /// By cell mode.
    cycles: [Cycle; 2],
    mode: Vec<CellMode>,
    /// The transfer times of 0, 1, 2... pages of a group over a channel and over the link.
    channel_times: Box<[u64]>,
    link_times: Box<[u64]>,
    command: u64,
    /// Whether the link takes time.
    has_link: bool,
    /// The pages of a group.
    group: u32,
    /// The time of a group on a link outside, for pages that arrive while they are written.
    pace: u64,
    overlapped: bool,
    cache_program: bool,
    link: Resource,
    channels: Vec<Resource>,
    dies: Vec<Die>,
    gathered: Vec<PendingGroup>,
    /// Blocks with an incomplete group.
    incomplete: Vec<Page>,
    /// When each of the last groups of the host left the buffer, and the index of the oldest.
    slots: Box<[Slot]>,
    oldest: usize,
    /// The current request: its earliest next start, its ends, and its work.
    now: u64,
    transferred: u64,
    finished: u64,
    work: ByCause,
    waited: ByCause,
    by_cause: ByCause,
    /// The resources before a lap; kept to reuse its memory.
    before: Vec<u64>,
    last_idle: Outcome,
}

impl TimedMedium {
    /// An erased, idle part.
    ///
    /// # Errors
    /// [`Error::Policy`] when a list of times is empty.
    pub fn new(geometry: &Geometry, timing: &Timing) -> Result<Self, Error> {
        let stripe = geometry.stripe();
        let times = |rate: Rate| -> Box<[u64]> {
            let bytes = |pages: u32| geometry.page() * u64::from(pages);
            let time = |pages| match bytes(pages) {
                Bytes::ZERO => 0,
                bytes => rate.time_for(bytes).as_nanos(),
            };
            (0..=stripe.program_pages()).map(time).collect()
        };
        let die = Die {
            cells: Resource::default(),
            register: 0,
            loaded: NOTHING,
            others: (0, Cause::Host),
        };
        let slot = Slot { free: 0, behind: Cause::Host };
        let link_times = times(timing.link);
        Ok(Self {
            geometry: *geometry,
            cells: Cells::new(geometry),
            cycles: [Cycle::new(&timing.native)?, Cycle::new(&timing.slc)?],
            mode: vec![CellMode::Native; geometry.blocks() as usize],
            channel_times: times(timing.channel),
            has_link: link_times.iter().any(|&time| time > 0),
            link_times,
            group: stripe.program_pages(),
            pace: 0,
            command: timing.command.as_nanos(),
            overlapped: timing.slots > 0,
            cache_program: timing.cache_program,
            link: Resource::default(),
            channels: vec![Resource::default(); stripe.channels as usize],
            dies: vec![die; stripe.all_dies() as usize],
            gathered: vec![PendingGroup::default(); geometry.blocks() as usize],
            incomplete: Vec::new(),
            slots: vec![slot; timing.slots.max(1) as usize].into(),
            oldest: 0,
            now: 0,
            transferred: 0,
            finished: 0,
            work: ByCause::default(),
            waited: ByCause::default(),
            by_cause: ByCause::default(),
            before: Vec::new(),
            last_idle: Outcome::default(),
        })
    }

    #[inline]
    fn cycle(&self, block: u32) -> &Cycle {
        &self.cycles[self.mode[block as usize] as usize]
    }

    /// Calls `each` for the part of a run in each group.
    #[inline]
    fn by_group(&mut self, run: PageRun, mut each: impl FnMut(&mut Self, Part)) {
        let (mut offset, end) = (run.offset, run.offset + run.count);
        while offset < end {
            let place = self.geometry.place(offset);
            let count = (self.group - place.within).min(end - offset);
            each(self, Part { run: PageRun { block: run.block, offset, count }, place });
            offset += count;
        }
    }

    /// A page as a part of its group.
    #[inline]
    fn part(&self, page: Page) -> Part {
        Part { run: page.into(), place: self.geometry.place(page.offset) }
    }

    /// Transfers pages of one group over the link. Returns start and end.
    #[inline]
    fn receive(&mut self, pages: u32, first_of_group: bool) -> (u64, u64) {
        let mut ready = self.now;
        if first_of_group {
            let slot = self.slots[self.oldest];
            let else_free = ready.max(self.link.free);
            self.waited[slot.behind] += slot.free.saturating_sub(else_free);
            ready = ready.max(slot.free);
        }
        let span = match self.pace {
            0 => self.link_times[pages as usize],
            // Nearly all groups are complete, and a division is slow.
            pace if pages == self.group => pace,
            pace => pace * u64::from(pages) / u64::from(self.group),
        };
        let (start, end) = self.link.serve(ready, span);
        self.now = self.now.max(end);
        self.transferred = end;
        (start, end)
    }

    /// Adds pages of one group to the buffer, and sends the group when it is complete.
    #[inline]
    fn gather(&mut self, part: Part, came: (u64, u64), cause: Cause) {
        let Part { run, place } = part;
        if run.count == self.group {
            let (begun, arrived) = came;
            let from_host = cause == Cause::Host;
            let whole = PendingGroup { begun, arrived, pages: run.count, from_host };
            return self.send(run.block, place, whole, cause);
        }
        let gathered = &mut self.gathered[run.block as usize];
        let begins = gathered.pages == 0;
        gathered.pages += run.count;
        gathered.begun = if begins { came.0 } else { gathered.begun };
        gathered.arrived = gathered.arrived.max(came.1);
        gathered.from_host |= cause == Cause::Host;
        if place.within + run.count == self.group {
            let complete = std::mem::take(gathered);
            if !begins {
                self.incomplete.retain(|other| other.block != run.block);
            }
            self.send(run.block, place, complete, cause);
        } else if begins {
            self.incomplete.push(Page { block: run.block, offset: run.offset });
        }
    }

    /// Sends the pages gathered for a block to their die and programs them.
    #[inline]
    fn send(&mut self, block: u32, place: Place, gathered: PendingGroup, cause: Cause) {
        let span = Cycle::of(&self.cycle(block).program, place.row);
        let die = &mut self.dies[place.die as usize];
        let channel = &mut self.channels[place.channel as usize];
        let arrived = gathered.arrived.max(self.now);
        // Without a buffer the channel transfers them while they arrive.
        let through = gathered.from_host && !self.overlapped;
        let transfer = self.channel_times[gathered.pages as usize];
        let told = self.has_link || self.pace > 0;
        let begun = gathered.begun.saturating_sub(if told { 0 } else { transfer });
        let ready = die.register.max(if through { begun } else { arrived });
        let (_, sent) = channel.serve(ready, transfer);
        let sent = sent.max(arrived);
        let (begun, ended) = die.cells.serve(sent, span);
        die.register = if self.cache_program { begun } else { ended };
        die.loaded = NOTHING;
        if cause != Cause::Host {
            die.others = (ended, cause);
        }
        if gathered.from_host {
            let behind = if die.others.0 > arrived { die.others.1 } else { Cause::Host };
            let free = if self.overlapped { sent } else { ended };
            self.slots[self.oldest] = Slot { free, behind };
            let next = self.oldest + 1;
            self.oldest = if next == self.slots.len() { 0 } else { next };
        }
        self.did(span, ended, cause);
    }

    #[inline]
    fn did(&mut self, span: u64, ended: u64, cause: Cause) {
        self.finished = self.finished.max(ended);
        self.work[cause] += span;
        self.by_cause[cause] += span;
    }

    /// Reads pages of one group and transfers them over the channel. Returns when the transfer ends.
    #[inline]
    fn fetch(&mut self, Part { run, place }: Part, cause: Cause) -> u64 {
        let group = u64::from(run.block) << 32 | u64::from(run.offset - place.within);
        let span = Cycle::of(&self.cycle(run.block).read, place.row);
        let die = &mut self.dies[place.die as usize];
        let mut ready = self.now;
        if die.loaded != group || cause == Cause::Retry {
            if cause == Cause::Host {
                self.waited[die.others.1] += die.others.0.saturating_sub(self.now);
            }
            ready = die.cells.serve(self.now, span).1;
            die.loaded = group;
            if cause != Cause::Host {
                die.others = (ready, cause);
            }
            self.did(span, ready, cause);
        }
        let channel = &mut self.channels[place.channel as usize];
        let out = channel.serve(ready, self.channel_times[run.count as usize]).1;
        // The next group may enter the registers when these data have left.
        let die = &mut self.dies[place.die as usize];
        die.register = die.register.max(out);
        out
    }

    fn program_laps(&mut self, run: PageRun, cause: Cause) {
        let rows = self.cycle(run.block).program.len();
        self.by_lap(run, rows, cause, |this, run| this.program_groups(run, cause));
    }

    fn program_groups(&mut self, run: PageRun, cause: Cause) {
        self.by_group(run, |this, part| {
            let came = match cause {
                Cause::Host => this.receive(part.run.count, part.place.within == 0),
                _ => (this.now, this.now),
            };
            this.gather(part, came, cause);
        });
    }

    /// Copies the pages at `offsets` of the block `from`.
    fn copy_groups(&mut self, from: u32, offsets: &[u32], to: PageRun, cause: Cause) {
        let mut offsets = offsets.iter();
        self.by_group(to, |this, part| {
            let (mut first, mut last) = (None, 0);
            for &offset in offsets.by_ref().take(part.run.count as usize) {
                let page = this.part(Page { block: from, offset });
                let arrived =
                    if this.is_gathered(page.run) { this.now } else { this.fetch(page, cause) };
                first = first.or(Some(arrived));
                last = last.max(arrived);
            }
            this.gather(part, (first.unwrap_or(last), last), cause);
        });
    }

    /// Drops pages of a block that wait in the buffer.
    fn drop_gathered(&mut self, block: u32) {
        if self.gathered[block as usize].pages > 0 {
            self.gathered[block as usize] = PendingGroup::default();
            self.incomplete.retain(|other| other.block != block);
        }
    }

    /// Whether the first page of `run` still waits in the buffer.
    fn is_gathered(&self, run: PageRun) -> bool {
        let pages = self.gathered[run.block as usize].pages;
        pages > 0 && run.offset + pages >= self.cells.next(run.block)
    }
}

impl Medium for TimedMedium {
    #[inline]
    fn program(&mut self, run: PageRun, _: Stamp, cause: Cause) {
        self.cells.program(run);
        match self.idle_run(run, cause) {
            Some(idle) => self.run_idle(idle, |this| this.program_laps(run, cause)),
            None => self.program_laps(run, cause),
        }
    }

    #[inline]
    fn copy(&mut self, copies: Copies<'_>, cause: Cause) {
        self.cells.copy(copies);
        let Copies { from, offsets, to, .. } = copies;
        let copy = |this: &mut Self, part: PageRun| {
            let first = (part.offset - to.offset) as usize;
            let offsets = &offsets[first..first + part.count as usize];
            this.copy_groups(from, offsets, part, cause);
        };
        if self.repeats(copies, cause) {
            let rows = self.cycle(from).read.len() * self.cycle(to.block).program.len();
            self.by_lap(to, rows, cause, copy);
        } else {
            copy(self, to);
        }
    }

    fn read(&mut self, run: PageRun, cause: Cause) {
        self.cells.read(run);
        self.by_group(run, |this, part| {
            let out = if this.is_gathered(part.run) { this.now } else { this.fetch(part, cause) };
            if cause == Cause::Host {
                let link = this.link_times[part.run.count as usize];
                // Where the device above models the link, data do not queue for it here.
                let end = if this.has_link { this.link.serve(out, link).1 } else { out };
                this.transferred = this.transferred.max(end);
                this.finished = this.finished.max(end);
            } else {
                this.now = this.now.max(out);
            }
        });
    }

    fn erase(&mut self, block: u32, cause: Cause) {
        self.cells.erase(block);
        self.drop_gathered(block);
        let span = self.cycle(block).erase;
        let mut ended = 0;
        for die in &mut self.dies {
            ended = ended.max(die.cells.serve(self.now, span).1);
            die.register = die.register.max(die.cells.free);
            die.loaded = NOTHING;
            die.others = (die.cells.free, cause);
        }
        let dies = u64::from(self.geometry.stripe().all_dies());
        self.did(span * dies, ended, cause);
    }

    fn mark_bad(&mut self, block: u32) {
        self.drop_gathered(block);
    }

    fn open(&mut self, block: u32, mode: CellMode) {
        self.mode[block as usize] = mode;
    }

    fn flush(&mut self) {
        while let Some(page) = self.incomplete.pop() {
            let gathered = std::mem::take(&mut self.gathered[page.block as usize]);
            self.send(page.block, self.geometry.place(page.offset), gathered, Cause::Host);
        }
        // A flush also waits for programs that earlier requests began.
        let last = self.dies.iter().map(|die| die.cells.free).max();
        self.finished = self.finished.max(last.unwrap_or(0));
    }

    fn operations(&self) -> OperationCounts {
        self.cells.operations()
    }

    fn programmed(&self, block: u32) -> u32 {
        self.cells.next(block)
    }

    #[inline]
    fn begin(&mut self, at: Instant) {
        self.background(at);
        if self.command > 0 {
            self.now = self.link.serve(self.now, self.command).1;
        }
        self.transferred = self.now;
        self.finished = self.now;
    }

    #[inline]
    fn background(&mut self, at: Instant) {
        self.now = at.as_nanos();
        (self.transferred, self.finished) = (self.now, self.now);
        (self.work, self.waited) = (ByCause::default(), ByCause::default());
    }

    #[inline]
    fn end(&mut self) -> RequestTiming {
        let next = self.slots[self.oldest];
        let accepted = self.transferred.max(next.free);
        self.waited[next.behind] += accepted - self.transferred;
        RequestTiming {
            transferred: Instant::from_nanos(self.transferred),
            accepted: Instant::from_nanos(accepted),
            finished: Instant::from_nanos(self.finished.max(self.transferred)),
            work: self.work,
            waited: self.waited,
        }
    }

    fn quiet(&self) -> Instant {
        let dies = self.dies.iter().map(|die| die.cells.free);
        let channels = self.channels.iter().map(|channel| channel.free);
        let last = dies.chain(channels).chain([self.link.free]).max();
        Instant::from_nanos(last.unwrap_or(0))
    }

    fn busy(&self) -> Busy {
        let span = |resource: &Resource| Duration::from_nanos(resource.busy);
        Busy {
            link: span(&self.link),
            channels: self.channels.iter().map(span).collect(),
            dies: self.dies.iter().map(|die| span(&die.cells)).collect(),
            by_cause: self.by_cause,
        }
    }

    fn pace(&mut self, each: Duration) {
        self.pace = each.as_nanos();
    }

    fn delay(&mut self, span: Duration) {
        self.now += span.as_nanos();
        self.finished = self.finished.max(self.now);
    }
}
