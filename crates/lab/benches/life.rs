//! Lives of twenty cards of 16 GB under 20 GB of random writes a day, as `boardlab life` computes them.
//!
//! The target is less than 30 seconds on two cores, what-ifs left out.

use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_sim::Seed;
use criterion::{Criterion, criterion_group, criterion_main};

const LOAD: [&str; 5] = [
    "pattern.bytes_a_day=20 GB",
    "pattern.places=random",
    "pattern.request=4 KiB",
    "life.cards=20",
    "what_if.cards=0",
];

fn lives(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("life");
    group.sample_size(10);
    for (name, places) in [("random", "random"), ("hot and cold", "hot-cold")] {
        let places = format!("pattern.places={places}");
        let mut set = LOAD.to_vec();
        set[1] = &places;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                registry::perform(Action::Life, "sd-life", &set, Seed::new(1), &|_| ())
                    .expect("a life")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, lives);
criterion_main!(benches);
