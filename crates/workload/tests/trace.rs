//! Block traces: what blkparse prints is read, what nobody prints is refused with its place, and
//! replays keep the recorded times.

use crate::blktrace;

use crate::blktrace::{Event, act, category};
use boardlab_block::{Costs, Discard, Geometry, RamBlock, Stats, Tracer};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_workload::fio::Direction;
use boardlab_workload::trace::{
    Action, BeyondEnd, Disk, Error, Fit, Format, Kind, Options, Order, Pace, Problem, Reader,
    Reading, Record, UnalignedPolicy, replay,
};

const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  P   R [kjournald]
  8,0    3        3     0.000002197   697  Q   W 223490 + 8 [kjournald]
  8,0    0        0     0.000003000     0  m   N cfq697 hello
  8,0    3       11     0.009507758   697  D   W 223490 + 8 [kjournald]
  8,0    3       12     0.009538995     0  C   W 223490 + 8 [0]
  8,0    1       13     1.500000000   697  D  RA 108 + 128 [a process (1)]
  8,0    1       14     1.500000001   697  D   D 1048576 + 2048 [fio]
  8,0    1       15     1.500000002   697  D  FN [fio]
  8,0    1       16     1.500000003   697  D FWFS 8 + 1 [fio]
  8,0    1       17     1.500000004   697  D WFSM 16 + 8 (    1500) [fio]
  8,0    1       18     1.500000005   697  D   R 96 (12 00 00 00 60 00 ..) [fio]
  8,0    1       19     1.500000006   697  D   N [fio]
CPU0 (t):
 Reads Queued:           6,     1092KiB\t Writes Queued:           9,     1049KiB
 PC Read Disp.:          1,        0KiB\t PC Write Disp.:          0,        0KiB

Throughput (R/W): 91KiB/s / 87KiB/s
Events (t): 80 entries
Skips: 0 forward (0 -   0.0%)
";

const MSR: &str = "\
128166372003061629,hm,1,Read,383496192,32768,1331
128166372003061630,hm,1,Write,512,1024,12
128166372016382155,hm,1,Write,383496192,512,1331
";

fn reading(text: &str) -> Reading {
    Reading::of(Format::detect(text.as_bytes()))
}

fn read_as(text: &str, reading: Reading) -> Result<Vec<Record>, Error> {
    Reader::new(text.as_bytes(), "t", reading).collect()
}

fn read(text: &str) -> Result<Vec<Record>, Error> {
    read_as(text, reading(text))
}

fn record(at: u64, kind: Kind, offset: u64, length: u64) -> Record {
    let (offset, length) = (Bytes::new(offset), Bytes::new(length));
    let at = Duration::from_nanos(at);
    Record { at, kind, offset, length, flushed: false, durable: false, line: 0 }
}

#[test]
fn what_the_driver_was_given_is_read_from_blkparse() {
    let records = read(BLKPARSE).unwrap();
    let plain: Vec<_> = records.iter().map(|one| Record { line: 0, ..*one }).collect();
    let at = 1_500_000_000 - 9_507_758;
    let marked = |one: Record, flushed, durable| Record { flushed, durable, ..one };
    let expected = [
        record(0, Kind::Write, 223_490 * 512, 4_096),
        record(at, Kind::Read, 108 * 512, 65_536),
        record(at + 1, Kind::Discard, 1 << 29, 1 << 20),
        record(at + 2, Kind::Flush, 0, 0),
        marked(record(at + 3, Kind::Write, 8 * 512, 512), true, true),
        marked(record(at + 4, Kind::Write, 16 * 512, 4_096), false, true),
    ];
    assert_eq!(plain, expected);
    assert_eq!(records[0].line, 5);
    let queued = Reading { action: Action::Queued, ..Reading::of(Format::Blkparse) };
    assert_eq!(read_as(BLKPARSE, queued).unwrap().len(), 1);
}

#[test]
fn the_traces_of_cambridge_are_read_with_and_without_a_heading() {
    let records = read(MSR).unwrap();
    assert_eq!(records[0], Record { line: 1, ..record(0, Kind::Read, 383_496_192, 32_768) });
    assert_eq!(records[1], Record { line: 2, ..record(100, Kind::Write, 512, 1_024) });
    assert_eq!(records[2].at, Duration::from_nanos(1_332_052_600));
    let heading = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n";
    let windows = format!("{heading}{}", MSR.replace('\n', "\r\n"));
    assert_eq!(read(&windows).unwrap().len(), 3);
}

