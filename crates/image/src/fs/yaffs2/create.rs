//! A YAFFS made of the files of a folder: a dump as Linux or mkyaffs2image leaves it, chunk after chunk.
//!
//! Layer: rank 7. Main function: [`create`]. Each object has one header, and a file has its data behind it. There
//! are neither summaries nor a checkpoint: the first mount scans all, and writes a checkpoint when it ends. A page
//! of zeros is a hole, unless the image is to be that of mkyaffs2image, whose headers have no extra information.

use crate::files::content::BLOCK;
use crate::files::tree::{Node, Tree};
use crate::files::why::Why;
use crate::files::{FlashFormat, MakeError, Movable, NewFileSystem, NewTags};
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_sim::Bytes;
use boardlab_vfs::Kind;
use boardlab_yaffs2::format::header::Times;
use boardlab_yaffs2::format::tags;
use boardlab_yaffs2::format::tags1::{self, Layout1};
use boardlab_yaffs2::format::{
    ALIAS_MAX, BLOCK_CHUNKS_MAX, ByteOrder, CHUNK_MAX, Extra, LOST_AND_FOUND as LOST, OBJECT_MAX,
    ObjectHeader, ObjectType, ROOT, SEQUENCE_FIRST, Tags, header, xattr,
};

/// The number of the first object that a program creates.
const FIRST: u32 = 257;
/// The folder of what lost its own.
const LOST_AND_FOUND: &[u8] = b"/lost+found";
/// The largest file whose holes are written out.
const WRITTEN_MAX: Bytes = Bytes::mib(1_024);
/// The count of bytes of a header without extra information.
const HEADER_BYTES: u32 = 0xFFFF;
/// Bytes of a page of YAFFS1.
const PAGE1: Bytes = Bytes::new(512);

/// Makes the filesystem. What it has no place for is noted in `tree`.
///
/// # Errors
/// [`MakeError::Value`], [`MakeError::Missing`], [`MakeError::Useless`], [`MakeError::TooMany`].
pub(super) fn create(tree: &mut Tree, format: &FlashFormat) -> Result<NewFileSystem, MakeError> {
    let FlashFormat { shape, order, .. } = *format;
    let place = Place::of(format)?;
    if format.blocks > 0 {
        let why = "YAFFS takes all blocks of the flash that it is written to";
        return Err(MakeError::Useless { option: "--max-blocks", why });
    }
    if format.compression.is_some() {
        let why = "YAFFS compresses nothing";
        return Err(MakeError::Useless { option: "--compression", why });
    }
    if shape.pages_per_block() > BLOCK_CHUNKS_MAX.into() {
        let expected = format!("{BLOCK_CHUNKS_MAX} pages at most");
        return Err(value("--block", &shape.block.to_string(), &expected));
    }
    let most = OBJECT_MAX - FIRST;
    if u32::try_from(tree.nodes.len()).map_or(true, |count| count > most) {
        return Err(MakeError::TooMany { found: tree.nodes.len(), most });
    }
    let name = if matches!(place, Place::Around) { "yaffs1" } else { "yaffs2" };
    let tail = if matches!(place, Place::InBand(_)) { tags::SIZE } else { 0 };
    let mut making = Making {
        shape,
        order,
        place,
        chunk: shape.page.to_usize() - tail,
        numbers: Vec::new(),
        pages: 0,
        counts: NewFileSystem {
            name,
            on_flash: true,
            implied: &[LOST_AND_FOUND],
            ..NewFileSystem::default()
        },
    };
    for index in 0..tree.nodes.len() {
        making.add(tree, index);
    }
    Ok(making.finish())
}

fn value(option: &'static str, found: &str, expected: &str) -> MakeError {
    MakeError::Value { option, found: found.replace(' ', ""), expected: expected.into() }
}

/// Where the tags of all pages lie.
#[derive(Debug)]
enum Place {
    /// YAFFS2: in the spare bytes that the ECC leaves free.
    Free(Spare),
    /// YAFFS2: from the first spare byte on.
    Start,
    /// YAFFS2: at the end of the page; an ECC of it in spare bytes, if there are any.
    InBand(Option<Spare>),
    /// YAFFS1: around the page status, with the codes of the data.
    Around,
}

