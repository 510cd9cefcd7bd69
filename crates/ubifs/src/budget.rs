//! Budgeting: whether what is dirty in memory will fit the flash when it is written.
//!
//! Layer: rank 5. Main types: [`BudgetInfo`], [`BudgetRequest`]. How well data compress, what is lost
//! at the ends of LEBs and how the index grows is not known in advance, so every operation reserves
//! the most that it can need, and releases it when it has written. When the reservation does not fit,
//! the flash may still have the space: dirty pages take less when they are written, garbage
//! collection joins what is dark, and a commit frees LEBs.
//!
//! ```text
//!  budget_space --fits--> done
//!       | does not fit
//!       v
//!  NeedsWriteBack: the cache above writes dirty pages back and calls the operation again
//!       |
//!       v  liability smaller? --yes--> again
//!          a LEB collected?   --yes--> again
//!          commit, and write back again, 4 times; then once more; then ENOSPC
//! ```
//!
//! Source: Linux 6.1, `fs/ubifs/budget.c`. The kernel waits for the write-back inside of
//! `make_free_space`. Here the operation returns, and [`BudgetInfo`] remembers how far it was.
//! Everything runs as root, who may use the reserved pool (`can_use_rp`).

use crate::gc::Collected;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{Contradiction, Errno};

/// How often write-back, garbage collection and commit are repeated (`MAX_MKSPC_RETRIES`).
const MAX_RETRIES: u32 = 3;
/// Pages written back each time (`NR_TO_WRITE`).
const WRITE_BACK_PAGES: u32 = 16;
/// The least LEBs of the index (`MIN_INDEX_LEBS`): its head and one.
pub(crate) const MIN_INDEX_LEBS: i64 = 2;
/// Bytes of a block of content.
const BLOCK: i64 = 4_096;
/// What a page may take: the node of a block that does not compress (`UBIFS_MAX_DATA_NODE_SZ`).
const PAGE_BUDGET: i64 = 48 + BLOCK;
/// What an inode takes, without its data (`UBIFS_INO_NODE_SZ`).
const INODE_BUDGET: i64 = 160;
/// What an entry may take (`UBIFS_MAX_DENT_NODE_SZ`).
const DENT_BUDGET: i64 = 56 + 255 + 1;
/// The longest data of an inode, padded.
const INODE_DATA_MAX: u32 = 4_096;

/// What is reserved, and how far the search for space is (`struct ubifs_budg_info`). Growths are
/// bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BudgetInfo {
    /// The index will grow by this when all that is budgeted is written.
    pub idx_growth: i64,
    /// New data.
    pub data_growth: i64,
    /// Data that replace others, which become dirty.
    pub dd_growth: i64,
    /// Growth of the index that is written at the next commit.
    pub uncommitted_idx: i64,
    /// The size of the index at the last commit.
    pub old_idx_sz: u64,
    /// The least LEBs that are kept for the index.
    pub min_idx_lebs: u32,
    /// The search for space has failed, and nothing was released since then.
    pub nospace: bool,
    /// As `nospace`, with the reserved pool.
    pub nospace_rp: bool,
    /// The search for space that waits for a write-back.
    search: Option<Search>,
    /// The first budget of an operation whose second one waits for a write-back.
    held: Option<BudgetRequest>,
}

/// A search for space that waits for a write-back (the variables of `make_free_space`).
#[derive(Debug, Clone, Copy, Default)]
struct Search {
    /// The liability before the write-back.
    liability: i64,
    /// Write-backs that did not help.
    retries: u32,
    /// The search has failed once, and budgeting was tried once more.
    failed: bool,
}

/// What a search for space has found.
enum Progress {
    /// Perhaps there is space now (`-EAGAIN`).
    TryAgain,
    /// The cache above must write back again.
    WriteBack(Search),
    /// No space (`-ENOSPC`).
    Nothing,
}

