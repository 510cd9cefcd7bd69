//! The environment of U-Boot: a checksum, perhaps a flag, and `name=value` texts.
//!
//! Layer: rank 7. Main type: [`Environment`]. Source: `env/common.c` and `include/env_internal.h` of U-Boot. The size
//! is nowhere in it: the checksum is over all of it, so usual sizes are tried.

use super::FlashData;
use crate::detection::{Confidence, Detection, Kind};
use crate::names::shown;
use boardlab_sim::Bytes;

/// Sizes that boards have.
const SIZES: [usize; 12] = [
    0x1000, 0x2000, 0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x800, 0x3000, 0x6000,
    0xC000,
];
/// The longest name of a variable.
const NAME: usize = 64;

/// An environment.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    size: usize,
    /// Whether a second copy belongs to it, and the flag that says which one is newer.
    flag: Option<u8>,
    big_endian: bool,
    /// The texts `name=value`.
    texts: Vec<Vec<u8>>,
}

impl Environment {
    /// The environment that begins at `at`, where `head` is.
    pub(super) fn at(flash: &mut FlashData, at: Bytes, head: &[u8]) -> Option<Self> {
        let starts: Vec<usize> = [4, 5].into_iter().filter(|&start| is_text(head, start)).collect();
        if starts.is_empty() {
            return None;
        }
        let most = SIZES.into_iter().max().unwrap_or(0);
        let bytes = flash.read(at, most);
        let stored: [u8; 4] = bytes.first_chunk().copied()?;
        let block = flash.block().map(Bytes::to_usize).filter(|block| *block <= most);
        let sizes = SIZES.into_iter().chain(block).filter(|&size| size <= bytes.len());
        for size in sizes {
            for &start in &starts {
                let sum = crc32fast::hash(&bytes[start..size]);
                let big_endian = u32::from_be_bytes(stored) == sum;
                if !big_endian && u32::from_le_bytes(stored) != sum {
                    continue;
                }
                let flag = (start == 5).then(|| bytes[4]);
                let end = bytes[start..size].windows(2).position(|pair| pair == [0, 0]);
                let texts = &bytes[start..start + end.unwrap_or(size - start)];
                let texts = texts.split(|&byte| byte == 0).filter(|text| !text.is_empty());
                let texts = texts.map(<[u8]>::to_vec).collect();
                return Some(Self { size, flag, big_endian, texts });
            }
        }
        None
    }

    /// What it is.
    pub(super) fn found(&self, at: Bytes) -> Detection {
        let mut found = Detection::new(Kind::Environment, at, Confidence::Certain);
        let count = boardlab_result::prose::counted(self.texts.len(), "variable");
        found.detail = match self.flag {
            Some(flag) => format!("{count}, one of two copies, flag {flag}"),
            None => count,
        };
        found.size = Some(Bytes::new(self.size as u64));
        let order = if self.big_endian { "big-endian" } else { "little-endian" };
        found.because(at, format!("CRC-32 over {} bytes right, {order}", self.size))
    }

    /// The value of a variable, as it can be shown.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        self.texts.iter().find_map(|text| {
            let value = text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(shown(value))
        })
    }
}

/// Whether a variable begins there.
fn is_text(head: &[u8], start: usize) -> bool {
    let Some(bytes) = head.get(start..) else { return false };
    let end = bytes.iter().take(NAME).position(|&byte| byte == b'=');
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.#$%@,:+/".contains(byte);
    end.is_some_and(|end| end > 0 && bytes[..end].iter().all(name))
}
