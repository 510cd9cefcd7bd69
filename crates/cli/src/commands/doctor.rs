//! `boardlab doctor`: what boardlab has on this machine, what it lacks, and what for.

use crate::args::Options;
use crate::defaults;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_experiment::VERSION;
use boardlab_report::Shown;
use boardlab_result::{Cell, Row, RunResult, Table};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// A program beside boardlab.
struct Helper {
    /// Its command.
    command: &'static str,
    /// What boardlab or its user does with it.
    purpose: &'static str,
    /// The Debian package that has it.
    package: &'static str,
}

const HELPERS: [Helper; 6] = [
    Helper {
        command: "qemu-system-arm",
        purpose: "rows of QEMU beside ours in `reproduce fcse`",
        package: "qemu-system-arm",
    },
    Helper {
        command: "arm-none-eabi-gcc",
        purpose: "compiling programs for `os run`",
        package: "gcc-arm-none-eabi",
    },
    Helper {
        command: "gdb-multiarch",
        purpose: "debugging programs with `os debug`",
        package: "gdb-multiarch",
    },
    Helper {
        command: "mkfs.jffs2",
        purpose: "making flash images for `image`",
        package: "mtd-utils",
    },
    Helper {
        command: "blkparse",
        purpose: "recording block traces for `life`",
        package: "blktrace",
    },
    Helper { command: "less", purpose: "paging long output on a terminal", package: "less" },
];

/// The memory that `reproduce` takes at most.
const MEMORY: u64 = 500_000_000;

/// One line of the answer.
struct Check {
    name: &'static str,
    state: State,
    found: String,
    purpose: &'static str,
    advice: String,
}

/// How well something is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Missing,
    /// What boardlab itself needs; says what fails until it is mended.
    Broken(&'static str),
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Broken(_) => "broken",
        }
    }
}

/// Shows what there is and what is missing. Fails if something is broken that boardlab itself needs.
pub(super) fn perform(options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let mut checks =
        vec![program(), cores(), memory(), temporary_folder(), configuration(), compiler()];
    checks.extend(HELPERS.iter().map(helper));
    let failing = |check: &Check| match check.state {
        State::Broken(what) => Some(format!("`{}` is broken: {what}.", check.name)),
        State::Ok | State::Missing => None,
    };
    let failing: Vec<_> = checks.iter().filter_map(failing).collect();
    let broken = !failing.is_empty();
    let missing = checks.iter().filter(|check| check.state == State::Missing).count();
    let mut run = RunResult::new("doctor", "What boardlab has on this machine", 0, VERSION);
    let rows = checks.into_iter().map(|check| (Row::new(check.name, ""), check));
    let table = Table::new("doctor", "This machine")
        .of(rows.collect::<Vec<_>>())
        .column("state", "state", |check| Cell::text(check.state.word()))
        .column("found", "found", |check| Cell::text(check.found.clone()))
        .column("purpose", "what for", |check| Cell::text(check.purpose))
        .column("advice", "what to do", |check| Cell::text(check.advice.clone()));
    run.tables.push(table.table());
    run.findings.extend(failing);
    run.findings.push(if missing == 0 {
        "Nothing is missing.".into()
    } else {
        "What is missing is optional; nothing else depends on it.".into()
    });
    output.show(Shown::Run(&run))?;
    Ok(if broken { Status::Failed } else { Status::Done })
}

fn program() -> Check {
    let path = env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    let found = format!("version {VERSION}, {path}");
    Check {
        name: "boardlab",
        state: State::Ok,
        found,
        purpose: "everything",
        advice: String::new(),
    }
}

fn cores() -> Check {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let found = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
    Check {
        name: "processor",
        state: State::Ok,
        found,
        purpose: "runs in parallel",
        advice: String::new(),
    }
}

