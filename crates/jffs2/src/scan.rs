//! The first reading of a flash at mount: which nodes are in which block.
//!
//! Layer: rank 5. Main types: [`Scan`], and [`Findings`], what was odd. Of every block is read: whether
//! it is bad and has a cleanmarker in its spare bytes (NAND), its last page, and with a summary there
//! the rest of that and nothing else ([`summary`]). Without one, its beginning, and if that is not
//! erased the whole block, node by node ([`nodes`]). The checksums of headers, inode nodes and names are
//! verified; those of data only later, in the background.
//!
//! ```text
//!  bad? -yes-> Bad          summary? -yes-> classify
//!   |no                      |no
//!  cleanmarker in OOB?  ->  beginning 0xFF? -yes-> spare bytes of 4 pages 0xFF? -no-> AllDirty
//!                            |no                     |yes
//!                           nodes -> classify       Cleanmarker or AllFf
//! ```
//! Source: Linux 6.1, `fs/jffs2/scan.c` (`jffs2_scan_eraseblock`), `wbuf.c`
//! (`jffs2_check_nand_cleanmarker`, `jffs2_check_oob_empty`). Different on purpose: the number of an inode
//! that only a name leads to is never given again. Linux gives it, and when a page was torn so that the
//! name survived and the inode did not, the name comes back at the next mount and leads to another file.

mod nodes;
mod summary;

use crate::Mistake;
use crate::block::{List, Refile, Verdict};
use crate::collected::Collected;
use crate::error::Error;
use crate::format::{
    ByteOrder, Header, HeaderError, NodeType, OobCleanmarker, cleanmarker, to_usize,
};
use crate::names::{Name, Names};
use crate::volume::Volume;
use boardlab_mtd::{BlockIndex, Error as FlashError, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Work;

/// Pages whose spare bytes must be empty for a block to be taken for erased (`NR_OOB_SCAN_PAGES`).
const OOB_PAGES: u32 = 4;
/// Bytes read at once on NOR: a page of the kernel's memory.
const NOR_BUFFER: u32 = 4_096;

/// What a scan found besides nodes. None of it makes a mount fail by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    /// Nodes that were accepted, cleanmarkers left out.
    pub nodes: u64,
    /// Blocks that were not erased.
    pub blocks_in_use: u32,
    /// Nodes whose header is right and whose fields or name are not.
    pub damaged_nodes: u64,
    /// Words of four bytes that begin no node and are neither erased nor zero.
    pub strange_words: u64,
    /// Where the first of them lies.
    pub first_strange: Option<Bytes>,
    /// Right headers in the other byte order.
    pub other_order: u64,
    /// Where the first of them lies.
    pub first_other_order: Option<Bytes>,
    /// Right headers of nodes that would reach over the end of their block.
    pub crossing: u64,
    /// Where the first of them lies.
    pub first_crossing: Option<Bytes>,
    /// Cleanmarker nodes that do not lie at the beginning of a block.
    pub inner_cleanmarkers: u64,
    /// Offsets of inner cleanmarkers within their block, or'ed: its lowest bit is the size of a block
    /// that would fit.
    pub inner_offsets: u32,
    /// Blocks with a summary.
    pub summaries: u32,
    /// Blocks that end with the mark of a summary which is not right.
    pub wrong_summaries: u32,
    /// A node type that demands a read-only mount, and where it lies.
    pub read_only_feature: Option<(NodeType, Bytes)>,
}

/// Why a scan ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// The flash answered with an error.
    Flash(Error),
    /// A node type whose number says that one who does not know it must not mount.
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
    /// The order of bytes, once something told it.
    order: Option<ByteOrder>,
    buffer: Vec<u8>,
    /// What of the flash is in the buffer: from where, and how many bytes.
    window: (Bytes, usize),
    /// Summary nodes; not in the buffer, which may be smaller.
    tail: Vec<u8>,
    /// All directory entries.
    pub(crate) names: Names,
    /// The summary of the block that is being scanned.
    collected: Collected,
    pub(crate) findings: Findings,
    /// The sum of all versions, which rotates the lists (`pseudo_random`).
    pub(crate) mixed: u32,
    /// Erased blocks without cleanmarker.
    empty: u32,
    bad: u32,
}

