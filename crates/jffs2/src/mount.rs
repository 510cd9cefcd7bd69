//! Mount: scans the flash, counts the names of every inode, removes inodes without names, sets the
//! reserves.
//!
//! Layer: rank 5. [`Jffs2::mount`], and [`MountError`], which says what was found and what would fit.
//!
//! ```text
//!  scan all blocks -> names whose inode is lost lead where they led before (`dangling.rs`)
//!                  -> pass 1: every entry gives its inode a name
//!                  -> pass 2: inodes without names go; the names in removed directories go with them
//!                  -> extended attributes find their inodes -> lists are rotated -> the root is read
//! ```
//! The removal of inodes is iterative, not recursive, so that no chain of directories is too deep.
//!
//! Source: Linux 6.1, `fs/jffs2/build.c` (`jffs2_build_filesystem`), `scan.c` (`jffs2_scan_medium`,
//! `jffs2_rotate_lists`), `super.c`, `fs.c` (`jffs2_do_fill_super`).

use crate::Jffs2;
use crate::block::{Blocks, List};
use crate::compress::Compressors;
use crate::error::Error;
use crate::format::{ByteOrder, NodeType};
use crate::index::{Inodes, ROOT};
use crate::names::{DirentsByDirectory, ScannedDirent};
use crate::options::Options;
use crate::scan::{Findings, Scan, ScanError};
use crate::summary_builder::SummaryBuilder;
use crate::ticks::Ticks;
use crate::volume::{CheckProgress, Layout, Reserves, Volume};
use crate::wbuf::WriteBuffer;
use crate::xattr::Xattrs;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use std::collections::BTreeMap;
use std::fmt;

/// The minimum number of erase blocks of a writable mount.
const LEAST_BLOCKS: u32 = 5;
/// The smallest erase block: the largest node of a page and its summary must fit.
const LEAST_BLOCK: u32 = 512;
/// The type byte of a directory (`DT_DIR`).
pub(crate) const DIRECTORY: u8 = 4;

/// Why an image is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// The geometry of the device does not suit JFFS2.
    Shape {
        /// Bytes of the device.
        size: Bytes,
        /// Bytes of its largest erase block.
        block_size: Bytes,
    },
    /// There are too few erase blocks for a writable mount; a read-only mount has no minimum.
    TooSmall {
        /// The number of blocks.
        blocks: u32,
        /// The minimum.
        least: u32,
    },
    /// A NAND without free OOB bytes for a cleanmarker.
    NoSpareBytes,
    /// There is no JFFS2 node, but other data.
    NotJffs2 {
        /// The first foreign bytes.
        found: [u8; 8],
        /// Their offset.
        at: Bytes,
    },
    /// The nodes are in the other byte order than given.
    ByteOrder {
        /// The byte order given.
        given: ByteOrder,
        /// The number of nodes in the other byte order.
        nodes: u64,
        /// The offset of the first of them.
        at: Bytes,
    },
    /// Nodes cross the ends of erase blocks, or cleanmarkers are in the middle of one.
    BlockSize {
        /// The erase block size given.
        given: u32,
        /// An erase block size that fits, if the image shows one.
        fits: Option<u32>,
        /// The number of nodes that do not fit.
        nodes: u64,
        /// The offset of the first of them.
        at: Bytes,
    },
    /// An incompatible node of a newer JFFS2.
    Incompatible {
        /// Its type.
        node_type: NodeType,
        /// Its offset.
        at: Bytes,
    },
    /// The flash returned an error, or the root directory is damaged.
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
    /// Mounts the filesystem on `device` and takes ownership; [`Jffs2::into_device`] returns it.
    ///
    /// Erased flash is an empty filesystem. Damaged nodes are ignored, as in Linux;
    /// [`Jffs2::findings`] counts them.
    ///
    /// # Errors
    /// [`MountError`].
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
        volume.restore_older_entries(clock, &mut names)?;
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

/// A volume before the scan.
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
        summary_builder: SummaryBuilder::default(),
        reserves: Reserves::of(&layout, layout.can_mark_obsolete() && !options.summary),
        check: CheckProgress::default(),
        signalled: false,
        building: true,
        effects: Vec::new(),
    }
}

impl<M: Mtd> Volume<M> {
    /// Checks that the scan found a JFFS2 with the given layout.
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

    /// One node in every eighth block that crosses its end is not a coincidence.
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
    fn build(&mut self, names: &DirentsByDirectory) {
        let shared = self.count_names(names);
        self.remove_unlinked(names);
        self.set_parents(names, shared);
    }

    /// Pass 1: every entry adds a name to its inode. An entry of an inode that does not exist, or
    /// of a file without a node, is obsolete; a read-only mount shows such an inode as damaged
    /// instead. Returns true when a directory seems to have several names.
    fn count_names(&mut self, names: &DirentsByDirectory) -> bool {
        let mut shared = false;
        for name in names.iter().filter(|name| name.ino != 0) {
            let slot = if self.read_only {
                Some(self.inodes.slot_or_new(name.ino))
            } else {
                self.inodes.slot(name.ino)
            };
            let holds = |_: &u32| self.read_only || self.target_exists(name.ino, name.kind);
            let Some(slot) = slot.filter(holds) else {
                self.account_obsolete(name.node);
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

    /// Pass 2: deletes inodes without names, and removes the names that they contain from others.
    fn remove_unlinked(&mut self, names: &DirentsByDirectory) {
        let unlinked = |inodes: &Inodes, &slot: &u32| inodes.get(slot).links == 0;
        let slots = self.inodes.slots_from(0..);
        let mut doomed: Vec<u32> = slots.filter(|slot| unlinked(&self.inodes, slot)).collect();
        while let Some(slot) = doomed.pop() {
            let nodes: Vec<_> = self.blocks.chain(self.inodes.get(slot).nodes).collect();
            for node in nodes {
                self.account_obsolete(node);
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

    /// Of a directory the parent is kept instead of the number of names, which is one. Where there
    /// seem to be several, the path from the root wins, so that everything reachable is a tree.
    fn set_parents(&mut self, names: &DirentsByDirectory, shared: bool) {
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

    /// Sets the parent of the directory that `name` refers to, unless it has one. Returns its slot
    /// if set.
    fn set_parent(&mut self, name: &ScannedDirent) -> Option<u32> {
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

    /// Rotates the lists, so that blocks written at the same time are separated, to level the wear.
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
