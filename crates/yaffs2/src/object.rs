//! Objects in memory: files, directories, links and special files, and the directories that hold them.
//!
//! Layer: rank 5. Main types: [`Object`], [`Slot`], its place in [`Objects`]. The order of a directory and of
//! a hash bucket decides what is read first and what a checkpoint holds, so both are lists as in YAFFS, with
//! the newest at the head. Source: `struct yaffs_obj` in `core/yaffs_guts.h`, `core/yaffs_guts.c`.

use crate::format::header::Times;
use crate::format::{OBJECT_MAX, ObjectType, to_u32, to_usize};
use crate::layout::Chunk;
use crate::tree::Tree;

/// Hash buckets.
const BUCKETS: u32 = 256;
/// Bytes of the longest name that is kept in memory.
const SHORT_NAME: usize = 15;

/// The place of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// What an object is, with what it has of its own.
#[derive(Debug, Clone)]
pub(crate) enum Variant {
    Unknown,
    File(FileState),
    Symlink {
        /// `None` until it is read.
        target: Option<Vec<u8>>,
    },
    Directory {
        /// The newest child.
        first: Option<Slot>,
        /// Whether its times wait to be written.
        waiting: bool,
    },
    HardLink {
        /// The object that it leads to, once that is known.
        target: Option<Slot>,
        /// Its number.
        number: u32,
    },
    Special,
}

/// The content of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileState {
    /// The size, with what is in the cache.
    pub(crate) size: u64,
    /// The size on the flash.
    pub(crate) stored_size: u64,
    /// During a scan: older data beyond it are void.
    pub(crate) shrink_size: u64,
    pub(crate) tree: Tree,
}

impl Variant {
    pub(crate) const fn kind(&self) -> ObjectType {
        match self {
            Self::Unknown => ObjectType::Unknown,
            Self::File(_) => ObjectType::File,
            Self::Symlink { .. } => ObjectType::Symlink,
            Self::Directory { .. } => ObjectType::Directory,
            Self::HardLink { .. } => ObjectType::HardLink,
            Self::Special => ObjectType::Special,
        }
    }
}

/// An object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// Its number.
    pub(crate) id: u32,
    pub(crate) variant: Variant,
    /// The directory, and its neighbours in there.
    pub(crate) parent: Option<Slot>,
    newer: Option<Slot>,
    older: Option<Slot>,
    /// The hard links to it, the newest last.
    pub(crate) links: Vec<Slot>,
    /// The chunk of its header; 0 for none.
    pub(crate) header: Chunk,
    /// Chunks of data.
    pub(crate) data_chunks: i32,
    /// Which of two headers is newer, on YAFFS1.
    pub(crate) serial: u8,
    /// Whether its data are being thrown away.
    pub(crate) deleted: bool,
    /// Whether they are thrown away as their blocks are collected.
    pub(crate) soft_deleted: bool,
    /// Whether it has no name any more.
    pub(crate) unlinked: bool,
    /// Whether it may be on no flash.
    pub(crate) fake: bool,
    pub(crate) rename_allowed: bool,
    pub(crate) unlink_allowed: bool,
    /// Whether its header is to be written.
    pub(crate) dirty: bool,
    /// Whether a scan saw its header.
    pub(crate) valid: bool,
    /// Whether name and attributes are to be read from its header.
    pub(crate) lazy: bool,
    /// Whether another object takes its place.
    pub(crate) shadowed: bool,
    /// Whether it is deleted as soon as nobody has it.
    pub(crate) free_later: bool,
    /// Whether something above has it in memory (`my_inode`).
    pub(crate) in_use: bool,
    /// Whether it has extended attributes, once that is known.
    pub(crate) has_xattr: Option<bool>,
    /// A sum over the name that tells most names apart.
    pub(crate) name_sum: u16,
    /// The name, if it is short.
    pub(crate) short_name: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) times: Times,
    pub(crate) rdev: u32,
}

impl Object {
    pub(crate) fn new(id: u32, variant: Variant) -> Self {
        Self {
            id,
            variant,
            parent: None,
            newer: None,
            older: None,
            links: Vec::new(),
            header: 0,
            data_chunks: 0,
            serial: 0,
            deleted: false,
            soft_deleted: false,
            unlinked: false,
            fake: false,
            rename_allowed: true,
            unlink_allowed: true,
            dirty: false,
            valid: false,
            lazy: false,
            shadowed: false,
            free_later: false,
            in_use: false,
            has_xattr: None,
            name_sum: 0,
            short_name: Vec::new(),
            mode: 0,
            uid: 0,
            gid: 0,
            times: Times::default(),
            rdev: 0,
        }
    }

