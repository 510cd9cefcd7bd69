//! Registers that a device tells about itself: the agent writes their bytes, and this reads the values in them.
//!
//! Layer: rank 8. Functions: [`decoded`], [`is_register`]. Sources: IDENTIFY DEVICE, ATA8-ACS 7.16 and, for words
//! 75 and 76, Serial ATA Revision 3, 13.2; SMART attributes, as smartmontools reads what makers agree on; INQUIRY,
//! SPC-4 6.6.2; EXT_CSD, JEDEC JESD84-B51, 7.4.
//!
//! Bytes are hexadecimal digits in a value with the name of the register. What is none stays a text.

use super::Told;
use super::line::text;
use indexmap::IndexMap;

/// Values by name.
type Values = IndexMap<String, Told>;

/// A register: the name of its bytes, how many there are, and how its values are read.
struct Register {
    name: &'static str,
    bytes: usize,
    read: fn(&[u8], &mut Values),
}

const REGISTERS: [Register; 4] = [
    Register { name: "identify", bytes: 512, read: identify },
    Register { name: "smart", bytes: 512, read: smart },
    Register { name: "inquiry", bytes: 96, read: inquiry },
    Register { name: "ext_csd", bytes: 512, read: ext_csd },
];

/// SMART attributes that are told: reallocated sectors, hours, wear levelling, temperature, life left twice, sectors
/// written.
const ATTRIBUTES: [u8; 7] = [5, 9, 177, 194, 231, 233, 241];
/// The table of SMART attributes: where it is, and the bytes of an attribute.
const ATTRIBUTES_AT: std::ops::Range<usize> = 2..362;
const ATTRIBUTE_BYTES: usize = 12;

/// PRE_EOL_INFO of EXT_CSD; DEVICE_LIFE_TIME_EST_TYP_A and _B are behind it.
const PRE_EOL: usize = 267;
/// Fields of EXT_CSD, whose low byte is first: name, offset, bytes.
const EXT_CSD: [(&str, usize, usize); 10] = [
    ("ext_csd_rev", 192, 1),
    ("life_time_a", PRE_EOL + 1, 1),
    ("life_time_b", PRE_EOL + 2, 1),
    ("pre_eol", PRE_EOL, 1),
    ("cache_kbit", 249, 4),
    ("cache_on", 33, 1),
    ("firmware", 254, 8),
    ("sectors", 212, 4),
    ("erase_group_512k", 224, 1),
    ("timing", 185, 1),
];

/// Whether a value of this name has the bytes of a register: they were not read.
pub(crate) fn is_register(name: &str) -> bool {
    REGISTERS.iter().any(|register| register.name == name)
}

/// The values, those in registers in their place. A register that is no bytes, or not as many, stays as it is.
pub(super) fn decoded(values: Values) -> Values {
    let mut all = Values::new();
    for (name, value) in values {
        let register = REGISTERS.iter().find(|register| register.name == name);
        let bytes = register.zip(match &value {
            Told::Text(digits) => bytes_of(digits),
            Told::Number(_) => None,
        });
        match bytes {
            Some((register, bytes)) if bytes.len() == register.bytes => {
                (register.read)(&bytes, &mut all);
            }
            _ => drop(all.insert(name, value)),
        }
    }
    all
}

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let (pairs, []) = digits.as_deref()?.as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| u8::try_from(high * 16 + low).ok()).collect()
}

/// A number whose low byte is first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// A text, without what fills it up.
fn string(bytes: &[u8]) -> Told {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let written: String = bytes[..end].iter().map(|byte| char::from(*byte)).collect();
    Told::Text(text(written.trim_matches(' ').to_owned()))
}

fn identify(data: &[u8], values: &mut Values) {
    let word = |index: usize| number(&data[index * 2..][..2]);
    let bit = |index, bit: u32| word(index) >> bit & 1;
    // The first character of a text is in the upper byte of a word.
    let string_at = |words: std::ops::Range<usize>| {
        let bytes: Vec<u8> = words.flat_map(|word| [data[word * 2 + 1], data[word * 2]]).collect();
        string(&bytes)
    };
    // Word 76 is FFFFh where it is not valid.
    let has_ncq = word(76) != 0xFFFF && bit(76, 8) == 1;
    let has_lba48 = bit(83, 10);
    let sectors =
        if has_lba48 == 1 { number(&data[200..][..8]) } else { number(&data[120..][..4]) };
    values.insert("model".into(), string_at(27..47));
    values.insert("firmware".into(), string_at(23..27));
    values.insert("serial".into(), string_at(10..20));
    for (name, value) in [
        ("sectors", sectors),
        ("lba48", has_lba48),
        ("ncq_depth", if has_ncq { (word(75) & 31) + 1 } else { 0 }),
        ("sata_generations", word(76) >> 1 & 7),
        ("has_write_cache", bit(82, 5)),
        ("write_cache_enabled", bit(85, 5)),
        ("trim", bit(169, 0)),
        ("rotation", word(217)),
    ] {
        values.insert(name.into(), Told::Number(value));
    }
}

fn smart(data: &[u8], values: &mut Values) {
    let (attributes, _) = data[ATTRIBUTES_AT].as_chunks::<ATTRIBUTE_BYTES>();
    for attribute in attributes.iter().filter(|attribute| ATTRIBUTES.contains(&attribute[0])) {
        let raw = Told::Number(number(&attribute[5..11]));
        values.insert(format!("attribute_{}", attribute[0]), raw);
    }
}

fn inquiry(data: &[u8], values: &mut Values) {
    values.insert("vendor".into(), string(&data[8..16]));
    values.insert("model".into(), string(&data[16..32]));
    values.insert("firmware".into(), string(&data[32..36]));
    values.insert("type".into(), Told::Number(u64::from(data[0] & 31)));
}

fn ext_csd(data: &[u8], values: &mut Values) {
    for (name, at, bytes) in EXT_CSD {
        values.insert(name.into(), Told::Number(number(&data[at..][..bytes])));
    }
}

#[cfg(test)]
mod tests;
