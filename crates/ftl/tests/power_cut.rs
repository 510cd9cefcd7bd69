//! Power cuts anywhere in a page-mapped layer: flushed data persist, and nothing older reappears.
//!
//! A model keeps for each logical page the contents at the last flush and all later ones. After a
//! cut and recovery each page must hold one of these. Parts whose shared cells are exposed may
//! violate that for the pages of one word line, no more. The seed is printed on failure.

use boardlab_ftl::{
    Admission, Cache, CacheSize, Cause, Collection, Contents, EmptyBlocks, EndOfLife, Endurance,
    Error, Extent, Folding, Geometry, Levelling, MapMemory, PageMapped, Policies, PowerSafety,
    ReadErrors, Reliability, SharedCells, Streams, Stripe, Translation, Version, WhenFull,
};
use boardlab_media::ErrorRates;
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const PAGES: u32 = 760;
const NOW: Instant = Instant::ZERO;

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn pick<T: Copy>(draw: &mut Stream, all: &[T]) -> T {
    all[usize::try_from(draw.below(all.len().try_into().unwrap())).unwrap()]
}

/// The contents that a logical page may have after a cut: the first is durable, the others are
/// possible.
type May = Vec<Version>;

struct Device {
    ftl: PageMapped<Contents>,
    may: Vec<May>,
    /// Pages of a write that was refused without power, so that its version is unknown.
    unknown: Vec<bool>,
    /// Refreshed pages.
    refreshed: u64,
    seed: u64,
    /// Pages with wrong contents after cuts; of these, trimmed pages.
    wrong: u32,
    returned: u32,
}

/// A word line is a quarter of a block at most.
fn part(bits: u32, draw: &mut Stream) -> Geometry {
    let units = if bits < 4 { 1 + below(draw, 2) } else { 1 };
    let stripe = Stripe { channels: 1, dies: 1 + below(draw, 2), planes: 1, units };
    Geometry::new(58, 48, Bytes::new(32), PAGES).unwrap().striped(stripe).unwrap()
}

fn policies(draw: &mut Stream) -> Policies {
    let collections = [
        Collection::Greedy,
        Collection::Fifo,
        Collection::Random,
        Collection::Choices(4),
        Collection::CostBenefit(8),
    ];
    let levellings = [Levelling::None, Levelling::Dynamic, Levelling::Threshold(3)];
    let streams = [
        Streams::Single,
        Streams::CopiesApart,
        Streams::Generations(3),
        Streams::ByClass { hot_pages: 150, hot_blocks: 9 },
    ];
    let streams = pick(draw, &streams);
    let sizes = [CacheSize::None, CacheSize::None, CacheSize::Fixed(3), CacheSize::Dynamic(3)];
    let map = MapMemory::Cached { cache: Bytes::new(400), segment: 4 };
    Policies {
        collection: pick(draw, &collections),
        levelling: pick(draw, &levellings),
        streams,
        emptied: [EmptyBlocks::Returned, EmptyBlocks::Kept][usize::from(draw.chance(1, 4))],
        cache: Cache {
            size: match streams {
                Streams::ByClass { .. } => CacheSize::None,
                _ => pick(draw, &sizes),
            },
            bits: 3,
            when_full: [WhenFull::Fold, WhenFull::Bypass][usize::from(draw.chance(1, 2))],
            admission: [
                Admission::All,
                Admission::ShortRuns { pages: 1 + below(draw, 50), streams: 2 },
            ][usize::from(draw.chance(1, 2))],
            folding: [Folding::Valid, Folding::Whole][usize::from(draw.chance(1, 2))],
            fold_after: draw.chance(1, 2).then_some(Duration::ZERO),
        },
        map: if draw.chance(1, 4) { map } else { MapMemory::Whole },
        reserve: 1,
        idle_blocks: below(draw, 3),
        ..Policies::default()
    }
}

/// Blocks that wear out, programs that fail, and pages that must be refreshed after some reads.
fn quality(draw: &mut Stream) -> Reliability {
    let rates = ErrorRates {
        disturb: ErrorRates::constant(100_000_000_000_000).program,
        ..ErrorRates::none()
    };
    Reliability {
        endurance: Endurance::new(&[pick(draw, &[5, 20, 100]), 200, 400]).unwrap(),
        slc_wear: 300,
        factory_bad: 2_000,
        program_failures: pick(draw, &[0, 300_000_000, 3_000_000_000]),
        end_of_life: EndOfLife::ReadOnly,
        reads: Some(ReadErrors {
            rates,
            codeword: Bytes::new(32),
            correctable: 20,
            retries: vec![],
            refresh_at: 3,
            patrol: Duration::ZERO,
        }),
    }
}

