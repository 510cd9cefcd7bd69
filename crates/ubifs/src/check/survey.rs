//! All contradictions of a mounted filesystem, check by check.
//!
//! Layer: rank 5. Main function: [`Ubifs::survey`]. The kernel's checks stop at the first fault; this one
//! is for tools, and goes on with the next LEB and the next check. What a power cut has left is a
//! contradiction until a writable mount has recovered it.
//!
//! Source: Linux 6.1, `fs/ubifs/lprops.c` (`dbg_check_lprops`), `lpt_commit.c` (`dbg_check_ltab`).

use crate::error::{Fault, Problem};
use crate::format::usize_of;
use crate::lprops::SpaceTotals;
use crate::{Error, LebIndex, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Contradiction;

/// The contradictions of a check that are kept.
const MOST: usize = 1_000;

/// A check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The tables in memory, after the journal was replayed.
    Tables,
    /// The index of the last commit.
    Index,
    /// Sizes, links and attributes of all inodes.
    Inodes,
    /// Inodes without names.
    Orphans,
    /// Free and dirty space of every LEB, and their totals.
    Space,
    /// The tree with these properties.
    Lpt,
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A contradiction on flash.
    Flash(Error),
    /// A contradiction between tables in memory.
    Memory(Contradiction),
}

impl<L: Lebs> Ubifs<L> {
    /// Runs every check on what is mounted, and returns all contradictions. Nodes that the index refers
    /// to are not listed one by one: that is [`Ubifs::audit`].
    pub fn survey(&mut self, clock: &mut Clock) -> Vec<(Check, Cause)> {
        let volume = &mut self.volume;
        let mut found = Vec::new();
        if let Err(contradiction) = volume.compare_tables() {
            found.push((Check::Tables, Cause::Memory(contradiction)));
        }
        let mut add = |check, errors: Vec<Error>| {
            found.extend(errors.into_iter().map(|error| (check, Cause::Flash(error))));
        };
        let index: Vec<Error> = volume.check_old_index(clock).err().into_iter().collect();
        let has_index = index.is_empty();
        add(Check::Index, index);
        add(Check::Lpt, volume.survey_lpt(clock).unwrap_or_else(|error| vec![error]));
        // Without an index everything would seem obsolete.
        if has_index {
            add(Check::Inodes, volume.check_filesystem(clock).err().into_iter().collect());
            add(Check::Orphans, volume.check_orphans(clock).err().into_iter().collect());
            add(Check::Space, volume.survey_space(clock).unwrap_or_else(|error| vec![error]));
        }
        found
    }
}

impl<L: Lebs> Volume<L> {
    /// Compares the properties of every LEB with its nodes.
    fn survey_space(&mut self, clock: &mut Clock) -> Result<Vec<Error>, Error> {
        let writable = !self.mode.read_only && !self.mode.failed;
        for head in 0..if writable { self.heads.len() } else { 0 } {
            self.wbuf_sync(clock, head)?;
        }
        let (mut found, mut totals) = (Vec::new(), SpaceTotals::default());
        for lp in self.all_lprops(clock)? {
            if found.len() >= MOST {
                return Ok(found);
            }
            found.extend(self.check_leb(clock, lp, &mut totals).err());
        }
        if found.is_empty() {
            found.extend(self.compare_totals(&totals).err());
        }
        Ok(found)
    }

    /// Compares the table of the LEBs of the tree with the nodes that the tree has.
    fn survey_lpt(&mut self, clock: &mut Clock) -> Result<Vec<Error>, Error> {
        let used = self.lpt_used(clock)?;
        let told = self.lpt_told(clock)?;
        let first = self.layout.lpt_first.0;
        let wrong = (first..).zip(told.into_iter().zip(used)).filter_map(|(leb, (told, used))| {
            let name = "used bytes of LEB";
            let (found, expected) = (i64::from(told), i64::try_from(used).unwrap_or(i64::MAX));
            let fault = Fault::Value { name, number: leb, found, expected };
            (found != expected).then_some(Error::Check(fault))
        });
        Ok(wrong.collect())
    }

    /// Bytes of the tree's nodes in each of its LEBs.
    fn lpt_used(&mut self, clock: &mut Clock) -> Result<Vec<u64>, Error> {
        let mut used = vec![0; usize_of(self.layout.lpt_lebs)];
        let first = self.layout.lpt_first.0;
        let mut count = |leb: LebIndex, size: u32| {
            let slot = leb.0.checked_sub(first).and_then(|number| used.get_mut(usize_of(number)));
            *slot.ok_or(Error::at(leb, 0, Problem::Area))? += u64::from(size);
            Ok::<(), Error>(())
        };
        for (leb, size) in self.lpt_places(clock)? {
            count(leb, size)?;
        }
        count(self.lpt.ltab_lnum, self.lpt.ltab_sz)?;
        if self.lpt.big {
            count(self.lpt.lsave_lnum, self.lpt.lsave_sz)?;
        }
        Ok(used)
    }
}
