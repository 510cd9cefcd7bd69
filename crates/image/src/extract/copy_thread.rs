//! Reads and writes files on a thread of its own, beside those that the walk itself reads.
//!
//! Layer: rank 7. Main types: [`Reader`] and [`CopyThread`]. It reads from a copy of the filesystem, so both
//! find the same. Files are done in the order in which they are given, and each is answered once.

use super::content::{Content, Source};
use super::copier::Copier;
use super::open_file::{OpenFile, gone};
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, FileSystem, Ino};
use std::fmt;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::thread::{Builder, JoinHandle};

/// The files that wait for the thread, so that it need not wait for the next one.
const WAITING: usize = 8;

/// A copy of the filesystem, to be read on a thread of its own.
pub struct Reader {
    /// The filesystem.
    pub fs: Box<dyn FileSystem + Send>,
    /// The clock of its operations.
    pub clock: Clock,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// A file to be read and written.
struct Job {
    ino: Ino,
    file: OpenFile,
    attributes: Attributes,
}

/// What became of a file.
pub(super) struct Answer {
    /// What was copied of it, where the thread has read it.
    pub(super) content: Option<Content>,
    /// Whether it is on the disk.
    pub(super) written: io::Result<()>,
}

/// That of a thread that only writes, or is gone.
impl From<io::Result<()>> for Answer {
    fn from(written: io::Result<()>) -> Self {
        Self { content: None, written }
    }
}

/// The thread.
pub(super) struct CopyThread {
    /// `None` when the thread has been told to end.
    jobs: Option<SyncSender<Job>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

impl CopyThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// That of the operating system when there can be no more threads.
    pub(super) fn start(reader: Reader, copier: Copier) -> io::Result<Self> {
        let (jobs, received) = sync_channel(WAITING);
        let (answer, answers) = channel();
        let work = move || serve(reader, copier, &received, &answer);
        let thread = Some(Builder::new().name("reader".to_owned()).spawn(work)?);
        Ok(Self { jobs: Some(jobs), answers, thread })
    }

    /// Gives it a file, which must be within the limit of content. Returns the file when it takes none now.
    pub(super) fn offer(
        &self,
        ino: Ino,
        file: OpenFile,
        attributes: &Attributes,
    ) -> Result<(), OpenFile> {
        let Some(jobs) = &self.jobs else { return Err(file) };
        let offered = jobs.try_send(Job { ino, file, attributes: *attributes });
        offered.map_err(|refused| match refused {
            TrySendError::Full(job) | TrySendError::Disconnected(job) => job.file,
        })
    }

    /// The next answer, if there is one already.
    ///
    /// # Panics
    /// As the thread did.
    pub(super) fn try_answer(&mut self) -> Option<Answer> {
        match self.answers.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.ended()),
        }
    }

    /// Waits for the next answer.
    ///
    /// # Panics
    /// As the thread did.
    pub(super) fn answer(&mut self) -> Answer {
        self.answers.recv().unwrap_or_else(|_| self.ended())
    }

    /// The answer of a thread that ended before it was told to.
    fn ended(&mut self) -> Answer {
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        Err(gone()).into()
    }
}

/// Ends the thread: nothing is written afterwards.
impl Drop for CopyThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The work of the thread.
fn serve(
    Reader { mut fs, mut clock }: Reader,
    mut copier: Copier,
    jobs: &Receiver<Job>,
    answers: &Sender<Answer>,
) {
    for Job { ino, file, attributes } in jobs {
        let source = Source { fs: &mut *fs, clock: &mut clock, ino };
        let (content, written) = copier.copy(source, file, &attributes, u64::MAX);
        // Drops the in-memory state of the inode; a failure does not matter.
        let _ = fs.evict_inode(&mut clock, ino);
        let _ = answers.send(Answer { content: Some(content), written });
    }
}
