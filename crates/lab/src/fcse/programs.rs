//! Programs: what they cost in memory that is loaded with the kernel, and how long one takes to start from there and from a card.
//!
//! Layer: rank 8. Main types: [`Memory`], [`Started`].

use super::Cause;
use super::guest::{Guest, mark};
use super::spent::{Spent, Spread};
use boardlab_arm926::Cycles;

/// Bytes of a page of the system.
const PAGE: u64 = 4_096;

/// Where the memory is after boot, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Memory {
    /// The RAM disk that is loaded with the kernel.
    pub(super) disk: u64,
    /// Of it: the programs' files.
    pub(super) files: u64,
    /// Kernel and RAM disk.
    pub(super) kernel: u64,
    /// Free.
    pub(super) free: u64,
    /// What the programs that run at the prompt hold a second time, as files: first program and shell.
    pub(super) twice: u64,
}

/// Sizes of programs that `ls` tells: `NAME 2 INODE SIZE`.
fn files(listing: &str) -> Vec<(&str, u64)> {
    let file = |line: &'_ str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, kind, _, size] = words.as_slice() else { return None };
        (kind == "2").then(|| size.parse().ok())?
    };
    let name = |line: &'_ str| line.split_whitespace().next().map(str::len);
    let named = listing.lines().filter_map(|line| Some((line, file(line)?)));
    named.filter_map(|(line, size)| Some((line.trim_start().get(..name(line)?)?, size))).collect()
}

/// Where the memory of a system at its prompt is; `disk` is the size of the RAM disk.
pub(super) fn memory(saved: &[u8], disk: u64) -> Result<Memory, Cause> {
    let mut guest = Guest::restored(saved)?;
    let listing = guest.run("ls")?;
    let files = files(&listing.text);
    if files.is_empty() {
        return Err(listing.lacks("no files").into());
    }
    let counts = guest.run("bench count")?;
    let running = files.iter().filter(|(name, _)| ["init", "sh"].contains(name));
    Ok(Memory {
        disk,
        files: files.iter().map(|(_, size)| size).sum(),
        kernel: counts.number("pages_kernel")? * PAGE,
        free: counts.number("pages_free")? * PAGE,
        twice: running.map(|(_, size)| size).sum(),
    })
}

/// How long it takes to start a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Started {
    /// Cycles from the call of exec to the program's own first lines.
    pub(super) exec: Spread,
    /// Cycles of fork, exec, exit and wait together, each.
    pub(super) whole: u64,
}

/// Starts a program so often.
pub(super) fn start(guest: &mut Guest, times: u32) -> Result<Started, Cause> {
    let mut exec = Vec::new();
    let mut before: Option<Cycles> = None;
    let mut ends = [Cycles(0); 2];
    let command = format!("bench exec {times}");
    guest.run_with(&command, boardlab_sim::Duration::ZERO, &mut |machine, value| {
        let now = machine.now();
        match (value, before) {
            (mark::EXEC, _) => before = Some(now),
            (mark::STARTED, Some(from)) => exec.push(now.0 - from.0),
            (mark::BEGIN, _) => ends[0] = now,
            (mark::END, _) => ends[1] = now,
            _ => {}
        }
    })?;
    let exec = Spread::of(exec).ok_or_else(|| format!("`{command}` started nothing"))?;
    Ok(Started { exec, whole: (ends[1].0 - ends[0].0) / u64::from(times) })
}

/// A system call that does nothing.
pub(super) fn null_call(saved: &[u8]) -> Result<Spent, Cause> {
    let mut guest = Guest::restored(saved)?;
    let said = guest.run(&format!("bench null {NULL_CALLS}"))?;
    Ok(Spent::between(said.between(mark::BEGIN, mark::END)?))
}

/// Repetitions of the call that does nothing.
pub(super) const NULL_CALLS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_files_are_read_from_the_listing_and_directories_are_not() {
        let listing =
            "ls\n.              1 1 512\nsh             2 4 12345\nconsole        3 20 0\n";
        assert_eq!(files(listing), [("sh", 12_345)]);
    }
}
