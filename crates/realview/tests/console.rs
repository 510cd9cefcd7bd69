//! The operating system's console: line editing, end of input, and the list of processes.
use crate::kernel;

use crate::kernel::{PROMPT, Shell};
use boardlab_arm926::{Cycles, Limit};
use boardlab_realview::{Outcome, Settings};

const RUB_OUT: &str = "\u{8} \u{8}";
/// The cycles after which the system has responded to any input.
const ANSWERED: u64 = 20_000_000;

/// Sends all keys at once and returns the output.
fn typed(shell: &mut Shell, keys: &str) -> String {
    let machine = &mut shell.machine;
    machine.push_input(0, keys.as_bytes());
    assert_eq!(machine.run(Limit::cycles(machine.now().plus(ANSWERED))), Outcome::Limit);
    String::from_utf8_lossy(&machine.take_console()).replace('\r', "")
}

#[test]
fn backspace_takes_a_character_back_and_control_u_the_line() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    for back in ['\u{8}', '\u{7f}'] {
        let text = typed(&mut shell, &format!("echo abx{back}c\n"));
        assert_eq!(text, format!("echo abx{RUB_OUT}c\nabc\n{PROMPT}"));
    }
    let text = typed(&mut shell, "junk\u{15}echo y\n");
    assert_eq!(text, format!("junk{}echo y\ny\n{PROMPT}", RUB_OUT.repeat(4)));
    let text = typed(&mut shell, "\u{8}\u{15}\u{7f}echo z\r");
    assert_eq!(text, format!("echo z\nz\n{PROMPT}"), "there is nothing to take back");
}

#[test]
fn control_d_ends_the_input_also_behind_an_unfinished_line() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    assert_eq!(typed(&mut shell, "cat\n"), "cat\n");
    assert_eq!(typed(&mut shell, "one\n"), "one\none\n");
    assert_eq!(typed(&mut shell, "\u{4}"), PROMPT);
    assert_eq!(typed(&mut shell, "cat\n"), "cat\n");
    assert_eq!(typed(&mut shell, "tw"), "tw", "a line is handed over at its end");
    assert_eq!(typed(&mut shell, "o\u{4}"), format!("otwo{PROMPT}"));
}

#[test]
fn a_line_longer_than_the_receiver_holds_comes_whole() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    let word = "0123456789".repeat(9);
    let text = typed(&mut shell, &format!("echo {word}\n"));
    assert_eq!(text, format!("echo {word}\n{word}\n{PROMPT}"));
}

#[test]
fn whatever_is_typed_before_the_start_waits_for_its_turn() {
    let Some(folder) = kernel::build() else { return };
    let keys: String = (0..40).map(|file| format!("echo one line of many > f{file}\n")).collect();
    let mut machine = kernel::machine(&Settings::default(), folder, "");
    machine.push_input(0, (keys + "ls\nhalt\n").as_bytes());
    let outcome = machine.run(Limit::cycles(Cycles::default().plus(40 * ANSWERED)));
    assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome:?}");
    let text = String::from_utf8_lossy(&machine.take_console()).replace('\r', "");
    let (_, listed) = text.rsplit_once("halt\n").unwrap();
    for file in 0..40 {
        let name = format!("f{file} ");
        assert!(listed.lines().any(|line| line.starts_with(&name)), "{name}: {text}");
    }
}

#[test]
fn control_p_lists_the_processes_and_leaves_the_line() {
    let Some(folder) = kernel::build() else { return };
    let (mut shell, _) = Shell::start(folder, "", None);
    let text = typed(&mut shell, "ec\u{10}ho x\n");
    let listed = "1 sleep  init\n2 sleep  sh\n";
    assert_eq!(text, format!("ec{listed}ho x\nx\n{PROMPT}"));
}
