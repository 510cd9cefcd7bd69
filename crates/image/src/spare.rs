//! The use of each OOB byte of a page, and the ECC of the data: detected by trial.
//!
//! Layer: rank 7, over `boardlab_nand`. Main type: [`Spare`]. A dump does not say which driver
//! wrote it. The ECC bytes that the driver wrote to the OOB area match the data of the page, so the
//! layouts of Linux are tried, and the one that matches on most programmed pages is chosen. If none does, those
//! of [controllers](crate::controller) are, by [`search`](crate::ecc::search()).

mod elsewhere;

use crate::contents::Contents;
use crate::controller::PageCode;
use crate::ecc::{Wanted, search};
use crate::shape::Shape;
use boardlab_mtd::ReadHealth;
use boardlab_nand::Layout;
use boardlab_nand::ecc::{Code, Engine};
use boardlab_nand::part::EccNeed;
use boardlab_sim::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The largest page that Linux calls small.
const SMALL_PAGE: Bytes = Bytes::new(512);
/// Strength and step size of the codes that are tried: Hamming as the default in Linux, Hamming
/// over larger steps, and BCH of common strengths.
const CODES: &[(u32, u64)] = &[(1, 256), (1, 512), (4, 512), (8, 512), (8, 1_024), (16, 1_024)];
/// The number of programmed pages that are tried.
const PAGES: usize = 48;
/// Of the first pages one must match before the others are tried, unless none says anything.
const FIRST_PAGES: usize = 12;
/// The number of pages that are examined to find programmed ones.
const PROBES: u64 = 2_048;

/// The use of each OOB byte of a page.
#[derive(Debug, Clone)]
pub struct Spare {
    layout: Layout,
    /// The code of Linux; `None` for data without correction, and with a code of a controller.
    engine: Option<Engine>,
    /// The layout and the code of a controller.
    code: Option<Arc<PageCode>>,
}

impl Spare {
    /// The layout that Linux uses with this ECC: `bits` in every `step` data bytes. `None` when
    /// there is no such code, or it does not fit.
    #[must_use]
    pub fn linux(shape: Shape, bits: u32, step: Bytes) -> Option<Self> {
        let engine = Engine::new(Code::for_need(EccNeed { bits, step })?).ok()?;
        if !engine.is_software() || !shape.page.is_multiple_of(step) {
            return None;
        }
        let codes = shape.page.to_usize() / engine.step() * engine.code_bytes();
        let layout = Layout::linux(shape.page.to_usize(), shape.oob.to_usize(), codes).ok()?;
        Some(Self { layout, engine: Some(engine), code: None })
    }

    /// The position of the bad-block mark in Linux for pages of this size.
    pub(crate) fn mark_of(page: Bytes) -> Range<usize> {
        if page <= SMALL_PAGE { 5..6 } else { 0..2 }
    }

    /// No error correction; the bad-block mark at the position of Linux, and the bytes from `free`
    /// on are free.
    ///
    /// # Panics
    /// When the shape has no OOB bytes, or fewer than `free`.
    #[must_use]
    pub fn uncorrected(shape: Shape, free: Option<usize>) -> Self {
        let size = shape.oob.to_usize();
        let mark = Self::mark_of(shape.page);
        let ranges = match free {
            Some(free) if free >= mark.end => [free..size, 0..0],
            Some(free) => [free..mark.start.max(free), mark.end..size],
            None => [0..mark.start, mark.end..size],
        };
        let ranges = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        let layout = Layout::new(size, Vec::new(), ranges, mark);
        let layout = layout.expect("Spare: a shape has no spare bytes, or at least eight");
        Self { layout, engine: None, code: None }
    }

    /// The layout and the code of a controller. `None` when two uses of a byte contradict.
    #[must_use]
    pub fn of_controller(code: PageCode) -> Option<Self> {
        let map = &code.map;
        let free = map.free.iter().filter(|range| !range.is_empty()).cloned().collect();
        let layout = Layout::new(map.oob, map.code_bytes(), free, map.mark.clone()).ok()?;
        Some(Self { layout, engine: None, code: Some(Arc::new(code)) })
    }

