//! An image of 64 MiB with 8,000 files: found out, mounted and listed, and read.
//!
//! The targets are 100 ms to mount and list and a second to read all of it. For comparison, on an image
//! of 57 MiB with 3,130 files: jefferson 0.4.8 takes 3.3 s for all of it, jffs2reader 1.6 s to list.

#[path = "../tests/rootfs/mod.rs"]
mod rootfs;

use boardlab_image::{Contents, Hints, MountedImage, Walk, identify, open};
use boardlab_vfs::{FileSystem, Ino, Kind, PAGE_SIZE};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

/// All files with their sizes.
fn list(image: &mut MountedImage) -> Vec<(Ino, u64)> {
    let mut walk = Walk::new(b"/", image.fs.root());
    let items = std::iter::from_fn(|| walk.next(&mut image.fs, &mut image.clock));
    let attributes = items.map(|item| item.attributes.expect("the image is sound"));
    let files = attributes.filter(|attributes| attributes.kind == Kind::File);
    files.map(|attributes| (attributes.ino, attributes.size)).collect()
}

fn read(image: &mut MountedImage, files: &[(Ino, u64)]) {
    let mut page = vec![0; PAGE_SIZE];
    for (ino, size) in files {
        for number in 0..size.div_ceil(PAGE_SIZE as u64) {
            let read = image.fs.read_page(&mut image.clock, *ino, number, &mut page);
            read.expect("the image is sound");
            black_box(&page);
        }
        image.fs.evict_inode(&mut image.clock, *ino).expect("the image is sound");
    }
}

fn image(criterion: &mut Criterion) {
    let Some(path) = rootfs::image() else {
        criterion.bench_function("skipped: needs mkfs.jffs2", |bencher| bencher.iter(|| ()));
        return;
    };
    let contents = Contents::open(&path).expect("the image was made");
    let mut group = criterion.benchmark_group("image of 64 MiB");
    group.sample_size(10);
    group.bench_function("identify", |bencher| bencher.iter(|| identify(&contents)));
    group.bench_function("mount and list", |bencher| {
        bencher.iter(|| {
            let mut image = open(&contents, &Hints::default()).expect("the image is sound");
            list(&mut image)
        });
    });
    group.bench_function("mount, list and read all", |bencher| {
        bencher.iter(|| {
            let mut image = open(&contents, &Hints::default()).expect("the image is sound");
            let files = list(&mut image);
            read(&mut image, &files);
        });
    });
    group.finish();
}

criterion_group!(benches, image);
criterion_main!(benches);
