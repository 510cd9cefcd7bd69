//! A real Linux kernel for tests: runs jobs in the guest of `oracles/guest.sh`.
//!
//! Layer: beside all others. Main types: [`Guest`], [`Share`], the folder that host and guest see, and
//! [`Cut`], what was left when the guest's power failed. One boot takes about four seconds of a core, so
//! a test puts many cases into one job. How a job looks: `oracles/README.md`.

use crate::binary::Scratch;
use crate::repository::Repository;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The guest, prepared.
#[derive(Debug)]
pub struct Guest {
    script: PathBuf,
    folder: PathBuf,
}

/// A folder of the host, `/h` in the guest; it goes away with this value.
#[derive(Debug, Default)]
pub struct Share(Scratch);

/// What was left on the host when the guest's power failed.
#[derive(Debug)]
pub struct Cut {
    /// After how many writes to files of the share.
    pub writes: u32,
    /// Contents of nandsim's `cache_file`.
    pub cache: Vec<u8>,
    /// The order in which the files of the share were written, as QEMU traced it.
    pub trace: String,
    /// What the job had said.
    pub log: String,
}

impl Guest {
    /// The guest, or `None` when this machine lacks what it needs, which is said on standard error.
    /// Without set-up, it is prepared now.
    #[must_use]
    pub fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Guest>> = OnceLock::new();
        let guest = FOUND.get_or_init(|| Self::look().ok());
        if guest.is_none() {
            let reason = Self::look().err().unwrap_or_default();
            // The test harness swallows what `eprintln!` writes.
            let _ = writeln!(std::io::stderr(), "skipped: needs {reason}");
        }
        guest.as_ref()
    }

    fn look() -> Result<Self, String> {
        let root = Repository::here().root().to_path_buf();
        let guest =
            Self { script: root.join("oracles/guest.sh"), folder: root.join(".setup/guest") };
        let version = Command::new("qemu-system-x86_64").arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            return Err("qemu-system-x86_64".into());
        }
        let prepared = guest.call("prepare", &[]);
        if prepared.status.success() {
            return Ok(guest);
        }
        let message = String::from_utf8_lossy(&prepared.stderr).into_owned();
        Err(format!("the guest's kernel (setup/setup.sh test): {}", message.trim()))
    }

    /// The folder with its kernel, for scripts.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn call(&self, command: &str, arguments: &[&str]) -> Output {
        Command::new(&self.script)
            .arg(command)
            .arg(&self.folder)
            .args(arguments)
            .env("GUEST_SECONDS", "1800")
            .env("GUEST_MB", "1536")
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.script.display()))
    }

    /// Boots the guest and runs the shell script `job` in it; what it printed.
    ///
    /// # Panics
    /// When the job fails or does not finish, with what it printed.
    pub fn run(&self, share: &Share, job: &str) -> String {
        share.write("job", format!("set -eu\n{job}"));
        let output = self.call("run", &[share.text(), "job"]);
        let console = String::from_utf8_lossy(&output.stdout).into_owned();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the guest's job failed: {message}\n{console}");
        console
    }

    /// Boots the guest, runs the shell script `job` and lets the power fail after each number of
    /// `writes`, which rise: the machine stands still while what is left is copied, and at the last one it
    /// is killed. A job that ends earlier gives fewer cuts.
    ///
    /// # Panics
    /// When there is no cut at all.
    pub fn cut(&self, share: &Share, job: &str, writes: &[u32]) -> Vec<Cut> {
        share.write("job", format!("set -eu\n{job}"));
        let numbers: Vec<_> = writes.iter().map(ToString::to_string).collect();
        let mut arguments = vec![share.text(), "job"];
        arguments.extend(numbers.iter().map(String::as_str));
        let output = self.call("cut", &arguments);
        let cuts: Vec<_> = writes.iter().filter_map(|writes| share.cut(*writes)).collect();
        let message = String::from_utf8_lossy(&output.stderr);
        let console = share.read("console").unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        assert!(!cuts.is_empty(), "the guest was never cut: {message}\n{console}");
        cuts
    }
}

impl Share {
    /// An empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where it lies on the host.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn text(&self) -> &str {
        self.path().to_str().expect("a temporary folder has a name in UTF-8")
    }

    /// Writes a file for the guest.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::write(&path, contents).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Reads a file of the guest, if there is one.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path().join(name)).ok()
    }

    /// Reads a text that the guest must have written.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn text_of(&self, name: &str) -> String {
        let bytes = self.read(name).unwrap_or_else(|| panic!("the guest wrote no {name}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn cut(&self, writes: u32) -> Option<Cut> {
        let folder = format!("cut-{writes}");
        let cache = self.read(&format!("{folder}/cache"))?;
        let trace = self.text_of(&format!("{folder}/trace"));
        let log = self.text_of(&format!("{folder}/log"));
        Some(Cut { writes, cache, trace, log })
    }
}
