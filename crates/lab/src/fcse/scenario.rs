//! The scenario of the context-switch experiment: which system on which board, and what is measured of it.
//!
//! Layer: rank 11. Main types: [`Scenario`] and its sections; function: [`read`].

mod limits;
mod unused;

use boardlab_computer::board::{self, Computer};
use boardlab_document::{Read, Section};
use boardlab_experiment::data_file;
use boardlab_parts::card::board::{Slot, slot};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::managed::values::count;
use boardlab_realview::Program;
use boardlab_sd::Kind;
use boardlab_sim::{Bytes, Duration};
use std::path::{Path, PathBuf};
use unused::unused;

/// A scenario of the context-switch experiment, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The board.
    pub computer: Computer,
    /// Where the kernel is.
    pub path: PathBuf,
    /// The kernel; nothing where it was not built.
    pub kernel: Option<Program>,
    /// Table 1.
    pub published: Published,
    /// Rings of processes.
    pub ring: Ring,
    /// Latency to an interrupt.
    pub real_time: RealTime,
    /// How long interrupts are off.
    pub watched: Duration,
    /// Programs that are started.
    pub exec: Exec,
    /// The other machine: a command.
    pub qemu: String,
}

/// Table 1: switches that wait for the timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Switches.
    pub switches: u32,
    /// From one timer interrupt to the next.
    pub tick: Duration,
    /// How long after a timer interrupt the first switch is asked for, least first.
    pub phases: Vec<Duration>,
}

/// Rings of processes that pass a token, each of which sums its working set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// How many processes, fewest first.
    pub processes: Vec<u32>,
    /// What each of them sums, least first.
    pub working_sets: Vec<Bytes>,
    /// Rounds of the token.
    pub laps: u32,
}

/// Latency to an interrupt of the timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealTime {
    /// Interrupts.
    pub samples: u32,
    /// From one to the next.
    pub tick: Duration,
}

/// Programs that are started, from the RAM disk and from a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// How often each of them.
    pub times: u32,
    /// How large they are, least first.
    pub sizes: Vec<Bytes>,
    /// The card.
    pub card: CardPart,
    /// What it is put into, as the system's driver uses it.
    pub slot: Slot,
}

/// Reads a whole scenario, its board mounted in place of the name. The kernel is looked for from `folder`, the scenario's; one that `--set` names,
/// from the current folder.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be; not that the kernel is missing.
pub fn read(section: &Section<'_>, folder: Option<&Path>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let computer = section.section("board", board::read);
    let path = section.sourced::<String>("kernel").map(|named| data_file::path(&named, folder));
    let published = section.section("published", |section| published(&section));
    let ring = section.section("ring", |section| ring(&section));
    let real_time = section.section("real_time", |section| real_time(&section));
    let watched = section.section("interrupts_off", |section| {
        let most = limits::WATCHED;
        let watched = section.key::<Duration>("watched").positive().within(Duration::ZERO, most);
        let watched = watched.required();
        section.finish()?;
        watched
    });
    let exec = section.section("exec", |section| exec(&section));
    let qemu = section.section("qemu", |section| {
        let command = section.required::<String>("command");
        section.finish()?;
        command
    });
    section.finish()?;
    let (_, _, path) = (title?, experiment?, path?);
    let kernel = path.exists().then(|| kernel(section, &path)).transpose()?;
    let exec = exec?;
    unused(section, &exec)?;
    Ok(Scenario {
        computer: computer?,
        path,
        kernel,
        published: published?,
        ring: ring?,
        real_time: real_time?,
        watched: watched?,
        exec,
        qemu: qemu?,
    })
}

fn kernel(section: &Section<'_>, path: &Path) -> Read<Program> {
    let bytes = data_file::read(section, "kernel", path, limits::KERNEL, "a kernel")?;
    Program::parse(&bytes).map_err(|error| {
        let help = "make -C os builds one in os/build/kernel.elf";
        section.refuse("kernel", &format!("is no kernel: {error}"), "an ELF file for ARM", help)
    })
}

