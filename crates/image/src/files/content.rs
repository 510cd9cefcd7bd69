//! The content of files, wherever they lie: on this machine, in a mounted image, in an archive.
//!
//! Layer: rank 7. Main types: [`Source`], where the content of a file lies; [`Content`], which reads it
//! block by block.

use super::host;
use super::why::Why;
use boardlab_sim::Clock;
use boardlab_vfs::{FileExtent, FileSystem, Ino};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

/// Bytes of a block of content.
pub(crate) const BLOCK: usize = 4_096;
/// The same in the type of offsets.
const STEP: u64 = 4_096;
/// The blocks of a file in an image that are in memory at once.
const BLOCKS: usize = (64 << 20) / BLOCK;

/// Where the content of a file lies.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// In a file of this machine.
    Host(PathBuf),
    /// In an inode of a mounted image.
    Image(Rc<RefCell<Mounted>>, Ino),
    /// In a tar archive.
    Archive {
        archive: Rc<File>,
        /// Bytes of the file.
        size: u64,
        /// Its parts that are no holes, in ascending order.
        parts: Vec<Part>,
    },
}

/// A part of a file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its offset in the file.
    pub(crate) offset: u64,
    /// Its offset in the archive.
    pub(crate) at: u64,
    /// Its bytes.
    pub(crate) length: u64,
}

/// A mounted filesystem and the clock of its operations.
pub(crate) struct Mounted {
    pub(crate) fs: Box<dyn FileSystem>,
    pub(crate) clock: Clock,
}

impl fmt::Debug for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mounted")
    }
}

/// The content of a file, block by block.
#[derive(Debug)]
pub(crate) struct Content {
    reading: Reading,
    /// Its size when it was opened.
    pub(crate) size: u64,
    at: u64,
    buffer: Vec<u8>,
}

/// What is read.
#[derive(Debug)]
enum Reading {
    Host(File),
    Image(Window),
    Archive { archive: Rc<File>, parts: Vec<Part> },
}

/// Some blocks of a file in an image.
#[derive(Debug)]
struct Window {
    image: Rc<RefCell<Mounted>>,
    ino: Ino,
    /// Those that are next.
    blocks: IntoIter<u64, Vec<u8>>,
    /// The first block that did not fit.
    further: Option<u64>,
    /// What cannot be read, to be told.
    lost: Vec<Why>,
}

impl Content {
    /// Opens a file.
    pub(super) fn open(source: &Source) -> Result<Self, Why> {
        let (reading, size) = match source {
            Source::Host(path) => {
                let opened = host::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
                let (size, file) = opened.map_err(Why::Unreadable)?;
                (Reading::Host(file), size)
            }
            Source::Image(image, ino) => {
                let (window, size) = Window::open(image, *ino)?;
                (Reading::Image(window), size)
            }
            Source::Archive { archive, size, parts } => {
                (Reading::Archive { archive: Rc::clone(archive), parts: parts.clone() }, *size)
            }
        };
        Ok(Self { reading, size, at: 0, buffer: vec![0; BLOCK] })
    }

    /// The next block that is not only zeros, with its number; `None` at the end.
    ///
    /// # Errors
    /// What cannot be read: [`Why::Content`], after which nothing follows, or [`Why::Piece`].
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Why> {
        if let Reading::Image(window) = &mut self.reading {
            let Some((number, mut block)) = window.next()? else { return Ok(None) };
            block.truncate(length_at(self.size, number * STEP));
            self.buffer = block;
            return Ok(Some((number, &self.buffer)));
        }
        while self.at < self.size {
            let at = self.at;
            let length = length_at(self.size, at);
            if let Err(problem) = self.reading.read_at(&mut self.buffer[..length], at) {
                let missing = problem.kind() == io::ErrorKind::UnexpectedEof;
                self.at = self.size;
                return Err(Why::Content { at, problem: (!missing).then_some(problem) });
            }
            self.at += STEP;
            if self.buffer[..length].iter().any(|&byte| byte != 0) {
                return Ok(Some((at / STEP, &self.buffer[..length])));
            }
            let next = self.reading.next_data(self.at).unwrap_or(self.size);
            self.at = self.at.max(next / STEP * STEP);
        }
        Ok(None)
    }
}

/// Bytes of the block at `at` in a file of so many.
fn length_at(size: u64, at: u64) -> usize {
    usize::try_from(size.saturating_sub(at)).map_or(BLOCK, |left| left.min(BLOCK))
}

