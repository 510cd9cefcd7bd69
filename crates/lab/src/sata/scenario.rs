//! The scenario of the SATA experiment: which drives on which host, how many commands of which size, and what is
//! asked besides.
//!
//! Layer: rank 11. Main types: [`Scenario`] and its sections; function: [`read`].

mod limits;

use boardlab_document::{Read, Section};
use boardlab_parts::drive::part::{self, DrivePart};
use boardlab_parts::drive::{
    self,
    board::{self, SataHost},
};
use boardlab_sata::SECTOR;
use boardlab_sata::host::Pattern;
use boardlab_sim::{Bytes, Duration};

/// A scenario of the SATA experiment, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The drives.
    pub drives: Drives,
    /// What they are connected to.
    pub host: SataHost,
    /// Commands one after the other: tables 5-1 to 6-1.
    pub continuous: Continuous,
    /// Whole drives: table 7-1.
    pub sweep: Sweep,
    /// What is asked beyond the publication.
    pub what_if: WhatIf,
}

/// The drives by the place that they have in the publication.
#[derive(Debug, Clone)]
pub struct Drives {
    /// Table 5-1.
    pub intel: DrivePart,
    /// Tables 5-2 and 6-1.
    pub g_monster: DrivePart,
    /// Table 7-1, the first row.
    pub transcend: DrivePart,
    /// Table 7-1, the second row.
    pub buffalo: DrivePart,
    /// One with a queue and a faster link, which the publication has not.
    pub example: DrivePart,
}

impl Drives {
    /// Each with its key.
    const fn named(&self) -> [(&'static str, &DrivePart); 5] {
        [
            ("intel-x25-e", &self.intel),
            ("g-monster-v2", &self.g_monster),
            ("transcend", &self.transcend),
            ("buffalo", &self.buffalo),
            ("example", &self.example),
        ]
    }
}

/// Commands one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuous {
    /// Sectors of a command.
    pub sectors: u32,
    /// The first sector.
    pub first: u64,
    /// Commands of each row, fewest first.
    pub loops: Vec<u64>,
    /// The data.
    pub pattern: Pattern,
    /// What a drive is left alone for before each run.
    pub rest: Duration,
}

/// Whole drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Sectors of a command.
    pub sectors: u32,
    /// Sectors of the drive that are moved; all where it is left out.
    pub part: Option<u64>,
}

/// What is asked beyond the publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// What is moved at each point.
    pub volume: Bytes,
    /// Sectors of a command, fewest first.
    pub commands: Vec<u32>,
    /// A write cache for the drive of table 6-1.
    pub cache: Bytes,
    /// Commands in the queue.
    pub queue: Vec<u32>,
    /// Sectors of a queued command.
    pub queued: u32,
}

/// Reads a whole scenario, its drives and its board mounted in place of their names.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: &Section<'_>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let drives = section.section("drives", drives);
    let host = section.section("board", board::read);
    let continuous = section.section("continuous", |section| continuous(&section));
    let sweep = section.section("sweep", |section| sweep(&section));
    let what_if = section.section("what_if", |section| what_if(&section));
    section.finish()?;
    let (_, _, drives, host) = (title?, experiment?, drives?, host?);
    let (continuous, sweep, what_if) = (continuous?, sweep?, what_if?);
    let scenario = Scenario { drives, host, continuous, sweep, what_if };
    whole(section, &scenario)?;
    check(section, &scenario)?;
    unused(section, &scenario)?;
    Ok(scenario)
}

