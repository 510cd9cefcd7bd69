//! ECC bytes elsewhere than Linux has them: any place among the spare bytes, and the order of SmartMedia.
//!
//! Layer: rank 7. Function: [`Spare::detect_beside`].

use super::{CODES, FIRST_PAGES, Spare, programmed_pages};
use crate::contents::Contents;
use crate::shape::Shape;
use boardlab_codec::hamming;
use boardlab_nand::Layout;
use boardlab_nand::ecc::{Code, Engine};
use boardlab_nand::part::EccNeed;
use boardlab_sim::Bytes;
use std::ops::Range;

/// The two codes of small pages around the page status, as YAFFS and SmartMedia have them: the first two
/// bytes are swapped.
const AROUND: [usize; 6] = [9, 8, 10, 14, 13, 15];
/// Linux' own place of the codes of small pages.
const SMALL: [usize; 6] = [0, 1, 2, 3, 6, 7];

impl Spare {
    /// As [`Spare::detect`], where the spare bytes `taken` are known to have no ECC bytes: if the layouts of
    /// Linux do not match, those with the ECC bytes elsewhere are tried.
    #[must_use]
    pub fn detect_beside(contents: &Contents, shape: Shape, known: Bytes, taken: &[usize]) -> Self {
        if let Some(known) = Self::known(contents, shape) {
            return known;
        }
        let pages = programmed_pages(contents, shape, known);
        let usual = Self::of_linux(&pages, shape, taken);
        let apart = |range: &Range<usize>| taken.iter().all(|at| !range.contains(at));
        let search = Search { pages: &pages, shape, taken };
        // With its first two bytes swapped, a right code looks like one of a step with a wrong bit. So
        // equal codes elsewhere are better evidence.
        let equal = usual.as_ref().map_or(0, |usual| usual.equal_codes(&pages, shape));
        let better = search.best(false).filter(|(right, _)| *right > equal);
        if let Some((_, spare)) = better {
            return spare;
        }
        if let Some(usual) = usual {
            return usual;
        }
        let tolerant = search.best(true).map(|(_, spare)| spare);
        let of_controller = || {
            let found = Self::searched(contents, shape)?;
            found.layout.ecc().iter().all(apart).then_some(found)
        };
        tolerant.or_else(of_controller).unwrap_or_else(|| Self::uncorrected(shape, None))
    }

    /// How many steps have exactly the code that this layout says.
    fn equal_codes(&self, pages: &[Vec<u8>], shape: Shape) -> usize {
        let Some(engine) = &self.engine else { return 0 };
        let place: Vec<usize> = self.layout.ecc().iter().cloned().flatten().collect();
        let page = shape.page.to_usize();
        let samples: Vec<_> = pages.iter().map(|raw| Sample::of(raw, page, engine)).collect();
        matches(&samples, &place, engine, false).0
    }

    /// Whether the first two bytes of each code are swapped.
    pub(crate) fn has_smart_media_order(&self) -> bool {
        let mut starts = self.layout.ecc().iter().map(|range| range.start);
        matches!((starts.next(), starts.next()), (Some(first), Some(second)) if first > second)
    }
}

/// A search for ECC bytes.
struct Search<'a> {
    pages: &'a [Vec<u8>],
    shape: Shape,
    /// Spare bytes that can be none.
    taken: &'a [usize],
}

