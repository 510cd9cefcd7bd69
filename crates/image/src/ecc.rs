//! Finds the code and the layout of a dump with OOB bytes by looking.
//!
//! Layer: rank 7. Main functions: [`search`], [`Search::best`]; main type: [`EccMatch`]. The check of a word, a
//! message and its code bits, is the same for all right words of a code, and random for any other code. So the
//! layouts with all their codes are tried on a sample of pages, and one whose checks repeat is the right one, whatever
//! constant the controller adds. What it says of all words of the sample is counted: right ones, those with flipped
//! bits, and those with too many. Erased words count for nothing, and neither do equal ones.
//!
//! The file is untrusted: the number of pages that are read is bounded. Left out: dumps behind a header, and
//! scrambled ones (docs/formats/layouts.md).

use crate::contents::Contents;
use crate::controller::{
    ALL, CodePattern, Constant, ControllerLayout, EccCode, Family, PageCode, PageMap, Word,
    WordCode, bits, taken,
};
use crate::detection::Confidence;
use crate::shape::LAYOUTS;
use boardlab_mtd::zero_bits;
use boardlab_result::prose::float;
use boardlab_sim::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::ops::Range;

/// The places of a file that are looked at, and the pages at each.
const PLACES: u64 = 16;
const PAGES: u64 = 12;
/// Further places where programmed pages are looked for, if those places have too few.
const PROBES: u64 = 4_096;
/// The programmed pages of a sample.
const SAMPLE: usize = 80;
/// The pages that decide whether a code is tried further, and the words of each.
const FIRST: usize = 16;
const FIRST_WORDS: usize = 4;
/// The equal checks of different words that make a code worth counting, and of Hamming's 24 bits.
const EQUAL: usize = 2;
const EQUAL_HAMMING: usize = 6;
/// Flipped bits in the data of an erased page.
const ERASED: u32 = 16;
/// Words on which a code without any equal check is tried by correction.
const CORRECTED: usize = 8;
/// The bits of evidence for a code that is certain, or likely.
const CERTAIN: f64 = 100.0;
const LIKELY: f64 = 40.0;
/// More evidence makes no match better than another one.
const ENOUGH: f64 = 1_000.0;
/// The bits that choosing the best of all layouts, codes and sizes takes away.
const TRIALS: f64 = 13.0;
/// Page and OOB sizes besides those of [`LAYOUTS`].
const FURTHER: &[(u64, u64)] = &[(4_096, 208), (4_096, 216), (4_096, 232), (1_024, 32)];

/// What is searched for; `None` for anything.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Data bytes of a page.
    pub page: Option<usize>,
    /// OOB bytes.
    pub oob: Option<usize>,
    /// The layout.
    pub layout: Option<&'static ControllerLayout>,
    /// The code.
    pub code: Option<CodePattern>,
    /// Whether only layouts are tried that mix data and code.
    pub mixed: bool,
    /// Whether to find a code too where every word has bit errors, which takes longer.
    pub thorough: bool,
}

/// A code in a layout that fits a file.
#[derive(Debug, Clone)]
pub struct EccMatch {
    /// The layout and the code.
    pub code: PageCode,
    /// Words without bit errors.
    pub right: usize,
    /// Words with bit errors that were corrected.
    pub corrected: usize,
    /// The most bit errors in one of them.
    pub worst: u32,
    /// Words with too many bit errors.
    pub wrong: usize,
    /// Bits of evidence: chance gives as much once in so many powers of two.
    pub evidence: f64,
}

impl EccMatch {
    /// How sure it is; `None` if chance may have made it.
    #[must_use]
    pub fn confidence(&self) -> Option<Confidence> {
        let (judged, fits) = (self.judged(), self.right + self.corrected);
        match () {
            () if self.evidence >= CERTAIN && fits * 10 >= judged * 8 => Some(Confidence::Certain),
            () if self.evidence >= LIKELY && fits * 2 > judged => Some(Confidence::Likely),
            () => None,
        }
    }

    /// The words that were judged.
    #[must_use]
    pub const fn judged(&self) -> usize {
        self.right + self.corrected + self.wrong
    }

