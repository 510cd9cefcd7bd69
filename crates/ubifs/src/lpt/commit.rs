//! The commit of the LEB properties tree (LPT): where the dirty nodes go, and writing them.
//!
//! Layer: rank 5. Main type: [`Cnode`]. First every node gets its place, so that its parent can refer to
//! it; the master node and the tables follow from that. Then the same walk writes the bytes. A node is
//! clean once it has its place: what changes while the index is written is for the next commit.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt_commit.c`: `ubifs_lpt_start_commit`, `layout_cnodes`,
//! `ubifs_lpt_end_commit`, `write_cnodes`, `ubifs_lpt_post_commit`.

use super::geometry::FANOUT;
use super::node::Place;
use super::tree::NONE;
use crate::error::Problem;
use crate::format::{u32_of, usize_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

/// A dirty node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cnode {
    /// A leaf, by its position in memory.
    Pnode(u32),
    /// An inner node.
    Nnode(u32),
}

/// What is placed or written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Lsave,
    Ltab,
    Cnode(Cnode),
}

/// The place where the walk is.
#[derive(Debug, Clone, Copy)]
struct Head {
    leb: LebIndex,
    offs: u32,
}

/// What the walk does at each step: it lays out, or it writes what was laid out.
trait Walk<L> {
    /// Ends the present LEB at `head`, and returns the next one.
    fn next_leb(
        &mut self,
        volume: &mut Volume<L>,
        clock: &mut Clock,
        head: Head,
    ) -> Result<LebIndex, Error>;
    /// Handles an item at `head`.
    fn item(&mut self, volume: &mut Volume<L>, item: Item, head: Head);
}

/// Gives every item its place.
struct Layouting;

impl<L: Lebs> Walk<L> for Layouting {
    fn next_leb(
        &mut self,
        volume: &mut Volume<L>,
        _clock: &mut Clock,
        head: Head,
    ) -> Result<LebIndex, Error> {
        volume.use_own(head);
        volume.take_own_leb(head.leb)
    }

    fn item(&mut self, volume: &mut Volume<L>, item: Item, Head { leb, offs }: Head) {
        let lpt = &mut volume.lpt;
        match item {
            Item::Lsave => (lpt.lsave_lnum, lpt.lsave_offs) = (leb, offs),
            Item::Ltab => (lpt.ltab_lnum, lpt.ltab_offs) = (leb, offs),
            Item::Cnode(cnode) => {
                let (parent, iip) = match cnode {
                    Cnode::Pnode(at) => {
                        lpt.dirty_pnodes -= 1;
                        let pnode = &mut lpt.pnodes[usize_of(at)];
                        pnode.dirty = false;
                        (pnode.parent, pnode.iip)
                    }
                    Cnode::Nnode(at) => {
                        lpt.dirty_nnodes -= 1;
                        let nnode = &mut lpt.nnodes[usize_of(at)];
                        nnode.dirty = false;
                        (nnode.parent, nnode.iip)
                    }
                };
                lpt.set_place(parent, iip, (leb, offs));
            }
        }
    }
}

/// Writes every item.
struct Writing {
    /// The bytes of the present LEB from `from` on.
    bytes: Vec<u8>,
    /// Where they begin.
    from: u32,
}

