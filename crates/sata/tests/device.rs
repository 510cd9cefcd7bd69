//! The commands of a drive: addresses, counts, errors, the queue, IDENTIFY data in pieces.
use crate::drive;

use crate::drive::rig::{Payload, Rig};
use crate::drive::{micros, rig, sectors};
use boardlab_sata::device::{Drive, WriteCache};
use boardlab_sata::wire::Step;
use boardlab_sata::wire::fis::RegisterH2d;
use boardlab_sata::wire::identify::{self, Feature, Identify};
use boardlab_sata::{Agent, Counting, Fis, Outcome, Reception, Tick};
use boardlab_sim::{Bytes, Seed, Stream};

const GOOD: (u8, u8) = (0x50, 0);
/// Blocks of a drive with more than 65,536 sectors.
const BLOCKS: u32 = 120;
const UP: Counting = Counting { first: 0, step: Step::Up };

fn small() -> Rig {
    rig(drive::drive(sectors(BLOCKS), WriteCache::Through), BLOCKS)
}

#[test]
fn a_count_of_zero_is_256_sectors_or_65536() {
    let mut rig = small();
    assert_eq!(rig.short(0xCA, 16, 256).end(), GOOD);
    let seen = rig.short(0xC8, 16, 256);
    assert_eq!((seen.end(), seen.words().len()), (GOOD, 256 * 128));
    assert_eq!(seen.words()[256 * 128 - 1], 256 * 128 - 1);
    let seen = rig.long(0x35, 0, 65_536);
    assert_eq!((seen.end(), seen.activations), (GOOD, 4_096));
    let seen = rig.long(0x25, 0, 65_536);
    assert_eq!((seen.end(), seen.data.len()), (GOOD, 4_096));
    for (at, (payload, dwords)) in (0..).zip(&seen.data) {
        assert_eq!((payload, *dwords), (&Payload::Told(UP.from(at * 2_048)), 2_048));
    }
}

#[test]
fn a_last_data_fis_may_be_shorter_than_8_kib() {
    let mut rig = small();
    let seen = rig.long(0x35, 5, 37);
    assert_eq!((seen.end(), seen.activations), (GOOD, 3));
    let seen = rig.long(0x25, 5, 37);
    let lengths: Vec<u32> = seen.data.iter().map(|(_, dwords)| *dwords).collect();
    assert_eq!(lengths, [2_048, 2_048, 5 * 128]);
    assert_eq!(seen.words(), (0..37 * 128).collect::<Vec<u32>>());
    // A host may send shorter ones, of whole sectors.
    rig.frame = 3 * 128;
    assert_eq!(rig.long(0x35, 7, 8).activations, 3);
    assert_eq!(rig.long(0x25, 7, 8).words(), (0..8 * 128).collect::<Vec<u32>>());
    rig.frame = 100;
    let seen = rig.long(0x35, 7, 8);
    assert_eq!((seen.end(), seen.refused), ((0x51, 0x04), 1), "no whole sectors");
}

#[test]
fn the_last_sector_is_reached_and_the_next_is_not_found() {
    let all = sectors(BLOCKS) - 5;
    let mut rig = rig(drive::drive(all, WriteCache::Through), BLOCKS);
    assert_eq!(rig.long(0x35, all - 1, 1).end(), GOOD);
    assert_eq!(rig.long(0x25, all - 1, 1).words().len(), 128);
    for (lba, count, failing) in [
        (all, 1, all),
        (all - 1, 2, all),
        (all - 7, 65_536, all),
        (u64::MAX >> 16, 0, u64::MAX >> 16),
    ] {
        for code in [0x25, 0x35] {
            let seen = rig.long(code, lba, count);
            assert_eq!((seen.end(), seen.data.len(), seen.activations), ((0x51, 0x14), 0, 0));
            assert_eq!(seen.ends[0].lba, failing, "{lba}+{count}");
        }
    }
    assert_eq!(rig.short(0xC8, all - 255, 256).end(), (0x51, 0x14));
    assert_eq!(rig.short(0xC8, all - 256, 256).end(), GOOD);
}

