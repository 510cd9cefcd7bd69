//! The NOR experiment against what the publication prints and what arithmetic demands.

use crate::runs::{number, ran};
use boardlab_document::source::Kind;
use boardlab_experiment::{Action, Failure};
use boardlab_lab::registry;
use boardlab_result::{Origin, RunResult, Table, Verdict};
use boardlab_sim::Seed;
use std::sync::LazyLock;

fn run(set: &[&str]) -> RunResult {
    ran("nor-write", set)
}

/// The run as published, made once.
pub(crate) static PUBLISHED: LazyLock<RunResult> = LazyLock::new(|| run(&[]));
static TUNED: LazyLock<RunResult> = LazyLock::new(|| {
    registry::perform::<&str>(Action::Tune, "nor-write", &[], Seed::new(1), &|_| ()).unwrap()
});

fn table<'r>(run: &'r RunResult, id: &str) -> &'r Table {
    run.table(id).unwrap_or_else(|| panic!("no table {id}"))
}

fn seconds(run: &RunResult, id: &str, row: &str) -> f64 {
    number(run, id, row, "total_ns") / 1e9
}

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected}");
}

#[test]
fn the_totals_agree_with_the_print() {
    let run = &PUBLISHED;
    close(seconds(run, "table4", "total"), 35.9, 0.4, "u-boot");
    close(seconds(run, "table5", "total"), 43.2, 0.1, "Linux");
    close(seconds(run, "table6", "total"), 36.7, 0.2, "Linux, improved");
    close(seconds(run, "table6", "saving"), 6.5, 0.1, "saving");
    close(seconds(run, "table6-own-gap", "total"), 36.2, 0.15, "own poll gap");
    close(seconds(run, "table6-own-gap", "saving"), 7.0, 0.15, "own poll gap");
}

#[test]
fn the_wait_of_linux_is_constant_and_that_of_u_boot_spreads_as_printed() {
    let run = &PUBLISHED;
    let wait = |column| number(run, "table5", "L-7", column) / 1e3;
    assert!(wait("min_ns") >= 253.0 && wait("max_ns") <= 254.3);
    assert!(wait("max_ns") - wait("min_ns") < 0.04, "more than a tick");
    let spread = |column| number(run, "table4", "U-6", column) / 1e3;
    assert!(spread("min_ns") >= 170.0 && spread("max_ns") <= 226.0);
    close(spread("mean_ns"), 200.0, 0.5, "mean of U-6");
}

#[test]
fn each_finding_about_the_print_begins_with_a_headline() {
    crate::sentences::check_headlines(&PUBLISHED.findings);
}

#[test]
fn the_run_as_published_names_its_publication_and_no_other_run_does() {
    let publication = PUBLISHED.publication.as_ref().unwrap();
    assert_eq!(publication.cited_as, "nor.md");
    assert!(publication.authors.contains("Ochiai"), "{publication}");
    assert_eq!(run(&["workload.bytes=1 KiB"]).publication, None);
    assert_eq!(TUNED.publication, None);
}

#[test]
fn one_parameter_is_fitted_and_it_is_the_poll_gap() {
    let fitted: Vec<_> =
        PUBLISHED.parameters.iter().filter(|one| one.origin == Origin::Fitted).collect();
    assert_eq!(fitted.len(), 1);
    assert_eq!(fitted[0].key, "improved.poll_gap");
    let counts = ["table4", "table5", "table6", "table6-own-gap"]
        .map(|id| table(&PUBLISHED, id).fitted_count);
    assert_eq!(counts, [0, 0, 1, 0]);
}

#[test]
fn nothing_fails_and_what_does_not_pass_names_its_finding() {
    assert_eq!(PUBLISHED.verdict_count(Verdict::Fail), 0);
    assert!(PUBLISHED.verdict_count(Verdict::Pass) >= 15);
    for table in &PUBLISHED.tables {
        for (row, column, cell) in table.cells() {
            let named = matches!(cell.verdict, Some(Verdict::Close | Verdict::Differs));
            assert_eq!(named, cell.finding.is_some(), "{} {} {column}", table.id, row.id);
            assert!(cell.finding.is_none_or(|finding| finding < PUBLISHED.findings.len()));
        }
    }
}

