//! Sets and removes extended attributes, and moves their nodes.
//!
//! Layer: rank 5. Methods of [`Jffs2`] and [`Volume`].
//!
//! ```text
//!  set      node of name and value, unless one that is equal exists; then the reference, the inode's former
//!           one to that node if there was any; the one that led to the old value is dead in RAM, and the
//!           newer sequence number tells so after a mount
//!  remove   a reference that says so
//!  collect  a datum without references, or a dead reference that is alone, is dropped; else written anew
//! ```
//! Deliberate deviations:
//!
//! - When a replaced attribute is removed, Linux leaves the replaced reference on flash, and it
//!   reappears after the next mount; here it is marked as well.
//! - When garbage collection moves a reference, Linux gives it the next sequence number. A replaced
//!   reference that a mount has found again then beats the one that replaced it; here a moved reference
//!   keeps its number.
//! - Linux does not count attributes among the changes that an fsync of the inode waits for; here they
//!   count.
//! - When the flash fails, Linux gives up; here a node is written once more, like all other nodes.
//!
//! Source: Linux 6.1, `fs/jffs2/xattr.c` (`do_jffs2_setxattr`, `create_xattr_datum`, `save_xattr_ref`,
//! `jffs2_garbage_collect_xattr_datum`, `jffs2_garbage_collect_xattr_ref`). Left out: access control
//! lists, which programs give in another form than JFFS2 keeps them in: EOPNOTSUPP.

use crate::Jffs2;
use crate::alloc::Priority;
use crate::block::{NodeId, NodeState};
use crate::error::Error;
use crate::format::summary::{self, Entry};
use crate::format::{Xattr, XattrPrefix, Xref, pad, to_usize, xattr, xref};
use crate::volume::Volume;
use crate::xattr::Content;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};

/// The longest name after its namespace.
const NAME_MAX: usize = 255;

/// The space that a node needs.
#[derive(Debug, Clone, Copy)]
struct NodeSpace {
    /// Bytes of the node.
    length: u32,
    /// Bytes of its entry in the summary.
    entry: u32,
    /// Whether garbage collection writes it.
    collects: bool,
}

impl NodeSpace {
    /// The space of a new reference.
    const REFERENCE: Self = Self { length: xref::SIZE, entry: summary::XREF_SIZE, collects: false };
}

impl<M: Mtd> Jffs2<M> {
    fn make_room(&mut self, clock: &mut Clock, room: NodeSpace) -> Result<(), Error> {
        let NodeSpace { length, entry, collects } = room;
        let reserved = if collects {
            self.reserve_gc(clock, length, Some(entry))
        } else {
            self.reserve(clock, length, Priority::Normal, Some(entry))
        };
        reserved.map(drop)
    }

