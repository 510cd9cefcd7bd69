//! The plan of the SATA experiment for a board with a SATA controller.
//!
//! Layer: rank 11. Function: [`plan`].

use super::run::{read, run};
use super::scenario::Scenario;
use boardlab_experiment::{Failure, PlanRequest};
use boardlab_measure::plan::{Plan, Step};
use boardlab_parts::drive::part::DrivePart;
use boardlab_result::RunResult;

/// The drives of the publication, as the scenario has them; the user names those at hand: `--device
/// g-monster-v2=/dev/sdb`.
const DEVICES: [(&str, &str); 4] = [
    ("intel-x25-e", "/dev/sda"),
    ("g-monster-v2", "/dev/sda"),
    ("transcend", "/dev/sda"),
    ("buffalo", "/dev/sda"),
];
/// Bytes of a command of Linux, which splits what is larger; 256 sectors, as the 28-bit commands.
const COMMAND: u64 = 256 * 512;
/// What a board cannot give.
const BEYOND: &str = "The host of the publication is a core in an FPGA: what its firmware or its state machine takes \
    between two commands (tables 6-1 and 6-2) is not in a Linux host, whose own driver and block layer take its place. \
    Linux sends no command of 32 MB: a request is split where the controller or max_sectors_kb end, so a row is a \
    sequence of smaller commands. The predictions are the model's of the publication's host; a difference of rows \
    above is the drive's, of small commands the host's.";

/// Rows of tables 5-1, 5-2 and 7-1 for the drives that the user has.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let scenario = read(&request.request)?.value;
    let run = run(&request.request)?;
    let mut plan = Plan::new(request.request.scenario).remark(BEYOND);
    let drives = &scenario.drives;
    for (name, device) in request.targets(&DEVICES) {
        let (drive, table) = match name {
            "intel-x25-e" => (&drives.intel, Some("table5-1")),
            "g-monster-v2" => (&drives.g_monster, Some("table5-2")),
            "transcend" => (&drives.transcend, None),
            _ => (&drives.buffalo, None),
        };
        let max_cycles = request.max_cycles;
        let drive = DrivePlan { scenario: &scenario, run: &run, name, device, drive, max_cycles };
        plan.push(drive.step("identify", "ata.identify"));
        match table {
            Some(table) => drive.loops(&mut plan, table),
            None => drive.sweep(&mut plan),
        }
    }
    Ok(plan)
}

/// The plan of one drive.
struct DrivePlan<'a> {
    scenario: &'a Scenario,
    run: &'a RunResult,
    name: &'static str,
    device: &'a str,
    drive: &'a DrivePart,
    max_cycles: u64,
}

impl DrivePlan<'_> {
    fn step(&self, name: &str, operation: &str) -> Step {
        Step::new(format!("{}.{name}", self.name), operation).device(self.device)
    }

    /// Bytes of the drive.
    fn capacity(&self) -> u64 {
        self.drive.capacity().get()
    }

    /// A table of loops: writes and reads of ever more commands, as long as the wear allows them.
    fn loops(&self, plan: &mut Plan, table: &str) {
        let command = u64::from(self.scenario.continuous.sectors) * 512;
        let mut left = self.capacity().saturating_mul(self.max_cycles);
        for loops in &self.scenario.continuous.loops {
            let volume = command.saturating_mul(*loops).min(self.capacity() / command * command);
            if volume > left {
                let name = self.name;
                plan.add_remark(&format!(
                    "{name}: rows from {loops} loops on would exceed the cycles asked for."
                ));
                break;
            }
            left -= volume;
            for (operation, column) in [("block.write", "write"), ("block.read", "read")] {
                let step = self.step(&format!("{column}-{loops}"), operation);
                let step = step.key("length", volume).key("size", command);
                let rate = self.run.figure(table, &loops.to_string(), column);
                plan.push(step.predict("bytes_per_s", rate));
            }
        }
    }

    /// Table 7-1: the whole drive in commands of 128 KiB.
    fn sweep(&self, plan: &mut Plan) {
        let volume = self.scenario.sweep.part.map_or(self.capacity(), |sectors| sectors * 512);
        for (operation, column) in [("ata.write", "write"), ("ata.read", "read")] {
            let step = self.step(column, operation);
            let step = step.key("length", volume / COMMAND * COMMAND).key("size", COMMAND);
            let rate = self.run.figure("table7-1", self.name, column);
            plan.push(step.predict("bytes_per_s", rate));
        }
    }
}
