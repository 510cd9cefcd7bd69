//! The plan of the NAND experiment for a board with a NAND behind Linux' MTD.
//!
//! Layer: rank 10. Function: [`plan`].

use super::fs;
use super::run::{read, run_with_columns};
use super::scenario::Scenario;
use boardlab_experiment::{Failure, PlanRequest};
use boardlab_measure::plan::{Plan, Step};
use boardlab_result::RunResult;

/// Where the filesystems are mounted, unless the user says otherwise.
const PATH: &str = "/mnt";
/// The filesystems that a kernel of today has, and their devices unless the user names others:
/// `--device ubifs=/dev/ubi1_0`.
const DEVICES: [(&str, &str); 2] = [("jffs2", "/dev/mtdblock0"), ("ubifs", "/dev/ubi0_0")];
/// The phases of tiobench, as rows of table 3.3.
const PHASES: [&str; 4] = ["sequential_write", "random_write", "sequential_read", "random_read"];
/// What a board cannot give.
const BEYOND: &str = "No kernel has YAFFS2 or LogFS any more, so their columns cannot be measured. RAM and metadata \
    (tables 3.4 and 3.5) are in no interface of Linux: slabtop and df come near. Give only the filesystem that is on \
    the board: boardlab measure plan nand-filesystems --device jffs2=/dev/mtdblock2. Begin with an erased flash: \
    flash_erase -j /dev/mtd2 0 0 for JFFS2; ubiformat, ubiattach and ubimkvol -m for UBIFS. The predictions are of the \
    scenario's part and board: those of yours are given with --set part=... and board=....";

/// Fills each filesystem, mounts and lists it, then runs tiobench: tables 3.2 and 3.3.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let scenario = read(&request.request, fs::ALL)?.value;
    let (run, columns) = run_with_columns(&request.request, fs::ALL)?;
    let mut plan = Plan::new(request.request.scenario).remark(BEYOND);
    for (name, device) in request.targets(&DEVICES) {
        plan = plan.endurance(device, u64::from(scenario.file.part.endurance));
        let files = columns.iter().find(|column| column.system == name);
        let files = files.map_or(0, |column| column.mounting.files);
        let (scenario, run) = (&scenario, &run);
        FileSystemPlan { request, scenario, run, name, device, files }.steps(&mut plan);
    }
    Ok(plan)
}

/// The plan of one filesystem.
struct FileSystemPlan<'a> {
    request: &'a PlanRequest<'a>,
    scenario: &'a Scenario,
    run: &'a RunResult,
    name: &'static str,
    device: &'a str,
    /// So many that the filesystem of the model is as full as the scenario asks for.
    files: u64,
}

impl FileSystemPlan<'_> {
    fn step(&self, name: &str, operation: &str) -> Step {
        let step = Step::new(format!("{}.{name}", self.name), operation);
        step.path(self.request.target("path", PATH))
    }

    fn mount(&self, name: &str) -> Step {
        let step = self.step(name, "fs.mount").device(self.device);
        step.key("type", self.name).key("options", "rw")
    }

    /// A step with the figure of a table as its prediction.
    fn predicting(&self, step: Step, metric: &str, (table, row): (&str, &str)) -> Step {
        step.predict(metric, self.run.figure(table, row, self.name))
    }

    fn steps(&self, plan: &mut Plan) {
        let (fill, count) = (&self.scenario.fill, self.files);
        let files = |step: Step| step.key("count", count).key("size", fill.file.get());
        plan.push(self.mount("first-mount"));
        if count > 0 {
            plan.push(files(self.step("fill", "fs.create")));
        }
        plan.push(self.step("first-unmount", "fs.unmount"));
        plan.push(self.predicting(self.mount("mount"), "mean_ns", ("table3.2", "mount")));
        let list = self.step("ls", "fs.list").remark("Table 3.2: ls, as ls -lR.");
        plan.push(self.predicting(list, "mean_ns", ("table3.2", "ls")));
        if count > 0 {
            plan.push(files(self.step("empty", "fs.remove")));
        }
        self.tiobench(plan);
        plan.push(self.step("unmount", "fs.unmount"));
    }

    fn tiobench(&self, plan: &mut Plan) {
        let tiobench = &self.scenario.tiobench;
        for phase in PHASES {
            let step = self.step(phase, "fs.tiobench").key("phase", phase);
            let step = step.key("length", tiobench.size.get()).key("size", tiobench.block.get());
            let step = step.key("threads", u64::from(tiobench.threads));
            let step = step.key("operations", tiobench.random);
            plan.push(self.predicting(step, "bytes_per_s", ("table3.3", phase)));
        }
    }
}
