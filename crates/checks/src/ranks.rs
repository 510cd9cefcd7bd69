//! Which crate may use which.
//!
//! A crate may use only crates of a lower rank, and of those only the ones in its row; `sim` always.
//! A dev-dependency does not shape the product, so it may reach any crate of a lower rank; a test
//! that needs more lives in the higher crate. `checks` may use every crate, and no crate may use it.
//! A crate without a row fails: a new crate begins with its row here.

use crate::repository::Repository;
use crate::violation::{Violation, line_of};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a crate may use besides `sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uses {
    /// These crates only.
    Only(&'static [&'static str]),
    /// Every crate, and none may use it.
    Everything,
}

/// One row: the folder below `crates/`, its rank and what it may use.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Folder; the package is `boardlab-<folder>`.
    pub name: &'static str,
    /// Rank; `checks` stands above all.
    pub rank: u8,
    /// What it may use besides `sim`.
    pub uses: Uses,
}

const fn row(rank: u8, name: &'static str, uses: &'static [&'static str]) -> Row {
    Row { name, rank, uses: Uses::Only(uses) }
}

/// The filesystems and the layers below, which `image` may read.
const IMAGE: &[&str] =
    &["jffs2", "yaffs2", "logfs", "ubifs", "ubi", "mtd", "nand", "vfs", "codec", "result"];
const FILESYSTEM: &[&str] = &["mtd", "ubi", "vfs", "codec", "result"];
/// What a face hands from `lab` to `report` are types of `result`, which it may name.
const FACE: &[&str] = &[
    "document", "parts", "measure", "computer", EXPERIMENT, "cards", "sweep", "lab", "report",
    "image", "fuse", "vfs", "result",
];
/// The devices of which systems are composed, and the files that describe them.
const PARTS: &[&str] = &[
    "document", "result", "codec", "media", "mtd", "block", "vfs", "nor", "nand", "ftl", "sd",
    "sata",
];
/// A board and what runs on it.
const COMPUTER: &[&str] = &["document", "parts", "result", "codec", "block", "arm926", "realview"];

/// What an experiment is, and what all of them share.
const EXPERIMENT: &str = "experiment";
/// What is behind a translation layer, and what is asked of it.
const CARDS: &[&str] = &[
    "document", "parts", "measure", EXPERIMENT, "result", "codec", "media", "block", "ftl", "sd",
    "sata", "workload",
];
/// The experiment on flash filesystems.
const FILESYSTEMS: &[&str] = &[
    "document", "parts", "measure", EXPERIMENT, "result", "codec", "media", "mtd", "nand", "nor",
    "ubi", "vfs", "jffs2", "yaffs2", "logfs", "ubifs", "workload",
];
/// Steps of plans on modelled devices.
const BENCH: &[&str] =
    &["document", "parts", "measure", EXPERIMENT, "result", "mtd", "block", "nand"];
/// Everything that can be run or measured; what shows it is not for an experiment to know.
const LAB: &[&str] = &[
    "document",
    "parts",
    "computer",
    "measure",
    EXPERIMENT,
    "cards",
    "filesystems",
    "bench",
    "result",
    "codec",
    "media",
    "mtd",
    "block",
    "vfs",
    "nor",
    "nand",
    "ftl",
    "arm926",
    "ubi",
    "sd",
    "sata",
    "realview",
    "jffs2",
    "yaffs2",
    "logfs",
    "ubifs",
    "workload",
    "image",
];

/// All crates, those of later stages included.
pub const ROWS: &[Row] = &[
    row(0, "sim", &[]),
    row(1, "codec", &[]),
    row(1, "result", &[]),
    row(1, "media", &[]),
    row(2, "mtd", &[]),
    row(2, "block", &[]),
    row(2, "vfs", &[]),
    row(3, "nor", &["mtd", "media"]),
    row(3, "nand", &["mtd", "media", "codec"]),
    row(3, "ftl", &["media"]),
    row(3, "arm926", &[]),
    row(4, "ubi", &["mtd", "codec"]),
    row(4, "sd", &["ftl", "block", "codec"]),
    row(4, "sata", &["ftl", "block"]),
    row(4, "realview", &["arm926", "block", "nor"]),
    row(5, "jffs2", FILESYSTEM),
    row(5, "yaffs2", FILESYSTEM),
    row(5, "logfs", FILESYSTEM),
    row(5, "ubifs", FILESYSTEM),
    row(6, "workload", &["mtd", "block", "vfs", "result"]),
    row(7, "image", IMAGE),
    row(7, "document", &["result"]),
    row(8, "parts", PARTS),
    row(8, "measure", &["result", "codec", "workload"]),
    row(8, "report", &["result"]),
    row(9, "computer", COMPUTER),
    row(9, "fuse", &["vfs"]),
    row(9, EXPERIMENT, &["document", "parts", "measure", "result"]),
    row(10, "cards", CARDS),
    row(10, "filesystems", FILESYSTEMS),
    row(10, "bench", BENCH),
    row(10, "sweep", &["document", "parts", EXPERIMENT, "result", "codec"]),
    row(11, "lab", LAB),
    row(12, "cli", FACE),
    row(12, "python", FACE),
    Row { name: "checks", rank: 13, uses: Uses::Everything },
];

/// The row of `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Checks the manifest of every crate of `repository`.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let workspace = repository.read("Cargo.toml");
    let manifests = repository.files_in("crates", "toml").filter(|path| is_manifest(path));
    manifests.flat_map(|path| check(path, &repository.read(path), &workspace)).collect()
}