#[test]
fn equal_figures_beside_equal_prints_have_one_verdict() {
    let cells =
        ["table5", "table6"].map(|id| table(&PUBLISHED, id).cell("L-5", "total_ns").unwrap());
    assert_eq!(cells[0], cells[1]);
    assert_eq!(cells[1].verdict, Some(Verdict::Pass));
}

#[test]
fn what_a_published_input_determines_alone_is_never_a_pass() {
    let inputs = [
        ("table4", "U-5", "mean_ns"),
        ("table4", "U-6", "mean_ns"),
        ("table4", "U-6", "min_ns"),
        ("table4", "U-6", "max_ns"),
        ("table5", "L-3", "mean_ns"),
        ("table5", "L-6", "mean_ns"),
        ("table6", "L-7-poll", "mean_ns"),
    ];
    for (id, row, column) in inputs {
        let cell = table(&PUBLISHED, id).cell(row, column).unwrap();
        assert_eq!(cell.verdict, Some(Verdict::Input), "{id} {row} {column}");
    }
}

#[test]
fn the_what_ifs_agree_with_arithmetic() {
    let rows = [
        ("stock", 43.2),
        ("buffer-time", 76.5),
        ("tuned", 36.3),
        ("tuned-fast-bus", 30.1),
        ("fast-bus", 37.0),
        ("twice-the-chips", 18.2),
        ("four-times-the-chips", 9.9),
    ];
    for (row, expected) in rows {
        close(seconds(&PUBLISHED, "what-if", row), expected, expected * 0.03, row);
    }
}

#[test]
fn a_set_title_and_values_as_they_are_leave_the_published_figures() {
    let same = run(&["title=NOR at home", "linux.wait=word-time", "workload.bytes=65536 KiB"]);
    assert_eq!(same.title, "NOR at home");
    let published = |run: &RunResult| {
        let cells = run.tables.iter().flat_map(Table::cells);
        cells.filter(|(_, _, cell)| cell.published.is_some()).count()
    };
    assert!(published(&same) > 0);
    assert_eq!(published(&same), published(&PUBLISHED));
    assert_eq!(same.warnings, PUBLISHED.warnings);
}

#[test]
fn the_what_ifs_are_reached_by_set_as_well() {
    let small = "workload.bytes=1 MiB";
    let plain = run(&[small]);
    let same = |set: &[&str], id: &str, row: &str| {
        let altered = run(&[&[small], set].concat());
        close(seconds(&altered, id, "total"), seconds(&plain, "what-if", row), 0.001, row);
        assert!(altered.warnings.iter().any(|warning| warning.contains("altered")));
        assert!(
            altered.tables.iter().flat_map(Table::cells).all(|(_, _, c)| c.published.is_none())
        );
    };
    same(&["linux.wait=buffer-time"], "table5", "buffer-time");
    let fast = ["linux.wait=tuned", "board.bus.write_cycle=100 ns", "board.bus.read_cycle=100ns"];
    same(&fast, "table5", "tuned-fast-bus");
    same(&["linux.wait=tuned", "board.bus.chips=2"], "table5", "twice-the-chips");
}

#[test]
fn a_real_file_is_written_whatever_its_size() {
    let folder = std::env::temp_dir().join(format!("boardlab-nor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (length, buffers) in [(1_usize, 1.0), (511, 1.0), (513, 2.0), (100_001, 196.0)] {
        let path = folder.join(length.to_string());
        let bytes: Vec<u8> = (0..length).map(|at| (at % 251).to_le_bytes()[0]).collect();
        std::fs::write(&path, bytes).unwrap();
        let run = run(&[&format!("workload.file={}", path.display())]);
        assert_eq!(number(&run, "table5", "L-7", "count"), buffers, "{length} bytes");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let set = ["workload.bytes=256 KiB"];
    let of =
        |seed| registry::perform(Action::Run, "nor-write", &set, Seed::new(seed), &|_| ()).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).tables, of(2).tables);
}

