//! Cases of the NOR experiment.

use super::{Case, Sentence, check};

const SMALL: &str = "workload.bytes=64 KiB";

const RUNS: [Case; 6] = [
    Case {
        of: "run nor-write",
        set: &[SMALL, "board.bus.chips=2", "part.cfi.word_typical=7"],
        findings: &[
            Sentence {
                about: "would not shorten the write",
                says: &[
                    "udelay(194), the best wait for one chip alone if a poll costs 570 ns, would not shorten the write: {what-if tuned total_ns} against",
                    "bus cycles of 100 ns instead of 284 ns the write takes {what-if fast-bus total_ns}",
                    "With udelay(194) and 4 chips in turn, which hide programming behind filling, it takes {what-if twice-the-chips total_ns}",
                    "with 8 chips it takes {what-if four-times-the-chips total_ns}",
                ],
                not: &["two", "four", "with 2", "the best wait there"],
            },
            Sentence {
                about: "Linux waits 128 us before it polls",
                says: &["CFI 1Fh = 7, so 2^7 us", "CFI 20h = 9, so 2^9 us"],
                not: &["256"],
            },
            Sentence {
                about: "obvious repair",
                says: &[
                    "would make the write slower",
                    "the typical time of the buffer, 512 us",
                    "take {what-if buffer-time total_ns} instead of {table5 total total_ns}",
                ],
                not: &["256"],
            },
            Sentence {
                about: "was read back",
                says: &["Each of the 11 writes", "its 65536 bytes unchanged"],
                not: &[],
            },
        ],
        elsewhere: &[
            "udelay(194), 4 chips in turn",
            "udelay(194), 8 chips in turn",
            "With 2 chips in turn a wait begins only",
        ],
        nowhere: &["two chips", "two-chips", "four chips", "four-chips", "256"],
        ..Case::EMPTY
    },
    Case {
        of: "run nor-write",
        set: &[
            "workload.bytes=1 B",
            "linux.wait=tuned",
            "what_if.bus_cycle=284 ns",
            "improved.wait=100 us",
        ],
        findings: &[
            Sentence {
                about: "would not shorten the write",
                says: &["and 2 chips in turn it takes"],
                not: &["hide programming", "bus cycles", "would shorten"],
            },
            Sentence { about: "was read back", says: &["its 1 byte unchanged"], not: &[] },
        ],
        absent: &["CFI 1Fh", "obvious repair"],
        elsewhere: &["udelay(100), [improved]", "as [linux] is set"],
        nowhere: &["authors", "as released"],
    },
    Case {
        of: "run nor-write",
        set: &[
            SMALL,
            "linux.wait=256 us",
            "uboot.wait=100 us",
            "board.bus.read_cycle=500 ns",
            "what_if.bus_cycle=50 ns",
        ],
        findings: &[Sentence {
            about: "if a poll costs 570 ns, would shorten the write",
            says: &["bus cycles of 50 ns instead of 284 ns (writes) and 500 ns (reads)"],
            not: &[],
        }],
        // As long as Linux waits, but not because of what CFI says.
        absent: &["CFI 1Fh", "obvious repair"],
        elsewhere: &["with the wait that [uboot] sets"],
        nowhere: &["by polling from the beginning", "Linux as released", "authors"],
    },
    Case {
        of: "run nor-write",
        set: &[
            SMALL,
            "linux.poll_gap=200 us",
            "part.timing.buffer_program=triangular(495 us, 500 us, 505 us)",
        ],
        findings: &[Sentence {
            about: "obvious repair",
            says: &[
                "would make the write faster",
                "take {what-if buffer-time total_ns} instead of {table5 total total_ns}",
            ],
            not: &["slower"],
        }],
        nowhere: &["as released: udelay"],
        ..Case::EMPTY
    },
    Case {
        of: "run nor-write",
        set: &["part=sst-8mib-top", "workload.bytes=4 KiB"],
        findings: &[Sentence {
            about: "`boardlab tune` compares",
            says: &["polls a word", "and shows the wait for erases."],
            not: &["patch", "buffer"],
        }],
        absent: &["CFI 1Fh", "obvious repair"],
        elsewhere: &[
            "as the part has no buffer",
            "one bit a word",
            "How long u-boot waits for a word",
        ],
        nowhere: &["a buffer takes"],
    },
    Case {
        of: "run nor-write",
        set: &[SMALL, "part.timing.buffer_program=1.4 ms", "part.timing.buffer_program_max=2 ms"],
        findings: &[Sentence {
            about: "`boardlab tune` compares",
            says: &["msleep(2), the best wait if a poll costs 570 ns, would"],
            not: &["udelay(1"],
        }],
        elsewhere: &["msleep(2), then polls"],
        ..Case::EMPTY
    },
];