fn is_manifest(path: &str) -> bool {
    path.ends_with("/Cargo.toml") && path.split('/').count() == 3
}

/// Checks one manifest at `crates/<folder>/Cargo.toml` against its row. `workspace` is the manifest of
/// the workspace, which may give a crate another name.
#[must_use]
pub fn check(path: &str, text: &str, workspace: &str) -> Vec<Violation> {
    let folder = path.split('/').nth(1).unwrap_or_default();
    let Some(row) = find(folder) else {
        let message = format!("crate `{folder}` has no row in crates/checks/src/ranks.rs: add one");
        return vec![Violation::new(path, 1, message)];
    };
    let manifest = match DeTable::parse(text) {
        Ok(manifest) => manifest.into_inner(),
        Err(error) => return vec![Violation::new(path, 1, format!("not TOML: {error}"))],
    };
    let renamed = renamed_in(workspace);
    let mut violations = Vec::new();
    let package = string_at(&manifest, &["package", "name"]);
    if package.as_deref() != Some(&format!("boardlab-{folder}")) {
        let message = format!("the package of crates/{folder} is called boardlab-{folder}");
        violations.push(Violation::new(path, 1, message));
    }
    for dependency in dependencies(&manifest) {
        let Some(used) = dependency.ours(&renamed) else { continue };
        if let Some(message) = refusal(row, &used, dependency.dev) {
            violations.push(Violation::new(path, line_of(text, dependency.offset), message));
        }
    }
    violations
}

/// Why `row` may not use the crate `used`, if it may not.
fn refusal(row: &Row, used: &str, dev: bool) -> Option<String> {
    let name = row.name;
    let Some(target) = find(used) else {
        return Some(format!("`{name}` uses `{used}`, which has no row in the table of ranks"));
    };
    let lower = target.rank < row.rank;
    let allowed = match row.uses {
        Uses::Everything => true,
        _ if dev || used == "sim" => lower,
        Uses::Only(names) => lower && names.contains(&used),
    };
    let (rank, below) = (row.rank, target.rank);
    (!allowed).then(|| {
        let kind = if dev { "in its tests, " } else { "" };
        let why = if lower { "its row does not name it".into() } else { ranks_say(rank, below) };
        format!("{kind}`{name}` (rank {rank}) may not use `{used}` (rank {below}): {why}")
    })
}

fn ranks_say(rank: u8, below: u8) -> String {
    format!("rank {below} is not lower than {rank}")
}

struct Dependency {
    key: String,
    package: Option<String>,
    dev: bool,
    offset: usize,
}

impl Dependency {
    /// The folder of the crate when it is one of ours.
    fn ours(&self, renamed: &[(String, String)]) -> Option<String> {
        let global = renamed.iter().find(|(key, _)| *key == self.key);
        let package = self
            .package
            .as_ref()
            .or_else(|| global.map(|(_, package)| package))
            .unwrap_or(&self.key);
        package.strip_prefix("boardlab-").map(Into::into)
    }
}

