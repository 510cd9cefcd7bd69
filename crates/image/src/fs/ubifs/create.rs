//! A UBIFS made of the files of a folder.
//!
//! Layer: rank 7. Main function: [`create`].

use crate::files::content::BLOCK;
use crate::files::tree::{Node, Tree};
use crate::files::why::Why;
use crate::files::{Compression, MakeError, NewFileSystem, VolumeFormat};
use boardlab_ubifs::Compressor;
use boardlab_ubifs::mkfs::{Builder, FILE_MAX, Format, Inode};
use boardlab_vfs::Kind;

/// The extended attributes that UBIFS takes.
const ATTRIBUTES: &str = "UBIFS has user., trusted. and security., up to 4,096 bytes";

/// Makes the filesystem. What it has no place for is noted in `tree`.
///
/// # Errors
/// [`MakeError::NoSpace`], [`MakeError::Mkfs`].
pub(super) fn create(tree: &mut Tree, volume: &VolumeFormat) -> Result<NewFileSystem, MakeError> {
    let VolumeFormat { leb_size, min_io, max_lebs, compression, fix_up, seed } = *volume;
    let compression = compressed(compression)?;
    let format = Format { leb_size, min_io, max_lebs, compression, fix_up, seed };
    let mut making = Making {
        builder: Builder::new(format)?,
        numbers: Vec::new(),
        counts: NewFileSystem { name: "ubifs", ..NewFileSystem::default() },
    };
    making.check(tree);
    making.number(tree)?;
    for index in 1..tree.nodes.len() {
        making.add(tree, index)?;
    }
    // A folder comes after all that is in it.
    for index in (0..tree.nodes.len()).rev() {
        if tree.nodes[index].kind == Kind::Directory {
            making.inode(tree, index, 0)?;
        }
    }
    let Making { builder, mut counts, .. } = making;
    let image = builder.finish()?;
    counts.bytes = image.bytes;
    counts.leb_count = image.leb_count;
    counts.volume_lebs = image.volume_lebs;
    Ok(counts)
}

/// The compression in the terms of UBIFS.
fn compressed(compression: Compression) -> Result<boardlab_ubifs::mkfs::Compression, MakeError> {
    use boardlab_ubifs::mkfs::Compression as Ubifs;
    Ok(match compression {
        Compression::None => Ubifs::Only(Compressor::None),
        Compression::Lzo => Ubifs::Only(Compressor::Lzo),
        Compression::Zlib => Ubifs::Only(Compressor::Zlib),
        Compression::Zstd => Ubifs::Only(Compressor::Zstd),
        Compression::FavorLzo => Ubifs::FavorLzo,
        other => return Err(other.refused("none, lzo, zlib, zstd or favor-lzo, for UBIFS")),
    })
}

struct Making {
    builder: Builder,
    /// The inode numbers of all nodes; `None` for what is left out.
    numbers: Vec<Option<u32>>,
    counts: NewFileSystem,
}

impl Making {
    /// Notes what UBIFS has no place for.
    fn check(&self, tree: &mut Tree) {
        for index in 0..tree.nodes.len() {
            let mut refused = Vec::new();
            let attributes = std::mem::take(&mut tree.nodes[index].attributes);
            let mut kept = Vec::new();
            for (name, value) in attributes {
                if self.builder.takes_attribute(&kept, &name, &value) {
                    kept.push((name, value));
                } else {
                    refused.push(name);
                }
            }
            tree.nodes[index].attributes = kept;
            for name in refused {
                tree.leave_out(index, Why::Attribute { name, expected: ATTRIBUTES });
            }
        }
    }

    /// Gives every file a number.
    fn number(&mut self, tree: &mut Tree) -> Result<(), MakeError> {
        for index in 0..tree.nodes.len() {
            let node = &tree.nodes[index];
            let number = match (index, node.same, node.kind) {
                (0, ..) => Some(self.builder.root()),
                (_, Some(first), _) => self.numbers[first],
                (_, None, Kind::Character(device) | Kind::Block(device)) if !device.is_valid() => {
                    let (major, minor) = (device.major, device.minor);
                    tree.leave_out(index, Why::Device { major, minor });
                    None
                }
                _ => Some(self.builder.next_ino()?),
            };
            self.numbers.push(number);
        }
        Ok(())
    }

    /// Adds a name, and unless it is a folder or a further name its file.
    fn add(&mut self, tree: &mut Tree, index: usize) -> Result<(), MakeError> {
        let node = &tree.nodes[index];
        let (kind, parent, same) = (node.kind, node.parent, node.same);
        if self.numbers[index].is_some() && same.is_none() && kind != Kind::Directory {
            let size = if kind == Kind::File { self.content(tree, index)? } else { 0 };
            if self.numbers[index].is_some() {
                self.inode(tree, index, size)?;
            }
        }
        // The first name may have been left out only now.
        let number = same.map_or(self.numbers[index], |first| self.numbers[first]);
        if same.is_some() && number.is_none() {
            tree.leave_out(index, Why::First);
        }
        let (Some(ino), Some(dir)) = (number, self.numbers[parent]) else { return Ok(()) };
        self.counts.files.links += u64::from(same.is_some());
        Ok(self.builder.entry(dir, &tree.nodes[index].name, (ino, kind))?)
    }

    /// Adds the content of a file; its size. A file that cannot be opened any more loses its number.
    fn content(&mut self, tree: &mut Tree, index: usize) -> Result<u64, MakeError> {
        let Some(ino) = self.numbers[index] else { return Ok(0) };
        let mut content = match tree.content(index) {
            Ok(content) if content.size <= FILE_MAX => content,
            Ok(content) => return Ok(self.leave_out(tree, index, Why::Size(content.size))),
            Err(why) => return Ok(self.leave_out(tree, index, why)),
        };
        loop {
            match content.next() {
                Ok(None) => break,
                Ok(Some((number, bytes))) => {
                    let block = u32::try_from(number).expect("blocks of the largest file");
                    debug_assert!(bytes.len() <= BLOCK, "a block of {}", bytes.len());
                    self.builder.block(ino, block, bytes)?;
                }
                Err(why) => tree.leave_out(index, why),
            }
        }
        self.counts.files.content += content.size;
        Ok(content.size)
    }

    fn leave_out(&mut self, tree: &mut Tree, index: usize, why: Why) -> u64 {
        self.numbers[index] = None;
        tree.leave_out(index, why);
        0
    }

    fn inode(&mut self, tree: &Tree, index: usize, size: u64) -> Result<(), MakeError> {
        let Node { kind, mode, uid, gid, links, modified, ref target, ref attributes, .. } =
            tree.nodes[index];
        let Some(ino) = self.numbers[index] else { return Ok(()) };
        self.counts.files.add(kind);
        // The other times change when the files are read or copied, and are of no use on a board.
        let (accessed, changed) = (modified, modified);
        let inode = Inode {
            kind,
            mode,
            uid,
            gid,
            links,
            size,
            accessed,
            modified,
            changed,
            target,
            attributes,
        };
        Ok(self.builder.inode(ino, &inode)?)
    }
}
