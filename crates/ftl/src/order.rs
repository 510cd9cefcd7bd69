//! Doubly linked lists of numbers, threaded through arrays, so that no change allocates.
//!
//! Layer: a data structure of the pool (blocks in the order of closing) and of the cached map
//! (segments in the order of use). Main type: [`Order`].

const NONE: u32 = u32::MAX;

/// Lists of the numbers below a bound. Each number is in at most one of them.
#[derive(Debug, Clone)]
pub(crate) struct Order<const LISTS: usize> {
    /// Neighbours of each number.
    older: Vec<u32>,
    newer: Vec<u32>,
    oldest: [u32; LISTS],
    newest: [u32; LISTS],
}

impl<const LISTS: usize> Order<LISTS> {
    /// Empty lists of the numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        let (neighbours, ends) = (vec![NONE; bound], [NONE; LISTS]);
        Self { older: neighbours.clone(), newer: neighbours, oldest: ends, newest: ends }
    }

    /// Appends a number that is in no list.
    #[inline]
    pub(crate) fn push(&mut self, list: usize, number: u32) {
        let before = std::mem::replace(&mut self.newest[list], number);
        (self.older[number as usize], self.newer[number as usize]) = (before, NONE);
        match before {
            NONE => self.oldest[list] = number,
            before => self.newer[before as usize] = number,
        }
    }

    /// Removes a number from the list that it is in.
    #[inline]
    pub(crate) fn remove(&mut self, list: usize, number: u32) {
        let (older, newer) = (self.older[number as usize], self.newer[number as usize]);
        match older {
            NONE => self.oldest[list] = newer,
            older => self.newer[older as usize] = newer,
        }
        match newer {
            NONE => self.newest[list] = older,
            newer => self.older[newer as usize] = older,
        }
    }

    /// The numbers of a list, the oldest first.
    pub(crate) fn iter(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let known = |number: u32| (number != NONE).then_some(number);
        let next = move |&number: &u32| known(self.newer[number as usize]);
        std::iter::successors(known(self.oldest[list]), next)
    }
}
