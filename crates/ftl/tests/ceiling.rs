//! Timing obeys physics: nothing is faster than its link, channels and planes allow, and operations
//! overlap where they can.

#![allow(clippy::cast_precision_loss, reason = "ratios of times")]

use boardlab_ftl::{
    Admission, Cache, CacheSize, Cause, CellTimes, Collection, EmptyBlocks, Extent, Folding,
    Geometry, Levelling, LogBlocks, LogPolicies, MapMemory, Medium, PageMapped, Policies, Streams,
    Stripe, TimedMedium, Timing, Translation, WhenFull,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed, Stream};

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn between(stream: &mut Stream, low: u64, high: u64) -> u64 {
    low + stream.below(high - low + 1)
}

fn rate(bytes_per_micro: u64) -> Rate {
    Rate::new(Bytes::new(bytes_per_micro), micros(1)).unwrap()
}

/// A part with its timing.
#[derive(Debug)]
struct Setup {
    geometry: Geometry,
    timing: Timing,
    policies: Policies,
}

fn pick<T: Copy>(stream: &mut Stream, values: &[T]) -> T {
    values[usize::try_from(stream.below(values.len() as u64)).unwrap()]
}

/// Any policy; a map in memory, so that only data pass.
fn any_policies(stream: &mut Stream) -> Policies {
    let collections =
        [Collection::Greedy, Collection::Fifo, Collection::Random, Collection::CostBenefit(8)];
    let levellings = [
        Levelling::None,
        Levelling::Dynamic,
        Levelling::Threshold(2),
        Levelling::SwLeveler { shift: 1, threshold: 8 },
        Levelling::DualPool(2),
        Levelling::RandomSwap(7),
    ];
    Policies {
        collection: pick(stream, &collections),
        levelling: pick(stream, &levellings),
        streams: pick(stream, &[Streams::Single, Streams::CopiesApart, Streams::Generations(2)]),
        emptied: pick(stream, &[EmptyBlocks::Returned, EmptyBlocks::Kept]),
        ..Policies::default()
    }
}

impl Setup {
    fn draw(seed: u64) -> Self {
        let mut stream = Seed::new(seed).stream("configuration");
        let draw = |stream: &mut Stream, values: &[u32]| pick(stream, values);
        let stripe = Stripe {
            channels: draw(&mut stream, &[1, 2, 4, 8]),
            dies: draw(&mut stream, &[1, 2, 4]),
            planes: draw(&mut stream, &[1, 2, 4]),
            units: draw(&mut stream, &[1, 2, 4]),
        };
        let page = Bytes::kib(draw(&mut stream, &[4, 8, 16]).into());
        let rows = draw(&mut stream, &[12, 48, 60]);
        let geometry = Geometry::new(24, rows * stripe.row_pages(), page, 1).unwrap();
        let logical = geometry.pages_per_block() * 18;
        let geometry = Geometry::new(24, rows * stripe.row_pages(), page, logical).unwrap();
        let types = draw(&mut stream, &[1, 2, 3]);
        let spans = |stream: &mut Stream, low, high| {
            (0..types).map(|_| micros(between(stream, low, high))).collect::<Vec<_>>()
        };
        let cells = CellTimes {
            read: spans(&mut stream, 20, 150),
            program: spans(&mut stream, 200, 3_000),
            erase: micros(between(&mut stream, 1_500, 5_000)),
        };
        let timing = Timing {
            slc: cells.clone(),
            native: cells,
            channel: rate(between(&mut stream, 20, 800)),
            link: rate(between(&mut stream, 10, 600)),
            command: Duration::ZERO,
            slots: draw(&mut stream, &[0, 1, 4, 64, 256]),
            cache_program: stream.chance(1, 2),
        };
        let policies = any_policies(&mut stream);
        Self { geometry: geometry.striped(stripe).unwrap(), timing, policies }
    }

    fn ftl(&self) -> PageMapped<TimedMedium> {
        let medium = TimedMedium::new(&self.geometry, &self.timing).unwrap();
        PageMapped::new(self.geometry, self.policies, medium, Seed::new(1)).unwrap()
    }

    /// The same part with one of three block mappings.
    fn logs(&self, kind: u64) -> LogBlocks<TimedMedium> {
        let medium = TimedMedium::new(&self.geometry, &self.timing).unwrap();
        let kinds = [LogPolicies::in_order(2), LogPolicies::own(2), LogPolicies::shared(2)];
        let policies = kinds[usize::try_from(kind % 3).unwrap()];
        LogBlocks::new(self.geometry, policies, medium, Seed::new(1)).unwrap()
    }

