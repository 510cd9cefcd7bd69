//! What is not in an image, and why.
//!
//! Layer: rank 7. Main types: [`LeftOut`], [`Why`].

use super::error::reason;
use crate::names::shown;
use crate::walk::Problem;
use boardlab_vfs::{Kind, NAME_MAX};
use std::{fmt, io};

/// A word for a kind of file.
#[must_use]
pub fn kind_word(kind: Kind) -> String {
    match kind {
        Kind::File => "file".into(),
        Kind::Directory => "directory".into(),
        Kind::Symlink => "symbolic link".into(),
        Kind::Fifo => "named pipe".into(),
        Kind::Socket => "socket".into(),
        Kind::Character(device) => format!("character device {}:{}", device.major, device.minor),
        Kind::Block(device) => format!("block device {}:{}", device.major, device.minor),
    }
}

/// Something that is not in the image.
#[derive(Debug)]
pub struct LeftOut {
    /// Its path in the image.
    pub path: Vec<u8>,
    /// Why.
    pub why: Why,
}

/// Why something is not in the image.
#[derive(Debug)]
pub enum Why {
    /// The operating system cannot read it.
    Unreadable(io::Error),
    /// The file ended before its size, or cannot be read from here on: zeros are in their place.
    Content {
        /// The first byte that is missing.
        at: u64,
        /// What the operating system says, if it says anything.
        problem: Option<io::Error>,
    },
    /// The filesystem has no place for such a large file.
    Size(u64),
    /// The filesystem has no such device number.
    Device {
        /// The driver.
        major: u32,
        /// Its device.
        minor: u32,
    },
    /// The filesystem has no place for this extended attribute.
    Attribute {
        /// Its name.
        name: Vec<u8>,
        /// What it has a place for.
        expected: &'static str,
    },
    /// There is no more room for this extended attribute in the page of the header.
    NoRoom(Vec<u8>),
    /// The filesystem has no place for such a long target of a symbolic link.
    Target {
        /// Its bytes.
        found: usize,
        /// The most.
        most: usize,
    },
    /// The filesystem has no place for such a long name.
    Name {
        /// Its bytes.
        found: usize,
        /// The most.
        most: usize,
    },
    /// The filesystem has no place for such an owner or group.
    Owner {
        /// The owner.
        uid: u32,
        /// The group.
        gid: u32,
    },
    /// The filesystem has no such time: the file has the nearest one.
    Time(i64),
    /// The kind of the file is unknown.
    Kind,
    /// What it is made of is damaged.
    Problem(Problem),
    /// Some of it is missing or older in what it is made of.
    Damaged(String),
    /// A part of the content cannot be read, and is zeros.
    Piece {
        /// Its first byte.
        offset: u64,
        /// Its last byte.
        last: u64,
        /// Why.
        problem: boardlab_vfs::Error,
    },
    /// The content cannot be read.
    Unread(boardlab_vfs::Error),
    /// Its name is longer than 255 bytes.
    Long(usize),
    /// Its folder has this name already.
    Twice,
    /// Its folder is not in the image.
    Folder,
    /// It is a further name of a file that was left out.
    First,
    /// It has more content than is allowed in all.
    Limit,
    /// The metadata have it, and the folder does not.
    Missing(Kind),
    /// The metadata are those of something else.
    OtherKind {
        /// What it is.
        found: Kind,
        /// What the metadata say.
        expected: Kind,
    },
    /// An archive does not describe it in a way that can be understood.
    Entry(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(problem) => write!(f, "cannot be read: {}", reason(problem)),
            Self::Content { at, problem: Some(problem) } => {
                write!(f, "the content from byte {at} on: {}", reason(problem))
            }
            Self::Content { at, problem: None } => {
                write!(f, "the content from byte {at} on: the file became shorter meanwhile")
            }
            Self::Size(size) => write!(f, "{size} bytes are more than a file can have"),
            Self::Device { major, minor } => write!(f, "no device can be {major}:{minor}"),
            Self::Attribute { name, expected } => {
                write!(f, "the extended attribute `{}`: {expected}", shown(name))
            }
            Self::NoRoom(name) => write!(
                f,
                "the extended attribute `{}`: all of them must fit into a page, behind 512 bytes",
                shown(name)
            ),
            Self::Target { found, most } => {
                write!(f, "its target of {found} bytes: there is room for {most}")
            }
            Self::Name { found, most } => {
                write!(f, "its name of {found} bytes: there is room for {most}")
            }
            Self::Owner { uid, gid } => write!(
                f,
                "owner {uid} and group {gid}: numbers go up to 65,535; --squash-uids gives all to root"
            ),
            Self::Time(seconds) => {
                write!(f, "its time, {seconds} seconds from 1970: times go from 1970 to 2106")
            }
            Self::Kind => f.write_str("its kind is unknown"),
            Self::Problem(problem) => problem.fmt(f),
            Self::Damaged(words) => write!(f, "damaged: {words}"),
            Self::Piece { offset, last, problem } => {
                write!(f, "bytes {offset} to {last} are zeros: {problem}")
            }
            Self::Unread(problem) => write!(f, "the content cannot be read: {problem}"),
            Self::Long(length) => write!(f, "its name has {length} bytes of at most {NAME_MAX}"),
            Self::Twice => f.write_str("its folder has another one of this name"),
            Self::Folder => f.write_str("its folder was left out"),
            Self::First => f.write_str("the first name of this file was left out"),
            Self::Limit => f.write_str("more content than the limit allows; --max-size raises it"),
            Self::Missing(kind) => {
                write!(f, "a {} of the metadata that is missing in the folder", kind_word(*kind))
            }
            Self::OtherKind { found, expected } => write!(
                f,
                "its owner, mode and attributes of the metadata, which are those of a {}: it is a {}",
                kind_word(*expected),
                kind_word(*found)
            ),
            Self::Entry(words) => f.write_str(words),
        }
    }
}
