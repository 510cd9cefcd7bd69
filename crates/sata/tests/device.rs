//! The commands of a drive: addresses, counts, errors, the queue, IDENTIFY data in several Data FISes.
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
/// The blocks of a drive with more than 65,536 sectors.
const BLOCKS: u32 = 120;
const UP: Counting = Counting { first: 0, step: Step::Up };

fn small() -> Rig {
    rig(drive::drive(sectors(BLOCKS), WriteCache::Through), BLOCKS)
}

#[test]
fn a_count_of_zero_is_256_sectors_or_65536() {
    let mut rig = small();
    assert_eq!(rig.lba28(0xCA, 16, 256).completion(), GOOD);
    let seen = rig.lba28(0xC8, 16, 256);
    assert_eq!((seen.completion(), seen.words().len()), (GOOD, 256 * 128));
    assert_eq!(seen.words()[256 * 128 - 1], 256 * 128 - 1);
    let seen = rig.lba48(0x35, 0, 65_536);
    assert_eq!((seen.completion(), seen.activations), (GOOD, 4_096));
    let seen = rig.lba48(0x25, 0, 65_536);
    assert_eq!((seen.completion(), seen.data.len()), (GOOD, 4_096));
    for (at, (payload, dwords)) in (0..).zip(&seen.data) {
        assert_eq!((payload, *dwords), (&Payload::Pattern(UP.from(at * 2_048)), 2_048));
    }
}

#[test]
fn a_last_data_fis_may_be_shorter_than_8_kib() {
    let mut rig = small();
    let seen = rig.lba48(0x35, 5, 37);
    assert_eq!((seen.completion(), seen.activations), (GOOD, 3));
    let seen = rig.lba48(0x25, 5, 37);
    let lengths: Vec<u32> = seen.data.iter().map(|(_, dwords)| *dwords).collect();
    assert_eq!(lengths, [2_048, 2_048, 5 * 128]);
    assert_eq!(seen.words(), (0..37 * 128).collect::<Vec<u32>>());
    // A host may send shorter Data FISes of whole sectors.
    rig.frame = 3 * 128;
    assert_eq!(rig.lba48(0x35, 7, 8).activations, 3);
    assert_eq!(rig.lba48(0x25, 7, 8).words(), (0..8 * 128).collect::<Vec<u32>>());
    rig.frame = 100;
    let seen = rig.lba48(0x35, 7, 8);
    assert_eq!((seen.completion(), seen.refused), ((0x51, 0x04), 1), "no whole sectors");
}

#[test]
fn the_last_sector_is_reached_and_the_next_is_not_found() {
    let all = sectors(BLOCKS) - 5;
    let mut rig = rig(drive::drive(all, WriteCache::Through), BLOCKS);
    assert_eq!(rig.lba48(0x35, all - 1, 1).completion(), GOOD);
    assert_eq!(rig.lba48(0x25, all - 1, 1).words().len(), 128);
    for (lba, count, failing) in [
        (all, 1, all),
        (all - 1, 2, all),
        (all - 7, 65_536, all),
        (u64::MAX >> 16, 0, u64::MAX >> 16),
    ] {
        for code in [0x25, 0x35] {
            let seen = rig.lba48(code, lba, count);
            assert_eq!(
                (seen.completion(), seen.data.len(), seen.activations),
                ((0x51, 0x14), 0, 0)
            );
            assert_eq!(seen.completions[0].lba, failing, "{lba}+{count}");
        }
    }
    assert_eq!(rig.lba28(0xC8, all - 255, 256).completion(), (0x51, 0x14));
    assert_eq!(rig.lba28(0xC8, all - 256, 256).completion(), GOOD);
}

