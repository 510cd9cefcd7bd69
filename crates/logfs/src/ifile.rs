//! The inode file: inode `n` is its block `n`, and its own inode is in the journal.
//!
//! Layer: rank 5. Source: Linux 3.12, `fs/logfs/inode.c`; `logfs_read_inode`, `do_write_inode`,
//! `do_delete_inode` and `logfs_evict_inode` in `readwrite.c`.

use crate::Logfs;
use crate::block::Home;
use crate::error::Error;
use crate::format::inode::FLAG_COMPRESSED;
use crate::format::{
    BLOCK_SHIFT, BlockId, DiskInode, FIRST_INO, HEIGHT_MAX, MASTER, Malformed, SEGMENT_FILE,
};
use crate::inode::{Inode, PERMISSIONS, number_of, timestamp};
use crate::tree::Target;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Errno, Ino, Kind, NewInode};

/// New inodes before the numbers begin anew.
const WRAP: i64 = 0x1_0000;

impl<M: Mtd> Logfs<M> {
    /// The number of an inode, for operations from above.
    pub(crate) fn number(ino: Ino) -> Result<u64, Error> {
        if ino.0 == MASTER || ino.0 == SEGMENT_FILE || ino.0 == 0 {
            return Err(Errno::Stale.into());
        }
        Ok(ino.0)
    }

    /// Reads an inode into memory, unless it is there (`logfs_iget`).
    pub(crate) fn get(&mut self, clock: &mut Clock, ino: u64) -> Result<&mut Inode, Error> {
        if !self.inodes.contains_key(&ino) {
            self.read_inode(clock, ino)?;
        }
        self.inode_mut(ino)
    }

    /// Reads an inode for something above, which will evict it.
    pub(crate) fn hold(&mut self, clock: &mut Clock, ino: u64) -> Result<&mut Inode, Error> {
        let inode = self.get(clock, ino)?;
        inode.held = true;
        Ok(inode)
    }

    fn read_inode(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let size = self.inode(MASTER)?.disk.size;
        if ino > size >> BLOCK_SHIFT {
            return Err(Error::MissingInode(ino));
        }
        let block = BlockId::of_inode(ino);
        let at = self.find(clock, block)?.ok_or(Error::MissingInode(ino))?;
        self.load(clock, block, at)?;
        let bytes = self.nodes.get(block).unwrap_or_default();
        let impossible = |cause| Error::Impossible { ino, cause };
        let inode = Inode::new(DiskInode::parse(bytes).map_err(impossible)?);
        if inode.kind().is_none() {
            let value = u64::from(inode.disk.mode);
            return Err(impossible(Malformed::Field { name: "di_mode", value }));
        }
        if inode.disk.height > HEIGHT_MAX {
            let value = u64::from(inode.disk.height);
            return Err(impossible(Malformed::Field { name: "di_height", value }));
        }
        self.aliases.move_to(block, Home::Inode);
        self.inodes.insert(ino, inode);
        Ok(())
    }

    /// Puts an inode into its block in memory (`inode_to_page`).
    fn inode_to_block(&mut self, ino: u64) -> Result<BlockId, Error> {
        let block = BlockId::of_inode(ino);
        let bytes = self.inode(ino)?.disk.emit();
        self.nodes.insert(block, bytes.into());
        self.aliases.move_to(block, Home::Node);
        Ok(block)
    }

    /// Writes an inode (`do_write_inode`).
    pub(crate) fn write_inode_block(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let end = (ino + 1) << BLOCK_SHIFT;
        let master = &mut self.inode_mut(MASTER)?.disk;
        master.size = master.size.max(end);
        let id = self.inode_to_block(ino)?;
        let written = self.change(clock, Target { id, data: None }, true);
        match written {
            Ok(()) => {
                let inode = self.inode_mut(ino)?;
                (inode.dirty, inode.grown) = (false, false);
            }
            Err(_) => drop(self.aliases.move_to(id, Home::Inode)),
        }
        written
    }

