//! A YAFFS2 made of the files of a folder: a dump as Linux leaves it, chunk after chunk.
//!
//! Layer: rank 7. Main function: [`create`]. Each object has one header with the extra information in its tags,
//! and a file has its data behind it. There are neither summaries nor a checkpoint: the first mount scans all,
//! and writes a checkpoint when it ends. A page of zeros is a hole.

use crate::files::tree::{BLOCK, Content, Node, Tree, Why};
use crate::files::{MakeError, NewFileSystem};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::Bytes;
use boardlab_vfs::Kind;
use boardlab_yaffs2::format::header::Times;
use boardlab_yaffs2::format::tags::{self, TagsEcc};
use boardlab_yaffs2::format::{
    ALIAS_MAX, ByteOrder, CHUNK_MAX, Extra, OBJECT_MAX, ObjectHeader, ObjectType, ROOT,
    SEQUENCE_FIRST, Tags, header, xattr,
};

/// The number of the first object that a program creates.
const FIRST: u32 = 257;
/// The byte order of all that can be made.
const ORDER: ByteOrder = ByteOrder::Little;

/// Makes the filesystem. What it has no place for is noted in `tree`.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::TooMany`].
pub(super) fn create(
    tree: &mut Tree,
    shape: Shape,
    spare: &Spare,
) -> Result<NewFileSystem, MakeError> {
    if shape.page < Bytes::kib(1) {
        return Err(value("--page", &shape.page.to_string(), "1 KiB or more"));
    }
    if spare.available() < Bytes::new(tags::PROTECTED as u64) {
        let expected = format!("{} bytes for the tags beside the ECC", tags::PROTECTED);
        return Err(value("--oob", &shape.oob.get().to_string(), &expected));
    }
    if shape.pages_per_block() > 511 {
        return Err(value("--block", &shape.block.to_string(), "511 pages at most"));
    }
    let most = OBJECT_MAX - FIRST;
    if u32::try_from(tree.nodes.len()).map_or(true, |count| count > most) {
        return Err(MakeError::TooMany { found: tree.nodes.len(), most });
    }
    let mut making = Making {
        shape,
        spare,
        numbers: Vec::new(),
        pages: 0,
        counts: NewFileSystem { name: "yaffs2", ..NewFileSystem::default() },
    };
    for index in 0..tree.nodes.len() {
        making.add(tree, index);
    }
    Ok(making.finish())
}

fn value(option: &'static str, found: &str, expected: &str) -> MakeError {
    MakeError::Value { option, found: found.replace(' ', ""), expected: expected.into() }
}

struct Making<'a> {
    shape: Shape,
    spare: &'a Spare,
    /// The numbers of all nodes; `None` for what is left out.
    numbers: Vec<Option<u32>>,
    /// Pages so far.
    pages: u64,
    counts: NewFileSystem,
}

