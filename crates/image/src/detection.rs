//! The kinds of content of a file, and a detected content with its evidence.
//!
//! Layer: rank 7. Main types: [`Detection`] and [`Kind`].

use crate::shape::Shape;
use boardlab_sim::Bytes;
use std::fmt;

/// A kind of content.
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
    /// Linux kernel.
    Kernel,
    /// U-Boot image.
    UImage,
    /// The boot loader U-Boot.
    UBoot,
    /// The environment of U-Boot.
    Environment,
    /// A header for the boot ROM of a processor.
    BootHeader,
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
            Self::Kernel => "Linux kernel",
            Self::UImage => "U-Boot image",
            Self::UBoot => "U-Boot",
            Self::Environment => "U-Boot environment",
            Self::BootHeader => "header for a boot ROM",
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

/// The confidence of a detection.
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

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The offset in the file.
    pub at: Bytes,
    /// What is there.
    pub what: String,
}

/// One content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The kind.
    pub kind: Kind,
    /// The offset in the file.
    pub at: Bytes,
    /// The length, where the content states it.
    pub size: Option<Bytes>,
    /// The confidence.
    pub confidence: Confidence,
    /// Details, such as version or name.
    pub detail: String,
    /// The evidence.
    pub evidence: Vec<Evidence>,
    /// The shape of the flash, where the content shows it.
    pub shape: Option<Shape>,
}

impl Detection {
    /// A detection without details.
    #[must_use]
    pub fn new(kind: Kind, at: Bytes, confidence: Confidence) -> Self {
        let (detail, evidence) = (String::new(), Vec::new());
        Self { kind, at, size: None, confidence, detail, evidence, shape: None }
    }

    /// Whether an offset is within it, as far as its size is known.
    pub(crate) fn covers(&self, at: Bytes) -> bool {
        self.size.is_some_and(|size| (self.at..self.at + size).contains(&at))
    }

    /// Adds a piece of evidence.
    #[must_use]
    pub fn because(mut self, at: Bytes, what: impl Into<String>) -> Self {
        self.evidence.push(Evidence { at, what: what.into() });
        self
    }
}