/// Keys of a drive that no run uses: what it says of itself, commands that nobody sends, and HOLD by its own fault. A drive sends
/// a frame when it has all of it, and its host takes all of it at once.
const OF_DRIVES: [(&str, &str); 5] = [
    ("identity", "here: nothing shows what a drive says of itself"),
    ("commands.trim", "here: nothing is trimmed"),
    ("link.cont", "here: the drive sends whole frames, so it repeats nothing between data"),
    ("link.holda_after", "here: the host takes all data at once and sends no HOLD to answer"),
    ("endurance.rated", "here: the health of a drive is not shown"),
];
/// Commands that are sent to some drives alone.
const OF_SOME: [(&str, &str, &str); 8] = [
    ("intel-x25-e", "commands.queue", "here: only `example` has its commands queued"),
    ("g-monster-v2", "commands.queue", "here: only `example` has its commands queued"),
    ("transcend", "commands.queue", "here: only `example` has its commands queued"),
    ("buffalo", "commands.queue", "here: only `example` has its commands queued"),
    ("transcend", "commands.lba48", "here: whole drives are moved by commands of 28 bits"),
    ("buffalo", "commands.lba48", "here: whole drives are moved by commands of 28 bits"),
    ("example", "commands.lba48", "here: queued commands are of 48 bits on every drive"),
    ("example", "controller.identify_frame", "here: nobody asks this drive for IDENTIFY data"),
];

/// Refuses in `--set` what no run uses.
fn unused(section: &Section<'_>, scenario: &Scenario) -> Read<()> {
    let mut all = Vec::new();
    let help = "`boardlab run drive-fio` puts a drive under jobs of your own";
    for (id, part) in scenario.drives.named() {
        let drive = format!("drives.{id}");
        all.push(drive::unused::by_choice(section, &drive, part));
        let each = OF_DRIVES.iter();
        all.extend(each.map(|(key, why)| section.idle(&format!("{drive}.{key}"), why, help)));
    }
    let each = OF_SOME.iter();
    all.extend(each.map(|(id, key, why)| section.idle(&format!("drives.{id}.{key}"), why, help)));
    let why = "here: this host takes all data at once and sends no HOLD";
    all.push(section.idle("board.sata_host.hold_to", why, "leave it out"));
    let why = "here: no time depends on what the bytes are";
    let help = "`boardlab sata console` writes a pattern and shows what it reads";
    all.push(section.idle("continuous.pattern", why, help));
    all.into_iter().collect()
}

fn drives(section: Section<'_>) -> Read<Drives> {
    let drive = |key| section.section(key, part::read);
    let (intel, g_monster) = (drive("intel-x25-e"), drive("g-monster-v2"));
    let (transcend, buffalo, example) = (drive("transcend"), drive("buffalo"), drive("example"));
    section.finish()?;
    Ok(Drives {
        intel: intel?,
        g_monster: g_monster?,
        transcend: transcend?,
        buffalo: buffalo?,
        example: example?,
    })
}

/// What is moved at each point has to be whole commands of each size.
fn whole(section: &Section<'_>, scenario: &Scenario) -> Read<()> {
    let sizes = scenario.what_if.commands.iter().chain([&scenario.continuous.sectors]);
    let largest = SECTOR * u64::from(sizes.max().copied().unwrap_or(1));
    if scenario.what_if.volume.is_multiple_of(largest) {
        return Ok(());
    }
    let help = format!("the largest command moves {largest}");
    let expected = format!("whole {largest}");
    let problem = "has a `volume` that is no whole number of commands";
    Err(section.refuse("what_if", problem, &expected, &help))
}

