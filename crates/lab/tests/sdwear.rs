//! The SD experiment on a small card: what it finds, that it is deterministic, and what it refuses.

use crate::runs::{number, ran};
use boardlab_experiment::Action;
use boardlab_experiment::reference::Reference;
use boardlab_lab::registry;
use boardlab_result::{RunResult, Value, Verdict};
use boardlab_sim::Seed;

const FREE: &str = "experiment1.job=--readwrite=write --ioengine=libaio --iodepth=4 --bs=1M --size=24M \
                    --filename=/dev/mmcblk0 --runtime=1 --time_based --direct=1";
const FULL: &str = "experiment2.job=--readwrite=write --ioengine=sync --filename=/dev/mmcblk0 --bs=1M \
                    --size=1M --loops=20 --direct=1 --fsync_on_close=1";

/// A card of 64 MiB in blocks of 1 MiB, of which some see 30 erases soon.
const SMALL: [&str; 15] = [
    "part.capacity=64 MiB",
    "part.over_provisioning=40 %",
    "part.flash.pages_per_block=32",
    "part.endurance.pe_cycles=[30, 31, 33]",
    "part.slc_cache.blocks=6",
    FREE,
    "experiment1.iterations=40",
    "wear.volume=2 GiB",
    "wear.endurance=30",
    "wear.threshold=4",
    "wear.over_provisioning=[\"30 %\"]",
    FULL,
    "experiment2.iterations=10",
    "experiment2.zeroed=1 MiB",
    "experiment2.probes=2",
];

fn small(more: &[&str]) -> RunResult {
    ran("sd-wear", &[&SMALL, more].concat())
}

fn refused(more: &[&str]) -> String {
    let set = [&SMALL, more].concat();
    match registry::perform(Action::Run, "sd-wear", &set, Seed::new(1), &|_| ()) {
        Ok(_) => panic!("{more:?} was taken"),
        Err(error) => error.to_string(),
    }
}

fn text(run: &RunResult, table: &str, row: &str, column: &str) -> String {
    match &run.table(table).unwrap().cell(row, column).unwrap().value {
        Value::Text(text) => text.clone(),
        other => panic!("{table}, {row}, {column}: {other:?}"),
    }
}

#[test]
fn levelling_decides_which_block_wears_and_returning_blocks_decides_whether_it_works() {
    let run = small(&[]);
    let most = |id| number(&run, "wear", id, "most_count");
    let mean = number(&run, "wear", "dynamic", "mean");
    assert!(most("dynamic") <= mean + 2.0, "{} over {mean}", most("dynamic"));
    assert!(most("none") > 2.0 * most("dynamic"), "{}", most("none"));
    assert!(most("kept") > 1.5 * most("dynamic"), "{}", most("kept"));
    // Without levelling a card whose blocks die ends before the volume is written.
    let died = number(&run, "wear-life", "none-dies", "died_bytes");
    assert!(died < number(&run, "wear-life", "dynamic", "written_bytes"));
    assert_eq!(text(&run, "wear-life", "dynamic", "died_bytes"), "never");
    let written = number(&run, "wear-life", "none", "written_bytes");
    assert!((written - 2_048.0 * 1_048_576.0).abs() < 1.0);
    // Erases by bytes: what was written to blocks of 1 MiB, all pages of them.
    let blocks = 107.0;
    assert!((mean * blocks - 2_048.0).abs() < blocks, "{mean}");
}

#[test]
fn experiment_1_writes_what_its_rate_gives_in_its_time() {
    let run = small(&[]);
    let rate = number(&run, "experiment1", "throughput", "card");
    let written = number(&run, "experiment1", "written", "card");
    // 40 runs of 1 s; the requests under way at the end are written to their end.
    assert!((written / rate / 40.0 - 1.0).abs() < 0.2, "{written} at {rate}");
    // A row of 32 KiB needs its transfer and then its program, nothing else: 18.3 MiB/s.
    assert!((17.0..19.0).contains(&(rate / 1_048_576.0)), "{rate}");
    let requests = number(&run, "experiment1-work", "requests", "card");
    assert!((requests * 1_048_576.0 - written).abs() < 1.0);
}

