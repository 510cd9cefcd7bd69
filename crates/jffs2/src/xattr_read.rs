//! Reads extended attributes, at mount and on demand.
//!
//! Layer: rank 5. After the scan every reference is bound to its inode and its datum. Of several
//! references of one inode to one datum the newest is valid; a reference of a deleted inode becomes
//! obsolete. Names and values stay on flash until they are requested.
//!
//! Source: Linux 6.1, `fs/jffs2/xattr.c` (`jffs2_build_xattr_subsystem`, `load_xattr_datum`,
//! `check_xattr_ref_inode`). Deliberate deviation: when the newest node of a datum is damaged, such
//! as a copy by garbage collection that a power cut interrupted, the node before it is valid; Linux
//! drops the attribute.

use crate::block::{NodeState, Owner};
use crate::error::Error;
use crate::format::{
    Header, Malformed, NodeType, XattrPrefix, XattrView, XrefView, to_usize, xattr,
};
use crate::volume::Volume;
use crate::xattr::Content;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Work;
use std::cmp::Reverse;

impl<M: Mtd> Volume<M> {
    /// Binds every reference to its inode and its datum.
    pub(crate) fn build_xattrs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut pairs = Vec::new();
        for slot in self.xattrs.reference_slots() {
            if !self.verify_reference(clock, slot)? {
                continue;
            }
            let Some(reference) = self.xattrs.reference(slot) else { continue };
            let age = Reverse((reference.sequence, reference.removed));
            pairs.push((reference.ino, reference.xid, age, slot));
        }
        pairs.sort_unstable();
        for same in pairs.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let newest = self.merge_references(same.iter().map(|&(.., slot)| slot));
            newest.into_iter().for_each(|newest| self.bind_reference(newest));
        }
        Ok(())
    }

    /// Reads a reference of which a summary gives only the place. A damaged one is dropped.
    fn verify_reference(&mut self, clock: &mut Clock, slot: u32) -> Result<bool, Error> {
        let Some(node) = self.xattrs.reference(slot).and_then(|reference| reference.nodes) else {
            return Ok(false);
        };
        if self.blocks.node(node).state() != NodeState::Unchecked {
            return Ok(true);
        }
        let mut bytes = [0; 28];
        let at = self.blocks.flash_offset(node);
        self.read_flash(clock, at, &mut bytes)?;
        self.host.spend(clock, Work::Crc, 24);
        let is_one = Header::parse(&bytes, self.order)
            .is_ok_and(|header| header == Header::new(NodeType::Xref, 28));
        let found = XrefView::new(&bytes, self.order).map(|view| view.parse());
        let Some(found) = found.ok().filter(|_| is_one) else {
            self.account_obsolete(node);
            self.xattrs.remove_reference(slot);
            return Ok(false);
        };
        self.blocks.mark_used(node, NodeState::Pristine);
        self.xattrs.reserve_sequence(found.sequence);
        self.xattrs.reserve_xid(found.xid);
        if let Some(reference) = self.xattrs.reference_mut(slot) {
            (reference.ino, reference.xid) = (found.ino, found.xid);
            (reference.sequence, reference.removed) = (found.sequence, found.removed);
            reference.marked = found.removed;
        }
        Ok(true)
    }

    /// Merges the references of one inode to one datum, newest first: the first stays, with the
    /// nodes of all. Returns its slot. All are merged at once, since an image may contain one pair
    /// in every node.
    fn merge_references(&mut self, mut slots: impl Iterator<Item = u32>) -> Option<u32> {
        let newest = slots.next()?;
        let own = self.xattrs.reference(newest).and_then(|reference| reference.nodes);
        let mut last = self.blocks.chain(own).last();
        for slot in slots {
            let nodes = self.xattrs.reference(slot).and_then(|reference| reference.nodes);
            if let Some(last) = last {
                self.blocks.set_next(last, nodes);
            }
            let chain: Vec<_> = self.blocks.chain(nodes).collect();
            for &id in &chain {
                self.blocks.set_owner(id, Owner::Xref(newest));
            }
            last = chain.last().copied().or(last);
            self.xattrs.remove_reference(slot);
        }
        Some(newest)
    }

    fn bind_reference(&mut self, slot: u32) {
        let Some(reference) = self.xattrs.reference(slot) else { return };
        let (ino, xid, removed) = (reference.ino, reference.xid, reference.removed);
        let inode = self.inodes.slot(ino).filter(|&inode| self.inodes.get(inode).links > 0);
        let datum = self.xattrs.slot(xid);
        let (Some(inode), Some(datum), false) = (inode, datum, removed) else {
            // A new inode must not get this number, and the attribute with it.
            self.inodes.reserve_number(ino);
            self.xattrs.mark_dead(slot);
            return;
        };
        if let Some(datum) = self.xattrs.datum_mut(datum) {
            datum.references += 1;
        }
        let next = self.inodes.get_mut(inode).xrefs.replace(slot);
        if let Some(reference) = self.xattrs.reference_mut(slot) {
            reference.next = next;
        }
    }

    /// Verifies the data that came from summaries, as part of the check after a mount. Data without
    /// a valid node are dropped.
    pub(crate) fn check_xattrs(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for slot in self.xattrs.data_slots() {
            let nodes = self.xattrs.datum(slot).and_then(|datum| datum.nodes);
            let unchecked = |&id: &_| self.blocks.node(id).state() == NodeState::Unchecked;
            if self.blocks.chain(nodes).any(|id| unchecked(&id)) {
                self.load_datum(clock, slot)?;
            }
        }
        Ok(())
    }

    /// Reads namespace, name and value of a datum, unless already read, from the newest valid node;
    /// all nodes have the same content. False when there is none; then all become obsolete.
    pub(crate) fn load_datum(&mut self, clock: &mut Clock, slot: u32) -> Result<bool, Error> {
        let Some(datum) = self.xattrs.datum(slot) else { return Ok(false) };
        let Some(node) = datum.nodes else { return Ok(false) };
        if datum.content.is_some() {
            return Ok(true);
        }
        let (xid, mut content) = (datum.xid, None);
        let nodes: Vec<_> = self.blocks.chain(Some(node)).collect();
        for id in nodes {
            if content.is_none() {
                content = self.read_datum(clock, id, xid)?.ok();
            }
            if content.is_none() {
                self.account_obsolete(id);
                self.unlink_node(id);
            } else if self.blocks.node(id).state() == NodeState::Unchecked {
                self.blocks.mark_used(id, NodeState::Pristine);
            }
        }
        let good = content.is_some();
        match self.xattrs.datum_mut(slot) {
            Some(datum) if good || datum.references > 0 => datum.content = content,
            _ => self.xattrs.remove_datum(slot),
        }
        Ok(good)
    }

    /// Reads a node of an attribute; the outer error is that of the flash.
    fn read_datum(
        &mut self,
        clock: &mut Clock,
        node: crate::block::NodeId,
        xid: u32,
    ) -> Result<Result<Content, Malformed>, Error> {
        let (at, length) = (self.blocks.flash_offset(node), self.blocks.length(node));
        let mut bytes = vec![0; to_usize(xattr::SIZE)];
        self.read_flash(clock, at, &mut bytes)?;
        let needed = match XattrView::new(&bytes, self.order) {
            Ok(view) if view.xid() == xid => xattr::SIZE + view.data_length(),
            Ok(view) => {
                return Ok(Err(Malformed::Value { field: "attribute number", found: view.xid() }));
            }
            Err(cause) => return Ok(Err(cause)),
        };
        if needed > length {
            return Ok(Err(Malformed::Length { total: length, needed: u64::from(needed) }));
        }
        bytes.resize(to_usize(needed), 0);
        let (header, data) = bytes.split_at_mut(to_usize(xattr::SIZE));
        self.read_flash(clock, at + Bytes::of(header), data)?;
        self.host.spend(clock, Work::Crc, bytes.len());
        let parsed = XattrView::new(&bytes, self.order).and_then(|view| view.parse());
        Ok(parsed.map(|found| Content {
            prefix: found.prefix,
            name: found.name.into(),
            value: found.value.into(),
        }))
    }

    /// The references of an inode with valid data, newest first: of two data of one name only that
    /// of the newer reference. Returns slots of reference and datum.
    pub(crate) fn xattrs_of(
        &mut self,
        clock: &mut Clock,
        inode: u32,
    ) -> Result<Vec<(u32, u32)>, Error> {
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        let mut next = self.inodes.get(inode).xrefs;
        while let Some(slot) = next {
            let Some(reference) = self.xattrs.reference(slot) else { break };
            next = reference.next;
            let (sequence, xid) = (reference.sequence, reference.xid);
            let Some(datum) = self.xattrs.slot(xid) else { continue };
            if self.load_datum(clock, datum)? {
                found.push((sequence, slot, datum));
            }
        }
        found.sort_by_key(|&(sequence, ..)| Reverse(sequence));
        let mut names = std::collections::BTreeSet::new();
        found.retain(|&(_, _, datum)| {
            let content = self.xattrs.datum(datum).and_then(|datum| datum.content.as_ref());
            content.is_some_and(|content| names.insert((content.prefix, content.name.clone())))
        });
        Ok(found.into_iter().map(|(_, reference, datum)| (reference, datum)).collect())
    }

    /// The reference and the datum of one attribute of an inode.
    pub(crate) fn find_xattr(
        &mut self,
        clock: &mut Clock,
        inode: u32,
        prefix: XattrPrefix,
        name: &[u8],
    ) -> Result<Option<(u32, u32)>, Error> {
        let all = self.xattrs_of(clock, inode)?;
        Ok(all.into_iter().find(|&(_, datum)| {
            let content = self.xattrs.datum(datum).and_then(|datum| datum.content.as_ref());
            content.is_some_and(|content| content.prefix == prefix && *content.name == *name)
        }))
    }
}
