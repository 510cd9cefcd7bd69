//! Which files get mistakes, and which tests must find them: recovery from a power cut in three crates.
//!
//! Layer: inside `checks`. Main types: [`Target`], [`Tests`]; the table [`TARGETS`].

/// The files of one crate and the tests that must find what is wrong with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The crate's folder below `crates`.
    pub folder: &'static str,
    /// Files below its `src`.
    pub files: &'static [&'static str],
    /// Of the mutants so many in a hundred.
    pub share: usize,
    /// Where its tests are.
    pub tests: &'static [Tests],
}

/// Tests of one package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tests {
    /// The package.
    pub package: &'static str,
    /// What names its binaries for `cargo test`.
    pub binaries: &'static [&'static str],
    /// How the names of the tests begin.
    pub begin: &'static str,
}

impl Tests {
    /// All tests of a package.
    const fn all(package: &'static str) -> Self {
        Self { package, binaries: &["--lib", "--tests"], begin: "" }
    }
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
            Tests::all("boardlab-jffs2"),
            Tests {
                package: "boardlab-workload",
                binaries: &["--test", "workload"],
                begin: "powercut_jffs2::",
            },
        ],
    },
    Target {
        folder: "ftl",
        files: &[
            "page_map/power.rs",
            "page_map/recovery.rs",
            "contents.rs",
            "log_block/power.rs",
            "log_block/recovery.rs",
        ],
        share: 30,
        tests: &[Tests::all("boardlab-ftl")],
    },
    Target {
        folder: "sd",
        files: &["cache.rs", "store.rs", "write.rs", "card.rs"],
        share: 20,
        tests: &[Tests::all("boardlab-sd")],
    },
];

#[cfg(test)]
mod tests {
    use super::TARGETS;
    use crate::repository::Repository;

    #[test]
    fn every_file_of_a_target_exists() {
        let crates = Repository::here().root().join("crates");
        for target in TARGETS {
            for file in target.files {
                let path = crates.join(target.folder).join("src").join(file);
                assert!(path.is_file(), "{} does not exist", path.display());
            }
        }
    }
}