impl Making<'_> {
    /// Programs the next page.
    fn chunk(&mut self, data: &[u8], tags: &Tags) {
        let block = u32::try_from(self.pages / self.shape.pages_per_block());
        let sequence = SEQUENCE_FIRST + 1 + block.expect("an image in memory has few blocks");
        let packed = Tags { sequence, ..*tags }.emit(ORDER);
        let code = TagsEcc::of(&packed).emit(ORDER);
        self.counts.bytes.extend_from_slice(data);
        self.counts.bytes.extend(self.spare.protect(data, &[&packed[..], &code].concat()));
        self.pages += 1;
    }

    /// Adds a name, and unless it is a further name all that its file has.
    fn add(&mut self, tree: &mut Tree, index: usize) {
        let number = u32::try_from(index).expect("the nodes were counted") + FIRST;
        let own = if index == 0 { ROOT } else { number };
        let node = &tree.nodes[index];
        let parent = self.numbers.get(node.parent).copied().flatten();
        // A further name leads to the file, whose first name may have been left out.
        let first = node.same.map(|same| self.numbers[same]);
        let fits = self.fits(tree, index);
        let (true, Some(parent)) =
            (fits && first != Some(None), parent.or((index == 0).then_some(0)))
        else {
            return self.numbers.push(None);
        };
        self.numbers.push(Some(first.flatten().unwrap_or(own)));
        if let Some(Some(target)) = first {
            self.counts.links += 1;
            let header = ObjectHeader {
                equivalent: Some(target),
                ..header_of(&tree.nodes[index], ObjectType::HardLink, parent)
            };
            return self.header(tree, index, own, &header);
        }
        self.object(tree, index, own, parent);
    }

    /// Notes what YAFFS2 has no place for.
    fn fits(&self, tree: &mut Tree, index: usize) -> bool {
        let node = &tree.nodes[index];
        let why = match node.kind {
            Kind::Character(device) | Kind::Block(device)
                if device.major > 0xFF || device.minor > 0xFF =>
            {
                Why::Device { major: device.major, minor: device.minor }
            }
            Kind::Symlink if node.target.len() > ALIAS_MAX => Why::Target(node.target.len()),
            _ => return true,
        };
        tree.leave_out(index, why);
        false
    }

    fn object(&mut self, tree: &mut Tree, index: usize, number: u32, parent: u32) {
        let node = &tree.nodes[index];
        let kind = match node.kind {
            Kind::Directory => ObjectType::Directory,
            Kind::File => ObjectType::File,
            Kind::Symlink => ObjectType::Symlink,
            _ => ObjectType::Special,
        };
        let mut header = header_of(node, kind, parent);
        match node.kind {
            Kind::Directory => self.counts.directories += 1,
            Kind::Symlink => {
                self.counts.symlinks += 1;
                header.alias = Some(node.target.clone());
            }
            Kind::File => return self.file(tree, index, number, header),
            Kind::Character(device) | Kind::Block(device) => {
                self.counts.special += 1;
                header.rdev = device.major << 8 | device.minor;
            }
            _ => self.counts.special += 1,
        }
        self.header(tree, index, number, &header);
    }

    fn file(&mut self, tree: &mut Tree, index: usize, number: u32, header: ObjectHeader) {
        let size_max = Bytes::new(u64::from(CHUNK_MAX)) * self.shape.page.get();
        let mut content = match Content::open(&tree.nodes[index].host) {
            Ok(content) if content.size <= size_max.get() => content,
            Ok(content) => return self.leave_out(tree, index, Why::Size(content.size)),
            Err(problem) => return self.leave_out(tree, index, Why::Unreadable(problem)),
        };
        self.counts.files += 1;
        self.counts.content += content.size;
        let header = ObjectHeader { size: Some(content.size), ..header };
        self.header(tree, index, number, &header);
        let size = content.size;
        let mut page = PendingPage { number: 0, data: vec![0; self.shape.page.to_usize()] };
        loop {
            match content.next() {
                Ok(None) => break,
                Ok(Some((block, bytes))) => {
                    let start = block * Bytes::new(BLOCK as u64).get();
                    self.bytes(number, size, &mut page, (start, bytes));
                }
                Err(why) => tree.leave_out(index, why),
            }
        }
        self.flush(number, size, &mut page);
    }

    /// Takes a block of content, which may be some pages or a part of one.
    fn bytes(
        &mut self,
        object: u32,
        size: u64,
        page: &mut PendingPage,
        (start, bytes): (u64, &[u8]),
    ) {
        let length = page.data.len();
        let mut at = start;
        for piece in bytes.chunks(length) {
            let number = at / self.shape.page.get();
            if page.number != number {
                self.flush(object, size, page);
                page.number = number;
            }
            let within = Bytes::new(at % self.shape.page.get()).to_usize();
            page.data[within..within + piece.len()].copy_from_slice(piece);
            at += Bytes::of(piece).get();
        }
    }

    /// Programs a page of content, unless it is a hole.
    fn flush(&mut self, object: u32, size: u64, page: &mut PendingPage) {
        if page.data.iter().all(|&byte| byte == 0) {
            return;
        }
        let chunk = u32::try_from(page.number + 1).expect("the size was checked");
        let left = size - page.number * self.shape.page.get();
        let bytes = u32::try_from(left.min(self.shape.page.get())).expect("a page at most");
        let tags = Tags { object, chunk, bytes, ..Tags::default() };
        self.chunk(&page.data, &tags);
        page.data.fill(0);
    }

    fn leave_out(&mut self, tree: &mut Tree, index: usize, why: Why) {
        self.numbers[index] = None;
        tree.leave_out(index, why);
    }

    /// Programs the header of an object, with its extended attributes behind it.
    fn header(&mut self, tree: &mut Tree, index: usize, object: u32, header: &ObjectHeader) {
        let mut data = vec![0xFF; self.shape.page.to_usize()];
        header.emit(&mut data, ORDER, true);
        let attributes = std::mem::take(&mut tree.nodes[index].attributes);
        for (name, value) in attributes {
            if xattr::set(&mut data[header::SIZE..], ORDER, &name, &value).is_err() {
                tree.leave_out(index, Why::NoRoom(name));
            }
        }
        let extra = Extra {
            kind: u8::try_from(header.kind).expect("one of five"),
            parent: header.parent,
            size: header.size.unwrap_or(0),
            equivalent: header.equivalent.unwrap_or(0),
            ..Extra::default()
        };
        self.chunk(&data, &Tags { object, extra: Some(extra), ..Tags::default() });
    }

    /// The dump, up to the end of its last block.
    fn finish(self) -> NewFileSystem {
        let Self { shape, mut counts, .. } = self;
        let blocks = self.pages.div_ceil(shape.pages_per_block());
        counts.bytes.resize((shape.raw_block() * blocks).to_usize(), 0xFF);
        let blocks = u32::try_from(blocks).expect("an image in memory has few blocks");
        (counts.leb_count, counts.volume_lebs) = (blocks, blocks);
        counts
    }
}

/// A page of content that is being filled; zeros are a hole.
struct PendingPage {
    /// Its number in the file.
    number: u64,
    data: Vec<u8>,
}

fn header_of(node: &Node, kind: ObjectType, parent: u32) -> ObjectHeader {
    let seconds = node.modified.seconds;
    ObjectHeader {
        kind: kind.number(),
        parent,
        name: node.name.clone(),
        mode: node.kind.mode_bits() | node.mode & 0o7777,
        uid: node.uid,
        gid: node.gid,
        // The other times change when the files are read or copied, and are of no use on a board.
        times: Times { accessed: seconds, modified: seconds, changed: seconds },
        ..ObjectHeader::default()
    }
}
