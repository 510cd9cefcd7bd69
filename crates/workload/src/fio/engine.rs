//! Runs jobs on a block device in virtual time.
//!
//! Layer: rank 6. Main types: [`run`], [`Host`], [`Run`], [`Report`], [`Failure`]. Copies of jobs
//! take turns by time: the one whose next step is earliest goes first, so that the device sees
//! requests in order. Jobs after a `stonewall` wait for all before them, `wait_for` for one.
//!
//! A job without `direct=1` would go through the page cache of the host, which a bare device does
//! not have: it is refused, unless its engine reaches no device. Files lie one after the other on
//! the device, without a filesystem's own writes; those of the engine `null` have no place.

use crate::fio::account::Account;
use crate::fio::data::{LARGEST, WriteData};
use crate::fio::job::{Job, JobFile};
use crate::fio::output::bandwidth;
use crate::fio::places::Span;
use crate::fio::problem::{Note, Place};
use crate::fio::reading::Amount;
use crate::fio::settings::Direction;
use crate::fio::worker::{LATEST, Tools, Worker};
use boardlab_block::BlockDevice;
use boardlab_sim::{Clock, Duration, Instant, Seed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// The host on which fio would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// What each request costs before it reaches the device.
    pub submit: Duration,
    /// What each completion costs before the next request.
    pub complete: Duration,
    /// The seed of all random choices; `randseed` of a job takes precedence.
    pub seed: Seed,
}

impl Default for Host {
    /// A host that takes no time.
    fn default() -> Self {
        Self { submit: Duration::ZERO, complete: Duration::ZERO, seed: Seed::new(1) }
    }
}

/// A job that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The place of the impossible option, or else the beginning of the job.
    pub place: Place,
    /// Which.
    pub job: String,
    /// Why.
    pub what: &'static str,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The job cannot be run on this device.
    Job(Misfit),
    /// The device returned an error.
    Device {
        /// In which job.
        job: String,
        /// The operation.
        what: &'static str,
        /// Where, in bytes.
        offset: u64,
        /// The error of the device.
        cause: boardlab_block::Error,
    },
    /// Requests take no time, so that the runtime never ends.
    NoProgress {
        /// Which job.
        job: String,
        /// After so many requests.
        requests: u64,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(Misfit { place, job, what }) => write!(f, "{place}: {job}: {what}"),
            Self::Device { job, what, offset, cause } => {
                write!(f, "{job}: {what} at offset {offset:#x}: {cause}")
            }
            Self::NoProgress { job, requests } => {
                write!(f, "{job}: {requests} requests took no time: the runtime would never end")
            }
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// The report of one copy of a job, or with `group_reporting` of a group of copies.
#[derive(Debug, Clone)]
pub struct Report {
    /// Name of the job.
    pub name: String,
    /// Number of the job in the file.
    pub job: usize,
    /// Number of the group.
    pub group: usize,
    /// Copies in this report.
    pub copies: u64,
    /// Its statistics.
    pub account: Account,
    /// When it started.
    pub started: Instant,
    /// When it ended.
    pub ended: Instant,
    /// Files and devices opened, as fio opens them: twice for each loop.
    pub opens: u64,
}

impl Report {
    /// Bytes per second of one direction, as fio computes it: over the whole counted time.
    #[must_use]
    pub fn bandwidth(&self, direction: Direction) -> u64 {
        let account = &self.account;
        bandwidth(&account.totals[direction as usize], account.elapsed())
    }
}

/// The reports of all jobs.
#[derive(Debug, Clone)]
pub struct Run {
    /// In the order of the file.
    pub reports: Vec<Report>,
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// When the first job could start.
    pub started: Instant,
    /// When the last one ended.
    pub ended: Instant,
}

/// Checks whether the jobs can be run on any device at all.
///
/// # Errors
/// [`Misfit`].
pub fn check(file: &JobFile) -> Result<(), Misfit> {
    let is_buffered = |job: &Job| {
        let submission = &job.settings.submission;
        !submission.direct && !submission.engine.null
    };
    let what =
        "buffered requests need the page cache of a host, which is not modelled: give direct=1";
    let unfit = UnfitReason { what, options: &["direct", "buffered"] };
    match file.jobs.iter().position(is_buffered) {
        Some(index) => Err(unfit.of(file, index)),
        None => Ok(()),
    }
}

/// Runs all jobs of a file; the clock stands at the end of the last.
///
/// # Errors
/// [`Failure`].
pub fn run<D: BlockDevice>(
    device: &mut D,
    clock: &mut Clock,
    file: &JobFile,
    host: &Host,
) -> Result<Run, Failure> {
    check(file)?;
    let started = clock.now();
    let (size, seed) = (device.geometry().size().get(), host.seed);
    let mut layout = Layout { device: size, files: Vec::new(), used: 0, seed };
    let mut notes = file.notes.clone();
    let mut copies = Vec::new();
    for (index, job) in file.jobs.iter().enumerate() {
        for number in 0..job.settings.copies {
            let copy = Copy::new(index, job, number, &mut layout, &mut notes, host);
            copies.push(copy.map_err(|unfit| unfit.of(file, index))?);
        }
    }
    let mut bench = Bench { device, file, started, tools: Tools { host: *host, most: MOST_IDLE } };
    bench.all(&mut copies)?;
    let ended = copies.iter().filter_map(|copy| copy.ended).max().unwrap_or(started);
    clock.advance_to(ended);
    Ok(Run { reports: reports(file, copies), notes, started, ended })
}

/// The limit of requests without progress of time in a time-based job.
const MOST_IDLE: u64 = 10_000_000;

/// Why a job does not fit the device, and the options responsible.
struct UnfitReason {
    what: &'static str,
    options: &'static [&'static str],
}

