//! Wall time of one bus cycle on the chip model: buffer data, status polls, contents.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{Boot, BusWidth, Features, Identity, OperationTime, Part, Region, Timing};
use boardlab_sim::{Bytes, Duration, Instant, QuantileTable, Seed};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

const BUFFER_WORDS: u32 = 256;

/// 128 MiB in sectors of 128 KiB with a buffer of 256 words.
fn part() -> Part {
    let timed = |micros| {
        let time = QuantileTable::constant(Duration::from_micros(micros));
        OperationTime { time, max: Duration::from_micros(micros * 4) }
    };
    Part {
        name: "bench".into(),
        width: BusWidth::X16,
        regions: vec![Region { count: 1_024, size: Bytes::kib(128) }],
        boot: Boot::Uniform,
        write_buffer: Some(Bytes::new(512)),
        identity: Identity { manufacturer: 1, device: 0x227E, device_extended: None },
        cfi: None,
        timing: Timing {
            word_program: timed(60),
            buffer_program: timed(200),
            buffer_overhead: Duration::ZERO,
            sector_erase: timed(200_000),
            erase_window: Duration::from_micros(50),
            suspend_latency: Duration::from_micros(20),
            protected_latency: Duration::from_micros(100),
            reset_latency: Duration::from_micros(35),
        },
        features: Features {
            unlock_bypass: true,
            erase_suspend: true,
            program_suspend: true,
            status_register: true,
            ppb: true,
            masks_ones: true,
        },
        endurance: 100_000,
    }
}

fn chip() -> Chip {
    Chip::new(Arc::new(part()), Seed::new(1)).expect("a sound part")
}

/// Everything of a buffered program up to its confirmation, which is left out.
fn load(chip: &mut Chip, mut now: Instant, base: u32, value: u16) -> Instant {
    let mut write = |address, value| {
        now += Duration::from_nanos(285);
        chip.write(now, Address(address), value);
    };
    write(0x555, 0xAA);
    write(0x2AA, 0x55);
    write(base, 0x25);
    write(base, 255);
    for word in 0..BUFFER_WORDS {
        write(base + word, value);
    }
    now
}

/// Programs `pages` whole pages, polling `polls` times each.
fn program(chip: &mut Chip, pages: u32, polls: u32) -> u16 {
    let mut now = Instant::ZERO;
    let mut seen = 0;
    for page in 0..pages {
        let base = page * BUFFER_WORDS;
        now = load(chip, now, base, 0);
        now += Duration::from_nanos(285);
        chip.write(now, Address(base), 0x29);
        for _ in 0..polls {
            now += Duration::from_nanos(285);
            seen ^= chip.read(now, Address(base));
        }
        now += Duration::from_micros(250);
    }
    seen
}

fn cycles(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chip");
    let now = Instant::ZERO;

    group.throughput(Throughput::Elements(260));
    let mut loading = chip();
    group.bench_function("buffer write", |bencher| {
        bencher.iter(|| {
            load(&mut loading, now, 0, black_box(0x1234));
            // A second page's address aborts the load, and the abort is reset.
            for (address, value) in [(0, 0), (0x555, 0xAA), (0x2AA, 0x55), (0x555, 0xF0)] {
                loading.write(now, Address(address), value);
            }
        });
    });

    group.throughput(Throughput::Elements(1_000));
    let mut busy = chip();
    let end = load(&mut busy, now, 0, 0);
    busy.write(end, Address(0), 0x29);
    group.bench_function("status poll", |bencher| {
        bencher.iter(|| (0..1_000).fold(0, |seen, _| seen ^ busy.read(black_box(end), Address(0))));
    });

    let mut idle = chip();
    program(&mut idle, 512, 1);
    group.bench_function("array read", |bencher| {
        bencher.iter(|| (0..1_000).fold(0, |seen, word| seen ^ idle.read(now, Address(word))));
    });

    group.sample_size(10);
    group.throughput(Throughput::Elements(131_072 * (261 + 256)));
    group.bench_function("64 MiB, 256 polls a page", |bencher| {
        bencher.iter_batched_ref(chip, |chip| program(chip, 131_072, 256), BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, cycles);
criterion_main!(benches);