/// What an operation may write (`struct ubifs_budget_req`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BudgetRequest {
    /// Do not search for space.
    pub fast: bool,
    /// On release, calculate the growths again.
    pub recalculate: bool,
    /// A page that is not on flash.
    pub new_page: bool,
    /// A page that is on flash.
    pub dirtied_page: bool,
    /// A new entry: 0 or 1.
    pub new_dent: u32,
    /// An entry that changes, or is deleted.
    pub mod_dent: bool,
    /// A new inode: 0 or 1.
    pub new_ino: u32,
    /// Bytes of its data, a multiple of 8.
    pub new_ino_d: u32,
    /// Inodes that change: up to 4.
    pub dirtied_ino: u32,
    /// Bytes of their data, a multiple of 8.
    pub dirtied_ino_d: u32,
    /// The growth of the index.
    pub idx_growth: i64,
    /// The growth of data.
    pub data_growth: i64,
    /// The growth of data that replace others.
    pub dd_growth: i64,
}

impl BudgetRequest {
    fn check(&self) {
        assert!(self.new_dent <= 1 && self.new_ino <= 1 && self.dirtied_ino <= 4, "{self:?}");
        assert!(self.new_ino_d <= INODE_DATA_MAX, "{self:?}");
        assert!(self.dirtied_ino_d <= 4 * INODE_DATA_MAX, "{self:?}");
        assert!((self.new_ino_d | self.dirtied_ino_d).is_multiple_of(8), "{self:?}");
    }

    /// Each new node may add an indexing node (`calc_idx_growth`).
    fn index_growth(&self, max_idx_node_sz: u32) -> i64 {
        let nodes = self.new_ino + u32::from(self.new_page) + self.new_dent;
        i64::from(nodes) * i64::from(max_idx_node_sz)
    }

    /// `calc_data_growth`
    fn data_growth(&self) -> i64 {
        i64::from(self.new_ino) * INODE_BUDGET
            + i64::from(self.new_page) * PAGE_BUDGET
            + i64::from(self.new_dent) * DENT_BUDGET
            + i64::from(self.new_ino_d)
    }

    /// `calc_dd_growth`
    fn dirty_growth(&self) -> i64 {
        i64::from(self.dirtied_page) * PAGE_BUDGET
            + i64::from(self.dirtied_ino) * INODE_BUDGET
            + i64::from(self.mod_dent) * DENT_BUDGET
            + i64::from(self.dirtied_ino_d)
    }
}

impl BudgetInfo {
    /// What is promised to be written (`get_liability`).
    pub(crate) const fn liability(&self) -> i64 {
        self.idx_growth + self.data_growth + self.dd_growth
    }

    /// Whether the last budget waits for a write-back: the operation is called again.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.search.is_some()
    }

    /// Something was deleted: there may be space again.
    pub(crate) const fn clear_no_space(&mut self) {
        (self.nospace, self.nospace_rp) = (false, false);
    }

    fn check(&self) {
        assert!(
            self.idx_growth >= 0 && self.data_growth >= 0 && self.dd_growth >= 0,
            "more was released than reserved: {self:?}"
        );
        assert!((self.idx_growth | self.data_growth | self.dd_growth) % 8 == 0, "{self:?}");
    }
}

impl<L: Lebs> Volume<L> {
    /// Reserves flash for an operation (`ubifs_budget_space`).
    ///
    /// # Errors
    /// ENOSPC; `NeedsWriteBack`, then the operation must be called again; any of the volume.
    pub(crate) fn budget_space(
        &mut self,
        clock: &mut Clock,
        request: &mut BudgetRequest,
    ) -> Result<(), Error> {
        request.check();
        let (data, dirty) = (request.data_growth(), request.dirty_growth());
        if data == 0 && dirty == 0 {
            return Ok(());
        }
        let index = request.index_growth(self.layout.max_idx_node_sz);
        let failed = match self.bi.search.take() {
            Some(search) => self.resume_search(clock, search)?,
            None => false,
        };
        self.bi.check();
        if self.bi.nospace && self.bi.nospace_rp {
            return Err(Errno::NoSpc.into());
        }
        if self.try_growths(index, data, dirty) {
            (request.idx_growth, request.data_growth, request.dd_growth) = (index, data, dirty);
            return Ok(());
        }
        if request.fast {
            return Err(Errno::NoSpc.into());
        }
        let search = Search { liability: self.bi.liability(), retries: 0, failed };
        self.bi.search = Some(search);
        Err(Error::NeedsWriteBack { pages: WRITE_BACK_PAGES })
    }

