//! The plan of the NAND experiment for a board with a NAND behind Linux' MTD.
//!
//! Layer: rank 10. Function: [`plan`]. What a step takes depends on those before it, so the predictions
//! are those of the same steps on the model, from an empty flash on.

use super::fs;
use super::run::measure::PHASES;
use super::run::read;
use super::run::steps::{Bench, Metric};
use super::scenario::{Scenario, Tiobench, system};
use boardlab_experiment::{Failure, PlanRequest, Progress};
use boardlab_measure::plan::{Plan, Step};
use boardlab_sim::Duration;
use boardlab_workload::data::Data;

/// Where the filesystems are mounted, unless the user says otherwise.
const PATH: &str = "/mnt";
/// The filesystems that a kernel of today has, and their devices unless the user names others:
/// `--device ubifs=/dev/ubi1_0`.
const DEVICES: [(&str, &str); 2] = [("jffs2", "/dev/mtdblock0"), ("ubifs", "/dev/ubi0_0")];
/// The most files and appends of the steps on small files, and the share of the flash that they may take.
const SMALL_FILES: u64 = 100;
const SMALL_SHARE: u64 = 16;
/// Bytes of each.
const SMALL: u64 = 4_096;
/// The least that background work gets to come to its end, besides the erases.
const IDLE: Duration = Duration::from_secs(2);
/// What to try when the model cannot do a step.
const HELP: &str = "less data or a larger part may do: compare `fill` and `tiobench` with the part, of which the steps on \
    small files keep a sixteenth";
/// What a board cannot give.
const BEYOND: &str = "No kernel has YAFFS2 or LogFS any more, so their columns cannot be measured. RAM and metadata \
    (tables 3.4 and 3.5) are in no interface of Linux: slabtop and df come near. Give only the filesystem that is on \
    the board: boardlab measure plan nand-filesystems --device jffs2=/dev/mtdblock2. Begin with an erased flash: \
    flash_erase -j /dev/mtd2 0 0 for JFFS2; ubiformat, ubiattach and ubimkvol -m for UBIFS. The predictions are of the \
    scenario's part and board: those of yours are given with --set part=... and board=....";

/// A step, and the metric that is predicted.
type Predicted = (Step, Option<Metric>);

/// Fills each filesystem, mounts and lists it, runs tiobench and makes small files: tables 3.2 and 3.3.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let scenario = read(&request.request, fs::ALL)?.value;
    let mut plan = Plan::new(request.request.scenario).remark(BEYOND);
    let left_out = scenario.tiobench.data.iter().filter(|data| !agent_has(data));
    let left_out: Vec<_> = left_out.map(Data::to_string).collect();
    if !left_out.is_empty() {
        let kinds = left_out.join(", ");
        plan.add_remark(&format!(
            "The agent writes no data of these kinds, so tiobench is left out with them: {kinds}."
        ));
    }
    let measured = |(name, _): &(&'static str, _)| scenario.measured.contains(name);
    let devices: Vec<_> = DEVICES.into_iter().filter(measured).collect();
    for (name, device) in request.targets(&devices) {
        let failed = |error| Failure::run(name, error, HELP);
        let system = &**system(&scenario.systems, name);
        let mut bench = Bench::new(&scenario, request.request.seed, system).map_err(failed)?;
        let files = bench.files(scenario.fill.file, scenario.fill.level).map_err(failed)?;
        plan = plan.endurance(device, u64::from(scenario.file.part.endurance));
        let steps = FileSystemPlan { request, scenario: &scenario, name, device, files }.steps();
        let waits = steps.iter().filter_map(|(step, _)| step.number("time_ns"));
        let waits = Duration::from_nanos(waits.sum());
        plan.add_remark(&format!("The waits for the background of {name} take {waits} in all."));
        let total = steps.len();
        for (done, (step, metric)) in steps.into_iter().enumerate() {
            (request.request.progress)(Progress { step: step.name(), done, total });
            let taken = bench.perform(&step);
            let taken = taken.map_err(|error| Failure::run(step.name(), error, HELP))?;
            plan.push(match metric {
                Some(metric) => step.predict(metric.name(), taken.metric(metric)),
                None => step,
            });
        }
    }
    Ok(plan)
}

