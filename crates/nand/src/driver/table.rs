//! The bad-block table on the flash.
//!
//! Layer: rank 3. Source: Linux 6.1 `nand_bbt.c`, `bbt_main_descr` and `bbt_mirror_descr`, with
//! patterns in the OOB area. A table is searched in the last four blocks. OOB bytes 8 to 11 of a
//! block's first page are `Bbt0`, or `1tbB` for the second copy; byte 12 is the version. The main bytes
//! hold two bits a block, lowest first: 11 good, 10 worn, 00 factory bad. The newer copy is valid, and
//! only the older one is rewritten. A copy is written where it was, and never over the other one.
//!
//! ```text
//!   OOB    0        8    12 13            main  0                1
//!          mark ... Bbt0 v  ...                 b3 b2 b1 b0      b7 b6 b5 b4  ...
//! ```
//!
//! Left out: tables with fewer or more bits a block, for several chips, or without OOB bytes.
//! Blocks that hold tables are stored as good, and reserved again when they are found.

use super::{BadBlocks, Driver, Mark};
use crate::port::Port;
use boardlab_media::Row;
use boardlab_mtd::Error;
use boardlab_sim::Clock;

/// Blocks at the end of the part that may hold a table.
const BLOCKS: u32 = 4;
/// The offset of the pattern in the OOB area.
const PATTERN: usize = 8;
/// The offset of the version in the OOB area.
const VERSION: usize = 12;
/// The pattern of the first and of the second copy.
const PATTERNS: [&[u8; 4]; 2] = [b"Bbt0", b"1tbB"];

impl Driver {
    /// Reads the newest table of the flash. Returns whether there was one.
    pub(super) fn read_tables(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
    ) -> Result<bool, Error> {
        let mut found: [Option<(u32, BadBlocks)>; 2] = [None, None];
        for block in table_blocks(port) {
            let spare = self.load_spare(port, clock, Row { block, page: 0 })?;
            let Some(pattern) = spare.get(PATTERN..VERSION) else { return Ok(false) };
            let version = spare.get(VERSION).copied().unwrap_or_default();
            let copy = PATTERNS.iter().position(|&known| known == pattern);
            let Some(copy) = copy else { continue };
            // A block that went bad may hold an older copy.
            if found[copy].as_ref().is_some_and(|(_, known)| !is_newer(version, known.version)) {
                continue;
            }
            if let Some(table) = self.read_table(port, clock, block, version)? {
                found[copy] = Some((block, table));
            }
        }
        let places = [0, 1].map(|copy| found[copy].as_ref().map(|(block, _)| *block));
        let versions = [0, 1].map(|copy| found[copy].as_ref().map(|(_, table)| table.version));
        let newest = match versions {
            [Some(main), Some(mirror)] => usize::from(is_newer(mirror, main)),
            [main, _] => usize::from(main.is_none()),
        };
        let Some((_, table)) = found[newest].take() else { return Ok(false) };
        self.bad = table;
        self.bad.tables = places;
        self.reserve(port);
        if versions[0] != versions[1] {
            // Only the old or lost copy is rewritten: the other one stays valid until then.
            self.write_table(port, clock, 1 - newest)?;
        }
        Ok(true)
    }

    /// Writes both copies with the next version, one after the other.
    pub(super) fn write_tables(&mut self, port: &mut Port, clock: &mut Clock) -> Result<(), Error> {
        self.reserve(port);
        self.bad.version = self.bad.version.wrapping_add(1).max(1);
        self.write_table(port, clock, 0)?;
        self.write_table(port, clock, 1)
    }

