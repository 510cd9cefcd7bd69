//! `boardlab powercut`: the losses of a filesystem when the power is cut at any operation of the flash.
//!
//! Layer: rank 10. The scenario's section `[powercut]` gives a small flash of the scenario's part, so
//! that garbage collection works all the time; `boardlab_workload::powercut` runs on it and cuts. Model
//! and limits: `docs/models/power-cut.md`.

use super::filesystem;
use crate::nandfs::fs::{ALL, FileSystemType, System};
use crate::nandfs::scenario::errors::Errors;
use crate::nandfs::scenario::{PowerCut, Scenario};
use boardlab_document::Reading;
use boardlab_experiment::finding::find;
use boardlab_experiment::{Cause, Failure, Progress, Request};
use boardlab_media::NandGeometry;
use boardlab_mtd::{Kind, TearOutcome};
use boardlab_nand::{Nand, Part};
use boardlab_parts::nand::board::Port;
use boardlab_result::prose::{counted, float};
use boardlab_result::{Axis, Cell, Chart, Row, RunResult, Style, Table, Verdict};
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::FileSystem;
use boardlab_workload::powercut::{
    Bench, ExplorationError, ForkingFlash, Matrix, MountFailure, Plan, Sampling, Tally, explore,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A filesystem on a small flash.
struct Cutting<'a> {
    scenario: &'a Scenario,
    system: &'a dyn System,
    nand: Nand,
}

impl Bench for Cutting<'_> {
    type Flash = Nand;

    fn flash(&self) -> Nand {
        self.nand.clone()
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<Nand>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        self.system.mount_watched(&self.scenario.setting(Seed::new(1)), flash, clock)
    }
}

/// Cuts the power at operations of the flash, and reports the losses.
pub(crate) fn powercut(request: &Request<'_>) -> Result<RunResult, Failure> {
    powercut_types(request, ALL)
}

pub(crate) fn powercut_types(
    request: &Request<'_>,
    types: &[FileSystemType],
) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = super::read(request, types)?;
    let cut = &scenario.powercut;
    let failed = |error: Cause| {
        let help = "the filesystem fails without any cut: try a larger flash, --set powercut.blocks=96 \
             --set powercut.pages_per_block=64; yaffs2 needs larger pages too, --set powercut.page=2KiB \
             --set powercut.oob=64B";
        Failure::run(cut.system, error, help)
    };
    let PowerCut { blocks, pages_per_block, page, oob, .. } = *cut;
    let geometry = NandGeometry { blocks, pages_per_block, page, oob };
    let part = Arc::new(Part { geometry, ..scenario.file.part.clone() });
    let nand =
        filesystem::attach(&scenario, part, Port::default(), (request.seed, &Errors::default()));
    let nand = nand.map_err(|error| failed(Box::new(error)))?;
    let live_bytes = cut.live.of(nand.port.part().size()).get();
    let named = scenario.systems.iter().find(|(name, _)| *name == cut.system);
    let (_, system) = named.expect("the scenario names one of them");
    let bench = Cutting { scenario: &scenario, system: &**system, nand };
    let plan = Plan {
        seed: request.seed,
        operations: cut.operations,
        first: Sampling { exhaustive: cut.exhaustive, one_in: cut.one_in },
        second_one_in: cut.second_one_in,
        second: Sampling { exhaustive: 0, one_in: cut.second_operation_one_in },
        life_one_in: cut.life_one_in,
        brownout_one_in: cut.brownout_one_in,
        live_bytes,
    };
    let total = usize::try_from(plan.operations).unwrap_or(usize::MAX);
    let matrix = explore(&bench, &plan, &|done| {
        let done = usize::try_from(done).unwrap_or(usize::MAX).min(total);
        (request.progress)(Progress { step: "operations", done, total });
    });
    let matrix = matrix.map_err(|broken: ExplorationError| failed(Box::new(broken)))?;
    let title = format!("Power cuts: {}", cut.system);
    let mut run = request.blank(&title, parameters);
    run.tables = vec![
        table("powercut", "Cuts of the run, by operation and outcome", &matrix.first),
        table("powercut-recovery", "Second cuts, during the recovery", &matrix.second),
    ];
    if !matrix.failures.is_empty() {
        run.tables.push(failures(&matrix));
    }
    picture(&mut run, "powercut", "Survived cuts", &matrix.first);
    picture(&mut run, "powercut-recovery", "Survived second cuts", &matrix.second);
    find(&mut run, summary(cut, &matrix, request));
    Ok(run)
}

type Tallies = BTreeMap<(Kind, TearOutcome), Tally>;

