//! Findings about the publication.
//!
//! Layer: rank 11. Main types: [`Facts`], and [`Explaining`], the findings that explain cells. Every number in a finding is
//! computed from the runs, the scenario or the reference. In reading order: this file (units, the link, the agreement
//! with the print), `sequencing` (the gain of the sequencer, and the overhead of 28-bit commands), `beyond` (questions
//! that the publication does not ask).

mod beyond;
mod sequencing;

use super::run::Measurements;
use super::run::measure::DriveRun;
use super::scenario::Scenario;
use super::tables;
use super::tables::means;
use super::tables::told::{self, mb_per_s, micros, percent};
use super::verdicts::off;
use boardlab_document::error::Error;
use boardlab_experiment::finding::on_print;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::{MIB, float, listed, real};
use boardlab_result::{Origin, RunResult};
use boardlab_sata::arithmetic::{Direction, Link};
use boardlab_sata::{LARGEST_DATA, SECTOR};

/// The basis of the findings.
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

/// The indices of the findings that explain cells.
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
    /// The finding on the mechanism by which a cell of table, row and column may differ.
    pub(super) fn of(&self, cell: (&str, &str, &str)) -> Option<usize> {
        match cell {
            ("table2-1", ..) => Some(self.rating),
            ("figure4", ..) => Some(self.truncated),
            ("table5-1", _, "write") => Some(self.pool),
            ("table5-2", "128" | "256" | "512" | "mean", "read") => Some(self.pause),
            ("table5-1" | "table5-2", ..) | ("table6-1", "firmware", _) => Some(self.spread),
            ("table6-1", ..) => Some(self.gain),
            ("table6-2", ..) => Some(self.unit),
            ("table7-1", ..) => Some(self.sweep),
            _ => None,
        }
    }
}

/// Adds all findings; returns those that explain cells if there is a print.
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
    run.answer = Some(on_print(run, link(facts, reference)?));
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

/// The meaning of MB in the tables and in the text.
fn unit(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let rate = reference.number("table5-1", "1", "read")?;
    let most = Link::new(facts.scenario.host.speed, 0).rate(Direction::Read);
    let binary = rate / 1e6 * MIB;
    let text = reference.number("table6-2", "command", "write")? / 1e9;
    let exact = facts.command() / 150e6;
    Ok(format!(
        "MB/s in the tables mean 10^6 bytes per second. A command of 32 MB is {:.0} bytes. The printed {} would be {} if they were MiB/s. \
         That is above the {} that the link carries without any wait (8 KiB in a Data FIS, 2 of 256 dwords ALIGN). The text below table \
         6-2 takes 32 MB for 32 x 10^6 bytes: a command then takes {:.0} ms at 150 MB/s, while exactly it is {:.1} ms ({}). Its shares of \
         {:.2} and {:.2} % become {:.3} and {:.3} %, which leaves the conclusion as it is.",
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

/// The dwords between two Data FISes of 8 KiB at `rate`.
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
        "The link limits the reads of the X25-E: HOLD takes {:.2} % of their time. It takes {:.1} % of the time of writes, which the flash \
         limits. The printed {} leave {:.1} dwords ({}) between two Data FISes, and the rows of table 5-1 leave {least:.0} to {most:.0}: \
         three round trips of X_RDY, R_OK and SYNC through both ends. The latency of the host is fitted to that. With it the link alone \
         reads at {} and writes, with a DMA Activate before each Data FIS, at {}.",
        hold(read),
        hold(write),
        mb_per_s(rate),
        gap(facts, rate),
        micros(gap(facts, rate) / clock),
        mb_per_s(float(tested.link.rate(Direction::Read))),
        mb_per_s(float(tested.link.rate(Direction::Write))),
    ))
}

/// The largest differences of the rows of a table of loops from the print, of writes and reads.
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