    /// Chance, as the power of ten of 1 in so many.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundreds")]
    pub fn chance(&self) -> u32 {
        (self.evidence * std::f64::consts::LOG10_2).clamp(0.0, 999.0) as u32
    }

    /// Why, in a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut reason = format!("{} of {} words are right", self.right, self.judged());
        if self.corrected > 0 {
            write!(reason, ", {} have up to {} flipped bits", self.corrected, self.worst)
                .expect("a String takes all text");
        }
        if self.wrong > 0 {
            write!(reason, ", {} have too many", self.wrong).expect("a String takes all text");
        }
        write!(reason, "; by chance 1 in 10^{}", self.chance()).expect("a String takes all text");
        if let Constant::Other(_) = self.code.constant {
            reason += "; the code has a constant of its own";
        }
        reason
    }

    fn rank(&self) -> (Option<Confidence>, f64, bool, u32) {
        let share = float(self.right + self.corrected) / float(self.judged().max(1));
        let usual = (self.code.constant == Constant::Erased) == self.code.layout.erased_is_right;
        // The words of a stronger code are words of a weaker one.
        let bits = self.code.code().bits;
        (self.confidence(), self.evidence.min(ENOUGH) * share, usual, bits)
    }
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// What fits, the best first.
    pub matches: Vec<EccMatch>,
    /// Pages that were read, with the best sizes.
    pub pages: usize,
    /// Those of them that are programmed.
    pub programmed: usize,
    /// Those with different bytes that are not all zero.
    pub telling: usize,
}

impl Search {
    /// The best match.
    #[must_use]
    pub fn best(&self) -> Option<&EccMatch> {
        self.matches.first()
    }

    /// Why there is none, in a sentence.
    #[must_use]
    pub fn silence(&self) -> String {
        match (self.pages, self.programmed, self.telling) {
            (0, _, _) => "the file is not whole pages of a usual size with spare bytes".into(),
            (pages, 0, _) => {
                format!("the {pages} pages that were read are erased, which fits any code")
            }
            (_, programmed, 0 | 1) => format!(
                "the {programmed} programmed pages that were read are all zero or equal, which fits many codes"
            ),
            (_, _, telling) => format!("no code that is known fits {telling} different pages"),
        }
    }
}

/// Searches `contents` for codes.
#[must_use]
pub fn search(contents: &Contents, wanted: &Wanted) -> Search {
    let mut engines = Engines::default();
    let mut found = Search::default();
    for (page, oob) in sizes(wanted) {
        let raw = page + oob;
        let whole = contents.length().is_multiple_of(Bytes::new(raw as u64));
        // A dump is whole pages; what the user knows of may end anywhere.
        if !whole && wanted.page.is_none() {
            continue;
        }
        let mut candidates = Candidate::all(wanted, page, oob);
        // Every file that is opened is searched for these, and few have any.
        if wanted.mixed && !wanted.thorough {
            let sample = Sample::of(contents, (page, oob), (1, FIRST));
            if sample.pages.len() >= FIRST {
                candidates.retain(|one| sample.constant(one, &mut engines).is_some());
            }
            if candidates.is_empty() {
                continue;
            }
        }
        let sample = Sample::of(contents, (page, oob), (PAGES, SAMPLE / 2));
        if sample.telling() > found.telling || found.pages == 0 {
            (found.pages, found.programmed) = (sample.read, sample.pages.len());
            found.telling = sample.telling();
        }
        found.matches.extend(sample.matches(candidates, wanted.thorough, &mut engines));
    }
    found.matches.retain(|one| one.confidence().is_some());
    // The order of equal ones is that of the list.
    found.matches.sort_by(|a, b| b.rank().partial_cmp(&a.rank()).expect("no number is missing"));
    found
}

/// Page and OOB sizes that are tried.
fn sizes(wanted: &Wanted) -> Vec<(usize, usize)> {
    let size =
        |&(page, oob): &(u64, u64)| (Bytes::new(page).to_usize(), Bytes::new(oob).to_usize());
    let all = LAYOUTS.iter().chain(FURTHER).map(size);
    let fits = |&(page, oob): &(usize, usize)| {
        wanted.page.is_none_or(|it| it == page) && wanted.oob.is_none_or(|it| it == oob)
    };
    let mut sizes: Vec<_> = all.filter(fits).collect();
    if let (Some(page), Some(oob), true) = (wanted.page, wanted.oob, sizes.is_empty()) {
        sizes.push((page, oob));
    }
    sizes
}