    /// What is known of the pages of `contents`, if they have this shape.
    fn known(contents: &Contents, shape: Shape) -> Option<Self> {
        let is_it = |code: &&PageCode| {
            (code.map.page, code.map.oob) == (shape.page.to_usize(), shape.oob.to_usize())
        };
        contents.code().filter(is_it).cloned().and_then(Self::of_controller)
    }

    /// The layout of a controller by which the programmed pages have right codes.
    fn searched(contents: &Contents, shape: Shape) -> Option<Self> {
        let (page, oob) = (shape.page.to_usize(), shape.oob.to_usize());
        let wanted = Wanted { page: Some(page), oob: Some(oob), ..Wanted::default() };
        let matches = search(contents, &wanted).matches;
        // The shape is that of pages whose data are in front.
        let found = matches.into_iter().find(|found| !found.code.map.is_mixed());
        found.and_then(|found| Self::of_controller(found.code))
    }

    /// [`Spare::detect`], unless the dump has no spare bytes.
    #[must_use]
    pub fn detect_if_any(
        contents: &Contents,
        shape: Shape,
        known: Bytes,
        marker: Option<usize>,
    ) -> Option<Self> {
        (!shape.oob.is_zero()).then(|| Self::detect(contents, shape, known, marker))
    }

    /// Detects the layout of a dump by the ECC bytes of its programmed pages: pages at regular
    /// distances, and those from the file offset `known` on. `marker` is the offset of a
    /// cleanmarker in the OOB area, if there is one.
    #[must_use]
    pub fn detect(contents: &Contents, shape: Shape, known: Bytes, marker: Option<usize>) -> Self {
        Self::known(contents, shape)
            .or_else(|| Self::of_linux(&programmed_pages(contents, shape, known), shape, &[]))
            .or_else(|| Self::searched(contents, shape))
            .unwrap_or_else(|| Self::uncorrected(shape, marker))
    }

    /// As [`Spare::detect`], but tries the layouts of Linux alone, which is faster: for sizes of pages that may be
    /// wrong.
    #[must_use]
    pub(crate) fn detect_usual(contents: &Contents, shape: Shape, known: Bytes) -> Self {
        Self::known(contents, shape)
            .or_else(|| Self::of_linux(&programmed_pages(contents, shape, known), shape, &[]))
            .unwrap_or_else(|| Self::uncorrected(shape, None))
    }

    /// The layout of Linux that matches on most of `pages`, of those whose ECC bytes are none of `taken`.
    fn of_linux(pages: &[Vec<u8>], shape: Shape, taken: &[usize]) -> Option<Self> {
        let (first, others) = pages.split_at(pages.len().min(FIRST_PAGES));
        let tried = CODES.iter().filter_map(|&(bits, step)| {
            let spare = Self::linux(shape, bits, Bytes::new(step))?;
            if spare.layout.ecc().iter().any(|range| taken.iter().any(|at| range.contains(at))) {
                return None;
            }
            let (right, wrong) = spare.count_matches(first, shape);
            if right == 0 && wrong > 0 {
                return None;
            }
            let more = spare.count_matches(others, shape);
            Some((right + more.0, wrong + more.1, spare))
        });
        let best = tried.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.filter(|(right, wrong, _)| right > wrong).map(|(_, _, spare)| spare)
    }

    /// The bits that are corrected, and the bytes of a step, if Linux does it in software, in its own layout.
    #[must_use]
    pub fn linux_code(&self) -> Option<(u32, usize)> {
        let Some(engine) = &self.engine else {
            let code = self.code.as_ref().filter(|code| code.is_linux())?.code();
            return Some((code.bits, code.step));
        };
        let bits = engine.strength();
        let size = self.layout.size();
        // What is elsewhere has other places.
        let ecc = self.layout.ecc();
        let is_usual = match ecc {
            [one] => one.end == size,
            [first, second] => (first, second) == (&(0..4), &(6..8)),
            _ => false,
        };
        is_usual.then_some((bits, engine.step()))
    }