#[test]
fn what_blkparse_itself_prints_is_read() {
    let Some(text) = blktrace::printed(&blktrace::every_kind(), &[]) else { return };
    let records = read(&text).unwrap();
    let issued = blktrace::every_kind().into_iter().filter(|event| event.act() == act::ISSUE);
    let wanted: Vec<_> = issued.filter_map(|event| event.record()).collect();
    let plain: Vec<_> = records.iter().map(|one| Record { line: 0, ..*one }).collect();
    let start = wanted[0].at;
    let wanted: Vec<_> =
        wanted.into_iter().map(|one| Record { at: one.at.saturating_sub(start), ..one }).collect();
    assert_eq!(plain, wanted, "{text}");
    let Some(timed) = blktrace::printed(&blktrace::every_kind(), &["-t"]) else { return };
    assert_eq!(read(&timed).unwrap(), records, "{timed}");
}

#[test]
fn random_events_come_back_from_blkparse_as_they_were() {
    let mut random = Seed::new(9).stream("trace");
    let mut time = 0;
    let events: Vec<Event> = (0..2_000)
        .map(|_| {
            let digits = random.below(40);
            time += random.below(1 << digits);
            let kinds = [category::READ, category::WRITE, category::DISCARD | category::WRITE];
            let kind = kinds[usize::try_from(random.below(3)).unwrap()];
            let flags = [0, category::SYNC, category::META, category::FUA, category::FLUSH];
            let flag = flags[usize::try_from(random.below(5)).unwrap()];
            let blocks = u32::try_from(1 + random.below(2_048)).unwrap();
            let sector = random.below(1 << 44);
            Event::new(time, act::ISSUE, kind | flag | category::ISSUE).at(sector, blocks * 512)
        })
        .collect();
    let Some(text) = blktrace::printed(&events, &["-q"]) else { return };
    let records = read(&text).unwrap();
    assert_eq!(records.len(), events.len());
    let start = events[0].record().unwrap().at;
    for (found, event) in records.iter().zip(&events) {
        let wanted = event.record().unwrap();
        let at = wanted.at.saturating_sub(start);
        assert_eq!(Record { line: 0, ..*found }, Record { at, ..wanted }, "{event:?}");
    }
}