/// What the drives cannot do of it.
fn check(section: &Section<'_>, scenario: &Scenario) -> Read<()> {
    let Scenario { drives, host, continuous, sweep, .. } = scenario;
    let all = drives.named();
    for (id, part) in all {
        if let Err(problem) = boardlab_parts::drive::compose::wiring(part, host) {
            let problem = format!("does not go with the drive {id}: {problem}");
            let help = "lower hold_from in [sata_host] or in [link] of the drive";
            return Err(section.refuse("board", &problem, "room for what comes after HOLD", help));
        }
    }
    let most = continuous.loops.last().copied().unwrap_or(0);
    let end = continuous.first.saturating_add(most.saturating_mul(continuous.sectors.into()));
    for (id, part) in &all[..2] {
        let has = part.drive.sectors;
        let loops = |problem: &str, expected: &str| {
            let help = "fewer or smaller commands, or another first sector, in [continuous]";
            Err(section.refuse("continuous", problem, expected, help))
        };
        if !part.drive.lba48 {
            return loops(
                &format!("asks the drive {id} for 48-bit commands, which it has not"),
                "a drive with lba48 = true",
            );
        }
        if end > has {
            return loops(
                &format!("ends with sector {end}, beyond the {has} sectors of the drive {id}"),
                &format!("at most {has} sectors"),
            );
        }
    }
    for (id, part) in &all[2..4] {
        let (asked, has) = (sweep.part.unwrap_or(part.drive.sectors), part.drive.sectors);
        if asked > has {
            let problem = format!("asks for {asked} sectors of the {has} of the drive {id}");
            let expected = format!("at most {has} sectors");
            let help = "leave `part` out for whole drives";
            return Err(section.refuse("sweep", &problem, &expected, help));
        }
    }
    Ok(())
}

fn continuous(section: &Section<'_>) -> Read<Continuous> {
    let sectors = sectors(section, "sectors", 65_536);
    let first = section.key::<u64>("first").within(0, (1 << 48) - 1).required();
    let loops = section.required::<Vec<u64>>("loops").and_then(|loops| {
        let fits = |&loops: &u64| (1..=limits::LOOPS).contains(&loops);
        if loops.is_sorted_by(|a, b| a < b) && loops.iter().all(fits) {
            return Ok(loops);
        }
        let expected = format!("numbers from 1 to {} that rise", limits::LOOPS);
        let help = "each number is a run of so many loops";
        let problem = "is no list of runs, each longer than the last";
        Err(section.refuse("loops", problem, &expected, help))
    });
    let patterns = [("increment", Pattern::Increment), ("decrement", Pattern::Decrement)];
    let pattern = section.one_of("pattern", &patterns);
    let rest = section.key::<Duration>("rest").within(Duration::ZERO, limits::REST).required();
    section.finish()?;
    Ok(Continuous {
        sectors: sectors?,
        first: first?,
        loops: loops?,
        pattern: pattern?,
        rest: rest?,
    })
}

fn sectors(section: &Section<'_>, key: &str, most: u64) -> Read<u32> {
    let sectors = section.key::<u64>(key).within(1, most).required()?;
    Ok(u32::try_from(sectors).expect("at most 65,536"))
}

fn sweep(section: &Section<'_>) -> Read<Sweep> {
    let each = sectors(section, "sectors", 256);
    let part = section.key::<u64>("part").within(1, 1 << 28).optional();
    section.finish()?;
    Ok(Sweep { sectors: each?, part: part? })
}

fn what_if(section: &Section<'_>) -> Read<WhatIf> {
    let volume = section.key::<Bytes>("volume").within(limits::LEAST, limits::VOLUME).required();
    let numbers = |key: &str, most: u64| {
        let all = section.required::<Vec<u64>>(key)?;
        let fits = |&one: &u64| (1..=most).contains(&one);
        if all.is_sorted_by(|a, b| a < b) && all.iter().all(fits) {
            return Ok(all.iter().map(|&one| u32::try_from(one).expect("within limits")).collect());
        }
        let expected = format!("numbers from 1 to {most} that rise");
        let help = "each number is a row of its own";
        Err(section.refuse(key, "is no list of that kind", &expected, help))
    };
    let (commands, queue) = (numbers("commands", 65_536), numbers("queue", 32));
    let cache = section.key::<Bytes>("cache").within(SECTOR, limits::CACHE).required();
    let queued = sectors(section, "queued", 65_536);
    section.finish()?;
    Ok(WhatIf {
        volume: volume?,
        commands: commands?,
        cache: cache?,
        queue: queue?,
        queued: queued?,
    })
}
