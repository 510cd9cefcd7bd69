//! `boardlab powercut`: the losses of a filesystem when the power is cut at any operation of the flash.
//!
//! Layer: rank 10. The scenario's section `[powercut]` gives a small flash of the scenario's part, so
//! that garbage collection works all the time; `boardlab_workload::powercut` runs on it and cuts. Model
//! and limits: `docs/models/power-cut.md`.

use super::filesystem::Lab;
use super::risk::Risk;
use super::stand::Stand;
use crate::nandfs::flash::{Flash, FlashPart};
use crate::nandfs::fs::{ALL, FileSystemType, Setting, System};
use crate::nandfs::scenario::{PowerCut, Scenario, system};
use boardlab_document::Reading;
use boardlab_experiment::finding::find;
use boardlab_experiment::{Cause, Failure, Progress, Request};
use boardlab_media::NandGeometry;
use boardlab_mtd::{Kind, TearOutcome};
use boardlab_nand::Part;
use boardlab_result::prose::{counted, float, listed, percent_of};
use boardlab_result::{Axis, Cell, Chart, Row, RunResult, Style, Table, Verdict};
use boardlab_sim::{Clock, Duration, Seed};
use boardlab_vfs::FileSystem;
use boardlab_workload::powercut::{
    Bench, ExplorationError, ForkingFlash, Loss, Matrix, MountFailure, Plan, Sampling, Tally,
    explore,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A filesystem on a small flash.
struct Cutting<'a> {
    setting: Setting,
    system: &'a dyn System,
    flash: Flash,
}

impl Bench for Cutting<'_> {
    type Flash = Flash;

    fn flash(&self) -> Flash {
        self.flash.clone()
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<Flash>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        self.system.mount_watched(&self.setting, flash, clock)
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
    // Each is mounted before the first is explored: what cannot be is told at once.
    let all = cut.systems.iter().map(|system| Prepared::new(request, &scenario, system));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let all = all.into_iter().map(|prepared| prepared.explored(request));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let title = format!("Power cuts: {}", cut.systems.join(", "));
    let mut run = request.blank(&title, parameters);
    run.tables = vec![
        systems(&all),
        times(&all),
        table("powercut", "Cuts of the run, by operation and outcome", &all, first),
        table("powercut-recovery", "Second cuts, during the recovery", &all, second),
    ];
    if all.iter().any(|one| !one.matrix.failures.is_empty()) {
        run.tables.push(failures(&all));
    }
    picture(&mut run, "powercut", "Survived cuts", &all, first);
    picture(&mut run, "powercut-recovery", "Survived second cuts", &all, second);
    for one in &all {
        find(&mut run, summary(cut, one, request));
    }
    if let Some(mounts) = mounts(&all) {
        find(&mut run, mounts);
    }
    find(&mut run, risks(&all));
    Ok(run)
}

/// What the cuts left of a filesystem.
struct Explored {
    system: &'static str,
    matrix: Matrix,
    risk: Risk,
}

/// A filesystem that could be mounted.
struct Prepared<'s> {
    name: &'static str,
    cut: &'s PowerCut,
    bench: Cutting<'s>,
    risk: Risk,
}

fn failed(name: &str, error: Cause) -> Failure {
    let help = "the filesystem fails without any cut: a larger flash may do, --set powercut.blocks=192 \
         --set powercut.pages_per_block=64, with less on it, --set powercut.live=\"20 %\"";
    Failure::run(name, error, help)
}

impl<'s> Prepared<'s> {
    /// Mounts a filesystem, and measures for how long data are at risk in it.
    fn new(
        request: &Request<'_>,
        scenario: &'s Scenario,
        name: &'static str,
    ) -> Result<Self, Failure> {
        let PowerCut { blocks, pages_per_block, page, oob, .. } = scenario.powercut;
        let geometry = NandGeometry { blocks, pages_per_block, page, oob };
        let part = FlashPart::Nand(Arc::new(Part { geometry, ..scenario.file.part.clone() }));
        let (system, cut) = (&**system(&scenario.systems, name), &scenario.powercut);
        let lab = Lab::new(scenario, system, (request.seed, scenario.board.port));
        let flash = Stand { wired: lab.wired.sound(), ..*lab }
            .attach(part)
            .map_err(|error| failed(name, error))?;
        let risk = lab.risk(flash.clone()).map_err(|error| failed(name, error))?;
        let setting = Setting { seed: Seed::new(1), ..lab.setting() };
        Ok(Self { name, cut, bench: Cutting { setting, system, flash }, risk })
    }

