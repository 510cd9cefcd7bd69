//! The default filesystem that an empty volume gets at its first mount.
//!
//! Layer: rank 5. It has one directory and nothing in it:
//!
//! ```text
//!  LEB 0       superblock
//!      1, 2    master node
//!      3       commit start; the rest of the log is unmapped
//!      ...     LEB properties tree
//!      ...     orphans: unmapped
//!      main+0  indexing node with one branch    (also the head of the index)
//!      main+1  inode of the root directory
//!      main+2  reserved for garbage collection: unmapped
//! ```
//! The identity is random in the kernel; here it comes from the seed of the mount. The kernel prefers
//! zstd as compressor; here it is LZO, as in a kernel without zstd.
//!
//! Source: Linux 6.1, `fs/ubifs/sb.c`, `create_default_filesystem`.

use crate::error::MountError;
use crate::format::index::{self, Branch, IndexNode};
use crate::format::inode::{InodeNode, flag};
use crate::format::journal::CommitStart;
use crate::format::key::Key;
use crate::format::master::Master;
use crate::format::superblock::Superblock;
use crate::format::{FIRST_INO, ROOT_INO};
use crate::layout::{
    BUD_LEBS_MIN, FIXED_LEBS, JOURNAL_LEBS_MIN, LEBS_MIN, LOG_LEB, LSAVE_DEFAULT, Layout,
    MASTER_LEB, ORPHAN_LEBS_MIN, SB_LEB,
};
use crate::lpt::DefaultLpt;
use crate::options::Compressor;
use crate::{LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Timestamp;

/// The journal's part of the volume, in percent.
const JOURNAL_PERCENT: u64 = 5;
/// The largest journal in bytes.
const JOURNAL_MAX: u64 = 32 * 1_024 * 1_024;
/// The reserved pool's part of the main area, in percent.
const POOL_PERCENT: u64 = 5;
/// The largest reserved pool in bytes.
const POOL_MAX: u64 = 5 * 1_024 * 1_024;
/// Branches of an indexing node.
pub(crate) const FANOUT: u32 = 8;
/// Data heads of the journal.
pub(crate) const DATA_HEADS: u32 = 1;
/// Nanoseconds of the granularity of times.
pub(crate) const TIME_GRAN: u32 = 1_000_000_000;
/// The mode of the root directory: `drwxr-xr-x`.
const ROOT_MODE: u32 = 0o40_755;
/// No hash algorithm, as images without authentication have it.
const NO_HASH: u16 = 0xFFFF;
/// The root inode's bytes.
const INODE_SIZE: u32 = 160;

/// The sizes of a default filesystem's areas, in LEBs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    /// The log.
    pub(crate) log: u32,
    /// The most buds.
    pub(crate) buds: u32,
    /// Orphans.
    pub(crate) orphans: u32,
    /// LPT and main area together.
    pub(crate) rest: u32,
}

impl Areas {
    pub(crate) fn of(layout: &Layout) -> Self {
        let (leb_size, count) = (u64::from(layout.leb_size), layout.leb_count);
        let journal = (u64::from(count) * JOURNAL_PERCENT / 100).max(u64::from(JOURNAL_LEBS_MIN));
        let journal =
            if journal * leb_size > JOURNAL_MAX { JOURNAL_MAX / leb_size } else { journal };
        // Buds may begin in the middle of a LEB: so there can be twice as many references.
        let references = 2 * u64::from(layout.ref_node_alsz) * journal;
        let log = u32::try_from(references.div_ceil(leb_size) + 1).expect("a part of the journal");
        let spare = count - LEBS_MIN;
        let (log, spare) = if spare > 8 { (log + 1, spare - 1) } else { (log, spare) };
        let journal = u32::try_from(journal).expect("at most 32 MiB");
        let orphans = ORPHAN_LEBS_MIN + u32::from(spare > 1);
        Self {
            log,
            buds: journal.saturating_sub(log).max(BUD_LEBS_MIN),
            orphans,
            rest: count.saturating_sub(FIXED_LEBS + log + orphans),
        }
    }
}

