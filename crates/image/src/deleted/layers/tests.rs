//! Layers over each other, compared with the same byte by byte.

use super::*;
use boardlab_sim::Seed;

/// A byte of a file: the version that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    Gone,
    Hole,
    Of { index: usize, is_older: bool },
}

/// The same, byte by byte.
fn slow(layers: &[Layer], size: u64) -> Vec<Byte> {
    let of = |at: u64| {
        let mut over: Vec<_> = layers.iter().filter(|layer| layer.range.contains(&at)).collect();
        over.sort_by_key(|layer| (layer.version, layer.is_good, std::cmp::Reverse(layer.index)));
        let is_older = over.last().is_some_and(|newest| !newest.is_good);
        match over.iter().rev().find(|layer| layer.is_good) {
            None => Byte::Gone,
            Some(layer) if layer.is_hole => Byte::Hole,
            Some(layer) => Byte::Of { index: layer.index, is_older },
        }
    };
    (0..size).map(of).collect()
}

fn seen(content: &Content, size: u64) -> Vec<Byte> {
    let in_any = |ranges: &[Range<u64>], at: u64| ranges.iter().any(|one| one.contains(&at));
    let of = |at: u64| {
        let here: Vec<_> = content.pieces.iter().filter(|one| one.range.contains(&at)).collect();
        assert!(here.len() <= 1, "{here:?}");
        match here.first() {
            None if in_any(&content.gone, at) => Byte::Gone,
            None => Byte::Hole,
            Some(piece) => Byte::Of { index: piece.index, is_older: in_any(&content.older, at) },
        }
    };
    (0..size).map(of).collect()
}

#[test]
fn the_newest_good_layer_of_each_byte_is_seen() {
    let mut stream = Seed::new(4).stream("layers");
    for round in 0..3_000 {
        let size = stream.below(60);
        let layers: Vec<_> = (0..stream.below(9))
            .map(|index| {
                let start = stream.below(50);
                Layer {
                    version: stream.below(6),
                    range: start..start + stream.below(30),
                    is_good: stream.below(4) > 0,
                    is_hole: stream.below(4) == 0,
                    index: usize::try_from(index).unwrap(),
                }
            })
            .collect();
        let content = Content::of(layers.clone(), size);
        let expected = slow(&layers, size);
        assert_eq!(seen(&content, size), expected, "{round}: {layers:?}");
        let left = expected.iter().filter(|byte| **byte != Byte::Gone).count();
        assert_eq!(content.left, u64::try_from(left).unwrap());
    }
}

#[test]
fn many_pieces_that_cover_each_other_take_no_time() {
    let count = 200_000;
    let layers: Vec<_> = (0..count)
        .map(|number: u64| Layer {
            version: number,
            range: number % 1_000..u64::from(u32::MAX) - number % 777,
            is_good: !number.is_multiple_of(3),
            is_hole: false,
            index: 0,
        })
        .collect();
    let content = Content::of(layers, u64::MAX);
    assert!(!content.pieces.is_empty());
    let apart = (0..count).map(|number| Layer {
        version: number,
        range: number * 10..number * 10 + 5,
        is_good: !number.is_multiple_of(2),
        is_hole: false,
        index: 0,
    });
    assert_eq!(Content::of(apart.collect(), count * 10).pieces.len(), 100_000);
}
