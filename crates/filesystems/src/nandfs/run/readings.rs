//! What is measured of a filesystem besides its column: further ways to run it, and full flashes with files
//! of other sizes.
//!
//! Layer: rank 10. Function: [`Lab::add_readings`].

use super::filesystem::{HELP, Lab, timed};
use super::measure::{Capacity, Column, ReadingFigures};
use crate::nandfs::fs::Reading;
use crate::nandfs::scenario::{KernelSettings, Scenario};
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::{Cause, Failure, Request};
use boardlab_sim::{Bytes, Clock, Duration};

impl Lab<'_> {
    /// Measures the readings of the filesystem, and how much files of other sizes leave of a full flash. What the
    /// column has already is not measured again.
    pub(super) fn add_readings(
        &self,
        column: &mut Column,
        request: &Request<'_>,
    ) -> Result<(), Failure> {
        let Scenario { ref fill, ref compare, kernel, .. } = *self.scenario;
        let (mut crew, own) = (Crew::default(), &*column);
        let flash = self.scenario.file.part.size();
        let sizes = compare.files.iter().copied().filter(|size| *size != flash).chain([flash]);
        let full = sizes.map(|size| {
            let work = move || match size == fill.file {
                true => Ok((own.capacity.clone(), Duration::ZERO)),
                false => self.full(size),
            };
            (size, crew.add(own.system, HELP, work))
        });
        let full: Vec<_> = full.collect();
        let readings = compare.readings.then(|| self.system.readings(kernel.profile));
        let readings = readings
            .into_iter()
            .flatten()
            .map(|reading| crew.add(own.system, HELP, move || self.reading(&reading, own)));
        let readings: Vec<_> = readings.collect();
        crew.perform(request)?;
        let full: Vec<_> = full.into_iter().map(|(size, slot)| (size, slot.take())).collect();
        let readings: Vec<_> = readings.into_iter().map(Slot::take).collect();
        for (size, (capacity, spent)) in full {
            column.by_size.push((size, capacity));
            column.virtual_time += spent;
        }
        for (figures, spent) in readings {
            column.readings.push(figures);
            column.virtual_time += spent;
        }
        Ok(())
    }

    /// Fills a flash to the end with files of one size.
    fn full(&self, size: Bytes) -> Result<(Capacity, Duration), Cause> {
        timed(&self.fresh()?, |nand, clock| self.capacity(size, nand, clock))
    }

    /// The figures of a reading; `own` has those of the scenario.
    fn reading(
        &self,
        reading: &Reading,
        own: &Column,
    ) -> Result<(ReadingFigures, Duration), Cause> {
        let Reading { name, ref system, verify_write } = *reading;
        let kernel = KernelSettings { verify_write, ..self.scenario.kernel };
        let scenario = Scenario { kernel, ..self.scenario.clone() };
        let lab =
            Lab { scenario: &scenario, system: system.as_deref().unwrap_or(self.system), ..*self };
        let data = scenario.tiobench.data[0];
        if system.is_none() {
            let Column { mounting, capacity, throughput, .. } = own;
            let (throughput, spent) = match kernel == self.scenario.kernel {
                true => (throughput[0].clone(), Duration::ZERO),
                false => timed(&lab.fresh()?, |nand, clock| lab.tiobench(data, nand, clock))?,
            };
            let (mounting, capacity) = (mounting.clone(), capacity.clone());
            return Ok((ReadingFigures { name, mounting, throughput, capacity }, spent));
        }
        let (fresh, fill) = (lab.fresh()?, &scenario.fill);
        let mounted = |nand, clock: &mut Clock| lab.mounted_at(fill.level, nand, clock);
        let (mounting, mounts) = timed(&fresh, mounted)?;
        let (throughput, tests) = timed(&fresh, |nand, clock| lab.tiobench(data, nand, clock))?;
        let (capacity, fills) = timed(&fresh, |nand, clock| lab.capacity(fill.file, nand, clock))?;
        let figures = ReadingFigures { name, mounting, throughput, capacity };
        Ok((figures, mounts + tests + fills))
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
        let port = scenario.board.port;
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
