//! One operation on a file tree, and its line of text.
//!
//! Layer: rank 6, part of [`tree`](crate::tree). Main types: [`Operation`], [`Line`]. The format is
//! docs/formats/file-tree.md, "Operations". A list from a file is untrusted input: [`parse`]
//! reports the place of an error.

use super::field::{escaped, hex, unescape, unhex};
use crate::data::Data;
use crate::error::Error;
use boardlab_sim::Duration;
use boardlab_vfs::{Device, Kind};
use std::fmt;
use std::str::FromStr;

/// The largest write or read call of an [`Operation`].
pub const CHUNK_MAX: u64 = 1 << 20;

/// One operation. Paths are relative to the root of the tree; `.` is the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Creates a directory.
    Mkdir {
        /// Where.
        path: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    /// Creates an empty file.
    File {
        /// Where.
        path: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    /// Opens a file, writes a sequence of [`Data`] in pieces, closes it.
    Write {
        /// Which.
        path: Vec<u8>,
        /// The offset.
        offset: u64,
        /// The number of bytes.
        size: u64,
        /// The data: their kind, and the seed.
        data: (Data, u64),
        /// Bytes of one write call, 1 to [`CHUNK_MAX`].
        chunk: u64,
    },
    /// Opens a file, reads it in pieces up to its end, closes it.
    Read {
        /// Which.
        path: Vec<u8>,
        /// The offset.
        offset: u64,
        /// The largest number of bytes.
        size: u64,
        /// Bytes of one read call, 1 to [`CHUNK_MAX`].
        chunk: u64,
    },
    /// Sets the size of a file.
    Truncate {
        /// Which.
        path: Vec<u8>,
        /// The new size.
        size: u64,
    },
    /// Creates a hard link.
    Link {
        /// The existing name.
        old: Vec<u8>,
        /// The new name.
        new: Vec<u8>,
    },
    /// Creates a symbolic link.
    Symlink {
        /// The target.
        target: Vec<u8>,
        /// The path of the link.
        path: Vec<u8>,
    },
    /// Creates a pipe, a socket or a device.
    Mknod {
        /// Where.
        path: Vec<u8>,
        /// The kind, other than file, directory and symbolic link.
        kind: Kind,
        /// Permission bits.
        mode: u32,
    },
    /// Sets permission bits.
    Chmod {
        /// Of what.
        path: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    /// Sets owner and group.
    Chown {
        /// Of what.
        path: Vec<u8>,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
    },
    /// Sets the times of last access and change, in seconds since 1970.
    Mtime {
        /// Of what.
        path: Vec<u8>,
        /// The time.
        seconds: i64,
    },
    /// Sets an extended attribute.
    SetXattr {
        /// Of what.
        path: Vec<u8>,
        /// Its name with the prefix.
        name: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// Removes an extended attribute.
    RemoveXattr {
        /// Of what.
        path: Vec<u8>,
        /// Its name with the prefix.
        name: Vec<u8>,
    },
    /// Renames.
    Rename {
        /// The existing name.
        old: Vec<u8>,
        /// The new name.
        new: Vec<u8>,
    },
    /// Removes a name that is not a directory.
    Unlink {
        /// What.
        path: Vec<u8>,
    },
    /// Removes an empty directory.
    Rmdir {
        /// Which.
        path: Vec<u8>,
    },
    /// Makes one file durable.
    Fsync {
        /// Which.
        path: Vec<u8>,
    },
    /// Makes everything durable.
    Sync,
    /// Waits.
    Pause {
        /// The time, in whole milliseconds.
        time: Duration,
    },
    /// Prints a line.
    Say {
        /// The line.
        text: Vec<u8>,
    },
}

/// An operation, and whether it may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Whether the run continues when it fails.
    pub may_fail: bool,
    /// The operation.
    pub operation: Operation,
}

impl From<Operation> for Line {
    fn from(operation: Operation) -> Self {
        Self { may_fail: false, operation }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.may_fail { "?" } else { "" })?;
        self.operation.fmt(f)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mkdir { path, mode } => write!(f, "mkdir {} {mode:o}", escaped(path)),
            Self::File { path, mode } => write!(f, "file {} {mode:o}", escaped(path)),
            Self::Write { path, offset, size, data: (data, seed), chunk } => {
                write!(f, "write {} {offset} {size} {data} {seed} {chunk}", escaped(path))
            }
            Self::Read { path, offset, size, chunk } => {
                write!(f, "read {} {offset} {size} {chunk}", escaped(path))
            }
            Self::Truncate { path, size } => write!(f, "truncate {} {size}", escaped(path)),
            Self::Link { old, new } => write!(f, "link {} {}", escaped(old), escaped(new)),
            Self::Symlink { target, path } => {
                write!(f, "symlink {} {}", escaped(target), escaped(path))
            }
            Self::Mknod { path, kind, mode } => {
                let (letter, device) = special(*kind);
                let Device { major, minor } = device;
                write!(f, "mknod {} {letter} {mode:o} {major} {minor}", escaped(path))
            }
            Self::Chmod { path, mode } => write!(f, "chmod {} {mode:o}", escaped(path)),
            Self::Chown { path, uid, gid } => write!(f, "chown {} {uid} {gid}", escaped(path)),
            Self::Mtime { path, seconds } => write!(f, "mtime {} {seconds}", escaped(path)),
            Self::SetXattr { path, name, value } => {
                let mut digits = String::new();
                hex(value, &mut digits);
                let digits = if value.is_empty() { "-" } else { &digits };
                write!(f, "setxattr {} {} {digits}", escaped(path), escaped(name))
            }
            Self::RemoveXattr { path, name } => {
                write!(f, "removexattr {} {}", escaped(path), escaped(name))
            }
            Self::Rename { old, new } => write!(f, "rename {} {}", escaped(old), escaped(new)),
            Self::Unlink { path } => write!(f, "unlink {}", escaped(path)),
            Self::Rmdir { path } => write!(f, "rmdir {}", escaped(path)),
            Self::Fsync { path } => write!(f, "fsync {}", escaped(path)),
            Self::Sync => f.write_str("sync"),
            Self::Pause { time } => write!(f, "pause {}", time.as_nanos() / 1_000_000),
            Self::Say { text } => write!(f, "say {}", escaped(text)),
        }
    }
}

