//! The plan of the SATA experiment for a board with a SATA controller.
//!
//! Layer: rank 11. Function: [`plan`].

use super::run::{read, run};
use super::scenario::Scenario;
use boardlab_experiment::{Failure, PlanRequest, predicted};
use boardlab_measure::plan::{Plan, Step};
use boardlab_parts::drive::part::DrivePart;
use boardlab_result::RunResult;

/// The drive, unless the user names one of the scenario's: `--device g-monster-v2=/dev/sdb`.
const DEVICE: &str = "/dev/sda";
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
    let all = [
        ("intel-x25-e", &drives.intel, Some("table5-1"), None),
        ("g-monster-v2", &drives.g_monster, Some("table5-2"), None),
        ("transcend", &drives.transcend, None, Some("transcend")),
        ("buffalo", &drives.buffalo, None, Some("buffalo")),
    ];
    let named = all.iter().any(|(key, ..)| request.devices.iter().any(|(name, _)| name == key));
    for (key, drive, table, row) in all {
        // Without a name it is the first one.
        let first = if named || key != all[0].0 { "" } else { request.target("device", DEVICE) };
        let device = request.target(key, first);
        if device.is_empty() {
            continue;
        }
        plan.push(step(key, "identify", "ata.identify", device));
        match (table, row) {
            (Some(table), _) => {
                loops(&mut plan, request, &scenario, &run, (key, device, drive, table));
            }
            (_, Some(row)) => sweep(&mut plan, request, &scenario, &run, (key, device, drive, row)),
            _ => {}
        }
    }
    Ok(plan)
}

fn step(drive: &str, name: &str, operation: &str, device: &str) -> Step {
    Step::new(format!("{drive}.{name}"), operation).device(device)
}

/// Bytes of a drive.
fn capacity(drive: &DrivePart) -> u64 {
    drive.capacity().get()
}

/// A table of loops: writes and reads of ever more commands, as long as the wear allows them.
fn loops(
    plan: &mut Plan,
    request: &PlanRequest<'_>,
    scenario: &Scenario,
    run: &RunResult,
    (key, device, drive, table): (&str, &str, &DrivePart, &str),
) {
    let command = u64::from(scenario.continuous.sectors) * 512;
    let mut left = capacity(drive).saturating_mul(request.max_cycles);
    for loops in &scenario.continuous.loops {
        let volume = command.saturating_mul(*loops).min(capacity(drive) / command * command);
        if volume > left {
            let skipped =
                format!("{key}: rows from {loops} loops on would exceed the cycles asked for.");
            plan.add_remark(&skipped);
            break;
        }
        left -= volume;
        for (operation, column) in [("block.write", "write"), ("block.read", "read")] {
            let step = step(key, &format!("{column}-{loops}"), operation, device);
            let step = step.key("length", volume).key("size", command);
            plan.push(with_rate(step, predicted(run, table, &loops.to_string(), column)));
        }
    }
}

/// Table 7-1: the whole drive in commands of 128 KiB.
fn sweep(
    plan: &mut Plan,
    request: &PlanRequest<'_>,
    scenario: &Scenario,
    run: &RunResult,
    (key, device, drive, row): (&str, &str, &DrivePart, &str),
) {
    let volume = scenario.sweep.part.map_or(capacity(drive), |sectors| sectors * 512);
    if request.max_cycles == 0 {
        return;
    }
    for (operation, column) in [("ata.write", "write"), ("ata.read", "read")] {
        let step = step(key, column, operation, device);
        let step = step.key("length", volume / COMMAND * COMMAND).key("size", COMMAND);
        plan.push(with_rate(step, predicted(run, "table7-1", row, column)));
    }
}

fn with_rate(step: Step, rate: Option<u64>) -> Step {
    match rate {
        Some(rate) => step.predict("bytes_per_s", rate),
        None => step,
    }
}
