//! Requests a second of a card: the sequential 1 MiB writes of the card evaluation's first experiment.
//!
//! 14.4 GiB, 16 KiB pages on two planes, blocks of 12 MiB, no buffer. The experiment is 10.9
//! million requests of 32 rows each over the first GiB, again and again; in full it is to take less
//! than 30 s. Criterion measures wall time: run it on a machine that does nothing else.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use boardlab_block::{BlockDevice, Extent, Payload, Request};
use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
use boardlab_sd::{Card, Data, Face, Host, Part, free_link};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/small/mod.rs"]
mod small;

/// Requests of one iteration: the GiB that an iteration of the experiment writes.
const STEP: u64 = 1_024;
/// Blocks of a request.
const REQUEST: u64 = 2_048;

/// The tests' card, as large and as slow in its commands as the evaluation's.
fn part() -> Part {
    let micros = Duration::from_micros;
    let face = Face { capacity: Bytes::mib(14_744), command: micros(20), ..small::face() };
    let part = small::in_slot(face);
    Part { host: Host { request: micros(100), ..part.host }, ..part }
}

fn card(data: Data) -> Card<PageMapped<TimedMedium>> {
    let (micros, page) = (Duration::from_micros, Bytes::kib(16));
    let cells = CellTimes::uniform(micros(75), micros(1_000), micros(4_500));
    let timing = Timing {
        native: cells.clone(),
        slc: cells,
        channel: Rate::new(Bytes::new(400), micros(1)).unwrap(),
        link: free_link(),
        command: Duration::ZERO,
        slots: 0,
        cache_program: false,
    };
    let pages = u32::try_from(part().face.capacity / page).unwrap();
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    let geometry = Geometry::new(1_322, 768, page, pages).unwrap().striped(stripe).unwrap();
    let medium = TimedMedium::new(&geometry, &timing).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    Card::new(part(), layer, 2, data).unwrap()
}

/// The first GiB once more; returns when it is written.
fn rewrite(card: &mut Card<PageMapped<TimedMedium>>, from: Instant) -> Instant {
    (0..STEP).fold(from, |now, request| {
        let extent = Extent::new(request * REQUEST, REQUEST);
        let write = Request::Write { extent, data: Payload::Repeated(0), durable: false };
        card.submit(now, write).unwrap().ended
    })
}

fn sequential(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("card, 1 MiB writes");
    group.throughput(Throughput::Elements(STEP));
    for (name, data) in [("passed on whole", Data::Lost), ("row by row", Data::Versions)] {
        if data == Data::Versions && std::env::var_os("BOARDLAB_FULL").is_none() {
            continue; // It keeps a GiB of bytes.
        }
        let mut card = card(data);
        let mut now = rewrite(&mut card, Instant::ZERO);
        group.bench_function(name, |bencher| bencher.iter(|| now = rewrite(&mut card, now)));
    }
    group.finish();
}

criterion_group!(benches, sequential);
criterion_main!(benches);
