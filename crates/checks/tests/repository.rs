//! The rules about data files and documents, applied to this repository. Needs nothing but the text:
//! part of `make check`.

use boardlab_checks::{Repository, Violation, assert_none};
use boardlab_checks::{compiled, links, packed, readme, rules, sourced, translations, words};
use std::collections::BTreeSet;
use std::process::Command;

/// Endings of the files that people write, as opposed to what a tool or another project made.
const WRITTEN: [&str; 14] =
    ["rs", "toml", "md", "sh", "py", "c", "h", "S", "css", "html", "json", "yml", "txt", "ld"];

/// Applies `check` to path and text of every file that people write.
fn each_written(check: impl Fn(&str, &str) -> Vec<Violation>) {
    let repository = Repository::here();
    let by_ending = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let foreign = path.contains("/vendor/") || path.contains("/corpus/");
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        !foreign && (!name.contains('.') || WRITTEN.contains(&ending))
    };
    let paths = repository.files().iter().map(String::as_str).filter(by_ending);
    assert_none(paths.flat_map(|path| check(path, &repository.read(path))).collect());
}

#[test]
fn every_number_of_a_part_or_board_has_its_source() {
    let repository = Repository::here();
    let files = repository.files_in("parts", "toml").chain(repository.files_in("boards", "toml"));
    assert_none(files.flat_map(|path| sourced::check(path, &repository.read(path))).collect());
}

#[test]
fn every_source_of_a_scenario_names_the_place_in_its_document() {
    let repository = Repository::here();
    let files = repository.files_in("scenarios", "toml");
    assert_none(
        files.flat_map(|path| sourced::check_scenario(path, &repository.read(path))).collect(),
    );
}

#[test]
fn links_inside_the_repository_lead_somewhere() {
    assert_none(links::check_repository(&Repository::here()));
}

#[test]
fn files_in_the_exercises_are_named_from_the_root() {
    let repository = Repository::here();
    let text = repository.read("docs/os/exercises.md");
    let sources = |line: &str| -> Vec<String> {
        let quoted = line.split('`').skip(1).step_by(2).filter(|name| name.contains('/'));
        let endings = [".c", ".S", ".h", ".ld", ".list", ".py"];
        quoted
            .filter(|name| endings.iter().any(|end| name.ends_with(end)))
            .map(Into::into)
            .collect()
    };
    let mut count = 0;
    for name in text.lines().filter(|line| !line.starts_with("```")).flat_map(sources) {
        let is_made = text.contains(&format!("rite `{name}`")) && name.starts_with("os/user/");
        assert!(is_made || repository.has(&name), "`{name}` is no file of the repository");
        count += 1;
    }
    assert!(count > 20, "{count}");
}

#[test]
fn packages_hold_every_listed_file_and_the_documents_to_which_they_link() {
    assert_none(packed::check_repository(&Repository::here()));
}

#[test]
fn links_lead_from_readme_to_every_document() {
    assert_none(links::check_orphans(&Repository::here()));
}

#[test]
fn readme_shows_a_command_to_type_near_its_top() {
    let path = "README.md";
    assert_none(readme::check_first_command(path, &Repository::here().read(path)));
}

#[test]
fn readme_shows_the_agreement_that_its_command_prints() {
    let read = |path| Repository::here().read(path);
    let check = |path| readme::check_evaluations(path, &read(path));
    assert_none(["README.md", "README.ja.md"].into_iter().flat_map(check).collect());
}

#[test]
fn pages_in_japanese_have_the_headings_commands_and_links_of_the_english_ones() {
    let repository = Repository::here();
    assert!(repository.has("README.ja.md"), "README.ja.md is there");
    assert_none(translations::check_repository(&repository));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    each_written(words::check);
}

#[test]
fn no_file_holds_a_mark_of_unfinished_work() {
    each_written(rules::check_unfinished);
}

#[test]
fn every_test_file_is_part_of_a_test_program() {
    assert_none(compiled::check_repository(&Repository::here()));
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(Repository::here().root());
    command
}

/// That of the workspace is checked by every command of `make check`.
#[test]
fn the_lock_file_of_the_fuzz_targets_is_up_to_date() {
    let metadata = ["metadata", "--locked", "--offline", "--format-version", "1"];
    let output = cargo().args(metadata).args(["--manifest-path", "fuzz/Cargo.toml"]).output();
    let told = output.expect("cargo runs, since it runs this test").stderr;
    let told = String::from_utf8_lossy(&told);
    // Crates that only the fuzz targets need may be missing here.
    assert!(!told.contains("lock file"), "run `cargo metadata` in fuzz/: {told}");
}

/// Every library with its version and its features, where the crates of the workspace ask for `edges`.
fn libraries(edges: &str) -> BTreeSet<String> {
    let tree = ["tree", "--locked", "--offline", "--workspace", "--prefix", "none", "--no-dedupe"];
    let output = cargo().args(tree).args(["-f", "{p} [{f}]", "-e", edges]).output();
    let output = output.expect("cargo runs, since it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn programs_and_tests_share_every_compiled_library() {
    let tests = libraries("normal,build,dev");
    let twice: Vec<_> = libraries("normal,build").difference(&tests).cloned().collect();
    assert!(
        twice.is_empty(),
        "tests want more features of {twice:?}: ask for them in crates/checks"
    );
}
