//! The simulated NAND flash of the guest: its geometries, and what a power failure leaves of it.
//!
//! Layer: beside all others. Main types: [`Flash`], [`ALL`]. Sources: `drivers/mtd/nand/raw/nandsim.c` and
//! `nand_ids.c` of Linux 6.1.
//!
//! With `cache_file`, nandsim keeps its pages in a file on the host, page by page with the spare bytes.
//! An erase does not change that file: nandsim only forgets that the pages were written. [`Flash::rebuild`]
//! therefore reads from the order of the writes which pages had been erased. The first write to a page
//! after its erase writes the whole page with its spare bytes; JFFS2 begins a block with the clean marker
//! in the spare bytes of the first page, then writes the pages in order. So a block's pages belong to its
//! present life when they were written after that marker.

use crate::guest::Cut;
use std::collections::BTreeMap;

/// A flash that nandsim can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flash {
    /// nandsim's parameter `id_bytes`.
    pub id_bytes: &'static str,
    /// Bytes of a page without spare bytes.
    pub page: usize,
    /// Spare bytes of a page.
    pub oob: usize,
    /// Pages of an erase block.
    pub pages_per_block: usize,
    /// The whole flash in MiB.
    pub mebibytes: usize,
}

/// One flash of each page size, 64 MiB large.
pub const ALL: [Flash; 3] = [
    Flash { id_bytes: "0x20,0x36", page: 512, oob: 16, pages_per_block: 32, mebibytes: 64 },
    Flash {
        id_bytes: "0x20,0xf2,0x10,0x95",
        page: 2048,
        oob: 64,
        pages_per_block: 64,
        mebibytes: 64,
    },
    Flash {
        id_bytes: "0x20,0xf2,0x10,0xa6",
        page: 4096,
        oob: 128,
        pages_per_block: 64,
        mebibytes: 64,
    },
];

/// The NAND of the evaluation, as nandsim has it.
pub const EVALUATION: Flash = Flash {
    id_bytes: "0x20,0xda,0x10,0x95",
    page: 2048,
    oob: 64,
    pages_per_block: 64,
    mebibytes: 256,
};

impl Flash {
    /// Bytes of an erase block without spare bytes.
    #[must_use]
    pub const fn block(&self) -> usize {
        self.page * self.pages_per_block
    }

    /// How many erase blocks make `mebibytes`.
    #[must_use]
    pub const fn blocks_of(&self, mebibytes: usize) -> usize {
        mebibytes * 1024 * 1024 / self.block()
    }

    /// Bytes of a page with its spare bytes.
    #[must_use]
    pub const fn raw_page(&self) -> usize {
        self.page + self.oob
    }

    /// Bytes of a dump with spare bytes of so many MiB.
    #[must_use]
    pub const fn raw_size(&self, mebibytes: usize) -> usize {
        self.blocks_of(mebibytes) * self.pages_per_block * self.raw_page()
    }

    /// The shell command that loads nandsim with partitions of these sizes in MiB; the rest of the flash is
    /// one more.
    #[must_use]
    pub fn load(&self, partitions: &[usize]) -> String {
        let blocks: Vec<_> = partitions.iter().map(|size| self.blocks_of(*size)).collect();
        self.load_blocks(&blocks)
    }

    /// The same, with partitions of so many erase blocks, of which there may be 31.
    #[must_use]
    pub fn load_blocks(&self, partitions: &[usize]) -> String {
        let parts: Vec<_> = partitions.iter().map(ToString::to_string).collect();
        let parts =
            if parts.is_empty() { String::new() } else { format!(" parts={}", parts.join(",")) };
        format!("modprobe nandsim id_bytes={}{parts} >/dev/null", self.id_bytes)
    }