    /// Seconds that each row of pages over all dies takes on the link, on a channel and in a die.
    fn rows(&self, cells: &[Duration], filling: f64) -> Vec<[f64; 3]> {
        let stripe = self.geometry.stripe();
        let row = self.geometry.page() * u64::from(stripe.row_pages());
        let link = row.get() as f64 / self.timing.link.bytes_per_second();
        let channels = f64::from(stripe.channels) * self.timing.channel.bytes_per_second();
        let channel = row.get() as f64 / channels;
        cells.iter().map(|span| [link, channel, span.as_secs_f64() + filling]).collect()
    }

    /// Bytes a second, when `rows` of pages take `seconds` in all.
    fn rate(&self, rows: usize, seconds: f64) -> f64 {
        let row = self.geometry.page() * u64::from(self.geometry.stripe().row_pages());
        row.get() as f64 * rows as f64 / seconds
    }

    /// The upper bound of sequential transfers: the slowest of link, channels and dies.
    fn ceiling(&self, rows: &[[f64; 3]]) -> f64 {
        let total = |what: usize| rows.iter().map(|row| row[what]).sum::<f64>();
        let slowest = [0, 1, 2].map(total).into_iter().fold(0.0, f64::max);
        self.rate(rows.len(), slowest)
    }

    /// The same when rows follow one another in step; lower only where rows differ in what is slowest.
    fn in_step(&self, rows: &[[f64; 3]]) -> f64 {
        let slowest = rows.iter().map(|row| row.iter().copied().fold(0.0, f64::max));
        self.rate(rows.len(), slowest.sum())
    }

    fn writes(&self) -> Vec<[f64; 3]> {
        let stripe = self.geometry.stripe();
        let group = self.geometry.page() * u64::from(stripe.program_pages());
        // Without cache program the register is taken while data come in.
        let filling = match self.timing.cache_program {
            true => 0.0,
            false => self.timing.channel.time_for(group).as_secs_f64(),
        };
        self.rows(&self.cells().program, filling)
    }

    /// The cells that the host's data go to first.
    fn cells(&self) -> &CellTimes {
        if self.policies.cache.is_on() { &self.timing.slc } else { &self.timing.native }
    }

    /// The same part with an SLC cache for the whole capacity.
    fn cached(seed: u64) -> Self {
        let mut setup = Self::draw(seed);
        let mut stream = Seed::new(seed).stream("cache");
        let spans = |stream: &mut Stream, low, high| vec![micros(between(stream, low, high))];
        setup.timing.slc = CellTimes {
            read: spans(&mut stream, 15, 40),
            program: spans(&mut stream, 100, 400),
            erase: micros(2_000),
        };
        let size = pick(&mut stream, &[CacheSize::Fixed(14), CacheSize::Dynamic(14)]);
        setup.policies.cache = Cache {
            size,
            admission: pick(
                &mut stream,
                &[Admission::All, Admission::ShortRuns { pages: u32::MAX, streams: 1 }],
            ),
            when_full: pick(&mut stream, &[WhenFull::Fold, WhenFull::Bypass]),
            folding: pick(&mut stream, &[Folding::Valid, Folding::Whole]),
            ..Cache::default()
        };
        let part = setup.geometry;
        // Blocks large enough that filling and emptying the pipeline does not matter.
        let pages = part.pages_per_block() * 8;
        let logical = pages * 3;
        let part = Geometry::new(24, pages, part.page(), logical).unwrap();
        setup.geometry = part.striped(setup.geometry.stripe()).unwrap();
        setup
    }

    fn reads(&self) -> Vec<[f64; 3]> {
        self.rows(&self.cells().read, 0.0)
    }
}