    pub(crate) const fn kind(&self) -> ObjectType {
        self.variant.kind()
    }

    pub(crate) const fn file(&self) -> Option<&FileState> {
        match &self.variant {
            Variant::File(file) => Some(file),
            _ => None,
        }
    }

    pub(crate) const fn file_mut(&mut self) -> Option<&mut FileState> {
        match &mut self.variant {
            Variant::File(file) => Some(file),
            _ => None,
        }
    }

    /// Sets the name in memory; a long one is read from the flash each time.
    pub(crate) fn set_name(&mut self, name: &[u8]) {
        let made;
        let name = if name.is_empty() {
            made = self.made_up_name();
            &made[..]
        } else {
            name
        };
        let short = name.len() <= SHORT_NAME;
        self.short_name = if short { name.to_vec() } else { Vec::new() };
        self.name_sum = name_sum(name);
    }

    /// The name of an object that has none.
    pub(crate) fn made_up_name(&self) -> Vec<u8> {
        format!("obj{}", self.id).into_bytes()
    }
}

/// The sum over a name, in which upper and lower case are equal.
pub(crate) fn name_sum(name: &[u8]) -> u16 {
    let counted = (1_u16..127).zip(name);
    counted.fold(0, |sum, (at, &byte)| sum.wrapping_add(u16::from(byte & 0x1F).wrapping_mul(at)))
}

/// All objects.
#[derive(Debug, Clone)]
pub(crate) struct Objects {
    list: Vec<Option<Object>>,
    free: Vec<Slot>,
    /// The place of each number, one more than it; 0 for none.
    by_id: Vec<u32>,
    /// The newest last.
    buckets: Vec<Vec<Slot>>,
    /// The bucket that the last new number is of.
    finder: u32,
    count: u32,
}

impl Objects {
    pub(crate) fn new() -> Self {
        Self {
            list: Vec::new(),
            free: Vec::new(),
            by_id: Vec::new(),
            buckets: vec![Vec::new(); to_usize(BUCKETS)],
            finder: 0,
            count: 0,
        }
    }

    /// Forgets all objects but the number that the next one gets.
    pub(crate) fn reset(&mut self) {
        *self = Self { finder: self.finder, ..Self::new() };
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn get(&self, slot: Slot) -> &Object {
        self.list[to_usize(slot.0)].as_ref().expect("a slot names an object until it is removed")
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut Object {
        self.list[to_usize(slot.0)].as_mut().expect("a slot names an object until it is removed")
    }

    pub(crate) fn try_get(&self, slot: Slot) -> Option<&Object> {
        self.list.get(to_usize(slot.0))?.as_ref()
    }

    /// The object with a number, unless it waits to be freed.
    pub(crate) fn find(&self, id: u32) -> Option<Slot> {
        let place = self.by_id.get(to_usize(id)).copied().filter(|&place| place > 0)?;
        Some(Slot(place - 1)).filter(|&slot| !self.get(slot).free_later)
    }

    fn bucket(id: u32) -> usize {
        to_usize(id % BUCKETS)
    }

    /// A number that no object has: of a bucket with few objects.
    pub(crate) fn new_id(&mut self) -> Option<u32> {
        let (mut chosen, mut lowest) = (0, usize::MAX);
        for _ in 0..10 {
            if lowest <= 4 {
                break;
            }
            self.finder = (self.finder + 1) % BUCKETS;
            let length = self.buckets[to_usize(self.finder)].len();
            if length < lowest {
                (chosen, lowest) = (self.finder, length);
            }
        }
        let taken = |id: u32| self.by_id.get(to_usize(id)).is_some_and(|&place| place > 0);
        (1..)
            .map(|round| chosen + round * BUCKETS)
            .take_while(|&id| id <= OBJECT_MAX)
            .find(|&id| !taken(id))
    }

    pub(crate) fn insert(&mut self, object: Object) -> Slot {
        let id = object.id;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.list.push(None);
            Slot(to_u32(self.list.len() - 1))
        });
        self.list[to_usize(slot.0)] = Some(object);
        if self.by_id.len() <= to_usize(id) {
            self.by_id.resize(to_usize(id) + 1, 0);
        }
        self.by_id[to_usize(id)] = slot.0 + 1;
        self.buckets[Self::bucket(id)].push(slot);
        self.count += 1;
        slot
    }

