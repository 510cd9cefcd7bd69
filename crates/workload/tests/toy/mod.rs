//! A filesystem for tests of what takes any filesystem: `MemoryFs`, of which every sync writes a
//! copy on the flash.
//!
//! The flash is two halves, each a copy: blocks of content, and in the last page a head with
//! number, length and checksum. A sync writes the older half. A power cut therefore leaves the copy
//! before or the new one.

#![allow(dead_code, clippy::unwrap_used, reason = "tests: each uses a part of it")]

use boardlab_codec::crc32;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{
    Attributes, Device, Entry, Errno, Error, FileSystem, Ino, Kind, MemoryFs, NewInode, PAGE_SIZE,
    SetAttr, pass_on,
};
use std::collections::BTreeMap;

/// The first word of a head.
pub(crate) const MAGIC: u64 = 0x544F_5931;
const WORDS: usize = 4;

/// The mounted filesystem.
#[derive(Debug, Clone)]
pub(crate) struct Toy<D> {
    memory: MemoryFs,
    flash: D,
    /// Of the newest copy; its half is the lowest bit.
    number: u64,
    changed: bool,
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap()
}

impl<D: Mtd> Toy<D> {
    /// The newest copy; an empty filesystem where there is none.
    pub(crate) fn mount(clock: &mut Clock, mut flash: D) -> Result<Self, Error> {
        let mut heads: Vec<[u64; WORDS]> = (0..2)
            .filter_map(|half| head(&mut flash, clock, half).transpose())
            .collect::<Result<_, _>>()?;
        heads.sort_unstable_by_key(|[_, number, ..]| *number);
        let size = flash.geometry().size().get();
        let memory = MemoryFs::new().with_capacity(size / 4 / 4_096);
        let mut toy = Self { memory, flash, number: 0, changed: false };
        while let Some([_, number, length, checksum]) = heads.pop() {
            let mut copy = vec![0; to_usize(length)];
            let from = toy.start(number % 2);
            toy.flash.read(clock, from, &mut copy).map_err(wrong)?;
            if u64::from(crc32(0, &copy)) == checksum {
                toy.number = number;
                load(&mut toy.memory, clock, &copy)?;
                break;
            }
        }
        Ok(toy)
    }

    pub(crate) const fn flash(&self) -> &D {
        &self.flash
    }

    #[allow(dead_code, reason = "some users only look at it")]
    pub(crate) const fn flash_mut(&mut self) -> &mut D {
        &mut self.flash
    }

    pub(crate) fn into_flash(self) -> D {
        self.flash
    }

    fn start(&self, half: u64) -> Bytes {
        half_of(&self.flash) * half
    }

    fn write(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.changed {
            return Ok(());
        }
        let mut copy = Vec::new();
        save(&mut self.memory, clock, &mut copy)?;
        let number = self.number + 1;
        let geometry = self.flash.geometry();
        let (page, half) = (geometry.write_size.to_usize(), half_of(&self.flash));
        let blocks = geometry.block_count() / 2;
        let length = u64::try_from(copy.len()).unwrap();
        let head = [MAGIC, number, length, u64::from(crc32(0, &copy))];
        if copy.len() + page > half.to_usize() {
            return Err(Errno::NoSpc.into());
        }
        let first = blocks * u32::try_from(number % 2).unwrap();
        for block in first..first + blocks {
            self.flash.erase(clock, BlockIndex(block)).map_err(wrong)?;
        }
        copy.resize(copy.len().next_multiple_of(page), 0xFF);
        let from = self.start(number % 2);
        self.flash.program(clock, from, &copy).map_err(wrong)?;
        let mut last: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        last.resize(page, 0xFF);
        let at = from + half - Bytes::new(u64::try_from(page).unwrap());
        self.flash.program(clock, at, &last).map_err(wrong)?;
        (self.number, self.changed) = (number, false);
        Ok(())
    }
}

fn half_of(flash: &impl Mtd) -> Bytes {
    Bytes::new(flash.geometry().size().get() / 2)
}

fn wrong(error: boardlab_mtd::Error) -> Error {
    match error {
        boardlab_mtd::Error::PowerCut { at } => Error::PowerCut { at },
        error => Error::damaged(error),
    }
}

/// The head of a half, if it looks like one.
fn head(flash: &mut impl Mtd, clock: &mut Clock, half: u64) -> Result<Option<[u64; WORDS]>, Error> {
    let (size, page) = (half_of(flash), flash.geometry().write_size);
    let mut bytes = vec![0; page.to_usize()];
    if let Err(error) = flash.read(clock, size * (half + 1) - page, &mut bytes) {
        // A page that a power cut tore is no head.
        return if matches!(error, boardlab_mtd::Error::PowerCut { .. }) {
            Err(wrong(error))
        } else {
            Ok(None)
        };
    }
    let word =
        |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap());
    let words: [u64; WORDS] = std::array::from_fn(word);
    Ok((words[0] == MAGIC && words[2] <= size.get()).then_some(words))
}

fn put(copy: &mut Vec<u8>, bytes: &[u8]) {
    copy.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    copy.extend(bytes);
}

fn number(copy: &mut &[u8]) -> u64 {
    let (word, rest) = copy.split_first_chunk().unwrap();
    *copy = rest;
    u64::from_le_bytes(*word)
}

