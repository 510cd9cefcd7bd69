//! Runs the commands that the documents tell a reader to type.
//!
//! A ```` ```console ```` block holds commands behind `$ ` and, below each, what it prints:
//!
//! - `boardlab ..` runs with the built command; so do the few file commands of [`PLAIN`].
//! - A line `# exit 2` below a command is the status that it must end with, else 0.
//! - Other lines must occur in the output in this order; `...` in a line stands for any text, and a line
//!   `...` for any lines. A command without lines below may print what it likes.
//! - A block with a tool of [`TOOLS`] is left out, and that is told, where the tool is absent.
//! - `make`, `git`, `cd` and `cargo install` are known and not run. Anything else is a violation.
//!
//! The commands of a block run in one new folder, which has copies of the data folders of the
//! repository, as if the reader stood in a clone.

use crate::binary::Scratch;
use crate::markdown::{Block, Document};
use crate::repository::Repository;
use crate::translations;
use crate::violation::Violation;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commands that prepare or look at files and run as they are.
pub const PLAIN: [&str; 7] = ["head", "printf", "cat", "ls", "cmp", "mkdir", "cp"];
/// Tools of a reader who builds programs for a board: run as they are.
pub const TOOLS: [&str; 2] = ["arm-none-eabi-gcc", "gdb-multiarch"];
/// Commands that belong to a reader's clone and are not run.
const KNOWN: [&str; 4] = ["make", "git", "cd", "cargo install"];
/// Folders whose files a command may name.
const DATA: [&str; 7] = [
    "parts",
    "boards",
    "scenarios",
    "reference",
    "docs/tasks",
    "crates/image/tests/data",
    "crates/realview/guests",
];
/// Seconds after which a command counts as hanging. Several run at a time, on machines of any speed: the longest takes a
/// minute and a half alone.
const TIME_LIMIT: &str = "1800";
/// Status with which `timeout` ends when the time is up.
const TIMED_OUT: i32 = 124;

/// A command of a block and what is written below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Line in the document, counted from 1.
    pub line: usize,
    /// The command, continued lines joined.
    pub command: String,
    /// Status that it must end with.
    pub status: i32,
    /// Lines that must occur in its output.
    pub expected: Vec<String>,
}

/// What is done with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Run,
    Skip,
    Refuse,
}

/// Runs the console blocks of `paths`, several at once. `binary` is the built `boardlab`. Equal blocks
/// run once, for the original where a translation has the same.
#[must_use]
pub fn check(repository: &Repository, paths: &[&str], binary: &Path) -> Vec<Violation> {
    let mut done = BTreeSet::new();
    let mut blocks = Vec::new();
    let (translations, originals): (Vec<&str>, Vec<&str>) =
        paths.iter().partition(|path| translations::original_of(path).is_some());
    for path in originals.into_iter().chain(translations) {
        let document = Document::parse(&repository.read(path));
        let new = document
            .blocks
            .into_iter()
            .filter(|block| block.language == "console" && done.insert(block.lines.clone()));
        blocks.extend(new.map(|block| (path, block)));
    }
    let check = |(path, block): &(&str, Block)| check_block(path, block, repository.root(), binary);
    blocks.par_iter().flat_map_iter(check).collect()
}

/// Runs the commands of one block in a new folder with copies of the data below `root`.
#[must_use]
pub fn check_block(path: &str, block: &Block, root: &Path, binary: &Path) -> Vec<Violation> {
    let steps = steps(block);
    let mut violations = Vec::new();
    if steps.is_empty() {
        violations.push(Violation::new(path, block.line, "a console block without `$ ` command"));
    }
    if let Some(tool) = absent_tool(&steps) {
        say_skipped(path, block, tool);
        return violations;
    }
    let scratch = Scratch::new();
    for folder in DATA {
        copy_folder(&root.join(folder), &scratch.path().join(folder));
    }
    for step in &steps {
        let problem = match treatment(&step.command) {
            Treatment::Skip => None,
            Treatment::Refuse => Some("unknown command in docs".into()),
            Treatment::Run => run(step, scratch.path(), binary),
        };
        if let Some(problem) = problem {
            let message = format!("`{}`: {problem}", step.command);
            violations.push(Violation::new(path, step.line, message));
        }
    }
    violations
}