    /// The dump with spare bytes of the first `mebibytes` that was left at a cut.
    #[must_use]
    pub fn rebuild(&self, cut: &Cut, mebibytes: usize) -> Vec<u8> {
        let writes = self.writes(&cut.trace);
        let mut dump = vec![0xFF; self.raw_size(mebibytes)];
        for block in 0..self.blocks_of(mebibytes) {
            let first = block * self.pages_per_block;
            let begun = self.begun(&cut.cache, first, writes.get(&first));
            for page in first..first + self.pages_per_block {
                let Some(last) = writes.get(&page).and_then(|times| times.last()) else { continue };
                if page == first || Some(*last) > begun {
                    let range = page * self.raw_page()..(page + 1) * self.raw_page();
                    if let Some(bytes) = cut.cache.get(range.clone()) {
                        dump[range].copy_from_slice(bytes);
                    }
                }
            }
        }
        dump
    }

    /// When the clean marker of the block that begins with page `first` was written last.
    fn begun(&self, cache: &[u8], first: usize, times: Option<&Vec<usize>>) -> Option<usize> {
        let times = times?;
        let start = first * self.raw_page();
        let data = cache.get(start..start + self.page)?;
        // The page's data, if any, were written once since the marker.
        let marker = if data.iter().all(|byte| *byte == 0xFF) { 1 } else { 2 };
        times.len().checked_sub(marker).map(|index| times[index])
    }

    /// For each page the numbers of the whole writes to it, in order. Writes to other files of the share
    /// have other sizes. Only a write that QEMU says has returned counts.
    fn writes(&self, trace: &str) -> BTreeMap<usize, Vec<usize>> {
        let mut pending = BTreeMap::new();
        let mut writes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, line) in trace.lines().enumerate() {
            let words: Vec<_> = line.split(' ').collect();
            let value = |name: &str| {
                let at = words.iter().position(|word| *word == name)?;
                words.get(at + 1)?.parse::<usize>().ok()
            };
            let Some(tag) = value("tag") else { continue };
            if words[0] == "v9fs_write" {
                pending.insert(tag, (value("off"), value("count")));
            } else if let Some((Some(offset), Some(count))) = pending.remove(&tag)
                && count == self.raw_page()
                && offset % self.raw_page() == 0
            {
                writes.entry(offset / self.raw_page()).or_default().push(number);
            }
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Flash =
        Flash { id_bytes: "0x20,0x36", page: 4, oob: 2, pages_per_block: 3, mebibytes: 64 };

    /// A trace of whole writes to these pages.
    fn trace(pages: &[usize]) -> String {
        let mut text = String::new();
        for page in pages {
            let offset = page * SMALL.raw_page();
            text += &format!("v9fs_write tag 0 id 118 fid 4 off {offset} count 6 cnt 1\n");
            text += "v9fs_write_return tag 0 id 118 total 6 err 11\n";
        }
        text
    }

    #[test]
    fn pages_written_before_the_last_clean_marker_are_erased_ones() {
        // Marker, data, data of page 1 and 2; erased: marker, data, data of page 1.
        let order = trace(&[0, 0, 1, 2, 0, 0, 1]);
        let writes = SMALL.writes(&order);
        assert_eq!(writes[&0], [1, 3, 9, 11]);
        let mut cache = vec![7; 18];
        assert_eq!(SMALL.begun(&cache, 0, writes.get(&0)), Some(9));
        assert!(writes[&1].last() > Some(&9) && writes[&2].last() < Some(&9));
        // Only the marker stands in the first page: the block is empty.
        cache[..4].fill(0xFF);
        assert_eq!(SMALL.begun(&cache, 0, writes.get(&0)), Some(11));
    }

    #[test]
    fn a_write_that_has_not_returned_does_not_count() {
        let open = "v9fs_write tag 0 id 118 fid 4 off 6 count 6 cnt 1\n";
        assert!(SMALL.writes(open).is_empty());
        assert_eq!(SMALL.writes(&(open.to_owned() + &trace(&[2])))[&2], [2]);
    }

    #[test]
    fn the_geometries_are_whole_and_have_three_page_sizes() {
        for flash in ALL {
            assert_eq!(flash.blocks_of(flash.mebibytes) * flash.block(), flash.mebibytes << 20);
        }
        assert!(ALL[0].page < ALL[1].page && ALL[1].page < ALL[2].page);
        assert!(EVALUATION.load(&[16]).ends_with("parts=128 >/dev/null"));
    }
}
