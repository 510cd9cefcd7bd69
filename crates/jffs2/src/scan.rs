//! The scan of a flash at mount: which nodes are in which block.
//!
//! Layer: rank 5. Main types: [`Scan`], and [`Findings`], the anomalies. The scan reads of every block:
//! whether it is bad and has a cleanmarker in its OOB area (NAND), its last page, and if that ends a
//! summary, the rest of the summary and nothing else ([`summary`]). Without a summary it reads the
//! beginning, and if that is not erased the whole block, node by node ([`nodes`]). It verifies the
//! checksums of headers, inode nodes and names; those of data are verified later, in the background.
//!
//! ```text
//!  bad? -yes-> Bad          summary? -yes-> classify
//!   |no                      |no
//!  cleanmarker in OOB?  ->  beginning 0xFF? -yes-> spare bytes of 4 pages 0xFF? -no-> AllDirty
//!                            |no                     |yes
//!                           nodes -> classify       Cleanmarker or AllFf
//! ```
//! Source: Linux 6.1, `fs/jffs2/scan.c` (`jffs2_scan_eraseblock`), `wbuf.c`
//! (`jffs2_check_nand_cleanmarker`, `jffs2_check_oob_empty`). Deliberate deviation: an inode number
//! that occurs only in a directory entry is never reused. Linux reuses it. When a torn page holds a
//! valid entry but not its inode, the entry then reappears at the next mount and refers to another
//! file.

mod nodes;
mod summary;

use crate::Mistake;
use crate::block::{BlockState, List, RefilePolicy};
use crate::error::Error;
use crate::format::{
    ByteOrder, Header, HeaderError, NodeType, OobCleanmarker, cleanmarker, to_usize,
};
use crate::names::{DirentTable, ScannedDirent};
use crate::summary_builder::SummaryBuilder;
use crate::volume::Volume;
use boardlab_mtd::{BlockIndex, Error as FlashError, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Work;

/// Pages whose OOB area must be empty for a block to count as erased (`NR_OOB_SCAN_PAGES`).
const OOB_PAGES: u32 = 4;
/// Bytes read at once on NOR: a page of the kernel's memory.
const NOR_BUFFER: u32 = 4_096;

/// What a scan found besides valid nodes. None of it makes a mount fail by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    /// Accepted nodes, without cleanmarkers.
    pub nodes: u64,
    /// Blocks that were not erased.
    pub blocks_in_use: u32,
    /// Nodes with a valid header but invalid fields or name.
    pub damaged_nodes: u64,
    /// Words of four bytes that begin no node, and are neither erased nor zero.
    pub strange_words: u64,
    /// The offset of the first of them.
    pub first_strange: Option<Bytes>,
    /// Valid headers in the other byte order.
    pub other_order: u64,
    /// The offset of the first of them.
    pub first_other_order: Option<Bytes>,
    /// Valid headers of nodes that would cross the end of their block.
    pub crossing: u64,
    /// The offset of the first of them.
    pub first_crossing: Option<Bytes>,
    /// Cleanmarker nodes that are not at the beginning of a block.
    pub inner_cleanmarkers: u64,
    /// The bitwise OR of the offsets of inner cleanmarkers within their blocks: its lowest set bit
    /// is a block size that would fit.
    pub inner_offsets: u32,
    /// Blocks with a summary.
    pub summaries: u32,
    /// Blocks that end with a summary marker but have no valid summary.
    pub wrong_summaries: u32,
    /// A node type that demands a read-only mount, and its offset.
    pub read_only_feature: Option<(NodeType, Bytes)>,
}

/// Why a scan ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// The flash returned an error.
    Flash(Error),
    /// A node of an unknown type whose number forbids a mount.
    Incompatible(NodeType, Bytes),
}

impl From<Error> for ScanError {
    fn from(error: Error) -> Self {
        Self::Flash(error)
    }
}

impl From<FlashError> for ScanError {
    fn from(error: FlashError) -> Self {
        Self::Flash(error.into())
    }
}

