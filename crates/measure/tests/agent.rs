//! The agent and this crate: both know the same operations, and both find the same flaws in plans.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

use boardlab_measure::pattern::{ORDERS, Pattern};
use boardlab_measure::plan::operations::{Kind, OPERATIONS};
use boardlab_measure::plan::{Plan, Step};
use boardlab_sim::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The agent with the main function `source` in place of its own, or else its own; `None` without a compiler.
fn built(name: &str, source: Option<&str>) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let agent = root.join("../../agent");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut files: Vec<_> =
        fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "c"));
    let mut command = Command::new("cc");
    command.args(["-O1", "-std=c99", "-pthread", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-I"]);
    command.arg(&agent).arg("-o").arg(&program).args(files);
    if let Some(source) = source {
        command.arg("-Dmain=agent_main").arg(root.join("tests").join(source));
    }
    match command.status() {
        Ok(status) => assert!(status.success(), "the agent is not compiled"),
        Err(_) => {
            eprintln!("skipped: needs cc");
            return None;
        }
    }
    Some(program)
}

#[test]
fn the_agent_has_the_same_operations_with_the_same_keys() {
    let Some(program) = built("agent-table", Some("table.c")) else { return };
    let printed = Command::new(program).output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    let theirs: BTreeSet<String> = printed.lines().map(String::from).collect();
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
    let only = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    let (agent, here) = (only(&theirs, &ours), only(&ours, &theirs));
    assert!(
        agent.is_empty() && here.is_empty(),
        "only the agent: {agent:#?}\nonly here: {here:#?}"
    );
}

/// What the agent says of a plan: nothing, or line, column, what was found and what is due.
fn said(agent: &Path, plan: &Path) -> Option<String> {
    let output = Command::new(agent).args(["--check", plan.to_str().unwrap()]).output().unwrap();
    if output.status.code() != Some(2) {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let place = format!("boardlab-agent: {}:", plan.display());
    let flaw = said.trim().strip_prefix(&place).unwrap_or_else(|| panic!("{said}"));
    Some(flaw.to_owned())
}

/// As [`said`], by this crate.
fn found(text: &str) -> Option<String> {
    let flaw = Plan::parse(text).err()?;
    Some(format!("{}:{}: found {}, expected {}", flaw.line, flaw.column, flaw.found, flaw.expected))
}

/// A plan with every operation, and what somebody could have meant by it.
fn examples() -> Vec<String> {
    let mut plan = Plan::new("x").endurance("/dev/x", 3);
    for (index, operation) in OPERATIONS.iter().enumerate() {
        let mut step = Step::new(format!("s{index}"), operation.name);
        for key in operation.keys().filter(|key| key.fallback.is_none()) {
            step = match key.kind {
                Kind::Word(words) => step.key(key.name, words[0]),
                _ => step.key(key.name, "/dev/x"),
            };
        }
        plan.push(step.predict("mean_ns", 7));
    }
    let whole = plan.to_string();
    let head = "boardlab-plan 1\n";
    let mut examples = vec![whole, String::new(), head.into(), "# x\nstep a cpu.copy\n".into()];
    for line in [
        "step",
        "step a",
        "step a cpu.copy size",
        "step a cpu.copy =1",
        "step a cpu.copy size=",
        "step a cpu.copy size=+1",
        "step a cpu.copy size=1 size=2",
        "step a cpu.copy size=99999999999999999999",
        "step a cpu.copy each=2",
        "step a mtd.read device=dev",
        "step a mtd.read device=%2Fdev",
        "step a mtd.read",
        "step a mtd.read device=/%00",
        "step a mtd.read device=/%zz",
        "step a mtd.read device=/% order=random",
        "step a mtd.read device=/x order=back",
        "step a mtd.read device=/x order=",
        "  step   a   cpu.copy  ",
        "step a/b cpu.copy",
        "scenario",
        "scenario a b",
        "scenario a\nscenario b",
        "endurance /x",
        "endurance /x 0",
        "endurance x 1",
        "endurance /x 1 2",
        "endurance /x 1\nendurance /x 2",
        "endurance %2Fx 1",
        " # x",
        "step a cpu.copy\nstep a cpu.copy",
        "step a cpu.copy predict.mean_ns",
        "Step a cpu.copy",
    ] {
        examples.push(format!("{head}{line}\n"));
        examples.push(format!("{head}{line}\nstep z cpu.timer\n"));
    }
    let long = |length: usize| format!("{head}#{}\nstep a cpu.copy\n", "x".repeat(length - 1));
    examples.extend([
        long(4_096),
        long(4_097),
        format!("{head}step {} cpu.copy\n", "n".repeat(65)),
    ]);
    examples
}

#[test]
fn both_readers_find_the_same_flaws() {
    let Some(agent) = built("agent-reader", None) else { return };
    let plan = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reader.plan");
    let examples = examples();
    assert_eq!(found(&examples[0]), None);
    let mut state = 7_u64;
    let mut next = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut tried = examples.clone();
    let bytes = b" \n=%/.#0aZ_-\t~";
    // Predictions are for this crate alone.
    let whole = examples[0].replace(" predict.mean_ns=7", "");
    for _ in 0..500 {
        let mut text = whole.clone().into_bytes();
        for _ in 0..=next(2) {
            let at = next(text.len());
            match next(3) {
                0 => text[at] = bytes[next(bytes.len())],
                1 => text.insert(at, bytes[next(bytes.len())]),
                _ => drop(text.remove(at)),
            }
        }
        tried.push(String::from_utf8(text).unwrap());
    }
    let mut refused = 0;
    for text in &tried {
        fs::write(&plan, text).unwrap();
        let (theirs, ours) = (said(&agent, &plan), found(text));
        // The agent decodes values in place, so that it shows them decoded, or half decoded.
        let coded = [&theirs, &ours].map(|flaw| {
            let (place, rest) = flaw.as_ref()?.split_once(": found ")?;
            let (found, expected) = rest.split_once(", expected ")?;
            let found = if text.contains('%') { "" } else { found };
            // Dots stand for the rest of a long field; the agent leaves it out.
            let found = found.replace("...`", "`");
            // Keys are listed in any order.
            let mut expected: Vec<_> = expected.split(' ').collect();
            expected.sort_unstable();
            Some([place.into(), found, expected.join(" ")])
        });
        assert_eq!(theirs.is_some(), ours.is_some(), "{text}");
        assert_eq!(coded[0], coded[1], "{text}");
        refused += usize::from(ours.is_some());
    }
    assert!(refused > 150 && refused < tried.len() - 50, "{refused} of {}", tried.len());
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
    let Some(program) = built("agent-places", Some("places.c")) else { return };
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
    let output = Command::new(program).arg(&file).args(arguments).output().unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    let ours: String = plan
        .steps()
        .iter()
        .map(|step| {
            let places = places(step, capacity, unit);
            assert!(!places.is_empty(), "{step}");
            places.iter().fold(step.name().to_owned(), |line, at| format!("{line} {at}")) + "\n"
        })
        .collect();
    assert_eq!(theirs, ours);
}
