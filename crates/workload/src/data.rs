//! The content of files: a kind and a seed determine a byte sequence that is the same everywhere
//! and always.
//!
//! Layer: rank 6. Main types: [`Data`], [`DataSource`]. The compressibility of data affects a
//! compressing filesystem more than anything else, so every workload states what it writes. The
//! sequences are specified in docs/formats/file-tree.md, "Content"; another implementation of them
//! runs in the kernel that is the oracle. The construction of `percent:N` follows fio's
//! `buffer_compress_percentage` with its default `buffer_compress_chunk` of 512 bytes, with the
//! random part first, as in fio.

use crate::source::Source;
use boardlab_sim::{Bytes, MIX_STEP, mix};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A kind of data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Data {
    /// Zeros, tiobench's default.
    #[default]
    Zero,
    /// Random bytes, incompressible.
    Random,
    /// English words: zlib at level 3 compresses a page of 4 KiB to about 1,450 bytes.
    Text,
    /// Runs of one byte, of 1 to 32 bytes.
    Runs,
    /// This percentage of each 512 bytes is random, and the rest is zero; at most 100.
    Percent(u8),
    /// Bytes that somebody has, from a place on that the seed determines, again and again.
    Sample(Arc<Sample>),
}

/// What a user's own files hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sample {
    /// Its name in output.
    pub name: String,
    /// Sizes of the files that it is of.
    pub files: Vec<Bytes>,
    /// The number of links, devices and the like beside them, which it is not of.
    pub others: usize,
    /// Bytes of all files.
    pub total: Bytes,
    /// Those that are used; a sequence of none is zeros.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({:?}, {} bytes)", self.name, self.bytes.len())
    }
}

/// The words of [`Data::Text`], as in `oracles/guest-files.c`.
#[rustfmt::skip]
const WORDS: [&str; 64] = [
    "the", "of", "and", "flash", "page", "block", "erase", "program", "read", "write", "node",
    "inode", "name", "file", "tree", "log", "data", "bit", "byte", "spare", "area", "driver",
    "kernel", "board", "boot", "mount", "list", "clean", "dirty", "free", "bad", "good", "with",
    "without", "from", "to", "in", "on", "at", "by", "is", "are", "was", "were", "be", "been",
    "has", "have", "had", "not", "one", "two", "three", "four", "before", "after", "between",
    "because", "however", "therefore", "collection", "wear", "level", "power",
];

/// Words of a line of [`Data::Text`].
const LINE: u32 = 12;

/// The unit of [`Data::Percent`].
const CHUNK: usize = 512;
/// What a sequence of [`Data::Sample`] begins at a multiple of.
const PAGE: usize = 4_096;

impl Data {
    /// The endless sequence of this kind for `seed`.
    #[must_use]
    pub fn source(&self, seed: u64) -> DataSource {
        let position = match self {
            Self::Sample(sample) => {
                let pages = sample.bytes.len().div_ceil(PAGE).max(1) as u64;
                index(mix(seed) % pages) * PAGE
            }
            _ => 0,
        };
        DataSource { data: self.clone(), state: seed, position, held: 0, left: 0, words: 0 }
    }

    /// The sample of files that it is, if it is one.
    #[must_use]
    pub fn sample(&self) -> Option<&Sample> {
        match self {
            Self::Sample(sample) => Some(sample),
            _ => None,
        }
    }

    /// The beginning of the sequence.
    #[must_use]
    pub fn bytes(&self, seed: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.source(seed).fill(&mut bytes);
        bytes
    }

    /// Block number `index` of a large object that is written in any order: a sequence of its own.
    pub fn block(&self, seed: u64, index: u64, buffer: &mut [u8]) {
        self.source(mix(seed ^ mix(index))).fill(buffer);
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.pad("zero"),
            Self::Random => f.pad("random"),
            Self::Text => f.pad("text"),
            Self::Runs => f.pad("runs"),
            Self::Percent(percent) => f.pad(&format!("percent:{percent}")),
            Self::Sample(sample) => f.pad(&format!("sample:{}", sample.name)),
        }
    }
}

