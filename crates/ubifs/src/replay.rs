//! Replay: puts what the journal holds into the index in memory.
//!
//! Layer: rank 5.
//!
//! ```text
//!  log: commit start, references -> buds in their order -> all nodes of all buds
//!   -> sorted by sequence number -> applied to the index -> properties of the buds
//! ```
//!
//! Only the last bud of each journal head, and the last LEB of the log, can be damaged by a power cut;
//! `recovery` repairs them. A deliberate difference: the end of a data node beyond 4 GiB does not wrap
//! around at 32 bits.
//!
//! Source: Linux 6.1, `fs/ubifs/replay.c`.

use crate::error::Problem;
use crate::format::data::Data;
use crate::format::dirent::Dirent;
use crate::format::index::Branch;
use crate::format::inode::InodeNode;
use crate::format::journal::{CommitStart, Reference, Truncation};
use crate::format::key::{HASH_BITS, Key, KeyType};
use crate::format::{BLOCK_SIZE, Malformed, NodeType, SQNUM_WATERMARK, usize_of};
use crate::log::Bud;
use crate::lprops::flag;
use crate::options::Mistake;
use crate::scan::{ScannedLeb, ScannedNode};
use crate::tnc::kind_of;
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// Bytes of a block.
const BLOCK: u64 = BLOCK_SIZE as u64;
/// The largest file (`key_max_inode_size`).
const FILE_MAX: u64 = BLOCK << HASH_BITS;

/// A node of the journal that changes the index (`struct replay_entry`).
#[derive(Debug, Clone)]
struct Entry {
    branch: Branch,
    sqnum: u64,
    deletion: bool,
    content: Content,
}

/// What a node says besides its key.
#[derive(Debug, Clone)]
enum Content {
    /// The name of an entry.
    Name(Vec<u8>),
    /// The size of a file, before (truncations only) and after.
    Size { old: u64, new: u64 },
}

/// A bud to replay (`struct bud_entry`).
#[derive(Debug, Clone)]
struct ReplayBud {
    bud: Bud,
    free: u32,
    dirty: u32,
}

/// Where the log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogLeb {
    /// The next LEB may continue it.
    Continues,
    /// This one is not part of it any more.
    Ended,
}

impl<L: Lebs> Volume<L> {
    /// Replays the journal (`ubifs_replay_journal`).
    pub(crate) fn replay_journal(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.take_index_head(clock)?;
        self.mode.replaying = true;
        let result = self.replay_all(clock);
        self.mode.replaying = false;
        result
    }

    fn replay_all(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut buds = Vec::new();
        self.replay_log(clock, &mut buds)?;
        let mut entries = Vec::new();
        for bud in &mut buds {
            self.replay_bud(clock, bud, &mut entries)?;
        }
        if self.mistake == Some(Mistake::ReplaysInWrongOrder) {
            entries.sort_by_key(|entry| (entry.branch.lnum, entry.branch.offs));
        } else {
            entries.sort_by_key(|entry| entry.sqnum);
        }
        for (index, entry) in entries.iter().enumerate() {
            self.apply(clock, entry, &entries[index..])?;
        }
        for bud in &buds {
            self.set_bud_lprops(clock, bud)?;
        }
        self.check_replayed_lprops()?;
        let dirty = i64::try_from(self.znode_counts().0).expect("a count of nodes is small");
        self.bi.uncommitted_idx = dirty * i64::from(self.layout.max_idx_node_sz);
        Ok(())
    }

    /// Marks the LEB of the index head as taken (`take_ihead`).
    fn take_index_head(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let (leb, offs) = (self.tnc.ihead_lnum, self.tnc.ihead_offs);
        let lp = self.lpt_lookup_dirty(clock, leb)?;
        self.change_lp(clock, lp, None, None, lp.flags | flag::TAKEN)?;
        if offs != self.layout.leb_size - lp.free {
            return Err(Error::at(leb, offs, Problem::Properties));
        }
        Ok(())
    }