/// Writes all pages in order, then reads them; bytes a second of each.
fn sequential(setup: &Setup, mut ftl: impl Translation) -> (f64, f64) {
    let (pages, step) = (ftl.pages(), 64);
    let bytes = (setup.geometry.page() * u64::from(pages)).get() as f64;
    let extents = (0..pages).step_by(64).map(|first| Extent::new(first, step.min(pages - first)));
    let mut at = Instant::ZERO;
    for extent in extents.clone() {
        let done = ftl.write(at, extent).unwrap();
        assert!(done.accepted >= done.transferred && done.transferred >= at);
        at = done.accepted;
    }
    let end = ftl.flush(at).finished;
    let written = bytes / end.since(Instant::ZERO).as_secs_f64();
    assert_eq!(ftl.counters().erases.total(), 0, "a fresh part is not erased");
    // All reads are queued at once.
    let mut last = end;
    for extent in extents {
        last = last.max(ftl.read(end, extent, &mut []).unwrap().finished);
    }
    let busy = ftl.busy();
    let total = last.since(Instant::ZERO);
    for resource in busy.channels.iter().chain(&busy.dies).chain([&busy.link]) {
        assert!(*resource <= total, "nothing is busy for longer than there is time");
    }
    (written, bytes / last.since(end).as_secs_f64())
}

/// Whether the setup overlaps all that it can; it must not exceed its ceilings, and then reach them.
fn keeps_to_its_ceiling(seed: u64, setup: &Setup, ftl: impl Translation) -> bool {
    let (written, read) = sequential(setup, ftl);
    let (writes, reads) = (setup.writes(), setup.ceiling(&setup.reads()));
    let most = setup.ceiling(&writes);
    assert!(written <= most * 1.000_001, "seed {seed}: {written} of {most}: {setup:?}");
    assert!(read <= reads * 1.000_001, "seed {seed}: read {read} of {reads}: {setup:?}");
    if setup.timing.slots < 4 * setup.geometry.stripe().all_dies() {
        return false;
    }
    let reached = setup.in_step(&writes);
    let uniform = setup.cells().program.len() == 1;
    assert!(!uniform || (reached / most - 1.0).abs() < 1e-9, "seed {seed}");
    assert!(written >= reached * 0.98, "seed {seed}: {written} of {reached}: {setup:?}");
    true
}

#[test]
fn no_configuration_exceeds_its_link_channels_or_planes() {
    let mut pipelined = [0, 0];
    for seed in 0..200 {
        let setup = Setup::draw(seed);
        pipelined[0] += u32::from(keeps_to_its_ceiling(seed, &setup, setup.ftl()));
        pipelined[1] += u32::from(keeps_to_its_ceiling(seed, &setup, setup.logs(seed)));
    }
    let all = pipelined[0] > 60 && pipelined[1] == pipelined[0];
    assert!(all, "{pipelined:?} of the configurations overlap all they can");
}

#[test]
fn no_cache_of_slc_cells_exceeds_its_link_channels_or_planes() {
    let mut pipelined = 0;
    for seed in 0..200 {
        let setup = Setup::cached(seed);
        pipelined += u32::from(keeps_to_its_ceiling(seed, &setup, setup.ftl()));
    }
    assert!(pipelined > 60, "{pipelined} of the configurations overlap all they can");
}

/// Overwrites in pieces under all that a layer does: folding, collection, levelling, a map in flash.
#[test]
fn whatever_is_done_nothing_is_busy_for_longer_than_there_is_time() {
    for seed in 0..200 {
        let mut setup = if seed % 2 == 0 { Setup::draw(seed) } else { Setup::cached(seed) };
        let mut stream = Seed::new(seed).stream("overwrites");
        if let CacheSize::Fixed(blocks) | CacheSize::Dynamic(blocks) =
            &mut setup.policies.cache.size
        {
            *blocks = 2;
        }
        let map = MapMemory::Cached { cache: Bytes::kib(64), segment: 64 };
        setup.policies.map = pick(&mut stream, &[MapMemory::Whole, map]);
        let mut ftl = setup.ftl();
        let (pages, mut at, mut bytes) = (ftl.pages(), Instant::ZERO, Bytes::ZERO);
        for _ in 0..300 {
            let first = u32::try_from(stream.below(pages.into())).unwrap();
            let count = (pages - first).min(1 + u32::try_from(stream.below(400)).unwrap());
            at = ftl.write(at, Extent::new(first, count)).unwrap().accepted;
            bytes += setup.geometry.page() * u64::from(count);
        }
        let end = ftl.flush(at).finished.max(ftl.flash().medium().quiet());
        let (busy, total) = (ftl.busy(), end.since(Instant::ZERO));
        for resource in busy.channels.iter().chain(&busy.dies).chain([&busy.link]) {
            assert!(*resource <= total, "seed {seed}: {resource:?} of {total:?}: {setup:?}");
        }
        let (sent, most) = (busy.link, setup.timing.link.time_for(bytes));
        // Each transfer takes whole nanoseconds.
        assert!(
            sent.as_nanos() * 1_001 > most.as_nanos() * 1_000,
            "seed {seed}: all data pass the link: {sent:?} of {most:?}"
        );
        // Each row that was programmed kept its dies for its time: no program is free.
        let quick = setup.timing.native.program.iter().chain(&setup.timing.slc.program).min();
        let groups =
            ftl.counters().programs.total() / u64::from(setup.geometry.stripe().program_pages());
        let dies: Duration = busy.dies.iter().copied().sum();
        assert!(dies >= *quick.unwrap() * groups, "seed {seed}: {dies:?} for {groups} programs");
        ftl.assert_sound();
    }
}

