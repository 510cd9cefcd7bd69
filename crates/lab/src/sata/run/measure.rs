//! The runs of the publication: single commands, loops, whole drives.
//!
//! Layer: rank 11. Main types: [`DriveRun`], a drive of tables 5-1 and 5-2, and [`WholeDrive`], one of table 7-1. What was written
//! is read back and verified.

use super::bench::{Bench, BenchRun, stretches, whole};
use crate::sata::scenario::Scenario;
use boardlab_experiment::Cause;
use boardlab_parts::drive::part::DrivePart;
use boardlab_sata::arithmetic::Link;
use boardlab_sata::host::{Addressing, Build, Data, Direction, Limits};
use boardlab_sim::{Duration, Seed};

/// A write, and the read of what it wrote.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) write: BenchRun,
    pub(crate) read: BenchRun,
}

impl Pair {
    /// The two with the names of their columns.
    pub(crate) const fn named(&self) -> [(&'static str, &BenchRun); 2] {
        [("write", &self.write), ("read", &self.read)]
    }
}

/// A drive with 48-bit commands.
#[derive(Debug, Clone)]
pub(crate) struct DriveRun {
    /// One command.
    pub(crate) single: Pair,
    /// The loops, sequenced by firmware.
    pub(crate) firmware: Pair,
    /// The same in hardware, where that was published.
    pub(crate) sequencer: Option<Pair>,
    /// What the link alone would allow.
    pub(crate) link: Link,
    /// Virtual time of it.
    pub(crate) took: Duration,
}

/// A drive that was written and read as a whole.
#[derive(Debug, Clone)]
pub(crate) struct WholeDrive {
    pub(crate) firmware: Pair,
    /// Sectors and commands of each direction.
    pub(crate) sectors: u64,
    pub(crate) commands: u64,
    pub(crate) took: Duration,
}

/// Single commands and loops on `part`, with the sequencer in hardware as well if `both`.
pub(crate) fn test(
    scenario: &Scenario,
    part: &DrivePart,
    both: bool,
    seed: Seed,
) -> Result<DriveRun, Cause> {
    let continuous = &scenario.continuous;
    let mut bench = Bench::new(part, &scenario.host, continuous.rest, seed)?;
    let data = Data::Pattern(continuous.pattern);
    let mut pair = |build, loops: &[u64]| {
        let run = |bench: &mut Bench, direction| {
            let (first, sectors) = (continuous.first, continuous.sectors);
            bench.run(build, stretches(direction, first, sectors, loops, &data))
        };
        let write = run(&mut bench, Direction::Write)?;
        Ok::<Pair, Cause>(Pair { write, read: run(&mut bench, Direction::Read)? })
    };
    let single = pair(Build::Single, &[1])?;
    let firmware = pair(Build::Firmware, &continuous.loops)?;
    let sequencer = both.then(|| pair(Build::Sequencer, &continuous.loops)).transpose()?;
    Ok(DriveRun { single, firmware, sequencer, link: Link::of(bench.wiring()), took: bench.took() })
}

/// All of `part`, or as much of it as the scenario says. A write costs the firmware what a read does: if it were the
/// printed overhead of a write of 32 MB, no drive could be as fast as the print (see the findings).
pub(crate) fn sweep(
    scenario: &Scenario,
    part: &DrivePart,
    seed: Seed,
) -> Result<WholeDrive, Cause> {
    let (continuous, sweep) = (&scenario.continuous, &scenario.sweep);
    let sectors = sweep.part.unwrap_or(part.drive.sectors);
    let mut bench = Bench::new(part, &scenario.host, continuous.rest, seed)?;
    let data = Data::Pattern(continuous.pattern);
    let mut settings = scenario.host.settings(Build::Firmware, Limits::default());
    settings.costs.update_write = settings.costs.update_read;
    let mut run = |direction| {
        let all = whole(direction, sectors, sweep.sectors, Addressing::Lba28, &data);
        bench.run_with(settings, vec![all])
    };
    let write = run(Direction::Write)?;
    let firmware = Pair { write, read: run(Direction::Read)? };
    let commands = sectors.div_ceil(sweep.sectors.into());
    Ok(WholeDrive { firmware, sectors, commands, took: bench.took() })
}