    fn replay_log(&mut self, clock: &mut Clock, buds: &mut Vec<ReplayBud>) -> Result<(), Error> {
        let first = self.log.head;
        self.log.tail = first;
        let mut leb = first;
        loop {
            match self.replay_log_leb(clock, leb, buds)? {
                LogLeb::Continues => {}
                // Every log begins with a commit start.
                LogLeb::Ended if leb == self.log.head => {
                    return Err(Error::at(leb, 0, Problem::Log));
                }
                LogLeb::Ended => return Ok(()),
            }
            leb = self.next_log_leb(leb);
            if leb == self.log.tail {
                return Ok(());
            }
        }
    }

    fn replay_log_leb(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        buds: &mut Vec<ReplayBud>,
    ) -> Result<LogLeb, Error> {
        let scanned = match self.scan(clock, leb, 0) {
            Err(error) if error.is_unclean() && self.mode.need_recovery => {
                self.recover_log_leb(clock, leb, 0)?
            }
            other => other?,
        };
        let Some(first) = scanned.nodes.first() else { return Ok(LogLeb::Ended) };
        if self.recovery.cs_sqnum == 0 {
            self.read_commit_start(&scanned, first)?;
        }
        if first.sqnum < self.recovery.cs_sqnum {
            // Older than the commit: the LEB was unmapped, and a power cut has undone that.
            return Ok(LogLeb::Ended);
        }
        if first.offs != 0 {
            return Err(Error::at(leb, first.offs, Problem::Log));
        }
        for node in &scanned.nodes {
            self.replay_log_node(&scanned, node, buds)?;
        }
        if scanned.endpt != 0 || self.log.head_offs >= self.layout.leb_size {
            (self.log.head, self.log.head_offs) = (leb, scanned.endpt);
        }
        Ok(if scanned.endpt == 0 { LogLeb::Ended } else { LogLeb::Continues })
    }

    /// The first node of the log is the start of the commit that the master node belongs to.
    fn read_commit_start(&mut self, scanned: &ScannedLeb, node: &ScannedNode) -> Result<(), Error> {
        if node.kind != NodeType::CommitStart {
            return Err(Error::at(scanned.leb, node.offs, Problem::Log));
        }
        let start = CommitStart::parse(scanned.node_bytes(node)).map_err(at(scanned, node))?;
        if start.cmt_no != self.cmt_no {
            return Err(Error::at(scanned.leb, node.offs, Problem::Log));
        }
        self.recovery.cs_sqnum = node.sqnum;
        Ok(())
    }

    fn replay_log_node(
        &mut self,
        scanned: &ScannedLeb,
        node: &ScannedNode,
        buds: &mut Vec<ReplayBud>,
    ) -> Result<(), Error> {
        let wrong = Error::at(scanned.leb, node.offs, Problem::Log);
        if node.sqnum >= SQNUM_WATERMARK || node.sqnum < self.recovery.cs_sqnum {
            return Err(wrong);
        }
        self.max_sqnum = self.max_sqnum.max(node.sqnum);
        match node.kind {
            NodeType::CommitStart if node.offs == 0 => Ok(()),
            NodeType::Reference => {
                let reference =
                    Reference::parse(scanned.node_bytes(node)).map_err(at(scanned, node))?;
                let Some(bud) = self.validate_reference(&reference).ok_or(wrong)? else {
                    return Ok(());
                };
                self.add_bud(bud.clone());
                buds.push(ReplayBud { bud, free: 0, dirty: 0 });
                Ok(())
            }
            _ => Err(wrong),
        }
    }

