//! Blocks that are in memory, and words of blocks that differ from those on flash.
//!
//! Layer: rank 5. Main types: [`Nodes`], the blocks of pointers, inodes, directories, links and the segment
//! file; [`Aliases`], the words that changed. A pointer that changes is not written at once: its word is an
//! alias, which the journal has until the block is written again.
//!
//! Source: Linux 3.12, `struct logfs_block` in `fs/logfs/logfs.h`, and what uses it in `readwrite.c` and
//! `segment.c`.

use crate::format::{BlockId, POINTERS};
use crate::transaction::Transaction;
use boardlab_vfs::LruMap;
use std::collections::BTreeMap;

/// The blocks in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes(LruMap<BlockId, Box<[u8]>>);

impl Nodes {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, id: BlockId) -> bool {
        self.0.contains(id)
    }

    pub(crate) fn get(&self, id: BlockId) -> Option<&[u8]> {
        self.0.peek(id).map(|bytes| &**bytes)
    }

    /// The bytes of a block, which is then the most recently used one.
    pub(crate) fn touch(&mut self, id: BlockId) -> Option<&mut [u8]> {
        self.0.get(id).map(|bytes| &mut **bytes)
    }

    pub(crate) fn insert(&mut self, id: BlockId, bytes: Box<[u8]>) {
        self.0.insert(id, bytes);
    }

    pub(crate) fn remove(&mut self, id: BlockId) -> Option<Box<[u8]>> {
        self.0.remove(id)
    }

    /// The blocks of an inode.
    pub(crate) fn of_inode(&self, ino: u64) -> Vec<BlockId> {
        let first = BlockId { ino, level: 0, index: 0 };
        let end = BlockId { ino: ino + 1, level: 0, index: 0 };
        self.0.keys_within(first..end).collect()
    }

    /// Forgets the blocks that were not used for the longest time, until `limit` are left. One with changed words
    /// stays, and counts as used now.
    pub(crate) fn trim(&mut self, limit: usize, aliases: &Aliases) {
        for _ in 0..self.len() {
            if self.len() <= limit {
                return;
            }
            let Some(id) = self.0.oldest() else { return };
            if aliases.is_in_node(id) {
                self.0.get(id);
            } else {
                self.0.remove(id);
            }
        }
    }

    /// A word of a block.
    pub(crate) fn word(&self, id: BlockId, word: usize) -> Option<u64> {
        word_of(self.get(id)?, word)
    }

    /// Sets a word of a block that is in memory.
    pub(crate) fn set_word(&mut self, id: BlockId, word: usize, value: u64) {
        if let Some(field) = self.touch(id).and_then(|bytes| bytes.get_mut(word * 8..word * 8 + 8))
        {
            field.copy_from_slice(&value.to_be_bytes());
        }
    }
}

/// A word of the bytes of a block.
pub(crate) fn word_of(bytes: &[u8], word: usize) -> Option<u64> {
    let bytes = bytes.get(word * 8..word * 8 + 8)?;
    Some(u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
}

/// Where the values of the words are that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the inode in memory.
    Inode,
    /// In the block in memory.
    Node,
    /// Here, the first last: the block is not in memory.
    Here(Vec<(u16, u64)>),
}

/// The words of a block that changed.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    words: [u64; POINTERS / 64],
    pub(crate) home: Home,
    /// Its place in the order in which blocks changed last.
    turn: Option<u64>,
    /// What to do when the inode in this block is written.
    pub(crate) transaction: Option<Transaction>,
}

impl Changed {
    const fn new(home: Home) -> Self {
        Self { words: [0; POINTERS / 64], home, turn: None, transaction: None }
    }

    /// The numbers of the words, ascending.
    pub(crate) fn words(&self) -> impl Iterator<Item = u16> + use<> {
        let all = (0..).step_by(64).zip(self.words);
        all.flat_map(|(first, mut bits): (u16, u64)| {
            std::iter::from_fn(move || {
                let bit = u16::try_from(bits.trailing_zeros()).ok().filter(|_| bits != 0)?;
                bits &= bits - 1;
                Some(first + bit)
            })
        })
    }

    fn count(&self) -> usize {
        self.words.iter().map(|bits| usize::try_from(bits.count_ones()).expect("at most 64")).sum()
    }

    /// Notes a word; false when it was noted before.
    fn set(&mut self, word: u16) -> bool {
        let (bits, bit) = (&mut self.words[usize::from(word) / 64], 1 << (word % 64));
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }
}

/// The words of blocks that differ from those on flash.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aliases {
    map: BTreeMap<BlockId, Changed>,
    order: BTreeMap<u64, BlockId>,
    turn: u64,
    /// How many words there are.
    pub(crate) count: usize,
}

impl Aliases {
    pub(crate) fn get(&self, id: BlockId) -> Option<&Changed> {
        self.map.get(&id)
    }

