//! Mounting: scan, count the names of every inode, remove what has none, set the reserves.
//!
//! Layer: rank 5. [`Jffs2::mount`], and [`MountError`], which says what was found and what would fit.
//!
//! ```text
//!  scan all blocks -> names whose inode is lost lead where they led before (`dangling.rs`)
//!                  -> pass 1: every entry gives its inode a name
//!                  -> pass 2: inodes without names go; the names in removed directories go with them
//!                  -> extended attributes find their inodes -> lists are rotated -> the root is read
//! ```
//! Inodes go in any number of steps but without recursion, so that no chain of directories is too deep.
//!
//! Source: Linux 6.1, `fs/jffs2/build.c` (`jffs2_build_filesystem`), `scan.c` (`jffs2_scan_medium`,
//! `jffs2_rotate_lists`), `super.c`, `fs.c` (`jffs2_do_fill_super`).

use crate::Jffs2;
use crate::block::{Blocks, List};
use crate::collected::Collected;
use crate::compress::Compressors;
use crate::error::Error;
use crate::format::{ByteOrder, NodeType};
use crate::index::{Inodes, ROOT};
use crate::names::{ByDirectory, Name};
use crate::options::Options;
use crate::scan::{Findings, Scan, ScanError};
use crate::ticks::Ticks;
use crate::volume::{CheckProgress, Layout, Reserves, Volume};
use crate::wbuf::WriteBuffer;
use crate::xattr::Xattrs;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use std::collections::BTreeMap;
use std::fmt;

/// The fewest erase blocks that can be written on.
const LEAST_BLOCKS: u32 = 5;
/// The smallest erase block: the largest node of a page and its summary must fit.
const LEAST_BLOCK: u32 = 512;
/// The type byte of a directory (`DT_DIR`).
pub(crate) const DIRECTORY: u8 = 4;

/// Why an image is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// JFFS2 cannot lie on a device of this shape.
    Shape {
        /// Bytes of the device.
        size: Bytes,
        /// Bytes of its largest erase block.
        block_size: Bytes,
    },
    /// There are too few erase blocks to write on; a read-only mount needs none to spare.
    TooSmall {
        /// How many there are.
        blocks: u32,
        /// How many there must be.
        least: u32,
    },
    /// A NAND that leaves no spare bytes for a cleanmarker.
    NoSpareBytes,
    /// There is not one node of JFFS2, and something else.
    NotJffs2 {
        /// What the first odd bytes are.
        found: [u8; 8],
        /// Where they lie.
        at: Bytes,
    },
    /// The nodes are in the other byte order than was said.
    ByteOrder {
        /// What was said.
        given: ByteOrder,
        /// How many nodes are in the other order.
        nodes: u64,
        /// Where the first of them lies.
        at: Bytes,
    },
    /// Nodes reach over the ends of erase blocks, or begin blocks in the middle of one.
    BlockSize {
        /// The size of an erase block that was given.
        given: u32,
        /// One that fits, if the image tells.
        fits: Option<u32>,
        /// How many nodes do not fit.
        nodes: u64,
        /// Where the first of them lies.
        at: Bytes,
    },
    /// A node of a newer JFFS2, which nobody may touch who does not know it.
    Incompatible {
        /// Its type.
        node_type: NodeType,
        /// Where it lies.
        at: Bytes,
    },
    /// The flash answered with an error, or the root directory is damaged.
    Failed(Error),
}

