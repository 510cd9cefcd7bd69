//! Skipped items of an extraction, and the reasons.
//!
//! Layer: rank 7. Main types: [`SkippedItem`] and [`SkipReason`].

use crate::names::shown;
use crate::walk::Problem;
use boardlab_vfs::Kind;
use std::fmt;
use std::io;

/// An item that was skipped as a whole or in part.
#[derive(Debug)]
pub struct SkippedItem {
    /// Its path in the image.
    pub path: Vec<u8>,
    /// Why.
    pub why: SkipReason,
}

/// Why an item was skipped as a whole or in part.
#[derive(Debug)]
pub enum SkipReason {
    /// It is damaged.
    Problem(Problem),
    /// It is a device node, a named pipe or a socket.
    Kind(Kind),
    /// Its directory was skipped.
    Folder,
    /// The operating system refuses it.
    System(io::Error),
    /// Its content cannot be read to the end; the readable beginning was written.
    Content(boardlab_vfs::Error),
    /// Parts of its content are unreadable; they were written as zeros.
    Pieces(Vec<String>),
    /// Some of it is missing or older; the existing content was written.
    Damaged(String),
    /// The limit of content is exceeded.
    Limit,
    /// Its owner and group are not extracted.
    Owner(u32, u32),
    /// Privileged bits of its mode: set-user-ID, set-group-ID, sticky.
    Bits(u32),
    /// Extended attributes.
    Attributes(Vec<Vec<u8>>),
}

impl SkipReason {
    /// Whether a requested name or content is lost, rather than deliberately skipped.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        !matches!(self, Self::Kind(_) | Self::Owner(..) | Self::Bits(_) | Self::Attributes(_))
    }

    /// A word for all reasons of a kind.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Problem(Problem::Damaged(_)) | Self::Damaged(_) => "damaged",
            Self::Content(_) | Self::Pieces(_) => "content that cannot be read",
            Self::Problem(Problem::Name) => "names that no file can have",
            Self::Problem(Problem::TooDeep { .. }) => "directories that are too deep",
            Self::Problem(_) => "names that lead nowhere",
            Self::Kind(_) => "devices, pipes and sockets",
            Self::Folder => "names in directories that were left out",
            Self::System(_) => "names that the operating system does not take",
            Self::Limit => "files beyond the limit of content",
            Self::Owner(..) => "owners",
            Self::Bits(_) => "bits of set-user-ID, set-group-ID and sticky",
            Self::Attributes(_) => "extended attributes",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(f),
            Self::Kind(Kind::Character(_)) => f.write_str("a character device"),
            Self::Kind(Kind::Block(_)) => f.write_str("a block device"),
            Self::Kind(Kind::Fifo) => f.write_str("a named pipe"),
            Self::Kind(_) => f.write_str("a socket"),
            Self::Folder => f.write_str("its directory was left out"),
            Self::System(problem) => {
                let text = problem.to_string();
                f.write_str(&text.split(" (os error").next().unwrap_or(&text).to_lowercase())
            }
            Self::Content(problem) => write!(f, "not whole: {problem}"),
            Self::Pieces(pieces) => write!(f, "not whole: {}", pieces.join("; ")),
            Self::Damaged(words) => write!(f, "damaged: {words}"),
            Self::Limit => f.write_str("more content than the limit allows; --max-size raises it"),
            Self::Owner(uid, gid) => write!(f, "its owner {uid} and group {gid}"),
            Self::Bits(bits) => {
                let names =
                    [(0o4_000, "set-user-ID"), (0o2_000, "set-group-ID"), (0o1_000, "sticky")];
                let set = names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name);
                write!(f, "its bits {}", set.collect::<Vec<_>>().join(", "))
            }
            Self::Attributes(names) => {
                let names: Vec<_> = names.iter().map(|name| shown(name)).collect();
                write!(f, "its extended attributes {}", names.join(", "))
            }
        }
    }
}
