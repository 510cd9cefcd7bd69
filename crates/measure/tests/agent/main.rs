//! The agent and this crate: both know the same operations, and both find the same flaws in plans. And the agent alone:
//! built by every compiler that its page names, emulated on other machines, and with sanitizers.
//!
//! - [`build`]: the compilers, and how their programs run here.
//! - [`compilers`]: no warning, nothing that GCC 4.6 did not know, a small program.
//! - [`plans`]: plans with flaws, mutated ones, and random steps.
//! - [`emulated`]: ARM and MIPS say and do what x86-64 does.
//! - [`sanitized`]: no plan leads to undefined behaviour.
//!
//! With `BOARDLAB_FULL` set there are more plans, and libFuzzer looks for others.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking; sizes are told"
)]

mod build;
mod compilers;
mod emulated;
mod plans;
mod sanitized;

use boardlab_measure::pattern::{ORDERS, Pattern};
use boardlab_measure::plan::operations::{Kind, OPERATIONS};
use boardlab_measure::plan::{Plan, Step};
use boardlab_sim::Bytes;
use build::running;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether everything is tried.
fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// Where the main functions are that tests put in place of the agent's.
fn mains() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

#[test]
fn the_agent_has_the_same_operations_with_the_same_keys() {
    let Some(targets) = running() else { return };
    let mut ours = BTreeSet::new();
    for operation in OPERATIONS {
        ours.insert(format!("{} {}", operation.name, u8::from(operation.writes)));
        for key in operation.keys() {
            let (kind, words, least, most) = match key.kind {
                Kind::Number { least, most } => ("number", String::new(), least, most),
                Kind::Flag => ("flag", String::new(), 0, 1),
                Kind::Word(words) => ("word", words.join(" "), 0, 0),
                Kind::Path => ("path", String::new(), 0, 0),
                Kind::Text => ("word", String::new(), 0, 0),
            };
            let fallback = key.fallback.unwrap_or("(needed)");
            ours.insert(format!(
                "{} {kind} {}={fallback} [{words}] {least}..{most}",
                operation.name, key.name
            ));
        }
    }
    for target in targets {
        let program = target.with_main(&mains(), "table.c", &[]).unwrap();
        let printed = program.command().output().unwrap().stdout;
        let printed = String::from_utf8(printed).unwrap();
        let theirs: BTreeSet<String> = printed.lines().map(String::from).collect();
        let only =
            |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
        let (agent, here) = (only(&theirs, &ours), only(&ours, &theirs));
        assert!(
            agent.is_empty() && here.is_empty(),
            "{}: only the agent: {agent:#?}\nonly here: {here:#?}",
            target.name
        );
    }
}

/// The places of `step` on a device of `capacity` bytes whose smallest unit is `unit`, as the page defines them.
fn places(step: &Step, capacity: u64, unit: u64) -> Vec<u64> {
    let number = |key| step.number(key).unwrap();
    let or = |number: u64, other: u64| if number == 0 { other } else { number };
    let (offset, size) = (number("offset"), or(number("size"), unit));
    let length = or(number("length"), capacity - offset);
    let count = Some(number("count")).filter(|count| *count > 0);
    let order = ORDERS.iter().find(|(name, _)| step.text("order") == Some(*name)).unwrap().1;
    let range = (Bytes::new(offset), Bytes::new(length));
    let pattern = Pattern::new(range, Bytes::new(size), count, (order, number("seed")));
    pattern.map(Bytes::get).collect()
}

#[test]
fn the_agent_visits_the_same_places() {
    const DEVICE: (u64, u64) = (1 << 20, 512);
    let Some(targets) = running() else { return };
    let mut plan = Plan::new("");
    let mut step = |name: String, keys: &[(&str, u64)], order: &str| {
        let step = Step::new(name, "block.read").device("/dev/x").key("order", order);
        plan.push(keys.iter().fold(step, |step, (key, value)| step.key(key, *value)));
    };
    for (order, _) in ORDERS {
        step(format!("all-{order}"), &[("size", 65_536)], order);
        step(
            format!("rest-{order}"),
            &[("offset", 1_024), ("length", 10_000), ("size", 1_536)],
            order,
        );
        step(format!("again-{order}"), &[("length", 2_048), ("count", 11), ("seed", 0)], order);
        let seed = u64::MAX / 2;
        step(format!("seed-{order}"), &[("size", 4_096), ("count", 300), ("seed", seed)], order);
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("places.plan");
    fs::write(&file, plan.to_string()).unwrap();
    let (capacity, unit) = DEVICE;
    let arguments = [capacity, unit].map(|number| number.to_string());
    let ours: String = plan
        .steps()
        .iter()
        .map(|step| {
            let places = places(step, capacity, unit);
            assert!(!places.is_empty(), "{step}");
            places.iter().fold(step.name().to_owned(), |line, at| format!("{line} {at}")) + "\n"
        })
        .collect();
    for target in targets {
        let program = target.with_main(&mains(), "places.c", &[]).unwrap();
        let output = program.command().arg(&file).args(&arguments).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), ours, "{}", target.name);
    }
}
