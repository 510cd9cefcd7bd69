//! `mtd_debug` over flash in memory, bare and through every kind of middleware.

use boardlab_mtd::{
    BlockIndex, Costs, EraseRegion, Error as MtdError, Fault, FaultInjector, FlashKind, Geometry,
    Kind, Mtd, PowerCut, RamMtd, Rule, Stats, TearOutcome, Tracer, Trigger,
};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Rate, Seed};
use boardlab_workload::{Error, Job, Pattern, Step, mtd_debug};

const KIB: Bytes = Bytes::kib(1);
const RANDOM: Pattern = Pattern::Random(Seed::new(11));

fn bytes(count: u64) -> Bytes {
    Bytes::new(count)
}

/// 16 blocks of 4 KiB.
fn nor() -> RamMtd {
    RamMtd::nor(16, Bytes::kib(4))
}

/// 8 blocks of 4 pages of 512 bytes.
fn nand() -> RamMtd {
    RamMtd::nand(8, 4, bytes(512), bytes(16)).program_once()
}

#[test]
fn a_write_reads_back_and_counts_its_calls() {
    let (mut flash, mut clock) = (Stats::new(nor()), Clock::new());
    let job = Job::new(bytes(100), bytes(10_000)).chunk(KIB);
    let written = mtd_debug::write(&mut flash, &mut clock, &job, &mut RANDOM.source()).unwrap();
    assert_eq!((written.write.bytes, written.write.operations), (bytes(10_000), 10));
    assert_eq!((written.padding, written.erase), (Bytes::ZERO, None));
    assert_eq!(flash.of(Kind::Program).count(), 10);
    let report = mtd_debug::verify(&mut flash, &mut clock, &job, &mut RANDOM.source()).unwrap();
    assert_eq!(report.operations, 10);
    let mut copy = Vec::new();
    let mut sink = |chunk: &[u8]| copy.extend_from_slice(chunk);
    mtd_debug::read(&mut flash, &mut clock, &job, &mut sink).unwrap();
    assert_eq!(copy, flash.device().image()[100..10_100]);
}

#[test]
fn the_kernels_buffer_is_the_chunk_unless_another_is_asked_for() {
    let mut flash = Tracer::new(RamMtd::nor(80, Bytes::kib(128)), 10);
    let job = Job::new(Bytes::ZERO, Bytes::mib(10));
    let source = &mut Pattern::Zeros.source();
    mtd_debug::write(&mut flash, &mut Clock::new(), &job, source).unwrap();
    let lengths: Vec<_> = flash.events().map(|event| event.operation.length).collect();
    assert_eq!(lengths, [Bytes::mib(4), Bytes::mib(4), Bytes::mib(2)]);
}

#[test]
fn time_and_rate_are_those_of_the_device() {
    let costs = Costs {
        program: Duration::from_micros(200),
        erase: Duration::from_millis(250),
        transfer: Rate::new(bytes(2), Duration::from_nanos(285)),
        ..Costs::default()
    };
    let geometry = Geometry {
        write_buffer: bytes(512),
        ..Geometry::uniform(FlashKind::Nor, 16, Bytes::kib(4))
    };
    let (mut flash, mut clock) = (RamMtd::new(geometry).with_costs(costs), Clock::new());
    clock.advance(Duration::from_secs(5));
    let job = Job::new(Bytes::kib(4), Bytes::kib(8)).erase_first();
    let source = &mut Pattern::Zeros.source();
    let written = mtd_debug::write(&mut flash, &mut clock, &job, source).unwrap();
    let erase = written.erase.unwrap();
    assert_eq!((erase.elapsed, erase.operations), (Duration::from_millis(500), 2));
    let expected = Duration::from_nanos(16 * 200_000 + 4_096 * 285);
    assert_eq!(written.write.elapsed, expected);
    assert_eq!(written.write.rate(), Rate::new(Bytes::kib(8), expected));
}

#[test]
fn an_odd_end_is_padded_to_the_write_size_with_ones() {
    let (mut flash, mut clock) = (nand(), Clock::new());
    let job = Job::new(bytes(512), bytes(1_300)).chunk(KIB);
    let source = &mut Pattern::Zeros.source();
    let written = mtd_debug::write(&mut flash, &mut clock, &job, source).unwrap();
    assert_eq!((written.write.bytes, written.padding), (bytes(1_300), bytes(236)));
    let image = flash.image();
    assert!(image[512..1_812].iter().all(|&byte| byte == 0));
    assert!(image[1_812..].iter().all(|&byte| byte == 0xFF));
    mtd_debug::verify(&mut flash, &mut clock, &job, &mut Pattern::Zeros.source()).unwrap();
    let mut end = Tracer::new(nor(), 1);
    let job = Job::new(Bytes::kib(63), bytes(1_023)).chunk(KIB);
    mtd_debug::write(&mut end, &mut clock, &job, &mut RANDOM.source()).unwrap();
    assert_eq!(end.events().next().unwrap().operation.length, bytes(1_023));
}

