//! A run takes as long as its groups one by one: what the timed medium does not compute group by group
//! ends at the same nanosecond, and keeps all resources busy for as long.

use boardlab_ftl::medium::Copies;
use boardlab_ftl::{
    Cause, CellMode, CellTimes, Geometry, Medium, PageRun, Stamp, Stripe, TimedMedium, Timing,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed, Stream};

const BLOCKS: u32 = 6;

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn nanos(stream: &mut Stream, most: u64) -> Duration {
    Duration::from_nanos(stream.below(most + 1))
}

/// Times of the cells, some of them alike in all rows, and some zero.
fn cell_times(stream: &mut Stream) -> CellTimes {
    let rows = |stream: &mut Stream| if stream.chance(2, 3) { 1 } else { 1 + stream.below(3) };
    let list = |stream: &mut Stream, most| (0..rows(stream)).map(|_| nanos(stream, most)).collect();
    CellTimes {
        read: list(stream, 1_000),
        program: list(stream, 9_000),
        erase: nanos(stream, 50_000),
    }
}

fn timing(stream: &mut Stream) -> Timing {
    let rate = |nanos| Rate::new(Bytes::new(512), Duration::from_nanos(nanos)).unwrap();
    let no_time = Rate::new(Bytes::mib(1 << 30), Duration::from_nanos(1)).unwrap();
    Timing {
        native: cell_times(stream),
        slc: cell_times(stream),
        channel: rate(1 + stream.below(500)),
        link: if stream.chance(1, 2) { no_time } else { rate(1 + stream.below(900)) },
        command: nanos(stream, 300),
        slots: below(stream, 6),
        cache_program: stream.chance(1, 2),
    }
}

/// A medium that gets whole runs, and the same one that gets them group by group, or page by page
/// where a part of a group takes its part of the time.
struct Pair {
    geometry: Geometry,
    whole: TimedMedium,
    pieces: TimedMedium,
    now: Instant,
    /// A length and a pace that many runs have.
    usual: (u32, Duration),
}

impl Pair {
    fn draw(stream: &mut Stream) -> Self {
        let mut few = |most| 1 + below(stream, most);
        let stripe = Stripe { channels: few(2), dies: few(2), planes: few(2), units: few(3) };
        let (pages, usual) = (stripe.row_pages() * few(30), stripe.row_pages() * few(12));
        let part = Geometry::new(BLOCKS, pages, Bytes::new(512), pages).unwrap();
        let geometry = part.striped(stripe).unwrap();
        let whole = TimedMedium::new(&geometry, &timing(stream)).unwrap();
        Self {
            geometry,
            pieces: whole.clone(),
            whole,
            now: Instant::ZERO,
            usual: (usual, nanos(stream, 2_000)),
        }
    }

    fn both(&mut self, change: impl Fn(&mut TimedMedium)) {
        change(&mut self.whole);
        change(&mut self.pieces);
    }

    /// The run up to the next multiple of `pages` pages, and so on.
    fn split(run: PageRun, pages: u32) -> Vec<PageRun> {
        let (mut offset, end) = (run.offset, run.offset + run.count);
        let mut pieces = Vec::new();
        while offset < end {
            let count = (pages - offset % pages).min(end - offset);
            pieces.push(PageRun { offset, count, ..run });
            offset += count;
        }
        pieces
    }

    fn group(&self) -> u32 {
        self.geometry.stripe().program_pages()
    }

    /// Erased pages from the first one of a block on: some, as many as usual, or all.
    fn erased(&self, stream: &mut Stream) -> Option<PageRun> {
        let block = below(stream, BLOCKS);
        let offset = self.whole.programmed(block);
        let room = self.geometry.pages_per_block() - offset;
        let count = match stream.below(4) {
            0 => below(stream, room + 1),
            1 => room,
            _ => self.usual.0.min(room),
        };
        (count > 0).then_some(PageRun { block, offset, count })
    }

    fn program(&mut self, stream: &mut Stream, cause: Cause) {
        let Some(run) = self.erased(stream) else { return };
        self.whole.program(run, Stamp::FILLER, cause);
        let pages = if cause == Cause::Host { self.group() } else { 1 };
        for piece in Self::split(run, pages) {
            self.pieces.program(piece, Stamp::FILLER, cause);
        }
    }