    /// The layout and the code of a controller, if it is one.
    #[must_use]
    pub fn controller(&self) -> Option<&PageCode> {
        self.code.as_deref()
    }

    /// The layout.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether data are corrected.
    #[must_use]
    pub const fn corrects(&self) -> bool {
        self.engine.is_some() || self.code.is_some()
    }

    /// The data bytes of an ECC step; 0 without error correction.
    #[must_use]
    pub fn step(&self) -> Bytes {
        let of_controller = self.code.as_ref().map_or(0, |code| code.code().step);
        Bytes::new(self.engine.as_ref().map_or(of_controller, Engine::step) as u64)
    }

    /// The position of the bad-block mark.
    pub(crate) fn mark(&self) -> Range<usize> {
        self.layout.mark().clone()
    }

    /// The number of free bytes.
    #[must_use]
    pub fn available(&self) -> Bytes {
        Bytes::new(self.layout.free_bytes() as u64)
    }

    /// The numbers of raw pages whose ECC bytes match the data, and of those whose do not.
    fn count_matches(&self, pages: &[Vec<u8>], shape: Shape) -> (usize, usize) {
        let judged = pages.iter().filter_map(|page| self.is_right(page, shape));
        judged.fold(
            (0, 0),
            |(right, wrong), is_right| {
                if is_right { (right + 1, wrong) } else { (right, wrong + 1) }
            },
        )
    }

    /// Whether the ECC bytes of a raw page match its data in most steps, after correction. `None` when
    /// they are erased: those of Hamming for zeros are so too, and other data seem to have one wrong
    /// bit by chance.
    fn is_right(&self, page: &[u8], shape: Shape) -> Option<bool> {
        let (data, oob) = page.split_at(shape.page.to_usize());
        let engine = self.engine.as_ref()?;
        let mut codes = self.codes();
        self.layout.gather_ecc(oob, 0, &mut codes);
        let is_written = |bytes: &[u8]| !boardlab_mtd::is_erased(bytes);
        let steps = data.chunks(engine.step()).zip(codes.chunks_mut(engine.code_bytes()));
        let (mut right, mut wrong) = (0, 0);
        for (step, code) in steps.filter(|(step, code)| is_written(step) && is_written(code)) {
            let met = engine.correct(&mut step.to_vec(), code);
            *(if met.failed_steps == 0 { &mut right } else { &mut wrong }) += 1;
            // Two mismatches and no match mean another code.
            if wrong > 1 && right == 0 {
                return Some(false);
            }
        }
        (right + wrong > 0).then_some(right > wrong)
    }

    fn codes(&self) -> Vec<u8> {
        vec![0; self.layout.ecc_bytes()]
    }

    /// Corrects `data` with the ECC bytes in `oob`, both of one page; `None` when some steps are
    /// uncorrectable and left as they are.
    #[must_use]
    pub fn correct(&self, data: &mut [u8], oob: &[u8]) -> Option<ReadHealth> {
        self.correct_steps(data, oob, |_, _| {})
    }

    /// As [`Spare::correct`], and calls `told` for each step with bit errors: its number, and the
    /// corrected bits or `None` when it is uncorrectable.
    pub fn correct_steps(
        &self,
        data: &mut [u8],
        oob: &[u8],
        told: impl FnMut(usize, Option<u32>),
    ) -> Option<ReadHealth> {
        if let Some(code) = &self.code {
            return correct_words(code, data, oob, told);
        }
        let Some(engine) = &self.engine else { return Some(ReadHealth::default()) };
        let mut codes = self.codes();
        self.layout.gather_ecc(oob, 0, &mut codes);
        let met = engine.correct_steps(data, &mut codes, told);
        let health = ReadHealth { corrected: met.corrected, worst: met.worst };
        (met.failed_steps == 0).then_some(health)
    }