/// Returns a drive of 512 GiB, hardly written, with mapped pages of 64 KiB.
fn large(lba48: bool, all: u64) -> Rig {
    use boardlab_ftl::{CellTimes, Geometry, PageMapped, Policies, Stripe, TimedMedium, Timing};
    use boardlab_sata::Speed;
    use boardlab_sata::device::{Ssd, Storage};
    let pages = u32::try_from(all.div_ceil(128)).unwrap();
    let blocks = pages / 1_024 + 8;
    let stripe = Stripe { channels: 2, dies: 1, planes: 1, units: 1 };
    let geometry = Geometry::new(blocks, 1_024, Bytes::kib(64), pages).unwrap();
    let geometry = geometry.striped(stripe).unwrap();
    let cells = CellTimes::uniform(micros(50), micros(400), micros(2_000));
    let timing = Timing { native: cells.clone(), slc: cells, ..drive::timing() };
    let medium = TimedMedium::new(&geometry, &timing).unwrap();
    let layer = PageMapped::new(geometry, Policies::default(), medium, Seed::new(1)).unwrap();
    let drive = Drive {
        lba48,
        stripe,
        read_buffer: Bytes::kib(512),
        ..drive::drive(all, WriteCache::Back(Bytes::mib(1)))
    };
    let storage = Storage::new(drive, layer, true).unwrap();
    let identity = Identify::new("BOARDLAB LARGE", 1, Speed::Gen3);
    let mut rig = Rig::new(Ssd::new(Speed::Gen3, storage, identity).unwrap());
    rig.receive_all();
    rig
}

#[test]
fn twenty_eight_bits_of_address_end_where_they_do() {
    let limit = (1_u64 << 28) - 1;
    let mut rig = large(true, (1 << 28) + 100_000);
    // Below the limit, 28-bit and 48-bit commands address the same sectors.
    assert_eq!(rig.lba28(0xCA, limit - 255, 256).completion(), GOOD);
    assert_eq!(rig.lba48(0x25, limit - 255, 256).words(), (0..256 * 128).collect::<Vec<u32>>());
    // Beyond it, only 48-bit commands reach the sectors, and they do not wrap.
    rig.source = Counting { first: 7, step: Step::Down };
    assert_eq!(rig.lba48(0x35, (1 << 28) - 20, 40).completion(), GOOD);
    let words = rig.lba48(0x25, (1 << 28) - 20, 40).words();
    assert_eq!((words.len(), words[40 * 128 - 1]), (40 * 128, 7_u32.wrapping_sub(40 * 128 - 1)));
    assert_eq!(rig.lba48(0x25, 0, 1).words(), [0; 128], "nothing was written at the start");
    // A 28-bit command that extends beyond 28 bits: the drive has the sectors and accepts it.
    assert_eq!(rig.lba28(0xC8, (1 << 28) - 20, 40).words(), words);
    // A drive with 28-bit commands only ends earlier.
    let mut old = large(false, limit);
    assert_eq!(old.lba28(0xCA, limit - 256, 256).completion(), GOOD);
    assert_eq!(old.lba28(0xCA, limit - 255, 256).completion(), (0x51, 0x14));
    let seen = old.lba28(0xC8, limit - 1, 2);
    let end = seen.completions[0];
    assert_eq!((end.lba, end.device & 0x0F), (0xFF_FFFF, 0x0F), "the sector that is not there");
    assert_eq!(old.lba48(0x25, 0, 1).completion(), (0x51, 0x04), "not known");
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
        assert_eq!(
            (seen.completions.len(), seen.pio_setups.len()),
            (0, 1),
            "PIO has no end of its own"
        );
        assert_eq!((seen.pio_setups[0].transfer, seen.pio_setups[0].ending_status), (512, 0x50));
        assert_eq!(seen.data.len(), 128_usize.div_ceil(usize::try_from(piece).unwrap()));
        let identity = Identify::parse(&seen.words()).unwrap();
        assert_eq!((identity.sectors, identity.queue_depth), (sectors(BLOCKS), Some(32)));
        assert_eq!(identity.write_cache, Feature::On);
        assert_eq!(rig.simple(0xEF, 0x82, 0).completion(), GOOD);
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
    assert_eq!(rig.simple(0xEF, 0x02, 0).completion(), (0x51, 0x04), "a drive without a cache");
    for (features, count) in [(0x82, 0), (0x55, 0), (0xAA, 0), (0x10, 2), (0x90, 2), (0x03, 0x46)] {
        assert_eq!(rig.simple(0xEF, features, count).completion(), GOOD, "{features:02X}");
    }
    assert_eq!(rig.simple(0xEF, 0x42, 0).completion(), (0x51, 0x04));
    let power = rig.simple(0xE5, 0, 0);
    assert_eq!((power.completion(), power.completions[0].count), (GOOD, 0xFF));
    let native = rig.simple(0xF8, 0, 0);
    assert_eq!((native.completion(), native.completions[0].lba), (GOOD, sectors(BLOCKS) - 1));
    for code in [0xE0, 0xE1, 0xE7, 0xEA] {
        assert_eq!(rig.simple(code, 0, 0).completion(), GOOD, "{code:02X}");
    }
    for code in [0x00, 0x20, 0x30, 0xA1, 0xB0, 0xC4, 0xFF] {
        let seen = rig.simple(code, 0, 0);
        assert_eq!((seen.completion(), seen.data.len()), ((0x51, 0x04), 0), "{code:02X}");
    }
    assert_eq!(rig.ssd.tally().failed, 2 + 7);
}

