//! The plans of scenarios for boards: every one can be read, predicts what its scenario gives, and is bounded.

use crate::keys::benches::GROUPS;
use crate::keys::tree::Tree;
use boardlab_experiment::{Action, Experiment, Failure, NEVER, PlanRequest, Request};
use boardlab_lab::registry::{self, EXPERIMENTS};
use boardlab_measure::plan::{Plan, Step};
use boardlab_parts::catalog;
use boardlab_result::RunResult;
use boardlab_sim::Seed;

const SEED: Seed = Seed::new(1);

/// Asks something of the short form of a scenario.
fn ask<T>(
    scenario: &'static str,
    set: &[&str],
    what: impl FnOnce(&Experiment, Request<'_>) -> Result<T, Failure>,
) -> T {
    let mut benches = GROUPS.iter().flat_map(|group| group.benches);
    let short = benches.find(|bench| bench.scenario == scenario).map_or(&[][..], |one| one.base);
    let source = Tree::of(scenario, &[short, set].concat()).source();
    let document = catalog::compose_source::<&str>(&source, &[]).unwrap();
    let request =
        Request { document: &document, scenario, seed: SEED, progress: &|_| (), stop: &NEVER };
    let experiment = EXPERIMENTS.iter().find(|one| one.scenario == scenario).unwrap();
    what(experiment, request).unwrap_or_else(|failure| panic!("{scenario}: {failure}"))
}

fn planned(
    scenario: &'static str,
    set: &[&str],
    devices: &[(&str, &str)],
    max_cycles: u64,
) -> Plan {
    let devices: Vec<_> =
        devices.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
    ask(scenario, set, |experiment, request| {
        experiment.plan.unwrap()(&PlanRequest { request, devices: &devices, max_cycles })
    })
}

fn run(scenario: &'static str) -> RunResult {
    ask(scenario, &[], |experiment, request| experiment.perform(Action::Run, &request))
}

fn step<'p>(plan: &'p Plan, name: &str) -> &'p Step {
    let mut steps = plan.steps().iter();
    steps.find(|step| step.name() == name).unwrap_or_else(|| panic!("no step {name} in\n{plan}"))
}

fn prediction(plan: &Plan, name: &str, metric: &str) -> Option<u64> {
    let mut predictions = step(plan, name).predictions().iter();
    predictions.find(|(other, _)| other == metric).map(|(_, figure)| *figure)
}

#[test]
fn every_plan_is_the_same_again_and_reads_as_it_was_written() {
    for experiment in EXPERIMENTS.iter().filter(|one| one.plan.is_some()) {
        let plan = planned(experiment.scenario, &[], &[], 10);
        assert_eq!(Plan::parse(&plan.to_string()).unwrap().to_string(), plan.to_string());
        assert_eq!(planned(experiment.scenario, &[], &[], 10), plan);
        let has_predictions = plan.steps().iter().any(|step| !step.predictions().is_empty());
        // The model of the context switches is of another system.
        assert_eq!(has_predictions, experiment.name != "fcse", "{plan}");
    }
}

#[test]
fn every_published_evaluation_has_a_plan_that_says_what_a_board_cannot_give() {
    for experiment in registry::published() {
        let text = planned(experiment.scenario, &[], &[], 10).to_string();
        assert!(text.lines().nth(1).unwrap().starts_with("# "), "{text}");
    }
}

#[test]
fn predictions_are_the_figures_of_the_run() {
    for (scenario, name, metric, [table, row, column]) in [
        ("nor-write", "write", "mean_ns", ["table5", "total", "total_ns"]),
        ("sata-ssd", "intel-x25-e.write-2", "bytes_per_s", ["table5-1", "2", "write"]),
        ("sata-ssd", "intel-x25-e.read-1", "bytes_per_s", ["table5-1", "1", "read"]),
        ("nand-steps", "read-random", "mean_ns", ["steps", "read-random", "mean_ns"]),
        ("block-steps", "write", "mean_ns", ["steps", "write", "mean_ns"]),
    ] {
        let figure = run(scenario).figure(table, row, column);
        assert!(figure.is_some_and(|figure| figure > 0), "{scenario} {table} {row} {column}");
        assert_eq!(prediction(&planned(scenario, &[], &[], 10), name, metric), figure, "{name}");
    }
}