    /// Copies adjacent pages, or some of them.
    fn copy(&mut self, stream: &mut Stream, cause: Cause) {
        let from = below(stream, BLOCKS);
        let Some(to) = self.erased(stream).filter(|to| to.block != from) else { return };
        let source = self.whole.programmed(from);
        let first = below(stream, source.min(6) + 1);
        let some = stream.chance(1, 4);
        let mut offsets: Vec<u32> = (first..source).collect();
        offsets.retain(|_| !some || stream.chance(3, 4));
        offsets.truncate(to.count as usize);
        let to = PageRun { count: u32::try_from(offsets.len()).unwrap(), ..to };
        let logical = vec![0; offsets.len()];
        self.whole.copy(Copies { from, offsets: &offsets, logical: &logical, to }, cause);
        for (to, offset) in Self::split(to, 1).into_iter().zip(offsets) {
            self.pieces.copy(Copies { from, offsets: &[offset], logical: &[0], to }, cause);
        }
    }

    fn read(&mut self, stream: &mut Stream, cause: Cause) {
        let block = below(stream, BLOCKS);
        let used = self.whole.programmed(block);
        let offset = below(stream, used + 1);
        let run = PageRun { block, offset, count: below(stream, used - offset + 1) };
        self.whole.read(run, cause);
        for piece in Self::split(run, self.group()) {
            self.pieces.read(piece, cause);
        }
    }

    fn erase(&mut self, stream: &mut Stream, cause: Cause) {
        let block = below(stream, BLOCKS);
        let mode = if stream.chance(1, 3) { CellMode::Slc } else { CellMode::Native };
        self.both(|medium| {
            medium.erase(block, cause);
            medium.open(block, mode);
        });
    }

    /// A request, or background work, of some operations.
    fn request(&mut self, stream: &mut Stream) {
        let (at, host) = (self.now, stream.chance(3, 4));
        let pace = match stream.below(4) {
            0 => Duration::ZERO,
            1 => nanos(stream, 2_000),
            _ => self.usual.1,
        };
        self.both(|medium| {
            if host {
                medium.begin(at);
            } else {
                medium.background(at);
            }
            medium.pace(pace);
        });
        for _ in 0..1 + stream.below(4) {
            let causes = [Cause::Collection, Cause::Merge, Cause::Levelling, Cause::Retry];
            let other = causes[usize::try_from(stream.below(4)).unwrap()];
            let cause = if stream.chance(1, 2) { Cause::Host } else { other };
            let copied = if stream.chance(1, 9) { cause } else { other };
            match stream.below(12) {
                0..=4 => self.program(stream, cause),
                5..=7 => self.copy(stream, copied),
                8 => self.read(stream, cause),
                9 | 10 => self.erase(stream, cause),
                _ if stream.chance(1, 2) => self.both(Medium::flush),
                _ => {
                    let span = nanos(stream, 5_000);
                    self.both(|medium| medium.delay(span));
                }
            }
        }
        let done = self.whole.end();
        assert_eq!(done, self.pieces.end(), "the request ends at the same time");
        assert_eq!(self.whole.busy(), self.pieces.busy(), "all resources are as busy");
        assert_eq!(self.whole.quiet(), self.pieces.quiet(), "the part is idle at the same time");
        assert_eq!(self.whole.operations(), self.pieces.operations());
        // Often so late that the part is idle again.
        let rest = if stream.chance(1, 2) { Duration::ZERO } else { nanos(stream, 40_000) };
        self.now = if stream.chance(1, 3) { done.finished } else { done.accepted } + rest;
    }
}

#[test]
fn a_run_takes_as_long_as_its_groups_one_by_one() {
    let parts = if std::env::var_os("BOARDLAB_FULL").is_some() { 40_000 } else { 2_000 };
    for seed in 0..parts {
        let mut stream = Seed::new(seed).stream("runs");
        let mut pair = Pair::draw(&mut stream);
        eprintln!("seed {seed}: {:?}", pair.geometry.stripe());
        for _ in 0..30 {
            pair.request(&mut stream);
        }
    }
}