/// What reading the nodes of a block came to.
enum Walk {
    /// To the end.
    Done,
    /// There is a cleanmarker and erased flash; the rest was taken for erased.
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
            names: Names::default(),
            collected: Collected::default(),
            findings: Findings::default(),
            mixed: 0,
            empty: 0,
            bad: 0,
        }
    }

    /// The order of bytes that was found, if anything told it.
    pub(crate) const fn order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// Scans all blocks and puts them on their lists.
    pub(crate) fn run(&mut self) -> Result<(), ScanError> {
        for block in (0..self.volume.layout.block_count).map(BlockIndex) {
            self.collected.reset();
            let verdict = self.scan_block(block)?;
            self.volume.blocks.shrink(block);
            self.file(block, verdict);
        }
        self.settle_writing();
        Ok(())
    }

    /// Whether nothing was found but what a mount would erase: no node that counts, and blocks that are
    /// neither erased nor bad. Linux refuses to mount then.
    pub(crate) fn would_erase_everything(&self) -> bool {
        let blocks = &self.volume.blocks;
        let totals = blocks.totals();
        let empty = blocks.on_list(List::Free) + self.empty + self.bad;
        blocks.on_list(List::ErasePending) > 0
            && totals.used == 0
            && totals.unchecked == 0
            && (empty != blocks.count() || self.bad == blocks.count())
    }

    fn scan_block(&mut self, block: BlockIndex) -> Result<Verdict, ScanError> {
        let mut marked = false;
        if self.volume.layout.page_size.is_some() {
            if self.is_bad(block)? {
                return Ok(Verdict::Bad);
            }
            marked = self.has_cleanmarker(block)?;
        }
        if self.volume.summary
            && let Some(verdict) = self.scan_summary(block)?
        {
            self.findings.blocks_in_use += 1;
            return Ok(verdict);
        }
        let start = self.volume.blocks.start(block);
        let length = self.volume.layout.block_size.min(self.volume.profile.empty_scan);
        self.fill(start, length)?;
        let erased = erased_words(&self.buffer[..self.window.1]);
        if erased == length {
            return self.empty_block(block, marked);
        }
        self.findings.blocks_in_use += 1;
        self.volume.blocks.link_dirty(block, erased);
        if let Walk::Clean = self.scan_nodes(block)? {
            return Ok(Verdict::Cleanmarker);
        }
        self.finish_collected(block);
        let cleanmarker = self.volume.layout.cleanmarker();
        self.volume.blocks.shift(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        Ok(self.volume.blocks.classify(block, cleanmarker))
    }

    /// A block in which no summary would fit gets none.
    fn finish_collected(&mut self, block: BlockIndex) {
        let free = self.volume.blocks.block(block).space().free;
        if self.volume.summary && u64::from(self.collected.length_with(0)) > free {
            self.collected.disable();
        }
    }

    /// The beginning of a block is erased; so is the rest, if the spare bytes agree.
    fn empty_block(&mut self, block: BlockIndex, marked: bool) -> Result<Verdict, ScanError> {
        if self.volume.layout.page_size.is_none() {
            return Ok(Verdict::AllFf);
        }
        if !self.spare_bytes_are_empty(block, marked)? {
            return Ok(Verdict::AllDirty);
        }
        let believed = self.volume.mistake == Some(Mistake::TrustsUnmarkedBlocks);
        Ok(if marked || believed { Verdict::Cleanmarker } else { Verdict::AllFf })
    }

    fn is_bad(&mut self, block: BlockIndex) -> Result<bool, ScanError> {
        Ok(self.volume.device.is_bad(self.clock, block)?)
    }

    fn first_page(&self, block: BlockIndex) -> u64 {
        let page = self.volume.layout.page_size.map_or(1, u64::from);
        self.volume.blocks.start(block) / Bytes::new(page)
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
        Ok(oob[marker..].iter().all(|&byte| byte == 0xFF))
    }

    /// Reads `length` bytes from `from` on to the beginning of the buffer.
    fn fill(&mut self, from: Bytes, length: u32) -> Result<(), ScanError> {
        let length = to_usize(length).min(self.buffer.len());
        self.window = (from, 0);
        self.volume.read_flash(self.clock, from, &mut self.buffer[..length])?;
        self.window = (from, length);
        Ok(())
    }

    /// Makes sure that `length` bytes of `block` from `offset` on are in the buffer, as far as block and
    /// buffer reach.
    fn need(&mut self, block: BlockIndex, offset: u32, length: u32) -> Result<(), ScanError> {
        let from = self.volume.blocks.start(block) + Bytes::new(u64::from(offset));
        let (start, filled) = self.window;
        let end = start.get() + u64_of(filled);
        if from.get() + u64::from(length) <= end && from >= start {
            return Ok(());
        }
        self.fill(from, self.volume.layout.block_size - offset)
    }

    /// What is in the buffer of `block` from `offset` on.
    fn bytes(&self, block: BlockIndex, offset: u32) -> &[u8] {
        let from = self.volume.blocks.start(block) + Bytes::new(u64::from(offset));
        let (start, filled) = self.window;
        &self.buffer[(from - start).to_usize()..filled]
    }

    /// The header that `bytes` begin with, in the order of the image, which the first one tells.
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

    /// The order of bytes; little-endian as long as nothing told it.
    fn bytes_order(&self) -> ByteOrder {
        self.order.unwrap_or_default()
    }

    /// Keeps a directory entry. One of two of a name becomes obsolete, the older one.
    fn keep_name(&mut self, name: &[u8], entry: Name) {
        self.volume.inodes.note_number(entry.ino);
        if let Some(obsolete) = self.names.add(name, entry) {
            self.volume.blocks.obsolete(obsolete, Refile::Scanning);
        }
    }

    /// Puts a scanned block on its list.
    fn file(&mut self, block: BlockIndex, verdict: Verdict) {
        let blocks = &mut self.volume.blocks;
        match verdict {
            Verdict::AllFf => {
                self.empty += 1;
                blocks.move_to(block, List::ErasePending);
            }
            Verdict::Cleanmarker if blocks.block(block).space().dirty == 0 => {
                blocks.move_to(block, List::Free);
            }
            Verdict::Cleanmarker | Verdict::AllDirty => blocks.move_to(block, List::ErasePending),
            Verdict::Clean => blocks.move_to(block, List::Clean),
            Verdict::PartDirty => self.file_part_dirty(block),
            Verdict::Bad => {
                self.bad += 1;
                blocks.retire(block);
            }
        }
    }

    /// Of the blocks with free space the one with the most is written on.
    fn file_part_dirty(&mut self, block: BlockIndex) {
        let layout = self.volume.layout;
        let least = layout.page_size.unwrap_or(0).max(2 * crate::format::inode::SIZE);
        let free_of = |volume: &Volume<M>, block| volume.blocks.block(block).space().free;
        let free = free_of(self.volume, block);
        let writing = self.volume.blocks.writing;
        let better = writing.is_none_or(|writing| free_of(self.volume, writing) < free);
        if free <= u64::from(least) || !better {
            self.volume.blocks.file_dirty(block);
            return;
        }
        if let Some(before) = writing {
            self.volume.blocks.file_dirty(before);
        }
        std::mem::swap(&mut self.volume.collected, &mut self.collected);
        self.volume.blocks.writing = Some(block);
    }

    /// The block that is written on cannot be collected now: what is dirty in it is wasted. On NAND
    /// writing goes on with a new page.
    fn settle_writing(&mut self) {
        let Some(block) = self.volume.blocks.writing else { return };
        let blocks = &mut self.volume.blocks;
        blocks.shift(block, |space| {
            space.wasted += space.dirty;
            space.dirty = 0;
        });
        if let Some(page) = self.volume.layout.page_size {
            let free = blocks.size() - blocks.end_of_nodes(block);
            blocks.link_dirty(block, free % page);
        }
    }
}

/// Bytes of the whole words of 0xFF at the beginning of `bytes`.
fn erased_words(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(4).take_while(|word| **word == [0xFF; 4]).count();
    u32::try_from(words * 4).expect("fewer bytes than a block has")
}

fn u64_of(length: usize) -> u64 {
    u64::try_from(length).expect("u64 holds usize")
}
