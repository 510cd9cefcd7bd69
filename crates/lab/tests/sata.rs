//! The SATA experiment: the printed rates beside ours, what it finds, that it is deterministic.

use crate::runs::{number, ran};
use boardlab_result::{RunResult, Value, Verdict};
use std::sync::LazyLock;

/// As `boardlab reproduce sata` runs it.
pub(crate) static WHOLE: LazyLock<RunResult> = LazyLock::new(|| made(&[]));

/// Short loops and a part of the drives.
const SHORT: [&str; 6] = [
    "continuous.loops=[1, 2]",
    "sweep.part=65536",
    "what_if.volume=64 MiB",
    "what_if.commands=[256, 65536]",
    "what_if.queue=[8]",
    "what_if.queued=64",
];

fn made(set: &[&str]) -> RunResult {
    ran("sata-ssd", set)
}

/// Every cell of a table that stands beside the print, in MB/s: row, column, ours, print.
fn printed(run: &RunResult, table: &str) -> Vec<(String, String, f64, f64)> {
    let cells = run.table(table).unwrap().cells();
    let both = cells.filter_map(|(row, column, cell)| {
        let (ours, print) = (cell.value.as_f64()?, cell.published.as_ref()?.as_f64()?);
        Some((row.id.clone(), column.to_string(), ours / 1e6, print / 1e6))
    });
    both.collect()
}

fn finding<'r>(run: &'r RunResult, begin: &str) -> &'r str {
    let found = run.findings.iter().find(|finding| finding.starts_with(begin));
    found.unwrap_or_else(|| panic!("no finding begins with {begin:?}"))
}

#[test]
fn every_row_of_both_drives_is_met_within_one_and_a_half_percent() {
    for table in ["table5-1", "table5-2"] {
        let cells = printed(&WHOLE, table);
        assert_eq!(cells.len(), 22, "{table}");
        for (row, column, ours, print) in cells {
            let off = ours / print - 1.0;
            assert!(off.abs() <= 0.015, "{table} {row} {column}: {ours:.2} for {print:.2}");
        }
    }
    let single = number(&WHOLE, "figure4", "intel-x25-e", "read") / 1e6;
    assert!((single - 286.60).abs() <= 0.15, "{single}");
}

#[test]
fn whole_drives_are_met_within_two_percent() {
    let cells = printed(&WHOLE, "table7-1");
    assert_eq!(cells.len(), 4);
    for (row, column, ours, print) in cells {
        assert!((ours / print - 1.0).abs() <= 0.02, "{row} {column}: {ours:.2} for {print:.2}");
    }
}

#[test]
fn the_rates_are_those_that_were_reviewed() {
    let golden = [
        ("table5-1", "1", 217.51, 286.51),
        ("table5-1", "16", 213.49, 286.74),
        ("table5-1", "512", 211.04, 286.77),
        ("table5-2", "1", 155.51, 223.25),
        ("table5-2", "128", 155.51, 218.60),
        ("table5-2", "512", 155.51, 222.07),
        ("table6-1", "sequencer", 156.34, 222.07),
        ("table7-1", "transcend", 91.01, 147.13),
        ("table7-1", "buffalo", 88.98, 147.13),
    ];
    let ours = golden.map(|(table, row, ..)| {
        let ours = |column| (number(&WHOLE, table, row, column) / 1e4).round() / 100.0;
        (table, row, ours("write"), ours("read"))
    });
    assert_eq!(ours, golden);
}

#[test]
fn no_cell_fails_and_a_fitted_one_is_no_evidence() {
    assert_eq!(WHOLE.verdict_count(Verdict::Fail), 0);
    assert_eq!(WHOLE.verdict_count(Verdict::NotBuilt), 0);
    let verdict = |table: &str, row: &str, column: &str| {
        WHOLE.table(table).unwrap().cell(row, column).unwrap().verdict
    };
    for (table, row, column) in [
        ("table5-1", "1", "read"),
        ("table5-2", "1", "read"),
        ("table5-2", "512", "read"),
        ("table6-1", "firmware", "read"),
        ("table6-2", "firmware", "write"),
        ("table7-1", "transcend", "write"),
        ("table7-1", "buffalo", "read"),
    ] {
        assert_eq!(verdict(table, row, column), Some(Verdict::Input), "{table} {row} {column}");
    }
    let named = |verdict| matches!(verdict, Some(Verdict::Close | Verdict::Differs));
    let cells = WHOLE.tables.iter().flat_map(boardlab_result::Table::cells);
    for (row, column, cell) in cells.filter(|cell| named(cell.2.verdict)) {
        assert!(cell.finding.is_some_and(|at| at < WHOLE.findings.len()), "{} {column}", row.id);
    }
}

#[test]
fn the_sequencer_gains_what_the_overheads_give_and_the_print_shows_more() {
    let rate = |row, column| number(&WHOLE, "table6-1", row, column);
    let gain = |column| rate("sequencer", column) / rate("firmware", column) - 1.0;
    assert!((gain("write") - 0.0053).abs() < 0.0001, "{}", gain("write"));
    assert!((0.0..0.0001).contains(&gain("read")), "{}", gain("read"));
    let said = finding(&WHOLE, "Table 6-1 shows more than table 6-2 explains");
    for text in ["6.6 times", "7641 us a command", "saves 1150 us", "812 us", "2.0 us", "+0.54 %"] {
        assert!(said.contains(text), "{text} in {said}");
    }
}

