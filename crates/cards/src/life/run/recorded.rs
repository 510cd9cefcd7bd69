//! Loads that are recorded first: jobs of fio that run once on the card, and block traces.
//!
//! Layer: rank 10. Main type: [`Pages`], a layer on a card that records which pages are requested;
//! functions: [`fio`], [`trace`], [`checksum`]. A job runs on the card with its times, so that one that
//! goes by time writes as much as this card takes. With `randrepeat=0` it is run again with other
//! places, as fio would; otherwise each run of it writes the same places, as fio's does.

use super::model::Model;
use super::places::{OPERATIONS, Op, RecordedLoad, Source, Work};
use crate::fio::scenario::{Jobs, jobs};
use crate::life::scenario::{A_DAY, Load, Scenario, Trace};
use boardlab_block as block;
use boardlab_block::{BlockDevice, Completion, Geometry, Layer, Layered, Request};
use boardlab_codec::crc::crc32;
use boardlab_document::error::{At, Error, FileProblem, TEXT_SHOWN};
use boardlab_experiment::Failure;
use boardlab_ftl::Extent;
use boardlab_parts::card::compose::compose;
use boardlab_result::foreign::shown_at_most as shown;
use boardlab_result::prose::float;
use boardlab_sd::Data;
use boardlab_sim::{Clock, Duration, Instant, Seed};
use boardlab_workload::fio::{self as jobs_of, Host};
use boardlab_workload::trace::{Fit, Format, Kind, Problem, Reader, Reading};
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

/// What to try when a card fails.
const HELP: &str = "write less in one run of the job, or choose another part: boardlab list parts";
/// Runs of a job that does not repeat itself.
const RUNS: u32 = 8;

/// The pages that the host requests.
#[derive(Debug)]
struct Pages {
    /// Bytes of a page, and logical pages.
    page: u64,
    /// Whether the card's write cache joins small neighbouring requests.
    joins: bool,
    list: RecordedLoad,
    /// Where the last write ended.
    end: u64,
    full: bool,
}

impl Pages {
    fn new(model: &Model) -> Self {
        let (page, joins) = (model.geometry.page().get(), model.joins);
        Self { page, joins, list: RecordedLoad::default(), end: u64::MAX, full: false }
    }

    /// Bytes from `start` on are written.
    fn write(&mut self, start: u64, length: u64) {
        if length == 0 {
            return;
        }
        let (mut first, end) = (start / self.page, (start + length).div_ceil(self.page));
        let joined = self.joins && start == self.end && !start.is_multiple_of(self.page);
        first += u64::from(joined);
        self.list.bytes += length;
        self.list.pages += end.saturating_sub(first);
        self.end = start + length;
        if first < end {
            self.push(first, end, true);
        }
    }

    /// Whole pages among the bytes from `start` on are given up.
    fn trim(&mut self, start: u64, length: u64) {
        let (first, end) = (start.div_ceil(self.page), (start + length) / self.page);
        if first < end {
            self.push(first, end, false);
        }
    }

    fn push(&mut self, first: u64, end: u64, writes: bool) {
        let number = |page: u64| u32::try_from(page).unwrap_or(u32::MAX);
        let (first, count) = (number(first), number(end - first));
        let room = self.list.operations.len() < OPERATIONS;
        match self.list.operations.last_mut() {
            Some(Op::Write(last)) if writes && last.first + last.count == first => {
                last.count += count;
            }
            _ if !room => self.full = true,
            _ if writes => self.list.operations.push(Op::Write(Extent::new(first, count))),
            _ => self.list.operations.push(Op::Trim(Extent::new(first, count))),
        }
    }

    /// The load that repeats this list so that it takes `seconds` each time.
    fn work(self, scenario: &Scenario, seconds: f64, name: &str) -> Result<Work, Failure> {
        let refused = |what: &str| {
            Err(Failure::Input(jobs::refused(At::Path(name.into()), "workload", what)))
        };
        if self.list.pages == 0 {
            return refused("writes nothing: a card that is only read does not wear out");
        }
        if self.full {
            return refused("has more than 33 million stretches of pages: take a part of it");
        }
        let bytes_a_day = float(self.list.bytes) / seconds.max(1e-9) * 86_400.0;
        if bytes_a_day > float(A_DAY.get()) {
            return refused("writes more than 864 TB a day: repeat it less often");
        }
        let source = Source::Recorded(Arc::new(self.list));
        Ok(Work { bytes_a_day, source, days: scenario.days })
    }
}

impl<D: BlockDevice> Layer<D> for Pages {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, block::Error> {
        let (kind, extent) = (request.kind(), request.extent());
        let done = device.submit(at, request)?;
        let geometry = device.geometry();
        let (start, length) = (extent.first.0 * geometry.block.get(), geometry.bytes(extent).get());
        match kind {
            block::Kind::Write | block::Kind::WriteZeroes => self.write(start, length),
            block::Kind::Discard => self.trim(start, length),
            block::Kind::Read | block::Kind::Flush => {}
        }
        Ok(done)
    }
}

