//! What became of requests: the events of `blkparse`, one after the other.
//!
//! Layer: rank 6. Main types: [`Events`], [`Event`]. Unlike [`super::Reader`] it gives events of all disks, as they
//! stand there: events of several processors may be a little out of order.

use super::blkparse;
use super::line::{LineError, Lines};
use super::problem::Error;
use super::reader::Action;
use super::record::{Disk, Kind};
use boardlab_sim::Bytes;
use std::io::BufRead;

/// Something that happened to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub action: Action,
    /// On which disk.
    pub disk: Disk,
    /// When, in nanoseconds of the trace.
    pub at_ns: u64,
    /// The kind of the request.
    pub kind: Kind,
    /// Its first byte.
    pub offset: Bytes,
    /// Its bytes; none for a flush.
    pub length: Bytes,
}

/// The events of a trace. They end after the first error.
#[derive(Debug)]
pub struct Events<R> {
    lines: Lines<R>,
    file: String,
    wanted: &'static [Action],
    ended: bool,
}

impl<R: BufRead> Events<R> {
    /// Reads those of `wanted` in `text`; errors refer to it as `file`.
    pub fn new(text: R, file: impl Into<String>, wanted: &'static [Action]) -> Self {
        Self { lines: Lines::new(text), file: file.into(), wanted, ended: false }
    }

    fn advance(&mut self) -> Result<Option<Event>, LineError> {
        while let Some(line) = self.lines.next()? {
            if let Some((action, request)) = blkparse::event(line, self.wanted)? {
                let (at_ns, disk) = (request.ticks, request.disk.to_disk());
                let (kind, offset, length) = (request.kind, request.offset, request.length);
                return Ok(Some(Event { action, disk, at_ns, kind, offset, length }));
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance();
        self.ended = !matches!(next, Ok(Some(_)));
        match next {
            Ok(event) => event.map(Ok),
            Err(slip) => Some(Err(slip.in_line(&self.file, self.lines.number))),
        }
    }
}
