//! Every layout with every code: pages are protected, stored, and corrected.
#![allow(clippy::single_range_in_vec_init, reason = "lists of one range of bits are meant")]

use super::*;
use boardlab_sim::Seed;

const SHAPES: [(usize, usize); 9] = [
    (512, 16),
    (2_048, 64),
    (2_048, 128),
    (4_096, 128),
    (4_096, 216),
    (4_096, 224),
    (4_096, 256),
    (8_192, 448),
    (8_192, 640),
];

/// All layouts with all codes that fit some pages.
fn every(mut look: impl FnMut(&'static ControllerLayout, usize, usize, EccCode)) {
    for layout in ALL {
        for (page, oob) in SHAPES {
            for code in (layout.codes)(page, oob) {
                if (layout.map)(page, oob, &code).is_some() {
                    look(layout, page, oob, code);
                }
            }
        }
    }
}

#[test]
fn a_stored_page_is_arranged_without_a_loss() {
    let mut maps = 0;
    every(|layout, page, oob, code| {
        let map = (layout.map)(page, oob, &code).unwrap();
        let mut stored = vec![0; page + oob];
        Seed::new(1).stream(layout.name).fill(&mut stored);
        let arranged = map.arrange(&stored);
        assert_eq!(map.store(&arranged), stored, "{} {page}+{oob} {code}", layout.name);
        assert_eq!(map.is_mixed(), arranged != stored, "{}", layout.name);
        maps += 1;
    });
    assert!(maps > 400, "{maps}");
}

#[test]
fn every_layout_corrects_its_pages_and_no_byte_has_two_uses() {
    let mut number = 0;
    every(|layout, page, oob, code| {
        let constants = [Constant::Zero, Constant::Erased];
        let constant = constants[number % 2].clone();
        number += 1;
        // The strongest codes take long, and differ from others by a number.
        if code.bits > 16 && number % 8 != 0 {
            return;
        }
        let found = PageCode::new(layout, page, oob, code, constant).unwrap();
        let mut bytes = vec![0xFF; page + oob];
        let mut random = Seed::new(2).stream(layout.name);
        random.fill(&mut bytes[..page]);
        for range in &found.map.free {
            random.fill(&mut bytes[page + range.start..page + range.end]);
        }
        let before = bytes.clone();
        found.protect(&mut bytes);
        let kept = found.map.free.iter().chain([&found.map.mark]);
        for range in kept.chain([&(0..0)]) {
            let range = page + range.start..page + range.end;
            assert_eq!(bytes[range.clone()], before[range], "{found}");
        }
        assert_eq!(bytes[..page], before[..page], "{found}");
        let right = bytes.clone();
        found.correct(&mut bytes, |word, bits| panic!("{found} {page}+{oob}: {word} {bits:?}"));
        let mut flipped = 0;
        for word in &found.map.words {
            let bits: Vec<usize> = word.all().into_iter().flatten().collect();
            for flip in 0..code.bits as usize {
                let bit = bits[flip * (bits.len() - 1) / (code.bits as usize).max(2)];
                let mask = match found.map.order {
                    BitOrder::Most => 0x80 >> (bit % 8),
                    BitOrder::Least => 1 << (bit % 8),
                };
                bytes[bit / 8] ^= mask;
                flipped += 1;
            }
        }
        let mut corrected = 0;
        found.correct(&mut bytes, |_, bits| corrected += bits.unwrap());
        assert_eq!((corrected, bytes == right), (flipped, true), "{found} {page}+{oob}");
    });
}

#[test]
fn an_erased_page_with_flipped_bits_is_erased_again() {
    for constant in [Constant::Zero, Constant::Erased] {
        let gpmi = named("gpmi").unwrap();
        let code = (gpmi.codes)(2_048, 64).into_iter().find(|code| code.bits == 8).unwrap();
        let found = PageCode::new(gpmi, 2_048, 64, code, constant).unwrap();
        let mut page = vec![0xFF; 2_112];
        page[700] = 0xFE;
        page[701] = 0x7F;
        let mut told = Vec::new();
        found.correct(&mut page, |word, bits| told.push((word, bits)));
        assert!(page.iter().all(|&byte| byte == 0xFF));
        assert!(told.contains(&(1, Some(2))), "{told:?}");
    }
}

#[test]
fn layouts_that_mix_data_and_code_say_so() {
    for layout in ALL {
        let of = |&(page, oob): &(u64, u64)| {
            let [page, oob] = [page, oob].map(|size| usize::try_from(size).unwrap());
            let codes = (layout.codes)(page, oob).into_iter();
            codes.filter_map(move |code| (layout.map)(page, oob, &code))
        };
        let is_mixed = crate::shape::LAYOUTS.iter().flat_map(of).any(|map| map.is_mixed());
        assert_eq!(is_mixed, layout.mixes, "{}", layout.name);
    }
}

/// What is known of dumps of such boards: the places of code and metadata.
#[test]
fn layouts_have_their_known_places() {
    let map = |name: &str, page, oob, text: &str| {
        let layout = named(name).unwrap();
        let pattern: CodePattern = text.parse().unwrap();
        let codes = (layout.codes)(page, oob);
        let code = codes.iter().find(|code| pattern.means(code));
        (layout.map)(page, oob, code.unwrap()).unwrap()
    };
    assert_eq!(map("linux", 2_048, 64, "1/256").code_bytes(), [40..64]);
    assert_eq!(map("linux", 512, 16, "1/256").code_bytes(), [0..4, 6..8]);
    assert_eq!(map("pmecc", 2_048, 64, "4/512").code_bytes(), [36..64]);
    assert_eq!(map("omap", 2_048, 64, "8/512").code_bytes(), [2..15, 16..29, 30..43, 44..57]);
    assert_eq!(map("omap-sw", 2_048, 64, "4/512").code_bytes(), [2..9, 10..17, 18..25, 26..33]);
    assert_eq!(map("omap", 2_048, 64, "1/512").code_bytes(), [2..14]);
    assert_eq!(map("ifc", 2_048, 64, "4/512").code_bytes(), [8..15, 16..23, 24..31, 32..39]);
    let old = map("brcm", 2_048, 64, "4/512:0x201b");
    assert_eq!(old.code_bytes(), [9..16, 25..32, 41..48, 57..64]);
    assert_eq!(old.words[1].code, [(2_048 + 25) * 8 + 4..(2_048 + 32) * 8]);
    assert_eq!(map("brcm", 2_048, 64, "4/512:0x5803").free, [1..9, 16..25, 32..41, 48..57]);
    // GPMI: the mark at byte 2048 is within the data of the last step, which is 3 * 13 + 10 bytes further on.
    let gpmi = map("gpmi", 2_048, 64, "8/512");
    let mut stored = vec![0; 2_112];
    stored[2_048] = 1;
    stored[0] = 2;
    let arranged = gpmi.arrange(&stored);
    assert_eq!((arranged[2_048], arranged[2_048 - 49]), (1, 2));
    // Qualcomm: 452 bytes before the first mark, and the last 16 bytes of the last word are spare.
    let qcom = map("qcom", 2_048, 128, "8/512");
    let mut stored = vec![0; 2_176];
    (stored[452], stored[453], stored[532]) = (1, 2, 3);
    let arranged = qcom.arrange(&stored);
    assert_eq!((arranged[452], arranged[516]), (2, 3));
    assert_eq!(qcom.mark, 0..1);
}
