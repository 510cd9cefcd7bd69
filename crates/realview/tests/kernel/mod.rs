//! Builds the operating system of `os/`, and uses its shell on the simulated board.
//!
//! Included by the tests that need it. Without the compiler, [`build`] reports the test as skipped.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests: each uses a part of it"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use boardlab_arm926::Predecoded;
use boardlab_arm926::{Cycles, Limit};
use boardlab_realview::{Card, Machine, Outcome, Program, Settings};

const COMPILER: &str = "arm-none-eabi-gcc";
pub(crate) const PROMPT: &str = "$ ";
/// Twenty seconds of the board's time: more than any command of a test takes.
const PATIENCE: u64 = 4_000_000_000;
/// Cycles between two polls of the console.
const LOOK: u64 = 100_000;

pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../os")
}

/// `make -C os OUT=folder target`.
///
/// # Panics
///
/// If it fails.
pub(crate) fn make(folder: &Path, target: &str) -> String {
    make_from(&sources(), folder, &[target])
}

/// The same with sources from elsewhere and further arguments.
pub(crate) fn make_from(sources: &Path, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("make")
        .args(["-s", "-C"])
        .arg(sources)
        .arg(format!("OUT={}", folder.display()))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "make {arguments:?}: {text}{errors}");
    text
}

fn build_once(ending: &str, arguments: &[&str]) -> Option<PathBuf> {
    if Command::new(COMPILER).arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: needs {COMPILER}");
        return None;
    }
    let name = [env!("CARGO_CRATE_NAME"), ending].concat();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    make_from(&sources(), &folder, arguments);
    Some(folder)
}

/// The folder with `kernel.elf`, `mkfs`, `fsck` and `user/`, built once for each test program.
pub(crate) fn build() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| build_once("", &["all"])).as_deref()
}

/// The same with a kernel that checks its contracts while it runs.
pub(crate) fn build_checked() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| build_once("-checked", &["all", "CHECKS=1"])).as_deref()
}

/// A machine with the kernel in its memory, before its first instruction.
pub(crate) fn machine(settings: &Settings, folder: &Path, options: &str) -> Machine {
    let elf = std::fs::read(folder.join("kernel.elf")).unwrap();
    let mut machine = Machine::new(settings).unwrap().with_engine(Predecoded::new());
    machine.load(&Program::parse(&elf).unwrap()).unwrap();
    machine.set_command_line(options);
    machine
}

/// A machine whose shell waits for a command.
pub(crate) struct Shell {
    pub(crate) machine: Machine,
}

impl Shell {
    /// Boots the kernel with these options and this card. Also returns the output up to the prompt.
    pub(crate) fn start(folder: &Path, options: &str, card: Option<Card>) -> (Self, String) {
        Self::start_on(&Settings::default(), folder, options, card)
    }

    /// The same on another board.
    pub(crate) fn start_on(
        settings: &Settings,
        folder: &Path,
        options: &str,
        card: Option<Card>,
    ) -> (Self, String) {
        let mut machine = machine(settings, folder, options);
        if let Some(card) = card {
            machine.insert_card(card);
        }
        let mut shell = Self { machine };
        let text = shell.until_prompt();
        (shell, text)
    }

    fn until_prompt(&mut self) -> String {
        let mut text = String::new();
        let end = self.machine.now().plus(PATIENCE);
        while !text.ends_with(PROMPT) {
            let look = self.machine.now().plus(LOOK);
            let outcome = self.machine.run(Limit::cycles(look));
            text += &String::from_utf8_lossy(&self.machine.take_console());
            assert!(!text.contains("panic"), "{text}");
            assert_eq!(outcome, Outcome::Limit, "{text}");
            assert!(self.machine.now() < end, "no prompt: {text}");
        }
        text.truncate(text.len() - PROMPT.len());
        text
    }

    /// Sends a line; returns its output without the prompt.
    pub(crate) fn command(&mut self, line: &str) -> String {
        self.machine.push_input(0, format!("{line}\n").as_bytes());
        let text = self.until_prompt();
        text.trim_start_matches(line).trim_start().to_owned()
    }

    pub(crate) fn now(&self) -> Cycles {
        self.machine.now()
    }
}