/// Splits a block into its commands.
#[must_use]
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continues = false;
    for (index, line) in block.lines.iter().enumerate() {
        let (body, more) = match line.strip_suffix('\\') {
            Some(body) if continues || line.starts_with("$ ") => (body, true),
            _ => (line.as_str(), false),
        };
        match (steps.last_mut(), body.strip_prefix("$ ")) {
            (Some(step), _) if continues => {
                step.command = format!("{} {}", step.command.trim_end(), body.trim());
            }
            (_, Some(command)) => steps.push(Step {
                line: block.line + index,
                command: command.trim().into(),
                status: 0,
                expected: Vec::new(),
            }),
            (Some(step), None) => match exit_status(body) {
                Some(status) => step.status = status,
                None => step.expected.push(body.into()),
            },
            (None, None) => {}
        }
        continues = more;
    }
    steps
}

fn exit_status(line: &str) -> Option<i32> {
    line.trim().strip_prefix("# exit ")?.trim().parse().ok()
}

/// The tool that a command needs and that is not there.
fn absent_tool(steps: &[Step]) -> Option<&'static str> {
    let needed = |tool: &&&str| {
        let begins = |part: &String| part.split(' ').next() == Some(**tool);
        steps.iter().any(|step| parts(&step.command).iter().any(begins))
    };
    let paths = env::var_os("PATH").unwrap_or_default();
    let there = |tool: &str| env::split_paths(&paths).any(|folder| folder.join(tool).is_file());
    TOOLS.iter().filter(needed).find(|tool| !there(tool)).copied()
}

#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
fn say_skipped(path: &str, block: &Block, tool: &str) {
    eprintln!("skipped: {path}:{}: needs {tool}", block.line);
}

/// Every command of a pipeline or a list is looked at, so that nothing unknown hides behind `|`.
fn treatment(command: &str) -> Treatment {
    let begins = |text: &str, name: &str| {
        text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    if KNOWN.iter().any(|name| begins(command, name)) {
        return Treatment::Skip;
    }
    let known = || PLAIN.iter().chain(&TOOLS);
    let runs = |part: &str| begins(part, "boardlab") || known().any(|name| begins(part, name));
    if parts(command).iter().all(|part| runs(part)) { Treatment::Run } else { Treatment::Refuse }
}

/// The single commands of a shell line: split at `|`, `;` and `&&` outside quotes.
fn parts(command: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if quote.is_some() || !"|;&".contains(c) => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let trimmed = parts.iter().map(|part| part.trim().to_string());
    trimmed.filter(|part| !part.is_empty()).collect()
}

/// Runs one command; gives what is wrong with it.
fn run(step: &Step, folder: &Path, binary: &Path) -> Option<String> {
    let mut paths: Vec<_> = binary.parent().map(Path::to_path_buf).into_iter().collect();
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(paths).unwrap_or_else(|_| OsString::new());
    let output = Command::new("timeout")
        .args([TIME_LIMIT, "sh", "-c", &format!("{{ {}\n}} 2>&1", step.command)])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("BOARDLAB_CONFIG", "")
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Some(format!("cannot be run: {error}")),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(status) if status == step.status => {}
        Some(TIMED_OUT) => return Some(format!("does not end within {TIME_LIMIT} s")),
        Some(status) => {
            return Some(format!("ends with {status}, not {}:\n{printed}", step.status));
        }
        None => return Some(format!("was killed: {}", output.status)),
    }
    missing_line(&step.expected, &printed)
        .map(|line| format!("does not print `{line}` here; it prints:\n{printed}"))
}

/// The first of the `expected` lines that does not occur in `printed` behind the ones before it.
fn missing_line<'a>(expected: &'a [String], printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines();
    let wanted = expected.iter().map(|line| line.trim());
    wanted
        .filter(|line| !line.is_empty() && *line != "...")
        .find(|wanted| !lines.any(|line| matches(wanted, line.trim())))
}

/// Whether `line` is `pattern`, in which `...` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let Some((first, rest)) = pattern.split_once("...") else { return pattern == line };
    let Some(mut line) = line.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split("...").collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = line.find(piece) else { return false };
        line = &line[at + piece.len()..];
    }
    line.ends_with(last)
}