impl Device {
    fn new(seed: u64, safety: PowerSafety, mortal: bool, draw: &mut Stream) -> Self {
        let (part, mut policies) = (part(safety.bits, draw), policies(draw));
        policies.reserve = if mortal { 4 } else { 1 };
        let medium = Contents::new(&part).paired(safety.bits);
        let mut ftl = PageMapped::new(part, policies, medium, Seed::new(seed)).unwrap();
        if mortal {
            ftl = ftl.with_reliability(&quality(draw), Seed::new(seed)).unwrap();
        }
        let ftl = ftl.power_safe(safety).unwrap();
        let (may, unknown) = (vec![vec![Version(0)]; PAGES as usize], vec![false; PAGES as usize]);
        Self { ftl, may, unknown, refreshed: 0, seed, wrong: 0, returned: 0 }
    }

    /// The device has become read-only in the middle of a write: permits the contents
    /// found.
    fn refused(&mut self, first: u32, count: u32) {
        let on = self.is_on();
        let found = self.held(first, count);
        for (logical, found) in (first as usize..).zip(found) {
            self.unknown[logical] |= !on;
            if !self.may[logical].contains(&found) && on {
                self.may[logical].push(found);
            }
        }
    }

    fn is_on(&self) -> bool {
        self.ftl.flash().medium().is_on()
    }

    fn held(&mut self, first: u32, count: u32) -> Vec<Version> {
        let mut found = vec![Version(0); count as usize];
        self.ftl.read(NOW, Extent::new(first, count), &mut found).unwrap();
        found
    }

    /// Performs one operation of the host; if power is lost meanwhile, it may or may not have taken
    /// effect.
    fn step(&mut self, draw: &mut Stream) {
        // Half of the operations go to a tenth of the pages.
        let space = if draw.chance(1, 2) { PAGES / 10 } else { PAGES };
        let first = below(draw, space);
        let most = if draw.chance(1, 20) { 200 } else { 8 };
        let count = 1 + below(draw, (PAGES - first).min(most));
        let (extent, range) = (Extent::new(first, count), first as usize..(first + count) as usize);
        match draw.below(100) {
            0..55 => match self.ftl.write(NOW, extent) {
                Ok(done) => {
                    self.may[range].iter_mut().for_each(|may| may.push(done.version));
                }
                Err(Error::ReadOnly { .. }) => self.refused(first, count),
                Err(error) => panic!("seed {}: {error}", self.seed),
            },
            55..70 => {
                if self.ftl.trim(NOW, extent).is_ok() {
                    self.may[range].iter_mut().for_each(|may| may.push(Version(0)));
                }
            }
            70..80 => {
                self.ftl.flush(NOW);
                if self.is_on() {
                    self.may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1)));
                }
            }
            80..84 => {
                self.ftl.idle(NOW, NOW);
            }
            _ => {
                let found = self.held(first, count);
                let newest = self.may[range].iter().map(|may| *may.last().unwrap());
                let stale = self.is_on() && !newest.eq(found);
                assert!(!stale, "seed {}: a stale read of {extent:?} with power", self.seed);
            }
        }
    }

    /// Restores power, and perhaps cuts it again during recovery. Returns how often.
    fn recover(mut self, draw: &mut Stream, again: u64) -> (Self, u32) {
        let mut cuts = 0;
        loop {
            let mut remains = self.ftl.into_remains().unwrap();
            remains.medium.restart();
            if draw.chance(again, 100) {
                remains.medium.cut_after(draw.below(10));
            }
            self.ftl = remains.recover(Seed::new(self.seed)).unwrap();
            if self.is_on() {
                self.ftl.flash_mut().medium_mut().cut_after(u64::MAX);
                return (self, cuts);
            }
            cuts += 1;
        }
    }

    /// Compares every page with its permitted contents, and adopts the contents found.
    fn check(&mut self) {
        self.ftl.assert_sound();
        let found = self.held(0, PAGES);
        for (logical, (may, found)) in self.may.iter_mut().zip(found).enumerate() {
            let unknown = std::mem::take(&mut self.unknown[logical]);
            if !may.contains(&found) && !unknown {
                let given_up = u32::from(may.contains(&Version(0)));
                (self.wrong, self.returned) = (self.wrong + 1 - given_up, self.returned + given_up);
                let exposed = self.ftl.power_safety().unwrap().shared == SharedCells::Exposed;
                let seed = self.seed;
                assert!(exposed, "seed {seed}: page {logical} holds {found:?}, not of {may:?}");
            }
            *may = vec![found];
        }
    }

    /// Runs until power is lost, recovers and compares.
    fn survive(mut self, draw: &mut Stream) -> (Self, u32) {
        let steps = if draw.chance(1, 2) { 60 } else { 1_500 };
        self.ftl.flash_mut().medium_mut().cut_after(draw.below(steps));
        // A device that takes no more data may never come so far: then it is switched off.
        let mut left = 2_000;
        while self.is_on() && left > 0 {
            self.step(draw);
            left -= if self.ftl.wear().read_only { 20 } else { 1 };
        }
        self.refreshed += self.ftl.counters().programs[Cause::Refresh];
        let (mut device, again) = self.recover(draw, 40);
        device.check();
        (device, again)
    }
}

