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

/// Bytes that are gathered before they are written.
const CHUNK: usize = 128 << 10;
/// The chunks, files begun and files ended that wait for the thread.
const WAITING: usize = 16;

/// One step of a file.
enum Request {
    /// Creates the file.
    Begin(PathBuf),
    /// Writes bytes at an offset.
    Write(u64, Vec<u8>),
    /// Completes the file.
    End(Attributes),
    /// Removes the file.
    Abandon,
}

/// The files of a target folder.
pub(super) struct Writer {
    /// `None` when the thread has been told to end.
    requests: Option<SyncSender<Request>>,
    answers: Receiver<io::Result<()>>,
    /// Chunks that were written, to be filled again.
    empty: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    /// The bytes that are being gathered, and their offset in the file.
    chunk: Vec<u8>,
    at: u64,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// That of the operating system when there can be no more threads.
    pub(super) fn start(folder: Folder) -> io::Result<Self> {
        let (requests, received) = sync_channel(WAITING);
        let (answer, answers) = channel();
        let (emptied, empty) = channel();
        let work = move || serve(folder, &received, &answer, &emptied);
        let thread = Some(Builder::new().name("writer".to_owned()).spawn(work)?);
        Ok(Self { requests: Some(requests), answers, empty, thread, chunk: Vec::new(), at: 0 })
    }

    /// Begins a file at `place`.
    pub(super) fn begin(&mut self, place: &Path) {
        self.send(Request::Begin(place.to_owned()));
    }

    /// Writes `bytes` at `offset` of the file.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let follows = self.at + len(&self.chunk) == offset;
        if !follows || self.chunk.len() + bytes.len() > CHUNK {
            self.flush();
            self.at = offset;
        }
        self.chunk.extend_from_slice(bytes);
    }

    /// Completes the file; its answer comes later.
    pub(super) fn end(&mut self, attributes: &Attributes) {
        self.flush();
        self.send(Request::End(*attributes));
    }

    /// Removes the file; the answer comes later as well.
    pub(super) fn abandon(&mut self) {
        self.chunk.clear();
        self.send(Request::Abandon);
    }

    /// The next answer, if there is one already.
    pub(super) fn try_answer(&self) -> Option<io::Result<()>> {
        self.answers.try_recv().ok()
    }

    /// Waits for the next answer.
    pub(super) fn answer(&self) -> io::Result<()> {
        self.answers.recv().unwrap_or_else(|_| Err(gone()))
    }

    fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut self.chunk, next);
        self.send(Request::Write(self.at, full));
    }

    /// A thread that is gone shows when its answer is awaited.
    fn send(&self, request: Request) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(request);
        }
    }
}

/// Ends the thread: nothing is written afterwards.
impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that writes files ended")
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("u64 holds usize")
}

/// The work of the thread.
fn serve(
    mut folder: Folder,
    requests: &Receiver<Request>,
    answers: &Sender<io::Result<()>>,
    emptied: &Sender<Vec<u8>>,
) {
    let mut place = PathBuf::new();
    let mut file: io::Result<File> = Err(gone());
    for request in requests {
        match request {
            Request::Begin(next) => {
                file = folder.file(&next);
                place = next;
            }
            Request::Write(offset, mut bytes) => {
                if let Ok(open) = &mut file
                    && let Err(problem) = write(open, offset, &bytes)
                {
                    file = give_up(&mut folder, &place, problem);
                }
                bytes.clear();
                let _ = emptied.send(bytes);
            }
            Request::End(attributes) => {
                let open = std::mem::replace(&mut file, Err(gone()));
                let done = open.and_then(|open| match complete(&open, &attributes) {
                    Ok(()) => Ok(()),
                    Err(problem) => give_up(&mut folder, &place, problem).map(drop),
                });
                let _ = answers.send(done);
            }
            Request::Abandon => {
                let open = std::mem::replace(&mut file, Err(gone()));
                let _ = answers.send(open.and_then(|_| folder.remove(&place)));
            }
        }
    }
}

fn write(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

fn complete(file: &File, attributes: &Attributes) -> io::Result<()> {
    file.set_len(attributes.size)?;
    host::dress(file, attributes)
}

/// Removes a file that cannot be written; the error is that of the removal where that fails too.
fn give_up(folder: &mut Folder, place: &Path, problem: io::Error) -> io::Result<File> {
    folder.remove(place)?;
    Err(problem)
}
