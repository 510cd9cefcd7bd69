//! One file that is written over and over beside data at rest.
//!
//! Layer: rank 10. Main types: [`Rewriting`]; [`Observation`] of it until it is steady; [`End`], of a part that ran to
//! its end.

use super::Load;
use crate::nandfs::flash::Flash;
use crate::nandfs::fs::{Census, Levelling, Moves, Pick};
use crate::nandfs::run::stand::{Cached, Files, Sizes, Stand, path, used};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_result::prose::{float, real};
use boardlab_sim::{Bytes, Clock, Duration, Instant};
use boardlab_vfs::{Errno, Error, PAGE_SIZE};
use boardlab_workload::Source;

/// The path of the file.
const PATH: &str = "/state";
/// Rated cycles that no block of an observation reaches.
const ENDLESS: u32 = u32::MAX / 4;
/// As many erases as the flash has blocks are a round. Two spans of so many rounds are compared.
const SPAN: usize = 6;
/// The most rounds until the run counts as not steady.
const ROUNDS: usize = 48;
/// How much erases and spread of two spans may differ.
const STEADY: [f64; 2] = [0.02, 0.05];
/// A block whose erases are so many times farther apart than usual held data at rest in between.
const PAUSE: f64 = 3.0;

/// A flash with data at rest.
struct AtRest {
    mount: Cached,
    clock: Clock,
    files: u64,
    /// Bytes of the files.
    rest: Bytes,
}

/// The same with a file that is written over and over.
struct Rewriting<'a> {
    stand: Stand<'a>,
    load: &'a Load,
    filled: AtRest,
    content: Vec<u8>,
    /// The number of the content.
    version: u64,
    /// How often it was written anew.
    rewrites: u64,
    /// Time of these writings until they were durable.
    writing: Duration,
    begun: Instant,
    /// Erases of each block, and bytes that were programmed, when that began.
    before: Vec<u32>,
    programmed: Bytes,
}

/// The flash at the end of a round.
#[derive(Debug, Clone)]
struct Round {
    rewrites: u64,
    programmed: Bytes,
    /// Of each block since the file was first written.
    erases: Vec<u32>,
    /// Moves of data at rest, where they are counted.
    moves: Option<u64>,
}

impl Round {
    fn total(&self) -> u64 {
        self.erases.iter().map(|&one| u64::from(one)).sum()
    }

    fn most(&self) -> u32 {
        self.erases.iter().copied().max().unwrap_or_default()
    }

    fn never(&self) -> usize {
        self.erases.iter().filter(|&&one| one == 0).count()
    }
}

/// What a filesystem does to the flash once it is steady.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    /// Bytes of the files at rest.
    pub rest: Bytes,
    /// How often the file was written until it was steady; `None` if it did not become so.
    pub steady: Option<u64>,
    /// Bytes that are programmed for each byte of the file.
    pub amplification: f64,
    /// Erases for one writing of the file.
    pub erases_per_rewrite: f64,
    /// Erases of each block before it, and the rounds of it.
    before: Vec<u32>,
    rounds: Vec<Round>,
    /// How far the most worn block gets ahead of the mean for each erase of that.
    pub spread: f64,
    /// Blocks that take the erases, those of the journal left out.
    pub hot: Vec<u32>,
    pub journal: Vec<u32>,
    /// The share of the erases that the journal takes.
    pub journal_share: f64,
    /// Thousandths of erases from one move of data at rest to the next, if there were any.
    pub erases_per_move: Option<u64>,
    /// Blocks in reserve for those that go bad.
    pub reserve: Option<u32>,
    /// From one writing to the next.
    pub each: Duration,
    /// From the begin of a writing until it is durable.
    pub durable: Duration,
    /// All virtual time.
    pub spent: Duration,
}

impl Observation {
    /// Erases of each block during the observation.
    pub(crate) fn erases(&self) -> &[u32] {
        self.rounds.last().map_or(&[], |round| &round.erases)
    }

