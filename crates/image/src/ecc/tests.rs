//! Dumps with every layout, with bit errors, erased parts and bad blocks; and bytes that have no code.

use super::*;
use crate::controller::named;
use boardlab_sim::{Seed, Stream};

/// A dump with the pages of a code: of every four blocks one is erased, and one is marked as bad.
pub(crate) fn dump(code: &PageCode, pages: usize, random: &mut Stream) -> Vec<u8> {
    let map = &code.map;
    let mut file = Vec::new();
    for number in 0..pages {
        let mut page = vec![0xFF; map.page + map.oob];
        match number / 64 % 4 {
            1 => {}
            3 => page[map.page..].fill(0),
            _ => {
                content(number, &mut page[..map.page], random);
                for range in &map.free {
                    random.fill(&mut page[map.page + range.start..map.page + range.end]);
                }
                code.protect(&mut page);
            }
        }
        file.extend(map.store(&page));
    }
    file
}

/// Random bytes, text, and pages that are erased or zero at their end.
fn content(number: usize, data: &mut [u8], random: &mut Stream) {
    match number % 4 {
        0 => random.fill(data),
        1 => data
            .iter_mut()
            .enumerate()
            .for_each(|(at, byte)| *byte = b"name=value\n"[(at + number) % 11]),
        2 => {
            data.fill(0);
            let half = data.len() / 2;
            random.fill(&mut data[..half]);
        }
        _ => {
            let half = data.len() / 2;
            random.fill(&mut data[..half]);
        }
    }
}

/// Flips every bit with a chance of 1 in `rate`.
pub(crate) fn flip(file: &mut [u8], rate: u64, random: &mut Stream) {
    let mut at = random.next_u64() % (2 * rate);
    while let Ok(byte) = usize::try_from(at / 8) {
        let Some(byte) = file.get_mut(byte) else { return };
        *byte ^= 1 << (at % 8);
        at += 1 + random.next_u64() % (2 * rate);
    }
}

/// Sizes and codes that parts and drivers have.
const CASES: &[(&str, usize, usize, &str)] = &[
    ("linux", 512, 16, "1/256:linux"),
    ("linux", 2_048, 64, "1/256:smartmedia"),
    ("linux", 2_048, 64, "1/512:linux"),
    ("linux", 2_048, 64, "4/512"),
    ("linux", 2_048, 64, "8/512"),
    ("linux", 4_096, 256, "16/512"),
    ("linux", 4_096, 224, "24/1024"),
    ("linux", 8_192, 640, "40/1024"),
    ("pmecc", 2_048, 64, "4/512:lsb"),
    ("pmecc", 4_096, 224, "24/1024:0x4443:lsb"),
    ("omap", 2_048, 64, "8/512"),
    ("omap", 4_096, 224, "16/512"),
    ("omap", 2_048, 64, "1/512:omap"),
    ("omap-sw", 2_048, 64, "8/512"),
    ("omap-x8", 2_048, 64, "1/512:omap"),
    ("ifc", 2_048, 64, "4/512:msb"),
    ("ifc", 4_096, 224, "8/512:msb"),
    ("elbc", 2_048, 64, "1/512:linux"),
    ("on-die", 2_048, 64, "4/512:msb"),
    ("brcm", 2_048, 64, "4/512:0x201b"),
    ("brcm", 2_048, 64, "4/512:0x5803"),
    ("brcm", 4_096, 216, "8/512:0x5803"),
    ("gpmi", 2_048, 64, "8/512"),
    ("gpmi", 4_096, 128, "8/512"),
    ("gpmi", 4_096, 224, "16/512"),
    ("gpmi", 2_048, 128, "18/512"),
    ("gpmi", 4_096, 256, "18/512"),
    ("marvell", 2_048, 64, "16/2048:msb"),
    ("marvell", 4_096, 128, "16/2048:lsb"),
    ("qcom", 2_048, 64, "4/512:msb"),
    ("qcom", 2_048, 128, "8/512:msb"),
    ("mtk", 4_096, 256, "24/1024:lsb"),
    ("mtk-1", 2_048, 64, "4/512:0x201b:lsb"),
];

pub(crate) fn code(case: (&str, usize, usize, &str), constant: Constant) -> PageCode {
    let (name, page, oob, text) = case;
    let layout = named(name).unwrap();
    let pattern: CodePattern = text.parse().unwrap();
    let mut codes = (layout.codes)(page, oob).into_iter();
    let code = codes.find(|code| pattern.means(code)).unwrap_or_else(|| panic!("{case:?}"));
    PageCode::new(layout, page, oob, code, constant).unwrap()
}

/// A constant as the users of a layout have it.
fn usual(name: &str) -> Constant {
    match name {
        "linux" | "pmecc" | "omap-sw" => Constant::Erased,
        _ => Constant::Zero,
    }
}

