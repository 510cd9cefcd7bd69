//! The bytes of an image, in a file or in memory.
//!
//! Layer: rank 7. Main type: [`Contents`]; `Reader` for many small reads. Only the requested parts
//! of a file are read, through the page cache of the operating system, so that an image of many GiB
//! takes no memory; those of a short one may stay in memory. Pages in which a controller mixes data and code are
//! arranged as they are read. A clone is cheap and shares the file. Left out: memory maps, which would need
//! `unsafe`, and anything but regular files, which have neither a length nor a seekable position.

use crate::controller::{PageCode, PageMap};
use crate::error::Error;
use crate::file::StoredFile;
use crate::patches::Patches;
use crate::shape::LAYOUTS;
use boardlab_sim::Bytes;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// The bytes of an image.
#[derive(Debug, Clone)]
pub struct Contents {
    source: Arc<Source>,
    /// The part of the source that is the image.
    start: u64,
    length: u64,
    /// The layout and the code of its pages, where they are known.
    code: Option<Arc<PageCode>>,
}

#[derive(Debug)]
enum Source {
    Memory(Vec<u8>),
    File(StoredFile),
    /// The bytes of another image, with blocks in place of some of its own.
    Patched(Contents, Patches),
}

impl Contents {
    /// Bytes in memory.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        let length = Bytes::of(&bytes).get();
        Self { source: Arc::new(Source::Memory(bytes)), start: 0, length, code: None }
    }

    /// Opens the file at `path`, which is never changed.
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::Unreadable`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |problem| Error::Unreadable { problem };
        // Opening a named pipe would wait for a writer.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(Error::NotAFile);
        }
        let file = File::open(path).map_err(unreadable)?;
        Self::of_file(file).map_err(unreadable)
    }

    /// The bytes of an open file, which is never changed.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            source: Arc::new(Source::File(StoredFile::new(file))),
            start: 0,
            length,
            code: None,
        })
    }

    /// The same bytes, which stay in memory once they were read if they are those of a file of at most 320 MiB: for
    /// what reads all of them, and some more than once.
    #[must_use]
    pub fn kept(self) -> Self {
        let kept = match &*self.source {
            Source::File(file) => file.keep(),
            Source::Memory(_) | Source::Patched(..) => None,
        };
        match kept {
            Some(file) => Self { source: Arc::new(Source::File(file)), ..self },
            None => self,
        }
    }

    /// Whether reading a few bytes is as fast as copying them.
    fn is_in_memory(&self) -> bool {
        match &*self.source {
            Source::Memory(_) => true,
            Source::File(file) => file.is_kept(),
            Source::Patched(..) => false,
        }
    }

    /// The same bytes, with `patches` in place of some of them.
    #[must_use]
    pub(crate) fn patched(&self, patches: Patches) -> Self {
        let length = patches.length_over(self.length);
        let source = Arc::new(Source::Patched(self.stored(), patches));
        Self { source, start: 0, length, code: self.code.clone() }
    }

    /// How many bytes there are.
    #[must_use]
    pub const fn length(&self) -> Bytes {
        Bytes::new(self.length)
    }

    /// The bytes from `start` on; empty beyond the end.
    #[must_use]
    pub fn from(&self, start: Bytes) -> Self {
        let skipped = start.get().min(self.length);
        Self { start: self.start + skipped, length: self.length - skipped, ..self.clone() }
    }

    /// The same bytes, whose pages from the start of the file on have this layout and code. Pages in which the
    /// controller mixes data and code are read as data and OOB bytes.
    #[must_use]
    pub fn with_code(&self, code: PageCode) -> Self {
        Self { code: Some(Arc::new(code)), ..self.clone() }
    }

    /// The bytes as they are in the file.
    #[must_use]
    pub fn stored(&self) -> Self {
        Self { code: None, ..self.clone() }
    }

    /// The layout and the code of its pages, where they are known.
    #[must_use]
    pub fn code(&self) -> Option<&PageCode> {
        self.code.as_deref()
    }

    /// Page and OOB sizes that the image may have: those of its code, or those of all parts.
    pub(crate) fn layouts(&self) -> Vec<(u64, u64)> {
        let size = |size: usize| Bytes::new(size as u64).get();
        let known = self.code().map(|code| vec![(size(code.map.page), size(code.map.oob))]);
        known.unwrap_or_else(|| LAYOUTS.to_vec())
    }

    /// Fills `buffer` with the bytes from `offset` on, as far as they exist, and returns their number.
    ///
    /// # Errors
    /// Those of the operating system, and an unexpected end when the file became shorter.
    pub fn read(&self, offset: Bytes, buffer: &mut [u8]) -> io::Result<usize> {
        let left = Bytes::new(self.length.saturating_sub(offset.get()));
        let length = left.min(Bytes::of(buffer)).to_usize();
        let target = &mut buffer[..length];
        match self.code().filter(|code| code.map.is_mixed()) {
            _ if target.is_empty() => {}
            Some(code) => self.read_arranged(&code.map, self.start + offset.get(), target)?,
            None => self.read_stored(self.start + offset.get(), target)?,
        }
        Ok(length)
    }

    /// Fills `target` with bytes of the source, which has them.
    fn read_stored(&self, start: u64, target: &mut [u8]) -> io::Result<()> {
        match &*self.source {
            Source::Memory(bytes) => {
                let start = Bytes::new(start).to_usize();
                target.copy_from_slice(&bytes[start..start + target.len()]);
                Ok(())
            }
            Source::File(file) => file.read(start, target),
            Source::Patched(below, patches) => read_patched(below, patches, start, target),
        }
    }

    /// As [`Contents::read_stored`], with the pages arranged.
    fn read_arranged(&self, map: &PageMap, start: u64, target: &mut [u8]) -> io::Result<()> {
        let raw = (map.page + map.oob) as u64;
        let end = self.start + self.length;
        let mut stored = Vec::new();
        let mut done = 0;
        while done < target.len() {
            let at = start + done as u64;
            let first = at / raw * raw;
            stored.resize(Bytes::new(raw.min(end - first)).to_usize(), 0);
            self.read_stored(first, &mut stored)?;
            let page = map.arrange(&stored);
            let page = &page[Bytes::new(at - first).to_usize()..];
            let count = page.len().min(target.len() - done);
            target[done..done + count].copy_from_slice(&page[..count]);
            done += count;
        }
        Ok(())
    }

    /// As [`Contents::read`]; bytes beyond the end, and unreadable ones, are missing.
    #[must_use]
    pub fn window(&self, offset: Bytes, length: usize) -> Vec<u8> {
        let left = Bytes::new(self.length.saturating_sub(offset.get()));
        let mut bytes = vec![0; left.min(Bytes::new(length as u64)).to_usize()];
        let read = self.read(offset, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }

    /// Calls `look` for one piece of `size` bytes after the other, to the end or until it returns `Break`,
    /// with the offset of the piece and its bytes, and as far as they exist with `more` bytes of the next
    /// one. A piece that cannot be read is empty.
    pub(crate) fn for_each_piece(
        &self,
        (size, more): (usize, usize),
        mut look: impl FnMut(Bytes, &[u8]) -> ControlFlow<()>,
    ) {
        let mut buffer = vec![0; size + more];
        let mut at = Bytes::ZERO;
        while at.get() < self.length {
            let read = self.read(at, &mut buffer).unwrap_or(0);
            if look(at, &buffer[..read]).is_break() {
                return;
            }
            at += Bytes::new(size as u64);
        }
    }
}

/// The bytes that a [`Reader`] fetches at once.
pub(crate) const WINDOW: Bytes = Bytes::kib(16);
/// The windows that it keeps: one for each place at which a filesystem reads by turns, such as its index,
/// its inodes and its data.
const WINDOWS: usize = 128;

/// A buffer for reads of a few bytes, most of them close together, as a filesystem makes them. A
/// system call takes longer than the copy, so whole windows around the bytes are kept.
#[derive(Debug)]
pub(crate) struct Reader {
    contents: Contents,
    /// The latest first.
    windows: Vec<Window>,
}

#[derive(Debug, Default)]
struct Window {
    /// Where it begins, a multiple of its size.
    start: Bytes,
    /// Shorter at the end of the file.
    bytes: Vec<u8>,
}

/// A clone has windows of its own, none at first.
impl Clone for Reader {
    fn clone(&self) -> Self {
        Self::new(self.contents.clone())
    }
}

impl Reader {
    pub(crate) const fn new(contents: Contents) -> Self {
        Self { contents, windows: Vec::new() }
    }

    /// As [`Contents::read`].
    pub(crate) fn read(&mut self, offset: Bytes, buffer: &mut [u8]) -> io::Result<usize> {
        if self.contents.is_in_memory() || Bytes::of(buffer) * 2 > WINDOW {
            return self.contents.read(offset, buffer);
        }
        let mut done = 0;
        while done < buffer.len() {
            let taken = self.take(offset + Bytes::new(done as u64), &mut buffer[done..])?;
            if taken == 0 {
                break;
            }
            done += taken;
        }
        Ok(done)
    }

    /// Reads the bytes from `offset` on that lie in one window, none beyond the end.
    fn take(&mut self, offset: Bytes, buffer: &mut [u8]) -> io::Result<usize> {
        let start = WINDOW * (offset / WINDOW);
        match self.windows.iter().position(|window| window.start == start) {
            Some(at) => self.windows[..=at].rotate_right(1),
            None => self.fetch(start)?,
        }
        let within = (offset - start).to_usize();
        let found = self.windows[0].bytes.get(within..).unwrap_or_default();
        let length = found.len().min(buffer.len());
        buffer[..length].copy_from_slice(&found[..length]);
        Ok(length)
    }

    /// Puts the window that begins at `start` first, in place of the one used the longest time ago.
    fn fetch(&mut self, start: Bytes) -> io::Result<()> {
        let full = self.windows.len() == WINDOWS;
        let oldest = if full { self.windows.pop() } else { None };
        let mut window = Window { start, ..oldest.unwrap_or_default() };
        window.bytes.resize(WINDOW.to_usize(), 0);
        let read = self.contents.read(start, &mut window.bytes)?;
        window.bytes.truncate(read);
        self.windows.insert(0, window);
        Ok(())
    }
}

/// Reads bytes of which some are in blocks in place of those below. What is beyond the end below is erased.
fn read_patched(
    below: &Contents,
    patches: &Patches,
    offset: u64,
    target: &mut [u8],
) -> io::Result<()> {
    let (mut at, end) = (offset, offset + Bytes::of(target).get());
    let mut rest = target;
    while at < end {
        let (stop, bytes) = patches.piece(at, end);
        let length = Bytes::new(stop - at).to_usize();
        let (piece, behind) = rest.split_at_mut(length);
        match bytes {
            Some([]) => piece.fill(0xFF),
            Some(bytes) => piece.copy_from_slice(bytes),
            None => {
                let read = below.read(Bytes::new(at), piece)?;
                piece[read..].fill(0xFF);
            }
        }
        (at, rest) = (stop, behind);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_the_end_are_not_there() {
        let contents = Contents::of((0..10).collect());
        let mut buffer = [0xEE; 4];
        assert_eq!(contents.read(Bytes::new(8), &mut buffer).unwrap(), 2);
        assert_eq!(buffer, [8, 9, 0xEE, 0xEE]);
        assert_eq!(contents.read(Bytes::new(u64::MAX), &mut buffer).unwrap(), 0);
        assert_eq!(contents.window(Bytes::new(7), 100), [7, 8, 9]);
        let tail = contents.from(Bytes::new(6));
        assert_eq!((tail.length(), tail.window(Bytes::new(1), 2)), (Bytes::new(4), vec![7, 8]));
        assert_eq!(tail.from(Bytes::new(5)).length(), Bytes::ZERO);
    }

    #[test]
    fn a_reader_gives_what_the_file_gives_near_borders_and_at_the_end() {
        let path = std::env::temp_dir().join(format!("boardlab-reader-{}", std::process::id()));
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| ((n * 31) >> 3).to_le_bytes()[0]).collect();
        std::fs::write(&path, &bytes).unwrap();
        let contents = Contents::open(&path).unwrap();
        let mut reader = Reader::new(contents.clone());
        for (offset, length) in [
            (0, 10),
            (65_530, 20),
            (65_530, 6),
            (10, 32_768),
            (0, 40_000),
            (199_990, 50),
            (200_000, 9),
        ] {
            for reader in [&mut reader.clone(), &mut reader] {
                let mut found = vec![0xEE; length];
                let read = reader.read(Bytes::new(offset), &mut found).unwrap();
                let mut expected = vec![0xEE; length];
                assert_eq!(contents.read(Bytes::new(offset), &mut expected).unwrap(), read);
                assert_eq!(found, expected, "{length} bytes at {offset}");
            }
        }
        File::options().write(true).open(&path).unwrap().set_len(70_000).unwrap();
        assert!(reader.read(Bytes::new(140_000), &mut [0]).is_err());
        assert!(reader.read(Bytes::new(140_000), &mut [0]).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_is_read_in_place_and_what_is_no_file_is_refused() {
        let path = std::env::temp_dir().join(format!("boardlab-contents-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let contents = Contents::open(&path).unwrap();
        assert_eq!(contents.from(Bytes::new(2)).window(Bytes::new(3), 2), b"56");
        File::options().write(true).open(&path).unwrap().set_len(4).unwrap();
        let error = contents.read(Bytes::ZERO, &mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Contents::open(&path), Err(Error::Unreadable { .. })));
        assert!(matches!(Contents::open(&std::env::temp_dir()), Err(Error::NotAFile)));
    }
}
