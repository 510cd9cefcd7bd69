//! The write path through the page cache onto UBI on a NAND in memory; attach, mount and list.
//!
//! Targets: at least 80 MB/s of data that no compressor makes smaller; a flash of 64 MiB with 3,000 files
//! is attached, mounted and listed in 60 ms. A copy of the same bytes runs beside, for machines differ.

use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::{NewVolume, Options as UbiOptions, Ubi, Volume};
use boardlab_ubifs::{Options, Ubifs};
use boardlab_vfs::{Kind, Mount};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 16 << 20;
const CALL: usize = 65_536;
const FILES: u32 = 3_000;

type Mounted = Mount<Ubifs<Volume<RamMtd>>>;

/// A flash of 64 MiB.
fn flash() -> RamMtd {
    RamMtd::nand(512, 64, Bytes::new(2_048), Bytes::new(64))
}

/// An empty filesystem on one volume of all space.
fn formatted() -> (Mounted, Clock) {
    let mut clock = Clock::new();
    let mut ubi =
        Ubi::attach(&mut clock, flash(), &UbiOptions::default()).expect("an erased flash");
    let space = ubi.available();
    let id =
        ubi.create_volume(&mut clock, &NewVolume::dynamic("root", space)).expect("there is space");
    let volume = ubi.into_volume(&mut clock, id).expect("the volume was made");
    let fs = Ubifs::mount(&mut clock, volume, Options::default()).expect("an empty volume");
    (Mount::new(fs), clock)
}

fn write(mut mount: Mounted, mut clock: Clock, data: &[u8]) -> Mounted {
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
            Seed::new(1).stream("ubifs.bench").fill(&mut data);
        }
        group.bench_function(BenchmarkId::from_parameter(kind), |bencher| {
            bencher.iter_batched(
                formatted,
                |(mount, clock)| black_box(write(mount, clock, &data)),
                BatchSize::PerIteration,
            );
        });
    }
    let data = vec![1_u8; SIZE];
    group.bench_function("copy of the same bytes", |bencher| {
        bencher.iter(|| black_box(data.clone()));
    });
    group.finish();
}

/// A flash with many files in directories of a hundred.
fn filled() -> RamMtd {
    let (mut mount, mut clock) = formatted();
    for file in 0..FILES {
        let dir = format!("/{}", file / 100);
        if file % 100 == 0 {
            mount.mkdir(&mut clock, &dir, 0o755).expect("there is space");
        }
        let name = format!("{dir}/{file}");
        let fd = mount.create(&mut clock, &name, 0o644).expect("there is space");
        let mut data = vec![0; 12_000];
        Seed::new(u64::from(file)).stream("ubifs.bench").fill(&mut data);
        mount.write(&mut clock, fd, 0, &data).expect("there is space");
        mount.close(&mut clock, fd).expect("an open file");
    }
    mount.unmount(&mut clock).expect("there is space");
    mount.into_fs().into_lebs().into_ubi().into_device()
}

fn list(flash: RamMtd) -> usize {
    let mut clock = Clock::new();
    let ubi = Ubi::attach(&mut clock, flash, &UbiOptions::default()).expect("a formatted flash");
    let id = ubi.id_of("root").expect("the volume was made");
    let volume = ubi.into_volume(&mut clock, id).expect("the volume was made");
    let options = Options { read_only: true, ..Options::default() };
    let fs = Ubifs::mount(&mut clock, volume, options).expect("a clean filesystem");
    let mut mount = Mount::new(fs);
    let mut found = 0;
    for dir in mount.readdir(&mut clock, "/").expect("the root") {
        let path = [b"/", dir.name.as_slice()].concat();
        for entry in mount.readdir(&mut clock, &path).expect("a directory") {
            let file = [path.as_slice(), b"/", entry.name.as_slice()].concat();
            let attributes = mount.lstat(&mut clock, &file).expect("a file");
            found += usize::from(attributes.kind == Kind::File);
        }
    }
    found
}

fn attach_mount_list(criterion: &mut Criterion) {
    let flash = filled();
    let mut group = criterion.benchmark_group("64 MiB, 3,000 files");
    group.sample_size(20);
    group.bench_function("attach, mount, list", |bencher| {
        bencher.iter_batched(
            || flash.clone(),
            |flash| assert_eq!(list(black_box(flash)), 3_000),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, throughput, attach_mount_list);
criterion_main!(benches);
