//! Derives the pages of a YAFFS from its object headers: all sizes and all places are tried.
//!
//! Layer: rank 7. Main type: [`Survey`]; [`Fit`], pages that fit, and how well. In the right pages the tags of a
//! header say what the header says, and the pages behind it have tags too.

use super::pages::{Pages, Place, Verdict};
use crate::contents::Contents;
use crate::shape::{OOB_SIZES, gcd};
use boardlab_sim::Bytes;
use boardlab_yaffs2::format::tags1::{self, Layout1};
use boardlab_yaffs2::format::{ByteOrder, tags};
use std::collections::BTreeMap;

/// Page and OOB sizes of parts, besides none.
const LAYOUTS: &[(u64, &[u64])] = &[
    (512, &[16]),
    (1_024, &[32, 64]),
    (2_048, &[64, 112, 128]),
    (4_096, &[128, 192, 208, 216, 218, 224, 232, 256]),
    (8_192, &[256, 376, 436, 448, 512, 640, 744]),
    (16_384, &[512, 1_024, 1_216, 1_280, 1_664, 1_872, 2_208]),
];
/// Unusual shapes that are tried.
const UNUSUAL: usize = 32;
/// Headers that decide which places are tried further.
const FIRST: usize = 6;
/// Headers that are judged, each with the pages behind it.
const JUDGED: usize = 32;
/// Pages of which a header is the first.
const RUN: usize = 4;
/// Offsets of the first page that are tried.
const CLASSES: usize = 2;
/// Places that are tried further.
const PLACES: usize = 4;

/// Pages that fit.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) pages: Pages,
    /// The offset of the first page in the file, less than a page.
    pub(super) phase: Bytes,
    /// The first header with right tags.
    pub(super) first: Bytes,
    /// Pages that were judged, and their tags are right.
    pub(super) right: usize,
    /// Those of them that their own code confirms.
    pub(super) by_code: usize,
    /// Pages whose tags are wrong.
    pub(super) wrong: usize,
}

impl Fit {
    /// Better fits have more.
    fn score(&self, length: Bytes) -> (isize, bool) {
        let whole = (length - self.phase.min(length)).is_multiple_of(self.pages.raw());
        (signed(self.right + self.by_code) - signed(self.wrong), whole)
    }
}

/// A shape that is tried.
struct Trial {
    /// Its place in the list.
    number: usize,
    page: Bytes,
    oob: Bytes,
    /// The headers that begin pages of it.
    classes: Vec<(Bytes, Vec<Bytes>)>,
    /// The best score that they may give.
    most: isize,
}

fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX / 4)
}

/// Every which header of a class is judged.
fn distance(class: usize) -> usize {
    class.div_ceil(JUDGED).max(1)
}

/// The headers of a file.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    pub(super) contents: &'a Contents,
    pub(super) headers: &'a [Bytes],
    pub(super) order: ByteOrder,
}

