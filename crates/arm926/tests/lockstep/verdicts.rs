//! Defined and undefined encodings: every Thumb half-word, and a sample of ARM words.
//!
//! The other side executes one instruction; any result except an undefined instruction counts as
//! defined.

use boardlab_arm926::{Operation, decode};
use boardlab_sim::{Seed, Stream};

use super::oracle::{Case, Server, State, Status};
use super::{full, say};

const FIRST: u32 = 0x10_0000;
const STRIDE: u32 = 0x40;
const BATCH: usize = 4096;
const SAMPLE: u64 = 60_000;
const FULL: u64 = 500_000;

/// A group of encodings that are undefined on one side only: `mask` selects bits equal to `value`, and
/// at least one bit of a nonzero `any` is set.
struct Difference {
    why: &'static str,
    mask: u32,
    value: u32,
    any: u32,
}

const fn difference(why: &'static str, mask: u32, value: u32, any: u32) -> Difference {
    Difference { why, mask, value, any }
}

/// Half-words that Unicorn executes although ARMv5TE leaves them undefined (DDI 0100E, A6.2).
const THUMB_ONLY_THERE: [Difference; 3] = [
    difference("CBZ and CBNZ of ARMv6T2", 0xF500, 0xB100, 0),
    difference("IT and hints of ARMv6T2", 0xFF00, 0xBF00, 0),
    difference("BLX suffix with bit 0 set (A7.1, BLX)", 0xF801, 0xE801, 0),
];

/// Half-words that are unpredictable in the architecture, undefined in Unicorn, and executed here.
const THUMB_ONLY_HERE: [Difference; 3] = [
    difference("BX and BLX: bits 2 to 0 should be zero", 0xFF00, 0x4700, 7),
    difference("LDMIA and STMIA of no register", 0xF0FF, 0xC000, 0),
    difference("PUSH and POP of no register", 0xF7FF, 0xB400, 0),
];

/// Words that are unpredictable in the architecture, undefined in Unicorn, and executed here. There are
/// none in the other direction.
const ARM_ONLY_HERE: [Difference; 19] = [
    difference("comparison: Rd should be zero", 0x0D90_0000, 0x0110_0000, 0xF000),
    difference("MOV, MVN: Rn should be zero", 0x0DA0_0000, 0x01A0_0000, 0xF_0000),
    difference("MUL: bits 15 to 12 should be zero", 0x0FE0_00F0, 0x0000_0090, 0xF000),
    difference("SWP: bits 11 to 8 should be zero", 0x0FB0_00F0, 0x0100_0090, 0xF00),
    difference(
        "transfer of half-words: bits 11 to 8 should be zero",
        0x0E40_00B0,
        0x0000_00B0,
        0xF00,
    ),
    difference("transfer of signed items or two words: the same", 0x0E40_00D0, 0x0000_00D0, 0xF00),
    difference("transfer of two words: W with post-indexing", 0x0F30_00D0, 0x0020_00D0, 0),
    difference("MRS: fields should be zero or one", 0x0FB0_00F0, 0x0100_0000, 0),
    difference("MSR of a register: fields should be zero or one", 0x0FB0_00F0, 0x0120_0000, 0),
    difference("MSR of a constant: bits 15 to 12 should be one", 0x0FB0_0000, 0x0320_0000, 0),
    difference("BX, BLX, BXJ: bits 19 to 8 should be one", 0x0FF0_00C0, 0x0120_0000, 0),
    difference("CLZ: fields should be one", 0x0FF0_00F0, 0x0160_0010, 0),
    difference("saturation: bits 11 to 8 should be zero", 0x0F90_00F0, 0x0100_0050, 0xF00),
    difference("SMULWy: bits 15 to 12 should be zero", 0x0FF0_00B0, 0x0120_00A0, 0xF000),
    difference("SMULxy: bits 15 to 12 should be zero", 0x0FF0_0090, 0x0160_0080, 0xF000),
    difference("coprocessor 15: what it has is another matter", 0x0F00_0F10, 0x0E00_0F10, 0),
    difference("LDM, STM: user registers and W", 0x0E60_0000, 0x0860_0000, 0),
    difference("LDM, STM: r15 as base", 0x0E0F_0000, 0x080F_0000, 0),
    difference("LDM, STM of no register", 0x0E00_FFFF, 0x0800_0000, 0),
];

fn known(differences: &[Difference], code: u32) -> Option<usize> {
    differences.iter().position(|known| {
        code & known.mask == known.value && (known.any == 0 || code & known.any != 0)
    })
}

/// The differences found, by row of the table, and unexpected ones as text.
struct Found {
    counts: Vec<u64>,
    others: Vec<String>,
}

impl Found {
    fn new(differences: &[Difference]) -> Self {
        Self { counts: vec![0; differences.len()], others: Vec::new() }
    }

