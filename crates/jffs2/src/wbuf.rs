//! The write buffer of NAND: the page that is not full yet.
//!
//! Layer: rank 5. Main type: [`WriteBuffer`]. Source: Linux 6.1, `fs/jffs2/wbuf.c`.

use boardlab_sim::Bytes;

/// The page that is being filled.
#[derive(Debug, Clone, Default)]
pub struct WriteBuffer {
    /// Where the page is on the flash; `None` when nothing was begun.
    pub(crate) at: Option<Bytes>,
    /// What was written to the page so far.
    pub(crate) content: Vec<u8>,
}

impl WriteBuffer {
    /// Whether something in it is not on the flash yet.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.content.is_empty()
    }

    /// Puts what is not on the flash yet over bytes that were read from `offset` on.
    pub fn overlay(&self, offset: Bytes, bytes: &mut [u8]) {
        let Some(start) = self.at else { return };
        let (from, to) = (offset.max(start), offset + Bytes::of(bytes));
        let to = to.min(start + Bytes::of(&self.content));
        if from < to {
            let source = (from - start).to_usize()..(to - start).to_usize();
            let target = (from - offset).to_usize()..(to - offset).to_usize();
            bytes[target].copy_from_slice(&self.content[source]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_sees_what_is_not_on_the_flash_yet() {
        let buffer = WriteBuffer { at: Some(Bytes::new(16)), content: b"abcd".to_vec() };
        let read = |offset: u64, length: usize| {
            let mut bytes = vec![b'.'; length];
            buffer.overlay(Bytes::new(offset), &mut bytes);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(read(14, 8), "..abcd..");
        assert_eq!(read(17, 2), "bc");
        assert_eq!(read(12, 4), "....");
        assert_eq!(read(20, 4), "....");
        assert_eq!(read(19, 3), "d..");
    }
}
