//! Wear levelling under small atomic changes: the moves, the erase counters and the bytes of Linux; and
//! a whole life of a flash.
//!
//! `changes-moves`, `changes-counters` and `changes` hold what Linux did; README.md says how.

use super::{Flash, SMALL, differences, yes};
use boardlab_mtd::{Kind, Mtd, Place, Tracer};
use boardlab_sim::{Bytes, Clock, MIX_STEP, mix};
use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi};
use std::collections::BTreeMap;

/// 16 MiB, the whole chip.
const CHIP: Flash = Flash { blocks: 1_024, ..SMALL };

/// The LEBs of the volume that is changed.
const HOT: u64 = 4;

/// One move: block and erase counter of where the data were, and of where they went.
type Moved = [u32; 4];

/// UBI with a log of its last operations, and what it moved.
struct Life<M> {
    clock: Clock,
    ubi: Ubi<Tracer<M>>,
    moves: Vec<Moved>,
    state: u64,
    changes: u64,
}

impl<M: Mtd> Life<M> {
    /// A volume of old data and one of [`HOT`] LEBs, and nothing left to do in the background.
    fn begin(flash: Flash, device: M, wl_threshold: u32, cold: usize) -> Self {
        let mut clock = Clock::new();
        let options = Options { wl_threshold, ..flash.options() };
        let ubi = Ubi::attach(&mut clock, Tracer::new(device, 100), &options).unwrap();
        let mut life = Self { clock, ubi, moves: Vec::new(), state: 1, changes: 0 };
        life.idle();
        let leb = u64::from(life.ubi.layout().leb_size);
        let cold_size = Bytes::new(u64::try_from(cold).unwrap());
        for (name, size) in [("cold", cold_size), ("hot", Bytes::new(HOT * leb))] {
            life.ubi.create_volume(&mut life.clock, &NewVolume::dynamic(name, size)).unwrap();
        }
        life.idle();
        life.ubi.update_volume(&mut life.clock, 0, &yes("cold-data-here", cold)).unwrap();
        life.idle();
        life
    }

    /// Change number n of leb-change.c; whether UBI could do it.
    fn change(&mut self, data: &mut [u8]) -> bool {
        self.state = self.state.wrapping_add(MIX_STEP);
        let leb = u32::try_from(mix(self.state) % HOT).unwrap();
        data.fill(u8::try_from(self.changes % 256).unwrap());
        self.changes += 1;
        let mut volume = self.ubi.volume(&mut self.clock, 1).unwrap();
        let done = volume.change(&mut self.clock, LebIndex(leb), data).is_ok();
        self.idle();
        done
    }

    fn idle(&mut self) {
        let mut more = true;
        while more {
            let (moved, seen) = (self.ubi.counts().moved, self.ubi.device().seen());
            more = self.ubi.background(&mut self.clock).unwrap();
            if self.ubi.counts().moved > moved {
                let [source, target] =
                    [Kind::Erase, Kind::Program].map(|kind| self.first_block(seen, kind));
                let ec = |peb: u32| self.ubi.erase_counters()[usize::try_from(peb).unwrap()];
                // The step has erased the source. A worn out block has no counter any more.
                let before = ec(source).map_or(0, |ec| ec - 1);
                self.moves.push([source, before, target, ec(target).unwrap()]);
            }
        }
    }
}

impl<M: Mtd> Life<M> {
    /// The block of the first operation of a kind since so many.
    fn first_block(&self, seen: u64, kind: Kind) -> u32 {
        let device = self.ubi.device();
        let mut events = device.events().filter(|event| event.number >= seen);
        let first = events.find(|event| event.operation.kind == kind).unwrap();
        match first.operation.place {
            Place::Block(block) => block.0,
            Place::Offset(at) => {
                u32::try_from(at.get() / device.geometry().regions[0].size.get()).unwrap()
            }
            Place::Page(page) => panic!("an operation on page {page}"),
        }
    }