/// The plan has all files in one folder, and runs tiobench after a fill: without one its flash is as empty
/// as that of table 3.3. Before each phase it syncs, waits, and drops what is cached.
#[test]
fn predictions_of_filesystems_are_near_the_figures_of_the_run() {
    let run = run("nand-filesystems");
    let near = |plan: &Plan, step: &str, metric: &str, [table, row, column]: [&str; 3]| {
        let figure = run.figure(table, row, column).unwrap();
        let found = prediction(plan, step, metric).unwrap();
        assert!(found.abs_diff(figure) * 4 <= figure, "{step}: {found} and {figure}\n{plan}");
    };
    let devices = [("jffs2", "/dev/mtdblock0"), ("ubifs", "/dev/ubi0_0")];
    let plan = planned("nand-filesystems", &[], &devices, 10);
    near(&plan, "jffs2.mount", "mean_ns", ["table3.2", "mount", "jffs2"]);
    let empty = planned("nand-filesystems", &["fill.level=0 %"], &devices, 10);
    for system in ["jffs2", "ubifs"] {
        near(&plan, &format!("{system}.ls"), "mean_ns", ["table3.2", "ls", system]);
        for phase in ["sequential_write", "sequential_read"] {
            let step = format!("{system}.zero.{phase}");
            near(&empty, &step, "bytes_per_s", ["table3.3", phase, system]);
        }
    }
}

#[test]
fn drives_and_filesystems_are_those_that_the_user_names() {
    let targets = |plan: &Plan| {
        let mut targets: Vec<_> = plan.steps().iter().filter_map(|step| step.target()).collect();
        targets.dedup();
        targets.join(" ")
    };
    assert_eq!(targets(&planned("sata-ssd", &[], &[], 10)), "/dev/sda");
    assert_eq!(targets(&planned("sata-ssd", &[], &[("device", "/dev/sdx")], 10)), "/dev/sdx");
    let drives = [("buffalo", "/dev/sdc"), ("g-monster-v2", "/dev/sdb")];
    let plan = planned("sata-ssd", &[], &drives, 10);
    assert_eq!(targets(&plan), "/dev/sdb /dev/sdc");
    assert!(prediction(&plan, "buffalo.write", "bytes_per_s").is_some());
    let plan = planned("nand-filesystems", &[], &[("ubifs", "/dev/ubi1_0"), ("path", "/x")], 10);
    assert_eq!(step(&plan, "ubifs.mount").target(), Some("/dev/ubi1_0"));
    assert_eq!(step(&plan, "ubifs.ls").target(), Some("/x"));
    assert!(plan.steps().iter().all(|step| step.name().starts_with("ubifs.")));
}

/// Bytes that the steps write.
fn written(plan: &Plan) -> u64 {
    let writes = plan.steps().iter().filter(|step| step.operation().name.ends_with(".write"));
    let bytes = |step: &Step| match (step.number("count").unwrap(), step.number("size").unwrap()) {
        (0, _) => step.number("length").filter(|length| *length > 0).unwrap_or(CARD),
        (count, size) => count * size,
    };
    writes.map(bytes).sum()
}

/// The capacity of the short card.
const CARD: u64 = 64 << 20;

#[test]
fn a_plan_writes_no_more_than_the_cycles_that_are_asked_for() {
    let mut before = 0;
    for max_cycles in [1, 2, 3, 100] {
        let plan = planned("sd-wear", &[], &[], max_cycles);
        let bytes = written(&plan);
        assert!(bytes <= max_cycles * CARD, "{bytes} bytes with {max_cycles} cycles:\n{plan}");
        assert!(bytes >= before && bytes > 0, "{plan}");
        before = bytes;
    }
    let loops = |max_cycles| {
        let set = ["continuous.loops=[1, 2, 20, 60]"];
        planned("sata-ssd", &set, &[], max_cycles).to_string()
    };
    assert!(loops(1).contains("rows from 60 loops on would exceed the cycles asked for"));
    assert!(!loops(1).contains("write-60 "));
    assert!(loops(10).contains("write-60 "));
    let nor = planned("nor-write", &[], &[], 1).to_string();
    assert!(!nor.contains("erase-again"), "{nor}");
}
