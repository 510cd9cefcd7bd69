//! Writes an overlay.
//!
//! Layer: rank 7. Main types: [`Log`]; [`State`], which shares it with the flash.

use super::format::{Header, Identity, Record};
use crate::dump::{Change, Dump, Journal};
use crate::patches::Patches;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// An overlay that is written. After a failure nothing is taken any more, so that what is in the file is always
/// what was done up to some moment.
#[derive(Debug)]
pub struct Log {
    file: File,
    /// Bytes of whole records.
    length: u64,
    sequence: u64,
    /// Whether records were written that are not known to be on the disk.
    unsynced: bool,
    failed: Option<io::Error>,
    /// The next record.
    buffer: Vec<u8>,
}

impl Log {
    /// Begins an overlay in an empty file: with all that differs from the dump, which is what `flash` has
    /// changed, and what `before` had changed for it. All of it is on the disk when this returns.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn begin(
        mut file: File,
        header: &Header,
        flash: &Dump,
        before: Option<&Patches>,
    ) -> io::Result<Self> {
        file.write_all(&header.emit())?;
        let length = file.stream_position()?;
        let (sequence, unsynced) = (1, false);
        let buffer = Vec::new();
        let mut log = Self { file, length, sequence, unsynced, failed: None, buffer };
        let mut blocks: std::collections::BTreeMap<u32, &[u8]> =
            before.into_iter().flat_map(Patches::iter).collect();
        for number in 0..flash.geometry().block_count() {
            if let Some(bytes) = flash.changed_block(BlockIndex(number)) {
                blocks.insert(number, bytes);
            }
        }
        for (number, bytes) in blocks {
            let block = BlockIndex(number);
            // Blocks end erased more often than not.
            let used = bytes.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
            let change = match &bytes[..used] {
                [] => Change::Erase { block },
                data => Change::Replace { block, data },
            };
            log.append(&Record::Change(change))?;
        }
        log.sync()?;
        Ok(log)
    }

    /// Goes on with an overlay of `length` whole bytes, whose last record has the number `sequence`. What is
    /// behind is cut off.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn go_on(mut file: File, length: Bytes, sequence: u64) -> io::Result<Self> {
        file.set_len(length.get())?;
        file.seek(SeekFrom::Start(length.get()))?;
        let (length, sequence) = (length.get(), sequence + 1);
        Ok(Self { file, length, sequence, unsynced: true, failed: None, buffer: Vec::new() })
    }

    /// A log in a file that takes nothing, for tests.
    #[cfg(test)]
    pub(super) const fn unwritable(file: File) -> Self {
        Self { file, length: 0, sequence: 1, unsynced: true, failed: None, buffer: Vec::new() }
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn length(&self) -> Bytes {
        Bytes::new(self.length)
    }

    /// Why nothing is written any more.
    #[must_use]
    pub const fn failure(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }

    fn append(&mut self, record: &Record<'_>) -> io::Result<()> {
        if self.failed.is_some() {
            return Err(io::Error::other("the overlay could not be written before"));
        }
        self.buffer.clear();
        record.emit(self.sequence, &mut self.buffer);
        let written = self.file.write_all(&self.buffer);
        self.kept(written)?;
        self.length += self.buffer.len() as u64;
        self.sequence += 1;
        self.unsynced = true;
        Ok(())
    }

    /// Notes a failure: what it left of a record is cut off.
    fn kept(&mut self, done: io::Result<()>) -> io::Result<()> {
        let Err(error) = done else { return Ok(()) };
        let said = io::Error::new(error.kind(), error.to_string());
        // A torn record that stays is cut off by the next replay.
        let _ = self.file.set_len(self.length);
        self.failed = Some(error);
        Err(said)
    }

    /// Puts all records on the disk.
    ///
    /// # Errors
    /// Those of the operating system, now or before.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.failed.is_some() {
            return Err(io::Error::other("the overlay could not be written before"));
        }
        if !self.unsynced {
            return Ok(());
        }
        let synced = self.file.sync_data();
        self.kept(synced)?;
        self.append(&Record::Synced)?;
        self.unsynced = false;
        Ok(())
    }

    /// Notes that all of it is in a new image, which takes the place of the dump next, and puts that on the disk.
    ///
    /// # Errors
    /// Those of the operating system, now or before.
    pub fn applied(&mut self, image: Identity) -> io::Result<()> {
        self.append(&Record::Applied(image))?;
        self.sync()
    }
}

impl Journal for Log {
    fn note(&mut self, change: Change<'_>) -> io::Result<()> {
        self.append(&Record::Change(change))
    }
}

/// A log that its flash writes and its owner watches.
#[derive(Debug, Clone)]
pub struct State(Arc<Mutex<Log>>);

impl State {
    /// Shares `log`.
    #[must_use]
    pub fn new(log: Log) -> Self {
        Self(Arc::new(Mutex::new(log)))
    }

    /// Looks at the log.
    pub fn with<T>(&self, look: impl FnOnce(&mut Log) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why nothing is written any more.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.with(|log| log.failure().map(ToString::to_string))
    }
}

impl Journal for State {
    fn note(&mut self, change: Change<'_>) -> io::Result<()> {
        self.with(|log| log.note(change))
    }
}