    /// The bud of a reference; `Some(None)` when it is known, `None` when the reference is impossible
    /// (`validate_ref`).
    fn validate_reference(&self, reference: &Reference) -> Option<Option<Bud>> {
        let layout = &self.layout;
        let jhead = usize_of(reference.jhead);
        // A head at the end of its LEB has a reference too.
        let possible = jhead < self.heads.len()
            && (layout.main_first.0..layout.leb_count).contains(&reference.lnum.0)
            && reference.offs <= layout.leb_size
            && reference.offs.is_multiple_of(layout.min_io);
        if !possible {
            return None;
        }
        match self.search_bud(reference.lnum) {
            Some(bud) if bud.jhead == jhead && bud.start <= reference.offs => Some(None),
            Some(_) => None,
            None => Some(Some(Bud { leb: reference.lnum, start: reference.offs, jhead })),
        }
    }

    /// Scans a bud and collects its nodes (`replay_bud`).
    fn replay_bud(
        &mut self,
        clock: &mut Clock,
        bud: &mut ReplayBud,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        let (leb, start, jhead) = (bud.bud.leb, bud.bud.start, bud.bud.jhead);
        let scanned = if self.mode.need_recovery && self.is_last_bud(clock, &bud.bud) {
            self.recover_leb(clock, leb, start, Some(jhead))?
        } else {
            self.scan(clock, leb, start)?
        };
        let mut used = 0;
        for node in &scanned.nodes {
            if node.sqnum >= SQNUM_WATERMARK {
                return Err(Error::at(leb, node.offs, Problem::Log));
            }
            self.max_sqnum = self.max_sqnum.max(node.sqnum);
            if let Some(entry) = entry_of(&scanned, node)? {
                self.highest_inum = self.highest_inum.max(entry.branch.key.ino());
                if !entry.deletion {
                    used += node.len.next_multiple_of(8);
                }
                entries.push(entry);
            }
        }
        let filled = scanned.endpt.checked_sub(start);
        let dirty = filled.and_then(|filled| filled.checked_sub(used));
        bud.dirty = dirty.ok_or_else(|| Error::at(leb, scanned.endpt, Problem::Properties))?;
        bud.free = self.layout.leb_size - scanned.endpt;
        Ok(())
    }

    /// Whether a bud is the last one of its head (`is_last_bud`). Old versions of UBIFS added the next
    /// bud before they wrote the last bytes of this one, so an empty last bud does not count.
    fn is_last_bud(&mut self, clock: &mut Clock, bud: &Bud) -> bool {
        let buds = &self.heads[bud.jhead].buds;
        let index = buds.iter().position(|&leb| leb == bud.leb);
        let after = index.map_or(0, |index| buds.len() - 1 - index);
        if after != 1 {
            return after == 0;
        }
        let next = buds[buds.len() - 1];
        let start = self.search_bud(next).map_or(0, |bud| bud.start);
        let mut bytes = [0; 4];
        self.leb_read(clock, next, start, &mut bytes).is_ok() && bytes == [0xFF; 4]
    }

    /// Applies one entry to the index (`apply_replay_entry`). `later` are this and all later ones.
    fn apply(&mut self, clock: &mut Clock, entry: &Entry, later: &[Entry]) -> Result<(), Error> {
        let (key, branch) = (entry.branch.key, entry.branch);
        let (old, new) = match &entry.content {
            Content::Name(name) if entry.deletion => {
                return self.tnc_remove_name(clock, key, name);
            }
            Content::Name(name) => return self.tnc_add_name(clock, branch, name),
            &Content::Size { old, new } => (old, new),
        };
        match key.kind() {
            _ if !entry.deletion => self.tnc_add(clock, branch)?,
            Some(KeyType::Inode) if still_linked(key, later) => {}
            Some(KeyType::Inode) => self.tnc_remove_ino(clock, key.ino())?,
            Some(KeyType::Truncation) => {
                let (first, last) = (new.div_ceil(BLOCK), old.div_ceil(BLOCK) - 1);
                if first <= last {
                    let data = |block| Key::data(key.ino(), block_of(block));
                    self.tnc_remove_range(clock, data(first), data(last))?;
                }
            }
            _ => self.tnc_remove(clock, key)?,
        }
        if self.mode.need_recovery {
            self.recover_size_accum(key, entry.deletion, new);
        }
        Ok(())
    }