/// A drive of 512 GiB of which only a little was ever written: mapped pages of 64 KiB.
fn large(lba48: bool, all: u64) -> Rig {
    use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, Timed, Timing};
    use boardlab_sata::Speed;
    use boardlab_sata::device::{Ssd, Storage};
    let pages = u32::try_from(all.div_ceil(128)).unwrap();
    let blocks = pages / 1_024 + 8;
    let stripe = Stripe { channels: 2, dies: 1, planes: 1, units: 1 };
    let geometry = Geometry::new(blocks, 1_024, Bytes::kib(64), pages).unwrap();
    let geometry = geometry.striped(stripe).unwrap();
    let cells = CellTimes::uniform(micros(50), micros(400), micros(2_000));
    let timing = Timing { native: cells.clone(), slc: cells, ..drive::timing() };
    let medium = Timed::new(&geometry, &timing).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    let drive = Drive {
        lba48,
        stripe,
        window: Bytes::kib(512),
        ..drive::drive(all, WriteCache::Back(Bytes::mib(1)))
    };
    let storage = Storage::new(drive, layer, true).unwrap();
    let identity = Identify::new("BOARDLAB LARGE", 1, Speed::Gen3);
    let mut rig = Rig::new(Ssd::new(Speed::Gen3, storage, identity).unwrap());
    rig.listen();
    rig
}

#[test]
fn twenty_eight_bits_of_address_end_where_they_do() {
    let limit = (1_u64 << 28) - 1;
    let mut rig = large(true, (1 << 28) + 100_000);
    // Below the limit both widths meet the same sectors.
    assert_eq!(rig.short(0xCA, limit - 255, 256).end(), GOOD);
    assert_eq!(rig.long(0x25, limit - 255, 256).words(), (0..256 * 128).collect::<Vec<u32>>());
    // Across it only 48 bits do, and they do not wrap.
    rig.source = Counting { first: 7, step: Step::Down };
    assert_eq!(rig.long(0x35, (1 << 28) - 20, 40).end(), GOOD);
    let words = rig.long(0x25, (1 << 28) - 20, 40).words();
    assert_eq!((words.len(), words[40 * 128 - 1]), (40 * 128, 7_u32.wrapping_sub(40 * 128 - 1)));
    assert_eq!(rig.long(0x25, 0, 1).words(), [0; 128], "nothing was written at the start");
    // A command of 28 bits that would go on beyond them: the drive has the sectors, and takes them.
    assert_eq!(rig.short(0xC8, (1 << 28) - 20, 40).words(), words);
    // A drive of 28 bits ends before.
    let mut old = large(false, limit);
    assert_eq!(old.short(0xCA, limit - 256, 256).end(), GOOD);
    assert_eq!(old.short(0xCA, limit - 255, 256).end(), (0x51, 0x14));
    let seen = old.short(0xC8, limit - 1, 2);
    let end = seen.ends[0];
    assert_eq!((end.lba, end.device & 0x0F), (0xFF_FFFF, 0x0F), "the sector that is not there");
    assert_eq!(old.long(0x25, 0, 1).end(), (0x51, 0x04), "not known");
}

#[test]
fn identify_data_come_in_one_data_fis_or_in_several() {
    for piece in [128, 64, 100, 1] {
        let drive = Drive {
            identify_frame: piece,
            ..drive::drive(sectors(BLOCKS), WriteCache::Back(Bytes::kib(64)))
        };
        let mut rig = rig(drive, BLOCKS);
        let seen = rig.simple(0xEC, 0, 0);
        assert_eq!((seen.ends.len(), seen.setups.len()), (0, 1), "PIO has no end of its own");
        assert_eq!((seen.setups[0].transfer, seen.setups[0].ending_status), (512, 0x50));
        assert_eq!(seen.data.len(), 128_usize.div_ceil(usize::try_from(piece).unwrap()));
        let identity = Identify::parse(&seen.words()).unwrap();
        assert_eq!((identity.sectors, identity.queue_depth), (sectors(BLOCKS), Some(32)));
        assert_eq!(identity.write_cache, Feature::On);
        assert_eq!(rig.simple(0xEF, 0x82, 0).end(), GOOD);
        let identity = Identify::parse(&rig.simple(0xEC, 0, 0).words()).unwrap();
        assert_eq!((identity.write_cache, identity.look_ahead), (Feature::Off, Feature::On));
    }
}

