//! A LogFS made of the files of a folder: as `mklogfs -w 12` makes it, mounted, filled and unmounted.
//!
//! Layer: rank 7. Main function: [`create`]. The filesystem is as large as the flash, since its last superblock lies at
//! the end.

use crate::contents::Contents;
use crate::create::{write_data, write_raw};
use crate::dump::Dump;
use crate::files::content::{BLOCK, Content};
use crate::files::tree::Tree;
use crate::files::why::Why;
use crate::files::{Compression, FlashFormat, MakeError, Movable, NewFileSystem, NewTags};
use boardlab_codec::ByteOrder;
use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Error, FileSystem, Ino, Kind, NewInode, PageWrite, SetAttr};

/// The longest target of a link: a block with a zero behind it.
const TARGET_MAX: usize = BLOCK - 1;

/// Makes the filesystem. What it has no place for is noted in `tree`.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::Missing`], [`MakeError::Useless`], [`MakeError::NoSpace`].
pub(super) fn create(tree: &mut Tree, format: &FlashFormat) -> Result<NewFileSystem, MakeError> {
    let FlashFormat { shape, blocks, .. } = *format;
    let compress = compression(format)?;
    if blocks == 0 {
        let why = "the last superblock of LogFS lies at the end of the flash";
        return Err(MakeError::Missing { option: "--max-blocks N", why });
    }
    if let Some(beyond) = format.bad_blocks.iter().find(|block| **block >= blocks) {
        let (option, found) = ("--bad-blocks", beyond.to_string());
        let expected = format!("blocks of the flash, which --max-blocks gives {blocks}");
        return Err(MakeError::Value { option, found, expected });
    }
    let has_spare = !shape.oob.is_zero();
    let spare = if has_spare { Some(format.spare()?) } else { None };
    let unfit = |problem: boardlab_logfs::MountError| MakeError::Unfit(problem.to_string());
    // An erased flash, of which only the first byte is in the file.
    let dump = Dump::with_spare(Contents::of(vec![0xFF]), shape, spare)
        .and_then(|dump| dump.extended(blocks));
    let mut dump = dump.map_err(|problem| MakeError::Unfit(problem.to_string()))?;
    let mut clock = Clock::new();
    for &block in &format.bad_blocks {
        dump.mark_bad(&mut clock, BlockIndex(block)).map_err(crate::Error::from)?;
    }
    Format { compress, ..format.logfs }.make(&mut clock, &mut dump).map_err(unfit)?;
    let fs = Logfs::mount(&mut clock, dump, Options::default()).map_err(unfit)?;
    let root = fs.root();
    let mut counts = NewFileSystem { name: "logfs", on_flash: true, ..NewFileSystem::default() };
    counts.files.add(Kind::Directory);
    let mut making = Making { fs, clock, numbers: Vec::new(), counts };
    for index in 0..tree.nodes.len() {
        making.add(tree, index, root)?;
    }
    // Times of folders change with every name in them.
    for index in (0..tree.nodes.len()).rev() {
        making.finish(tree, index)?;
    }
    let Making { mut fs, mut clock, mut counts, .. } = making;
    fs.unmount(&mut clock).map_err(|error| full(&error, &counts))?;
    let mut dump = fs.into_device();
    if has_spare {
        write_raw(&mut dump, &mut clock, &mut counts.bytes)?;
    } else {
        write_data(&mut dump, &mut clock, &mut counts.bytes)?;
    }
    (counts.leb_count, counts.volume_lebs) = (blocks, blocks);
    counts.movable =
        Movable::Fixed("its last superblock lies at the end of the flash: --max-blocks");
    Ok(counts)
}

fn compression(format: &FlashFormat) -> Result<bool, MakeError> {
    let useless = |option, why| Err(MakeError::Useless { option, why });
    if format.tags != NewTags::Free {
        return useless("--tags", "LogFS has none");
    }
    if format.order == ByteOrder::Big {
        return useless("--big-endian", "LogFS is big-endian everywhere");
    }
    match format.compression {
        None | Some(Compression::None) => Ok(false),
        Some(Compression::Zlib) => Ok(true),
        Some(other) => Err(other.refused("none or zlib, for LogFS")),
    }
}

/// Why the files do not fit.
fn full(error: &Error, counts: &NewFileSystem) -> MakeError {
    if error.errno() == Some(Errno::NoSpc) {
        return MakeError::Full { files: counts.files.files };
    }
    MakeError::Unfit(error.to_string())
}

struct Making {
    fs: Logfs<Dump>,
    clock: Clock,
    /// The inodes of all nodes; `None` for what is left out.
    numbers: Vec<Option<Ino>>,
    counts: NewFileSystem,
}