#[test]
fn a_data_fis_with_a_bad_crc_is_not_written_and_ends_the_command() {
    let mut rig = small();
    assert_eq!(rig.lba48(0x35, 0, 64).completion(), GOOD);
    rig.source = Counting { first: 5, step: Step::Down };
    rig.damaged = Some(rig.frames + 2);
    let seen = rig.lba48(0x35, 0, 64);
    assert_eq!((seen.completion(), seen.refused, seen.activations), ((0x51, 0x84), 1, 3));
    assert_eq!(seen.completions[0].lba, 32, "the first sector that was not written");
    let words = rig.lba48(0x25, 0, 64).words();
    assert_eq!(
        words[..32 * 128],
        (0..32 * 128).map(|at| 5_u32.wrapping_sub(at)).collect::<Vec<_>>()
    );
    assert_eq!(words[32 * 128..], (32 * 128..64 * 128).collect::<Vec<u32>>());
    // The next command succeeds.
    assert_eq!(rig.lba48(0x35, 0, 64).completion(), GOOD);
}

#[test]
fn a_read_that_the_host_refuses_ends_with_a_crc_error() {
    let mut rig = small();
    rig.lba48(0x35, 0, 64);
    rig.refuses = Some(rig.frames + 1);
    let seen = rig.lba48(0x25, 0, 64);
    assert_eq!((seen.completion(), seen.data.len()), ((0x51, 0x84), 2), "and is not sent again");
    assert_eq!(rig.lba48(0x25, 0, 64).data.len(), 4);
}

#[test]
fn unexpected_data_and_other_fises_are_refused() {
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
    assert_eq!(rig.receive_all().completions.len(), 0);
    assert_eq!(rig.lba48(0x25, 0, 1).words(), [0; 128], "nothing was written");
    // More data than the command requested.
    rig.issue(RegisterH2d { command: 0x35, device: 0x40, count: 4, ..Default::default() });
    rig.remaining = 2_048;
    let seen = rig.receive_all();
    assert_eq!((seen.completion(), seen.refused), ((0x51, 0x04), 1));
    assert_eq!(rig.lba48(0x25, 0, 1).words(), [0; 128]);
}

#[test]
fn a_command_during_another_aborts_both() {
    let mut rig = small();
    rig.issue(RegisterH2d { command: 0x25, device: 0x40, count: 64, ..Default::default() });
    rig.issue(RegisterH2d { command: 0xEC, ..Default::default() });
    assert_eq!(rig.receive_all().completion(), (0x51, 0x04));
    assert_eq!(rig.lba48(0x25, 0, 4).completion(), GOOD);
}

#[test]
fn resets_abort_commands_in_flight_and_send_the_signature() {
    let mut rig = small();
    rig.lba48(0x35, 0, 64);
    rig.issue(RegisterH2d { command: 0x25, device: 0x40, count: 64, ..Default::default() });
    assert_eq!(rig.control(0x04).completions.len(), 0, "held in reset");
    rig.issue(RegisterH2d { command: 0xEC, ..Default::default() });
    let seen = rig.control(0x00);
    assert_eq!((seen.completion(), seen.completions[0].lba, seen.data.len()), ((0x50, 1), 1, 0));
    rig.queue(0x60, 3, 0, 64);
    rig.ssd.reset(Tick(rig.now));
    let seen = rig.receive_all();
    assert_eq!((seen.completion(), seen.device_bits.len(), seen.data.len()), ((0x50, 1), 0, 0));
    assert_eq!(rig.lba48(0x25, 0, 64).words(), (0..64 * 128).collect::<Vec<u32>>());
}