    /// Writes one copy where it was, or to the first block that can be programmed and does not hold
    /// the other.
    fn write_table(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        copy: usize,
    ) -> Result<(), Error> {
        let (own, other) = (self.bad.tables[copy], self.bad.tables[1 - copy]);
        let mut failure = None;
        for block in own.into_iter().chain(table_blocks(port).filter(|&block| Some(block) != own)) {
            let bad = matches!(self.bad.mark(block), Mark::Worn | Mark::Factory);
            if bad || Some(block) == other {
                continue;
            }
            let mut table = encode(&self.bad);
            table.resize(table.len().next_multiple_of(self.page), 0xFF);
            match self.write_table_to(port, clock, PATTERNS[copy], &table, block) {
                Err(error @ (Error::ProgramFailed { .. } | Error::EraseFailed { .. })) => {
                    self.bad.set(block, Mark::Worn);
                    failure = Some(error);
                }
                Ok(()) => {
                    self.bad.tables[copy] = Some(block);
                    return Ok(());
                }
                failed => return failed,
            }
        }
        let block = boardlab_mtd::BlockIndex(port.part().geometry.blocks - 1);
        Err(failure.unwrap_or(Error::BadBlock { block }))
    }

    fn write_table_to(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        pattern: &[u8; 4],
        table: &[u8],
        block: u32,
    ) -> Result<(), Error> {
        self.erase(port, clock, block)?;
        let mut head = vec![0xFF; self.spare.len()];
        head[PATTERN..VERSION].copy_from_slice(pattern);
        head[VERSION] = self.bad.version;
        for (page, data) in (0_u32..).zip(table.chunks(self.page)) {
            self.calculate(clock, data);
            let mut spare = if page == 0 { head.clone() } else { vec![0xFF; head.len()] };
            self.profile.layout.scatter_ecc(&self.codes, 0, &mut spare);
            self.program_raw(port, clock, Row { block, page }, data, &spare)?;
        }
        Ok(())
    }

    /// The table of a block; `None` when it cannot be read.
    fn read_table(
        &mut self,
        port: &mut Port,
        clock: &mut Clock,
        block: u32,
        version: u8,
    ) -> Result<Option<BadBlocks>, Error> {
        let geometry = port.part().geometry;
        let length = usize::try_from(geometry.blocks.div_ceil(4)).expect("usize holds u32");
        let mut table = vec![0; length.next_multiple_of(self.page)];
        let start = geometry.block_size() * u64::from(block);
        match self.read(port, clock, start, &mut table) {
            Ok(_) => {}
            Err(Error::Uncorrectable { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut bad = BadBlocks::all_good(geometry.blocks);
        bad.version = version;
        for block in 0..geometry.blocks {
            let at = usize::try_from(block / 4).expect("usize holds u32");
            let mark = match table[at] >> (block % 4 * 2) & 3 {
                3 => Mark::Good,
                0 => Mark::Factory,
                _ => Mark::Worn,
            };
            bad.set(block, mark);
        }
        Ok(Some(bad))
    }

    fn reserve(&mut self, port: &Port) {
        for block in table_blocks(port) {
            if self.bad.mark(block) == Mark::Good {
                self.bad.set(block, Mark::Reserved);
            }
        }
    }
}

/// Whether a version is newer than another. Versions wrap around: the one that is ahead by less
/// than half of the range is newer.
const fn is_newer(version: u8, than: u8) -> bool {
    let ahead = version.wrapping_sub(than);
    ahead != 0 && ahead < 128
}

/// The blocks that may hold a table, from the end.
fn table_blocks(port: &Port) -> impl Iterator<Item = u32> + use<> {
    let blocks = port.part().geometry.blocks;
    (blocks.saturating_sub(BLOCKS)..blocks).rev()
}

fn encode(bad: &BadBlocks) -> Vec<u8> {
    let mut table = vec![0xFF; bad.marks().len().div_ceil(4)];
    for (block, mark) in bad.marks().iter().enumerate() {
        let cleared = match mark {
            Mark::Good | Mark::Reserved => 0,
            Mark::Worn => 1,
            Mark::Factory => 3,
        };
        table[block / 4] &= !(cleared << (block % 4 * 2));
    }
    table
}
