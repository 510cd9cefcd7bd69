//! Performs the steps of a plan on the model, as the agent performs them on a board.
//!
//! Layer: rank 10. Main type: [`Bench`], a flash with a filesystem. What a step takes depends on those
//! before it, so all steps of a plan are performed in their order. Source: `docs/formats/measurement-plan.md`.

use super::filesystem::Lab;
use super::stand::{Cached, unmount, used};
use crate::nandfs::flash::Flash;
use crate::nandfs::fs::System;
use crate::nandfs::scenario::Scenario;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_measure::plan::Step;
use boardlab_sim::{Bytes, Clock, Duration, Phase, Seed};
use boardlab_vfs::{Errno, Error, Fd};
use boardlab_workload::data::Data;
use boardlab_workload::tiobench::{self, Draw, Test, TestResult, Tiobench};
use boardlab_workload::tree;

/// The folder that the agent works in.
const FOLDER: &str = "/boardlab-agent";

/// What is predicted of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Nanoseconds of an operation.
    Mean,
    /// Bytes a second.
    Rate,
}

impl Metric {
    /// As measurements have it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean_ns",
            Self::Rate => "bytes_per_s",
        }
    }
}

/// What a step took.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    latencies: Phase,
    bytes: Bytes,
    /// From the first operation to the end of the last.
    elapsed: Duration,
}

impl Taken {
    /// `None` where nothing was done.
    pub(crate) fn metric(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Mean => self.latencies.mean().map(Duration::as_nanos),
            Metric::Rate => {
                let nanos = u128::from(self.elapsed.as_nanos());
                let bytes = u128::from(self.bytes.get()) * 1_000_000_000;
                bytes.checked_div(nanos).and_then(|rate| u64::try_from(rate).ok())
            }
        }
    }

    fn record(&mut self, latency: Duration, bytes: Bytes) {
        self.latencies.record(latency);
        self.bytes += bytes;
    }
}

/// A flash of the scenario with a filesystem that is mounted or not.
pub(crate) struct Bench<'a> {
    lab: Lab<'a>,
    clock: Clock,
    /// `None` while it is mounted.
    flash: Option<Flash>,
    mount: Option<Cached>,
}

impl<'a> Bench<'a> {
    /// An empty filesystem that is not mounted.
    pub(crate) fn new(
        scenario: &'a Scenario,
        seed: Seed,
        system: &'a dyn System,
    ) -> Result<Self, Cause> {
        let lab = Lab::new(scenario, system, (seed, scenario.board.port));
        let flash = Some(lab.fresh()?);
        Ok(Self { lab, clock: Clock::new(), flash, mount: None })
    }

    /// The number of files of `size` that fill an empty flash to `level`.
    pub(crate) fn files(&self, size: Bytes, level: Ratio) -> Result<u64, Cause> {
        let (mut clock, lab) = (Clock::new(), &self.lab);
        let Some(flash) = self.flash.clone() else { return Ok(0) };
        let mut mount = lab.mount(flash, &mut clock, lab.fill_cache())?;
        mount.mkdir(&mut clock, FOLDER, 0o700)?;
        let mut files = 0;
        while used(&mut mount, &mut clock)? < level {
            create(&mut mount, &mut clock, files, size)?;
            files += 1;
        }
        Ok(files)
    }

    /// Performs a step of [`plan`](super::super::plan).
    pub(crate) fn perform(&mut self, step: &Step) -> Result<Taken, Cause> {
        let begun = self.clock.now();
        let mut taken = Taken::default();
        let operation = step.operation().name;
        match (operation, &mut self.mount) {
            ("fs.mount", _) => {
                let flash = self.flash.take().ok_or(Error::from(Errno::Busy))?;
                let cache = self.lab.page_cache();
                let (mount, attach) = self.lab.mount_with_attach(flash, &mut self.clock, cache)?;
                self.mount = Some(mount);
                // On a board UBI is attached before the plan.
                let attach = attach.map_or(Duration::ZERO, |attach| attach.time);
                taken.record(self.clock.now().since(begun) - attach, Bytes::ZERO);
            }
            ("fs.unmount", mount) => {
                let mount = mount.take().ok_or(Error::from(Errno::Inval))?;
                self.flash = Some(unmount(mount, &mut self.clock)?);
                taken.record(self.clock.now().since(begun), Bytes::ZERO);
            }
            (_, None) => return Err(Error::from(Errno::NoEnt).into()),
            (_, Some(mount)) => {
                let mut work = Work { mount, clock: &mut self.clock, step, taken: &mut taken };
                work.perform(operation)?;
            }
        }
        Ok(taken)
    }
}