fn take<'c>(copy: &mut &'c [u8]) -> &'c [u8] {
    let (length, rest) = copy.split_first_chunk().unwrap();
    let (bytes, rest) = rest.split_at(to_usize(u64::from(u32::from_le_bytes(*length))));
    *copy = rest;
    bytes
}

/// Writes every name with its directory, and every inode behind the first of its names.
fn save(memory: &mut MemoryFs, clock: &mut Clock, copy: &mut Vec<u8>) -> Result<(), Error> {
    let (mut directories, mut seen) = (vec![memory.root()], BTreeMap::new());
    seen.insert(memory.root(), ());
    while let Some(dir) = directories.pop() {
        for Entry { name, ino, .. } in memory.readdir(clock, dir)? {
            let first = seen.insert(ino, ()).is_none();
            for word in [dir.0, ino.0, u64::from(first)] {
                copy.extend(word.to_le_bytes());
            }
            put(copy, &name);
            if first {
                node(memory, clock, copy, ino)?;
                if memory.getattr(clock, ino)?.kind == Kind::Directory {
                    directories.push(ino);
                }
            }
        }
    }
    Ok(())
}

fn node(
    memory: &mut MemoryFs,
    clock: &mut Clock,
    copy: &mut Vec<u8>,
    ino: Ino,
) -> Result<(), Error> {
    let Attributes { kind, mode, uid, gid, size, .. } = memory.getattr(clock, ino)?;
    let (major, minor) = match kind {
        Kind::Character(Device { major, minor }) | Kind::Block(Device { major, minor }) => {
            (major, minor)
        }
        _ => (0, 0),
    };
    let words = [kind.dirent_type().into(), mode, uid, gid, major, minor];
    for word in words.map(u64::from).into_iter().chain([size]) {
        copy.extend(word.to_le_bytes());
    }
    let mut content = Vec::new();
    match kind {
        Kind::File => {
            // Holes take no room.
            for page in 0..size.div_ceil(4_096) {
                let mut bytes = vec![0; PAGE_SIZE];
                memory.read_page(clock, ino, page, &mut bytes)?;
                if bytes.iter().any(|&byte| byte != 0) {
                    content.extend(page.to_le_bytes());
                    content.extend(bytes);
                }
            }
        }
        Kind::Symlink => content = memory.readlink(clock, ino)?,
        _ => {}
    }
    put(copy, &content);
    let names = memory.listxattr(clock, ino)?;
    copy.extend(u64::try_from(names.len()).unwrap().to_le_bytes());
    for name in names {
        put(copy, &name);
        put(copy, &memory.getxattr(clock, ino, &name)?);
    }
    Ok(())
}

fn load(memory: &mut MemoryFs, clock: &mut Clock, mut copy: &[u8]) -> Result<(), Error> {
    let copy = &mut copy;
    let root = memory.root();
    let mut made = BTreeMap::from([(root.0, root)]);
    while !copy.is_empty() {
        let [dir, ino, first] = [(); 3].map(|()| number(copy));
        let (dir, name) = (made[&dir], take(copy));
        if first == 0 {
            memory.link(clock, made[&ino], dir, name)?;
            continue;
        }
        let [kind, mode, uid, gid, major, minor, size] = [(); 7].map(|()| number(copy));
        let [mode, uid, gid, major, minor] =
            [mode, uid, gid, major, minor].map(|word| u32::try_from(word).unwrap());
        let device = Device { major, minor };
        let kinds = [
            Kind::File,
            Kind::Directory,
            Kind::Symlink,
            Kind::Fifo,
            Kind::Socket,
            Kind::Character(device),
            Kind::Block(device),
        ];
        let kind = kinds.into_iter().find(|one| u64::from(one.dirent_type()) == kind).unwrap();
        let content = take(copy);
        let target = if kind == Kind::Symlink { content } else { &[] };
        let new = memory.create(clock, dir, name, &NewInode { kind, mode, uid, gid, target })?;
        made.insert(ino, new);
        if kind == Kind::File {
            for piece in content.chunks(8 + PAGE_SIZE) {
                let (page, bytes) = (number(&mut &piece[..8]), &piece[8..]);
                let end = (size - page * 4_096).min(4_096);
                memory.write_page(clock, new, page, bytes, 0..to_usize(end))?;
            }
            let change = SetAttr { size: Some(size), ..SetAttr::default() };
            memory.setattr(clock, new, &change)?;
        }
        for _ in 0..number(copy) {
            let (name, value) = (take(copy), take(copy));
            memory.setxattr(clock, new, name, Some(value))?;
        }
    }
    Ok(())
}

macro_rules! memory {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.memory.$call($($argument),*) };
}

macro_rules! changing {
    ($this:ident, $call:ident($($argument:expr),*)) => {{
        $this.changed = true;
        $this.memory.$call($($argument),*)
    }};
}

impl<D: Mtd> FileSystem for Toy<D> {
    fn fsync(&mut self, clock: &mut Clock, _: Ino) -> Result<(), Error> {
        self.write(clock)
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write(clock)
    }

    fn background(&mut self, _: &mut Clock) -> Result<bool, Error> {
        Ok(false)
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write(clock)
    }

    pass_on! { memory:
        caching root lookup getattr readdir readlink read_page getxattr listxattr evict_inode
        statfs
    }

    pass_on! { changing:
        setattr create link unlink rmdir rename write_page setxattr
    }
}
