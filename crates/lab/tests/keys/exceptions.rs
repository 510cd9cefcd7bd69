//! Keys that change no output of a bench, in some of its contexts or in all, and why that is right. One that begins to
//! change something where it is tried first fails the test.

/// Keys that may be taken without effect.
#[derive(Debug)]
pub(crate) struct Exception {
    /// What the names of the benches begin with.
    pub(crate) bench: &'static str,
    /// Keys, or sections with a dot behind them.
    pub(crate) keys: &'static [&'static str],
    /// Why nothing changes.
    pub(crate) why: &'static str,
}

impl Exception {
    /// Whether the key at `path` of the bench `name` is one of these.
    pub(crate) fn is_about(&self, name: &str, path: &str) -> bool {
        self.keys.iter().any(|key| self.names(name, key, path))
    }

    /// Whether `key` names the key at `path` of the bench `name`.
    pub(crate) fn names(&self, name: &str, key: &str, path: &str) -> bool {
        let same = path == key || (key.ends_with('.') && path.starts_with(key));
        name.starts_with(self.bench) && same
    }
}

/// All of them.
pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        bench: "",
        keys: &["experiment", "title", "board.title"],
        why: "the name of the experiment, and what `boardlab list` shows",
    },
    Exception {
        bench: "",
        keys: &["fio.file", "fio.variables."],
        why: "a job file is the user's (crates/lab/tests/fio_bench.rs runs one); a variable shows where a job names it",
    },
    Exception {
        bench: "",
        keys: &["part.reads."],
        why: "bits go wrong over months and thousands of erases; the job takes a second (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "",
        keys: &[
            "part.endurance.cycles",
            "part.endurance.program_failures",
            "part.endurance.end_of_life",
        ],
        why: "no block of the short run comes to its end (crates/lab/tests/life.rs)",
    },
    Exception {
        bench: "",
        keys: &["part.collection.policy", "part.collection.idle_blocks"],
        why: "the short run collects few blocks, and policies choose the same (crates/ftl/tests)",
    },
    Exception {
        bench: "card-fio",
        keys: &["part.controller.write_back_after", "part.single_bit_cache.fold_after"],
        why: "the jobs leave the card alone for two seconds or not at all: nothing waits longer or shorter",
    },
    Exception {
        bench: "card-fio",
        keys: &["part.levelling.threshold", "part.levelling.shift", "part.levelling.when"],
        why: "the short run wears all blocks alike (crates/ftl/tests)",
    },
    Exception {
        bench: "card-fio, SD card",
        keys: &[
            "part.flash.cache_program",
            "part.collection.blocks",
            "part.single_bit_cache.admission",
            "part.single_bit_cache.run_streams",
            "part.mapping.logs",
        ],
        why: "changes something in one of the contexts alone: with a map in flash, many blocks, long or many runs, scarce logs",
    },
    Exception {
        bench: "card-fio, eMMC",
        keys: &[
            "part.flash.times.erase",
            "part.endurance.single_bit_wear",
            "part.mapping.kind",
            "part.single_bit_cache.admission",
            "part.power_loss.",
        ],
        why: "the part has a cache that the short run does not wear; other maps and power loss do not go with that cache",
    },
    Exception {
        bench: "drive-fio",
        keys: &["part.kind"],
        why: "names what the part is: another kind is another file",
    },
    Exception {
        bench: "drive-fio",
        keys: &[
            "part.flash.single_bit.",
            "part.single_bit_cache.",
            "part.endurance.",
            "part.power_loss.",
            "part.mapping.kind",
        ],
        why: "the drive has no such section; cards, which have, read it with the same code",
    },
    Exception {
        bench: "drive-fio",
        keys: &[
            "part.controller.idle_after",
            "part.spare",
            "part.collection.streams",
            "part.collection.reserve",
            "part.levelling.policy",
        ],
        why: "the jobs write less than the drive has free: nothing is collected, levelled or done at rest",
    },
];
