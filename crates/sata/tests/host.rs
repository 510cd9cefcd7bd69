//! The host alone: its commands, timers, verification and errors, with a toy drive on a toy link.

use crate::toy::{Bench, Fault, Toy};
use Direction::{Read, Write};
use boardlab_sata::host::{
    Addressing, Build, Costs, Data, Direction, Failure, Host, Job, Limits, Mismatch, Pattern,
    Refusal, Report, SectorRange, Settings, Transfer,
};
use boardlab_sata::{Error, Speed};
use boardlab_sim::Duration;
use std::collections::BTreeSet;

const BUILDS: [Build; 3] = [Build::Single, Build::Firmware, Build::Sequencer];

fn limits() -> Limits {
    Limits { timeout: Duration::from_millis(100), reissues: 3, resets: 2 }
}

fn host(build: Build) -> Host {
    let settings = Settings { build, costs: Costs::default(), limits: limits() };
    Host::new(Speed::Gen2, settings)
}

fn bench(count: u64) -> Bench {
    Bench::new(host(Build::Firmware), Toy::new(count))
}

/// Runs jobs and returns their reports.
fn run(bench: &mut Bench, jobs: impl IntoIterator<Item = Job>) -> Vec<Report> {
    jobs.into_iter().for_each(|job| bench.host.push(job));
    bench.run();
    assert!(bench.host.is_done());
    bench.host.take_reports()
}

fn job(direction: Direction, first: u64, each: u32, loops: u64) -> Transfer {
    Transfer::looped(direction, first, each, loops)
}

fn opcodes(drive: &Toy) -> Vec<u8> {
    drive.commands.iter().map(|fis| fis.command).collect()
}

#[test]
fn every_build_writes_and_reads_both_patterns_with_all_commands() {
    let all =
        [Addressing::Lba28, Addressing::Lba48, Addressing::LinuxChoice, Addressing::Queued(4)];
    for build in BUILDS {
        for pattern in [Pattern::Increment, Pattern::Decrement] {
            for addressing in all {
                if build == Build::Single && matches!(addressing, Addressing::Queued(_)) {
                    continue;
                }
                let mut bench = Bench::new(host(build), Toy::new(10_000));
                let make = |direction| {
                    let transfer = job(direction, 77, 33, 20).with_addressing(addressing);
                    Job::Transfer(transfer.with_data(Data::Pattern(pattern)))
                };
                let reports = run(&mut bench, [Job::Identify, make(Write), make(Read)]);
                for report in &reports {
                    assert_eq!(report.outcome, Ok(()), "{build:?} {pattern:?} {addressing:?}");
                }
                assert_eq!((reports[2].commands, reports[2].sectors), (20, 660));
                let word = 100 * 128 + 7;
                let expected = pattern.at(0).word(word);
                assert_eq!(bench.drive.word(100, 7), expected);
                assert_eq!(bench.drive.sectors.len(), 660);
            }
        }
    }
}

#[test]
fn the_timer_runs_where_the_build_has_it() {
    let micros = Duration::from_micros;
    let costs = Costs {
        setup: micros(1_000),
        start: micros(10),
        poll: micros(20),
        update_read: micros(3),
        update_write: micros(1_600),
    };
    let time = |build, costs, direction, loops| {
        let host = Host::new(Speed::Gen2, Settings { build, costs, limits: limits() });
        let mut bench = Bench::new(host, Toy::new(10_000));
        let data = Data::Pattern(Pattern::Increment);
        run(&mut bench, [Job::Transfer(job(Write, 0, 256, 8).with_data(data))]);
        let reports = run(&mut bench, [Job::Transfer(job(direction, 0, 256, loops))]);
        assert_eq!(reports[0].outcome, Ok(()));
        reports[0].timer_ticks
    };
    let tick = |span| Speed::Gen2.ticks_in(span);
    for direction in [Read, Write] {
        let bare = time(Build::Single, Costs::default(), direction, 1);
        let single = time(Build::Single, costs, direction, 1);
        assert_eq!(single, bare + tick(micros(30)), "set-up is not counted");
        assert_eq!(time(Build::Single, costs, direction, 3), 3 * single);
        let update = if direction == Read { micros(3) } else { micros(1_600) };
        for build in [Build::Firmware, Build::Sequencer] {
            let each = single + tick(update);
            assert_eq!(time(build, costs, direction, 1), each, "the first update counts");
            assert_eq!(time(build, costs, direction, 8), 8 * each);
        }
    }
}

