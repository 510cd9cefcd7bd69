//! The requests of a block device, and their completions.
//!
//! Layer: rank 2. Main types: [`Request`], [`Payload`], [`Target`], [`Completion`], [`Kind`],
//! [`Cause`]. Experiments write terabytes, so a write may describe its data instead of carrying
//! them, and a read may omit the buffer.

use crate::extent::Extent;
use crate::geometry::Geometry;
use boardlab_sim::{Bytes, Duration, Instant, MIX_STEP, mix};
use std::fmt;

/// Data described without their bytes: each block's bytes follow from the seed, its number and the
/// percentage, see [`Noise::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Noise {
    /// The seed of the bytes.
    pub seed: u64,
    /// The percentage of bytes that are zero, and thus compressible, at the end of each 512 bytes: 0
    /// to 100.
    pub zeros: u8,
}

/// The unit within which a part of the bytes is zero.
const CHUNK: usize = 512;

impl Noise {
    /// Incompressible data.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, zeros: 0 }
    }

    /// Writes the bytes of block number `block` into `buffer`.
    pub fn fill(self, block: u64, buffer: &mut [u8]) {
        let zeros = usize::from(self.zeros.min(100));
        let mut state = mix(self.seed ^ mix(block));
        for chunk in buffer.chunks_mut(CHUNK) {
            let random = chunk.len() - chunk.len() * zeros / 100;
            let (head, tail) = chunk.split_at_mut(random);
            for word in head.chunks_mut(8) {
                state = state.wrapping_add(MIX_STEP);
                word.copy_from_slice(&mix(state).to_le_bytes()[..word.len()]);
            }
            tail.fill(0);
        }
    }
}

/// The data of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes, as many as the blocks hold.
    Bytes(&'a [u8]),
    /// The same byte everywhere.
    Repeated(u8),
    /// Random bytes.
    Noise(Noise),
}

impl Payload<'_> {
    /// Writes the bytes into `buffer`, which holds the blocks of `extent`.
    ///
    /// # Panics
    /// When given bytes are not as many as the buffer takes.
    pub fn copy_to(self, geometry: &Geometry, extent: Extent, buffer: &mut [u8]) {
        match self {
            Payload::Bytes(bytes) => buffer.copy_from_slice(bytes),
            Payload::Repeated(byte) => buffer.fill(byte),
            Payload::Noise(noise) => {
                let blocks = buffer.chunks_mut(geometry.block.to_usize());
                extent.blocks().zip(blocks).for_each(|(number, block)| noise.fill(number, block));
            }
        }
    }
}