#[test]
fn thirty_two_queued_reads_come_in_the_order_in_which_they_are_ready() {
    let mut rig = small();
    rig.lba48(0x35, 0, 16_384);
    // Tags 0 and 1 wait for one die; the others use other dies.
    let mut stream = Seed::new(9).stream("queue");
    let extents: Vec<(u64, u64)> =
        (0..32).map(|_| (stream.below(16_000), 1 + stream.below(40))).collect();
    for (tag, &(lba, count)) in (0..).zip(&extents) {
        rig.queue(0x60, tag, lba, count);
    }
    let begun = rig.now;
    let seen = rig.receive_all();
    assert_eq!(
        (seen.completions.len(), seen.dma_setups.len()),
        (32, 32),
        "each was taken, each had its phase"
    );
    let order: Vec<u64> = seen.dma_setups.iter().map(|setup| setup.buffer).collect();
    assert!(order.iter().zip(0..).any(|(&buffer, at)| buffer != at), "not as they came: {order:?}");
    let told = seen.device_bits.iter().fold(0, |all, bits| {
        assert_eq!((bits.status, bits.error, all & bits.active), (0x50, 0, 0));
        all | bits.active
    });
    assert_eq!(told, u32::MAX);
    let mut words = seen.words().into_iter();
    for setup in &seen.dma_setups {
        let (lba, count) = extents[usize::try_from(setup.buffer).unwrap()];
        assert_eq!((setup.count, setup.to_host), (u32::try_from(count * 512).unwrap(), true));
        for at in 0..count * 128 {
            assert_eq!(words.next(), Some(u32::try_from(lba * 128 + at).unwrap()));
        }
    }
    // One after another they take much longer: four dies work at once.
    let together = rig.now - begun;
    let begun = rig.now;
    for &(lba, count) in &extents {
        rig.lba48(0x25, lba, count);
    }
    assert!((rig.now - begun) > 2 * together, "{} ticks, {together} queued", rig.now - begun);
}

#[test]
fn queued_writes_are_activated_or_activate_themselves() {
    for auto in [false, true] {
        let mut rig = small();
        if auto {
            assert_eq!(rig.simple(0xEF, 0x10, 2).completion(), GOOD);
        }
        for tag in 0..32 {
            rig.queue(0x61, tag, u64::from(tag) * 40, 33);
        }
        let seen = rig.receive_all();
        assert_eq!((seen.dma_setups.len(), seen.refused), (32, 0));
        assert!(seen.dma_setups.iter().all(|setup| setup.auto_activate == auto && !setup.to_host));
        assert_eq!(seen.activations, 32 * if auto { 2 } else { 3 });
        let told = seen.device_bits.iter().fold(0, |all, bits| all | bits.active);
        assert_eq!(told, u32::MAX);
        for tag in 0..32 {
            let words = rig.lba48(0x25, tag * 40, 33).words();
            assert_eq!(words, (0..33 * 128).collect::<Vec<u32>>(), "tag {tag}");
        }
    }
}

#[test]
fn an_ncq_error_aborts_the_queue_and_the_log_names_the_command() {
    let mut rig = small();
    rig.lba48(0x35, 0, 1_024);
    for tag in 0..4 {
        rig.queue(0x60, tag, u64::from(tag) * 16, 16);
    }
    rig.refuses = Some(rig.frames + 1);
    let seen = rig.receive_all();
    let failed = seen.device_bits.iter().find(|bits| bits.status & 1 == 1).unwrap();
    assert_eq!((failed.error, failed.active), (0x84, 0));
    assert_eq!(seen.dma_setups.len(), 2, "the others are over");
    assert_eq!(rig.lba48(0x25, 0, 1).completion(), (0x51, 0x04), "until the host knows which");
    let bytes = log_page(&mut rig);
    assert_eq!((u64::from(bytes[0]), bytes[3]), (seen.dma_setups[1].buffer, 0x84));
    assert_eq!(rig.lba48(0x25, 0, 1).completion(), GOOD);
    // A sector beyond the end, a tag in use, an unqueued command: each aborts the queue.
    rig.queue(0x60, 0, sectors(BLOCKS), 1);
    assert_eq!(rig.receive_all().completion(), (0x51, 0x14));
    rig.ssd.reset(Tick(rig.now));
    rig.receive_all();
    rig.queue(0x60, 5, 0, 16);
    rig.queue(0x60, 5, 16, 16);
    let seen = rig.receive_all();
    // The first was accepted. Only a Register FIS clears BSY of the second.
    assert_eq!((seen.completions.len(), seen.device_bits.len(), seen.data.len()), (2, 0, 0));
    assert_eq!((seen.completions[1].status, seen.completions[1].error), (0x51, 0x04));
    assert_eq!(log_page(&mut rig)[0], 5);
    rig.queue(0x60, 7, 0, 16);
    assert_eq!(rig.simple(0xE5, 0, 0).completions[1].status, 0x51);
    assert_eq!(log_page(&mut rig)[0], 0x80, "not of a queued command");
    assert_eq!(rig.lba48(0x25, 0, 1).completion(), GOOD);
}

