//! Jobs run in virtual time: times by hand, and the published scripts of the SD card evaluation.

use boardlab_block::{
    BlockDevice, Costs, Extent, Geometry, Kind, Layered, Payload, RamBlock, Request, Stats,
};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Rate};
use boardlab_workload::fio::{
    EmptyEnvironment, Failure, Host, Note, Report, Run, parse, parse_arguments, run,
};

type Card = Layered<Stats, RamBlock>;

/// A device whose requests take 1 ms each, so many at once.
fn card(size: Bytes, lanes: u32) -> Card {
    let each = Duration::from_millis(1);
    let costs =
        Costs { read: each, write: each, discard: each, flush: each, lanes, transfer: None };
    let geometry = Geometry { depth: 32, ..Geometry::of_size(size) };
    Stats::over(RamBlock::new(geometry).without_contents().with_costs(costs))
}

fn try_job(device: &mut Card, text: &str) -> Result<Run, Failure> {
    let text = text.replace(' ', "\n");
    let file =
        parse("job", text.as_bytes(), &EmptyEnvironment).unwrap_or_else(|wrong| panic!("{wrong}"));
    run(device, &mut Clock::new(), &file, &Host::default())
}

fn job(device: &mut Card, text: &str) -> Run {
    try_job(device, text).unwrap_or_else(|failure| panic!("{failure}"))
}

fn millis(report: &Report) -> u64 {
    report.ended.since(report.started).as_micros() / 1_000
}

const DEVICE: &str = "filename=/dev/x direct=1";

#[test]
fn a_deeper_queue_uses_more_lanes_and_a_synchronous_engine_does_not() {
    for (engine, depth, lanes, expected) in [
        ("sync", 1, 1, 256),
        ("sync", 8, 8, 256),
        ("libaio", 4, 8, 64),
        ("libaio", 8, 4, 64),
        ("libaio", 256, 256, 8),
    ] {
        let mut device = card(Bytes::mib(4), lanes);
        let text = format!("[j] {DEVICE} size=1m ioengine={engine} iodepth={depth} rw=randread");
        assert_eq!(
            millis(&job(&mut device, &text).reports[0]),
            expected,
            "{engine} {depth} {lanes}"
        );
    }
}

#[test]
fn copies_share_the_device_and_walls_separate_jobs() {
    let mut device = card(Bytes::mib(4), 2);
    let text = format!(
        "[global] {DEVICE} size=64k rw=write [a] numjobs=2 [b] stonewall [c] [d] wait_for=b"
    );
    let run = job(&mut device, &text);
    let times: Vec<_> = run
        .reports
        .iter()
        .map(|report| {
            let start = report.started.since(Instant::ZERO).as_micros() / 1_000;
            (report.name.as_str(), start, millis(report), report.group)
        })
        .collect();
    assert_eq!(
        times,
        [("a", 0, 16, 0), ("a", 0, 16, 0), ("b", 16, 16, 1), ("c", 16, 16, 1), ("d", 32, 16, 1)]
    );
    let grouped =
        job(&mut card(Bytes::mib(4), 2), &text.replace("size=64k", "size=64k group_reporting"));
    let groups: Vec<_> = grouped
        .reports
        .iter()
        .map(|report| (report.copies, report.account.totals[1].requests))
        .collect();
    assert_eq!(groups, [(2, 32), (3, 48)]);
}

#[test]
fn time_ends_a_job_and_a_ramp_is_not_counted() {
    let mut device = card(Bytes::mib(1), 1);
    let text = format!("[j] {DEVICE} rw=write time_based runtime=5 ramp_time=2 startdelay=1");
    let run = job(&mut device, &text);
    let report = &run.reports[0];
    assert_eq!(report.started, Instant::from_nanos(1_000_000_000));
    assert_eq!(millis(report), 7_000);
    let writes = report.account.totals[1].requests;
    assert!((4_999..=5_001).contains(&writes), "{writes}");
    assert_eq!(report.account.elapsed(), Duration::from_secs(5));
}

#[test]
fn rates_and_pauses_slow_a_job_down() {
    for (options, expected) in [
        ("rate=400k", 2_551..=2_561),
        ("rate_iops=50", 5_081..=5_101),
        ("thinktime=9ms", 2_560..=2_560),
        ("thinktime=9ms thinktime_blocks=8", 544..=544),
        ("rate=1g", 256..=256),
    ] {
        let text = format!("[j] {DEVICE} size=1m rw=write {options}");
        let took = millis(&job(&mut card(Bytes::mib(1), 1), &text).reports[0]);
        assert!(expected.contains(&took), "{options}: {took} ms");
    }
}