#[test]
fn the_largest_command_moves_thirty_two_megabytes() {
    let mut bench = Bench::new(
        Host::new(Speed::Gen2, Settings::without_costs(Build::Single)),
        Toy::new(65_540),
    );
    let reports = run(
        &mut bench,
        [Job::Identify, Job::Transfer(job(Read, 4, 65_536, 1).with_data(Data::Ignored))],
    );
    assert_eq!(reports[1].outcome, Ok(()));
    assert_eq!(reports[1].bytes().get(), 33_554_432);
    assert_eq!(bench.drive.commands[1].count, 0);
}

#[test]
fn a_last_data_fis_may_be_short() {
    for sectors in [1, 15, 16, 17, 255] {
        let mut bench = bench(1_000);
        let both = [Write, Read].map(|way| Job::Transfer(job(way, 3, sectors, 1)));
        for report in run(&mut bench, both) {
            assert_eq!((report.outcome, report.sectors), (Ok(()), u64::from(sectors)));
        }
    }
}

#[test]
fn identify_data_may_come_in_several_data_fises() {
    for piece in [1, 7, 64, 128] {
        let mut bench = bench(123_456_789);
        bench.drive.piece = piece;
        let reports = run(&mut bench, [Job::Identify]);
        assert_eq!((&reports[0].outcome, reports[0].commands), (&Ok(()), 1));
        assert_eq!(bench.host.identity(), Some(&bench.drive.identify().emit().unwrap()));
        assert_eq!(bench.host.drive(), Some(&bench.drive.identify()));
    }
}

#[test]
fn identify_data_with_a_wrong_checksum_are_rejected() {
    let mut bench = bench(1_000);
    bench.drive.flaw = 1 << 8;
    let reports = run(&mut bench, [Job::Identify]);
    let Err(Failure::Identity(error)) = &reports[0].outcome else { panic!("{reports:?}") };
    assert!(matches!(error, Error::IdentifyChecksum { .. }), "{error}");
    assert_eq!(bench.host.drive(), None);
}

#[test]
fn short_and_long_commands_meet_at_the_boundary_of_twenty_eight_bits() {
    let end = (1 << 28) - 1;
    let mut bench = bench(1 << 29);
    let transfer =
        |way| Job::Transfer(job(way, end - 20, 8, 5).with_addressing(Addressing::LinuxChoice));
    for report in run(&mut bench, [Job::Identify, transfer(Write), transfer(Read)]) {
        assert_eq!(report.outcome, Ok(()));
    }
    let expected = [0xEC, 0xCA, 0xCA, 0x35, 0x35, 0x35, 0xC8, 0xC8, 0x25, 0x25, 0x25];
    assert_eq!(opcodes(&bench.drive), expected);
    assert_eq!(bench.drive.sectors.len(), 40);
    let short = job(Read, end - 1, 1, 1).with_addressing(Addressing::Lba28);
    assert_eq!(short.check(None), Ok(()));
    let range = SectorRange { first: end - 1, sectors: 2, limit: end };
    let beyond = job(Read, end - 1, 2, 1).with_addressing(Addressing::Lba28);
    assert_eq!(beyond.check(None), Err(Refusal::BeyondAddress(range)));
}

