//! Reads a trace request by request.
//!
//! Layer: rank 6. Main types: [`Reader`], [`Reading`], [`Format`]. A trace is untrusted: the first
//! invalid line ends it with one [`Error`]. Only one line is held at a time.

use super::line::{LineError, Lines};
use super::problem::{Error, Problem};
use super::record::{Disk, Record, Request};
use super::{blkparse, msr};
use boardlab_sim::Duration;
use std::io::BufRead;

/// The format of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The text of `blkparse`.
    Blkparse,
    /// The CSV of Microsoft Research Cambridge.
    Msr,
}

impl Format {
    /// The format of a text: CSV when its first line has six commas.
    #[must_use]
    pub fn detect(text: &[u8]) -> Self {
        let first = text.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        let commas = |line: &[u8]| line.iter().filter(|&&byte| byte == b',').count();
        if first.map(commas) == Some(6) { Self::Msr } else { Self::Blkparse }
    }

    /// Nanoseconds of a tick of its times.
    const fn tick(self) -> u64 {
        match self {
            Self::Blkparse => 1,
            Self::Msr => 100,
        }
    }
}

/// Which events of `blkparse` are the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    /// D: issued to the driver, after merging.
    #[default]
    Issued,
    /// Q: queued by the program, before merging.
    Queued,
    /// C: completed by the device.
    Completed,
}

impl Action {
    /// Its letter in the lines of `blkparse`.
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Issued => b'D',
            Self::Queued => b'Q',
            Self::Completed => b'C',
        }
    }
}

/// How a request with an earlier time than the one before is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// It is an error.
    #[default]
    Refuse,
    /// It gets the time of the one before, and is counted.
    Clamp,
}

/// How a trace is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Its format.
    pub format: Format,
    /// The events of blkparse to use.
    pub action: Action,
    /// Which disk; `None` where there is only one.
    pub disk: Option<Disk>,
    /// How times that run backwards are handled.
    pub order: Order,
}

impl Reading {
    /// The defaults for a format.
    #[must_use]
    pub const fn of(format: Format) -> Self {
        Self { format, action: Action::Issued, disk: None, order: Order::Refuse }
    }
}

/// A trace being read. It ends after the first error.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    file: String,
    reading: Reading,
    /// That of the first request, where none was chosen.
    disk: Option<Disk>,
    /// Ticks of the first request, and of the latest.
    first: Option<u64>,
    latest: u64,
    late: u64,
    requests: u64,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads `text`; errors refer to it as `file`.
    pub fn new(text: R, file: impl Into<String>, reading: Reading) -> Self {
        let (disk, file) = (reading.disk.clone(), file.into());
        let lines = Lines::new(text);
        Self {
            lines,
            file,
            reading,
            disk,
            first: None,
            latest: 0,
            late: 0,
            requests: 0,
            ended: false,
        }
    }

    /// Lines read so far.
    pub const fn lines(&self) -> u64 {
        self.lines.number
    }

    /// Requests that got the time of the one before because theirs was earlier.
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// The disk whose requests are read, once it is known.
    pub const fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    fn advance(&mut self) -> Result<Option<Record>, LineError> {
        loop {
            let number = self.lines.number + 1;
            let Some(line) = self.lines.next()? else {
                let lines = self.lines.number;
                let none = LineError { column: 1, problem: Problem::NoRequests { lines } };
                return if self.requests == 0 { Err(none) } else { Ok(None) };
            };
            let request = match self.reading.format {
                Format::Blkparse => blkparse::parse(line, self.reading.action)?,
                Format::Msr => msr::parse(line, number)?,
            };
            let Some(request) = request else { continue };
            match &self.disk {
                None => self.disk = Some(request.disk.to_disk()),
                Some(disk) if request.disk.is(disk) => {}
                Some(_) if self.reading.disk.is_some() => continue,
                Some(first) => {
                    let (first, second) = (first.to_string(), request.disk.to_disk().to_string());
                    return Err(LineError {
                        column: 1,
                        problem: Problem::SecondDisk { first, second },
                    });
                }
            }
            let request = Request { disk: super::record::DiskRef::Device(0, 0), ..request };
            return self.timed(request, number).map(Some);
        }
    }

    fn timed(&mut self, request: Request<'_>, line: u64) -> Result<Record, LineError> {
        let tick = self.reading.format.tick();
        let first = *self.first.get_or_insert(request.ticks);
        self.latest = self.latest.max(first);
        if request.ticks < self.latest {
            if self.reading.order == Order::Refuse {
                let by = (self.latest - request.ticks).saturating_mul(tick);
                let problem = Problem::Backwards { by: Duration::from_nanos(by) };
                return Err(LineError { column: 1, problem });
            }
            self.late += 1;
        }
        self.latest = self.latest.max(request.ticks);
        self.requests += 1;
        let Some(at) = (self.latest - first).checked_mul(tick) else {
            let (what, found) = ("the time since the first request", request.ticks.to_string());
            return Err(LineError { column: 1, problem: Problem::TooLarge { what, found } });
        };
        let Request { kind, offset, length, flushed, durable, .. } = request;
        let at = Duration::from_nanos(at);
        Ok(Record { at, kind, offset, length, flushed, durable, line })
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance();
        self.ended = !matches!(next, Ok(Some(_)));
        match next {
            Ok(record) => record.map(Ok),
            Err(slip) => Some(Err(slip.in_line(&self.file, self.lines.number))),
        }
    }
}