    /// The OOB bytes for a page to be programmed: `free` in the free bytes, and the ECC bytes of
    /// `data` if there is a code.
    #[must_use]
    pub fn protect(&self, data: &[u8], free: &[u8]) -> Vec<u8> {
        let mut oob = vec![0xFF; self.layout.size()];
        if let (Some(engine), false) = (&self.engine, data.is_empty()) {
            let mut codes = self.codes();
            engine.calculate(data, &mut codes);
            self.layout.scatter_ecc(&codes, 0, &mut oob);
        }
        self.layout.scatter_free(free, &mut oob);
        if let (Some(code), false) = (&self.code, data.is_empty()) {
            let mut page = [data, &oob].concat();
            code.protect(&mut page);
            return page.split_off(data.len());
        }
        oob
    }
}

/// Corrects `data` by the words of a controller; `None` when some are uncorrectable.
fn correct_words(
    code: &PageCode,
    data: &mut [u8],
    oob: &[u8],
    mut told: impl FnMut(usize, Option<u32>),
) -> Option<ReadHealth> {
    let mut page = [&*data, oob].concat();
    let (mut health, mut failed) = (ReadHealth::default(), false);
    code.correct(&mut page, |word, bits| {
        told(word, bits);
        match bits {
            Some(bits) => health.add(bits, bits),
            None => failed = true,
        }
    });
    data.copy_from_slice(&page[..data.len()]);
    (!failed).then_some(health)
}

/// `Hamming, 1 bit in 256 B`, or `none that is known`.
impl fmt::Display for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = &self.code {
            return code.fmt(f);
        }
        let Some(engine) = &self.engine else { return f.write_str("none that is known") };
        let name = if matches!(engine.code(), Code::Hamming(_)) { "Hamming" } else { "BCH" };
        let bits = if engine.strength() == 1 { "bit" } else { "bits" };
        write!(f, "{name}, {} {bits} in {} B", engine.strength(), engine.step())
    }
}