    /// Blocks with changed words, or with a transaction.
    pub(crate) fn blocks(&self) -> usize {
        self.map.len()
    }

    fn is_in_node(&self, id: BlockId) -> bool {
        self.map.get(&id).is_some_and(|changed| changed.home == Home::Node)
    }

    /// The blocks with changed words, the one that changed last at the end.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.order.values().copied()
    }

    /// The block whose last change is the oldest.
    pub(crate) fn oldest(&self) -> Option<BlockId> {
        self.order.values().next().copied()
    }

    fn put_last(&mut self, id: BlockId) {
        let Some(changed) = self.map.get_mut(&id) else { return };
        if let Some(turn) = changed.turn {
            self.order.remove(&turn);
        }
        self.turn += 1;
        changed.turn = Some(self.turn);
        self.order.insert(self.turn, id);
    }

    /// Notes a word that changed, whose value is where `home` says (`logfs_set_alias`).
    pub(crate) fn note(&mut self, id: BlockId, home: &Home, word: u16) {
        let changed = self.map.entry(id).or_insert_with(|| Changed::new(home.clone()));
        debug_assert_eq!(changed.home, *home, "{id}");
        self.count += usize::from(changed.set(word));
        self.put_last(id);
    }

    /// Takes a word from the journal; false when there is one already.
    pub(crate) fn load(&mut self, id: BlockId, word: u16, value: u64) -> bool {
        let changed = self.map.entry(id).or_insert_with(|| Changed::new(Home::Here(Vec::new())));
        if !changed.set(word) {
            return false;
        }
        if let Home::Here(values) = &mut changed.home {
            values.push((word, value));
        }
        self.count += 1;
        self.put_last(id);
        true
    }

    /// Attaches a transaction to an inode in memory.
    pub(crate) fn attach(&mut self, id: BlockId, transaction: Transaction) {
        let changed = self.map.entry(id).or_insert_with(|| Changed::new(Home::Inode));
        changed.transaction = Some(transaction);
    }

    /// Forgets the changes of a block: it is written, or gone.
    pub(crate) fn remove(&mut self, id: BlockId) -> Option<Changed> {
        let changed = self.map.remove(&id)?;
        if let Some(turn) = changed.turn {
            self.order.remove(&turn);
        }
        self.count -= changed.count();
        Some(changed)
    }

    /// Says where the values are from now on, and returns where they were.
    pub(crate) fn move_to(&mut self, id: BlockId, home: Home) -> Option<Home> {
        let changed = self.map.get_mut(&id)?;
        Some(std::mem::replace(&mut changed.home, home))
    }

    /// Whether the count of words is right and every block with words has a place in the order.
    pub(crate) fn is_consistent(&self) -> bool {
        let counted: usize = self.map.values().map(Changed::count).sum();
        counted == self.count
            && self.map.iter().all(|(id, changed)| {
                let ordered = changed.turn.is_some_and(|turn| self.order.get(&turn) == Some(id));
                ordered == (changed.count() > 0)
                    && match &changed.home {
                        Home::Here(values) => values.len() == changed.count(),
                        _ => true,
                    }
            })
            && self.order.len()
                == self.map.values().filter(|changed| changed.turn.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_once_and_the_block_that_changed_last_is_last() {
        let (one, two) = (BlockId::data(3, 0), BlockId::data(3, 1));
        let mut aliases = Aliases::default();
        aliases.note(one, &Home::Node, 5);
        aliases.note(two, &Home::Node, 511);
        aliases.note(one, &Home::Node, 5);
        assert_eq!((aliases.count, aliases.oldest()), (2, Some(two)));
        assert!(
            aliases.load(BlockId::data(20, 0), 1, 7) && !aliases.load(BlockId::data(20, 0), 1, 8)
        );
        assert!(aliases.is_consistent());
        assert_eq!(aliases.remove(one).unwrap().words().collect::<Vec<_>>(), [5]);
        assert_eq!((aliases.count, aliases.is_consistent()), (2, true));
    }

    #[test]
    fn blocks_with_changed_words_stay_in_memory() {
        let mut nodes = Nodes::default();
        let mut aliases = Aliases::default();
        for index in 0..10 {
            nodes.insert(BlockId::data(20, index), vec![0; 4_096].into());
        }
        aliases.note(BlockId::data(20, 0), &Home::Node, 3);
        nodes.trim(3, &aliases);
        assert_eq!(nodes.len(), 3);
        assert!(nodes.contains(BlockId::data(20, 0)) && nodes.contains(BlockId::data(20, 9)));
        nodes.set_word(BlockId::data(20, 9), 511, 1 << 63);
        assert_eq!(nodes.word(BlockId::data(20, 9), 511), Some(1 << 63));
    }
}
