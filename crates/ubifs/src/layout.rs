//! The constants of a mounted volume: areas, sizes and watermarks, all derived from the superblock.
//!
//! Layer: rank 5. Main type: [`Layout`].
//!
//! ```text
//!  LEB  0            1 2      3             log_last+1   lpt_last+1       main_first        leb_count
//!       | superblock | master | log ...     | LPT ...    | orphans ...    | main area ...    |
//! ```
//! It is made in three steps: from the shape of the volume, from the superblock after it was
//! validated, and with what depends on both. The size of LPT nodes is in the LPT itself.
//!
//! Source: Linux 6.1, `fs/ubifs/super.c` (`init_constants_early`, `init_constants_sb`), `sb.c`
//! (`ubifs_read_superblock`, `validate_sb`).

use crate::error::MountError;
use crate::format::key::HASH_MASK;
use crate::format::superblock::Superblock;
use crate::format::{FANOUT_MIN, NodeType, index};
use boardlab_ubi::{LebIndex, Shape};

/// The LEB of the superblock.
pub const SB_LEB: LebIndex = LebIndex(0);
/// The first LEB of the master area; it has two.
pub const MASTER_LEB: LebIndex = LebIndex(1);
/// LEBs of the master area.
pub const MASTER_LEBS: u32 = 2;
/// The first LEB of the log.
pub const LOG_LEB: LebIndex = LebIndex(3);
/// LEBs of the superblock and of the master area.
pub(crate) const FIXED_LEBS: u32 = 3;
/// The smallest LEB.
const LEB_SIZE_MIN: u32 = 15 * 1_024;
/// The least LEBs of the log.
const LOG_LEBS_MIN: u32 = 2;
/// The least LEBs of buds: one for each head.
pub(crate) const BUD_LEBS_MIN: u32 = 3;
/// The least LEBs of the journal.
pub(crate) const JOURNAL_LEBS_MIN: u32 = LOG_LEBS_MIN + BUD_LEBS_MIN;
/// The least LEBs of the LEB properties tree.
const LPT_LEBS_MIN: u32 = 2;
/// The least LEBs of the orphan area.
pub(crate) const ORPHAN_LEBS_MIN: u32 = 1;
/// The smallest node that the index refers to, in bytes and aligned: a data node of up to eight bytes.
const LEAF_MIN: u64 = 56;
/// The least LEBs of the main area.
pub(crate) const MAIN_LEBS_MIN: u32 = BUD_LEBS_MIN + 6;
/// The least LEBs of a volume.
pub(crate) const LEBS_MIN: u32 =
    FIXED_LEBS + LOG_LEBS_MIN + LPT_LEBS_MIN + ORPHAN_LEBS_MIN + MAIN_LEBS_MIN;
/// Journal heads besides those of data.
const OTHER_HEADS: u32 = 2;
/// The most data heads.
const DATA_HEADS_MAX: u32 = 1;
/// LEB numbers in the save table that every volume may have.
pub(crate) const LSAVE_DEFAULT: u32 = 256;
/// The most nanoseconds of the granularity of times.
const TIME_GRAN_MAX: u32 = 1_000_000_000;
/// The newest version of the format.
pub(crate) const FORMAT_VERSION: u32 = 5;
/// The oldest version of the format.
const FORMAT_VERSION_MIN: u32 = 3;
/// All known flags.
const FLAGS: u32 = Superblock::BIGLPT
    | Superblock::SPACE_FIXUP
    | Superblock::DOUBLE_HASH
    | Superblock::ENCRYPTION
    | Superblock::AUTHENTICATION;
/// The number of compressors.
const COMPRESSORS: u16 = 4;
/// The smallest write that the journal counts with (`MIN_WRITE_SZ`).
const WRITE_MIN: u32 = 48 + 8;

