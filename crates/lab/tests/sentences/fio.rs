//! Cases of jobs of fio.

use super::{Case, Sentence, check};

const CASES: [Case; 3] = [
    Case {
        of: "run card-fio",
        set: &[
            "part=swissbit-s46u-8gb",
            "device.fill=100 %",
            "fio.job=[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=randwrite\nbs=4k\nsize=4g\nio_size=8m\n",
        ],
        findings: &[Sentence {
            about: "of the time of writes",
            says: &[
                "that the card slowed for this cause: mapping. They took ",
                " times as long a byte as the others.",
            ],
            not: &["drive", "reads"],
        }],
        absent: &["of the time of reads"],
        ..Case::EMPTY
    },
    Case {
        // Its cache is in the way of these writes, but they are as fast as the others.
        of: "run card-fio",
        set: &[
            "part=sandisk-inand-7232-16gb",
            "device.fill=100 %",
            "fio.job=[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=randwrite\nbs=4k\nsize=4g\nio_size=4m\n",
        ],
        absent: &["slowed"],
        ..Case::EMPTY
    },
    Case {
        of: "run drive-fio",
        set: &[
            "fio.job=[a]\nfilename=/dev/sda\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nio_size=1m\n",
        ],
        absent: &["slowed"],
        nowhere: &["card"],
        ..Case::EMPTY
    },
];

#[test]
fn fio_says_what_was_run() {
    check(&["fio"], &[], &CASES);
}
