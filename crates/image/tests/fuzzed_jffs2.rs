//! Runs again what fuzzing found: every input of `fuzz/corpus/jffs2` is mounted, walked and read.
//!
//! No panic, no hang, no more memory than four times the flash beside what every mount takes. The
//! search itself is `fuzz/run.sh jffs2 SECONDS`, part of `make test-full`.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod untrusted;

use peak_alloc::PeakAlloc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use untrusted::{Flash, Input, WalkCounts, check_limits};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Far above what any input takes, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/jffs2");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn run(bytes: &[u8]) -> WalkCounts {
    let input = Input::parse(bytes);
    let mut flash = Flash::of(&input);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let found = flash.read_everything();
    let memory = MEMORY.peak_usage() - before;
    check_limits(&input, &found, memory);
    found
}

// One test, because the memory of all threads is counted together.
#[test]
fn whatever_fuzzing_found_is_read_within_limits() {
    let (mut inputs, mut total) = (0, [0; 5]);
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let start = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| run(&bytes)))
            .unwrap_or_else(|_| panic!("{}: see above", path.display()));
        assert!(start.elapsed() < LONGEST, "{}: {:?}", path.display(), start.elapsed());
        inputs += 1;
        let counts = [found.mounted.into(), found.names, found.targets, found.values, found.bytes];
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    let [mounted, names, targets, values, bytes] = total;
    // Inputs that are refused at once would show nothing.
    assert!(inputs >= 100 && mounted > inputs / 3, "{mounted} of {inputs} mounted");
    assert!(names > 4 * mounted, "{names} names in {mounted} flashes");
    assert!(targets > 20 && values > 20, "{targets} symbolic links, {values} values");
    assert!(bytes > 4_096 * mounted, "{bytes} bytes of files in {mounted} flashes");
}
