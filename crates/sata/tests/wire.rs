//! Byte formats, compared with vectors of two independent implementations, and the detection of every
//! single bit error.
use boardlab_sata::Error;
use boardlab_sata::wire::crc::crc;
use boardlab_sata::wire::fis::{
    DataView, DmaActivate, Fis, Kind, RegisterD2h, RegisterH2d, data, status,
};
use boardlab_sata::wire::{
    Identify, Primitive, Scrambler, Speed, align, frame, identify, scrambler,
};
use boardlab_sim::{Seed, Stream};

/// A command of `command` as hosts send it.
fn command(command: u8, device: u8, lba: u64, count: u16) -> Fis {
    Fis::RegisterH2d(RegisterH2d {
        is_command: true,
        command,
        lba,
        device,
        count,
        ..RegisterH2d::default()
    })
}

fn words(fis: &Fis) -> Vec<u32> {
    let mut words = [0; Fis::LONGEST];
    let length = fis.emit(&mut words);
    words[..length].to_vec()
}

fn sealed(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    frame::encode(&mut words);
    words
}

/// A Data FIS of 8 KiB of zeros.
fn zeros() -> Vec<u32> {
    let mut words = vec![0; data::LARGEST];
    words[0] = 0x46;
    words
}

/// Every bit of `wire`: dword and bit.
fn bits(wire: &[u32]) -> impl Iterator<Item = (usize, u32)> + use<> {
    (0..wire.len()).flat_map(|at| (0..32).map(move |bit| (at, bit)))
}

#[test]
fn the_crc_is_that_of_other_implementations() {
    let counting: Vec<u32> = (0..1_024).collect();
    let bytes: Vec<u8> = (0..512_u32).map(|at| at.to_le_bytes()[0]).collect();
    let (quads, _) = bytes.as_chunks::<4>();
    let sector: Vec<u32> =
        [0x46].into_iter().chain(quads.iter().map(|quad| u32::from_le_bytes(*quad))).collect();
    let vectors: [(&[u32], u32); 10] = [
        // The example of the standard.
        (&[0x0030_8027, 0xE123_4567, 0, 2, 0], 0x319F_FF6F),
        (&[], 0x5232_5032),
        (&[0], 0x3394_3510),
        (&[1], 0x3755_28A7),
        (&[u32::MAX], 0xF490_E86B),
        (&counting, 0x7E4F_B59C),
        (&[0x39], 0xC56F_A88F),
        (&[0x0050_4034, 0, 0, 0, 0], 0x8878_B16B),
        (&zeros(), 0x9D3C_C61A),
        (&sector, 0x0620_2294),
    ];
    for (words, expected) in vectors {
        assert_eq!(crc(words), expected, "{:08X?}", &words[..words.len().min(6)]);
    }
}

#[test]
fn commands_have_the_crc_of_other_implementations() {
    let good = RegisterD2h { interrupt: true, status: 0x50, ..RegisterD2h::default() };
    assert_eq!(good.status, status::DRDY | status::DSC);
    let vectors = [
        (command(0xEC, 0xA0, 0, 0), 0x6344_A6A2),
        (command(0x25, 0x40, 0, 0), 0x02FD_9949),
        (command(0x25, 0xE0, 0, 0), 0x6A46_0317),
        (command(0x35, 0x40, 0x0123_4567_89AB, 0x0800), 0xEAC6_D26D),
        (Fis::DmaActivate(DmaActivate::default()), 0xC56F_A88F),
        (Fis::RegisterD2h(good), 0x8878_B16B),
    ];
    for (fis, expected) in vectors {
        assert_eq!(crc(&words(&fis)), expected, "{fis}");
    }
}

#[test]
fn frames_on_the_wire_are_those_of_other_implementations() {
    let example = sealed(&[0x0030_8027, 0xE123_4567, 0, 2, 0]);
    let expected = [0xC2E2_F6AA, 0xFE05_F60F, 0xA508_436C, 0x3452_D356, 0x8A55_9502, 0x8A85_4174];
    assert_eq!(example, expected);
    let read = sealed(&words(&command(0x25, 0x40, 0, 0)));
    let expected = [0xC2F7_F6AA, 0x5F26_B368, 0xA508_436C, 0x3452_D354, 0x8A55_9502, 0xB9E7_2752];
    assert_eq!(read, expected);
    assert_eq!(sealed(&[0x39]), [0xC2D2_76B4, 0xDA49_1BE7]);
}

