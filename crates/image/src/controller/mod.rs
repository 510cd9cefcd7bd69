//! ECC and OOB layouts of controllers.
//!
//! Layer: rank 7, over `boardlab_codec`; knows no file. In reading order: [`bits`], ranges of bits; [`code`], codes
//! as controllers have them; [`map`], where they are in a page; [`layouts`], all layouts by name. Main type:
//! [`PageCode`], a layout and a code for pages of one size, which corrects pages and makes their OOB bytes.

pub(crate) mod bits;
mod code;
mod layouts;
mod map;

pub use bits::BitOrder;
pub(crate) use code::WordCode;
pub use code::{CodePattern, EccCode, Family, HammingOrder};
pub use layouts::{ALL, ControllerLayout, named};
pub use map::PageMap;
pub(crate) use map::Word;

use boardlab_mtd::zero_bits;
use std::fmt;

/// The constant in the code of each word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// None: the code of zeros is zeros.
    Zero,
    /// The one with which erased bytes are a right word, as Linux has it.
    Erased,
    /// Another one, by the bytes of a word: its length, and the check of right ones.
    Other(Vec<(usize, Vec<u8>)>),
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "none",
            Self::Erased => "erased bytes are right",
            Self::Other(_) => "another",
        })
    }
}

/// A layout and a code for pages of one size.
#[derive(Debug, Clone)]
pub struct PageCode {
    /// The layout.
    pub layout: &'static ControllerLayout,
    /// The pages.
    pub map: PageMap,
    /// The constant.
    pub constant: Constant,
    pub(crate) words: WordCode,
    /// What the check of each word should be.
    expected: Vec<Vec<u8>>,
}

impl PageCode {
    /// `None` when the page has no room, there is no such code, or the constant is for other words.
    #[must_use]
    pub fn new(
        layout: &'static ControllerLayout,
        page: usize,
        oob: usize,
        code: EccCode,
        constant: Constant,
    ) -> Option<Self> {
        let map = (layout.map)(page, oob, &code)?;
        Self::of(layout, map, WordCode::new(code)?, constant)
    }

    pub(crate) fn of(
        layout: &'static ControllerLayout,
        map: PageMap,
        words: WordCode,
        constant: Constant,
    ) -> Option<Self> {
        let check = |word: &Word| match &constant {
            Constant::Zero => words.check(&vec![0; word.length]),
            Constant::Erased => {
                let erased = vec![0xFF; map.page + map.oob];
                words.check(&taken(&map, word, &erased))
            }
            Constant::Other(known) => {
                let found = known.iter().find(|(length, _)| *length == word.length);
                found.map(|(_, check)| check.clone())
            }
        };
        let expected = map.words.iter().map(check).collect::<Option<Vec<_>>>()?;
        Some(Self { layout, map, constant, words, expected })
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> EccCode {
        self.words.code
    }

    /// Whether it is the layout and the code that Linux has in software without options.
    pub(crate) fn is_linux(&self) -> bool {
        let is_usual = self.code().family != Family::Hamming(HammingOrder::SmartMedia);
        self.layout.name == "linux" && self.constant == Constant::Erased && is_usual
    }

    /// The words of a page, each with the check that it should have.
    pub(crate) fn expected(&self) -> impl Iterator<Item = (&Word, &[u8])> {
        self.map.words.iter().zip(self.expected.iter().map(Vec::as_slice))
    }

    /// Corrects an arranged page; calls `told` for each word with bit errors: its number, and the corrected bits
    /// or `None` when they are too many.
    pub fn correct(&self, page: &mut [u8], mut told: impl FnMut(usize, Option<u32>)) {
        for (number, (word, expected)) in self.expected().enumerate() {
            let mut bytes = taken(&self.map, word, page);
            let bits = self.correct_word(&mut bytes, expected, word);
            if bits == Some(0) {
                continue;
            }
            told(number, bits);
            if bits.is_some() {
                bits::scatter(&bytes, &word.all(), self.map.order, page);
            }
        }
    }

    /// As [`WordCode::correct`]. A word with no more zero bits than can be corrected is an erased one: without a
    /// constant it would be one with many errors, and a few of those are near a right word by chance.
    fn correct_word(&self, bytes: &mut [u8], expected: &[u8], word: &Word) -> Option<u32> {
        let filled = u32::try_from(word.behind()).ok()?;
        let most = filled + self.code().bits;
        if let Some(zeros) = zero_bits(&*bytes, most) {
            bytes.fill(0xFF);
            return Some(zeros.saturating_sub(filled));
        }
        self.words.correct(bytes, expected)
    }

    /// Puts the code bits of its data into an arranged page.
    pub fn protect(&self, page: &mut [u8]) {
        let zeros = vec![0; self.map.page + self.map.oob];
        for (word, expected) in self.expected() {
            bits::scatter(&zeros, &word.code, self.map.order, page);
            let bytes = taken(&self.map, word, page);
            let code = self.words.encode(&bytes, expected, word.behind());
            let code = code.expect("the words of a page fit its code");
            bits::scatter(&code, &word.code, self.map.order, page);
        }
    }

    /// The options that say it.
    #[must_use]
    pub fn options(&self) -> String {
        format!("--spare {} --ecc {}", self.layout.name, self.code())
    }
}

/// `BCH, 8 bits in 512 B, in the layout gpmi`.
impl fmt::Display for PageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in the layout {}", self.code().described(), self.layout.name)
    }
}

/// The bytes of a word of an arranged page.
pub(crate) fn taken(map: &PageMap, word: &Word, page: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.length);
    bits::gather(page, &word.all(), map.order, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
