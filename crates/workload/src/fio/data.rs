//! The data of a job's writes.
//!
//! Layer: rank 6. Main type: [`WriteData`]. fio fills its buffers with random bytes and changes
//! them a little for each write (`scramble_buffers`), so that no two pages are equal or
//! compressible. Here such data are described as noise with a seed of its own for each write. Equal
//! blocks (`dedupe_percentage`, or no scrambling) and long patterns are real bytes.

use crate::fio::settings::Contents;
use boardlab_block::{Noise, Payload};
use boardlab_sim::{Seed, Stream};

/// The limit of real bytes for all copies of a job.
pub const LARGEST: u64 = 256 << 20;

/// The data of one copy of a job.
#[derive(Debug, Clone)]
pub struct WriteData {
    kind: Kind,
    stream: Stream,
    dedupe: u64,
    zeros: u8,
    fixed: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Repeated(u8),
    Fixed,
    Fresh,
}

impl WriteData {
    /// Data for blocks of up to `largest` bytes; `None` when they must be real and exceed [`LARGEST`].
    #[must_use]
    pub fn new(contents: &Contents, largest: u64, seed: Seed) -> Option<Self> {
        let zeros = contents.compress.map_or(0, |percent| u8::try_from(percent).unwrap_or(100));
        let kind = match contents.pattern.as_slice() {
            _ if contents.zero => Kind::Repeated(0),
            [byte] => Kind::Repeated(*byte),
            [] if contents.refill || contents.scramble || contents.compress.is_some() => {
                Kind::Fresh
            }
            _ => Kind::Fixed,
        };
        let needs_bytes = contents.dedupe > 0 || matches!(kind, Kind::Fixed);
        if needs_bytes && largest > LARGEST {
            return None;
        }
        let mut filling = Self {
            kind,
            stream: seed.stream("fio.data"),
            dedupe: contents.dedupe,
            zeros,
            fixed: Vec::new(),
        };
        if needs_bytes {
            filling.fixed = vec![0; usize::try_from(largest).expect("at most 256 MiB")];
            let noise = Noise { seed: filling.stream.next_u64(), zeros };
            match contents.pattern.as_slice() {
                [] => noise.fill(0, &mut filling.fixed),
                pattern => {
                    let bytes = pattern.iter().cycle();
                    filling.fixed.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                }
            }
        }
        Some(filling)
    }

    /// Bytes of real data that are kept.
    #[must_use]
    pub fn memory(&self) -> u64 {
        u64::try_from(self.fixed.len()).expect("u64 holds usize")
    }

    /// The data of the next write of `length` bytes.
    pub fn next(&mut self, length: u64) -> Payload<'_> {
        let duplicate = self.dedupe > 0 && self.stream.below(100) < self.dedupe;
        match self.kind {
            Kind::Repeated(byte) => Payload::Repeated(byte),
            Kind::Fresh if !duplicate => {
                Payload::Noise(Noise { seed: self.stream.next_u64(), zeros: self.zeros })
            }
            Kind::Fixed | Kind::Fresh => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                Payload::Bytes(&self.fixed[..length.min(self.fixed.len())])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::Settings;

    fn filling(change: impl FnOnce(&mut Contents)) -> WriteData {
        let mut contents = Settings::default().contents;
        change(&mut contents);
        WriteData::new(&contents, 4_096, Seed::new(1)).unwrap()
    }

    #[test]
    fn data_are_fresh_unless_they_are_asked_to_repeat() {
        let mut fresh = filling(|_| {});
        let Payload::Noise(first) = fresh.next(4_096) else { panic!("noise was expected") };
        assert_ne!(fresh.next(4_096), Payload::Noise(first));
        let mut fixed = filling(|contents| contents.scramble = false);
        let Payload::Bytes(first) = fixed.next(512) else { panic!("bytes were expected") };
        assert_eq!(first.len(), 512);
        assert_eq!(filling(|contents| contents.zero = true).next(512), Payload::Repeated(0));
        let mut pattern = filling(|contents| contents.pattern = b"abc".to_vec());
        assert_eq!(pattern.next(4), Payload::Bytes(b"abca"));
    }

    #[test]
    fn so_many_blocks_are_equal_as_were_asked_for() {
        let mut filling = filling(|contents| contents.dedupe = 30);
        let equal = (0..10_000).filter(|_| matches!(filling.next(512), Payload::Bytes(_))).count();
        assert!((2_850..3_150).contains(&equal), "{equal}");
    }

    #[test]
    fn bytes_that_do_not_fit_memory_are_refused() {
        let mut contents = Settings::default().contents;
        assert!(WriteData::new(&contents, LARGEST + 1, Seed::new(1)).is_some());
        contents.dedupe = 1;
        assert!(WriteData::new(&contents, LARGEST + 1, Seed::new(1)).is_none());
    }
}
