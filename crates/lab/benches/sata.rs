//! The SATA evaluation, as `boardlab reproduce sata` runs it: 224 GB of commands, each Data FIS followed and verified.
//!
//! Target: less than 5 s on two cores. Criterion measures wall time: run it on a machine that does nothing else.

use boardlab_lab::registry;
use boardlab_sim::Seed;
use criterion::{Criterion, criterion_group, criterion_main};

fn evaluations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sata");
    group.sample_size(10);
    group.bench_function("reproduce", |bencher| {
        bencher.iter(|| registry::reproduce(&["sata"], Seed::new(1), &|_| ()).expect("built in"));
    });
    group.finish();
}

criterion_group!(benches, evaluations);
criterion_main!(benches);