#[test]
fn what_the_drive_does_not_support_is_refused_before_a_command_is_sent() {
    let mut bench = bench(1_000);
    bench.drive.has_48 = false;
    bench.drive.depth = Some(8);
    run(&mut bench, [Job::Identify]);
    let short =
        |first, each, loops| job(Read, first, each, loops).with_addressing(Addressing::Lba28);
    let queued = |depth| job(Read, 0, 1, 1).with_addressing(Addressing::Queued(depth));
    let beyond =
        |first, sectors| Refusal::BeyondDrive(SectorRange { first, sectors, limit: 1_000 });
    let words = Data::Words(vec![0; 100]);
    for (transfer, refusal) in [
        (short(999, 2, 1), beyond(999, 2)),
        (short(0, 100, 11), beyond(0, 1_100)),
        (
            short(u64::MAX, 2, 1),
            Refusal::BeyondAddress(SectorRange {
                first: u64::MAX,
                sectors: 2,
                limit: (1 << 28) - 1,
            }),
        ),
        (short(0, 257, 1), Refusal::TooManySectors { requested: 257, max: 256 }),
        (job(Read, 0, 65_537, 1), Refusal::TooManySectors { requested: 65_537, max: 65_536 }),
        (job(Read, 0, 1, 1), Refusal::Unsupported("48-bit commands")),
        (short(0, 0, 1), Refusal::Empty),
        (short(0, 1, 0), Refusal::Empty),
        (queued(9), Refusal::Depth { requested: 9, max: 8 }),
        (queued(0), Refusal::Depth { requested: 0, max: 32 }),
        (short(0, 1, 1).with_data(words), Refusal::DataLength { expected: 128, found: 100 }),
        (job(Write, 0, 1, 1).with_data(Data::Captured), Refusal::NoData),
    ] {
        let reports = run(&mut bench, [Job::Transfer(transfer.clone())]);
        assert_eq!(reports[0].outcome, Err(Failure::Refused(refusal)), "{transfer:?}");
        assert!(!refusal.to_string().is_empty());
    }
    assert_eq!(opcodes(&bench.drive), [0xEC], "nothing was asked");
    let reports = run(&mut bench, [Job::Transfer(short(999, 1, 1).with_data(Data::Ignored))]);
    assert_eq!(reports[0].outcome, Ok(()), "the last sector is there");
}

#[test]
fn an_error_of_the_drive_is_reported_with_its_registers() {
    let mut bench = bench(1_000);
    let reports = run(&mut bench, [Job::Transfer(job(Read, 999, 2, 1)), Job::Flush]);
    let Err(Failure::Drive(taskfile)) = &reports[0].outcome else { panic!("{reports:?}") };
    assert_eq!((taskfile.status, taskfile.error, taskfile.lba), (0x51, 0x10, 1_000));
    assert_eq!((taskfile.command, taskfile.first, taskfile.sectors), (0x25, 999, 2));
    assert_eq!(reports[0].errors, 1);
    assert_eq!(reports[1].outcome, Ok(()), "the next job is done");
}

#[test]
fn words_that_differ_are_found_and_named() {
    for data in [Data::Pattern(Pattern::Increment), Data::Words((5 * 128..45 * 128).collect())] {
        for depth in [None, Some(3)] {
            let addressing = depth.map_or(Addressing::Lba48, Addressing::Queued);
            let mut bench = bench(1_000);
            let make = |way| {
                Job::Transfer(
                    job(way, 5, 10, 4).with_addressing(addressing).with_data(data.clone()),
                )
            };
            run(&mut bench, [make(Write)]);
            bench.drive.sectors.get_mut(&17).unwrap()[9] ^= 1 << 30;
            bench.drive.sectors.get_mut(&31).unwrap()[127] = 0;
            let reports = run(&mut bench, [make(Read)]);
            let expected = 17 * 128 + 9;
            let found = expected ^ 1 << 30;
            let mismatch = Mismatch { lba: 17, dword: 9, found, expected };
            assert_eq!(reports[0].outcome, Err(Failure::Mismatch(mismatch)));
            assert_eq!((reports[0].mismatches, reports[0].commands), (2, 4));
            let told = mismatch.to_string();
            assert_eq!(told, "dword 9 of sector 17 is 40000889h, expected 00000889h");
        }
    }
}

