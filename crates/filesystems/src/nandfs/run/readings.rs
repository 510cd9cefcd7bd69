//! What is measured of a filesystem besides its column: further ways to run it, and full flashes with files
//! of other sizes.
//!
//! Layer: rank 10. Function: [`Lab::add_readings`].

use super::filesystem::{HELP, Lab, timed};
use super::measure::{Capacity, Column, ReadingFigures};
use crate::nandfs::fs::Reading;
use crate::nandfs::scenario::{KernelSettings, Scenario};
use boardlab_experiment::crew::Crew;
use boardlab_experiment::{Cause, Failure, Request};
use boardlab_sim::{Bytes, Clock, Duration};

impl Lab<'_> {
    /// Measures the readings of the filesystem, and how much files of other sizes leave of a full flash.
    pub(super) fn add_readings(
        &self,
        column: &mut Column,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let Scenario { kernel, ref compare, .. } = *self.scenario;
        let mut crew = Crew::default();
        let sizes = [self.scenario.file.part.size()].into_iter();
        let sizes = sizes.chain(compare.files.iter().rev().copied());
        let full = sizes.map(|size| (size, crew.add(column.system, HELP, move || self.full(size))));
        let full: Vec<_> = full.collect();
        let readings = self.system.readings(kernel.profile);
        let readings = readings.into_iter().map(|Reading { name, system, verify_write }| {
            let work = move || {
                let kernel = KernelSettings { verify_write, ..kernel };
                let scenario = Scenario { kernel, ..self.scenario.clone() };
                let lab = Lab { scenario: &scenario, system: &*system, ..*self };
                lab.reading(name)
            };
            crew.add(column.system, HELP, work)
        });
        let readings: Vec<_> = readings.collect();
        crew.perform(request)?;
        for (size, slot) in full.into_iter().rev() {
            let (capacity, spent) = slot.take();
            column.by_size.push((size, capacity));
            column.virtual_time += spent;
        }
        for slot in readings {
            let (figures, spent) = slot.take();
            column.readings.push(figures);
            column.virtual_time += spent;
        }
        Ok(())
    }

    /// Fills a flash to the end with files of one size.
    fn full(&self, size: Bytes) -> Result<(Capacity, Duration), Cause> {
        let fresh = self.fresh()?;
        timed(&fresh, |nand, clock| self.capacity(size, nand, clock))
    }

    /// All figures with the settings of this laboratory.
    fn reading(&self, name: &'static str) -> Result<(ReadingFigures, Duration), Cause> {
        let fresh = self.fresh()?;
        let Scenario { fill, tiobench, .. } = self.scenario;
        let work =
            |nand: boardlab_nand::Nand, clock: &mut Clock| -> Result<ReadingFigures, Cause> {
                let all = [(nand.clone(), Clock::new()), (nand.clone(), Clock::new())];
                let [(filled, mut filling), (empty, mut testing)] = all;
                let mounting = self.mounted_at(fill.level, filled, &mut filling)?;
                let data = tiobench.data[0];
                let throughput = self.tiobench(data, empty, &mut testing)?;
                let capacity = self.capacity(fill.file, nand, clock)?;
                Ok(ReadingFigures { name, mounting, throughput, capacity })
            };
        timed(&fresh, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use boardlab_parts::catalog;
    use boardlab_sim::Seed;

    /// Bytes that a flash of 256 blocks has room for, in files of one size.
    fn stored(set: &[&str], file: Bytes) -> u64 {
        let small = ["part.geometry.blocks=256", "tiobench.size=1 MiB"];
        let set = [&small[..], set].concat();
        let document = catalog::compose("nand-filesystems", &set).expect("built in");
        let read = document.read(|section| Scenario::read(section, fs::ALL));
        let scenario = read.expect("right").value;
        let named = scenario.systems.iter().find(|(name, _)| *name == "yaffs2");
        let (_, system) = named.expect("in the list");
        let port = scenario.board.data_sheet;
        let lab = Lab { scenario: &scenario, seed: Seed::new(1), port, system: &**system };
        let (full, _) = lab.full(file).unwrap_or_else(|error| panic!("{error}"));
        full.stored.get()
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
