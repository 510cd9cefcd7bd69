//! The jobs of a fio bench for fio itself, on a device of this machine.
//!
//! Layer: rank 10. Main type: [`DeviceJobs`]. What fio measures stands beside what the model predicts; see
//! [`boardlab_measure::foreign::fio`].

use super::run::{read, run};
use super::scenario::{Scenario, jobs};
use boardlab_experiment::{Failure, Request};
use boardlab_measure::plan::{Plan, Step};
use boardlab_result::RunResult;
use boardlab_sim::Bytes;
use boardlab_workload::fio::{self, Direction, JobFile};

/// The operations of the step that writes as much as the jobs.
const SIZE: u64 = 1 << 20;

/// The jobs of a scenario, and what the model predicts of them.
#[derive(Debug)]
pub struct DeviceJobs {
    file: JobFile,
    scenario: Scenario,
    /// The predicted run.
    pub predicted: RunResult,
}

impl DeviceJobs {
    /// Reads the jobs of a scenario and predicts them.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn read(request: &Request<'_>) -> Result<Self, Failure> {
        let (scenario, _) = read(request)?;
        let file = jobs::parse(&scenario.jobs)?;
        // Refuses early what fio is not told.
        fio::on_device(&file, "").map_err(jobs::wrong_text)?;
        Ok(Self { file, scenario, predicted: run(request)? })
    }

    /// Whether a job writes or discards.
    #[must_use]
    pub fn write(&self) -> bool {
        let mut all = self.file.jobs.iter().map(|job| job.settings.access.directions);
        all.any(|[_, writes, trims]| writes || trims)
    }

    /// The job file for fio, with `device` in place of what the jobs name.
    ///
    /// # Errors
    /// [`Failure`]: a job cannot be run on a device.
    pub fn text(&self, device: &str) -> Result<String, Failure> {
        Ok(fio::on_device(&self.file, device).map_err(jobs::wrong_text)?)
    }

    /// The I/O schedulers that the jobs name, each once.
    #[must_use]
    pub fn schedulers(&self) -> Vec<&str> {
        let options = self.file.jobs.iter().flat_map(|job| &job.options).chain(&self.file.globals);
        let named = options.filter(|(name, _)| *name == "ioscheduler");
        let mut named: Vec<&str> = named.filter_map(|(_, value)| value.as_deref()).collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    /// The capacity of the device of the model.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        self.scenario.composition.capacity()
    }

    /// The bytes that the jobs write to the device of the model.
    #[must_use]
    pub fn written(&self) -> u64 {
        let table = self.predicted.table("fio");
        let rows = table.iter().flat_map(|table| &table.rows);
        let ends = [Direction::Write, Direction::Trim].map(|one| format!(".{}", one.name()));
        let written = rows.filter(|row| ends.iter().any(|end| row.id.ends_with(end)));
        let bytes = written.filter_map(|row| self.predicted.figure("fio", &row.id, "moved_bytes"));
        bytes.fold(0, u64::saturating_add)
    }

    /// A plan that writes to `device` as much as the jobs, or reads where none writes: the agent checks by it
    /// what fio would do.
    #[must_use]
    pub fn plan(&self, device: &str) -> Plan {
        let (operation, count) = match self.write() {
            true => ("block.write", self.written().div_ceil(SIZE).max(1)),
            false => ("block.read", 1),
        };
        let step = Step::new("fio", operation).device(device);
        Plan::new(&self.predicted.scenario).step(step.key("size", SIZE).key("count", count))
    }
}
