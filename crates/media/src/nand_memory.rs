//! The memory of whole pages, handed on from a flash that is no longer used to the next one.
//!
//! Layer: below `nand`. Functions: [`lend`], [`take_back`]. A run fills a flash of 256 MiB, whose pages are
//! allocated one by one. The heap would return them to the operating system at its end, and the next
//! run would take as many, each with a page fault.
//!
//! Pages of one size are kept, whatever thread had them: never more than [`MOST`] with those that are
//! lent, and none when all of these are back.

use std::sync::{Mutex, PoisonError};

/// The most bytes of pages that are lent or kept for others. Beyond them pages are freed: with twice as many `reproduce
/// nandfs` took 100 MB more.
const MOST: usize = 96 << 20;

/// Pages for others.
struct Kept {
    /// Bytes of each page.
    length: usize,
    free: Vec<Box<[u8]>>,
    lent: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { length: 0, free: Vec::new(), lent: 0 });

/// Memory with this content; `None` while pages of another size are lent.
pub(crate) fn lend(content: &[u8]) -> Option<Box<[u8]>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.length != content.len() {
        if kept.lent > 0 {
            return None;
        }
        kept.length = content.len();
    }
    kept.lent += 1;
    let free = kept.free.pop();
    drop(kept);
    Some(free.map_or_else(
        || content.into(),
        |mut bytes| {
            bytes.copy_from_slice(content);
            bytes
        },
    ))
}

/// Keeps or frees memory that was lent.
pub(crate) fn take_back(bytes: Box<[u8]>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.lent -= 1;
    if kept.lent == 0 {
        let free = std::mem::take(&mut kept.free);
        drop(kept);
        drop(free);
    } else if (kept.lent + kept.free.len() + 1) * kept.length <= MOST {
        kept.free.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use crate::{CellKind, NandArray, NandGeometry, ProgramRules, Row};
    use boardlab_sim::{Bytes, Instant};

    fn array(page: u64) -> NandArray {
        let (page, oob) = (Bytes::new(page), Bytes::new(page / 32));
        let geometry = NandGeometry { blocks: 4, pages_per_block: 8, page, oob };
        NandArray::new(geometry, ProgramRules::of(CellKind::Slc, 4))
    }

    fn is_full_of(array: &NandArray, value: u8) -> bool {
        let mut found = vec![0; array.geometry().row_bytes()];
        (0..8).all(|page| {
            array.peek(Row { block: 1, page }, 0, &mut found);
            found.iter().all(|&byte| byte == value)
        })
    }

    #[test]
    fn parts_that_hand_pages_on_keep_their_contents() {
        let fill = |array: &mut NandArray, value| {
            let whole = vec![value; array.geometry().row_bytes()];
            for page in 0..8 {
                array.program(Instant::ZERO, Row { block: 1, page }, 0, &whole);
            }
        };
        // Of two sizes, so that one of them is not handed on while the other is.
        let [mut small, mut large] = [512, 2_048].map(array);
        for value in 0..50 {
            fill(&mut small, value);
            fill(&mut large, value + 100);
            let fork = small.clone();
            small.program(Instant::ZERO, Row { block: 1, page: 3 }, 7, &[0]);
            assert!(is_full_of(&fork, value) && is_full_of(&large, value + 100));
            small.erase(1);
            assert!(is_full_of(&fork, value) && is_full_of(&small, 0xFF));
            large.erase(1);
        }
    }
}
