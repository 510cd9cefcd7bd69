//! Error correction of a page, step by step.
//!
//! Layer: rank 3, over `codec`. Main types: [`Code`], an ECC; [`Engine`], which applies it to the
//! steps of a page; [`Corrections`], its result. The ECC bytes of an erased step are all ones with
//! every code here, so an erased page reads without errors.
//!
//! Beyond the strength of a code: Hamming detects any two bit errors of a step; three errors in the
//! data flip one parity bit of each pair, as one error does, and are always miscorrected as one,
//! which makes four. BCH reports more than `t` bit errors except for a small share within the
//! distance `t` of another codeword (docs/models/ecc.md has it measured).
//!
//! Source: Linux 6.1 `drivers/mtd/nand/ecc-sw-hamming.c`, `ecc-sw-bch.c`; for erased pages
//! `nand_check_erased_ecc_chunk` of `drivers/mtd/nand/raw/nand_base.c`.

use crate::part::EccNeed;
use boardlab_codec::{Bch, hamming};
use std::fmt;

/// An error correcting code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// None: the user gets the data as the cells return them, with all bit errors.
    None,
    /// One bit in 256 or 512 bytes.
    Hamming(hamming::Step),
    /// Up to `bits` bits in `step` bytes, as Linux' software BCH has it.
    Bch {
        /// Bytes of a step.
        step: usize,
        /// Bit errors that are corrected.
        bits: u32,
    },
    /// On-die ECC.
    OnDie,
}

impl Code {
    /// The code that meets the requirement of a data sheet; `None` when none is implemented.
    #[must_use]
    pub fn for_need(need: EccNeed) -> Option<Self> {
        match (need.bits, need.step.get()) {
            (0, _) => Some(Self::None),
            (1, 256) => Some(Self::Hamming(hamming::Step::Bytes256)),
            (1, 512) => Some(Self::Hamming(hamming::Step::Bytes512)),
            (bits, step) => Some(Self::Bch { step: usize::try_from(step).ok()?, bits }),
        }
    }
}

/// There is no code with these parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCode(pub Code);

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no code {:?}", self.0)
    }
}

impl std::error::Error for UnknownCode {}

/// The result of a correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Corrections {
    /// Corrected bits.
    pub corrected: u32,
    /// The most of them in one step.
    pub worst: u32,
    /// Uncorrectable steps, which are left unchanged.
    pub failed_steps: u32,
}

/// An ECC engine.
#[derive(Debug, Clone)]
pub struct Engine {
    code: Code,
    step: usize,
    code_bytes: usize,
    bch: Option<Bch>,
}