/// The results of many cuts.
#[derive(Debug, Default)]
struct Cuts {
    cuts: u32,
    /// Of these, in recovery.
    again: u32,
    /// The most pages that were wrong after one.
    worst: u32,
    /// Worn-out blocks, and devices at their end of life.
    retired: u32,
    ended: u32,
    failed_programs: u64,
    refreshed: u64,
}

/// Cuts on `safety`, devices of 20 cuts each, whose blocks die if `mortal`.
fn cuts(devices: u64, mortal: bool, safety: impl Fn(&mut Stream) -> PowerSafety) -> Cuts {
    let mut all = Cuts::default();
    for seed in 0..devices {
        let mut draw = Seed::new(seed).stream("power cuts");
        let safety = safety(&mut draw);
        let mut device = Device::new(seed, safety, mortal, &mut draw);
        for _ in 0..2_000 {
            device.step(&mut draw);
        }
        for _ in 0..20 {
            let more;
            (device, more) = device.survive(&mut draw);
            let wrong = std::mem::take(&mut device.wrong);
            let most = (more + 1) * safety.flushed_at_risk(device.ftl.flash().geometry());
            assert!(
                wrong <= most,
                "seed {seed}: {wrong} flushed pages lost, at most {most} may be"
            );
            (all.cuts, all.again) = (all.cuts + 1 + more, all.again + more);
            all.worst = all.worst.max(wrong);
        }
        all.refreshed += device.refreshed;
        let wear = device.ftl.wear();
        all.retired += wear.retired - wear.factory_bad;
        all.ended += u32::from(wear.read_only);
        all.failed_programs +=
            device.ftl.flash().health().map_or(0, |health| health.failed_programs);
    }
    all
}

fn devices() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 500 } else { 100 }
}

#[test]
fn nothing_flushed_is_lost_and_nothing_old_is_read_wherever_power_is_cut() {
    let padded =
        |draw: &mut Stream| PowerSafety { bits: 1 + below(draw, 3), shared: SharedCells::Padded };
    let all = cuts(devices(), false, padded);
    assert!(u64::from(all.cuts) >= devices() * 20, "{all:?}");
    assert!(u64::from(all.again) > devices() && all.worst == 0, "{all:?}");
}

#[test]
fn nothing_flushed_is_lost_while_blocks_die_and_programs_fail() {
    let padded =
        |draw: &mut Stream| PowerSafety { bits: 1 + below(draw, 4), shared: SharedCells::Padded };
    let all = cuts(devices(), true, padded);
    assert!(u64::from(all.cuts) >= devices() * 20 && all.worst == 0, "{all:?}");
    let ended = u64::from(all.ended) * 10;
    assert!(all.retired > 500 && ended > devices() && ended < devices() * 9, "{all:?}");
    assert!(all.failed_programs > 100 && all.refreshed > 1_000, "{all:?}");
}

#[test]
fn exposed_shared_cells_lose_no_more_than_the_part_says() {
    let exposed =
        |draw: &mut Stream| PowerSafety { bits: 2 + below(draw, 2), shared: SharedCells::Exposed };
    let all = cuts(devices(), false, exposed);
    assert!(all.worst > 0, "a part that pads nothing loses something that was flushed");
}

fn small() -> PageMapped<Contents> {
    let part = Geometry::new(32, 16, Bytes::new(64), 200).unwrap();
    let ftl = PageMapped::new(part, Policies::default(), Contents::new(&part), Seed::new(1));
    ftl.unwrap().power_safe(PowerSafety { bits: 1, shared: SharedCells::Padded }).unwrap()
}

fn restarted(ftl: PageMapped<Contents>) -> PageMapped<Contents> {
    let mut remains = ftl.into_remains().unwrap();
    remains.medium.restart();
    remains.recover(Seed::new(1)).unwrap()
}

fn version(ftl: &mut PageMapped<Contents>, page: u32) -> Version {
    let mut found = [Version(0)];
    ftl.read(NOW, Extent::new(page, 1), &mut found).unwrap();
    found[0]
}

