//! The agent as the compilers of several machines build it, and how it runs here: [`TARGETS`], [`Agent`].

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A machine that the agent is built for.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) compiler: &'static str,
    flags: &'static str,
    link: &'static str,
    /// QEMU's program that runs its programs here; empty where they run as they are.
    runner: &'static str,
    built: OnceLock<Option<Agent>>,
}

/// A program of the agent.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) program: PathBuf,
    runner: &'static str,
}

const STATIC: &str = "-static -s";

/// Name, compiler and emulator, flags of the compiler and of the linker.
const fn target(
    name: &'static str,
    [compiler, runner]: [&'static str; 2],
    flags: &'static str,
    link: &'static str,
) -> Target {
    Target { name, compiler, flags, link, runner, built: OnceLock::new() }
}

/// What Clang and GCC tell of what they have learnt since GCC 4.6.
const NEWER_CLANG: &str = "-O2 -Wgnu -Wc11-extensions";
const NEWER_GCC: &str = "-O2 -Wc99-c11-compat";
/// musl has no headers of the kernel.
const MUSL: &str = "-Os -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu";

/// The machines and compilers of `agent/README.md`, by the names that it gives them.
pub(crate) static TARGETS: [Target; 8] = [
    target("x86-64, GCC", ["gcc", ""], NEWER_GCC, STATIC),
    target("x86-64, Clang", ["clang", ""], NEWER_CLANG, STATIC),
    target("x86-64, musl", ["musl-gcc", ""], MUSL, STATIC),
    target("ARMv5", ["arm-linux-gnueabi-gcc", "qemu-arm"], "-O2 -march=armv5te", STATIC),
    target("ARMv7", ["arm-linux-gnueabihf-gcc", "qemu-arm"], "-O2", STATIC),
    target("ARMv8", ["aarch64-linux-gnu-gcc", "qemu-aarch64"], "-O2", STATIC),
    target("MIPS, big-endian", ["mips-linux-gnu-gcc", "qemu-mips"], "-O2", STATIC),
    target("MIPS, little-endian", ["mipsel-linux-gnu-gcc", "qemu-mipsel"], "-O2", STATIC),
];

/// With the sanitizers of GCC, which end the program at their first finding.
pub(crate) static SANITIZED: Target = target(
    "sanitized",
    ["gcc", ""],
    "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all",
    "",
);

/// The folder `agent` of the repository.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent")
}

/// Says that a test lacks a tool. The test harness swallows what `eprintln!` writes.
pub(crate) fn lacks(tool: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: needs {tool}");
}

/// Whether a tool is installed.
pub(crate) fn has(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// The output of a tool that must succeed.
pub(crate) fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    output
}

impl Target {
    /// Compiler or emulator that this machine lacks.
    pub(crate) fn lacking(&self) -> Option<&'static str> {
        let tools = [self.compiler, self.runner];
        tools.into_iter().find(|tool| !tool.is_empty() && !has(tool))
    }

    /// Whether an emulator runs its programs.
    pub(crate) const fn is_emulated(&self) -> bool {
        !self.runner.is_empty()
    }

    /// Where objects and programs of this target are.
    fn folder(&self) -> PathBuf {
        let name: String =
            self.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("agent-{name}"))
    }

    /// The agent, built once by its Makefile, without a warning; `None` where a tool lacks.
    ///
    /// # Panics
    /// When it is not built or a warning is told.
    pub(crate) fn agent(&self) -> Option<&Agent> {
        let build = || {
            if self.lacking().is_some() {
                return None;
            }
            let folder = self.folder();
            let _ = fs::remove_dir_all(&folder);
            let mut make = Command::new("make");
            make.args(["-s", "-j2", "-C"]).arg(sources());
            make.arg(format!("BUILD={}", folder.display())).arg(format!("CC={}", self.compiler));
            make.arg(format!("CFLAGS={} -Werror -pedantic-errors", self.flags));
            done(make.arg(format!("LDFLAGS={}", self.link)));
            Some(Agent { program: folder.join("boardlab-agent"), runner: self.runner })
        };
        self.built.get_or_init(build).as_ref()
    }

    /// The agent with the main function of `source`, a file in `folder`, in place of its own.
    pub(crate) fn with_main(&self, folder: &Path, source: &str, flags: &[&str]) -> Option<Agent> {
        let agent = self.agent()?;
        let program = self.folder().join(source.trim_end_matches(".c"));
        let mut objects: Vec<_> =
            fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        objects.retain(|path| path.extension().is_some_and(|end| end == "o"));
        objects.retain(|path| !path.ends_with("main.o"));
        let mut command = Command::new(self.compiler);
        command.args(["-std=c99", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-Dmain=agent_main"]);
        command.args(
            self.flags.split(' ').chain(self.link.split(' ')).filter(|word| !word.is_empty()),
        );
        command
            .args(["-Wall", "-Wextra", "-Werror"])
            .args(flags)
            .args(["-pthread", "-I"])
            .arg(sources())
            .arg("-o")
            .arg(&program);
        command.arg(sources().join("main.c")).arg(folder.join(source)).args(objects);
        done(&mut command);
        Some(Agent { program, runner: agent.runner })
    }
}

impl Agent {
    /// A command that runs it. A finding of a sanitizer has exit status 99. Plans live until the end of the program,
    /// which frees nothing.
    pub(crate) fn command(&self) -> Command {
        let mut command = if self.runner.is_empty() {
            Command::new(&self.program)
        } else {
            let mut command = Command::new(self.runner);
            command.arg(&self.program);
            command
        };
        command.env("ASAN_OPTIONS", "detect_leaks=0:exitcode=99:allocator_may_return_null=1");
        command.env("UBSAN_OPTIONS", "exitcode=99:print_stacktrace=1");
        command
    }
}

/// The agent of this machine and those that are emulated; `None`, which is said, where a tool lacks.
pub(crate) fn running() -> Option<Vec<&'static Target>> {
    let targets: Vec<_> = TARGETS.iter().filter(|one| one.is_emulated()).collect();
    let targets = [&[&TARGETS[0]], &targets[..]].concat();
    if let Some(tool) = targets.iter().find_map(|one| one.lacking()) {
        lacks(tool);
        return None;
    }
    Some(targets)
}
