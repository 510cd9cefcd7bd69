//! The heap of this process.
//!
//! Layer: rank 9. Function: [`trim`].

/// Returns freed memory to the operating system. It takes milliseconds, and what is allocated next a page fault for each 4 KiB.
///
/// glibc keeps what a thread freed for that thread alone: after a flash of 256 MiB on one thread and another on the next,
/// the process would hold both. Without glibc it does nothing.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn trim() {
    #[allow(unsafe_code, reason = "the C library has no other interface for it")]
    // SAFETY: malloc_trim(3) takes a number, may be called by any thread at any time, and moves no memory in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other C libraries need no such call.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) const fn trim() {}