    /// Reserves twice: the first reservation stays while the second one waits for a write-back.
    pub(crate) fn budget_twice(
        &mut self,
        clock: &mut Clock,
        first: &mut BudgetRequest,
        second: &mut BudgetRequest,
    ) -> Result<(), Error> {
        match self.bi.held.take() {
            Some(held) => *first = held,
            None => self.budget_space(clock, first)?,
        }
        let result = self.budget_space(clock, second);
        match &result {
            Ok(()) => {}
            Err(Error::NeedsWriteBack { .. }) => self.bi.held = Some(*first),
            Err(_) => self.release_budget(first),
        }
        result
    }

    /// Adds growths if they fit.
    fn try_growths(&mut self, index: i64, data: i64, dirty: i64) -> bool {
        let before = (self.bi.idx_growth, self.bi.data_growth, self.bi.dd_growth);
        self.bi.idx_growth += index;
        self.bi.data_growth += data;
        self.bi.dd_growth += dirty;
        if let Some(min_idx_lebs) = self.fits() {
            self.bi.min_idx_lebs = min_idx_lebs;
            return true;
        }
        (self.bi.idx_growth, self.bi.data_growth, self.bi.dd_growth) = before;
        false
    }

    /// Continues a search for space after a write-back. Returns whether the search has failed once.
    fn resume_search(&mut self, clock: &mut Clock, search: Search) -> Result<bool, Error> {
        match self.make_free_space(clock, search)? {
            Progress::TryAgain => Ok(search.failed),
            Progress::WriteBack(next) => {
                self.bi.search = Some(next);
                Err(Error::NeedsWriteBack { pages: WRITE_BACK_PAGES })
            }
            Progress::Nothing if !search.failed => Ok(true),
            Progress::Nothing => {
                (self.bi.nospace, self.bi.nospace_rp) = (true, true);
                Err(Errno::NoSpc.into())
            }
        }
    }

    /// What follows a write-back (the body of the loop of `make_free_space`).
    fn make_free_space(&mut self, clock: &mut Clock, search: Search) -> Result<Progress, Error> {
        if self.bi.liability() < search.liability {
            return Ok(Progress::TryAgain);
        }
        if let Collected::Leb(leb) = self.garbage_collect(clock, true)? {
            self.return_leb(clock, leb)?;
            return Ok(Progress::TryAgain);
        }
        self.run_commit(clock)?;
        if search.retries >= MAX_RETRIES {
            return Ok(Progress::Nothing);
        }
        let (liability, retries) = (self.bi.liability(), search.retries + 1);
        Ok(Progress::WriteBack(Search { liability, retries, ..search }))
    }

    /// Whether what is budgeted fits; then the LEBs that the index needs (`do_budget_space`).
    fn fits(&self) -> Option<u32> {
        let min_idx_lebs = self.calc_min_idx_lebs();
        let reserved = (i64::from(min_idx_lebs) - self.lst.idx_lebs).max(0);
        if reserved > self.index_lebs_available() {
            return None;
        }
        let outstanding = self.bi.data_growth + self.bi.dd_growth;
        (self.calc_available(min_idx_lebs) >= outstanding).then_some(min_idx_lebs)
    }

    /// The LEBs that the index can get. Index LEBs that were collected count among the empty and among
    /// the taken ones until the commit.
    fn index_lebs_available(&self) -> i64 {
        self.lst.empty_lebs + i64::from(self.freeable_count()) + self.gc.idx_gc_cnt()
            - self.lst.taken_empty_lebs
    }

    /// Releases a reservation after the operation has written, or has failed
    /// (`ubifs_release_budget`). The growth of the index is not written before the next commit.
    pub(crate) fn release_budget(&mut self, request: &mut BudgetRequest) {
        request.check();
        if request.recalculate {
            request.data_growth = request.data_growth();
            request.dd_growth = request.dirty_growth();
            request.idx_growth = request.index_growth(self.layout.max_idx_node_sz);
        }
        if request.data_growth == 0 && request.dd_growth == 0 {
            return;
        }
        self.bi.clear_no_space();
        self.bi.idx_growth -= request.idx_growth;
        self.bi.uncommitted_idx += request.idx_growth;
        self.bi.data_growth -= request.data_growth;
        self.bi.dd_growth -= request.dd_growth;
        self.bi.min_idx_lebs = self.calc_min_idx_lebs();
        self.bi.check();
        assert!(self.bi.min_idx_lebs < self.layout.main_lebs, "{:?}", self.bi);
    }

