//! Random streams derived from one seed by name.
//!
//! A component uses a stream with its own name, so a new component never changes the draws of another.
//! The generator is Xoshiro256++, whose output is fixed by its definition.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(u64);

/// One random stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Seed {
    /// The seed with the number `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The number of the seed.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The stream called `name`; the same seed and name always give the same stream.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.0 ^ fnv1a(name)))
    }

    /// A seed for the part of a run called `name`, to derive further streams from.
    #[must_use]
    pub fn child(self, name: &str) -> Self {
        Self(self.stream(name).next_u64())
    }
}

/// FNV-1a of `name`, 64 bits (Fowler, Noll, Vo).
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Stream {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, each equally likely up to 2^-64 (multiply-shift).
    ///
    /// # Panics
    /// When `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "Stream::below: the bound is zero");
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("below: the high half fits u64")
    }

    /// True with probability `numerator / denominator`.
    #[inline]
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Fills `buffer` with random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}

/// The increment of SplitMix64's state.
pub const MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash in which every bit of `value` affects all bits: the finaliser of SplitMix64 (Steele, Lea,
/// Flood 2014).
///
/// It gives a random number for a position, whereas a [`Stream`] must be drawn from in order.
#[must_use]
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_steps_gives_the_published_numbers_of_split_mix() {
        // The first three numbers of seed 1234567, from the reference program (Vigna).
        let numbers = [1, 2, 3].map(|n| mix(1_234_567_u64.wrapping_add(MIX_STEP.wrapping_mul(n))));
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, published);
    }

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let mut first = Seed::new(1).stream("nor.chip");
        let _other = Seed::new(1).stream("nor.driver").next_u64();
        let mut second = Seed::new(1).stream("nor.chip");
        assert_eq!(first.next_u64(), second.next_u64());
        assert_ne!(Seed::new(1).stream("a").next_u64(), Seed::new(1).stream("b").next_u64());
        assert_ne!(Seed::new(1).stream("a").next_u64(), Seed::new(2).stream("a").next_u64());
    }

    #[test]
    fn the_stream_never_changes_between_versions() {
        let mut stream = Seed::new(1).stream("golden");
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(
            drawn,
            [1_133_341_388_166_874_614, 10_573_295_835_203_909_205, 17_408_802_519_861_206_546]
        );
    }

    #[test]
    fn below_reaches_every_value_and_stays_below() {
        let mut stream = Seed::new(7).stream("below");
        let mut seen = [0_u32; 5];
        for _ in 0..5_000 {
            seen[usize::try_from(stream.below(5)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1_200).contains(&count)), "{seen:?}");
    }
}
