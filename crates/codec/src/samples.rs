//! Texts that the tests compress.

use boardlab_sim::Seed;

/// Text of `letters` different bytes: matches of every length and distance.
pub(crate) fn text(letters: u64, length: usize) -> Vec<u8> {
    let mut stream = Seed::new(1).stream("lzo");
    (0..length).map(|_| u8::try_from(stream.below(letters)).unwrap()).collect()
}