    /// Removes an object that is in no directory.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let Some(object) = self.list[to_usize(slot.0)].take() else { return };
        self.by_id[to_usize(object.id)] = 0;
        let bucket = &mut self.buckets[Self::bucket(object.id)];
        bucket.retain(|&other| other != slot);
        self.free.push(slot);
        self.count -= 1;
    }

    /// All objects by bucket, the newest of each first.
    pub(crate) fn in_buckets(&self) -> Vec<Slot> {
        self.buckets.iter().flat_map(|bucket| bucket.iter().rev()).copied().collect()
    }

    /// All objects, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &Object)> {
        (0..).map(Slot).zip(&self.list).filter_map(|(slot, object)| Some((slot, object.as_ref()?)))
    }

    /// The newest child of a directory.
    pub(crate) fn first_child(&self, dir: Slot) -> Option<Slot> {
        match self.get(dir).variant {
            Variant::Directory { first, .. } => first,
            _ => None,
        }
    }

    /// The child that is older than `child`.
    pub(crate) fn next_child(&self, child: Slot) -> Option<Slot> {
        self.get(child).older
    }

    /// The children of a directory, the newest first.
    pub(crate) fn children(&self, dir: Slot) -> impl Iterator<Item = Slot> + '_ {
        let mut next = self.first_child(dir);
        std::iter::from_fn(move || {
            let child = next?;
            next = self.next_child(child);
            Some(child)
        })
    }

    pub(crate) fn is_directory(&self, slot: Slot) -> bool {
        self.get(slot).kind() == ObjectType::Directory
    }

    /// Takes an object out of its directory.
    pub(crate) fn leave_directory(&mut self, child: Slot) {
        let (parent, newer, older) = {
            let object = self.get_mut(child);
            (object.parent.take(), object.newer.take(), object.older.take())
        };
        if let Some(older) = older {
            self.get_mut(older).newer = newer;
        }
        match (newer, parent) {
            (Some(newer), _) => self.get_mut(newer).older = older,
            (None, Some(parent)) => {
                if let Variant::Directory { first, .. } = &mut self.get_mut(parent).variant
                    && *first == Some(child)
                {
                    *first = older;
                }
            }
            (None, None) => {}
        }
    }

    /// Puts an object into a directory as its newest child.
    pub(crate) fn enter_directory(&mut self, dir: Slot, child: Slot) {
        self.leave_directory(child);
        let Variant::Directory { first, .. } = &mut self.get_mut(dir).variant else {
            unreachable!("objects enter directories only");
        };
        let older = first.replace(child);
        if let Some(older) = older {
            self.get_mut(older).newer = Some(child);
        }
        let object = self.get_mut(child);
        (object.parent, object.older) = (Some(dir), older);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Variant {
        Variant::Directory { first: None, waiting: false }
    }

    #[test]
    fn the_first_numbers_are_those_of_yaffs() {
        let mut objects = Objects::new();
        assert_eq!(objects.new_id(), Some(257));
        assert_eq!(objects.new_id(), Some(258));
        objects.insert(Object::new(259, directory()));
        assert_eq!(objects.new_id(), Some(515));
    }

    #[test]
    fn directories_list_the_newest_first() {
        let mut objects = Objects::new();
        let dir = objects.insert(Object::new(1, directory()));
        let children: Vec<Slot> =
            (10..14).map(|id| objects.insert(Object::new(id, Variant::Special))).collect();
        for &child in &children {
            objects.enter_directory(dir, child);
        }
        objects.leave_directory(children[1]);
        objects.enter_directory(dir, children[0]);
        objects.leave_directory(children[3]);
        let ids: Vec<u32> = objects.children(dir).map(|child| objects.get(child).id).collect();
        assert_eq!(ids, [10, 12]);
        objects.leave_directory(children[0]);
        objects.remove(children[0]);
        assert_eq!((objects.find(10), objects.count()), (None, 4));
    }

    #[test]
    fn sums_ignore_the_case_and_end_after_126_bytes() {
        assert_eq!(name_sum(b"aB"), 1 + 2 * 2);
        assert_eq!(name_sum(b"AB"), name_sum(b"ab"));
        assert_eq!(name_sum(&[b'a'; 200]), (1..127).sum::<u16>());
    }
}
