//! The blocks of a part: the wear of each, its valid pages, and the lists of blocks.
//!
//! Layer: below every mapping; it knows blocks, but neither pages nor data. Main types: [`Pool`],
//! [`State`], [`Tier`]. Each attribute of a block has an array of its own; lists are threaded
//! through these arrays, so that no request allocates.
//!
//! ```text
//!           take_free            close              take_victim          release
//!   Free ------------> Open ------------> Closed ---------------> Open ----------> Free
//!                                                                   `---> Retired (worn out)
//! ```
//!
//! Closed blocks are in a dense array (for random draws), in the order in which they were closed
//! (FIFO, windows), and, for greedy collection only, in lists by the number of valid pages.
//!
//! Source: bucket lists by valid count as described for greedy collection by Bux and Iliadis,
//! "Performance of greedy garbage collection in flash-based solid-state drives" (2010).

use crate::contents::Contents;
use crate::free::{Allocation, FreeBlocks};
use crate::geometry::Geometry;
use crate::order::Order;

const NONE: u32 = u32::MAX;

/// The state of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Erased and unused.
    Free,
    /// Being filled, or its data are being moved.
    Open,
    /// Full, or closed before it was full.
    Closed,
    /// Bad, never used again.
    Retired,
}

/// The set of blocks that a block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tier {
    /// Ordinary blocks.
    #[default]
    Main,
    /// SLC cache blocks, which are folded into the main ones.
    Cache,
    /// Blocks for hot data, kept apart from the others.
    Hot,
}

impl Tier {
    const ALL: usize = 3;

    /// Whether data stay there: everywhere but in the cache.
    const fn settles(self) -> bool {
        !matches!(self, Self::Cache)
    }
}

/// What every invalidation of a page changes, in one cache line.
#[derive(Debug, Clone, Copy)]
struct Links {
    valid: u32,
    next: u32,
    prev: u32,
    state: State,
    tier: Tier,
}

/// Lists of closed blocks by their number of valid pages.
#[derive(Debug, Clone)]
struct Buckets {
    /// The heads of the lists of main blocks, then those of hot blocks.
    head: Vec<u32>,
    lists: usize,
    /// For each of the two, a lower bound of the first list that is not empty.
    least: [usize; 2],
}

impl Buckets {
    fn new(lists: usize) -> Self {
        Self { head: vec![NONE; 2 * lists], lists, least: [lists; 2] }
    }

    #[inline]
    fn of(&mut self, tier: Tier, valid: u32) -> &mut u32 {
        let first = if tier == Tier::Hot { self.lists } else { 0 };
        &mut self.head[first + valid as usize]
    }
}

/// All blocks of a part.
#[derive(Debug, Clone)]
pub struct Pool {
    links: Vec<Links>,
    erases: Vec<u32>,
    /// The mechanism's clock when each block was closed.
    closed_at: Vec<u64>,
    /// Closed blocks of each tier in no order, and the index of each block there.
    closed: [Vec<u32>; Tier::ALL],
    place: Vec<u32>,
    /// Closed blocks of each tier in the order of closing.
    by_age: Order<{ Tier::ALL }>,
    free: [FreeBlocks; Tier::ALL],
    buckets: Option<Buckets>,
    /// The number of closed blocks outside the cache with each erase count, and the least erase
    /// count among them.
    closed_by_wear: Vec<u32>,
    least_wear: usize,
    retired: u32,
}

impl Pool {
    /// A part whose blocks are all free. `by_valid`: whether to keep the lists by valid pages,
    /// which [`Pool::least_valid`] needs.
    #[must_use]
    pub fn new(geometry: &Geometry, allocation: Allocation, by_valid: bool) -> Self {
        let blocks = geometry.blocks() as usize;
        let links =
            Links { valid: 0, next: NONE, prev: NONE, state: State::Free, tier: Tier::Main };
        let lists = geometry.pages_per_block() as usize + 1;
        let mut free = FreeBlocks::new(allocation);
        // In descending order, so that a stack yields block 0 first.
        (0..geometry.blocks()).rev().for_each(|block| free.insert(block, 0));
        Self {
            links: vec![links; blocks],
            erases: vec![0; blocks],
            closed_at: vec![0; blocks],
            place: vec![NONE; blocks],
            closed: [const { Vec::new() }; Tier::ALL],
            by_age: Order::new(blocks),
            free: [free, FreeBlocks::new(allocation), FreeBlocks::new(allocation)],
            buckets: by_valid.then(|| Buckets::new(lists)),
            closed_by_wear: vec![0; 64],
            least_wear: 0,
            retired: 0,
        }
    }

