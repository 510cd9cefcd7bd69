//! The scenario of the context-switch experiment: which system on which board, and what is measured of it.
//!
//! Layer: rank 11. Main types: [`Scenario`] and its sections.

mod limits;
mod unused;

use boardlab_computer::board::{self, Computer};
use boardlab_computer::built_in;
use boardlab_document::{Read, Section, SourcedValue, section};
use boardlab_experiment::data_file;
use boardlab_parts::card::board::Slot;
use boardlab_parts::card::part::{self, CardPart};
use boardlab_realview::Program;
use boardlab_sd::Kind;
use boardlab_sim::{Bytes, Duration};
use std::borrow::Cow;
use std::path::PathBuf;
use unused::unused;

section! {
    /// A scenario of the context-switch experiment, checked. The kernel's path starts in the folder of the file
    /// that names it; if `--set` does, in the current folder.
    #[derive(Debug, Clone)]
    pub struct Scenario(section) {
        /// What it is, one line.
        pub title: String,
        /// The experiment that reads it.
        pub experiment: String,
        /// The board.
        pub computer as "board": Computer => section(board::read),
        /// Where the kernel is; nothing for the one that comes with boardlab.
        pub path: Option<PathBuf> = section.sourced("kernel").map(|named| kernel_path(&section, &named)),
        /// The kernel.
        pub kernel: Program = path.clone() => kernel_at,
        /// Table 1.
        pub published: Published,
        /// Rings of processes.
        pub ring: Ring,
        /// Latency to an interrupt.
        pub real_time: RealTime,
        /// How long interrupts are off.
        pub watched as "interrupts_off": Duration =>
            only("watched", |watched| watched.positive().up_to(limits::WATCHED)),
        /// Programs that are started.
        pub exec: Exec,
        /// The other machine: a command.
        pub qemu: String => only("command", |command| command),
    }
    check(exec) {
        unused(&section, exec)?;
    }
}

section! {
    /// Table 1: switches that wait for the timer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Published(section) {
        /// Switches.
        pub switches: u32 => within(2, limits::SWITCHES),
        /// From one timer interrupt to the next.
        pub tick: Duration => within(limits::TICK[0], limits::TICK[1]),
        /// How long after a timer interrupt the first switch is asked for, least first.
        pub phases: Vec<Duration>,
    }
    check(switches, tick, phases) {
        if switches % 2 != 0 {
            let help = "two processes take turns, and the first one begins and ends";
            return Err(section.refuse("switches", "is odd", "an even number", help));
        }
        let expected = format!("durations below {tick} that rise");
        let help = "the first switch is asked for so long behind a timer interrupt";
        rises(&section, "phases", phases, |phase| phase < tick, &expected, help)?;
    }
}

section! {
    /// Rings of processes that pass a token, each of which sums its working set.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Ring(section) {
        /// How many processes, fewest first.
        pub processes: Vec<u32> = section.required("processes").map(narrow),
        /// What each of them sums, least first.
        pub working_sets: Vec<Bytes>,
        /// Rounds of the token.
        pub laps: u32 => within(1, limits::TIMES),
    }
    check(processes, working_sets) {
        let [least, most] = limits::PROCESSES;
        let expected = format!("numbers from {least} to {most} that rise");
        let help = "each number is that of the processes of a ring of its own";
        let fits = |count: &u32| (least..=most).contains(&u64::from(*count));
        rises(&section, "processes", processes, fits, &expected, help)?;
        let expected = format!("whole KiB up to {} that rise", limits::WORKING_SET);
        let help = "each process of a ring reads so much at its turn";
        let fits = |set: &Bytes| *set <= limits::WORKING_SET && set.is_multiple_of(Bytes::kib(1));
        rises(&section, "working_sets", working_sets, fits, &expected, help)?;
    }
}

section! {
    /// Latency to an interrupt of the timer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RealTime {
        /// Interrupts.
        pub samples: u32 => within(1, limits::SAMPLES),
        /// From one to the next.
        pub tick: Duration => within(limits::TICK[0], limits::TICK[1]),
    }
}

section! {
    /// Programs that are started, from the RAM disk and from a card.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Exec(section) {
        /// How often each of them.
        pub times: u32 => within(1, limits::TIMES),
        /// How large they are, least first.
        pub sizes: Vec<Bytes>,
        /// The card.
        pub card: CardPart => section(part::read),
        /// What it is put into, as the system's driver uses it.
        pub slot: Slot,
    }
    check(sizes, card, slot) {
        let [least, most] = limits::PROGRAM;
        let expected = format!("whole KiB up to {most} that rise");
        let fits = |size: &Bytes| (least..=most).contains(size) && size.is_multiple_of(least);
        rises(&section, "sizes", sizes, fits, &expected, "each is the size of a program's file")?;
        if card.face.kind != Kind::Sd || slot.wiring(card).is_none() {
            let problem = "is no card for the system's slot";
            let expected = "an SD card with a bus mode that [exec.slot] has";
            let help = "`boardlab list` shows the built-in parts; all SD cards have the mode `default`";
            return Err(section.refuse("card", problem, expected, help));
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "a section passes what it read by value")]
fn kernel_at(section: &Section<'_>, path: Option<PathBuf>) -> Read<Program> {
    let bytes = match path {
        Some(path) => data_file::read(section, "kernel", &path, limits::KERNEL, "a kernel")?.into(),
        None => Cow::Borrowed(built_in::KERNEL),
    };
    Program::parse(&bytes).map_err(|error| {
        let help = "`built-in` is the kernel that comes with boardlab; `make -C os` builds it";
        section.refuse("kernel", &format!("is no kernel: {error}"), "an ELF file for ARM", help)
    })
}

fn kernel_path(section: &Section<'_>, named: &SourcedValue<String>) -> Option<PathBuf> {
    (named.value != built_in::NAME).then(|| data_file::path(section, "kernel", &named.value))
}

fn narrow(list: Vec<u64>) -> Vec<u32> {
    list.into_iter().map(|number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

/// Refuses a list of which an entry does not fit, or is not more than the one before.
fn rises<T: PartialOrd>(
    section: &Section<'_>,
    key: &str,
    list: &[T],
    fits: impl Fn(&T) -> bool,
    expected: &str,
    help: &str,
) -> Read<()> {
    if !list.is_empty() && list.iter().all(fits) && list.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    Err(section.refuse(key, "is no list of that kind", expected, help))
}
