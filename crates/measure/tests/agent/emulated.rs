//! The agent on ARM and MIPS, in QEMU's emulation of their processors over the kernel of this machine: it finds the same
//! flaws in plans, does the same to files, and measures the same work as on x86-64.

use super::build::{Agent, TARGETS, running};
use super::full;
use super::plans::{examples, mutated, said};
use boardlab_measure::reading::{EndKind, Reading, State, StepReading, read};
use boardlab_sim::Seed;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// An empty folder below that of the tests.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn flaws_of_plans_are_the_same_on_every_machine() {
    let Some(targets) = running() else { return };
    let plan = folder("emulated-flaws").join("plan");
    let mut tried = examples();
    let whole = tried[0].clone();
    let mut stream = Seed::new(11).stream("mutations");
    tried.extend(mutated(&whole, &mut stream, if full() { 500 } else { 10 }));
    for (index, text) in tried.iter().enumerate() {
        fs::write(&plan, text).unwrap();
        let ours = said(targets[0].agent().unwrap(), &plan);
        // One of the machines for each plan; all of them with all plans take a minute.
        for (number, target) in targets[1..].iter().enumerate() {
            if full() || index % (targets.len() - 1) == number {
                assert_eq!(said(target.agent().unwrap(), &plan), ours, "{}: {text}", target.name);
            }
        }
    }
}

/// What can be done without a device: every operation on files and on the CPU.
pub(crate) fn work(path: &Path) -> String {
    let path = path.display();
    let mut plan = String::from("boardlab-plan 1\nscenario work\n");
    for line in [
        "crc cpu.crc size=65536 count=7",
        "crc-odd cpu.crc size=1003 count=11",
        "copy cpu.copy size=65536 count=20 each=1",
        "timer cpu.timer count=100",
        "sleep cpu.sleep count=3 time_ns=100000",
        "pipe cpu.pipe count=50 processes=3",
        "futex cpu.futex count=50",
        "create fs.create path=@ count=12 size=3000 each=1",
        "stat fs.stat path=@ count=12",
        "read fs.read path=@ count=12 size=3000",
        "fsync fs.fsync path=@ count=4 size=5000",
        "list fs.list path=@",
        "bench-write fs.tiobench path=@ phase=sequential_write threads=2 length=131072 size=4096 data=random presize=1",
        "bench-rewrite fs.tiobench path=@ phase=random_write threads=2 length=131072 size=4096 operations=20",
        "bench-read fs.tiobench path=@ phase=sequential_read threads=2 length=131072 size=4096",
        "bench-reread fs.tiobench path=@ phase=random_read threads=2 length=131072 size=4096 operations=20",
        "remove fs.remove path=@ count=12",
    ] {
        plan += &format!("step {}\n", line.replace('@', &path.to_string()));
    }
    plan
}

/// What is the same of a step on every machine.
fn figures(step: &StepReading) -> (String, State, u64, u64, u64, BTreeMap<String, String>) {
    let values = step.values.iter().filter(|(name, _)| !name.ends_with("_ns"));
    let values = values.map(|(name, value)| (name.clone(), format!("{value:?}"))).collect();
    let latencies =
        step.latencies.iter().flat_map(|all| all.histogram.classes()).map(|class| class.1).sum();
    (step.name.clone(), step.state.clone(), step.operations, step.bytes, latencies, values)
}

/// Runs the plan [`work`]; what this crate reads of its output.
pub(crate) fn worked(agent: &Agent, folder: &Path) -> Reading {
    let (plan, files) = (folder.join("plan"), folder.join("files"));
    fs::create_dir_all(files.join("of others")).unwrap();
    fs::write(files.join("of others/file"), "stays").unwrap();
    fs::write(&plan, work(&files)).unwrap();
    let output = agent.command().arg("--destroy").arg(&files).arg(&plan).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}: {told}", agent.program.display());
    let left = contents(&files);
    assert_eq!(left, BTreeMap::from([("of others/file".into(), b"stays".to_vec())]));
    let mut readings = read(&output.stdout[..]).unwrap();
    assert!(readings.len() == 1 && readings[0].is_whole(), "{readings:?}");
    readings.remove(0)
}

#[test]
fn work_is_the_same_on_every_machine() {
    let Some(targets) = running() else { return };
    let mut first = None;
    for target in targets {
        let reading = worked(target.agent().unwrap(), &folder("emulated-work"));
        let all: Vec<_> = reading.steps.iter().map(figures).collect();
        let head = reading.head.unwrap();
        assert_eq!((head.scenario.as_str(), head.steps), ("work", all.len()), "{}", target.name);
        let first = first.get_or_insert_with(|| all.clone());
        assert_eq!(all, *first, "{}", target.name);
        assert!(all.iter().filter(|step| step.5.contains_key("crc32")).count() == 2, "{all:?}");
    }
}

/// All files below a folder, with their bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// The files that steps leave for the next ones, seen while a later step waits; then a signal ends the plan.
fn left_by_steps(agent: &Agent, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (plan, files, out) = (folder.join("plan"), folder.join("files"), folder.join("out"));
    fs::create_dir_all(&files).unwrap();
    let path = files.display();
    let text = format!(
        "boardlab-plan 1\nstep create fs.create path={path} count=5 size=10001\n\
         step fsync fs.fsync path={path} count=3 size=777\n\
         step bench fs.tiobench path={path} phase=sequential_write threads=2 length=20480 size=4096\n\
         step wait cpu.sleep count=1000 time_ns=100000000\nstep remove fs.remove path={path} count=5\n"
    );
    fs::write(&plan, text).unwrap();
    let mut command = agent.command();
    command.arg("--destroy").arg(&files).arg("--out").arg(&out).arg(&plan).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while !fs::read_to_string(&out).unwrap_or_default().contains(r#"{"begin":"wait""#) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", agent.program.display());
        sleep(Duration::from_millis(5));
    }
    let left = contents(&files);
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success() && child.wait().unwrap().code() == Some(1));
    assert_eq!(contents(&files), BTreeMap::new());
    let reading = read(&fs::read(&out).unwrap()[..]).unwrap().remove(0);
    let end = reading.end.unwrap();
    assert_eq!((end.kind, end.restored.len()), (EndKind::Interrupted, 1), "{end:?}");
    left
}

#[test]
fn files_have_the_same_bytes_on_every_machine() {
    let Some(targets) = running() else { return };
    let mut first = None;
    for target in targets {
        let left = left_by_steps(target.agent().unwrap(), &folder("emulated-files"));
        assert!(left.len() >= 5 + 1 + 2, "{:?}", left.keys());
        let first = first.get_or_insert_with(|| left.clone());
        assert!(left == *first, "{}: {:?}, expected {:?}", target.name, left.keys(), first.keys());
    }
}

/// So that the targets above are what the page of the agent promises.
#[test]
fn both_byte_orders_and_both_widths_are_emulated() {
    let emulated: Vec<_> =
        TARGETS.iter().filter(|one| one.is_emulated()).map(|one| one.name).collect();
    assert_eq!(emulated, ["ARMv5", "ARMv7", "ARMv8", "MIPS, big-endian", "MIPS, little-endian"]);
}
