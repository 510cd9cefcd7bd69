//! The scenario of the SATA experiment: which drives on which host, how many commands of which size, and what is
//! asked besides.
//!
//! Layer: rank 11. Main types: [`Scenario`] and its sections; function: [`read`].

mod limits;

use boardlab_document::{Read, Section, section};
use boardlab_parts::drive::part::{self, DrivePart};
use boardlab_parts::drive::{
    self,
    board::{self, SataHost},
};
use boardlab_sata::SECTOR;
use boardlab_sata::host::Pattern;
use boardlab_sim::{Bytes, Duration};

section! {
    /// A scenario of the SATA experiment, checked.
    #[derive(Debug, Clone)]
    pub struct Scenario {
        /// What it is, one line.
        pub title: String,
        /// The experiment that reads it.
        pub experiment: String,
        /// The drives.
        pub drives: Drives,
        /// What they are connected to.
        pub host as "board": SataHost => section(board::read),
        /// Commands one after the other: tables 5-1 to 6-1.
        pub continuous: Continuous,
        /// Whole drives: table 7-1.
        pub sweep: Sweep,
        /// What is asked beyond the publication.
        pub what_if: WhatIf,
    }
}

section! {
    /// The drives by the place that they have in the publication.
    #[derive(Debug, Clone)]
    pub struct Drives {
        /// Table 5-1.
        pub intel as "intel-x25-e": DrivePart => section(part::read),
        /// Tables 5-2 and 6-1.
        pub g_monster as "g-monster-v2": DrivePart => section(part::read),
        /// Table 7-1, the first row.
        pub transcend: DrivePart => section(part::read),
        /// Table 7-1, the second row.
        pub buffalo: DrivePart => section(part::read),
        /// One with a queue and a faster link, which the publication has not.
        pub example: DrivePart => section(part::read),
    }
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

const PATTERNS: [(&str, Pattern); 2] =
    [("increment", Pattern::Increment), ("decrement", Pattern::Decrement)];
/// Sectors of a command.
const SECTORS: u64 = 65_536;

section! {
    /// Commands one after the other.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Continuous(section) {
        /// Sectors of a command.
        pub sectors: u32 => within(1, SECTORS),
        /// The first sector.
        pub first: u64 => up_to((1 << 48) - 1),
        /// Commands of each row, fewest first.
        pub loops: Vec<u64> = {
            let problem = "is no list of runs, each longer than the last";
            rising(&section, "loops", limits::LOOPS, problem, "each number is a run of so many loops")
        },
        /// The data.
        pub pattern: Pattern => one_of(PATTERNS),
        /// What a drive is left alone for before each run.
        pub rest: Duration => up_to(limits::REST),
    }
}

section! {
    /// Whole drives.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Sweep {
        /// Sectors of a command.
        pub sectors: u32 => within(1, 256),
        /// Sectors of the drive that are moved; all where it is left out.
        pub part: Option<u64> => within(1, 1 << 28),
    }
}

section! {
    /// What is asked beyond the publication.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WhatIf {
        /// What is moved at each point.
        pub volume: Bytes => within(limits::LEAST, limits::VOLUME),
        /// Sectors of a command, fewest first.
        pub commands: Vec<u32> => with(numbers, SECTORS),
        /// Commands in the queue.
        pub queue: Vec<u32> => with(numbers, 32),
        /// A write cache for the drive of table 6-1.
        pub cache: Bytes => within(SECTOR, limits::CACHE),
        /// Sectors of a queued command.
        pub queued: u32 => within(1, SECTORS),
    }
}

fn numbers(section: &Section<'_>, key: &str, most: u64) -> Read<Vec<u32>> {
    let help = "each number is a row of its own";
    let all = rising(section, key, most, "is no list of that kind", help)?;
    Ok(all.into_iter().map(|one| u32::try_from(one).expect("within limits")).collect())
}

/// The list called `key` of numbers from 1 to `most`, each more than the one before.
fn rising(
    section: &Section<'_>,
    key: &str,
    most: u64,
    problem: &str,
    help: &str,
) -> Read<Vec<u64>> {
    let all = section.required::<Vec<u64>>(key)?;
    if all.is_sorted_by(|a, b| a < b) && all.iter().all(|one| (1..=most).contains(one)) {
        return Ok(all);
    }
    let expected = format!("numbers from 1 to {most} that rise");
    Err(section.refuse(key, problem, &expected, help))
}

/// Reads a whole scenario, its drives and its board mounted in place of their names.
pub fn read(section: &Section<'_>) -> Read<Scenario> {
    let scenario = Scenario::read(*section)?;
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
        if let Err(problem) = boardlab_parts::drive::compose::wiring(part, host.port()) {
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