#[test]
fn a_single_thread_gives_the_same_result() {
    let set = ["workload.bytes=256 KiB"];
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(threads.install(|| run(&set)), run(&set));
}

#[test]
fn theory_and_simulation_agree_within_a_tenth_of_a_microsecond() {
    let theory = table(&TUNED, "theory");
    assert!(theory.rows.len() >= 8);
    for row in &theory.rows {
        let difference = number(&TUNED, "theory", &row.id, "difference_ns");
        assert!(difference.abs() <= 100.0, "{}: {difference} ns", row.id);
    }
}

#[test]
fn the_recommended_wait_is_the_brute_force_one_within_a_microsecond() {
    let wait = |row| number(&TUNED, "optimum", row, "wait_ns") / 1e3;
    close(wait("recommended"), wait("brute-force"), 1.0, "recommended");
    close(wait("theory"), wait("brute-force"), 1.0, "theory");
}

#[test]
fn the_adaptive_wait_settles_follows_drift_and_is_never_early() {
    let mean = |row| number(&TUNED, "program_wait", row, "mean_ns") / 1e3;
    assert!(mean("adaptive-settled") <= mean("toggle-only") * 1.01);
    // 60 us over the first half: 45 us on average.
    close(mean("adaptive-slower"), mean("adaptive-settled") + 45.0, 2.0, "slower");
    close(mean("adaptive-faster"), mean("adaptive-settled") - 45.0, 2.0, "faster");
    for row in &table(&TUNED, "program_wait").rows {
        assert_eq!(number(&TUNED, "program_wait", &row.id, "early_count"), 0.0);
    }
}

#[test]
fn the_timer_tick_between_polls_is_what_an_erase_loses() {
    let late = |row| number(&TUNED, "erase_wait", row, "overshoot_ns") / 1e6;
    close(late("linux-hz100"), 10.1, 0.5, "HZ 100");
    close(late("linux-hz250"), 4.0, 0.2, "HZ 250");
    close(late("linux-hz1000"), 1.0, 0.1, "HZ 1000");
    assert!(late("recommended") < 0.8 && late("queued-16") < 0.1);
}

#[test]
fn the_tuner_hands_out_a_patch_for_each_kernel() {
    let names: Vec<_> = TUNED.attachments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["linux-3.4-nor-write-wait.patch", "linux-6.1-nor-write-wait.patch"]);
    let wait = number(&TUNED, "optimum", "recommended", "wait_ns");
    assert!(wait > 0.0 && TUNED.attachments[0].text.contains("write_poll_us = 194"));
}

#[test]
fn what_has_no_such_action_says_so() {
    let error = registry::perform::<&str>(Action::Tune, "sata-ssd", &[], Seed::new(1), &|_| ())
        .unwrap_err();
    assert!(matches!(error, Failure::NoAction { .. }));
}

#[test]
fn a_data_file_is_found_from_the_scenario_that_names_it() {
    let folder = std::env::temp_dir().join(format!("boardlab-nor-data-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("image.bin"), [0x5A; 1_000]).unwrap();
    let built_in =
        boardlab_parts::catalog::all(Kind::Scenario).iter().find(|file| file.name == "nor-write");
    let text = built_in
        .unwrap()
        .text
        .replace("pattern = \"zeros\"", "pattern = \"zeros\"\nfile = \"image.bin\"");
    let scenario = folder.join("mine.toml");
    std::fs::write(&scenario, text).unwrap();
    let name = scenario.display().to_string();
    let run = registry::perform::<&str>(Action::Run, &name, &[], Seed::new(1), &|_| ()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(run.scenario, "mine");
    assert_eq!(number(&run, "table5", "L-7", "count"), 2.0);
    assert!(run.tables.iter().flat_map(Table::cells).all(|(_, _, c)| c.published.is_none()));
}
