//! The NAND experiment: which flash filesystem mounts how fast, moves how much, and takes how much
//! memory and flash.
//!
//! Layer: rank 10. It composes part, board, filesystem and workload, and puts the published figures beside
//! ours. In reading order: [`errors`], `fs` (the filesystems), [`scenario`] (what is run), [`measure`] (what is measured
//! of a filesystem), `simulate` (one filesystem), [`fit`] (two constants that the publication leaves
//! undetermined), `tables`, `judge` (findings and verdicts), `charts`, `powercut` (what survives).
//!
//! A further filesystem is a file in `fs` and a line in its list.
//!
//! Publication: Namihira, Toshiba; its figures are in `reference/nandfs.toml`.

pub mod errors;
pub mod fit;
pub mod measure;
pub mod scenario;

mod charts;
mod fs;
mod judge;
mod limits;
mod powercut;
mod simulate;
mod tables;
mod unused;

pub(crate) use powercut::powercut;

use crate::experiment::{Failure, Request, VERSION};
use crate::reference::Reference;
use crate::verdict::{self, is_of};
use boardlab_document::Reading;
use boardlab_parts::nand::board::Port;
use boardlab_result::{Parameter, RunResult, Table};
use fs::FileSystemType;
use measure::{Column, Mounting};
use scenario::Scenario;
use tables::Ports;

/// Reads the scenario, which has a section for each filesystem of `types`.
fn read(request: &Request<'_>, types: &[FileSystemType]) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| scenario::read_types(&section, types))?;
    if reading.value.errors.rates.is_none() {
        // What no run asks for explains nothing.
        reading.parameters.retain(|parameter| !parameter.key.starts_with("part.errors."));
    }
    Ok(reading)
}

/// Whether `request` can be run; it names no data files.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request, fs::ALL).map(|_| 0)
}

/// A run of `request` without content.
fn blank(request: &Request<'_>, title: &str, parameters: Vec<Parameter>) -> RunResult {
    let mut run = RunResult::new(request.scenario, title, request.seed.get(), VERSION);
    run.parameters = parameters;
    run
}

/// Tables 3.2 to 3.5, what the flash did for them, the fit, findings and charts.
pub(crate) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    run_types(request, fs::ALL)
}

fn run_types(request: &Request<'_>, types: &[FileSystemType]) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request, types)?;
    let columns = simulate::columns(request, &scenario, Port::default())?;
    let mut run = blank(request, "Flash filesystems for large NAND", parameters);
    let reference = Reference::named("nandfs")?;
    let print = request.is_as_published().then_some(&reference);
    assemble(&mut run, &scenario, &columns, print)?;
    request.warn_if_altered(&mut run);
    run.virtual_time_ns = columns.iter().map(|column| column.virtual_time.as_nanos()).sum();
    name_parameters(&mut run, types);
    run.count_provenance();
    Ok(run)
}

/// Tables, findings, verdicts and charts.
fn assemble(
    run: &mut RunResult,
    scenario: &Scenario,
    columns: &[Column],
    print: Option<&Reference>,
) -> Result<(), Failure> {
    let ports = [scenario.board.data_sheet, scenario.board.fitted];
    run.tables = mount_tables(columns, ports);
    run.tables.extend(throughput_tables(columns, ports));
    run.tables.extend([
        tables::at_the_head(tables::ram(columns)),
        tables::structures(columns),
        tables::at_the_head(tables::metadata(columns)),
    ]);
    if let Some(reference) = print {
        let (names, observations) = judge::observations(columns, reference)?;
        let fit = fit::fit(&observations);
        run.tables.push(tables::fitted(&names, &observations, &fit, ports));
        let fitted = (observations.as_slice(), &fit);
        judge::judge(run, (columns, reference), fitted, ports)?;
    }
    let print = charts::Print(print);
    charts::mount(run, columns, ports, &print)?;
    charts::throughput(run, columns, ports, &print)?;
    charts::sizes(run, columns, &print)?;
    charts::levels(run, columns, ports);
    Ok(())
}

