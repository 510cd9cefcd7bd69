//! Every finding under settings other than the published ones: what a run says must follow from what was run.
//!
//! Layer: tests. Main type: [`Case`]; function: [`check`], which each experiment's table of cases goes through. A case runs one
//! action with `--set` and looks at sentences: what they must say, with figures taken from the tables of the same run, and
//! what they must not. Each call of `finding::find` has to be met by a case, and a call of `finding::on_print` by none, so
//! that a new finding without a case fails here.

mod advise;
mod card_advise;
mod fcse;
mod fio;
mod life;
mod nandfs;
mod nandwear;
mod nor;
mod sata;
mod sdwear;
mod steps;

use boardlab_experiment::Action;
use boardlab_experiment::finding;
use boardlab_lab::registry;
use boardlab_result::prose::round;
use boardlab_result::{RunResult, Value};
use boardlab_sim::{Duration, Seed};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Folders that have cases: every one whose runs have findings.
const FOLDERS: [&str; 11] = [
    "advise", "block", "fcse", "fio", "flash", "life", "nandfs", "nandwear", "nor", "sata",
    "sdwear",
];

/// A sentence that is looked at.
struct Sentence {
    /// What only this one of the findings contains.
    about: &'static str,
    /// What it must say. `{table row column}` stands for that figure of the same run.
    says: &'static [&'static str],
    /// What it must not say.
    not: &'static [&'static str],
}

/// An action under altered settings, and what it must say.
struct Case {
    /// `run`, `tune`, `powercut` or `life`, and the scenario.
    of: &'static str,
    set: &'static [&'static str],
    findings: &'static [Sentence],
    /// Openings of findings that must not be there.
    absent: &'static [&'static str],
    /// What must stand in warnings, titles, captions, labels or attachments.
    elsewhere: &'static [&'static str],
    /// What must stand nowhere at all.
    nowhere: &'static [&'static str],
}

impl Case {
    /// One that says nothing.
    const EMPTY: Self =
        Self { of: "", set: &[], findings: &[], absent: &[], elsewhere: &[], nowhere: &[] };
}

fn run(case: &Case, more: &[&str]) -> RunResult {
    let (action, scenario) = case.of.split_once(' ').expect("an action and a scenario");
    let (set, seed) = ([more, case.set].concat(), Seed::new(1));
    let actions = [Action::Run, Action::Tune, Action::PowerCut, Action::Life];
    let action = actions.into_iter().find(|one| one.command() == action).expect("an action");
    let made = registry::perform(action, scenario, &set, seed, &|_| ());
    made.unwrap_or_else(|failure| panic!("{} {:?}: {failure}", case.of, case.set))
}

/// Everything that a run says but its findings, a line each.
fn rest(run: &RunResult) -> String {
    let mut all = vec![run.title.clone()];
    all.extend(run.warnings.iter().cloned());
    for table in &run.tables {
        all.push(table.title.clone());
        all.extend(table.columns.iter().map(|column| column.title.clone()));
        for row in &table.rows {
            all.push(format!("{} {}", row.id, row.title));
            // Where a parameter comes from is a text of its file.
            let words = row.cells.iter().filter_map(|(column, cell)| match &cell.value {
                Value::Text(text) if column != "source" => Some(text.clone()),
                _ => None,
            });
            all.extend(words);
        }
    }
    for chart in &run.charts {
        all.extend([chart.title.clone(), chart.caption.clone()]);
        all.extend(
            [&chart.x, &chart.y].into_iter().chain(&chart.y2).map(|axis| axis.label.clone()),
        );
        all.extend(chart.layers.iter().map(|layer| layer.label.clone()));
        all.extend(chart.marks.iter().map(|mark| mark.label.clone()));
    }
    for timeline in &run.timelines {
        all.extend([timeline.title.clone(), timeline.caption.clone()]);
    }
    for one in &run.attachments {
        all.extend([one.title.clone(), one.text.clone()]);
    }
    all.join("\n")
}

