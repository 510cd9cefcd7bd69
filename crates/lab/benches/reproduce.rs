//! The whole NOR evaluation, as `boardlab reproduce nor` runs it, and the tuner.
//!
//! The target of `reproduce nor` is less than five seconds on two cores.

use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_sim::Seed;
use criterion::{Criterion, criterion_group, criterion_main};

fn evaluations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nor");
    group.sample_size(10);
    group.bench_function("reproduce", |bencher| {
        bencher.iter(|| registry::reproduce(&["nor"], Seed::new(1), &|_| ()).expect("built in"));
    });
    group.bench_function("tune", |bencher| {
        bencher.iter(|| {
            registry::perform::<&str>(Action::Tune, "nor-write", &[], Seed::new(1), &|_| ())
                .expect("built in")
        });
    });
    group.finish();
}

criterion_group!(benches, evaluations);
criterion_main!(benches);
