//! Other ways to run a filesystem.
//!
//! Layer: rank 10. Main type: [`Different`], the figures of one.

use super::columns::{memory, memory_of_tiobench, own_fills};
use super::filesystem::{Lab, timed};
use super::measure::{Capacity, Column, Mounting, ReadingFigures, Throughput};
use crate::nandfs::fs::Reading;
use crate::nandfs::scenario::{KernelSettings, Scenario};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Duration};

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
        let (fresh, data) = (lab.fresh()?, &scenario.tiobench.data[0]);
        let mut spend = |time| spent += time;
        let (made, time) = timed(&fresh, |nand, clock| lab.tiobench(data, nand, clock))?;
        different.throughput = Some(made);
        spend(time);
        if system.is_some() {
            for filling in own_fills(&scenario).0 {
                let (filled, time) = timed(&fresh, |nand, clock| lab.fill(&filling, nand, clock))?;
                // Both come of one filling, or each of its own.
                different.mounting = different.mounting.or(filled.mountings.into_iter().next());
                different.capacity = different.capacity.or(filled.capacity);
                spend(time);
            }
        }
        Ok((different, spent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use crate::nandfs::run::filling::Filling;
    use crate::nandfs::run::stand::{Files, Sizes};
    use crate::nandfs::scenario::system;
    use boardlab_parts::catalog;
    use boardlab_sim::{Clock, Seed};
    use boardlab_workload::data::Data;

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
        let files = Files { size: Sizes::Each(file), data: Data::Random };
        let filling = Filling { files, levels: Vec::new(), until_full: true };
        let filled = lab.fill(&filling, fresh, &mut Clock::new());
        let filled = filled.unwrap_or_else(|error| panic!("{error}"));
        filled.capacity.expect("filled to the end").stored.get()
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