#[test]
fn findings_tell_the_unit_the_ceiling_and_how_much_was_fitted() {
    crate::sentences::check_headlines(&WHOLE.findings);
    let unit = finding(&WHOLE, "MB/s in the tables mean 10^6 bytes per second.");
    assert!(unit.contains("297.08 MB/s") && unit.contains("223.7 ms"), "{unit}");
    let ceiling = finding(&WHOLE, "Firmware cannot spend 1600 us on every command");
    assert!(ceiling.contains("81.92 MB/s") && ceiling.contains("244480 commands"), "{ceiling}");
    let near = finding(&WHOLE, "The model meets the 10 rows of table 5-1");
    assert!(
        near.contains("10 fitted parameters: 1 of the host, 2 of the X25-E, 3 of the G-Monster"),
        "{near}"
    );
    assert_eq!(WHOLE.table("fitted").unwrap().rows.len(), 10);
    let means = finding(&WHOLE, "The printed means");
    assert!(means.contains("210.03 MB/s") && means.contains("221.34 MB/s"), "{means}");
    let pause = finding(&WHOLE, "The dip of the G-Monster's reads");
    assert!(pause.contains("0.49 s for 128 loops"), "{pause}");
}

#[test]
fn a_write_cache_leaves_the_sequencer_nothing_to_gain() {
    let gain = |row| number(&WHOLE, "write-cache", row, "gain_ratio");
    assert!((gain("through") - 0.0053).abs() < 0.0005, "{}", gain("through"));
    assert!(gain("back").abs() < 0.0005, "{}", gain("back"));
}

#[test]
fn smaller_commands_and_queues_show_what_loops_of_32_mib_hide() {
    let size = |row, column| number(&WHOLE, "command-size", row, column);
    assert!(size("8", "sequencer_read_bytes_per_s") > 1.01 * size("8", "read_bytes_per_s"));
    assert!(
        size("65536", "sequencer_read_bytes_per_s") < 1.0001 * size("65536", "read_bytes_per_s")
    );
    for row in ["8", "256", "65536"] {
        assert!(size(row, "read_bytes_per_s") <= size(row, "link_read_bytes_per_s"), "{row}");
    }
    let queue = |row| number(&WHOLE, "queue", row, "read");
    assert!(queue("32") > 1.2 * queue("off"), "{} {}", queue("32"), queue("off"));
    let speed = |row| number(&WHOLE, "link-speed", row, "link_read_bytes_per_s");
    assert!((speed("3Gbs") / speed("1.5Gbs") - 2.0).abs() < 0.001);
}

#[test]
fn the_shares_of_the_time_are_all_of_it_and_throttled_writes_hold() {
    for row in &WHOLE.table("shares").unwrap().rows {
        let sum: f64 = row.cells.values().filter_map(|cell| cell.value.as_f64()).sum();
        assert!((sum - 1.0).abs() < 0.001, "{}: {sum}", row.id);
    }
    let hold = |row| number(&WHOLE, "shares", row, "hold_ratio");
    assert!(hold("intel-x25-e/read") < 0.005, "{}", hold("intel-x25-e/read"));
    assert!((0.15..0.25).contains(&hold("intel-x25-e/write")), "{}", hold("intel-x25-e/write"));
    assert!((0.35..0.50).contains(&hold("g-monster-v2/write")), "{}", hold("g-monster-v2/write"));
}

#[test]
fn a_command_on_the_wire_is_drawn_with_its_waits() {
    let [write, read] = &WHOLE.timelines[..] else { panic!("a write and a read") };
    let hold = write.activities.iter().position(|one| one.shaded).unwrap();
    assert!(write.spans.iter().any(|span| span.activity == hold), "{}", write.id);
    for (timeline, sectors) in [(write, 640.0), (read, 48.0)] {
        let payload = timeline.spans.iter().filter(|span| span.activity == 0);
        let moved: f64 = payload.map(|span| span.to - span.from).sum();
        // 128 dwords of 13.3 ns for each sector, and ALIGNs among them.
        let least = sectors * 128.0 / 75.0;
        assert!((least..least * 1.02).contains(&moved), "{}: {moved} us", timeline.id);
    }
}

#[test]
fn an_altered_scenario_leaves_the_print_out() {
    let run = made(&SHORT);
    assert!(
        run.tables
            .iter()
            .flat_map(boardlab_result::Table::cells)
            .all(|(_, _, cell)| cell.published.is_none())
    );
    assert!(run.warnings.iter().any(|warning| warning.contains("was altered")));
    assert!(run.table("means").is_none());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string(&pool.install(|| made(&SHORT))).unwrap()
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn a_drive_of_ones_own_stands_in_the_place_of_another() {
    let set = [&SHORT[..], &["drives.g-monster-v2=generic-sata3-mlc-64gb"]].concat();
    let run = made(&set);
    assert!(number(&run, "figure4", "g-monster-v2", "read") > 200e6);
    let cell = run.table("fitted").unwrap();
    assert!(cell.rows.iter().all(|row| !row.id.starts_with("drives.g-monster-v2")));
    let slower = [&SHORT[..], &["drives.intel-x25-e.flash.times.program=580 us"]].concat();
    let slow = number(&made(&slower), "figure4", "intel-x25-e", "write");
    assert!(slow < 0.7 * number(&WHOLE, "figure4", "intel-x25-e", "write"), "{slow}");
    assert!(matches!(run.table("fitted").unwrap().rows[0].cells["value"].value, Value::Text(_)));
}

#[test]
fn what_the_host_spends_on_a_command_it_spends_on_a_queued_one() {
    let read = |run: &RunResult| number(run, "queue", "off", "read");
    let short = read(&made(&SHORT));
    for key in ["start", "poll", "sequencer.read"] {
        let slower = format!("board.sata_host.{key}=400 us");
        let slower = read(&made(&[&SHORT[..], &[slower.as_str()]].concat()));
        assert!(slower < 0.7 * short, "{key}: {slower} of {short}");
    }
}
