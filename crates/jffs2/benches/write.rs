//! The write path through the page cache onto a NAND in memory.
//!
//! Target: at least 60 MB/s of data that no compressor makes smaller, with all compressors tried in
//! vain.

use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::Mount;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 16 << 20;
const CALL: usize = 65_536;

/// An empty, formatted filesystem of 64 MiB.
fn formatted() -> (Mount<Jffs2<RamMtd>>, Clock) {
    let mut clock = Clock::new();
    let device = RamMtd::nand(512, 64, Bytes::new(2_048), Bytes::new(64));
    let fs = Jffs2::mount(&mut clock, device, Options::default()).expect("an erased flash");
    let mut mount = Mount::new(fs);
    mount.background(&mut clock, None).expect("a flash without faults");
    (mount, clock)
}

fn write(mut mount: Mount<Jffs2<RamMtd>>, mut clock: Clock, data: &[u8]) -> Mount<Jffs2<RamMtd>> {
    let fd = mount.create(&mut clock, "/file", 0o644).expect("an empty filesystem");
    for (index, piece) in data.chunks(CALL).enumerate() {
        mount.write(&mut clock, fd, (index * CALL) as u64, piece).expect("there is space");
    }
    mount.fsync(&mut clock, fd).expect("there is space");
    mount
}

fn throughput(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write 16 MiB");
    group.throughput(Throughput::Bytes(SIZE as u64)).sample_size(10);
    for kind in ["random", "zero"] {
        let mut data = vec![0; SIZE];
        if kind == "random" {
            Seed::new(1).stream("jffs2.bench").fill(&mut data);
        }
        group.bench_function(BenchmarkId::from_parameter(kind), |bencher| {
            bencher.iter_batched(
                formatted,
                |(mount, clock)| black_box(write(mount, clock, &data)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, throughput);
criterion_main!(benches);
