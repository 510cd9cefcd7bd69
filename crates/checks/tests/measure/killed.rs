//! The agent is killed at every step of a plan of all that needs no device: what is left is told as partial, with the step.
//!
//! `killed.c`, preloaded, kills the agent at a chosen line or within it, so that every run is at the same place.

use crate::full;
use boardlab_checks::binary::{Boardlab, Scratch};
use boardlab_checks::repository::Repository;
use boardlab_sim::Seed;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const STEPS: [&str; 14] = [
    "cpu.copy size=65536 count=10",
    "cpu.crc size=65536 count=10",
    "cpu.timer count=10",
    "cpu.sleep count=2 time_ns=100000",
    "cpu.pipe count=20",
    "cpu.futex count=20",
    "fs.create path=@ count=3 size=5000",
    "fs.stat path=@ count=3",
    "fs.read path=@ count=3 size=5000",
    "fs.fsync path=@ count=2",
    "fs.list path=@",
    "fs.tiobench path=@ phase=sequential_write length=65536",
    "fs.tiobench path=@ phase=random_read length=65536 operations=5",
    "fs.remove path=@ count=3",
];

/// An agent, a plan of [`STEPS`] for an empty folder, and what kills.
struct Place {
    scratch: Scratch,
    files: PathBuf,
}

impl Place {
    fn new() -> Option<Self> {
        let scratch = Scratch::new();
        let files = scratch.path().join("files");
        fs::create_dir(&files).unwrap();
        let root = Repository::here().root().to_path_buf();
        let mut make = Command::new("make");
        make.args(["-s", "-j2", "-C"]).arg(root.join("agent"));
        let Ok(made) = make.arg(format!("BUILD={}", scratch.path().display())).status() else {
            let _ = writeln!(std::io::stderr(), "skipped: needs make");
            return None;
        };
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]);
        compile.arg(scratch.path().join("killed.so"));
        compile.arg(root.join("crates/checks/tests/measure/killed.c"));
        assert!(made.success() && compile.status().unwrap().success());
        let place = Self { scratch, files };
        let path = place.files.display().to_string();
        let steps = STEPS.iter().enumerate();
        let steps =
            steps.map(|(index, step)| format!("step s{index} {}\n", step.replace('@', &path)));
        place.write("plan", &format!("boardlab-plan 1\n{}", steps.collect::<String>()));
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn agent(&self) -> Command {
        let mut command = Command::new(self.path("boardlab-agent"));
        command.arg("--destroy").arg(&self.files).arg(self.path("plan"));
        command.stderr(File::create(self.path("told")).unwrap());
        command
    }

    /// Runs it until it is killed at a write, after `bytes` of it; what it wrote. The folder is left as it is then.
    fn killed(&self, write: usize, bytes: Option<usize>) -> Vec<u8> {
        let mut command = self.agent();
        command.env("LD_PRELOAD", self.path("killed.so")).env("KILL_WRITE", write.to_string());
        if let Some(bytes) = bytes {
            command.env("KILL_BYTES", bytes.to_string());
        }
        let output = command.stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), None, "it was killed at write {write}");
        output.stdout
    }

    fn clear(&self) {
        fs::remove_dir_all(&self.files).unwrap();
        fs::create_dir(&self.files).unwrap();
    }
}

/// Exit status and warnings of `boardlab measure read`.
pub(crate) fn read(scratch: &Path, bytes: &[u8]) -> (Option<i32>, String) {
    let file = scratch.join("left.jsonl");
    fs::write(&file, bytes).unwrap();
    let output = Boardlab::built().run(&["measure", "read", file.to_str().unwrap()], scratch);
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8_lossy(&told).into_owned())
}

