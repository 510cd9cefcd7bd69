//! The agent: its sources, which this program carries, and how they are compiled.
//!
//! Layer: rank 12. Constants: [`SOURCES`], [`FLAGS`], [`PROGRAM`]; function: [`write`].

use super::problem::Problem;
use std::fs::{self, DirBuilder};
use std::path::Path;

/// The name of the program.
pub(super) const PROGRAM: &str = "boardlab-agent";

/// What the compiler is told, besides the files of C.
pub(super) const FLAGS: [&str; 5] =
    ["-O2", "-std=c99", "-pthread", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64"];

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../agent/", $name)))),*]
    };
}

/// The files of the agent.
pub(super) const SOURCES: [(&str, &str); 19] = sources![
    "agent.h",
    "output.h",
    "target.h",
    "ata.c",
    "block.c",
    "board.c",
    "cpu.c",
    "files.c",
    "main.c",
    "mmc.c",
    "mtd.c",
    "output.c",
    "pattern.c",
    "plan.c",
    "record.c",
    "target.c",
    "undo.c",
    "usage.c",
    "wear.c",
];

/// The files that only `measure agent` writes.
const BESIDE: [(&str, &str); 1] = sources!["Makefile"];

/// The files of C.
pub(super) fn translation_units() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"))
}

/// Writes the sources into the folder.
pub(super) fn write(folder: &Path) -> Result<(), Problem> {
    write_all(folder, &SOURCES)
}

fn write_all(folder: &Path, files: &[(&str, &str)]) -> Result<(), Problem> {
    files.iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|problem| Problem::Unwritable { path, problem })
    })
}

/// Writes the sources and the Makefile into the new folder at `path`.
pub(crate) fn write_new(path: &Path) -> Result<(), Problem> {
    let created = DirBuilder::new().create(path);
    created.map_err(|problem| Problem::Unwritable { path: path.into(), problem })?;
    write(path)?;
    write_all(path, &BESIDE)
}

/// Checks that the agent of the user is a file.
pub(super) fn expect_file(path: &Path) -> Result<(), Problem> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(Problem::AgentNotAFile { path: path.into() }),
        Err(problem) => Err(Problem::AgentUnreadable { path: path.into(), problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_the_agent_is_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent");
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".c") || name.ends_with(".h"));
        names.sort();
        let mut carried: Vec<_> = SOURCES.iter().map(|(name, _)| name.to_string()).collect();
        carried.sort();
        assert_eq!(carried, names);
    }
}