/// Returns log page 10h after an error: first all tags are cleared, then the data follow.
fn log_page(rig: &mut Rig) -> Vec<u8> {
    let fis =
        RegisterH2d { command: 0x2F, lba: 0x10, count: 1, device: 0xE0, ..Default::default() };
    let seen = rig.command(fis, 0);
    assert_eq!((seen.device_bits.len(), seen.pio_setups.len(), seen.completions.len()), (1, 1, 0));
    let bits = seen.device_bits[0];
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
    assert_eq!(rig.receive_all().completion(), (0x51, 0x04));
    assert_eq!(rig.lba48(0x25, 0, 1).completion(), (0x51, 0x04), "until the host knows which");
    assert_eq!(log_page(&mut rig)[0], 4);
    assert_eq!(rig.lba48(0x25, 0, 1).completion(), GOOD);
}

#[test]
fn trimmed_ranges_read_as_zeros() {
    let mut rig = small();
    rig.lba48(0x35, 0, 256);
    let mut ranges = vec![0; 128];
    (ranges[0], ranges[1]) = (8, 16 << 16);
    (ranges[2], ranges[3]) = (100, 9 << 16);
    // Two adjacent ranges are merged: the page that lies in both is trimmed.
    (ranges[4], ranges[5], ranges[6], ranges[7]) = (160, 5 << 16, 165, 11 << 16);
    rig.verbatim = Some(ranges);
    let trim =
        RegisterH2d { command: 0x06, features: 1, count: 1, device: 0x40, ..Default::default() };
    assert_eq!(rig.command(trim, 128).completion(), GOOD);
    let words = rig.lba48(0x25, 0, 256).words();
    for (at, &word) in (0_u32..).zip(&words) {
        let trimmed = matches!(at / 128, 8..24 | 160..176);
        assert_eq!(word, if trimmed { 0 } else { at }, "only whole pages are given up");
    }
    let mut ranges = vec![0; 128];
    (ranges[0], ranges[1]) = (u32::MAX, 0xFFFF_FFFF);
    rig.verbatim = Some(ranges);
    assert_eq!(rig.command(trim, 128).completion(), (0x51, 0x14));
}

#[test]
fn words_that_are_no_pattern_read_back_as_written() {
    let mut rig = small();
    let mut stream = Seed::new(4).stream("words");
    let words: Vec<u32> =
        (0..64 * 128).map(|_| u32::try_from(stream.below(1 << 32)).unwrap()).collect();
    rig.verbatim = Some(words.clone());
    assert_eq!(rig.lba48(0x35, 3, 64).completion(), GOOD);
    let seen = rig.lba48(0x25, 3, 64);
    assert_eq!(seen.words(), words);
    // A counting pattern is recognised, and sent as one from then on.
    rig.verbatim = Some((7..7 + 64 * 128).collect());
    rig.lba48(0x35, 3, 64);
    assert!(matches!(
        rig.lba48(0x25, 3, 64).data[0].0,
        Payload::Pattern(Counting { first: 7, .. })
    ));
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
            let seen = rig.lba28(code, number * 256, 256);
            assert_eq!(seen.completions[0].status, 0x50, "{direction} {number}");
            for (payload, dwords) in &seen.data {
                assert_eq!((payload, *dwords), (&Payload::Pattern(UP.from(frames * 2_048)), 2_048));
                frames += 1;
            }
        }
        assert_eq!(frames * 16, if code == 0xC8 { all } else { 0 });
    }
    assert_eq!(rig.lba28(0xC8, all - 1, 1).completion(), GOOD);
    assert_eq!(rig.lba28(0xC8, all, 1).completion(), (0x51, 0x14));
}

#[test]
fn a_drive_is_usable_after_a_power_cut() {
    let mut rig = small();
    rig.lba48(0x35, 0, 64);
    rig.issue(RegisterH2d { command: 0x35, device: 0x40, count: 64, ..Default::default() });
    rig.ssd.cut_power(Tick(rig.now + 100));
    rig.now += 200;
    assert_eq!(rig.receive_all().completion(), (0x50, 1));
    assert_eq!(rig.lba48(0x25, 0, 64).words(), (0..64 * 128).collect::<Vec<u32>>());
}

