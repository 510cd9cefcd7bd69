//! Writes files on a thread of its own, while the next ones are read and decompressed.
//!
//! Layer: rank 7. Main type: [`Writer`]. Files are written in the order of their requests, one after the
//! other, and each is answered once: when it is complete, or why it is not.

use super::content::{self, Content, Source};
use super::host::Folder;
use super::open_file::{OpenFile, gone, len};
use boardlab_vfs::Attributes;
use std::io;
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

    /// Reads a file, at most `limit` bytes of it, and has it written to `place`; one beyond the limit is
    /// removed.
    pub(super) fn copy(
        &mut self,
        source: Source<'_>,
        place: &Path,
        attributes: &Attributes,
        limit: u64,
    ) -> Content {
        self.begin(place);
        let content = content::copy(source, limit, |offset, bytes| self.write(offset, bytes));
        if content.is_beyond {
            self.abandon();
        } else {
            self.end(attributes);
        }
        content
    }

    /// Begins a file at `place`.
    fn begin(&mut self, place: &Path) {
        self.batch.requests.push(Request::Begin(place.to_owned()));
    }

    /// Writes `bytes` at `offset` of the file.
    fn write(&mut self, at: u64, bytes: &[u8]) {
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
    fn end(&mut self, attributes: &Attributes) {
        self.batch.requests.push(Request::End(*attributes));
    }

    /// Removes the file; the answer comes later as well.
    fn abandon(&mut self) {
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

/// The work of the thread.
fn serve(
    mut folder: Folder,
    batches: &Receiver<Batch>,
    answers: &Sender<io::Result<()>>,
    emptied: &Sender<Batch>,
) {
    let mut file = OpenFile::none();
    for mut batch in batches {
        let mut bytes = &batch.bytes[..];
        for request in batch.requests.drain(..) {
            match request {
                Request::Begin(place) => file = OpenFile::create(&mut folder, place),
                Request::Write { offset, length } => {
                    let (these, rest) = bytes.split_at(length);
                    bytes = rest;
                    file.write(&mut folder, offset, these);
                }
                Request::End(attributes) => {
                    let _ = answers.send(file.complete(&mut folder, &attributes));
                }
                Request::Abandon => {
                    let _ = answers.send(file.abandon(&mut folder));
                }
            }
        }
        batch.bytes.clear();
        let _ = emptied.send(batch);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::extract::open_file::tests::begun;

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
}
