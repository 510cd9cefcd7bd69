//! Power cuts anywhere in a block-mapped layer: flushed data persist, and nothing older reappears.
//!
//! A model keeps for each logical page the contents at the last flush and all later ones. After a
//! cut and recovery each page must hold one of these. Parts whose shared cells are exposed may
//! violate that for the pages of one word line, no more. The seed is printed on failure.

use boardlab_ftl::{
    Cause, Contents, EndOfLife, Endurance, Error, Extent, Geometry, Levelling, LogBlocks, LogCells,
    LogPolicies, Logs, PageState, PowerSafety, Reliability, SharedCells, Stripe, Translation,
    Version,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const PAGES: u32 = 700;
const NOW: Instant = Instant::ZERO;

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn pick<T: Copy>(draw: &mut Stream, all: &[T]) -> T {
    all[usize::try_from(draw.below(all.len().try_into().unwrap())).unwrap()]
}

struct Device {
    ftl: LogBlocks<Contents>,
    /// The contents that a logical page may have after a cut: the first is durable, the others are
    /// possible.
    may: Vec<Vec<Version>>,
    seed: u64,
    /// Pages with wrong contents after cuts.
    wrong: u32,
    /// Whether blocks wear out.
    mortal: bool,
}

fn part(draw: &mut Stream) -> Geometry {
    let (units, planes, dies) = (1 + below(draw, 2), 1 + below(draw, 2), 1 + below(draw, 2));
    let stripe = Stripe { channels: 1, dies, planes, units };
    let pages_per_block = pick(draw, &[24, 48]);
    Geometry::new(44, pages_per_block, Bytes::new(32), PAGES).unwrap().striped(stripe).unwrap()
}

fn policies(draw: &mut Stream) -> LogPolicies {
    let logs = [
        Logs::InOrder { units: 1 + below(draw, 3) },
        Logs::Own { units: 2, chain: 1, all: 2 },
        Logs::Own { units: 2, chain: 3, all: 5 },
        Logs::Shared { blocks: 1 + below(draw, 4) },
        Logs::Shared { blocks: 3 },
    ];
    let logs = pick(draw, &logs);
    let any = !matches!(logs, Logs::InOrder { .. });
    let single = LogCells::Slc { bits: 3, fixed: draw.chance(1, 2) };
    LogPolicies {
        logs,
        cells: if any && draw.chance(1, 2) { single } else { LogCells::Ordinary },
        sequential: if any { below(draw, 2) } else { 0 },
        merge_when_idle: draw.chance(1, 2),
        levelling: pick(draw, &[Levelling::None, Levelling::Dynamic, Levelling::Threshold(3)]),
        ..LogPolicies::default()
    }
}

impl Device {
    fn new(seed: u64, safety: PowerSafety, life: &[u32], draw: &mut Stream) -> Self {
        let (part, policies) = (part(draw), policies(draw));
        let medium = Contents::new(&part).paired(safety.bits);
        let ftl = LogBlocks::new(part, policies, medium, Seed::new(seed)).unwrap();
        let may = vec![vec![Version(0)]; PAGES as usize];
        let mut ftl = ftl.power_safe(safety);
        if !life.is_empty() {
            let quality = Reliability {
                endurance: Endurance::new(life).unwrap(),
                slc_wear: 500,
                factory_bad: 1_000,
                program_failures: 0,
                end_of_life: EndOfLife::ReadOnly,
                reads: None,
            };
            ftl = ftl.with_reliability(&quality, Seed::new(seed)).unwrap();
        }
        Self { ftl, may, seed, wrong: 0, mortal: !life.is_empty() }
    }

    fn is_on(&self) -> bool {
        self.ftl.flash().medium().is_on()
    }

    fn held(&mut self, first: u32, count: u32) -> Vec<Version> {
        let mut found = vec![Version(0); count as usize];
        self.ftl.read(NOW, Extent::new(first, count), &mut found).unwrap();
        found
    }

    fn write(&mut self, first: u32, count: u32) {
        let version = match self.ftl.write(NOW, Extent::new(first, count)) {
            Ok(done) => done.version,
            // Any page of it may have been written.
            Err(Error::ReadOnly { .. }) => {
                self.ftl.read(NOW, Extent::new(0, 1), &mut []).unwrap().version
            }
            Err(error) => panic!("seed {}: {error}", self.seed),
        };
        let range = first as usize..(first + count) as usize;
        self.may[range].iter_mut().for_each(|may| may.push(version));
    }

    fn trim(&mut self, first: u32, count: u32) {
        match self.ftl.trim(NOW, Extent::new(first, count)) {
            Ok(_) => {}
            Err(Error::ReadOnly { .. }) => return,
            Err(error) => panic!("seed {}: {error}", self.seed),
        }
        let range = first as usize..(first + count) as usize;
        self.may[range].iter_mut().for_each(|may| may.push(Version(0)));
    }

    /// Writes a unit, or the first part of it, sequentially, or trims it.
    fn unit(&mut self, draw: &mut Stream) {
        let pages = self.ftl.flash().geometry().pages_per_block();
        let first = below(draw, PAGES / pages) * pages;
        if draw.chance(1, 3) {
            return self.trim(first, pages);
        }
        let (mut at, end) = (first, first + 1 + below(draw, pages));
        while at < end {
            let count = (1 + below(draw, 9)).min(end - at);
            self.write(at, count);
            at += count;
        }
    }

    /// Performs one operation of the host; if power is lost meanwhile, it may or may not have taken
    /// effect.
    fn step(&mut self, draw: &mut Stream) {
        // Half of the operations go to a tenth of the pages.
        let space = if draw.chance(1, 2) { PAGES / 10 } else { PAGES };
        let first = below(draw, space);
        let most = if draw.chance(1, 20) { 100 } else { 8 };
        let count = 1 + below(draw, (PAGES - first).min(most));
        match draw.below(100) {
            0..50 => self.write(first, count),
            50..57 => self.unit(draw),
            57..70 => self.trim(first, count),
            70..80 => {
                self.ftl.flush(NOW);
                // A device at its end may not have made sure of what was given up.
                if self.is_on() && !self.ftl.wear().read_only {
                    self.may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1)));
                }
            }
            80..84 => {
                self.ftl.idle(NOW, NOW);
            }
            _ => {
                let found = self.held(first, count);
                let range = first as usize..(first + count) as usize;
                let newest = self.may[range].iter().map(|may| *may.last().unwrap());
                let stale = self.is_on() && !self.ftl.wear().read_only && !newest.eq(found);
                assert!(!stale, "seed {}: a stale read of page {first} with power", self.seed);
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
                remains.medium.cut_after(draw.below(60));
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
        let safety = self.ftl.power_safety().unwrap();
        for (logical, (may, found)) in self.may.iter_mut().zip(found).enumerate() {
            if !may.contains(&found) {
                self.wrong += 1;
                let (seed, policies) = (self.seed, self.ftl.policies());
                let exposed = safety.shared == SharedCells::Exposed;
                assert!(
                    exposed,
                    "seed {seed}: page {logical} holds {found:?}, not of {may:?}, {policies:?}"
                );
            }
            *may = vec![found];
        }
    }

    /// Runs until power is lost, recovers and compares.
    fn survive(mut self, draw: &mut Stream) -> (Self, u32) {
        let steps = if draw.chance(1, 2) { 60 } else { 1_500 };
        self.ftl.flash_mut().medium_mut().cut_after(draw.below(steps));
        while self.is_on() && !self.ftl.wear().read_only {
            self.step(draw);
        }
        let (mut device, again) = self.recover(draw, 40);
        device.check();
        (device, again)
    }
}

