//! Random operations on flash in memory, bare and in layers, against a plain vector of bytes.
//!
//! Each run prints its seed when it fails; replay it with `cargo test -p boardlab-mtd --test mtd model`
//! after setting `FIRST_SEED` to it.

use boardlab_mtd::{
    BlockIndex, EraseRegion, Error, FaultInjector, FlashKind, Geometry, Kind, Mtd, Oob, PageIndex,
    PowerCut, RamMtd, Stats, Tracer,
};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use std::ops::Range;

const FIRST_SEED: u64 = 0;
const SEEDS: u64 = 40;
const STEPS: usize = 400;

/// What the device should hold: the rules of flash in a few lines.
struct Model {
    geometry: Geometry,
    data: Vec<u8>,
    oob: Vec<u8>,
    erases: Vec<u64>,
    bad: Vec<bool>,
}

fn usizes(range: Range<Bytes>) -> Range<usize> {
    range.start.to_usize()..range.end.to_usize()
}

fn clear(old: &mut [u8], new: &[u8]) {
    old.iter_mut().zip(new).for_each(|(old, new)| *old &= new);
}

impl Model {
    fn new(geometry: Geometry) -> Self {
        let spare = geometry.oob.map_or(0, |oob| oob.size.get() * geometry.page_count());
        let blocks = geometry.block_count() as usize;
        Self {
            data: vec![0xFF; geometry.size().to_usize()],
            oob: vec![0xFF; Bytes::new(spare).to_usize()],
            erases: vec![0; blocks],
            bad: vec![false; blocks],
            geometry,
        }
    }

    fn spare(&self, page: u32, length: usize) -> Range<usize> {
        let size = self.geometry.oob.expect("only asked of NAND").size.to_usize();
        page as usize * size..page as usize * size + length
    }

    fn erase(&mut self, block: u32) {
        self.erases[block as usize] += 1;
        let range = self.geometry.block_range(BlockIndex(block)).expect("a block of the device");
        let pages = usizes(range.clone());
        self.data[pages.clone()].fill(0xFF);
        if let Some(oob) = self.geometry.oob {
            let (size, page) = (oob.size.to_usize(), self.geometry.write_size.to_usize());
            self.oob[pages.start / page * size..pages.end / page * size].fill(0xFF);
        }
    }
}

fn nor() -> Geometry {
    let region = |count, size| EraseRegion { count, size: Bytes::new(size) };
    Geometry {
        regions: vec![region(2, 64), region(1, 192), region(3, 256)],
        write_size: Bytes::new(2),
        write_buffer: Bytes::new(32),
        ..Geometry::uniform(FlashKind::Nor, 1, Bytes::new(1))
    }
}

fn nand() -> Geometry {
    Geometry {
        write_size: Bytes::new(32),
        write_buffer: Bytes::new(32),
        oob: Some(Oob { size: Bytes::new(4), available: Bytes::new(4) }),
        ..Geometry::uniform(FlashKind::Nand, 6, Bytes::new(256))
    }
}

/// One random operation on both; every answer of the device must be the model's.
fn step(device: &mut dyn Mtd, model: &mut Model, stream: &mut Stream, clock: &mut Clock) {
    let size = model.geometry.size().get();
    let blocks = u64::from(model.geometry.block_count());
    let (offset, length) = (stream.below(size + 40), stream.below(300));
    let block = u32::try_from(stream.below(blocks + 1)).unwrap();
    match stream.below(8) {
        0..3 => program(device, model, stream, clock),
        3 => {
            let mut found = vec![0; usize::try_from(length).unwrap()];
            let answer = device.read(clock, Bytes::new(offset), &mut found);
            assert_eq!(answer.is_ok(), offset + length <= size);
            if answer.is_ok() {
                let range = Bytes::new(offset)..Bytes::new(offset + length);
                assert_eq!(found, model.data[usizes(range)]);
            }
        }
        4 => match device.erase(clock, BlockIndex(block)) {
            Ok(()) => model.erase(block),
            Err(Error::BadBlock { .. }) => assert!(model.bad[block as usize]),
            Err(error) => {
                assert!(matches!(error, Error::NoSuchBlock { count, .. } if count <= block));
            }
        },
        5 if model.geometry.oob.is_some() => program_oob(device, model, stream, clock),
        6 if model.geometry.oob.is_some() => read_oob(device, model, stream, clock),
        7 if u64::from(block) < blocks => {
            let marked = stream.chance(1, 20) && device.mark_bad(clock, BlockIndex(block)).is_ok();
            model.bad[block as usize] |= marked;
            let bad = device.is_bad(clock, BlockIndex(block));
            assert_eq!(bad, Ok(model.bad[block as usize]));
        }
        _ => {}
    }
}

