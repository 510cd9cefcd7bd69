//! Older states of a JFFS2: without the nodes that were written later.
//!
//! Layer: rank 7. Main type: [`Older`]; main function: [`mount`]. Inode nodes and directory entries have the time at which
//! they were written. Later ones become padding in memory, and earlier ones that were marked as not needed any more are
//! needed again. A state that is not older than the newest node is the present one, and stays as it is:
//!
//! ```text
//!  flash   /a -> 7, 12:00   inode 7, 12:00 (obsolete)   inode 7, 12:30   /a -> 0, 13:00
//!  12:10   /a -> 7          inode 7                     padding          padding
//! ```
//! On NOR without summaries a removal writes nothing, but marks the entry: such a name is needed again too, and told, for
//! nothing says when it was removed. Left out: extended attributes, whose nodes have no time and which stay the newest, and
//! what garbage collection has moved or erased since. A summary says the same as the nodes, and becomes padding too.

use crate::audit::Audit;
use crate::date::date;
use crate::deleted::Remnants;
use crate::dump::Dump;
use crate::error::Error;
use crate::fs::ImageFileSystem;
use boardlab_codec::ByteOrder;
use boardlab_jffs2::format::{DirentView, Header, InodeView, NodeType, Trailer, each_node};
use boardlab_jffs2::remains::is_right;
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::{BlockIndex, Error as MtdError, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, pass_on};
use std::ops::Range;

/// An older state of a JFFS2.
#[derive(Debug, Clone)]
pub(super) struct Older {
    fs: Jffs2<Dump>,
    wanted: u32,
    newest: u32,
    /// Whether entries count again that were marked as not needed any more.
    unmarked: bool,
}

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl FileSystem for Older {
    pass_on! { inner:
        caching size_max writes_inodes_on_fsync root lookup getattr setattr create link unlink rmdir rename readdir
        readlink read_page next_data write_page begin_write reserve_page page_dirtied release_page write_inode take_dirtied
        getxattr setxattr listxattr fsync sync evict_inode shrink background statfs unmount check_tables
    }
}

impl ImageFileSystem for Older {
    fn dump(&self) -> &Dump {
        self.fs.device()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.fs.device_mut()
    }

    fn audit(&mut self, clock: &mut Clock) -> Result<Audit, Error> {
        let mut audit = super::audit::audit(&mut self.fs, clock)?;
        let told = format!(
            "This is the state at {}, by the times in the nodes; the newest is of {}. What garbage collection has moved \
             since may be missing, and extended attributes are the newest.",
            date(self.wanted.into()),
            date(self.newest.into())
        );
        let told = match self.unmarked {
            true => format!(
                "{told} Names count again that were removed or replaced at a time that the flash may not say."
            ),
            false => told,
        };
        audit.foreign = Some(match audit.foreign.take() {
            Some(before) => format!("{told} {before}"),
            None => told,
        });
        audit.unknown_loss |= self.wanted < self.newest;
        Ok(audit)
    }

    fn deleted(self: Box<Self>, clock: &mut Clock) -> Result<Remnants, Error> {
        super::deleted::remnants(self.fs, clock)
    }

    fn inodes_in(&self, range: Range<Bytes>) -> Vec<u32> {
        Jffs2::inodes_in(&self.fs, range)
    }
}