    /// Notes that an inode must be written.
    pub(crate) fn mark_dirty(&mut self, ino: u64) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.dirty = true;
            self.dirtied.push(Ino(ino));
        }
    }

    /// Writes an inode when the cache above asks for it.
    pub(crate) fn do_write_inode(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        if !self.get(clock, ino)?.dirty {
            return Ok(());
        }
        self.check_writable()?;
        self.collect(clock)?;
        let written = self.write_inode_block(clock, ino);
        self.trim();
        written
    }

    /// A new inode in memory (`logfs_new_inode`).
    pub(crate) fn new_inode(
        &mut self,
        clock: &mut Clock,
        dir: u64,
        new: &NewInode<'_>,
    ) -> Result<u64, Error> {
        let ino = self.seek_hole(clock, MASTER, self.numbers.last + 1)?;
        self.numbers.last = ino;
        self.numbers.until_wrap -= 1;
        if self.numbers.until_wrap < 0 {
            self.numbers.last = FIRST_INO;
            self.numbers.generation = self.numbers.generation.wrapping_add(1);
            self.numbers.until_wrap = WRAP;
        }
        let now = self.now(clock);
        let parent = &self.inode(dir)?.disk;
        let inherits_group = parent.mode & 0o2000 > 0;
        let directory = new.kind == Kind::Directory;
        let inherited = if inherits_group && directory { 0o2000 } else { 0 };
        let mode = new.kind.mode_bits() | new.mode & 0o7777 | inherited;
        let mut disk = DiskInode {
            mode: u16::try_from(mode).expect("16 bits"),
            flags: parent.flags & FLAG_COMPRESSED,
            uid: new.uid,
            gid: if inherits_group { parent.gid } else { new.gid },
            changed: now,
            modified: now,
            accessed: now,
            links: 1,
            generation: self.numbers.generation,
            ..DiskInode::default()
        };
        disk.pointers[0] = number_of(new.kind);
        self.inodes.insert(ino, Inode { held: true, ..Inode::new(disk) });
        Ok(ino)
    }

    pub(crate) fn do_getattr(&mut self, clock: &mut Clock, ino: u64) -> Result<Attributes, Error> {
        let stale = |error| match error {
            Error::MissingInode(missing) if missing == ino => Errno::Stale.into(),
            error => error,
        };
        let inode = self.hold(clock, ino).map_err(stale)?;
        let kind = inode.kind().ok_or(Errno::Io)?;
        let disk = inode.disk.clone();
        let size = match kind {
            // The kernel says 4,096.
            Kind::Symlink => self.target_of(clock, ino)?.len() as u64,
            _ => disk.size,
        };
        Ok(Attributes {
            ino: Ino(ino),
            kind,
            mode: u32::from(disk.mode & PERMISSIONS),
            links: disk.links,
            uid: disk.uid,
            gid: disk.gid,
            size,
            accessed: timestamp(disk.accessed),
            modified: timestamp(disk.modified),
            changed: timestamp(disk.changed),
        })
    }

    /// Drops an inode from memory; one without names is deleted (`logfs_evict_inode`).
    pub(crate) fn do_evict(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let Some(inode) = self.inodes.get(&ino) else { return Ok(()) };
        if ino < FIRST_INO && inode.disk.links > 0 {
            return Ok(());
        }
        if inode.disk.links == 0 {
            if self.options.read_only || self.failed {
                self.inodes.remove(&ino);
                return Ok(());
            }
            return self.delete_inode(clock, ino);
        }
        if inode.dirty && !self.options.read_only && !self.failed {
            self.collect(clock)?;
            self.write_inode_block(clock, ino)?;
        }
        self.drop_inode(ino);
        Ok(())
    }

    /// Forgets an inode that has names and is not dirty, and its blocks, but for words that changed.
    pub(crate) fn drop_inode(&mut self, ino: u64) {
        self.forget_blocks(ino);
        let changed = self.aliases.get(BlockId::of_inode(ino)).is_some();
        if changed && self.inode_to_block(ino).is_err() {
            return;
        }
        self.inodes.remove(&ino);
    }

    /// Forgets the blocks of an inode that is not in memory any more, but for words that changed
    /// (`truncate_inode_pages`, `move_page_to_btree`).
    fn forget_blocks(&mut self, ino: u64) {
        for id in self.nodes.of_inode(ino) {
            if let Some(changed) = self.aliases.get(id).filter(|changed| changed.home == Home::Node)
            {
                let value = |word: u16| self.nodes.word(id, usize::from(word)).unwrap_or_default();
                let values = changed.words().map(|word| (word, value(word))).collect();
                self.aliases.move_to(id, Home::Here(values));
            }
            self.nodes.remove(id);
        }
    }

    /// Deletes an inode without names, and its blocks.
    pub(crate) fn delete_inode(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        self.check_writable()?;
        let inode = self.get(clock, ino)?;
        if inode.has_content() {
            self.truncate(clock, ino, 0)?;
        }
        self.collect(clock)?;
        let block = self.inode_to_block(ino)?;
        self.change(clock, Target { id: block, data: None }, false)?;
        self.nodes.remove(block);
        for id in self.nodes.of_inode(ino) {
            self.aliases.remove(id);
            self.nodes.remove(id);
        }
        self.inodes.remove(&ino);
        self.trim();
        Ok(())
    }
}
