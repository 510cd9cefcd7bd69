//! Writes files on a thread of its own, while the next ones are read and decompressed.
//!
//! Layer: rank 7. Main type: [`Writer`]. Files are written in the order of their requests, one after the
//! other, and each is answered once: when it is complete, or why it is not. A file that cannot be written
//! completely is removed again, for it must not be mistaken for the whole.

use super::host::{self, Folder};
use boardlab_vfs::Attributes;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Bytes that are gathered before the thread gets them: waking it takes longer than copying a few KiB.
const CHUNK: usize = 128 << 10;
/// The batches that wait for the thread.
const WAITING: usize = 16;

/// One step of a file.
enum Request {
    /// Creates the file.
    Begin(PathBuf),
    /// Writes the next `length` bytes of the batch at `offset`.
    Write { offset: u64, length: usize },
    /// Completes the file.
    End(Attributes),
    /// Removes the file.
    Abandon,
}

/// Steps of one file or several, and the bytes that they write, one after another.
#[derive(Default)]
struct Batch {
    requests: Vec<Request>,
    bytes: Vec<u8>,
}

/// The files of a target folder.
pub(super) struct Writer {
    /// `None` when the thread has been told to end.
    batches: Option<SyncSender<Batch>>,
    answers: Receiver<io::Result<()>>,
    /// Batches that were done, to be filled again.
    empty: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
    /// What is being gathered.
    batch: Batch,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// That of the operating system when there can be no more threads.
    pub(super) fn start(folder: Folder) -> io::Result<Self> {
        let (batches, received) = sync_channel(WAITING);
        let (answer, answers) = channel();
        let (emptied, empty) = channel();
        let work = move || serve(folder, &received, &answer, &emptied);
        let thread = Some(Builder::new().name("writer".to_owned()).spawn(work)?);
        Ok(Self { batches: Some(batches), answers, empty, thread, batch: Batch::default() })
    }

    /// Begins a file at `place`.
    pub(super) fn begin(&mut self, place: &Path) {
        self.batch.requests.push(Request::Begin(place.to_owned()));
    }

    /// Writes `bytes` at `offset` of the file.
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        if self.batch.bytes.len() + bytes.len() > CHUNK {
            self.send();
        }
        match self.batch.requests.last_mut() {
            Some(Request::Write { offset, length }) if *offset + len(*length) == at => {
                *length += bytes.len();
            }
            _ => self.batch.requests.push(Request::Write { offset: at, length: bytes.len() }),
        }
        self.batch.bytes.extend_from_slice(bytes);
    }

    /// Completes the file; its answer comes later.
    pub(super) fn end(&mut self, attributes: &Attributes) {
        self.batch.requests.push(Request::End(*attributes));
    }

    /// Removes the file; the answer comes later as well.
    pub(super) fn abandon(&mut self) {
        self.batch.requests.push(Request::Abandon);
    }

    /// The next answer, if there is one already.
    pub(super) fn try_answer(&self) -> Option<io::Result<()>> {
        self.answers.try_recv().ok()
    }

    /// Waits for the next answer.
    pub(super) fn answer(&mut self) -> io::Result<()> {
        self.try_answer().unwrap_or_else(|| {
            self.send();
            self.answers.recv().unwrap_or_else(|_| Err(gone()))
        })
    }

    /// Gives the thread what was gathered. A thread that is gone shows when its answer is awaited.
    fn send(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.batch, next);
        if let Some(batches) = &self.batches {
            let _ = batches.send(full);
        }
    }
}

/// Ends the thread: nothing is written afterwards.
impl Drop for Writer {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that writes files ended")
}

fn len(length: usize) -> u64 {
    u64::try_from(length).expect("u64 holds usize")
}

/// The work of the thread.
fn serve(
    mut folder: Folder,
    batches: &Receiver<Batch>,
    answers: &Sender<io::Result<()>>,
    emptied: &Sender<Batch>,
) {
    let mut file = OpenFile { place: PathBuf::new(), file: Err(gone()), position: 0, length: 0 };
    for mut batch in batches {
        let mut bytes = &batch.bytes[..];
        for request in batch.requests.drain(..) {
            match request {
                Request::Begin(place) => {
                    let open = folder.file(&place);
                    file = OpenFile { place, file: open, position: 0, length: 0 };
                }
                Request::Write { offset, length } => {
                    let (these, rest) = bytes.split_at(length);
                    bytes = rest;
                    file.write(&mut folder, offset, these);
                }
                Request::End(attributes) => {
                    let _ = answers.send(file.complete(&mut folder, &attributes));
                }
                Request::Abandon => {
                    let _ = answers.send(file.take().and_then(|_| folder.remove(&file.place)));
                }
            }
        }
        batch.bytes.clear();
        let _ = emptied.send(batch);
    }
}

/// The file that is being written, or why it is not.
struct OpenFile {
    place: PathBuf,
    file: io::Result<File>,
    /// Where the next write goes.
    position: u64,
    /// Its length on the disk.
    length: u64,
}

impl OpenFile {
    fn take(&mut self) -> io::Result<File> {
        std::mem::replace(&mut self.file, Err(gone()))
    }

    fn write(&mut self, folder: &mut Folder, offset: u64, bytes: &[u8]) {
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

    fn complete(&mut self, folder: &mut Folder, attributes: &Attributes) -> io::Result<()> {
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use boardlab_sim::Clock;
    use boardlab_vfs::{FileSystem, Kind, MemoryFs, NewInode};

    /// A folder with the file `f`, which is open, and the attributes of a file of `size` bytes.
    fn begun(name: &str, size: u64) -> (PathBuf, Folder, OpenFile, Attributes) {
        let target = std::env::temp_dir().join(format!("boardlab-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&target);
        let mut folder = Folder::begin(&target).unwrap();
        let place = PathBuf::from("f");
        let file = folder.file(&place);
        let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
        let root = fs.root();
        let ino = fs.create(&mut clock, root, b"f", &NewInode::of(Kind::File, 0o644)).unwrap();
        let attributes = Attributes { size, ..fs.getattr(&mut clock, ino).unwrap() };
        (target, folder, OpenFile { place, file, position: 0, length: 0 }, attributes)
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
    fn parts_of_a_batch_with_a_hole_between_them_stay_apart() {
        let (target, folder, _, attributes) = begun("hole", 9_000);
        let mut writer = Writer::start(folder).unwrap();
        writer.begin(Path::new("g"));
        for (offset, byte) in [(0, 1), (904, 2), (8_000, 3)] {
            writer.write(offset, &[byte; 904]);
        }
        writer.end(&attributes);
        writer.answer().unwrap();
        drop(writer);
        let mut expected = vec![0; 9_000];
        expected[..904].fill(1);
        expected[904..1_808].fill(2);
        expected[8_000..8_904].fill(3);
        assert!(std::fs::read(target.join("g")).unwrap() == expected);
        std::fs::remove_dir_all(&target).unwrap();
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