/// The agreement with the print, and the number of fitted parameters.
fn near(run: &RunResult, facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let Measurements { intel, g_monster, swept, .. } = facts.measured;
    let first = offs(facts, reference, "table5-1", intel)?;
    let second = offs(facts, reference, "table5-2", g_monster)?;
    let mut whole = Vec::new();
    for (row, swept) in ["transcend", "buffalo"].into_iter().zip(swept) {
        for (column, ran) in swept.firmware.named() {
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
        "The model meets the {} rows of table 5-1 within {} (write) and {} (read). It meets those of table 5-2 within {} and \
         {}, and the whole drives of table 7-1 within {:.2} %. It has {} fitted parameters: {} of the host, {} of the X25-E, \
         {} of the G-Monster V2, {} of the Transcend and {} of the Buffalo. They have {cells} cells to explain. Table \
         fitted lists the parameters and the cells that each was fitted to.",
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

/// The scatter of the printed rows.
fn spread(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let mut told = Vec::new();
    for (table, name) in [("table5-1", "X25-E"), ("table5-2", "G-Monster V2")] {
        let rows = means::printed(reference, table, facts.loops())?;
        let [write, read] = means::deviation(&rows);
        told.push(format!(
            "{:.2} MB/s (write) and {:.2} MB/s (read) for the {name}",
            write / 1e6,
            read / 1e6
        ));
    }
    Ok(format!(
        "Each printed row is a single run, and the model gives one rate where they scatter. The standard deviation of the \
         printed rows is {}.",
        told.join(" and "),
    ))
}

/// The cause of slower writes in longer runs of the X25-E.
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
        "Longer runs of the X25-E write more slowly: {} in the first printed row, {} in the last. The modelled drive at rest \
         keeps {blocks} superblocks of {:.1} MB erased, {:.0} MB in all. After these, the erase of each further superblock \
         ({}) delays writes. That gives {} and {}. The printed rows between scatter about such a fall.",
        printed(print.first()),
        printed(print.last()),
        real(block) / 1e6,
        real(block) / 1e6 * f64::from(blocks),
        part.managed.flash.native.erase,
        mb_per_s(first),
        mb_per_s(last),
    ))
}

/// The pause that explains three rows of table 5-2.
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
        |pause| {
            let (after, span) = (pause.after, pause.span);
            format!("the part file models it as `housekeeping`: once {after} were read, the drive pauses for {span}")
        },
    );
    Ok(format!(
        "The dip of the G-Monster's reads at 128 loops is a pause, not a lower rate. Compared with the rate of the shorter \
         rows ({}), the print takes {} more: about the same time in each. Here {state}. What the drive did in that time is \
         not known. Nothing else was changed for these rows.",
        mb_per_s(usual),
        listed(&extra.collect::<Vec<_>>()),
    ))
}

/// Figures 4-1 and 4-2 beside the first rows.
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
        "The rates of single commands have their decimals cut off: {:.0} stands for the {} of a loop of one. The difference \
         between the X25-E's {:.0} and its {} in a loop of one is {} a command ({} if it was rounded, up to {} if it was \
         cut), somewhat more than the overhead of firmware ({}). The G-Monster's {:.0} is below its {} in a loop of one, \
         although that includes the overhead. The drive was in another state then; the model gives {}.",
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

/// The rates that the makers state.
fn rating(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let rated = reference.number("table2-1", "intel-x25-e", "write")?;
    let measured = reference.number("figure4", "intel-x25-e", "write")?;
    let (low, read) = (
        reference.number("table2-1", "transcend", "write")?,
        reference.number("table2-1", "transcend", "read")?,
    );
    let [transcend, _] = &facts.measured.swept;
    Ok(format!(
        "Makers' rates are no limits: the X25-E writes at {}, where {} are rated ({}). The Transcend writes at {} and reads at {}, where \
         {} and {} are printed. Table 2-2 prints one rate for both low-cost drives or for the first of them; it does not say which.",
        mb_per_s(measured),
        mb_per_s(rated),
        percent(measured / rated - 1.0),
        mb_per_s(transcend.firmware.write.rate()),
        mb_per_s(transcend.firmware.read.rate()),
        mb_per_s(low),
        mb_per_s(read),
    ))
}

/// The printed means beside the means weighted by bytes.
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
        "The printed means average the rows, so that 32 MB count as much as 16 GB. They differ from all bytes over all time, \
         the harmonic mean weighted by bytes: {}.",
        told.join("; "),
    ))
}

/// The names and sizes on the screens and drives.
fn labels(facts: &Facts<'_>) -> String {
    let drives = &facts.scenario.drives;
    let capacity = |part: &boardlab_parts::drive::DrivePart| real(part.capacity()) / 1e9;
    format!(
        "Names and sizes do not always agree: figure 4-2 shows 125 GB for a drive that is sold as 128 GB. Here it has {} sectors, {:.1} GB of 10^9 \
         bytes. The X25-E has {:.1} GB and the low-cost drives have {:.2} GB each: one of 32 GB and one of 30 GB with the same number of sectors. \
         The screen of figure 4-1 shows the model \"SSSDA2SH032G1GN\", where table 2-1 says SSDSA2SH032G1: D and S have changed places.",
        drives.g_monster.drive.sectors,
        capacity(&drives.g_monster),
        capacity(&drives.intel),
        capacity(&drives.transcend),
    )
}
