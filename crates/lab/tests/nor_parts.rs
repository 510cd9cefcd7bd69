//! The built-in NOR parts: each is written, answers the CFI query as its file says, and takes the
//! times of its data sheet.
//!
//! Expected figures are repeated here from data sheets, not computed from the files.

use boardlab_document::source::Kind;
use boardlab_document::{Document, Reading};
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::driver::{self, CfiInfo};
use boardlab_nor::part::{Boot, BusWidth, Region};
use boardlab_nor::{Board, Bus, BusTiming, ChipIndex, Host, HostTiming, NorMtd, Part};
use boardlab_parts::catalog;
use boardlab_parts::nor::part;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock, Duration, Hertz, QuantileTable, Rate, Seed};
use std::sync::Arc;

const WITHOUT_CFI: &str = "am29lv-no-cfi";

/// A built-in NOR part by name.
fn read(name: &str) -> Reading<Part> {
    let source = catalog::find(Kind::Part, name, None).unwrap_or_else(|error| panic!("{error}"));
    let document = Document::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    document.read(part::read).unwrap_or_else(|error| panic!("{error}"))
}

/// All built-in NOR parts with their names.
fn parts() -> Vec<(&'static str, Part)> {
    let nor = catalog::parts().iter().filter(|file| file.path.starts_with("parts/nor/"));
    nor.map(|file| (file.name, read(file.name).value)).collect()
}

fn parts_with_cfi() -> impl Iterator<Item = (&'static str, Part)> {
    parts().into_iter().filter(|(_, part)| part.cfi.is_some())
}

fn bus(part: &Part) -> Bus {
    let cycle = Duration::from_nanos(100);
    let chip = Chip::new(Arc::new(part.clone()), Seed::new(1)).expect("checked when it was read");
    Bus::new(vec![chip], BusTiming { read_cycle: cycle, write_cycle: cycle })
}

fn mtd(part: &Part, kind: driver::Kind, clock: &mut Clock) -> NorMtd {
    let timing = HostTiming {
        time_base: Hertz::from_hz(33_300_000),
        jiffies: Hertz::from_hz(1_000),
        wake_latency: QuantileTable::constant(Duration::ZERO),
        context_switch: Duration::ZERO,
        copy_rate: Rate::new(Bytes::mib(4), Duration::from_millis(11)).expect("not zero"),
        call: Duration::ZERO,
        split: Duration::ZERO,
    };
    let host = Host::new(timing, Seed::new(1).stream("host"));
    NorMtd::attach(kind, Board::new(bus(part), host), clock).expect("a part with CFI")
}

/// Reads a word of the CFI or autoselect table at a word address.
fn table_word(bus: &mut Bus, clock: &mut Clock, at: u32) -> u16 {
    let scale = if bus.part().width == BusWidth::X8 { 2 } else { 1 };
    bus.read(clock, ChipIndex(0), Address(at * scale))
}

fn run(set: &[&str]) -> RunResult {
    let run = registry::perform(Action::Run, "nor-write", set, Seed::new(1), &|_| ());
    run.unwrap_or_else(|error| panic!("{set:?}: {error}"))
}

fn value(run: &RunResult, table: &str, row: &str, column: &str) -> f64 {
    let cell = run.table(table).and_then(|table| table.cell(row, column));
    let value = cell.and_then(|cell| cell.value.as_f64());
    value.unwrap_or_else(|| panic!("{table} {row} {column} holds no number"))
}

#[test]
fn the_catalogue_holds_a_part_of_every_kind() {
    let names: Vec<_> = parts().into_iter().map(|(name, _)| name).collect();
    let expected = [
        WITHOUT_CFI,
        "m29ew",
        "nor-evaluation",
        "s29gl01gp",
        "s29gl01gp-x8",
        "s29gl01gs",
        "sst-8mib-bottom",
        "sst-8mib-top",
    ];
    for name in expected {
        assert!(names.contains(&name), "{name}");
    }
    let without: Vec<_> = parts().into_iter().filter(|(_, part)| part.cfi.is_none()).collect();
    assert_eq!(without.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [WITHOUT_CFI]);
}

#[test]
fn every_figure_of_a_part_names_its_source() {
    for (name, _) in parts() {
        for parameter in read(name).parameters {
            let source = parameter.source.trim();
            assert!(source.len() >= 4, "{name}: {}: {source:?}", parameter.key);
        }
    }
}

