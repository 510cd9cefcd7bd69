//! A file in the target folder, from its creation to its time.
//!
//! Layer: rank 7. Main type: [`OpenFile`]. A file that cannot be written completely is removed again, for
//! it must not be mistaken for the whole.

use super::host::{self, Folder};
use boardlab_vfs::Attributes;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that is being written, or why it is not.
pub(super) struct OpenFile {
    place: PathBuf,
    file: io::Result<File>,
    /// Where the next write goes.
    position: u64,
    /// Its length on the disk.
    length: u64,
}

impl OpenFile {
    /// None yet.
    pub(super) fn none() -> Self {
        Self { place: PathBuf::new(), file: Err(gone()), position: 0, length: 0 }
    }

    /// Creates a file at `place`.
    pub(super) fn create(folder: &mut Folder, place: PathBuf) -> Self {
        let file = folder.file(&place);
        Self { place, file, position: 0, length: 0 }
    }

    fn take(&mut self) -> io::Result<File> {
        std::mem::replace(&mut self.file, Err(gone()))
    }

    /// Writes `bytes` at `offset`.
    pub(super) fn write(&mut self, folder: &mut Folder, offset: u64, bytes: &[u8]) {
        let Ok(file) = &mut self.file else { return };
        let moved = offset != self.position;
        let seek = if moved { file.seek(SeekFrom::Start(offset)) } else { Ok(offset) };
        match seek.and_then(|_| file.write_all(bytes)) {
            Ok(()) => {
                self.position = offset + len(bytes.len());
                self.length = self.length.max(self.position);
            }
            Err(problem) => self.file = give_up(folder, &self.place, problem),
        }
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The first error since it was created, or that of the removal.
    pub(super) fn abandon(&mut self, folder: &mut Folder) -> io::Result<()> {
        self.take().and_then(|_| folder.remove(&self.place))
    }

    /// Gives the file its length, permissions and time.
    ///
    /// # Errors
    /// The first error since it was created.
    pub(super) fn complete(
        &mut self,
        folder: &mut Folder,
        attributes: &Attributes,
    ) -> io::Result<()> {
        let file = self.take()?;
        let size = attributes.size;
        let sized = if size == self.length { Ok(()) } else { file.set_len(size) };
        let done = sized.and_then(|()| host::dress(&file, attributes));
        done.or_else(|problem| give_up(folder, &self.place, problem).map(drop))
    }
}

/// Removes a file that cannot be written; the error is that of the removal where that fails too.
fn give_up(folder: &mut Folder, place: &Path, problem: io::Error) -> io::Result<File> {
    folder.remove(place)?;
    Err(problem)
}

pub(super) fn gone() -> io::Error {
    io::Error::other("the thread that reads and writes files ended")
}

pub(super) fn len(length: usize) -> u64 {
    u64::try_from(length).expect("u64 holds usize")
}

#[cfg(test)]
#[cfg(target_os = "linux")]
pub(super) mod tests {
    use super::*;
    use boardlab_sim::Clock;
    use boardlab_vfs::{FileSystem, Kind, MemoryFs, NewInode};

    /// A folder with the file `f`, which is open, and the attributes of a file of `size` bytes.
    pub(crate) fn begun(name: &str, size: u64) -> (PathBuf, Folder, OpenFile, Attributes) {
        let target = std::env::temp_dir().join(format!("boardlab-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&target);
        let mut folder = Folder::begin(&target).unwrap();
        let file = OpenFile::create(&mut folder, "f".into());
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let root = fs.root();
        let ino = fs.create(&mut clock, root, b"f", &NewInode::of(Kind::File, 0o644)).unwrap();
        let attributes = Attributes { size, ..fs.getattr(&mut clock, ino).unwrap() };
        (target, folder, file, attributes)
    }

    #[test]
    fn parts_that_come_backwards_and_a_hole_at_the_end_make_a_file_of_its_size() {
        for size in [5_000, 9_000] {
            let (target, mut folder, mut file, attributes) = begun("backwards", size);
            for (offset, byte) in [(4_096, 1), (0, 2), (4, 3)] {
                file.write(&mut folder, offset, &[byte; 904]);
            }
            file.complete(&mut folder, &attributes).unwrap();
            let mut expected = vec![0; usize::try_from(size).unwrap()];
            expected[..4].fill(2);
            expected[4..908].fill(3);
            expected[4_096..5_000].fill(1);
            assert!(std::fs::read(target.join("f")).unwrap() == expected, "{size}");
            std::fs::remove_dir_all(&target).unwrap();
        }
    }

    #[test]
    fn a_file_for_which_the_disk_has_no_room_is_removed_and_the_reason_told() {
        let (target, mut folder, mut file, attributes) = begun("full", 904);
        file.file = File::options().write(true).open("/dev/full");
        file.write(&mut folder, 0, &[1; 904]);
        assert!(!target.join("f").exists());
        file.write(&mut folder, 904, &[1; 904]);
        let problem = file.complete(&mut folder, &attributes).unwrap_err();
        assert_eq!(problem.kind(), io::ErrorKind::StorageFull);
        std::fs::remove_dir_all(&target).unwrap();
    }
}