/// The engines of codes, which take long to make.
#[derive(Default)]
struct Engines(HashMap<(Family, u32, usize), Option<WordCode>>);

impl Engines {
    fn of(&mut self, code: EccCode) -> Option<WordCode> {
        // The tables of BCH know neither step nor order.
        let key = match code.family {
            Family::Bch { polynomial, .. } => {
                let order = crate::controller::BitOrder::Most;
                (Family::Bch { polynomial, order }, code.bits, 0)
            }
            family => (family, code.bits, code.step),
        };
        let made = self.0.entry(key).or_insert_with(|| WordCode::new(code)).clone()?;
        Some(made.with(code))
    }
}

/// Pages of a file, as they are stored.
struct Sample {
    page: usize,
    /// Pages that were read.
    read: usize,
    /// Programmed ones.
    pages: Vec<Vec<u8>>,
    /// The bits that are set in all of those: a page in which nothing else is.
    common: Vec<u8>,
}

impl Sample {
    /// Pages of these sizes from all over the file: so many at each place, and further ones until `enough` are
    /// programmed.
    fn of(contents: &Contents, (page, oob): (usize, usize), (near, enough): (u64, usize)) -> Self {
        let raw = Bytes::new((page + oob) as u64);
        let count = contents.length() / raw;
        let distance = (count / PLACES).max(1);
        let near = (0..PLACES).flat_map(|place| (0..near).map(move |at| place * distance + at));
        let numbers: BTreeSet<u64> = near.filter(|number| *number < count).collect();
        let mut sample = Self { page, read: 0, pages: Vec::new(), common: vec![0xFF; page + oob] };
        let mut all: Vec<Vec<u8>> = Vec::new();
        for &number in &numbers {
            all.extend(sample.take(contents, raw, number));
        }
        // From all places, not from the first alone.
        let step = all.len().div_ceil(SAMPLE).max(1);
        sample.pages = all.into_iter().step_by(step).collect();
        let apart = (count / PROBES).max(1);
        for number in (0..PROBES).map(|probe| probe * apart).take_while(|number| *number < count) {
            if sample.pages.len() >= enough {
                break;
            }
            if !numbers.contains(&number) {
                let taken = sample.take(contents, raw, number);
                sample.pages.extend(taken);
            }
        }
        for page in &sample.pages {
            sample.common.iter_mut().zip(page).for_each(|(common, byte)| *common &= byte);
        }
        sample
    }

    /// A page, if it is programmed.
    fn take(&mut self, contents: &Contents, raw: Bytes, number: u64) -> Option<Vec<u8>> {
        self.read += 1;
        let bytes = contents.window(raw * number, raw.to_usize());
        (bytes.len() == raw.to_usize() && !boardlab_mtd::is_erased(&bytes)).then_some(bytes)
    }

    /// Pages that say something.
    fn telling(&self) -> usize {
        let is_zero = |page: &&Vec<u8>| page[..self.page].iter().all(|&byte| byte == 0);
        let different: BTreeSet<&Vec<u8>> = self.pages.iter().collect();
        different.into_iter().filter(|page| !is_zero(page)).count()
    }

    /// Whether the code bits of a word are erased in all pages though its message is not: no code is.
    fn lacks_code(&self, map: &PageMap) -> bool {
        let is_erased = |bits: &[Range<usize>]| {
            let mut bytes = Vec::new();
            bits::gather(&self.common, bits, map.order, &mut bytes);
            let filled = 8 * bytes.len() - bits::count(bits);
            u32::try_from(filled).is_ok_and(|filled| zero_bits(&bytes, filled).is_some())
        };
        map.stored_words.iter().any(|word| is_erased(&word.code) && !is_erased(&word.message))
    }

