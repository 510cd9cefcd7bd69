//! Power cuts at every operation and at every instant, and faults, through layers of middleware.

use boardlab_mtd::{
    BlockIndex, Costs, Error, Fault, FaultInjector, Mtd, PageIndex, PowerCut, RamMtd, Rule, Stats,
    TearOutcome, Tracer, Trigger,
};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Rate, Seed};

const BLOCK: u64 = 256;

fn nor() -> RamMtd {
    RamMtd::nor(4, Bytes::new(BLOCK)).with_costs(costs())
}

fn nand() -> RamMtd {
    RamMtd::nand(4, 4, Bytes::new(BLOCK / 4), Bytes::new(8)).with_costs(costs()).program_once()
}

fn costs() -> Costs {
    Costs {
        read: Duration::from_nanos(90),
        program: Duration::from_micros(2),
        erase: Duration::from_micros(40),
        transfer: Rate::new(Bytes::new(2), Duration::from_nanos(7)),
    }
}

/// A log that survives a power cut: record `n` is the byte `n + 1` sixty-four times over, sixteen of
/// them fill the device, and a block is erased before its first record.
fn log_records(device: &mut dyn Mtd, clock: &mut Clock, from: u8) -> Result<(), Error> {
    for number in from..16 {
        if number % 4 == 0 {
            device.erase(clock, BlockIndex(u32::from(number / 4)))?;
        }
        device.program(clock, Bytes::new(64) * u64::from(number), &[number + 1; 64])?;
    }
    Ok(())
}

/// How many records from the start are whole.
fn whole_records(image: &[u8]) -> usize {
    let whole = |(number, record): (u8, &[u8])| record.iter().all(|&byte| byte == number);
    (1..).zip(image.chunks(64)).take_while(|&pair| whole(pair)).count()
}

/// The device as it was before the log: full of old zeros.
fn used<M: Mtd>(mut device: M) -> M {
    device.program(&mut Clock::new(), Bytes::ZERO, &[0x00; 1_024]).expect("an erased device");
    device
}

fn cut_everywhere<M: Mtd + Clone>(device: &M, image: impl Fn(&M) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut counted = PowerCut::new(device.clone(), Seed::new(0));
    log_records(&mut counted, &mut Clock::new(), 0).unwrap();
    assert_eq!(counted.operations(), 20);
    let mut images = Vec::new();
    for (number, torn) in (0..20).flat_map(|number| TearOutcome::PLAIN.map(|torn| (number, torn))) {
        let mut cutter = PowerCut::new(device.clone(), Seed::new(number));
        cutter.cut_at_operation(number, torn);
        let (mut clock, mut stats) = (Clock::new(), Stats::new(&mut cutter));
        let answer = log_records(&mut stats, &mut clock, 0);
        assert!(matches!(answer, Err(Error::PowerCut { .. })), "{answer:?}");
        assert_eq!(cutter.cut(), Some(clock.now()));
        images.push(image(cutter.device()));
        cutter.power_on();
        log_records(&mut cutter, &mut clock, 0).unwrap();
        assert_eq!(whole_records(&image(cutter.device())), 16);
    }
    images
}

#[test]
fn every_operation_of_a_log_can_be_cut_and_the_log_holds_what_came_before() {
    for images in
        [cut_everywhere(&used(nor()), RamMtd::image), cut_everywhere(&used(nand()), RamMtd::image)]
    {
        for (index, image) in images.iter().enumerate() {
            let (number, torn) = (index / 3, TearOutcome::PLAIN[index % 3]);
            let before = number - number.div_ceil(5);
            let is_erase = number % 5 == 0;
            let whole = before + usize::from(torn == TearOutcome::Finished && !is_erase);
            let extra = usize::from(torn == TearOutcome::Partial && !is_erase);
            let found = whole_records(image);
            assert!((whole..=whole + extra).contains(&found), "{number} {torn:?}: {found}");
        }
    }
}

#[test]
fn every_instant_of_a_log_can_be_cut_and_time_never_runs_back() {
    let device = used(nor());
    let mut clock = Clock::new();
    log_records(&mut Tracer::new(device.clone(), 0), &mut clock, 0).unwrap();
    let end = clock.now().as_nanos();
    let mut longest = 0;
    for nanos in (0..end).step_by(997) {
        let mut cutter = PowerCut::new(device.clone(), Seed::new(nanos));
        let at = Instant::from_nanos(nanos);
        cutter.cut_at_instant(at);
        let mut clock = Clock::new();
        let answer = log_records(&mut cutter, &mut clock, 0);
        assert_eq!(answer, Err(Error::PowerCut { at }));
        assert!(clock.now() >= at);
        let whole = whole_records(&cutter.into_inner().image());
        assert!(whole >= longest, "{whole} after {longest}");
        longest = whole;
    }
    assert_eq!(longest, 15, "the last program was still in progress");
    let mut late = PowerCut::new(device, Seed::new(0));
    late.cut_at_instant(Instant::from_nanos(end));
    log_records(&mut late, &mut Clock::new(), 0).unwrap();
}

