//! One request of a trace.
//!
//! Layer: rank 6. Main types: [`Record`], [`Kind`], [`Disk`].

use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard (TRIM).
    Discard,
    /// Make everything durable.
    Flush,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Discard, Self::Flush];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }
}

/// A request as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Since the first request of the trace.
    pub at: Duration,
    /// What.
    pub kind: Kind,
    /// First byte.
    pub offset: Bytes,
    /// How many; none for a flush.
    pub length: Bytes,
    /// A flush comes before it (F in front of the direction).
    pub flushed: bool,
    /// It completes only when it is on the medium (F after the direction).
    pub durable: bool,
    /// Its line, from 1.
    pub line: u64,
}

/// The disk of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Disk {
    /// Major and minor number.
    Device(u32, u32),
    /// Name of the computer, number of the disk.
    Host(String, u32),
}

impl Disk {
    /// Parses the name of a disk: `8,0` or `host.1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((major, minor)) = text.split_once(',') {
            return Some(Self::Device(major.parse().ok()?, minor.parse().ok()?));
        }
        let (host, number) = text.rsplit_once('.')?;
        (!host.is_empty()).then(|| Some(Self::Host(host.to_owned(), number.parse().ok()?)))?
    }
}

/// The disk in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskRef<'a> {
    Device(u32, u32),
    Host(&'a str, u32),
}

impl DiskRef<'_> {
    #[inline]
    pub(super) fn is(self, disk: &Disk) -> bool {
        match (self, disk) {
            (Self::Device(a, b), Disk::Device(major, minor)) => (a, b) == (*major, *minor),
            (Self::Host(name, a), Disk::Host(host, number)) => name == host && a == *number,
            _ => false,
        }
    }

    pub(super) fn to_disk(self) -> Disk {
        match self {
            Self::Device(major, minor) => Disk::Device(major, minor),
            Self::Host(host, number) => Disk::Host(host.to_owned(), number),
        }
    }
}

/// A request as a line has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) disk: DiskRef<'a>,
    /// Time in the format's ticks.
    pub(super) ticks: u64,
    pub(super) kind: Kind,
    pub(super) offset: Bytes,
    pub(super) length: Bytes,
    pub(super) flushed: bool,
    pub(super) durable: bool,
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(major, minor) => write!(f, "{major},{minor}"),
            Self::Host(host, number) => write!(f, "{host}.{number}"),
        }
    }
}
