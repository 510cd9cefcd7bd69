//! Bad blocks: the table in RAM, the scan that builds it, and the marks on the flash.
//!
//! Layer: rank 3. Main types: [`BadBlocks`], [`Mark`]. Source: Linux 6.1 `nand_bbt.c`
//! (`scan_block_fast`) and `nand_base.c` (`nand_block_markbad_lowlevel`): a block is bad when one
//! of the pages that the part names ([`crate::part::BadMarks`]) has anything but FFh in the bytes
//! of the mark; to mark one it is erased first and the marks go to all of these pages.

use super::{Driver, driver_error};
use crate::port::{Outcome, Port};
use boardlab_media::Row;
use boardlab_mtd::Error;
use boardlab_sim::Clock;

/// The entry of a block in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// It is good.
    Good,
    /// It went bad in use.
    Worn,
    /// It holds a table.
    Reserved,
    /// It was marked when the table was made.
    Factory,
}

/// The bad-block table in RAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBlocks {
    marks: Vec<Mark>,
    /// The version of the table on the flash, if there is one.
    pub(super) version: u8,
    /// The blocks that hold its two copies on the flash.
    pub(super) tables: [Option<u32>; 2],
}

impl BadBlocks {
    /// A table of `blocks` good blocks.
    #[must_use]
    pub fn all_good(blocks: u32) -> Self {
        Self { marks: vec![Mark::Good; slot(blocks)], version: 0, tables: [None; 2] }
    }

    /// The entry of a block.
    ///
    /// # Panics
    /// When there is no such block.
    #[must_use]
    pub fn mark(&self, block: u32) -> Mark {
        self.marks[slot(block)]
    }

    /// All marks by block.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The number of bad blocks, without those that hold tables.
    #[must_use]
    pub fn count(&self) -> usize {
        self.marks.iter().filter(|mark| matches!(mark, Mark::Worn | Mark::Factory)).count()
    }

    pub(super) fn set(&mut self, block: u32, mark: Mark) {
        self.marks[slot(block)] = mark;
    }
}

impl Driver {
    /// Fills the table: from the table on the flash if the profile uses one and it exists, else
    /// from the marks.
    pub(super) fn find_bad_blocks(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
    ) -> Result<(), Error> {
        if self.profile.flash_table && self.read_tables(port, clock)? {
            return Ok(());
        }
        self.scan(port, clock)?;
        if self.profile.flash_table {
            self.write_tables(port, clock)?;
        }
        Ok(())
    }

    /// Marks a block bad on the flash and in the table.
    ///
    /// # Errors
    /// [`Error::ProgramFailed`] when the mark cannot be programmed on any page, [`Error::PowerCut`].
    pub fn mark_bad(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        block: u32,
    ) -> Result<(), Error> {
        self.forget();
        // A block that fails to erase can still take the marks.
        let _ = port.erase(clock, block).map_err(driver_error)?;
        let mut spare = vec![0xFF; self.spare.len()];
        spare[self.profile.layout.mark().clone()].fill(0);
        let mut marked = false;
        let (marks, count) = (port.part().bad_marks, port.part().geometry.pages_per_block);
        for page in marks.pages(count) {
            let row = Row { block, page };
            let mut write = || {
                port.begin_program(clock, row, self.page)?;
                port.input(clock, &spare)?;
                port.program(clock)
            };
            marked |= write().map_err(driver_error)? == Outcome::Done;
        }
        self.bad.set(block, Mark::Worn);
        if self.profile.flash_table {
            self.write_tables(port, clock)?;
        } else if !marked {
            let offset = self.offset(port, Row { block, page: 0 });
            return Err(Error::ProgramFailed { offset });
        }
        Ok(())
    }

    fn scan(&mut self, port: &mut Port, clock: &mut Clock) -> Result<(), Error> {
        let (geometry, marks) = (port.part().geometry, port.part().bad_marks);
        for block in 0..geometry.blocks {
            let mut bad = false;
            for page in marks.pages(geometry.pages_per_block) {
                let mark = self.profile.layout.mark().clone();
                let spare = self.load_spare(port, clock, Row { block, page })?;
                if !boardlab_mtd::is_erased(&spare[mark]) {
                    bad = true;
                    break;
                }
            }
            if bad {
                self.bad.set(block, Mark::Factory);
            }
        }
        Ok(())
    }
}

fn slot(block: u32) -> usize {
    usize::try_from(block).expect("usize holds u32")
}