/// The letter of a kind in the texts, and its device.
pub(super) const fn special(kind: Kind) -> (char, Device) {
    let none = Device { major: 0, minor: 0 };
    match kind {
        Kind::File => ('f', none),
        Kind::Directory => ('d', none),
        Kind::Symlink => ('l', none),
        Kind::Fifo => ('p', none),
        Kind::Socket => ('s', none),
        Kind::Character(device) => ('c', device),
        Kind::Block(device) => ('b', device),
    }
}

/// The fields of a line, taken one by one.
struct Fields<'a> {
    fields: std::str::SplitAsciiWhitespace<'a>,
    line: usize,
}

impl<'a> Fields<'a> {
    fn wrong(&self, expected: &'static str, found: &str) -> Error {
        Error::Syntax { line: self.line, expected, found: found.to_owned() }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, Error> {
        self.fields.next().ok_or_else(|| self.wrong(expected, "the end of the line"))
    }

    fn bytes(&mut self, expected: &'static str) -> Result<Vec<u8>, Error> {
        let word = self.word(expected)?;
        unescape(word).ok_or_else(|| self.wrong("\\xHH after a backslash", word))
    }

    fn path(&mut self) -> Result<Vec<u8>, Error> {
        self.bytes("a path")
    }

    fn number<N: FromStr>(&mut self, expected: &'static str) -> Result<N, Error> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| self.wrong(expected, word))
    }

    fn mode(&mut self) -> Result<u32, Error> {
        let word = self.word("permission bits in octal")?;
        let mode = u32::from_str_radix(word, 8).ok().filter(|&mode| mode <= 0o7777);
        mode.ok_or_else(|| self.wrong("permission bits in octal", word))
    }

    fn chunk(&mut self) -> Result<u64, Error> {
        let word = self.word("a chunk of 1 to 1048576 bytes")?;
        let chunk = word.parse().ok().filter(|chunk| (1..=CHUNK_MAX).contains(chunk));
        chunk.ok_or_else(|| self.wrong("a chunk of 1 to 1048576 bytes", word))
    }

    fn special(&mut self) -> Result<(Kind, u32), Error> {
        let word = self.word("p, s, c or b")?;
        let mode = self.mode()?;
        let device =
            Device { major: self.number("a major number")?, minor: self.number("a minor number")? };
        match word {
            "p" => Ok((Kind::Fifo, mode)),
            "s" => Ok((Kind::Socket, mode)),
            "c" => Ok((Kind::Character(device), mode)),
            "b" => Ok((Kind::Block(device), mode)),
            _ => Err(self.wrong("p, s, c or b", word)),
        }
    }

    fn operation(&mut self, name: &str) -> Result<Operation, Error> {
        Ok(match name {
            "mkdir" => Operation::Mkdir { path: self.path()?, mode: self.mode()? },
            "file" => Operation::File { path: self.path()?, mode: self.mode()? },
            "write" | "read" | "truncate" => return self.content(name),
            "link" => Operation::Link { old: self.path()?, new: self.path()? },
            "symlink" => Operation::Symlink { target: self.bytes("a target")?, path: self.path()? },
            "mknod" => {
                let path = self.path()?;
                let (kind, mode) = self.special()?;
                Operation::Mknod { path, kind, mode }
            }
            "rename" => Operation::Rename { old: self.path()?, new: self.path()? },
            "unlink" => Operation::Unlink { path: self.path()? },
            "rmdir" => Operation::Rmdir { path: self.path()? },
            "fsync" => Operation::Fsync { path: self.path()? },
            "sync" => Operation::Sync,
            "pause" => {
                let milliseconds: u32 = self.number("milliseconds")?;
                Operation::Pause { time: Duration::from_millis(u64::from(milliseconds)) }
            }
            "say" => Operation::Say { text: self.bytes("a text")? },
            _ => return self.attribute(name),
        })
    }

    fn content(&mut self, name: &str) -> Result<Operation, Error> {
        let path = self.path()?;
        if name == "truncate" {
            return Ok(Operation::Truncate { path, size: self.number("a size")? });
        }
        let (offset, size) = (self.number("an offset")?, self.number("a size")?);
        if name == "read" {
            return Ok(Operation::Read { path, offset, size, chunk: self.chunk()? });
        }
        let data = (self.number("a kind of data")?, self.number("a seed")?);
        Ok(Operation::Write { path, offset, size, data, chunk: self.chunk()? })
    }

    fn attribute(&mut self, name: &str) -> Result<Operation, Error> {
        Ok(match name {
            "chmod" => Operation::Chmod { path: self.path()?, mode: self.mode()? },
            "chown" => {
                let path = self.path()?;
                Operation::Chown {
                    path,
                    uid: self.number("an owner")?,
                    gid: self.number("a group")?,
                }
            }
            "mtime" => Operation::Mtime { path: self.path()?, seconds: self.number("seconds")? },
            "setxattr" => {
                let (path, name) = (self.path()?, self.bytes("a name")?);
                let digits = self.word("a value in hexadecimal digits")?;
                let value = unhex(digits);
                let wrong = || self.wrong("a value in hexadecimal digits", digits);
                Operation::SetXattr { path, name, value: value.ok_or_else(wrong)? }
            }
            "removexattr" => {
                Operation::RemoveXattr { path: self.path()?, name: self.bytes("a name")? }
            }
            _ => return Err(self.wrong("an operation", name)),
        })
    }
}

/// Reads a list of operations. Each comes with the number of its line, from 1.
///
/// # Errors
/// [`Error::Syntax`] with the line, what was expected and what was found.
pub fn parse(text: &str) -> Result<Vec<(usize, Line)>, Error> {
    let numbered = (1..).zip(text.lines());
    let lines = numbered.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| Ok((number, parse_line(number, line)?))).collect()
}