/// A scan in progress.
pub(crate) struct Scan<'v, M> {
    volume: &'v mut Volume<M>,
    clock: &'v mut Clock,
    /// The byte order, once known.
    order: Option<ByteOrder>,
    buffer: Vec<u8>,
    /// The range of the flash that is in the buffer: offset and length.
    window: (Bytes, usize),
    /// Summary nodes; not in the buffer, which may be smaller.
    tail: Vec<u8>,
    /// All directory entries.
    pub(crate) names: DirentTable,
    /// The summary of the block that is being scanned.
    summary_builder: SummaryBuilder,
    pub(crate) findings: Findings,
    /// The sum of all versions, which rotates the lists (`pseudo_random`).
    pub(crate) mixed: u32,
    /// Erased blocks without cleanmarker.
    empty: u32,
    bad: u32,
}

/// The outcome of scanning a block node by node.
enum NodeScan {
    /// The block was scanned to its end.
    Complete,
    /// A cleanmarker and erased flash; the rest of the block is assumed to be erased.
    Clean,
}

impl<'v, M: Mtd> Scan<'v, M> {
    pub(crate) fn new(
        volume: &'v mut Volume<M>,
        clock: &'v mut Clock,
        order: Option<ByteOrder>,
    ) -> Self {
        let layout = volume.layout;
        let size = if layout.page_size.is_some() { u32::MAX } else { NOR_BUFFER };
        let buffer = vec![0; to_usize(layout.block_size.min(size))];
        Self {
            volume,
            clock,
            order,
            buffer,
            window: (Bytes::ZERO, 0),
            tail: Vec::new(),
            names: DirentTable::default(),
            summary_builder: SummaryBuilder::default(),
            findings: Findings::default(),
            mixed: 0,
            empty: 0,
            bad: 0,
        }
    }

    /// The byte order of the image, if known.
    pub(crate) const fn order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// Scans all blocks and moves them to their lists.
    pub(crate) fn run(&mut self) -> Result<(), ScanError> {
        for block in (0..self.volume.layout.block_count).map(BlockIndex) {
            self.summary_builder.reset();
            let verdict = self.scan_block(block)?;
            self.volume.blocks.shrink(block);
            self.file(block, verdict);
        }
        self.settle_write_block();
        Ok(())
    }

    /// Whether a mount would erase everything: no live node, and blocks that are neither erased nor
    /// bad. Linux refuses to mount then.
    pub(crate) fn would_erase_everything(&self) -> bool {
        let blocks = &self.volume.blocks;
        let totals = blocks.totals();
        let empty = blocks.on_list(List::Free) + self.empty + self.bad;
        blocks.on_list(List::ErasePending) > 0
            && totals.used == 0
            && totals.unchecked == 0
            && (empty != blocks.count() || self.bad == blocks.count())
    }

