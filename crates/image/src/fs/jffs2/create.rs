//! A JFFS2 made of the files of a folder: the nodes of `mkfs.jffs2` in its order, on NAND with spare bytes too.
//!
//! Layer: rank 7. Main function: [`create`]. Numbers of inodes and versions are those of `mkfs.jffs2`: a folder's
//! names first, then its folders one after the other. Two things it loses are kept. The root's inode is written
//! where it is not what Linux takes a missing one for. The version of a folder's inode is above those of its names
//! where the time of one of them would hide its own.

use crate::files::content::{BLOCK, Content};
use crate::files::tree::{Node, Tree};
use crate::files::why::Why;
use crate::files::{Compression, FlashFormat, Jffs2Options, MakeError, NewFileSystem, NewTags};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_jffs2::format::OobCleanmarker;
use boardlab_jffs2::format::inode::Compressor;
use boardlab_jffs2::mkfs::{Builder, FILE_MAX, Format, Inode, MkfsError, NAME_MAX, Name, ROOT};
use boardlab_jffs2::{Compression as Settings, CompressionMode};
use boardlab_sim::Bytes;
use boardlab_vfs::{Kind, Timestamp};
use std::collections::BTreeMap;

/// The permission bits that Linux takes for those of a root without an inode, which is that of root in 1970.
const ROOT_MODE: u32 = 0o755;
/// The attributes that have a place.
const ATTRIBUTES: &str =
    "JFFS2 has user., trusted., security. and access lists, each within an erase block";

/// Makes the filesystem. What it has no place for is noted in `tree`.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::Useless`], [`MakeError::Unfit`].
pub(super) fn create(tree: &mut Tree, format: &FlashFormat) -> Result<NewFileSystem, MakeError> {
    let FlashFormat { shape, order, jffs2, .. } = *format;
    check(format)?;
    let spare = match shape.oob.is_zero() {
        true => None,
        false => Some(format.spare()?),
    };
    let Jffs2Options { summary, cleanmarkers } = jffs2;
    let of_builder = Format {
        block: u32::try_from(shape.block.get()).expect("the block was checked"),
        order,
        cleanmarkers: cleanmarkers && !shape.is_nand(),
        compression: compressors(format.compression)?,
        summary,
    };
    let mut making = Making {
        builder: Builder::new(of_builder),
        children: children(tree),
        numbers: BTreeMap::new(),
        counts: NewFileSystem { name: "jffs2", on_flash: true, ..NewFileSystem::default() },
    };
    making.root(tree)?;
    making.folders(tree)?;
    let Making { builder, mut counts, .. } = making;
    let data = builder.finish();
    let erased = Builder::erased_block(&of_builder);
    let marker = OobCleanmarker.bytes(order);
    let marker = if cleanmarkers { &marker[..] } else { &[] };
    let blocks = Bytes::of(&data) / shape.block;
    counts.leb_count = u32::try_from(blocks).expect("blocks of less than 4 GiB");
    counts.volume_lebs = counts.leb_count;
    counts.bytes = with_spare(data, shape, spare.as_ref(), marker);
    counts.erased = Some(with_spare(erased, shape, spare.as_ref(), marker));
    Ok(counts)
}

/// Checks what has no meaning here.
fn check(format: &FlashFormat) -> Result<(), MakeError> {
    let FlashFormat { shape, tags, blocks, jffs2, ref ecc, .. } = *format;
    let useless = |option, why| Err(MakeError::Useless { option, why });
    if blocks > 0 {
        return useless(
            "--max-blocks",
            "JFFS2 takes all blocks of the flash that it is written to",
        );
    }
    if tags != NewTags::Free {
        return useless("--tags", "JFFS2 has none");
    }
    if ecc.is_some() && shape.oob.is_zero() {
        return useless("--ecc", "it lies in spare bytes: give --oob too");
    }
    if !jffs2.cleanmarkers && shape.is_nand() && shape.oob.is_zero() {
        let why = "those of NAND lie in spare bytes, and the image has none";
        return useless("--no-cleanmarkers", why);
    }
    Ok(())
}

/// How the nodes are compressed: with the names of `mkfs.jffs2`, whose LZO is off unless it is asked for.
fn compressors(compression: Option<Compression>) -> Result<Settings, MakeError> {
    let settings = |mode, lzo| Settings { mode, zlib: true, lzo, rtime: true };
    Ok(match compression.unwrap_or(Compression::Priority) {
        Compression::None => settings(CompressionMode::None, false),
        Compression::Priority => settings(CompressionMode::Priority, false),
        Compression::Size => settings(CompressionMode::Size, false),
        Compression::FavorLzo => settings(CompressionMode::FavourLzo, true),
        Compression::Lzo => settings(CompressionMode::Only(Compressor::Lzo), true),
        Compression::Zlib => settings(CompressionMode::Only(Compressor::Zlib), false),
        Compression::Rtime => settings(CompressionMode::Only(Compressor::Rtime), false),
        other @ Compression::Zstd => {
            let expected = "none, lzo, zlib, rtime, favor-lzo, priority or size, for JFFS2";
            return Err(other.refused(expected));
        }
    })
}