#[test]
fn trim_is_announced_where_it_is_known_without_a_promise_of_zeros() {
    for trims in [true, false] {
        let drive = Drive { trims, ..drive::drive(sectors(BLOCKS), WriteCache::Through) };
        let mut rig = rig(drive, BLOCKS);
        let words = identify::words(&rig.simple(0xEC, 0, 0).words()).unwrap();
        let expected = if trims { (1, 1, 0x4000) } else { (0, 0, 0) };
        assert_eq!((words[169], words[105], words[69]), expected);
    }
}

#[test]
fn features_are_set_or_aborted_and_what_is_not_known_is_aborted() {
    let mut rig = small();
    assert_eq!(rig.simple(0xEF, 0x02, 0).end(), (0x51, 0x04), "a drive without a cache");
    for (features, count) in [(0x82, 0), (0x55, 0), (0xAA, 0), (0x10, 2), (0x90, 2), (0x03, 0x46)] {
        assert_eq!(rig.simple(0xEF, features, count).end(), GOOD, "{features:02X}");
    }
    assert_eq!(rig.simple(0xEF, 0x42, 0).end(), (0x51, 0x04));
    let power = rig.simple(0xE5, 0, 0);
    assert_eq!((power.end(), power.ends[0].count), (GOOD, 0xFF));
    let native = rig.simple(0xF8, 0, 0);
    assert_eq!((native.end(), native.ends[0].lba), (GOOD, sectors(BLOCKS) - 1));
    for code in [0xE0, 0xE1, 0xE7, 0xEA] {
        assert_eq!(rig.simple(code, 0, 0).end(), GOOD, "{code:02X}");
    }
    for code in [0x00, 0x20, 0x30, 0xA1, 0xB0, 0xC4, 0xFF] {
        let seen = rig.simple(code, 0, 0);
        assert_eq!((seen.end(), seen.data.len()), ((0x51, 0x04), 0), "{code:02X}");
    }
    assert_eq!(rig.ssd.tally().failed, 2 + 7);
}

#[test]
fn a_data_fis_with_a_bad_crc_is_not_written_and_ends_the_command() {
    let mut rig = small();
    assert_eq!(rig.long(0x35, 0, 64).end(), GOOD);
    rig.source = Counting { first: 5, step: Step::Down };
    rig.damaged = Some(rig.frames + 2);
    let seen = rig.long(0x35, 0, 64);
    assert_eq!((seen.end(), seen.refused, seen.activations), ((0x51, 0x84), 1, 3));
    assert_eq!(seen.ends[0].lba, 32, "the first sector that was not written");
    let words = rig.long(0x25, 0, 64).words();
    assert_eq!(
        words[..32 * 128],
        (0..32 * 128).map(|at| 5_u32.wrapping_sub(at)).collect::<Vec<_>>()
    );
    assert_eq!(words[32 * 128..], (32 * 128..64 * 128).collect::<Vec<u32>>());
    // The next command finds the drive ready.
    assert_eq!(rig.long(0x35, 0, 64).end(), GOOD);
}

#[test]
fn a_read_that_the_host_refuses_ends_with_a_crc_error() {
    let mut rig = small();
    rig.long(0x35, 0, 64);
    rig.refuses = Some(rig.frames + 1);
    let seen = rig.long(0x25, 0, 64);
    assert_eq!((seen.end(), seen.data.len()), ((0x51, 0x84), 2), "and is not sent again");
    assert_eq!(rig.long(0x25, 0, 64).data.len(), 4);
}

#[test]
fn data_that_nobody_asked_for_and_other_fises_are_refused() {
    let mut rig = small();
    let now = Tick(rig.now);
    rig.ssd.begin(now);
    rig.ssd.take_described(2_048, UP);
    assert_eq!(rig.ssd.end(now, true), Reception::Refuse);
    for fis in [
        Fis::DmaActivate(Default::default()),
        Fis::Bist(Default::default()),
        Fis::RegisterD2h(Default::default()),
    ] {
        assert_eq!(rig.ssd.received(now, &fis), Reception::Refuse);
    }
    assert_eq!(rig.listen().ends.len(), 0);
    assert_eq!(rig.long(0x25, 0, 1).words(), [0; 128], "nothing was written");
    // More than was asked for.
    rig.issue(RegisterH2d { command: 0x35, device: 0x40, count: 4, ..Default::default() });
    rig.left = 2_048;
    let seen = rig.listen();
    assert_eq!((seen.end(), seen.refused), ((0x51, 0x04), 1));
    assert_eq!(rig.long(0x25, 0, 1).words(), [0; 128]);
}