    fn note(&mut self, differences: &[Difference], code: u32, text: impl FnOnce() -> String) {
        match known(differences, code) {
            Some(n) => self.counts[n] += 1,
            None => self.others.push(format!("{code:08x}: {}", text())),
        }
    }

    /// Prints the counts; each row of the table must occur.
    fn close(&self, differences: &[Difference]) {
        let shown = &self.others[..self.others.len().min(40)];
        assert!(self.others.is_empty(), "{} differ: {shown:#?}", self.others.len());
        for (difference, count) in differences.iter().zip(&self.counts) {
            say(&format!("{count:8} differ by name: {}", difference.why));
            assert_ne!(*count, 0, "no such difference: {}", difference.why);
        }
    }
}

/// Case `n` of a batch: one instruction in supervisor mode, with registers that point to memory.
fn case(n: usize, code: &[u8], thumb: bool) -> Case {
    let base = FIRST + STRIDE * u32::try_from(n).unwrap();
    let mut memory = code.to_vec();
    memory.resize(16, 0);
    let r = std::array::from_fn(|n| 0x4000 + 0x100 * u32::try_from(n).unwrap());
    let cpsr = if thumb { 0xF3 } else { 0xD3 };
    let state = State { cpsr, r, spsr: cpsr };
    let entry = base | u32::from(thumb);
    Case { base, entry, end: 0, state, banks: None, memory, verdict_only: true }
}

/// Whether each case is undefined on the other side.
fn undefined(server: &Server, cases: &[Case]) -> Vec<bool> {
    let mut verdicts = Vec::new();
    for batch in cases.chunks(BATCH) {
        server.send(batch);
        let answers = server.receive(batch);
        verdicts.extend(answers.iter().map(|answer| answer.status == Status::Undefined));
    }
    verdicts
}

fn is_undefined(operation: &Operation) -> bool {
    match operation {
        Operation::Undefined => true,
        Operation::Coprocessor(access) => access.coprocessor != 15,
        _ => false,
    }
}

#[test]
fn every_thumb_half_word_is_defined_here_where_unicorn_has_it_defined() {
    let Some(server) = Server::start() else { return };
    let cases: Vec<Case> = (0..=u16::MAX)
        .map(|half| {
            let code = [half.to_le_bytes(), 0xF800_u16.to_le_bytes()].concat();
            case(usize::from(half) % BATCH, &code, true)
        })
        .collect();
    let there = undefined(&server, &cases);
    let (mut only_here, mut only_there) =
        (Found::new(&THUMB_ONLY_HERE), Found::new(&THUMB_ONLY_THERE));
    for (half, there) in (0..=u16::MAX).zip(there) {
        let instruction = decode::thumb(half);
        let text = || instruction.to_string();
        match (is_undefined(&instruction.operation), there) {
            (true, false) => only_there.note(&THUMB_ONLY_THERE, u32::from(half), text),
            (false, true) => only_here.note(&THUMB_ONLY_HERE, u32::from(half), text),
            _ => {}
        }
    }
    only_there.close(&THUMB_ONLY_THERE);
    only_here.close(&THUMB_ONLY_HERE);
}

/// A random word with the condition AL, or in the unconditional space.
fn word(stream: &mut Stream) -> u32 {
    let word = u32::try_from(stream.next_u64() >> 32).unwrap();
    let high = if stream.chance(1, 4) { 0xF000_0000 } else { 0xE000_0000 };
    let word = word >> 4 | high;
    // Half of the words are from the sixteenth of the space with most small encodings.
    let word = if stream.chance(1, 2) { word & 0xF1FF_FFFF } else { word };
    if stream.chance(1, 32) { word & !0xFFFF } else { word }
}

#[test]
fn arm_words_are_defined_here_where_unicorn_has_them_defined() {
    let Some(server) = Server::start() else { return };
    let count = if full() { FULL } else { SAMPLE };
    let mut stream = Seed::new(super::SEED).stream("ARM words");
    let mut only_here = Found::new(&ARM_ONLY_HERE);
    let mut compared = 0;
    while compared < count {
        let words: Vec<u32> = (0..BATCH).map(|_| word(&mut stream)).collect();
        let cases: Vec<Case> = (words.iter().enumerate())
            .map(|(n, word)| case(n, &word.to_le_bytes(), false))
            .collect();
        for (word, there) in words.into_iter().zip(undefined(&server, &cases)) {
            compared += 1;
            let instruction = decode::arm(word);
            let here = is_undefined(&instruction.operation);
            assert!(!here || there, "{word:08x} is undefined here only");
            if there && !here {
                only_here.note(&ARM_ONLY_HERE, word, || instruction.to_string());
            }
        }
    }
    say(&format!("{compared} ARM words compared"));
    only_here.close(&ARM_ONLY_HERE);
}
