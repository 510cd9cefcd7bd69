//! Fills a device, runs the jobs on it, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`]; [`perform`], the jobs on any device.

pub(crate) mod device;
pub(super) mod pace;

use super::scenario::{Composition, Scenario, jobs};
use super::{charts, findings, tables};
use boardlab_block as block;
use boardlab_block::Request::Write;
use boardlab_block::{BlockDevice, Extent, Layered, Payload, Stats};
use boardlab_codec::crc::crc32;
use boardlab_experiment::verdict::name_parameters;
use boardlab_experiment::{Failure, Request};
use boardlab_result::{Attachment, RunResult};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Seed};
use boardlab_workload::fio;
use boardlab_workload::fio::account::Log;
use boardlab_workload::fio::output::{self, table};
use device::{Device, DeviceWork};
use pace::Pace;

/// The files of `--format fio`, `fio-json` and `fio-terse`.
pub const OUTPUTS: [(&str, &str); 3] = [
    ("fio.txt", "what fio prints for people"),
    ("fio.json", "what fio prints with --output-format=json"),
    ("fio.terse", "what fio prints with --minimal: terse, version 3"),
];

/// What to try when a device fails.
pub(super) const HELP: &str = "write less, or choose another part: boardlab list parts";

pub(super) fn read(request: &Request<'_>) -> Result<(Scenario, RunResult), Failure> {
    let document = request.document;
    let reading = document.read(Scenario::read)?;
    let title = format!("fio on {}", reading.value.composition.name());
    let run = request.blank(&title, reading.parameters);
    Ok((reading.value, run))
}

/// Checks `request`; returns a checksum of the job file.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let (scenario, _) = read(request)?;
    jobs::parse(&scenario.jobs)?;
    Ok(crc32(0, scenario.jobs.text.as_bytes()))
}

/// What the jobs did on a device.
pub(crate) struct JobsRun {
    /// The device after them.
    pub(crate) device: Device,
    /// Its work for them.
    pub(crate) did: DeviceWork,
    /// Their requests.
    pub(crate) stats: Stats,
    /// What fio reports.
    pub(crate) reported: fio::Run,
    /// Throughput over time.
    pace: Pace,
    /// When the first of them could start.
    started: Instant,
}

impl JobsRun {
    /// The time that they took.
    pub(crate) fn time(&self) -> Duration {
        self.reported.ended.since(self.started)
    }
}

/// Runs the jobs on an erased device, or on one whose first `fill` bytes were written before.
pub(crate) fn perform(
    composition: &Composition,
    fill: Bytes,
    file: &fio::JobFile,
    seed: Seed,
) -> Result<JobsRun, Failure> {
    let mut device = Device::new(composition, seed)?;
    let mut clock = Clock::new();
    self::fill(&mut device, &mut clock, fill)
        .map_err(|error| Failure::run("filling the device", error, HELP))?;
    let (started, before) = (clock.now(), device.did());
    let mut device = Layered::new(Pace::from(started), Stats::over(device));
    let host = fio::Host { seed, ..fio::Host::default() };
    let reported = fio::run(&mut device, &mut clock, file, &host);
    let reported = reported.map_err(|failure| jobs::failed(failure, HELP))?;
    let (pace, device) = device.into_parts();
    let (stats, device) = device.into_parts();
    let did = device.did().since(&before);
    Ok(JobsRun { device, did, stats, reported, pace, started })
}

/// Runs the jobs of the scenario.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (scenario, mut run) = read(request)?;
    let file = jobs::parse(&scenario.jobs)?;
    let fill = scenario.fill.of(scenario.composition.capacity());
    let done = perform(&scenario.composition, fill, &file, request.seed)?;
    let JobsRun { device, did, stats, reported, pace, .. } = &done;
    run.tables.push(table::table("fio", "Jobs", &table::figures(reported)));
    run.tables.extend(tables::causes(stats));
    run.tables.extend([tables::flash(device, did), tables::operations(device, did)]);
    run.tables.extend(device.described());
    pace.draw(&mut run);
    charts::latency(&mut run, reported);
    run.warnings.extend(reported.notes.iter().map(ToString::to_string));
    findings::all(&mut run, stats, device.name());
    findings::health(&mut run, device);
    run.attachments = attachments(&file, reported);
    run.virtual_time_ns = done.time().as_nanos();
    name_parameters(&mut run, |_, _| true);
    Ok(run)
}

/// Writes the first `length` bytes in sequence, and flushes the device.
fn fill<D: BlockDevice>(
    device: &mut D,
    clock: &mut Clock,
    length: Bytes,
) -> Result<(), block::Error> {
    let size = device.geometry().block;
    let (blocks, step) = (length / size, Bytes::mib(4) / size);
    let mut first = 0;
    while first < blocks {
        let extent = Extent::new(first, step.min(blocks - first));
        let write = Write { extent, data: Payload::Repeated(0xFF), durable: false };
        clock.advance_to(device.submit(clock.now(), write)?.ended);
        first += extent.count;
    }
    if blocks > 0 {
        device.flush(clock)?;
    }
    Ok(())
}

/// The output of fio, and the logs that the jobs request.
fn attachments(file: &fio::JobFile, done: &fio::Run) -> Vec<Attachment> {
    let texts = [
        output::human::human(file, done),
        output::json::to_text(&output::json::json(file, done)) + "\n",
        output::terse::terse(file, done),
    ];
    let mut all = Vec::new();
    for ((name, title), text) in OUTPUTS.into_iter().zip(texts) {
        all.push(Attachment { name: name.into(), title: title.into(), text });
    }
    for (number, report) in done.reports.iter().enumerate() {
        let logs = &file.jobs[report.job].settings.reporting.logs;
        for (log, suffix) in [(Log::Bandwidth, "bw"), (Log::Latency, "clat"), (Log::Rate, "iops")] {
            let Some(name) = &logs[log as usize] else { continue };
            let name = if name.is_empty() { &report.name } else { name };
            let name = format!("{name}_{suffix}.{}.log", number + 1);
            let title = format!("log of {}", report.name);
            all.push(Attachment::named(&name, title, output::log::text(report, log)));
        }
    }
    all
}