    fn matches(
        &self,
        candidates: Vec<Candidate>,
        thorough: bool,
        engines: &mut Engines,
    ) -> Vec<EccMatch> {
        let mut found = Vec::new();
        if self.telling() < 2 {
            return found;
        }
        for one in candidates {
            if self.lacks_code(&one.map) {
                continue;
            }
            let Some(words) = engines.of(one.code) else { continue };
            let trial = Trial { sample: self, layout: one.layout, map: &one.map, words: &words };
            found.extend(trial.judge(thorough));
        }
        found
    }

    /// The constant with which words of the first pages are right.
    fn constant(&self, one: &Candidate, engines: &mut Engines) -> Option<Constant> {
        if self.lacks_code(&one.map) {
            return None;
        }
        let words = engines.of(one.code)?;
        Trial { sample: self, layout: one.layout, map: &one.map, words: &words }.constant()
    }
}

/// A code in a layout that is tried.
struct Candidate {
    layout: &'static ControllerLayout,
    code: EccCode,
    map: PageMap,
}

impl Candidate {
    /// All that are wanted for pages of a size.
    fn all(wanted: &Wanted, page: usize, oob: usize) -> Vec<Self> {
        let layouts = ALL.iter().filter(|layout| {
            let is_wanted = wanted.layout.is_none_or(|it| it.name == layout.name);
            is_wanted && (layout.mixes || !wanted.mixed)
        });
        let of = |layout: &'static ControllerLayout| {
            let codes = (layout.codes)(page, oob).into_iter();
            let codes = codes.filter(|code| wanted.code.as_ref().is_none_or(|it| it.means(code)));
            codes.filter_map(move |code| {
                let map = (layout.map)(page, oob, &code)?;
                (map.is_mixed() || !wanted.mixed).then_some(Self { layout, code, map })
            })
        };
        layouts.flat_map(of).collect()
    }
}

/// A layout with a code that is tried on a sample.
struct Trial<'a> {
    sample: &'a Sample,
    layout: &'static ControllerLayout,
    map: &'a PageMap,
    words: &'a WordCode,
}

/// A word of the sample.
struct Seen {
    bytes: Vec<u8>,
    code: Vec<u8>,
}