/// The load of jobs of fio, and what there is to say about them.
pub(crate) fn fio(
    scenario: &Scenario,
    load: &Jobs,
    runs_a_day: u64,
    model: &Model,
    seed: Seed,
) -> Result<(Work, Vec<String>), Failure> {
    let file = jobs::parse(load)?;
    let repeats = file.jobs.iter().all(|job| job.settings.randomness.repeat);
    let runs = if repeats { 1 } else { RUNS };
    let card = compose(&scenario.part, &scenario.host, Data::Lost, seed);
    let card = card.map_err(|error| Failure::run("the card", error, HELP))?;
    let mut recorder = Layered::new(Pages::new(model), card);
    let (mut clock, mut notes) = (Clock::new(), Vec::new());
    for run in 0..runs {
        let seed = seed.child(&format!("life.fio.{run}"));
        let host = Host { seed, ..Host::default() };
        let done = jobs_of::run(&mut recorder, &mut clock, &file, &host);
        let done = done.map_err(|failure| jobs::failed(failure, HELP))?;
        if run == 0 {
            notes.extend(done.notes.iter().map(ToString::to_string));
        }
    }
    if repeats {
        notes.push(
            "Each run of the jobs writes the same places in the same order, as fio's randrepeat does; \
             with randrepeat=0 eight runs with other places are taken."
                .into(),
        );
    }
    let seconds = 86_400.0 / float(runs_a_day) * f64::from(runs);
    let (pages, _) = recorder.into_parts();
    Ok((pages.work(scenario, seconds, &load.name)?, notes))
}

/// The regular file at `path`.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let refused = |problem| {
        let path = path.display().to_string();
        Failure::Input(Error::File { path, problem, place: None })
    };
    let metadata = std::fs::metadata(path).map_err(|_| refused(FileProblem::Missing))?;
    if metadata.is_dir() {
        return Err(refused(FileProblem::Directory));
    }
    if !metadata.is_file() {
        return Err(refused(FileProblem::NotAFile));
    }
    File::open(path).map_err(|error| refused(FileProblem::Unreadable(error.raw_os_error())))
}

/// The load of a block trace, and what there is to say about it.
pub(crate) fn trace(
    scenario: &Scenario,
    load: &Trace,
    model: &Model,
) -> Result<(Work, Vec<String>), Failure> {
    let name = load.file.display().to_string();
    let mut head = Vec::new();
    let taken = open(&load.file)?.take(4_096).read_to_end(&mut head);
    taken.map_err(|error| Failure::run("the trace", error, HELP))?;
    let reading = Reading {
        format: Format::detect(&head),
        action: load.action,
        disk: load.disk.clone(),
        order: load.order,
    };
    let text = BufReader::with_capacity(1 << 16, open(&load.file)?);
    let mut reader = Reader::new(text, name.clone(), reading);
    let geometry = Geometry::of_size(scenario.part.face.capacity);
    let mut fit = Fit::new(&geometry, load.beyond, load.ragged);
    let mut pages = Pages::new(model);
    let mut last = Duration::ZERO;
    for record in reader.by_ref() {
        let record = record.map_err(|wrong| wrong_trace(wrong.place, &wrong.problem))?;
        last = record.at;
        let fitted = fit.fit(record, |part| match part.kind {
            Kind::Write => pages.write(part.offset.get(), part.length.get()),
            Kind::Discard => pages.trim(part.offset.get(), part.length.get()),
            Kind::Read | Kind::Flush => {}
        });
        fitted.map_err(|problem| {
            let line = usize::try_from(record.line).unwrap_or(usize::MAX);
            wrong_trace(jobs_of::Place { file: name.clone(), line, column: 1 }, &problem)
        })?;
    }
    let done = fit.done();
    let notes = [
        (reader.late(), "came at a time before the request before, and at that one's time here"),
        (done.cut, "reached behind the end of the card and were cut"),
        (done.dropped, "lay behind the end of the card and were left out"),
        (done.wrapped, "lay behind the end of the card and were wrapped to its start"),
        (done.widened, "were widened to whole blocks of 512 bytes"),
    ];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0);
    let notes = notes.map(|(count, what)| format!("Trace {name}: {count} requests {what}."));
    let notes = notes.collect();
    let every = load.every.unwrap_or(last).max(Duration::from_millis(1));
    Ok((pages.work(scenario, every.as_secs_f64(), &name)?, notes))
}

/// The error that a trace is wrong, or does not fit the card.
fn wrong_trace(place: jobs_of::Place, problem: &Problem) -> Error {
    let help = "the page `block traces` of the documents describes the formats, and what may be chosen \
                where a trace does not fit: order, ragged, beyond, disk";
    jobs::error(jobs::at(place), shown(&problem.to_string(), TEXT_SHOWN * 4), help)
}

/// A checksum of what is read from files that the scenario only names.
pub(crate) fn checksum(scenario: &Scenario) -> Result<u32, Failure> {
    match &scenario.load {
        Load::Pattern(_) => Ok(0),
        Load::Fio { jobs: load, .. } => {
            jobs::parse(load)?;
            Ok(crc32(0, load.text.as_bytes()))
        }
        Load::Trace(trace) => {
            let (mut file, mut buffer) = (open(&trace.file)?, vec![0; 1 << 16]);
            let mut sum = 0;
            loop {
                let got = file
                    .read(&mut buffer)
                    .map_err(|error| Failure::run("the trace", error, HELP))?;
                if got == 0 {
                    return Ok(sum);
                }
                sum = crc32(sum, &buffer[..got]);
            }
        }
    }
}