#[test]
fn a_write_without_an_erase_over_old_data_does_not_verify() {
    let (mut flash, mut clock) = (nor(), Clock::new());
    let job = Job::new(Bytes::ZERO, Bytes::kib(5));
    mtd_debug::write(&mut flash, &mut clock, &job, &mut [0xF0; 5 * 1_024].as_slice()).unwrap();
    let new = [0xF8; 5 * 1_024];
    mtd_debug::write(&mut flash, &mut clock, &job, &mut new.as_slice()).unwrap();
    let differs = mtd_debug::verify(&mut flash, &mut clock, &job, &mut new.as_slice());
    let (offset, wrong) = (Bytes::ZERO, Bytes::kib(5));
    let expected = Error::Differs { offset, expected: 0xF8, found: 0xF0, wrong, bits: 5_120 };
    assert_eq!(differs, Err(expected));
    let job = job.erase_first();
    let written = mtd_debug::write(&mut flash, &mut clock, &job, &mut new.as_slice()).unwrap();
    assert_eq!(written.erase.unwrap().bytes, Bytes::kib(8));
    mtd_debug::verify(&mut flash, &mut clock, &job, &mut new.as_slice()).unwrap();
    assert_eq!(flash.erase_count(BlockIndex(1)), Ok(1));
    assert_eq!(flash.erase_count(BlockIndex(2)), Ok(0));
}

#[test]
fn an_erase_takes_whole_blocks_of_any_size_or_nothing() {
    let region = |count, kib| EraseRegion { count, size: Bytes::kib(kib) };
    let geometry = Geometry {
        regions: vec![region(4, 8), region(1, 32), region(2, 64)],
        ..Geometry::uniform(FlashKind::Nor, 1, KIB)
    };
    let (mut flash, mut clock) = (Stats::new(RamMtd::new(geometry)), Clock::new());
    let mut erase = |offset, length| {
        mtd_debug::erase(&mut flash, &mut clock, Bytes::kib(offset), Bytes::kib(length))
    };
    assert_eq!(erase(24, 40).unwrap().operations, 2);
    assert_eq!(erase(0, 192).unwrap().operations, 7);
    assert_eq!(erase(8, 0).unwrap().operations, 0);
    let partly = |offset, length, block, size| {
        let [offset, length, block, size] = [offset, length, block, size].map(Bytes::kib);
        Err(Error::NotWholeBlocks { offset, length, block, size })
    };
    assert_eq!(erase(24, 32), partly(24, 32, 32, 32));
    assert_eq!(erase(4, 8), partly(4, 8, 0, 8));
    let beyond = erase(128, 65).unwrap_err();
    assert!(matches!(beyond, Error::Device { step: Step::Erase, .. }), "{beyond}");
    assert_eq!(flash.of(Kind::Erase).count(), 9);
}

#[test]
fn what_cannot_be_done_is_refused_before_the_flash_is_touched() {
    let mut flash = Stats::new(nand());
    let mut refuse = |job: Job| {
        let source = &mut Pattern::Zeros.source();
        mtd_debug::write(&mut flash, &mut Clock::new(), &job, source).unwrap_err()
    };
    let (start, size) = (Bytes::ZERO, Bytes::kib(16));
    let unit = bytes(512);
    for chunk in [Bytes::ZERO, bytes(700)] {
        let refused = refuse(Job::new(start, size).chunk(chunk));
        assert_eq!(refused, Error::Chunk { chunk, unit });
    }
    let large = refuse(Job::new(start, size + bytes(1)).erase_first());
    assert_eq!(
        large.to_string(),
        "write at offset 0x0: 16385 bytes at offset 0x0 do not lie within the device of 16 KiB"
    );
    let endless = refuse(Job::new(bytes(512), bytes(u64::MAX)));
    assert!(matches!(endless, Error::Device { cause: MtdError::OutOfRange { .. }, .. }));
    let odd = refuse(Job::new(bytes(3), unit));
    assert!(matches!(odd, Error::Device { cause: MtdError::Misaligned { .. }, .. }));
    let inside = refuse(Job::new(unit, unit).erase_first());
    assert!(matches!(inside, Error::NotWholeBlocks { .. }));
    assert!(Kind::ALL.iter().all(|&kind| flash.of(kind).count() == 0));
}

#[test]
fn a_source_that_ends_early_is_told_with_its_length() {
    let (mut flash, mut clock) = (nor(), Clock::new());
    let job = Job::new(bytes(10), bytes(3_000)).chunk(KIB);
    let ended = Error::SourceEnded { expected: bytes(3_000), found: bytes(2_999) };
    let short = [0; 2_999];
    let answer = mtd_debug::write(&mut flash, &mut clock, &job, &mut short.as_slice());
    assert_eq!(answer, Err(ended.clone()));
    let answer = mtd_debug::verify(&mut flash, &mut clock, &job, &mut short.as_slice());
    assert_eq!(answer, Err(ended));
}

