//! `mutants FOLDER [--only CRATE] [--count N] [--seed N]`: which mistakes no test finds.
//!
//! Layer: inside `checks`; not part of `make test`, as it takes about an hour. FOLDER is a clone of the repository
//! whose sources are overwritten while it runs. The report is `FOLDER/target/mutants-CRATE.txt`, a line a mutant as soon
//! as its fate is known. The work is in [`boardlab_checks::mutants`]. Left out: more than one mutant at a time.

use boardlab_checks::mutants::build::Tree;
use boardlab_checks::mutants::run::{Outcome, baseline, judge};
use boardlab_checks::mutants::{TARGETS, Target, choose};
use boardlab_sim::Seed;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::{env, fmt};

/// Why there is no report. Shown by its words when `main` returns it.
enum Failure {
    Usage(String),
    Io(io::Error),
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usage = "usage: mutants FOLDER [--only CRATE] [--count N] [--seed N]";
        match self {
            Self::Usage(found) => write!(f, "{found}\n{usage}"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What the command line asks for.
struct Order {
    folder: PathBuf,
    only: Option<String>,
    count: usize,
    seed: u64,
}

fn order(mut arguments: impl Iterator<Item = String>) -> Result<Order, Failure> {
    let mut order = Order { folder: PathBuf::new(), only: None, count: 400, seed: 1 };
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| Failure::Usage(format!("{argument} needs a value")));
        let number = |text: String| {
            text.parse::<u64>().map_err(|_| Failure::Usage(format!("`{text}` is no number")))
        };
        match argument.as_str() {
            "--only" => order.only = Some(value()?),
            "--count" => order.count = usize::try_from(number(value()?)?).unwrap_or(usize::MAX),
            "--seed" => order.seed = number(value()?)?,
            folder if !folder.starts_with('-') => order.folder = folder.into(),
            unknown => return Err(Failure::Usage(format!("`{unknown}` is not known here"))),
        }
    }
    if order.folder.as_os_str().is_empty() {
        return Err(Failure::Usage("which clone of the repository may be spoiled?".into()));
    }
    if let Some(only) = order.only.as_ref().filter(|only| !named(only)) {
        let known = TARGETS.map(|target| target.folder).join(", ");
        return Err(Failure::Usage(format!("`{only}` is not among {known}")));
    }
    Ok(order)
}

fn named(name: &str) -> bool {
    TARGETS.iter().any(|target| target.folder == name)
}

fn main() -> Result<(), Failure> {
    let order = order(env::args().skip(1))?;
    let tree = Tree::new(order.folder.canonicalize()?)?;
    for target in &TARGETS {
        if order.only.as_ref().is_none_or(|only| only == target.folder) {
            hunt(&tree, target, &order)?;
        }
    }
    Ok(())
}

/// Judges the mutants of one crate.
fn hunt(tree: &Tree, target: &Target, order: &Order) -> Result<(), Failure> {
    let count = order.count * target.share / 100;
    let mutants = choose(tree.path(), target, count, Seed::new(order.seed))?;
    let chosen = mutants.len();
    let built = tree.build(target, mutants)?;
    let folder = tree.path().join("target");
    let tests = baseline(&built, &folder.join("mutants-reached.txt"))?;
    let mut report = File::create(folder.join(format!("mutants-{}.txt", target.folder)))?;
    let (number, compiled) = (tests.len(), built.mutants.len());
    writeln!(report, "{}: {compiled} of {chosen} mutants compile; {number} tests", target.folder)?;
    let mut survivors = Vec::new();
    for mutant in &built.mutants {
        let outcome = judge(mutant.number, &tests)?;
        let line = format!("{mutant}: {outcome}");
        writeln!(report, "{line}")?;
        if matches!(outcome, Outcome::Survived(_)) {
            survivors.push(line);
        }
    }
    let found = compiled - survivors.len();
    writeln!(report, "{found} of {compiled} were found")?;
    let mut out = io::stdout();
    writeln!(out, "{}: {found} of {compiled} mutants were found", target.folder)?;
    survivors.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    Ok(())
}