/// A step on a mounted filesystem.
struct Work<'a> {
    mount: &'a mut Cached,
    clock: &'a mut Clock,
    step: &'a Step,
    taken: &'a mut Taken,
}

impl Work<'_> {
    fn number(&self, key: &str) -> u64 {
        self.step.number(key).unwrap_or_default()
    }

    fn perform(&mut self, operation: &str) -> Result<(), Cause> {
        match operation {
            "cpu.sleep" => {
                let until = self.clock.now() + Duration::from_nanos(self.number("time_ns"));
                self.mount.idle(self.clock, until)?;
            }
            "fs.list" => {
                self.one(Bytes::ZERO, |mount, clock| tree::list(mount, clock).map(drop))?;
            }
            "fs.drop_caches" => {
                self.one(Bytes::ZERO, |mount, clock| {
                    mount.sync(clock)?;
                    mount.drop_caches(clock)
                })?;
            }
            _ => {
                // The agent opens its folder before the time begins.
                if self.mount.lstat(self.clock, FOLDER).is_err() {
                    self.mount.mkdir(self.clock, FOLDER, 0o700)?;
                }
                let begun = self.clock.now();
                match operation {
                    "fs.tiobench" => self.tiobench()?,
                    "fs.fsync" => self.fsync()?,
                    _ => self.files(operation)?,
                }
                self.taken.elapsed = self.clock.now().since(begun);
            }
        }
        Ok(())
    }

    /// One operation with its latency.
    fn one<E>(
        &mut self,
        bytes: Bytes,
        operation: impl FnOnce(&mut Cached, &mut Clock) -> Result<(), E>,
    ) -> Result<(), E> {
        let begun = self.clock.now();
        operation(self.mount, self.clock)?;
        self.taken.record(self.clock.now().since(begun), bytes);
        Ok(())
    }

    /// One file after another.
    fn files(&mut self, operation: &str) -> Result<(), Error> {
        let size = Bytes::new(self.number("size"));
        for number in 0..self.number("count") {
            let path = file(number);
            match operation {
                "fs.create" => {
                    self.one(size, |mount, clock| create(mount, clock, number, size))?;
                }
                "fs.stat" => {
                    self.one(Bytes::ZERO, |mount, clock| mount.lstat(clock, &path).map(drop))?;
                }
                "fs.read" => self.one(size, |mount, clock| {
                    let fd = mount.open(clock, &path)?;
                    mount.read(clock, fd, 0, &mut vec![0; size.to_usize()])?;
                    mount.close(clock, fd)
                })?,
                _ => self.one(Bytes::ZERO, |mount, clock| mount.unlink(clock, &path))?,
            }
        }
        Ok(())
    }

    /// Appends to a file, and syncs it each time.
    fn fsync(&mut self) -> Result<(), Error> {
        let size = Bytes::new(self.number("size"));
        let fd = self.mount.create(self.clock, format!("{FOLDER}/fsync"), 0o600)?;
        for number in 0..self.number("count") {
            let data = content(number, size);
            self.one(size, |mount, clock| {
                mount.write(clock, fd, size.get() * number, &data)?;
                mount.fsync(clock, fd)
            })?;
        }
        self.mount.close(self.clock, fd)
    }

    /// A phase of tiobench.
    fn tiobench(&mut self) -> Result<(), Cause> {
        let phase = self.step.text("phase");
        let test = Test::ALL.into_iter().find(|test| Some(test.name()) == phase);
        let job = Tiobench {
            directory: FOLDER.to_owned(),
            prefix: "tiobench.",
            threads: u32::try_from(self.number("threads"))?,
            size: Bytes::new(self.number("length")),
            block: Bytes::new(self.number("size")),
            random_operations: self.number("operations"),
            draw: Draw::SplitMix(self.number("seed")),
            data: if self.step.text("data") == Some("random") { Data::Random } else { Data::Zero },
            tests: test.into_iter().collect(),
            presize: self.number("presize") == 1,
            keep: true,
            ..Tiobench::default()
        };
        let done = tiobench::run(self.mount, self.clock, &job, &mut |_, _, _, _| {})?;
        for TestResult { latency, bytes, .. } in done.measured {
            self.taken.latencies = latency;
            self.taken.bytes = bytes;
        }
        Ok(())
    }
}

