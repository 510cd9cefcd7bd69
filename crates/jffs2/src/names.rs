//! All directory entries of a flash, during a mount.
//!
//! Layer: rank 5. Main types: [`DirentTable`], [`ScannedDirent`]. The table serves to count the names
//! of every inode and is dropped after the mount; an open directory reads its entries again. The kernel
//! keeps a list per directory and compares every new name with all of them. Here a hash table finds an
//! equal name at once, so that a directory of 100,000 names does not take 5,000,000,000 comparisons.
//!
//! Source: Linux 6.1, `jffs2_add_fd_to_list` and `scan_dents` of `fs/jffs2/nodelist.c`.

use crate::block::NodeId;
use crate::format::to_usize;
use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::Hasher;

/// A directory entry without its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScannedDirent {
    /// The directory, by slot.
    pub(crate) directory: u32,
    /// Its version.
    pub(crate) version: u32,
    /// The inode; 0 when the name was removed.
    pub(crate) ino: u32,
    /// The type byte (`DT_*`).
    pub(crate) kind: u8,
    /// Its node.
    pub(crate) node: NodeId,
}

/// All directory entries, the newest of each name.
#[derive(Debug, Default)]
pub(crate) struct DirentTable {
    entries: Vec<HashedDirent>,
    text: Vec<u8>,
    by_hash: HashMap<u64, u32>,
}

/// An entry and the place of its name. The fields are those of [`ScannedDirent`], flattened to use
/// less memory.
#[derive(Debug, Clone, Copy)]
struct HashedDirent {
    node: NodeId,
    directory: u32,
    version: u32,
    ino: u32,
    start: u32,
    /// The next entry of the same hash; [`END`] when there is none.
    next: u32,
    kind: u8,
    length: u8,
}

impl HashedDirent {
    const fn name(&self) -> ScannedDirent {
        let Self { node, directory, version, ino, kind, .. } = *self;
        ScannedDirent { directory, version, ino, kind, node }
    }

    const fn replace(&mut self, name: ScannedDirent) {
        (self.version, self.ino) = (name.version, name.ino);
        (self.kind, self.node) = (name.kind, name.node);
    }
}

const END: u32 = u32::MAX;

impl DirentTable {
    /// Adds an entry. Of two entries of one name in a directory the older is dropped, of two with
    /// equal versions the former; its node, which is obsolete now, is returned.
    pub(crate) fn add(&mut self, text: &[u8], name: ScannedDirent) -> Option<NodeId> {
        let new = u32::try_from(self.entries.len()).expect("fewer entries than bytes of a flash");
        let next = match self.by_hash.entry(hash(name.directory, text)) {
            Entry::Vacant(vacant) => {
                vacant.insert(new);
                END
            }
            Entry::Occupied(mut occupied) => {
                if let Some(held) = same(&self.entries, &self.text, *occupied.get(), text, name) {
                    let held = &mut self.entries[to_usize(held)];
                    let before = held.name();
                    if name.version < before.version {
                        return Some(name.node);
                    }
                    held.replace(name);
                    return Some(before.node);
                }
                occupied.insert(new)
            }
        };
        let start = u32::try_from(self.text.len()).expect("names are fewer than 4 GiB");
        let length = u8::try_from(text.len()).expect("a name has at most 255 bytes");
        self.text.extend_from_slice(text);
        let ScannedDirent { directory, version, ino, kind, node } = name;
        self.entries.push(HashedDirent {
            node,
            directory,
            version,
            ino,
            start,
            next,
            kind,
            length,
        });
        None
    }

    /// Groups all entries by directory.
    pub(crate) fn by_directory(self) -> DirentsByDirectory {
        let mut entries = self.entries;
        entries.sort_unstable_by_key(|held| (held.directory, held.node));
        DirentsByDirectory { entries, text: self.text }
    }
}

/// All directory entries, grouped by directory.
#[derive(Debug)]
pub(crate) struct DirentsByDirectory {
    entries: Vec<HashedDirent>,
    text: Vec<u8>,
}

impl DirentsByDirectory {
    /// All entries, including those of removed names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ScannedDirent> + '_ {
        self.entries.iter().map(HashedDirent::name)
    }

    /// The entries of a directory.
    pub(crate) fn of(&self, directory: u32) -> impl Iterator<Item = ScannedDirent> + '_ {
        let first = self.entries.partition_point(|held| held.directory < directory);
        let rest = self.entries[first..].iter();
        rest.take_while(move |held| held.directory == directory).map(HashedDirent::name)
    }

    /// The number of entries.
    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// An entry by its number.
    pub(crate) fn get(&self, number: usize) -> ScannedDirent {
        self.entries[number].name()
    }

    /// The name of an entry.
    pub(crate) fn text(&self, number: usize) -> &[u8] {
        let held = &self.entries[number];
        let start = to_usize(held.start);
        &self.text[start..start + usize::from(held.length)]
    }

    /// Replaces an entry by another of the same name and directory.
    pub(crate) fn replace(&mut self, number: usize, name: ScannedDirent) {
        self.entries[number].replace(name);
    }
}

/// The entry of this name in the chain that begins with `first`.
fn same(
    entries: &[HashedDirent],
    text: &[u8],
    first: u32,
    wanted: &[u8],
    name: ScannedDirent,
) -> Option<u32> {
    let mut at = first;
    while at != END {
        let held = &entries[to_usize(at)];
        let start = to_usize(held.start);
        let there = &text[start..start + usize::from(held.length)];
        if held.directory == name.directory && there == wanted {
            return Some(at);
        }
        at = held.next;
    }
    None
}

/// A hash that is safe against deliberate collisions.
fn hash(directory: u32, text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u32(directory);
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Blocks, NodeState, Owner};
    use boardlab_mtd::BlockIndex;

    fn name(blocks: &mut Blocks, directory: u32, version: u32) -> ScannedDirent {
        let node = blocks.link(BlockIndex(0), 40, NodeState::Pristine, Owner::Nobody, None);
        ScannedDirent { directory, version, ino: version, kind: 8, node }
    }

    #[test]
    fn the_newest_entry_of_a_name_is_kept() {
        let mut blocks = Blocks::new(1, 4096);
        let [old, new, other] = [(1, 3), (1, 7), (2, 5)].map(|(d, v)| name(&mut blocks, d, v));
        let mut names = DirentTable::default();
        assert_eq!(names.add(b"a", old), None);
        assert_eq!(names.add(b"a", other), None);
        assert_eq!(names.add(b"a", new), Some(old.node));
        assert_eq!(names.add(b"a", old), Some(old.node));
        assert_eq!(names.add(b"b", old), None);
        let kept: Vec<_> = names.by_directory().iter().map(|name| name.version).collect();
        assert_eq!(kept, [3, 7, 5]);
    }
}