impl Reading {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::Host(file) => host::read_at(file, buffer, at),
            Self::Image(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Archive { archive, parts } => {
                buffer.fill(0);
                let end = at + buffer.len() as u64;
                let first = parts.partition_point(|part| part.offset + part.length <= at);
                for part in parts[first..].iter().take_while(|part| part.offset < end) {
                    let (from, to) = (part.offset.max(at), (part.offset + part.length).min(end));
                    let [begin, finish] = [from, to].map(|one| usize::try_from(one - at));
                    let (Ok(begin), Ok(finish)) = (begin, finish) else { continue };
                    host::read_at(
                        archive,
                        &mut buffer[begin..finish],
                        part.at + (from - part.offset),
                    )?;
                }
                Ok(())
            }
        }
    }

    /// The first byte from `at` on that is not in a hole; `None` when there is none.
    fn next_data(&self, at: u64) -> Option<u64> {
        match self {
            Self::Host(file) => host::next_data(file, at),
            Self::Image(_) => None,
            Self::Archive { parts, .. } => {
                let next = parts.partition_point(|part| part.offset + part.length <= at);
                parts.get(next).map(|part| part.offset.max(at))
            }
        }
    }
}

impl Window {
    /// The first blocks of a file, and its size.
    fn open(image: &Rc<RefCell<Mounted>>, ino: Ino) -> Result<(Self, u64), Why> {
        let Mounted { fs, clock } = &mut *image.borrow_mut();
        let size = fs.getattr(clock, ino).map_err(Why::Unread)?.size;
        let mut window = Self {
            image: Rc::clone(image),
            ino,
            blocks: BTreeMap::new().into_iter(),
            further: None,
            lost: Vec::new(),
        };
        window.read(fs.as_mut(), clock, 0);
        Ok((window, size))
    }

    fn next(&mut self) -> Result<Option<(u64, Vec<u8>)>, Why> {
        loop {
            if let Some(why) = self.lost.pop() {
                return Err(why);
            }
            let is_empty = |block: &[u8]| block.iter().all(|&byte| byte == 0);
            match self.blocks.next() {
                Some((_, block)) if is_empty(&block) => {}
                Some(next) => return Ok(Some(next)),
                None => {
                    let Some(from) = self.further.take() else { return Ok(None) };
                    let image = Rc::clone(&self.image);
                    let Mounted { fs, clock } = &mut *image.borrow_mut();
                    self.read(fs.as_mut(), clock, from);
                }
            }
        }
    }

    /// Reads the blocks from `from` on, as many as are kept.
    fn read(&mut self, fs: &mut dyn FileSystem, clock: &mut Clock, from: u64) {
        let mut blocks: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let (mut further, mut lost): (Option<u64>, _) = (None, Vec::new());
        let read = fs.read_extents(clock, self.ino, &mut |extent: FileExtent<'_>| {
            let FileExtent { offset, length, bytes } = extent;
            match bytes {
                Err(problem) => {
                    // Told once, with the first blocks.
                    if from == 0 {
                        let last = offset.saturating_add(length.saturating_sub(1));
                        lost.push(Why::Piece { offset, last, problem });
                    }
                }
                Ok(bytes) => put(&mut blocks, (from, further), offset, bytes),
            }
            while blocks.len() > BLOCKS {
                further = blocks.pop_last().map(|(number, _)| number);
            }
            ControlFlow::Continue(())
        });
        lost.reverse();
        self.lost = lost;
        if let Err(problem) = read {
            self.lost.push(Why::Unread(problem));
        }
        (self.blocks, self.further) = (blocks.into_iter(), further);
    }
}

/// Puts the bytes at `offset` into the blocks from `first` on, and before `end`, if there is one.
fn put(
    blocks: &mut BTreeMap<u64, Vec<u8>>,
    (first, end): (u64, Option<u64>),
    offset: u64,
    bytes: &[u8],
) {
    let (mut at, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let (number, within) = (at / STEP, usize::try_from(at % STEP).expect("below a block"));
        let (piece, more) = rest.split_at(rest.len().min(BLOCK - within));
        if number >= first && end.is_none_or(|end| number < end) {
            let block = blocks.entry(number).or_insert_with(|| vec![0; BLOCK]);
            block[within..within + piece.len()].copy_from_slice(piece);
        }
        (at, rest) = (at.saturating_add(piece.len() as u64), more);
    }
}
