//! What the documents and the help promise, held against the built command. Builds and runs `boardlab`.

use boardlab_checks::binary::{Boardlab, Scratch};
use boardlab_checks::{Repository, Violation, assert_none, catalogue, console, schema};
use serde_json::Value;
use std::process::Command;

/// Commands whose JSON the published schema describes.
const JSON_COMMANDS: [&[&str]; 5] = [
    &["run", "nor-write"],
    &["run", "card-fio"],
    &["reproduce", "nor"],
    &["tune", "nor-write"],
    &["list"],
];

/// A program that ends itself at once: `mov r0, #0x18; ldr r1, =0x20026; svc 0x123456` at 0x8000.
fn program() -> Vec<u8> {
    let head = [0x464C_457F, 0x0001_0101, 0, 0, 0x0028_0002, 1, 0x8000, 52, 0, 0];
    let rest = [0x0020_0034, 1, 0];
    let segment = [1, 84, 0x8000, 0x8000, 16, 16, 5, 4];
    let code = [0xE3A0_0018, 0xE59F_1000, 0xEF12_3456, 0x0002_0026];
    let words = head.into_iter().chain(rest).chain(segment).chain(code);
    words.flat_map(u32::to_le_bytes).collect()
}

fn json_of(command: &[&str]) -> String {
    Boardlab::built().stdout(&[command, &["--format", "json"]].concat())
}

#[test]
fn commands_in_readme_and_docs_do_what_is_written() {
    let repository = Repository::here();
    let documents = repository.files_in("", "md").filter(|path| !path.contains("/vendor/"));
    let documents: Vec<&str> = documents.collect();
    assert!(documents.contains(&"README.md"), "README.md is there");
    // Those of one page: BOARDLAB_DOCS=tasks/convert-an-image.
    let only = std::env::var("BOARDLAB_DOCS").unwrap_or_default();
    let documents: Vec<&str> = documents.into_iter().filter(|path| path.contains(&only)).collect();
    assert_none(console::check(&repository, &documents, Boardlab::built().path()));
}

#[test]
fn the_animated_picture_shows_what_the_program_prints() {
    let script = Repository::here().root().join("docs/images/demo.py");
    let check =
        Command::new("python3").arg(script).arg(Boardlab::built().path()).arg("--check").output();
    let check = check.expect("python3 is there");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn what_users_of_other_tools_wish_for_is_answered() {
    let script = Repository::here().root().join("oracles/peers/wishes.py");
    let asked = Command::new("python3").arg(script).arg(Boardlab::built().path()).output();
    let asked = asked.expect("python3 is there");
    let told = String::from_utf8_lossy(&asked.stdout);
    assert!(asked.status.success(), "{told}{}", String::from_utf8_lossy(&asked.stderr));
    assert_eq!(told.lines().count(), 9, "{told}");
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

#[test]
fn the_result_of_a_program_follows_the_published_schema() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("a.elf"), program()).expect("the folder can be written");
    let arguments = ["os", "run", "a.elf", "--profile", "--format", "json"];
    let output = Boardlab::built().run(&arguments, scratch.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    let schema = Repository::here().read(schema::PATH);
    assert_none(schema::check(&schema, "boardlab os run --format json", &printed));
    assert!(printed.contains("exit 0"), "{printed}");
}
