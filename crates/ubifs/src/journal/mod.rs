//! Writing to the journal: space in a head, and groups of nodes.
//!
//! Layer: rank 5. Main type: [`NodeGroup`]. An operation packs the nodes that it changes into one
//! group, reserves space for all of it in one LEB, writes it, and only then updates the index. After
//! a power cut a group is replayed as a whole or not at all.
//!
//! ```text
//!  make_reservation: space in the LEB of the head? --yes--> done
//!                        | no                            +-- add_bud_to_log, seek <--+
//!                    find_free_space --a LEB-------------+                           |
//!                        | none                                                      |
//!                    garbage_collect --a LEB--> the same; --nothing--> commit, and all again
//! ```
//!
//! - `entries.rs`: changes of directories, truncations
//! - `content.rs`: blocks of content, truncation
//! - `inodes.rs`: inodes, their deletion
//! - `xattr.rs`: extended attributes
//!
//! Source: Linux 6.1, `fs/ubifs/journal.c`. Left out: authentication, encryption, whiteouts and the
//! exchange of two names (`renameat2`), the locks of the heads.

mod content;
mod entries;
mod inodes;
mod xattr;

#[cfg(test)]
mod tests;

pub(crate) use entries::{Rename, Update};

use crate::format::dirent::Dirent;
use crate::format::index::Branch;
use crate::format::key::Key;
use crate::format::{u32_of, usize_of};
use crate::gc::Collected;
use crate::wbuf::BASE_HEAD;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};

/// Commits of one reservation, at most.
const COMMITS_MAX: u32 = 128;
/// Garbage collections that may find nothing before a commit, and commits that may not help.
const RETRIES_MAX: u32 = 2;

/// What became of a reservation.
enum Reserved {
    Done,
    /// The journal is full (`-EAGAIN`).
    NeedsCommit,
    /// `-ENOSPC`
    NoSpace,
}

/// Nodes that are written one after another.
struct NodeGroup {
    nodes: Vec<Vec<u8>>,
}

/// Where a group was written.
struct Written {
    leb: LebIndex,
    /// Offset and length of each node.
    places: Vec<(u32, u32)>,
}

impl NodeGroup {
    fn of(nodes: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { nodes: nodes.into_iter().collect() }
    }

    /// Pads the last node with zeros up to a multiple of 8 bytes, where the kernel writes the padded
    /// length.
    fn padded(mut self) -> Self {
        // The nodes are padded when they are joined; an empty one behind them makes the last one so.
        self.nodes.push(Vec::new());
        self
    }

    /// Offset and length of each node, and the length of all; nodes begin at multiples of 8 bytes.
    fn places(&self) -> (Vec<(u32, u32)>, u32) {
        let mut end = 0_u32;
        let mut places = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let length = u32_of(node.len());
            let start = end.next_multiple_of(8);
            places.push((start, length));
            end = start + length;
        }
        (places, end)
    }

    fn length(&self) -> u32 {
        self.places().1
    }

    /// The nodes as one.
    fn join(&self) -> Vec<u8> {
        let (places, length) = self.places();
        let mut bytes = vec![0; usize_of(length)];
        for (node, (start, _)) in self.nodes.iter().zip(places) {
            bytes[usize_of(start)..][..node.len()].copy_from_slice(node);
        }
        bytes
    }
}

impl Written {
    /// The branch of the index to one of the nodes.
    fn branch(&self, index: usize, key: Key) -> Branch {
        let (offs, len) = self.places[index];
        Branch { lnum: self.leb, offs, len, key }
    }

    /// The length of one of the nodes.
    fn length(&self, index: usize) -> u32 {
        self.places[index].1
    }
}

impl<L: Lebs> Volume<L> {
    /// Finds space for `length` bytes in the LEB of a head, or gives it another LEB
    /// (`reserve_space`).
    fn reserve_space(
        &mut self,
        clock: &mut Clock,
        head: usize,
        length: u32,
    ) -> Result<Reserved, Error> {
        // Nodes of the base head are small, so they fill the ends of LEBs.
        let squeeze = head == BASE_HEAD;
        let mut retries = 0;
        let (leb, offs) = loop {
            if self.mode.failed {
                return Err(Errno::RoFs.into());
            }
            let wbuf = &self.heads[head].wbuf;
            if wbuf.leb.is_some() && self.layout.leb_size - wbuf.offs - wbuf.used >= length {
                return Ok(Reserved::Done);
            }
            if let Some((leb, offs, _)) = self.find_free_space(clock, length, squeeze)? {
                break (leb, offs);
            }
            match self.garbage_collect(clock, false)? {
                Collected::Leb(leb) => break (leb, 0),
                Collected::NeedsCommit => return Ok(Reserved::NeedsCommit),
                Collected::NoSpace if retries < RETRIES_MAX => retries += 1,
                Collected::NoSpace => return Ok(Reserved::NoSpace),
            }
        };
        self.switch_head(clock, head, leb, offs)
    }

