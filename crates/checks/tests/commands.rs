//! What the documents and the help promise, held against the built command. Builds and runs `boardlab`.

use boardlab_checks::binary::{Boardlab, Scratch};
use boardlab_checks::{Repository, Violation, assert_none, catalogue, console, schema};
use serde_json::Value;

/// Commands whose JSON the published schema describes.
const JSON_COMMANDS: [&[&str]; 4] =
    [&["run", "nor-write"], &["reproduce", "nor"], &["tune", "nor-write"], &["list"]];

fn json_of(command: &[&str]) -> String {
    Boardlab::built().stdout(&[command, &["--format", "json"]].concat())
}

#[test]
fn commands_in_readme_and_docs_do_what_is_written() {
    let repository = Repository::here();
    let documents = repository.files_in("", "md").filter(|path| !path.contains("/vendor/"));
    let documents: Vec<&str> = documents.collect();
    assert!(documents.contains(&"README.md"), "README.md is there");
    assert_none(console::check(&repository, &documents, Boardlab::built().path()));
}

#[test]
fn list_shows_every_part_board_and_scenario() {
    let list: Value = serde_json::from_str(&json_of(&["list"])).expect("list prints JSON");
    assert_none(catalogue::check_repository(&Repository::here(), &list));
}

#[test]
fn every_command_has_help() {
    let boardlab = Boardlab::built();
    let commands = catalogue::commands(&boardlab.stdout(&["--help"]));
    assert!(!commands.is_empty(), "boardlab --help lists its commands");
    for command in &commands {
        let help = boardlab.stdout(&[command, "--help"]);
        assert!(help.contains("Usage: boardlab"), "`{command} --help` shows no usage:\n{help}");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let boardlab = Boardlab::built();
    let scratch = Scratch::new();
    let output = boardlab.run(&["man", "--out", "man"], scratch.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "boardlab man --out man: {}\n{message}", output.status);
    let missing = |name: &String| !scratch.path().join("man").join(name).is_file();
    let commands = catalogue::commands(&boardlab.stdout(&["--help"]));
    let pages = commands.iter().map(|command| format!("boardlab-{command}.1"));
    let absent: Vec<String> = pages.chain(["boardlab.1".into()]).filter(missing).collect();
    assert!(absent.is_empty(), "no man pages: {}", absent.join(", "));
}

#[test]
fn json_output_follows_the_published_schema() {
    let schema = Repository::here().read(schema::PATH);
    let check = |command: &&[&str]| -> Vec<Violation> {
        let name = format!("boardlab {} --format json", command.join(" "));
        schema::check(&schema, &name, &json_of(command))
    };
    assert_none(JSON_COMMANDS.iter().flat_map(check).collect());
}
