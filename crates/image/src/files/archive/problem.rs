//! Why a file is no tar archive, or not a whole one.
//!
//! Layer: rank 7. Main type: [`ArchiveProblem`].

use std::fmt;
use std::io;

/// What is wrong with a tar archive.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArchiveProblem {
    /// The operating system cannot read it.
    Unreadable(io::Error),
    /// It is compressed.
    Compressed {
        /// The program that reads it.
        by: &'static str,
    },
    /// There is no header of an entry, since its checksum is another.
    Checksum {
        /// The checksum that it has.
        found: u32,
        /// The one of its bytes.
        expected: u32,
    },
    /// There is no header of an entry, since it has no checksum.
    NoHeader,
    /// It is shorter than its entries.
    Short {
        /// Its bytes.
        length: u64,
        /// Those that it needs at least.
        needed: u64,
    },
    /// It ends without the blocks of zeros that end an archive.
    NoEnd,
    /// A field is no number that it can be.
    Number {
        /// The field.
        field: &'static str,
    },
    /// An extended header is longer than any that tar writes.
    Long {
        /// Its bytes.
        found: u64,
        /// The most.
        most: u64,
    },
    /// An extended header is no list of records.
    Record,
    /// The map of a sparse file contradicts itself or the file.
    Sparse,
}

impl ArchiveProblem {
    /// A hint what to try.
    pub(in crate::files) fn help(&self) -> String {
        match self {
            Self::Unreadable(_) => "name a tar archive, or - for standard input".into(),
            Self::Compressed { by } => {
                format!("decompress it first: {by} -dc FILE | boardlab image create --tar - OUTPUT")
            }
            Self::Checksum { .. } | Self::NoHeader => "is this a whole tar archive?".into(),
            Self::Short { .. } | Self::NoEnd => "it was cut off: make or copy it again".into(),
            Self::Number { .. } | Self::Long { .. } | Self::Record | Self::Sparse => {
                "it is damaged: make or copy it again".into()
            }
        }
    }
}

impl fmt::Display for ArchiveProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(problem) => {
                write!(f, "the archive cannot be read: {}", crate::files::error::reason(problem))
            }
            Self::Compressed { by } => write!(f, "the archive is compressed, by {by}"),
            Self::Checksum { found, expected } => write!(
                f,
                "no header of an entry: its checksum is {found:#o}, that of its bytes {expected:#o}"
            ),
            Self::NoHeader => f.write_str("no header of an entry: it has no checksum"),
            Self::Short { length, needed } => {
                write!(f, "the archive has {length} bytes of at least {needed}")
            }
            Self::NoEnd => f.write_str("the archive ends without its two blocks of zeros"),
            Self::Number { field } => write!(f, "the {field} of an entry is no number it can be"),
            Self::Long { found, most } => {
                write!(f, "an extended header has {found} bytes of at most {most}")
            }
            Self::Record => f.write_str("an extended header is no list of `LENGTH KEY=VALUE`"),
            Self::Sparse => f.write_str("the map of a sparse file contradicts itself or the file"),
        }
    }
}