impl UnfitReason {
    /// The error for the job `index`.
    fn of(self, file: &JobFile, index: usize) -> Misfit {
        let place = file.place_of(index, self.options).clone();
        Misfit { place, job: file.jobs[index].name.clone(), what: self.what }
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        Self::Job(misfit)
    }
}

/// The limit of requests of the engine `null`, at some ten million per second.
const MOST_NULL: u64 = 1 << 28;

/// The largest number of requests of a job on `spans`.
fn requests(job: &Job, spans: &[Span]) -> u64 {
    let (settings, area) = (&job.settings, &job.settings.area);
    let size = spans.iter().fold(0_u64, |size, span| size.saturating_add(span.length));
    let bytes = area.io_size.map_or(size, |amount| amount.of(size));
    let most = if area.number_ios > 0 { area.number_ios } else { u64::MAX };
    (bytes / settings.smallest_block()).min(most).saturating_mul(settings.loops)
}

/// A copy of a job, before and while it runs.
struct Copy<'j> {
    job: usize,
    settings: &'j Job,
    worker: Worker<'j>,
    delay: Duration,
    started: Option<Instant>,
    ended: Option<Instant>,
}

impl<'j> Copy<'j> {
    fn new(
        index: usize,
        job: &'j Job,
        number: u64,
        layout: &mut Layout,
        notes: &mut Vec<Note>,
        host: &Host,
    ) -> Result<Self, UnfitReason> {
        let settings = &job.settings;
        let engine = settings.submission.engine;
        let spans = layout.spans(job, number, notes)?;
        if engine.null && requests(job, &spans) > MOST_NULL {
            let what = "more than 268435456 requests that reach no device";
            return Err(UnfitReason { what, options: &["size", "filesize", "io_size", "loops"] });
        }
        let base = settings.randomness.seed.map_or(host.seed, Seed::new);
        // Without randrepeat each run of fio differs; within one scenario the seed decides.
        let repeat = if settings.randomness.repeat { "" } else { ".again" };
        let seed = base.child(&format!("fio.{index}.{number}{repeat}"));
        let filling = WriteData::new(&settings.contents, settings.largest_block(), seed)
            .filter(|filling| filling.memory().saturating_mul(settings.copies) <= LARGEST)
            .ok_or(UnfitReason {
                what: "equal or patterned data must fit 256 MiB: smaller blocks or fewer copies",
                options: &["bs", "bsrange", "bssplit", "numjobs"],
            })?;
        let (low, high) = settings.timing.start_delay;
        let spread = high.as_nanos() - low.as_nanos();
        let extra = seed.stream("fio.start").below(spread.saturating_add(1));
        let worker = Worker::new(job, &spans, seed, filling);
        let delay = low + Duration::from_nanos(extra);
        Ok(Self { job: index, settings: job, worker, delay, started: None, ended: None })
    }
}

