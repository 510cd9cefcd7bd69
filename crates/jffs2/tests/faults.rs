//! Writing on flash that fails: programs, erases, blocks that are bad from the beginning.
use boardlab_jffs2::block::List;
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{BlockIndex, Fault, FaultInjector, Mtd, RamMtd, Rule, Trigger};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::{FileSystem, MemoryFs, Mix, Mount, compare};

fn nand() -> RamMtd {
    RamMtd::nand(64, 16, Bytes::new(2048), Bytes::new(64))
}

/// A tree that leaves room on a flash of 2 MiB.
fn mix() -> Mix {
    Mix { size: 20_000, ..Mix::default() }
}

/// Runs a mixture on a flash that fails by rules, and compares with a tree in memory at the end and
/// after a remount without faults. Gives how often each rule struck, and the filesystem.
fn run(device: RamMtd, rules: Vec<Rule>, count: u64, seed: u64) -> (Vec<u64>, Jffs2<RamMtd>) {
    let seed = Seed::new(seed);
    let device = rules.into_iter().fold(FaultInjector::new(device, seed), FaultInjector::rule);
    let mut clock = Clock::new();
    let fs = Jffs2::mount(&mut clock, device, Options::default()).unwrap();
    let (mut real, mut model) = (Mount::new(fs), Mount::new(MemoryFs::new()));
    let mut stream = seed.stream("faults");
    for number in 0..count {
        let action = mix().draw(&mut stream);
        let answer = action.apply(&mut real, &mut clock);
        assert_eq!(answer, action.apply(&mut model, &mut clock), "{seed:?} {number}: {action:?}");
        clock.advance(Duration::from_millis(20));
        if number % 16 == 0 {
            let until = clock.now() + Duration::from_secs(1);
            real.background(&mut clock, Some(until)).unwrap();
            real.fs().check_tables().unwrap();
        }
    }
    real.drop_caches(&mut clock).unwrap();
    assert_eq!(compare(&mut real, &mut model, &mut clock).unwrap(), None, "{seed:?}");
    real.unmount(&mut clock).unwrap();
    let fs = real.into_fs();
    fs.check_tables().unwrap();
    let device = fs.into_device();
    let struck = device.counts().map(|(_, struck)| struck).collect();
    let fs = Jffs2::mount(&mut clock, device.into_inner(), Options::default()).unwrap();
    let mut real = Mount::new(fs);
    assert_eq!(compare(&mut real, &mut model, &mut clock).unwrap(), None, "{seed:?}, remounted");
    (struck, real.into_fs())
}

fn chance(fault: Fault, denominator: u64) -> Rule {
    Rule::new(fault, Trigger::Chance { numerator: 1, denominator })
}

fn seeds() -> std::ops::Range<u64> {
    0..if std::env::var_os("BOARDLAB_FULL").is_some() { 200 } else { 6 }
}

#[test]
fn programs_that_fail_lose_nothing() {
    for seed in seeds() {
        // Two failures in a row are an error for the program that writes, so they are kept apart.
        let nth = |number: u64| Trigger::Nth(13 + number * 29 + seed % 29);
        let rules = (0..60).map(|number| Rule::new(Fault::ProgramFails, nth(number))).collect();
        let (struck, _) = run(nand(), rules, 3_000, seed);
        assert!(struck.iter().sum::<u64>() > 10, "{struck:?}");
    }
}

#[test]
fn each_single_program_of_a_run_may_fail() {
    for nth in 0..95 {
        let rule = Rule::new(Fault::ProgramFails, Trigger::Nth(nth));
        let (struck, _) = run(nand(), vec![rule], 400, 77);
        assert_eq!(struck, [1], "program {nth}");
    }
}

