//! The context-switch experiment: the system that comes with boardlab, on the simulated board.

use crate::runs::{number, ran};
use boardlab_computer::built_in;
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry;
use boardlab_result::{RunResult, Table, Verdict};
use boardlab_sim::Seed;
use std::sync::LazyLock;
use tempfile::NamedTempFile;

/// Small enough for a test; all else is as the built-in scenario has it.
const SMALL: [&str; 8] = [
    "published.phases=[\"0 ms\", \"70 ms\"]",
    "ring.processes=[2, 8]",
    "ring.working_sets=[\"0 KiB\", \"8 KiB\"]",
    "ring.laps=8",
    "real_time.samples=300",
    "interrupts_off.watched=3 ms",
    "exec.times=3",
    "exec.sizes=[\"8 KiB\", \"32 KiB\"]",
];

/// As little of each part as it takes.
const SMALLEST: [&str; 8] = [
    "published.phases=[\"0 ms\"]",
    "ring.processes=[2]",
    "ring.working_sets=[\"0 KiB\"]",
    "ring.laps=2",
    "real_time.samples=2",
    "interrupts_off.watched=1 ms",
    "exec.times=1",
    "exec.sizes=[\"8 KiB\"]",
];

fn run(more: &[&str]) -> RunResult {
    ran("context-switch", &[&SMALL, more].concat())
}

/// One run for most tests, without QEMU.
static RUN: LazyLock<RunResult> = LazyLock::new(|| run(&["qemu.command=no-such-program-here"]));

fn cell(table: &Table, row: &str, column: &str) -> f64 {
    let cell = table.cell(row, column).unwrap_or_else(|| panic!("{} {row} {column}", table.id));
    cell.value.as_f64().unwrap_or_else(|| panic!("{} {row} {column} is empty", table.id))
}

#[test]
fn switches_that_wait_for_the_timer_take_whole_quanta_whatever_a_switch_costs() {
    let run = &*RUN;
    for way in ["tables_ns", "fcse_ns"] {
        let (first, last) = (number(run, "phases", "0ns", way), number(run, "phases", "70ms", way));
        assert!((first - 7.5e9).abs() < 1e6, "{way}: {first}");
        assert!((last - 7.43e9).abs() < 1e6, "{way}: {last}");
    }
    for phase in ["0ns", "70ms"] {
        assert!(number(run, "phases", phase, "difference_ns") < 200e3);
    }
}

#[test]
fn a_switch_at_once_is_several_times_faster_with_fcse_and_needs_few_instructions() {
    let run = &*RUN;
    assert!(number(run, "at-once", "fcse", "total_ns") < 1e6, "100 switches in less than 1 ms");
    assert!(number(run, "at-once", "fcse", "instructions_count") <= 400.0);
    assert!(number(run, "at-once", "fcse", "flushes_count") == 0.0);
    assert!(number(run, "at-once", "tables", "flushes_count") >= 100.0);
    assert!(number(run, "ring-chg", "2x0", "gain") >= 5.0);
    let [tables, ahead] = ["tables", "ahead"].map(|way| number(run, "at-once", way, "total_ns"));
    assert!(tables < ahead, "FCSE is compared with the fastest switch without it");
}

#[test]
fn fcse_gains_little_where_the_working_sets_exceed_the_cache() {
    let run = &*RUN;
    let gain = number(run, "ring-chg", "8x8", "gain");
    assert!((1.0..=2.0).contains(&gain), "{gain}");
    assert!(gain < number(run, "ring-chg", "8x0", "gain"));
}

#[test]
fn latencies_are_ordered_and_every_sample_is_counted() {
    let run = &*RUN;
    for table in ["latency-handler", "latency-task"] {
        let table = run.table(table).unwrap();
        assert_eq!(table.rows.len(), 8);
        for row in &table.rows {
            let of = |column| cell(table, &row.id, column);
            let rising = ["min_ns", "mean_ns", "p999_ns", "max_ns"].map(of);
            assert!(rising.is_sorted(), "{} {}: {rising:?}", table.id, row.id);
            assert!(of("min_ns") > 0.0 && of("p99_ns") <= of("p999_ns"));
            assert!((of("samples_count") + of("overruns_count") - 300.0).abs() < 0.5);
        }
    }
    for row in ["tables-idle", "fcse-loaded"] {
        let of = |table| number(run, table, row, "min_ns");
        assert!(of("latency-handler") < of("latency-task"), "{row}");
    }
}

#[test]
fn interrupts_are_off_for_2000_cycles_at_most_with_fcse_and_the_place_has_a_name() {
    let run = &*RUN;
    let table = run.table("interrupts-off").unwrap();
    assert!(cell(table, "fcse-1", "cycles_count") <= 2_000.0);
    // Its switches flush, of which the long part is done with interrupts on.
    assert!(cell(table, "beside-large-1", "cycles_count") <= 2_000.0);
    let [tables, ahead] = ["tables-1", "ahead-1"].map(|row| cell(table, row, "cycles_count"));
    assert!(1.5 * ahead < tables, "{ahead} {tables}");
    let place = table.cell("fcse-1", "from").unwrap().value.clone();
    assert!(
        matches!(&place, boardlab_result::Value::Text(text) if text.contains('<') || text.contains('(')),
        "{place:?}"
    );
}