/// Aliases of the workspace: key and package.
fn renamed_in(workspace: &str) -> Vec<(String, String)> {
    let Ok(manifest) = DeTable::parse(workspace) else { return Vec::new() };
    let manifest = manifest.into_inner();
    let table = table_at(&manifest, "workspace").and_then(|table| table_at(table, "dependencies"));
    let entries = table.into_iter().flat_map(DeTable::iter);
    let aliases = entries.filter_map(|(key, value)| {
        let package = value.get_ref().get("package")?.get_ref().as_str()?;
        Some((key.get_ref().to_string(), package.to_string()))
    });
    aliases.collect()
}

/// The entries of all dependency tables, those of single targets included.
fn dependencies(manifest: &DeTable<'_>) -> Vec<Dependency> {
    let targets = table_at(manifest, "target").into_iter().flat_map(DeTable::iter);
    let targets = targets.filter_map(|(_, value)| value.get_ref().as_table());
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(targets) {
        for (kind, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let entries = table_at(table, kind).into_iter().flat_map(DeTable::iter);
            found.extend(entries.map(|(key, value)| dependency(key, value, dev)));
        }
    }
    found
}

fn dependency(key: &Spanned<impl ToString>, value: &Spanned<DeValue<'_>>, dev: bool) -> Dependency {
    let package = value.get_ref().get("package").and_then(|package| package.get_ref().as_str());
    Dependency {
        key: key.get_ref().to_string(),
        package: package.map(Into::into),
        dev,
        offset: key.span().start,
    }
}

fn table_at<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

fn string_at(table: &DeTable<'_>, [outer, inner]: &[&str; 2]) -> Option<String> {
    table_at(table, outer)?.get(*inner)?.get_ref().as_str().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(folder: &str, dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"boardlab-{folder}\"\n{dependencies}");
        let workspace = "[workspace.dependencies]\nchips = { package = \"boardlab-nor\" }\n";
        let found = check(&format!("crates/{folder}/Cargo.toml"), &text, workspace);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_the_row_names_is_allowed() {
        let good = "[dependencies]\nboardlab-sim = { workspace = true }\n\
                    boardlab-mtd.workspace = true\nserde = \"1\"\n";
        assert_eq!(messages("nor", good), [""; 0]);
        let dev = "[dev-dependencies]\nboardlab-result = { workspace = true }\n";
        assert_eq!(messages("nor", dev), [""; 0]);
        let all = "[dependencies]\nboardlab-nor = {}\nboardlab-image = {}\n";
        assert_eq!(messages("lab", all), [""; 0]);
    }

    #[test]
    fn a_crate_that_the_row_does_not_name_is_refused_with_its_line() {
        let found = messages("nor", "[dependencies]\nboardlab-result = { workspace = true }\n");
        assert_eq!(
            found,
            ["crates/nor/Cargo.toml:4: `nor` (rank 3) may not use `result` (rank 1): \
              its row does not name it"]
        );
    }

    #[test]
    fn a_higher_or_equal_rank_is_refused_in_tests_too() {
        assert_eq!(messages("lab", "[dependencies]\nboardlab-report = {}\n").len(), 1);
        assert_eq!(messages("mtd", "[dev-dependencies]\nboardlab-nor = {}\n").len(), 1);
        assert_eq!(messages("sim", "[build-dependencies]\nboardlab-mtd = {}\n").len(), 1);
        assert_eq!(messages("cli", "[dev-dependencies]\nboardlab-checks = {}\n").len(), 1);
    }

    #[test]
    fn another_name_or_a_target_hides_nothing() {
        assert_eq!(
            messages("mtd", "[dependencies]\nx = { package = \"boardlab-nor\" }\n").len(),
            1
        );
        assert_eq!(messages("mtd", "[dependencies]\nchips = { workspace = true }\n").len(), 1);
        let target = "[target.'cfg(unix)'.dependencies]\nboardlab-nor = {}\n";
        assert_eq!(messages("mtd", target).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_or_with_another_name_is_refused() {
        assert_eq!(messages("novel", "").len(), 1);
        let found = check("crates/sim/Cargo.toml", "[package]\nname = \"sim\"\n", "");
        assert_eq!(found.len(), 1);
        assert_eq!(messages("nor", "[dependencies]\nboardlab-novel = {}\n").len(), 1);
    }

    #[test]
    fn each_row_names_only_crates_of_a_lower_rank() {
        for row in ROWS {
            let Uses::Only(names) = row.uses else { continue };
            for name in names {
                let target = find(name).expect("a row names a crate with a row");
                assert!(target.rank < row.rank, "{} names {name}", row.name);
            }
        }
    }
}
