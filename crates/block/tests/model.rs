//! Random requests on a device in memory, bare and in layers, against a plain vector of bytes.
//!
//! Each run prints its seed when it fails; replay it with `cargo test -p boardlab-block --test model`
//! after setting `FIRST_SEED` to it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use boardlab_block::{
    BlockDevice, Costs, Discard, DiscardedContent, Error, Extent, FaultInjector, Geometry, Noise,
    Payload, PowerCut, RamBlock, Request, Stats, Target, Tracer,
};
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const FIRST_SEED: u64 = 0;
const SEEDS: u64 = 40;
const STEPS: usize = 300;

fn geometry(block: u64) -> Geometry {
    let block = Bytes::new(block);
    Geometry {
        block,
        count: 400,
        physical: block,
        optimal: block,
        depth: 4,
        discard: Some(Discard { granularity: block * 4, reads: DiscardedContent::Ones }),
        ..Geometry::of_size(Bytes::mib(1))
    }
}

fn extent(stream: &mut Stream) -> Extent {
    let first = stream.below(420);
    let longest = if stream.chance(1, 4) { 200 } else { 8 };
    Extent::new(first, stream.below(longest))
}

/// Makes a random request on the device and on the model.
fn step<D: BlockDevice>(device: &mut D, at: Instant, image: &mut [u8], stream: &mut Stream) {
    let geometry = device.geometry().clone();
    let extent = extent(stream);
    let size = geometry.block.to_usize();
    let blocks = extent.blocks();
    let fits = blocks.end <= geometry.count;
    let within = |first: u64, end: u64| {
        usize::try_from(first).unwrap() * size..usize::try_from(end).unwrap() * size
    };
    let range = within(blocks.start, blocks.end);
    let mut buffer = vec![0; range.len()];
    let kind = stream.below(6);
    let data = match kind {
        0 => {
            stream.fill(&mut buffer);
            Payload::Bytes(&buffer)
        }
        1 => Payload::Repeated(u8::try_from(stream.below(256)).unwrap()),
        _ => Payload::Noise(Noise { seed: stream.below(9), zeros: 30 }),
    };
    let answer = match kind {
        0..=2 => {
            let durable = stream.chance(1, 2);
            if fits {
                data.copy_to(&geometry, extent, &mut image[range]);
            }
            device.submit(at, Request::Write { extent, data, durable })
        }
        3 => {
            let aligned = geometry.aligned_within(extent, geometry.block * 4);
            if fits {
                image[within(aligned.blocks().start, aligned.blocks().end)].fill(0xFF);
            }
            device.submit(at, Request::Discard { extent })
        }
        4 => {
            if fits {
                image[range].fill(0);
            }
            device.submit(at, Request::WriteZeroes { extent })
        }
        _ => {
            let into = Target::Buffer(&mut buffer);
            let answer = device.submit(at, Request::Read { extent, into });
            assert!(!fits || buffer == image[range], "read {extent}");
            answer
        }
    };
    match answer {
        Ok(done) => assert!(fits && at <= done.accepted && done.accepted <= done.started),
        Err(Error::OutOfRange { .. }) => assert!(!fits),
        Err(error) => panic!("{error}"),
    }
}

fn run<D: BlockDevice>(seed: u64, mut device: D) {
    let mut stream = Seed::new(seed).stream("model");
    let size = device.geometry().size().to_usize();
    let (mut image, mut now) = (vec![0; size], Instant::ZERO);
    for number in 0..STEPS {
        now += Duration::from_nanos(stream.below(100));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            step(&mut device, now, &mut image, &mut stream);
        }));
        assert!(result.is_ok(), "seed {seed}, step {number}");
    }
    let (extent, mut found) = (device.geometry().whole(), vec![0; size]);
    device.submit(now, Request::Read { extent, into: Target::Buffer(&mut found) }).unwrap();
    assert!(found == image, "seed {seed}: the device differs at the end");
}

fn ram(block: u64) -> RamBlock {
    let read = Duration::from_nanos(70);
    RamBlock::new(geometry(block)).with_costs(Costs { read, lanes: 2, ..Costs::default() })
}

#[test]
fn a_device_in_memory_holds_what_was_written() {
    for seed in FIRST_SEED..FIRST_SEED + SEEDS {
        run(seed, ram(512));
        run(seed, ram(4_096));
    }
}

#[test]
fn layers_without_orders_change_nothing() {
    for seed in FIRST_SEED..FIRST_SEED + SEEDS {
        let seeds = Seed::new(seed);
        let faults = FaultInjector::over(ram(512), seeds, &[]);
        let cut = PowerCut::over(faults, seeds);
        run(seed, Tracer::over(Stats::over(cut), 10));
    }
}
