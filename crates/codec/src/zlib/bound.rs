//! A proof that deflate cannot make a page smaller, in less than a fifth of the time of a compression.
//!
//! Layer: rank 1. Main type: [`Bound`]. It computes a lower bound of the output of zlib 1.3 with
//! level 3 (`deflate.c`, `trees.c`) in the loop of JFFS2 in the module above. So `true` is certain,
//! and `false` means that the page must be compressed to know.
//!
//! The first round passes `n` bytes. They become one block, because it has fewer symbols than zlib's
//! buffer, after a header of 16 bits; the flush adds 10 bits. If 26 bits and the block are `8 n` bits
//! or more, then there is either no output space for a second round or no input left: `n` bytes were
//! consumed, `n` or more produced, and JFFS2 stores the page uncompressed. The block is the smallest
//! of three:
//!
//! - stored: 3 bits, the padding, 4 bytes and the data, which is always at least `8 n` bits;
//! - with the fixed Huffman code: 3 bits, 8 or 9 for a literal, 7 for the end;
//! - with a dynamic Huffman code: at least the size of the literals in a Huffman code, and a header.
//!
//! A match covers at least three bytes, and each three consecutive bytes in it occur before. So the
//! bytes outside all such triples are literals; the bound counts all others as zero bits. A triple that
//! occurs before consists of two pairs that do. In random bytes there are few of these, which leaves a
//! handful of triples to look for.
//!
//! The header has 3 + 14 bits, 3 for each of at least 4 lengths of the code of code lengths, and 1
//! for a distance. The code length of each literal that occurs, and of the end of block, costs at
//! least a bit, or is part of a repetition, which costs at least 3 bits for at most 6 lengths: at least
//! half a bit.
//!
//! The proof holds for LogFS as well, whose stream is one block between a header of 16 bits and a checksum of 32.

/// Bits of the smallest header of a dynamic Huffman code, without the code lengths of the literals.
const HEADER: usize = 3 + 14 + 3 * 4 + 1;

/// Bits of the stream's header, and of the flush.
const AROUND: usize = 16 + 10;

/// The most bytes that certainly become one block: half of the symbols of zlib's buffer.
const LONGEST: usize = 8192;

/// The most repeated triples; a page with more is compressed.
const REPEATED: usize = 48;

/// The most that a byte occurs in a page whose block is computed.
const COUNT: usize = LONGEST / 16;

type Histogram = [u32; 256];

/// The memory of the proof.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// A bit for each pair of bytes that occurred.
    pairs: Box<[u64; 1 << 10]>,
    /// The positions of triples both of whose pairs occurred before.
    suspects: Box<[u16; LONGEST]>,
}

impl Bound {
    /// Allocates 24 KiB.
    pub(super) fn new() -> Self {
        Self { pairs: Box::new([0; 1 << 10]), suspects: Box::new([0; LONGEST]) }
    }

    /// Whether a page certainly cannot become smaller; `first` is all of it, or what JFFS2 passes in its first round.
    pub(super) fn is_hopeless(&mut self, first: &[u8]) -> bool {
        if first.len() > LONGEST || !looks_random(first) {
            return false;
        }
        let mut histogram = histogram(first);
        let enough = |histogram: &Histogram| {
            smallest_block(histogram).is_some_and(|bits| bits + AROUND >= 8 * first.len())
        };
        if !enough(&histogram) {
            return false;
        }
        let Some(repeated) = self.remove_repeated(first, &mut histogram) else { return false };
        repeated == 0 || enough(&histogram)
    }

    /// Removes all bytes from the histogram that a match may cover; returns their number, or `None` if
    /// there are too many repeated triples.
    fn remove_repeated(&mut self, first: &[u8], histogram: &mut Histogram) -> Option<usize> {
        let count = self.suspect(first);
        let (mut repeated, mut removed, mut done) = (0, 0, 0);
        for &position in &self.suspects[..count] {
            let position = usize::from(position);
            if !occurs_before(first, position) {
                continue;
            }
            repeated += 1;
            if repeated > REPEATED {
                return None;
            }
            for &byte in &first[done.max(position)..position + 3] {
                histogram[usize::from(byte)] -= 1;
                removed += 1;
            }
            done = position + 3;
        }
        Some(removed)
    }

    /// Lists the triples both of whose pairs occurred before; returns how many.
    fn suspect(&mut self, first: &[u8]) -> usize {
        self.pairs.fill(0);
        let (mut last, mut found, mut begin) = (0, 0, 0_u16);
        let mut rest = first;
        while rest.len() > 1 {
            let count = (rest.len() - 1).min(64);
            let repeated = if let Some(bytes) = rest.first_chunk() {
                note(&mut self.pairs, bytes)
            } else {
                let mut bytes = [0; 65];
                bytes[..rest.len()].copy_from_slice(rest);
                note(&mut self.pairs, &bytes) & ((1 << count) - 1)
            };
            // The triple that ends with a pair begins with the pair before it.
            let mut both = repeated & (repeated << 1 | last);
            while both != 0 {
                let end = begin + u16::try_from(both.trailing_zeros()).expect("at most 63");
                self.suspects[found] = end - 1;
                found += 1;
                both &= both - 1;
            }
            last = repeated >> 63;
            begin += 64;
            rest = &rest[count..];
        }
        found
    }
}