#[test]
fn a_command_in_the_way_of_another_ends_both() {
    let mut rig = small();
    rig.issue(RegisterH2d { command: 0x25, device: 0x40, count: 64, ..Default::default() });
    rig.issue(RegisterH2d { command: 0xEC, ..Default::default() });
    assert_eq!(rig.listen().end(), (0x51, 0x04));
    assert_eq!(rig.long(0x25, 0, 4).end(), GOOD);
}

#[test]
fn resets_give_up_what_is_under_way_and_bring_the_signature() {
    let mut rig = small();
    rig.long(0x35, 0, 64);
    rig.issue(RegisterH2d { command: 0x25, device: 0x40, count: 64, ..Default::default() });
    assert_eq!(rig.control(0x04).ends.len(), 0, "held in reset");
    rig.issue(RegisterH2d { command: 0xEC, ..Default::default() });
    let seen = rig.control(0x00);
    assert_eq!((seen.end(), seen.ends[0].lba, seen.data.len()), ((0x50, 1), 1, 0));
    rig.queue(0x60, 3, 0, 64);
    rig.ssd.reset(Tick(rig.now));
    let seen = rig.listen();
    assert_eq!((seen.end(), seen.bits.len(), seen.data.len()), ((0x50, 1), 0, 0));
    assert_eq!(rig.long(0x25, 0, 64).words(), (0..64 * 128).collect::<Vec<u32>>());
}

#[test]
fn thirty_two_queued_reads_come_in_the_order_in_which_they_are_ready() {
    let mut rig = small();
    rig.long(0x35, 0, 16_384);
    // Tags 0 and 1 wait behind each other on one die; the others are on other dies.
    let mut stream = Seed::new(9).stream("queue");
    let extents: Vec<(u64, u64)> =
        (0..32).map(|_| (stream.below(16_000), 1 + stream.below(40))).collect();
    for (tag, &(lba, count)) in (0..).zip(&extents) {
        rig.queue(0x60, tag, lba, count);
    }
    let begun = rig.now;
    let seen = rig.listen();
    assert_eq!(
        (seen.ends.len(), seen.phases.len()),
        (32, 32),
        "each was taken, each had its phase"
    );
    let order: Vec<u64> = seen.phases.iter().map(|setup| setup.buffer).collect();
    assert!(order.iter().zip(0..).any(|(&buffer, at)| buffer != at), "not as they came: {order:?}");
    let told = seen.bits.iter().fold(0, |all, bits| {
        assert_eq!((bits.status, bits.error, all & bits.active), (0x50, 0, 0));
        all | bits.active
    });
    assert_eq!(told, u32::MAX);
    let mut words = seen.words().into_iter();
    for setup in &seen.phases {
        let (lba, count) = extents[usize::try_from(setup.buffer).unwrap()];
        assert_eq!((setup.count, setup.to_host), (u32::try_from(count * 512).unwrap(), true));
        for at in 0..count * 128 {
            assert_eq!(words.next(), Some(u32::try_from(lba * 128 + at).unwrap()));
        }
    }
    // One after the other they take much longer: four dies work at once.
    let together = rig.now - begun;
    let begun = rig.now;
    for &(lba, count) in &extents {
        rig.long(0x25, lba, count);
    }
    assert!((rig.now - begun) > 2 * together, "{} ticks, {together} queued", rig.now - begun);
}

#[test]
fn queued_writes_are_activated_or_activate_themselves() {
    for auto in [false, true] {
        let mut rig = small();
        if auto {
            assert_eq!(rig.simple(0xEF, 0x10, 2).end(), GOOD);
        }
        for tag in 0..32 {
            rig.queue(0x61, tag, u64::from(tag) * 40, 33);
        }
        let seen = rig.listen();
        assert_eq!((seen.phases.len(), seen.refused), (32, 0));
        assert!(seen.phases.iter().all(|setup| setup.auto_activate == auto && !setup.to_host));
        assert_eq!(seen.activations, 32 * if auto { 2 } else { 3 });
        let told = seen.bits.iter().fold(0, |all, bits| all | bits.active);
        assert_eq!(told, u32::MAX);
        for tag in 0..32 {
            let words = rig.long(0x25, tag * 40, 33).words();
            assert_eq!(words, (0..33 * 128).collect::<Vec<u32>>(), "tag {tag}");
        }
    }
}