    /// Gives a head another LEB. The old one is written out before the log mentions the new one: else
    /// a power cut would leave a torn LEB that is not the last one of its head.
    fn switch_head(
        &mut self,
        clock: &mut Clock,
        head: usize,
        leb: LebIndex,
        offs: u32,
    ) -> Result<Reserved, Error> {
        let synced = self.wbuf_sync(clock, head);
        let logged = synced.and_then(|()| self.add_bud_to_log(clock, head, leb, offs));
        match logged {
            Ok(Some(())) => {
                self.wbuf_seek(clock, head, leb, offs)?;
                Ok(Reserved::Done)
            }
            Ok(None) => {
                self.return_leb(clock, leb)?;
                Ok(Reserved::NeedsCommit)
            }
            Err(error) => {
                self.return_leb(clock, leb).or_else(Error::unless_power_cut)?;
                Err(error)
            }
        }
    }

    /// Reserves space in a head, with commits where they help (`make_reservation`).
    ///
    /// # Errors
    /// ENOSPC, which would be a defect of the budget; EROFS; any of the volume.
    pub(crate) fn make_reservation(
        &mut self,
        clock: &mut Clock,
        head: usize,
        length: u32,
    ) -> Result<(), Error> {
        let (mut commits, mut retries) = (0, 0);
        loop {
            match self.reserve_space(clock, head, length)? {
                Reserved::Done => return Ok(()),
                Reserved::NeedsCommit => {}
                Reserved::NoSpace if retries < RETRIES_MAX => retries += 1,
                Reserved::NoSpace => return Err(Errno::NoSpc.into()),
            }
            if commits > COMMITS_MAX {
                return Err(Errno::NoSpc.into());
            }
            commits += 1;
            self.run_commit(clock)?;
        }
    }

    /// Writes to the reserved space of a head; returns where (`write_head`).
    fn write_head(
        &mut self,
        clock: &mut Clock,
        head: usize,
        bytes: &[u8],
        sync: bool,
    ) -> Result<(LebIndex, u32), Error> {
        let wbuf = &self.heads[head].wbuf;
        let (leb, offs) = (wbuf.leb.expect("space was reserved"), wbuf.offs + wbuf.used);
        self.wbuf_write(clock, head, bytes)?;
        if sync {
            self.wbuf_sync(clock, head)?;
        }
        Ok((leb, offs))
    }

    /// Gives the nodes of a group their headers, in order. Space was reserved before, since a commit
    /// must not come between the sequence numbers and the writing.
    fn prepare_group(&mut self, clock: &mut Clock, group: &mut NodeGroup) {
        let count = group.nodes.iter().filter(|node| !node.is_empty()).count();
        for (index, node) in group.nodes.iter_mut().take(count).enumerate() {
            self.host.spend(clock, Work::Node, 0);
            self.prepare_group_node(clock, node, index + 1 == count);
        }
    }

    /// Writes a group to the base head. The write buffer remembers the inodes for an fsync, unless it
    /// is written out now.
    fn write_group(
        &mut self,
        clock: &mut Clock,
        group: &NodeGroup,
        sync: bool,
        inodes: &[u32],
    ) -> Result<Written, Error> {
        let (leb, offs) = self.write_head(clock, BASE_HEAD, &group.join(), sync)?;
        if !sync {
            for &ino in inodes {
                self.wbuf_add_inode(BASE_HEAD, ino);
            }
        }
        let places = group.places().0;
        let places = places.into_iter().map(|(start, length)| (offs + start, length)).collect();
        Ok(Written { leb, places })
    }

    /// After an error between the reservation and the update of the index, flash and index differ:
    /// the filesystem becomes read-only.
    fn fail_on_error<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.switch_to_read_only(error);
        }
        result
    }

    /// The node of an entry, without its header; `ino` is 0 for a deletion.
    fn pack_entry(&mut self, key: Key, name: &[u8], ino: u32, itype: u8) -> Vec<u8> {
        let cookie = self.new_cookie();
        Dirent { key, inum: u64::from(ino), itype, cookie, name: name.to_vec() }.emit()
    }
}