/// Notes 64 pairs of bytes; a bit for each says whether it was noted before, the lowest for the first.
fn note(pairs: &mut [u64; 1 << 10], bytes: &[u8; 65]) -> u64 {
    let mut repeated = 0;
    for at in 0..64 {
        let pair = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = &mut pairs[usize::from(pair >> 6)];
        repeated = repeated >> 1 | (*word >> (pair & 63)) << 63;
        *word |= 1 << (pair & 63);
    }
    repeated
}

/// Whether the triple at `position` occurs before it.
fn occurs_before(first: &[u8], position: usize) -> bool {
    let [a, b, c] = [0, 1, 2].map(|at| first[position + at]);
    let [ones, others, thirds] = [0, 1, 2].map(|at| &first[at..position + at]);
    let all = ones.iter().zip(others).zip(thirds);
    // To the end, since that is done many bytes at a time.
    all.fold(0, |met, ((&one, &other), &third)| {
        met | (u8::from(one == a) & u8::from(other == b) & u8::from(third == c))
    }) != 0
}

/// Whether 64 samples of the text have nearly as many distinct values as random bytes, which have 57.
/// It only avoids a computation that would be in vain.
fn looks_random(text: &[u8]) -> bool {
    const SAMPLES: usize = 64;
    const DIFFERENT: u32 = 44;
    let mut seen = [0_u64; 4];
    for &byte in text.iter().step_by(text.len() / SAMPLES + 1) {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    text.len() > 4 * SAMPLES && seen.iter().map(|word| word.count_ones()).sum::<u32>() >= DIFFERENT
}

/// The histogram of `data`, in four parts, so that updates for consecutive equal bytes do not depend
/// on each other.
fn histogram(data: &[u8]) -> Histogram {
    let mut parts = [[0_u32; 256]; 4];
    let (fours, tail) = data.as_chunks::<4>();
    for four in fours {
        for (part, &byte) in parts.iter_mut().zip(four) {
            part[usize::from(byte)] += 1;
        }
    }
    for &byte in tail {
        parts[0][usize::from(byte)] += 1;
    }
    std::array::from_fn(|byte| parts.iter().map(|part| part[byte]).sum())
}

/// A lower bound of the bits of a block with a fixed or a dynamic code and these literals; `None` if
/// the computation would be in vain.
fn smallest_block(histogram: &Histogram) -> Option<usize> {
    let literals: u32 = histogram.iter().sum();
    let distinct = histogram.iter().filter(|&&count| count != 0).count();
    let most = *histogram.iter().max()?;
    // 7 bits would suffice for each literal, or far fewer for a frequent one.
    if distinct <= 128 || most > literals / 16 {
        return None;
    }
    let fixed: u32 = 3 + 8 * literals + histogram[144..].iter().sum::<u32>() + 7;
    let own = HEADER + distinct.div_ceil(2) + huffman(histogram) as usize;
    Some(own.min(fixed as usize))
}

/// The bits of an optimal prefix code for counts up to [`COUNT`]: the sum of all inner nodes of Huffman's tree. Leaves
/// and nodes of one weight are paired in one step: among 256 counts of a page there are about 30 different ones.
fn huffman(histogram: &Histogram) -> u32 {
    let mut leaves = [0_u32; COUNT + 1];
    for &count in histogram {
        leaves[count as usize] += 1;
    }
    let by_weight = leaves.iter().zip(0_u32..).skip(1).filter(|(number, _)| **number > 0);
    let mut leaves = by_weight.map(|(&number, weight)| (weight, number)).peekable();
    // Weights and numbers. Nodes are made in ascending order.
    let (mut nodes, mut made, mut taken) = ([(0, 0); 256], 0, 0);
    let (mut single, mut bits) = (None, 0);
    loop {
        let node = nodes[..made].get(taken);
        let node_is_next = match (leaves.peek(), node) {
            (None, None) => return bits,
            (Some((leaf, _)), Some((node, _))) => node <= leaf,
            (leaf, _) => leaf.is_none(),
        };
        let next = if node_is_next { node.copied() } else { leaves.next() };
        let Some((weight, mut number)) = next else { return bits };
        taken += usize::from(node_is_next);
        let mut make = |weight, number| {
            nodes[made] = (weight, number);
            made += 1;
            bits += weight * number;
        };
        if let Some(lighter) = single.take() {
            make(lighter + weight, 1);
            number -= 1;
        }
        if number > 1 {
            make(2 * weight, number / 2);
        }
        single = (number % 2 == 1).then_some(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, COUNT, Histogram, histogram, huffman};
    use boardlab_sim::Seed;

    #[test]
    fn huffman_has_the_known_cost() {
        let mut counts = [0; 256];
        assert_eq!(huffman(&counts), 0);
        counts[7] = 9;
        assert_eq!(huffman(&counts), 0, "one symbol");
        counts[..6].copy_from_slice(&[5, 9, 12, 13, 16, 45]);
        counts[7] = 0;
        assert_eq!(huffman(&counts), 224, "Cormen, Introduction to Algorithms, 16.3");
        assert_eq!(huffman(&[16; 256]), 16 * 256 * 8);
    }

    #[test]
    fn every_byte_is_counted() {
        let data: Vec<u8> = (0..=255).chain([7, 7, 7]).collect();
        let counts = histogram(&data);
        assert_eq!((counts[7], counts[8], counts.iter().sum::<u32>()), (4, 1, 259));
    }

    /// The sum of the inner nodes of a tree that is made of the two lightest again and again.
    fn two_by_two(histogram: &Histogram) -> u32 {
        let mut weights: Vec<u32> = histogram.iter().copied().filter(|&count| count > 0).collect();
        let mut bits = 0;
        while weights.len() > 1 {
            weights.sort_unstable_by(|one, other| other.cmp(one));
            let sum = weights.split_off(weights.len() - 2).iter().sum();
            bits += sum;
            weights.push(sum);
        }
        bits
    }

    #[test]
    fn weights_that_are_paired_at_once_cost_what_they_cost_one_by_one() {
        let mut stream = Seed::new(1).stream("counts");
        let bound = u64::try_from(COUNT).unwrap() + 1;
        for case in 0..200 {
            let most = [bound, 40, 3][case % 3];
            let counts = std::array::from_fn(|_| u32::try_from(stream.below(most)).unwrap());
            assert_eq!(huffman(&counts), two_by_two(&counts), "case {case}, seed 1");
        }
        assert_eq!(huffman(&[u32::try_from(COUNT).unwrap(); 256]), 512 * 256 * 8);
    }

    /// What is removed from the histogram by the definition: all bytes of triples that occurred before.
    fn removed(page: &[u8]) -> (usize, usize) {
        let at = 0..page.len().saturating_sub(2);
        let repeats = |&at: &usize| page[..at + 2].windows(3).any(|one| one == &page[at..at + 3]);
        let repeated: Vec<usize> = at.filter(repeats).collect();
        let covered: std::collections::BTreeSet<usize> =
            repeated.iter().flat_map(|&at| at..at + 3).collect();
        (repeated.len(), covered.len())
    }

    #[test]
    fn bytes_of_repeated_triples_are_removed() {
        let mut stream = Seed::new(1).stream("triples");
        let mut bound = Bound::new();
        let (mut few, mut many) = (0, 0);
        for length in [0, 1, 2, 3, 4, 100, 700, 4084].repeat(25) {
            let mut page = vec![0; length];
            stream.fill(&mut page);
            for _ in 0..stream.below(8).min(length as u64 / 50) {
                let within = length as u64 - 8;
                let [from, to] = [0; 2].map(|_| usize::try_from(stream.below(within)).unwrap());
                let span = usize::try_from(stream.below(9)).unwrap();
                page.copy_within(from..from + span, to);
            }
            if stream.chance(1, 4) {
                page.iter_mut().for_each(|byte| *byte %= 16);
            }
            let mut counts = histogram(&page);
            let found = bound.remove_repeated(&page, &mut counts);
            let (repeated, covered) = removed(&page);
            assert_eq!(found, (repeated <= super::REPEATED).then_some(covered), "of {length}");
            let left: u32 = counts.iter().sum();
            assert!(found.is_none_or(|found| left as usize + found == length));
            few += u32::from(covered > 0 && found.is_some());
            many += u32::from(found.is_none());
        }
        assert!(few > 20 && many > 5, "{few}, {many}");
    }

    #[test]
    fn nearly_every_random_page_is_hopeless() {
        let mut stream = Seed::new(1).stream("bound");
        let mut bound = Bound::new();
        let mut page = [0; 4084];
        let hopeless = (0..1000)
            .filter(|_| {
                stream.fill(&mut page);
                bound.is_hopeless(&page)
            })
            .count();
        assert!(hopeless >= 980, "{hopeless} of 1000");
    }

    #[test]
    fn pages_that_shrink_are_tried() {
        let mut bound = Bound::new();
        assert!(!bound.is_hopeless(&[]));
        assert!(!bound.is_hopeless(&[0; 4084]));
        let mut page = [0; 4084];
        Seed::new(1).stream("bound").fill(&mut page);
        page.copy_within(..64, 2000);
        assert!(!bound.is_hopeless(&page), "62 positions of a match are too many");
    }
}
