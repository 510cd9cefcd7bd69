//! What the checks of UBIFS find, with the places of the flash.
//!
//! Layer: rank 7. Main function: [`findings`].

use super::lebs::ImageLebs;
use crate::finding::{Finding, Place, Severity};
use crate::places::Places;
use boardlab_sim::Clock;
use boardlab_ubi::LebIndex;
use boardlab_ubifs::check::{Cause, Check};
use boardlab_ubifs::error::Fault;
use boardlab_ubifs::format::superblock::Superblock;
use boardlab_ubifs::{Error, MountError, Ubifs};

/// Runs all checks but those of the audit, after the recovery that the next writable mount does, in
/// memory.
pub(super) fn findings(
    fs: &mut Ubifs<ImageLebs>,
    clock: &mut Clock,
    places: &Places,
) -> Vec<Finding> {
    let mut findings = notes(fs);
    if fs.needs_recovery()
        && let Err(problem) = fs.remount_writable(clock)
    {
        let (severity, expected) = match problem {
            MountError::NoSpace { .. } => (Severity::Warning, "room for a writable mount"),
            _ => (Severity::Error, "what a power cut leaves: a writable mount recovers that"),
        };
        findings.push(Finding::new(severity, "the recovery", problem.to_string(), expected));
        return findings;
    }
    let survey = fs.survey(clock);
    for (check, cause) in survey {
        let error = match cause {
            Cause::Memory(text) => {
                let text = text.to_string();
                findings.push(Finding::new(Severity::Error, name(check), text, "no contradiction"));
                continue;
            }
            Cause::Flash(error) => error,
        };
        // The audit has told these with what is lost.
        let is_told = match check {
            Check::Inodes => true,
            Check::Index => !matches!(error, Error::Check(_)),
            _ => false,
        };
        if !is_told {
            findings.push(finding(fs.lebs(), places, check, &error));
        }
    }
    findings
}

const fn name(check: Check) -> &'static str {
    match check {
        Check::Tables => "the tables after the journal",
        Check::Index => "the index of the last commit",
        Check::Inodes => "the inodes",
        Check::Orphans => "the orphans",
        Check::Space => "the space of LEBs",
        Check::Lpt => "the LEB properties tree",
    }
}

fn finding(lebs: &ImageLebs, places: &Places, check: Check, error: &Error) -> Finding {
    let name = name(check);
    let (leb, offs, what, found, expected) = match error {
        Error::Check(Fault::Value { name: value, number, found, expected }) => {
            let of_leb = value.ends_with("of LEB");
            let leb = of_leb.then_some(LebIndex(*number));
            let expected = format!("{expected}, as the nodes say");
            (leb, None, format!("{name}: {value}"), found.to_string(), expected)
        }
        Error::Node { leb, offs, cause } => {
            (Some(*leb), Some(*offs), name.into(), cause.to_string(), "a right node".into())
        }
        Error::Corrupted { leb, offs, problem } => {
            let expected = "what the format says".to_owned();
            (Some(*leb), Some(*offs), name.into(), problem.to_string(), expected)
        }
        other => (None, None, name.into(), other.to_string(), "no contradiction".into()),
    };
    let place = leb.and_then(|leb| lebs.place(leb, offs.unwrap_or(0)));
    let place = place.map_or_else(Place::default, |at| Place::of(places, at));
    let place = Place { leb: leb.map(|leb| leb.0), offset: offs, ..place };
    Finding::new(Severity::Error, what, found, expected).at(place)
}

/// What is no fault.
fn notes(fs: &Ubifs<ImageLebs>) -> Vec<Finding> {
    let mut notes = Vec::new();
    let volume = fs.volume();
    if volume.superblock().flags & Superblock::SPACE_FIXUP != 0 {
        notes.push(Finding::new(
            Severity::Note,
            "the superblock",
            "the flag for a repair of free space",
            "the first writable mount rewrites partly erased LEBs",
        ));
    }
    notes
}