impl Writing {
    fn flush<L: Lebs>(
        &mut self,
        volume: &mut Volume<L>,
        clock: &mut Clock,
        leb: LebIndex,
    ) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let padded = self.bytes.len().next_multiple_of(usize_of(volume.layout.min_io));
        self.bytes.resize(padded, 0xFF);
        volume.host.spend(clock, Work::Crc, self.bytes.len());
        volume.leb_write(clock, leb, self.from, &self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

impl<L: Lebs> Walk<L> for Writing {
    fn next_leb(
        &mut self,
        volume: &mut Volume<L>,
        clock: &mut Clock,
        head: Head,
    ) -> Result<LebIndex, Error> {
        self.flush(volume, clock, head.leb)?;
        self.from = 0;
        let leb = volume.retake_own_leb(head.leb);
        volume.leb_unmap(clock, leb)?;
        Ok(leb)
    }

    fn item(&mut self, volume: &mut Volume<L>, item: Item, _head: Head) {
        let lpt = &mut volume.lpt;
        let node = match item {
            Item::Lsave => lpt.pack_lsave(&lpt.saved),
            Item::Ltab => lpt.pack_ltab(&lpt.own_committed),
            Item::Cnode(Cnode::Pnode(at)) => {
                let pnode = &lpt.pnodes[usize_of(at)];
                lpt.pack_pnode(pnode.number, pnode.props())
            }
            Item::Cnode(Cnode::Nnode(at)) => {
                let nnode = &lpt.nnodes[usize_of(at)];
                let (number, places) = (nnode.number, nnode.branches.map(|branch| branch.place));
                lpt.pack_nnode(&volume.layout, number, &places)
            }
        };
        self.bytes.extend(node);
    }
}

impl<L: Lebs> Volume<L> {
    /// Lays the dirty nodes out (`ubifs_lpt_start_commit`).
    ///
    /// # Errors
    /// No space in the tree's own area, a damaged node, and any of the LEBs.
    pub(crate) fn lpt_start_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if std::mem::take(&mut self.lpt.check_free) {
            self.make_own_space(clock)?;
        }
        self.collect_dirty_lebs();
        if self.lpt.dirty_pnodes == 0 {
            return Ok(());
        }
        if !self.lpt.big && self.own_space_is_short() {
            self.make_tree_dirty(clock)?;
            self.collect_dirty_lebs();
        }
        if self.lpt.big {
            self.fill_save_table();
        }
        self.lpt.committing = self.dirty_cnodes();
        let dirty = self.lpt.dirty_nnodes + self.lpt.dirty_pnodes;
        assert_eq!(u32_of(self.lpt.committing.len()), dirty, "dirty nodes of the LPT");
        let head = self.walk_cnodes(clock, &mut Layouting)?;
        self.use_own(head);
        self.check_own_space()?;
        self.lpt.own_committed.clone_from(&self.lpt.own);
        (self.lpt.ltab_dirty, self.lpt.lsave_dirty) = (false, false);
        Ok(())
    }

    /// Writes what was laid out (`ubifs_lpt_end_commit`).
    ///
    /// # Errors
    /// Any of the LEBs.
    pub(crate) fn lpt_end_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.lpt.committing.is_empty() {
            return Ok(());
        }
        let (leb, offs) = (self.lpt.nhead_lnum, self.lpt.nhead_offs);
        if offs == 0 {
            self.leb_unmap(clock, leb)?;
        }
        let mut writing = Writing { bytes: Vec::new(), from: offs };
        let head = self.walk_cnodes(clock, &mut writing)?;
        writing.flush(self, clock, head.leb)?;
        self.lpt.nhead_lnum = head.leb;
        self.lpt.nhead_offs = head.offs.next_multiple_of(self.layout.min_io);
        self.lpt.committing.clear();
        Ok(())
    }