impl Search<'_> {
    /// The best layout with any code, and how many steps match. `tolerant` counts steps with a wrong bit.
    fn best(&self, tolerant: bool) -> Option<(usize, Spare)> {
        let tried = CODES.iter().filter_map(|&(bits, step)| {
            let step = Bytes::new(step);
            let engine = Engine::new(Code::for_need(EccNeed { bits, step })?).ok()?;
            self.with_engine(&engine, tolerant)
        });
        tried.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    fn with_engine(&self, engine: &Engine, tolerant: bool) -> Option<(usize, Spare)> {
        let page = self.shape.page.to_usize();
        let is_possible = !tolerant || matches!(engine.code(), Code::Hamming(_));
        if !engine.is_software() || !page.is_multiple_of(engine.step()) || !is_possible {
            return None;
        }
        let length = page / engine.step() * engine.code_bytes();
        let is_written = |at: usize| self.pages.iter().any(|raw| raw[page + at] != 0xFF);
        let free = (0..self.shape.oob.to_usize()).filter(|at| !self.taken.contains(at));
        if !free.into_iter().any(is_written) {
            return None;
        }
        let samples: Vec<_> = self.pages.iter().map(|raw| Sample::of(raw, page, engine)).collect();
        let places = places(self.shape, length, engine).into_iter();
        let places: Vec<_> =
            places.filter(|place| place.iter().all(|at| !self.taken.contains(at))).collect();
        let (right, place) = best(engine, &samples, &places, tolerant)?;
        let size = self.shape.oob.to_usize();
        let ecc = place.iter().map(|&at| at..at + 1).collect();
        // What marks a bad block is known by who asks.
        let mark = (0..size).find(|at| !place.contains(at))?;
        let layout = Layout::new(size, ecc, Vec::new(), mark..mark + 1).ok()?;
        Some((right, Spare { layout, engine: Some(engine.clone()), code: None }))
    }
}

/// The place where most codes are, and how many.
fn best<'a>(
    engine: &Engine,
    samples: &[Sample<'_>],
    places: &'a [Vec<usize>],
    tolerant: bool,
) -> Option<(usize, &'a Vec<usize>)> {
    let (first, others) = samples.split_at(samples.len().min(FIRST_PAGES));
    let tried = places.iter().filter_map(|place| {
        let (right, wrong) = matches(first, place, engine, tolerant);
        if right == 0 && wrong > 0 {
            return None;
        }
        let more = matches(others, place, engine, tolerant);
        Some((right + more.0, wrong + more.1, place))
    });
    let best = tried.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let enough = |right: usize, wrong: usize| right > if tolerant { 4 * wrong } else { wrong };
    let (right, _, place) = best.filter(|(right, wrong, _)| enough(*right, *wrong))?;
    Some((right, place))
}

/// A raw page.
struct Sample<'a> {
    data: &'a [u8],
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
        let programmed: Vec<bool> = steps.map(|step| !boardlab_mtd::is_erased(step)).collect();
        let mut codes = vec![0; programmed.len() * engine.code_bytes()];
        engine.calculate(data, &mut codes);
        Self { data, oob, codes, programmed }
    }
}

/// The numbers of programmed steps whose codes are at a place, and of those whose are not.
fn matches(
    samples: &[Sample<'_>],
    place: &[usize],
    engine: &Engine,
    tolerant: bool,
) -> (usize, usize) {
    let (mut right, mut wrong) = (0, 0);
    let code = engine.code_bytes();
    for sample in samples {
        let steps = sample.data.chunks(engine.step()).zip(sample.codes.chunks(code));
        let steps = steps.zip(place.chunks(code)).zip(&sample.programmed);
        for (((data, calculated), place), _) in steps.filter(|(_, programmed)| **programmed) {
            let stored: Vec<u8> = place.iter().map(|&at| sample.oob[at]).collect();
            if boardlab_mtd::is_erased(&stored) {
                continue;
            }
            let same = stored == calculated
                || (tolerant && is_correctable(engine, data, &stored, calculated));
            *(if same { &mut right } else { &mut wrong }) += 1;
        }
    }
    (right, wrong)
}

/// Whether a step with a Hamming code has one wrong bit. Of BCH, whose check takes longer, only right codes
/// count.
fn is_correctable(engine: &Engine, data: &[u8], stored: &[u8], calculated: &[u8]) -> bool {
    let Code::Hamming(step) = engine.code() else { return false };
    let (Ok(stored), Ok(calculated)) = (stored.try_into(), calculated.try_into()) else {
        return false;
    };
    hamming::correct(step, &mut data.to_vec(), stored, calculated).is_ok()
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