/// The constants of a volume. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The smallest write.
    pub min_io: u32,
    /// The unit of write buffers.
    pub max_write: u32,
    /// The size of a LEB.
    pub leb_size: u32,
    /// Half of it: see `ubifs_info::half_leb_size`.
    pub half_leb_size: u32,
    /// LEBs in use.
    pub leb_count: u32,
    /// LEBs that the filesystem may grow to.
    pub max_leb_count: u32,
    /// The last LEB of the log.
    pub log_last: LebIndex,
    /// LEBs of the log.
    pub log_lebs: u32,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// The least bytes of the log that must stay free for a commit.
    pub min_log_bytes: u64,
    /// The first LEB of the LEB properties tree.
    pub lpt_first: LebIndex,
    /// The last one.
    pub lpt_last: LebIndex,
    /// How many there are.
    pub lpt_lebs: u32,
    /// The first LEB of the orphan area.
    pub orph_first: LebIndex,
    /// The last one.
    pub orph_last: LebIndex,
    /// How many there are.
    pub orph_lebs: u32,
    /// The first LEB of the main area.
    pub main_first: LebIndex,
    /// How many there are.
    pub main_lebs: u32,
    /// Bytes of the main area.
    pub main_bytes: u64,
    /// The most bytes of buds.
    pub max_bud_bytes: u64,
    /// From this many bytes of buds on, a commit runs in the background.
    pub bg_bud_bytes: u64,
    /// The number of journal heads.
    pub jhead_count: u32,
    /// Branches of an indexing node.
    pub fanout: u32,
    /// A reference node in the log, padded.
    pub ref_node_alsz: u32,
    /// A master node, padded.
    pub mst_node_alsz: u32,
    /// An indexing node with one branch.
    pub min_idx_node_sz: u32,
    /// An indexing node with all branches.
    pub max_idx_node_sz: u32,
    /// The largest file: all block numbers of a key (`key_max_inode_size`).
    pub max_inode_sz: u64,
    /// A LEB as far as indexing nodes can fill it.
    pub idx_leb_size: u32,
    /// The average that a LEB of data loses at its end.
    pub leb_overhead: u32,
    /// Space below this at the end of a LEB is dead.
    pub dead_wm: u32,
    /// Space below this is dark.
    pub dark_wm: u32,
    /// The reserved pool.
    pub rp_size: u64,
    /// The reserved pool as `statfs` shows it.
    pub report_rp_size: u64,
    /// The most orphans.
    pub max_orphans: u32,
    /// Blocks that `statfs` reports.
    pub block_count: u64,
}

/// A mistake of a field, unless `ok`.
fn require(
    ok: bool,
    field: &'static str,
    found: impl Into<u64>,
    expected: impl Into<u64>,
) -> Result<(), MountError> {
    if ok {
        return Ok(());
    }
    Err(MountError::Superblock { field, found: found.into(), expected: expected.into() })
}

impl Layout {
    /// Whether the main area may have room for more leaf nodes than `count`.
    pub(crate) fn takes_leaves(&self, count: usize) -> bool {
        u64::try_from(count).is_ok_and(|count| count <= self.main_bytes / LEAF_MIN)
    }

    /// What the shape of the volume decides (`init_constants_early`). Areas are still zero.
    ///
    /// # Errors
    /// [`MountError::Shape`] when UBIFS cannot be on such a volume.
    pub(crate) fn early(shape: &Shape) -> Result<Self, MountError> {
        check_shape(shape)?;
        let min_io = shape.min_io.max(8);
        let max_write = shape.max_write.max(min_io);
        let (_, node_max) = NodeType::Inode.lengths();
        let (_, data_max) = NodeType::Data.lengths();
        Ok(Self {
            min_io,
            max_write,
            leb_size: shape.leb_size,
            half_leb_size: shape.leb_size / 2,
            leb_count: shape.leb_count,
            ref_node_alsz: 64_u32.next_multiple_of(min_io),
            mst_node_alsz: 512_u32.next_multiple_of(min_io),
            max_inode_sz: u64::from(HASH_MASK + 1) * 4_096,
            leb_overhead: shape.leb_size % data_max,
            dead_wm: WRITE_MIN.next_multiple_of(min_io),
            dark_wm: node_max.next_multiple_of(min_io),
            min_log_bytes: u64::from(shape.leb_size),
            ..Self::default()
        })
    }

