//! The NAND evaluation, as `boardlab reproduce nandfs` runs it, and the tiobench part of it alone.
//!
//! The target of tiobench for JFFS2, with all three kinds of data and real compression, is less than five
//! seconds on two cores. It is bounded here from above: filling is cut down to a few blocks, not left out.

use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_sim::Seed;
use criterion::{Criterion, criterion_group, criterion_main};

/// All of tiobench as in the scenario, and next to nothing beside it.
const TIOBENCH: [&str; 5] = [
    "part.geometry.blocks=640",
    "fill.level=1 %",
    "compare.files=[\"64 KiB\"]",
    "compare.levels=[\"1 %\"]",
    "compare.data=[\"random\"]",
];

fn evaluations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nandfs");
    group.sample_size(10);
    group.bench_function("tiobench", |bencher| {
        bencher.iter(|| {
            registry::perform(Action::Run, "nand-filesystems", &TIOBENCH, Seed::new(1), &|_| ())
                .expect("built in")
        });
    });
    group.bench_function("reproduce", |bencher| {
        bencher.iter(|| registry::reproduce(&["nandfs"], Seed::new(1), &|_| ()).expect("built in"));
    });
    group.finish();
}

criterion_group!(benches, evaluations);
criterion_main!(benches);