    /// Releases the reservation of a page that is not on flash (`release_new_page_budget`).
    pub(crate) fn release_new_page_budget(&mut self) {
        let request = BudgetRequest { recalculate: true, new_page: true, ..Default::default() };
        self.release_budget(&mut { request });
    }

    /// Releases the reservation of a page that is on flash (`release_existing_page_budget`).
    pub(crate) fn release_existing_page_budget(&mut self) {
        let request = BudgetRequest { dd_growth: PAGE_BUDGET, ..Default::default() };
        self.release_budget(&mut { request });
    }

    /// Releases the reservation of a dirty inode with so many bytes of data.
    pub(crate) fn release_dirty_inode_budget(&mut self, data_len: u32) {
        let dd_growth = INODE_BUDGET + i64::from(data_len.next_multiple_of(8));
        let request = BudgetRequest { dd_growth, ..Default::default() };
        self.release_budget(&mut { request });
    }

    /// Makes the reservation of a new page one of a page that is on flash
    /// (`ubifs_convert_page_budget`).
    pub(crate) fn convert_page_budget(&mut self) {
        self.bi.idx_growth -= i64::from(self.layout.max_idx_node_sz);
        self.bi.data_growth -= PAGE_BUDGET;
        self.bi.dd_growth += PAGE_BUDGET;
        self.bi.min_idx_lebs = self.calc_min_idx_lebs();
    }

    /// How many LEBs are kept for the index: three times its size, since the commit may have to write
    /// it into the gaps of its LEBs, and one for the index head (`ubifs_calc_min_idx_lebs`).
    pub(crate) fn calc_min_idx_lebs(&self) -> u32 {
        let bi = &self.bi;
        let old = i64::try_from(bi.old_idx_sz).expect("the index fits the flash");
        let size = 3 * (old + bi.idx_growth + bi.uncommitted_idx);
        let leb = i64::from(self.layout.idx_leb_size);
        let lebs = ((size + leb - 1) / leb + 1).max(MIN_INDEX_LEBS);
        u32::try_from(lebs).expect("the index fits the flash")
    }

    /// Bytes available to data, if the index gets so many LEBs (`ubifs_calc_available`).
    pub(crate) fn calc_available(&self, min_idx_lebs: u32) -> i64 {
        let (layout, lst) = (&self.layout, &self.lst);
        let main = i64::try_from(layout.main_bytes).expect("a volume fits i64");
        // Garbage collection keeps a LEB, each journal head has one, and deletions need one.
        let kept = i64::from(min_idx_lebs) + 1 + i64::from(layout.jhead_count) + 1;
        let mut available = main - lst.total_used - kept * i64::from(layout.leb_size);
        available -= lst.total_dead + lst.total_dark;
        // The index has more LEBs than it needs. They count as available, and as partly dark.
        let more = lst.idx_lebs - i64::from(min_idx_lebs);
        if more > 0 {
            available -= more * i64::from(layout.dark_wm);
        }
        available.max(0)
    }

    /// What programs can write into so much free space, when each block does not compress and the
    /// index is half full (`ubifs_reported_space`).
    pub(crate) fn reported_space(&self, free: i64) -> i64 {
        let fanout = if self.layout.fanout > 3 { self.layout.fanout >> 1 } else { 2 };
        let index = self.layout.max_idx_node_sz * 3 / (fanout - 1);
        let divisor = PAGE_BUDGET + i64::from(index);
        free * BLOCK / divisor
    }

    /// Free space as programs see it (`ubifs_get_free_space_nolock`). An empty LEB loses only what a
    /// whole number of blocks leaves at its end.
    pub(crate) fn free_space(&mut self) -> i64 {
        let needed = self.calc_min_idx_lebs();
        assert_eq!(self.bi.min_idx_lebs, needed, "the LEBs of the index are out of date");
        let outstanding = self.bi.data_growth + self.bi.dd_growth;
        let reserved = (i64::from(needed) - self.lst.idx_lebs).max(0);
        let lebs = self.index_lebs_available() - reserved;
        let gain = i64::from(self.layout.dark_wm) - i64::from(self.layout.leb_overhead);
        let available = self.calc_available(needed) + lebs * gain;
        if available > outstanding { self.reported_space(available - outstanding) } else { 0 }
    }