impl<L: Lebs> Volume<L> {
    /// Writes a default filesystem to an empty volume (`create_default_filesystem`).
    ///
    /// # Errors
    /// [`MountError::Shape`] when the LPT does not fit, and any of the volume.
    pub(super) fn create_default_fs(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        let areas = Areas::of(&self.layout);
        self.sb.lsave_count = LSAVE_DEFAULT;
        self.layout.max_leb_count = self.layout.leb_count;
        let lpt_first = LebIndex(LOG_LEB.0 + areas.log);
        let lpt = self.create_default_lpt(clock, lpt_first, areas.rest)?;
        let main_first = LebIndex(self.layout.leb_count - lpt.main_lebs);
        let (index_leb, data_leb) = (main_first, LebIndex(main_first.0 + 1));
        self.sb = self.default_superblock(areas, &lpt);
        let master = self.default_master(main_first, lpt.main_lebs);
        let branch = Branch { lnum: data_leb, offs: 0, len: INODE_SIZE, key: Key::inode(ROOT_INO) };
        let root = IndexNode { level: 0, branches: vec![branch] };
        self.max_sqnum += 1;
        let inode = default_root(self.max_sqnum, self.wall.at(clock.now()));
        self.write_node(clock, self.sb.emit(), SB_LEB, 0)?;
        self.write_node(clock, inode.emit(), data_leb, 0)?;
        self.write_node(clock, root.emit(), index_leb, 0)?;
        self.write_node(clock, master.emit(), MASTER_LEB, 0)?;
        self.write_node(clock, master.emit(), LebIndex(MASTER_LEB.0 + 1), 0)?;
        self.write_node(clock, CommitStart { cmt_no: 0 }.emit(), LOG_LEB, 0)?;
        Ok(())
    }

    fn default_superblock(&self, areas: Areas, lpt: &DefaultLpt) -> Superblock {
        let (layout, version) = (&self.layout, self.options.profile.fmt_version);
        let new = version > 4;
        let leb_size = u64::from(layout.leb_size);
        let pool = u64::from(lpt.main_lebs) * leb_size * POOL_PERCENT / 100;
        Superblock {
            flags: if lpt.big { Superblock::BIGLPT } else { 0 }
                | if new { Superblock::DOUBLE_HASH } else { 0 },
            min_io: layout.min_io,
            leb_size: layout.leb_size,
            leb_count: layout.leb_count,
            max_leb_count: layout.max_leb_count,
            max_bud_bytes: u64::from(areas.buds) * leb_size,
            log_lebs: areas.log,
            lpt_lebs: lpt.lpt_lebs,
            orph_lebs: areas.orphans,
            jhead_count: DATA_HEADS,
            fanout: FANOUT,
            lsave_count: LSAVE_DEFAULT,
            fmt_version: version,
            default_compr: match self.options.compressor.unwrap_or(Compressor::Lzo) {
                Compressor::None => 0,
                Compressor::Lzo => 1,
                Compressor::Zlib => 2,
                Compressor::Zstd => 3,
            },
            rp_size: pool.min(POOL_MAX),
            time_gran: TIME_GRAN,
            uuid: self.new_uuid(),
            // Linux 2.6 has no such field.
            hash_algo: if new { NO_HASH } else { 0 },
            ..Superblock::default()
        }
    }

    /// A random identity (version 4 of RFC 4122).
    pub(crate) fn new_uuid(&self) -> [u8; 16] {
        let mut uuid = [0; 16];
        self.options.seed.stream("ubifs uuid").fill(&mut uuid);
        uuid[6] = uuid[6] & 0x0F | 0x40;
        uuid[8] = uuid[8] & 0x3F | 0x80;
        uuid
    }

    fn default_master(&self, main_first: LebIndex, main_lebs: u32) -> Master {
        let layout = &self.layout;
        let index_size = index::size_of(1);
        let index_units = index_size.next_multiple_of(layout.min_io);
        let inode_units = INODE_SIZE.next_multiple_of(layout.min_io);
        let index_aligned = index_size.next_multiple_of(8);
        let main_bytes = u64::from(main_lebs) * u64::from(layout.leb_size);
        let dirty = index_units - index_aligned + inode_units - INODE_SIZE;
        let mut master = Master {
            highest_inum: u64::from(FIRST_INO),
            log_lnum: LOG_LEB,
            root_lnum: main_first,
            root_len: index_size,
            gc_lnum: Some(LebIndex(main_first.0 + 2)),
            ihead_lnum: main_first,
            ihead_offs: index_units,
            index_size: u64::from(index_aligned),
            total_free: main_bytes - u64::from(index_units) - u64::from(inode_units),
            total_dirty: u64::from(dirty),
            total_used: u64::from(INODE_SIZE),
            // The LEB of the index has no dark space.
            total_dark: u64::from(main_lebs - 1) * u64::from(layout.dark_wm),
            empty_lebs: main_lebs - 2,
            idx_lebs: 1,
            leb_count: layout.leb_count,
            ..Master::default()
        };
        self.lpt.store_in_master(&mut master);
        master.lscan_lnum = main_first;
        master
    }
}

/// The inode of the root directory.
fn default_root(creat_sqnum: u64, now: Timestamp) -> InodeNode {
    let now = Timestamp::seconds(now.seconds);
    InodeNode {
        creat_sqnum,
        size: u64::from(INODE_SIZE),
        accessed: now,
        changed: now,
        modified: now,
        nlink: 2,
        mode: ROOT_MODE,
        flags: flag::COMPR,
        ..InodeNode::zeroed(Key::inode(ROOT_INO))
    }
}
