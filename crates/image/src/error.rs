//! Why an image is not opened, read or written.
//!
//! Layer: rank 7. Main type: [`Error`]: where, what was found, what was expected, and what would fit
//! as [`Error::help`]. Images are untrusted: names and numbers from them are shown as they are only
//! where they are harmless.

use crate::shape::{BLOCK_SIZES, OOB_SIZE_MAX, PAGE_SIZE_MAX, Shape, Unsound};
use boardlab_sim::Bytes;
use std::{fmt, io};

/// Why an image is not opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// The operating system does not give it.
    Unreadable {
        /// What it says.
        problem: io::Error,
    },
    /// There is nothing in it.
    Empty,
    /// It holds more blocks or pages than can be counted.
    TooLarge {
        /// How long it is.
        length: Bytes,
        /// In which shape.
        shape: Shape,
    },
    /// Page, spare bytes and erase block do not fit together.
    Unsound {
        /// Which of them.
        problem: Unsound,
    },
    /// The layout of the spare bytes reaches beyond them.
    SpareBeyond {
        /// How many there are.
        oob: Bytes,
    },
}

impl Error {
    /// What to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NotAFile => "dump the flash into a file first".into(),
            Self::Unreadable { .. } => "name an image file that can be read".into(),
            Self::Empty => "the dump has failed; take it again".into(),
            Self::TooLarge { .. } => "give a larger page or erase block".into(),
            Self::Unsound { problem } => match problem {
                Unsound::Page(_) => format!("expected 1 byte (NOR) to {PAGE_SIZE_MAX}"),
                Unsound::Oob(_) => {
                    format!("expected up to {OOB_SIZE_MAX}, and pages of more than a byte")
                }
                Unsound::Block(_) => {
                    let [smallest, largest] = BLOCK_SIZES;
                    format!("expected whole pages, {smallest} to {largest}")
                }
            },
            Self::SpareBeyond { .. } => "choose a layout for these spare bytes".into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Unreadable { problem } => {
                let text = problem.to_string();
                f.write_str(&text.split(" (os error").next().unwrap_or(&text).to_lowercase())
            }
            Self::Empty => f.write_str("the image is empty"),
            Self::TooLarge { length, shape } => {
                write!(
                    f,
                    "the image of {length} has more blocks or pages than can be counted: {shape}"
                )
            }
            Self::Unsound { problem } => match problem {
                Unsound::Page(page) => write!(f, "a page of {page} is none of a flash"),
                Unsound::Oob(oob) => write!(f, "a page cannot have {} spare bytes", oob.get()),
                Unsound::Block(block) => write!(f, "an erase block of {block} does not fit"),
            },
            Self::SpareBeyond { oob } => {
                write!(f, "the layout needs more than {} spare bytes", oob.get())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { problem } => Some(problem),
            _ => None,
        }
    }
}
