//! Which test finds which mutant.
//!
//! Layer: inside `checks`. Main types: [`Test`], one test with its time and what it reaches; [`Outcome`]. Each test
//! is a process of its own, so that a mutant that never ends or aborts takes nothing else with it.

use super::build::{Binary, Built};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, fs, io, thread};

/// A test may have so much address space.
const MEMORY_MAX_KIB: u64 = 8 << 20;

/// One test of one binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The binary.
    pub binary: PathBuf,
    /// The folder to run it in.
    pub folder: PathBuf,
    /// Its name in the binary.
    pub name: String,
    /// How long it takes without a mutant.
    pub time: Duration,
    /// The mutants that it reaches.
    pub reaches: BTreeSet<u32>,
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// This test failed.
    Found(String),
    /// This test did not come to its end.
    Endless(String),
    /// So many tests reach it, and all pass.
    Survived(usize),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(test) => write!(f, "found by {test}"),
            Self::Endless(test) => write!(f, "found by {test}, which does not end"),
            Self::Survived(0) => f.write_str("SURVIVED: no test reaches it"),
            Self::Survived(count) => write!(f, "SURVIVED: {count} tests reach it"),
        }
    }
}

/// Runs every test once without a mutant, and gives those that pass, the quickest first.
///
/// # Errors
/// A binary that does not start.
pub fn baseline(built: &Built, scratch: &Path) -> io::Result<Vec<Test>> {
    let mut tests = Vec::new();
    for Binary { program: binary, folder, begin } in &built.binaries {
        let list = Command::new(binary)
            .args(["--list", "--format", "terse"])
            .current_dir(folder)
            .output()?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        for name in names.filter(|name| name.starts_with(begin)) {
            let (binary, folder, name) = (binary.clone(), folder.clone(), name.to_owned());
            let (time, reaches) = (Duration::MAX, BTreeSet::new());
            let mut test = Test { binary, folder, name, time, reaches };
            if test.measure(scratch)? {
                tests.push(test);
            }
        }
    }
    tests.sort_by_key(|test| test.time);
    Ok(tests)
}

/// Runs the tests that reach a mutant until one fails.
///
/// # Errors
/// A binary that does not start.
pub fn judge(number: u32, tests: &[Test]) -> io::Result<Outcome> {
    let mut passed = 0;
    for test in tests.iter().filter(|test| test.reaches.contains(&number)) {
        // The machine may have more to do than in the run without a mutant.
        let limit = test.time * 4 + Duration::from_secs(10);
        match test.run(number, None, limit)? {
            None => return Ok(Outcome::Endless(test.title())),
            Some(status) if !status.success() => return Ok(Outcome::Found(test.title())),
            Some(_) => passed += 1,
        }
    }
    Ok(Outcome::Survived(passed))
}

impl Test {
    /// The binary without cargo's digest, and the name.
    fn title(&self) -> String {
        let binary = self.binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let binary = binary.rsplit_once('-').map_or(binary.as_str(), |(name, _)| name);
        format!("{binary}::{}", self.name)
    }

    /// Takes its time and what it reaches; says whether it passes.
    fn measure(&mut self, scratch: &Path) -> io::Result<bool> {
        fs::write(scratch, "")?;
        let start = Instant::now();
        let status = self.run(0, Some(scratch), Duration::from_secs(600))?;
        self.time = start.elapsed();
        let list = fs::read_to_string(scratch)?;
        self.reaches = list.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(status.is_some_and(|status| status.success()))
    }

    /// Runs it with a mutant; nothing if it does not end in time.
    fn run(
        &self,
        number: u32,
        reached: Option<&Path>,
        limit: Duration,
    ) -> io::Result<Option<ExitStatus>> {
        // A mutant may take memory without end.
        let limited = format!("ulimit -v {MEMORY_MAX_KIB} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited]).arg(&self.binary);
        command.args(["--exact", &self.name, "--include-ignored"]).current_dir(&self.folder);
        command.env("BOARDLAB_MUTANT", number.to_string()).env_remove("BOARDLAB_FULL");
        command.envs(reached.map(|list| ("BOARDLAB_MUTANTS_REACHED", list)));
        command.env("RUST_BACKTRACE", "0");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}
