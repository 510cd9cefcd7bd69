//! Derives the flash of a JFFS2 image from the positions of its nodes.
//!
//! Layer: rank 7. Main types: [`Survey`], the analysis of the nodes, and [`Flash`], its conclusion.
//!
//! - Page and OOB size: a node that crosses the end of a page is interrupted by the OOB bytes, so
//!   its checksums are valid only if these are removed correctly. Of the common layouts the one
//!   with the most valid nodes wins.
//! - Erase block: no node crosses its end; a summary node states its offset in the block and
//!   extends to the end; cleanmarkers are at the beginning, in the data or in the OOB area.

use super::nodes::{Node, Nodes};
use crate::contents::Contents;
use crate::shape::{Shape, gcd};
use crate::spare::Spare;
use boardlab_jffs2::format::{ByteOrder, DirentView, InodeView, NodeType, Trailer, crc};
use boardlab_sim::Bytes;

/// The number of nodes whose checksums are computed for each layout.
const SAMPLE: usize = 512;
/// The size limit of examined nodes: more than a page of the largest kernel page and its name.
const NODE_MAX: u32 = 128 * 1_024;

/// Bytes of a cleanmarker in the OOB area.
const MARKER: usize = 8;

/// Where the cleanmarkers of an image are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cleanmarkers {
    /// At the beginning of erase blocks, as on NOR.
    Data,
    /// In the OOB area, as on NAND.
    Oob,
    /// Nowhere: a NAND image without OOB bytes, or one created without cleanmarkers.
    None,
}

/// What a JFFS2 image shows about its flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flash {
    /// The byte order of most nodes.
    pub(super) order: ByteOrder,
    /// The shape.
    pub(super) shape: Shape,
    /// Whether the erase block size is certain, and not only the smallest possible.
    pub(super) block_known: bool,
    /// Where the cleanmarkers are.
    pub(super) cleanmarkers: Cleanmarkers,
    /// The offset of the first cleanmarker in the OOB area of its page.
    pub(super) marker: Option<usize>,
    /// The offset of the first node or cleanmarker in the file.
    pub(super) first: Bytes,
    /// The offset in the file from which erase blocks count: not zero behind a header of a size of its
    /// own.
    pub(super) origin: Bytes,
    /// The number of nodes checked.
    pub(super) checked: usize,
    /// How many of them have a wrong checksum.
    pub(super) damaged: usize,
    /// The minimum length of the file, when it is truncated.
    pub(super) truncated: Option<Bytes>,
}

/// How well the nodes of an image fit a page layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    /// Valid nodes.
    pub(super) right: usize,
    /// Invalid nodes.
    pub(super) wrong: usize,
}

/// The analysis of the nodes of an image.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    contents: &'a Contents,
    nodes: &'a Nodes,
    /// The byte order of most nodes.
    pub(super) order: ByteOrder,
    /// A sample of inodes and directory entries, spread over all found.
    sample: Vec<Node>,
    /// The offset in the file from which erase blocks count.
    origin: Bytes,
}

impl<'a> Survey<'a> {
    /// Analyses the nodes found in `contents`; `None` when there is no JFFS2.
    pub(super) fn of(contents: &'a Contents, nodes: &'a Nodes) -> Option<Self> {
        let orders = nodes.headers.iter().map(|node| node.order);
        let orders = orders.chain(nodes.markers.iter().map(|(_, order)| *order));
        let (mut little, mut big) = (0, 0);
        for order in orders {
            *(if order == ByteOrder::Little { &mut little } else { &mut big }) += 1;
        }
        if little + big == 0 {
            return None;
        }
        let order = if little >= big { ByteOrder::Little } else { ByteOrder::Big };
        Some(Self::with(contents, nodes, order))
    }

    /// As [`Survey::of`], where the byte order of most nodes is known.
    pub(super) fn with(contents: &'a Contents, nodes: &'a Nodes, order: ByteOrder) -> Self {
        let telling = |node: &&Node| {
            let known = matches!(node.kind, NodeType::Inode | NodeType::Dirent);
            known && node.order == order && node.length <= NODE_MAX
        };
        let all: Vec<Node> = nodes.headers.iter().filter(telling).copied().collect();
        let step = all.len().div_ceil(SAMPLE).max(1);
        let sample = all.into_iter().step_by(step).collect();
        Self { contents, nodes, order, sample, origin: Bytes::ZERO }
    }

    /// The same with erase blocks from `origin` on.
    pub(super) fn with_blocks_from(self, origin: Bytes) -> Self {
        Self { origin, ..self }
    }

