//! That every test is compiled: a crate that names its test programs itself leaves no file out.
//!
//! The tests of a crate are modules of one program, `tests/main.rs`. A file that nobody names there would
//! never fail. A folder with a `main.rs` of its own, and a file that has to be a program of its own, are
//! named in `Cargo.toml`.

use crate::repository::Repository;
use crate::violation::Violation;

/// Checks the test files of every crate.
#[must_use]
pub fn check_repository(repository: &Repository) -> Vec<Violation> {
    let manifests = repository.files_in("crates", "toml");
    let crates = manifests.filter_map(|path| path.strip_suffix("/Cargo.toml"));
    crates.flat_map(|folder| check(repository, folder)).collect()
}

fn check(repository: &Repository, folder: &str) -> Vec<Violation> {
    let manifest = repository.read(&format!("{folder}/Cargo.toml"));
    let main = format!("{folder}/tests/main.rs");
    if !repository.has(&main) {
        return Vec::new();
    }
    let tests = format!("{folder}/tests");
    let files = repository.files_in(&tests, "rs");
    let files: Vec<&str> = files.filter_map(|path| path.strip_prefix(folder)?.get(1..)).collect();
    left_out(&manifest, &repository.read(&main), &files)
        .into_iter()
        .map(|file| {
            let message =
                "is not compiled: name it in tests/main.rs, or as a [[test]] in Cargo.toml";
            Violation::new(&format!("{folder}/{file}"), 1, message)
        })
        .collect()
}

/// Those of `files`, paths in the crate's folder, that are a test program or a module at the top of one,
/// and that neither the manifest nor `main` names.
fn left_out<'f>(manifest: &str, main: &str, files: &[&'f str]) -> Vec<&'f str> {
    let named = |file: &str| manifest.contains(&format!("path = \"{file}\""));
    let module = |name: &str| main.lines().any(|line| line == format!("mod {name};"));
    let compiled = |file: &str| {
        let Some(inside) = file.strip_prefix("tests/") else { return true };
        match inside.strip_suffix(".rs").map(|path| path.split_once('/')) {
            Some(None) => named(file) || module(inside.trim_end_matches(".rs")),
            Some(Some((_, "main"))) => named(file),
            _ => true,
        }
    };
    files.iter().copied().filter(|file| !compiled(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_no_program_names_is_found() {
        let manifest = "[[test]]\npath = \"tests/main.rs\"\n[[test]]\npath = \"tests/alone.rs\"\n";
        let files = [
            "tests/main.rs",
            "tests/alone.rs",
            "tests/chip.rs",
            "tests/forgotten.rs",
            "tests/rig/mod.rs",
            "tests/memory/main.rs",
        ];
        let left = left_out(manifest, "mod chip;\nmod rig;\n", &files);
        assert_eq!(left, ["tests/forgotten.rs", "tests/memory/main.rs"]);
    }
}
