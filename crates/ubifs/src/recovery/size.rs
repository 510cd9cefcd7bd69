//! The recovery of file sizes.
//!
//! Layer: rank 5. Main type: [`SizeEntry`]. Content is written before the inode with the new size, so
//! after a power cut there may be content beyond the size, or content of an inode that does not exist.
//! The replay notes what the journal says; then the size on flash grows to the content, or the content
//! goes.
//!
//! Source: Linux 6.1, `fs/ubifs/recovery.c` (`ubifs_recover_size_accum`, `ubifs_recover_size`,
//! `fix_size_in_place`, `inode_fix_size`).

use crate::format::inode::InodeNode;
use crate::format::key::{Key, KeyType};
use crate::format::{u32_of, usize_of};
use crate::options::Mistake;
use crate::{Error, Lebs, Volume};
use boardlab_codec::crc32;
use boardlab_sim::Clock;
use boardlab_vfs::Work;

/// The place of the size within an inode node.
const SIZE_FIELD: std::ops::Range<usize> = 48..56;
/// The checksum, and the bytes that it does not cover.
const CRC_FIELD: std::ops::Range<usize> = 4..8;

/// What the journal says about the size of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SizeEntry {
    /// The size in its last inode node.
    inode_size: u64,
    /// The end of its content.
    data_size: u64,
    /// Whether the inode exists.
    exists: bool,
}

impl<L: Lebs> Volume<L> {
    /// Notes what a replayed node says about the size of its inode (`ubifs_recover_size_accum`).
    pub(crate) fn recover_size_accum(&mut self, key: Key, deletion: bool, new_size: u64) {
        let sizes = &mut self.recovery.sizes;
        match key.kind() {
            Some(KeyType::Inode) if deletion => {
                sizes.remove(&key.ino());
            }
            Some(KeyType::Inode) => {
                let entry = sizes.entry(key.ino()).or_default();
                (entry.inode_size, entry.exists) = (new_size, true);
            }
            Some(KeyType::Data) => {
                let entry = sizes.entry(key.ino()).or_default();
                entry.data_size = entry.data_size.max(new_size);
            }
            Some(KeyType::Truncation) => {
                if let Some(entry) = sizes.get_mut(&key.ino()) {
                    entry.data_size = new_size;
                }
            }
            _ => {}
        }
    }

    /// Corrects sizes and removes content without an inode (`ubifs_recover_size`). `in_place` changes
    /// the inode where it is on flash; otherwise it is changed in memory (read-only mount).
    pub(crate) fn recover_size(&mut self, clock: &mut Clock, in_place: bool) -> Result<(), Error> {
        if self.mistake == Some(Mistake::KeepsSizes) {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.recovery.sizes);
        for (ino, mut entry) in entries {
            if !entry.exists {
                match self.tnc_lookup(clock, Key::inode(ino))? {
                    None => self.tnc_remove_ino(clock, ino)?,
                    Some(bytes) => {
                        entry.exists = true;
                        entry.inode_size = inode_node(ino, &bytes)?.size;
                    }
                }
            }
            if !entry.exists || entry.inode_size >= entry.data_size {
                continue;
            }
            if in_place {
                self.fix_size_in_place(clock, ino, entry.data_size)?;
            } else {
                self.fix_size_in_memory(clock, ino, entry.data_size)?;
                self.recovery.sizes.insert(ino, entry);
            }
        }
        Ok(())
    }

    /// Changes the size of an inode node on flash, atomically (`fix_size_in_place`).
    fn fix_size_in_place(&mut self, clock: &mut Clock, ino: u32, size: u64) -> Result<(), Error> {
        let located = self.tnc_locate(clock, Key::inode(ino))?;
        let located = located.ok_or_else(|| Error::of_inode(ino))?;
        if inode_node(ino, &located.node)?.size >= size {
            return Ok(());
        }
        let mut bytes = vec![0; usize_of(self.layout.leb_size)];
        self.leb_read(clock, located.leb, 0, &mut bytes)?;
        let start = usize_of(located.offs);
        let node = &mut bytes[start..start + located.node.len()];
        node[SIZE_FIELD].copy_from_slice(&size.to_le_bytes());
        self.host.spend(clock, Work::Crc, node.len() - CRC_FIELD.end);
        let crc = crc32(u32::MAX, &node[CRC_FIELD.end..]);
        node[CRC_FIELD].copy_from_slice(&crc.to_le_bytes());
        let used = bytes.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
        let length = usize_of(u32_of(used).next_multiple_of(self.layout.min_io));
        self.leb_change(clock, located.leb, &bytes[..length])
    }

    /// Changes the size of an inode in memory, where it stays while the mount is read-only
    /// (`inode_fix_size`).
    fn fix_size_in_memory(&mut self, clock: &mut Clock, ino: u32, size: u64) -> Result<(), Error> {
        let inode = self.iget(clock, ino)?;
        if inode.size < size {
            (inode.size, inode.ui_size, inode.synced_i_size) = (size, size, size);
        }
        Ok(())
    }
}

fn inode_node(ino: u32, bytes: &[u8]) -> Result<InodeNode, Error> {
    InodeNode::parse(bytes).map_err(|_| Error::of_inode(ino))
}
