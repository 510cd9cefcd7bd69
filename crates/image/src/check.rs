//! The check of an image: everything is read, nothing is changed, and each fault has its place.
//!
//! Layer: rank 7. Functions: [`check`], which finds the filesystem and lets it check itself; [`report`],
//! the findings as a result.

use crate::contents::Contents;
use crate::damage::Damage;
use crate::error::Error;
use crate::finding::{Finding, Place, Severity};
use crate::fs::{ALL, DetectedFileSystem, FileSystemType, Hints, MountedImage};
use crate::identify::identify_types;
use crate::names::shown;
use crate::open::prepare;
use crate::tables::{ImageReport, place};
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table, Value};

/// The row limit of the table.
const ROWS: usize = 1_000;

/// Checks the first filesystem in `contents`, with everything below it.
///
/// # Errors
/// Those of [`open`](crate::open()), but a filesystem that cannot be mounted is a finding.
pub fn check(contents: &Contents, hints: &Hints) -> Result<Vec<Finding>, Error> {
    check_types(contents, hints, ALL)
}

/// As [`check`], with another list of filesystems.
///
/// # Errors
/// Those of [`check`].
pub fn check_types(
    contents: &Contents,
    hints: &Hints,
    types: &[FileSystemType],
) -> Result<Vec<Finding>, Error> {
    if contents.length().is_zero() {
        return Err(Error::Empty);
    }
    let contents = &prepare(contents, hints)?;
    let identity = identify_types(contents, types);
    let other = || Error::OtherContent {
        found: Box::new(identity.main().clone()),
        expected: types.iter().map(|one| one.name).collect::<Vec<_>>().join(" or "),
    };
    let system = identity.filesystem.as_ref().ok_or_else(other)?;
    check_detected(&**system, contents, hints)
}

