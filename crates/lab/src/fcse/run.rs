//! The system of `os/` measured, and the result that is made of it.
//!
//! Layer: rank 11. Functions: [`check`], [`run`].

pub(super) mod card;
pub(super) mod guest;
pub(super) mod latency;
pub(super) mod measure;
pub(super) mod programs;
pub(super) mod qemu;
pub(super) mod sections;
pub(super) mod spent;
pub(super) mod switches;

use super::charts::{self, picture};
use super::scenario::Scenario;
use super::{findings, tables, verdicts};
use boardlab_document::Reading;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::{Failure, Request};
use boardlab_result::RunResult;
use measure::Measurements;

/// What to try when a run fails.
const HELP: &str = "boot the kernel by hand, with `boardlab os run`: it is to be that of os/; what --set asks for may be more than the system can do";
/// The same for QEMU.
const HELP_QEMU: &str = "`qemu.command` is to be qemu-system-arm, which also has to boot the kernel; one that is not installed is left out";

pub(super) fn read(request: &Request<'_>) -> Result<Reading<Scenario>, Failure> {
    Ok(request.document.read(Scenario::read)?)
}

/// Whether `request` can be run; a checksum of its kernel.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let scenario = read(request)?.value;
    let contents =
        scenario.kernel.segments.iter().flat_map(|segment| segment.contents.iter().copied());
    Ok(boardlab_codec::crc::crc32(0, &contents.collect::<Vec<_>>()))
}

/// What the publication measured, and what it could not.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let measured = measure::all(request, &scenario)?;
    let title = "Context switches with the Fast Context Switch Extension";
    let mut run = request.blank(title, parameters);
    tables::all(&mut run, &scenario, &measured);
    let explaining = findings::all(&mut run, &scenario, &measured, request.is_as_published());
    if request.is_as_published() {
        verdicts::verdicts(&mut run, &Reference::named("fcse")?, explaining)?;
    }
    request.warn_if_altered(&mut run);
    if let Err(absent) = &measured.qemu {
        let command = &absent.command;
        run.warnings.push(format!(
            "{command} is not installed: the rows of QEMU are left out (Debian: qemu-system-arm)."
        ));
    }
    charts::all(&mut run, &scenario, &measured);
    run.timelines = picture::all(&scenario, &measured);
    run.virtual_time_ns = virtual_time(&scenario, &measured);
    verdicts::name_parameters(&mut run);
    Ok(run)
}

/// Virtual time of the long runs.
fn virtual_time(scenario: &Scenario, measured: &Measurements) -> u64 {
    let quanta = measured.ways.iter().flat_map(|way| way.quanta.iter().map(|one| one.cycles));
    let latency = measured.ways.iter().flat_map(|way| way.latency.iter().map(|one| one.cycles));
    let clock = scenario.computer.settings.core_clock.get();
    let nanoseconds = u128::from(quanta.chain(latency).sum::<u64>()) * 1_000_000_000;
    u64::try_from(nanoseconds / u128::from(clock)).unwrap_or(u64::MAX)
}
