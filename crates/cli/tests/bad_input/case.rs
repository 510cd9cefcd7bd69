//! A case: what is changed, what is run, where the error points, and what it says.

use crate::bench::{Outcome, Scratch, repository, run_within};
use std::fs::File;
use std::time::Duration;

/// An answer takes milliseconds; this is for a loaded machine.
const LIMIT: Duration = Duration::from_secs(5);

/// Arguments of most cases.
const RUN: &[&str] = &["run", "scenario.toml"];

/// One thing that is wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    change: Change,
    arguments: &'static [&'static str],
    place: Place,
    says: &'static [&'static str],
}

/// What is changed in the files that are right.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Nothing: the arguments are wrong.
    Nothing,
    /// The first line of `file` that begins with `from` becomes `to`.
    Line { file: &'static str, from: &'static str, to: &'static str },
    /// The section `head` goes away with all its lines.
    NoSection { file: &'static str, head: &'static str },
    /// The file has this content.
    Whole { file: &'static str, content: &'static [u8] },
    /// The file has so many zeros, without taking room on the disk.
    Zeros { file: &'static str, size: u64 },
    /// There is a folder of this name.
    Folder { name: &'static str },
}

/// Where the error points.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// At this text within the changed line.
    In(&'static str),
    /// At this place: `--set:1:1`, `a.json:1:5`, or `a.json` alone.
    At(&'static str),
    /// At no file: the arguments say it all.
    Nowhere,
}

impl Case {
    /// A wrong line in place of the right one; the error points at `at` within it.
    pub(crate) const fn line(
        name: &'static str,
        [file, from, to]: [&'static str; 3],
        at: &'static str,
        says: &'static [&'static str],
    ) -> Self {
        let change = Change::Line { file, from, to };
        Self { name, change, arguments: RUN, place: Place::In(at), says }
    }

    /// A section that is missing.
    pub(crate) const fn no_section(
        name: &'static str,
        [file, head]: [&'static str; 2],
        at: &'static str,
        says: &'static [&'static str],
    ) -> Self {
        let change = Change::NoSection { file, head };
        Self { name, change, arguments: RUN, place: Place::At(at), says }
    }

    /// A file with other content.
    pub(crate) const fn whole(
        file: &'static str,
        content: &'static [u8],
        at: &'static str,
        says: &'static [&'static str],
    ) -> Self {
        let change = Change::Whole { file, content };
        Self { name: says[0], change, arguments: RUN, place: Place::At(at), says }
    }

    /// A large file.
    pub(crate) const fn zeros(
        file: &'static str,
        size: u64,
        at: &'static str,
        says: &'static [&'static str],
    ) -> Self {
        let change = Change::Zeros { file, size };
        Self { name: says[0], change, arguments: RUN, place: Place::At(at), says }
    }

    /// Wrong arguments, with all files right.
    pub(crate) const fn arguments(
        name: &'static str,
        arguments: &'static [&'static str],
        says: &'static [&'static str],
    ) -> Self {
        Self { name, change: Change::Nothing, arguments, place: Place::Nowhere, says }
    }

    /// The same case called `name`.
    pub(crate) const fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same case with other arguments.
    pub(crate) const fn with(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    /// The same case, where the error points at `place`.
    pub(crate) const fn at(self, place: &'static str) -> Self {
        Self { place: Place::At(place), ..self }
    }

    /// The same case, where the error points at no file.
    pub(crate) const fn nowhere(self) -> Self {
        Self { place: Place::Nowhere, ..self }
    }

    /// The same case, with a folder of this name beside the files.
    pub(crate) const fn folder(self, name: &'static str) -> Self {
        Self { change: Change::Folder { name }, ..self }
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Runs it, and says what is wrong with the answer; with SHOW set, prints the answer too.
    #[allow(clippy::print_stdout, reason = "for people who review the messages")]
    fn problems(&self) -> Vec<String> {
        let scratch = Scratch::new();
        write_right_files(&scratch);
        let place = self.prepare(&scratch);
        let outcome = run_within(LIMIT, scratch.path(), self.arguments);
        if std::env::var_os("SHOW").is_some() {
            println!("# {}: boardlab {}\n{}", self.name, self.arguments.join(" "), outcome.stderr);
        }
        let mut problems = problems_of(&outcome);
        let places = place.iter().map(String::as_str);
        for text in self.says.iter().copied().chain(places) {
            if !outcome.stderr.contains(text) {
                problems.push(format!("does not say `{text}`"));
            }
        }
        if !problems.is_empty() {
            problems.push(outcome.stderr);
        }
        problems
    }

    /// Makes the change, and says where the error must point.
    fn prepare(&self, scratch: &Scratch) -> Option<String> {
        let mut changed = None;
        match self.change {
            Change::Nothing => {}
            Change::Line { file, from, to } => {
                changed = Some((file, changed_line(scratch, [file, from, to]), to));
            }
            Change::NoSection { file, head } => remove_section(scratch, file, head),
            Change::Whole { file, content } => scratch.write(file, content),
            Change::Zeros { file, size } => {
                let file = File::create(scratch.path().join(file)).expect("a file is made");
                file.set_len(size).expect("a file has room for nothing");
            }
            Change::Folder { name } => {
                std::fs::create_dir(scratch.path().join(name)).expect("a folder is made");
            }
        }
        match (self.place, changed) {
            (Place::In(at), Some((file, line, to))) => {
                let offset = to.find(at).unwrap_or_else(|| panic!("{}: no `{at}`", self.name));
                let (line, start) = match to[..offset].rfind('\n') {
                    Some(end) => (line + to[..offset].matches('\n').count(), end + 1),
                    None => (line, 0),
                };
                Some(format!("--> {file}:{line}:{}", to[start..offset].chars().count() + 1))
            }
            (Place::In(at), None) => panic!("{}: nothing was changed at `{at}`", self.name),
            (Place::At(place), _) => Some(format!("--> {place}")),
            (Place::Nowhere, _) => None,
        }
    }
}

/// Replaces a line, and says which it was, from 1.
fn changed_line(scratch: &Scratch, [file, from, to]: [&str; 3]) -> usize {
    let text = scratch.read(file);
    let mut lines: Vec<&str> = text.lines().collect();
    let index = lines.iter().position(|line| line.starts_with(from));
    let index = index.unwrap_or_else(|| panic!("{file} has no line `{from}`"));
    lines[index] = to;
    scratch.write(file, lines.join("\n") + "\n");
    index + 1
}

fn remove_section(scratch: &Scratch, file: &str, head: &str) {
    let text = scratch.read(file);
    let start = text.find(head).unwrap_or_else(|| panic!("{file} has no section `{head}`"));
    let end = text[start + 1..].find("\n[").map_or(text.len(), |end| start + 1 + end + 1);
    scratch.write(file, format!("{}{}", &text[..start], &text[end..]));
}

/// A scenario with its part and its board in files beside it.
pub(crate) fn write_right_files(scratch: &Scratch) {
    let scenario = repository("scenarios/nor-write.toml");
    let scenario = scenario.replacen("\"nor-evaluation\"", "\"part.toml\"", 1);
    let scenario = scenario.replacen("\"powerpc-800\"", "\"board.toml\"", 1);
    scratch.write("scenario.toml", scenario);
    scratch.write("part.toml", repository("parts/nor/nor-evaluation.toml"));
    scratch.write("board.toml", repository("boards/powerpc-800.toml"));
    let scenario = repository("scenarios/nand-filesystems.toml");
    let scenario = scenario.replacen("\"nand-evaluation\"", "\"nand-part.toml\"", 1);
    let scenario = scenario.replacen("\"mips-327\"", "\"nand-board.toml\"", 1);
    scratch.write("nand.toml", scenario);
    scratch.write("nand-part.toml", repository("parts/nand/nand-evaluation.toml"));
    scratch.write("nand-board.toml", repository("boards/mips-327.toml"));
    let scenario = repository("scenarios/card-fio.toml");
    let scenario = scenario.replacen("\"kioxia-16gb\"", "\"card-part.toml\"", 1);
    let scenario = scenario.replacen("\"raspberry-pi-4\"", "\"card-board.toml\"", 1);
    scratch.write("card.toml", scenario);
    scratch.write("card-part.toml", repository("parts/sd/kioxia-16gb.toml"));
    scratch.write("card-board.toml", repository("boards/raspberry-pi-4.toml"));
    scratch.write("life.toml", repository("scenarios/sd-life.toml"));
    let scenario = repository("scenarios/sata-ssd.toml");
    let scenario = scenario.replacen("\"intel-x25-e-32gb\"", "\"drive-part.toml\"", 1);
    let scenario = scenario.replacen("\"transcend-ts32gssd25s-m\"", "\"drive28-part.toml\"", 1);
    let scenario = scenario.replacen("\"ml505\"", "\"sata-board.toml\"", 1);
    scratch.write("sata.toml", scenario);
    scratch.write("drive-part.toml", repository("parts/sata/intel-x25-e-32gb.toml"));
    scratch.write("drive28-part.toml", repository("parts/sata/transcend-ts32gssd25s-m.toml"));
    scratch.write("sata-board.toml", repository("boards/ml505.toml"));
}

/// What every answer to wrong input has in common.
fn problems_of(outcome: &Outcome) -> Vec<String> {
    let stderr = &outcome.stderr;
    let errors = stderr.lines().filter(|line| line.starts_with("error: ")).count();
    let helps = ["= help: ", "tip: ", "try '--help'"];
    let rules = [
        (outcome.status == 2, format!("ends with status {}", outcome.status)),
        (outcome.stdout.is_empty(), format!("prints {:?}", outcome.stdout)),
        (errors == 1, format!("has {errors} errors")),
        (helps.iter().any(|help| stderr.contains(help)), "does not help".into()),
        (!stderr.contains("panicked"), "panics".into()),
        (!stderr.contains('\u{1b}'), "moves the cursor".into()),
        (stderr.len() < 4_000, format!("takes {} bytes", stderr.len())),
        (outcome.took < LIMIT, format!("takes {:?}", outcome.took)),
    ];
    rules.into_iter().filter(|(kept, _)| !kept).map(|(_, problem)| problem).collect()
}

/// Runs all `cases` and fails with all problems at once.
pub(crate) fn check(cases: &[Case]) {
    let mut report = String::new();
    for case in cases {
        let problems = case.problems();
        if !problems.is_empty() {
            report += &format!("\n## {}\n{}\n", case.name, problems.join("\n"));
        }
    }
    assert!(report.is_empty(), "{report}");
}