impl Engine {
    /// The engine for `code`.
    ///
    /// # Errors
    /// When the code does not exist.
    pub fn new(code: Code) -> Result<Self, UnknownCode> {
        let (step, code_bytes, bch) = match code {
            Code::None | Code::OnDie => (512, 0, None),
            Code::Hamming(step) => (step.bytes(), hamming::CODE, None),
            Code::Bch { step, bits } => {
                let bch = Bch::linux(step, bits).map_err(|_| UnknownCode(code))?;
                (step, bch.code_bytes(), Some(bch))
            }
        };
        Ok(Self { code, step, code_bytes, bch })
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Data bytes of a step.
    #[must_use]
    pub const fn step(&self) -> usize {
        self.step
    }

    /// ECC bytes of a step.
    #[must_use]
    pub const fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    /// Bit errors that it corrects in a step.
    #[must_use]
    pub const fn strength(&self) -> u32 {
        match self.code {
            Code::None | Code::OnDie => 0,
            Code::Hamming(_) => 1,
            Code::Bch { bits, .. } => bits,
        }
    }

    /// Whether the host has to calculate.
    #[must_use]
    pub const fn is_software(&self) -> bool {
        self.code_bytes > 0
    }

    /// Calculates the ECC bytes of whole steps.
    ///
    /// # Panics
    /// When data and codes are not those of equally many whole steps.
    pub fn calculate(&self, data: &[u8], codes: &mut [u8]) {
        if !self.is_software() {
            return;
        }
        self.check(data, codes);
        let steps = data.chunks_exact(self.step).zip(codes.chunks_exact_mut(self.code_bytes));
        for (data, code) in steps {
            match (self.code, &self.bch) {
                (Code::Hamming(step), _) => code.copy_from_slice(&hamming::calculate(step, data)),
                (_, Some(bch)) => bch.encode(data, code),
                (_, None) => {}
            }
        }
    }

    /// Corrects bit errors of whole steps, and those of their ECC bytes where the code locates them.
    ///
    /// # Panics
    /// When data and codes are not those of equally many whole steps.
    pub fn correct(&self, data: &mut [u8], codes: &mut [u8]) -> Corrections {
        self.correct_steps(data, codes, |_, _| {})
    }

    /// As [`Engine::correct`], and calls `told` for each step with bit errors, with its number and
    /// the corrected bits, or `None` when it is uncorrectable.
    ///
    /// # Panics
    /// As [`Engine::correct`].
    pub fn correct_steps(
        &self,
        data: &mut [u8],
        codes: &mut [u8],
        mut told: impl FnMut(usize, Option<u32>),
    ) -> Corrections {
        let mut met = Corrections::default();
        if !self.is_software() {
            return met;
        }
        self.check(data, codes);
        let steps = data.chunks_exact_mut(self.step).zip(codes.chunks_exact_mut(self.code_bytes));
        for (number, (data, code)) in steps.enumerate() {
            let bits = self.correct_step(data, code);
            if bits != Some(0) {
                told(number, bits);
            }
            match bits {
                Some(bits) => {
                    met.corrected += bits;
                    met.worst = met.worst.max(bits);
                }
                None => met.failed_steps += 1,
            }
        }
        met
    }

    /// The number of corrected bits; `None` when uncorrectable.
    fn correct_step(&self, data: &mut [u8], code: &mut [u8]) -> Option<u32> {
        match (self.code, &self.bch) {
            (_, Some(bch)) => match bch.decode(data, code) {
                Ok(bits) => Some(bits),
                Err(_) => clean_if_erased(data, code, bch.strength()),
            },
            (Code::None | Code::OnDie | Code::Bch { .. }, None) => Some(0),
            (Code::Hamming(step), None) => {
                let stored = [code[0], code[1], code[2]];
                // Scans read many erased pages, whose code are ones as well.
                if stored == [0xFF; 3] && boardlab_mtd::is_erased(data) {
                    return Some(0);
                }
                let calculated = hamming::calculate(step, data);
                if stored == calculated {
                    return Some(0);
                }
                let met = hamming::correct(step, data, stored, calculated).ok()?;
                Some(u32::from(met != hamming::Correction::None))
            }
        }
    }

    #[track_caller]
    fn check(&self, data: &[u8], codes: &[u8]) {
        let fits = data.len().is_multiple_of(self.step)
            && data.len() / self.step * self.code_bytes == codes.len();
        assert!(fits, "Engine: {} data bytes and {} code bytes", data.len(), codes.len());
    }
}

/// Treats a step with no more than `most` zero bits, including its ECC bytes, as erased, and sets
/// it to ones; returns the number of zero bits.
fn clean_if_erased(data: &mut [u8], code: &mut [u8], most: u32) -> Option<u32> {
    let zeros = boardlab_mtd::zero_bits(data.iter().chain(&*code), most)?;
    data.fill(0xFF);
    code.fill(0xFF);
    Some(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Bytes;

    const CODES: [Code; 4] = [
        Code::Hamming(hamming::Step::Bytes256),
        Code::Hamming(hamming::Step::Bytes512),
        Code::Bch { step: 512, bits: 4 },
        Code::Bch { step: 1_024, bits: 24 },
    ];

    #[test]
    fn an_erased_page_has_codes_of_ones_with_every_code() {
        for code in CODES {
            let engine = Engine::new(code).unwrap();
            let mut codes = vec![0; 2_048 / engine.step() * engine.code_bytes()];
            engine.calculate(&[0xFF; 2_048], &mut codes);
            assert!(codes.iter().all(|&byte| byte == 0xFF), "{code:?}");
            assert_eq!(engine.correct(&mut [0xFF; 2_048], &mut codes), Corrections::default());
        }
    }

    #[test]
    fn bits_that_flip_in_an_erased_step_read_clean_up_to_the_strength() {
        for code in CODES {
            let engine = Engine::new(code).unwrap();
            for flips in 0..=engine.strength() + 1 {
                let mut data = vec![0xFF; engine.step()];
                let mut codes = vec![0xFF; engine.code_bytes()];
                for bit in 0..usize::try_from(flips).unwrap() {
                    data[bit * 17 % engine.step()] ^= 1 << (bit % 8);
                }
                let met = engine.correct(&mut data, &mut codes);
                if flips > engine.strength() {
                    assert_eq!(met.failed_steps, 1, "{code:?} {flips}");
                } else {
                    assert_eq!((met.corrected, met.failed_steps), (flips, 0), "{code:?} {flips}");
                    assert!(data.iter().all(|&byte| byte == 0xFF), "{code:?} {flips}");
                }
            }
        }
    }

    #[test]
    fn a_step_that_is_nearly_erased_is_taken_for_erased_only_within_the_strength() {
        let (mut data, mut code) = ([0xFF_u8; 512], [0xFF_u8; 7]);
        data[9] = 0xFC;
        code[3] = 0x7F;
        assert_eq!(clean_if_erased(&mut data, &mut code, 2), None);
        assert_eq!(data[9], 0xFC);
        assert_eq!(clean_if_erased(&mut data, &mut code, 3), Some(3));
        assert_eq!((data, code), ([0xFF; 512], [0xFF; 7]));
    }

    #[test]
    fn what_a_data_sheet_asks_for_gives_a_code_that_corrects_as_much() {
        for (bits, step) in [(0, 512), (1, 256), (1, 512), (4, 512), (8, 512), (24, 1_024)] {
            let need = EccNeed { bits, step: Bytes::new(step) };
            let engine = Engine::new(Code::for_need(need).unwrap()).unwrap();
            assert_eq!(engine.strength(), bits);
        }
        assert!(Engine::new(Code::Bch { step: 512, bits: 65 }).is_err());
    }

    #[test]
    fn the_worst_step_and_the_sum_are_told_apart() {
        let engine = Engine::new(Code::Bch { step: 512, bits: 4 }).unwrap();
        let (mut data, mut codes) = ([0x5A; 2_048], [0; 28]);
        engine.calculate(&data, &mut codes);
        for place in [3, 4, 600, 1_030, 1_031, 1_032, 1_540, 1_541, 1_542, 1_543, 1_544] {
            data[place] ^= 0x10;
        }
        let mut told = Vec::new();
        let met = engine.correct_steps(&mut data, &mut codes, |step, bits| told.push((step, bits)));
        assert_eq!(met, Corrections { corrected: 6, worst: 3, failed_steps: 1 });
        assert_eq!(told, [(0, Some(2)), (1, Some(1)), (2, Some(3)), (3, None)]);
        assert_eq!(data[..1_536], [0x5A; 1_536]);
    }
}