/// Cuts on `safety`, devices of 20 cuts each; the cuts and second cuts that there were, and the worst
/// number of wrong pages after one cut.
fn cuts(
    devices: u64,
    life: &[u32],
    safety: impl Fn(&mut Stream) -> PowerSafety,
) -> (u32, u32, u32) {
    let (mut cuts, mut again, mut worst) = (0, 0, 0);
    for seed in 0..devices {
        let mut draw = Seed::new(seed).stream("power cuts of logs");
        let safety = safety(&mut draw);
        let mut device = Device::new(seed, safety, life, &mut draw);
        for _ in 0..if device.mortal { 100 } else { 1_000 } {
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
            (cuts, again, worst) = (cuts + 1 + more, again + more, worst.max(wrong));
        }
    }
    (cuts, again, worst)
}

fn devices() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 500 } else { 100 }
}

#[test]
fn nothing_flushed_is_lost_and_nothing_old_is_read_wherever_power_is_cut() {
    let padded =
        |draw: &mut Stream| PowerSafety { bits: 1 + below(draw, 3), shared: SharedCells::Padded };
    let (cuts, again, worst) = cuts(devices(), &[], padded);
    assert!(u64::from(cuts) >= devices() * 20 && u64::from(again) > devices(), "{cuts} {again}");
    assert_eq!(worst, 0);
}

#[test]
fn nothing_flushed_is_lost_while_blocks_die_and_power_is_cut() {
    let padded =
        |draw: &mut Stream| PowerSafety { bits: 1 + below(draw, 3), shared: SharedCells::Padded };
    let (_, _, worst) = cuts(devices(), &[1, 15, 40], padded);
    assert_eq!(worst, 0);
}

#[test]
fn exposed_shared_cells_lose_no_more_than_the_part_says() {
    let exposed =
        |draw: &mut Stream| PowerSafety { bits: 2 + below(draw, 2), shared: SharedCells::Exposed };
    let (_, _, worst) = cuts(devices(), &[], exposed);
    assert!(worst > 0, "a part that pads nothing loses something that was flushed");
}

const PLAIN: PowerSafety = PowerSafety { bits: 1, shared: SharedCells::Padded };

fn small(policies: LogPolicies) -> LogBlocks<Contents> {
    let part = Geometry::new(24, 16, Bytes::new(64), 200).unwrap();
    let ftl = LogBlocks::new(part, policies, Contents::new(&part), Seed::new(1)).unwrap();
    ftl.power_safe(PLAIN)
}