/// The running copies and the device.
struct Bench<'a, D> {
    device: &'a mut D,
    file: &'a JobFile,
    started: Instant,
    tools: Tools,
}

impl<D: BlockDevice> Bench<'_, D> {
    fn all(&mut self, copies: &mut [Copy<'_>]) -> Result<(), Failure> {
        let mut ready: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
        self.start(copies, &mut ready)?;
        while let Some(Reverse((_, mut index))) = ready.pop() {
            // While no other copy is earlier, the same copy continues without the heap.
            loop {
                let next = copies[index].worker.step(self.device, &self.tools)?;
                let Some(at) = next else {
                    copies[index].ended = Some(copies[index].worker.now());
                    self.start(copies, &mut ready)?;
                    break;
                };
                match ready.peek() {
                    Some(Reverse(other)) if *other < (at, index) => {
                        let Some(Reverse((_, other))) = ready.pop() else { break };
                        ready.push(Reverse((at, index)));
                        index = other;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Starts every copy whose turn has come.
    fn start(
        &self,
        copies: &mut [Copy<'_>],
        ready: &mut BinaryHeap<Reverse<(Instant, usize)>>,
    ) -> Result<(), Failure> {
        for index in 0..copies.len() {
            if copies[index].started.is_some() {
                continue;
            }
            let Some(since) = self.due(copies, copies[index].job) else { continue };
            let at = since.saturating_add(copies[index].delay);
            if at > LATEST {
                let what = "it would start after more than 292 years";
                let unfit = UnfitReason { what, options: &["startdelay"] };
                return Err(unfit.of(self.file, copies[index].job).into());
            }
            copies[index].started = Some(at);
            copies[index].worker.start(at, &self.tools);
            ready.push(Reverse((at, index)));
        }
        Ok(())
    }

    /// When a job may start; `None` while it must wait.
    fn due(&self, copies: &[Copy<'_>], job: usize) -> Option<Instant> {
        let jobs = &self.file.jobs;
        let wall = (0..=job).rev().find(|&index| jobs[index].settings.stonewall).unwrap_or(0);
        let name = jobs[job].settings.wait_for.as_ref();
        let waitee = name.and_then(|name| (0..job).rev().find(|&at| jobs[at].name == *name));
        let before = copies.iter().filter(|copy| copy.job < wall || Some(copy.job) == waitee);
        before.map(|copy| copy.ended).try_fold(self.started, |due, ended| Some(due.max(ended?)))
    }
}

/// The layout of files on the device.
struct Layout {
    /// Size of the device.
    device: u64,
    files: Vec<(String, Span)>,
    used: u64,
    /// The seed of sizes between two bounds.
    seed: Seed,
}

/// Files begin at multiples of this.
const FILE_UNIT: u64 = 1 << 20;

impl Layout {
    fn spans(
        &mut self,
        job: &Job,
        number: u64,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Span>, UnfitReason> {
        let (area, engine) = (&job.settings.area, job.settings.submission.engine);
        let name = |file: u64| {
            let name = area.format.replace("$jobname", &job.name);
            let name = name.replace("$jobnum", &number.to_string());
            name.replace("$filenum", &file.to_string())
        };
        let names = match area.filenames.is_empty() {
            true => (0..area.files).map(name).collect(),
            false => area.filenames.clone(),
        };
        let count = u64::try_from(names.len()).expect("u64 holds usize").max(1);
        let whole = Span { start: 0, length: self.device };
        let mut spans = Vec::new();
        for name in names {
            let is_device = name.starts_with("/dev/") || engine.name == "mtd";
            let base = match is_device {
                _ if engine.null => Span { start: 0, length: self.length(job, &name, count)? },
                true => whole,
                false => self.file(job, &name, count)?,
            };
            spans.push(part(job, number, base, count, notes)?);
        }
        Ok(spans)
    }

    /// An existing file, or a new one after the last.
    fn file(&mut self, job: &Job, name: &str, count: u64) -> Result<Span, UnfitReason> {
        if let Some((_, span)) = self.files.iter().find(|(known, _)| known == name) {
            return Ok(*span);
        }
        let length = self.length(job, name, count)?;
        if length > self.device.saturating_sub(self.used) {
            return Err(UnfitReason {
                what: "the device has no room for the files of this job",
                options: &["size", "filesize", "nrfiles", "offset"],
            });
        }
        let span = Span { start: self.used, length };
        self.used += length.div_ceil(FILE_UNIT).saturating_mul(FILE_UNIT);
        self.files.push((name.to_owned(), span));
        Ok(span)
    }

    /// The length of a new file.
    fn length(&self, job: &Job, name: &str, count: u64) -> Result<u64, UnfitReason> {
        let (area, engine) = (&job.settings.area, job.settings.submission.engine);
        let offset = match area.offset {
            Some(Amount::Bytes(offset)) => offset,
            _ => 0,
        };
        let length = match (area.filesize, area.size) {
            (Some((low, high)), _) => {
                let mut stream = self.seed.stream(&format!("fio.size.{name}"));
                low + stream.below((high - low).saturating_add(1))
            }
            (None, Some(Amount::Bytes(size))) => (size / count).saturating_add(offset),
            // fill_device of an engine without a device would never end.
            (None, _) if area.fill_device && !engine.null => self.device.saturating_sub(self.used),
            (None, _) => {
                let what = "you need to specify size= of a file";
                return Err(UnfitReason { what, options: &["size"] });
            }
        };
        match length {
            0 => Err(UnfitReason { what: "a file without bytes", options: &["size", "filesize"] }),
            length => Ok(length),
        }
    }
}

/// The part of a file or device that a copy works on.
fn part(
    job: &Job,
    number: u64,
    base: Span,
    count: u64,
    notes: &mut Vec<Note>,
) -> Result<Span, UnfitReason> {
    let area = &job.settings.area;
    let smallest = job.settings.smallest_block();
    let align = if area.offset_align > 0 { area.offset_align } else { smallest };
    let place = |amount: Option<Amount>| match amount {
        Some(Amount::Bytes(bytes)) => bytes,
        Some(percent) => percent.of(base.length) / align * align,
        None => 0,
    };
    let offset = place(area.increment).checked_mul(number);
    let offset = offset.and_then(|more| more.checked_add(place(area.offset)));
    let offset = offset.filter(|offset| *offset < base.length).ok_or(UnfitReason {
        what: "the offset lies beyond the device or file",
        options: &["offset", "offset_increment"],
    })?;
    let left = base.length - offset;
    let asked = match area.size {
        _ if area.fill_device => left,
        None => left,
        Some(Amount::Bytes(bytes)) => bytes / count,
        Some(percent) => percent.of(base.length),
    };
    let length = asked.min(left);
    if length < asked {
        let note = Note::Clamped { job: job.name.clone(), asked, given: length };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if length < smallest {
        let what = "size too small, must not be less than minimum block size";
        return Err(UnfitReason {
            what,
            options: &["size", "filesize", "bs", "bsrange", "bssplit"],
        });
    }
    Ok(Span { start: base.start + offset, length })
}

/// One report for each copy, or for each group that requests it.
fn reports(file: &JobFile, copies: Vec<Copy<'_>>) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    let group_of = |job: usize| {
        let opens = |job: &&Job| job.settings.stonewall || job.settings.new_group;
        file.jobs[1.min(job)..=job].iter().skip(usize::from(job == 0)).filter(opens).count()
    };
    for copy in copies {
        let group = group_of(copy.job);
        let started = copy.started.unwrap_or_default();
        let ended = copy.ended.unwrap_or(started);
        let (account, opens) = copy.worker.finish();
        let last = reports
            .last_mut()
            .filter(|last| copy.settings.settings.reporting.group && last.group == group);
        if let Some(last) = last {
            last.account.merge(&account);
            last.copies += 1;
            last.opens += opens;
            last.ended = last.ended.max(ended);
            continue;
        }
        let (name, job) = (copy.settings.name.clone(), copy.job);
        reports.push(Report { name, job, group, copies: 1, account, started, ended, opens });
    }
    reports
}
