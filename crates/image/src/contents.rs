//! The bytes of an image: of a file, or held in memory.
//!
//! Layer: rank 7. Main type: [`Contents`]. A file is read at the places that are asked for, through
//! the page cache of the operating system, so that an image of many GiB takes no memory; one page of
//! flash at a time is a call of less than a microsecond. A clone is cheap and shares the file.
//! Leaves out: memory maps, which would need `unsafe`, and anything but regular files, which have
//! neither a length nor a beginning to go back to.

use crate::error::Error;
use boardlab_sim::Bytes;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The bytes of an image.
#[derive(Debug, Clone)]
pub struct Contents {
    source: Arc<Source>,
    /// The part of the source that is the image.
    start: u64,
    length: u64,
}

#[derive(Debug)]
enum Source {
    Memory(Vec<u8>),
    File(File),
}

impl Contents {
    /// Bytes in memory.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        let length = Bytes::of(&bytes).get();
        Self { source: Arc::new(Source::Memory(bytes)), start: 0, length }
    }

    /// The file at `path`, which stays as it is.
    ///
    /// # Errors
    /// [`Error::NotAFile`], [`Error::Unreadable`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |problem| Error::Unreadable { problem };
        // Opening a named pipe would wait for somebody to write.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(Error::NotAFile);
        }
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        Ok(Self { source: Arc::new(Source::File(file)), start: 0, length })
    }

    /// How many bytes there are.
    #[must_use]
    pub const fn length(&self) -> Bytes {
        Bytes::new(self.length)
    }

    /// The bytes from `start` on; none where there are fewer.
    #[must_use]
    pub fn from(&self, start: Bytes) -> Self {
        let skipped = start.get().min(self.length);
        let source = Arc::clone(&self.source);
        Self { source, start: self.start + skipped, length: self.length - skipped }
    }

    /// Fills `buffer` with the bytes from `offset` on, as far as there are, and says how many.
    ///
    /// # Errors
    /// What the operating system says, and an unexpected end when the file became shorter.
    pub fn read(&self, offset: Bytes, buffer: &mut [u8]) -> io::Result<usize> {
        let left = Bytes::new(self.length.saturating_sub(offset.get()));
        let length = left.min(Bytes::of(buffer)).to_usize();
        let target = &mut buffer[..length];
        match &*self.source {
            _ if target.is_empty() => {}
            Source::Memory(bytes) => {
                let start = Bytes::new(self.start + offset.get()).to_usize();
                target.copy_from_slice(&bytes[start..start + length]);
            }
            Source::File(file) => read_file(file, self.start + offset.get(), target)?,
        }
        Ok(length)
    }

    /// As [`Contents::read`]; bytes beyond the end, and those that cannot be read, are missing.
    #[must_use]
    pub fn window(&self, offset: Bytes, length: usize) -> Vec<u8> {
        let left = Bytes::new(self.length.saturating_sub(offset.get()));
        let mut bytes = vec![0; left.min(Bytes::new(length as u64)).to_usize()];
        let read = self.read(offset, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}

#[cfg(unix)]
fn read_file(file: &File, offset: u64, target: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, target, offset)
}

#[cfg(windows)]
fn read_file(file: &File, mut offset: u64, mut target: &mut [u8]) -> io::Result<()> {
    while !target.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, target, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += u64::try_from(read).expect("u64 holds usize");
        target = &mut target[read..];
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