fn restarted(ftl: LogBlocks<Contents>) -> LogBlocks<Contents> {
    let mut remains = ftl.into_remains().unwrap();
    remains.medium.restart();
    remains.recover(Seed::new(1)).unwrap()
}

fn version(ftl: &mut LogBlocks<Contents>, page: u32) -> Version {
    let mut found = [Version(0)];
    ftl.read(NOW, Extent::new(page, 1), &mut found).unwrap();
    found[0]
}

#[test]
fn a_flushed_trim_stays_when_older_copies_lie_in_shared_logs() {
    let mut ftl = small(LogPolicies { sequential: 0, ..LogPolicies::shared(3) });
    ftl.write(NOW, Extent::new(7, 1)).unwrap();
    ftl.write(NOW, Extent::new(7, 2)).unwrap();
    ftl.trim(NOW, Extent::new(7, 1)).unwrap();
    let before = *ftl.counters();
    ftl.flush(NOW);
    assert_eq!(ftl.counters().since(&before).programs[Cause::Merge], 1, "page 8 in a block");
    ftl.flush(NOW);
    assert_eq!(ftl.counters().since(&before).programs[Cause::Merge], 1, "nothing new to say");
    let mut ftl = restarted(ftl);
    assert_eq!((version(&mut ftl, 7), version(&mut ftl, 8)), (Version(0), Version(2)));
    ftl.trim(NOW, Extent::new(8, 1)).unwrap();
    ftl.flush(NOW);
    let mut ftl = restarted(ftl);
    assert_eq!(version(&mut ftl, 8), Version(0), "a unit that has no page left");
    assert_eq!(ftl.occupancy().free_blocks, 24, "nothing is left of it");
}

#[test]
fn what_is_at_risk_in_the_log_for_writes_in_order_is_safe_before_an_older_copy_is_erased() {
    let part = Geometry::new(24, 16, Bytes::new(64), 200).unwrap();
    let medium = Contents::new(&part).paired(3);
    let ftl = LogBlocks::new(part, LogPolicies::shared(1), medium, Seed::new(1)).unwrap();
    let safety = PowerSafety { bits: 3, shared: SharedCells::Padded };
    let mut ftl = ftl.power_safe(safety);
    let mut write = |page| ftl.write(NOW, Extent::new(page, 1)).unwrap().version;
    // Page 17 in the shared log; then pages 16 and 17 in the one for writes in order.
    let old = write(17);
    ftl.flush(NOW);
    let mut write = |page| ftl.write(NOW, Extent::new(page, 1)).unwrap().version;
    write(16);
    let new = write(17);
    // Fills the shared log, which is erased.
    for _ in 0..16 {
        write(40);
    }
    ftl.flash_mut().medium_mut().cut_after(0);
    ftl.write(NOW, Extent::new(18, 1)).unwrap();
    let mut ftl = restarted(ftl);
    let found = version(&mut ftl, 17);
    assert!([old, new].contains(&found), "{found:?}");
}

#[test]
fn a_shared_log_that_looks_like_a_data_block_but_holds_void_pages_is_merged() {
    let mut ftl = small(LogPolicies { sequential: 0, ..LogPolicies::shared(1) });
    // In the log at their own offsets: pages 0 and 1, given up, and pages 2 and 3.
    for page in [0, 1] {
        ftl.write(NOW, Extent::new(page, 1)).unwrap();
        ftl.trim(NOW, Extent::new(page, 1)).unwrap();
        ftl.flush(NOW);
    }
    ftl.write(NOW, Extent::new(2, 2)).unwrap();
    for _ in 0..3 {
        ftl = restarted(ftl);
        let found = [0, 1, 2, 3].map(|page| version(&mut ftl, page).0 > 0);
        assert_eq!(found, [false, false, true, true]);
    }
}

#[test]
fn recovery_reads_each_page_that_is_not_erased_once_and_merges_what_was_open() {
    let mut ftl = small(LogPolicies::own(3));
    ftl.write(NOW, Extent::new(0, 200)).unwrap();
    for unit in [1, 2, 3] {
        ftl.write(NOW, Extent::new(unit * 16 + 5, 2)).unwrap();
    }
    let part = *ftl.flash().geometry();
    let used = (0..part.pages())
        .filter(|&page| ftl.flash().medium().state(part.locate(page)) != PageState::Erased);
    let used = u64::try_from(used.count()).unwrap();
    let wear = ftl.wear().erases.iter().sum::<u32>();
    let ftl = restarted(ftl);
    assert_eq!(ftl.counters().reads[Cause::Map], used);
    assert_eq!((ftl.merges().full, ftl.counters().programs.total()), (3, 3 * 16));
    let erased = ftl.counters().erases.total();
    let after = ftl.wear().erases.iter().sum::<u32>();
    assert_eq!(u64::from(after), u64::from(wear) + erased, "wear goes on from where it was");
}

#[test]
fn a_layer_that_was_not_made_safe_leaves_nothing_to_recover() {
    let part = Geometry::new(24, 16, Bytes::new(64), 200).unwrap();
    let ftl = LogBlocks::new(part, LogPolicies::own(1), Contents::new(&part), Seed::new(1));
    assert!(ftl.unwrap().into_remains().is_err());
}