/// Table 3.2, and what stands beside it.
fn mount_tables(columns: &[Column], ports: Ports) -> Vec<Table> {
    let [data_sheet, fitted] = ports;
    let named = |runs: fn(&Column) -> &[Mounting], name: fn(&Mounting) -> String| {
        let each =
            columns.iter().flat_map(|one| runs(one).iter().map(move |run| (one.system, run)));
        each.map(|(system, run)| (format!("{system}/{}", name(run)), run.clone()))
            .collect::<Vec<_>>()
    };
    let files = named(|one| &one.by_file, |run| run.file.to_string());
    let levels = named(|one| &one.by_level, |run| run.level.to_string());
    let data = named(|one| &one.by_data, |run| run.data.clone());
    let level = columns.iter().find_map(|one| one.by_data.first()).map(|run| run.level);
    let level = level.map_or_else(String::new, |level| format!(", flash {level} full"));
    let by_data = format!("Mount and ls by data in the files{level}");
    let title = "Mount and ls, part as in its data sheet";
    vec![
        tables::at_the_head(tables::mount("table3.2", title, columns, data_sheet)),
        tables::mount("table3.2-fitted", "Mount and ls, fitted port", columns, fitted),
        tables::mount_counts(columns, ports),
        tables::mountings(
            "table3.2-files",
            "Mount and ls by size of the files",
            &files,
            data_sheet,
        ),
        tables::mountings("table3.2-levels", "Mount and ls by fill level", &levels, data_sheet),
        tables::mountings("table3.2-data", &by_data, &data, data_sheet),
    ]
}

/// Table 3.3 for each kind of data, and what stands beside it. The first kind is that of the print.
fn throughput_tables(columns: &[Column], [data_sheet, fitted]: Ports) -> Vec<Table> {
    let kinds = columns.first().into_iter().flat_map(|one| &one.throughput);
    let mut all = Vec::new();
    for (index, data) in kinds.map(|run| &run.data).enumerate() {
        let title = format!("tiobench, data: {data}, part as in its data sheet");
        let id = match index {
            0 => "table3.3".into(),
            _ => format!("table3.3-{}", data.replace(':', "-")),
        };
        let table = tables::throughput(&id, &title, (columns, index), data_sheet);
        if index > 0 {
            all.push(table);
        } else {
            all.push(tables::at_the_head(table));
            let title = format!("tiobench, data: {data}, fitted port");
            all.push(tables::throughput("table3.3-fitted", &title, (columns, index), fitted));
        }
    }
    all.push(tables::throughput_counts(columns, [data_sheet, fitted]));
    all
}

/// Names the parameters that each table depends on.
fn name_parameters(run: &mut RunResult, types: &[FileSystemType]) {
    const SHARED: [&str; 4] = ["part.", "kernel.", "board.cpu.", "board.nand_port."];
    let sections: Vec<_> = types.iter().map(|one| format!("{}.", one.name)).collect();
    verdict::name_parameters(run, |id, key| {
        let own: &[&str] = match id {
            _ if id.starts_with("table3.2") || id.starts_with("table3.4") => &["fill."],
            _ if id.starts_with("table3.3") => &["tiobench.", "board.memory."],
            "fit" => &["fill.", "tiobench.", "board.memory."],
            _ => &[],
        };
        if key.starts_with("board.nand_port.fitted") {
            return id.ends_with("-fitted") || id.ends_with("-counts") || id == "fit";
        }
        let counted = id.starts_with("table3.4") || id == "table3.5";
        let timed = is_of(key, &["board.", "part.timing."]);
        let of_systems = sections.iter().any(|section| key.starts_with(section));
        (of_systems || is_of(key, &SHARED) || is_of(key, own)) && !(counted && timed)
    });
}
