//! What the runs say of the publication.
//!
//! Layer: rank 11. Main types: [`Facts`], and [`Explaining`], the findings that explain cells. Every number in a finding is
//! computed from the runs, the scenario or the print as it stands in the reference. In reading order: this file (the
//! unit, the link, how near, why not nearer), `sequencing` (what the sequencer gains, and what 28-bit commands say of
//! it), `beyond` (what was not asked).

mod beyond;
mod sequencing;

use super::run::Measurements;
use super::run::measure::DriveRun;
use super::scenario::Scenario;
use super::tables;
use super::tables::means;
use super::tables::told::{self, mb_per_s, micros, percent};
use super::verdicts::{NEAR, NEAR_WHOLE, off};
use boardlab_document::error::Error;
use boardlab_experiment::finding::on_print;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::{MIB, float, real};
use boardlab_result::{Origin, RunResult};
use boardlab_sata::arithmetic::{Direction, Link};
use boardlab_sata::{LARGEST_DATA, SECTOR};

/// What findings are made of.
pub(super) struct Facts<'f> {
    pub(super) scenario: &'f Scenario,
    pub(super) measured: &'f Measurements,
}

impl Facts<'_> {
    /// Bytes of a command of the loops.
    pub(super) fn command(&self) -> f64 {
        real(SECTOR * u64::from(self.scenario.continuous.sectors))
    }

    fn loops(&self) -> &[u64] {
        &self.scenario.continuous.loops
    }
}

/// Findings that explain cells, by index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Explaining {
    unit: usize,
    rating: usize,
    truncated: usize,
    pool: usize,
    spread: usize,
    pause: usize,
    gain: usize,
    sweep: usize,
}

impl Explaining {
    /// Which finding explains that ours is so far off in a cell of table, row and column; none where it is too far.
    pub(super) fn of(&self, cell: (&str, &str, &str), off: f64) -> Option<usize> {
        let within = |most: f64, finding: usize| (off.abs() <= most).then_some(finding);
        match cell {
            ("table2-1", ..) => Some(self.rating),
            ("figure4", ..) => within(NEAR, self.truncated),
            ("table5-1", _, "write") => within(NEAR, self.pool),
            ("table5-2", "128" | "256" | "512" | "mean", "read") => within(NEAR, self.pause),
            ("table5-1" | "table5-2", ..) | ("table6-1", "firmware", _) => {
                within(NEAR, self.spread)
            }
            ("table6-1", ..) => within(2.0 * NEAR, self.gain),
            ("table6-2", ..) => within(0.06, self.unit),
            ("table7-1", ..) => within(NEAR_WHOLE, self.sweep),
            _ => None,
        }
    }
}

/// Adds all findings; those that explain cells where there is a print.
pub(super) fn all(
    run: &mut RunResult,
    facts: &Facts<'_>,
    print: Option<&Reference>,
) -> Result<Option<Explaining>, Error> {
    let explaining = print.map(|reference| of_print(run, facts, reference)).transpose()?;
    beyond::all(run, facts);
    Ok(explaining)
}

fn of_print(
    run: &mut RunResult,
    facts: &Facts<'_>,
    reference: &Reference,
) -> Result<Explaining, Error> {
    let unit = on_print(run, unit(facts, reference)?);
    on_print(run, link(facts, reference)?);
    let near = near(run, facts, reference)?;
    on_print(run, near);
    let spread = on_print(run, spread(facts, reference)?);
    let pool = on_print(run, pool(facts, reference)?);
    let pause = on_print(run, pause(facts, reference)?);
    let gain = on_print(run, sequencing::gain(facts, reference)?);
    let sweep = on_print(run, sequencing::whole_drives(facts, reference)?);
    let truncated = on_print(run, single(facts, reference)?);
    let rating = on_print(run, rating(facts, reference)?);
    on_print(run, mean(facts, reference)?);
    on_print(run, labels(facts));
    Ok(Explaining { unit, rating, truncated, pool, spread, pause, gain, sweep })
}