/// Copies the files below `from`, if there is such a folder. What cannot be copied is missing for the
/// command, which then says so.
fn copy_folder(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    let _ = fs::create_dir_all(to);
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            let _ = fs::copy(entry.path(), target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    fn block(text: &str) -> Block {
        Block {
            line: 10,
            language: "console".into(),
            lines: text.lines().map(Into::into).collect(),
        }
    }

    /// A `boardlab` in `scratch` that runs `script`.
    fn boardlab(scratch: &Scratch, script: &str) -> PathBuf {
        let binary = scratch.path().join("boardlab");
        fs::write(&binary, script).unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        binary
    }

    /// What is wrong beside a `boardlab` that prints its arguments and ends with the status in the last.
    fn messages(text: &str) -> Vec<String> {
        let scratch = Scratch::new();
        let script = "#!/bin/sh\necho \"arguments: $*\"\necho error >&2\n\
                      for last in \"$@\"; do :; done\nexit \"${last#status=}\"\n";
        let binary = boardlab(&scratch, script);
        fs::create_dir(scratch.path().join("parts")).unwrap();
        fs::write(scratch.path().join("parts/a.toml"), "id = 1\n").unwrap();
        let found = check_block("README.md", &block(text), scratch.path(), &binary);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commands_are_split_from_their_output() {
        let found = steps(&block("$ boardlab run \\\n    a\nout\n# exit 2\n...\n$ make run\n"));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].command.as_str(), found[0].line), ("boardlab run a", 10));
        assert_eq!((found[0].status, found[0].expected.len()), (2, 2));
        assert_eq!((found[1].command.as_str(), found[1].line), ("make run", 15));
    }

    #[test]
    fn a_command_that_does_as_written_passes() {
        assert_eq!(messages("$ boardlab list 0\narguments: list 0\n"), [""; 0]);
        assert_eq!(messages("$ boardlab list 0\n...\nerr...\n"), [""; 0]);
        assert_eq!(messages("$ boardlab run absent 2\n# exit 2\nerror\n"), [""; 0]);
        assert_eq!(
            messages("$ make run\n$ git clone x\n$ cd x\n$ cargo install --path y"),
            [""; 0]
        );
    }

    #[test]
    fn commands_of_a_block_share_a_folder_with_the_data() {
        let good = "$ printf 'a|b' > mine.bin\n$ boardlab run 0 > out\n$ cat parts/a.toml out mine.bin\n\
                    id = 1\narguments: run 0\na|b\n";
        assert_eq!(messages(good), [""; 0]);
    }

    #[test]
    fn a_command_that_ends_otherwise_is_found_with_its_line() {
        let found = messages("$ boardlab list 0\n$ boardlab run 1\n");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("README.md:11: `boardlab run 1`: ends with 1, not 0"),
            "{found:?}"
        );
        assert_eq!(messages("$ boardlab run 0\n# exit 2\n").len(), 1);
    }

    #[test]
    fn a_line_that_is_not_printed_is_found() {
        assert_eq!(messages("$ boardlab list 0\narguments: other\n").len(), 1);
        assert_eq!(messages("$ boardlab list 0\nerror\narguments: list 0\n").len(), 1, "order");
    }

    #[test]
    fn an_unknown_command_is_found_also_behind_a_pipe() {
        assert_eq!(messages("$ curl example.org\n").len(), 1);
        assert_eq!(messages("$ boardlab list 0 | jq .\n").len(), 1);
        assert_eq!(messages("$ boardlabs\n").len(), 1);
        assert_eq!(messages("nothing to run\n").len(), 1);
    }

    #[test]
    fn a_block_that_a_translation_repeats_runs_once_and_for_the_original() {
        let scratch = Scratch::new();
        let binary = boardlab(&scratch, "#!/bin/sh\necho run >> \"$0.runs\"\nexit 1\n");
        let page = "# A\n```console\n$ boardlab list\n```\n";
        let other = format!("{page}```console\n$ boardlab run a\n```\n");
        fs::write(scratch.path().join("a.ja.md"), other).unwrap();
        fs::write(scratch.path().join("a.md"), page).unwrap();
        let found = check(&Repository::at(scratch.path()), &["a.ja.md", "a.md"], &binary);
        let places: Vec<_> = found.iter().map(|found| (found.path.as_str(), found.line)).collect();
        assert_eq!(places, [("a.md", 3), ("a.ja.md", 6)]);
        let runs = fs::read_to_string(scratch.path().join("boardlab.runs")).unwrap();
        assert_eq!(runs.lines().count(), 2);
    }

    #[test]
    fn dots_stand_for_any_text() {
        assert!(
            matches("total ... s", "total 43.2 s") && matches("...", "") && matches("a...", "ab")
        );
        assert!(matches("a...b...c", "a1b2c") && matches("a...c", "ac"));
        assert!(!matches("total ... s", "total 43.2 us ") && !matches("a...b...c", "acb"));
    }
}