impl Making {
    /// Adds a name, and unless it is a further name all that its file has.
    fn add(&mut self, tree: &mut Tree, index: usize, root: Ino) -> Result<(), MakeError> {
        for (name, _) in std::mem::take(&mut tree.nodes[index].attributes) {
            tree.leave_out(index, Why::Attribute { name, expected: "LogFS has none" });
        }
        let node = &tree.nodes[index];
        let parent = self.numbers.get(node.parent).copied().flatten();
        let first = node.same.map(|same| self.numbers[same]);
        let number = match (index, parent, first) {
            (0, ..) => Some(root),
            (_, Some(dir), Some(Some(ino))) => {
                self.counts.files.links += 1;
                let linked = self.fs.link(&mut self.clock, ino, dir, &node.name);
                linked.map_err(|error| full(&error, &self.counts))?;
                Some(ino)
            }
            (_, Some(dir), None) => self.object(tree, index, dir)?,
            (_, _, Some(None)) => {
                tree.leave_out(index, Why::First);
                None
            }
            _ => None,
        };
        self.numbers.push(number);
        Ok(())
    }

    fn object(
        &mut self,
        tree: &mut Tree,
        index: usize,
        dir: Ino,
    ) -> Result<Option<Ino>, MakeError> {
        let node = &tree.nodes[index];
        let why = match node.kind {
            Kind::Character(device) | Kind::Block(device) if !device.is_valid() => {
                Some(Why::Device { major: device.major, minor: device.minor })
            }
            Kind::Symlink if node.target.len() > TARGET_MAX => {
                Some(Why::Target { found: node.target.len(), most: TARGET_MAX })
            }
            _ => None,
        };
        if let Some(why) = why {
            tree.leave_out(index, why);
            return Ok(None);
        }
        let mut content = None;
        if node.kind == Kind::File {
            match tree.content(index) {
                Ok(found) if found.size <= self.fs.size_max() => content = Some(found),
                Ok(found) => {
                    tree.leave_out(index, Why::Size(found.size));
                    return Ok(None);
                }
                Err(why) => {
                    tree.leave_out(index, why);
                    return Ok(None);
                }
            }
        }
        let (kind, mode, uid, gid) = (node.kind, node.mode, node.uid, node.gid);
        let new = NewInode { kind, mode, uid, gid, target: &node.target };
        let made = self.fs.create(&mut self.clock, dir, &node.name, &new);
        let ino = made.map_err(|error| full(&error, &self.counts))?;
        self.counts.files.add(kind);
        if let Some(content) = content {
            self.content(tree, index, ino, content)?;
        }
        Ok(Some(ino))
    }

    fn content(
        &mut self,
        tree: &mut Tree,
        index: usize,
        ino: Ino,
        mut content: Content,
    ) -> Result<(), MakeError> {
        let size = content.size;
        self.counts.files.content += size;
        let resized = SetAttr { size: Some(size), ..SetAttr::default() };
        let done = self.fs.setattr(&mut self.clock, ino, &resized);
        done.map_err(|error| full(&error, &self.counts))?;
        loop {
            match content.next() {
                Ok(None) => return Ok(()),
                Ok(Some((page, bytes))) => {
                    let mut whole = vec![0; BLOCK];
                    whole[..bytes.len()].copy_from_slice(bytes);
                    if whole.iter().all(|&byte| byte == 0) {
                        continue;
                    }
                    let write = PageWrite {
                        page,
                        size_before: size,
                        size_after: size,
                        uptodate: true,
                        dirty: false,
                        whole: true,
                    };
                    let done = self.fs.reserve_page(&mut self.clock, ino, &write).and_then(|()| {
                        self.fs.write_page(&mut self.clock, ino, page, &whole, 0..BLOCK)
                    });
                    done.map_err(|error| full(&error, &self.counts))?;
                }
                Err(why) => tree.leave_out(index, why),
            }
        }
    }

    /// Sets owner, mode and time, and drops the inode from memory.
    fn finish(&mut self, tree: &Tree, index: usize) -> Result<(), MakeError> {
        let (Some(ino), node) = (self.numbers[index], &tree.nodes[index]) else { return Ok(()) };
        if node.same.is_some() {
            return Ok(());
        }
        let change = SetAttr {
            mode: Some(node.mode),
            uid: Some(node.uid),
            gid: Some(node.gid),
            accessed: Some(node.modified),
            modified: Some(node.modified),
            ..SetAttr::default()
        };
        let done = self.fs.setattr(&mut self.clock, ino, &change);
        let done = done.and_then(|()| self.fs.write_inode(&mut self.clock, ino));
        done.map_err(|error| full(&error, &self.counts))?;
        if index > 0 {
            let evicted = self.fs.evict_inode(&mut self.clock, ino);
            evicted.map_err(|error| full(&error, &self.counts))?;
        }
        Ok(())
    }
}