#[test]
fn an_error_of_the_queue_ends_all_and_the_log_tells_which() {
    let mut rig = small();
    rig.long(0x35, 0, 1_024);
    for tag in 0..4 {
        rig.queue(0x60, tag, u64::from(tag) * 16, 16);
    }
    rig.refuses = Some(rig.frames + 1);
    let seen = rig.listen();
    let failed = seen.bits.iter().find(|bits| bits.status & 1 == 1).unwrap();
    assert_eq!((failed.error, failed.active), (0x84, 0));
    assert_eq!(seen.phases.len(), 2, "the others are over");
    assert_eq!(rig.long(0x25, 0, 1).end(), (0x51, 0x04), "until the host knows which");
    let bytes = log_page(&mut rig);
    assert_eq!((u64::from(bytes[0]), bytes[3]), (seen.phases[1].buffer, 0x84));
    assert_eq!(rig.long(0x25, 0, 1).end(), GOOD);
    // Beyond the end, a tag in use, a command that is not queued: each ends the queue.
    rig.queue(0x60, 0, sectors(BLOCKS), 1);
    assert_eq!(rig.listen().end(), (0x51, 0x14));
    rig.ssd.reset(Tick(rig.now));
    rig.listen();
    rig.queue(0x60, 5, 0, 16);
    rig.queue(0x60, 5, 16, 16);
    let seen = rig.listen();
    // The first was taken; BSY of the second is cleared by a Register FIS alone.
    assert_eq!((seen.ends.len(), seen.bits.len(), seen.data.len()), (2, 0, 0));
    assert_eq!((seen.ends[1].status, seen.ends[1].error), (0x51, 0x04));
    assert_eq!(log_page(&mut rig)[0], 5);
    rig.queue(0x60, 7, 0, 16);
    assert_eq!(rig.simple(0xE5, 0, 0).ends[1].status, 0x51);
    assert_eq!(log_page(&mut rig)[0], 0x80, "not of a queued command");
    assert_eq!(rig.long(0x25, 0, 1).end(), GOOD);
}

/// Page 10h of the log after an error: all tags are over, then come the data.
fn log_page(rig: &mut Rig) -> Vec<u8> {
    let fis =
        RegisterH2d { command: 0x2F, lba: 0x10, count: 1, device: 0xE0, ..Default::default() };
    let seen = rig.command(fis, 0);
    assert_eq!((seen.bits.len(), seen.setups.len(), seen.ends.len()), (1, 1, 0));
    let bits = seen.bits[0];
    assert_eq!((bits.status, bits.error, bits.active), (0x50, 0, u32::MAX));
    let bytes: Vec<u8> = seen.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte)), 0);
    bytes
}

#[test]
fn a_tag_beyond_the_queue_halts_it() {
    let drive = Drive { queue: Some(4), ..drive::drive(sectors(BLOCKS), WriteCache::Through) };
    let mut rig = rig(drive, BLOCKS);
    rig.queue(0x61, 4, 0, 1);
    assert_eq!(rig.listen().end(), (0x51, 0x04));
    assert_eq!(rig.long(0x25, 0, 1).end(), (0x51, 0x04), "until the host knows which");
    assert_eq!(log_page(&mut rig)[0], 4);
    assert_eq!(rig.long(0x25, 0, 1).end(), GOOD);
}

#[test]
fn ranges_that_are_given_up_read_as_zeros() {
    let mut rig = small();
    rig.long(0x35, 0, 256);
    let mut ranges = vec![0; 128];
    (ranges[0], ranges[1]) = (8, 16 << 16);
    (ranges[2], ranges[3]) = (100, 9 << 16);
    // Two that are one: the page in both is given up.
    (ranges[4], ranges[5], ranges[6], ranges[7]) = (160, 5 << 16, 165, 11 << 16);
    rig.verbatim = Some(ranges);
    let trim =
        RegisterH2d { command: 0x06, features: 1, count: 1, device: 0x40, ..Default::default() };
    assert_eq!(rig.command(trim, 128).end(), GOOD);
    let words = rig.long(0x25, 0, 256).words();
    for (at, &word) in (0_u32..).zip(&words) {
        let trimmed = matches!(at / 128, 8..24 | 160..176);
        assert_eq!(word, if trimmed { 0 } else { at }, "only whole pages are given up");
    }
    let mut ranges = vec![0; 128];
    (ranges[0], ranges[1]) = (u32::MAX, 0xFFFF_FFFF);
    rig.verbatim = Some(ranges);
    assert_eq!(rig.command(trim, 128).end(), (0x51, 0x14));
}

