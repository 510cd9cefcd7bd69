//! The published write at bus-cycle level: 64 MiB in buffers of 512 bytes, every poll included.
//!
//! Linux makes 34.5 million bus cycles, u-boot, which polls from the beginning, 68.5 million. The
//! target is less than a second for each.

#[path = "../tests/driver_bench/mod.rs"]
mod driver_bench;

use boardlab_mtd::Mtd;
use boardlab_nor::driver::Kind;
use boardlab_nor::part::Region;
use boardlab_sim::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 64 << 20;

fn write(criterion: &mut Criterion) {
    let mut part = driver_bench::part();
    part.regions = vec![Region { count: 1_024, size: Bytes::kib(128) }];
    let data = vec![0; SIZE];
    let mut group = criterion.benchmark_group("write 64 MiB");
    group.sample_size(10).throughput(Throughput::Bytes(SIZE as u64));
    for (name, kind) in [("linux", Kind::Linux34), ("u-boot", Kind::UBoot2013)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (mut mtd, mut clock) = driver_bench::attach(kind, &part, 1);
                mtd.driver.profile.check_erased = false;
                mtd.program(&mut clock, Bytes::ZERO, black_box(&data)).expect("a sound chip");
                (clock.now(), mtd.board.bus.cycles())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, write);
criterion_main!(benches);