    /// Runs it, and cuts its power.
    fn explored(self, request: &Request<'_>) -> Result<Explored, Failure> {
        let Self { name, cut, bench, risk } = self;
        let plan = Plan {
            seed: request.seed,
            operations: cut.operations,
            first: Sampling { exhaustive: cut.exhaustive, one_in: cut.one_in },
            second_one_in: cut.second_one_in,
            second: Sampling { exhaustive: 0, one_in: cut.second_operation_one_in },
            life_one_in: cut.life_one_in,
            brownout_one_in: cut.brownout_one_in,
            live_bytes: cut.live.of(bench.flash.size()).get(),
        };
        let total = usize::try_from(plan.operations).unwrap_or(usize::MAX);
        let matrix = explore(&bench, &plan, &|done| {
            let done = usize::try_from(done).unwrap_or(usize::MAX).min(total);
            (request.progress)(Progress { step: name, done, total });
            if request.stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let matrix = matrix.map_err(|broken| match broken {
            ExplorationError::Stopped => Failure::Stopped,
            broken => failed(name, Box::new(broken)),
        })?;
        Ok(Explored { system: name, matrix, risk })
    }
}

/// What cuts of a run left.
#[derive(Debug, Clone)]
pub(crate) struct Survived {
    /// All cuts, those during recoveries among them.
    pub(crate) cuts: u64,
    /// After how many something was lost.
    pub(crate) lost: u64,
    /// What was lost first.
    pub(crate) first: Option<String>,
}

/// Runs a filesystem on a small flash of the part for so many operations, and cuts its power now and then.
pub(crate) fn tried(stand: &Stand<'_>, operations: u64) -> Result<Survived, Cause> {
    let flash = stand.attach(stand.wired.small())?;
    let live_bytes = flash.size().get() * 45 / 100;
    let setting = Setting { seed: Seed::new(1), ..stand.setting() };
    let plan = Plan {
        seed: stand.seed,
        operations,
        first: Sampling { exhaustive: 0, one_in: 3 },
        second_one_in: 20,
        second: Sampling { exhaustive: 0, one_in: 10 },
        life_one_in: 30,
        brownout_one_in: 0,
        live_bytes,
    };
    let matrix = explore(&Cutting { setting, system: stand.system, flash }, &plan, &|_| {
        ControlFlow::Continue(())
    })?;
    let first = matrix.failures.first().map(ToString::to_string);
    Ok(Survived { cuts: matrix.cuts() + matrix.second_cuts(), lost: matrix.failed(), first })
}

/// How much was lost of each filesystem, and what.
fn systems(all: &[Explored]) -> Table {
    let rows = all.iter().map(|one| (Row::new(one.system, ""), one));
    let mut table = Table::new("powercut-systems", "What power cuts take from each filesystem")
        .of(rows)
        .column("cuts_count", "cuts", |one| Cell::int(one.matrix.cuts() + one.matrix.second_cuts()))
        .column("lost_count", "something lost", |one| lost(one.matrix.failed()));
    for what in Loss::WHAT {
        let count = move |one: &&Explored| {
            Cell::int(one.matrix.losses.get(what).copied().unwrap_or_default())
        };
        table = table.column(format!("{what}_count"), what, count);
    }
    table.table()
}

/// The mounts after cuts and unmounts, and for how long data are at risk.
fn times(all: &[Explored]) -> Table {
    let time =
        |span: Option<Duration>| span.map_or_else(Cell::none, |span| Cell::int(span.as_nanos()));
    let risk = |span: Option<Duration>| match span {
        Some(span) => Cell::int(span.as_nanos()),
        None => Cell::text("until a sync"),
    };
    let rows = all.iter().map(|one| (Row::new(one.system, ""), one));
    Table::new("powercut-times", "Mounts after power cuts, and for how long data are at risk")
        .of(rows)
        .column("mount_after_cut_ns", "mount after a cut", |one| time(one.matrix.after_cuts.mean()))
        .column("longest_mount_ns", "the longest", |one| {
            let mounts = one.matrix.after_cuts;
            time((mounts.count > 0).then_some(mounts.longest))
        })
        .column("mount_after_unmount_ns", "after an unmount", |one| {
            time(one.matrix.after_unmounts.mean())
        })
        .column("new_file_ns", "new file at risk", |one| risk(one.risk.new))
        .column("rewritten_file_ns", "new content at risk", |one| risk(one.risk.rewritten))
        .table()
}

fn lost(count: u64) -> Cell {
    let verdict = if count == 0 { Verdict::Pass } else { Verdict::Fail };
    Cell { verdict: Some(verdict), ..Cell::int(count) }
}

fn first(matrix: &Matrix) -> &Tallies {
    &matrix.first
}

fn second(matrix: &Matrix) -> &Tallies {
    &matrix.second
}

/// How the mounts after cuts compare with those after unmounts.
fn mounts(all: &[Explored]) -> Option<String> {
    let ratios = all.iter().filter_map(|Explored { system, matrix, .. }| {
        let (cut, unmounted) = (matrix.after_cuts.mean()?, matrix.after_unmounts.mean()?);
        let ratio = float(cut.as_nanos()) / float(unmounted.as_nanos().max(1));
        Some((ratio, *system, cut, unmounted))
    });
    let ratios: Vec<_> = ratios.collect();
    let change = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln().abs();
    let (most, system, ..) = ratios.iter().max_by(|a, b| change(a.0).total_cmp(&change(b.0)))?;
    let each = ratios.iter().map(|(ratio, system, cut, unmounted)| {
        format!("{system} {cut} and {unmounted} ({})", percent_of(*ratio))
    });
    Some(format!(
        "After a power cut a mount of {system} takes {} of the time after an unmount. Means after a cut and after an unmount: {}.",
        percent_of(*most),
        listed(&each.collect::<Vec<_>>())
    ))
}

/// For how long data are at risk.
fn risks(all: &[Explored]) -> String {
    let never: Vec<_> = all.iter().filter(|one| one.risk.new.is_none()).collect();
    let longest = all.iter().max_by_key(|one| one.risk.new);
    let headline = match (never.as_slice(), longest) {
        ([], Some(Explored { risk: Risk { new: Some(Duration::ZERO), .. }, .. })) => {
            "A power cut takes back no new file, synced or not".into()
        }
        ([], Some(Explored { system, risk: Risk { new: Some(span), .. }, .. })) => {
            format!("Without a sync, a new file of {system} is at risk for {span}")
        }
        (never, _) => {
            let names: Vec<_> = never.iter().map(|one| one.system.to_owned()).collect();
            format!("Without a sync, a power cut takes back every new file of {}", listed(&names))
        }
    };
    let told = |span: Option<Duration>| match span {
        Some(Duration::ZERO) => "at no time".into(),
        Some(span) => format!("for {span}"),
        None => "until somebody syncs".into(),
    };
    let each = all.iter().map(|Explored { system, risk: Risk { new, rewritten }, .. }| {
        let (new, rewritten) = (told(*new), told(*rewritten));
        let both = if new == rewritten { new } else { format!("{new} and {rewritten}") };
        format!("{system} {both}")
    });
    format!(
        "{headline}. 4 KiB were written on a board that is idle otherwise. A new file, and new content of an old one, were at risk: {}.",
        each.collect::<Vec<_>>().join("; ")
    )
}

type Tallies = BTreeMap<(Kind, TearOutcome), Tally>;

fn table(id: &str, title: &str, all: &[Explored], of: fn(&Matrix) -> &Tallies) -> Table {
    let rows = all.iter().flat_map(|one| {
        of(&one.matrix).iter().map(|((kind, torn), tally)| {
            (Row::new(format!("{}/{}/{}", one.system, kind.name(), torn.name()), ""), tally)
        })
    });
    Table::new(id, title)
        .of(rows)
        .column("cuts_count", "cuts", |tally| Cell::int(tally.cuts))
        .column("lost_count", "something lost", |tally| lost(tally.failed))
        .column("survived_ratio", "survived", |tally| Cell::real(survived(**tally)))
        .table()
}

fn survived(tally: Tally) -> f64 {
    float(tally.cuts - tally.failed) / float(tally.cuts.max(1))
}

fn failures(all: &[Explored]) -> Table {
    let rows = all.iter().flat_map(|Explored { system, matrix, .. }| {
        let each = (1..).zip(&matrix.failures);
        each.map(move |(at, one)| (Row::new(format!("{system}/{at}"), ""), one))
    });
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

/// Draws a matrix: a row for each filesystem and kind of operation, a column for each outcome.
fn picture(
    run: &mut RunResult,
    id: &str,
    title: &str,
    all: &[Explored],
    of: fn(&Matrix) -> &Tallies,
) {
    let keys = || all.iter().flat_map(|one| of(&one.matrix).keys());
    let outcomes: BTreeSet<TearOutcome> = keys().map(|(_, torn)| *torn).collect();
    let kinds: BTreeSet<Kind> = keys().map(|(kind, _)| *kind).collect();
    let caption = "After each cut the flash is mounted, compared with what may be true, used on, mounted and compared again.";
    let axes = [Axis::fitting("what the cut left of the operation"), Axis::from_zero("survived")];
    let mut chart = Chart::new(id, title, caption, axes);
    chart.categories = outcomes.iter().map(|torn| torn.name().replace('_', " ")).collect();
    for Explored { system, matrix, .. } in all {
        for kind in &kinds {
            let points = (0_u32..).zip(&outcomes).filter_map(|(position, torn)| {
                Some((f64::from(position), survived(*of(matrix).get(&(*kind, *torn))?)))
            });
            let (curve, name) = (format!("{id}_{system}_{}", kind.name()), kind.name());
            run.plot(
                &mut chart,
                (curve, format!("{system}: {name}")),
                "ratio",
                Style::Heat,
                points,
            );
        }
    }
    if !chart.layers.is_empty() {
        run.charts.push(chart);
    }
}

fn summary(
    cut: &PowerCut,
    Explored { system, matrix, .. }: &Explored,
    request: &Request<'_>,
) -> String {
    let (cuts, second) = (matrix.cuts(), matrix.second_cuts());
    let operations = matrix.ended.unwrap_or(cut.operations);
    let mut tried = format!(
        "{} of {} that change{} the flash {} run, and the power was cut {} in them",
        counted(operations, "operation"),
        system,
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
                system,
                counted(cuts + second, "power cut"),
            ),
        };
    };
    let set = if request.document.is_overridden() { " with the same --set" } else { "" };
    format!(
        "Something was wrong with {system} after {}. {tried}. The first loss: {first}. `boardlab powercut {} --seed {}`{set} cuts the same \
         operations in the same way.",
        counted(matrix.failed(), "power cut"),
        request.scenario,
        request.seed.get(),
    )
}