/// Raw pages with data in them.
fn programmed_pages(contents: &Contents, shape: Shape, known: Bytes) -> Vec<Vec<u8>> {
    let raw = shape.raw_page();
    let count = contents.length() / raw;
    let first = known / raw;
    let step = count.div_ceil(PROBES).max(1);
    let near = (first..count).take(PAGES);
    let far = (0..PROBES).map(|probe| probe * step).take_while(|page| *page < count);
    let pages = far.chain(near).map(|page| contents.window(raw * page, raw.to_usize()));
    let programmed = |page: &Vec<u8>| {
        page.len() == raw.to_usize() && !boardlab_mtd::is_erased(&page[..shape.page.to_usize()])
    };
    pages.filter(programmed).take(PAGES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Shape = Shape::nand(Bytes::new(512), Bytes::new(16), Bytes::kib(16));
    const LARGE: Shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));

    /// So many pages with the codes of `spare`, every third of them erased.
    fn file(spare: &Spare, shape: Shape, count: usize) -> Vec<u8> {
        let page = |number: usize| {
            if number.is_multiple_of(3) {
                return vec![0xFF; shape.raw_page().to_usize()];
            }
            let data: Vec<u8> = (0..shape.page.to_usize())
                .map(|at| (at * number * 31 % 251).to_le_bytes()[0])
                .collect();
            let oob = spare.protect(&data, &[]);
            [data, oob].concat()
        };
        (0..count).flat_map(page).collect()
    }

    #[test]
    fn the_error_correction_is_found_by_its_codes() {
        for shape in [SMALL, LARGE] {
            for (bits, step) in [(1, 256), (1, 512), (4, 512), (8, 1_024)] {
                let Some(spare) = Spare::linux(shape, bits, Bytes::new(step)) else { continue };
                let contents = Contents::of(file(&spare, shape, 100));
                let found = Spare::detect(&contents, shape, Bytes::ZERO, None);
                assert_eq!(found.to_string(), spare.to_string());
                assert_eq!(found.layout(), spare.layout());
            }
        }
    }

    #[test]
    fn some_wrong_bits_hide_nothing_and_other_codes_are_not_guessed() {
        let spare = Spare::linux(LARGE, 1, Bytes::new(256)).unwrap();
        let mut bytes = file(&spare, LARGE, 100);
        for page in 0..100 {
            bytes[page * 2_112 + 77] ^= 16;
        }
        let found = Spare::detect(&Contents::of(bytes.clone()), LARGE, Bytes::ZERO, None);
        assert_eq!(found.to_string(), "Hamming, 1 bit in 256 B");
        for page in bytes.chunks_mut(2_112) {
            page[2_048 + 40..].iter_mut().for_each(|byte| *byte ^= 0xF0);
        }
        let found = Spare::detect(&Contents::of(bytes), LARGE, Bytes::ZERO, Some(2));
        assert_eq!((found.to_string(), found.corrects()), ("none that is known".into(), false));
    }

    #[test]
    fn zeros_with_erased_ecc_bytes_do_not_hide_the_code() {
        let spare = Spare::linux(LARGE, 1, Bytes::new(256)).unwrap();
        let mut bytes = Vec::new();
        for number in 0..100_u32 {
            let data: Vec<u8> = if number % 4 == 3 {
                (0..2_048_u32).map(|at| (at * number % 251).to_le_bytes()[0]).collect()
            } else {
                vec![0; 2_048]
            };
            bytes.extend([data.clone(), spare.protect(&data, &[])].concat());
        }
        let found = Spare::detect(&Contents::of(bytes), LARGE, Bytes::ZERO, None);
        assert_eq!(found.to_string(), "Hamming, 1 bit in 256 B");
    }

    /// In steps of 512 bytes, Hamming takes the erased codes of these records for single wrong bits.
    #[test]
    fn erased_ecc_bytes_are_no_code() {
        let mut record = [0; 172];
        record[168..].copy_from_slice(&[0xF1, 0x16, 0xC3, 0x6B]);
        let table = record.repeat(100);
        let pages = table.chunks_exact(2_048).flat_map(|data| [data, &[0xFF; 64]].concat());
        let contents = Contents::of(pages.collect());
        let found = Spare::detect(&contents, LARGE, Bytes::ZERO, None);
        assert_eq!(found.to_string(), "none that is known");
    }

    #[test]
    fn a_wrong_bit_is_corrected_and_two_in_a_step_are_given_up() {
        let spare = Spare::linux(SMALL, 1, Bytes::new(256)).unwrap();
        let data: Vec<u8> = (0..512_u32).map(|n| n.to_le_bytes()[0]).collect();
        let oob = spare.protect(&data, &[0xA5]);
        assert_eq!((oob[5], oob[8], oob[9]), (0xFF, 0xA5, 0xFF));
        let mut read = data.clone();
        read[300] ^= 4;
        let health = spare.correct(&mut read, &oob).unwrap();
        assert_eq!((health.corrected, &read), (1, &data));
        read[300] ^= 4;
        read[301] ^= 4;
        assert_eq!(spare.correct(&mut read, &oob), None);
    }

    #[test]
    fn without_correction_the_free_bytes_leave_the_mark_alone() {
        let free = |shape, from| Spare::uncorrected(shape, from).layout().free().to_vec();
        assert_eq!(free(SMALL, None), [0..5, 6..16]);
        assert_eq!(free(SMALL, Some(8)), vec![8..16; 1]);
        assert_eq!(free(SMALL, Some(3)), [3..5, 6..16]);
        assert_eq!(free(LARGE, Some(2)), vec![2..64; 1]);
        assert_eq!(free(LARGE, Some(0)), vec![2..64; 1]);
    }
}
