//! The checks of the kernel's debugging, and of the tables in memory.
//!
//! Layer: rank 5. Every check reads what the kernel's check reads, so it takes
//! time on the flash; [`Ubifs::check_all`] runs all of them.
//!
//! Source: Linux 6.1, `fs/ubifs/debug.c` (`dbg_check_filesystem`, `dbg_check_idx_size`), `lprops.c`
//! (`scan_check_cb`, `dbg_check_lprops`), `orphan.c` (`dbg_check_orphans`), `commit.c`
//! (`dbg_check_old_index`), `log.c` (`dbg_check_bud_bytes`).

mod audit;
mod fs;
mod index;
mod lebs;
mod survey;

pub use audit::{Audit, Gap, Leaf};
pub use survey::{Cause, Check};

use crate::error::Fault;
use crate::format::NodeType;
use crate::format::index::Branch;
use crate::format::inode::InodeNode;
use crate::format::key::KeyType;
use crate::format::orphan::OrphanNode;
use crate::{Error, LebIndex, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Contradiction;
use std::collections::BTreeSet;

/// Compares a value with the one calculated from the flash.
fn compare(
    name: &'static str,
    number: u32,
    found: impl Into<i64>,
    expected: impl Into<i64>,
) -> Result<(), Error> {
    let (found, expected) = (found.into(), expected.into());
    if found == expected {
        return Ok(());
    }
    Err(Error::Check(Fault::Value { name, number, found, expected }))
}

impl<L: Lebs> Ubifs<L> {
    /// Runs every check.
    ///
    /// # Errors
    /// [`Error::Check`] with what it found; any of the volume.
    pub fn check_all(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if let Err(contradiction) = self.volume.compare_tables() {
            panic!("{contradiction}");
        }
        self.volume.check_filesystem(clock)?;
        self.volume.check_orphans(clock)?;
        if !self.volume.mode.read_only {
            self.volume.check_lprops(clock)?;
        }
        Ok(())
    }
}

impl<L: Lebs> Volume<L> {
    /// Compares the tables in memory with each other.
    pub(crate) fn compare_tables(&self) -> Result<(), Contradiction> {
        let wrong = |text: String| Err(Contradiction(text));
        let mut bytes = 0;
        for (number, head) in self.heads.iter().enumerate() {
            for leb in &head.buds {
                let Some(bud) = self.log.buds.get(leb) else {
                    return wrong(format!("journal head {number}: LEB {leb} is no bud"));
                };
                if bud.jhead != number {
                    return wrong(format!("bud {leb} belongs to head {}", bud.jhead));
                }
                bytes += u64::from(self.layout.leb_size - bud.start);
            }
        }
        if bytes != self.log.bud_bytes {
            return wrong(format!("buds have {bytes} bytes, not {}", self.log.bud_bytes));
        }
        self.compare_budget()?;
        self.compare_lists()?;
        self.compare_tnc()
    }

    /// Compares the size of the index on flash with the accounting (`dbg_check_idx_size`).
    pub(crate) fn check_index_size(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut size = 0;
        self.walk_index(clock, &mut |_, _, _| Ok(()), &mut |branch| {
            size += i64::from(branch.len.next_multiple_of(8));
        })?;
        let found = i64::try_from(self.bi.old_idx_sz).expect("a volume is small");
        compare("the size of the index", 0, found, size)
    }

    /// Checks that inodes without names are orphans (`dbg_check_orphans`).
    pub(crate) fn check_orphans(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let on_flash = self.orphans_on_flash(clock)?;
        let mut leaf = |volume: &mut Self, clock: &mut Clock, branch: Branch| {
            if branch.key.kind() != Some(KeyType::Inode) {
                return Ok(());
            }
            let bytes = volume.tnc_read_node(clock, branch)?;
            let inode = InodeNode::parse(&bytes).map_err(|cause| node_error(branch, cause))?;
            let ino = branch.key.ino();
            if inode.nlink == 0 && !volume.orphans.contains(ino) && !on_flash.contains(&ino) {
                return Err(Error::Check(Fault::MissingOrphan(ino)));
            }
            Ok(())
        };
        self.walk_index(clock, &mut leaf, &mut |_| {})
    }

    fn orphans_on_flash(&mut self, clock: &mut Clock) -> Result<BTreeSet<u32>, Error> {
        let mut found = BTreeSet::new();
        if self.orphans.none {
            return Ok(found);
        }
        for leb in self.layout.orph_first.0..=self.layout.orph_last.0 {
            let scanned = self.scan(clock, LebIndex(leb), 0)?;
            for node in scanned.nodes.iter().filter(|node| node.kind == NodeType::Orphan) {
                if let Ok(orphans) = OrphanNode::parse(scanned.node_bytes(node)) {
                    found.extend(orphans.inos.iter().filter_map(|&ino| u32::try_from(ino).ok()));
                }
            }
        }
        Ok(found)
    }
}

fn node_error(branch: Branch, cause: crate::format::Malformed) -> Error {
    Error::Node { leb: branch.lnum, offs: branch.offs, cause }
}
