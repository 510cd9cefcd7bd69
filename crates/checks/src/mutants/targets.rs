//! Which files get mistakes, and which tests must find them: recovery from a power cut in three crates.
//!
//! Layer: inside `checks`. Main types: [`Target`]; the table [`TARGETS`].

/// The files of one crate and the tests that must find what is wrong with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The crate's folder below `crates`.
    pub folder: &'static str,
    /// Files below its `src`.
    pub files: &'static [&'static str],
    /// Of the mutants so many in a hundred.
    pub share: usize,
    /// Test binaries, as package and arguments for `cargo test`.
    pub tests: &'static [(&'static str, &'static [&'static str])],
}

/// Mounting, scanning and erasing of JFFS2, recovery of the translation layers, and what an SD card holds back.
pub const TARGETS: [Target; 3] = [
    Target {
        folder: "jffs2",
        files: &[
            "scan.rs",
            "scan/nodes.rs",
            "scan/summary.rs",
            "mount.rs",
            "names.rs",
            "dangling.rs",
            "erase.rs",
            "read_inode.rs",
            "wbuf.rs",
            "xattr_read.rs",
            "check.rs",
        ],
        share: 50,
        tests: &[
            ("boardlab-jffs2", &["--lib", "--tests"]),
            ("boardlab-workload", &["--test", "powercut_jffs2"]),
        ],
    },
    Target {
        folder: "ftl",
        files: &[
            "power.rs",
            "recovery.rs",
            "contents.rs",
            "log_block/power.rs",
            "log_block/recovery.rs",
        ],
        share: 30,
        tests: &[("boardlab-ftl", &["--lib", "--tests"])],
    },
    Target {
        folder: "sd",
        files: &["cache.rs", "store.rs", "write.rs", "card.rs"],
        share: 20,
        tests: &[("boardlab-sd", &["--lib", "--tests"])],
    },
];