#[test]
fn every_rewrite_has_a_cause_and_belongs_to_a_band() {
    let run = small(&[]);
    let table = run.table("experiment2-bands").unwrap();
    let rewrites = |controller: &str| {
        let of = table.rows.iter().filter(|row| row.id.starts_with(&format!("{controller}/")));
        of.map(|row| row.cells["count"].value.as_f64().unwrap()).sum::<f64>()
    };
    for row in &run.table("experiment2-controllers").unwrap().rows {
        assert!((rewrites(&row.id) - 200.0).abs() < 0.5, "{}", row.id);
    }
    for row in &table.rows {
        let Value::Text(cause) = &row.cells["cause"].value else { panic!("{row:?}") };
        let known = ["cells", "merge", "fold", "levelling", "collection", "full"];
        assert!(known.iter().any(|word| cause.contains(word)), "{}: {cause}", row.id);
    }
    let cause = |row: &str| text(&run, "experiment2-bands", row, "cause");
    assert_eq!(cause("page-map/dynamic/1"), "ordinary cells");
    assert!(cause("cache/dynamic/1").contains("single-bit cells"));
    // What was overwritten in the cache is never folded: its rate does not fall.
    let fast = number(&run, "experiment2-bands", "cache/dynamic/1", "mean_bytes_per_s");
    let plain = number(&run, "experiment2-bands", "page-map/dynamic/1", "mean_bytes_per_s");
    assert!(fast > 1.5 * plain, "{fast} {plain}");
    // A log is merged in the end, and then the pages of its unit are moved.
    let moved = table.rows.iter().filter(|row| row.id.starts_with("single-bit-log/"));
    assert!(moved.map(|row| row.cells["moved"].value.as_f64().unwrap()).any(|moved| moved >= 0.5));
}

#[test]
fn the_volume_that_could_tell_dynamic_from_static_is_found_by_going_on() {
    let run = small(&[]);
    let passed = number(&run, "power", "dynamic/30%", "passed_bytes");
    let expected = number(&run, "power", "dynamic/30%", "expected_bytes");
    assert!((passed / expected - 1.0).abs() < 0.1, "{passed} {expected}");
    assert!(passed > number(&run, "power", "dynamic/30%", "published_bytes"));
    assert_eq!(text(&run, "power", "static/30%", "passed_bytes"), "never");
    assert!(number(&run, "power", "static/30%", "end_count") <= 30.0);
    assert!(
        run.findings
            .iter()
            .any(|finding| finding.contains("cannot tell dynamic from static levelling"))
    );
}

#[test]
fn a_job_larger_than_the_card_is_cut_down_and_that_is_said() {
    let run = small(&[
        "experiment1.job=--readwrite=write --ioengine=libaio --bs=1M --size=16G --filename=/dev/mmcblk0 --runtime=1 --time_based --direct=1",
    ]);
    let said = run.warnings.iter().any(|warning| warning.contains("was cut down to 67108864 B"));
    assert!(said, "{:?}", run.warnings);
}

