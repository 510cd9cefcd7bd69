//! Where files were: the last name of each inode, living or not, and when it was removed.
//!
//! Layer: rank 7. Main type: [`Names`].

use super::FormerName;
use std::collections::{BTreeSet, HashMap};

/// The last names of inodes.
pub(super) struct Names<'a> {
    all: &'a [FormerName],
    /// The number of the last name of each inode.
    last: HashMap<u64, usize>,
    /// The numbers of all names of a directory of one text, from the oldest.
    alike: HashMap<(u64, &'a [u8]), Vec<usize>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(all: &'a [FormerName], living: &BTreeSet<u64>) -> Self {
        let mut alike: HashMap<(u64, &[u8]), Vec<usize>> = HashMap::new();
        for (number, name) in all.iter().enumerate() {
            alike.entry((name.parent, &name.name)).or_default().push(number);
        }
        for numbers in alike.values_mut() {
            numbers.sort_by_key(|&number| (all[number].version, number));
        }
        let mut last: HashMap<u64, usize> = HashMap::new();
        for (number, name) in all.iter().enumerate() {
            let Some(ino) = name.ino else { continue };
            // A living file has the names that hold now.
            if living.contains(&ino) {
                let mut now = alike[&(name.parent, &name.name[..])].iter().rev();
                if now.find(|&&one| !all[one].is_obsolete) != Some(&number) {
                    continue;
                }
            }
            let before = last.entry(ino).or_insert(number);
            if is_newer(name, &all[*before]) {
                *before = number;
            }
        }
        Self { all, last, alike }
    }

    /// The last name of an inode.
    pub(super) fn last(&self, ino: u64) -> Option<&'a FormerName> {
        self.last.get(&ino).map(|&number| &self.all[number])
    }

    /// The inodes with a name.
    pub(super) fn inodes(&self) -> impl Iterator<Item = u64> + '_ {
        self.last.keys().copied()
    }

    /// When the last name of an inode was removed or given to another one, where that is known.
    pub(super) fn removed(&self, ino: u64) -> Option<i64> {
        let name = self.last(ino)?;
        let alike = &self.alike[&(name.parent, &name.name[..])];
        let later = alike.iter().map(|&number| &self.all[number]);
        let mut later = later.filter(|one| one.version > name.version && one.ino != Some(ino));
        later.next()?.time
    }
}

/// Versions are counted by directory.
fn is_newer(one: &FormerName, other: &FormerName) -> bool {
    if one.parent == other.parent {
        return one.version > other.version;
    }
    (one.time, one.version) > (other.time, other.version)
}
