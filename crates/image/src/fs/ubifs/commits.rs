//! The commits of a UBIFS: which ones master nodes still name, and what stands of them.
//!
//! Layer: rank 7. Functions: [`mount`], and [`table`] for `info`.

use super::lebs::ImageLebs;
use crate::error::{Error, VolumeError};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Clock;
use boardlab_ubifs::past::{Commit, Survey};
use boardlab_ubifs::{History, Options, Ubifs};

/// The commits that are listed, the newest ones.
const ROWS: usize = 1_000;
/// The commits that are tried where the newest state cannot be mounted.
const TRIED: usize = 100;

/// The filesystem as the commit `number` left it.
pub(super) fn mount(
    clock: &mut Clock,
    lebs: ImageLebs,
    number: u64,
    options: Options,
) -> Result<Ubifs<ImageLebs>, Error> {
    let failed = |problem: boardlab_ubifs::MountError| Error::Mount(problem.into());
    let history = History::read(clock, lebs, options).map_err(failed)?;
    if history.commit(number).is_none() {
        let found = history.commits().iter().map(|commit| commit.number).collect();
        return Err(VolumeError::NoCommit { wanted: number, found }.into());
    }
    let gone = |problem: boardlab_ubifs::MountError| {
        Error::from(VolumeError::CommitGone { commit: number, problem: problem.into() })
    };
    history.mount(clock, number).map_err(gone)
}

/// The filesystem as the newest commit left it of which something stands.
pub(super) fn newest(
    clock: &mut Clock,
    lebs: impl Fn() -> Result<ImageLebs, Error>,
    options: impl Fn() -> Options,
) -> Option<Ubifs<ImageLebs>> {
    let history = History::read(clock, lebs().ok()?, options()).ok()?;
    let mut numbers: Vec<u64> = history.commits().iter().map(|commit| commit.number).collect();
    numbers.dedup();
    numbers.into_iter().rev().take(TRIED).find_map(|number| {
        let history = History::read(clock, lebs().ok()?, options()).ok()?;
        history.mount(clock, number).ok()
    })
}

/// The table of the commits, the newest first; `None` when there is none.
pub(super) fn table(lebs: ImageLebs) -> Option<Table> {
    let mut clock = Clock::new();
    let mut history = History::read(&mut clock, lebs, Options::default()).ok()?;
    let commits = history.commits().to_vec();
    let mut table = Table::new("commits", "Commits, the newest first")
        .column("master", "master node")
        .column("master_count", "copies")
        .column("root", "index root")
        .column("log_leb", "log")
        .column("node_count", "nodes")
        .column("missing_count", "missing")
        .column("stands", "stands?");
    let mut last = None;
    for commit in commits.iter().rev().take(ROWS) {
        // Of several with one number the last one counts.
        if last.replace(commit.number) == Some(commit.number) {
            continue;
        }
        let survey = history.survey(&mut clock, commit);
        table.rows.push(row(commit, survey));
    }
    (!commits.is_empty()).then_some(table)
}

fn row(commit: &Commit, survey: Survey) -> Row {
    let Survey { index_nodes, leaves, index_missing, leaves_missing, ended } = survey;
    let place = |leb: u32, offs: u32| Cell::text(format!("{leb}:{offs}"));
    let (leb, offs, _) = *commit.places.last().expect("a commit has a master node");
    let master = &commit.master;
    let stands = match (index_nodes, index_missing, leaves_missing) {
        _ if ended => "not examined to the end",
        (0, ..) => "no",
        (_, 0, 0) => "yes",
        _ => "in part",
    };
    Row::new(commit.number.to_string(), "")
        .cell("master", place(leb.0, offs))
        .cell("master_count", Cell::int(commit.places.len() as u64))
        .cell("root", place(master.root_lnum.0, master.root_offs))
        .cell("log_leb", Cell::int(master.log_lnum.0.into()))
        .cell("node_count", Cell::int(index_nodes.saturating_add(leaves)))
        .cell("missing_count", Cell::int(index_missing.saturating_add(leaves_missing)))
        .cell("stands", Cell::text(stands))
}
