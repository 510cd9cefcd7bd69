//! Page-mapped parts of a few blocks: each works when full to the last page, or is refused with the
//! number of blocks that it needs; none hangs or runs out of free blocks.

use boardlab_ftl::{
    Admission, Cache, CacheSize, Collection, Contents, Error, Extent, Folding, Geometry, Levelling,
    MapMemory, PageMapped, Policies, Streams, Translation, UntimedMedium, WhenFull,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const COLLECTIONS: [Collection; 6] = [
    Collection::Random,
    Collection::Fifo,
    Collection::Greedy,
    Collection::WindowedGreedy(3),
    Collection::Choices(4),
    Collection::CostBenefit(5),
];
const LEVELLINGS: [Levelling; 6] = [
    Levelling::None,
    Levelling::Dynamic,
    Levelling::Threshold(4),
    Levelling::SwLeveler { shift: 1, threshold: 8 },
    Levelling::DualPool(4),
    Levelling::RandomSwap(7),
];
const STREAMS: [Streams; 4] =
    [Streams::Single, Streams::CopiesApart, Streams::Generations(2), Streams::Generations(4)];

const CACHES: [CacheSize; 4] =
    [CacheSize::None, CacheSize::None, CacheSize::Fixed(2), CacheSize::Dynamic(3)];

const ADMISSIONS: [Admission; 2] = [Admission::All, Admission::ShortRuns { pages: 12, streams: 2 }];

const MAPS: [MapMemory; 3] = [
    MapMemory::Whole,
    MapMemory::Cached { cache: Bytes::new(64), segment: 1 },
    MapMemory::Cached { cache: Bytes::new(2_048), segment: 64 },
];

fn pick<T: Copy>(from: &[T], stream: &mut Stream) -> T {
    from[usize::try_from(stream.below(from.len() as u64)).unwrap()]
}

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn policies(stream: &mut Stream) -> Policies {
    Policies {
        collection: pick(&COLLECTIONS, stream),
        levelling: pick(&LEVELLINGS, stream),
        streams: pick(&STREAMS, stream),
        reserve: 1 + below(stream, 2),
        map: pick(&MAPS, stream),
        cache: Cache {
            size: pick(&CACHES, stream),
            bits: 1 + below(stream, 3),
            admission: pick(&ADMISSIONS, stream),
            when_full: pick(&[WhenFull::Fold, WhenFull::Bypass], stream),
            folding: pick(&[Folding::Valid, Folding::Whole], stream),
            ..Cache::default()
        },
        ..Policies::default()
    }
}

/// Fills the part, then overwrites and trims random pages.
fn exercise(mut ftl: PageMapped<UntimedMedium>, stream: &mut Stream) {
    let pages = ftl.pages();
    ftl.write(Instant::ZERO, Extent::new(0, pages)).unwrap();
    for _ in 0..400 {
        let first = below(stream, pages);
        let count = 1 + below(stream, (pages - first).min(40));
        if stream.chance(1, 10) {
            ftl.trim(Instant::ZERO, Extent::new(first, count)).unwrap();
        } else {
            ftl.write(Instant::ZERO, Extent::new(first, count)).unwrap();
        }
    }
    ftl.assert_sound();
}

#[test]
fn any_part_from_eight_blocks_works_full_or_says_how_many_blocks_it_needs() {
    let mut stream = Seed::new(4).stream("tiny");
    let (mut worked, mut refused) = (0, 0);
    for case in 0..800 {
        let blocks = 8 + below(&mut stream, 12);
        let pages_per_block = pick(&[1, 2, 7, 16, 64, 100], &mut stream);
        let pages = blocks * pages_per_block;
        let spare = pick(&[0, 2, 7, 28, 50], &mut stream);
        let logical = (pages - (pages * spare).div_ceil(100)).max(1);
        let mut policies = policies(&mut stream);
        if !policies.cache.is_on() && logical > 1 && stream.chance(1, 8) {
            let hot_pages = 1 + below(&mut stream, logical - 1);
            let hot_blocks = hot_pages.div_ceil(pages_per_block) + 1 + below(&mut stream, 2);
            policies.streams = Streams::ByClass { hot_pages, hot_blocks };
        }
        let build = |blocks| {
            let part = Geometry::new(blocks, pages_per_block, Bytes::kib(4), logical).unwrap();
            PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(case))
        };
        match build(blocks) {
            Ok(ftl) => {
                exercise(ftl, &mut stream);
                worked += 1;
            }
            Err(Error::TooFewBlocks { needed, .. }) => {
                assert!(needed > blocks, "case {case}: refused for no reason");
                exercise(build(needed).unwrap(), &mut stream);
                refused += 1;
            }
            Err(Error::Policy { what: "bits of a cell", .. }) => {}
            Err(error) => panic!("case {case}: {error}"),
        }
    }
    assert!(worked > 100 && refused > 100, "{worked} worked, {refused} were refused");
}