#[test]
fn a_flushed_trim_stays_when_older_copies_lie_in_flash() {
    let mut ftl = small();
    ftl.write(NOW, Extent::new(7, 1)).unwrap();
    ftl.write(NOW, Extent::new(7, 2)).unwrap();
    ftl.trim(NOW, Extent::new(7, 1)).unwrap();
    ftl.flush(NOW);
    assert_eq!(ftl.counters().programs[Cause::Map], 1, "one trim page");
    ftl.flush(NOW);
    assert_eq!(ftl.counters().programs[Cause::Map], 1, "nothing new to say");
    let mut ftl = restarted(ftl);
    assert_eq!(version(&mut ftl, 7), Version(0));
    assert_eq!(version(&mut ftl, 8), Version(2));
    let written = ftl.write(NOW, Extent::new(7, 1)).unwrap().version;
    let mut ftl = restarted(ftl);
    assert_eq!(version(&mut ftl, 7), written, "newer than the trim page");
}

#[test]
fn recovery_costs_a_read_for_each_page_that_is_not_erased_and_keeps_wear() {
    let mut ftl = small();
    for turn in 0..400 {
        ftl.write(NOW, Extent::new(turn % 190, 10)).unwrap();
    }
    let wear = ftl.wear().erases;
    let part = *ftl.flash().geometry();
    let used = (0..part.pages()).filter(|&page| {
        ftl.flash().medium().state(part.locate(page)) != boardlab_ftl::PageState::Erased
    });
    let used = u64::try_from(used.count()).unwrap();
    let ftl = restarted(ftl);
    assert_eq!(ftl.counters().reads[Cause::Map], used);
    let erased = ftl.counters().erases.total();
    let (before, after) = (wear.iter().sum::<u32>(), ftl.wear().erases.iter().sum::<u32>());
    assert_eq!(u64::from(after), u64::from(before) + erased, "wear goes on from where it was");
}

#[test]
fn a_layer_that_was_not_made_safe_leaves_nothing_to_recover() {
    let part = Geometry::new(32, 16, Bytes::new(64), 200).unwrap();
    let ftl = PageMapped::new(part, Policies::default(), Contents::new(&part), Seed::new(1));
    assert!(ftl.unwrap().into_remains().is_err());
}

#[test]
fn a_part_without_room_for_padding_is_refused_with_the_blocks_it_needs() {
    let make = |blocks| {
        let part = Geometry::new(blocks, 16, Bytes::new(64), 200).unwrap();
        let medium = Contents::new(&part).paired(2);
        let ftl = PageMapped::new(part, Policies::default(), medium, Seed::new(1)).unwrap();
        ftl.power_safe(PowerSafety { bits: 2, shared: SharedCells::Padded })
    };
    let Err(boardlab_ftl::Error::TooFewBlocks { needed, .. }) = make(18) else {
        panic!("18 blocks are too few")
    };
    assert!(make(needed - 1).is_err());
    let mut ftl = make(needed).unwrap();
    let mut draw = Seed::new(5).stream("pages");
    for _ in 0..5_000 {
        ftl.write(NOW, Extent::new(below(&mut draw, 200), 1)).unwrap();
    }
    ftl.assert_sound();
}

/// What a part with these pages in a block says to three bits a cell, whose pages are padded.
fn padded(pages: u32, policies: Policies) -> Result<PageMapped<Contents>, boardlab_ftl::Error> {
    let part = Geometry::new(96, pages, Bytes::new(64), 400).unwrap();
    let ftl = PageMapped::new(part, policies, Contents::new(&part).paired(3), Seed::new(1));
    ftl.unwrap().power_safe(PowerSafety { bits: 3, shared: SharedCells::Padded })
}

#[test]
fn padding_takes_a_quarter_of_a_block_at_most() {
    use boardlab_ftl::Error::Policy;
    for (pages, quarter) in [(8, 2), (10, 2), (11, 2)] {
        let refused = padded(pages, Policies::default()).err().unwrap();
        let Policy { what, found, most, .. } = refused else { panic!("{refused:?}") };
        assert_eq!((what, found, most), ("pages that share cells", 3, quarter), "{pages} pages");
    }
    padded(12, Policies::default()).unwrap();
}

#[test]
fn hot_blocks_must_hold_the_hot_pages_beside_the_padding() {
    // Of 16 pages 10 can be counted on: ten blocks for 100 pages, and one to be filled.
    let with = |hot_blocks| {
        let streams = Streams::ByClass { hot_pages: 100, hot_blocks };
        padded(16, Policies { streams, ..Policies::default() })
    };
    let refused = with(10).err().unwrap();
    let boardlab_ftl::Error::Policy { found, least, .. } = refused else { panic!("{refused:?}") };
    assert_eq!((found, least), (10, 11));
    with(11).unwrap();
}

