//! Errors of one bit are corrected and errors of two are reported, in data and code.

use boardlab_codec::Error;
use boardlab_codec::hamming::{CODE, Correction, Step, calculate, correct};
use boardlab_sim::Seed;

/// A step as it was written, with its code.
struct Written {
    step: Step,
    data: Vec<u8>,
    code: [u8; CODE],
}

impl Written {
    fn random(step: Step, seed: u64) -> Self {
        let mut data = vec![0; step.bytes()];
        Seed::new(seed).stream("step").fill(&mut data);
        let code = calculate(step, &data);
        Self { step, data, code }
    }

    /// Data and code bits.
    fn bits(&self) -> usize {
        (self.data.len() + CODE) * 8
    }

    /// What is read when these bits have flipped.
    fn flipped(&self, data: &mut [u8], flips: &[usize]) -> [u8; CODE] {
        let mut code = self.code;
        for flip in flips {
            let byte = flip / 8;
            let place =
                if byte < data.len() { &mut data[byte] } else { &mut code[byte - data.len()] };
            *place ^= 1 << (flip % 8);
        }
        code
    }

    /// Reads with these flips; `data` is that of the step before, and what was found of it after.
    fn read(&self, data: &mut [u8], flips: &[usize]) -> Result<Correction, Error> {
        let code = self.flipped(data, flips);
        let calculated = calculate(self.step, data);
        correct(self.step, data, code, calculated)
    }

    /// A bit of the code that carries nothing.
    fn is_unused(&self, bit: usize) -> bool {
        self.step == Step::Bytes256 && bit / 8 == self.data.len() + 2 && bit % 8 < 2
    }
}

#[test]
fn no_error_is_none() {
    for step in [Step::Bytes256, Step::Bytes512] {
        let written = Written::random(step, 1);
        let mut data = written.data.clone();
        assert_eq!(written.read(&mut data, &[]), Ok(Correction::None));
        assert_eq!(data, written.data);
    }
}

#[test]
fn every_single_error_is_put_right() {
    for step in [Step::Bytes256, Step::Bytes512] {
        for seed in 1..=8 {
            let written = Written::random(step, seed);
            let mut data = written.data.clone();
            for bit in 0..written.bits() {
                let expected = if bit / 8 < data.len() {
                    Correction::Data { byte: bit / 8, bit: u32::try_from(bit % 8).unwrap() }
                } else {
                    Correction::Code
                };
                assert_eq!(written.read(&mut data, &[bit]), Ok(expected), "bit {bit}, seed {seed}");
                assert_eq!(data, written.data, "bit {bit}, seed {seed}");
            }
        }
    }
}

#[test]
fn every_double_error_is_reported() {
    for step in [Step::Bytes256, Step::Bytes512] {
        let written = Written::random(step, 1);
        let mut data = written.data.clone();
        let (mut reported, mut harmless) = (0_u64, 0_u64);
        for first in 0..written.bits() {
            for second in 0..first {
                let flips = [first, second];
                match written.read(&mut data, &flips) {
                    Err(Error::Uncorrectable) => {
                        reported += 1;
                        written.flipped(&mut data, &flips);
                    }
                    // Linux too: beside a data bit, a code bit without meaning changes nothing.
                    Ok(Correction::Data { .. }) if written.is_unused(first) => harmless += 1,
                    other => panic!("bits {first} and {second}: {other:?}"),
                }
            }
            assert_eq!(data, written.data, "bit {first}");
        }
        let bits = u64::try_from(written.bits()).unwrap();
        assert_eq!(reported + harmless, bits * (bits - 1) / 2);
        assert_eq!(harmless, if step == Step::Bytes256 { 2 * 2048 } else { 0 });
    }
}

#[test]
fn erased_step_with_one_flip_is_put_right() {
    let mut data = [0xFF; 256];
    data[17] = 0xFD;
    let calculated = calculate(Step::Bytes256, &data);
    let found = correct(Step::Bytes256, &mut data, [0xFF; CODE], calculated);
    assert_eq!(found, Ok(Correction::Data { byte: 17, bit: 1 }));
    assert_eq!(data, [0xFF; 256]);
}