#[test]
fn loops_open_and_flush_more_often_than_they_write() {
    let run = small(&[]);
    // 20 loops: 20 + 19 passes, each with two opens as fio does, and a flush for each.
    let finding = run.findings.iter().find(|finding| finding.contains("opens the device")).unwrap();
    assert!(finding.contains("78 times and asks for 39 flushes"), "{finding}");
    assert!(finding.contains("0 of these flushes are commands"), "{finding}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string(&pool.install(|| small(&[]))).unwrap()
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn what_cannot_be_is_refused_with_the_key() {
    for (set, expected) in [
        (&["part.endurance.rated=0"][..], "part.endurance.rated"),
        (&["part.endurance.pe_cycles=[0, 30]"], "part.endurance.pe_cycles"),
        (&["part.over_provisioning=-7 %"], "is negative"),
        (&["part.capacity=65 MiB"], "not a multiple of the allocation unit"),
        (&["wear.endurance=0"], "wear.endurance"),
        (&["wear.over_provisioning=[\"0 %\"]"], "has an impossible share"),
        (&["experiment1.iterations=0"], "experiment1.iterations"),
        (&["experiment2.zeroed=100 B"], "experiment2.zeroed"),
        (&["experiment1.job=--rww=write"], "is no job"),
        (&["experiment1.job=--rw=read --direct=1"], "does not only write"),
        (&["experiment1.job=--rw=randwrite --direct=1"], "in no order"),
        (&["experiment1.job=--rw=write --bs=1M"], "goes through a page cache"),
        (&["experiment2.job=--rw=write --direct=1 --offset=64M"], "beyond the card"),
        (&["controller.0.set=[\"board.title=x\"]"], "which is not a key of the part"),
        (&["controller.0.set=[\"part.mapping.kind=pages\"]"], "part.mapping.kind"),
        (&["controller.1.id=page-map"], "two entries with the same id"),
    ] {
        let error = refused(set);
        assert!(error.contains(expected), "{set:?}: {error}");
    }
}

#[test]
fn the_print_is_read_in_the_units_that_it_means() {
    let reference = Reference::named("sdwear").unwrap();
    let cell = |table: &str, row: &str| {
        let table = reference.table(table).unwrap_or_else(|error| panic!("{error}"));
        table.cell(row, "card").unwrap_or_else(|error| panic!("{error}")).clone()
    };
    assert_eq!(cell("experiment1", "written").published, Value::Int(11_205_597_184 * 1_024));
    assert_eq!(cell("experiment1", "throughput").text, "18 MB/s");
    let span = cell("experiment1", "throughput").span.unwrap();
    // The total over 600,000 s lies in what 18 MB/s can stand for only as MiB/s.
    let implied = f64::from(u32::try_from(11_205_597_184_u64 / 600_000).unwrap()) * 1_024.0;
    assert!(span.0 <= implied && implied <= span.1, "{implied} in {span:?}");
    assert!(implied / 1e6 > 18.5, "as MB/s it would have been printed as 19");
}

/// Both experiments at full length: minutes in a build that is not optimised.
#[test]
fn the_published_scenario_reproduces_in_full() {
    if std::env::var_os("BOARDLAB_FULL").is_none() {
        eprintln!("skipped: needs BOARDLAB_FULL");
        return;
    }
    let run =
        registry::perform::<&str>(Action::Run, "sd-wear", &[], Seed::new(1), &|_| ()).unwrap();
    let rate = number(&run, "experiment1", "throughput", "card") / 1_048_576.0;
    assert!((rate / 18.24 - 1.0).abs() < 0.05, "{rate} MiB/s");
    let worn = number(&run, "wear", "dynamic", "most_count");
    assert!((688.0..=695.0).contains(&worn), "{worn}");
    assert!(number(&run, "wear", "none", "most_count") > 9_000.0);
    assert!(number(&run, "wear", "kept", "most_count") > 9_000.0);
    let passed = number(&run, "wear-life", "none", "passed_bytes") / 1e12;
    assert!((3.4..3.8).contains(&passed), "{passed} TB");
    let told = number(&run, "power", "dynamic/7%", "passed_bytes") / 1e12;
    assert!((3.4..3.8).contains(&told), "{told} TB");
    assert!((number(&run, "experiment2", "rewrites", "card") - 100_000.0).abs() < 0.5);
    assert_eq!(run.verdict_count(Verdict::Fail), 0);
    assert_eq!(run.verdict_count(Verdict::NotBuilt), 0);
    crate::mechanisms::assert_in_readme("SD", &run);
}
