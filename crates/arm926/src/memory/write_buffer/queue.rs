//! The queue of pending transfers.
//!
//! Layer: rank 3. Main type: [`Queue`], a ring buffer that maintains the sums that each store needs.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ADDRESSES, PendingTransfer};

/// The capacity: the bursts of the store buffer, and a line that is written back.
const CAPACITY: usize = 8;
const _: () = assert!(CAPACITY > ADDRESSES + 1);

/// The transfers in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    ring: [PendingTransfer; CAPACITY],
    first: usize,
    length: usize,
    /// Words in the store buffer.
    words: u32,
    /// Bursts in the store buffer.
    addresses: usize,
}

impl Queue {
    /// Words in the store buffer.
    #[inline]
    pub(super) const fn words(&self) -> u32 {
        self.words
    }

    /// Bursts in the store buffer.
    #[inline]
    pub(super) const fn addresses(&self) -> usize {
        self.addresses
    }

    /// All transfers, the oldest first.
    #[inline]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &PendingTransfer> {
        (0..self.length).map(|index| &self.ring[(self.first + index) % CAPACITY])
    }

    /// The oldest.
    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut PendingTransfer> {
        if self.length == 0 { None } else { Some(&mut self.ring[self.first % CAPACITY]) }
    }

    /// The youngest.
    #[inline]
    pub(super) fn back(&self) -> Option<&PendingTransfer> {
        let last = self.length.checked_sub(1)?;
        Some(&self.ring[(self.first + last) % CAPACITY])
    }

    /// Adds a word and `cycles` to the youngest transfer, a burst of the store buffer.
    #[inline]
    pub(super) fn extend_back(&mut self, cycles: u64) {
        let Some(last) = self.length.checked_sub(1) else { return };
        let last = &mut self.ring[(self.first + last) % CAPACITY];
        last.length += 4;
        last.words += 1;
        last.cycles += cycles;
        self.words += 1;
    }

    /// Removes the oldest transfer, if there is one.
    #[inline]
    pub(super) fn drop_front(&mut self) {
        let Some(&mut PendingTransfer { words, .. }) = self.front_mut() else { return };
        self.first = (self.first + 1) % CAPACITY;
        self.length -= 1;
        self.words -= words;
        self.addresses -= usize::from(words > 0);
    }

    /// Removes and returns the oldest transfer.
    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<PendingTransfer> {
        let front = *self.front_mut()?;
        self.drop_front();
        Some(front)
    }

    /// Adds a transfer. The caller respects the capacities of the buffers.
    #[inline]
    pub(super) fn push_back(&mut self, pending: PendingTransfer) {
        assert!(self.length < CAPACITY, "the buffers are full");
        self.ring[(self.first + self.length) % CAPACITY] = pending;
        self.length += 1;
        self.words += pending.words;
        self.addresses += usize::from(pending.words > 0);
    }
}

/// As a sequence.
impl Serialize for Queue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<PendingTransfer>::deserialize(deserializer)?;
        let words: Option<u32> = all.iter().try_fold(0_u32, |sum, one| sum.checked_add(one.words));
        if all.len() > CAPACITY || words.is_none() {
            return Err(D::Error::custom(
                "the pending transfers exceed the capacity of the buffers",
            ));
        }
        let mut queue = Self::default();
        all.into_iter().for_each(|pending| queue.push_back(pending));
        Ok(queue)
    }
}
