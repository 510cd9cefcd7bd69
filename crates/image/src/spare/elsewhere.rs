//! ECC bytes elsewhere than Linux has them: any place among the spare bytes, and the order of SmartMedia.
//!
//! Layer: rank 7. Function: [`Spare::detect_beside`].

use super::{CODES, FIRST_PAGES, Spare, programmed_pages};
use crate::contents::Contents;
use crate::shape::Shape;
use boardlab_nand::Layout;
use boardlab_nand::ecc::{Code, Engine};
use boardlab_nand::part::EccNeed;
use boardlab_sim::Bytes;
use std::ops::Range;

/// The two codes of small pages around the page status, as YAFFS and SmartMedia have them.
const AROUND: [usize; 6] = [8, 9, 10, 13, 14, 15];
/// Linux' own place of the codes of small pages.
const SMALL: [usize; 6] = [0, 1, 2, 3, 6, 7];

impl Spare {
    /// As [`Spare::detect`], where the spare bytes `taken` are known to have no ECC bytes: if the layouts of
    /// Linux do not match, those with the ECC bytes elsewhere are tried.
    #[must_use]
    pub fn detect_beside(contents: &Contents, shape: Shape, known: Bytes, taken: &[usize]) -> Self {
        let usual = Self::detect(contents, shape, known, None);
        let apart = |range: &Range<usize>| taken.iter().all(|at| !range.contains(at));
        if usual.corrects() && usual.layout.ecc().iter().all(apart) {
            return usual;
        }
        let pages = programmed_pages(contents, shape, known);
        let tried = CODES.iter().filter_map(|&(bits, step)| {
            let step = Bytes::new(step);
            let engine = Engine::new(Code::for_need(EccNeed { bits, step })?).ok()?;
            elsewhere(&engine, &pages, shape, taken)
        });
        let best = tried.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map_or_else(|| Self::uncorrected(shape, None), |(_, spare)| spare)
    }

    /// Whether the first two bytes of each code are swapped.
    pub(crate) fn has_smart_media_order(&self) -> bool {
        let mut starts = self.layout.ecc().iter().map(|range| range.start);
        matches!((starts.next(), starts.next()), (Some(first), Some(second)) if first > second)
    }
}

/// The place where the ECC bytes of an engine are in most pages; how many steps match, and the layout.
fn elsewhere(
    engine: &Engine,
    pages: &[Vec<u8>],
    shape: Shape,
    taken: &[usize],
) -> Option<(usize, Spare)> {
    let page = shape.page.to_usize();
    if !engine.is_software() || !page.is_multiple_of(engine.step()) {
        return None;
    }
    let length = page / engine.step() * engine.code_bytes();
    let all: Vec<Sample<'_>> = pages.iter().map(|raw| Sample::of(raw, page, engine)).collect();
    let (first, others) = all.split_at(all.len().min(FIRST_PAGES));
    let tried = places(shape, length, engine).into_iter().filter_map(|place| {
        if place.iter().any(|at| taken.contains(at)) {
            return None;
        }
        let (right, wrong) = matches(first, &place, engine.code_bytes());
        if right == 0 && wrong > 0 {
            return None;
        }
        let more = matches(others, &place, engine.code_bytes());
        Some((right + more.0, wrong + more.1, place))
    });
    let best = tried.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let (right, _, place) = best.filter(|(right, wrong, _)| right > wrong)?;
    let ecc = place.iter().map(|&at| at..at + 1).collect();
    // What marks a bad block is known by who asks.
    let mark = (0..shape.oob.to_usize()).find(|at| !place.contains(at))?;
    let layout = Layout::new(shape.oob.to_usize(), ecc, Vec::new(), mark..mark + 1).ok()?;
    Some((right, Spare { layout, engine: Some(engine.clone()) }))
}

/// A raw page.
struct Sample<'a> {
    oob: &'a [u8],
    /// The code of each step.
    codes: Vec<u8>,
    /// Whether the step is programmed.
    programmed: Vec<bool>,
}