#[test]
fn the_frames_of_the_documentation_are_these() {
    let page = include_str!("../../../docs/formats/sata-wire.md");
    let dwords = |text: &str| -> Vec<u32> {
        text.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
    };
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("00") && line.matches(" | ").count() == 2)
        .map(|line| line.split(" | ").collect())
        .collect();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let fis = dwords(row[0]);
        assert_eq!(vec![crc(&fis)], dwords(row[1]), "{}", row[0]);
        assert_eq!(sealed(&fis), dwords(row[2]), "{}", row[0]);
        assert!(Fis::parse(&fis).is_ok(), "{}", row[0]);
    }
    for primitive in Primitive::ALL {
        let row = format!("| {primitive} | {:08X} |", primitive.dword());
        assert_eq!(page.matches(&row).count(), 1, "{row}");
    }
}

#[test]
fn the_key_stream_begins_as_the_standard_says() {
    let mut keys = [0; 8];
    Scrambler::new().apply(&mut keys);
    assert_eq!(keys[..4], [0xC2D2_768D, 0x1F26_B368, 0xA508_436C, 0x3452_D354]);
    assert_eq!(keys[4..], [0x8A55_9502, 0xBB1A_BE1B, 0xFA56_B73D, 0x53F6_0B1B]);
}

#[test]
fn the_key_stream_repeats_after_65535_dwords_and_not_before() {
    let period = usize::try_from(scrambler::PERIOD).unwrap();
    let mut keys = vec![0; 2 * period];
    Scrambler::new().apply(&mut keys);
    let (first, second) = keys.split_at(period);
    assert!(first == second);
    // A shorter period would divide this one: 3 x 5 x 17 x 257.
    for prime in [3, 5, 17, 257] {
        let shorter = period / prime;
        assert!(keys[..shorter] != keys[shorter..2 * shorter], "a period of {shorter}");
    }
}

#[test]
fn a_sealed_frame_has_residue_zero_and_opens_to_what_it_was() {
    let original: Vec<u32> = (0..2_100_u32).map(|at| at.wrapping_mul(0x6C07_8965)).collect();
    for length in [1, 2, 5, 7, 100, data::LARGEST, 2_100] {
        let original = &original[..length];
        let mut wire = sealed(original);
        assert_eq!(frame::decode(&mut wire), Ok(original), "{length} dwords");
        assert_eq!(crc(&wire), 0, "{length} dwords");
    }
}

/// Opens a copy of `wire` with the bits of `flips` wrong, which must be refused for its CRC.
fn assert_refused(wire: &[u32], received: &mut [u32], flips: &[(usize, u32)]) {
    received.copy_from_slice(wire);
    for (at, bit) in flips {
        received[*at] ^= 1 << bit;
    }
    let opened = frame::decode(received);
    assert!(matches!(opened, Err(Error::Crc { .. })), "{flips:?} passed: wrong data accepted");
}

#[test]
fn every_single_wrong_bit_of_the_longest_frame_is_refused() {
    let mut original = zeros();
    (0..).zip(&mut original[1..]).for_each(|(at, word)| *word = at);
    let wire = sealed(&original);
    assert_eq!(wire.len(), 2_050);
    let mut received = wire.clone();
    let opened = frame::decode(&mut received).unwrap();
    assert_eq!(DataView::new(opened).unwrap().payload(), &original[1..]);
    let mut refused = 0;
    for flip in bits(&wire) {
        assert_refused(&wire, &mut received, &[flip]);
        refused += 1;
    }
    assert_eq!(refused, 65_600);
}

