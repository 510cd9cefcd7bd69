//! The main area of a new filesystem: nodes one after another, and the properties of their LEBs.
//!
//! Layer: rank 5. Main type: [`MainArea`].

use super::MkfsError;
use crate::format::{ALIGN, u32_of, usize_of};
use crate::io;
use crate::layout::Layout;
use crate::lpt::Props;
use crate::{LebIndex, Volume};
use boardlab_sim::Clock;
use boardlab_ubi::RamLebs;

/// Where a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The LEB.
    pub leb: LebIndex,
    /// The offset there.
    pub offs: u32,
    /// The length of the node.
    pub len: u32,
}

/// The LEBs that are filled at once, so that small nodes take what large ones leave.
const OPEN: usize = 16;
/// Less room than this at the end of a LEB takes no node.
const NODE_MIN: usize = 56;

/// A LEB that is being filled.
#[derive(Debug)]
struct Open {
    leb: LebIndex,
    bytes: Vec<u8>,
}

/// The LEBs of the main area so far.
#[derive(Debug)]
pub(super) struct MainArea {
    first: LebIndex,
    /// The LEBs that fit; of those beyond only the number is kept.
    most: u32,
    leb_size: u32,
    min_io: u32,
    open: Vec<Open>,
    /// Whether nodes are of the index: then one LEB is filled after the other.
    pub(super) index: bool,
    /// The properties of all LEBs.
    pub(super) props: Vec<Props>,
}

impl MainArea {
    /// An empty area that begins at LEB `first`.
    pub(super) const fn new(first: LebIndex, layout: &Layout) -> Self {
        Self {
            first,
            most: layout.max_leb_count.saturating_sub(first.0),
            leb_size: layout.leb_size,
            min_io: layout.min_io,
            open: Vec::new(),
            index: false,
            props: Vec::new(),
        }
    }

    /// Appends a node to the fullest LEB that has room for it.
    pub(super) fn append(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
        node: &[u8],
    ) -> Result<Place, MkfsError> {
        let most = usize_of(self.leb_size) - node.len();
        let fitting = self.open.iter().enumerate().filter(|(_, one)| one.bytes.len() <= most);
        let fullest = fitting.max_by_key(|(_, one)| (one.bytes.len(), std::cmp::Reverse(one.leb)));
        let number = match fullest {
            Some((number, _)) => number,
            None => self.begin(clock, volume)?,
        };
        let open = &mut self.open[number];
        let place =
            Place { leb: open.leb, offs: u32_of(open.bytes.len()), len: u32_of(node.len()) };
        open.bytes.extend(node);
        let aligned = open.bytes.len().next_multiple_of(usize_of(ALIGN));
        open.bytes.resize(aligned, 0);
        if aligned + NODE_MIN > usize_of(self.leb_size) {
            self.close(clock, volume, number)?;
        }
        Ok(place)
    }

    /// Begins a LEB, and closes the fullest one if there are too many.
    fn begin(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
    ) -> Result<usize, MkfsError> {
        if self.open.len() >= if self.index { 1 } else { OPEN } {
            let lengths = self.open.iter().enumerate();
            let fullest = lengths.max_by_key(|(_, one)| one.bytes.len());
            self.close(clock, volume, fullest.map_or(0, |(number, _)| number))?;
        }
        let leb = self.skip();
        self.open.push(Open { leb, bytes: Vec::new() });
        Ok(self.open.len() - 1)
    }

    /// Pads and writes a LEB.
    fn close(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
        number: usize,
    ) -> Result<(), MkfsError> {
        let Open { leb, mut bytes } = self.open.remove(number);
        let used = u32_of(bytes.len());
        let written = used.next_multiple_of(self.min_io);
        bytes.resize(usize_of(written), 0);
        io::pad(&mut bytes[usize_of(used)..]);
        let number = leb.0 - self.first.0;
        if number < self.most {
            volume.leb_change(clock, leb, &bytes)?;
        }
        let (free, dirty) = (self.leb_size - written, written - used);
        self.props[usize_of(number)] = Props { free, dirty, index: self.index };
        Ok(())
    }

    /// Writes all LEBs that are being filled.
    pub(super) fn close_all(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
    ) -> Result<(), MkfsError> {
        while !self.open.is_empty() {
            self.close(clock, volume, 0)?;
        }
        Ok(())
    }

    /// The next LEB, empty.
    pub(super) fn skip(&mut self) -> LebIndex {
        let leb = LebIndex(self.first.0 + u32_of(self.props.len()));
        self.props.push(Props::empty(self.leb_size));
        leb
    }
}
