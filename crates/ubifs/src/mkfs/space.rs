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

/// The LEBs of the main area so far.
#[derive(Debug)]
pub(super) struct MainArea {
    first: LebIndex,
    /// The LEBs that fit; of those beyond only the number is kept.
    most: u32,
    leb_size: u32,
    min_io: u32,
    /// The content of the LEB that is being filled.
    bytes: Vec<u8>,
    /// Whether its nodes are of the index.
    pub(super) index: bool,
    /// The properties of all LEBs before it.
    pub(super) props: Vec<Props>,
}

impl MainArea {
    /// An empty area that begins at LEB `first`.
    pub(super) fn new(first: LebIndex, layout: &Layout) -> Self {
        Self {
            first,
            most: layout.max_leb_count.saturating_sub(first.0),
            leb_size: layout.leb_size,
            min_io: layout.min_io,
            bytes: Vec::new(),
            index: false,
            props: Vec::new(),
        }
    }

    /// The LEB that is filled next, or being filled.
    pub(super) fn leb(&self) -> LebIndex {
        LebIndex(self.first.0 + u32_of(self.props.len()))
    }

    /// Appends a node, in the next LEB if it does not fit.
    pub(super) fn append(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
        node: &[u8],
    ) -> Result<Place, MkfsError> {
        if self.bytes.len() + node.len() > usize_of(self.leb_size) {
            self.close(clock, volume)?;
        }
        let place = Place { leb: self.leb(), offs: self.offs(), len: u32_of(node.len()) };
        self.bytes.extend(node);
        let aligned = self.bytes.len().next_multiple_of(usize_of(ALIGN));
        self.bytes.resize(aligned, 0);
        Ok(place)
    }

    /// Bytes of the LEB that is being filled.
    pub(super) fn offs(&self) -> u32 {
        u32_of(self.bytes.len())
    }

    /// Pads and writes the LEB that is being filled, if it has any node.
    pub(super) fn close(
        &mut self,
        clock: &mut Clock,
        volume: &mut Volume<RamLebs>,
    ) -> Result<(), MkfsError> {
        let used = self.offs();
        if used == 0 {
            return Ok(());
        }
        let written = used.next_multiple_of(self.min_io);
        self.bytes.resize(usize_of(written), 0);
        io::pad(&mut self.bytes[usize_of(used)..]);
        if u32_of(self.props.len()) < self.most {
            volume.leb_change(clock, self.leb(), &self.bytes)?;
        }
        let free = self.leb_size - written;
        self.props.push(Props { free, dirty: written - used, index: self.index });
        self.bytes.clear();
        Ok(())
    }

    /// Leaves a LEB empty.
    pub(super) fn skip(&mut self) -> LebIndex {
        assert_eq!(self.offs(), 0, "a LEB is being filled");
        let leb = self.leb();
        self.props.push(Props { free: self.leb_size, dirty: 0, index: false });
        leb
    }
}