    /// The areas that the superblock says, after all its fields were validated (`validate_sb`).
    /// `volume_lebs` is the number of LEBs of the volume.
    ///
    /// # Errors
    /// [`MountError::Superblock`] names the first field that cannot be;
    /// [`MountError::Unsupported`] for authenticated and encrypted images.
    pub(crate) fn with_areas(&self, sb: &Superblock, volume_lebs: u32) -> Result<Self, MountError> {
        check_features(sb)?;
        require(sb.min_io == self.min_io, "min_io_size", sb.min_io, self.min_io)?;
        require(sb.leb_size == self.leb_size, "leb_size", sb.leb_size, self.leb_size)?;
        let main_lebs = check_areas(sb, volume_lebs)?;
        check_limits(sb, main_lebs)?;
        let (log, lpt, orph) = (sb.log_lebs, sb.lpt_lebs, sb.orph_lebs);
        Ok(Self {
            leb_count: sb.leb_count,
            max_leb_count: sb.max_leb_count,
            log_last: LebIndex(LOG_LEB.0 + log - 1),
            log_lebs: log,
            log_bytes: u64::from(log) * u64::from(self.leb_size),
            lpt_first: LebIndex(LOG_LEB.0 + log),
            lpt_last: LebIndex(LOG_LEB.0 + log + lpt - 1),
            lpt_lebs: lpt,
            orph_first: LebIndex(LOG_LEB.0 + log + lpt),
            orph_last: LebIndex(LOG_LEB.0 + log + lpt + orph - 1),
            orph_lebs: orph,
            main_first: LebIndex(sb.leb_count - main_lebs),
            main_lebs,
            max_bud_bytes: sb.max_bud_bytes,
            jhead_count: sb.jhead_count + OTHER_HEADS,
            fanout: sb.fanout,
            rp_size: sb.rp_size,
            ..self.clone()
        })
    }

    /// Adds what depends on shape and superblock together (`init_constants_sb`, without the LPT).
    ///
    /// # Errors
    /// [`MountError::Superblock`] when LEBs or log are too small.
    pub(crate) fn add_constants(&mut self) -> Result<(), MountError> {
        let leb_size = u64::from(self.leb_size);
        self.main_bytes = u64::from(self.main_lebs) * leb_size;
        self.min_idx_node_sz = index::size_of(1).next_multiple_of(8);
        self.max_idx_node_sz = index::size_of(self.fanout).next_multiple_of(8);
        let commit = (32 + 64 * self.jhead_count).next_multiple_of(self.min_io);
        require(commit <= self.leb_size, "leb_size", self.leb_size, commit)?;
        let buds = self.max_bud_bytes.div_ceil(leb_size);
        let log = (u64::from(self.ref_node_alsz) * buds).div_ceil(leb_size) + 1;
        require(u64::from(self.log_lebs) >= log, "log_lebs", self.log_lebs, log)?;
        // Heads are counted as full buds: a smaller journal would always seem full.
        let least = u64::from(self.jhead_count + 1) * leb_size + 1;
        self.bg_bud_bytes = ((self.max_bud_bytes * 13) >> 4).max(least);
        self.max_bud_bytes = self.max_bud_bytes.max(least + leb_size);
        self.idx_leb_size = self.leb_size.saturating_sub(self.max_idx_node_sz);
        Ok(())
    }
}

fn check_shape(shape: &Shape) -> Result<(), MountError> {
    let limit = |ok: bool, problem, found: u32, limit: u32| {
        let (found, limit) = (u64::from(found), u64::from(limit));
        if ok { Ok(()) } else { Err(MountError::Shape { problem, found, limit }) }
    };
    let (min_io, max_write) = (shape.min_io, shape.max_write);
    limit(shape.leb_size >= LEB_SIZE_MIN, "the size of a LEB", shape.leb_size, LEB_SIZE_MIN)?;
    limit(shape.leb_count >= LEBS_MIN, "the number of LEBs", shape.leb_count, LEBS_MIN)?;
    limit(min_io.is_power_of_two(), "the smallest write (a power of two)", min_io, 1)?;
    let fits = max_write >= min_io && max_write.is_power_of_two();
    limit(fits, "the largest write (a power of two)", max_write, min_io)
}

