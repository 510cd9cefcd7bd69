//! tiobench on the reference filesystem, whose time is that of the host alone.
use boardlab_sim::{Bytes, Clock, Duration, Hertz, Seed};
use boardlab_vfs::{Caching, Cost, Host, MemoryFs, Mount, Options, Work};
use boardlab_workload::tiobench::{Moment, Results, Test, Tiobench, run};
use boardlab_workload::{Data, Error};

/// Every page costs 10 us, nothing else anything; 64 KiB of page cache.
fn board() -> (Mount<MemoryFs>, Clock) {
    let cost = |work| match work {
        Work::Page => Cost { each: 10, per_kib: 0 },
        _ => Cost::default(),
    };
    let host = Host::new(Hertz::from_hz(1_000_000), cost);
    let options = Options::with_cache(Bytes::kib(64));
    (Mount::with_host(MemoryFs::new(), host, options), Clock::new())
}

fn job() -> Tiobench {
    let (size, block) = (Bytes::mib(1), Bytes::kib(32));
    Tiobench {
        size,
        block,
        random_operations: 16,
        data: Data::Text,
        verify: true,
        ..Tiobench::default()
    }
}

fn measure(job: &Tiobench) -> Results {
    let (mut mount, mut clock) = board();
    run(&mut mount, &mut clock, job, &mut |_, _, _, _| {}).unwrap()
}

#[test]
fn four_tests_move_what_they_should_in_the_time_of_their_pages() {
    let results = measure(&job());
    let told: Vec<_> = results
        .measured
        .iter()
        .map(|measured| {
            let latency = measured.latency.mean().unwrap().as_micros();
            (
                measured.test,
                measured.bytes,
                measured.elapsed.as_micros(),
                measured.latency.count(),
                latency,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Test::Write, Bytes::mib(1), 2_560, 32, 80),
            (Test::RandomWrite, Bytes::kib(512), 1_280, 16, 80),
            (Test::Read, Bytes::mib(1), 2_560, 32, 80),
            (Test::RandomRead, Bytes::kib(512), 1_280, 16, 80),
        ]
    );
}

#[test]
fn threads_take_turns_and_wait_for_each_other() {
    let results = measure(&Tiobench { threads: 4, ..job() });
    let write = &results.measured[0];
    assert_eq!((write.bytes, write.elapsed.as_micros()), (Bytes::mib(4), 4 * 2_560));
    assert_eq!(write.latency.max(), Some(Duration::from_micros(4 * 80)));
}

#[test]
fn files_are_made_full_size_first_kept_or_removed() {
    let (mut mount, mut clock) = board();
    let mut sizes = Vec::new();
    for presize in [true, false] {
        let job = Tiobench { tests: vec![Test::Write], presize, keep: true, threads: 2, ..job() };
        run(&mut mount, &mut clock, &job, &mut |_, _, _, _| {}).unwrap();
        sizes.push(mount.stat(&mut clock, "/_tiotest_pid1.thr1").unwrap().size);
    }
    assert_eq!(sizes, [1 << 20, 1 << 20]);
    run(&mut mount, &mut clock, &Tiobench { threads: 2, ..job() }, &mut |_, _, _, _| {}).unwrap();
    assert_eq!(mount.readdir(&mut clock, "/").unwrap(), []);
}

#[test]
fn an_observer_sees_each_test_begin_and_end() {
    let (mut mount, mut clock) = board();
    let mut seen = Vec::new();
    let job = Tiobench { tests: vec![Test::Write, Test::Read], drop_caches: true, ..job() };
    run(&mut mount, &mut clock, &job, &mut |test, moment, mount, clock| {
        seen.push((test, moment, mount.cache_counts().read, clock.now().as_nanos() / 1_000));
    })
    .unwrap();
    assert_eq!(
        seen,
        [
            (Test::Write, Moment::Before, 0, 0),
            (Test::Write, Moment::After, 0, 2_560),
            (Test::Read, Moment::Before, 0, 2_560),
            (Test::Read, Moment::After, 256, 5_120),
        ]
    );
}

