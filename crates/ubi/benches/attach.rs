//! Attaching a large chip: 8 GiB in blocks of 128 KiB, every block with a used LEB.
//!
//! Target: under 1 s by a scan. The flash keeps only the first two pages of each block, since a scan reads
//! no more.

use boardlab_mtd::{
    BlockIndex, EraseRegion, Error, FlashKind, Geometry, Mtd, ReadHealth, ReadResult,
};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const PAGE: usize = 2_048;
const BLOCK: usize = 128 << 10;
const BLOCKS: u32 = 65_536;
/// What is kept of a block: the pages with the headers.
const KEPT: usize = 2 * PAGE;

/// A flash that forgets what is behind the headers.
#[derive(Clone)]
struct Headers {
    geometry: Geometry,
    kept: Vec<u8>,
}

impl Headers {
    fn new() -> Self {
        let (page, size) = (Bytes::new(PAGE as u64), Bytes::new(BLOCK as u64));
        let regions = vec![EraseRegion { count: BLOCKS, size }];
        let geometry = Geometry {
            kind: FlashKind::Nand,
            regions,
            write_size: page,
            write_buffer: page,
            oob: None,
        };
        Self { geometry, kept: vec![0xFF; KEPT * BLOCKS as usize] }
    }

    /// The bytes kept of a range, and where they are within it.
    fn kept(&mut self, offset: Bytes, length: usize) -> Option<&mut [u8]> {
        let (block, within) = (offset.to_usize() / BLOCK, offset.to_usize() % BLOCK);
        let end = (within + length).min(KEPT);
        self.kept.get_mut(block * KEPT + within..block * KEPT + end).filter(|_| within < KEPT)
    }
}

impl Mtd for Headers {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, _clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        buffer.fill(0xFF);
        if let Some(kept) = self.kept(offset, buffer.len()) {
            buffer[..kept.len()].copy_from_slice(kept);
        }
        Ok(ReadHealth::default())
    }

    fn program(&mut self, _clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        if let Some(kept) = self.kept(offset, data.len()) {
            let length = kept.len();
            kept.copy_from_slice(&data[..length]);
        }
        Ok(())
    }

    fn erase(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let start = block.0 as usize * KEPT;
        self.kept[start..start + KEPT].fill(0xFF);
        Ok(())
    }
}

/// A chip on which a volume has used all of its LEBs.
fn used() -> Headers {
    let (mut clock, options) = (Clock::new(), Options::default());
    let mut ubi = Ubi::attach(&mut clock, Headers::new(), &options).expect("an erased flash");
    let space = ubi.available();
    let id =
        ubi.create_volume(&mut clock, &NewVolume::dynamic("all", space)).expect("there is space");
    let mut volume = ubi.into_volume(&mut clock, id).expect("the volume was made");
    for leb in 0..volume.shape().leb_count {
        volume.map(&mut clock, LebIndex(leb)).expect("a block is free");
    }
    volume.into_ubi().detach(&mut clock).expect("a flash without faults")
}

fn attach(criterion: &mut Criterion) {
    let flash = used();
    let mut group = criterion.benchmark_group("8 GiB");
    group.sample_size(10);
    group.bench_function("attach by scan", |bencher| {
        bencher.iter_batched(
            || flash.clone(),
            |flash| {
                let ubi = Ubi::attach(&mut Clock::new(), flash, &Options::default());
                assert_eq!(black_box(ubi).expect("a formatted flash").volumes().len(), 1);
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, attach);
criterion_main!(benches);
