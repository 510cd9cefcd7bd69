//! The state of wear levelling: the trees, the protection queue, the works.
//!
//! Layer: rank 4. Main types: [`Wl`]; [`Work`], what the background thread does.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/ubi.h`, `struct ubi_device`; `wl.c`.

use crate::attach::AttachPeb;
use crate::lebs::PebIndex;
use crate::tree::Tree;
use std::collections::VecDeque;

/// Erases for which a block in new use is not moved (`UBI_PROT_QUEUE_LEN`).
pub(crate) const QUEUE: usize = 10;
/// Blocks reserved for moves (`WL_RESERVED_PEBS`).
pub(crate) const RESERVED: u32 = 1;
/// Blocks in the order of their erase counters, then of their numbers.
pub(crate) type PebTree = Tree<(u32, u32)>;

/// What the background thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    /// Erases a block that held a LEB, if it is known which.
    Erase { peb: PebIndex, volume: Option<u32>, leb: Option<u32>, torture: bool },
    /// Moves the data of one block.
    Level,
}

/// The state of wear levelling.
#[derive(Debug, Clone)]
pub(crate) struct Wl {
    /// The erase counter of each block that is in service (`lookuptbl`).
    pub(crate) ec: Vec<Option<u32>>,
    pub(crate) free: PebTree,
    pub(crate) used: PebTree,
    pub(crate) scrub: PebTree,
    pub(crate) erroneous: PebTree,
    pub(crate) queue: [VecDeque<PebIndex>; QUEUE],
    pub(crate) queue_head: usize,
    pub(crate) works: VecDeque<Work>,
    /// Whether a [`Work::Level`] is among the works.
    pub(crate) level_scheduled: bool,
    pub(crate) max_ec: u32,
    pub(crate) threshold: u32,
    /// LEBs moved.
    pub(crate) moved: u64,
    /// Consecutive works that failed.
    pub(crate) failures: u32,
}

impl Wl {
    pub(crate) fn new(peb_count: u32, threshold: u32) -> Self {
        let count = usize::try_from(peb_count).expect("usize holds u32");
        Self {
            ec: vec![None; count],
            free: Tree::new(),
            used: Tree::new(),
            scrub: Tree::new(),
            erroneous: Tree::new(),
            queue: std::array::from_fn(|_| VecDeque::new()),
            queue_head: 0,
            works: VecDeque::new(),
            level_scheduled: false,
            max_ec: 0,
            threshold,
            moved: 0,
            failures: 0,
        }
    }

    fn slot(&mut self, peb: PebIndex) -> &mut Option<u32> {
        &mut self.ec[usize::try_from(peb.0).expect("usize holds u32")]
    }

    /// The erase counter of a block in service.
    pub(crate) fn ec_of(&self, peb: PebIndex) -> Option<u32> {
        self.ec[usize::try_from(peb.0).expect("usize holds u32")]
    }

    /// The key of a block in the trees.
    ///
    /// # Panics
    /// When the block is not in service.
    pub(crate) fn key(&self, peb: PebIndex) -> (u32, u32) {
        (self.ec_of(peb).expect("Wl::key: the block is not in service"), peb.0)
    }

    /// Takes a block into service.
    pub(crate) fn enter(&mut self, peb: PebIndex, ec: u32) {
        *self.slot(peb) = Some(ec);
    }

    /// Takes a block out of service (`wl_entry_destroy`).
    pub(crate) fn retire(&mut self, peb: PebIndex) {
        *self.slot(peb) = None;
    }

    pub(crate) fn add_free(&mut self, peb: PebIndex) {
        self.free.insert(self.key(peb));
    }

    /// Twice the threshold: up to this difference free blocks count as equally worn.
    pub(crate) const fn free_diff(&self) -> u32 {
        2 * self.threshold
    }

    /// Protects a block that was just taken (`prot_queue_add`).
    pub(crate) fn protect(&mut self, peb: PebIndex) {
        let tail = (self.queue_head + QUEUE - 1) % QUEUE;
        self.queue[tail].push_back(peb);
    }

    /// Takes a block from the queue; returns whether it was there (`prot_queue_del`).
    pub(crate) fn unprotect(&mut self, peb: PebIndex) -> bool {
        for list in &mut self.queue {
            if let Some(index) = list.iter().position(|&other| other == peb) {
                list.remove(index);
                return true;
            }
        }
        false
    }

    /// Ends the protection of the blocks that waited longest (`serve_prot_queue`).
    pub(crate) fn serve_queue(&mut self) {
        for peb in std::mem::take(&mut self.queue[self.queue_head]) {
            self.used.insert(self.key(peb));
        }
        self.queue_head = (self.queue_head + 1) % QUEUE;
    }

    /// Of blocks whose counter is less than `diff` above the smallest, the most worn (`find_wl_entry`).
    pub(crate) fn most_worn(tree: &PebTree, diff: u32) -> Option<PebIndex> {
        let (least, _) = tree.first()?;
        let limit = least.saturating_add(diff);
        let found = tree.last_where(|(ec, _)| ec < limit).or_else(|| tree.first());
        found.map(|(_, peb)| PebIndex(peb))
    }

    /// Whether a free block is so much more worn than a used one that data should be moved.
    pub(crate) fn is_far_above(&self, ec: u32, least: u32) -> bool {
        u64::from(ec) >= u64::from(least) + u64::from(self.threshold)
    }

    pub(crate) fn schedule_erase(&mut self, block: &AttachPeb) {
        let &AttachPeb { peb, volume, leb, .. } = block;
        self.works.push_back(Work::Erase { peb, volume, leb, torture: false });
    }
}