/// The simplest card: one die of two planes, 32 KiB a program.
fn card(program: u64, slots: u32) -> Setup {
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    let geometry = Geometry::new(64, 256, Bytes::kib(16), 12_000).unwrap();
    let cells = CellTimes::uniform(micros(75), micros(program), micros(4_500));
    let timing = Timing {
        slc: cells.clone(),
        native: cells,
        channel: rate(400),
        link: rate(45),
        command: Duration::ZERO,
        slots,
        cache_program: false,
    };
    let geometry = geometry.striped(stripe).unwrap();
    Setup { geometry, timing, policies: Policies::default() }
}

#[test]
fn without_a_buffer_transfers_and_programs_add_up() {
    let group = Bytes::kib(32);
    for (program, slots) in [(1_000, 0), (250, 0), (1_000, 1), (250, 1)] {
        let setup = card(program, slots);
        let (written, _) = sequential(&setup, setup.ftl());
        let link = setup.timing.link.time_for(group).as_secs_f64();
        let (cells, sending) =
            (program as f64 * 1e-6, setup.timing.channel.time_for(group).as_secs_f64());
        // Without a slot data run through while they come; with one, the link waits until the group
        // before has left it.
        let cycle = if slots == 0 { link + cells } else { (link + sending).max(sending + cells) };
        let expected = group.get() as f64 / cycle;
        let off = (written / expected - 1.0) * 100.0;
        assert!(off.abs() < 0.1, "{program} us, {slots} slots: {written}, {expected}");
    }
}

#[test]
fn collection_shows_as_work_of_its_own_and_slows_the_host_down() {
    let setup = card(1_000, 2);
    let mut ftl = setup.ftl();
    let mut at = ftl.write(Instant::ZERO, Extent::new(0, 12_000)).unwrap().accepted;
    let mut pages = Seed::new(3).stream("pages");
    let (mut quick, mut slow) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..20_000 {
        let page = u32::try_from(pages.below(12_000)).unwrap();
        let done = ftl.write(at, Extent::new(page, 1)).unwrap();
        let span = done.accepted.since(at);
        if done.waited[Cause::Collection] > 0 {
            slow = slow.max(span);
        } else {
            quick = quick.max(span);
        }
        at = done.accepted;
    }
    assert!(slow > quick * 10, "{slow} with collection, {quick} without");
    let busy = ftl.flash().medium().busy();
    let dies: Duration = busy.dies.iter().copied().sum();
    assert_eq!(busy.by_cause.total(), dies.as_nanos(), "all work of the dies has a cause");
    assert!(busy.by_cause[Cause::Collection] * 2 > busy.by_cause[Cause::Host]);
}

#[test]
fn an_incomplete_group_is_programmed_by_a_flush_and_can_be_read_before() {
    let mut ftl = card(1_000, 2).ftl();
    let written = ftl.write(Instant::ZERO, Extent::new(5, 1)).unwrap();
    assert_eq!(written.finished, written.transferred, "nothing is programmed yet");
    let read = ftl.read(written.accepted, Extent::new(5, 1), &mut []).unwrap();
    assert_eq!(read.work.total(), 0, "what is in the buffer is not read from cells");
    let flushed = ftl.flush(read.accepted);
    assert!(flushed.finished.since(read.accepted) >= micros(1_000));
    assert_eq!(ftl.flash().medium().quiet(), flushed.finished);
    let again = ftl.flush(flushed.finished);
    assert_eq!(again.finished, flushed.finished, "once");
}