    /// All erases of each block at the end of the last round in which none had died, and how often the file was written
    /// then.
    pub(crate) fn before_the_first_dies(&self, lives: &[u64]) -> (Vec<u64>, f64) {
        let worn = |round: &Round| -> Vec<u64> {
            let both = self.before.iter().zip(&round.erases);
            both.map(|(before, since)| u64::from(before + since)).collect()
        };
        let alive = |round: &&Round| worn(round).iter().zip(lives).all(|(worn, life)| worn <= life);
        let last = self.rounds.iter().rev().find(alive).unwrap_or(&self.rounds[0]);
        (worn(last), float(last.rewrites))
    }
}

/// How a part ended.
#[derive(Debug, Clone)]
pub(crate) struct End {
    /// How often the file was written when the first block went bad.
    pub first: u64,
    /// How often it could be written.
    pub rewrites: u64,
    /// What the filesystem said at last.
    pub last: String,
    /// Blocks that are marked bad.
    pub bad: u64,
    /// The next mount.
    pub mounts: Mounts,
    /// Files that are lost or changed after it: those at rest, and the one that was rewritten, if it is neither as it was
    /// nor as it was to be, page by page.
    pub lost: u64,
    /// All virtual time.
    pub spent: Duration,
}

/// The capacity of a flash for files at rest.
pub(crate) fn capacity(stand: Stand<'_>, load: &Load) -> Result<Bytes, Cause> {
    let mut full = AtRest::empty(stand, load, ENDLESS)?;
    while full.add(stand, load)?.is_some() {}
    Ok(full.rest)
}

impl AtRest {
    /// A flash of so many rated cycles without files.
    fn empty(stand: Stand<'_>, load: &Load, endurance: u32) -> Result<Self, Cause> {
        let blocks = u32::try_from(load.chip / stand.wired.block_size())?;
        let part = stand.wired.resized(blocks, endurance);
        let mut clock = Clock::new();
        let flash = stand.made(stand.attach(part)?, &mut clock)?;
        let mount = stand.mount(flash, &mut clock, stand.fill_cache())?;
        Ok(Self { mount, clock, files: 0, rest: Bytes::ZERO })
    }

    /// One that is filled to a level.
    fn to(stand: Stand<'_>, load: &Load, level: Ratio, endurance: u32) -> Result<Self, Cause> {
        let mut filled = Self::empty(stand, load, endurance)?;
        while used(&mut filled.mount, &mut filled.clock)? < level {
            if filled.add(stand, load)? != Some(load.rest.get()) {
                return Err(Error::from(Errno::NoSpc).into());
            }
        }
        filled.mount.sync(&mut filled.clock)?;
        Ok(filled)
    }

    /// Writes one more file; how much of it found room, or `None` if there is none for a file.
    fn add(&mut self, stand: Stand<'_>, load: &Load) -> Result<Option<u64>, Cause> {
        let kind = Files { size: Sizes::Each(load.rest), data: load.data.clone() };
        let written = stand.try_file(&mut self.mount, &mut self.clock, self.files, &kind)?;
        if let Some(written) = written {
            self.files += 1;
            self.rest += Bytes::new(written);
        }
        Ok(written)
    }

    fn flash(&self) -> &Flash {
        self.mount.fs().flash()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.flash().erase_counts()
    }
}

/// Fills `content` with that of a version of the file.
fn fill_with(stand: Stand<'_>, load: &Load, version: u64, content: &mut [u8]) {
    let seed = stand.seed.child("state").get().wrapping_add(version);
    load.data.source(seed).fill(content);
}

impl<'a> Rewriting<'a> {
    /// Writes the file for the first time.
    fn begin(stand: Stand<'a>, load: &'a Load, mut filled: AtRest) -> Result<Self, Cause> {
        let fd = filled.mount.create(&mut filled.clock, PATH, 0o644)?;
        filled.mount.close(&mut filled.clock, fd)?;
        let mut first = Self {
            stand,
            load,
            content: vec![0; load.file.to_usize()],
            version: 0,
            rewrites: 0,
            writing: Duration::ZERO,
            begun: filled.clock.now(),
            before: Vec::new(),
            programmed: Bytes::ZERO,
            filled,
        };
        first.rewrite()?;
        let (begun, before) = (first.filled.clock.now(), first.filled.erase_counts());
        let programmed = first.filled.flash().programmed();
        Ok(Self { rewrites: 0, writing: Duration::ZERO, begun, before, programmed, ..first })
    }