#[test]
fn killed_at_every_line_it_leaves_a_partial_result_that_names_the_step() {
    let Some(place) = Place::new() else { return };
    let whole = place.agent().output().unwrap().stdout;
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 2 * STEPS.len() + 2);
    assert_eq!(read(place.scratch.path(), &whole).0, Some(0));
    for write in 1..=lines.len() {
        let left = place.killed(write, None);
        let (status, told) = read(place.scratch.path(), &left);
        let ended = (write - 1) / 2;
        let counted = if ended == 1 { "1 step".into() } else { format!("{ended} steps") };
        let expected = match write {
            _ if write == lines.len() => String::new(),
            _ if write % 2 == 0 => {
                format!("is partial: it broke off in step `s{ended}`, after {counted} that ended")
            }
            _ => format!("is partial: its end is missing, after {counted} that ended"),
        };
        assert!(flat(&told).contains(&expected), "{write}: {told}");
        assert_eq!(status, Some(i32::from(write < lines.len())), "{write}: {told}");
        after_the_kill(&place);
    }
}

/// A text of a terminal as one line.
pub(crate) fn flat(told: &str) -> String {
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The folder of a killed agent is refused until somebody removes it.
fn after_the_kill(place: &Place) {
    let is_left = place.files.join("boardlab-agent").exists();
    let status = place.agent().arg("--check").output().unwrap().status;
    let told = fs::read_to_string(place.path("told")).unwrap();
    assert_eq!(status.code(), Some(if is_left { 3 } else { 0 }), "{told}");
    assert!(!is_left || told.contains("boardlab-agent"), "{told}");
    place.clear();
}

/// Within a line: the line is damaged, and what came before counts.
#[test]
fn killed_within_a_line_it_leaves_a_partial_result() {
    let Some(place) = Place::new() else { return };
    let lines = 2 * STEPS.len() + 2;
    let mut stream = Seed::new(13).stream("bytes");
    for write in 1..=lines {
        let drawn = usize::try_from(stream.below(60)).unwrap();
        // Every line is longer than this.
        for bytes in if full() { (0..60).collect() } else { vec![drawn] } {
            let left = place.killed(write, Some(bytes));
            let whole = left.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(whole, write - 1);
            let (status, told) = read(place.scratch.path(), &left);
            let told = flat(&told);
            place.clear();
            // Before its first line nothing is known.
            assert!(status == Some(1) || write == 1 && status == Some(2), "{write}: {told}");
            assert!(write == 1 || told.contains("partial"), "{write}, {bytes}: {told}");
            // The first bytes of a line could be of anything.
            let is_told = told.contains("damaged") || told.contains("the agent did not write");
            assert!(write == 1 || bytes == 0 || is_told, "{write}, {bytes}: {told}");
        }
    }
}

/// Processes that run the agent of a folder.
fn processes(program: &Path) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter(|one| fs::read_link(one.path().join("exe")).is_ok_and(|path| path == program))
        .count()
}

/// From outside, in the middle of a step whose processes pass a token around.
#[test]
fn killed_within_a_step_it_leaves_no_process() {
    let Some(place) = Place::new() else { return };
    for step in ["cpu.pipe count=100000000 processes=5", "cpu.futex count=100000000 processes=5"] {
        place.write("plan", &format!("boardlab-plan 1\nstep long {step}\n"));
        let out = place.path("out");
        let mut child = place.agent().stdout(File::create(&out).unwrap()).spawn().unwrap();
        let program = place.path("boardlab-agent");
        while !fs::read_to_string(&out).unwrap().contains("begin") || processes(&program) < 5 {
            assert!(child.try_wait().unwrap().is_none(), "{step}");
            sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let (status, told) = read(place.scratch.path(), &fs::read(&out).unwrap());
        assert!(status == Some(1) && flat(&told).contains("broke off in step `long`"), "{told}");
        let left = (0..200).map(|_| {
            sleep(Duration::from_millis(10));
            processes(&program)
        });
        assert!(
            left.into_iter().any(|count| count == 0),
            "{step}: {} are left",
            processes(&program)
        );
    }
}