#[test]
fn a_cut_by_instant_takes_the_same_time_as_no_cut_until_then() {
    let (mut plain, mut first) = (used(nor()), Clock::new());
    let (mut watched, mut second) = (PowerCut::new(plain.clone(), Seed::new(1)), Clock::new());
    watched.cut_at_instant(Instant::MAX);
    log_records(&mut plain, &mut first, 0).unwrap();
    log_records(&mut watched, &mut second, 0).unwrap();
    assert_eq!((first, plain.image()), (second, watched.into_inner().image()));
}

/// Everything at once, as text: what the tracer saw, what is left, and the counts.
fn storm(seed: u64) -> String {
    let chance = |numerator| Trigger::Chance { numerator, denominator: 20 };
    let faulty = FaultInjector::new(used(nor()), Seed::new(seed))
        .rule(Rule::new(Fault::ProgramFails, chance(1)))
        .rule(Rule::new(Fault::ProgramLosesBits(2), chance(3)))
        .rule(Rule::new(Fault::EraseFails, chance(2)))
        .rule(Rule::new(Fault::Hangs(Duration::from_millis(1)), chance(1)))
        .rule(Rule::new(Fault::ReadFlips(3), chance(10)));
    let mut cutter = PowerCut::new(faulty, Seed::new(seed));
    cutter.cut_at_operation(60, TearOutcome::Partial);
    let mut device = Tracer::new(Stats::new(cutter), 1_000);
    let mut clock = Clock::new();
    for record in (0..16).cycle().take(100) {
        let _ = log_records(&mut device, &mut clock, record);
        let _ = device.read(&mut clock, Bytes::ZERO, &mut [0; 64]);
    }
    let image = device.device().device().device().device().image();
    format!("{device}{image:?}{:?}", device.device().wear())
}

#[test]
fn the_same_seed_gives_the_same_storm_to_the_byte() {
    assert_eq!(storm(1), storm(1));
    assert_ne!(storm(1), storm(2));
    assert!(storm(1).contains("the power was cut"));
}

#[test]
fn layers_stack_in_any_order() {
    let rule = Rule::new(Fault::ProgramFails, Trigger::Nth(2));
    let inside = Stats::new(FaultInjector::new(nor(), Seed::new(1)).rule(rule.clone()));
    let outside = FaultInjector::new(Stats::new(nor()), Seed::new(1)).rule(rule);
    let (mut inside, mut outside) = (Tracer::new(inside, 99), Tracer::new(outside, 99));
    let first = log_records(&mut inside, &mut Clock::new(), 0);
    let second = log_records(&mut outside, &mut Clock::new(), 0);
    let failed = Err(Error::ProgramFailed { offset: Bytes::new(128) });
    assert_eq!((&first, &second), (&failed, &failed));
    assert_eq!(inside.device().of(boardlab_mtd::Kind::Program).failures(), 1);
    assert_eq!(outside.device().device().of(boardlab_mtd::Kind::Program).failures(), 0);
    assert_eq!(inside.events().count(), outside.events().count());
}

#[test]
fn a_stack_can_be_forked_as_a_whole() {
    let mut device = Tracer::new(PowerCut::new(Stats::new(nand()), Seed::new(1)), 100);
    device.device_mut().cut_at_operation(1, TearOutcome::NotBegun);
    let mut clock = Clock::new();
    device.program_oob(&mut clock, PageIndex(0), &[1; 64], &[1]).unwrap();
    let mut fork = device.clone();
    fork.device_mut().power_on();
    fork.erase(&mut clock.clone(), BlockIndex(0)).unwrap();
    assert!(matches!(device.erase(&mut clock, BlockIndex(0)), Err(Error::PowerCut { .. })));
    let image =
        |tracer: &Tracer<PowerCut<Stats<RamMtd>>>| tracer.device().device().device().image();
    assert_eq!((image(&device)[0], image(&fork)[0]), (1, 0xFF));
}