/// What MB are, and what the text computes with instead.
fn unit(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let rate = reference.number("table5-1", "1", "read")?;
    let most = Link::new(facts.scenario.host.speed, 0).rate(Direction::Read);
    let binary = rate / 1e6 * MIB;
    let text = reference.number("table6-2", "command", "write")? / 1e9;
    let exact = facts.command() / 150e6;
    Ok(format!(
        "The unit. A MB/s of the tables is 10^6 bytes a second, and a command of 32 MB is {:.0} bytes: as MiB/s {} would be {}, above the \
         {} that the link carries when nobody ever waits (8 KiB in a Data FIS, 2 of 256 dwords ALIGN). The text below table \
         6-2 takes 32 MB for 32 x 10^6 bytes: a command then takes {:.0} ms at 150 MB/s, exactly it is {:.1} ms ({}). Its shares \
         of {:.2} and {:.2} % become {:.3} and {:.3} %; the conclusion is the same.",
        facts.command(),
        mb_per_s(rate),
        mb_per_s(binary),
        mb_per_s(float(most)),
        text * 1e3,
        exact * 1e3,
        percent(exact / text - 1.0),
        reference.number("table6-2", "firmware_share", "write")? * 100.0,
        reference.number("table6-2", "sequencer_share", "write")? * 100.0,
        facts.scenario.host.firmware.write.as_secs_f64() / exact * 100.0,
        facts.scenario.host.sequencer.write.as_secs_f64() / exact * 100.0,
    ))
}

/// The dwords between two Data FISes that a rate of 8 KiB frames leaves.
fn gap(facts: &Facts<'_>, rate: f64) -> f64 {
    let clock = float(facts.scenario.host.speed.dword_clock().get()) * 254.0 / 256.0;
    let frame = float(u64::from(LARGEST_DATA));
    frame * 4.0 / rate * clock - frame - 4.0
}

/// Whether the drive or the link limits the reads of table 5-1.
fn link(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let rate = reference.number("table5-1", "1", "read")?;
    let rows = means::printed(reference, "table5-1", facts.loops())?;
    let gaps = rows.iter().map(|[_, read]| gap(facts, *read));
    let (least, most) = gaps.fold((f64::MAX, 0.0_f64), |(a, b), gap| (a.min(gap), b.max(gap)));
    let tested = &facts.measured.intel;
    let read = &tested.firmware.read.shares;
    let write = &tested.firmware.write.shares;
    let hold =
        |shares: &boardlab_sata::Shares| float(shares.hold) / float(shares.total().max(1)) * 100.0;
    let clock = float(facts.scenario.host.speed.dword_clock().get());
    Ok(format!(
        "What limits the X25-E. {} leave {:.1} dwords ({}) between two Data FISes, and the rows of table 5-1 leave {least:.0} to {most:.0}: \
         three round trips of X_RDY, R_OK and SYNC through both ends. The latency of the host is fitted to that, and with it \
         the link alone reads at {} and writes, with a DMA Activate before each Data FIS, at {}. So reads are the link's \
         rate: HOLD is {:.2} % of their time, and {:.1} % of the time of writes, which the flash limits.",
        mb_per_s(rate),
        gap(facts, rate),
        micros(gap(facts, rate) / clock),
        mb_per_s(float(tested.link.rate(Direction::Read))),
        mb_per_s(float(tested.link.rate(Direction::Write))),
        hold(read),
        hold(write),
    ))
}

/// The rows of a table of loops, ours off the print; and the largest of them by size.
fn offs(
    facts: &Facts<'_>,
    reference: &Reference,
    table: &str,
    tested: &DriveRun,
) -> Result<[f64; 2], Error> {
    let print = means::printed(reference, table, facts.loops())?;
    let ours = tables::rows(&tested.firmware, facts.loops());
    let most = |at: usize| {
        let each = ours.iter().zip(&print).map(|(ours, print)| off(ours[at], print[at]));
        each.fold(0.0_f64, |most, one| if one.abs() > most.abs() { one } else { most })
    };
    Ok([most(0), most(1)])
}

