//! Cases of the context-switch experiment.

use super::{Case, Sentence, check};
use std::io::Write as _;
use std::process::{Command, Stdio};
const SMALL: [&str; 9] = [
    "published.switches=20",
    "ring.processes=[2, 8]",
    "ring.working_sets=[\"0 KiB\", \"8 KiB\"]",
    "ring.laps=4",
    "real_time.samples=40",
    "interrupts_off.watched=1 ms",
    "exec.times=2",
    "exec.sizes=[\"8 KiB\", \"64 KiB\"]",
    "qemu.command=no-such-program-here",
];

const CASES: [Case; 2] = [
    Case {
        of: "run context-switch",
        set: &["published.tick=2 ms", "published.phases=[\"0 ms\", \"1 ms\"]"],
        findings: &[
            Sentence {
                about: "Waiting for the timer makes",
                says: &[
                    "20 switches by sys_chg last 20 timer interrupts of 2 ms",
                    "from a request 1 ms after one",
                ],
                not: &["75 ms", "100", "74 ms"],
            },
            Sentence {
                about: "Back to back, ",
                says: &["20 switches between two processes", " times as fast. "],
                not: &["100"],
            },
            Sentence {
                about: "FCSE gains at most",
                says: &["processes of"],
                not: &["16 processes"],
            },
            Sentence {
                about: "With the kernel's path locked, ",
                says: &["at worst and", "at best"],
                not: &["16 processes"],
            },
            Sentence {
                about: "from the timer to the waiting task",
                says: &["of 40 timer interrupts these"],
                not: &["100000"],
            },
            Sentence {
                about: "The longest section",
                says: &["{interrupts-off fcse-1 cycles_count} cycles from"],
                not: &[],
            },
            Sentence {
                about: "Loading programs with the kernel",
                says: &["A program of 64 KiB", "and one of 8 KiB"],
                not: &["16 KiB"],
            },
            Sentence { about: "in the buffer cache", says: &["A program of 8 KiB"], not: &[] },
        ],
        elsewhere: &["no-such-program-here is not installed"],
        nowhere: &["lie on each other"],
        ..Case::EMPTY
    },
    Case {
        of: "run context-switch",
        set: &[
            "published.switches=2",
            "published.phases=[\"0 ms\"]",
            "ring.processes=[8]",
            "ring.working_sets=[\"32 KiB\"]",
            "exec.sizes=[\"8 KiB\"]",
            "real_time.samples=1",
            "qemu.command=qemu-system-arm",
        ],
        findings: &[
            Sentence {
                about: "Waiting for the timer makes",
                says: &[
                    "2 switches by sys_chg last 2 timer interrupts of 75 ms",
                    "from a request 0 ns after an interrupt",
                ],
                not: &["100 quanta", "from an interrupt on"],
            },
            Sentence { about: "On QEMU", says: &[" times as long without it"], not: &["100"] },
            Sentence {
                about: "more than twice the data cache",
                says: &["by chg", "8 processes of 32 KiB"],
                not: &["2 processes"],
            },
            Sentence {
                about: "With the kernel's path locked, ",
                says: &[" times as much. It takes "],
                not: &["at worst", "at best"],
            },
            Sentence {
                about: "from the timer to the waiting task",
                says: &["of 1 timer interrupt these"],
                not: &[],
            },
        ],
        ..Case::EMPTY
    },
];

#[test]
fn fcse_says_what_was_run() {
    if Command::new("qemu-system-arm").arg("--version").stdout(Stdio::null()).status().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: needs qemu-system-arm");
        return;
    }
    check(&["fcse"], &SMALL, &CASES);
}
