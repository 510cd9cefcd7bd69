//! Cases of the NAND experiment: all findings of its runs are on the print, those of power cuts are not.

use super::{Case, Sentence, check};

const CASES: [Case; 2] = [
    Case {
        of: "powercut nand-filesystems",
        set: &[
            "powercut.systems=[\"jffs2\"]",
            "powercut.operations=1",
            "powercut.exhaustive=1",
            "powercut.second_one_in=1000000",
        ],
        findings: &[Sentence {
            about: "the power was cut",
            says: &["1 operation of jffs2 that changes the flash was run"],
            not: &["operations", " 1 times", " 0 times", " 0 more"],
        }],
        ..Case::EMPTY
    },
    Case {
        of: "powercut nand-filesystems",
        set: &[
            "powercut.systems=[\"jffs2\", \"logfs\"]",
            "powercut.operations=30",
            "powercut.exhaustive=30",
            "powercut.second_one_in=2",
        ],
        findings: &[
            Sentence {
                about: "operations of jffs2",
                says: &[
                    "30 operations of jffs2 that change the flash were run",
                    "while the flash recovered",
                    "After every cut",
                ],
                not: &["2000", "logfs"],
            },
            Sentence {
                about: "operations of logfs",
                says: &["30 operations of logfs that change the flash were run"],
                not: &["2000", "jffs2"],
            },
            Sentence {
                about: "of the time after an unmount",
                says: &[
                    "jffs2 {powercut-times jffs2 mount_after_cut_ns}",
                    "logfs {powercut-times logfs mount_after_cut_ns}",
                ],
                not: &["yaffs2", "ubifs"],
            },
            Sentence {
                about: "Without a sync",
                says: &[
                    "jffs2 for {powercut-times jffs2 new_file_ns}",
                    "every new file of logfs",
                    "logfs until somebody syncs",
                ],
                not: &["yaffs2", "ubifs"],
            },
        ],
        ..Case::EMPTY
    },
];

#[test]
fn power_cuts_say_what_was_cut() {
    check(&["nandfs"], &[], &CASES);
}