#[test]
fn a_cold_start_reads_the_whole_program_and_a_warm_one_what_the_buffer_cache_cannot_hold() {
    let run = &*RUN;
    for disk in ["memory", "card"] {
        let of = |start: &str, column| number(run, "exec", &format!("{disk}-{start}"), column);
        assert!((16.0..24.0).contains(&of("cold-8", "blocks_count")), "its 16 blocks, and a few");
        assert!(of("warm-8", "blocks_count") == 0.0);
        assert!((64.0..72.0).contains(&of("cold-32", "blocks_count")));
        assert!((64.0..72.0).contains(&of("warm-32", "blocks_count")), "beyond 25 KiB of cache");
        for start in ["cold-8", "warm-8", "cold-32", "warm-32"] {
            let rising =
                ["min_ns", "mean_ns", "max_ns", "whole_ns"].map(|column| of(start, column));
            assert!(rising.is_sorted(), "{disk} {start}: {rising:?}");
        }
        assert!(of("cold-8", "mean_ns") > 1.2 * of("warm-8", "mean_ns"), "{disk}");
    }
}

#[test]
fn every_block_of_the_card_takes_its_time_on_the_bus_and_cached_ones_take_none() {
    let run = &*RUN;
    let of = |row: &str, column| number(run, "exec", row, column);
    for start in ["cold-8", "cold-32", "warm-32"] {
        let [ram, card] = ["memory", "card"].map(|disk| format!("{disk}-{start}"));
        let more = of(&card, "min_ns") - of(&ram, "min_ns");
        let block = more / of(&card, "blocks_count");
        // 4,096 bits at 12 MHz; commands, controller and flash come to that.
        assert!((341e3..600e3).contains(&block), "{start}: {block} ns");
    }
    let ratio = of("card-warm-8", "mean_ns") / of("memory-warm-8", "mean_ns");
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn the_finding_on_the_ram_disk_weighs_its_memory_against_the_time_it_saves() {
    let run = &*RUN;
    let kib = number(run, "memory", "disk", "size_bytes") / 1_024.0;
    let of = |row| number(run, "exec", row, "mean_ns") / 1e6;
    let saved = of("card-cold-32") - of("memory-cold-32");
    let (kib, saved) = (format!("{kib:.0} KiB of RAM disk"), format!("saves {saved:.2} ms"));
    let finding = run.findings.iter().find(|finding| finding.contains(&kib));
    assert!(finding.is_some_and(|finding| finding.contains(&saved)), "{kib}, {saved}: {finding:?}");
}

#[test]
fn an_altered_scenario_has_no_print_beside_it_and_says_what_is_not_installed() {
    let run = &*RUN;
    assert!(run.tables.iter().flat_map(Table::cells).all(|(_, _, cell)| cell.printed.is_none()));
    assert!(run.warnings.iter().any(|warning| warning.contains("no-such-program-here")));
    assert!(run.table("qemu").is_none());
    assert_eq!(run.verdict_count(Verdict::Fail), 0);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let once = || run(&[&SMALLEST[..], &["qemu.command=no-such-program-here"]].concat());
    assert_eq!(once(), once());
}

#[test]
fn on_qemu_the_ways_cost_the_same_within_a_few_instructions() {
    let run = run(&SMALLEST);
    let Some(qemu) = run.table("qemu") else {
        eprintln!("skipped: needs qemu-system-arm");
        return;
    };
    let ratio = cell(qemu, "tables", "at_once_ns") / cell(qemu, "fcse", "at_once_ns");
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
    for way in ["tables", "fcse"] {
        // Waits take real time there: a busy host may add a quantum or two.
        assert!((cell(qemu, way, "waiting_ns") - 7.5e9).abs() < 0.2e9);
    }
}

#[test]
fn a_kernel_from_a_file_gives_what_the_same_bytes_in_the_program_give() {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, built_in::KERNEL).unwrap();
    let kernel = format!("kernel={}", file.path().display());
    let without_qemu = [&SMALLEST[..], &["qemu.command=no-such-program-here"]].concat();
    let from_file = run(&[&without_qemu[..], &[&kernel]].concat());
    assert_eq!(from_file.tables, run(&without_qemu).tables);
}

#[test]
fn what_the_system_cannot_do_is_refused_with_what_is_due() {
    for (set, due) in [
        ("published.switches=99", "an even number"),
        ("published.phases=[\"80 ms\"]", "durations below 75 ms that rise"),
        ("published.tick=50 us", "100 us"),
        ("ring.processes=[1]", "numbers from 2 to 48 that rise"),
        ("ring.working_sets=[\"100 B\"]", "whole KiB"),
        ("kernel=Cargo.toml", "an ELF file for ARM"),
        ("kernel=no-such-kernel.elf", "no such file"),
        ("kernel=src", "is a directory"),
        ("real_time.samples=0", "1"),
        ("exec.sizes=[\"100 KiB\"]", "whole KiB up to 70 KiB that rise"),
        ("exec.card=swissbit-s46-8gb", "swissbit-s46u-8gb"),
        ("exec.card=sandisk-inand-7232-16gb", "an SD card"),
        ("exec.slot.modes=[\"sdr104\"]", "a bus mode"),
        ("quemu.command=x", "qemu"),
    ] {
        let error = registry::perform(Action::Run, "context-switch", &[set], Seed::new(1), &|_| ())
            .unwrap_err();
        assert!(matches!(error, Failure::Input(_)), "{set}: {error}");
        assert!(error.to_string().contains(due), "{set}: {error}");
    }
}