    /// Sets an extended attribute of an inode, or removes it when there is no value.
    ///
    /// # Errors
    /// EOPNOTSUPP for an unknown namespace, EINVAL or ERANGE for an invalid name, ENODATA when
    /// there is nothing to remove, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_setxattr(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let (prefix, rest) = XattrPrefix::split(name).ok_or(Errno::OpNotSupp)?;
        if matches!(prefix, XattrPrefix::AclAccess | XattrPrefix::AclDefault) {
            return Err(Errno::OpNotSupp.into());
        }
        match rest.len() {
            0 => return Err(Errno::Inval.into()),
            1..=NAME_MAX => {}
            _ => return Err(Errno::Range.into()),
        }
        let slot = self.open_inode(clock, ino)?.slot;
        let length = value.map_or(0, <[u8]>::len);
        let request = u32::try_from(to_usize(xattr::SIZE) + rest.len() + 1 + length);
        let request = request.map_err(|_| Errno::NoSpc)?;
        if u16::try_from(length).is_err() {
            return Err(Errno::Range.into());
        }
        let room = NodeSpace { length: request, entry: summary::XATTR_SIZE, collects: false };
        self.make_room(clock, room)?;
        let old = self.volume.references_named(clock, slot, prefix, rest)?;
        let Some(value) = value else {
            return self.remove_references(clock, slot, &old);
        };
        let content = Content { prefix, name: rest.into(), value: value.into() };
        let xid = self.datum_of(clock, content, room)?;
        self.set_reference(clock, slot, xid, &old)
    }

    /// The number of the datum with this content, which is written when missing; it gets one more
    /// reference.
    fn datum_of(
        &mut self,
        clock: &mut Clock,
        content: Content,
        room: NodeSpace,
    ) -> Result<u32, Error> {
        let xattrs = &mut self.volume.xattrs;
        let same = |&slot: &u32| {
            let datum = xattrs.datum(slot);
            datum.is_some_and(|datum| {
                datum.references > 0 && datum.content.as_ref() == Some(&content)
            })
        };
        let found = xattrs.data_slots().find(same);
        let slot = match found {
            Some(slot) => slot,
            None => {
                let xid = xattrs.highest_xid().checked_add(1).ok_or(Errno::NoSpc)?;
                let slot = xattrs.slot_or_new(xid);
                if let Some(datum) = xattrs.datum_mut(slot) {
                    datum.content = Some(content);
                }
                if let Err(error) = self.save_datum(clock, slot, room) {
                    self.volume.xattrs.remove_datum(slot);
                    return Err(error);
                }
                slot
            }
        };
        let datum = self.volume.xattrs.datum_mut(slot).ok_or(Errno::Io)?;
        datum.references += 1;
        Ok(datum.xid)
    }

    /// Writes a datum with its next version. Space was reserved.
    fn save_datum(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        room: NodeSpace,
    ) -> Result<NodeId, Error> {
        match self.write_datum(clock, slot) {
            Err(error) => {
                self.fail_unless_medium(error)?;
                self.make_room(clock, room)?;
                self.write_datum(clock, slot)
            }
            done => done,
        }
    }

    fn write_datum(&mut self, clock: &mut Clock, slot: u32) -> Result<NodeId, Error> {
        let datum = self.volume.xattrs.datum(slot).ok_or(Errno::Io)?;
        let content = datum.content.as_ref().ok_or(Errno::Io)?;
        let (xid, version) = (datum.xid, datum.version.wrapping_add(1));
        let (prefix, name, value) = (content.prefix, &*content.name, &*content.value);
        let node = Xattr { xid, version, prefix, name, value };
        let length = node.length();
        let mut bytes = vec![0; to_usize(length)];
        node.emit(&mut bytes, self.volume.order);
        self.volume.host.spend(clock, Work::Crc, bytes.len());
        let (block, offset) = self.volume.write_place();
        let entry = Entry::Xattr { xid, version, offset, length: pad(length) };
        let (head, data) = bytes.split_at(to_usize(xattr::SIZE));
        if let Err(error) = self.write_node(clock, [head, data], entry, None) {
            self.abandon_space(block, length, error.clone())?;
            return Err(error);
        }
        let piece = (block, pad(length), NodeState::Pristine);
        let volume = &mut self.volume;
        Ok(volume.xattrs.link_datum(&mut volume.blocks, slot, version, piece))
    }

    /// Gives an inode a reference to a datum, instead of those in the slots `old`. An existing
    /// reference of the pair, dead or alive, is rewritten: with two of them, marking the dead one
    /// would remove the other.
    fn set_reference(
        &mut self,
        clock: &mut Clock,
        inode: u32,
        xid: u32,
        old: &[u32],
    ) -> Result<(), Error> {
        let ino = self.volume.inodes.get(inode).ino;
        if let Err(error) = self.make_room(clock, NodeSpace::REFERENCE) {
            self.volume.drop_reference(xid);
            return Err(error);
        }
        let xattrs = &mut self.volume.xattrs;
        let had = old.iter().copied().find(|&slot| xattrs.is_pair(slot, ino, xid));
        let slot = had.unwrap_or_else(|| xattrs.revive(ino, xid));
        if let Err(error) = self.save_reference(clock, slot) {
            if had.is_none() {
                self.volume.xattrs.abandon(slot);
            }
            self.volume.drop_reference(xid);
            return Err(error);
        }
        for &old in old.iter().filter(|&&old| old != slot) {
            self.volume.detach(inode, old);
            self.volume.mark_reference_dead(old);
        }
        if had.is_some() {
            self.volume.drop_reference(xid);
            return Ok(());
        }
        let next = self.volume.inodes.get_mut(inode).xrefs.replace(slot);
        if let Some(reference) = self.volume.xattrs.reference_mut(slot) {
            reference.next = next;
        }
        Ok(())
    }

    /// Records on flash that an inode no longer has the data of the references in the slots `old`.
    /// References that were replaced before may still be on the flash, and would be valid again
    /// after a mount, so they are marked first.
    fn remove_references(
        &mut self,
        clock: &mut Clock,
        inode: u32,
        old: &[u32],
    ) -> Result<(), Error> {
        if old.is_empty() {
            return Err(Errno::NoData.into());
        }
        let ino = self.volume.inodes.get(inode).ino;
        for slot in self.volume.xattrs.unmarked(ino) {
            self.mark_reference(clock, slot)?;
        }
        for &slot in old.iter().rev() {
            self.mark_reference(clock, slot)?;
            self.volume.detach(inode, slot);
            self.volume.mark_reference_dead(slot);
        }
        Ok(())
    }

    /// Records on flash that a reference is removed.
    fn mark_reference(&mut self, clock: &mut Clock, slot: u32) -> Result<(), Error> {
        self.make_room(clock, NodeSpace::REFERENCE)?;
        let Some(reference) = self.volume.xattrs.reference_mut(slot) else { return Ok(()) };
        let before = std::mem::replace(&mut reference.removed, true);
        if let Err(error) = self.save_reference(clock, slot) {
            if let Some(reference) = self.volume.xattrs.reference_mut(slot) {
                reference.removed = before;
            }
            return Err(error);
        }
        Ok(())
    }

    /// Writes a reference with the next sequence number. Space was reserved.
    fn save_reference(&mut self, clock: &mut Clock, slot: u32) -> Result<NodeId, Error> {
        let xattrs = &mut self.volume.xattrs;
        let sequence = xattrs.highest_sequence().checked_add(2).ok_or(Errno::NoSpc)?;
        xattrs.reserve_sequence(sequence);
        self.write_reference_twice(clock, slot, sequence, NodeSpace::REFERENCE)
    }

    /// Writes a reference; when the flash fails, once more in another place.
    fn write_reference_twice(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        sequence: u32,
        room: NodeSpace,
    ) -> Result<NodeId, Error> {
        match self.write_reference(clock, slot, sequence) {
            Err(error) => {
                self.fail_unless_medium(error)?;
                self.make_room(clock, room)?;
                self.write_reference(clock, slot, sequence)
            }
            done => done,
        }
    }

    fn write_reference(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        sequence: u32,
    ) -> Result<NodeId, Error> {
        let xattrs = &self.volume.xattrs;
        let reference = xattrs.reference(slot).ok_or(Errno::Io)?;
        let (ino, xid, removed) = (reference.ino, reference.xid, reference.removed);
        let mut bytes = [0; 28];
        Xref { ino, xid, sequence, removed }.emit(&mut bytes, self.volume.order);
        self.volume.host.spend(clock, Work::Crc, bytes.len());
        let (block, offset) = self.volume.write_place();
        let parts: [&[u8]; 2] = [&bytes, &[]];
        if let Err(error) = self.write_node(clock, parts, Entry::Xref { offset }, Some(ino)) {
            self.abandon_space(block, xref::SIZE, error.clone())?;
            return Err(error);
        }
        let volume = &mut self.volume;
        if let Some(reference) = volume.xattrs.reference_mut(slot) {
            (reference.sequence, reference.marked) = (sequence, removed);
        }
        let piece = (block, xref::SIZE, NodeState::Pristine);
        Ok(volume.xattrs.link_reference(&mut volume.blocks, slot, piece))
    }

    /// Moves a node of a datum out of the victim block.
    pub(crate) fn collect_datum(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        id: NodeId,
    ) -> Result<(), Error> {
        let datum = self.volume.xattrs.datum(slot);
        let wanted = datum.is_some_and(|datum| datum.nodes == Some(id) && datum.references > 0);
        if wanted && self.volume.load_datum(clock, slot)? {
            let content = self.volume.xattrs.datum(slot).and_then(|datum| datum.content.as_ref());
            let length = content.map_or(0, |content| content.name.len() + content.value.len());
            let length = u32::try_from(length).map_err(|_| Errno::Io)? + xattr::SIZE + 1;
            let room = NodeSpace { length, entry: summary::XATTR_SIZE, collects: true };
            self.make_room(clock, room)?;
            self.save_datum(clock, slot, room)?;
        }
        self.volume.mark_obsolete(clock, id)
    }

    /// Moves a node of a reference out of the victim block. A dead one is needed as long as an
    /// older node of it exists.
    pub(crate) fn collect_reference(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        id: NodeId,
    ) -> Result<(), Error> {
        let alone = self.volume.blocks.node(id).next().is_none();
        let reference = self.volume.xattrs.reference(slot);
        let wanted = reference
            .filter(|reference| reference.nodes == Some(id) && !(reference.removed && alone))
            .map(|reference| reference.sequence);
        if let Some(sequence) = wanted {
            let room = NodeSpace { collects: true, ..NodeSpace::REFERENCE };
            self.make_room(clock, room)?;
            self.write_reference_twice(clock, slot, sequence, room)?;
        }
        self.volume.mark_obsolete(clock, id)
    }
}