/// Gives a file a page of content with so many programs that fail from one on. Says how many
/// failed, whether whoever wrote was told, and whether the content is there after a remount.
fn saved(first: u64, failures: u64) -> (u64, bool, bool) {
    let mut clock = Clock::new();
    let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { compression, ..Options::default() };
    let mut fs = Mount::new(Jffs2::mount(&mut clock, nand(), options.clone()).unwrap());
    fs.background(&mut clock, None).unwrap();
    let fd = fs.create(&mut clock, "/file", 0o644).unwrap();
    fs.close(&mut clock, fd).unwrap();
    fs.unmount(&mut clock).unwrap();
    let device = FaultInjector::new(fs.into_fs().into_device(), Seed::new(1));
    let fails = |nth| Rule::new(Fault::ProgramFails, Trigger::Nth(nth));
    let device = (first..first + failures).map(fails).fold(device, FaultInjector::rule);
    let mut fs = Mount::new(Jffs2::mount(&mut clock, device, options.clone()).unwrap());
    let fd = fs.open(&mut clock, "/file").unwrap();
    let data = [0xA5; 4_096];
    let written = fs.write(&mut clock, fd, 0, &data);
    let told = written.and_then(|_| fs.sync(&mut clock)).is_err();
    fs.fs().check_tables().unwrap();
    let blocks = fs.fs().volume().blocks();
    let set_aside = blocks.on_list(List::BadUsed) + blocks.on_list(List::ErasePending);
    let device = fs.into_fs().into_device();
    let struck = device.counts().map(|(_, struck)| struck).sum::<u64>();
    assert_eq!(u64::from(set_aside), struck, "no block that failed is written on");
    let mut fs = Mount::new(Jffs2::mount(&mut clock, device.into_inner(), options).unwrap());
    let (fd, mut found) = (fs.open(&mut clock, "/file").unwrap(), [0; 4_096]);
    (struck, told, fs.read(&mut clock, fd, 0, &mut found) == Ok(4_096) && found == data)
}

#[test]
fn what_no_block_takes_is_told_by_a_sync() {
    // The last program has the end of a node of three pages, all of which then goes to another block.
    for (first, failures) in (0..3).flat_map(|first| (1..7).map(move |failures| (first, failures)))
    {
        let (struck, told, whole) = saved(first, failures);
        assert!(told != whole, "{failures} failures from program {first} on, {struck} struck");
    }
    assert_eq!(saved(2, 4), (4, false, true), "three of four tries to save a node fail");
    assert_eq!(saved(2, 5), (5, true, false), "all of them fail");
}

#[test]
fn a_block_whose_programs_fail_for_good_is_marked_bad_when_its_erase_fails_too() {
    let bad = Bytes::kib(32) * 5..Bytes::kib(32) * 6;
    let fails = |fault, from| Rule::new(fault, Trigger::From(from)).within(bad.clone());
    let rules = vec![fails(Fault::ProgramFails, 5), fails(Fault::EraseFails, 1)];
    let (struck, fs) = run(nand(), rules, 6_000, 5);
    assert!(struck[0] >= 1 && struck[1] >= 1, "{struck:?}");
    let mut device = fs.into_device();
    assert!(device.is_bad(&mut Clock::new(), BlockIndex(5)).unwrap());
}

#[test]
fn erases_that_fail_now_and_then_lose_nothing_and_cost_blocks_that_fail_twice() {
    for seed in seeds() {
        let (struck, fs) = run(nand(), vec![chance(Fault::EraseFails, 8)], 4_000, seed);
        assert!(struck[0] > 3, "{struck:?}");
        let bad = fs.volume().blocks().on_list(List::Bad);
        assert!(u64::from(bad) <= struck[0] / 2, "{bad} bad of {struck:?}");
    }
}

#[test]
fn blocks_that_are_bad_from_the_beginning_are_left_alone() {
    let mut device = nand();
    for block in [0, 7, 8, 63] {
        device.mark_bad(&mut Clock::new(), BlockIndex(block)).unwrap();
    }
    let (_, fs) = run(device, Vec::new(), 3_000, 3);
    assert_eq!(fs.volume().blocks().on_list(List::Bad), 4);
    let device = fs.into_device();
    assert!([0, 7, 8, 63].iter().all(|&block| device.erase_count(BlockIndex(block)) == Ok(0)));
}

#[test]
fn bits_that_the_error_correction_mends_are_no_fault() {
    let (struck, fs) = run(nand(), vec![chance(Fault::ReadCorrected(1), 10)], 2_000, 9);
    assert!(struck[0] > 100, "{struck:?}");
    assert_eq!(fs.volume().blocks().on_list(List::Bad), 0);
}
