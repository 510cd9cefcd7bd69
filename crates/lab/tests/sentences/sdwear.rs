//! Cases of the SD experiment, on a small card.

use super::{Case, Sentence, check};

const SMALL: [&str; 11] = [
    "part.capacity=64 MiB",
    "part.over_provisioning=40 %",
    "part.flash.pages_per_block=32",
    "part.endurance.pe_cycles=[30, 31, 33]",
    "part.slc_cache.blocks=6",
    "experiment1.job=--readwrite=write --ioengine=libaio --iodepth=4 --bs=1M --size=24M --filename=/dev/mmcblk0 --runtime=1 --time_based --direct=1",
    "wear.endurance=30",
    "wear.threshold=4",
    "wear.over_provisioning=[\"30 %\"]",
    "experiment2.zeroed=1 MiB",
    "experiment2.probes=1",
];

const CASES: [Case; 2] = [
    Case {
        of: "run sd-wear",
        set: &[
            "part.endurance.rated=1",
            "experiment1.iterations=20",
            "wear.volume=2 GiB",
            "experiment2.iterations=10",
            "experiment2.job=--readwrite=write --ioengine=sync --filename=/dev/mmcblk0 --bs=1M --size=1M --loops=20 --direct=1 --fsync_on_close=1",
        ],
        findings: &[
            Sentence {
                about: "is worn out by its rating",
                says: &[
                    "no register tells the host",
                    "Its blocks have {health mean value} erases in the mean, of 1 rated",
                ],
                not: &["a host reads"],
            },
            Sentence {
                about: "erases without levelling",
                says: &[
                    "the same 0.002 TB",
                    "{wear none most_count} erases without levelling, {wear dynamic most_count} with dynamic, {wear static most_count} with static",
                    "the first block passes 30 after",
                    "{wear static levelled_count} block",
                ],
                not: &["3000", "11."],
            },
            Sentence {
                about: "Dynamic levelling can silently do nothing",
                says: &[
                    "the first block passes 30 after",
                    "/{wear kept most_count} (least, mean, most)",
                    "{wear kept most_count} erases instead of {wear dynamic most_count}",
                ],
                not: &["3000"],
            },
            Sentence {
                about: "fio reports one number for 20 loops, ",
                says: &["Of 18 rows there"],
                not: &["100", "factor of", "factors of"],
            },
            Sentence {
                about: "A controller has to give both",
                says: &["each also ran, 1 time, the job of experiment 1"],
                not: &["60 s", "30 times"],
            },
            Sentence {
                about: "opens the device",
                says: &[
                    "20 loops of 1 write each, ",
                    "78 times and asks for 39 flushes, not 20",
                    "0 of these flushes are commands",
                    "measures nothing here",
                ],
                not: &["100"],
            },
            Sentence {
                about: "With 30 % over-provisioning",
                says: &[
                    "in 10 iterations the most worn block has {power dynamic/30% published_count} erases",
                    "at a limit of 30.",
                ],
                not: &["published volume", "3000"],
            },
        ],
        elsewhere: &[
            "Each point is one write of 1 MiB",
            "the limit of 30 with dynamic",
            "under 2147 MB of writes",
            "at a volume of 2147 MB",
        ],
        nowhere: &["11 TB", "published volume", "60 s", "a few bear everything"],
        ..Case::EMPTY
    },
    Case {
        of: "run sd-wear",
        set: &[
            "experiment1.iterations=1",
            "wear.volume=24 MiB",
            "experiment2.iterations=1",
            "experiment2.job=--readwrite=write --ioengine=sync --filename=/dev/mmcblk0 --bs=1M --size=2M --loops=1 --direct=1",
        ],
        findings: &[
            Sentence {
                about: "erases without levelling",
                says: &[
                    "Static levelling moves 0 blocks and costs no more programs than dynamic: the spread of erases does not pass its threshold of 4",
                ],
                not: &["unused space"],
            },
            Sentence {
                about: "wait for garbage collection",
                says: &["makes little difference to dynamic levelling here"],
                not: &["silently", "erase counts do"],
            },
            Sentence {
                about: "fio reports one number for 1 loop, ",
                says: &["differ by 0.0 %"],
                not: &["loops"],
            },
            Sentence {
                about: "opens the device",
                says: &["1 loop of 2 writes each", "asks for 0 flushes. 0 of these flushes"],
                not: &["not 1", "fsync_on_close", "once more"],
            },
            Sentence {
                about: "volume of experiment 2",
                says: &["in 1 iteration the most worn"],
                not: &["iterations"],
            },
        ],
        elsewhere: &["an iteration a point."],
        nowhere: &["first tenth", "last tenth"],
        ..Case::EMPTY
    },
];

#[test]
fn sdwear_says_what_was_run() {
    check(&["sdwear"], &SMALL, &CASES);
}
