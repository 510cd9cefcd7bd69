//! The SD evaluation, as `boardlab reproduce sdwear` runs it, and experiment 1 of it alone.
//!
//! Targets on one core: experiment 1 in full (10,000 runs of fio, 704 million pages of 16 KiB) in less than
//! 30 s; the whole evaluation in less than 60 s on two. Criterion measures wall time: run it on a machine that
//! does nothing else.

use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_sim::Seed;
use criterion::{Criterion, criterion_group, criterion_main};

/// Experiment 1 as in the scenario, and next to nothing beside it.
const EXPERIMENT_1: [&str; 5] = [
    "wear.volume=1 GiB",
    "wear.endurance=1",
    "wear.over_provisioning=[\"2 %\"]",
    "experiment2.iterations=1",
    "experiment2.probes=1",
];

fn evaluations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sdwear");
    group.sample_size(10);
    group.bench_function("experiment 1", |bencher| {
        bencher.iter(|| {
            registry::perform(Action::Run, "sd-wear", &EXPERIMENT_1, Seed::new(1), &|_| ())
                .expect("built in")
        });
    });
    group.bench_function("reproduce", |bencher| {
        bencher.iter(|| registry::reproduce(&["sdwear"], Seed::new(1), &|_| ()).expect("built in"));
    });
    group.finish();
}

criterion_group!(benches, evaluations);
criterion_main!(benches);