#[test]
fn words_that_are_not_described_come_back_as_they_went() {
    let mut rig = small();
    let mut stream = Seed::new(4).stream("words");
    let words: Vec<u32> =
        (0..64 * 128).map(|_| u32::try_from(stream.below(1 << 32)).unwrap()).collect();
    rig.verbatim = Some(words.clone());
    assert_eq!(rig.long(0x35, 3, 64).end(), GOOD);
    let seen = rig.long(0x25, 3, 64);
    assert_eq!(seen.words(), words);
    // Those that count are found out, and told from then on.
    rig.verbatim = Some((7..7 + 64 * 128).collect());
    rig.long(0x35, 3, 64);
    assert!(matches!(rig.long(0x25, 3, 64).data[0].0, Payload::Told(Counting { first: 7, .. })));
}

#[test]
fn the_whole_drive_is_swept_in_244480_commands() {
    let all = 62_586_880;
    let mut rig = large(true, all);
    assert_eq!(all, 244_480 * 256);
    for (code, direction) in [(0xCA, "write"), (0xC8, "read")] {
        let mut frames = 0;
        for number in 0..all / 256 {
            rig.source = UP.from(number * 256 * 128);
            let seen = rig.short(code, number * 256, 256);
            assert_eq!(seen.ends[0].status, 0x50, "{direction} {number}");
            for (payload, dwords) in &seen.data {
                assert_eq!((payload, *dwords), (&Payload::Told(UP.from(frames * 2_048)), 2_048));
                frames += 1;
            }
        }
        assert_eq!(frames * 16, if code == 0xC8 { all } else { 0 });
    }
    assert_eq!(rig.short(0xC8, all - 1, 1).end(), GOOD);
    assert_eq!(rig.short(0xC8, all, 1).end(), (0x51, 0x14));
}

#[test]
fn a_cut_of_power_leaves_a_drive_that_can_be_used() {
    let mut rig = small();
    rig.long(0x35, 0, 64);
    rig.issue(RegisterH2d { command: 0x35, device: 0x40, count: 64, ..Default::default() });
    rig.ssd.cut_power(Tick(rig.now + 100));
    rig.now += 200;
    assert_eq!(rig.listen().end(), (0x50, 1));
    assert_eq!(rig.long(0x25, 0, 64).words(), (0..64 * 128).collect::<Vec<u32>>());
}

#[test]
fn what_cannot_be_read_is_told_and_what_is_lost_stays_told_until_it_is_written() {
    use crate::drive::{Spoiled, layer};
    use boardlab_ftl::Policies;
    use boardlab_sata::Speed;
    use boardlab_sata::device::{Ssd, Storage};
    let pages = [3, 5].into();
    let layer = Spoiled { layer: layer(BLOCKS, Policies::default()), pages };
    let drive = drive::drive(sectors(BLOCKS), WriteCache::Through);
    let storage = Storage::new(drive, layer, true).unwrap();
    let identity = Identify::new("BOARDLAB SPOILED", 1, Speed::Gen2);
    let mut rig = Rig::new(Ssd::new(Speed::Gen2, storage, identity).unwrap());
    rig.listen();
    // Page 3 is sectors 24 to 31, read together with page 2, which is good.
    let seen = rig.long(0x25, 0, 64);
    assert_eq!((seen.end(), seen.ends[0].lba), ((0x51, 0x40), 24));
    assert_eq!(seen.words().len(), 24 * 128, "what comes before is sent");
    // A command is not to blame for what is read ahead of it, or was read together with it.
    for (lba, count) in [(0, 16), (16, 4), (20, 4), (32, 6), (38, 2)] {
        assert_eq!(rig.long(0x25, lba, count).end(), (0x50, 0), "{lba}+{count}");
    }
    assert_eq!(rig.long(0x25, 27, 2).ends[0].lba, 27);
    assert_eq!(rig.long(0x25, 16, 8).end(), (0x50, 0), "the page beside it");
    // Of a queue, it ends the queue.
    rig.queue(0x60, 9, 24, 1);
    let seen = rig.listen();
    assert_eq!((seen.bits[0].status, seen.bits[0].error, seen.data.len()), (0x51, 0x40, 0));
    rig.ssd.reset(Tick(rig.now));
    rig.listen();
    // Part of page 5 is written: the rest of it is lost, and nothing is made up.
    assert_eq!(rig.long(0x35, 42, 2).end(), (0x50, 0));
    assert_eq!(rig.long(0x25, 42, 2).words(), (0..256).collect::<Vec<u32>>());
    let seen = rig.long(0x25, 40, 8);
    assert_eq!((seen.end(), seen.ends[0].lba), ((0x51, 0x40), 40));
    assert_eq!(rig.long(0x25, 44, 1).end(), (0x51, 0x40));
    assert_eq!(rig.ssd.storage().counts().lost, 6);
    // Written whole, it is as good as new.
    assert_eq!(rig.long(0x35, 24, 24).end(), (0x50, 0));
    assert_eq!(rig.long(0x25, 24, 24).words(), (0..24 * 128).collect::<Vec<u32>>());
}