#[test]
fn nothing_to_write_is_nothing_done() {
    let (mut flash, mut clock) = (Stats::new(nor()), Clock::new());
    let job = Job::new(Bytes::kib(64), Bytes::ZERO).erase_first();
    let none: &mut &[u8] = &mut [].as_slice();
    let written = mtd_debug::write(&mut flash, &mut clock, &job, none).unwrap();
    assert_eq!((written.write.operations, written.write.rate()), (0, None));
    assert_eq!(written.erase.unwrap().operations, 0);
    mtd_debug::verify(&mut flash, &mut clock, &job, none).unwrap();
}

#[test]
fn lost_bits_are_found_and_counted() {
    let rule = |fault| Rule::new(fault, Trigger::Nth(2));
    let flash = FaultInjector::new(nor(), Seed::new(1)).rule(rule(Fault::ProgramLosesBits(5)));
    let (mut flash, mut clock) = (flash, Clock::new());
    let job = Job::new(Bytes::ZERO, Bytes::kib(4)).chunk(KIB);
    mtd_debug::write(&mut flash, &mut clock, &job, &mut Pattern::Zeros.source()).unwrap();
    let differs = mtd_debug::verify(&mut flash, &mut clock, &job, &mut Pattern::Zeros.source());
    let Err(Error::Differs { offset, expected: 0, bits: 5, .. }) = differs else {
        panic!("{differs:?}");
    };
    assert!((KIB * 2..KIB * 3).contains(&offset));
}

#[test]
fn a_failing_device_is_named_with_step_and_place() {
    let flash = FaultInjector::new(nor(), Seed::new(1))
        .rule(Rule::new(Fault::ProgramFails, Trigger::Nth(3)))
        .rule(Rule::new(Fault::EraseFails, Trigger::Nth(1)));
    let (mut flash, mut clock) = (flash, Clock::new());
    let job = Job::new(Bytes::ZERO, Bytes::kib(8)).chunk(KIB);
    let failed = mtd_debug::write(&mut flash, &mut clock, &job, &mut RANDOM.source()).unwrap_err();
    let text = "write at offset 0xc00: the program at offset 0xc00 failed";
    assert_eq!(failed.to_string(), text);
    let failed = mtd_debug::erase(&mut flash, &mut clock, job.offset, job.length).unwrap_err();
    assert_eq!(failed.to_string(), "erase at offset 0x1000: the erase of block 1 failed");
}

#[test]
fn corrected_bits_are_reported() {
    let rule = Rule::new(Fault::ReadCorrected(3), Trigger::From(1));
    let mut flash = FaultInjector::new(nand(), Seed::new(1)).rule(rule);
    let job = Job::new(Bytes::ZERO, Bytes::kib(4)).chunk(KIB);
    let report = mtd_debug::read(&mut flash, &mut Clock::new(), &job, &mut |_| {}).unwrap();
    assert_eq!(report.corrected, 9);
}

#[test]
fn a_write_cut_at_any_operation_leaves_a_prefix_and_can_be_done_again() {
    let job = Job::new(Bytes::ZERO, Bytes::kib(6)).chunk(KIB).erase_first();
    let mut old = nor();
    let whole = Job::new(Bytes::ZERO, Bytes::kib(64));
    mtd_debug::write(&mut old, &mut Clock::new(), &whole, &mut Pattern::Zeros.source()).unwrap();
    for (number, torn) in (0..8).flat_map(|number| TearOutcome::PLAIN.map(|torn| (number, torn))) {
        let mut flash = PowerCut::new(old.clone(), Seed::new(number));
        flash.cut_at_operation(number, torn);
        let mut clock = Clock::new();
        let cut = mtd_debug::write(&mut flash, &mut clock, &job, &mut RANDOM.source());
        assert_eq!(cut.unwrap_err().power_cut(), Some(Instant::ZERO), "{number} {torn:?}");
        // Two erases come first; then each operation leaves one more chunk.
        let chunks =
            number.saturating_sub(2) + u64::from(number >= 2 && torn == TearOutcome::Finished);
        let mut flash = flash.into_inner();
        let done = Job::new(Bytes::ZERO, KIB * chunks);
        mtd_debug::verify(&mut flash, &mut clock, &done, &mut RANDOM.source()).unwrap();
        mtd_debug::write(&mut flash, &mut clock, &job, &mut RANDOM.source()).unwrap();
        mtd_debug::verify(&mut flash, &mut clock, &job, &mut RANDOM.source()).unwrap();
        assert!(flash.image()[8_192..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn a_boxed_device_and_four_layers_are_a_device_too() {
    let stack = Tracer::new(
        Stats::new(PowerCut::new(FaultInjector::new(nor(), Seed::new(1)), Seed::new(1))),
        64,
    );
    let mut boxed: Box<dyn Mtd> = Box::new(stack);
    let job = Job::new(Bytes::ZERO, Bytes::kib(64)).chunk(KIB).erase_first();
    let mut clock = Clock::new();
    mtd_debug::write(&mut boxed, &mut clock, &job, &mut RANDOM.source()).unwrap();
    mtd_debug::verify(&mut *boxed, &mut clock, &job, &mut RANDOM.source()).unwrap();
    assert_eq!(mtd_debug::info(&*boxed).regions.len(), 1);
}