/// A word that is not the name of a kind of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDataKind {
    /// The word.
    pub found: String,
}

impl fmt::Display for UnknownDataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = "zero, random, text, runs or percent:N with N from 0 to 100";
        write!(f, "'{}' is not a kind of data: {kinds}", self.found)
    }
}

impl std::error::Error for UnknownDataKind {}

impl FromStr for Data {
    type Err = UnknownDataKind;

    fn from_str(text: &str) -> Result<Self, UnknownDataKind> {
        let no_such = || UnknownDataKind { found: text.to_owned() };
        match text {
            "zero" => Ok(Self::Zero),
            "random" => Ok(Self::Random),
            "text" => Ok(Self::Text),
            "runs" => Ok(Self::Runs),
            _ => {
                let number = text.strip_prefix("percent:").ok_or_else(no_such)?;
                let percent = number.parse().ok().filter(|&percent| percent <= 100);
                percent.map(Self::Percent).ok_or_else(no_such)
            }
        }
    }
}

/// The bytes of a kind of [`Data`]. They do not depend on the sizes of the reads.
#[derive(Debug, Clone)]
pub struct DataSource {
    data: Data,
    /// The state of SplitMix64.
    state: u64,
    /// The position within the unit of the kind.
    position: usize,
    /// The number from which the present bytes are taken.
    held: u64,
    /// Bytes left of the run or of the word.
    left: usize,
    /// Words so far.
    words: u32,
}

/// The low byte.
const fn low(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

fn index(value: u64) -> usize {
    usize::try_from(value).expect("a few bits")
}

impl DataSource {
    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(MIX_STEP);
        mix(self.state)
    }

    /// The random bytes from `position` on; a new number for every eight of them.
    fn random(&mut self, position: usize, buffer: &mut [u8]) {
        let used = position % 8;
        let (head, rest) = buffer.split_at_mut(buffer.len().min((8 - used) % 8));
        head.copy_from_slice(&self.held.to_le_bytes()[used..used + head.len()]);
        let (words, tail) = rest.as_chunks_mut::<8>();
        for word in words {
            *word = self.next().to_le_bytes();
        }
        if !tail.is_empty() {
            self.held = self.next();
            tail.copy_from_slice(&self.held.to_le_bytes()[..tail.len()]);
        }
    }

    fn text(&mut self) -> u8 {
        if self.left == 0 {
            self.held = self.next() >> 58;
            self.left = WORDS[index(self.held)].len() + 1;
            self.words += 1;
        }
        self.left -= 1;
        let word = WORDS[index(self.held)].as_bytes();
        match self.left {
            0 if self.words.is_multiple_of(LINE) => b'\n',
            0 => b' ',
            left => word[word.len() - left],
        }
    }

    fn run(&mut self) -> u8 {
        if self.left == 0 {
            self.held = self.next();
            self.left = 1 + index((self.held >> 8) % 32);
        }
        self.left -= 1;
        low(self.held)
    }

    fn percent(&mut self, percent: u8, buffer: &mut [u8]) {
        let filled = CHUNK * usize::from(percent) / 100;
        let mut rest = buffer;
        while !rest.is_empty() {
            let at = self.position;
            let end = if at < filled { filled } else { CHUNK };
            let (part, after) = rest.split_at_mut(rest.len().min(end - at));
            if at < filled {
                self.random(at, part);
            } else {
                part.fill(0);
            }
            self.position = (at + part.len()) % CHUNK;
            rest = after;
        }
    }
}

/// Copies `bytes` from `position` on, and begins again at their end.
fn copy_around(bytes: &[u8], position: &mut usize, buffer: &mut [u8]) {
    if bytes.is_empty() {
        buffer.fill(0);
        return;
    }
    let mut rest = buffer;
    while !rest.is_empty() {
        let from = &bytes[*position % bytes.len()..];
        let count = rest.len().min(from.len());
        let (part, after) = rest.split_at_mut(count);
        part.copy_from_slice(&from[..count]);
        *position = (*position + count) % bytes.len();
        rest = after;
    }
}