#[test]
fn policies_that_make_no_sense_are_refused() {
    let part = Geometry::new(64, 16, Bytes::kib(4), 800).unwrap();
    let refused = |policies| {
        PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(1))
            .map(|_| ())
            .unwrap_err()
    };
    let base = Policies::default();
    assert_eq!(
        refused(Policies { reserve: 0, ..base }).to_string(),
        "reserve of free blocks of 0: from 1 to 64"
    );
    let cache = Cache { size: CacheSize::Fixed(u32::MAX), ..Cache::default() };
    for kept in [Policies { reserve: u32::MAX, ..base }, Policies { reserve: 9, cache, ..base }] {
        assert!(matches!(refused(kept), Error::TooFewBlocks { needed: u32::MAX, .. }));
    }
    for collection in [Collection::Choices(0), Collection::WindowedGreedy(0)] {
        assert!(matches!(refused(Policies { collection, ..base }), Error::Policy { .. }));
    }
    for levelling in [
        Levelling::Threshold(0),
        Levelling::RandomSwap(0),
        Levelling::SwLeveler { shift: 17, threshold: 1 },
        Levelling::SwLeveler { shift: 1, threshold: 0 },
    ] {
        assert!(matches!(refused(Policies { levelling, ..base }), Error::Policy { .. }));
    }
    for streams in [
        Streams::Generations(1),
        Streams::Generations(9),
        Streams::ByClass { hot_pages: 0, hot_blocks: 5 },
        Streams::ByClass { hot_pages: 800, hot_blocks: 55 },
        Streams::ByClass { hot_pages: 100, hot_blocks: 7 },
    ] {
        assert!(matches!(refused(Policies { streams, ..base }), Error::Policy { .. }));
    }
}

#[test]
fn a_map_that_cannot_be_cached_is_refused() {
    let part = Geometry::new(64, 16, Bytes::kib(4), 800).unwrap();
    for (cache, segment) in [(100, 0), (7, 1), (10_000, 2_048), (10_000, 100), (511, 64)] {
        let map = MapMemory::Cached { cache: Bytes::new(cache), segment };
        let policies = Policies { map, ..Policies::default() };
        let error =
            PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(1)).unwrap_err();
        assert!(matches!(error, Error::Policy { .. }), "{error}");
    }
}

#[test]
fn a_request_beyond_the_last_page_changes_nothing() {
    let part = Geometry::new(64, 16, Bytes::kib(4), 800).unwrap();
    let mut ftl =
        PageMapped::new(part, Policies::default(), UntimedMedium::new(&part), Seed::new(1))
            .unwrap();
    for extent in [Extent::new(800, 1), Extent::new(799, 2), Extent::new(u32::MAX, u32::MAX)] {
        let error = ftl.write(Instant::ZERO, extent).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { pages: 800, .. }));
        assert!(ftl.trim(Instant::ZERO, extent).is_err());
        assert!(ftl.read(Instant::ZERO, extent, &mut []).is_err());
    }
    assert_eq!(ftl.counters().programs.total(), 0);
}

#[test]
fn layers_on_any_medium_stand_behind_one_trait() {
    let part = Geometry::new(64, 16, Bytes::kib(4), 800).unwrap();
    let seed = Seed::new(1);
    let counting =
        PageMapped::new(part, Policies::default(), UntimedMedium::new(&part), seed).unwrap();
    let holding = PageMapped::new(part, Policies::default(), Contents::new(&part), seed).unwrap();
    let layers: [Box<dyn Translation>; 2] = [Box::new(counting), Box::new(holding)];
    let counts = layers.map(|mut layer| {
        layer.write(Instant::ZERO, Extent::new(0, 800)).unwrap();
        layer.write_each(Instant::ZERO, &[5, 700, 5]).unwrap();
        let error = layer.write_each(Instant::ZERO, &[1, 800]).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { first: 800, count: 1, pages: 800 }));
        *layer.counters()
    });
    assert_eq!(counts[0], counts[1], "what is done does not depend on the medium");
}