#[test]
fn every_layout_is_found_among_all_sizes() {
    let mut random = Seed::new(5).stream("layouts");
    for (number, &case) in CASES.iter().enumerate() {
        let code = code(case, usual(case.0));
        let mut file = dump(&code, 256, &mut random);
        // Hamming corrects one bit in some thousand, BCH more.
        let rate = if code.code().bits == 1 { 100_000 } else { 30_000 };
        flip(&mut file, rate, &mut random);
        // All sizes take long.
        let known = number % 3 > 0;
        let [page, oob] = [case.1, case.2].map(|size| known.then_some(size));
        let found = search(&Contents::of(file), &Wanted { page, oob, ..Wanted::default() });
        let best = found.best().unwrap_or_else(|| panic!("{case:?}: {}", found.silence()));
        assert_eq!(best.code.options(), code.options(), "{case:?}: {}", best.reason());
        assert_eq!((best.code.map.page, best.code.map.oob), (case.1, case.2), "{case:?}");
        assert_eq!(best.code.constant, code.constant, "{case:?}");
        assert_eq!(best.confidence(), Some(Confidence::Certain), "{case:?}: {}", best.reason());
        assert!(best.corrected > 0 && best.chance() > 20, "{case:?}: {}", best.reason());
    }
}

#[test]
fn a_constant_of_a_controller_is_found_and_used() {
    let mut random = Seed::new(6).stream("constant");
    let plain = code(("pmecc", 2_048, 64, "4/512:lsb"), Constant::Zero);
    let mut file = dump(&plain, 512, &mut random);
    for page in file.chunks_mut(2_112).filter(|page| page.iter().any(|&byte| byte != 0xFF)) {
        page[2_048 + 36..]
            .iter_mut()
            .enumerate()
            .for_each(|(at, byte)| *byte ^= [1, 35, 69, 103, 137, 171, 205][at % 7]);
    }
    let right = file.clone();
    flip(&mut file, 30_000, &mut random);
    let found = search(&Contents::of(file.clone()), &Wanted::default());
    let best = found.best().unwrap();
    assert!(matches!(best.code.constant, Constant::Other(_)), "{:?}", best.code.constant);
    let mut corrected = 0;
    for (page, right) in file.chunks_mut(2_112).zip(right.chunks(2_112)).take(64) {
        best.code.correct(page, |_, bits| corrected += bits.unwrap());
        // No code protects the mark and the free bytes of this layout.
        assert!(page[..2_048] == right[..2_048]);
    }
    assert!(corrected > 10, "{corrected}");
}

/// As old MLC is: nearly all words have bit errors.
#[test]
fn a_code_is_found_where_no_word_is_right() {
    let mut random = Seed::new(7).stream("worn");
    for case in [("gpmi", 4_096, 224, "16/512"), ("linux", 4_096, 224, "24/1024")] {
        let code = code(case, usual(case.0));
        let mut file = dump(&code, 256, &mut random);
        flip(&mut file, 700, &mut random);
        let contents = Contents::of(file);
        let wanted =
            Wanted { page: Some(case.1), oob: Some(case.2), thorough: true, ..Wanted::default() };
        let found = search(&contents, &wanted);
        let best = found.best().unwrap_or_else(|| panic!("{case:?}: {}", found.silence()));
        assert_eq!(best.code.options(), code.options());
        assert!(best.right * 10 < best.corrected, "{}", best.reason());
        assert!(best.worst > 4, "{}", best.reason());
    }
}

#[test]
fn bytes_without_a_code_name_none() {
    let mut random = Seed::new(8).stream("none");
    // Whole pages of all sizes, as far as possible.
    let length = 2_112 * 512;
    let mut noise = vec![0; length];
    random.fill(&mut noise);
    let text: Vec<u8> = b"compressible data, ".iter().copied().cycle().take(4 * length).collect();
    let mut packed = Vec::new();
    let mut piece = vec![0; 8_192];
    for chunk in text.chunks(16_384).chain(noise.chunks(4_096)).take(400) {
        if let Some(done) = boardlab_codec::zlib::Jffs2Deflate::new().compress(chunk, &mut piece) {
            packed.extend_from_slice(&piece[..done.produced]);
        }
    }
    packed.extend_from_slice(&noise[..length - packed.len() % length]);
    packed.truncate(length);
    let counters: Vec<u8> =
        (0..u32::try_from(length / 4).unwrap()).flat_map(u32::to_le_bytes).collect();
    let mut erased_oob = noise.clone();
    erased_oob.chunks_mut(2_112).for_each(|page| page[2_048..].fill(0xFF));
    let mut zero_oob = counters.clone();
    zero_oob.chunks_mut(2_112).for_each(|page| page[2_048..].fill(0));
    for (name, file) in [
        ("noise", noise),
        ("compressed", packed),
        ("counters", counters),
        ("text", text[..length].to_vec()),
        ("erased spare bytes", erased_oob),
        ("spare bytes of zeros", zero_oob),
    ] {
        let found = search(&Contents::of(file), &Wanted { thorough: true, ..Wanted::default() });
        assert!(
            found.best().is_none(),
            "{name}: {} {}",
            found.matches[0].code,
            found.matches[0].reason()
        );
        assert!(found.telling > 2, "{name}");
    }
    for (byte, says) in
        [(0, "all zero or equal"), (0xFF, "are erased"), (0x5A, "all zero or equal")]
    {
        let found = search(&Contents::of(vec![byte; length]), &Wanted::default());
        assert!(found.best().is_none());
        assert!(found.silence().contains(says), "{}", found.silence());
    }
    let found = search(&Contents::of(vec![1; 12_345]), &Wanted::default());
    assert!(found.silence().contains("not whole pages"), "{}", found.silence());
}