impl<M: Mtd> Volume<M> {
    /// The references of an inode to data of a name, the newest first. There are several when one
    /// was replaced before the last mount.
    fn references_named(
        &mut self,
        clock: &mut Clock,
        inode: u32,
        prefix: XattrPrefix,
        name: &[u8],
    ) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        let mut next = self.inodes.get(inode).xrefs;
        while let Some(slot) = next {
            let Some(reference) = self.xattrs.reference(slot) else { break };
            next = reference.next;
            let sequence = reference.sequence;
            let Some(datum) = self.xattrs.slot(reference.xid) else { continue };
            if !self.load_datum(clock, datum)? {
                continue;
            }
            let content = self.xattrs.datum(datum).and_then(|datum| datum.content.as_ref());
            if content.is_some_and(|content| content.prefix == prefix && *content.name == *name) {
                found.push((sequence, slot));
            }
        }
        found.sort_unstable_by_key(|&(sequence, _)| std::cmp::Reverse(sequence));
        Ok(found.into_iter().map(|(_, slot)| slot).collect())
    }
}

impl<M> Volume<M> {
    /// Drops all attributes of a deleted inode (`jffs2_xattr_delete_inode`).
    pub(crate) fn drop_xattrs(&mut self, inode: u32) {
        let mut next = self.inodes.get_mut(inode).xrefs.take();
        while let Some(slot) = next {
            next = self.xattrs.reference_mut(slot).and_then(|reference| reference.next.take());
            self.mark_reference_dead(slot);
        }
    }

