//! Whether standard output was closed when the process began.
//!
//! Layer: rank 12. Function: [`stdout`]. Before `main`, Rust's runtime opens `/dev/null` in the
//! place of each standard stream that is closed (`std::sys::pal::unix::init`), so that no file
//! takes its number; from then on a closed stream looks like one that somebody sent to `/dev/null`.
//! So it is checked earlier, by a constructor, which the loader calls before the runtime begins.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed before the runtime began.
static STDOUT: AtomicBool = AtomicBool::new(false);

/// Duplicates standard output, which only fails if the stream is closed.
#[cfg(unix)]
#[ctor::ctor]
fn look() {
    use std::os::fd::AsFd;
    let duplicate = std::io::stdout().as_fd().try_clone_to_owned();
    STDOUT.store(duplicate.is_err(), Ordering::Relaxed);
}

/// Whether standard output was closed.
pub(crate) fn stdout() -> bool {
    STDOUT.load(Ordering::Relaxed)
}