#[test]
fn a_pattern_does_not_pass_as_the_other_one() {
    let mut bench = bench(1_000);
    let make = |way, pattern| Job::Transfer(job(way, 8, 8, 2).with_data(Data::Pattern(pattern)));
    run(&mut bench, [make(Write, Pattern::Decrement)]);
    let reports = run(&mut bench, [make(Read, Pattern::Increment)]);
    let Err(Failure::Mismatch(mismatch)) = reports[0].outcome else { panic!("{reports:?}") };
    assert_eq!((mismatch.lba, mismatch.dword), (8, 0));
    assert_eq!(reports[0].mismatches, 16 * 128);
}

#[test]
fn words_are_kept_as_they_were_written() {
    let words: Vec<u32> = (0..300 * 128_u32).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
    for addressing in [Addressing::Lba48, Addressing::Queued(5)] {
        let mut bench = bench(1_000);
        bench.drive.reverses = true;
        bench.drive.auto_activate = true;
        let make = |way, data| {
            let mut transfer = job(way, 11, 64, 5).with_addressing(addressing).with_data(data);
            transfer.sectors = 300;
            Job::Transfer(transfer)
        };
        let jobs = [make(Write, Data::Words(words.clone())), make(Read, Data::Captured)];
        let reports = run(&mut bench, jobs);
        assert_eq!((&reports[0].outcome, &reports[1].outcome), (&Ok(()), &Ok(())));
        assert_eq!(reports[1].data, words);
    }
}

#[test]
fn a_queue_is_no_deeper_than_requested() {
    for depth in [1, 2, 32] {
        let mut bench = bench(100_000);
        let make = |way| job(way, 0, 8, 100).with_addressing(Addressing::Queued(depth));
        let reports = run(&mut bench, [make(Write), make(Read)].map(Job::Transfer));
        assert!(reports.iter().all(|report| report.outcome == Ok(()) && report.commands == 100));
        let tags: BTreeSet<u16> = bench.drive.commands.iter().map(|fis| fis.count >> 3).collect();
        assert!(tags.len() <= usize::try_from(depth).unwrap(), "{tags:?}");
    }
}

#[test]
fn commands_are_reissued_for_damaged_data_and_for_nothing_else() {
    // Frames: signature, command, 4 Data FISes, completion.
    for frame in 1..=7 {
        let mut bench = bench(1_000);
        run(&mut bench, [Job::Transfer(job(Write, 0, 64, 1))]);
        bench.damaged = BTreeSet::from([bench.frames + frame]);
        let reports = run(&mut bench, [Job::Transfer(job(Read, 0, 64, 1))]);
        assert_eq!(reports[0].outcome, Ok(()), "frame {frame}: {reports:?}");
        assert_eq!(reports[0].sectors, 64);
        let data = (2..=5).contains(&frame);
        assert_eq!(reports[0].errors, u64::from(data), "frame {frame}");
        assert_eq!(reports[0].mismatches, 0);
    }
}

#[test]
fn a_command_fails_after_as_many_retries_as_the_limits_allow() {
    for (way, error) in [(Read, 0x84), (Write, 0x84), (Read, 0x80)] {
        let mut bench = bench(1_000);
        run(&mut bench, [Job::Transfer(job(Write, 0, 8, 1))]);
        (1..=4).for_each(|at| {
            bench.drive.faults.insert(at, Fault::LateError(0x51, error));
        });
        let reports = run(&mut bench, [Job::Transfer(job(way, 0, 8, 2)), Job::Flush]);
        let failure = Failure::Link { first: 0, sectors: 8, tries: 4 };
        assert_eq!(reports[0].outcome, Err(failure), "{way:?}");
        assert_eq!((reports[0].reissues, reports[0].errors), (3, 4));
        assert_eq!(reports[1].outcome, Ok(()));
    }
}