fn published(section: &Section<'_>) -> Read<Published> {
    let switches = count(section, "switches", 2, limits::SWITCHES);
    let [least, most] = limits::TICK;
    let tick = section.key::<Duration>("tick").within(least, most).required();
    let phases = section.required::<Vec<Duration>>("phases");
    section.finish()?;
    let (switches, tick, phases) = (switches?, tick?, phases?);
    if switches % 2 != 0 {
        let help = "two processes take turns, and the first one begins and ends";
        return Err(section.refuse("switches", "is odd", "an even number", help));
    }
    if phases.is_empty() || !phases.is_sorted_by(|a, b| a < b) || phases.last() >= Some(&tick) {
        let expected = format!("durations below {tick} that rise");
        let help = "the first switch is asked for so long behind a timer interrupt";
        return Err(section.refuse("phases", "is no list of that kind", &expected, help));
    }
    Ok(Published { switches, tick, phases })
}

fn ring(section: &Section<'_>) -> Read<Ring> {
    let processes = section.required::<Vec<u64>>("processes");
    let working_sets = section.required::<Vec<Bytes>>("working_sets");
    let laps = count(section, "laps", 1, limits::TIMES);
    section.finish()?;
    let (processes, working_sets) = (processes?, working_sets?);
    let [least, most] = limits::PROCESSES;
    let fits = processes.iter().all(|count| (least..=most).contains(count));
    if processes.is_empty() || !fits || !processes.is_sorted_by(|a, b| a < b) {
        let expected = format!("numbers from {least} to {most} that rise");
        let help = "each number is that of the processes of a ring of its own";
        return Err(section.refuse("processes", "is no list of that kind", &expected, help));
    }
    let kib = Bytes::new(1_024);
    let fits =
        working_sets.iter().all(|set| *set <= limits::WORKING_SET && set.is_multiple_of(kib));
    if working_sets.is_empty() || !fits || !working_sets.is_sorted_by(|a, b| a < b) {
        let expected = format!("whole KiB up to {} that rise", limits::WORKING_SET);
        let help = "each process of a ring reads so much at its turn";
        return Err(section.refuse("working_sets", "is no list of that kind", &expected, help));
    }
    let narrow = |count: &u64| u32::try_from(*count).expect("within limits");
    Ok(Ring { processes: processes.iter().map(narrow).collect(), working_sets, laps: laps? })
}

fn real_time(section: &Section<'_>) -> Read<RealTime> {
    let samples = count(section, "samples", 1, limits::SAMPLES);
    let [least, most] = limits::TICK;
    let tick = section.key::<Duration>("tick").within(least, most).required();
    section.finish()?;
    Ok(RealTime { samples: samples?, tick: tick? })
}

fn exec(section: &Section<'_>) -> Read<Exec> {
    let times = count(section, "times", 1, limits::TIMES);
    let sizes = section.required::<Vec<Bytes>>("sizes");
    let card = section.section("card", part::read);
    let slot = section.section("slot", slot);
    section.finish()?;
    let (times, sizes, card, slot) = (times?, sizes?, card?, slot?);
    let [least, most] = limits::PROGRAM;
    let fits = |size: &Bytes| (least..=most).contains(size) && size.is_multiple_of(least);
    if sizes.is_empty() || !sizes.iter().all(fits) || !sizes.is_sorted_by(|a, b| a < b) {
        let expected = format!("whole KiB up to {most} that rise");
        let help = "each is the size of a program's file";
        return Err(section.refuse("sizes", "is no list of that kind", &expected, help));
    }
    if card.face.kind != Kind::Sd || slot.wiring(&card).is_none() {
        let problem = "is no card for the system's slot";
        let expected = "an SD card with a mode of the bus that [exec.slot] has";
        let help = "`boardlab list` shows the built-in parts; all SD cards have the mode `default`";
        return Err(section.refuse("card", problem, expected, help));
    }
    Ok(Exec { times, sizes, card, slot })
}
