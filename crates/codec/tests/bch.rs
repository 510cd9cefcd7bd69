//! Errors of up to `t` bits are corrected; an error of one more is never taken for none.

use boardlab_codec::{Bch, Error};
use boardlab_sim::{Seed, Stream};

/// Cases of each strength without `BOARDLAB_FULL`; with it, a million.
const CASES: u64 = 8_000;

fn cases() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 1_000_000 } else { CASES }
}

/// A step as it was written, with its code.
struct Written {
    bch: Bch,
    data: Vec<u8>,
    code: Vec<u8>,
}

impl Written {
    fn random(bch: Bch, stream: &mut Stream) -> Self {
        let mut data = vec![0; bch.step()];
        stream.fill(&mut data);
        let mut code = vec![0; bch.code_bytes()];
        bch.encode(&data, &mut code);
        Self { bch, data, code }
    }

    /// The bits of data and code that carry something.
    fn bits(&self) -> usize {
        self.data.len() * 8 + code_bits(&self.bch)
    }

    /// Data and code with these bits flipped, the first bit of a byte being its highest.
    fn flipped(&self, flips: &[usize]) -> (Vec<u8>, Vec<u8>) {
        let (mut data, mut code) = (self.data.clone(), self.code.clone());
        for flip in flips {
            let byte = flip / 8;
            let place =
                if byte < data.len() { &mut data[byte] } else { &mut code[byte - data.len()] };
            *place ^= 0x80 >> (flip % 8);
        }
        (data, code)
    }

    fn assert_put_right(&self, flips: &[usize]) {
        let (mut data, code) = self.flipped(flips);
        let found = self.bch.decode(&mut data, &code);
        assert_eq!(
            found,
            Ok(u32::try_from(flips.len()).unwrap()),
            "{:?}, bits {flips:?}",
            self.bch
        );
        assert!(data == self.data, "{:?}, bits {flips:?}", self.bch);
    }
}

/// For order 13, which all steps here have but for the small ones.
fn code_bits(bch: &Bch) -> usize {
    let order = if bch.step() == 512 { 13 } else { 9 };
    order * bch.strength() as usize
}

/// `count` different bits below `bits`, in clusters now and then.
fn draw(stream: &mut Stream, count: u64, bits: usize) -> Vec<usize> {
    let bits = u64::try_from(bits).unwrap();
    let mut flips = Vec::new();
    let span = if stream.chance(1, 4) { 64 } else { bits };
    let base = stream.below(bits - span + 1);
    while u64::try_from(flips.len()).unwrap() < count {
        let flip = usize::try_from(base + stream.below(span)).unwrap();
        if !flips.contains(&flip) {
            flips.push(flip);
        }
    }
    flips
}

#[test]
fn codes_of_zeros_are_those_of_another_implementation() {
    // What TI's GPMC controller has to add so that an erased page reads as erased, as Linux 6.1
    // drivers/mtd/nand/raw/omap2.c (bch4_polynomial, bch8_polynomial) and u-boot know it.
    let four = [0x28, 0x13, 0xCC, 0x39, 0x96, 0xAC, 0x7F];
    let eight = [0xEF, 0x51, 0x2E, 0x09, 0xED, 0x93, 0x9A, 0xC2, 0x97, 0x79, 0xE5, 0x24, 0xB5];
    let sixteen = [
        0x9A, 0xD7, 0xEF, 0x91, 0x88, 0x80, 0xFB, 0xF7, 0x06, 0x3A, 0x5C, 0x9F, 0x49, 0x24, 0xD0,
        0x75, 0x02, 0xE3, 0x59, 0xE0, 0xE4, 0xBC, 0x1E, 0x20, 0x70, 0x2E,
    ];
    for (strength, known) in [(4, &four[..]), (8, &eight[..]), (16, &sixteen[..])] {
        let bch = Bch::linux(512, strength).unwrap();
        let mut code = vec![0; bch.code_bytes()];
        bch.encode(&[0; 512], &mut code);
        assert_eq!(code, known, "t = {strength}");
    }
}

#[test]
fn every_single_error_is_put_right() {
    let mut stream = Seed::new(1).stream("bch");
    for strength in [4, 8] {
        let written = Written::random(Bch::linux(512, strength).unwrap(), &mut stream);
        written.assert_put_right(&[]);
        for bit in 0..written.bits() {
            written.assert_put_right(&[bit]);
        }
    }
}

#[test]
fn every_double_and_triple_error_of_a_short_code_is_put_right() {
    let mut stream = Seed::new(1).stream("bch");
    let written = Written::random(Bch::new(9, 3, 32).unwrap(), &mut stream);
    for first in 0..written.bits() {
        for second in 0..first {
            written.assert_put_right(&[first, second]);
        }
    }
    for first in (2..written.bits()).step_by(3) {
        for second in 1..first.min(40) {
            for third in 0..second.min(8) {
                written.assert_put_right(&[first, second, third]);
            }
        }
    }
}

#[test]
fn up_to_the_strength_errors_are_put_right() {
    for strength in [4, 8] {
        let mut stream = Seed::new(1).stream("errors");
        let bch = Bch::linux(512, strength).unwrap();
        for case in 0..cases() {
            let written = Written::random(bch.clone(), &mut stream);
            let count = 1 + case % u64::from(strength);
            let flips = draw(&mut stream, count, written.bits());
            written.assert_put_right(&flips);
        }
    }
}

#[test]
fn one_error_more_is_never_taken_for_none() {
    for strength in [4, 8] {
        let mut stream = Seed::new(1).stream("more");
        let bch = Bch::linux(512, strength).unwrap();
        let mut taken_for_others = 0;
        for _ in 0..cases() {
            let written = Written::random(bch.clone(), &mut stream);
            let flips = draw(&mut stream, u64::from(strength) + 1, written.bits());
            let (mut data, code) = written.flipped(&flips);
            let read = data.clone();
            match bch.decode(&mut data, &code) {
                Err(error) => {
                    assert_eq!(error, Error::Uncorrectable);
                    assert!(data == read, "data of an uncorrectable step stay as they are");
                }
                Ok(count) => {
                    assert!((1..=strength).contains(&count), "bits {flips:?}: {count}");
                    assert!(data != written.data, "bits {flips:?}");
                    taken_for_others += 1;
                }
            }
        }
        eprintln!("t = {strength}: {taken_for_others} of {} read as other data", cases());
        // By theory 0.27 % with t = 4 and 1e-7 with t = 8.
        let most = if strength == 4 { cases() / 200 } else { 2 };
        assert!(taken_for_others <= most, "t = {strength}: {taken_for_others} of {}", cases());
    }
}

#[test]
fn bits_of_the_code_that_carry_nothing_are_ignored() {
    let mut stream = Seed::new(1).stream("bch");
    let written = Written::random(Bch::linux(512, 4).unwrap(), &mut stream);
    for bit in 0..4 {
        let (mut data, mut code) = written.flipped(&[77, 4100]);
        *code.last_mut().unwrap() ^= 1 << bit;
        assert_eq!(written.bch.decode(&mut data, &code), Ok(2));
        assert!(data == written.data);
    }
}
