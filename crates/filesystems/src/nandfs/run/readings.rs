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
