//! A real Linux kernel for tests: runs jobs in the guest of `oracles/guest.sh`.
//!
//! Layer: beside all others. Main types: [`Guest`], of an [`Architecture`], [`Share`], the folder that host and
//! guest see, and [`Cut`], what was left when the guest's power failed. One boot takes about four seconds of a core, so
//! a test puts many cases into one job. How a job looks: `oracles/README.md`.

use crate::binary::Scratch;
use crate::repository::Repository;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// What a guest's processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, with the mtd-utils.
    Amd64,
    /// `ARMv7`, with BusyBox alone.
    Armhf,
    /// Little-endian MIPS, with BusyBox alone.
    Mipsel,
}

/// The guest, prepared.
#[derive(Debug)]
pub struct Guest {
    script: PathBuf,
    folder: PathBuf,
    architecture: Architecture,
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
    /// The guest of x86-64: see [`Self::of`].
    #[must_use]
    pub fn find() -> Option<&'static Self> {
        Self::of(Architecture::Amd64)
    }

    /// The guest, or `None` when this machine lacks what it needs, which is said on standard error.
    /// Without set-up, it is prepared now.
    #[must_use]
    pub fn of(architecture: Architecture) -> Option<&'static Self> {
        static FOUND: [OnceLock<Option<Guest>>; 3] = [const { OnceLock::new() }; 3];
        let found = match architecture {
            Architecture::Amd64 => &FOUND[0],
            Architecture::Armhf => &FOUND[1],
            Architecture::Mipsel => &FOUND[2],
        };
        let guest = found.get_or_init(|| Self::look(architecture).ok());
        if guest.is_none() {
            let reason = Self::look(architecture).err().unwrap_or_default();
            // The test harness swallows what `eprintln!` writes.
            let _ = writeln!(std::io::stderr(), "skipped: needs {reason}");
        }
        guest.as_ref()
    }

    fn look(architecture: Architecture) -> Result<Self, String> {
        let root = Repository::here().root().to_path_buf();
        let (emulator, name, folder) = match architecture {
            Architecture::Amd64 => ("qemu-system-x86_64", "amd64", ".setup/guest"),
            Architecture::Armhf => ("qemu-system-arm", "armhf", ".setup/guest-armhf"),
            Architecture::Mipsel => ("qemu-system-mipsel", "mipsel", ".setup/guest-mipsel"),
        };
        let (script, folder) = (root.join("oracles/guest.sh"), root.join(folder));
        let guest = Self { script, folder, architecture };
        let version = Command::new(emulator).arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            return Err(emulator.into());
        }
        let prepared = guest.call("prepare", &[name]);
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

    /// What it runs on.
    #[must_use]
    pub const fn architecture(&self) -> Architecture {
        self.architecture
    }

    fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut script = Command::new(&self.script);
        script.arg(command).arg(&self.folder).args(arguments).stdin(Stdio::null());
        script.env("GUEST_SECONDS", "1800").env("GUEST_MB", "1536");
        script
    }

    fn call(&self, command: &str, arguments: &[&str]) -> Output {
        let output = self.command(command, arguments).output();
        output.unwrap_or_else(|error| panic!("{}: {error}", self.script.display()))
    }

    /// Boots the guest and runs the shell script `job` in it; what it printed.
    ///
    /// # Panics
    /// When the job fails or does not finish, with what it printed.
    pub fn run(&self, share: &Share, job: &str) -> String {
        self.run_with(share, job, &[])
    }

    /// As [`Self::run`], with more arguments for QEMU.
    ///
    /// # Panics
    /// When the job fails or does not finish, with what it printed.
    pub fn run_with(&self, share: &Share, job: &str, qemu: &[&str]) -> String {
        share.write("job", format!("set -eu\n{job}"));
        let output = self.call("run", &[&[share.text(), "job"], qemu].concat());
        let console = String::from_utf8_lossy(&output.stdout).into_owned();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the guest's job failed: {message}\n{console}");
        console
    }

    /// Boots the guest, runs the shell script `job` and lets the power fail as soon as the serial console
    /// has a line with `text`, to its end. Everything that came over the console.
    ///
    /// # Panics
    /// When the machine ends before.
    pub fn cut_at(&self, share: &Share, job: &str, text: &str) -> Vec<u8> {
        share.write("job", format!("set -eu\n{job}"));
        let console = share.path().join("console");
        let file = format!("file:{}", console.display());
        let mut command = self.command("run", &[share.text(), "job", "-serial", &file]);
        // A group of its own: the script, what limits its time, and QEMU.
        let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{}: {error}", self.script.display()));
        loop {
            let ended = child.try_wait().expect("a child can be waited for").is_some();
            let said = fs::read(&console).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            if said.split_inclusive('\n').any(|line| line.contains(text) && line.ends_with('\n')) {
                break;
            }
            assert!(!ended, "no {text} on the console:\n{said}");
            thread::sleep(Duration::from_millis(5));
        }
        kill_group(&mut child);
        share.read("console").unwrap_or_default()
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

/// Kills a child and all of its group.
fn kill_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
    assert!(killed.is_ok_and(|status| status.success()), "the guest cannot be killed");
    let _ = child.wait();
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

    /// Puts a program of this machine there, with the libraries that it is linked to; the lines of a job that make its
    /// name a command in the guest, which must be of the same architecture.
    ///
    /// # Panics
    /// When it cannot be copied.
    #[must_use]
    pub fn program(&self, program: &Path) -> String {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let folder = format!("{name}-and-libraries");
        fs::create_dir(self.path().join(&folder)).expect("the share can be written");
        let copy = |from: &Path| {
            let to = self.path().join(&folder).join(from.file_name().unwrap_or_default());
            fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        };
        copy(program);
        // Of a static program it prints no paths.
        let linked = Command::new("ldd").arg(program).output().expect("ldd is there");
        let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
        let mut started = format!("/tmp/{folder}/{name}");
        for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
            copy(Path::new(library));
            if let Some((_, loader)) = library.rsplit_once("/ld-linux") {
                let folder = format!("/tmp/{folder}");
                started = format!("{folder}/ld-linux{loader} --library-path {folder} {started}");
            }
        }
        // The share is slow where a program is read page by page.
        format!("cp -r /h/{folder} /tmp\n{name}() {{ {started} \"$@\"; }}\n")
    }

    fn cut(&self, writes: u32) -> Option<Cut> {
        let folder = format!("cut-{writes}");
        let cache = self.read(&format!("{folder}/cache"))?;
        let trace = self.text_of(&format!("{folder}/trace"));
        let log = self.text_of(&format!("{folder}/log"));
        Some(Cut { writes, cache, trace, log })
    }
}