/// `says` with the figures of `run` in place of `{table row column}`, as sentences write them.
fn filled(run: &RunResult, says: &str) -> String {
    let Some((before, (inner, after))) =
        says.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return says.to_owned();
    };
    let [table, row, column] = inner.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{{{inner}}} is no table, row and column")
    };
    let row_of = run.table(table).and_then(|table| table.row(row));
    let cell = row_of.and_then(|row| row.cells.get(column));
    let value = cell.and_then(|cell| cell.value.as_f64());
    let value = value.unwrap_or_else(|| panic!("no figure {table} {row} {column}"));
    let unit = row_of.map_or("", |row| row.unit.as_str());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    let told = match (column, unit) {
        (column, _) if column.ends_with("_ns") => Duration::from_nanos(value as u64).to_string(),
        (_, "ns") => Duration::from_nanos(value as u64).to_string(),
        (column, unit) if column.ends_with("bytes_per_s") || unit == "bytes_per_s" => {
            format!("{:.2} MB/s", value / 1e6)
        }
        _ => round(value, 6).to_string(),
    };
    format!("{before}{told}{}", filled(run, after))
}

/// Checks that findings begin with a headline: a short first sentence, which the first `. ` ends.
pub(crate) fn check_headlines(findings: &[String]) {
    for finding in findings {
        let headline = finding.split_once(". ").map_or(finding.as_str(), |(headline, _)| headline);
        assert!(finding.ends_with('.'), "no sentence: {finding}");
        assert!((20..=125).contains(&headline.len()), "not of a headline's length: {headline}");
        assert!(headline.matches('(').count() == headline.matches(')').count(), "{headline}");
    }
}

/// Sentences that no run should print: figures of nothing, and one of several.
fn check_form(of: &str, said: &str) {
    for odd in ["NaN", "inf ", "inf)", "inf,", "-0.0", "-0 ", "  ", " ,", " .", "..", "()"] {
        // Paths and lists of figures have dots, attachments tabs and blanks.
        assert!(
            odd == ".." && said.contains("../") || !said.contains(odd),
            "{of}: `{odd}` in: {said}"
        );
    }
    let words: Vec<&str> = said.split([' ', '(', ')', ',', ';']).collect();
    for pair in words.windows(2) {
        let noun = pair[1].trim_end_matches(['.', ':']);
        let nouns = [
            "chips",
            "writes",
            "cards",
            "loops",
            "bytes",
            "sectors",
            "operations",
            "blocks",
            "commands",
        ];
        let one_of_many = pair[0] == "1" && nouns.contains(&noun);
        assert!(!one_of_many, "{of}: one of many in: {said}");
    }
}

/// Runs one case; adds the calls whose findings it looked at.
fn check_case(case: &Case, more: &[&str], covered: &mut BTreeSet<(PathBuf, u32)>) {
    let (run, added) = finding::added_by(|| run(case, more));
    let of = format!("{} {:?}", case.of, case.set);
    assert_eq!(run.findings.len(), added.len(), "{of}: a finding that finding::find did not add");
    for sentence in case.findings {
        let mut having = run.findings.iter().filter(|one| one.contains(sentence.about));
        let (Some(finding), None) = (having.next(), having.next()) else {
            panic!("{of}: not one finding with `{}`: {:#?}", sentence.about, run.findings)
        };
        assert!(!sentence.says.is_empty(), "{of}: nothing demanded of `{}`", sentence.about);
        for says in sentence.says {
            let says = filled(&run, says);
            assert!(finding.contains(&says), "{of}: `{says}` is not in: {finding}");
        }
        for not in sentence.not {
            let not = filled(&run, not);
            assert!(!finding.contains(&not), "{of}: `{not}` is in: {finding}");
        }
        let at = added.iter().find(|one| one.finding == *finding).expect("added by a call").at;
        covered.insert((PathBuf::from(at.file()), at.line()));
    }
    for absent in case.absent {
        let found = run.findings.iter().find(|one| one.contains(absent));
        assert!(found.is_none(), "{of}: {found:?}");
    }
    let rest = rest(&run);
    for says in case.elsewhere {
        let says = filled(&run, says);
        assert!(rest.contains(&says), "{of}: `{says}` is not in:\n{rest}");
    }
    for not in case.nowhere {
        let said = run.findings.iter().map(String::as_str).chain(rest.lines());
        let found: Vec<&str> = said.filter(|said| said.contains(not)).collect();
        assert!(found.is_empty(), "{of}: `{not}` is in: {found:#?}");
    }
    run.findings.iter().chain(&run.warnings).for_each(|said| check_form(&of, said));
    check_headlines(&run.findings);
}

