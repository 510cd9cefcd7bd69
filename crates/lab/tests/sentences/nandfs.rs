//! Cases of the NAND experiment: all findings of its runs are on the print, those of power cuts are not.

use super::{Case, Sentence, check};

const CASES: [Case; 2] = [
    Case {
        of: "powercut nand-filesystems",
        set: &["powercut.operations=1", "powercut.exhaustive=1", "powercut.second_one_in=1000000"],
        findings: &[Sentence {
            about: "the power was cut",
            says: &["1 operation of jffs2 that changes the flash was run"],
            not: &["operations", "1 times", "0 times", "0 more"],
        }],
        ..Case::EMPTY
    },
    Case {
        of: "powercut nand-filesystems",
        set: &["powercut.operations=30", "powercut.exhaustive=30", "powercut.second_one_in=2"],
        findings: &[Sentence {
            about: "the power was cut",
            says: &[
                "30 operations of jffs2 that change the flash were run",
                "while the flash recovered",
                "After every cut",
            ],
            not: &["5000"],
        }],
        ..Case::EMPTY
    },
];

#[test]
fn power_cuts_say_what_was_cut() {
    check(&["nandfs"], &[], &CASES);
}