#[test]
fn every_part_with_cfi_is_written_and_read_back() {
    const BYTES: u64 = 64 << 10;
    for (name, part) in parts_with_cfi() {
        let chosen = format!("part={name}");
        let run = run(&[&chosen, "workload.bytes=64 KiB", "workload.pattern=random"]);
        let buffer = part.write_buffer.unwrap_or(Bytes::new(part.width.bytes()));
        #[allow(clippy::cast_precision_loss, reason = "a small count")]
        let operations = (BYTES / buffer.get()) as f64;
        for (table, row, expected) in [
            ("table4", "U-4", operations),
            ("table4", "U-5", operations),
            ("table4", "U-6", operations),
            ("table5", "L-3", 1.0),
            ("table5", "L-7", operations),
            ("table6", "L-7", operations),
        ] {
            let count = value(&run, table, row, "count");
            assert!((count - expected).abs() < 0.5, "{name} {table} {row}: {count}");
        }
        // Command, every word and its confirmation, or four cycles a word; further cycles are polls.
        let cycles = match part.write_buffer {
            Some(buffer) => buffer.get() / part.width.bytes() + 5,
            None => 4,
        };
        #[allow(clippy::cast_precision_loss, reason = "a small count")]
        let least = operations * cycles as f64;
        assert!(value(&run, "what-if", "stock", "bus_cycles_count") >= least, "{name}");
    }
}

#[test]
fn the_time_of_a_write_is_at_least_that_of_its_programs() {
    for (name, part) in parts_with_cfi() {
        let chosen = format!("part={name}");
        let run = run(&[&chosen, "workload.bytes=16 KiB", "workload.pattern=random"]);
        let time = match part.write_buffer {
            Some(_) => &part.timing.buffer_program.time,
            None => &part.timing.word_program.time,
        };
        let (least, mean) = (time.min().as_micros_f64(), time.mean().as_micros_f64());
        let wait = |column| value(&run, "table4", "U-6", column) / 1e3;
        // A tick of the time base is 30 ns.
        assert!(wait("min_ns") >= least - 0.04, "{name}: {} us", wait("min_ns"));
        let late = wait("mean_ns") - mean;
        assert!((-0.05 * mean..=0.05 * mean + 3.0).contains(&late), "{name}: {late} us late");
    }
}

