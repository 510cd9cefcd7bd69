//! Tests on literal words.

use super::*;

fn drive() -> Identify {
    Identify {
        serial: "CVEM8480000Q032HGN".into(),
        firmware: "045C8621".into(),
        queue_depth: Some(32),
        trims: true,
        ..Identify::new("SSDSA2SH032G1GN INTEL", 62_500_000, Speed::Gen2)
    }
}

#[test]
fn words_are_where_the_standard_has_them() {
    let words = drive().emit().unwrap();
    // CV EM 84, byte-swapped in memory: the first letter is the upper byte.
    assert_eq!(words[10..13], [0x4356, 0x454D, 0x3834]);
    assert_eq!(words[19], 0x2020);
    assert_eq!(words[23..27], [0x3034, 0x3543, 0x3836, 0x3231]);
    assert_eq!(words[27..30], [0x5353, 0x4453, 0x4132]);
    assert_eq!(words[47], 0x8010);
    assert_eq!(words[49], 0x0300);
    // 62,500,000 = 03B9ACA0h.
    assert_eq!(words[60..62], [0xACA0, 0x03B9]);
    assert_eq!(words[75..77], [0x001F, 0x0106]);
    assert_eq!(words[82..88], [0x0068, 0x7400, 0x4000, 0x0068, 0x3400, 0x4000]);
    assert_eq!(words[88], 0x407F);
    assert_eq!(words[93], 0);
    assert_eq!(words[100..104], [0xACA0, 0x03B9, 0, 0]);
    assert_eq!(words[106], 0x4000);
    assert_eq!(words[217], 1);
    assert_eq!(words[222], 0x101F);
    let sum: u32 = words.iter().flat_map(|word| word.to_le_bytes()).map(u32::from).sum();
    assert_eq!((words[255] & 0xFF, sum % 256), (0xA5, 0));
    let payload = drive().emit_payload().unwrap();
    assert_eq!((payload[5], payload[30]), (0x454D_4356, 0x03B9_ACA0));
}

#[test]
fn what_was_written_is_read_back() {
    let drives = [
        drive(),
        Identify { lba_48: false, flush_ext: false, ..drive() },
        Identify { write_cache: Feature::Off, look_ahead: Feature::Absent, ..drive() },
        Identify { speed: Speed::Gen1, queue_depth: None, bridged: true, ..drive() },
        Identify { speed: Speed::Gen3, sectors: SECTORS_48 - 1, physical_exponent: 3, ..drive() },
        Identify { sector: Bytes::new(4_096), rotation: Rotation::PerMinute(7_200), ..drive() },
        Identify { model: String::new(), rotation: Rotation::NotReported, flush: false, ..drive() },
        Identify { model: "x".repeat(40), sectors: 1, udma: 0, multiple: 0, ..drive() },
    ];
    for drive in drives {
        assert_eq!(Identify::parse(&drive.emit_payload().unwrap()), Ok(drive));
    }
}

#[test]
fn many_sectors_are_told_to_28_bits_as_the_most_of_them() {
    let words = Identify { sectors: 1 << 30, ..drive() }.emit().unwrap();
    let view = IdentifyView::new(&words).unwrap();
    assert_eq!((view.sectors_28(), view.sectors_48()), (SECTORS_28, 1 << 30));
}

#[test]
fn each_wrong_bit_is_noticed_by_the_sum() {
    let good = drive().emit_payload().unwrap();
    for (at, bit) in (0..DWORDS).flat_map(|at| (0..32).map(move |bit| (at, bit))) {
        let mut payload = good;
        payload[at] ^= 1 << bit;
        // In the signature a wrong bit says that there is no sum.
        if at == DWORDS - 1 && (16..24).contains(&bit) {
            assert_eq!(Identify::parse(&payload), Ok(drive()));
        } else {
            let found = Identify::parse(&payload).unwrap_err();
            assert!(matches!(found, Error::IdentifyChecksum { .. }), "{at} {bit}: {found}");
        }
    }
}

/// The error for the words of [`drive`] with one changed and no sum.
fn error_with(word: usize, value: u16) -> String {
    let mut words = drive().emit().unwrap();
    words[255] = 0;
    words[word] = value;
    IdentifyView::new(&words).and_then(|view| view.parse()).unwrap_err().to_string()
}

#[test]
fn errors_say_which_word_is_wrong() {
    let found = error_with(0, 0x8580);
    assert_eq!(found, "IDENTIFY word 0 is 34176 (8580h): expected bit 15 clear, an ATA device");
    let found = error_with(49, 0x0100);
    assert_eq!(found, "IDENTIFY word 49 is 256 (100h): expected bit 9 set, LBA");
    let found = error_with(103, 0x0002);
    let expected =
        "IDENTIFY word 100 is 562950015921312 (2000003B9ACA0h): expected 1 to 2^48 sectors";
    assert_eq!(found, expected);
    let found = error_with(217, 2);
    assert!(found.starts_with("IDENTIFY word 217 is 2"), "{found}");
    let found = error_with(28, 0x4107);
    assert_eq!(found, "IDENTIFY word 28 has a character '\\u{7}': expected printable ASCII");
    let found = error_with(106, 0x5000);
    assert!(found.starts_with("IDENTIFY word 117 is 0"), "{found}");
}

#[test]
fn data_that_were_never_filled_in_are_refused() {
    let zeros = Identify::parse(&[0; DWORDS]).unwrap_err();
    assert!(matches!(zeros, Error::Identify { word: 49, .. }), "{zeros}");
    let ones = Identify::parse(&[u32::MAX; DWORDS]).unwrap_err();
    assert!(matches!(ones, Error::Identify { word: 0, .. }), "{ones}");
    let short = Identify::parse(&[0; 127]).unwrap_err();
    assert_eq!(short.to_string(), "IDENTIFY data of 127 dwords: expected 128");
}

#[test]
fn what_does_not_fit_the_words_is_not_written() {
    let wrong = [
        Identify { model: "x".repeat(41), ..drive() },
        Identify { firmware: "naïve".into(), ..drive() },
        Identify { sectors: 0, ..drive() },
        Identify { sectors: SECTORS_48 + 1, ..drive() },
        Identify { sectors: SECTORS_28 + 1, lba_48: false, ..drive() },
        Identify { queue_depth: Some(33), ..drive() },
        Identify { queue_depth: Some(0), ..drive() },
        Identify { udma: 7, ..drive() },
        Identify { sector: Bytes::new(520), ..drive() },
        Identify { sector: Bytes::ZERO, ..drive() },
        Identify { physical_exponent: 16, ..drive() },
        Identify { rotation: Rotation::PerMinute(5), ..drive() },
    ];
    for drive in wrong {
        assert!(drive.emit().is_err(), "{drive:?}");
    }
}

#[test]
fn a_text_may_stand_on_the_right_or_end_with_nul() {
    let mut words = drive().emit().unwrap();
    words[255] = 0;
    words[23..27].copy_from_slice(&[0x2020, 0x2031, 0x3233, 0x0000]);
    let read = IdentifyView::new(&words).unwrap().parse().unwrap();
    assert_eq!(read.firmware, "123");
}

#[test]
fn it_is_printed_with_model_and_reach() {
    let expected =
        "SSDSA2SH032G1GN INTEL, 62500000 sectors of 512 B, 48-bit LBA, 3 Gb/s, NCQ of 32";
    assert_eq!(drive().to_string(), expected);
    assert_eq!(drive().capacity(), Bytes::new(32_000_000_000));
}