#[test]
fn every_pair_of_wrong_bits_of_a_command_is_refused() {
    let wire = sealed(&words(&command(0x35, 0x40, 7, 8)));
    let mut received = wire.clone();
    let bits: Vec<_> = bits(&wire).collect();
    for (index, &first) in bits.iter().enumerate() {
        for &second in &bits[..index] {
            assert_refused(&wire, &mut received, &[first, second]);
        }
    }
}

#[test]
fn a_lost_dword_is_refused() {
    let wire = sealed(&words(&command(0x35, 0x40, 7, 8)));
    for at in 0..wire.len() {
        let mut received = wire.clone();
        received.remove(at);
        assert!(frame::decode(&mut received).is_err(), "without dword {at}");
    }
}

/// Random dwords, often with the first byte of a FIS.
fn random(stream: &mut Stream, length: usize) -> Vec<u32> {
    let word = |stream: &mut Stream| u32::try_from(stream.next_u64() >> 32).unwrap();
    let mut words: Vec<u32> = (0..length).map(|_| word(stream)).collect();
    if let Some(first) = words.first_mut().filter(|_| stream.chance(3, 4)) {
        let kind = Kind::ALL[usize::try_from(stream.below(8)).unwrap()];
        *first = (*first & !0xFF) | u32::from(kind.code());
    }
    words
}

#[test]
fn any_dwords_are_a_fis_that_is_written_as_it_was_read_or_an_error() {
    const SEED: u64 = 5;
    let mut stream = Seed::new(SEED).stream("any_dwords");
    let (mut known, mut refused) = (0, 0);
    for case in 0..100_000 {
        let length = usize::try_from(stream.below(9)).unwrap();
        let received = random(&mut stream, length);
        let Ok(fis) = Fis::parse(&received) else {
            refused += 1;
            continue;
        };
        let sent = words(&fis);
        assert_eq!(Fis::parse(&sent), Ok(fis), "seed {SEED}, case {case}: {received:08X?}");
        assert_eq!(sent.len(), received.len(), "seed {SEED}, case {case}");
        // Reserved bits have gone; nothing has come.
        let came = received.iter().zip(&sent).any(|(received, sent)| sent & !received != 0);
        assert!(!came, "seed {SEED}, case {case}: {received:08X?} became {sent:08X?}");
        known += 1;
    }
    assert!(known > 5_000 && refused > 50_000, "{known} known, {refused} refused");
}

#[test]
fn any_words_are_a_drive_that_is_written_as_it_was_read_or_an_error() {
    const SEED: u64 = 5;
    let mut stream = Seed::new(SEED).stream("any_words");
    let plain = Identify::new("DRIVE", 1_000_000, Speed::Gen3).emit_payload().unwrap();
    let (mut known, mut refused) = (0, 0);
    for case in 0..20_000 {
        let mut payload = plain;
        // Without the signature of the checksum, which would refuse them all.
        payload[identify::DWORDS - 1] = 0;
        for _ in 0..stream.below(12) {
            let at = usize::try_from(stream.below(127)).unwrap();
            payload[at] = random(&mut stream, 1)[0];
        }
        let Ok(drive) = Identify::parse(&payload) else {
            refused += 1;
            continue;
        };
        let written = drive.emit_payload().unwrap_or_else(|error| {
            panic!("seed {SEED}, case {case}: {drive:?}: {error}");
        });
        assert_eq!(Identify::parse(&written).as_ref(), Ok(&drive), "seed {SEED}, case {case}");
        known += 1;
    }
    assert!(known > 1_000 && refused > 1_000, "{known} known, {refused} refused");
}

#[test]
fn every_type_has_its_name_in_an_error() {
    for kind in Kind::ALL {
        let mut frame = sealed(&[u32::from(kind.code()); 9]);
        let error = Fis::parse(frame::decode(&mut frame).unwrap()).unwrap_err().to_string();
        assert!(error.contains(kind.name()), "{error}");
    }
}

#[test]
fn align_takes_exactly_two_of_256_ticks() {
    // The slots of a million pairs of ALIGN, and the ticks that they take.
    let slots = 1_000_000 * align::SLOTS;
    let ticks = align::tick_of(slots).0;
    assert_eq!((ticks - slots) * 256, ticks * 2);
}