/// The memory that the kernel can give, where it says so.
fn memory() -> Check {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let bytes = kibibytes.map(|kib| kib * 1024);
    let (state, advice) = match bytes {
        Some(bytes) if bytes < MEMORY => {
            let fails = State::Broken("`boardlab reproduce` may run out of memory");
            (fails, "close other programs: `reproduce` takes up to 500 MB".into())
        }
        _ => (State::Ok, String::new()),
    };
    let found =
        bytes.map_or_else(|| "not known".into(), |bytes| format!("{} MB free", bytes / 1_000_000));
    Check { name: "memory", state, found, purpose: "`reproduce` takes up to 500 MB", advice }
}

fn temporary_folder() -> Check {
    let folder = env::temp_dir();
    let probe = folder.join(format!("boardlab-doctor-{}", std::process::id()));
    let written = fs::File::create_new(&probe);
    let state = match written {
        Ok(_) => State::Ok,
        Err(_) => State::Broken("`boardlab os run` with a card fails"),
    };
    // What cannot be removed is an empty file in the folder for such.
    let _ = fs::remove_file(&probe);
    let advice = written.err().map_or_else(String::new, |error| {
        format!("{error}: set TMPDIR to a folder that can be written")
    });
    let purpose = "the system image for QEMU, and cards of `os run`";
    Check { name: "temporary-folder", state, found: folder.display().to_string(), purpose, advice }
}

/// The file of the user's defaults; that there is none is as it should be.
fn configuration() -> Check {
    let read = defaults::read();
    let found = match defaults::file() {
        Some((path, named)) if named || path.exists() => path.display().to_string(),
        Some((path, _)) => format!("none at {}", path.display()),
        None => "none".into(),
    };
    Check {
        name: "configuration",
        state: match read {
            Ok(_) => State::Ok,
            Err(_) => State::Broken(
                "commands such as `boardlab list` and `boardlab run` fail with exit status 2; `BOARDLAB_CONFIG= boardlab \
                 list` does without the file",
            ),
        },
        found,
        purpose: "defaults of options",
        advice: read.err().map_or_else(String::new, |error| advice(&error.render(false))),
    }
}

/// What is wrong, where, and the help, of a `rendered` error; the lines of the file are in the errors of other commands.
fn advice(rendered: &str) -> String {
    let lines = rendered.lines().map(|line| line.trim().trim_start_matches("= "));
    let told =
        lines.filter(|line| ["error: ", "--> ", "help: "].iter().any(|one| line.starts_with(one)));
    told.collect::<Vec<_>>().join(" ")
}

fn compiler() -> Check {
    let built = cfg!(feature = "compiler");
    Check {
        name: "compiled-engine",
        state: if built { State::Ok } else { State::Missing },
        found: if built { "built in".into() } else { "not built in".into() },
        purpose: "`os run --engine compiled`",
        advice: if built {
            String::new()
        } else {
            "build with the feature `compiler`, the default of `cargo install`".into()
        },
    }
}

fn helper(helper: &Helper) -> Check {
    let found =
        env::var_os("PATH").and_then(|path| in_folders(env::split_paths(&path), helper.command));
    Check {
        name: helper.command,
        state: if found.is_some() { State::Ok } else { State::Missing },
        purpose: helper.purpose,
        advice: match found {
            Some(_) => String::new(),
            None => format!("Debian: `apt-get install {}`", helper.package),
        },
        found: found.map(|path| path.display().to_string()).unwrap_or_default(),
    }
}

/// The program `command` in the first of `folders` that has it.
fn in_folders(folders: impl Iterator<Item = PathBuf>, command: &str) -> Option<PathBuf> {
    folders.map(|folder| folder.join(command)).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_run_counts_as_a_program() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let folders = || [tests.join("none"), tests.clone(), "/bin".into()].into_iter();
        assert_eq!(in_folders(folders(), "main.rs"), None, "a source file");
        assert_eq!(in_folders(folders(), "sh"), Some("/bin/sh".into()));
    }
}
