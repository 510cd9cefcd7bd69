//! What can be in a file, and one content of it with the reasons to believe it.
//!
//! Layer: rank 7. Main types: [`Found`] and [`Kind`].

use crate::shape::Shape;
use boardlab_sim::Bytes;
use std::fmt;

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Filesystem of this name.
    FileSystem(&'static str),
    /// UBI volumes.
    Ubi,
    /// GPT partition table.
    Gpt,
    /// MBR partition table.
    Mbr,
    /// U-Boot image.
    UImage,
    /// Flattened device tree, or a U-Boot FIT image.
    DeviceTree,
    /// TRX firmware.
    Trx,
    /// Android boot image.
    AndroidBoot,
    /// Android sparse image.
    AndroidSparse,
    /// ELF program.
    Elf,
    /// Compressed data.
    Compressed,
    /// Archive of files.
    Archive,
    /// Text.
    Text,
    /// Erased flash: 0xFF alone.
    Erased,
    /// Zeros alone.
    Zeros,
    /// Nothing at all.
    Empty,
    /// Something else.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FileSystem(name) => return f.pad(&format!("{name} filesystem")),
            Self::Ubi => "UBI image",
            Self::Gpt => "GPT partition table",
            Self::Mbr => "MBR partition table",
            Self::UImage => "U-Boot image",
            Self::DeviceTree => "device tree or FIT image",
            Self::Trx => "TRX firmware",
            Self::AndroidBoot => "Android boot image",
            Self::AndroidSparse => "Android sparse image",
            Self::Elf => "ELF program",
            Self::Compressed => "compressed data",
            Self::Archive => "archive",
            Self::Text => "text",
            Self::Erased => "erased flash",
            Self::Zeros => "zeros",
            Self::Empty => "empty file",
            Self::Unknown => "unknown content",
        })
    }
}

/// How sure something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A magic number alone.
    Possible,
    /// Several things fit.
    Likely,
    /// Checksums or all fields of a header fit.
    Certain,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// One reason to believe something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Where in the file.
    pub at: Bytes,
    /// What is there.
    pub what: String,
}

/// One content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// Where in the file it begins.
    pub at: Bytes,
    /// How long it is, where it says so.
    pub size: Option<Bytes>,
    /// How sure that is.
    pub confidence: Confidence,
    /// More about it: version, name.
    pub detail: String,
    /// How that is known.
    pub evidence: Vec<Evidence>,
    /// Page, spare bytes and erase block, where something tells them.
    pub shape: Option<Shape>,
}

impl Found {
    /// Content of which nothing else is known yet.
    #[must_use]
    pub fn new(kind: Kind, at: Bytes, confidence: Confidence) -> Self {
        let (detail, evidence) = (String::new(), Vec::new());
        Self { kind, at, size: None, confidence, detail, evidence, shape: None }
    }

    /// With one more reason to believe it.
    #[must_use]
    pub fn because(mut self, at: Bytes, what: impl Into<String>) -> Self {
        self.evidence.push(Evidence { at, what: what.into() });
        self
    }
}