    /// Erases the LEBs that the commit made free, and makes space for the next one
    /// (`ubifs_lpt_post_commit`).
    ///
    /// # Errors
    /// As [`Volume::lpt_start_commit`].
    pub(crate) fn lpt_post_commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.release_dirty_lebs(clock)?;
        if self.lpt.big {
            self.make_own_space(clock)?;
        }
        Ok(())
    }

    /// Goes through save table, own table and all nodes that are committed, as they lie on flash; the
    /// tables are at the head if they fit, else in front of the first node of the next LEB.
    fn walk_cnodes(&mut self, clock: &mut Clock, walk: &mut dyn Walk<L>) -> Result<Head, Error> {
        let leb_size = self.layout.leb_size;
        let mut head = Head { leb: self.lpt.nhead_lnum, offs: self.lpt.nhead_offs };
        let mut tables = vec![Item::Ltab];
        if self.lpt.big {
            tables.insert(0, Item::Lsave);
        }
        tables.retain(|&table| {
            let size = self.item_size(table);
            let fits = head.offs + size <= leb_size;
            if fits {
                walk.item(self, table, head);
                head.offs += size;
            }
            !fits
        });
        for at in 0..self.lpt.committing.len() {
            let item = Item::Cnode(self.lpt.committing[at]);
            let size = self.item_size(item);
            while head.offs + size > leb_size {
                let leb = walk.next_leb(self, clock, head)?;
                head = Head { leb, offs: 0 };
                if tables.is_empty() {
                    break;
                }
                let table = tables.remove(0);
                walk.item(self, table, head);
                head.offs += self.item_size(table);
            }
            walk.item(self, item, head);
            head.offs += size;
        }
        for table in tables {
            let size = self.item_size(table);
            if head.offs + size > leb_size {
                head = Head { leb: walk.next_leb(self, clock, head)?, offs: 0 };
            }
            walk.item(self, table, head);
            head.offs += size;
        }
        Ok(head)
    }

    fn item_size(&self, item: Item) -> u32 {
        match item {
            Item::Lsave => self.lpt.lsave_sz,
            Item::Ltab => self.lpt.ltab_sz,
            Item::Cnode(Cnode::Pnode(_)) => self.lpt.pnode_sz,
            Item::Cnode(Cnode::Nnode(_)) => self.lpt.nnode_sz,
        }
    }

    /// Counts a LEB of the tree's own area as written up to `head` (`upd_ltab`).
    fn use_own(&mut self, head: Head) {
        let written = head.offs.next_multiple_of(self.layout.min_io);
        let own = &mut self.lpt.own[usize_of(head.leb.0 - self.layout.lpt_first.0)];
        own.free = self.layout.leb_size - written;
        own.dirty = own.dirty.saturating_add(written - head.offs);
    }

    /// Refuses a table that counted more dirt than there is.
    fn check_own_space(&self) -> Result<(), Error> {
        let own = self.lpt.own.iter().zip(self.layout.lpt_first.0..);
        let leb_size = u64::from(self.layout.leb_size);
        let mut full = own.filter(|(own, _)| u64::from(own.free) + u64::from(own.dirty) > leb_size);
        full.next().map_or(Ok(()), |(_, leb)| Err(Error::at(LebIndex(leb), 0, Problem::LptNode)))
    }

    /// The LEBs of the tree's own area, those behind `leb` first.
    fn own_lebs_behind(&self, leb: LebIndex) -> impl Iterator<Item = usize> + use<L> {
        let next = usize_of(leb.0 - self.layout.lpt_first.0) + 1;
        (next..usize_of(self.layout.lpt_lebs)).chain(0..next)
    }

    /// Takes the next free LEB of the tree's own area (`alloc_lpt_leb`).
    fn take_own_leb(&mut self, leb: LebIndex) -> Result<LebIndex, Error> {
        let (first, leb_size) = (self.layout.lpt_first.0, self.layout.leb_size);
        let free = self.own_lebs_behind(leb).find(|&at| {
            let own = &self.lpt.own[at];
            !own.collected && !own.taken && own.free == leb_size
        });
        let at = free.ok_or(Error::at(leb, leb_size, Problem::LptSpace))?;
        self.lpt.own[at].taken = true;
        Ok(LebIndex(first + u32_of(at)))
    }

    /// The LEB that the layout took (`realloc_lpt_leb`).
    fn retake_own_leb(&mut self, leb: LebIndex) -> LebIndex {
        let taken = self.own_lebs_behind(leb).find(|&at| self.lpt.own[at].taken);
        let at = taken.expect("the layout took as many LEBs as are written");
        self.lpt.own[at].taken = false;
        LebIndex(self.layout.lpt_first.0 + u32_of(at))
    }

    /// All dirty nodes, each behind those below it (`get_cnodes_to_commit`).
    fn dirty_cnodes(&self) -> Vec<Cnode> {
        let mut all = Vec::new();
        if self.lpt_root_is_dirty() {
            self.add_dirty_below(0, &mut all);
        }
        all
    }

    fn add_dirty_below(&self, at: u32, all: &mut Vec<Cnode>) {
        let nnode = &self.lpt.nnodes[usize_of(at)];
        for child in nnode.branches.iter().map(|branch| branch.child).filter(|&it| it != NONE) {
            if nnode.level > 1 {
                if self.lpt.nnodes[usize_of(child)].dirty {
                    self.add_dirty_below(child, all);
                }
            } else if self.lpt.pnodes[usize_of(child)].dirty {
                all.push(Cnode::Pnode(child));
            }
        }
        all.push(Cnode::Nnode(at));
    }

    /// Makes every node dirty that was ever written (`make_tree_dirty`).
    fn make_tree_dirty(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let first = self.load_pnode(clock, 0)?;
        self.make_pnode_dirty(first);
        self.make_subtree_dirty(clock, 0)
    }

    fn make_subtree_dirty(&mut self, clock: &mut Clock, at: u32) -> Result<(), Error> {
        let level = self.lpt.nnodes[usize_of(at)].level;
        for iip in 0..FANOUT {
            let place: Place = self.lpt.place_of(at, iip);
            if place.is_none() {
                continue;
            }
            if level > 1 {
                let child = self.get_nnode(clock, at, iip)?;
                self.make_subtree_dirty(clock, child)?;
            } else {
                let number = self.lpt.nnodes[usize_of(at)].number;
                let number = self.lpt.first_leaf((number, level), iip);
                let pnode = self.load_pnode(clock, number)?;
                self.make_pnode_dirty(pnode);
            }
        }
        Ok(())
    }
}
