//! Runs again what fuzzing found: every input of `fuzz/corpus`, by the harness of its target.
//!
//! No panic and no hang. The search itself is `fuzz/run.sh TARGET SECONDS`, part of `make test-full`; the
//! corpora of flash images have a test of their own, in `crates/image`.

use boardlab_checks::Repository;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[path = "../../../fuzz/harness/elf.rs"]
mod elf;
#[path = "../../../fuzz/harness/fio_job.rs"]
mod fio_job;
#[path = "../../../fuzz/harness/gdb.rs"]
mod gdb;
#[path = "../../../fuzz/harness/journal.rs"]
mod journal;
#[path = "../../../fuzz/harness/scenario.rs"]
mod scenario;
#[path = "../../../fuzz/harness/snapshot.rs"]
mod snapshot;
#[path = "../../../fuzz/harness/trace.rs"]
mod trace;

/// A fuzz target: its name, and what it does with an input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 7] = [
    ("elf", elf::run),
    ("fio_job", fio_job::run),
    ("gdb", gdb::run),
    ("journal", journal::run),
    ("scenario", scenario::run),
    ("snapshot", snapshot::run),
    ("trace", trace::run),
];

/// The targets that are played again elsewhere, and the one that keeps no corpus.
const ELSEWHERE: [&str; 6] = ["codec", "jffs2", "logfs", "ubi", "ubifs", "yaffs2"];

/// Far above what any input takes, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let repository = Repository::here();
    let paths = repository.files().iter().filter(|path| {
        path.strip_prefix("fuzz/corpus/").is_some_and(|rest| rest.split('/').next() == Some(target))
    });
    let read = |path: &String| {
        let bytes =
            std::fs::read(repository.root().join(path)).expect("the file is in the repository");
        (path.clone(), bytes)
    };
    paths.map(read).collect()
}

#[test]
fn whatever_fuzzing_found_is_refused_or_done_within_limits() {
    for (name, run) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() >= 3, "{} inputs in fuzz/corpus/{name}", inputs.len());
        for (path, bytes) in inputs {
            let start = Instant::now();
            catch_unwind(AssertUnwindSafe(|| run(&bytes)))
                .unwrap_or_else(|_| panic!("{path}: see above"));
            assert!(start.elapsed() < LONGEST, "{path}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn every_fuzz_target_is_played_again() {
    let manifest: toml::Table =
        toml::from_str(&Repository::here().read("fuzz/Cargo.toml")).expect("it is TOML");
    let bins = manifest["bin"].as_array().expect("a list of targets");
    let targets: BTreeSet<_> = bins.iter().filter_map(|bin| bin["name"].as_str()).collect();
    let played: BTreeSet<_> = TARGETS.iter().map(|(name, _)| *name).chain(ELSEWHERE).collect();
    assert_eq!(targets, played);
}