fn parse_line(line: usize, text: &str) -> Result<Line, Error> {
    let (may_fail, text) = text.strip_prefix('?').map_or((false, text), |text| (true, text));
    let mut fields = Fields { fields: text.split_ascii_whitespace(), line };
    let name = fields.word("an operation")?;
    let operation = fields.operation(name)?;
    match fields.fields.next() {
        Some(extra) => Err(fields.wrong("the end of the line", extra)),
        None => Ok(Line { may_fail, operation }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
mkdir etc 755
file etc/a\\x20name 644
write etc/a\\x20name 5 4096 percent:50 7 512
?read etc/a\\x20name 0 10 10
truncate etc/a\\x20name 3
link etc/a\\x20name b
symlink ../x\\xff l
mknod tty c 600 4 64
mknod pipe p 600 0 0
mknod sda b 660 8 1
mknod log s 666 0 0
chmod b 4755
chown b 1000 4294967295
mtime b -1
setxattr b user.a 00ff
setxattr b user.b -
removexattr b user.a
rename b \\x2d
?unlink c
rmdir etc
fsync b
sync
pause 12
say done
";

    #[test]
    fn every_operation_is_read_as_it_is_written() {
        let lines = parse(LIST).unwrap();
        assert_eq!(lines.len(), LIST.lines().count());
        let written: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
        assert_eq!(written, LIST);
        assert_eq!((lines[3].0, lines[3].1.may_fail), (4, true));
    }

    #[test]
    fn comments_and_empty_lines_count_as_lines() {
        let lines = parse("# first\n\n  \nsync\n").unwrap();
        assert_eq!(lines, [(4, Operation::Sync.into())]);
    }

    #[test]
    fn a_wrong_line_is_named_with_what_was_expected() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(message("sync\nchown a x 1"), "line 2: expected an owner, found 'x'");
        assert_eq!(
            message("mkdir a"),
            "line 1: expected permission bits in octal, found 'the end of the line'"
        );
        for wrong in [
            "?",
            "remount",
            "mkdir a 8",
            "mkdir a 10000",
            "write a 0 1 text 1 0",
            "sync now",
            "write a 0 1 text 1 1048577",
            "mknod a f 600 0 0",
            "setxattr a b 0",
            "file \\ 644",
            "write a -1 1 text 1 1",
            "pause 99999999999",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
