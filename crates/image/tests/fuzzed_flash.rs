//! Runs again what fuzzing found of flashes: every input of `fuzz/corpus/jffs2`, `logfs`, `ubi`,
//! `ubifs` and `yaffs2` is mounted, walked and read, and in one of two variants written on.
//!
//! No panic, no hang, no more memory than four times the flash beside what every mount takes. The
//! search itself is `fuzz/run.sh TARGET SECONDS`, part of `make test-full`.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod untrusted;

use peak_alloc::PeakAlloc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use untrusted::WalkCounts;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Far above what any input takes, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// What a target does with an input.
type Run = fn(&[u8]) -> WalkCounts;

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Runs all inputs of a target; returns how many there are and the sums of what was found.
fn play(target: &str, run: Run) -> (u64, [u64; 5]) {
    let (mut inputs, mut total) = (0, [0; 5]);
    for path in corpus(target) {
        let bytes = std::fs::read(&path).unwrap();
        let start = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| run(&bytes)))
            .unwrap_or_else(|_| panic!("{}: see above", path.display()));
        assert!(start.elapsed() < LONGEST, "{}: {:?}", path.display(), start.elapsed());
        inputs += 1;
        let counts = [found.mounted.into(), found.names, found.targets, found.values, found.bytes];
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    // Inputs that are refused at once would show nothing.
    let [mounted, names, ..] = total;
    assert!(inputs >= 100 && mounted > inputs / 3, "{target}: {mounted} of {inputs} mounted");
    assert!(names > mounted, "{target}: {names} names in {mounted} flashes");
    (mounted, total)
}

// One test, because the memory of all threads is counted together.
#[test]
fn whatever_fuzzing_found_is_read_within_limits() {
    // LogFS has no extended attributes.
    let filesystems: [(&str, Run, u64); 4] = [
        ("jffs2", untrusted::jffs2::run, 21),
        ("logfs", untrusted::logfs::run, 0),
        ("ubifs", untrusted::ubifs::run, 21),
        ("yaffs2", untrusted::yaffs2::run, 21),
    ];
    for (target, run, least) in filesystems {
        let (mounted, [_, names, targets, values, bytes]) = play(target, run);
        assert!(names > 4 * mounted, "{target}: {names} names in {mounted} flashes");
        assert!(targets > 20 && values >= least, "{target}: {targets} links, {values} values");
        assert!(bytes > 4_096 * mounted, "{target}: {bytes} bytes of files in {mounted} flashes");
    }
    let (attached, [.., bytes]) = play("ubi", untrusted::ubi::run);
    assert!(bytes > 1_024 * attached, "ubi: {bytes} bytes of volumes in {attached} flashes");
}
