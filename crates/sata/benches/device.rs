//! The drive's time per Data FIS of 8 KiB: commands, buffer and translation layer, without link and
//! host.
//!
//! Target: 50 ns per Data FIS with a counting pattern, on one core, so that writing 32 GB takes 0.2 s
//! of a run. The drive has ten channels of two dies, each of which programs 8 KiB at once. Criterion
//! measures wall time: run it on an idle machine.

use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
use boardlab_sata::device::{Drive, Ssd, Storage, WriteCache};
use boardlab_sata::wire::Step;
use boardlab_sata::wire::fis::RegisterH2d;
use boardlab_sata::wire::identify::Identify;
use boardlab_sata::{Agent, Counting, Fis, LARGEST_DATA, Outcome, Outgoing, Speed, Tick};
use boardlab_sim::{Bytes, Duration, Rate, Seed};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// The Data FISes of one command: 32 MiB.
const FRAMES: u64 = 4_096;
const SECTORS: u64 = FRAMES * 16;
/// 8 GiB, of which the host can address 7.
const BLOCKS: u32 = 819;
const STRIPE: Stripe = Stripe { channels: 10, dies: 2, planes: 2, units: 1 };

type Device = Ssd<PageMapped<TimedMedium>>;

fn device() -> Device {
    let per_block = STRIPE.row_pages() * 64;
    let logical = BLOCKS / 8 * 7 * per_block;
    let geometry = Geometry::new(BLOCKS, per_block, Bytes::kib(4), logical);
    let geometry = geometry.and_then(|part| part.striped(STRIPE)).expect("a sound part");
    let micros = Duration::from_micros;
    let cells = CellTimes::uniform(micros(25), micros(700), micros(1_500));
    let no_time = Rate::new(Bytes::mib(1 << 30), Duration::from_nanos(1)).expect("not zero");
    let timing = Timing {
        native: cells.clone(),
        slc: cells,
        channel: Rate::new(Bytes::new(40), micros(1)).expect("not zero"),
        link: no_time,
        command: Duration::ZERO,
        slots: 32,
        cache_program: false,
    };
    let medium = TimedMedium::new(&geometry, &timing).expect("times of rows");
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1));
    let drive = Drive {
        sectors: u64::from(logical) * 8,
        lba48: true,
        queue: Some(32),
        trims: true,
        command: micros(20),
        stripe: STRIPE,
        read_buffer: Bytes::kib(512),
        look_ahead: true,
        write_cache: WriteCache::Through,
        idle_after: micros(20_000),
        activates_early: true,
        frame: LARGEST_DATA,
        identify_frame: 128,
    };
    let storage = Storage::new(drive, layer.expect("enough blocks"), true).expect("a sound drive");
    Ssd::new(Speed::Gen2, storage, Identify::new("BENCH", 1, Speed::Gen2)).expect("a sound name")
}

/// Sends a command, and transfers its data as fast as the drive allows.
fn command(device: &mut Device, now: &mut u64, code: u8, lba: u64) -> u64 {
    let fis = RegisterH2d {
        is_command: true,
        command: code,
        lba,
        device: 0x40,
        ..RegisterH2d::default()
    };
    device.received(Tick(*now), &Fis::RegisterH2d(fis));
    let (mut sum, mut words) = (0, Counting { first: 0, step: Step::Up });
    words = words.from(lba * 128);
    loop {
        match device.wake() {
            Tick::NEVER => return sum,
            wake => *now = (*now).max(wake.0),
        }
        let Some(out) = device.next(Tick(*now)) else { continue };
        if let Outgoing::Data(dwords) = out {
            let mut sent = 0;
            while sent < dwords {
                let gate = device.supply(Tick(*now), sent);
                *now = (*now).max(gate.at.0);
                sent = gate.until.min(dwords);
            }
            sum += device.describe().map_or(0, |words| u64::from(words.first));
            *now += u64::from(dwords);
            device.sent(Tick(*now), Outcome::Accepted);
            continue;
        }
        *now += 10;
        device.sent(Tick(*now), Outcome::Accepted);
        if matches!(out, Outgoing::Fis(Fis::DmaActivate(_))) {
            device.begin(Tick(*now));
            let gate = device.drain(Tick(*now), 0);
            *now = (*now).max(gate.at.0) + u64::from(LARGEST_DATA);
            device.take_described(LARGEST_DATA, words);
            words = words.from(LARGEST_DATA.into());
            device.end(Tick(*now), true);
        }
    }
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("device");
    group.throughput(Throughput::Elements(FRAMES));
    let mut device = device();
    let (mut now, mut number) = (0, 0);
    let commands = device.storage().drive().sectors / SECTORS;
    for number in 0..commands {
        command(&mut device, &mut now, 0x35, number * SECTORS);
    }
    for (name, code) in [("write", 0x35), ("read", 0x25)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 1;
                black_box(command(&mut device, &mut now, code, number % commands * SECTORS))
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = frames
}
criterion_main!(benches);