    fn scan_block(&mut self, block: BlockIndex) -> Result<BlockState, ScanError> {
        let mut marked = false;
        if self.volume.layout.page_size.is_some() {
            if self.is_bad(block)? {
                return Ok(BlockState::Bad);
            }
            marked = self.has_cleanmarker(block)?;
        }
        if self.volume.summary
            && let Some(verdict) = self.scan_summary(block)?
        {
            self.findings.blocks_in_use += 1;
            return Ok(verdict);
        }
        let start = self.volume.blocks.block_offset(block);
        let length = self.volume.layout.block_size.min(self.volume.profile.empty_scan);
        self.fill(start, length)?;
        let erased = erased_words(&self.buffer[..self.window.1]);
        if erased == length {
            return self.classify_erased(block, marked);
        }
        self.findings.blocks_in_use += 1;
        self.volume.blocks.link_dirty(block, erased);
        if let NodeScan::Clean = self.scan_nodes(block)? {
            return Ok(BlockState::Cleanmarker);
        }
        self.finish_collected(block);
        let cleanmarker = self.volume.layout.cleanmarker();
        self.volume.blocks.adjust_space(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        Ok(self.volume.blocks.classify(block, cleanmarker))
    }

    /// A block without space for a summary gets none.
    fn finish_collected(&mut self, block: BlockIndex) {
        let free = self.volume.blocks.block(block).space().free;
        if self.volume.summary && u64::from(self.summary_builder.length_with(0)) > free {
            self.summary_builder.disable();
        }
    }

    /// Classifies a block whose beginning is erased: so is the rest, if the OOB area agrees.
    fn classify_erased(
        &mut self,
        block: BlockIndex,
        marked: bool,
    ) -> Result<BlockState, ScanError> {
        if self.volume.layout.page_size.is_none() {
            return Ok(BlockState::AllFf);
        }
        if !self.spare_bytes_are_empty(block, marked)? {
            return Ok(BlockState::AllDirty);
        }
        let believed = self.volume.mistake == Some(Mistake::TrustsUnmarkedBlocks);
        Ok(if marked || believed { BlockState::Cleanmarker } else { BlockState::AllFf })
    }

    fn is_bad(&mut self, block: BlockIndex) -> Result<bool, ScanError> {
        Ok(self.volume.device.is_bad(self.clock, block)?)
    }

    fn first_page(&self, block: BlockIndex) -> u64 {
        let page = self.volume.layout.page_size.map_or(1, u64::from);
        self.volume.blocks.block_offset(block) / Bytes::new(page)
    }

    fn read_oob(&mut self, page: u64, oob: &mut [u8]) -> Result<(), ScanError> {
        let page = PageIndex(u32::try_from(page).expect("pages are counted in u32"));
        match self.volume.device.read_oob(self.clock, page, oob) {
            Ok(_) | Err(FlashError::Uncorrectable { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn has_cleanmarker(&mut self, block: BlockIndex) -> Result<bool, ScanError> {
        let mut oob = [0; cleanmarker::OOB_SIZE];
        let length = to_usize(self.volume.layout.oob_free).min(oob.len());
        self.read_oob(self.first_page(block), &mut oob[..length])?;
        let oob = &oob[..length];
        let found = match self.order {
            Some(order) => OobCleanmarker.is_in(oob, order),
            None => {
                let orders = [ByteOrder::Little, ByteOrder::Big];
                self.order = orders.into_iter().find(|&order| OobCleanmarker.is_in(oob, order));
                self.order.is_some()
            }
        };
        Ok(found)
    }

    fn spare_bytes_are_empty(
        &mut self,
        block: BlockIndex,
        marked: bool,
    ) -> Result<bool, ScanError> {
        let layout = self.volume.layout;
        let pages = layout.page_size.map_or(0, |page| layout.block_size / page).min(OOB_PAGES);
        let free = to_usize(layout.oob_free);
        let mut oob = vec![0xFF; free * to_usize(pages)];
        for (page, oob) in (self.first_page(block)..).zip(oob.chunks_mut(free.max(1))) {
            self.read_oob(page, oob)?;
        }
        let marker = if marked { cleanmarker::OOB_SIZE.min(free) } else { 0 };
        Ok(boardlab_mtd::is_erased(&oob[marker..]))
    }

    /// Fills the buffer with `length` bytes from `from` on.
    fn fill(&mut self, from: Bytes, length: u32) -> Result<(), ScanError> {
        let length = to_usize(length).min(self.buffer.len());
        self.window = (from, 0);
        self.volume.read_flash(self.clock, from, &mut self.buffer[..length])?;
        self.window = (from, length);
        Ok(())
    }

    /// Ensures that `length` bytes of `block` from `offset` on are in the buffer, as far as block
    /// and buffer extend.
    fn need(&mut self, block: BlockIndex, offset: u32, length: u32) -> Result<(), ScanError> {
        let from = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(offset));
        let (start, filled) = self.window;
        let end = start.get() + u64_of(filled);
        if from.get() + u64::from(length) <= end && from >= start {
            return Ok(());
        }
        self.fill(from, self.volume.layout.block_size - offset)
    }

    /// The buffered bytes of `block` from `offset` on.
    fn bytes(&self, block: BlockIndex, offset: u32) -> &[u8] {
        let from = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(offset));
        let (start, filled) = self.window;
        &self.buffer[(from - start).to_usize()..filled]
    }

    /// Parses the header at the beginning of `bytes` in the byte order of the image, which the
    /// first header determines.
    fn header(&mut self, at: Bytes, first: [u8; 12]) -> Result<Header, HeaderError> {
        let Some(order) = self.order else {
            let orders = [ByteOrder::Little, ByteOrder::Big];
            let found = orders.map(|order| (order, Header::parse(&first, order)));
            let right = found.into_iter().find(|(_, header)| header.is_ok());
            self.order = right.map(|(order, _)| order);
            return right.unwrap_or(found[0]).1;
        };
        let header = Header::parse(&first, order);
        if header == Err(HeaderError::OtherOrder) && Header::parse(&first, order.other()).is_ok() {
            self.findings.other_order += 1;
            self.findings.first_other_order.get_or_insert(at);
        }
        header
    }

    fn work(&mut self, work: Work, bytes: u32) {
        self.volume.host.spend(self.clock, work, to_usize(bytes));
    }

    /// The byte order; little-endian while unknown.
    fn bytes_order(&self) -> ByteOrder {
        self.order.unwrap_or_default()
    }

    /// Adds a directory entry. Of two entries of one name the older becomes obsolete.
    fn add_scanned_dirent(&mut self, name: &[u8], entry: ScannedDirent) {
        self.volume.inodes.reserve_number(entry.ino);
        if let Some(obsolete) = self.names.add(name, entry) {
            self.volume.blocks.mark_obsolete(obsolete, RefilePolicy::Scanning);
        }
    }

    /// Moves a scanned block to its list.
    fn file(&mut self, block: BlockIndex, verdict: BlockState) {
        let blocks = &mut self.volume.blocks;
        match verdict {
            BlockState::AllFf => {
                self.empty += 1;
                blocks.move_to(block, List::ErasePending);
            }
            BlockState::Cleanmarker if blocks.block(block).space().dirty == 0 => {
                blocks.move_to(block, List::Free);
            }
            BlockState::Cleanmarker | BlockState::AllDirty => {
                blocks.move_to(block, List::ErasePending);
            }
            BlockState::Clean => blocks.move_to(block, List::Clean),
            BlockState::PartDirty => self.file_part_dirty(block),
            BlockState::Bad => {
                self.bad += 1;
                blocks.retire_bad(block);
            }
        }
    }

    /// Chooses the block with the most free space to be written next.
    fn file_part_dirty(&mut self, block: BlockIndex) {
        let layout = self.volume.layout;
        let least = layout.page_size.unwrap_or(0).max(2 * crate::format::inode::SIZE);
        let free_of = |volume: &Volume<M>, block| volume.blocks.block(block).space().free;
        let free = free_of(self.volume, block);
        let writing = self.volume.blocks.writing;
        let better = writing.is_none_or(|writing| free_of(self.volume, writing) < free);
        if free <= u64::from(least) || !better {
            self.volume.blocks.file_as_dirty(block);
            return;
        }
        if let Some(before) = writing {
            self.volume.blocks.file_as_dirty(before);
        }
        std::mem::swap(&mut self.volume.summary_builder, &mut self.summary_builder);
        self.volume.blocks.writing = Some(block);
    }

    /// The block that is being written cannot be collected now: its dirty space is wasted. On NAND
    /// writing continues with a new page.
    fn settle_write_block(&mut self) {
        let Some(block) = self.volume.blocks.writing else { return };
        let blocks = &mut self.volume.blocks;
        blocks.adjust_space(block, |space| {
            space.wasted += space.dirty;
            space.dirty = 0;
        });
        if let Some(page) = self.volume.layout.page_size {
            let free = blocks.size() - blocks.free_offset(block);
            blocks.link_dirty(block, free % page);
        }
    }
}

/// The length of the whole words of 0xFF at the beginning of `bytes`.
fn erased_words(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(4).take_while(|word| **word == [0xFF; 4]).count();
    u32::try_from(words * 4).expect("fewer bytes than a block has")
}

fn u64_of(length: usize) -> u64 {
    u64::try_from(length).expect("u64 holds usize")
}
