//! Plans: some for each rule of their format, mutated ones, and random steps; and what the agent and this crate say of them.

use super::build::{Agent, SANITIZED, lacks};
use super::full;
use boardlab_measure::plan::operations::{Kind, OPERATIONS, Operation};
use boardlab_measure::plan::{Plan, Step};
use boardlab_sim::{Seed, Stream};
use std::fs;
use std::path::Path;

/// What the agent says of a plan: nothing, or line, column, what was found and what is due.
pub(crate) fn said(agent: &Agent, plan: &Path) -> Option<String> {
    let output = agent.command().args(["--check", plan.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code();
    if status != Some(2) {
        assert!(matches!(status, Some(0 | 3)), "{}: {}\n{said}", plan.display(), output.status);
        return None;
    }
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
pub(crate) fn examples() -> Vec<String> {
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

/// A number below a small one.
fn below(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(u64::try_from(bound).unwrap())).unwrap()
}

/// `count` times `text` with one or two bytes changed, added or taken away.
pub(crate) fn mutated<'t>(
    text: &'t str,
    stream: &'t mut Stream,
    count: usize,
) -> impl Iterator<Item = String> + 't {
    const BYTES: &[u8] = b" \n=%/.#0aZ_-\t~";
    (0..count).map(move |_| {
        let mut text = text.as_bytes().to_vec();
        for _ in 0..=below(stream, 2) {
            let (at, byte) = (below(stream, text.len()), BYTES[below(stream, BYTES.len())]);
            match below(stream, 3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        String::from_utf8(text).unwrap()
    })
}

/// The most of a key in random steps, so that none takes long or fills the disk.
fn most(key: &str) -> u64 {
    match key {
        "count" | "operations" => 200,
        "size" => 1 << 17,
        "length" => 1 << 20,
        "time_ns" => 1_000_000,
        "threads" | "processes" | "depth" => 8,
        _ => u64::MAX,
    }
}

/// A random step of an operation, about one of `targets`.
fn random_step(stream: &mut Stream, name: String, operation: &Operation, targets: &[&str]) -> Step {
    let mut step = Step::new(name, operation.name);
    for key in operation.keys() {
        let needed = key.fallback.is_none();
        if key.name != "limit_ms" && !needed && stream.chance(1, 2) {
            continue;
        }
        step = match key.kind {
            Kind::Number { .. } if key.name == "limit_ms" => step.key(key.name, 5),
            Kind::Number { least, most: bound } => {
                let bound = bound.min(most(key.name));
                let drawn = least + stream.below((bound - least).max(1));
                let numbers = [least, bound, drawn, drawn >> 30, 512, 4_096]
                    .map(|one| one.clamp(least, bound));
                step.key(key.name, numbers[below(stream, numbers.len())])
            }
            Kind::Flag => step.key(key.name, stream.below(2)),
            Kind::Word(words) => step.key(key.name, words[below(stream, words.len())]),
            Kind::Path => step.key(key.name, targets[below(stream, targets.len())]),
            Kind::Text => step.key(key.name, "ro"),
        };
    }
    step
}

/// A plan of random steps about `targets`, of operations on files and the CPU alone or of all. None mounts: tests may
/// run as root.
pub(crate) fn random_plan(stream: &mut Stream, targets: &[&str], is_all: bool) -> Plan {
    let mut plan = Plan::new("random");
    let mut operations: Vec<_> =
        OPERATIONS.iter().filter(|one| !one.name.contains("mount")).collect();
    operations.retain(|one| is_all || one.name.starts_with("fs.") || one.name.starts_with("cpu."));
    for index in 0..=below(stream, 6) {
        let operation = operations[below(stream, operations.len())];
        plan.push(random_step(stream, format!("s{index}"), operation, targets));
    }
    plan
}

#[test]
fn both_readers_find_the_same_flaws() {
    let Some(agent) = SANITIZED.agent() else { return lacks("gcc") };
    let plan = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reader.plan");
    let mut tried = examples();
    assert_eq!(found(&tried[0]), None);
    // Predictions are for this crate alone.
    let whole = tried[0].replace(" predict.mean_ns=7", "");
    let mut stream = Seed::new(7).stream("mutations");
    tried.extend(mutated(&whole, &mut stream, if full() { 10_000 } else { 600 }));
    let mut refused = 0;
    for text in &tried {
        fs::write(&plan, text).unwrap();
        let (theirs, ours) = (said(agent, &plan), found(text));
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