#[test]
fn the_chip_tells_what_its_file_says() {
    for (name, part) in parts_with_cfi() {
        let (mut bus, mut clock) = (bus(&part), Clock::new());
        let found = driver::probe(&mut bus, &mut clock).unwrap_or_else(|e| panic!("{name}: {e}"));
        let cfi = part.cfi.unwrap();
        let times = cfi.times;
        let power = |exponent: u8| 1_u64 << exponent;
        let expected = CfiInfo {
            word_typical_us: power(times.word_typical),
            word_max_us: power(times.word_typical + times.word_max),
            buffer_typical_us: power(times.buffer_typical),
            buffer_max_us: power(times.buffer_typical + times.buffer_max),
            erase_typical_ms: power(times.erase_typical),
            erase_max_ms: power(times.erase_typical + times.erase_max),
            write_buffer: part.write_buffer,
            size: part.size(),
            regions: part.regions.iter().map(|region| (region.count, region.size)).collect(),
            primary_minor: cfi.primary_minor - b'0',
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_rest_of_the_query_follows_the_file_too() {
    for (name, part) in parts_with_cfi() {
        let (mut bus, mut clock) = (bus(&part), Clock::new());
        let scale = if part.width == BusWidth::X8 { 2 } else { 1 };
        bus.write(&mut clock, ChipIndex(0), Address(0x55 * scale), 0x98);
        let cfi = part.cfi.unwrap();
        let mut at = |address| table_word(&mut bus, &mut clock, address);
        let volts = [0x1B, 0x1C, 0x1D, 0x1E].map(&mut at);
        let [low, high] = cfi.vcc;
        let [vpp_low, vpp_high] = cfi.vpp;
        assert_eq!(volts, [low, high, vpp_low, vpp_high].map(u16::from), "{name}");
        assert_eq!(at(0x28), cfi.interface, "{name}");
        let buffer = part.write_buffer.map_or(0, |size| size.get().trailing_zeros());
        assert_eq!(u32::from(at(0x2A)), buffer, "{name}");
        assert_eq!([0x40, 0x41, 0x42].map(&mut at), [0x50, 0x52, 0x49], "{name}: PRI");
        let boot = match part.boot {
            Boot::Uniform => 4,
            Boot::Bottom => 2,
            Boot::Top => 3,
        };
        assert_eq!(at(0x4F), boot, "{name}");
    }
}

#[test]
fn the_chip_gives_the_identity_of_its_file() {
    for (name, part) in parts() {
        let (mut bus, mut clock) = (bus(&part), Clock::new());
        let unlock = match part.width {
            BusWidth::X8 => [0xAAA, 0x555],
            BusWidth::X16 => [0x555, 0x2AA],
        };
        for (address, value) in [(unlock[0], 0xAA), (unlock[1], 0x55), (unlock[0], 0x90)] {
            bus.write(&mut clock, ChipIndex(0), Address(address), value);
        }
        let lines = if part.width == BusWidth::X8 { 0xFF } else { 0xFFFF };
        let identity = &part.identity;
        let [second, third] = identity.device_extended.unwrap_or([0, 0]);
        let expected = [identity.manufacturer, identity.device, second, third];
        let found = [0x00, 0x01, 0x0E, 0x0F].map(|at| table_word(&mut bus, &mut clock, at));
        assert_eq!(found, expected.map(|code| code & lines), "{name}");
    }
}

#[test]
fn the_mean_of_a_time_is_the_typical_one_of_the_data_sheet() {
    // Word and buffer in microseconds, sector in milliseconds.
    for (name, word, buffer, sector) in [
        ("s29gl01gs", 125.0, Some(340.0), 275.0),
        ("s29gl01gp", 60.0, Some(480.0), 500.0),
        ("s29gl01gp-x8", 60.0, Some(480.0), 500.0),
        ("m29ew", 210.0, Some(901.0), 800.0),
        ("sst-8mib-top", 7.0, None, 18.0),
        ("sst-8mib-bottom", 7.0, None, 18.0),
        (WITHOUT_CFI, 11.0, None, 700.0),
    ] {
        let timing = read(name).value.timing;
        let close = |found: Duration, expected: f64| {
            let found = found.as_micros_f64();
            assert!((found / expected - 1.0).abs() < 0.001, "{name}: {found} us");
        };
        close(timing.word_program.time.mean(), word);
        close(timing.sector_erase.time.mean(), sector * 1e3);
        if let Some(buffer) = buffer {
            close(timing.buffer_program.time.mean(), buffer);
        }
    }
}

#[test]
fn no_operation_may_last_longer_than_cfi_tells() {
    for (name, part) in parts_with_cfi() {
        let (times, timing) = (part.cfi.unwrap().times, &part.timing);
        let power = |typical: u8, max: u8| 1_u64 << (typical + max);
        let word = Duration::from_micros(power(times.word_typical, times.word_max));
        let erase = Duration::from_millis(power(times.erase_typical, times.erase_max));
        assert!(timing.word_program.max <= word, "{name}: word");
        assert!(timing.sector_erase.max <= erase, "{name}: erase");
        if part.write_buffer.is_some() {
            let buffer = Duration::from_micros(power(times.buffer_typical, times.buffer_max));
            assert!(timing.buffer_program.max <= buffer, "{name}: buffer");
        }
    }
}

#[test]
fn one_word_of_a_buffer_takes_about_as_long_as_a_word() {
    for name in ["s29gl01gp", "m29ew"] {
        let part = read(name).value;
        let words = part.write_buffer.unwrap().get() / part.width.bytes();
        let full = part.timing.buffer_program.time.mean();
        let overhead = part.timing.buffer_overhead;
        let one = (overhead + (full - overhead) / words).as_micros_f64();
        let word = part.timing.word_program.time.mean().as_micros_f64();
        assert!((one - word).abs() < 1.5, "{name}: {one} us, a word {word} us");
    }
    // The data sheet has 160 us for 32 of 512 bytes.
    let timing = read("s29gl01gs").value.timing;
    let share = (timing.buffer_program.time.mean() - timing.buffer_overhead) * 32 / 512;
    let part = (timing.buffer_overhead + share).as_micros_f64();
    assert!((part - 160.0).abs() < 0.5, "{part} us");
}

#[test]
fn the_boot_parts_mirror_each_other() {
    let region = |count, kib| Region { count, size: Bytes::kib(kib) };
    let mut top = read("sst-8mib-top").value;
    let bottom = read("sst-8mib-bottom").value;
    assert_eq!(top.regions, [region(127, 64), region(1, 32), region(2, 8), region(1, 16)]);
    assert_eq!((top.boot, bottom.boot), (Boot::Top, Boot::Bottom));
    assert_eq!((top.size(), top.write_buffer), (Bytes::mib(8), None));
    top.regions.reverse();
    (top.boot, top.name) = (bottom.boot, bottom.name.clone());
    assert_eq!(top, bottom);
}

#[test]
fn every_sector_of_a_boot_part_is_erased_alone() {
    for name in ["sst-8mib-top", "sst-8mib-bottom"] {
        let part = read(name).value;
        let mut clock = Clock::new();
        let mut mtd = mtd(&part, driver::Kind::Linux61, &mut clock);
        let sizes = part.regions.iter().flat_map(|region| (0..region.count).map(|_| region.size));
        let mut sectors = Vec::new();
        let mut start = Bytes::ZERO;
        for size in sizes {
            sectors.push((start, start + size - Bytes::new(1)));
            start += size;
        }
        for &(first, last) in &sectors {
            for at in [first, last] {
                mtd.program(&mut clock, at, &[0x00]).unwrap();
            }
        }
        for (index, _) in (0..).zip(&sectors) {
            mtd.erase(&mut clock, BlockIndex(index)).unwrap();
            let erased = usize::try_from(index).unwrap();
            for (other, &(first, last)) in sectors.iter().enumerate().skip(erased).take(2) {
                let expected = if other <= erased { 0xFF } else { 0x00 };
                for at in [first, last] {
                    let mut byte = [0x55];
                    mtd.read(&mut clock, at, &mut byte).unwrap();
                    assert_eq!(byte[0], expected, "{name}: sector {index}, offset {at}");
                }
            }
        }
    }
}

#[test]
fn a_write_across_sectors_of_unequal_size_arrives() {
    const LENGTH: u64 = 49_155;
    for (name, offset) in [("sst-8mib-bottom", 16 << 10), ("sst-8mib-top", (8 << 20) - LENGTH)] {
        for kind in [driver::Kind::UBoot2013, driver::Kind::Linux34, driver::Kind::Linux61] {
            let mut clock = Clock::new();
            let mut mtd = mtd(&read(name).value, kind, &mut clock);
            let data: Vec<u8> = (0..=u8::MAX).cycle().take(Bytes::new(LENGTH).to_usize()).collect();
            mtd.program(&mut clock, Bytes::new(offset), &data).unwrap();
            let mut found = vec![0; data.len()];
            mtd.read(&mut clock, Bytes::new(offset), &mut found).unwrap();
            assert!(found == data, "{name} {kind:?}");
        }
    }
}

#[test]
fn a_part_without_cfi_is_refused_and_told_why() {
    for action in [Action::Run, Action::Tune] {
        let set = [format!("part={WITHOUT_CFI}"), "workload.bytes=64 KiB".into()];
        let failure =
            registry::perform(action, "nor-write", &set, Seed::new(1), &|_| ()).unwrap_err();
        assert!(matches!(failure, Failure::Input(_)), "{failure}");
        let message = failure.to_string();
        assert!(message.contains("CFI"), "{message}");
        assert!(message.contains("boardlab list parts"), "{message}");
    }
    let (mut bus, mut clock) = (bus(&read(WITHOUT_CFI).value), Clock::new());
    let error = driver::probe(&mut bus, &mut clock).unwrap_err();
    assert!(error.to_string().contains("no CFI table"), "{error}");
}

#[test]
fn more_than_the_part_holds_is_refused() {
    let set = ["part=sst-8mib-top", "workload.bytes=9 MiB"];
    let failure =
        registry::perform(Action::Run, "nor-write", &set, Seed::new(1), &|_| ()).unwrap_err();
    assert!(failure.to_string().contains("8 MiB"), "{failure}");
}

#[test]
fn the_tuner_serves_a_part_whose_erase_is_short() {
    let set = ["part=sst-8mib-top", "workload.bytes=64 KiB"];
    let tuned = registry::perform(Action::Tune, "nor-write", &set, Seed::new(1), &|_| ());
    let tuned = tuned.unwrap_or_else(|error| panic!("{error}"));
    let erase = |row, column| value(&tuned, "erase_wait", row, column) / 1e6;
    let mean = |row| erase(row, "mean_ns");
    let late = |row| erase(row, "overshoot_ns");
    // The erase itself lasts 15 to 21.6 ms, so two timer ticks at HZ 100 cost half as much again.
    assert!((15.0..=21.6).contains(&mean("u-boot")), "{} ms", mean("u-boot"));
    assert!(late("linux-hz100") > late("linux-hz250"), "{} ms", late("linux-hz100"));
    assert!(late("linux-hz250") > late("linux-hz1000"), "{} ms", late("linux-hz250"));
    assert!(late("recommended") < late("linux-hz1000"), "{} ms", late("recommended"));
    assert!(mean("recommended") < mean("linux-hz1000"));
    // All sectors there are: fewer than the trial asks for.
    let sectors = value(&tuned, "erase_wait", "recommended", "sectors_count");
    assert!((sectors - 131.0).abs() < 0.5, "{sectors}");
    let wait = value(&tuned, "optimum", "recommended", "wait_ns") / 1e3;
    assert!((5.0..=8.0).contains(&wait), "{wait} us before the first poll of a word");
}
