//! Measures all filesystems, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`].

pub(crate) mod columns;
pub(crate) mod filesystem;
pub(crate) mod filling;
pub(super) mod fit;
pub(crate) mod measure;
pub(crate) mod powercut;
mod readings;
mod risk;
pub(crate) mod stand;
pub(super) mod steps;
pub(crate) mod wear;

use super::flash::Wired;
use super::fs::{self, FileSystemType};
use super::grades::Graded;
use super::judgements::{Judged, Judging};
use super::scenario::{Scenario, chosen, without_idle};
use super::tables::Ports;
use super::{charts, findings, tables, verdicts};
use boardlab_codec::crc32;
use boardlab_document::Reading;
use boardlab_experiment::crew::Crew;
use boardlab_experiment::finding::on_print;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::{Failure, Request};
use boardlab_parts::nand::board::Port;
use boardlab_result::RunResult;
use boardlab_sim::Duration;
use measure::Column;
use wear::{Base, Course};

/// Reads the scenario, which has a section for each filesystem of `types`.
pub(super) fn read(
    request: &Request<'_>,
    types: &[FileSystemType],
) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| Scenario::read(section, types))?;
    if reading.value.errors.rates.is_none() {
        // What no run asks for explains nothing.
        reading.parameters.retain(|parameter| !parameter.key.starts_with("part.errors."));
    }
    let scenario = &reading.value;
    without_idle(&mut reading.parameters, (&scenario.systems, &scenario.used()), []);
    Ok(reading)
}

/// Checks `request`; a checksum of the samples of files that it names.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request, fs::ALL)?.value;
    Ok(scenario.samples().iter().fold(0, |sum, sample| crc32(sum, &sample.bytes)))
}

/// Makes tables 3.2 to 3.5 with the work of the flash, the fit, findings and charts.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    run_types(request, fs::ALL)
}

pub(super) fn run_types(
    request: &Request<'_>,
    types: &[FileSystemType],
) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request, types)?;
    let (columns, courses) = measured(request, &scenario)?;
    let mut run = request.blank("Flash filesystems for large NAND", parameters);
    let reference = Reference::named("nandfs")?;
    let print = request.is_as_published().then_some(&reference);
    assemble(&mut run, (types, &scenario), (&columns, &courses), print)?;
    request.warn_if_altered(&mut run);
    let spent = columns.iter().map(|column| column.virtual_time);
    let spent = spent.chain(courses.iter().map(|course| course.spent));
    run.virtual_time_ns = spent.map(Duration::as_nanos).sum();
    verdicts::name_parameters(&mut run, types);
    Ok(run)
}

/// Measures all filesystems, and their wear if it is graded.
fn measured(
    request: &Request<'_>,
    scenario: &Scenario,
) -> Result<(Vec<Column>, Vec<Course>), Failure> {
    let Scenario { file, board, kernel, systems, measured, .. } = scenario;
    let graded = scenario.grades.as_ref().filter(|grades| grades.wear.endurance > 0);
    let base = graded.map(|grades| Base {
        wired: Wired::sound_nand(&file.part, board),
        machine: &board.machine,
        kernel: *kernel,
        load: grades.wear.load(&file.part),
        levels: std::slice::from_ref(&grades.wear.level),
        endurance: std::slice::from_ref(&grades.wear.endurance),
        check_cycles: 0,
        check_levels: &[],
        seed: request.seed,
    });
    let mut crew = Crew::default();
    let wearing = base.as_ref().map(|base| base.begin(chosen(systems, measured), &mut crew));
    let columns = columns::columns(request, scenario, Port::default(), crew)?;
    let courses = base.as_ref().zip(wearing).map(|(base, pieces)| base.courses(pieces));
    Ok((columns, courses.unwrap_or_default()))
}

/// Adds tables, findings, verdicts and charts.
fn assemble(
    run: &mut RunResult,
    (types, scenario): (&[FileSystemType], &Scenario),
    (columns, courses): (&[Column], &[Course]),
    print: Option<&Reference>,
) -> Result<(), Failure> {
    let ports = Ports::of(&scenario.board);
    run.tables = tables::mountings_and_counts(columns, ports);
    run.tables.extend(tables::throughputs(columns, ports));
    run.tables.extend([
        tables::at_the_head(tables::ram(columns)),
        tables::structures(columns),
        tables::at_the_head(tables::metadata(columns)),
        tables::metadata_by_size(columns),
    ]);
    run.tables.extend(tables::readings(columns, ports));
    run.tables.extend(tables::samples(&scenario.samples()));
    let graded = scenario.grades.as_ref().map(|grades| {
        let judged = Judged { types, scenario, grades, columns, courses };
        (Graded::new(grades, columns, ports.board), judged)
    });
    if let Some((graded, judged)) = &graded {
        run.tables.extend(graded.tables());
        run.tables.extend(judged.tables(print));
    }
    if let (Some(reference), Some(used)) = (print, ports.fitted) {
        let (names, observations) = findings::observations(columns, reference)?;
        let fit = fit::fit(&observations);
        run.tables.push(tables::fitted(&names, &observations, &fit, (ports.board, used)));
        let fitted = (observations.as_slice(), &fit, used);
        let explaining = findings::all(run, (types, columns, reference), fitted, ports)?;
        let judging = match &graded {
            Some((graded, judged)) => {
                on_print(run, graded.on_the_print(reference, types)?);
                Some(Judging {
                    products: on_print(run, graded.on_products(reference)?),
                    wear: on_print(run, judged.on_wear(reference)?),
                    wishes: on_print(run, judged.on_wishes()),
                })
            }
            None => None,
        };
        verdicts::verdicts(run, reference, (&explaining, judging.as_ref()))?;
    }
    let print = charts::Print(print);
    charts::mount(run, columns, ports, &print)?;
    charts::throughput(run, columns, ports, &print)?;
    charts::sizes(run, columns, &print)?;
    charts::levels(run, columns, ports);
    Ok(())
}