const TUNED: [Case; 4] = [
    Case {
        of: "tune nor-write",
        set: &[SMALL, "board.bus.chips=2", "tune.quantile=7 %", "tune.step=1 ns"],
        findings: &[
            Sentence {
                about: "before the first poll a write takes",
                says: &[
                    "takes {program_wait tuned total_ns} instead of {program_wait word-time total_ns}",
                    "with 2 chips in turn",
                    "the best wait of one chip alone is the",
                ],
                not: &["poll every microsecond"],
            },
            Sentence {
                about: "The adaptive wait",
                says: &["but does not follow a part", "is not enough here", "steps of 1 ns"],
                not: &["is enough to", "and follows"],
            },
        ],
        elsewhere: &["learns the 7 % quantile,"],
        ..Case::EMPTY
    },
    Case {
        of: "tune nor-write",
        set: &[
            SMALL,
            "part=s29gl01gs",
            "linux.driver=linux-6.1-status-register",
            "tune.poll_cost=0 us",
        ],
        findings: &[
            Sentence {
                about: "before the first poll a write takes",
                says: &["If a poll is worth 0 ns", "the 0 % quantile"],
                not: &["chips"],
            },
            Sentence {
                about: "puts no data at risk",
                says: &["the chip's status register still decides"],
                not: &["toggle"],
            },
            Sentence {
                about: "The adaptive wait",
                says: &[
                    "and follows a part",
                    "is enough to follow",
                    "takes {program_wait adaptive-settled mean_ns} a program after 256 operations",
                ],
                not: &["does not follow"],
            },
        ],
        nowhere: &["toggle bit"],
        ..Case::EMPTY
    },
    Case {
        of: "tune nor-write",
        set: &[
            SMALL,
            "part.cfi.erase_typical=9",
            "part.timing.buffer_program=triangular(150 us, 200 us, 200 us)",
            "part.timing.buffer_program_max=200 us",
            "tune.poll_cost=10 ms",
        ],
        findings: &[
            Sentence {
                about: "puts no data at risk",
                says: &["is found ready by the first poll as well", "fail in 0 %"],
                not: &["polled"],
            },
            Sentence {
                about: "At HZ 100 Linux notices the end",
                says: &[
                    "first wait is half of the typical time, 256 ms here, although the shortest erase takes only 230 ms",
                    "the rest of that wait",
                ],
                not: &["the delay is the timer tick"],
            },
            Sentence {
                about: "by the high-resolution timer loses",
                says: &["loses {erase_wait recommended overshoot_ns}", "with 16 a command, "],
                not: &[],
            },
        ],
        ..Case::EMPTY
    },
    Case {
        of: "tune nor-write",
        set: &["part=sst-8mib-top", "workload.bytes=4 KiB"],
        findings: &[Sentence {
            about: "before the first poll a write takes",
            says: &["polls a program"],
            not: &[],
        }],
        elsewhere: &["no write buffer: the patch", "the word time of CFI"],
        nowhere: &["the buffer time of CFI", "MODULE_PARM_DESC"],
        ..Case::EMPTY
    },
];

#[test]
fn nor_says_what_was_run() {
    let cases: Vec<Case> = RUNS.into_iter().chain(TUNED).collect();
    check(&["nor"], &[], &cases);
}