impl From<Error> for MountError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ScanError> for MountError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Flash(error) => Self::Failed(error),
            ScanError::Incompatible(node_type, at) => Self::Incompatible { node_type, at },
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { size, block_size } => write!(
                f,
                "JFFS2 cannot lie on a flash of {} bytes in erase blocks of {}: it needs blocks of one \
                 size from {LEAST_BLOCK} bytes on",
                size.get(),
                block_size.get()
            ),
            Self::TooSmall { blocks, least } => write!(
                f,
                "JFFS2 needs {least} erase blocks to write, the flash has {blocks}: mount it read-only"
            ),
            Self::NoSpareBytes => {
                f.write_str("this NAND has no free spare (OOB) bytes for JFFS2's cleanmarkers")
            }
            Self::NotJffs2 { found, at } => write!(
                f,
                "no node of JFFS2 on the flash; at {:#x} there is \"{}\"",
                at.get(),
                found.escape_ascii()
            ),
            Self::ByteOrder { given, nodes, at } => write!(
                f,
                "{nodes} nodes are {}, the first at {:#x}, and {given} was given: leave the byte order \
                 to be found",
                given.other(),
                at.get()
            ),
            Self::BlockSize { given, fits, nodes, at } => {
                let at = at.get();
                write!(
                    f,
                    "{nodes} nodes do not fit erase blocks of {given} bytes, the first at {at:#x}"
                )?;
                match fits {
                    Some(fits) => write!(f, ": try {fits}"),
                    None => f.write_str(": try a larger size"),
                }
            }
            Self::Incompatible { node_type, at } => write!(
                f,
                "a node of type {node_type} at {:#x} belongs to a newer JFFS2 and forbids to mount",
                at.get()
            ),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl<M: Mtd> Jffs2<M> {
    /// Mounts what is on `device`, which it takes; [`Jffs2::into_device`] gives it back.
    ///
    /// Erased flash is an empty filesystem. Damaged nodes are left out, as Linux does;
    /// [`Jffs2::findings`] counts them.
    ///
    /// # Errors
    /// What [`MountError`] tells.
    pub fn mount(clock: &mut Clock, device: M, options: Options) -> Result<Self, MountError> {
        let layout = check_shape(&device, options.read_only)?;
        let given = options.byte_order;
        let mut volume = unscanned(device, layout, options);
        let mut scan = Scan::new(&mut volume, clock, given);
        scan.run()?;
        let (names, order) = (std::mem::take(&mut scan.names), scan.order());
        let (findings, mixed) = (scan.findings, scan.mixed);
        let nothing = scan.would_erase_everything();
        volume.order = order.unwrap_or_default();
        volume.check_findings(clock, given, &findings, nothing)?;
        let mut names = names.by_directory();
        volume.believe_older(clock, &mut names)?;
        volume.build(&names);
        volume.build_xattrs(clock)?;
        volume.building = false;
        volume.rotate_lists(mixed);
        let mut mounted = Self { volume, open: BTreeMap::new(), findings };
        mounted.open_inode(clock, ROOT)?;
        Ok(mounted)
    }
}

fn check_shape<M: Mtd>(device: &M, read_only: bool) -> Result<Layout, MountError> {
    let geometry = device.geometry();
    let block_size = geometry.regions.iter().map(|region| region.size).max().unwrap_or_default();
    let layout = Layout::of(geometry)
        .filter(|layout| layout.block_size >= LEAST_BLOCK && layout.block_size.is_multiple_of(4))
        .ok_or(MountError::Shape { size: geometry.size(), block_size })?;
    if layout.block_count < LEAST_BLOCKS && !read_only {
        return Err(MountError::TooSmall { blocks: layout.block_count, least: LEAST_BLOCKS });
    }
    if layout.page_size.is_some() && layout.oob_free == 0 {
        return Err(MountError::NoSpareBytes);
    }
    Ok(layout)
}

/// A volume of which nothing is known yet.
fn unscanned<M: Mtd>(device: M, layout: Layout, options: Options) -> Volume<M> {
    Volume {
        device,
        layout,
        order: options.byte_order.unwrap_or_default(),
        host: options.host,
        wall: options.wall,
        ticks: Ticks::new(options.seed.stream("jffs2.gc")),
        compression: options.compression,
        compressors: Compressors::default(),
        erase_failures: BTreeMap::new(),
        summary: options.summary,
        read_only: options.read_only,
        mistake: options.mistake,
        profile: options.profile,
        blocks: Blocks::new(layout.block_count, layout.block_size),
        inodes: Inodes::new(),
        xattrs: Xattrs::default(),
        wbuf: WriteBuffer::default(),
        collected: Collected::default(),
        reserves: Reserves::of(&layout, layout.can_mark_obsolete() && !options.summary),
        check: CheckProgress::default(),
        building: true,
        effects: Vec::new(),
    }
}

impl<M: Mtd> Volume<M> {
    /// Whether what the scan found is a JFFS2 that lies as it was said.
    fn check_findings(
        &mut self,
        clock: &mut Clock,
        given: Option<ByteOrder>,
        findings: &Findings,
        nothing: bool,
    ) -> Result<(), MountError> {
        if let (Some(given), Some(at)) = (given, findings.first_other_order)
            && findings.other_order > findings.nodes
        {
            return Err(MountError::ByteOrder { given, nodes: findings.other_order, at });
        }
        self.check_block_size(findings)?;
        if !nothing {
            return Ok(());
        }
        let at = findings.first_strange.unwrap_or_default();
        let mut found = [0xFF; 8];
        let length = found.len().min((self.layout.size() - at).to_usize());
        self.read_flash(clock, at, &mut found[..length])?;
        Err(MountError::NotJffs2 { found, at })
    }

