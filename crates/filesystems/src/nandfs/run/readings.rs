//! Other ways to run a filesystem.
//!
//! Layer: rank 10. Main type: [`Different`], the figures of one.

use super::columns::{memory, memory_of_tiobench};
use super::filesystem::{Lab, timed};
use super::measure::{Capacity, Column, Mounting, ReadingFigures, Throughput};
use super::stand::{Files, Sizes};
use crate::nandfs::fs::Reading;
use crate::nandfs::scenario::{KernelSettings, Scenario};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_workload::data::Data;

/// The figures of a filesystem that runs in another way, where they differ from those of its column. What the
/// column has is not measured again.
#[derive(Debug)]
pub(super) struct Different {
    name: &'static str,
    mounting: Option<Mounting>,
    throughput: Option<Throughput>,
    capacity: Option<Capacity>,
}

impl Different {
    /// With those of the column.
    pub(super) fn beside(self, own: &Column) -> ReadingFigures {
        ReadingFigures {
            name: self.name,
            mounting: self.mounting.unwrap_or_else(|| own.mounting.clone()),
            throughput: self.throughput.unwrap_or_else(|| own.throughput[0].clone()),
            capacity: self.capacity.unwrap_or_else(|| own.capacity.clone()),
        }
    }
}

impl Lab<'_> {
    /// About what a reading takes.
    pub(super) fn memory(&self, reading: &Reading) -> Bytes {
        match reading.system {
            Some(_) => memory(self.wired.size(), Ratio::WHOLE, self.scenario.fill.file),
            None => memory_of_tiobench(self.scenario),
        }
    }

    /// Measures a reading; also returns the virtual time.
    pub(super) fn reading(&self, reading: &Reading) -> Result<(Different, Duration), Cause> {
        let Reading { name, ref system, verify_write } = *reading;
        let kernel = KernelSettings { verify_write, ..self.scenario.kernel };
        let scenario = Scenario { kernel, ..self.scenario.clone() };
        let other = system.as_deref().unwrap_or(self.system);
        let lab = Lab::new(&scenario, other, (self.seed, self.port));
        let mut different = Different { name, mounting: None, throughput: None, capacity: None };
        let mut spent = Duration::ZERO;
        if system.is_none() && kernel == self.scenario.kernel {
            return Ok((different, spent));
        }
        let (fresh, fill, data) = (lab.fresh()?, &scenario.fill, &scenario.tiobench.data[0]);
        let mut spend = |time| spent += time;
        let (made, time) = timed(&fresh, |nand, clock| lab.tiobench(data, nand, clock))?;
        different.throughput = Some(made);
        spend(time);
        if system.is_some() {
            let mounted = |nand, clock: &mut Clock| lab.mounted_at(fill.level, nand, clock);
            let (made, time) = timed(&fresh, mounted)?;
            different.mounting = Some(made);
            spend(time);
            let kind = Files { size: Sizes::Each(fill.file), data: Data::Random };
            let full = |nand, clock: &mut Clock| lab.capacity(&kind, nand, clock);
            let (made, time) = timed(&fresh, full)?;
            different.capacity = Some(made);
            spend(time);
        }
        Ok((different, spent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use crate::nandfs::scenario::system;
    use boardlab_parts::catalog;
    use boardlab_sim::Seed;

    /// Bytes that a flash of 256 blocks has room for, in files of one size.
    fn stored(set: &[&str], file: Bytes) -> u64 {
        let small = ["part.geometry.blocks=256", "tiobench.size=1 MiB"];
        let set = [&small[..], set].concat();
        let document = catalog::compose("nand-filesystems", &set).expect("built in");
        let read = document.read(|section| Scenario::read(section, fs::ALL));
        let scenario = read.expect("right").value;
        let system = system(&scenario.systems, "yaffs2");
        let port = scenario.board.port;
        let lab = Lab::new(&scenario, &**system, (Seed::new(1), port));
        let fresh = lab.fresh().unwrap_or_else(|error| panic!("{error}"));
        let kind = Files { size: Sizes::Each(file), data: Data::Random };
        let full = lab.capacity(&kind, fresh, &mut Clock::new());
        full.unwrap_or_else(|error| panic!("{error}")).stored.get()
    }

    /// The core of the sources (commit 474b3ac), in a program of a user, wrote these files to a flash of the same
    /// geometry until there was no space.
    #[test]
    fn a_full_flash_holds_what_the_sources_store_on_it() {
        for (summary, file, expected) in [
            ("yaffs2.summary=false", 8, 25_710_592),
            ("yaffs2.summary=false", 64, 31_342_592),
            ("yaffs2.summary=true", 64, 30_855_168),
            ("yaffs2.summary=false", 1 << 20, 32_329_728),
        ] {
            let ours = stored(&["kernel.profile=linux-6.1", summary], Bytes::kib(file));
            assert_eq!(ours, expected, "{summary}, files of {file} KiB");
        }
    }
}