fn program(device: &mut dyn Mtd, model: &mut Model, stream: &mut Stream, clock: &mut Clock) {
    let unit = model.geometry.write_size;
    let skewed = stream.chance(1, 16);
    let offset =
        unit * stream.below(model.geometry.page_count() + 2) + Bytes::new(u64::from(skewed));
    let mut data = vec![0; (unit * stream.below(10)).to_usize()];
    stream.fill(&mut data);
    match device.program(clock, offset, &data) {
        Ok(()) => clear(&mut model.data[offset.to_usize()..], &data),
        Err(Error::Misaligned { .. }) => assert!(skewed && unit > Bytes::new(1)),
        Err(error) => {
            assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
            assert!(offset + Bytes::of(&data) > model.geometry.size());
        }
    }
}

fn program_oob(device: &mut dyn Mtd, model: &mut Model, stream: &mut Stream, clock: &mut Clock) {
    let page = u32::try_from(stream.below(model.geometry.page_count())).unwrap();
    let unit = model.geometry.write_size.to_usize();
    let mut data = vec![0; if stream.chance(1, 2) { unit } else { 0 }];
    let mut oob = vec![0; usize::try_from(stream.below(5)).unwrap()];
    stream.fill(&mut data);
    stream.fill(&mut oob);
    device.program_oob(clock, PageIndex(page), &data, &oob).unwrap();
    clear(&mut model.data[page as usize * unit..], &data);
    let spare = model.spare(page, oob.len());
    clear(&mut model.oob[spare], &oob);
}

fn read_oob(device: &mut dyn Mtd, model: &Model, stream: &mut Stream, clock: &mut Clock) {
    let page = u32::try_from(stream.below(model.geometry.page_count())).unwrap();
    let mut found = vec![0; usize::try_from(stream.below(5)).unwrap()];
    device.read_oob(clock, PageIndex(page), &mut found).unwrap();
    assert_eq!(found, model.oob[model.spare(page, found.len())]);
}

#[test]
fn flash_in_memory_behaves_like_a_vector_with_the_rules_of_flash() {
    for (seed, geometry) in (FIRST_SEED..FIRST_SEED + SEEDS).flat_map(|s| [(s, nor()), (s, nand())])
    {
        eprintln!("seed {seed}, {:?}", geometry.kind);
        let mut stream = Seed::new(seed).stream("model");
        let (mut flash, mut clock) = (RamMtd::new(geometry.clone()), Clock::new());
        let (mut model, mut fork) = (Model::new(geometry.clone()), None);
        for number in 0..STEPS {
            step(&mut flash, &mut model, &mut stream, &mut clock);
            if number == STEPS / 2 {
                fork = Some((flash.clone(), flash.image()));
            }
        }
        assert_eq!(flash.image(), model.data);
        for (block, &erases) in (0..).map(BlockIndex).zip(&model.erases) {
            assert_eq!(flash.erase_count(block), Ok(erases));
        }
        let (fork, image) = fork.unwrap();
        assert_eq!(fork.image(), image, "what happens later does not reach a fork");
    }
}

#[test]
fn four_idle_layers_change_nothing_and_agree_with_each_other() {
    for (seed, geometry) in (FIRST_SEED..FIRST_SEED + SEEDS).flat_map(|s| [(s, nor()), (s, nand())])
    {
        eprintln!("seed {seed}, {:?}", geometry.kind);
        let mut stream = Seed::new(seed).stream("model");
        let cutter = PowerCut::new(RamMtd::new(geometry.clone()), Seed::new(seed));
        let stats = Stats::new(FaultInjector::new(cutter, Seed::new(seed)));
        let mut device = Tracer::new(stats, STEPS * 2);
        let (mut model, mut clock) = (Model::new(geometry), Clock::new());
        for _ in 0..STEPS {
            step(&mut device, &mut model, &mut stream, &mut clock);
        }
        for kind in Kind::ALL {
            let traced = device.events().filter(|event| event.operation.kind == kind).count();
            assert_eq!(device.device().of(kind).count(), traced as u64);
        }
        let erased: Vec<u64> = device.device().wear().iter().map(|wear| wear.erases).collect();
        assert!(model.erases.iter().zip(&erased).all(|(done, asked)| done <= asked));
        let cutter = device.into_inner().into_inner().into_inner();
        assert_eq!(cutter.into_inner().image(), model.data);
    }
}