    /// Sets the properties of a bud's LEB, and points its head there (`set_bud_lprops`).
    fn set_bud_lprops(&mut self, clock: &mut Clock, bud: &ReplayBud) -> Result<(), Error> {
        let leb = bud.bud.leb;
        let lp = self.lpt_lookup_dirty(clock, leb)?;
        let mut dirty = i64::from(lp.dirty) + i64::from(bud.dirty);
        if bud.bud.start == 0 && (lp.free != self.layout.leb_size || lp.dirty != 0) {
            // The LEB was collected and became a bud without a commit in between, so the properties
            // on flash still count what the collection has freed.
            dirty -= i64::from(self.layout.leb_size - lp.free);
        }
        let dirty = u32::try_from(dirty).map_err(|_| Error::at(leb, 0, Problem::Properties))?;
        self.change_lp(clock, lp, Some(bud.free), Some(dirty), lp.flags | flag::TAKEN)?;
        self.wbuf_seek(clock, bud.bud.jhead, leb, self.layout.leb_size - bud.free)
    }
}

/// The entry of a scanned node; `None` for nodes that change nothing.
fn entry_of(scanned: &ScannedLeb, node: &ScannedNode) -> Result<Option<Entry>, Error> {
    let bytes = scanned.node_bytes(node);
    let wrong = |name, value| at(scanned, node)(Malformed::Field { name, value });
    let mut key = node.key;
    let has_key = [NodeType::Inode, NodeType::Data, NodeType::Dirent, NodeType::Xattr];
    if has_key.contains(&node.kind) && kind_of(key) != Some(node.kind) {
        return Err(wrong("key", u64::from(key.word())));
    }
    let (deletion, content) = match node.kind {
        NodeType::Inode => {
            let inode = InodeNode::parse(bytes).map_err(at(scanned, node))?;
            (inode.nlink == 0, Content::Size { old: 0, new: inode.size })
        }
        NodeType::Data => {
            let data = Data::parse(bytes).map_err(at(scanned, node))?;
            let end = u64::from(key.low()) * BLOCK + u64::from(data.size);
            (false, Content::Size { old: 0, new: end })
        }
        NodeType::Dirent | NodeType::Xattr => {
            let entry = Dirent::parse(bytes).map_err(at(scanned, node))?;
            (entry.inum == 0, Content::Name(entry.name))
        }
        NodeType::Truncation => {
            let cut = Truncation::parse(bytes).map_err(at(scanned, node))?;
            if cut.old_size > FILE_MAX || cut.old_size <= cut.new_size {
                return Err(wrong("new_size", cut.new_size));
            }
            key = Key::truncation(cut.inum);
            (true, Content::Size { old: cut.old_size, new: cut.new_size })
        }
        NodeType::Authentication => return Ok(None),
        other => return Err(wrong("node_type", u64::from(other.number()))),
    };
    let branch = Branch { lnum: scanned.leb, offs: node.offs, len: node.len, key };
    Ok(Some(Entry { branch, sqnum: node.sqnum, deletion, content }))
}

/// Whether the last node of an inode gives it a name again (`inode_still_linked`).
fn still_linked(key: Key, later: &[Entry]) -> bool {
    later.iter().rev().find(|entry| entry.branch.key == key).is_some_and(|entry| !entry.deletion)
}

/// An error about a scanned node.
fn at(scanned: &ScannedLeb, node: &ScannedNode) -> impl Fn(Malformed) -> Error {
    let (leb, offs) = (scanned.leb, node.offs);
    move |cause| Error::Node { leb, offs, cause }
}

fn block_of(block: u64) -> u32 {
    u32::try_from(block).expect("sizes are below 2 TiB")
}