/// Whether the agent writes data of this kind.
const fn agent_has(data: &Data) -> bool {
    matches!(data, Data::Zero | Data::Random)
}

/// The plan of one filesystem.
struct FileSystemPlan<'a> {
    request: &'a PlanRequest<'a>,
    scenario: &'a Scenario,
    name: &'static str,
    device: &'a str,
    /// So many that the filesystem of the model is as full as the scenario asks for.
    files: u64,
}

impl FileSystemPlan<'_> {
    fn step(&self, name: &str, operation: &str) -> Step {
        Step::new(format!("{}.{name}", self.name), operation)
    }

    /// A step below the path.
    fn below(&self, name: &str, operation: &str) -> Step {
        self.step(name, operation).path(self.request.target("path", PATH))
    }

    fn mount(&self, name: &str) -> Step {
        let step = self.below(name, "fs.mount").device(self.device);
        step.key("type", self.name).key("options", "rw")
    }

    /// Lets the background come to its end, with nothing cached: twice, for what garbage collection moves
    /// waits in the write buffer of JFFS2 for the next sync, and the blocks that it empties with it.
    fn settle(&self, name: &str) -> Vec<Predicted> {
        let part = &self.scenario.file.part;
        let time = IDLE + part.timing.erase.max * (2 * u64::from(part.geometry.blocks));
        let steps = (1..=2).flat_map(|turn| {
            let sync = self.step(&format!("{name}.sync-{turn}"), "fs.drop_caches");
            let wait = self.step(&format!("{name}.wait-{turn}"), "cpu.sleep");
            [sync, wait.key("count", 1).key("time_ns", time.as_nanos())]
        });
        steps.map(|step| (step, None)).collect()
    }

    fn steps(&self) -> Vec<Predicted> {
        let mut steps = self.mounting();
        steps.extend(self.tiobench());
        steps.extend(self.small_files());
        steps.push((self.below("unmount", "fs.unmount"), None));
        steps
    }

    fn mounting(&self) -> Vec<Predicted> {
        let size = self.scenario.fill.file.get();
        let files = |name: &str, operation: &str| {
            self.below(name, operation).key("count", self.files).key("size", size)
        };
        let fills = self.files > 0;
        let list = self.below("ls", "fs.list").remark("Table 3.2: ls, as ls -lR.");
        let mut steps = vec![(self.mount("first-mount"), None)];
        steps.extend(fills.then(|| (files("fill", "fs.create"), None)));
        steps.extend([
            (self.below("first-unmount", "fs.unmount"), None),
            (self.mount("mount"), Some(Metric::Mean)),
            (list, Some(Metric::Mean)),
        ]);
        steps.extend(fills.then(|| (files("empty", "fs.remove"), None)));
        steps
    }

    /// Each phase begins with nothing cached, as in the experiment.
    fn tiobench(&self) -> Vec<Predicted> {
        let Tiobench { block, size, random, threads, presize, ref data } = self.scenario.tiobench;
        let mut steps = Vec::new();
        for data in data.iter().filter(|data| agent_has(data)) {
            for phase in PHASES {
                let name = format!("{data}.{phase}");
                steps.extend(self.settle(&name));
                let step = self.below(&name, "fs.tiobench").key("phase", phase);
                let step = step.key("length", size.get()).key("size", block.get());
                let step = step.key("threads", u64::from(threads)).key("operations", random);
                let step = step.key("data", &*data.to_string()).key("presize", u64::from(presize));
                let step = step.remark(&format!("Table 3.3: tiobench, data: {data}."));
                steps.push((step, Some(Metric::Rate)));
            }
        }
        steps
    }

    fn small_files(&self) -> Vec<Predicted> {
        let room = self.scenario.file.part.size().get() / SMALL_SHARE;
        let count = SMALL_FILES.min(room / SMALL).max(1);
        let step = |name: &str| {
            let step = self.below(name, &format!("fs.{name}"));
            (step.key("count", count).key("size", SMALL), Some(Metric::Mean))
        };
        let mut steps = self.settle("fsync");
        steps.push(step("fsync"));
        steps.extend(self.settle("create"));
        steps.push(step("create"));
        steps.extend(self.settle("stat"));
        steps.extend(["stat", "read", "remove"].map(step));
        steps
    }
}