/// A text and what is said about it.
const WRONG: &[(&str, &str)] = &[
    ("", "t:1:1: expected requests, found none in 0 lines"),
    ("\n\n", "t:2:1: expected requests, found none in 2 lines"),
    (" ", "t:1:1: expected requests, found none in 1 line"),
    (
        "hello world\n",
        "t:1:1: expected the device of an event, such as 8,0, or a line of blkparse's summary, found `hello`",
    ),
    (
        "  8.0    3       11     0.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:4: expected a comma and the minor number, found `.0`",
    ),
    (
        "  8,x    3       11     0.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:5: expected a minor number, found `x`",
    ),
    (
        "  8,0    a       11     0.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:10: expected the number of a processor, found `a`",
    ),
    (
        "  8,0    3       1b     0.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:18: expected a sequence number, found `1b`",
    ),
    (
        "  8,0    3       11     0.00950775   697  D   W 1 + 8 [a]\n",
        "t:1:25: expected a time in seconds with nine digits, such as 0.009507758, found `0.00950775`",
    ),
    (
        "  8,0    3       11     -1.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:25: expected a time in seconds with nine digits, such as 0.009507758, found `-1.009507758`",
    ),
    (
        "  8,0    3       11     99999999999.009507758   697  D   W 1 + 8 [a]\n",
        "t:1:25: the time `99999999999` is too large",
    ),
    (
        "  8,0    3       11     0.009507758   6x97  D   W 1 + 8 [a]\n",
        "t:1:39: expected a process id, found `6x97`",
    ),
    (
        "  8,0    3       11     0.009507758   697  E   W 1 + 8 [a]\n",
        "t:1:44: expected an action: Q, D, C, G, I, P, U, M, F, A, X, UT, R, S, B, m, found `E`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   X 1 + 8 [a]\n",
        "t:1:48: expected letters such as R, W, WS, FWFS, D, FN, found `X`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   WZ 1 + 8 [a]\n",
        "t:1:48: expected letters such as R, W, WS, FWFS, D, FN, found `WZ`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W -1 + 8 [a]\n",
        "t:1:50: expected a sector, or [process], found `-1`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 1 - 8 [a]\n",
        "t:1:52: expected + and the number of blocks, found `-`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 1 + 8.5 [a]\n",
        "t:1:54: expected the number of blocks, found `8.5`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 1 + 0 [a]\n",
        "t:1:54: expected at least one block, found `0`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 1 + 8 a\n",
        "t:1:56: expected [process], found `a`",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 1 +",
        "t:1:53: expected the number of blocks, found the end of the line",
    ),
    (
        "  8,0    3       11     0.009507758   697",
        "t:1:42: expected an action: Q, D, C, G, I, P, U, M, F, A, X, UT, R, S, B, m, found the end of the line",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 36028797018963968 + 8 [a]\n",
        "t:1:50: sector `36028797018963968` is too large",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 36028797018963967 + 8 [a]\n",
        "t:1:50: the end of the request at sector `36028797018963967` is too large",
    ),
    (
        "  8,0    3       11     0.009507758   697  D   W 99999999999999999999 + 8 [a]\n",
        "t:1:50: a sector, or [process] `99999999999999999999` is too large",
    ),
    (
        "99999999999,0 3 11 0.009507758 697 D W 1 + 8 [a]\n",
        "t:1:1: a major number `99999999999` is too large",
    ),
    ("1,hm,1,Read,1,1\n", "t:1:3: expected a minor number, found `hm,1,Read,1,1`"),
    (
        "x1,hm,1,Read,0,512,1\n",
        "t:1:1: expected a time in ticks of 100 ns, found `x1,hm,1,Read,0,512,1`",
    ),
    ("1,,1,Read,0,512,1\n", "t:1:3: expected the name of a computer, found `,1,Read,0,512,1`"),
    ("1,hm,one,Read,0,512,1\n", "t:1:6: expected the number of a disk, found `one,Read,0,512,1`"),
    ("1,hm,1,read,0,512,1\n", "t:1:8: expected Read or Write, found `read,0,512,1`"),
    ("1,hm,1,Read,-5,512,1\n", "t:1:13: expected an offset in bytes, found `-5,512,1`"),
    ("1,hm,1,Read,0,0,1\n", "t:1:15: expected a size of at least one byte, found `0,1`"),
    (
        "1,hm,1,Read,0,512,\n",
        "t:1:19: expected a response time in ticks of 100 ns, found the end of the line",
    ),
    (
        "1,hm,1,Read,0,512,1 \n",
        "t:1:21: expected the end of the line after the response time, found the end of the line",
    ),
    (
        "1,hm,1,Read,0,512,1x\n",
        "t:1:20: expected the end of the line after the response time, found `x`",
    ),
    (
        "1,hm,1,Read,18446744073709551615,512,1\n",
        "t:1:13: the end of the request at offset `18446744073709551615` is too large",
    ),
    ("1,hm,9999999999,Read,0,512,1\n", "t:1:6: the number of a disk `9999999999` is too large"),
    (
        "5,hm,1,Read,0,512,1\n4,hm,1,Read,0,512,1\n",
        "t:2:1: expected a time not before that of the request before, found one 100 ns earlier",
    ),
    (
        "5,hm,1,Read,0,512,1\n6,hm,2,Read,0,512,1\n",
        "t:2:1: expected requests of one disk, found hm.2 after hm.1: choose one of them",
    ),
    (
        "0,hm,1,Read,0,512,1\n18446744073709551615,hm,1,Read,0,512,1\n",
        "t:2:1: the time since the first request `18446744073709551615` is too large",
    ),
];

#[test]
fn a_wrong_line_is_refused_with_place_found_and_expected() {
    for (text, message) in WRONG {
        let error = read(text).expect_err(text);
        assert_eq!(&error.to_string(), message, "{text}");
    }
}

#[test]
fn a_line_without_end_is_refused_and_not_kept() {
    let text = vec![b'9'; 1 << 20];
    let error = Reader::new(&text[..], "t", Reading::of(Format::Blkparse)).next().unwrap();
    assert_eq!(
        error.unwrap_err().to_string(),
        "t:1:4097: expected the end of the line, found more than 4096 bytes"
    );
}