#[test]
fn trims_over_many_blocks_leave_no_block_behind() {
    let mut ftl = small();
    let mut draw = Seed::new(9).stream("trims");
    for _ in 0..3_000 {
        let extent = Extent::new(below(&mut draw, 190), 4);
        if draw.chance(1, 2) {
            ftl.write(NOW, extent).unwrap();
        } else {
            ftl.trim(NOW, extent).unwrap();
        }
        ftl.flush(NOW);
    }
    ftl.assert_sound();
    let pages = ftl.occupancy().pages;
    let ftl = restarted(ftl);
    ftl.assert_sound();
    assert_eq!(ftl.occupancy().pages, pages, "as many pages have data as before the cut");
}

/// A small part whose programs fail: of 10^12, so many.
fn failing(program_failures: u64, bits: u32, seed: u64) -> PageMapped<Contents> {
    let part = Geometry::new(48, 16, Bytes::new(64), 200).unwrap();
    let policies = Policies { reserve: 4, ..Policies::default() };
    let medium = Contents::new(&part).paired(bits);
    let ftl = PageMapped::new(part, policies, medium, Seed::new(seed)).unwrap();
    let of = Reliability {
        endurance: Endurance::new(&[20, 60]).unwrap(),
        slc_wear: 1_000,
        factory_bad: 4_000,
        program_failures,
        end_of_life: EndOfLife::ReadOnly,
        reads: None,
    };
    let ftl = ftl.with_reliability(&of, Seed::new(seed)).unwrap();
    ftl.power_safe(PowerSafety { bits, shared: SharedCells::Padded }).unwrap()
}

#[test]
fn blocks_marked_bad_stay_bad_and_wear_goes_on_when_power_comes_back() {
    let mut ftl = failing(400_000_000, 1, 3);
    let mut draw = Seed::new(5).stream("pages");
    let mut retired = ftl.wear().retired;
    assert!(retired > 0, "some are bad from the factory");
    for _ in 0..2_000 {
        for _ in 0..60 {
            let _ = ftl.write(NOW, Extent::new(below(&mut draw, 200), 1));
        }
        ftl.flush(NOW);
        let (before, cycles) = (ftl.wear().retired, ftl.flash().health().unwrap().cycles(7));
        assert!(before >= retired);
        ftl = restarted(ftl);
        retired = ftl.wear().retired;
        assert!(retired >= before, "{retired} bad blocks, {before} before");
        assert!(ftl.flash().health().unwrap().cycles(7) >= cycles);
        if ftl.wear().read_only {
            break;
        }
    }
    assert!(ftl.wear().read_only, "{retired} blocks are bad");
    assert!(ftl.write(NOW, Extent::new(0, 1)).is_err());
    ftl.assert_sound();
}

/// Cut in the program that fails: pages that share its cells, and were flushed, must be safe before
/// it is tried.
#[test]
fn a_cut_in_a_program_that_fails_spoils_nothing_that_was_flushed() {
    let (mut failed, mut ended) = (0, 0);
    for seed in 0..400 {
        let mut draw = Seed::new(seed).stream("pages");
        // One of fifty fails.
        let mut ftl = failing(20_000_000_000, 2 + below(&mut draw, 2), seed);
        let mut safe = vec![Version(0); 200];
        let mut last = safe.clone();
        for _ in 0..40 {
            ftl.flash_mut().medium_mut().cut_after(draw.below(60));
            for _ in 0..30 {
                let page = below(&mut draw, 200);
                if let Ok(done) = ftl.write(NOW, Extent::new(page, 1)) {
                    last[page as usize] = done.version;
                }
                ftl.flush(NOW);
                if !ftl.flash().medium().is_on() {
                    break;
                }
                safe.clone_from(&last);
            }
            ftl.assert_sound();
            ftl = restarted(ftl);
            let mut found = vec![Version(0); 200];
            ftl.read(NOW, Extent::new(0, 200), &mut found).unwrap();
            let kept = found.iter().zip(&safe).all(|(found, safe)| found >= safe);
            assert!(kept, "seed {seed}: something flushed is lost");
            safe.clone_from(&found);
            last = found;
            ftl.assert_sound();
        }
        failed += ftl.flash().health().unwrap().failed_programs;
        ended += u32::from(ftl.wear().read_only);
    }
    assert!(failed > 1_000 && ended > 10, "{failed} programs failed, {ended} devices ended");
}