/// The checks of `ubifs_read_superblock` and the version and flags of `validate_sb`.
fn check_features(sb: &Superblock) -> Result<(), MountError> {
    let version = sb.fmt_version;
    require(version >= FORMAT_VERSION_MIN, "fmt_version", version, FORMAT_VERSION_MIN)?;
    if sb.flags & Superblock::AUTHENTICATION != 0 {
        return Err(MountError::Unsupported { feature: "authentication" });
    }
    require(sb.flags & !FLAGS == 0, "flags", sb.flags, sb.flags & FLAGS)?;
    if sb.flags & Superblock::ENCRYPTION != 0 {
        return Err(MountError::Unsupported { feature: "encryption" });
    }
    let hashed = sb.flags & Superblock::DOUBLE_HASH != 0 || version < FORMAT_VERSION;
    require(hashed, "flags", sb.flags, sb.flags | Superblock::DOUBLE_HASH)
}

/// The checks of the areas; the number of LEBs of the main area.
fn check_areas(sb: &Superblock, volume_lebs: u32) -> Result<u32, MountError> {
    require(sb.log_lebs >= LOG_LEBS_MIN, "log_lebs", sb.log_lebs, LOG_LEBS_MIN)?;
    require(sb.lpt_lebs >= LPT_LEBS_MIN, "lpt_lebs", sb.lpt_lebs, LPT_LEBS_MIN)?;
    require(sb.orph_lebs >= ORPHAN_LEBS_MIN, "orph_lebs", sb.orph_lebs, ORPHAN_LEBS_MIN)?;
    let (count, heads) = (u64::from(sb.leb_count), sb.jhead_count);
    require((1..=DATA_HEADS_MAX).contains(&heads), "jhead_cnt", heads, DATA_HEADS_MAX)?;
    let fixed = u64::from(FIXED_LEBS)
        + u64::from(sb.log_lebs)
        + u64::from(sb.lpt_lebs)
        + u64::from(sb.orph_lebs);
    let least = (fixed + u64::from(heads + OTHER_HEADS) + 6).max(fixed + u64::from(MAIN_LEBS_MIN));
    require(count >= least, "leb_cnt", count, least)?;
    require(sb.leb_count <= volume_lebs, "leb_cnt", count, volume_lebs)?;
    require(sb.max_leb_count >= sb.leb_count, "max_leb_cnt", sb.max_leb_count, count)?;
    Ok(u32::try_from(count - fixed).expect("less than the number of LEBs"))
}

/// The checks of sizes and limits.
fn check_limits(sb: &Superblock, main_lebs: u32) -> Result<(), MountError> {
    let leb_size = u64::from(sb.leb_size);
    let (least, most) = (leb_size * u64::from(BUD_LEBS_MIN), leb_size * u64::from(main_lebs));
    require(sb.max_bud_bytes >= least, "max_bud_bytes", sb.max_bud_bytes, least)?;
    require(sb.max_bud_bytes <= most, "max_bud_bytes", sb.max_bud_bytes, most)?;
    require(sb.fanout >= FANOUT_MIN, "fanout", sb.fanout, FANOUT_MIN)?;
    let fanout_max = (sb.leb_size - index::size_of(0)) / (index::size_of(1) - index::size_of(0));
    require(sb.fanout <= fanout_max, "fanout", sb.fanout, fanout_max)?;
    let lsave_max = (sb.max_leb_count - (sb.leb_count - main_lebs)).max(LSAVE_DEFAULT);
    require(sb.lsave_count <= lsave_max, "lsave_cnt", sb.lsave_count, lsave_max)?;
    require(sb.default_compr < COMPRESSORS, "default_compr", sb.default_compr, COMPRESSORS - 1)?;
    require(sb.rp_size <= most, "rp_size", sb.rp_size, most)?;
    let granularity = (1..=TIME_GRAN_MAX).contains(&sb.time_gran);
    require(granularity, "time_gran", sb.time_gran, TIME_GRAN_MAX)
}

#[cfg(test)]
mod tests;
