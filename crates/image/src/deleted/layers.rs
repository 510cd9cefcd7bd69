//! The content of a deleted file: the newest of what is left of each byte.
//!
//! Layer: rank 7. Main types: [`Layer`], a piece as it is on the flash; [`Content`], what is seen of all pieces.

use std::collections::BTreeMap;
use std::ops::Range;

/// A piece of a file on the flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its age: it covers what has a lower one.
    pub version: u64,
    /// The bytes of the file.
    pub range: Range<u64>,
    /// Whether its checksum is right.
    pub is_good: bool,
    /// Whether it says that the bytes are zeros, and holds none.
    pub is_hole: bool,
    /// Its number for [`PieceSource`](super::PieceSource).
    pub index: usize,
}

/// A part of a layer that is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the file.
    pub range: Range<u64>,
    /// The first byte of the layer in the file.
    pub base: u64,
    /// The number of the layer.
    pub index: usize,
}

/// What is left of the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// What is there, without holes, in the order of [`Piece::index`].
    pub pieces: Vec<Piece>,
    /// Bytes that are there, holes counted.
    pub left: u64,
    /// What no layer has, in ascending order.
    pub gone: Vec<Range<u64>>,
    /// What only an older layer has than one that is damaged, in ascending order.
    pub older: Vec<Range<u64>>,
}

/// Ranges that do not touch, by their beginnings.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// The parts of `range` that are not in it.
    fn outside(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut outside = Vec::new();
        let mut at = range.start;
        let before = self.0.range(..=range.start).next_back();
        for (&start, &end) in before.into_iter().chain(self.0.range(range.start..range.end)) {
            if start > at {
                outside.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            outside.push(at..range.end);
        }
        outside
    }

    /// Adds a range.
    fn add(&mut self, range: &Range<u64>) {
        let (mut start, mut end) = (range.start, range.end);
        if start >= end {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..=end).next_back() {
            if last < start {
                break;
            }
            self.0.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.0.insert(start, end);
    }

    fn in_order(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(&start, &end)| start..end)
    }
}

impl Content {
    /// What `layers` show of a file of `size` bytes.
    #[must_use]
    pub fn of(mut layers: Vec<Layer>, size: u64) -> Self {
        layers.sort_by_key(|layer| (std::cmp::Reverse(layer.version), !layer.is_good, layer.index));
        let [mut held, mut seen, mut damaged] = [(); 3].map(|()| Ranges::default());
        let mut content = Self::default();
        for layer in layers {
            let range = layer.range.start.min(size)..layer.range.end.min(size);
            let unseen = seen.outside(&range);
            seen.add(&range);
            if !layer.is_good {
                unseen.iter().for_each(|part| damaged.add(part));
                continue;
            }
            for part in held.outside(&range) {
                content.left += part.end - part.start;
                if !layer.is_hole {
                    let (base, index) = (layer.range.start, layer.index);
                    content.pieces.push(Piece { range: part, base, index });
                }
            }
            held.add(&range);
        }
        content.pieces.sort_by_key(|piece| (piece.index, piece.range.start));
        content.gone = held.outside(&(0..size));
        for part in damaged.in_order() {
            let mut lost = Ranges::default();
            held.outside(&part).iter().for_each(|gone| lost.add(gone));
            content.older.extend(lost.outside(&part));
        }
        content
    }
}

#[cfg(test)]
mod tests;