impl Place {
    fn of(format: &FlashFormat) -> Result<Self, MakeError> {
        let FlashFormat { shape, ecc, tags, .. } = *format;
        let has_spare = !shape.oob.is_zero();
        if !has_spare && tags != NewTags::InBand {
            let why =
                "the tags of each page lie in its spare bytes, unless they are --tags in-band";
            return Err(MakeError::Missing { option: "--oob SIZE", why });
        }
        let oob = shape.oob.get().to_string();
        if shape.check().is_err() {
            return Err(value("--oob", &oob, "the spare bytes of a NAND page, such as 64"));
        }
        let useless = |option, why| Err(MakeError::Useless { option, why });
        let protected = Bytes::new(tags::PROTECTED as u64);
        match tags {
            NewTags::Free if shape.page == PAGE1 => {
                if ecc.is_some() {
                    return useless("--ecc", "YAFFS1 has a code of its own: 1 bit in 256 bytes");
                }
                if format.order == ByteOrder::Big {
                    let why =
                        "YAFFS1 of such a board has its bits in another order, which is not built";
                    return useless("--big-endian", why);
                }
                let fits = shape.oob == Bytes::new(tags1::SPARE as u64);
                if fits { Ok(Self::Around) } else { Err(value("--oob", &oob, "16 for YAFFS1")) }
            }
            _ if shape.page < Bytes::kib(1) => {
                let expected = "1 KiB or more, or 512 without --tags for YAFFS1";
                Err(value("--page", &shape.page.to_string(), expected))
            }
            NewTags::Free => {
                let spare = format.spare()?;
                if spare.available() < protected {
                    let expected = format!("{} bytes for the tags beside the ECC", protected.get());
                    return Err(value("--oob", &oob, &expected));
                }
                Ok(Self::Free(spare))
            }
            NewTags::Start if ecc.is_some() => {
                useless("--ecc", "mkyaffs2image writes none for the data")
            }
            NewTags::Start if shape.oob < protected => {
                Err(value("--oob", &oob, &format!("{} or more", protected.get())))
            }
            NewTags::Start => Ok(Self::Start),
            NewTags::InBand if has_spare => Ok(Self::InBand(Some(format.spare()?))),
            NewTags::InBand if ecc.is_some() => {
                useless("--ecc", "it lies in spare bytes: give --oob too")
            }
            NewTags::InBand => Ok(Self::InBand(None)),
        }
    }

    /// Whether it is to be the image that mkyaffs2image makes.
    const fn is_start(&self) -> bool {
        matches!(self, Self::Start)
    }
}

struct Making {
    shape: Shape,
    order: ByteOrder,
    place: Place,
    /// Data bytes of a chunk.
    chunk: usize,
    /// The numbers of all nodes; `None` for what is left out.
    numbers: Vec<Option<u32>>,
    /// Pages so far.
    pages: u64,
    counts: NewFileSystem,
}

impl Making {
    /// Programs the next page.
    fn chunk(&mut self, data: &[u8], tags: &Tags) {
        let block = u32::try_from(self.pages / self.shape.pages_per_block());
        // mkyaffs2image gives all blocks the first number.
        let number = if self.place.is_start() { Ok(0) } else { block.map(|block| block + 1) };
        let sequence = SEQUENCE_FIRST + number.expect("an image in memory has few blocks");
        let tags = Tags { sequence, ..*tags };
        let protected = tags::emit(&tags, self.order, true);
        let spare = match &self.place {
            Place::Free(spare) => spare.protect(data, &protected),
            Place::Start => {
                let mut spare = protected;
                spare.resize(self.shape.oob.to_usize(), 0xFF);
                spare
            }
            Place::InBand(spare) => {
                let packed = tags.emit(self.order);
                let oob = spare.as_ref().map(|spare| spare.protect(&[data, &packed].concat(), &[]));
                [packed.to_vec(), oob.unwrap_or_default()].concat()
            }
            Place::Around => {
                let mut spare = tags1::emit(&tags, self.order, Layout1::Around);
                tags1::protect(data, &mut spare);
                spare
            }
        };
        self.counts.bytes.extend_from_slice(data);
        self.counts.bytes.extend(spare);
        self.pages += 1;
    }

    /// Adds a name, and unless it is a further name all that its file has.
    fn add(&mut self, tree: &mut Tree, index: usize) {
        let number = u32::try_from(index).expect("the nodes were counted") + FIRST;
        let node = &tree.nodes[index];
        let own = match node.path.as_slice() {
            _ if index == 0 => ROOT,
            // Every YAFFS has this folder, by its own number.
            LOST_AND_FOUND if node.kind == Kind::Directory => LOST,
            _ => number,
        };
        let parent = self.numbers.get(node.parent).copied().flatten();
        // A further name leads to the file, whose first name may have been left out.
        let first = node.same.map(|same| self.numbers[same]);
        let fits = first.is_some() || self.fits(tree, index);
        let (true, Some(parent)) =
            (fits && first != Some(None), parent.or((index == 0).then_some(0)))
        else {
            if first == Some(None) {
                tree.leave_out(index, Why::First);
            }
            return self.numbers.push(None);
        };
        self.numbers.push(Some(first.flatten().unwrap_or(own)));
        if let Some(Some(target)) = first {
            self.counts.files.links += 1;
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
            Kind::Symlink if node.target.len() > ALIAS_MAX => {
                Why::Target { found: node.target.len(), most: ALIAS_MAX }
            }
            kind if node.path == LOST_AND_FOUND && kind != Kind::Directory => Why::Twice,
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
            Kind::File => return self.file(tree, index, number, header),
            Kind::Symlink => header.alias = Some(node.target.clone()),
            Kind::Character(device) | Kind::Block(device) => {
                header.rdev = device.major << 8 | device.minor;
            }
            _ => {}
        }
        self.counts.files.add(node.kind);
        self.header(tree, index, number, &header);
    }