    /// Blocks of the part, retired ones included.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        u32::try_from(self.links.len()).expect("blocks are numbered by u32")
    }

    /// Valid pages of a block.
    #[must_use]
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        self.links[block as usize].valid
    }

    /// The erase count of a block.
    #[must_use]
    pub fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }

    /// Erase counts of all blocks, by block.
    #[must_use]
    pub fn wear(&self) -> &[u32] {
        &self.erases
    }

    /// The state of a block.
    #[must_use]
    pub fn state(&self, block: u32) -> State {
        self.links[block as usize].state
    }

    /// The tier of a block.
    #[must_use]
    pub fn tier(&self, block: u32) -> Tier {
        self.links[block as usize].tier
    }

    /// The mechanism's clock when a block was closed.
    #[must_use]
    pub fn closed_at(&self, block: u32) -> u64 {
        self.closed_at[block as usize]
    }

    /// Free blocks of a tier.
    #[must_use]
    #[inline]
    pub fn free(&self, tier: Tier) -> u32 {
        self.free[tier as usize].len()
    }

    /// The number of retired blocks.
    #[must_use]
    pub const fn retired(&self) -> u32 {
        self.retired
    }

    /// Closed blocks of a tier, in no order.
    #[must_use]
    pub fn closed(&self, tier: Tier) -> &[u32] {
        &self.closed[tier as usize]
    }

    /// Closed blocks of a tier, the oldest first.
    pub fn by_age(&self, tier: Tier) -> impl Iterator<Item = u32> + '_ {
        self.by_age.iter(tier as usize)
    }

    /// Closed blocks outside the cache, of each tier the oldest first.
    pub fn settled(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_age(Tier::Main).chain(self.by_age(Tier::Hot))
    }

    /// The closed block with the fewest valid pages of a tier other than the cache. Of several, the
    /// one whose page became invalid last.
    ///
    /// # Panics
    /// When the pool was built without lists by valid pages.
    pub fn least_valid(&mut self, tier: Tier) -> Option<u32> {
        let buckets = self.buckets.as_mut().expect("greedy collection keeps lists by valid pages");
        let lists = buckets.lists;
        let from = if tier == Tier::Hot { lists } else { 0 };
        let least = &mut buckets.least[usize::from(tier == Tier::Hot)];
        while *least < lists && buckets.head[from + *least] == NONE {
            *least += 1;
        }
        (*least < lists).then(|| buckets.head[from + *least])
    }

    /// The least erase count of a closed block outside the cache.
    #[must_use]
    pub fn least_worn_closed(&self) -> Option<u32> {
        let count =
            self.closed_by_wear.iter().skip(self.least_wear).position(|&blocks| blocks > 0)?;
        u32::try_from(self.least_wear + count).ok()
    }

    /// The greatest erase count of a free main block.
    #[must_use]
    pub fn most_worn_free(&self) -> Option<u32> {
        self.free[0].most_worn(&self.erases)
    }

    /// Opens the free block that the policy uses next.
    pub fn take_free(&mut self, tier: Tier) -> Option<u32> {
        let block = self.free[tier as usize].take()?;
        self.links[block as usize].state = State::Open;
        Some(block)
    }

    /// Sets the erase count of a free block, as read from its OOB bytes.
    ///
    /// # Panics
    /// When the block is not free.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        let (before, tier) = (self.erases[block as usize], self.tier(block));
        assert!(self.free[tier as usize].remove(block, before), "Pool::set_erases: in use");
        self.erases[block as usize] = erases;
        self.free[tier as usize].insert(block, erases);
    }

    /// Reads erase counts and bad-block marks from the flash into a pool of free blocks, and
    /// retires the marked ones.
    pub(crate) fn read_marks(&mut self, flash: &Contents) {
        for block in 0..self.blocks() {
            self.set_erases(block, flash.erases(block));
            if flash.is_bad(block) {
                self.retire(block);
            }
        }
    }

    /// Opens the free block `block`.
    ///
    /// # Panics
    /// When the block is not free.
    pub fn take(&mut self, block: u32) {
        let (erases, tier) = (self.erases[block as usize], self.tier(block));
        assert!(self.free[tier as usize].remove(block, erases), "Pool::take: a block in use");
        self.links[block as usize].state = State::Open;
    }

    /// Opens the most worn free main block.
    pub fn take_most_worn(&mut self) -> Option<u32> {
        let block = self.free[0].take_most_worn()?;
        self.links[block as usize].state = State::Open;
        Some(block)
    }

    /// Moves a free block to another tier.
    ///
    /// # Panics
    /// When the block is not free.
    pub fn assign(&mut self, block: u32, tier: Tier) {
        let (erases, old) = (self.erases[block as usize], self.tier(block));
        assert!(self.free[old as usize].remove(block, erases), "Pool::assign: a block in use");
        self.links[block as usize].tier = tier;
        self.free[tier as usize].insert(block, erases);
    }

    /// Sets the tier in which an open block will be closed.
    ///
    /// # Panics
    /// When the block is not open.
    pub fn set_tier(&mut self, block: u32, tier: Tier) {
        let links = &mut self.links[block as usize];
        assert_eq!(links.state, State::Open, "Pool::set_tier");
        links.tier = tier;
    }

    /// Adds to the valid pages of `block`.
    #[inline]
    pub fn add_valid(&mut self, block: u32, pages: u32) {
        self.links[block as usize].valid += pages;
    }

    /// Subtracts from the valid pages of `block`. Returns whether it is a closed block that has
    /// none left.
    ///
    /// # Panics
    /// When the block has fewer valid pages.
    #[inline]
    pub fn invalidate(&mut self, block: u32, pages: u32) -> bool {
        let links = &mut self.links[block as usize];
        let before = links.valid;
        assert!(before >= pages, "more pages invalid than were valid");
        let valid = before - pages;
        links.valid = valid;
        if links.state != State::Closed {
            return false;
        }
        if links.tier.settles() && self.buckets.is_some() {
            self.unlink(block, before);
            self.link(block, valid);
        }
        valid == 0
    }

    /// Prefetches the entries of `blocks`, some of whose pages will become invalid, and replaces
    /// each block by its valid pages.
    #[inline]
    pub(crate) fn prefetch(&self, blocks: &mut [u32]) {
        for block in blocks {
            *block = self.links[*block as usize].valid;
        }
    }

    /// Closes an open block, full or not, at `clock`.
    ///
    /// # Panics
    /// When the block is not open.
    pub fn close(&mut self, block: u32, clock: u64) {
        let links = &mut self.links[block as usize];
        assert_eq!(links.state, State::Open, "Pool::close");
        links.state = State::Closed;
        let (tier, valid) = (links.tier, links.valid);
        self.closed_at[block as usize] = clock;
        let closed = &mut self.closed[tier as usize];
        self.place[block as usize] = u32::try_from(closed.len()).expect("fewer than blocks");
        closed.push(block);
        self.by_age.push(tier as usize, block);
        if tier.settles() {
            self.count_wear(block);
            if self.buckets.is_some() {
                self.link(block, valid);
            }
        }
    }

    /// Removes a closed block from all lists, and opens it, so that its data can be moved.
    ///
    /// # Panics
    /// When the block is not closed.
    pub fn take_victim(&mut self, block: u32) {
        let links = &mut self.links[block as usize];
        assert_eq!(links.state, State::Closed, "Pool::take_victim");
        links.state = State::Open;
        let (tier, valid) = (links.tier, links.valid);
        let closed = &mut self.closed[tier as usize];
        let at = self.place[block as usize];
        closed.swap_remove(at as usize);
        if let Some(&moved) = closed.get(at as usize) {
            self.place[moved as usize] = at;
        }
        self.by_age.remove(tier as usize, block);
        if tier.settles() {
            self.closed_by_wear[self.erases[block as usize] as usize] -= 1;
            if self.buckets.is_some() {
                self.unlink(block, valid);
            }
        }
    }

    /// Frees an erased block into `tier`.
    ///
    /// # Panics
    /// When it is not open, or has valid pages.
    pub fn release(&mut self, block: u32, tier: Tier) {
        let links = &mut self.links[block as usize];
        assert_eq!(links.state, State::Open, "Pool::release");
        assert_eq!(links.valid, 0, "nothing valid is erased");
        links.state = State::Free;
        links.tier = tier;
        let erases = &mut self.erases[block as usize];
        *erases += 1;
        self.free[tier as usize].insert(block, *erases);
    }

    /// Retires a block that is open or free.
    ///
    /// # Panics
    /// When it is closed, or has valid pages.
    pub fn retire(&mut self, block: u32) {
        let links = &mut self.links[block as usize];
        assert_eq!(links.valid, 0, "nothing valid is given up");
        let (state, tier) = (links.state, links.tier);
        links.state = State::Retired;
        match state {
            State::Free => {
                let erases = self.erases[block as usize];
                assert!(self.free[tier as usize].remove(block, erases), "a free block is listed");
            }
            State::Open => {}
            State::Closed | State::Retired => unreachable!("Pool::retire: {state:?}"),
        }
        self.retired += 1;
    }

    fn count_wear(&mut self, block: u32) {
        let erases = self.erases[block as usize] as usize;
        if erases >= self.closed_by_wear.len() {
            self.closed_by_wear.resize((erases + 1).next_power_of_two(), 0);
        }
        self.closed_by_wear[erases] += 1;
        // Raises the bound past empty counts, so that the next search starts near the least.
        while self.least_wear < erases && self.closed_by_wear[self.least_wear] == 0 {
            self.least_wear += 1;
        }
        self.least_wear = self.least_wear.min(erases);
    }

    #[inline]
    fn link(&mut self, block: u32, valid: u32) {
        let links = &mut self.links[block as usize];
        let buckets = self.buckets.as_mut().expect("asked before");
        let next = std::mem::replace(buckets.of(links.tier, valid), block);
        let least = &mut buckets.least[usize::from(links.tier == Tier::Hot)];
        *least = (*least).min(valid as usize);
        (links.prev, links.next) = (NONE, next);
        if next != NONE {
            self.links[next as usize].prev = block;
        }
    }

    #[inline]
    fn unlink(&mut self, block: u32, valid: u32) {
        let Links { next, prev, tier, .. } = self.links[block as usize];
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
        match prev {
            NONE => {
                let buckets = self.buckets.as_mut().expect("asked before");
                *buckets.of(tier, valid) = next;
            }
            prev => self.links[prev as usize].next = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::{Bytes, Seed};

    const BLOCKS: u32 = 24;
    const PAGES: u32 = 6;

    /// One random step that the state of `block` allows.
    fn step(pool: &mut Pool, block: u32, draw: u64, clock: u64) {
        match pool.state(block) {
            State::Free => {
                let tier = pool.tier(block);
                let taken = pool.take_free(tier).unwrap();
                pool.add_valid(taken, PAGES);
            }
            State::Open if draw.is_multiple_of(2) || pool.valid(block) > 0 => {
                pool.close(block, clock);
            }
            State::Open => pool.release(block, Tier::Main),
            State::Closed if pool.valid(block) > 0 && !draw.is_multiple_of(5) => {
                pool.invalidate(block, 1);
            }
            State::Closed => {
                pool.take_victim(block);
                pool.invalidate(block, pool.valid(block));
                pool.release(block, Tier::Main);
            }
            State::Retired => {}
        }
    }

    fn in_state(pool: &Pool, state: State) -> impl Iterator<Item = u32> + '_ {
        (0..BLOCKS).filter(move |&block| pool.state(block) == state)
    }

    #[test]
    fn the_lists_agree_with_looking_at_every_block() {
        for seed in 0..20 {
            let part = Geometry::new(BLOCKS, PAGES, Bytes::kib(4), 1).unwrap();
            let mut pool = Pool::new(&part, Allocation::LeastWorn, true);
            let mut draw = Seed::new(seed).stream("pool");
            let mut order = Vec::new();
            for clock in 0..3_000 {
                let block = u32::try_from(draw.below(BLOCKS.into())).unwrap();
                step(&mut pool, block, draw.next_u64(), clock);
                let closed: Vec<u32> = in_state(&pool, State::Closed).collect();
                let erases = |&block: &u32| pool.erases(block);
                assert_eq!(pool.least_worn_closed(), closed.iter().map(erases).min(), "{seed}");
                let free = in_state(&pool, State::Free);
                assert_eq!(pool.most_worn_free(), free.map(|block| pool.erases(block)).max());
                let fewest = closed.iter().map(|&block| pool.valid(block)).min();
                let least = pool.clone().least_valid(Tier::Main);
                assert_eq!(least.map(|block| pool.valid(block)), fewest, "seed {seed}");
                let mut dense = pool.closed(Tier::Main).to_vec();
                dense.sort_unstable();
                assert_eq!(dense, closed, "seed {seed}, step {clock}");
                order = pool.by_age(Tier::Main).map(|block| pool.closed_at(block)).collect();
                assert!(order.is_sorted() && order.len() == closed.len(), "seed {seed}");
            }
            assert!(!order.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "nothing valid is erased")]
    fn a_block_with_valid_pages_is_not_released() {
        let part = Geometry::new(BLOCKS, PAGES, Bytes::kib(4), 1).unwrap();
        let mut pool = Pool::new(&part, Allocation::LastFreed, false);
        let block = pool.take_free(Tier::Main).unwrap();
        assert_eq!(block, 0, "a stack gives the first block first");
        pool.add_valid(block, 1);
        pool.release(block, Tier::Main);
    }
}
