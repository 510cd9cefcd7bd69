//! The NAND experiment: which flash filesystem mounts how fast, moves how much, and takes how much
//! memory and flash.
//!
//! Layer: rank 8. It composes part, board, filesystem and workload, and puts the published figures beside
//! ours. In reading order: [`part`], [`errors`], [`board`], [`scenario`] (what is run), [`measure`] (what is measured
//! of a filesystem), `simulate` (one filesystem), [`fit`] (two constants that the publication leaves
//! undetermined), `tables`, `judge` (findings and verdicts), `charts`, `powercut` (what survives).
//!
//! A further filesystem is one entry in `simulate::SYSTEMS`.
//!
//! Publication: Namihira, Toshiba; its figures are in `reference/nandfs.toml`.

pub mod board;
pub mod errors;
pub mod fit;
pub mod measure;
pub mod part;
pub mod scenario;

mod charts;
mod jffs2;
mod judge;
mod limits;
mod powercut;
mod simulate;
mod tables;

pub(crate) use powercut::powercut;

use crate::catalog;
use crate::reference::Reference;
use crate::registry::{Failure, Request, VERSION};
use boardlab_result::{Parameter, RunResult, Table};
use measure::{Column, Mounting};
use scenario::Scenario;
use tables::Ports;

/// The scenario as read, with its parameters and whether the published figures are about it.
struct Read {
    scenario: Scenario,
    parameters: Vec<Parameter>,
    as_published: bool,
}

fn read(request: &Request<'_>) -> Result<Read, Failure> {
    let document = request.document;
    let reading = document.read(|section| scenario::read(&section))?;
    let as_published = request.is_as_published();
    let mut parameters = reading.parameters;
    if reading.value.errors.rates.is_none() {
        // What no run asks for explains nothing.
        parameters.retain(|parameter| !parameter.key.starts_with("part.errors."));
    }
    Ok(Read { scenario: reading.value, parameters, as_published })
}

/// Whether `request` can be run; it names no data files.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request).map(|_| 0)
}

/// A run of `request` without content.
fn blank(request: &Request<'_>, title: &str, parameters: Vec<Parameter>) -> RunResult {
    let mut run = RunResult::new(request.scenario, title, request.seed.get(), VERSION);
    run.parameters = parameters;
    run
}

/// Tables 3.2 to 3.5, what the flash did for them, the fit, findings and charts.
pub(crate) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Read { scenario, parameters, as_published } = read(request)?;
    let columns = simulate::columns(request, &scenario, board::Port::default())?;
    let mut run = blank(request, "Flash filesystems for large NAND", parameters);
    let reference = catalog::reference("nandfs")?;
    let print = as_published.then_some(&reference);
    assemble(&mut run, &scenario, &columns, print)?;
    if !as_published {
        run.warnings.push(
            "The scenario was altered: the published figures are not about it and are left out."
                .into(),
        );
    }
    run.virtual_time_ns = columns.iter().map(|column| column.virtual_time.as_nanos()).sum();
    name_parameters(&mut run);
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
fn name_parameters(run: &mut RunResult) {
    const SHARED: [&str; 4] = ["part.", "kernel.", "jffs2.", "board.cpu."];
    let keys: Vec<String> = run.parameters.iter().map(|parameter| parameter.key.clone()).collect();
    for table in &mut run.tables {
        let id = table.id.as_str();
        let own: &[&str] = match id {
            _ if id.starts_with("table3.2") || id.starts_with("table3.4") => &["fill."],
            _ if id.starts_with("table3.3") => &["tiobench.", "board.memory."],
            "fit" => &["fill.", "tiobench.", "board.memory."],
            _ => &[],
        };
        let fitted = id.ends_with("-fitted") || id.ends_with("-counts") || id == "fit";
        let depends = |key: &&String| {
            let counted = id.starts_with("table3.4") || id == "table3.5";
            let timed = key.starts_with("board.") || key.starts_with("part.timing.");
            if key.starts_with("board.nand_port.fitted") {
                return fitted;
            }
            SHARED.iter().chain(own).chain(&["board.nand_port."]).any(|one| key.starts_with(one))
                && !(counted && timed)
        };
        table.parameters = keys.iter().filter(depends).cloned().collect();
    }
}