    /// Writes the file anew, makes it durable, and lets the rest of the period pass.
    fn rewrite(&mut self) -> Result<(), Error> {
        self.version += 1;
        fill_with(self.stand, self.load, self.version, &mut self.content);
        let AtRest { mount, clock, .. } = &mut self.filled;
        let begun = clock.now();
        let next = begun + self.load.period;
        let fd = mount.open(clock, PATH)?;
        let mut written = 0;
        // What stops a write halfway is what the next one says.
        while written < self.content.len() {
            let at = u64::try_from(written).expect("a length fits u64");
            written += match mount.write(clock, fd, at, &self.content[written..])? {
                0 => return Err(Errno::NoSpc.into()),
                some => some,
            };
        }
        mount.fsync(clock, fd)?;
        mount.close(clock, fd)?;
        self.writing += clock.now().since(begun);
        mount.idle(clock, next)?;
        self.rewrites += 1;
        Ok(())
    }

    fn round(&self) -> Round {
        let now = self.filled.erase_counts();
        let erases = now.iter().zip(&self.before).map(|(now, before)| now - before).collect();
        let programmed = self.filled.flash().programmed() - self.programmed;
        let moves = self.filled.mount.fs().moves();
        Round { rewrites: self.rewrites, programmed, erases, moves }
    }
}

/// Writes the file until the erases are steady.
pub(crate) fn observe(stand: Stand<'_>, load: &Load, level: Ratio) -> Result<Observation, Cause> {
    let mut run = Rewriting::begin(stand, load, AtRest::to(stand, load, level, ENDLESS)?)?;
    let census = run.filled.mount.fs().census();
    let blocks = run.before.len();
    let mut paused = Pauses::new(blocks, &census.journal);
    let mut rounds: Vec<Round> = vec![run.round()];
    let mut steady = None;
    while rounds.len() <= ROUNDS && steady.is_none() {
        run.rewrite()?;
        let now = run.round();
        paused.note(&now.erases);
        if now.total() >= erases_of_rounds(rounds.len(), blocks) {
            rounds.push(now);
            steady = is_steady(&rounds).then_some(run.rewrites);
        }
    }
    let figures = Figures { rounds: &rounds, paused: &paused, census: &census };
    let levelling = stand.system.levelling(stand.kernel.profile);
    let hot = figures.hot(levelling);
    let now = run.filled.clock.now();
    let mean = |time: Duration| Duration::from_nanos(time.as_nanos() / run.rewrites.max(1));
    Ok(Observation {
        rest: run.filled.rest,
        steady,
        amplification: figures.amplification(load.file),
        erases_per_rewrite: figures.erases_per_rewrite(),
        spread: figures.spread(),
        journal_share: figures.journal_share(),
        erases_per_move: figures.erases_per_move(levelling),
        hot,
        journal: census.journal.clone(),
        reserve: census.reserve,
        each: mean(now.since(run.begun)),
        durable: mean(run.writing),
        spent: now.since(Instant::ZERO),
        before: run.before,
        rounds,
    })
}

fn erases_of_rounds(rounds: usize, blocks: usize) -> u64 {
    u64::try_from(rounds * blocks).expect("a few rounds of blocks")
}

/// Whether the last two spans have the same erases for a writing, and the spread grows as much.
fn is_steady(rounds: &[Round]) -> bool {
    // In the first round the flash is not full of the file's remains yet.
    let Some(from) = rounds.len().checked_sub(2 * SPAN + 1).filter(|&from| from > 0) else {
        return false;
    };
    let [a, b, c] = [from, from + SPAN, from + 2 * SPAN].map(|at| &rounds[at]);
    let near = |one: f64, other: f64, share: f64| (one - other).abs() <= share * one.max(other);
    near(erases_of(a, b), erases_of(b, c), STEADY[0]) && near(ahead(a, b), ahead(b, c), STEADY[1])
}

/// Erases for one writing, from one round to another.
fn erases_of(from: &Round, to: &Round) -> f64 {
    float(to.total() - from.total()) / float((to.rewrites - from.rewrites).max(1))
}

/// How much more erases the most worn block has than the mean one, from one round to another.
fn ahead(from: &Round, to: &Round) -> f64 {
    let mean = float(to.total() - from.total()) / float(to.erases.len());
    float(to.most() - from.most()) / mean
}