impl Source for DataSource {
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        match &self.data {
            Data::Zero => buffer.fill(0),
            Data::Random => {
                self.random(self.position, buffer);
                self.position = (self.position + buffer.len()) % 8;
            }
            Data::Text => buffer.iter_mut().for_each(|byte| *byte = self.text()),
            Data::Runs => buffer.iter_mut().for_each(|byte| *byte = self.run()),
            Data::Percent(percent) => self.percent(*percent, buffer),
            Data::Sample(sample) => copy_around(&sample.bytes, &mut self.position, buffer),
        }
        buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Data; 6] =
        [Data::Zero, Data::Random, Data::Text, Data::Runs, Data::Percent(50), Data::Percent(33)];

    fn sample(length: usize) -> Data {
        let bytes = Data::Text.bytes(9, length);
        let (files, others, total) = (vec![Bytes::of(&bytes)], 0, Bytes::of(&bytes));
        Data::Sample(Arc::new(Sample { name: "own".into(), files, others, total, bytes }))
    }

    #[test]
    fn a_sample_is_repeated_from_a_page_on() {
        let data = sample(3 * PAGE + 100);
        let whole = Data::Text.bytes(9, 3 * PAGE + 100);
        let mut begun = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let found = data.bytes(seed, 2 * whole.len());
            let at = (0..4).map(|page| page * PAGE);
            let at: Vec<_> = at.filter(|&at| found.starts_with(&whole[at..])).collect();
            assert_eq!(at.len(), 1, "{at:?}");
            assert!(found[whole.len() - at[0]..].starts_with(&whole));
            begun.extend(at);
        }
        assert_eq!(begun.len(), 4, "every page begins some sequence: {begun:?}");
        assert_eq!(sample(0).bytes(1, 100), [0; 100]);
    }

    #[test]
    fn data_do_not_depend_on_the_sizes_asked_for() {
        for data in ALL.into_iter().chain([sample(10), sample(5_000)]) {
            let whole = data.bytes(7, 3_000);
            let mut source = data.source(7);
            let mut pieces = Vec::new();
            for size in [1, 7, 8, 9, 0, 500, 475, 2_000] {
                let mut piece = vec![0xAA; size];
                source.fill(&mut piece);
                pieces.extend(piece);
            }
            assert!(whole == pieces, "{data}");
        }
    }

    #[test]
    fn data_are_those_of_the_oracle() {
        assert_eq!(Data::Random.bytes(0, 8), 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        let text = String::from_utf8(Data::Text.bytes(1, 110)).unwrap();
        assert_eq!(
            text.split_whitespace().next(),
            Some(WORDS[index(Data::Text.source(1).next() >> 58)])
        );
        assert_eq!(text.lines().next().unwrap().split(' ').count(), 12);
        let runs = Data::Runs.bytes(3, 100);
        let first = Data::Runs.source(3).next();
        let length = 1 + index((first >> 8) % 32);
        assert!(runs[..length].iter().all(|&byte| byte == low(first)));
        let percent = Data::Percent(33).bytes(5, 1_024);
        assert_eq!(percent[..168], Data::Random.bytes(5, 168));
        assert!(percent[169..512].iter().all(|&byte| byte == 0));
        assert_eq!(percent[512..512 + 168], Data::Random.bytes(5, 2 * 168)[168..]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for data in ALL {
            assert_eq!(data.to_string().parse(), Ok(data));
        }
        for wrong in ["", "zeros", "percent:", "percent:101", "percent:-1", "pct:50"] {
            assert!(wrong.parse::<Data>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn blocks_differ_by_number_and_by_seed() {
        let block = |seed, index| {
            let mut block = [0; 32];
            Data::Random.block(seed, index, &mut block);
            block
        };
        assert_eq!(block(1, 2), block(1, 2));
        assert_ne!(block(1, 2), block(1, 3));
        assert_ne!(block(1, 2), block(2, 2));
        assert_ne!(block(1, 2), block(2, 1));
    }
}
