//! Whether the tables in memory are consistent.
//!
//! Layer: rank 4. Every test calls [`Ubi::check_tables`] after each step.

use crate::device::Ubi;
use crate::lebs::PebIndex;
use crate::wear::Work;
use std::collections::BTreeMap;
use std::fmt;

/// What contradicts what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contradiction {
    /// A block in service is in no list, or in two.
    Lists {
        /// The block.
        peb: PebIndex,
        /// The lists that it is in.
        found: Vec<&'static str>,
    },
    /// A LEB is mapped to a block that is not in use, or that another LEB is mapped to.
    Mapping {
        /// The block.
        peb: PebIndex,
        /// The volume.
        volume: u32,
    },
    /// The counts of blocks do not add up.
    Counts {
        /// The blocks that are not bad and not corrupted.
        expected: u32,
        /// The available and the reserved ones.
        found: u32,
    },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lists { peb, found } => write!(f, "block {peb} is in these lists: {found:?}"),
            Self::Mapping { peb, volume } => {
                write!(f, "volume {volume} has a LEB in block {peb}, which is not its own")
            }
            Self::Counts { expected, found } => {
                write!(f, "{found} blocks are available or reserved, of {expected}")
            }
        }
    }
}

impl std::error::Error for Contradiction {}

impl<M> Ubi<M> {
    /// Checks that every block in service is in exactly one list, that every LEB has a block of its
    /// own in use, and that the counts add up. A move that failed leaves its blocks in no list, with
    /// their LEB, and the device read-only.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check_tables(&self) -> Result<(), Contradiction> {
        let mut lists: BTreeMap<PebIndex, Vec<&'static str>> = BTreeMap::new();
        self.collect_lists(|peb, list| lists.entry(peb).or_default().push(list));
        for (peb, ec) in (0..).map(PebIndex).zip(&self.wl.ec) {
            let found = lists.get(&peb).cloned().unwrap_or_default();
            // Blocks of a fastmap that were not scanned have no erase counter here.
            let unknown = found == ["fastmap"] && ec.is_none();
            if found.len() != usize::from(ec.is_some()) && !unknown {
                return Err(Contradiction::Lists { peb, found });
            }
        }
        for volume in self.volumes.iter().flatten() {
            for peb in volume.mapped() {
                if self.io.read_only && self.wl.ec_of(peb).is_none() {
                    continue;
                }
                let list = lists.remove(&peb).unwrap_or_default();
                if !matches!(list.as_slice(), ["used" | "scrub" | "erroneous" | "queue"]) {
                    return Err(Contradiction::Mapping { peb, volume: volume.id });
                }
            }
        }
        let expected = self.space.good - self.corrupted_pebs;
        let found = self.space.available + self.space.reserved;
        // A bad block leaves the good ones and stays among the reserved ones, as in the kernel.
        if found < expected { Err(Contradiction::Counts { expected, found }) } else { Ok(()) }
    }

    fn collect_lists(&self, mut add: impl FnMut(PebIndex, &'static str)) {
        let wl = &self.wl;
        let trees = [
            ("free", &wl.free),
            ("used", &wl.used),
            ("scrub", &wl.scrub),
            ("erroneous", &wl.erroneous),
        ];
        for (name, tree) in trees {
            tree.iter().for_each(|(_, peb)| add(PebIndex(peb), name));
        }
        if let Some(map) = &self.fastmap {
            for (name, pool) in [("pool", &map.pool), ("pool for moves", &map.wl_pool)] {
                pool.pebs[pool.used..].iter().for_each(|&peb| add(peb, name));
            }
            map.anchor.iter().for_each(|&peb| add(peb, "anchor"));
            map.blocks.iter().flatten().for_each(|block| add(block.peb, "fastmap"));
        }
        wl.queue.iter().flatten().for_each(|&peb| add(peb, "queue"));
        for work in &wl.works {
            if let Work::Erase { peb, .. } = work {
                add(*peb, "works");
            }
        }
    }
}