impl<'a> Sample<'a> {
    fn of(raw: &'a [u8], page: usize, engine: &Engine) -> Self {
        let (data, oob) = raw.split_at(page);
        let steps = data.chunks(engine.step());
        let programmed: Vec<bool> =
            steps.map(|step| step.iter().any(|&byte| byte != 0xFF)).collect();
        let mut codes = vec![0; programmed.len() * engine.code_bytes()];
        engine.calculate(data, &mut codes);
        Self { oob, codes, programmed }
    }
}

/// The numbers of programmed steps whose codes are at a place, and of those whose are not.
fn matches(samples: &[Sample<'_>], place: &[usize], code: usize) -> (usize, usize) {
    let (mut right, mut wrong) = (0, 0);
    for sample in samples {
        let steps = sample.codes.chunks(code).zip(place.chunks(code)).zip(&sample.programmed);
        for ((codes, place), _) in steps.filter(|(_, programmed)| **programmed) {
            let stored = place.iter().map(|&at| sample.oob[at]);
            if stored.clone().all(|byte| byte == 0xFF) {
                continue;
            }
            let same = stored.eq(codes.iter().copied());
            *(if same { &mut right } else { &mut wrong }) += 1;
        }
    }
    (right, wrong)
}

/// Where the ECC bytes may be, in the order of the codes.
fn places(shape: Shape, length: usize, engine: &Engine) -> Vec<Vec<usize>> {
    let oob = shape.oob.to_usize();
    let mut places: Vec<Vec<usize>> = (0..oob)
        .take_while(|start| start + length <= oob)
        .map(|start| (start..start + length).collect())
        .collect();
    if length == SMALL.len() && oob == 16 {
        places.extend([AROUND.to_vec(), SMALL.to_vec()]);
    }
    if matches!(engine.code(), Code::Hamming(_)) {
        let swapped = places.iter().map(|place| {
            let codes = place.chunks_exact(3);
            codes.flat_map(|code| [code[1], code[0], code[2]]).collect()
        });
        places.extend(swapped.collect::<Vec<_>>());
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_codec::hamming;

    const SHAPE: Shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));

    /// Pages with their codes from a spare byte on, perhaps in the order of SmartMedia.
    fn file(start: usize, swapped: bool) -> Contents {
        let page = |number: usize| {
            let data: Vec<u8> =
                (0..2_048).map(|at| (at * number * 31 % 251).to_le_bytes()[0]).collect();
            let mut oob = [0xFF; 64];
            for (step, at) in data.chunks(256).zip((start..).step_by(3)) {
                let mut code = hamming::calculate(hamming::Step::Bytes256, step);
                if swapped {
                    code.swap(0, 1);
                }
                oob[at..at + 3].copy_from_slice(&code);
            }
            [data, oob.to_vec()].concat()
        };
        Contents::of((1..64).flat_map(page).collect())
    }

    #[test]
    fn codes_are_found_wherever_they_are() {
        let taken: Vec<usize> = (30..58).collect();
        for (start, swapped) in [(0, false), (5, false), (5, true)] {
            let file = file(start, swapped);
            let found = Spare::detect_beside(&file, SHAPE, Bytes::ZERO, &taken);
            assert_eq!(found.to_string(), "Hamming, 1 bit in 256 B");
            assert_eq!(found.has_smart_media_order(), swapped);
            let mut raw = file.window(Bytes::ZERO, 2_112);
            raw[700] ^= 4;
            let (data, oob) = raw.split_at_mut(2_048);
            assert_eq!(found.correct(data, oob).unwrap().corrected, 1);
            assert_eq!(data, file.window(Bytes::ZERO, 2_048));
        }
        let found = Spare::detect_beside(&file(30, false), SHAPE, Bytes::ZERO, &taken);
        assert!(!found.corrects());
    }
}
