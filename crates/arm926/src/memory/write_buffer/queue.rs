//! The queue of pending transfers.
//!
//! Layer: rank 3. Main type: [`Queue`], a ring buffer that maintains the sums that each store needs.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ADDRESSES, PendingTransfer};

/// The capacity: the bursts of the store buffer, and a line that is written back.
const CAPACITY: u32 = 8;
const _: () = assert!(CAPACITY > ADDRESSES + 1);

/// The transfers in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    ring: [PendingTransfer; CAPACITY as usize],
    /// The number of transfers that ever left.
    first: u32,
    /// The number of transfers that ever arrived.
    next: u32,
    /// Words in the store buffer.
    words: u32,
    /// Bursts in the store buffer.
    addresses: u32,
}

/// The place in the ring of the transfer with this number.
#[inline]
const fn place(number: u32) -> usize {
    (number % CAPACITY) as usize
}

impl Queue {
    /// The number of transfers.
    #[inline]
    const fn length(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }

    /// Words in the store buffer.
    #[inline]
    pub(super) const fn words(&self) -> u32 {
        self.words
    }

    /// Bursts in the store buffer.
    #[inline]
    pub(super) const fn addresses(&self) -> u32 {
        self.addresses
    }

    /// Whether there is a transfer of the write-back buffer.
    #[inline]
    pub(super) const fn has_write_back(&self) -> bool {
        self.length() > self.addresses
    }

    /// All transfers, the oldest first.
    #[inline]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &PendingTransfer> {
        (0..self.length()).map(|index| &self.ring[place(self.first.wrapping_add(index))])
    }

    /// The oldest.
    #[inline]
    pub(super) const fn front(&self) -> Option<&PendingTransfer> {
        if self.first == self.next { None } else { Some(&self.ring[place(self.first)]) }
    }

    /// The youngest.
    #[inline]
    pub(super) const fn back(&self) -> Option<&PendingTransfer> {
        if self.first == self.next {
            None
        } else {
            Some(&self.ring[place(self.next.wrapping_sub(1))])
        }
    }

    /// Adds words to the youngest transfer, a burst of the store buffer, which then ends at `end`.
    #[inline]
    pub(super) fn extend_back(&mut self, words: u32, end: u64) {
        let last = &mut self.ring[place(self.next.wrapping_sub(1))];
        last.length += 4 * words;
        last.words += words;
        last.end = end;
        self.words += words;
    }

    /// Lets a transfer of the core that ends at `end` overtake those not begun at `now`. One that is on the
    /// bus keeps its place until then. Returns the end of the last.
    pub(super) fn overtake(&mut self, now: u64, end: u64) -> u64 {
        let mut free_at = end;
        for index in 0..self.length() {
            let transfer = &mut self.ring[place(self.first.wrapping_add(index))];
            if transfer.begin < now {
                transfer.end = free_at;
            } else {
                let cycles = transfer.end - transfer.begin;
                transfer.begin = free_at;
                free_at = free_at.saturating_add(cycles);
                transfer.end = free_at;
            }
        }
        free_at
    }

    /// Removes the oldest transfer; there is one.
    #[inline]
    pub(super) fn drop_front(&mut self) {
        let words = self.ring[place(self.first)].words;
        self.first = self.first.wrapping_add(1);
        self.words -= words;
        self.addresses -= u32::from(words > 0);
    }

    /// Adds a transfer. The caller respects the capacities of the buffers.
    #[inline]
    pub(super) fn push_back(&mut self, pending: PendingTransfer) {
        debug_assert!(self.length() < CAPACITY, "the buffers are full");
        self.ring[place(self.next)] = pending;
        self.next = self.next.wrapping_add(1);
        self.words += pending.words;
        self.addresses += u32::from(pending.words > 0);
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
        if all.len() > CAPACITY as usize || words.is_none() {
            return Err(D::Error::custom(
                "the pending transfers exceed the capacity of the buffers",
            ));
        }
        let mut queue = Self::default();
        all.into_iter().for_each(|pending| queue.push_back(pending));
        Ok(queue)
    }
}