#[test]
fn a_loop_is_followed_by_a_second_open_and_flush_except_the_last() {
    let mut device = card(Bytes::mib(4), 1);
    let text = format!("[j] {DEVICE} rw=write bs=64k size=64k loops=100 fsync_on_close=1");
    let run = job(&mut device, &text);
    assert_eq!(device.layer().of(Kind::Write).count(), 100);
    assert_eq!(device.layer().of(Kind::Flush).count(), 199);
    assert_eq!(run.reports[0].account.syncs.count(), 199);
    assert_eq!(run.reports[0].opens, 398);
}

#[test]
fn sync_writes_are_durable_and_mixes_have_their_share() {
    let mut device = card(Bytes::mib(64), 8);
    let text = format!("[j] {DEVICE} rw=randrw rwmixread=70 size=64m sync=dsync");
    let run = job(&mut device, &text);
    let [reads, writes, _] = &run.reports[0].account.totals;
    let share = reads.requests * 100 / (reads.requests + writes.requests);
    assert!((68..=72).contains(&share), "{share}");
    assert_eq!(reads.bytes + writes.bytes, 64 << 20);
}

#[test]
fn a_size_beyond_the_device_is_cut_down_and_said() {
    let mut device = card(Bytes::mib(64), 1);
    let run = job(&mut device, &format!("[j] {DEVICE} rw=write bs=1m size=128m"));
    assert_eq!(run.reports[0].account.totals[1].bytes, 64 << 20);
    let note = Note::Clamped { job: "j".to_owned(), asked: 128 << 20, given: 64 << 20 };
    assert_eq!(run.notes, [note]);
}

#[test]
fn a_size_of_zero_is_that_of_the_device() {
    for zero in ["size=0", "size=0 io_size=0", "size=64k io_size=0"] {
        let mut device = card(Bytes::kib(64), 1);
        let report = &job(&mut device, &format!("[j] {DEVICE} rw=write {zero}")).reports[0];
        assert_eq!(report.account.totals[1].bytes, 64 << 10, "{zero}");
    }
}

#[test]
fn what_cannot_run_is_refused_with_its_reason() {
    let why = |options: &str| {
        let text = format!("[j] {options}");
        try_job(&mut card(Bytes::mib(1), 1), &text).unwrap_err().to_string()
    };
    assert!(why("filename=/dev/x").contains("buffered requests need the page cache"));
    assert!(why("direct=1").contains("you need to specify size="));
    assert!(why("direct=1 size=2m").contains("no room for the files"));
    assert!(why(&format!("{DEVICE} offset=1m")).contains("offset lies beyond"));
    assert!(why(&format!("{DEVICE} bs=2m")).contains("size too small"));
    assert!(why(&format!("{DEVICE} bs=100")).contains("not whole blocks of 512 B"));
    let still = "ioengine=null size=1m time_based runtime=1";
    assert!(why(still).contains("took no time"));
}

#[test]
fn an_error_names_the_line_that_asks_for_it() {
    for (text, place) in [
        ("[j]\nfilename=/dev/x\ndirect=0\n", "job:3:1: j: buffered requests"),
        ("[j]\ndirect=1\nfilename=/dev/x\nbuffered=1\n", "job:4:1: j: buffered requests"),
        (
            "[global]\n  direct=0\n[a]\nfilename=/dev/x\ndirect=1\n[b]\nfilename=/dev/x\n",
            "job:2:3: b: buffered",
        ),
        (
            "[global]\ndirect=1\n[a]\nfilename=/dev/x\n[global]\ndirect=0\n[b]\nfilename=/dev/x\n",
            "job:6:1: b: buffered",
        ),
        ("[global]\nfilename=/dev/x\n\n[b]\nrw=read\n", "job:4:1: b: buffered"),
        ("[j]\ndirect=1\nsize=2m\n", "job:3:1: j: the device has no room"),
        ("[j]\ndirect=1\nfilename=/dev/x\nfileoffset=1m\n", "job:4:1: j: the offset lies beyond"),
        ("[j]\ndirect=1\nfilename=/dev/x\nblocksize=2m\n", "job:4:1: j: size too small"),
        ("[j]\ndirect=1\n", "job:1:1: j: you need to specify size="),
    ] {
        let file = parse("job", text.as_bytes(), &EmptyEnvironment).unwrap();
        let mut device = card(Bytes::mib(1), 1);
        let refused = run(&mut device, &mut Clock::new(), &file, &Host::default()).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.starts_with(place), "{text}: {refused}");
    }
}

