//! The disk's time per request: random reads of 4 KiB with a queue, and sequential writes of 128 KiB.

#![allow(clippy::unwrap_used, reason = "the drive of the tests")]

#[path = "../tests/drive/mod.rs"]
mod drive;

use boardlab_block::{BlockDevice, Extent, Payload, Request, Target};
use boardlab_sata::device::WriteCache;
use boardlab_sata::disk::{Disk, Driver};
use boardlab_sim::{Bytes, Duration, Instant, Seed};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drive::Layer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const REQUESTS: u64 = 10_000;

/// Returns a full disk, its pages, and when it is idle.
fn disk() -> (Disk<Layer>, u64, Instant) {
    let submit = Duration::from_micros(2);
    let driver = Driver { queue: Some(32), largest: 65_535, submit, complete: submit };
    let storage = drive::storage(400, WriteCache::Protected(Bytes::kib(256)));
    let mut disk = Disk::new(storage, &drive::wiring(), driver);
    let extent = disk.geometry().whole();
    let request = Request::Write { extent, data: Payload::Repeated(1), durable: false };
    let ended = disk.submit(Instant::ZERO, request).map_or(Instant::ZERO, |done| done.ended);
    let pages = extent.count / drive::PAGE;
    (disk, pages, ended)
}

fn requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("disk");
    group.throughput(Throughput::Elements(REQUESTS));
    group.sample_size(20);
    let (mut reads, pages, mut now) = disk();
    let mut places = Seed::new(1).stream("places");
    let mut ends = BinaryHeap::from([Reverse(now); 32]);
    group.bench_function("read 4 KiB at random, depth 32", |b| {
        b.iter(|| {
            for _ in 0..REQUESTS {
                let Some(Reverse(at)) = ends.pop() else { return };
                let extent = Extent::new(places.below(pages) * drive::PAGE, drive::PAGE);
                let done = reads.submit(at, Request::Read { extent, into: Target::Nowhere });
                ends.push(Reverse(done.map_or(at, |done| done.ended)));
            }
        });
    });
    let (mut writes, pages, ended) = disk();
    let mut next = 0;
    now = now.max(ended);
    group.bench_function("write 128 KiB", |b| {
        b.iter(|| {
            for _ in 0..REQUESTS {
                next = (next + 32) % (pages - 32);
                let extent = Extent::new(next * drive::PAGE, 32 * drive::PAGE);
                let data = Payload::Repeated(1);
                let done = writes.submit(now, Request::Write { extent, data, durable: false });
                now = done.map_or(now, |done| done.ended);
            }
        });
    });
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