    /// Removes a reference from the list of its inode.
    fn detach(&mut self, inode: u32, slot: u32) {
        let after = self.xattrs.reference_mut(slot).and_then(|reference| reference.next.take());
        let mut at = self.inodes.get(inode).xrefs;
        if at == Some(slot) {
            self.inodes.get_mut(inode).xrefs = after;
            return;
        }
        while let Some(reference) = at.and_then(|at| self.xattrs.reference_mut(at)) {
            if reference.next == Some(slot) {
                reference.next = after;
                return;
            }
            at = reference.next;
        }
    }

    /// Marks a reference dead; its nodes stay until garbage collection reaches them.
    fn mark_reference_dead(&mut self, slot: u32) {
        let Some(reference) = self.xattrs.reference_mut(slot) else { return };
        reference.removed = true;
        let xid = reference.xid;
        self.xattrs.mark_dead(slot);
        self.drop_reference(xid);
    }

    /// Removes one reference from the count of a datum.
    fn drop_reference(&mut self, xid: u32) {
        let Some(slot) = self.xattrs.slot(xid) else { return };
        let Some(datum) = self.xattrs.datum_mut(slot) else { return };
        datum.references = datum.references.saturating_sub(1);
        if datum.references == 0 && datum.nodes.is_none() {
            self.xattrs.remove_datum(slot);
        }
    }
}
