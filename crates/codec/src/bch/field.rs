//! The Galois field GF(2^m) as powers of its generator, and the generator polynomial of a code.
//!
//! Layer: rank 1. Main types: [`Field`], [`Polynomial`]. The primitive polynomials are Linux' defaults
//! (`lib/bch.c`, `bch_init`).

/// Smallest order.
const ORDER_MIN: u32 = 5;

/// By order from 5: bit `i` is the coefficient of the power `i`.
const PRIMITIVE: [u32; 11] =
    [0x25, 0x43, 0x83, 0x11D, 0x211, 0x409, 0x805, 0x1053, 0x201B, 0x402B, 0x8003];

/// Tables of powers and logarithms.
#[derive(Debug, Clone)]
pub struct Field {
    order: u32,
    /// The powers of the generator, repeated, so that a sum of two logarithms is a valid index.
    power: Vec<u16>,
    /// The logarithm of each element; that of 0 is not used.
    logarithm: Vec<u16>,
}

/// A polynomial over GF(2): bit `i` of the words, lowest first, is the coefficient of the power `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polynomial {
    /// Coefficients, 64 a word.
    pub words: [u64; 9],
    /// Highest power with a coefficient.
    pub degree: usize,
}

impl Polynomial {
    /// Whether the coefficient of a power is 1.
    #[must_use]
    pub fn has(&self, power: usize) -> bool {
        self.words[power / 64] >> (power % 64) & 1 == 1
    }
}

impl Field {
    /// The field of 2^`order` elements, for the orders 5 to 15.
    #[must_use]
    pub fn new(order: u32) -> Option<Self> {
        Self::of(*PRIMITIVE.get(order.checked_sub(ORDER_MIN)? as usize)?)
    }

    /// The field with this primitive polynomial, of degree 5 to 15; `None` for any other polynomial.
    #[must_use]
    pub fn of(primitive: u32) -> Option<Self> {
        let order = primitive.checked_ilog2().filter(|order| (5..=15).contains(order))?;
        let count = (1_usize << order) - 1;
        let mut power = vec![0; 2 * count];
        let mut logarithm = vec![0; count + 1];
        let mut element = 1_u32;
        for exponent in 0..count {
            let value = u16::try_from(element).expect("an element has at most 15 bits");
            power[exponent] = value;
            power[exponent + count] = value;
            logarithm[usize::from(value)] = u16::try_from(exponent).expect("below 2^15");
            element <<= 1;
            if element >> order == 1 {
                element ^= primitive;
            }
            // The powers of the generator of another polynomial repeat early.
            if element == 1 && exponent + 1 < count {
                return None;
            }
        }
        if element != 1 {
            return None;
        }
        Some(Self { order, power, logarithm })
    }

    /// The order `m`.
    #[must_use]
    pub fn order(&self) -> u32 {
        self.order
    }

    /// Elements other than 0.
    #[must_use]
    pub fn count(&self) -> usize {
        self.logarithm.len() - 1
    }

    /// The generator to a power below twice [`Field::count`].
    #[must_use]
    pub fn power(&self, exponent: usize) -> u16 {
        self.power[exponent]
    }

    /// The logarithm of an element other than 0.
    #[must_use]
    pub fn logarithm(&self, element: u16) -> usize {
        usize::from(self.logarithm[usize::from(element)])
    }

    /// The product of two elements.
    #[must_use]
    pub fn multiply(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power[self.logarithm(a) + self.logarithm(b)]
    }

    /// The quotient of two elements; the divisor is not 0.
    #[must_use]
    pub fn divide(&self, a: u16, b: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.power[self.logarithm(a) + self.count() - self.logarithm(b)]
    }

    /// The generator polynomial of the code that corrects `strength` bits: the product of the minimal
    /// polynomials of the odd powers below twice the strength, each once.
    ///
    /// # Panics
    /// If its degree is above 575.
    #[must_use]
    pub fn generator(&self, strength: u32) -> Polynomial {
        let count = self.count();
        let mut is_root = vec![false; count];
        for odd in (1..2 * strength as usize).step_by(2) {
            let mut root = odd % count;
            while !is_root[root] {
                is_root[root] = true;
                root = 2 * root % count;
            }
        }
        // The product of all (x - root) has coefficients 0 and 1 only.
        let mut product = vec![1_u16];
        for root in (0..count).filter(|&root| is_root[root]) {
            product.push(0);
            for index in (0..product.len()).rev() {
                let below = if index == 0 { 0 } else { product[index - 1] };
                product[index] = below ^ self.multiply(product[index], self.power[root]);
            }
        }
        let degree = product.len() - 1;
        assert!(degree < 576, "generator of degree {degree}");
        let mut words = [0; 9];
        for (power, &coefficient) in product.iter().enumerate() {
            words[power / 64] |= u64::from(coefficient) << (power % 64);
        }
        Polynomial { words, degree }
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn every_default_polynomial_is_primitive() {
        for order in 5..=15 {
            let field = Field::new(order).unwrap();
            let mut seen = vec![false; field.count() + 1];
            for exponent in 0..field.count() {
                let element = usize::from(field.power(exponent));
                assert!(!std::mem::replace(&mut seen[element], true), "order {order}");
            }
        }
        assert!(Field::new(4).is_none() && Field::new(16).is_none() && Field::new(0).is_none());
        for primitive in [0x4443, 0x5803] {
            assert_eq!(Field::of(primitive).unwrap().order(), 14);
        }
        // Divisible by x, by x + 1, and irreducible with a generator of a lower order.
        for other in [0x4442, 0x4441, 0x3F, 0x11B, 0, 1, u32::MAX] {
            assert!(Field::of(other).is_none(), "{other:#x}");
        }
    }

    #[test]
    fn generators_of_the_textbook_come_out() {
        // Lin and Costello, appendix C: length 31, t = 1, 2, 3 as 45, 3551, 107657 in octal.
        let field = Field::new(5).unwrap();
        for (strength, octal) in [(1, 0o45), (2, 0o3551), (3, 0o107_657), (5, 0o5_423_325)] {
            assert_eq!(field.generator(strength).words[0], octal, "t = {strength}");
        }
    }

    #[test]
    fn degree_is_order_times_strength() {
        let field = Field::new(13).unwrap();
        for strength in [1, 2, 4, 8, 16, 32] {
            assert_eq!(field.generator(strength).degree, 13 * strength as usize);
        }
    }

    #[test]
    fn division_undoes_multiplication() {
        let field = Field::new(5).unwrap();
        for a in 0..32 {
            for b in 1..32 {
                assert_eq!(field.divide(field.multiply(a, b), b), a);
            }
        }
    }
}
