//! Board files of a simulated computer: core, caches, clocks, memory.
//!
//! Layer: rank 9. Main type: [`Computer`]; functions: [`open`], which finds the board and applies `--set`, and [`read`].
//! What the values mean is in [`boardlab_arm926::Config`] and in the board's crate.

use boardlab_arm926::config::TlbIndex;
use boardlab_arm926::{Config, Waits, config::CacheSize};
use boardlab_document::error::Error;
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Field, Read, Reading, Section, fields, keys, section};
use boardlab_parts::catalog;
use boardlab_realview::{Settings, Timing};
use boardlab_sim::{Bytes, Hertz};
use std::num::NonZeroU8;

/// The text that names the default board.
const SCENARIO: &str = "board = \"realview-eb\"\n";
/// The slowest and the fastest clock of the core.
const CLOCKS: [Hertz; 2] = [Hertz::from_hz(1_000_000), Hertz::from_hz(1_000_000_000)];
/// Memory at least, and at most: what the board decodes from address 0 on.
const MEMORY: [Bytes; 2] = [Bytes::mib(1), Bytes::mib(256)];
/// Wait states at most: more than a slave may take by the AHB specification's advice of 16 (IHI 0011A, 3.9).
const WAITS: u64 = 255;
const INDICES: [(&str, TlbIndex); 2] = [("low", TlbIndex::Low), ("folded", TlbIndex::Folded)];

/// A computer with an ARM926EJ-S.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computer {
    /// What it is, one line.
    pub name: String,
    /// All that can be chosen of it.
    pub settings: Settings,
}

/// The board of a run, a built-in one unless `board` is among the arguments of all `--set`, with those applied.
///
/// # Errors
/// What is wrong with a file or an argument.
pub fn open<S: AsRef<str>>(set: &[S]) -> Result<Reading<Computer>, Error> {
    of(&document(set)?)
}

/// The document of a run, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with a file or an argument.
pub fn document<S: AsRef<str>>(set: &[S]) -> Result<Document, Error> {
    catalog::compose_source(&Source::new(Kind::Scenario, "os", SCENARIO), set)
}

/// The board of the `document` of a run.
///
/// # Errors
/// As of [`read`].
pub fn of(document: &Document) -> Result<Reading<Computer>, Error> {
    document.read(|top| {
        let computer = top.section("board", read);
        top.finish()?;
        computer
    })
}

/// Reads a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without a core that runs programs.
pub fn read(section: Section<'_>) -> Read<Computer> {
    section.needs(
        &["core"],
        "describes no core that runs programs",
        "a board with [core]",
        "use --set board=realview-eb, or add what that board has: boardlab list keys os",
    )?;
    let name = section.required::<String>("title");
    let core = section.section("core", Core::read);
    let memory = section.section("memory", Memory::read);
    let waits = section.only("devices", "waits", |waits| waits.up_to(WAITS));
    let start = section.only("rtc", "start", |start| start);
    section.finish()?;
    let (core, memory, waits) = (core?, memory?, waits?);
    let register = Waits { first: waits, next: waits };
    let timing = Timing { read: memory.read, write: memory.write, register };
    let (memory, start) = (memory.size, start?);
    let settings = Settings { core: core.config, core_clock: core.clock, memory, timing, start };
    Ok(Computer { name: name?, settings })
}

section! {
    /// The section `core`.
    struct Core(section) {
        clock: Hertz => within(CLOCKS[0], CLOCKS[1]),
        config: Config = keys!(section => Config {
            bus_ratio: NonZeroU8 = {
                let ratio = u8::required(section.key("bus_ratio").within(1, 16));
                ratio.map(|ratio| NonZeroU8::new(ratio).expect("at least 1"))
            },
            instruction_cache: CacheSize => with(cache),
            data_cache: CacheSize => with(cache),
            tlb_index: TlbIndex => one_of(INDICES),
            high_vectors: bool,
            ..Config::default()
        }),
    }
}

section! {
    /// The section `memory`.
    struct Memory(section) {
        size: Bytes => within(MEMORY[0], MEMORY[1]),
        read: Waits => section(waits),
        write: Waits => section(waits),
    }
    check(size) {
        if !size.get().is_power_of_two() {
            let expected = "a power of two from 1 MiB to 256 MiB";
            let help = "such as \"128 MiB\", which is what QEMU is given for this board";
            return Err(section.refuse("size", "is no power of two", expected, help));
        }
    }
}

fn waits(section: Section<'_>) -> Read<Waits> {
    fields!(section => Waits { first: u16 => up_to(WAITS), next: u16 => up_to(WAITS), })
}

fn cache(section: &Section<'_>, key: &str) -> Read<CacheSize> {
    let size = section.required::<Bytes>(key)?;
    let kib = Some(size.get()).filter(|size| size % 1024 == 0).map(|size| size / 1024);
    let made = kib.and_then(|kib| CacheSize::from_kib(u32::try_from(kib).ok()?).ok());
    made.ok_or_else(|| {
        section.refuse(
            key,
            "is no size that the core is made with",
            "4, 8, 16, 32, 64 or 128 KiB",
            "caches of this core are powers of two (DDI 0198D, 4.1)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_board_is_a_computer_and_every_number_has_a_source() {
        let reading = open::<&str>(&[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(reading.value.settings, Settings::default(), "the board's own defaults");
        assert!(reading.parameters.iter().all(|parameter| !parameter.source.is_empty()));
        assert!(reading.parameters.iter().any(|parameter| parameter.key == "board.core.clock"));
    }

    #[test]
    fn a_set_changes_the_board_and_is_told() {
        let set = ["board.core.clock=266 MHz", "board.core.instruction_cache=32 KiB"];
        let reading = open(&set).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(reading.value.settings.core_clock, Hertz::from_hz(266_000_000));
        assert_eq!(reading.value.settings.core.instruction_cache.kib(), 32);
        let told = reading.parameters.iter().filter(|parameter| parameter.source == "--set");
        assert_eq!(told.count(), 2);
    }

    #[test]
    fn what_no_core_has_is_refused_with_what_is_due() {
        for (set, due) in [
            ("board.core.data_cache=12 KiB", "4, 8, 16, 32, 64 or 128 KiB"),
            ("board.core.tlb_index=random", "low, folded"),
            ("board.memory.size=512 MiB", "256 MiB"),
            ("board.memory.size=200 MB", "a power of two"),
            ("board.core.clok=1 MHz", "clock"),
            ("board=ml505", "a board with [core]"),
        ] {
            let error = open(&[set]).err().unwrap_or_else(|| panic!("{set}")).to_string();
            assert!(error.contains(due), "{set}: {error}");
        }
    }
}
