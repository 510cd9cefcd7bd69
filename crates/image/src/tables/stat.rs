//! All attributes of files as a typed result.
//!
//! Layer: rank 7. Function: [`stat`].

use super::{ImageReport, VERSION, damage, mode};
use crate::damage::{Damage, Paths};
use crate::date::date;
use crate::error::Error;
use crate::files::why::kind_word;
use crate::names::shown;
use crate::walk::resolve;
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, FileSystem, Kind, Timestamp};

/// Shows all attributes of the files at `paths` in the image `name`, which is mounted as `fs`; `hurt` is the damage
/// of the image.
///
/// # Errors
/// When there is nothing of a path, or it cannot be read.
pub fn stat(
    name: &str,
    (fs, clock): (&mut dyn FileSystem, &mut Clock),
    paths: &[Vec<u8>],
    hurt: &Damage,
) -> Result<ImageReport, Error> {
    let mut run = RunResult::new("image-stat", &format!("Files in {name}"), 0, VERSION);
    let (mut rows, mut extended, mut known) = (Vec::new(), Vec::new(), Paths::new());
    let mut whole = true;
    for path in paths {
        let (path, ino) = resolve(fs, clock, path)?;
        let failed = |problem| Error::FileSystem { problem, path: path.clone() };
        let attributes = fs.getattr(clock, ino).map_err(failed)?;
        let target = match attributes.kind {
            Kind::Symlink => fs.readlink(clock, ino).map_err(failed)?,
            _ => Vec::new(),
        };
        for attribute in fs.listxattr(clock, ino).map_err(failed)? {
            let value = fs.getxattr(clock, ino, &attribute).map_err(failed)?;
            extended.push((shown(&path), attribute, value));
        }
        let wrong = hurt.of_inode(ino).map(str::to_owned);
        whole &= wrong.is_none();
        if let Ok(number) = u32::try_from(ino.0) {
            known.entry(number).or_insert_with(|| shown(&path));
        }
        rows.push((Row::new(shown(&path), ""), (attributes, target, wrong)));
    }
    run.tables.push(files(rows));
    if !extended.is_empty() {
        let rows = (1_u32..).zip(extended);
        let rows = rows.map(|(number, (path, name, value))| {
            (Row::new(number.to_string(), path), (name, value))
        });
        run.tables.push(
            Table::new("attributes", "Extended attributes")
                .of(rows)
                .column("name", "name", |(name, _)| Cell::text(shown(name)))
                .column("length_bytes", "length", |(_, value)| Cell::count(value.len() as u64))
                .column("value", "value", |(_, value)| Cell::text(shown(value)))
                .table(),
        );
    }
    damage::tell(&mut run, hurt, &known);
    Ok(ImageReport { run, whole })
}

/// A file: its attributes, its target, and what is damaged of it.
type Found = (Attributes, Vec<u8>, Option<String>);

fn files(rows: Vec<(Row, Found)>) -> Table {
    let time = |time: Timestamp| {
        Cell::text(match time.nanos {
            0 => date(time.seconds),
            nanos => format!("{}.{nanos:09}", date(time.seconds)),
        })
    };
    let more = |(found, target, wrong): &Found| {
        let what = match found.kind {
            Kind::Symlink => format!("{} -> {}", kind_word(found.kind), shown(target)),
            kind => kind_word(kind),
        };
        Cell::text(match wrong {
            Some(wrong) => format!("{what}; damaged: {wrong}"),
            None => what,
        })
    };
    Table::new("files", "Files, with times in UTC")
        .of(rows)
        .column("inode", "inode", |(found, ..)| Cell::int(found.ino.0))
        .column("mode", "mode", |(found, ..)| Cell::text(mode(found)))
        .column("permissions", "octal", |(found, ..)| Cell::text(format!("{:04o}", found.mode)))
        .column("link_count", "links", |(found, ..)| Cell::int(found.links.into()))
        .column("uid", "uid", |(found, ..)| Cell::int(found.uid.into()))
        .column("gid", "gid", |(found, ..)| Cell::int(found.gid.into()))
        .column("size_bytes", "size", |(found, ..)| Cell::count(found.size))
        .column("modified", "modified", |(found, ..)| time(found.modified))
        .column("changed", "changed", |(found, ..)| time(found.changed))
        .column("accessed", "accessed", |(found, ..)| time(found.accessed))
        .column("detail", "more", more)
        .table()
}