    /// The erase counters of the blocks in service, ascending.
    fn counters(&self) -> Vec<u32> {
        let mut counters: Vec<_> = self.ubi.erase_counters().iter().flatten().copied().collect();
        counters.sort_unstable();
        counters
    }
}

/// How far the counters of blocks in service are apart.
fn spread(counters: &[u32]) -> u32 {
    counters.last().unwrap() - counters.first().unwrap()
}

/// With a threshold of 64: 570 moves in 60,000 changes, each from the same block to the same block.
#[test]
fn wear_levelling_moves_what_linux_moves_where_linux_moves_it() {
    let mut life = Life::begin(CHIP, CHIP.formatted(0), 64, 9_000_000);
    let mut data = [0; 512];
    for _ in 0..60_000 {
        assert!(life.change(&mut data));
    }
    let moves = include_str!("changes-moves").lines().map(|line| {
        let fields: Vec<u32> = line.split(' ').map(|field| field.parse().unwrap()).collect();
        <[u32; 4]>::try_from(fields).unwrap()
    });
    let moves: Vec<_> = moves.collect();
    assert!(moves.len() >= 100);
    let differ = moves.iter().zip(&life.moves).position(|(linux, ours)| linux != ours);
    assert_eq!((differ, life.moves.len()), (None, moves.len()), "the first move that differs");
    let linux: Vec<_> =
        include_str!("changes-counters").lines().map(|line| line.parse().ok()).collect();
    assert_eq!(life.ubi.erase_counters(), linux);
    assert!(spread(&life.counters()) < 128);
    // Two moves have a sequence number of one less, as Linux' thread takes it beside the next change.
    let flash = life.ubi.device().device();
    assert_eq!(differences(flash, include_str!("changes")), [338, 406]);
}

/// Changes until UBI is read-only: worn out blocks have used up its reserve. In the sample the flash is
/// smaller and wears out sooner, with a lower threshold. docs/design/ubi-ubifs.md shows the whole life.
#[test]
fn wear_is_spread_until_the_flash_ends() {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    let (blocks, threshold, endurance) =
        if full { (1_024, 4_096, 20_000) } else { (128, 64, 1_000) };
    let flash = Flash { blocks, chip: blocks, ..CHIP };
    let device = flash.formatted(0).mortal(endurance);
    let cold = usize::try_from(blocks).unwrap() / 2 * 15_872;
    let mut life = Life::begin(flash, device, threshold, cold);
    let mut data = [0; 512];
    let mut widest = 0;
    let mut first_bad = None;
    while life.change(&mut data) {
        if first_bad.is_none() && life.changes % 64 == 0 {
            widest = widest.max(spread(&life.counters()));
        }
        if life.ubi.counts().bad > 0 {
            first_bad.get_or_insert_with(|| (life.changes, life.counters()));
        }
    }
    let (first, counters) = first_bad.expect("no block was marked bad");
    let mut histogram = BTreeMap::new();
    counters.iter().for_each(|ec| *histogram.entry(ec / (threshold / 4)).or_insert(0) += 1);
    let (changes, moves) = (life.changes, life.moves.len());
    println!(
        "first bad block after {first} changes, the end after {changes} with {moves} moves; counters at most \
         {widest} apart; blocks by quarters of the threshold: {histogram:?}"
    );
    assert!(life.ubi.is_read_only());
    // The least worn free block and the one that is taken are less than two thresholds apart; each changed LEB
    // may be in one of them.
    assert!(widest <= 2 * threshold + 4, "{widest}");
    let erases: u64 = counters.iter().map(|&ec| u64::from(ec)).sum();
    let possible = u64::from(blocks) * u64::from(endurance);
    assert!(erases * 10 > possible * 8, "{erases} of {possible} before the first bad block");
    assert!(changes * 10 > possible * 9, "{changes} of {possible}");
}