/// How near the model comes, and with how many parameters.
fn near(run: &RunResult, facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let Measurements { intel, g_monster, swept, .. } = facts.measured;
    let first = offs(facts, reference, "table5-1", intel)?;
    let second = offs(facts, reference, "table5-2", g_monster)?;
    let [transcend, buffalo] = swept;
    let mut whole = Vec::new();
    for (row, pair) in [("transcend", &transcend.firmware), ("buffalo", &buffalo.firmware)] {
        for (column, ran) in pair.named() {
            whole.push(off(ran.rate(), reference.number("table7-1", row, column)?));
        }
    }
    let worst = whole.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
    let fitted = |id: &str| {
        let all = run.parameters.iter().filter(|one| one.origin == Origin::Fitted);
        all.filter(|one| one.key.starts_with(id)).count()
    };
    let cells = 2 * 2 * facts.loops().len() + whole.len();
    Ok(format!(
        "How near. The {} rows of table 5-1 are met within {} (write) and {} (read), those of table 5-2 within {} and {}, the whole \
         drives of table 7-1 within {:.2} %. Fitted are {} parameters: {} of the host, {} of the X25-E, {} of the G-Monster V2, {} of the \
         Transcend and {} of the Buffalo; they have {cells} cells to explain. Which, and to what, is in table fitted.",
        facts.loops().len(),
        percent(first[0]),
        percent(first[1]),
        percent(second[0]),
        percent(second[1]),
        worst * 100.0,
        fitted(""),
        fitted("board."),
        fitted("drives.intel-x25-e."),
        fitted("drives.g-monster-v2."),
        fitted("drives.transcend."),
        fitted("drives.buffalo."),
    ))
}

/// How far the printed rows are from each other.
fn spread(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let mut told = Vec::new();
    for (table, name) in [("table5-1", "X25-E"), ("table5-2", "G-Monster V2")] {
        let rows = means::printed(reference, table, facts.loops())?;
        let [write, read] = means::deviation(&rows);
        told.push(format!(
            "{name} {:.2} MB/s (write) and {:.2} MB/s (read)",
            write / 1e6,
            read / 1e6
        ));
    }
    Ok(format!(
        "Each row was run once. The standard deviation of the printed rows is {}; a model without chance gives one rate where they \
         scatter, and is taken to agree within {:.1} %.",
        told.join(", "),
        NEAR * 100.0,
    ))
}

/// Why the writes of the X25-E get slower in longer runs.
fn pool(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let part = &facts.scenario.drives.intel;
    let tested = &facts.measured.intel;
    let block = part.managed.page * u64::from(part.managed.flash.block_pages(part.managed.page));
    let blocks = part.managed.policies.idle_blocks;
    let rows = tables::rows(&tested.firmware, facts.loops());
    let (first, last) =
        (rows.first().map_or(f64::NAN, |row| row[0]), rows.last().map_or(f64::NAN, |row| row[0]));
    let print = means::printed(reference, "table5-1", facts.loops())?;
    let printed = |row: Option<&[f64; 2]>| mb_per_s(row.map_or(f64::NAN, |row| row[0]));
    Ok(format!(
        "Longer runs of the X25-E write more slowly: {} in the first row of the print and {} in the last. Here a drive at rest keeps {blocks} \
         superblocks of {:.1} MB erased, {:.0} MB in all; behind them the erase of each ({}) is in the way of writes. That gives {} and {}. \
         The rows between scatter about it.",
        printed(print.first()),
        printed(print.last()),
        real(block) / 1e6,
        real(block) / 1e6 * f64::from(blocks),
        part.managed.flash.native.erase,
        mb_per_s(first),
        mb_per_s(last),
    ))
}

/// One pause explains three rows of table 5-2.
fn pause(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let print = means::printed(reference, "table5-2", facts.loops())?;
    let bytes = |loops: u64| facts.command() * float(loops);
    let rows = || facts.loops().iter().zip(&print);
    let usual = rows().rfind(|(loops, _)| **loops <= 64).map_or(f64::NAN, |row| row.1[1]);
    let extra = rows().filter(|(loops, _)| **loops > 64).map(|(loops, row)| {
        let more = bytes(*loops) / row[1] - bytes(*loops) / usual;
        format!("{more:.2} s for {loops} loops")
    });
    let state = facts.scenario.drives.g_monster.housekeeping.map_or_else(
        || "the part file names no such state".to_owned(),
        |pause| format!("the state `housekeeping` of the part file: once {} were read, the drive pauses for {}", pause.after, pause.span),
    );
    Ok(format!(
        "The dip of the G-Monster's reads at 128 loops is a pause, not a rate. Against the rate of the shorter rows ({}) the print takes {} more: \
         about the same time in each. It is {state}. What the drive did then is not known; nothing else was changed for these rows.",
        mb_per_s(usual),
        boardlab_result::prose::listed(&extra.collect::<Vec<_>>()),
    ))
}