impl Survey<'_> {
    /// The pages that fit best; those of the user if there are any.
    pub(super) fn best(&self, page: Option<Bytes>, oob: Option<Bytes>) -> Option<Fit> {
        let known = self.contents.code().map(|code| [code.map.page, code.map.oob]);
        let known = known.map(|sizes| sizes.map(|size| Bytes::new(size as u64)));
        let (page, oob) = (page.or(known.map(|it| it[0])), oob.or(known.map(|it| it[1])));
        let usual = self.best_of(shapes(page, oob));
        if usual.is_some() || page.is_some() || oob.is_some() {
            return usual;
        }
        self.best_of(self.unusual_shapes())
    }

    /// The best fit of these shapes, the first one of equal ones. Shapes that cannot become better than one
    /// that was tried are left out.
    fn best_of(&self, shapes: Vec<(Bytes, Bytes)>) -> Option<Fit> {
        let mut tried: Vec<Trial> =
            (0..).zip(shapes).map(|(number, shape)| self.trial(number, shape)).collect();
        tried.sort_by_key(|trial| (std::cmp::Reverse(trial.most), trial.number));
        let length = self.contents.length();
        let mut best: Option<(usize, Fit)> = None;
        for trial in tried {
            let reached = best.as_ref().map(|(_, fit)| fit.score(length).0);
            if reached.is_some_and(|reached| trial.most < reached) {
                break;
            }
            let Some(fit) = self.fit(&trial) else { continue };
            let rank = |number, fit: &Fit| (fit.score(length), std::cmp::Reverse(number));
            let better =
                best.as_ref().is_none_or(|best| rank(trial.number, &fit) > rank(best.0, &best.1));
            if better {
                best = Some((trial.number, fit));
            }
        }
        best.map(|(_, fit)| fit).filter(|fit| fit.right > fit.wrong)
    }

    /// Pages of a power of two bytes, with any number of spare bytes that fits the distances of headers.
    fn unusual_shapes(&self) -> Vec<(Bytes, Bytes)> {
        let first = self.headers[0];
        let distance = self.headers.iter().fold(0, |known, at| gcd(known, (*at - first).get()));
        let pages = LAYOUTS.iter().map(|(page, _)| *page);
        let of = |page: u64| {
            let raws = page + OOB_SIZES[0].get()..=page + page / 4;
            let fits = raws.filter(move |raw| distance > 0 && distance.is_multiple_of(*raw));
            fits.map(move |raw| (Bytes::new(page), Bytes::new(raw - page)))
        };
        pages.flat_map(of).take(UNUSUAL).collect()
    }

    /// The largest page, without spare bytes, at multiples of which all headers are.
    pub(super) fn bare_page(&self) -> Option<Bytes> {
        let pages = LAYOUTS.iter().map(|(page, _)| Bytes::new(*page)).rev();
        let (first, rest) = self.headers.split_first()?;
        if rest.is_empty() {
            return None;
        }
        pages.into_iter().find(|&page| rest.iter().all(|&at| (at - *first).is_multiple_of(page)))
    }

    /// The headers by the offset of the first page, if they begin such pages: the largest classes.
    fn classes(&self, raw: Bytes) -> Vec<(Bytes, Vec<Bytes>)> {
        let mut classes: BTreeMap<u64, Vec<Bytes>> = BTreeMap::new();
        for &at in self.headers {
            classes.entry(at.get() % raw.get()).or_default().push(at);
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|(_, class)| std::cmp::Reverse(class.len()));
        classes.truncate(CLASSES);
        classes.into_iter().map(|(phase, class)| (Bytes::new(phase), class)).collect()
    }

    fn trial(&self, number: usize, (page, oob): (Bytes, Bytes)) -> Trial {
        let classes = self.classes(page + oob);
        let most = classes.iter().map(|(_, class)| self.most(class.len())).max();
        Trial { number, page, oob, classes, most: most.unwrap_or(isize::MIN) }
    }

    /// The best score with so many headers in a class.
    fn most(&self, class: usize) -> isize {
        let distance = distance(class);
        let judged = class.div_ceil(distance) * RUN;
        let strays = (self.headers.len() - class).div_ceil(distance);
        signed(2 * judged) - signed(strays)
    }

    fn fit(&self, trial: &Trial) -> Option<Fit> {
        let length = self.contents.length();
        let classes = trial.classes.iter();
        let fits = classes.filter_map(|(phase, class)| self.fit_class(trial, *phase, class));
        fits.reduce(|best, next| if next.score(length) > best.score(length) { next } else { best })
    }

    fn fit_class(&self, trial: &Trial, phase: Bytes, class: &[Bytes]) -> Option<Fit> {
        let Trial { page, oob, .. } = *trial;
        let raw = page + oob;
        let windows: Vec<Vec<u8>> =
            class.iter().take(FIRST).map(|&at| self.contents.window(at, raw.to_usize())).collect();
        let mut counted: Vec<(usize, Pages)> = Vec::new();
        for place in places(page.to_usize(), oob.to_usize()) {
            let pages = Pages { page, oob, order: self.order, place };
            let weight = |raw: &Vec<u8>| match pages.judge_header(raw) {
                Verdict::Right { by_code } => 1 + usize::from(by_code),
                _ => 0,
            };
            let count: usize = windows.iter().map(weight).sum();
            if count > 0 {
                counted.push((count, pages));
            }
        }
        counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        counted.truncate(PLACES);
        let length = self.contents.length();
        let fits = counted.into_iter().filter_map(|(_, pages)| self.judge(pages, class, phase));
        fits.reduce(|best, next| if next.score(length) > best.score(length) { next } else { best })
    }

    /// Judges headers from everywhere and the pages behind them.
    fn judge(&self, pages: Pages, class: &[Bytes], phase: Bytes) -> Option<Fit> {
        let (mut right, mut by_code, mut wrong, mut first) = (0, 0, 0, None);
        // Headers outside of the class are none with these pages.
        let strays = self.headers.len() - class.len();
        let raw = pages.raw().to_usize();
        let distance = distance(class.len());
        for &at in class.iter().step_by(distance) {
            let run = self.contents.window(at, raw * RUN);
            for number in 0..RUN {
                let page = run.get(number * raw..(number + 1) * raw).unwrap_or_default();
                let verdict = match number {
                    0 => pages.judge_header(page),
                    _ => pages.judge(page),
                };
                match verdict {
                    Verdict::Right { by_code: sure } => {
                        right += 1;
                        by_code += usize::from(sure);
                        first = first.or(Some(at));
                    }
                    Verdict::Wrong => wrong += 1,
                    Verdict::Nothing => {}
                }
            }
        }
        let wrong = wrong + strays.div_ceil(distance);
        Some(Fit { pages, phase, first: first?, right, by_code, wrong })
    }
}

