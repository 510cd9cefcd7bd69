//! The places that a step visits, in the order of its operations.
//!
//! Layer: rank 8. Main type: [`Pattern`]. Source: `docs/formats/measurement-plan.md`; the agent has its own
//! (`agent/pattern.c`), and a test compares the two.

use boardlab_sim::{Bytes, MIX_STEP, mix};

/// The order of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the beginning, again and again.
    Sequential,
    /// From the end.
    Reverse,
    /// Drawn by splitmix64.
    Random,
}

/// The orders by their names in plans and scenarios.
pub const ORDERS: [(&str, Order); 3] =
    [("sequential", Order::Sequential), ("reverse", Order::Reverse), ("random", Order::Random)];

/// The places of a step.
#[derive(Debug, Clone)]
pub struct Pattern {
    offset: Bytes,
    size: Bytes,
    places: u64,
    order: Order,
    state: u64,
    done: u64,
    count: u64,
}

impl Pattern {
    /// `count` places of `size` bytes in the `length` bytes from `offset` on; every place once if `None`.
    #[must_use]
    pub fn new(
        (offset, length): (Bytes, Bytes),
        size: Bytes,
        count: Option<u64>,
        (order, seed): (Order, u64),
    ) -> Self {
        let places = length / size;
        let count = if places == 0 { 0 } else { count.unwrap_or(places) };
        Self { offset, size, places, order, state: seed, done: 0, count }
    }

    /// The bytes of one operation.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        self.size
    }
}

impl Iterator for Pattern {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.done == self.count {
            return None;
        }
        let turn = self.done % self.places;
        self.done += 1;
        let place = match self.order {
            Order::Sequential => turn,
            Order::Reverse => self.places - 1 - turn,
            Order::Random => {
                self.state = self.state.wrapping_add(MIX_STEP);
                mix(self.state) % self.places
            }
        };
        Some(self.offset + self.size * place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(order: Order, count: Option<u64>) -> Vec<u64> {
        let range = (Bytes::new(1_000), Bytes::new(45));
        Pattern::new(range, Bytes::new(10), count, (order, 1)).map(Bytes::get).collect()
    }

    #[test]
    fn places_are_visited_in_order_and_what_is_left_of_the_range_is_not() {
        assert_eq!(places(Order::Sequential, None), [1_000, 1_010, 1_020, 1_030]);
        assert_eq!(places(Order::Sequential, Some(5)), [1_000, 1_010, 1_020, 1_030, 1_000]);
        assert_eq!(places(Order::Reverse, Some(2)), [1_030, 1_020]);
    }

    /// The first numbers of splitmix64 from the seed 1, modulo 4, as Vigna's splitmix64.c prints them.
    #[test]
    fn random_places_are_those_of_splitmix64() {
        let numbers: [u64; 3] =
            [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e];
        let expected: Vec<u64> = numbers.iter().map(|number| 1_000 + number % 4 * 10).collect();
        assert_eq!(places(Order::Random, Some(3)), expected);
    }
}
