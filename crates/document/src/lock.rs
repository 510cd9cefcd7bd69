//! Locks on files and folders, and who holds them.
//!
//! Layer: rank 7. Functions: [`exclusive`] and [`shared`]; main type: [`LockError`]. The locks are
//! those of `flock`: they belong to an open file, go by the file and not by its name, end with the
//! process however it ends, and keep out only who asks for one. Who holds a lock is read from
//! `/proc/locks` (proc(5)), and is left open where there is no such file.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;

/// Characters of a command that are repeated.
const COMMAND_SHOWN: usize = 120;

/// Why there is no lock.
#[derive(Debug)]
pub enum LockError {
    /// Another process has one that keeps this one out.
    Held(Holder),
    /// The filesystem gives none, or the operating system says something else.
    System(io::Error),
}

impl LockError {
    /// Whether the filesystem knows no such locks, as some network filesystems do.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        // NFS and FUSE say EBADF or ENOLCK (flock(2), NFS details), which have no kind of their own.
        const BAD_FILE: i32 = 9;
        const NO_LOCKS: i32 = 37;
        match self {
            Self::Held(_) => false,
            Self::System(error) => {
                error.kind() == io::ErrorKind::Unsupported
                    || matches!(error.raw_os_error(), Some(BAD_FILE | NO_LOCKS))
            }
        }
    }
}

/// Who holds a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// The number of the process, where it can be seen.
    pub process: Option<u32>,
    /// Its command line.
    pub command: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.process, &self.command) {
            (Some(process), Some(command)) => write!(f, "process {process} (`{command}`)"),
            (Some(process), None) => write!(f, "process {process}"),
            (None, _) => f.write_str("another process"),
        }
    }
}

/// Locks `file` for this process alone, or says at once who has it.
///
/// # Errors
/// [`LockError`].
pub fn exclusive(file: &File) -> Result<(), LockError> {
    judged(file, file.try_lock())
}

/// Locks `file` together with others who only read it, or says at once who writes it.
///
/// # Errors
/// [`LockError`].
pub fn shared(file: &File) -> Result<(), LockError> {
    judged(file, file.try_lock_shared())
}

fn judged(file: &File, locked: Result<(), TryLockError>) -> Result<(), LockError> {
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => LockError::Held(holder(file)),
        TryLockError::Error(error) => LockError::System(error),
    })
}

/// Who has a lock on `file`, as far as that can be seen.
#[must_use]
pub fn holder(file: &File) -> Holder {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let process = identity(file).and_then(|(device, inode)| process(&locks, device, inode));
    Holder { process, command: process.and_then(command) }
}

/// The device, as its two numbers, and the number of the file on it.
#[cfg(unix)]
fn identity(file: &File) -> Option<([u64; 2], u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    // makedev(3) of the GNU C library: 12 and 20 bits, and the rest of both above them.
    let major = device >> 8 & 0xFFF | device >> 32 & !0xFFF;
    let minor = device & 0xFF | device >> 12 & !0xFF;
    Some(([major, minor], metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_file: &File) -> Option<([u64; 2], u64)> {
    None
}

/// The process with a lock on the file `inode`, from the lines of `/proc/locks`. Filesystems that stack
/// or have subvolumes tell another device there, so the file's number decides where no line has both.
fn process(locks: &str, device: [u64; 2], inode: u64) -> Option<u32> {
    let mut other = None;
    for line in locks.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A line with `->` is of a process that waits for the lock above it.
        let [_, "FLOCK", _, _, process, place, ..] = words[..] else { continue };
        let mut parts = place.split(':');
        let mut number = |radix| u64::from_str_radix(parts.next()?, radix).ok();
        let (found, node) = ([number(16), number(16)], number(10));
        let Some(process) = process.parse().ok().filter(|_| node == Some(inode)) else { continue };
        if found == device.map(Some) {
            return Some(process);
        }
        other = Some(process);
    }
    other
}

/// The command line of `process`, without what moves the cursor.
fn command(process: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    let words = words.join(" ").replace(char::is_control, "\u{fffd}");
    let mut shown: String = words.chars().take(COMMAND_SHOWN).collect();
    if shown.len() < words.len() {
        shown.push_str("...");
    }
    Some(shown).filter(|shown| !shown.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_device_wins_and_one_with_the_file_alone_is_taken() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 08:01:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 22 00:2a:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 33 08:01:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 44 08:01:77 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 55 08:01:78 0 EOF\n\
                     nonsense\n";
        assert_eq!(process(locks, [8, 1], 77), Some(44));
        assert_eq!(process(locks, [9, 9], 78), Some(55));
        assert_eq!(process(locks, [8, 1], 79), None);
        assert_eq!(process("", [8, 1], 77), None);
    }

    #[test]
    fn a_second_lock_is_refused_and_its_holder_told() {
        let path = std::env::temp_dir().join(format!("boardlab-lock-{}", std::process::id()));
        let [first, second] = [(); 2].map(|()| File::create(&path).unwrap());
        exclusive(&first).unwrap();
        for refused in [exclusive(&second), shared(&second)] {
            let Err(LockError::Held(holder)) = refused else { panic!("{refused:?}") };
            if std::path::Path::new("/proc/locks").exists() {
                assert_eq!(holder.process, Some(std::process::id()));
                assert!(holder.to_string().contains("lab"), "{holder}");
            }
        }
        drop(first);
        shared(&second).unwrap();
        shared(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