    /// The largest file.
    fn size_max(&self) -> Bytes {
        let of = |chunks: u32| Bytes::new(u64::from(chunks)) * self.chunk as u64;
        match self.place {
            Place::Around => of(tags1::CHUNK_MAX),
            Place::Start => of(CHUNK_MAX).min(WRITTEN_MAX),
            Place::Free(_) | Place::InBand(_) => of(CHUNK_MAX),
        }
    }

    fn file(&mut self, tree: &mut Tree, index: usize, number: u32, header: ObjectHeader) {
        let size_max = self.size_max();
        let mut content = match tree.content(index) {
            Ok(content) if content.size <= size_max.get() => content,
            Ok(content) => return self.leave_out(tree, index, Why::Size(content.size)),
            Err(why) => return self.leave_out(tree, index, why),
        };
        self.counts.files.add(Kind::File);
        self.counts.files.content += content.size;
        let header = ObjectHeader { size: Some(content.size), ..header };
        self.header(tree, index, number, &header);
        let size = content.size;
        let mut page = PendingPage { number: 0, data: vec![0; self.chunk], end: 0 };
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
        // YAFFS1 takes the end of the data for the size, and what reads images of mkyaffs2image counts the chunks.
        let pages = size.div_ceil(self.chunk as u64);
        if matches!(self.place, Place::Around | Place::Start) && page.end < pages {
            page.number = pages - 1;
            self.program(number, size, &mut page);
        }
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
        let (mut at, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let (number, within) = (at / length as u64, Bytes::new(at % length as u64).to_usize());
            if page.number != number {
                self.flush(object, size, page);
                page.number = number;
            }
            let (piece, more) = rest.split_at(rest.len().min(length - within));
            page.data[within..within + piece.len()].copy_from_slice(piece);
            (at, rest) = (at + Bytes::of(piece).get(), more);
        }
    }

    /// Programs a page of content, unless it is a hole.
    fn flush(&mut self, object: u32, size: u64, page: &mut PendingPage) {
        if page.data.iter().any(|&byte| byte != 0) {
            self.program(object, size, page);
        }
    }

    /// Programs a page of content; as mkyaffs2image does, behind the hole before it.
    fn program(&mut self, object: u32, size: u64, page: &mut PendingPage) {
        if self.place.is_start() {
            let zeros = vec![0; self.chunk];
            (page.end..page.number).for_each(|hole| self.content(object, size, (hole, &zeros)));
        }
        self.content(object, size, (page.number, &page.data));
        page.data.fill(0);
        page.end = page.number + 1;
    }

    fn content(&mut self, object: u32, size: u64, (number, data): (u64, &[u8])) {
        let chunk = u32::try_from(number + 1).expect("the size was checked");
        let chunk_bytes = self.chunk as u64;
        let left = size - number * chunk_bytes;
        let bytes = u32::try_from(left.min(chunk_bytes)).expect("a page at most");
        self.chunk(data, &Tags { object, chunk, bytes, ..Tags::default() });
    }

    fn leave_out(&mut self, tree: &mut Tree, index: usize, why: Why) {
        self.numbers[index] = None;
        tree.leave_out(index, why);
    }

    /// Programs the header of an object, with its extended attributes behind it.
    fn header(&mut self, tree: &mut Tree, index: usize, object: u32, header: &ObjectHeader) {
        let mut data = vec![0xFF; self.chunk];
        header.emit(&mut data, self.order, true);
        let attributes = std::mem::take(&mut tree.nodes[index].attributes);
        for (name, value) in attributes {
            if xattr::set(&mut data[header::SIZE..], self.order, &name, &value).is_err() {
                tree.leave_out(index, Why::NoRoom(name));
            } else {
                tree.nodes[index].attributes.push((name, value));
            }
        }
        let extra = Extra {
            kind: u8::try_from(header.kind).expect("one of five"),
            parent: header.parent,
            size: header.size.unwrap_or(0),
            equivalent: header.equivalent.unwrap_or(0),
            ..Extra::default()
        };
        let extra = (!self.place.is_start()).then_some(extra);
        // Without that, a header says that it has as many bytes as there can be.
        let bytes = if extra.is_some() { 0 } else { HEADER_BYTES };
        self.chunk(&data, &Tags { object, bytes, extra, ..Tags::default() });
    }

    /// The dump, up to the end of its last block.
    fn finish(self) -> NewFileSystem {
        let (shape, mut counts) = (self.shape, self.counts);
        let blocks = self.pages.div_ceil(shape.pages_per_block());
        counts.bytes.resize((shape.raw_block() * blocks).to_usize(), 0xFF);
        let blocks = u32::try_from(blocks).expect("an image in memory has few blocks");
        (counts.leb_count, counts.volume_lebs) = (blocks, blocks);
        if self.place.is_start() {
            counts.movable = Movable::Unmarked(
                "with --tags start the spare bytes of the image are not those of the flash",
            );
        }
        counts
    }
}

/// A page of content that is being filled; zeros are a hole.
struct PendingPage {
    /// Its number in the file.
    number: u64,
    data: Vec<u8>,
    /// The page behind the last one that was programmed.
    end: u64,
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
