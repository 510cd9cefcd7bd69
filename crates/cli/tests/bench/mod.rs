//! The built `boardlab`, run in an empty folder and never for long.

#![allow(dead_code, reason = "each test program takes what it needs")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit status; -1 when it was ended by a signal or took too long.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// The wall time.
    pub(crate) took: Duration,
}

impl Outcome {
    /// Its standard output, after asserting that it succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.stdout
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.success()).expect("--format json prints JSON")
    }
}

/// Runs `boardlab` in `folder`, at most for `limit`.
pub(crate) fn run_within(limit: Duration, folder: &Path, arguments: &[&str]) -> Outcome {
    run_with(Stdio::null(), limit, folder, arguments)
}

/// Runs `boardlab` in `folder` with `input` on its standard input.
pub(crate) fn run_fed(folder: &Path, input: &str, arguments: &[&str]) -> Outcome {
    let path = folder.join("input");
    fs::write(&path, input).expect("the folder can be written");
    let input = fs::File::open(&path).expect("it was written just now");
    run_with(input.into(), Duration::from_secs(120), folder, arguments)
}

/// Runs a `script` of `shell` in `folder`, in which `"$0" "$@"` is `boardlab` with `arguments`.
pub(crate) fn run_by(shell: &str, script: &str, folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(shell);
    command.args(["-c", script, env!("CARGO_BIN_EXE_boardlab")]);
    run_command(&mut command, Stdio::null(), Duration::from_secs(120), folder, arguments)
}

/// Runs `boardlab` in `folder`, where no file can be written beyond so many blocks of 512 bytes.
pub(crate) fn limited(blocks: u32, folder: &Path, arguments: &[&str]) -> Outcome {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    run_by("sh", &script, folder, arguments)
}

fn run_with(input: Stdio, limit: Duration, folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boardlab"));
    run_command(&mut command, input, limit, folder, arguments)
}

fn run_command(
    command: &mut Command,
    input: Stdio,
    limit: Duration,
    folder: &Path,
    arguments: &[&str],
) -> Outcome {
    let start = Instant::now();
    let mut child = command
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env("BOARDLAB_CONFIG", "")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("boardlab is built");
    let stdout = collected(child.stdout.take().expect("piped above"));
    let stderr = collected(child.stderr.take().expect("piped above"));
    let status = ended_within(limit, &mut child);
    Outcome {
        status: status.and_then(|status| status.code()).unwrap_or(-1),
        stdout: stdout.join().expect("the reader does not panic"),
        stderr: stderr.join().expect("the reader does not panic"),
        took: start.elapsed(),
    }
}

/// Starts `boardlab` in `folder`.
pub(crate) fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boardlab"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env("BOARDLAB_CONFIG", "");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("boardlab is built")
}

/// Whether samples are to be large.
pub(crate) fn full() -> bool {
    env::var_os("BOARDLAB_FULL").is_some()
}

/// Runs `boardlab` in `folder`.
pub(crate) fn run_in(folder: &Path, arguments: &[&str]) -> Outcome {
    run_within(Duration::from_secs(120), folder, arguments)
}

/// Runs `boardlab` in an empty folder.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    run_in(Scratch::new().path(), arguments)
}

fn collected(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("boardlab prints UTF-8")
    })
}

/// The exit status, or `None` after ending a child that takes too long.
fn ended_within(limit: Duration, child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if Instant::now() > deadline {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    // It may have ended by itself just now.
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// An empty folder that goes away with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("boardlab-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Reads a file of it.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.0.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).expect("the folder is there");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("readable").file_name().into_string().expect("UTF-8")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system; the tests are not about it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all commands, as the help lists them.
pub(crate) fn commands() -> Vec<String> {
    let help = run(&["--help"]).success();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(Into::into).collect()
}