#[test]
fn an_earlier_time_is_moved_and_counted_when_that_is_chosen() {
    let text = "5,hm,1,Read,0,512,1\n9,hm,1,Read,0,512,1\n3,hm,1,Read,0,512,1\n";
    let reading = Reading { order: Order::Clamp, ..Reading::of(Format::Msr) };
    let mut reader = Reader::new(text.as_bytes(), "t", reading);
    let times: Vec<_> = reader.by_ref().map(|one| one.unwrap().at.as_nanos()).collect();
    assert_eq!((times, reader.late()), (vec![0, 400, 400], 1));
}

#[test]
fn one_disk_of_several_is_read_when_it_is_chosen() {
    let text = "5,hm,1,Read,0,512,1\n9,hm,2,Read,0,1024,1\n3,hm,1,Read,0,512,1\n";
    let disk = Disk::parse("hm.2");
    let records = read_as(text, Reading { disk, ..Reading::of(Format::Msr) }).unwrap();
    assert_eq!((records.len(), records[0].length), (1, Bytes::kib(1)));
    for name in ["", "hm", ".1", "8,", "8,x", "hm.x"] {
        assert_eq!(Disk::parse(name), None, "{name}");
    }
    assert_eq!(Disk::parse("179,0"), Some(Disk::Device(179, 0)));
}

/// One error at most, behind it nothing, and no panic.
fn ends(text: &[u8]) {
    for format in [Format::Blkparse, Format::Msr] {
        let order = Order::Clamp;
        let reader = Reader::new(text, "t", Reading { order, ..Reading::of(format) });
        let (mut errors, mut after) = (0, 0);
        for record in reader {
            after += errors;
            match record {
                Ok(record) => assert!(record.offset.checked_add(record.length).is_some()),
                Err(error) => {
                    assert_eq!(error.to_string().lines().count(), 1, "{error}");
                    errors += 1;
                }
            }
        }
        assert!(errors <= 1 && after == 0);
    }
}

#[test]
fn a_trace_cut_anywhere_or_with_any_byte_changed_ends_in_one_message() {
    for text in [BLKPARSE, MSR].map(str::as_bytes) {
        for end in 0..=text.len() {
            ends(&text[..end]);
        }
        let mut bytes = text.to_vec();
        for at in 0..bytes.len() {
            let good = bytes[at];
            for bad in [0, b' ', b'\n', b',', b'9', b'-', 0xFF, good ^ 1, good ^ 0x80] {
                bytes[at] = bad;
                ends(&bytes);
            }
            bytes[at] = good;
        }
    }
}

fn device() -> Geometry {
    Geometry::of_size(Bytes::mib(1))
}

fn fit(
    beyond: BeyondEnd,
    ragged: UnalignedPolicy,
    one: Record,
) -> (Result<Vec<(u64, u64)>, Problem>, Fit) {
    let mut fit = Fit::new(&device(), beyond, ragged);
    let mut parts = Vec::new();
    let done = fit.fit(one, |part| parts.push((part.offset.get(), part.length.get())));
    (done.map(|()| parts), fit)
}

#[test]
fn a_request_behind_the_end_is_refused_cut_or_wrapped_as_chosen() {
    let size = 1 << 20;
    let over = record(0, Kind::Write, size - 512, 1_024);
    let behind = record(0, Kind::Write, size + 4_096, 512);
    let with = |beyond, one| fit(beyond, UnalignedPolicy::Refuse, one);
    for one in [over, behind] {
        assert!(matches!(with(BeyondEnd::Refuse, one).0, Err(Problem::BeyondEnd { .. })));
    }
    assert_eq!(with(BeyondEnd::Clamp, over).0.unwrap(), [(size - 512, 512)]);
    assert_eq!(with(BeyondEnd::Clamp, over).1.done().cut, 1);
    assert_eq!(with(BeyondEnd::Clamp, behind).0.unwrap(), []);
    assert_eq!(with(BeyondEnd::Clamp, behind).1.done().dropped, 1);
    assert_eq!(with(BeyondEnd::Wrap, over).0.unwrap(), [(size - 512, 512), (0, 512)]);
    assert_eq!(with(BeyondEnd::Wrap, behind).0.unwrap(), [(4_096, 512)]);
    assert_eq!(with(BeyondEnd::Wrap, behind).1.done().wrapped, 1);
    let huge = record(0, Kind::Write, 512, size + 512);
    assert!(with(BeyondEnd::Wrap, huge).0.is_err());
    let last = record(0, Kind::Write, u64::MAX - 511, 512);
    assert!(with(BeyondEnd::Refuse, last).0.is_err());
}

