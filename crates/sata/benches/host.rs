//! The host's time per Data FIS: the calls that an engine makes, and the verification of counting
//! patterns.

use boardlab_sata::host::{Build, Data, Direction, Host, Job, Pattern, Settings, Transfer};
use boardlab_sata::wire::fis::{DmaActivate, Fis, RegisterD2h};
use boardlab_sata::{Agent, LARGEST_DATA, Outcome, Outgoing, Reception, Speed, Tick};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SECTORS: u32 = 65_536;
const FRAMES: u64 = 4_096;

fn good(error: u8) -> Fis {
    let count = u16::from(error);
    let lba = u64::from(error);
    Fis::RegisterD2h(RegisterD2h { status: 0x50, error, lba, count, ..Default::default() })
}

/// Returns a host with a loop of large commands that is long enough for the benchmark.
fn host(direction: Direction) -> Host {
    let mut host = Host::new(Speed::Gen2, Settings::without_costs(Build::Sequencer));
    let transfer = Transfer::looped(direction, 0, SECTORS, 1 << 30);
    host.push(Job::Transfer(transfer.with_data(Data::Pattern(Pattern::Increment))));
    host.received(Tick::ZERO, &good(1));
    host
}

/// Sends the next command; returns its first sector.
fn command(host: &mut Host, now: Tick) -> u64 {
    let Some(Outgoing::Fis(Fis::RegisterH2d(fis))) = host.next(now) else {
        unreachable!("the loop goes on")
    };
    host.sent(now, Outcome::Accepted);
    fis.lba
}

fn read(host: &mut Host, now: Tick) {
    let words = Pattern::Increment.at(command(host, now));
    for frame in 0..FRAMES {
        host.begin(now);
        black_box(host.drain(now, 0));
        host.take_described(LARGEST_DATA, words.from(frame * u64::from(LARGEST_DATA)));
        assert_eq!(host.end(now, true), Reception::Accept);
        black_box(host.wake());
    }
    host.received(now, &good(0));
}

fn write(host: &mut Host, now: Tick) {
    command(host, now);
    let activate = Fis::DmaActivate(DmaActivate::default());
    for _ in 0..FRAMES {
        host.received(now, &activate);
        black_box(host.wake());
        assert_eq!(host.next(now), Some(Outgoing::Data(LARGEST_DATA)));
        black_box(host.supply(now, 0));
        black_box(host.describe());
        host.sent(now, Outcome::Accepted);
    }
    host.received(now, &good(0));
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("host");
    group.throughput(Throughput::Elements(FRAMES));
    group.sample_size(20);
    let mut reads = host(Direction::Read);
    group.bench_function("read 32 MiB", |b| b.iter(|| read(&mut reads, Tick(1))));
    let mut writes = host(Direction::Write);
    group.bench_function("write 32 MiB", |b| b.iter(|| write(&mut writes, Tick(1))));
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