/// Something that a host should not do, or not now.
fn disturb(rig: &mut Rig, stream: &mut Stream) {
    const CODES: [u8; 12] =
        [0xC8, 0xCA, 0x25, 0x35, 0x60, 0x61, 0xEC, 0xEF, 0x06, 0x2F, 0xEA, 0x27];
    let now = Tick(rig.now);
    match stream.below(8) {
        0 => {
            rig.ssd.begin(now);
            let _ = rig.ssd.drain(now, 0);
            let dwords = 1 + u32::try_from(stream.below(4_000)).unwrap();
            rig.ssd.take_described(dwords, UP);
            rig.ssd.take(&[7; 13]);
            rig.ssd.end(now, stream.chance(1, 2));
        }
        1 => {
            let control = if stream.chance(1, 2) { 0x04 } else { 0 };
            let fis = RegisterH2d { control, ..Default::default() };
            rig.ssd.received(now, &Fis::RegisterH2d(fis));
        }
        2 => rig.ssd.reset(now),
        3 => {
            // Something goes out, and is not taken.
            if rig.ssd.wake() <= now && rig.ssd.next(now).is_some() {
                let outcome = if stream.chance(1, 2) { Outcome::Refused } else { Outcome::Escaped };
                rig.ssd.sent(now, outcome);
            }
        }
        _ => {
            let any = |stream: &mut Stream| u16::try_from(stream.below(1 << 16)).unwrap();
            let small = |stream: &mut Stream| u16::try_from(stream.below(300)).unwrap();
            let wild = stream.chance(1, 8);
            let code = CODES[usize::try_from(stream.below(12)).unwrap()];
            let fis = RegisterH2d {
                is_command: true,
                command: if wild { any(stream).to_le_bytes()[0] } else { code },
                lba: if wild { stream.next_u64() >> 16 } else { stream.below(70_000) },
                features: if wild { any(stream) } else { small(stream) },
                count: if wild { any(stream) } else { small(stream) },
                device: if wild { any(stream).to_le_bytes()[0] } else { 0x40 },
                ..Default::default()
            };
            assert_eq!(rig.ssd.received(now, &Fis::RegisterH2d(fis)), Reception::Accept);
        }
    }
    rig.now += stream.below(2_000);
}

#[test]
fn no_order_of_commands_data_and_resets_stops_a_drive_or_spoils_what_it_holds() {
    let seeds = if std::env::var_os("BOARDLAB_FULL").is_some() { 100_000 } else { 1_000 };
    for seed in 0..seeds {
        let mut stream = Seed::new(seed).stream("disturb");
        let mut rig = small();
        for _ in 0..60 {
            disturb(&mut rig, &mut stream);
            if stream.chance(1, 4) {
                rig.left = u64::MAX >> 8;
                rig.listen();
            }
        }
        rig.ssd.reset(Tick(rig.now));
        rig.control(0x00);
        rig.listen();
        let first = stream.below(60_000);
        rig.source = Counting { first: 9, step: Step::Down };
        assert_eq!(rig.long(0x35, first, 70).end(), GOOD, "seed {seed}");
        let words = rig.long(0x25, first, 70).words();
        let right = (0..70 * 128).map(|at| 9_u32.wrapping_sub(at));
        assert!(words.iter().copied().eq(right), "seed {seed}");
        rig.ssd.storage().translation().assert_sound();
    }
}
