//! A file that is read at any offset, whose bytes may stay in memory once they were read.
//!
//! Layer: rank 7; faces the operating system. Main types: [`StoredFile`]; [`Pieces`], what stays in memory. A
//! filesystem is mounted, audited and copied in turn, and each time a system call would copy the same bytes again.

use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock, Weak};

/// The bytes that are read at once and stay in memory.
const PIECE: usize = 2 * LARGE_PAGE;
/// A large page of memory on most processors.
const LARGE_PAGE: usize = 2 << 20;
/// The longest file that does: 256 MiB of flash with its spare bytes.
const LONGEST: u64 = 320 << 20;

/// An open file.
#[derive(Debug)]
pub(crate) struct StoredFile {
    file: File,
    /// What stays in memory; `None` if nothing does.
    kept: Option<Arc<Pieces>>,
}

impl StoredFile {
    /// A file whose bytes are read each time.
    pub(crate) const fn new(file: File) -> Self {
        Self { file, kept: None }
    }

    /// The same file, whose bytes stay in memory once they were read; another thread reads them ahead. `None` for
    /// a file that is too long for that, or that cannot be opened once more.
    pub(crate) fn keep(&self) -> Option<Self> {
        let length = self.file.metadata().ok()?.len();
        if length == 0 || length > LONGEST {
            return None;
        }
        let length = usize::try_from(length).ok()?;
        let kept = Arc::new(Pieces::new(self.file.try_clone().ok()?, length));
        kept.read_ahead();
        Some(Self { file: self.file.try_clone().ok()?, kept: Some(kept) })
    }

    /// Whether reading is no system call.
    pub(crate) const fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Fills `target` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Those of the operating system, and an unexpected end when the file became shorter.
    pub(crate) fn read(&self, offset: u64, target: &mut [u8]) -> io::Result<()> {
        let place = usize::try_from(offset).ok();
        match self.kept.as_ref().zip(place).map(|(kept, place)| kept.copy(place, target)) {
            Some(Some(())) => Ok(()),
            // One bad sector loses no more than it would without pieces.
            _ => read_file(&self.file, offset, target),
        }
    }
}

/// The bytes of a file that were read.
#[derive(Debug)]
struct Pieces {
    file: File,
    length: usize,
    /// `None` within for one that cannot be read as a whole.
    pieces: Vec<OnceLock<Option<Memory>>>,
}

/// The memory of a piece: large pages where Linux has them, because the faults of small ones take as long as reading
/// the bytes.
#[derive(Debug)]
struct Memory {
    map: MmapMut,
    start: usize,
    length: usize,
}

impl Memory {
    /// `length` bytes of zeros.
    fn new(length: usize) -> io::Result<Self> {
        if length < LARGE_PAGE {
            return Ok(Self { map: MmapMut::map_anon(length)?, start: 0, length });
        }
        // Wherever the system puts it, the piece begins with a large page.
        let map = MmapOptions::new().len(length + LARGE_PAGE).map_anon()?;
        let start = map.as_ptr().align_offset(LARGE_PAGE);
        #[cfg(target_os = "linux")]
        let _ = map.advise_range(memmap2::Advice::HugePage, start, length);
        Ok(Self { map, start, length })
    }

    fn bytes(&self) -> &[u8] {
        &self.map[self.start..self.start + self.length]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..self.start + self.length]
    }
}

impl Pieces {
    fn new(file: File, length: usize) -> Self {
        let pieces = (0..length.div_ceil(PIECE)).map(|_| OnceLock::new()).collect();
        Self { file, length, pieces }
    }

    /// Copies the bytes from `at` on; `None` if some are beyond the end, or cannot be read.
    fn copy(&self, at: usize, target: &mut [u8]) -> Option<()> {
        if target.len() > self.length.checked_sub(at)? {
            return None;
        }
        let (mut at, mut rest) = (at, target);
        while !rest.is_empty() {
            let piece = self.piece(at / PIECE)?.get(at % PIECE..)?;
            let (now, later) = rest.split_at_mut(piece.len().min(rest.len()));
            now.copy_from_slice(&piece[..now.len()]);
            (at, rest) = (at + now.len(), later);
        }
        Some(())
    }

    /// A piece; whoever asks while another thread reads it waits for that.
    fn piece(&self, number: usize) -> Option<&[u8]> {
        let read = || {
            let start = number * PIECE;
            let mut memory = Memory::new(PIECE.min(self.length - start)).ok()?;
            read_file(&self.file, start as u64, memory.bytes_mut()).ok()?;
            Some(memory)
        };
        self.pieces.get(number)?.get_or_init(read).as_ref().map(Memory::bytes)
    }

    /// Reads all pieces in a thread of its own, until nobody needs them. Without a thread they are read when they
    /// are needed.
    fn read_ahead(self: &Arc<Self>) {
        let pieces = Arc::downgrade(self);
        let count = self.pieces.len();
        let read = move || {
            (0..count).all(|number| {
                Weak::upgrade(&pieces).is_some_and(|pieces| pieces.piece(number).is_some())
            })
        };
        let _ = std::thread::Builder::new().name("read ahead".into()).spawn(read);
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
    fn kept_bytes_are_those_of_the_file_across_pieces_and_up_to_its_end() {
        let path = std::env::temp_dir().join(format!("boardlab-kept-{}", std::process::id()));
        let length = 2 * PIECE + 1_000;
        let bytes: Vec<u8> =
            (0..length as u64).map(|n| ((n * 2_654_435_761) >> 13).to_le_bytes()[0]).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = StoredFile::new(File::options().read(true).open(&path).unwrap());
        let kept = file.keep().unwrap();
        assert!(kept.is_kept() && !file.is_kept());
        for (start, count) in [
            (0, 10),
            (PIECE - 3, 7),
            (5, 2 * PIECE),
            (length - 1_004, 1_004),
            (length - 1, 1),
            (length, 0),
        ] {
            let mut found = vec![0xEE; count];
            kept.read(start as u64, &mut found).unwrap();
            assert_eq!(found, bytes[start..start + count], "{count} bytes at {start}");
        }
        for (start, count) in [(length - 1, 2), (length, 1), (usize::MAX, 1)] {
            let read = kept.read(start as u64, &mut vec![0; count]);
            assert!(read.is_err(), "{count} bytes at {start}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_became_shorter_gives_what_it_still_has() {
        let path = std::env::temp_dir().join(format!("boardlab-shorter-{}", std::process::id()));
        std::fs::write(&path, vec![7; PIECE]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let pieces = Pieces::new(file.try_clone().unwrap(), PIECE);
        let kept = StoredFile { file, kept: Some(Arc::new(pieces)) };
        kept.file.set_len(100).unwrap();
        let mut found = [0; 100];
        kept.read(0, &mut found).unwrap();
        assert_eq!(found, [7; 100]);
        let error = kept.read(50, &mut found).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        std::fs::remove_file(&path).unwrap();
    }
}