fn table(id: &str, title: &str, tallies: &Tallies) -> Table {
    let rows = tallies.iter().map(|((kind, torn), tally)| {
        (Row::new(format!("{}/{}", kind.name(), torn.name()), ""), tally)
    });
    let lost = |tally: &&Tally| {
        let verdict = if tally.failed == 0 { Verdict::Pass } else { Verdict::Fail };
        Cell { verdict: Some(verdict), ..Cell::int(tally.failed) }
    };
    Table::new(id, title)
        .of(rows)
        .column("cuts_count", "cuts", |tally| Cell::int(tally.cuts))
        .column("lost_count", "something lost", lost)
        .column("survived_ratio", "survived", |tally| Cell::real(survived(**tally)))
        .table()
}

fn survived(tally: Tally) -> f64 {
    float(tally.cuts - tally.failed) / float(tally.cuts.max(1))
}

fn failures(matrix: &Matrix) -> Table {
    let rows = (1..).zip(&matrix.failures).map(|(at, one)| (Row::new(format!("{at}"), ""), one));
    Table::new("powercut-losses", "What was lost first; the same seed cuts the same way again")
        .of(rows)
        .column("operation_count", "operation", |one| Cell::int(one.at.number))
        .column("outcome", "outcome", |one| Cell::text(one.at.torn.name()))
        .column("second", "second cut", |one| {
            Cell::text(one.second.map_or_else(String::new, |second| second.to_string()))
        })
        .column("loss", "what is wrong", |one| Cell::text(one.loss.to_string()))
        .table()
}

/// Draws a matrix: a row for each kind of operation, a column for each outcome.
fn picture(run: &mut RunResult, id: &str, title: &str, tallies: &Tallies) {
    let kinds: BTreeSet<Kind> = tallies.keys().map(|(kind, _)| *kind).collect();
    let outcomes: BTreeSet<TearOutcome> = tallies.keys().map(|(_, torn)| *torn).collect();
    let caption = "After each cut the flash is mounted, compared with what may be true, used on, mounted and compared again.";
    let axes = [Axis::fitting("what the cut left of the operation"), Axis::from_zero("survived")];
    let mut chart = Chart::new(id, title, caption, axes);
    chart.categories = outcomes.iter().map(|torn| torn.name().replace('_', " ")).collect();
    for kind in kinds {
        let points = (0_u32..).zip(&outcomes).filter_map(|(position, torn)| {
            Some((f64::from(position), survived(*tallies.get(&(kind, *torn))?)))
        });
        let curve = format!("{id}_{}", kind.name());
        run.plot(&mut chart, (curve, kind.name()), "ratio", Style::Heat, points);
    }
    if !chart.layers.is_empty() {
        run.charts.push(chart);
    }
}

fn summary(cut: &PowerCut, matrix: &Matrix, request: &Request<'_>) -> String {
    let (cuts, second) = (matrix.cuts(), matrix.second_cuts());
    let operations = matrix.ended.unwrap_or(cut.operations);
    let mut tried = format!(
        "{} of {} that change{} the flash {} run, and the power was cut {} in them",
        counted(operations, "operation"),
        cut.system,
        if operations == 1 { "s" } else { "" },
        if operations == 1 { "was" } else { "were" },
        counted(cuts, "time"),
    );
    if second > 0 {
        tried += &format!(" and {} more while the flash recovered", counted(second, "time"));
    }
    if matrix.lives > 0 {
        tried += &format!("; {} the run went on from a cut", counted(matrix.lives, "time"));
    }
    if matrix.brownouts > 0 {
        let were = if matrix.brownouts == 1 { "it was" } else { "they were" };
        tried += &format!(
            "; {} in these runs said that {were} done, falsely",
            counted(matrix.brownouts, "erase")
        );
    }
    if matrix.ended.is_some() {
        tried += "; then an action failed that must not, in a run that went on from a cut, and the run ended";
    }
    let Some(first) = matrix.failures.first() else {
        return match cuts {
            0 => format!(
                "Nothing was tried, because no operation was chosen for a cut. {tried}. A smaller powercut.one_in cuts more often."
            ),
            _ => format!(
                "{} lost nothing that was synced in {}. {tried}. After every cut the flash mounted, nothing that was synced was lost or \
                 changed, no file had foreign data, the filesystem remained usable, and the next mount showed the same.",
                cut.system,
                counted(cuts + second, "power cut"),
            ),
        };
    };
    let set = if request.document.is_overridden() { " with the same --set" } else { "" };
    format!(
        "Something was wrong after {}. {tried}. The first loss: {first}. `boardlab powercut {} --seed {}`{set} cuts the same \
         operations in the same way.",
        counted(matrix.failed(), "power cut"),
        request.scenario,
        request.seed.get(),
    )
}