#[test]
fn the_engine_null_needs_no_room_and_leaves_all_of_it() {
    for name in ["", " filename=/dev/x", " filename=big"] {
        let text = format!(
            "[n] ioengine=null size=1g bs=1m rw=write offset=8m{name} [f] direct=1 size=1m bs=64k rw=write"
        );
        let mut device = card(Bytes::mib(1), 1);
        let run = job(&mut device, &text);
        let written: Vec<_> =
            run.reports.iter().map(|report| report.account.totals[1].bytes).collect();
        assert_eq!(written, [1 << 30, 1 << 20], "{text}");
        assert_eq!(run.notes, [], "{text}");
        assert_eq!(device.layer().of(Kind::Write).count(), 16, "{text}");
    }
    for (options, says) in [
        ("", "you need to specify size="),
        (" filename=/dev/x", "you need to specify size="),
        (" fill_device=1", "you need to specify size="),
        (" size=15p", "more than 268435456 requests"),
        (" size=1m loops=2000000", "more than 268435456 requests"),
    ] {
        let text = format!("[n] ioengine=null{options}");
        let mut device = card(Bytes::mib(1), 1);
        let refused = try_job(&mut device, &text).unwrap_err().to_string();
        assert!(refused.contains(says), "{options}: {refused}");
    }
}

#[test]
fn names_are_made_up_as_the_format_says() {
    // Both copies share a file; by default each has one of its own, and there is room for one.
    let text = "[j] direct=1 size=1m bs=64k rw=write numjobs=2";
    let refused = try_job(&mut card(Bytes::mib(1), 1), text).unwrap_err().to_string();
    assert!(refused.contains("no room"), "{refused}");
    job(&mut card(Bytes::mib(1), 1), &format!("{text} filename_format=$jobname.$filenum"));
}

#[test]
fn the_same_seed_makes_the_same_requests_and_another_seed_others() {
    let text = format!("[j] {DEVICE} rw=randrw size=1m norandommap");
    let file = parse("job", text.replace(' ', "\n").as_bytes(), &EmptyEnvironment).unwrap();
    let asked = |seed| {
        let mut places = Vec::new();
        let sink = |event: &boardlab_block::Event| places.push((event.kind, event.extent));
        let device = RamBlock::new(Geometry::of_size(Bytes::mib(1)));
        let mut device = boardlab_block::Tracer::with_sink(device, 0, sink);
        let host = Host { seed: boardlab_sim::Seed::new(seed), ..Host::default() };
        run(&mut device, &mut Clock::new(), &file, &host).unwrap();
        drop(device);
        places
    };
    assert_eq!(asked(1), asked(1));
    assert_ne!(asked(1), asked(2));
}

/// Both scripts of the SD card evaluation, with the steps around fio, on a card of 14.4 GiB that takes
/// 18.24 MiB/s: only that they can be said is shown here.
#[test]
fn the_published_scripts_run() {
    let size = Bytes::mib(14 * 1_024 + 409);
    let transfer = Rate::new(Bytes::new(19_126_026), Duration::from_secs(1));
    let costs = Costs { transfer, ..Costs::default() };
    let device = RamBlock::new(Geometry::of_size(size)).without_contents().with_costs(costs);
    let (mut device, mut clock) = (Stats::over(device), Clock::new());
    let fio = |device: &mut Card, clock: &mut Clock, line: &str| {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let jobs = parse_arguments(&words).unwrap_or_else(|wrong| panic!("{wrong}"));
        run(device, clock, &jobs, &Host::default()).unwrap()
    };
    let whole = device.geometry().whole();
    device.write_zeroes(&mut clock, whole).unwrap();
    device.discard(&mut clock, whole).unwrap();
    let first = "--name=a --readwrite=write --ioengine=libaio --iodepth=4 --bs=1M --size=16G \
        --filename=/dev/mmcblk0 --runtime=60 --time_based --invalidate=1 --direct=1 \
        --ioscheduler=none";
    let ran = fio(&mut device, &mut clock, first);
    let bytes = ran.reports[0].account.totals[1].bytes;
    assert!((1_093..=1_099).contains(&(bytes >> 20)), "{bytes}");
    assert!(ran.notes.iter().any(|note| matches!(note, Note::Clamped { .. })));

    let fill = Request::Write { extent: whole, data: Payload::Repeated(0xFF), durable: false };
    device.wait(&mut clock, fill).unwrap();
    device.write_zeroes(&mut clock, Extent::new(0, 8_192)).unwrap();
    let second = "--name=b --readwrite=write --ioengine=sync --bs=4M --size=4M --loops=100 \
        --filename=/dev/mmcblk0 --invalidate=1 --direct=1 --fsync_on_close=1 --ioscheduler=none";
    let ran = fio(&mut device, &mut clock, second);
    assert_eq!(ran.reports[0].account.totals[1].bytes, 409_600 << 10);
    assert_eq!(device.layer().of(Kind::Flush).count(), 199);
}
