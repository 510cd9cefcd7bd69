//! Random ARM words decode to the mnemonic of the GNU disassembler; undefined Thumb half-words.
//!
//! tests/listing.rs tests the other direction. The disassembler knows later architectures and other
//! coprocessors, so this file lists words that it names although ARMv5TE leaves them undefined.

use boardlab_arm926::decode;
use boardlab_arm926::instruction::Operation;
use boardlab_sim::Seed;
use std::collections::BTreeSet;
use std::process::Command;
use std::{env, fs};

/// The disassembler's mnemonic of each word; `None` for undefined ones.
fn names(words: &[u32]) -> Option<Vec<Option<String>>> {
    let path = env::temp_dir().join(format!("boardlab-decode-{}.bin", std::process::id()));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&path, bytes).unwrap();
    let mut tool = Command::new("arm-none-eabi-objdump");
    tool.args(["-D", "-z", "-b", "binary", "-m", "armv5te"]).arg(&path);
    let output = tool.output();
    fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        eprintln!("skipped: needs arm-none-eabi-objdump");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(' ') && line.contains(":\t"));
    let name = |line: &str| {
        let text = line.split('\t').nth(2).unwrap().trim().to_owned();
        (!text.is_empty() && !line.contains("<UNDEFINED>")).then_some(text)
    };
    Some(lines.map(name).collect())
}

/// The space of coprocessor instructions, which are named by the coprocessor.
const fn is_coprocessor(word: u32) -> bool {
    word >> 26 & 3 == 3 && word >> 24 & 15 != 15
}

/// Classes of words whose should-be-zero (or one) fields the disassembler checks: mask and value of the
/// class, mask and value of the fields. The first match counts.
const FIXED: [([u32; 2], [u32; 2]); 12] = [
    ([0x0FB0_00F0, 0x0100_0000], [0x000F_0F0F, 0x000F_0000]), // MRS
    ([0x0FB0_00F0, 0x0120_0000], [0x0000_FF00, 0x0000_F000]), // MSR of a register
    ([0x0FB0_0000, 0x0320_0000], [0x0000_F000, 0x0000_F000]), // MSR of a constant
    ([0x0FF0_00D0, 0x0120_0010], [0x000F_FF00, 0x000F_FF00]), // BX, BLX
    ([0x0FF0_00F0, 0x0160_0010], [0x000F_0F00, 0x000F_0F00]), // CLZ
    ([0x0F90_00F0, 0x0100_0050], [0x0000_0F00, 0]),           // QADD and its kin
    ([0x0FB0_0090, 0x0120_0080], [0x0000_F000, 0]),           // SMULWy, SMULxy (SMLAWy too)
    ([0x0FE0_00F0, 0x0000_0090], [0x0000_F000, 0]),           // MUL
    ([0x0FB0_00F0, 0x0100_0090], [0x0000_0F00, 0]),           // SWP
    ([0x0E40_0090, 0x0000_0090], [0x0000_0F00, 0]),           // half-words, by register
    ([0x0DA0_0000, 0x01A0_0000], [0x000F_0000, 0]),           // MOV, MVN
    ([0x0D90_0000, 0x0110_0000], [0x0000_F000, 0]),           // TST, TEQ, CMP, CMN
];

/// The word with correct values in the should-be fields that we ignore.
fn proper(word: u32) -> u32 {
    let is_multiply = word & 0x0E00_00F0 == 0x90 && word & 0x0180_0000 != 0x0100_0000;
    let fits = |[mask, value]: [u32; 2]| word & mask == value && word >> 28 != 15;
    let class = FIXED.iter().find(|(pick, _)| fits(*pick));
    match class {
        Some(([_, 0x90], [0xF00, _])) if is_multiply => word,
        Some((_, [mask, value])) => word & !mask | value,
        None => word,
    }
}

/// Whether the names may differ. The disassembler names instructions of later architectures,
/// neighbouring encodings, and comparisons without the S bit, which are undefined here. It knows
/// neither BXJ nor a conditional BKPT.
fn may_differ(word: u32, ours: &str, theirs: &str) -> bool {
    let either = |names: &[&str]| names.iter().any(|name| theirs.starts_with(name));
    match ours {
        "undefined" if word >> 28 == 15 => either(&["v", "pli", "pld"]) && !is_preload(word),
        "undefined" if word & 0x0D90_0000 == 0x0100_0000 => {
            either(&["hlt", "tst", "teq", "cmp", "cmn", "msr"]) || word & 0x90 == 0x90
        }
        "undefined" if word & 0x0E00_00F0 == 0x90 => either(&["lsl", "st", "ld"]),
        "undefined" if word & 0x0E00_1090 == 0x1090 => either(&["ldrd", "strd"]),
        "undefined" => theirs == "udf",
        _ if ours.starts_with("bkpt") => word >> 28 != 14,
        _ => word & 0x0FF0_00F0 == 0x0120_0020 && ours.starts_with("bx"),
    }
}

const fn is_preload(word: u32) -> bool {
    word & 0xFF70_F000 == 0xF550_F000 || word & 0xFF70_F010 == 0xF750_F000
}

#[test]
fn random_words_are_named_as_the_disassembler_does() {
    let mut stream = Seed::new(6).stream("decode");
    let random = std::iter::repeat_with(|| {
        let word = u32::try_from(stream.next_u64() >> 32).unwrap();
        if stream.chance(3, 4) { word & 0x0FFF_FFFF | 0xE000_0000 } else { word }
    });
    let words: Vec<u32> =
        random.filter(|&word| !is_coprocessor(word)).map(proper).take(60_000).collect();
    let Some(names) = names(&words) else { return };
    assert_eq!(names.len(), words.len());
    let mut seen = BTreeSet::new();
    for (&word, theirs) in words.iter().zip(&names) {
        let text = decode::arm(word).to_string();
        let ours = text.split(' ').next().unwrap();
        let theirs = theirs.as_deref().unwrap_or("undefined").replace("stmia", "stm");
        let same = ours == theirs || may_differ(word, ours, &theirs);
        assert!(same, "seed 6: {word:08x}: {text}, but {theirs}");
        seen.insert(theirs);
    }
    assert!(seen.len() > 500, "{}", seen.len());
}

#[test]
fn thumb_leaves_undefined_what_figure_a6_1_leaves_blank() {
    for half in 0..=u16::MAX {
        let undefined = match half >> 8 {
            0xB1..=0xB3 | 0xB6..=0xBB | 0xBF | 0xDE => true,
            0xE8..=0xEF => half & 1 != 0,
            _ => false,
        };
        let operation = decode::thumb(half).operation;
        assert_eq!(operation == Operation::Undefined, undefined, "{half:04x}: {operation:?}");
    }
}

#[test]
fn ten_million_random_words_decode() {
    let mut stream = Seed::new(6).stream("decode any");
    let mut undefined = 0;
    for _ in 0..5_000_000 {
        let random = stream.next_u64();
        for half in [random >> 32, random & 0xFFFF_FFFF] {
            let word = u32::try_from(half).unwrap();
            undefined += u32::from(decode::arm(word).operation == Operation::Undefined);
        }
    }
    assert!(undefined > 1_000_000, "{undefined}");
}
