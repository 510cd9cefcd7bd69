//! The largest values that an experiment of this kind can take in a time that a reader will wait for.

use boardlab_sim::{Bytes, Duration};

/// The kernel's file, debug information included.
pub(crate) const KERNEL: Bytes = Bytes::mib(64);
/// Switches of a run, an even number.
pub(crate) const SWITCHES: u64 = 10_000;
/// Between timer interrupts, as the kernel allows it.
pub(crate) const TICK: [Duration; 2] = [Duration::from_micros(100), Duration::from_secs(10)];
/// Processes of a ring: the system has 64, three of which are there already.
pub(crate) const PROCESSES: [u64; 2] = [2, 48];
/// What each process of a ring sums.
pub(crate) const WORKING_SET: Bytes = Bytes::mib(1);
/// Laps of a ring, and repetitions of other things.
pub(crate) const TIMES: u64 = 10_000;
/// A program that is started: the one that `bench` makes it of fits the least, and the largest file of the system is 140 blocks of 512 bytes.
pub(crate) const PROGRAM: [Bytes; 2] = [Bytes::kib(1), Bytes::kib(70)];
/// Samples of a latency.
pub(crate) const SAMPLES: u64 = 10_000_000;
/// What is stepped through to see how long interrupts are off.
pub(crate) const WATCHED: Duration = Duration::from_secs(10);
