//! Images as `mkyaffs2image` writes them, and forged ones.

use boardlab_codec::ByteOrder;
use boardlab_yaffs2::format::header::Times;
use boardlab_yaffs2::format::{ObjectHeader, ObjectType, Tags, header, tags};

/// An image that is being made: tags at spare byte 0, one sequence number unless another is given.
#[derive(Debug, Clone)]
pub(crate) struct Maker {
    page: usize,
    oob: usize,
    order: ByteOrder,
    code: bool,
    pub(crate) sequence: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Maker {
    pub(crate) fn new(page: usize, oob: usize, order: ByteOrder, code: bool) -> Self {
        Self { page, oob, order, code, sequence: 0x1000, bytes: Vec::new() }
    }

    /// 2,048 + 64 bytes.
    pub(crate) fn usual() -> Self {
        Self::new(2_048, 64, ByteOrder::Little, true)
    }

    pub(crate) fn chunk(&mut self, data: &[u8], tags: &Tags) {
        let start = self.bytes.len();
        self.bytes.resize(start + self.page + self.oob, 0xFF);
        self.bytes[start..start + data.len()].copy_from_slice(data);
        let tags = Tags { sequence: self.sequence, ..*tags };
        let packed = tags::emit(&tags, self.order, self.code);
        let start = start + self.page;
        self.bytes[start..start + packed.len()].copy_from_slice(&packed);
    }

    pub(crate) fn header(&mut self, object: u32, header: &ObjectHeader) {
        let mut bytes = [0; header::SIZE];
        header.emit(&mut bytes, self.order, false);
        self.chunk(&bytes, &Tags { object, bytes: 0xFFFF, ..Tags::default() });
    }

    pub(crate) fn data(&mut self, object: u32, content: &[u8]) {
        for (chunk, piece) in (1..).zip(content.chunks(self.page)) {
            let bytes = u32::try_from(piece.len()).unwrap();
            self.chunk(piece, &Tags { object, chunk, bytes, ..Tags::default() });
        }
    }
}

/// The header of an object in a directory.
pub(crate) fn named(kind: ObjectType, parent: u32, name: &[u8]) -> ObjectHeader {
    let (mode, size) = match kind {
        ObjectType::File => (0o100_644, Some(0)),
        ObjectType::Directory => (0o040_755, None),
        ObjectType::Symlink => (0o120_777, None),
        _ => (0o020_600, None),
    };
    let seconds = 1_000_000_000;
    let times = Times { accessed: seconds, modified: seconds, changed: seconds };
    let kind = kind.number();
    ObjectHeader { kind, parent, name: name.to_vec(), mode, times, size, ..ObjectHeader::default() }
}

pub(crate) fn directory(parent: u32, name: &[u8]) -> ObjectHeader {
    named(ObjectType::Directory, parent, name)
}

pub(crate) fn file(parent: u32, name: &[u8], size: u64) -> ObjectHeader {
    ObjectHeader { size: Some(size), ..named(ObjectType::File, parent, name) }
}

pub(crate) fn link(parent: u32, name: &[u8], to: u32) -> ObjectHeader {
    ObjectHeader { equivalent: Some(to), ..named(ObjectType::HardLink, parent, name) }
}

/// The manifest of [`tree`].
pub(crate) const TREE: &str = "\
. d 0755 0 0 1 - 1000000000 - - - -
empty f 0644 0 0 1 0 1000000000 - - - 00000000
etc d 0755 0 0 1 - 1000000000 - - - -
etc/motd f 0644 7 8 2 45000 1000000000 - - - 8b2b49cf
hard f 0644 7 8 2 45000 1000000000 - - - 8b2b49cf
link l 0777 0 0 1 8 1000000000 - etc/motd - -
null c 0600 0 0 1 - 1000000000 1:3 - - -
";

/// An image of a few files.
pub(crate) fn tree(mut maker: Maker) -> Vec<u8> {
    maker.header(1, &directory(1, b""));
    maker.header(257, &directory(1, b"etc"));
    maker.header(258, &ObjectHeader { uid: 7, gid: 8, ..file(257, b"motd", 45_000) });
    maker.data(258, &b"welcome to the board\n".repeat(2_143)[..45_000]);
    let symlink = named(ObjectType::Symlink, 1, b"link");
    maker.header(259, &ObjectHeader { alias: Some(b"etc/motd".to_vec()), ..symlink });
    maker.header(260, &link(1, b"hard", 258));
    maker.header(261, &ObjectHeader { rdev: 0x103, ..named(ObjectType::Special, 1, b"null") });
    maker.header(262, &file(1, b"empty", 0));
    maker.bytes
}
