//! Cases of the SATA experiment.

use super::{Case, Sentence, check};

// Little of everything.
const LOOPS: &str = "continuous.loops=[1]";
const SECTORS: &str = "continuous.sectors=2048";
const PART: &str = "sweep.part=65536";
const VOLUME: &str = "what_if.volume=64 MiB";

const CASES: [Case; 3] = [
    Case {
        of: "run sata-ssd",
        set: &[
            LOOPS,
            SECTORS,
            PART,
            VOLUME,
            "drives.intel-x25-e=generic-sata3-mlc-64gb",
            "what_if.commands=[8, 2048]",
            "what_if.queue=[1, 2]",
            "what_if.queued=1",
        ],
        findings: &[
            Sentence {
                about: "the state machine is",
                says: &[
                    "Generic SATA III drive of the year 2012, 8 sectors: firmware reads at {command-size 8 read_bytes_per_s}",
                    "2048 sectors: firmware reads at {command-size 2048 read_bytes_per_s}, where the link alone allows {command-size 2048 link_read_bytes_per_s}",
                    "commands of 1 MiB.",
                    "Below 1 MiB a write",
                ],
                not: &["32 MB", "X25-E"],
            },
            Sentence {
                about: "on a link of 1.5 Gb/s",
                says: &[
                    "The Generic SATA III drive of the year 2012 reads at {link-speed 1.5Gbs read_bytes_per_s} on a link of 1.5 Gb/s",
                    "{link-speed 3Gbs write_bytes_per_s} (write) and {link-speed 3Gbs read_bytes_per_s} (read) at 3 Gb/s, ",
                ],
                not: &["X25-E"],
            },
            Sentence {
                about: "A queue",
                says: &[
                    "reads run at {queue off read} without one and at {queue 2 read} with 2 queued",
                    "accesses 1 sector at random places",
                ],
                not: &["32 queued"],
            },
        ],
        elsewhere: &[
            "loops of 1 MiB",
            "The first sectors of drives with 28-bit commands: 65536 sectors",
            "its first 65536 sectors",
            "1 loop, 1 MiB",
            "Commands of 1 sector at random",
        ],
        nowhere: &[
            "X25-E",
            "32 MB",
            "32 MiB",
            "hole drive",
            "promise",
            "1 loops",
            "points the print",
        ],
        ..Case::EMPTY
    },
    Case {
        of: "run sata-ssd",
        set: &[
            LOOPS,
            SECTORS,
            PART,
            VOLUME,
            "board.sata_host.sequencer.write=1600 us",
            "board.sata_host.sequencer.read=300 us",
            "what_if.commands=[8]",
            "what_if.queue=[1]",
            "drives.g-monster-v2=generic-sata3-mlc-64gb",
        ],
        findings: &[
            Sentence {
                about: "A write cache",
                says: &[
                    "has no overhead to hide here: ",
                    "On the Generic SATA III drive of the year 2012 writes run at",
                ],
                not: &["would hide", "nothing to gain", "G-Monster"],
            },
            Sentence {
                about: "the state machine is",
                says: &["A sequencer does not gain more", "% slower than firmware for reads"],
                not: &["Small commands are where", "faster"],
            },
        ],
        absent: &[],
        elsewhere: &["on the wire, Generic SATA III"],
        nowhere: &["G-Monster"],
    },
    Case {
        of: "run sata-ssd",
        set: &[
            LOOPS,
            SECTORS,
            PART,
            VOLUME,
            "what_if.cache=512 B",
            "what_if.commands=[8, 2048]",
            "what_if.queue=[1]",
            "drives.example.link.speed=3 Gb/s",
        ],
        findings: &[
            Sentence {
                about: "A write cache",
                says: &["of this size would hide part of the overhead", "a buffer of 512 B"],
                not: &["has nothing"],
            },
            Sentence {
                about: "A queue",
                says: &["A queue does not speed up these reads", "with 1 queued"],
                not: &["more dies"],
            },
        ],
        elsewhere: &["on a link of 3 Gb/s"],
        ..Case::EMPTY
    },
];

#[test]
fn sata_says_what_was_run() {
    check(&["sata"], &[], &CASES);
}
