//! Attaching a large chip: a NAND of 8 GiB in blocks of 128 KiB, with ECC, every block with a used LEB.
//!
//! Target: under 1 s by a scan.

#[path = "../tests/part/mod.rs"]
mod part;

use boardlab_nand::Nand;
use boardlab_sim::{Clock, Seed};
use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use part::part;
use std::hint::black_box;
use std::sync::Arc;

const BLOCKS: u32 = 65_536;
const PAGES_PER_BLOCK: u32 = 64;

/// A chip on which a volume has used all of its LEBs.
fn used() -> Nand {
    let (mut clock, options) = (Clock::new(), Options::default());
    let part = Arc::new(part(BLOCKS, PAGES_PER_BLOCK));
    let nand = Nand::perfect(part, Seed::new(1), &mut clock).expect("a sound part");
    let mut ubi = Ubi::attach(&mut clock, nand, &options).expect("an erased flash");
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
                let ubi = black_box(ubi).expect("a formatted flash");
                assert_eq!((ubi.volumes().len(), ubi.available().get()), (1, 0));
                ubi
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, attach);
criterion_main!(benches);
