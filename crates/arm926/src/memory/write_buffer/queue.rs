//! What waits for the bus, in order.
//!
//! Layer: rank 3. Main type: [`Queue`], a ring that also keeps the sums which each store asks for.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ADDRESSES, Pending};

/// Room for the bursts of the store buffer and for halves of a line that is written back.
const ROOM: usize = 8;
const _: () = assert!(ROOM > ADDRESSES + 1);

/// Transfers in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    ring: [Pending; ROOM],
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

    /// All, the oldest first.
    #[inline]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Pending> {
        (0..self.length).map(|index| &self.ring[(self.first + index) % ROOM])
    }

    /// The oldest.
    #[inline]
    pub(super) fn front_mut(&mut self) -> Option<&mut Pending> {
        if self.length == 0 { None } else { Some(&mut self.ring[self.first % ROOM]) }
    }

    /// The youngest.
    #[inline]
    pub(super) fn back(&self) -> Option<&Pending> {
        let last = self.length.checked_sub(1)?;
        Some(&self.ring[(self.first + last) % ROOM])
    }

    /// Makes the youngest, a burst of the store buffer, a word longer and slower by `cycles`.
    #[inline]
    pub(super) fn extend_back(&mut self, cycles: u64) {
        let Some(last) = self.length.checked_sub(1) else { return };
        let last = &mut self.ring[(self.first + last) % ROOM];
        last.length += 4;
        last.words += 1;
        last.cycles += cycles;
        self.words += 1;
    }

    /// Takes the oldest out.
    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Pending> {
        let front = *self.front_mut()?;
        self.first = (self.first + 1) % ROOM;
        self.length -= 1;
        self.words -= front.words;
        self.addresses -= usize::from(front.words > 0);
        Some(front)
    }

    /// Puts one in behind the others, of which the caller leaves no more than the buffers hold.
    #[inline]
    pub(super) fn push_back(&mut self, pending: Pending) {
        assert!(self.length < ROOM, "more than the buffers hold");
        self.ring[(self.first + self.length) % ROOM] = pending;
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
        let all = Vec::<Pending>::deserialize(deserializer)?;
        let words: Option<u32> = all.iter().try_fold(0_u32, |sum, one| sum.checked_add(one.words));
        if all.len() > ROOM || words.is_none() {
            return Err(D::Error::custom("more in the buffers than they hold"));
        }
        let mut queue = Self::default();
        all.into_iter().for_each(|pending| queue.push_back(pending));
        Ok(queue)
    }
}