/// The nodes in each folder, by its index.
fn children(tree: &Tree) -> BTreeMap<usize, Vec<usize>> {
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, node) in tree.nodes.iter().enumerate().skip(1) {
        children.entry(node.parent).or_default().push(index);
    }
    children
}

/// Adds the spare bytes of each page, if there are any: the code of what is programmed, and `marker` in the free
/// bytes of the first page of each block.
fn with_spare(data: Vec<u8>, shape: Shape, spare: Option<&Spare>, marker: &[u8]) -> Vec<u8> {
    let Some(spare) = spare else { return data };
    let length = Bytes::of(&data) / shape.page * shape.raw_page().get();
    let mut raw = Vec::with_capacity(Bytes::new(length).to_usize());
    let free = spare.available().to_usize().min(marker.len());
    for (number, page) in (0..).zip(data.chunks(shape.page.to_usize())) {
        let first = u64::is_multiple_of(number, shape.pages_per_block());
        let programmed = if boardlab_mtd::is_erased(page) { &[][..] } else { page };
        let free = if first { &marker[..free] } else { &[] };
        raw.extend_from_slice(page);
        raw.extend(spare.protect(programmed, free));
    }
    raw
}

fn too_large(problem: MkfsError) -> MakeError {
    MakeError::Unfit(problem.to_string())
}

struct Making {
    builder: Builder,
    /// The nodes in each folder.
    children: BTreeMap<usize, Vec<usize>>,
    /// The inodes of all nodes so far, by the first name of a file; `None` for what is left out.
    numbers: BTreeMap<usize, Option<u32>>,
    counts: NewFileSystem,
}

impl Making {
    /// Adds the inode of the root unless Linux takes a missing one for the same, and its attributes.
    fn root(&mut self, tree: &mut Tree) -> Result<(), MakeError> {
        self.numbers.insert(0, Some(ROOT));
        self.counts.files.add(Kind::Directory);
        let (root, version) = (&tree.nodes[0], self.version(tree, 0));
        let found = (root.mode, root.uid, root.gid, root.modified.seconds);
        let is_empty = !self.children.contains_key(&0);
        if found != (ROOT_MODE, 0, 0, 0) || is_empty || version > 1 {
            let Some(inode) = self.inode_of(tree, 0, 0) else {
                let Node { uid, gid, .. } = tree.nodes[0];
                let (option, found) = ("the owner of the folder,", format!("{uid}:{gid},"));
                let expected = "numbers up to 65535; --squash-uids gives all files to root".into();
                return Err(MakeError::Value { option, found, expected });
            };
            self.builder.inode(ROOT, &inode, version, &[]).map_err(too_large)?;
        }
        self.attributes(tree, 0, ROOT)
    }

    /// Adds all names, folder by folder, each with its inode unless that is there already.
    fn folders(&mut self, tree: &mut Tree) -> Result<(), MakeError> {
        let mut folders = vec![0];
        while let Some(folder) = folders.pop() {
            let children = self.children.remove(&folder).unwrap_or_default();
            for &child in &children {
                match self.numbers[&folder] {
                    Some(parent) => self.add(tree, child, parent)?,
                    None => self.leave_out(tree, child, Why::Folder),
                }
            }
            let is_folder = |index: &usize| tree.nodes[*index].kind == Kind::Directory;
            folders.extend(children.into_iter().rev().filter(is_folder));
        }
        Ok(())
    }

    /// Adds a name, and unless it is a further name its inode.
    fn add(&mut self, tree: &mut Tree, index: usize, parent: u32) -> Result<(), MakeError> {
        let node = &tree.nodes[index];
        let (kind, first) = (node.kind, node.same.unwrap_or(index));
        if node.name.len() > NAME_MAX {
            let found = node.name.len();
            self.leave_out(tree, index, Why::Name { found, most: NAME_MAX });
            return Ok(());
        }
        match self.numbers.get(&first).copied() {
            Some(None) => {
                tree.leave_out(index, Why::First);
                return Ok(());
            }
            Some(Some(ino)) => {
                self.counts.files.links += 1;
                return self.name(tree, index, (parent, ino));
            }
            None => {}
        }
        let content = match self.fits(tree, first) {
            Ok(content) => content,
            Err(why) => {
                self.numbers.insert(first, None);
                tree.leave_out(index, why);
                return Ok(());
            }
        };
        let size = content.as_ref().map_or(0, |content| content.size);
        let size = u32::try_from(size).expect("the size was checked");
        let Some(inode) = self.inode_of(tree, first, size) else { return Ok(()) };
        let ino = self.builder.next_ino();
        self.numbers.insert(first, Some(ino));
        self.name(tree, index, (parent, ino))?;
        self.counts.files.add(kind);
        if let Some(content) = content {
            self.content(tree, first, (ino, inode), content)?;
        } else {
            let version = self.version(tree, first);
            let target = &tree.nodes[first].target;
            self.builder.inode(ino, &inode, version, target).map_err(too_large)?;
        }
        self.attributes(tree, first, ino)
    }