#[test]
fn unreadable_sectors_are_reported_and_lost_ones_until_they_are_rewritten() {
    use crate::drive::{UnreadablePages, layer};
    use boardlab_ftl::Policies;
    use boardlab_sata::Speed;
    use boardlab_sata::device::{Ssd, Storage};
    let pages = [3, 5].into();
    let layer = UnreadablePages { layer: layer(BLOCKS, Policies::default()), pages };
    let drive = drive::drive(sectors(BLOCKS), WriteCache::Through);
    let storage = Storage::new(drive, layer, true).unwrap();
    let identity = Identify::new("BOARDLAB SPOILED", 1, Speed::Gen2);
    let mut rig = Rig::new(Ssd::new(Speed::Gen2, storage, identity).unwrap());
    rig.receive_all();
    // Page 3 is sectors 24 to 31. It is read together with page 2, which is readable.
    let seen = rig.lba48(0x25, 0, 64);
    assert_eq!((seen.completion(), seen.completions[0].lba), ((0x51, 0x40), 24));
    assert_eq!(seen.words().len(), 24 * 128, "what comes before is sent");
    // A command does not fail because of sectors read ahead of it or together with it.
    for (lba, count) in [(0, 16), (16, 4), (20, 4), (32, 6), (38, 2)] {
        assert_eq!(rig.lba48(0x25, lba, count).completion(), (0x50, 0), "{lba}+{count}");
    }
    assert_eq!(rig.lba48(0x25, 27, 2).completions[0].lba, 27);
    assert_eq!(rig.lba48(0x25, 16, 8).completion(), (0x50, 0), "the page beside it");
    // As a queued command, it aborts the queue.
    rig.queue(0x60, 9, 24, 1);
    let seen = rig.receive_all();
    assert_eq!(
        (seen.device_bits[0].status, seen.device_bits[0].error, seen.data.len()),
        (0x51, 0x40, 0)
    );
    rig.ssd.reset(Tick(rig.now));
    rig.receive_all();
    // A part of page 5 is written. The rest of it is lost, and the drive returns no invented data.
    assert_eq!(rig.lba48(0x35, 42, 2).completion(), (0x50, 0));
    assert_eq!(rig.lba48(0x25, 42, 2).words(), (0..256).collect::<Vec<u32>>());
    let seen = rig.lba48(0x25, 40, 8);
    assert_eq!((seen.completion(), seen.completions[0].lba), ((0x51, 0x40), 40));
    assert_eq!(rig.lba48(0x25, 44, 1).completion(), (0x51, 0x40));
    assert_eq!(rig.ssd.storage().counts().lost, 6);
    // Once written completely, the page is readable again.
    assert_eq!(rig.lba48(0x35, 24, 24).completion(), (0x50, 0));
    assert_eq!(rig.lba48(0x25, 24, 24).words(), (0..24 * 128).collect::<Vec<u32>>());
}

/// Sends something that a host should not send, or not now.
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
            // A frame is sent and not accepted.
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
fn no_order_of_commands_data_and_resets_hangs_a_drive_or_corrupts_its_contents() {
    let seeds = if std::env::var_os("BOARDLAB_FULL").is_some() { 100_000 } else { 1_000 };
    for seed in 0..seeds {
        let mut stream = Seed::new(seed).stream("disturb");
        let mut rig = small();
        for _ in 0..60 {
            disturb(&mut rig, &mut stream);
            if stream.chance(1, 4) {
                rig.remaining = u64::MAX >> 8;
                rig.receive_all();
            }
        }
        rig.ssd.reset(Tick(rig.now));
        rig.control(0x00);
        rig.receive_all();
        let first = stream.below(60_000);
        rig.source = Counting { first: 9, step: Step::Down };
        assert_eq!(rig.lba48(0x35, first, 70).completion(), GOOD, "seed {seed}");
        let words = rig.lba48(0x25, first, 70).words();
        let right = (0..70 * 128).map(|at| 9_u32.wrapping_sub(at));
        assert!(words.iter().copied().eq(right), "seed {seed}");
        rig.ssd.storage().translation().assert_sound();
    }
}
