//! The plan of the NOR experiment for a board that runs Linux.
//!
//! Layer: rank 11. Function: [`plan`].

use super::run::read;
use super::run::write::{WriteMeasurement, attach, simulate};
use super::scenario::Scenario;
use boardlab_experiment::{Failure, PlanRequest, Progress};
use boardlab_measure::plan::{Plan, Step};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_nor::driver::Step as Phase;
use boardlab_sim::{Bytes, Clock, Duration};

/// The device, unless the user names another one.
const DEVICE: &str = "/dev/mtd0";
/// What a board cannot give.
const BEYOND: &str = "Table 4 is u-boot's: it has to be timed there, with the time base, around `cp.b`. Tables 5 and 6 \
    split a write into the steps L-1 to L-7, which happen inside the kernel: the plan gives their sum, once for the \
    whole file, as mtd_debug writes it, and once a write buffer, which is L-5 to L-7. For table 6, run the same plan on \
    a kernel with the patch of `boardlab tune nor-write`.";

/// Erases, writes the data in one call, as the publication does, and once more a buffer at a time.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let scenario = read(&request.request)?.value;
    let seed = request.request.seed;
    let told = |step, done| (request.request.progress)(Progress { step, done, total: 2 });
    let linux = simulate(&scenario, &scenario.board, &scenario.linux, seed)?;
    told("write", 1);
    let erase = erase_time(request, &scenario);
    told("erase", 2);
    let device = request.target("device", DEVICE);
    let bytes = scenario.data.len() as u64;
    let (data, remark) = data(&scenario.data);
    let step =
        |name: &str, operation| Step::new(name, operation).device(device).key("length", bytes);
    let erased = |name: &str| step(name, "mtd.erase").predict("mean_ns", erase.as_nanos());
    let mut plan = Plan::new(request.request.scenario)
        .remark(BEYOND)
        .remark(remark)
        .endurance(device, u64::from(scenario.part.endurance))
        .step(Step::new("device", "mtd.info").device(device))
        .step(erased("erase"));
    let write = step("write", "mtd.program").key("size", bytes).key("count", 1).key("data", data);
    let write = write.predict("mean_ns", linux.total.as_nanos());
    plan.push(write.remark("Table 5, total: mtd_debug write of the whole file."));
    plan.push(step("verify", "mtd.read").key("size", bytes).key("data", data).key("verify", true));
    let unit = scenario.part.write_buffer;
    if let Some((unit, mean)) = unit.zip(buffer_time(&linux)).filter(|_| request.max_cycles > 1) {
        plan.push(erased("erase-again"));
        let write = step("write-buffers", "mtd.program").key("size", unit.get()).key("data", data);
        let write = write.predict("mean_ns", mean.as_nanos());
        plan.push(write.remark("Table 5, L-5 to L-7 and the call: a write buffer each."));
    }
    Ok(plan)
}

/// The time of a write buffer from its command to its end.
fn buffer_time(linux: &WriteMeasurement) -> Option<Duration> {
    let mean = |phase| linux.steps.of(phase).mean();
    Some(mean(Phase::Command)? + mean(Phase::Fill)? + mean(Phase::Wait)?)
}

/// The mean time of an erase of what is written.
fn erase_time(request: &PlanRequest<'_>, scenario: &Scenario) -> Duration {
    let (mut clock, board) = (Clock::new(), &scenario.board);
    let mut mtd = attach(scenario, board, &scenario.linux, request.request.seed, &mut clock);
    let blocks = blocks(&mtd, scenario);
    let begun = clock.now();
    for block in 0..blocks {
        mtd.erase(&mut clock, BlockIndex(block)).expect("a new part is erased within its times");
    }
    clock.now().since(begun) / u64::from(blocks.max(1))
}

/// The blocks that the data take.
fn blocks(mtd: &impl Mtd, scenario: &Scenario) -> u32 {
    let last = Bytes::of(&scenario.data[..scenario.data.len().saturating_sub(1)]);
    mtd.geometry().block_at(last).map_or(1, |block| block.0 + 1)
}

/// The data of the plan that stand for those of the scenario.
fn data(bytes: &[u8]) -> (&'static str, &'static str) {
    match bytes {
        _ if bytes.iter().all(|&byte| byte == 0) => {
            ("zero", "The data are zeros, as the publication's.")
        }
        _ if bytes.iter().all(|&byte| byte == 0xFF) => ("ff", "The data are bytes of 0xFF."),
        _ => {
            ("random", "The data are random here; the time of a NOR flash does not depend on them.")
        }
    }
}
