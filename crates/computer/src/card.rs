//! The image of a memory card: read under a lock, and written back block by block.
//!
//! Layer: rank 9. Main types: [`CardFile`], what the user asked for; [`CardUpdate`], what became of
//! it. The guest writes to a copy. With [`CardFile::write`] the blocks that it changed go back to
//! their places in the file, which is neither truncated nor replaced; the file is locked from before
//! it is read to the end of the process, so that nothing that another run wrote in between is lost.
//! Without, the lock is shared and held while the image is read: no image is read half written.
//!
//! Each block is one write of 512 bytes within a page of the host's cache, which a kill does not
//! divide (Linux 6.1, `generic_perform_write`, looks for signals between pages).

use super::failure::Failure;
use super::regular_file::{check_kind, contents};
use boardlab_block::{Contents, Extent};
use boardlab_document::error::reason;
use boardlab_document::lock::{self, LockError};
use boardlab_realview::{Card, Machine, Medium};
use boardlab_sim::Bytes;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The largest card image: it is held in memory.
const LARGEST: Bytes = Bytes::mib(4096);
/// Bytes of a block.
const BLOCK: usize = 512;

/// A memory card: an image file in the reader's slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFile {
    /// The image.
    pub path: PathBuf,
    /// What the guest writes goes back to the file at the end; otherwise it is forgotten.
    pub write: bool,
}

/// What went back to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardUpdate {
    /// The image.
    pub path: PathBuf,
    /// Blocks of 512 bytes that the guest changed, all of which were written and flushed.
    pub changed: u64,
    /// Blocks of the card.
    pub blocks: u64,
}

/// An image that is to be written, which this process has locked.
#[derive(Debug)]
pub(super) struct Image {
    path: PathBuf,
    file: File,
    /// What it held when it was read.
    before: Contents,
}

/// A block in memory that lies within one page.
#[repr(align(512))]
struct Block([u8; BLOCK]);

/// Puts the image in the reader. The guest writes to a copy, for which the image is kept if it is
/// to be written.
pub(super) fn insert(machine: &mut Machine, card: &CardFile) -> Result<Option<Image>, Failure> {
    let path = &card.path;
    let file = open(path, card.write)?;
    let refused = |problem| Failure::Program(path.clone(), problem);
    let medium = Medium::image(&contents(&file, path, LARGEST)?).map_err(refused)?;
    let inserted = Card::new(medium, false).map_err(refused)?;
    let before = inserted.memory_contents().filter(|_| card.write).cloned();
    machine.insert_card(inserted);
    Ok(before.map(|before| Image { path: path.clone(), file, before }))
}

/// Opens and locks an image.
fn open(path: &Path, write: bool) -> Result<File, Failure> {
    check_kind(path)?;
    let file = File::options().read(true).write(write).open(path).map_err(|error| match write {
        true => Failure::unwritable(path, &error),
        false => Failure::unreadable(path, &error),
    })?;
    let locked = if write { lock::exclusive(&file) } else { lock::shared(&file) };
    match locked {
        Ok(()) => Ok(file),
        // Nobody writes back where no lock can be had.
        Err(refused) if !write && refused.is_unsupported() => Ok(file),
        Err(LockError::Held(holder)) => Err(Failure::InUse(path.into(), holder)),
        Err(LockError::System(error)) => {
            let problem = format!("no lock: {}", reason(&error));
            Err(Failure::Unwritable(path.into(), problem))
        }
    }
}

impl Image {
    /// Writes the blocks that differ from what was read, and flushes them. An image whose blocks
    /// are all as they were is left alone.
    pub(super) fn write_back(&mut self, card: &Card) -> Result<CardUpdate, Failure> {
        let Some(now) = card.memory_contents() else {
            unreachable!("a card that was put in from an image is kept in memory")
        };
        let changed: Vec<u64> = now.changed_since(&self.before).collect();
        self.check(&changed, card.blocks())?;
        let total = changed.len();
        for (done, block) in changed.iter().enumerate() {
            let bytes = block_of(now, *block);
            at(&self.file, *block)
                .and_then(|mut file| file.write_all(&bytes.0))
                .map_err(|error| Failure::card(&self.path, &error, [done, total]))?;
        }
        if total > 0 {
            let flushed = self.file.sync_all();
            flushed.map_err(|error| Failure::card(&self.path, &error, [total, total]))?;
            self.before = now.clone();
        }
        let changed = u64::try_from(total).expect("u64 holds usize");
        Ok(CardUpdate { path: self.path.clone(), changed, blocks: card.blocks() })
    }

    /// Holds that nobody who does not ask for locks wrote what would be overwritten now.
    fn check(&self, changed: &[u64], blocks: u64) -> Result<(), Failure> {
        let foreign = |found: String| Failure::CardChanged(self.path.clone(), found);
        let unread = |error: io::Error| Failure::card(&self.path, &error, [0, changed.len()]);
        if changed.is_empty() {
            return Ok(());
        }
        let [found, expected] = [self.file.metadata().map_err(unread)?.len(), offset(blocks)];
        if found != expected {
            return Err(foreign(format!("it has {found} bytes and had {expected}")));
        }
        for block in changed {
            let mut found = [0; BLOCK];
            let mut file = at(&self.file, *block).map_err(unread)?;
            file.read_exact(&mut found).map_err(unread)?;
            if found != block_of(&self.before, *block).0 {
                return Err(foreign(format!("its block {block} is another one")));
            }
        }
        Ok(())
    }
}

fn block_of(contents: &Contents, number: u64) -> Block {
    let mut block = Block([0; BLOCK]);
    contents.read(Extent::new(number, 1), &mut block.0);
    block
}

/// Where a block begins.
fn offset(block: u64) -> u64 {
    block * Bytes::of(&[0; BLOCK]).get()
}

/// The file, to be read or written from the beginning of `block` on.
fn at(mut file: &File, block: u64) -> io::Result<&File> {
    file.seek(SeekFrom::Start(offset(block)))?;
    Ok(file)
}
