//! Deleted files as a typed result.
//!
//! Layer: rank 7. Function: [`deleted`].

use super::{ImageReport, Selection, VERSION, ended_at, mode};
use crate::date::date;
use crate::deleted::{DeletedFile, DeletedTree};
use crate::error::{Error, PathProblem};
use crate::extract::Limits;
use crate::names::shown;
use crate::walk::{Item, Problem, Walk, resolve};
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Clock;
use boardlab_vfs::Kind;

/// Lists what is left of deleted files of the image `name`.
///
/// # Errors
/// When the path does not exist, or nothing matches.
pub fn deleted(
    name: &str,
    tree: &mut DeletedTree,
    clock: &mut Clock,
    what: Selection,
    limits: Limits,
) -> Result<ImageReport, Error> {
    let (path, pattern) = match what {
        Selection::Below(path) => (path, None),
        Selection::Matching(pattern) => (b"/".to_vec(), Some(pattern)),
    };
    let (path, start) = resolve(tree, clock, &path)?;
    let title = format!("What is left of deleted files in {name}");
    let mut run = RunResult::new("image-ls", &title, 0, VERSION);
    let mut table = Table::new("deleted", "Deleted files, with times in UTC")
        .column("mode", "mode")
        .column("size_bytes", "size")
        .column("left_bytes", "still there")
        .column("deleted", "deleted")
        .column("detail", "more");
    let (mut walk, mut lossy, mut whole) = (Walk::new(&path, start), 0_usize, true);
    while let Some(item) = walk.next(tree, clock) {
        let Some(file) = tree.file(item.ino) else { continue };
        if pattern.as_ref().is_some_and(|pattern| !pattern.matches(&item.path)) {
            continue;
        }
        if table.rows.len() as u64 == limits.names {
            run.warnings.push(ended_at(limits.names));
            whole = false;
            break;
        }
        lossy += usize::from(file.loss().is_some());
        whole &= item.problem.as_ref().is_none_or(Problem::is_told_whole);
        table.rows.push(row(&item, file));
    }
    if pattern.is_some() && table.rows.is_empty() {
        return Err(Error::Path(PathProblem::NoMatch));
    }
    if lossy > 0 {
        run.warnings
            .push(format!("The last column shows what is missing of {}.", counted(lossy, "file")));
    }
    if tree.is_cut() {
        run.warnings.push("There is more than could be kept in memory.".into());
    }
    run.tables.push(table);
    Ok(ImageReport { run, whole: whole && lossy == 0 && !tree.is_cut() })
}

fn row(item: &Item, file: &DeletedFile) -> Row {
    let row = Row::new(shown(&item.path), "");
    let deleted = file.deleted.map_or(Cell::none(), |time| Cell::text(date(time.seconds)));
    let name = item.problem.as_ref().filter(|one| matches!(one, Problem::Name));
    let mut words: Vec<String> = name.map(ToString::to_string).into_iter().collect();
    words.extend(file.loss());
    let Some(attributes) = file.attributes else {
        return row.cell("deleted", deleted).cell("detail", Cell::text(words.join("; ")));
    };
    match attributes.kind {
        Kind::Symlink => words.push(format!("-> {}", shown(&file.target))),
        Kind::Character(device) | Kind::Block(device) => {
            words.push(format!("device {}:{}", device.major, device.minor));
        }
        _ => {}
    }
    let xattrs = file.xattrs.all.len();
    if xattrs > 0 {
        words.push(counted(xattrs, "extended attribute"));
    }
    let is_file = attributes.kind == Kind::File;
    let size = |bytes: u64| if is_file { Cell::count(bytes) } else { Cell::none() };
    let detail = if words.is_empty() { Cell::none() } else { Cell::text(words.join("; ")) };
    row.cell("mode", Cell::text(mode(&attributes)))
        .cell("size_bytes", size(attributes.size))
        .cell("left_bytes", size(file.content.left))
        .cell("deleted", deleted)
        .cell("detail", detail)
}
