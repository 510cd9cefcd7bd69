//! Cases of jobs of fio.

use super::{Case, Sentence, check};

const CASES: [Case; 6] = [
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
        of: "run card-fio",
        set: &[
            "device.fill=100 %",
            "fio.job=[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=randwrite\nbs=4k\nsize=8g\nio_size=1g\n",
        ],
        findings: &[Sentence {
            about: "of the time of writes",
            says: &["that the card slowed for this cause: garbage collection. They took "],
            not: &["drive", "reads"],
        }],
        absent: &["worn out"],
        ..Case::EMPTY
    },
    Case {
        of: "run card-fio",
        set: &[
            "part=sandisk-inand-7232-16gb",
            "part.endurance.rated=1",
            "part.capacity=1 GiB",
            "part.over_provisioning=40 %",
            "fio.job=[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=write\nbs=1m\nsize=512m\nio_size=8g\n",
        ],
        findings: &[Sentence {
            about: "is worn out by its rating",
            says: &[
                "a host reads: DEVICE_LIFE_TIME_EST_TYP_A 0x0B; DEVICE_LIFE_TIME_EST_TYP_B 0x0B. ",
                "Its blocks have {health mean value} erases in the mean, of 1 rated, ",
            ],
            not: &["no register"],
        }],
        ..Case::EMPTY
    },
    Case {
        of: "run card-fio",
        set: &[
            "part.endurance.rated=1",
            "part.capacity=512 MiB",
            "part.over_provisioning=40 %",
            "fio.job=[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=write\nbs=1m\nsize=512m\nio_size=4g\n",
        ],
        findings: &[Sentence {
            about: "is worn out by its rating",
            says: &["and no register tells the host. "],
            not: &["CMD56", "EXT_CSD"],
        }],
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
