//! Programs: what they cost in memory that is loaded with the kernel, and how long one takes to start from there and from a card.
//!
//! Layer: rank 11. Main types: [`Memory`], [`Starts`].

use super::guest::{Guest, mark};
use super::spent::{Costs, Spread};
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Duration};

/// Bytes of a page of the system.
const PAGE: u64 = 4_096;

/// Where the memory is after boot, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The RAM disk that is loaded with the kernel.
    pub(crate) disk: u64,
    /// Of it: the programs' files.
    pub(crate) files: u64,
    /// Kernel and RAM disk.
    pub(crate) kernel: u64,
    /// Free.
    pub(crate) free: u64,
    /// What the programs that run at the prompt hold a second time, as files: first program and shell.
    pub(crate) twice: u64,
}

/// Sizes of programs that `ls` tells: `NAME 2 INODE SIZE`.
fn files(listing: &str) -> Vec<(&str, u64)> {
    let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
    let file = |line| match words(line)[..] {
        [name, "2", _, size] => Some((name, size.parse().ok()?)),
        _ => None,
    };
    listing.lines().filter_map(file).collect()
}

/// Where the memory of a system at its prompt is; `disk` is the size of the RAM disk.
pub(crate) fn memory(saved: &[u8], disk: u64) -> Result<Memory, Cause> {
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

/// Where a program comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// The RAM disk, which is loaded with the kernel.
    Memory,
    /// The card.
    Card,
}

impl Disk {
    /// Both, in the order of tables.
    pub(crate) const ALL: [Self; 2] = [Self::Memory, Self::Card];

    /// Its name in ids.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Card => "card",
        }
    }

    /// Its name for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Memory => "RAM disk",
            Self::Card => "card",
        }
    }
}

/// Starts of a program of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Starts {
    /// Of its file.
    pub(crate) size: Bytes,
    /// With nothing of it in the buffer cache.
    pub(crate) cold: ProgramStart,
    /// After another start of it.
    pub(crate) warm: ProgramStart,
}

/// How long it takes to start a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProgramStart {
    /// Cycles from the call of exec to the program's own first lines.
    pub(crate) exec: Spread,
    /// Cycles of fork, exec, exit and wait together, each.
    pub(crate) whole: u64,
    /// Blocks that were read from the disk, each.
    pub(crate) blocks: f64,
}

/// Marks of one start.
const START: [u32; 4] = [mark::BEGIN, mark::EXEC, mark::STARTED, mark::END];
/// What a start may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts a program of this size so often, with an empty buffer cache and again.
pub(crate) fn starts(guest: &mut Guest, times: u32, size: Bytes) -> Result<Starts, Cause> {
    let kib = size.get() / 1_024;
    let command = format!("bench exec {times} {kib}");
    let said = guest.run_long(&command, PATIENCE * (2 * u64::from(times)))?;
    let of = |what: &str, marks: &[(u32, Costs)]| {
        let blocks = said.number(&format!("{what}_blocks"))?;
        started(marks, blocks).ok_or_else(|| said.lacks(&format!("no {what} starts")))
    };
    let (cold, warm) = said.marks.split_at(said.marks.len() / 2);
    Ok(Starts { size, cold: of("cold", cold)?, warm: of("warm", warm)? })
}

fn started(marks: &[(u32, Costs)], blocks: u64) -> Option<ProgramStart> {
    let (mut exec, mut whole) = (Vec::new(), 0);
    let starts = marks.chunks(START.len());
    let times = u64::try_from(starts.len()).ok()?;
    for start in starts {
        let values = start.iter().map(|(value, _)| *value);
        if !values.eq(START) {
            return None;
        }
        let cycles = |from: usize, to: usize| start[to].1.since(&start[from].1).cycles;
        exec.push(cycles(1, 2));
        whole += cycles(0, 3);
    }
    let exec = Spread::of(exec)?;
    Some(ProgramStart { exec, whole: whole / times, blocks: Costs::each(blocks, times) })
}

/// A system call that does nothing.
pub(crate) fn null_call(saved: &[u8]) -> Result<Costs, Cause> {
    let mut guest = Guest::restored(saved)?;
    let said = guest.run(&format!("bench null {NULL_CALLS}"))?;
    Ok(said.between(mark::BEGIN, mark::END)?)
}

/// Repetitions of the call that does nothing.
pub(crate) const NULL_CALLS: u64 = 1_000;

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