#[test]
fn random_blocks_follow_from_the_seed_and_spare_the_last() {
    let counts = |seed| {
        let (mut mount, mut clock) = board();
        let job = Tiobench {
            seed: Seed::new(seed),
            random_operations: 2_000,
            size: Bytes::kib(96),
            ..job()
        };
        run(&mut mount, &mut clock, &job, &mut |_, _, _, _| {}).unwrap();
        mount.cache_counts()
    };
    assert_eq!(counts(3), counts(3));
    assert_ne!(counts(3), counts(4));
}

#[test]
fn a_wrong_byte_and_a_full_device_end_the_run() {
    let (mut mount, mut clock) = board();
    let write = Tiobench { tests: vec![Test::Write], keep: true, data: Data::Random, ..job() };
    run(&mut mount, &mut clock, &write, &mut |_, _, _, _| {}).unwrap();
    let fd = mount.open(&mut clock, "/_tiotest_pid1.thr0").unwrap();
    let mut byte = [0];
    mount.read(&mut clock, fd, 70_000, &mut byte).unwrap();
    mount.write(&mut clock, fd, 70_000, &[byte[0] ^ 3]).unwrap();
    let read = Tiobench { tests: vec![Test::Read], ..write.clone() };
    let error = run(&mut mount, &mut clock, &read, &mut |_, _, _, _| {}).unwrap_err();
    let Error::Differs { offset, bits: 2, .. } = error else { panic!("{error}") };
    assert_eq!(offset, Bytes::new(70_000));

    let mut full = Mount::new(MemoryFs::new().with_capacity(100));
    let error = run(&mut full, &mut clock, &write, &mut |_, _, _, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "write /_tiotest_pid1.thr0: no space left on device (ENOSPC)");
}

#[test]
fn write_back_is_paid_for_within_the_test() {
    let mut mount = Mount::new(MemoryFs::new().with_caching(Caching::WriteBack));
    let mut dirty = Vec::new();
    run(&mut mount, &mut Clock::new(), &job(), &mut |_, _, mount, _| {
        dirty.push(mount.dirty_bytes());
    })
    .unwrap();
    assert_eq!(dirty, [Bytes::ZERO; 8]);
}

#[test]
fn the_texts_are_those_of_tiotest() {
    let results = measure(&Tiobench { tests: vec![Test::Write, Test::RandomRead], ..job() });
    assert_eq!(
        results.terse(),
        "\
write:1.00000,0.00256,0.00000,0.00000,0.08000,0.08000,0.00000,0.00000
rwrite:0.00000,0.00000,0.00000,0.00000,0.00000,0.00000,0.00000,0.00000
read:0.00000,0.00000,0.00000,0.00000,0.00000,0.00000,0.00000,0.00000
rread:0.50000,0.00128,0.00000,0.00000,0.08000,0.08000,0.00000,0.00000
total:0.08000,0.08000,0.00000,0.00000
"
    );
    assert_eq!(
        results.to_string(),
        "\
Tiotest results for 1 concurrent io threads:
,----------------------------------------------------------------------.
| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
| Write           1 MBs |    0.0 s | 390.625 MB/s |   0.0 %  |   0.0 % |
| Random Read     0 MBs |    0.0 s | 390.625 MB/s |   0.0 %  |   0.0 % |
`----------------------------------------------------------------------'
Tiotest latency results:
,-------------------------------------------------------------------------.
| Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |
+--------------+-----------------+-----------------+----------+-----------+
| Write        |        0.080 ms |        0.080 ms |  0.00000 |   0.00000 |
| Random Read  |        0.080 ms |        0.080 ms |  0.00000 |   0.00000 |
|--------------+-----------------+-----------------+----------+-----------|
| Total        |        0.080 ms |        0.080 ms |  0.00000 |   0.00000 |
`--------------+-----------------+-----------------+----------+-----------'
"
    );
}
