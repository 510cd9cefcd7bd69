//! Runs all filesystems at all levels, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`].

use super::scenario::{Scenario, UNUSED};
use super::{charts, findings, tables};
use crate::nandfs::flash::Wired;
use crate::nandfs::fs::{self, FileSystemType};
use crate::nandfs::run::wear::{Base, Course};
use crate::nandfs::scenario::{chosen, without_idle};
use boardlab_codec::crc32;
use boardlab_document::Reading;
use boardlab_experiment::crew::Crew;
use boardlab_experiment::{Failure, Request};
use boardlab_result::RunResult;

fn read(request: &Request<'_>, types: &[FileSystemType]) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| Scenario::read(section, types))?;
    let Scenario { systems, measured, .. } = &reading.value;
    without_idle(&mut reading.parameters, (systems, measured), UNUSED.map(|(key, _)| key));
    Ok(reading)
}

/// Checks `request`; a checksum of the sample of files that it names.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request, fs::ALL)?.value;
    Ok(scenario.wear.data.sample().map_or(0, |sample| crc32(0, &sample.bytes)))
}

/// Wears flashes out.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request, fs::ALL)?;
    let courses = courses(request, &scenario)?;
    let mut run = request.blank("Wear of a NAND by filesystem and fill level", parameters);
    run.tables = tables::all(&courses, &scenario);
    findings::add(&mut run, &courses, &scenario);
    charts::draw(&mut run, &courses, &scenario.wear);
    run.virtual_time_ns = courses.iter().map(|one| one.spent.as_nanos()).sum();
    Ok(run)
}

fn courses(request: &Request<'_>, scenario: &Scenario) -> Result<Vec<Course>, Failure> {
    let Scenario { file, board, kernel, wear, systems, measured, .. } = scenario;
    let base = Base {
        wired: Wired::sound_nand(&file.part, board),
        machine: &board.machine,
        kernel: *kernel,
        load: wear.load(),
        levels: &wear.levels,
        endurance: &wear.endurance,
        check_cycles: wear.check_cycles,
        check_levels: &wear.check_levels,
        seed: request.seed,
    };
    let mut crew = Crew::default();
    let pieces = base.begin(chosen(systems, measured), &mut crew);
    crew.perform(request)?;
    Ok(base.courses(pieces))
}