#[test]
fn parts_of_blocks_are_refused_or_widened_as_chosen() {
    let odd = record(0, Kind::Write, 700, 100);
    assert!(matches!(
        fit(BeyondEnd::Refuse, UnalignedPolicy::Refuse, odd).0,
        Err(Problem::NotBlocks { .. })
    ));
    let (parts, fit_done) = fit(BeyondEnd::Refuse, UnalignedPolicy::Widen, odd);
    assert_eq!((parts.unwrap(), fit_done.done().widened), (vec![(512, 512)], 1));
    let last = record(0, Kind::Write, u64::MAX - 100, 50);
    assert!(fit(BeyondEnd::Wrap, UnalignedPolicy::Widen, last).0.is_err());
}

fn options(pace: Pace) -> Options {
    let (beyond, ragged) = (BeyondEnd::Refuse, UnalignedPolicy::Refuse);
    Options { pace, beyond, ragged, data: 7, file: "t".into() }
}

/// Three writes at 0, 1 and 10 ms on a device that takes 2 ms for each.
fn three() -> Vec<Result<Record, Error>> {
    let ms = 1_000_000;
    [0, ms, 10 * ms].map(|at| Ok(record(at, Kind::Write, 4_096, 512))).to_vec()
}

fn slow() -> RamBlock {
    let write = Duration::from_millis(2);
    RamBlock::new(device()).with_costs(Costs { write, ..Costs::default() })
}

#[test]
fn recorded_gaps_reach_the_device_and_a_busy_one_gets_a_queue() {
    let mut clock = Clock::new();
    let mut card = Tracer::over(slow(), 100);
    let done = replay(&mut card, &mut clock, three(), &options(Pace::Recorded)).unwrap();
    let starts: Vec<_> = card.layer().events().map(|one| one.at.as_nanos() / 1_000_000).collect();
    assert_eq!(starts, [0, 1, 10], "submitted as recorded");
    assert_eq!(done.ended.as_nanos(), 12_000_000);
    assert_eq!((done.waited, done.idle), (1, Duration::from_millis(6)));
    let latency = &done.account.totals[Direction::Write as usize].completion;
    assert_eq!(latency.max(), Some(Duration::from_millis(3)), "the second waits for the first");
    assert_eq!(clock.now(), done.ended);
}

#[test]
fn as_fast_as_possible_leaves_no_gap() {
    let run = |depth| {
        let pace = Pace::Fastest(depth);
        replay(&mut slow(), &mut Clock::new(), three(), &options(pace)).unwrap()
    };
    assert_eq!(run(1).ended.as_nanos(), 6_000_000);
    assert_eq!(run(1).idle, Duration::ZERO);
    let longest = |depth| run(depth).account.totals[1].completion.max().unwrap();
    assert_eq!([longest(1), longest(3)].map(|time| time.as_nanos() / 1_000_000), [2, 6]);
}

#[test]
fn flushes_discards_and_large_requests_become_what_the_device_takes() {
    let geometry = Geometry { maximum: Bytes::kib(16), ..device() };
    let mut card = Stats::over(RamBlock::new(geometry.clone()));
    let write = Record { flushed: true, ..record(0, Kind::Write, 0, 65_536) };
    let discard = record(0, Kind::Discard, 0, 65_536);
    let flush = record(0, Kind::Flush, 0, 0);
    let trace = [write, discard, flush].map(Ok);
    let done =
        replay(&mut card, &mut Clock::new(), trace.clone(), &options(Pace::Recorded)).unwrap();
    let count = |kind| card.layer().of(kind).count();
    use boardlab_block::Kind as Asked;
    assert_eq!([Asked::Write, Asked::Discard, Asked::Flush].map(count), [4, 1, 2]);
    assert_eq!((done.requests, done.skipped), (3, 0));
    let none: Option<Discard> = None;
    let mut plain = RamBlock::new(Geometry { discard: none, ..geometry });
    let done = replay(&mut plain, &mut Clock::new(), trace, &options(Pace::Recorded)).unwrap();
    assert_eq!(done.skipped, 1);
}

#[test]
fn a_request_that_does_not_fit_says_its_line() {
    let trace = [Ok(Record { line: 17, ..record(0, Kind::Write, 1 << 20, 512) })];
    let error =
        replay(&mut slow(), &mut Clock::new(), trace, &options(Pace::Recorded)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t:17:1: expected a request within the device of 1048576 bytes, found 512 bytes at offset \
         1048576"
    );
}