/// The destination of the data of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A buffer of the size of the blocks.
    Buffer(&'a mut [u8]),
    /// Nowhere: only the time matters.
    Nowhere,
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Read blocks.
    Read {
        /// The blocks.
        extent: Extent,
        /// The destination of the data.
        into: Target<'a>,
    },
    /// Write blocks.
    Write {
        /// The blocks.
        extent: Extent,
        /// The data.
        data: Payload<'a>,
        /// Whether the write completes only when the data are on the medium (forced unit access).
        durable: bool,
    },
    /// Write zeros to blocks without a transfer of data (`BLKZEROOUT`).
    WriteZeroes {
        /// The blocks.
        extent: Extent,
    },
    /// Discard blocks (`BLKDISCARD`).
    Discard {
        /// The blocks.
        extent: Extent,
    },
    /// Make all earlier writes durable.
    Flush,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Request::Read`].
    Read,
    /// [`Request::Write`].
    Write,
    /// [`Request::WriteZeroes`].
    WriteZeroes,
    /// [`Request::Discard`].
    Discard,
    /// [`Request::Flush`].
    Flush,
}

impl Kind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Write, Self::WriteZeroes, Self::Discard, Self::Flush];

    /// The name in listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write_zeroes",
            Self::Discard => "discard",
            Self::Flush => "flush",
        }
    }

    /// Whether the request changes the contents of blocks.
    #[must_use]
    pub const fn changes_medium(self) -> bool {
        matches!(self, Self::Write | Self::WriteZeroes | Self::Discard)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Request<'_> {
    /// The kind of the request.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Read { .. } => Kind::Read,
            Self::Write { .. } => Kind::Write,
            Self::WriteZeroes { .. } => Kind::WriteZeroes,
            Self::Discard { .. } => Kind::Discard,
            Self::Flush => Kind::Flush,
        }
    }

    /// The blocks; none for a flush.
    #[must_use]
    #[inline]
    pub const fn extent(&self) -> Extent {
        match self {
            Self::Read { extent, .. }
            | Self::Write { extent, .. }
            | Self::WriteZeroes { extent }
            | Self::Discard { extent } => *extent,
            Self::Flush => Extent::new(0, 0),
        }
    }

    /// The bytes transferred over the bus: none for a flush, a discard or a write of zeros.
    #[must_use]
    #[inline]
    pub fn bytes(&self, geometry: &Geometry) -> Bytes {
        match self {
            Self::Read { extent, .. } | Self::Write { extent, .. } => geometry.bytes(*extent),
            Self::WriteZeroes { .. } | Self::Discard { .. } | Self::Flush => Bytes::ZERO,
        }
    }

    /// Checks the request against the device: its blocks are in the device, it is not too large, its
    /// buffer has the right length, and the device supports it if it is a discard.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange), [`Error::TooLarge`](crate::Error::TooLarge),
    /// [`Error::BufferLength`](crate::Error::BufferLength),
    /// [`Error::NotSupported`](crate::Error::NotSupported).
    #[inline]
    pub fn check(&self, geometry: &Geometry) -> Result<(), crate::Error> {
        let extent = self.extent();
        geometry.check(extent)?;
        match self {
            Self::Read { into: Target::Buffer(buffer), .. } => {
                geometry.check_buffer(extent, buffer.len())?;
            }
            Self::Write { data: Payload::Bytes(bytes), .. } => {
                geometry.check_buffer(extent, bytes.len())?;
            }
            Self::Discard { .. } if geometry.discard.is_none() => {
                return Err(crate::Error::NotSupported { what: "discard" });
            }
            _ => {}
        }
        let maximum = geometry.maximum;
        if self.bytes(geometry) > maximum {
            return Err(crate::Error::TooLarge { extent, maximum });
        }
        Ok(())
    }
}

/// The cause of a slow request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Garbage collection had to free space first.
    Collection,
    /// Static wear levelling moved data.
    WearLevelling,
    /// Data of the SLC cache had to be folded into the multi-level cells first.
    Fold,
    /// A block had to be merged with its log of out-of-order writes.
    Merge,
    /// A part of the mapping table had to be loaded or saved.
    Mapping,
    /// The write cache was full, or was flushed.
    Cache,
    /// A read had to be retried with other thresholds.
    Retry,
    /// Data had to be refreshed because of retention.
    Refresh,
    /// Blocks had to be erased.
    Erase,
    /// The transfer was retried, or the link reset.
    Link,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 10] = [
        Self::Collection,
        Self::WearLevelling,
        Self::Fold,
        Self::Merge,
        Self::Mapping,
        Self::Cache,
        Self::Retry,
        Self::Refresh,
        Self::Erase,
        Self::Link,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collection => "collection",
            Self::WearLevelling => "wear_levelling",
            Self::Fold => "fold",
            Self::Merge => "merge",
            Self::Mapping => "mapping",
            Self::Cache => "cache",
            Self::Retry => "retry",
            Self::Refresh => "refresh",
            Self::Erase => "erase",
            Self::Link => "link",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The times at which a request was accepted, started and ended: `at <= accepted <= started <= ended`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The time at which the device's queue had room for the request.
    pub accepted: Instant,
    /// The time at which the device started to execute it.
    pub started: Instant,
    /// The time of completion.
    pub ended: Instant,
    /// The cause of most of the additional time, if there was any.
    pub cause: Option<Cause>,
}

impl Completion {
    /// The completion of a request without latency.
    #[must_use]
    pub const fn instant(at: Instant) -> Self {
        Self { accepted: at, started: at, ended: at, cause: None }
    }

    /// The latency from the submission at `at` to the end.
    #[must_use]
    pub const fn latency(&self, at: Instant) -> Duration {
        self.ended.since(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn kinds_are_listed_in_the_order_of_their_discriminant() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }

    #[test]
    fn noise_depends_on_seed_and_block_and_has_its_share_of_zeros() {
        let bytes = |seed, block, zeros| {
            let mut bytes = vec![1; 4_096];
            Noise { seed, zeros }.fill(block, &mut bytes);
            bytes
        };
        assert_eq!(bytes(1, 7, 0), bytes(1, 7, 0));
        assert_ne!(bytes(1, 7, 0), bytes(2, 7, 0));
        assert_ne!(bytes(1, 7, 0), bytes(1, 8, 0));
        let zeros = bytes(1, 7, 50).iter().filter(|&&byte| byte == 0).count();
        assert!((2_048..2_080).contains(&zeros), "{zeros}");
        assert_eq!(bytes(1, 7, 100), [0; 4_096]);
    }

    #[test]
    fn a_request_that_does_not_fit_the_device_is_refused() {
        let geometry =
            Geometry { maximum: Bytes::kib(4), discard: None, ..Geometry::of_size(Bytes::kib(64)) };
        let read = |count| Request::Read { extent: Extent::new(0, count), into: Target::Nowhere };
        assert_eq!(read(8).check(&geometry), Ok(()));
        let refused = Error::TooLarge { extent: Extent::new(0, 9), maximum: Bytes::kib(4) };
        assert_eq!(read(9).check(&geometry), Err(refused));
        assert!(matches!(read(129).check(&geometry), Err(Error::OutOfRange { .. })));
        let extent = Extent::new(0, 2);
        let short = Request::Write { extent, data: Payload::Bytes(&[0; 512]), durable: false };
        assert!(matches!(short.check(&geometry), Err(Error::BufferLength { .. })));
        let discard = Request::Discard { extent };
        let refused = Error::NotSupported { what: "discard" };
        assert_eq!(discard.check(&geometry), Err(refused));
        assert_eq!(Request::WriteZeroes { extent: geometry.whole() }.check(&geometry), Ok(()));
    }
}