    /// An offset in the flash, counted from the first erase block.
    fn within_blocks(&self, at: Bytes) -> Bytes {
        Bytes::new(at.get().saturating_sub(self.origin.get()))
    }

    /// How well the nodes fit pages of `page` bytes with `oob` OOB bytes each, after ECC has
    /// corrected bit errors.
    pub(super) fn fit(&self, page: Bytes, oob: Bytes) -> Fit {
        let shape = Shape { page, oob, block: page };
        let fit = self.fit_as_it_is(shape);
        if fit.wrong == 0 || oob.is_zero() { fit } else { self.fit_corrected(shape, fit) }
    }

    fn fit_as_it_is(&self, shape: Shape) -> Fit {
        let right = self.sample.iter().filter(|node| self.is_right(node, shape)).count();
        Fit { right, wrong: self.sample.len() - right }
    }

    /// As `plain`, or better with ECC.
    fn fit_corrected(&self, shape: Shape, plain: Fit) -> Fit {
        let first = self.sample.first().map_or(Bytes::ZERO, |node| node.at);
        let spare = Spare::detect_usual(self.contents, shape, first);
        if !spare.corrects() {
            return plain;
        }
        let holds = |node: &&Node| {
            let bytes = self.corrected_bytes(node, shape, &spare);
            bytes.is_some_and(|bytes| self.checksums_hold(node, &bytes))
        };
        let right = self.sample.iter().filter(holds).count().max(plain.right);
        Fit { right, wrong: self.sample.len() - right }
    }

    /// As [`Survey::node_bytes`], with corrected bit errors.
    fn corrected_bytes(&self, node: &Node, shape: Shape, spare: &Spare) -> Option<Vec<u8>> {
        let start = shape.in_flash(node.at)?;
        let end = start + Bytes::new(node.length.into());
        let (page, raw) = (shape.page, shape.raw_page());
        let mut found = Vec::new();
        for number in start / page..end.div_ceil(page) {
            let mut bytes = self.contents.window(raw * number, raw.to_usize());
            if bytes.len() < raw.to_usize() {
                break;
            }
            let (data, oob) = bytes.split_at_mut(page.to_usize());
            // Uncorrectable data have wrong checksums.
            let _ = spare.correct(data, oob);
            let (from, to) = (start.max(page * number), end.min(page * (number + 1)));
            let within = (from - page * number).to_usize()..(to - page * number).to_usize();
            found.extend_from_slice(&data[within]);
        }
        Some(found)
    }

    /// The bytes of a node in a flash of this shape; `None` when its header is not in the data.
    fn node_bytes(&self, node: &Node, shape: Shape) -> Option<Vec<u8>> {
        let start = shape.in_flash(node.at)?;
        let end = start + Bytes::new(node.length.into());
        let length = (shape.in_file(end) - node.at).to_usize();
        let raw = self.contents.window(node.at, length);
        if shape.oob.is_zero() {
            return Some(raw);
        }
        let (page, raw_page) = (shape.page.to_usize(), shape.raw_page().to_usize());
        let within = Bytes::new(node.at.get() % shape.raw_page().get()).to_usize();
        let is_data = |place: usize| (within + place) % raw_page < page;
        Some(
            raw.into_iter()
                .enumerate()
                .filter(|(place, _)| is_data(*place))
                .map(|(_, b)| b)
                .collect(),
        )
    }

    fn is_right(&self, node: &Node, shape: Shape) -> bool {
        let bytes = self.node_bytes(node, shape);
        bytes.is_some_and(|bytes| self.checksums_hold(node, &bytes))
    }