/// The shapes that are tried.
fn shapes(page: Option<Bytes>, oob: Option<Bytes>) -> Vec<(Bytes, Bytes)> {
    let mut shapes = Vec::new();
    for (usual, sizes) in LAYOUTS {
        let of = Bytes::new(*usual);
        if page.is_some_and(|page| page != of) {
            continue;
        }
        match oob {
            Some(oob) => shapes.push((of, oob)),
            None => shapes.extend([0].iter().chain(*sizes).map(|&oob| (of, Bytes::new(oob)))),
        }
    }
    if let (Some(page), true) = (page, shapes.is_empty()) {
        shapes.push((page, oob.unwrap_or(Bytes::ZERO)));
    }
    shapes
}

/// The places where tags may be in such pages.
fn places(page: usize, oob: usize) -> Vec<Place> {
    let mut places = Vec::new();
    if page == 512 {
        if oob >= tags1::SPARE {
            places.push(Place::Yaffs1(Layout1::Around, (0..tags1::SPARE).collect()));
        }
        for start in (0..oob).take_while(|start| start + tags1::SIZE <= oob) {
            let bytes = (start..start + tags1::SIZE).collect();
            places.push(Place::Yaffs1(Layout1::Packed, bytes));
        }
        return places;
    }
    places.push(Place::InBand);
    for (ecc, length) in [(true, tags::PROTECTED), (false, tags::SIZE)] {
        let starts = (0..oob).take_while(|start| start + length <= oob);
        places.extend(starts.map(|start| Place::spare(start, ecc)));
    }
    places.extend(on_die(oob));
    places
}

/// Chips with an ECC of their own have a few free bytes in each part of the OOB area: two, which are the
/// bad-block mark in the first part, then free ones.
fn on_die(oob: usize) -> Vec<Place> {
    let part = 16;
    let of = |within: std::ops::Range<usize>| -> Vec<usize> {
        (0..oob / part)
            .flat_map(|number| within.clone().map(move |at| number * part + at))
            .collect()
    };
    let all = [of(2..8), of(4..8), of(4..16), of(2..16)];
    let lengths = [tags::PROTECTED, tags::SIZE];
    let cut = |free: &Vec<usize>, length: usize| free.get(..length).map(<[usize]>::to_vec);
    let cuts = all.iter().flat_map(|free| lengths.map(|length| cut(free, length)));
    cuts.flatten().map(Place::Spare).collect()
}
