//! A map that knows in which order its entries were used.
//!
//! Layer: rank 2. Main type: [`LruMap`]. The entries lie in slots, which are a list in the order of their last uses: a
//! use takes one search and changes a few links.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// No slot: the neighbour of an end of the list.
const NONE: usize = usize::MAX;

#[derive(Debug, Clone)]
struct Slot<K, V> {
    key: K,
    /// Empty slots wait for new entries.
    value: Option<V>,
    older: usize,
    newer: usize,
}

/// A sorted map whose least recently used entry can be found.
#[derive(Debug, Clone)]
pub struct LruMap<K, V> {
    index: BTreeMap<K, usize>,
    slots: Vec<Slot<K, V>>,
    empty: Vec<usize>,
    oldest: usize,
    newest: usize,
}

impl<K, V> Default for LruMap<K, V> {
    fn default() -> Self {
        let (index, slots, empty) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { index, slots, empty, oldest: NONE, newest: NONE }
    }
}

impl<K: Ord + Copy, V> LruMap<K, V> {
    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether there is an entry of this key.
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.index.contains_key(&key)
    }

    /// An entry; this is no use of it.
    #[must_use]
    pub fn peek(&self, key: K) -> Option<&V> {
        self.slots[*self.index.get(&key)?].value.as_ref()
    }

    /// An entry, to change it; this is no use of it.
    pub fn peek_mut(&mut self, key: K) -> Option<&mut V> {
        self.slots[*self.index.get(&key)?].value.as_mut()
    }

    /// An entry, which is then the most recently used one.
    pub fn get(&mut self, key: K) -> Option<&mut V> {
        let slot = *self.index.get(&key)?;
        self.unlink(slot);
        self.link(slot);
        self.slots[slot].value.as_mut()
    }

    /// Adds or replaces an entry, which is then the most recently used one. Returns what it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(known) = self.get(key) {
            return Some(std::mem::replace(known, value));
        }
        let new = Slot { key, value: Some(value), older: NONE, newer: NONE };
        let slot = self.empty.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(empty) => *empty = new,
            None => self.slots.push(new),
        }
        self.link(slot);
        self.index.insert(key, slot);
        None
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: K) -> Option<V> {
        let slot = self.index.remove(&key)?;
        self.unlink(slot);
        self.empty.push(slot);
        self.slots[slot].value.take()
    }

    /// The key of the least recently used entry.
    #[must_use]
    pub fn oldest(&self) -> Option<K> {
        self.slots.get(self.oldest).map(|slot| slot.key)
    }

    /// The keys within a range, ascending.
    pub fn keys_within(&self, range: impl RangeBounds<K>) -> impl Iterator<Item = K> + '_ {
        self.index.range(range).map(|(&key, _)| key)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(K, &V) -> bool) {
        for key in self.keys_within(..).collect::<Vec<_>>() {
            if !self.peek(key).is_some_and(|value| keep(key, value)) {
                self.remove(key);
            }
        }
    }

    /// Takes a slot out of the list.
    fn unlink(&mut self, slot: usize) {
        let Slot { older, newer, .. } = self.slots[slot];
        *self.slots.get_mut(older).map_or(&mut self.oldest, |slot| &mut slot.newer) = newer;
        *self.slots.get_mut(newer).map_or(&mut self.newest, |slot| &mut slot.older) = older;
    }

    /// Puts a slot at the newest end of the list.
    fn link(&mut self, slot: usize) {
        let newest = std::mem::replace(&mut self.newest, slot);
        *self.slots.get_mut(newest).map_or(&mut self.oldest, |slot| &mut slot.newer) = slot;
        (self.slots[slot].older, self.slots[slot].newer) = (newest, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    #[test]
    fn the_order_is_that_of_the_last_uses_whatever_was_removed() {
        let mut stream = Seed::new(7).stream("lru");
        let (mut map, mut uses) = (LruMap::default(), Vec::new());
        for step in 0..20_000_u64 {
            let key = stream.below(40);
            match stream.below(8) {
                0 => {
                    assert_eq!(map.remove(key).is_some(), uses.contains(&key));
                    uses.retain(|&used| used != key);
                }
                1 | 2 => {
                    assert_eq!(map.insert(key, step).is_some(), uses.contains(&key));
                    uses.retain(|&used| used != key);
                    uses.push(key);
                }
                3 if step % 100 == 3 => {
                    map.retain(|kept, _| kept % 3 > 0);
                    uses.retain(|used| used % 3 > 0);
                }
                _ => {
                    if map.get(key).is_some() {
                        uses.retain(|&used| used != key);
                        uses.push(key);
                    }
                }
            }
            assert_eq!(map.oldest(), uses.first().copied());
            assert!(map.slots.len() <= 40);
            assert_eq!((map.len(), map.is_empty()), (uses.len(), uses.is_empty()));
        }
        let mut from_the_oldest = map.clone();
        let order = std::iter::from_fn(|| {
            let oldest = from_the_oldest.oldest()?;
            from_the_oldest.remove(oldest).map(|_| oldest)
        });
        assert!(order.eq(uses.iter().copied()));
        let sorted = uses.iter().copied().collect::<std::collections::BTreeSet<_>>();
        assert!(map.keys_within(..).eq(sorted));
    }
}
