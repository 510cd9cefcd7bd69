//! `boardlab sata console`, fed by a pipe as a script would.

use crate::bench::{Outcome, Scratch, run, run_fed};
use std::process::{Command, Stdio};

fn console(input: &str) -> Outcome {
    run_fed(Scratch::new().path(), input, &["sata", "console"])
}

#[test]
fn a_transfer_prints_what_the_figures_of_the_evaluation_show() {
    let printed = console("2\n0\n65536\n0\n3\n0\n65536\n0\n").success();
    let expected = "\
Model name : SSDSA2SH032G1GN INTEL
48bit LBA is supported
Capacity : 32GB

SATA host design menu
1. IDENTIFY DEVICE
2. WRITE DMA EXT
3. READ DMA EXT
4. DUMP DATA IN DDR

+++ WRITE DMA EXT selected +++

Enter Start LBA (Decimal value) => 0
Enter Sector Count (Decimal value 1-65536) => 65536
Enter Pattern (0)=>Inc32 (1)=>Dec32 : 0
Transfer speed : ";
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(printed.matches("MB/s\n").count(), 2, "{printed}");
    assert!(!printed.contains("rror"), "{printed}");
}

#[test]
fn no_input_at_all_ends_it_cleanly() {
    let outcome = console("");
    assert_eq!(outcome.stderr, "");
    assert!(outcome.success().ends_with("4. DUMP DATA IN DDR\n"));
}

#[test]
fn wrong_answers_are_asked_again_and_change_no_status() {
    let printed = console("5\n2\n62500000\n-1\n0\n65537\nmany\n1\n2\n0\n").success();
    let wrong: Vec<_> = printed.lines().filter(|line| line.contains("expected")).collect();
    let expected = [
        "`5` is not on the menu: expected 1 to 4, or q to end",
        "`62500000` cannot be: expected 0 to 62499999, the drive's last sector",
        "`-1` cannot be: expected 0 to 62499999, the drive's last sector",
        "`65537` cannot be: expected 1 to 65536",
        "`many` cannot be: expected 1 to 65536",
        "`2` cannot be: expected 0 or 1",
    ];
    assert_eq!(wrong, expected);
    assert!(printed.contains("Transfer speed : "), "{printed}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_boardlab"))
        .args(["sata", "console"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("boardlab is built");
    drop(child.stdout.take());
    let outcome = child.wait_with_output().expect("it ends");
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(outcome.stderr.is_empty(), "{outcome:?}");
}

#[test]
fn other_drives_can_be_chosen() {
    let arguments = ["sata", "console", "transcend-ts32gssd25s-m"];
    let printed = run_fed(Scratch::new().path(), "3\n0\n256\n0\n", &arguments).success();
    assert!(printed.contains("48bit LBA is not supported\n"), "{printed}");
    assert!(printed.contains("+++ READ DMA selected +++"), "{printed}");
}

#[test]
fn a_menu_has_no_result_to_save() {
    for option in [["--format", "json"], ["--out", "folder"]] {
        let outcome = run(&[["sata", "console"], option].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
        assert!(outcome.stderr.contains("this command has no result"), "{}", outcome.stderr);
    }
}