#[test]
fn success_after_half_of_the_data_is_no_success() {
    let mut bench = bench(1_000);
    run(&mut bench, [Job::Transfer(job(Write, 0, 32, 1))]);
    bench.drive.faults.insert(1, Fault::Half);
    let reports = run(&mut bench, [Job::Transfer(job(Read, 0, 32, 1))]);
    assert_eq!((&reports[0].outcome, reports[0].reissues), (&Ok(()), 1));
    assert_eq!(opcodes(&bench.drive), [0x35, 0x25, 0x25]);
}

#[test]
fn a_silent_drive_is_reset_and_its_commands_reissued() {
    for addressing in [Addressing::Lba48, Addressing::Queued(4)] {
        let mut bench = bench(1_000);
        run(&mut bench, [Job::Transfer(job(Write, 0, 16, 8))]);
        let silence =
            if addressing == Addressing::Lba48 { Fault::Silence } else { Fault::Error(0x41, 0x40) };
        bench.drive.faults.insert(10, silence);
        let transfer = job(Read, 0, 16, 8).with_addressing(addressing);
        let reports = run(&mut bench, [Job::Transfer(transfer)]);
        assert_eq!(reports[0].outcome, Ok(()), "{addressing:?}: {reports:?}");
        assert_eq!((reports[0].resets, bench.drive.resets), (1, 1));
        assert_eq!((reports[0].commands, reports[0].sectors), (8, 128));
        assert!(reports[0].reissues > 0);
    }
}

#[test]
fn a_dead_drive_fails_the_job_after_as_many_resets_as_the_limits_allow() {
    let mut bench = bench(1_000);
    run(&mut bench, [Job::Flush]);
    bench.drive.is_dead = true;
    let reports = run(&mut bench, [Job::Transfer(job(Read, 0, 1, 1)), Job::Flush]);
    for report in &reports {
        let Err(Failure::Timeout { resets: 2, .. }) = report.outcome else { panic!("{report:?}") };
    }
    let waited = reports[0].timer_ticks;
    assert_eq!(waited / Speed::Gen2.ticks_in(Duration::from_millis(100)), 3);
    bench.drive.is_dead = false;
    let reports = run(&mut bench, [Job::Transfer(job(Write, 0, 1, 1))]);
    assert_eq!(reports[0].outcome, Ok(()), "the drive came back");
}

#[test]
fn an_ncq_error_is_attributed_to_the_right_command() {
    for way in [Read, Write] {
        let mut bench = bench(1_000);
        bench.drive.bad = Some(35);
        let transfer = job(way, 0, 8, 10).with_addressing(Addressing::Queued(4));
        let reports = run(
            &mut bench,
            [Job::Transfer(transfer.with_data(Data::Pattern(Pattern::Increment))), Job::Flush],
        );
        let Err(Failure::Drive(taskfile)) = reports[0].outcome else { panic!("{reports:?}") };
        let opcode = if way == Read { 0x25 } else { 0x35 };
        assert_eq!((taskfile.command, taskfile.first, taskfile.sectors), (opcode, 32, 8));
        assert_eq!((taskfile.error, taskfile.lba), (0x40, 35));
        assert_eq!((reports[0].errors, reports[0].resets), (2, 1));
        assert_eq!(reports[0].commands, 4, "those before the error have succeeded");
        assert_eq!(reports[1].outcome, Ok(()), "the queue is usable again");
    }
}

#[test]
fn the_queue_is_used_again_after_a_transient_error() {
    let mut bench = bench(1_000);
    bench.drive.faults.insert(2, Fault::Error(0x41, 0x84));
    let transfer = job(Write, 0, 8, 20).with_addressing(Addressing::Queued(4));
    let reports = run(&mut bench, [Job::Transfer(transfer)]);
    assert_eq!((&reports[0].outcome, reports[0].commands), (&Ok(()), 20));
    let sent = opcodes(&bench.drive);
    assert!(sent.contains(&0x35), "what was under way went by itself");
    assert_eq!(sent.last(), Some(&0x61), "and the rest in the queue");
    assert_eq!(bench.drive.sectors.len(), 160);
}