    /// Compares what is reserved with the dirty pages and inodes, which hold all reservations between
    /// two operations.
    pub(crate) fn compare_budget(&self) -> Result<(), Contradiction> {
        if self.bi.held.is_some() || self.pages.is_truncating() {
            return Ok(());
        }
        let (new, old) = self.pages.dirty_counts();
        let dirty = self.inodes.values().filter(|inode| inode.dirty);
        let inodes: i64 = dirty.map(|inode| INODE_BUDGET + i64::from(inode.data_budget())).sum();
        let expected = (
            new * i64::from(self.layout.max_idx_node_sz),
            new * PAGE_BUDGET,
            old * PAGE_BUDGET + inodes,
        );
        let bi = &self.bi;
        let found = (bi.idx_growth, bi.data_growth, bi.dd_growth);
        if found != expected {
            let text = format!("{found:?} bytes are budgeted, but {expected:?} are dirty");
            return Err(Contradiction(text));
        }
        if bi.min_idx_lebs != self.calc_min_idx_lebs() {
            return Err(Contradiction("the LEBs of the index are out of date".to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lprops::SpaceTotals;
    use crate::test_volume::default_fs;
    use boardlab_ubi::RamLebs;

    /// A volume of 100 LEBs of 10,000 bytes in the main area, half of it used.
    fn volume() -> Volume<RamLebs> {
        let (_, mut volume) = default_fs();
        let layout = &mut volume.layout;
        (layout.main_lebs, layout.main_bytes, layout.leb_size) = (100, 1_000_000, 10_000);
        (layout.fanout, layout.max_idx_node_sz, layout.idx_leb_size) = (8, 192, 9_000);
        (layout.dark_wm, layout.leb_overhead, layout.jhead_count) = (4_608, 1_712, 3);
        volume.lst = SpaceTotals {
            empty_lebs: 40,
            taken_empty_lebs: 1,
            idx_lebs: 8,
            total_free: 450_000,
            total_dirty: 50_000,
            total_used: 500_000,
            total_dead: 1_000,
            total_dark: 20_000,
        };
        volume.bi = BudgetInfo { old_idx_sz: 20_000, ..BudgetInfo::default() };
        volume.bi.min_idx_lebs = volume.calc_min_idx_lebs();
        volume
    }

    #[test]
    fn the_index_gets_three_times_its_size_and_a_leb() {
        let mut volume = volume();
        // 60,000 bytes need 7 LEBs of 9,000, and the index head needs one.
        assert_eq!(volume.calc_min_idx_lebs(), 8);
        volume.bi.idx_growth = 1_001;
        assert_eq!(volume.calc_min_idx_lebs(), 9);
        (volume.bi.idx_growth, volume.bi.uncommitted_idx) = (0, 1_000);
        assert_eq!(volume.calc_min_idx_lebs(), 8);
        (volume.bi.old_idx_sz, volume.bi.uncommitted_idx) = (0, 0);
        // Even without an index.
        assert_eq!(volume.calc_min_idx_lebs(), 2);
    }

    #[test]
    fn what_is_kept_dead_and_dark_is_not_available() {
        let mut volume = volume();
        // 1,000,000 - 500,000 - (8 + 1 + 3 + 1) * 10,000 - 1,000 - 20,000
        assert_eq!(volume.calc_available(8), 349_000);
        // Two LEBs of the index more than needed: 20,000 more, of which 9,216 are dark.
        assert_eq!(volume.calc_available(6), 349_000 + 20_000 - 9_216);
        volume.lst.total_used = 999_000;
        assert_eq!(volume.calc_available(8), 0);
    }

    #[test]
    fn reported_space_is_what_blocks_that_do_not_compress_can_fill() {
        let volume = volume();
        // A block takes 4,144 bytes and 192 * 3 / 3 of index.
        assert_eq!(volume.reported_space(4_336_000), 4_096_000);
        assert_eq!(volume.reported_space(4_335), 4_095);
    }

    #[test]
    fn free_space_counts_empty_lebs_as_nearly_full() {
        let mut volume = volume();
        let lebs = 39 + i64::from(volume.freeable_count());
        let available = 349_000 + lebs * (4_608 - 1_712);
        assert_eq!(volume.free_space(), available * 4_096 / 4_336);
        volume.bi.dd_growth = 8_000;
        assert_eq!(volume.free_space(), (available - 8_000) * 4_096 / 4_336);
    }

    #[test]
    fn an_operation_is_budgeted_for_the_most_it_can_write() {
        let (mut volume, mut clock) = (volume(), Clock::new());
        let mut request = BudgetRequest {
            new_ino: 1,
            new_dent: 1,
            new_ino_d: 8,
            dirtied_ino: 1,
            ..Default::default()
        };
        volume.budget_space(&mut clock, &mut request).unwrap();
        let growths = (request.idx_growth, request.data_growth, request.dd_growth);
        assert_eq!(growths, (2 * 192, 160 + 312 + 8, 160));
        assert_eq!(volume.bi.liability(), 384 + 480 + 160);
        volume.release_budget(&mut request);
        assert_eq!((volume.bi.liability(), volume.bi.uncommitted_idx), (0, 384));
    }

    #[test]
    fn a_new_page_costs_index_and_data_and_one_on_flash_only_data() {
        let (mut volume, mut clock) = (volume(), Clock::new());
        let mut request = BudgetRequest { new_page: true, ..Default::default() };
        volume.budget_space(&mut clock, &mut request).unwrap();
        let growths = |volume: &Volume<RamLebs>| {
            (volume.bi.idx_growth, volume.bi.data_growth, volume.bi.dd_growth)
        };
        assert_eq!(growths(&volume), (192, 4_144, 0));
        volume.convert_page_budget();
        assert_eq!(growths(&volume), (0, 0, 4_144));
        volume.release_existing_page_budget();
        assert_eq!(growths(&volume), (0, 0, 0));
        assert_eq!(volume.bi.uncommitted_idx, 0);
    }

    #[test]
    fn the_last_bytes_are_given_out_and_then_a_write_back_is_asked_for() {
        let (mut volume, mut clock) = (volume(), Clock::new());
        volume.bi.dd_growth = 349_000 - 4_144;
        let mut request = BudgetRequest { dirtied_page: true, ..Default::default() };
        volume.budget_space(&mut clock, &mut request).unwrap();
        let again = volume.budget_space(&mut clock, &mut request);
        assert_eq!(again, Err(Error::NeedsWriteBack { pages: 16 }));
        assert!(volume.bi.is_waiting());
        // The write-back has made the liability smaller: the same call succeeds.
        volume.bi.dd_growth -= 4_144;
        volume.budget_space(&mut clock, &mut request).unwrap();
        assert!(!volume.bi.is_waiting());
        request.fast = true;
        let fast = volume.budget_space(&mut clock, &mut request);
        assert_eq!(fast, Err(Errno::NoSpc.into()));
        assert!(!volume.bi.is_waiting());
    }

    #[test]
    fn a_full_flash_gives_up_after_eight_write_backs_until_something_is_released() {
        let (mut clock, mut volume) = (Clock::new(), volume_mounted());
        let free = volume.calc_available(volume.bi.min_idx_lebs);
        let growth = free / 8 * 8;
        volume.bi.dd_growth = growth;
        let mut request = BudgetRequest { dirtied_page: true, ..Default::default() };
        let mut calls = 0;
        let error = loop {
            match volume.budget_space(&mut clock, &mut request) {
                Err(Error::NeedsWriteBack { .. }) => calls += 1,
                other => break other.unwrap_err(),
            }
        };
        assert_eq!((error, calls), (Errno::NoSpc.into(), 8));
        assert!(volume.bi.nospace && volume.bi.nospace_rp);
        let at_once = volume.budget_space(&mut clock, &mut request);
        assert_eq!(at_once, Err(Errno::NoSpc.into()));
        volume.release_existing_page_budget();
        assert!(!volume.bi.nospace);
    }

    fn volume_mounted() -> Volume<RamLebs> {
        let lebs = RamLebs::new(crate::test_volume::shape(200, 15_872));
        let fs = crate::Ubifs::mount(&mut Clock::new(), lebs, crate::Options::default());
        fs.unwrap().volume
    }
}