/// As [`check`], of a filesystem that was detected before.
///
/// # Errors
/// Those of [`check`].
pub fn check_detected(
    system: &dyn DetectedFileSystem,
    contents: &Contents,
    hints: &Hints,
) -> Result<Vec<Finding>, Error> {
    let (mut findings, mounts) = system.check_below(contents, hints)?;
    for hints in mounts {
        for mut finding in of_mounted(system.mount(contents, &hints))? {
            finding.place.volume = hints.volume.as_ref().map(|name| shown(name.as_bytes()));
            findings.push(finding);
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    Ok(findings)
}

/// What the audit and the further checks of a filesystem find; that it cannot be mounted is a finding.
///
/// # Errors
/// Those of [`DetectedFileSystem::mount`](crate::fs::DetectedFileSystem::mount) but [`Error::Mount`].
fn of_mounted(mounted: Result<MountedImage, Error>) -> Result<Vec<Finding>, Error> {
    let mut image = match mounted {
        Ok(image) => image,
        Err(Error::Mount(problem)) => {
            let finding = Finding::new(
                Severity::Error,
                "the filesystem",
                format!("cannot be mounted: {problem}"),
                "a filesystem that Linux mounts",
            );
            return Ok(vec![finding]);
        }
        Err(problem) => return Err(problem),
    };
    let damage = Damage::of(&mut image)?;
    let mut findings = of_damage(&damage);
    let MountedImage { fs, clock, .. } = &mut image;
    findings.extend(fs.findings(clock, &damage.places));
    Ok(findings)
}

fn of_damage(damage: &Damage) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(needed) = damage.truncated {
        let expected = format!("at least {} bytes", needed.get());
        findings.push(Finding::new(Severity::Error, "the file", "is truncated", expected));
    }
    for unit in &damage.unreadable {
        let place = Place::of(&damage.places, damage.places.unit * *unit);
        let finding = Finding::new(Severity::Error, "the file", "cannot be read here", "data");
        findings.push(finding.at(place));
    }
    for touched in &damage.steps {
        let place = Place::of(&damage.places, damage.places.of_step(&touched.step).start);
        let what = format!("ECC step {}", touched.step.step);
        let finding = match touched.step.bits {
            Some(bits) => Finding::new(
                Severity::Note,
                what,
                format!("{} corrected", counted(bits, "bit error")),
                "none; nothing is lost",
            ),
            None if touched.inodes.is_empty() => {
                Finding::new(Severity::Warning, what, "uncorrectable", "no node is in it")
            }
            None => Finding::new(
                Severity::Error,
                what,
                "uncorrectable",
                format!("nodes of {}", counted(touched.inodes.len(), "inode")),
            ),
        };
        findings.push(finding.at(place));
    }
    for place in &damage.audit.places {
        let severity = if place.is_loss { Severity::Error } else { Severity::Note };
        let whose = place.ino.map_or(String::new(), |ino| format!("inode {ino}: "));
        let finding = Finding::new(
            severity,
            "a node",
            place.what.clone(),
            format!("{whose}{}", place.meaning),
        );
        findings.push(match place.at {
            Some(at) => finding.at(Place::of(&damage.places, at)),
            None => finding,
        });
    }
    if damage.audit.more > 0 {
        let found = format!("{} more", damage.audit.more);
        findings.push(Finding::new(Severity::Error, "damaged nodes", found, "none"));
    }
    for block in &damage.audit.doubtful_blocks {
        let place = Place { block: Some(u64::from(*block)), ..Place::default() };
        let finding = Finding::new(
            Severity::Warning,
            "the bad-block mark",
            "differs in a bit or two, and the block has nodes",
            "a mark of zeros, or none",
        );
        findings.push(finding.at(place));
    }
    let foreign = damage.audit.foreign.iter();
    findings.extend(foreign.map(|text| Finding::new(Severity::Note, "the flash", text, "")));
    findings
}

/// Tells what was found in the file `name`.
#[must_use]
pub fn report(name: &str, findings: &[Finding]) -> ImageReport {
    let mut run =
        RunResult::new("image-check", &format!("Check of {name}"), 0, env!("CARGO_PKG_VERSION"));
    let count = |severity| findings.iter().filter(|one| one.severity == severity).count() as u64;
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Note].map(count);
    run.tables.push(
        Table::new("summary", "Summary")
            .of([(Row::new("check", ""), ())])
            .column("error_count", "errors", |()| Cell::int(errors))
            .column("warning_count", "warnings", |()| Cell::int(warnings))
            .column("note_count", "notes", |()| Cell::int(notes))
            .column("result", "result", |()| {
                Cell::text(if errors == 0 { "no errors" } else { "errors" })
            })
            .table(),
    );
    if !findings.is_empty() {
        run.tables.push(table(findings));
    }
    if findings.len() > ROWS {
        run.warnings.push(format!("only {ROWS} of {} findings are listed", findings.len()));
    }
    ImageReport { run, whole: errors == 0 }
}

pub(crate) fn table(findings: &[Finding]) -> Table {
    let rows = (1..).zip(findings.iter().take(ROWS));
    let rows = rows.map(|(number, finding)| (Row::new(number.to_string(), ""), finding));
    let text = |text: &str| if text.is_empty() { Cell::none() } else { Cell::text(text) };
    let count = |number: Option<u64>| number.map_or(Cell::none(), Cell::int);
    let volume = |one: &&Finding| text(one.place.volume.as_deref().unwrap_or_default());
    let at = |one: &&Finding| one.place.at.map_or(Cell::none(), |at| Cell::text(place(at)));
    let mut table = Table::new("findings", "Findings")
        .of(rows)
        .column("severity", "severity", |one| Cell::text(one.severity.to_string()))
        .column("volume", "volume", volume)
        .column("block", "block", |one| count(one.place.block))
        .column("page", "page", |one| count(one.place.page))
        .column("at", "at", at)
        .column("leb", "LEB", |one| count(one.place.leb.map(u64::from)))
        .column("offset", "offset", |one| count(one.place.offset.map(u64::from)))
        .column("what", "what", |one| text(&one.what))
        .column("found", "found", |one| text(&one.found))
        .column("expected", "expected", |one| text(&one.expected))
        .table();
    // Columns that no row needs take room only.
    let Table { columns, rows, .. } = &mut table;
    columns.retain(|column| rows.iter().any(|row| row.cells[&column.id].value != Value::None));
    for row in rows {
        row.cells.retain(|id, _| columns.iter().any(|column| column.id == *id));
    }
    table
}