    /// Whether the checksums of a node are valid, including those of its name or data.
    fn checksums_hold(&self, node: &Node, bytes: &[u8]) -> bool {
        if node.kind == NodeType::Dirent {
            return DirentView::new(bytes, self.order).is_ok_and(|view| view.parse().is_ok());
        }
        let holds = |view: InodeView<'_>| {
            let (inode, data) = (view.parse(), view.data());
            view.check_lengths().is_ok() && crc(0, data) == inode.data_crc
        };
        InodeView::new(bytes, self.order).is_ok_and(holds)
    }

    /// The page and OOB size that fit best, and how well. The page is one byte when there are no
    /// OOB bytes in the file.
    pub(super) fn layout(&self) -> ((Bytes, Bytes), Fit) {
        let plain = (Bytes::new(1), Bytes::ZERO);
        let fit = self.fit(plain.0, plain.1);
        let mut best = (plain, fit, (fit.right, 0));
        if self.nodes.markers.is_empty() && fit.wrong * 50 <= fit.right {
            return (plain, fit);
        }
        let mut try_all = |fit_of: &dyn Fn(Bytes, Bytes) -> Fit| {
            for (page, oob) in self.contents.layouts() {
                let layout = (Bytes::new(page), Bytes::new(oob));
                let fit = fit_of(layout.0, layout.1);
                let rank = (fit.right, self.marked(layout.0, layout.1));
                if rank > best.2 {
                    best = (layout, fit, rank);
                }
            }
            (best.0, best.1)
        };
        let as_it_is = |page, oob| self.fit_as_it_is(Shape { page, oob, block: page });
        let (layout, fit) = try_all(&as_it_is);
        // Correction is slow. When most nodes are valid without it, the layout is known.
        if fit.right > fit.wrong {
            return (layout, self.fit(layout.0, layout.1));
        }
        try_all(&|page, oob| self.fit(page, oob))
    }

    /// The number of cleanmarkers in the OOB area with this layout, next to the bad-block mark.
    fn marked(&self, page: Bytes, oob: Bytes) -> usize {
        let shape = Shape { page, oob, block: page };
        let mark = Spare::mark_of(page);
        let beside = |at: &Bytes| {
            let place = place_in_spare(shape, *at);
            place.is_some_and(|place| place >= mark.end || place + MARKER <= mark.start)
        };
        self.oob_markers().filter(beside).count()
    }

    fn oob_markers(&self) -> impl Iterator<Item = Bytes> {
        let ours = self.nodes.markers.iter().filter(|(_, order)| *order == self.order);
        ours.map(|(at, _)| *at)
    }

    /// Offsets at which erase blocks begin, as cleanmarkers show, and where the cleanmarkers are.
    fn marks(&self, shape: Shape) -> (Vec<Bytes>, Cleanmarkers) {
        let in_data = self.nodes.headers.iter().filter(|node| node.kind == NodeType::Cleanmarker);
        let in_data: Vec<_> = in_data.filter_map(|node| shape.in_flash(node.at)).collect();
        if !in_data.is_empty() {
            return (in_data, Cleanmarkers::Data);
        }
        let page_of = |at: Bytes| shape.page * (at / shape.raw_page());
        let in_oob: Vec<_> = if shape.oob.is_zero() {
            Vec::new()
        } else {
            let spare = self.oob_markers().filter(|at| shape.in_flash(*at).is_none());
            spare.map(page_of).collect()
        };
        let place = if in_oob.is_empty() { Cleanmarkers::None } else { Cleanmarkers::Oob };
        (in_oob, place)
    }

    /// The offset of the first cleanmarker in the OOB area of its page.
    pub(super) fn marker(&self, shape: Shape) -> Option<usize> {
        self.oob_markers().find_map(|at| place_in_spare(shape, at))
    }

    /// The erase block size that the summaries state, if most of them agree.
    fn block_of_summaries(&self, shape: Shape) -> Option<Bytes> {
        let summaries = self.nodes.headers.iter().filter(|node| node.kind == NodeType::Summary);
        let blocks: Vec<_> =
            summaries.filter_map(|node| self.block_of_summary(node, shape)).collect();
        let first = *blocks.first()?;
        let agree = blocks.iter().filter(|block| **block == first).count();
        (agree * 2 > blocks.len()).then_some(first)
    }

    /// The last eight bytes of an erase block: where the summary is in it, and a magic number.
    fn block_of_summary(&self, node: &Node, shape: Shape) -> Option<Bytes> {
        let start = shape.in_flash(node.at)?;
        let length = Bytes::new(node.length.into());
        let end = start + length;
        let marker =
            Node { at: shape.in_file(Bytes::new(end.get().checked_sub(8)?)), length: 8, ..*node };
        let marker = self.node_bytes(&marker, shape)?;
        let trailer = Trailer::parse(&marker, self.order)?;
        let block = Bytes::new(trailer.offset.into()) + length;
        self.within_blocks(end).is_multiple_of(block).then_some(block)
    }

    /// The first sampled node that is valid in one shape and not in the other.
    pub(super) fn first_difference(&self, right: Shape, wrong: Shape) -> Option<Bytes> {
        let differs = |node: &&Node| self.is_right(node, right) && !self.is_right(node, wrong);
        self.sample.iter().find(differs).map(|node| node.at)
    }

    /// The first valid sampled node that crosses the end of a block of this size.
    pub(super) fn crossing(&self, shape: Shape) -> Option<Bytes> {
        let crosses = |node: &&Node| {
            let Some(start) = shape.in_flash(node.at) else { return false };
            let last = start + Bytes::new(u64::from(node.length.max(1)) - 1);
            let [first, last] = [start, last].map(|at| self.within_blocks(at) / shape.block);
            first != last && self.is_right(node, shape)
        };
        self.sample.iter().find(crosses).map(|node| node.at)
    }

    /// The erase block size, and whether it is certain.
    fn block(&self, layout: (Bytes, Bytes), marks: &[Bytes]) -> (Bytes, bool) {
        let shape = |block| Shape { page: layout.0, oob: layout.1, block };
        if let Some(block) = self.block_of_summaries(shape(layout.0)) {
            return (block, true);
        }
        let marks = marks.iter().map(|mark| self.within_blocks(*mark).get());
        let count = marks.len();
        let divisor = marks.fold(0, gcd);
        let divisor = Bytes::new(divisor);
        if divisor >= Bytes::kib(4) && self.crossing(shape(divisor)).is_none() {
            // With only two markers the block might be half as long, unless a node contradicts.
            let half = shape(Bytes::new(divisor.get() / 2));
            return (divisor, count > 2 || self.crossing(half).is_some());
        }
        let sizes = (12..=26).map(|bits| Bytes::new(1 << bits)).filter(|size| *size > layout.0);
        let mut sizes = sizes.filter(|size| self.crossing(shape(*size)).is_none());
        (sizes.next().unwrap_or(Bytes::mib(64)), false)
    }

    /// The conclusion.
    pub(super) fn conclude(self) -> Flash {
        let (layout, fit) = self.layout();
        let (marks, cleanmarkers) =
            self.marks(Shape { page: layout.0, oob: layout.1, block: layout.0 });
        let nodes = self.nodes.headers.first().map(|node| node.at);
        let first = nodes.into_iter().chain(self.oob_markers().next()).min();
        let first = first.unwrap_or(Bytes::ZERO);
        let (survey, (block, block_known)) = self.placed(layout, &marks, first);
        let shape = Shape { page: layout.0, oob: layout.1, block };
        Flash {
            order: survey.order,
            shape,
            block_known,
            cleanmarkers,
            marker: survey.marker(shape),
            first,
            origin: survey.origin,
            checked: fit.right + fit.wrong,
            damaged: fit.wrong,
            truncated: survey.truncated(shape),
        }
    }

    /// The erase blocks from the beginning of the file. Or those from the first node on, if they are
    /// certain or smaller: then something else is in front of it, whose size is no multiple of a block.
    fn placed(
        self,
        layout: (Bytes, Bytes),
        marks: &[Bytes],
        first: Bytes,
    ) -> (Self, (Bytes, bool)) {
        let block = self.block(layout, marks);
        if block.1 || !layout.1.is_zero() || first.is_multiple_of(block.0) {
            return (self, block);
        }
        let other = Self { sample: self.sample.clone(), origin: first, ..self };
        let from_first = other.block(layout, marks);
        if from_first.1 || from_first.0 < block.0 { (other, from_first) } else { (self, block) }
    }

    /// The minimum length of a truncated file, which ends within a node, or, with OOB bytes in it,
    /// within an erase block.
    pub(super) fn truncated(&self, shape: Shape) -> Option<Bytes> {
        let length = self.contents.length();
        let needed = self.nodes.last.filter(|node| node.order == self.order).and_then(|node| {
            let start = shape.in_flash(node.at)?;
            let end = start + Bytes::new(node.length.into());
            // A node that claims more than a block is damaged, and says nothing about the file.
            let last = Bytes::new(end.get().saturating_sub(1));
            let [first, last] = [start, last].map(|at| self.within_blocks(at) / shape.block);
            (first == last).then(|| shape.in_file(end))
        });
        let whole = shape.raw_block() * length.div_ceil(shape.raw_block());
        let needed = if shape.oob.is_zero() { needed } else { Some(whole) };
        needed.filter(|&needed| needed > length)
    }
}

/// The index of the OOB byte at `at` of the file; `None` for a data byte.
fn place_in_spare(shape: Shape, at: Bytes) -> Option<usize> {
    if shape.in_flash(at).is_some() {
        return None;
    }
    let within = Bytes::new(at.get() % shape.raw_page().get());
    Some((within - shape.page).to_usize())
}