impl Trial<'_> {
    /// The pages in which the controller has put codes, arranged: those of bad blocks may be anything, and mostly
    /// have no data, or zeros alone.
    fn pages(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let pages = self.sample.pages.iter().map(|page| self.map.arrange(page));
        pages.filter(|page| {
            zero_bits(&page[..self.map.page], ERASED).is_none()
                && page.iter().any(|&byte| byte != 0)
        })
    }

    /// A word, if it has code bits.
    fn word(&self, word: &Word, page: &[u8]) -> Option<Seen> {
        let bytes = taken(self.map, word, page);
        let only = Word { message: Vec::new(), code: word.code.clone(), length: word.length };
        let code = taken(self.map, &only, page);
        // The last byte may end with zeros that are none of the code, and erased bits may have flipped.
        let filled = 8 * u32::try_from(code.len()).ok()?
            - u32::try_from(self.words.code.code_bits()).ok()?;
        zero_bits(&code, filled + self.words.code.bits).is_none().then_some(Seen { bytes, code })
    }

    fn judge(&self, thorough: bool) -> Option<EccMatch> {
        let constant = self.constant().or_else(|| self.by_correction(thorough))?;
        let code = PageCode::of(self.layout, self.map.clone(), self.words.clone(), constant)?;
        let mut found =
            EccMatch { code, right: 0, corrected: 0, worst: 0, wrong: 0, evidence: 0.0 };
        let (mut different, mut fixed) = (BTreeSet::new(), BTreeSet::new());
        for page in self.pages() {
            for (word, expected) in found.code.expected() {
                let Some(mut seen) = self.word(word, &page) else { continue };
                match self.words.correct(&mut seen.bytes, expected) {
                    Some(0) => {
                        found.right += 1;
                        different.insert(seen.code);
                    }
                    Some(bits) => {
                        found.corrected += 1;
                        found.worst = found.worst.max(bits);
                        fixed.insert(seen.code);
                    }
                    None => found.wrong += 1,
                }
            }
        }
        let guessed = matches!(found.code.constant, Constant::Other(_));
        let bits = float(self.words.code.code_bits());
        let by_right = float(different.len().saturating_sub(usize::from(guessed))) * bits;
        let evidence = by_right + float(fixed.len()) * self.evidence_of_correction();
        found.evidence = (evidence - TRIALS).max(0.0);
        Some(found)
    }

    /// The bits of evidence in a word that was corrected: few random words are so near to a right one.
    fn evidence_of_correction(&self) -> f64 {
        let Family::Bch { polynomial, .. } = self.words.code.family else { return 10.0 };
        // Of n bits, t can be chosen in about n^t / t! ways, of 2^(mt) checks.
        let length = self.map.words.iter().map(|word| word.length * 8).max().unwrap_or(1);
        let each = f64::from(polynomial.ilog2()) - float(length).log2();
        (1..=self.words.code.bits).map(|chosen| each + f64::from(chosen).log2()).sum()
    }

    /// The constant with which words of the first pages are right.
    fn constant(&self) -> Option<Constant> {
        // By the length of words, and by their check: the codes of different words.
        let mut checks: BTreeMap<(usize, Vec<u8>), BTreeSet<Vec<u8>>> = BTreeMap::new();
        let step = self.sample.pages.len().div_ceil(FIRST).max(1);
        for page in self.sample.pages.iter().step_by(step) {
            let all = self.map.stored_words.len();
            // The first word of a page may be longer than the others.
            let apart = all.div_ceil(FIRST_WORDS).max(1);
            for word in self.map.stored_words.iter().step_by(apart) {
                let Some(seen) = self.word(word, page) else { continue };
                let check = self.words.check(&seen.bytes)?;
                checks.entry((word.length, check)).or_default().insert(seen.code);
            }
        }
        let least = match self.words.code.family {
            Family::Hamming(_) => EQUAL_HAMMING,
            Family::Bch { .. } => EQUAL,
        };
        let mut best: BTreeMap<usize, (usize, Vec<u8>)> = BTreeMap::new();
        for ((length, check), codes) in checks {
            let slot = best.entry(length).or_default();
            if codes.len() > slot.0 {
                *slot = (codes.len(), check);
            }
        }
        let enough = best.values().map(|(count, _)| *count).max().unwrap_or(0) >= least;
        let votes: Vec<(usize, Vec<u8>)> =
            best.into_iter().map(|(length, (_, check))| (length, check)).collect();
        enough.then(|| self.named(votes)).flatten()
    }

    /// The constant by its name, if it has one.
    fn named(&self, votes: Vec<(usize, Vec<u8>)>) -> Option<Constant> {
        for constant in [Constant::Zero, Constant::Erased] {
            let code =
                PageCode::of(self.layout, self.map.clone(), self.words.clone(), constant.clone())?;
            let agrees = |(word, expected): (&Word, &[u8])| {
                votes.iter().any(|(length, check)| *length == word.length && check == expected)
            };
            if code.expected().any(agrees) {
                return Some(constant);
            }
        }
        // Hamming's few bits would fit too much by chance.
        let is_bch = matches!(self.words.code.family, Family::Bch { .. });
        is_bch.then_some(Constant::Other(votes))
    }

    /// Where every word has flipped bits, no check repeats: a usual constant is right if words can be corrected.
    fn by_correction(&self, thorough: bool) -> Option<Constant> {
        if !thorough || self.words.code.bits < 4 {
            return None;
        }
        [Constant::Zero, Constant::Erased].into_iter().find(|constant| {
            let made = PageCode::of(
                self.layout,
                self.map.clone(),
                self.words.clone(),
                (*constant).clone(),
            );
            let Some(code) = made else { return false };
            let (mut tried, mut fits) = (0, 0);
            for page in self.pages() {
                for (word, expected) in code.expected() {
                    let Some(mut seen) = self.word(word, &page) else { continue };
                    tried += 1;
                    fits += usize::from(self.words.correct(&mut seen.bytes, expected).is_some());
                    if tried == CORRECTED || (tried == 2 && fits == 0) {
                        return fits * 4 >= tried * 3;
                    }
                }
            }
            false
        })
    }
}

#[cfg(test)]
mod tests;