/// Figures 4-1 and 4-2 against the first rows.
fn single(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let write = reference.number("figure4", "intel-x25-e", "write")?;
    let looped = reference.number("table5-1", "1", "write")?;
    let late = facts.command() / looped - facts.command() / write;
    let rounded = facts.command() / looped - facts.command() / (write - 0.5e6);
    let cut = facts.command() / looped - facts.command() / (write + 1e6);
    let second = reference.number("figure4", "g-monster-v2", "write")?;
    let second_looped = reference.number("table5-2", "1", "write")?;
    let ours = &facts.measured.g_monster.single.write;
    let cut_off = reference.number("figure4", "intel-x25-e", "read")?;
    let read = reference.number("table5-1", "1", "read")?;
    Ok(format!(
        "Single commands are printed without decimals, and cut off: {:.0} stands for the {} of a loop of one. The X25-E's {:.0} against {} in a loop \
         of one are {} a command ({} if it was rounded, up to {} if it was cut), somewhat more than the overhead of firmware ({}). The G-Monster's {:.0} is below its {} in a loop of one, although that \
         includes the overhead: another state of the drive; here it is {}.",
        cut_off / 1e6,
        mb_per_s(read),
        write / 1e6,
        mb_per_s(looped),
        micros(late),
        micros(rounded),
        micros(cut),
        told::span(facts.scenario.host.firmware.write),
        second / 1e6,
        mb_per_s(second_looped),
        mb_per_s(ours.rate()),
    ))
}

/// What the makers promise.
fn rating(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let rated = reference.number("table2-1", "intel-x25-e", "write")?;
    let measured = reference.number("figure4", "intel-x25-e", "write")?;
    let (low, read) = (
        reference.number("table2-1", "transcend", "write")?,
        reference.number("table2-1", "transcend", "read")?,
    );
    let [transcend, _] = &facts.measured.swept;
    Ok(format!(
        "Makers' rates are neither sums nor limits: the X25-E writes at {} of its rated {} ({}), the Transcend at {} and {} of a printed {} and {}. \
         Table 2-2 prints one rate for both low-cost drives, or for the first: it does not say.",
        mb_per_s(measured),
        mb_per_s(rated),
        percent(measured / rated - 1.0),
        mb_per_s(transcend.firmware.write.rate()),
        mb_per_s(transcend.firmware.read.rate()),
        mb_per_s(low),
        mb_per_s(read),
    ))
}

/// The printed means, and what they should be.
fn mean(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let mut told = Vec::new();
    for table in ["table5-1", "table5-2"] {
        let rows = means::printed(reference, table, facts.loops())?;
        let (plain, bytes) = (means::arithmetic(&rows), means::harmonic(&rows, facts.loops()));
        for (at, column) in ["write", "read"].into_iter().enumerate() {
            let print = reference.number(table, "mean", column)?;
            told.push(format!(
                "{table} {column} {} (recomputed {}) against {}",
                mb_per_s(print),
                mb_per_s(plain[at]),
                mb_per_s(bytes[at])
            ));
        }
    }
    Ok(format!(
        "The printed means are those of the rows, in which 32 MB count as much as 16 GB. All bytes over all time, the harmonic mean weighted \
         by bytes, gives: {}.",
        told.join("; "),
    ))
}

/// What is written on the screens and drives.
fn labels(facts: &Facts<'_>) -> String {
    let drives = &facts.scenario.drives;
    let capacity = |part: &boardlab_parts::drive::DrivePart| real(part.capacity()) / 1e9;
    format!(
        "Names and sizes. The screen of figure 4-1 shows model \"SSSDA2SH032G1GN\", table 2-1 says SSDSA2SH032G1: an S too many. Figure 4-2 shows \
         125 GB for a drive sold as 128 GB; here it has {} sectors, {:.1} GB of 10^9 bytes. The X25-E has {:.1} GB, the low-cost drives {:.2} GB each: one of 32 GB and one \
         of 30 GB with the same number of sectors.",
        drives.g_monster.drive.sectors,
        capacity(&drives.g_monster),
        capacity(&drives.intel),
        capacity(&drives.transcend),
    )
}