/// The path of a small file.
fn file(number: u64) -> String {
    format!("{FOLDER}/file.{number}")
}

/// The content of a small file, or of what is appended.
pub(super) fn content(number: u64, size: Bytes) -> Vec<u8> {
    let mut bytes = vec![0; size.to_usize()];
    Data::Random.block(0, number, &mut bytes);
    bytes
}

fn create(mount: &mut Cached, clock: &mut Clock, number: u64, size: Bytes) -> Result<(), Error> {
    let fd = mount.create(clock, file(number), 0o600)?;
    write_and_close(mount, clock, fd, &content(number, size))
}

/// Writes the beginning of an open file.
pub(super) fn write_and_close(
    mount: &mut Cached,
    clock: &mut Clock,
    fd: Fd,
    data: &[u8],
) -> Result<(), Error> {
    if mount.write(clock, fd, 0, data)? < data.len() {
        return Err(Errno::NoSpc.into());
    }
    mount.close(clock, fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::flash::Counts;
    use crate::nandfs::fs;
    use boardlab_parts::catalog;

    /// Performs steps on a small flash with each filesystem; calls `after` after each.
    fn perform(steps: &[Step], mut after: impl FnMut(&Step, &Taken, Option<Counts>)) {
        let set = ["part.geometry.blocks=64", "tiobench.size=1 MiB"];
        let document = catalog::compose("nand-filesystems", &set).expect("built in");
        let read = document.read(|section| Scenario::read(section, fs::ALL));
        let scenario = read.expect("right").value;
        for (_, system) in &scenario.systems {
            let bench = Bench::new(&scenario, Seed::new(1), &**system);
            let mut bench = bench.unwrap_or_else(|error| panic!("{error}"));
            for step in steps {
                let taken = bench.perform(step).unwrap_or_else(|error| panic!("{error}"));
                let mount = bench.mount.as_ref();
                after(step, &taken, mount.map(|mount| Counts::of(mount.fs().flash())));
            }
        }
    }

    fn step(name: &str, operation: &str) -> Step {
        Step::new(name, operation)
    }

    fn mount() -> Step {
        step("mount", "fs.mount").path("/mnt").device("/dev/mtdblock0").key("type", "jffs2")
    }

    #[test]
    fn what_waits_in_a_write_buffer_is_written_while_the_plan_sleeps_except_by_logfs() {
        let create = step("create", "fs.create").path("/mnt").key("count", 1).key("size", 100);
        let sleep = step("sleep", "cpu.sleep").key("count", 1).key("time_ns", 60_000_000_000);
        let mut programs = Vec::new();
        perform(&[mount(), create, sleep], |_, _, counts| {
            programs.push(counts.expect("mounted").programs);
        });
        for (programs, system) in programs.chunks(3).zip(["jffs2", "yaffs2", "logfs", "ubifs"]) {
            // LogFS fills its write units in RAM until a sync, however long that is.
            assert_eq!(programs[1] < programs[2], system != "logfs", "{system}: {programs:?}");
        }
    }

    #[test]
    fn each_phase_of_tiobench_moves_what_it_says() {
        let phase = |name: &str, threads: u64| {
            let step = step(name, "fs.tiobench").path("/mnt").key("phase", name);
            let step = step.key("threads", threads).key("length", 65_536).key("size", 8_192);
            step.key("operations", 5).key("data", "random").key("presize", 1)
        };
        let steps = [
            mount(),
            phase("sequential_write", 2),
            phase("random_write", 2),
            phase("sequential_read", 2),
            phase("random_read", 1),
        ];
        let mut moved = Vec::new();
        perform(&steps, |_, taken, _| moved.push((taken.latencies.count(), taken.bytes.get())));
        let all = |threads: u64| (threads * 8, threads * 65_536);
        let some = |threads: u64| (threads * 5, threads * 5 * 8_192);
        let expected = [(1, 0), all(2), some(2), all(2), some(1)];
        assert!(moved.chunks(5).all(|moved| moved == expected), "{moved:?}");
    }
}
