//! Cases of steps of plans on models.

use super::{Case, Sentence, check};

const CASES: [Case; 3] = [
    Case {
        of: "run nand-steps",
        set: &["part.timing.erase=100 ms", "part.timing.erase_max=200 ms"],
        findings: &[Sentence {
            about: "The step erase takes ",
            says: &[
                "Each of its {steps erase operations_count} operations (mtd.erase) takes 100 ms on average.",
            ],
            not: &["program"],
        }],
        ..Case::EMPTY
    },
    Case {
        of: "run block-steps",
        set: &["device.lanes=16"],
        findings: &[Sentence {
            about: "The step read-queued gets most done",
            says: &["the device would take 16 at once, and the step gives it 8."],
            not: &["lanes of the device"],
        }],
        ..Case::EMPTY
    },
    Case {
        of: "run block-steps",
        set: &["device.lanes=1"],
        findings: &[Sentence {
            about: "gets most done",
            says: &["it uses all 1 lanes of the device."],
            not: &[],
        }],
        ..Case::EMPTY
    },
];

#[test]
fn steps_say_what_was_run() {
    check(&["flash", "block"], &[], &CASES);
}