    /// One node in each eighth block that reaches over its end is no accident.
    fn check_block_size(&self, findings: &Findings) -> Result<(), MountError> {
        let given = self.layout.block_size;
        if let Some(at) = findings.first_crossing
            && findings.crossing * 8 >= u64::from(findings.blocks_in_use)
        {
            let nodes = findings.crossing;
            return Err(MountError::BlockSize { given, fits: None, nodes, at });
        }
        let nodes = findings.inner_cleanmarkers;
        if nodes > u64::from(findings.blocks_in_use) {
            let fits = 1 << findings.inner_offsets.trailing_zeros();
            let at = Bytes::new(u64::from(fits));
            return Err(MountError::BlockSize { given, fits: Some(fits), nodes, at });
        }
        Ok(())
    }

    /// Counts names and removes inodes without any.
    fn build(&mut self, names: &ByDirectory) {
        let shared = self.count_names(names);
        self.remove_unlinked(names);
        self.set_parents(names, shared);
    }

    /// Pass 1: every entry gives its inode a name. An entry of an inode that does not exist, or of a
    /// file without a node, is obsolete. Who only looks is shown such an inode as damaged. Gives true
    /// when a directory seems to have several names.
    fn count_names(&mut self, names: &ByDirectory) -> bool {
        let mut shared = false;
        for name in names.iter().filter(|name| name.ino != 0) {
            let slot = if self.read_only {
                Some(self.inodes.slot_or_new(name.ino))
            } else {
                self.inodes.slot(name.ino)
            };
            let holds = |_: &u32| self.read_only || self.leads_somewhere(name.ino, name.kind);
            let Some(slot) = slot.filter(holds) else {
                self.obsolete(name.node);
                continue;
            };
            let inode = self.inodes.get_mut(slot);
            inode.links += 1;
            if name.kind == DIRECTORY {
                inode.is_directory = true;
                shared |= inode.links > 1;
            }
        }
        shared
    }

    /// Pass 2: an inode without names goes, and takes the names that are in it away from others.
    fn remove_unlinked(&mut self, names: &ByDirectory) {
        let unlinked = |inodes: &Inodes, &slot: &u32| inodes.get(slot).links == 0;
        let slots = self.inodes.slots_from(0..);
        let mut doomed: Vec<u32> = slots.filter(|slot| unlinked(&self.inodes, slot)).collect();
        while let Some(slot) = doomed.pop() {
            let nodes: Vec<_> = self.blocks.chain(self.inodes.get(slot).nodes).collect();
            for node in nodes {
                self.obsolete(node);
            }
            for name in names.of(slot) {
                let Some(child) = self.inodes.slot(name.ino) else { continue };
                let inode = self.inodes.get_mut(child);
                if inode.links == 1 {
                    doomed.push(child);
                }
                inode.links = inode.links.saturating_sub(1);
            }
        }
    }

    /// Of a directory its parent is kept instead of the number of its names, which is one. Where there
    /// seem to be several, the way from the root is believed first, so that what can be reached is a tree.
    fn set_parents(&mut self, names: &ByDirectory, shared: bool) {
        if shared {
            let mut left: Vec<u32> = self.inodes.slot(ROOT).into_iter().collect();
            while let Some(directory) = left.pop() {
                for name in names.of(directory) {
                    left.extend(self.set_parent(&name));
                }
            }
        }
        for name in names.iter() {
            self.set_parent(&name);
        }
    }

    /// Gives the directory that `name` leads to the one that the name is in, unless it has one. Gives its
    /// slot if so.
    fn set_parent(&mut self, name: &Name) -> Option<u32> {
        if name.kind != DIRECTORY || name.ino == 0 || name.ino == ROOT {
            return None;
        }
        let parent = self.inodes.get(name.directory);
        let (number, alive) = (parent.ino, parent.links > 0);
        let slot = self.inodes.slot(name.ino)?;
        let inode = self.inodes.get_mut(slot);
        if !alive || inode.links == 0 || inode.parent_known {
            return None;
        }
        (inode.links, inode.parent_known) = (number, true);
        Some(slot)
    }

    /// Puts blocks that were written at the same time apart, to spread the wear.
    fn rotate_lists(&mut self, mixed: u32) {
        let lists = [
            List::Clean,
            List::VeryDirty,
            List::Dirty,
            List::Erasable,
            List::ErasePending,
            List::Free,
        ];
        for list in lists {
            let count = self.blocks.on_list(list);
            if count > 0 {
                self.blocks.rotate(list, mixed % count);
            }
        }
    }
}