    /// The content of a file that has a place; why something has none.
    fn fits(&self, tree: &Tree, index: usize) -> Result<Option<Content>, Why> {
        let node = &tree.nodes[index];
        let Node { uid, gid, .. } = *node;
        match node.kind {
            _ if uid > u16::MAX.into() || gid > u16::MAX.into() => Err(Why::Owner { uid, gid }),
            Kind::Character(device) | Kind::Block(device) if !device.is_valid() => {
                Err(Why::Device { major: device.major, minor: device.minor })
            }
            Kind::Symlink if node.target.len() > NAME_MAX => {
                Err(Why::Target { found: node.target.len(), most: NAME_MAX })
            }
            Kind::File => match tree.content(index) {
                Ok(content) if content.size <= FILE_MAX => Ok(Some(content)),
                Ok(content) => Err(Why::Size(content.size)),
                Err(why) => Err(why),
            },
            _ => Ok(None),
        }
    }

    fn name(
        &mut self,
        tree: &Tree,
        index: usize,
        (parent, ino): (u32, u32),
    ) -> Result<(), MakeError> {
        let node = &tree.nodes[index];
        let name = Name {
            parent,
            name: &node.name,
            ino,
            kind: node.kind,
            time: seconds(&tree.nodes[node.same.unwrap_or(index)]).0,
        };
        self.builder.entry(&name).map_err(too_large)
    }

    /// The version of an inode: for a folder one above those of all names if one of its own has another time.
    fn version(&self, tree: &Tree, index: usize) -> u32 {
        let time = seconds(&tree.nodes[index]).0;
        let hides = |child: &usize| {
            let first = tree.nodes[*child].same.unwrap_or(*child);
            seconds(&tree.nodes[first]).0 != time
        };
        let is_hidden = self.children.get(&index).is_some_and(|names| names.iter().any(hides));
        let above = u32::try_from(tree.nodes.len()).expect("fewer names than numbers");
        if is_hidden { above } else { 1 }
    }

    /// The inode of a node with a size; `None` for an owner that has no place.
    fn inode_of(&self, tree: &mut Tree, index: usize, size: u32) -> Option<Inode> {
        let node = &tree.nodes[index];
        let Node { kind, mode, .. } = *node;
        let (uid, gid) = (u16::try_from(node.uid).ok()?, u16::try_from(node.gid).ok()?);
        let (time, is_right) = seconds(node);
        if !is_right {
            let found = node.modified.seconds;
            tree.nodes[index].modified = Timestamp::seconds(time.into());
            tree.leave_out(index, Why::Time(found));
        }
        Some(Inode { kind, mode, uid, gid, size, time })
    }

    fn content(
        &mut self,
        tree: &mut Tree,
        index: usize,
        (ino, inode): (u32, Inode),
        mut content: Content,
    ) -> Result<(), MakeError> {
        self.counts.files.content += content.size;
        let mut file = Builder::file(ino, &inode);
        loop {
            match content.next() {
                Ok(None) => break,
                Ok(Some((block, bytes))) => {
                    let at = block * Bytes::new(BLOCK as u64).get();
                    let at = u32::try_from(at).expect("the size was checked");
                    self.builder.data(&mut file, at, bytes).map_err(too_large)?;
                }
                Err(why) => tree.leave_out(index, why),
            }
        }
        self.builder.end(file).map_err(too_large)
    }

    fn attributes(&mut self, tree: &mut Tree, index: usize, ino: u32) -> Result<(), MakeError> {
        for (name, value) in std::mem::take(&mut tree.nodes[index].attributes) {
            match self.builder.stored_attribute(&name, &value) {
                Some(stored) => {
                    self.builder.attribute(ino, stored).map_err(too_large)?;
                    tree.nodes[index].attributes.push((name, value));
                }
                None => tree.leave_out(index, Why::Attribute { name, expected: ATTRIBUTES }),
            }
        }
        Ok(())
    }

    /// Leaves out a name; a file may have another one elsewhere.
    fn leave_out(&mut self, tree: &mut Tree, index: usize, why: Why) {
        if tree.nodes[index].kind == Kind::Directory {
            self.numbers.insert(index, None);
        }
        tree.leave_out(index, why);
    }
}

/// The time of a node, and whether JFFS2 has that time.
fn seconds(node: &Node) -> (u32, bool) {
    let time = node.modified.seconds;
    let nearest = time.clamp(0, u32::MAX.into());
    (u32::try_from(nearest).expect("clamped"), nearest == time)
}