/// How many erases of the whole flash lie between two erases of a block.
struct Pauses {
    /// Blocks whose turns are others.
    journal: Vec<u32>,
    total: u64,
    erased_at: Vec<u64>,
    erases: Vec<u32>,
    /// With the erase, counted over the flash, that ends it.
    all: Vec<(u64, u64)>,
}

impl Pauses {
    fn new(blocks: usize, journal: &[u32]) -> Self {
        let (journal, none) = (journal.to_vec(), vec![0; blocks]);
        Self { journal, total: 0, erased_at: vec![0; blocks], erases: none, all: Vec::new() }
    }

    fn note(&mut self, now: &[u32]) {
        for (block, &now) in now.iter().enumerate() {
            if self.journal.iter().any(|&other| usize::try_from(other) == Ok(block)) {
                continue;
            }
            for _ in self.erases[block]..now {
                self.total += 1;
                self.all.push((self.total, self.total - self.erased_at[block]));
                self.erased_at[block] = self.total;
            }
            self.erases[block] = now;
        }
    }

    /// The median of those that end behind an erase of these blocks.
    fn median(&self, behind: u64) -> u64 {
        let late = self.all.iter().filter(|(at, _)| *at > behind);
        let mut spans: Vec<_> = late.map(|(_, span)| *span).collect();
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied().unwrap_or_default()
    }
}

/// What the rounds of an observation say.
struct Figures<'o> {
    rounds: &'o [Round],
    paused: &'o Pauses,
    census: &'o Census,
}

impl Figures<'_> {
    /// The last two spans.
    fn late(&self) -> [&Round; 2] {
        let last = self.rounds.len() - 1;
        [&self.rounds[last - 2 * SPAN], &self.rounds[last]]
    }

    fn amplification(&self, file: Bytes) -> f64 {
        let [from, to] = self.late();
        real(to.programmed - from.programmed) / real(file * (to.rewrites - from.rewrites).max(1))
    }

    fn erases_per_rewrite(&self) -> f64 {
        let [from, to] = self.late();
        erases_of(from, to)
    }

    fn spread(&self) -> f64 {
        let [from, to] = self.late();
        ahead(from, to)
    }

    /// The blocks among which the erases go round.
    fn hot(&self, levelling: Levelling) -> Vec<u32> {
        let [from, to] = self.late();
        let beside = |block: &u32| !self.census.journal.contains(block);
        let blocks = 0..u32::try_from(to.erases.len()).expect("block numbers fit u32");
        let at = |block: u32| usize::try_from(block).expect("usize holds u32");
        match levelling.pick {
            Pick::InTurn => {
                let late = |&block: &u32| to.erases[at(block)] - from.erases[at(block)];
                let mut all: Vec<_> = blocks.filter(beside).collect();
                all.sort_by_key(|block| std::cmp::Reverse(late(block)));
                let latest = &self.rounds[self.rounds.len() - 1 - SPAN];
                let count = self.paused.median(self.beside_journal(latest));
                all.truncate(usize::try_from(count).expect("no more than blocks"));
                all
            }
            Pick::Median => {
                let free = self.census.free.clone().unwrap_or_default();
                let first = &self.rounds[1];
                blocks
                    .filter(|block| free.contains(block) || first.erases[at(*block)] > 0)
                    .collect()
            }
        }
    }

    fn journal_share(&self) -> f64 {
        let [from, to] = self.late();
        float(self.of_journal(to) - self.of_journal(from))
            / float((to.total() - from.total()).max(1))
    }

    /// Thousandths of erases from one move of data at rest to the next. A filesystem that does not count them moves a
    /// block that was never erased before; when there is none left, one whose erases are far apart.
    fn erases_per_move(&self, levelling: Levelling) -> Option<u64> {
        if !matches!(levelling.moves, Moves::Oldest | Moves::LeastWorn) {
            return None;
        }
        let [from, to] = self.late();
        let moves = match (from.moves.zip(to.moves), to.never()) {
            (Some((before, after)), _) => after - before,
            (None, 0) => {
                let behind = self.beside_journal(from);
                let pause = float(self.paused.median(behind)) * PAUSE;
                let late = self.paused.all.iter().filter(|(at, _)| *at > behind);
                length(late.filter(|(_, span)| float(*span) > pause).count())
            }
            (None, never) => length(from.never() - never),
        };
        let erases = (to.total() - from.total()) * 1_000;
        erases.checked_div(moves)
    }

    /// All erases of a round but those of the journal.
    fn beside_journal(&self, round: &Round) -> u64 {
        round.total() - self.of_journal(round)
    }

    fn of_journal(&self, round: &Round) -> u64 {
        let erases = |&block: &u32| round.erases.get(usize::try_from(block).ok()?);
        self.census.journal.iter().filter_map(erases).map(|&one| u64::from(one)).sum()
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).expect("a length fits u64")
}

