//! Checks of the tables in memory against each other, for tests.
//!
//! Layer: rank 5.

use crate::Logfs;
use crate::block::Home;
use crate::format::AREAS;
use boardlab_mtd::Mtd;
use boardlab_vfs::Contradiction;
use std::collections::BTreeSet;

fn hold(condition: bool, what: impl FnOnce() -> String) -> Result<(), Contradiction> {
    if condition { Ok(()) } else { Err(Contradiction(what())) }
}

impl<M: Mtd> Logfs<M> {
    /// Whether the tables agree with each other.
    pub(crate) fn compare_tables(&self) -> Result<(), Contradiction> {
        hold(self.aliases.is_consistent(), || "count or order of changed words".into())?;
        hold(self.space.is_consistent(), || "sums of what is taken, freed or reserved".into())?;
        hold(self.collector.is_consistent(), || "candidates and their lists".into())?;
        self.compare_homes()?;
        self.compare_areas()
    }

    /// The values of changed words are where they should be.
    fn compare_homes(&self) -> Result<(), Contradiction> {
        for block in self.aliases.in_order() {
            let Some(changed) = self.aliases.get(block) else { continue };
            let there = match &changed.home {
                Home::Here(_) => !self.nodes.contains(block),
                Home::Node => self.nodes.contains(block),
                Home::Inode => self.inodes.contains_key(&block.index),
            };
            hold(there, || format!("words of {block} are not in {:?}", changed.home))?;
        }
        Ok(())
    }

    fn compare_areas(&self) -> Result<(), Contradiction> {
        let mut open = BTreeSet::new();
        for (which, area) in self.areas[..AREAS].iter().enumerate().filter(|(_, area)| area.open) {
            let unit = self.layout.write_size;
            let bounds = area.written <= area.used && area.used <= self.layout.segment_size;
            hold(bounds && area.written % unit == 0, || format!("area {which}: {area:?}"))?;
            hold(open.insert(area.segment), || format!("segment {} is open twice", area.segment))?;
            hold(!self.collector.reserved.contains(&area.segment), || {
                format!("segment {} is open and reserved", area.segment)
            })?;
        }
        for segment in self.collector.free_segments() {
            hold(!open.contains(&segment), || format!("segment {segment} is open and free"))?;
        }
        Ok(())
    }
}