/// Mounts once more what was mounted, as it was at `wanted`, in seconds since 1970.
///
/// # Errors
/// [`Error::NoTime`], [`Error::Device`], [`Error::Mount`].
pub(super) fn mount(fs: Jffs2<Dump>, options: Options, wanted: u64) -> Result<Older, Error> {
    // Nodes have times until 2106.
    let seconds = u32::try_from(wanted).unwrap_or(u32::MAX);
    let order = fs.order();
    let mut past = Past { order, wanted: seconds, oldest: u32::MAX, newest: 0, unmarked: false };
    let mut device = fs.into_device();
    let mut clock = Clock::new();
    let blocks = (0..device.geometry().block_count()).map(BlockIndex);
    for block in blocks.clone() {
        past.block(&mut clock, &mut device, (block, false))?;
    }
    let found = (past.oldest.min(past.newest), past.newest);
    if seconds < found.0 {
        return Err(Error::NoTime { wanted, found });
    }
    let is_older = seconds < past.newest;
    for block in blocks.filter(|_| is_older) {
        past.block(&mut clock, &mut device, (block, true))?;
    }
    let fs = Jffs2::mount(&mut clock, device, options)
        .map_err(|problem| Error::Mount(problem.into()))?;
    Ok(Older { fs, wanted: seconds, newest: past.newest, unmarked: is_older && past.unmarked })
}

/// The search for later nodes.
struct Past {
    order: ByteOrder,
    wanted: u32,
    /// The earliest time of a node.
    oldest: u32,
    /// The latest one.
    newest: u32,
    /// Whether an entry was marked.
    unmarked: bool,
}

impl Past {
    /// Notes the times in a block, and `changes` it to what it was.
    fn block(
        &mut self,
        clock: &mut Clock,
        device: &mut Dump,
        (block, changes): (BlockIndex, bool),
    ) -> Result<(), Error> {
        if device.is_bad(clock, block)? {
            return Ok(());
        }
        let shape = device.shape();
        let page = if shape.is_nand() { shape.page } else { shape.block };
        let first = shape.block * u64::from(block.0);
        let mut bytes = vec![0; shape.block.to_usize()];
        let mut readable = Vec::new();
        for (number, part) in (0..).zip(bytes.chunks_mut(page.to_usize())) {
            match device.read(clock, first + page * number, part) {
                Ok(_) => readable.push(true),
                Err(MtdError::Uncorrectable { .. }) => readable.push(false),
                Err(error) => return Err(error.into()),
            }
        }
        let before = bytes.clone();
        self.nodes(&mut bytes);
        let pages = bytes.chunks(page.to_usize()).zip(before.chunks(page.to_usize()));
        for (number, ((now, before), readable)) in (0..).zip(pages.zip(readable)) {
            // What cannot be read stays as it is.
            if changes && now != before && readable {
                let index = (first + page * number) / page;
                let index = u32::try_from(index).expect("pages are counted in u32");
                device.put_page(clock, PageIndex(index), now)?;
            }
        }
        Ok(())
    }

    /// Changes the nodes of a block.
    fn nodes(&mut self, bytes: &mut [u8]) {
        let order = self.order;
        each_node(bytes, order, |_, header, node| self.node(header, node));
        // Without its last bytes a summary is not looked for.
        if let Some(start) = bytes.len().checked_sub(8)
            && Trailer::parse(bytes, order).is_some()
        {
            bytes[start..].fill(0xFF);
        }
    }

    /// Changes a node.
    fn node(&mut self, found: Header, node: &mut [u8]) {
        let order = self.order;
        let time = match found.node_type {
            NodeType::Inode => {
                let view = InodeView::new(node, order).ok();
                view.filter(|view| found.accurate || is_right(view)).map(|view| view.parse().ctime)
            }
            NodeType::Dirent => {
                let view = DirentView::new(node, order).and_then(|view| view.parse());
                view.ok().map(|entry| entry.mctime)
            }
            _ => None,
        };
        let is_summary = found.node_type == NodeType::Summary;
        if time.is_some_and(|time| time > self.wanted) || is_summary {
            Header { node_type: NodeType::Padding, accurate: true, ..found }.emit(node, order);
        } else if time.is_some() {
            // It counts again.
            self.unmarked |= found.node_type == NodeType::Dirent && !found.accurate;
        } else {
            found.emit(node, order);
        }
        // The collection writes entries without a time.
        if let Some(time) = time.filter(|time| *time > 0) {
            (self.oldest, self.newest) = (self.oldest.min(time), self.newest.max(time));
        }
    }
}