/// Writes the file until the filesystem refuses, on a part of so few rated cycles that its blocks die.
pub(crate) fn to_the_end(
    stand: Stand<'_>,
    load: &Load,
    (level, cycles): (Ratio, u32),
) -> Result<End, Cause> {
    let filled = AtRest::to(stand, load, level, cycles)?;
    let mut run = Rewriting::begin(stand, load, filled)?;
    let mut first = None;
    let refused = loop {
        let refused = run.rewrite().err();
        if first.is_none() && (refused.is_some() || run.filled.mount.fs().bad_blocks() > 0) {
            first = Some(run.rewrites);
        }
        if let Some(refused) = refused {
            break refused;
        }
    };
    let (bad, (mounts, lost)) = (run.filled.mount.fs().bad_blocks(), run.left());
    let first = first.unwrap_or(run.rewrites);
    let spent = run.filled.clock.now().since(Instant::ZERO);
    let (rewrites, last) = (run.rewrites, refused.to_string());
    Ok(End { first, rewrites, last, bad, mounts, lost, spent })
}

/// How a flash can be mounted after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounts {
    Yes,
    ReadOnly,
    No,
}

impl Rewriting<'_> {
    /// How the flash can be mounted when the power goes off now, and how many files are lost then.
    fn left(&self) -> (Mounts, u64) {
        for (mounts, read_only) in [(Mounts::Yes, false), (Mounts::ReadOnly, true)] {
            let (stand, mut clock) = (Stand { read_only, ..self.stand }, Clock::new());
            let flash = self.filled.flash().clone();
            if let Ok(mut mount) = stand.mount(flash, &mut clock, stand.fill_cache()) {
                return (mounts, self.lost(&mut mount, &mut clock));
            }
        }
        (Mounts::No, self.filled.files + 1)
    }

    /// How many files are missing or changed.
    fn lost(&self, mount: &mut Cached, clock: &mut Clock) -> u64 {
        let [mut old, mut found] = [(); 2].map(|()| vec![0; self.load.file.to_usize()]);
        fill_with(self.stand, self.load, self.version - 1, &mut old);
        let whole = read(mount, clock, PATH, &mut found);
        let pages = old.chunks(PAGE_SIZE).zip(self.content.chunks(PAGE_SIZE));
        let mut pages = found.chunks(PAGE_SIZE).zip(pages);
        let known = whole && pages.all(|(found, (old, new))| found == old || found == new);
        u64::from(!known) + self.lost_at_rest(mount, clock)
    }

    fn lost_at_rest(&self, mount: &mut Cached, clock: &mut Clock) -> u64 {
        let mut expected = vec![0; self.load.rest.to_usize()];
        let mut found = expected.clone();
        let mut lost = 0;
        for file in 0..self.filled.files {
            self.stand.fill_with(file, &self.load.data, &mut expected);
            let same = read(mount, clock, &path(file), &mut found) && found == expected;
            lost += u64::from(!same);
        }
        lost
    }
}

/// Whether the file at `path` has as many bytes, which are then in `found`.
fn read(mount: &mut Cached, clock: &mut Clock, path: &str, found: &mut [u8]) -> bool {
    let length = mount.open(clock, path).and_then(|fd| {
        let size = mount.fstat(clock, fd)?.size;
        let length = mount.read(clock, fd, 0, found)?;
        mount.close(clock, fd)?;
        Ok((length, size))
    });
    length.is_ok_and(|(length, size)| length == found.len() && Ok(length) == usize::try_from(size))
}