/// Runs `cases`, each with `more` settings before its own, and checks that every call in the folders that adds a finding
/// was met by one of them. All cases are run, so that one failure does not hide another.
fn check(folders: &[&str], more: &[&str], cases: &[Case]) {
    let mut covered = BTreeSet::new();
    let mut run =
        |case| catch_unwind(AssertUnwindSafe(|| check_case(case, more, &mut covered))).is_err();
    let failed = cases.iter().map(&mut run).filter(|failed| *failed).count();
    assert_eq!(failed, 0, "cases failed, see above");
    for folder in folders {
        for (file, line) in calls_of_any(folder) {
            let met = covered.iter().any(|(at, known)| file.ends_with(at) && *known == line);
            assert!(
                met,
                "{}:{line}: no case with altered settings meets this finding",
                file.display()
            );
        }
        for (file, line) in calls(folder, "on_print") {
            let met = covered.iter().any(|(at, known)| file.ends_with(at) && *known == line);
            assert!(!met, "{}:{line}: a finding on the print without a print", file.display());
        }
    }
}

/// The sources in which each experiment has a folder.
fn sources() -> [PathBuf; 4] {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    ["bench/src", "cards/src", "filesystems/src", "lab/src"].map(|source| crates.join(source))
}

/// All source files in `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// Where in a folder of the source findings are added by `name`.
fn calls(folder: &str, name: &str) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    // With a crate before it, the folder of that one alone.
    let (of, folder) = folder.split_once('/').map_or((None, folder), |(of, it)| (Some(of), it));
    let is_asked = |source: &PathBuf| of.is_none_or(|of| source.ends_with(format!("{of}/src")));
    let folders = sources().into_iter().filter(is_asked).map(|source| source.join(folder));
    for file in folders.filter(|folder| folder.is_dir()).flat_map(|folder| files(&folder)) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices(&format!("{name}(")) {
            let head = text[..at].chars().next_back();
            let is_call = head.is_none_or(|head| !head.is_alphanumeric() && !"_.".contains(head));
            let argument = text[at + name.len() + 1..].trim_start();
            let is_of_run = ["run,", "&mut run,"].iter().any(|run| argument.starts_with(run));
            if is_call && is_of_run {
                let line = text[..at].matches('\n').count() + 1;
                all.push((file.clone(), u32::try_from(line).unwrap()));
            }
        }
    }
    all
}

/// The same of findings that any run may have.
fn calls_of_any(folder: &str) -> Vec<(PathBuf, u32)> {
    ["find", "find_if"].into_iter().flat_map(|name| calls(folder, name)).collect()
}

#[test]
fn findings_are_added_in_no_other_way() {
    for file in sources().iter().flat_map(|source| files(source)) {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        for other in ["run.find(", "run.findings.push", "run.findings.extend", "findings: vec"] {
            assert!(
                !text.contains(other),
                "{name}: `{other}`: add findings with finding::find or finding::on_print"
            );
        }
    }
}

#[test]
fn each_folder_with_findings_has_cases() {
    let folders = sources().into_iter().flat_map(|source| std::fs::read_dir(source).unwrap());
    let folders = folders.map(|folder| folder.unwrap()).filter(|folder| folder.path().is_dir());
    let names = folders.map(|folder| folder.file_name().to_str().unwrap().to_owned());
    let with: BTreeSet<String> = names.filter(|name| !calls_of_any(name).is_empty()).collect();
    let checked: BTreeSet<String> = FOLDERS.iter().map(ToString::to_string).collect();
    assert_eq!(with, checked);
}
