//! The text of an instruction, assembled by the GNU assembler, decodes to the same instruction.
//!
//! The assembler rejects unpredictable instructions, such as a loaded base with write-back; the test
//! limits their number. Branches are printed relative to their own address.

use boardlab_arm926::instruction::{Instruction, Offset, Operand, Operation};
use boardlab_arm926::{Register, decode};
use boardlab_sim::{Seed, Stream};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Instructions of a state, and the function that decodes one from the bytes at its address.
struct Tried {
    thumb: bool,
    instructions: Vec<Instruction>,
}

impl Tried {
    fn text(&self, skipped: &BTreeSet<usize>) -> String {
        let state = if self.thumb { ".thumb" } else { ".arm" };
        let mut text = format!(".syntax unified\n{state}\n");
        for (index, instruction) in self.instructions.iter().enumerate() {
            if !skipped.contains(&index) {
                text += &line(instruction, self.thumb);
            }
            text.push('\n');
        }
        text
    }

    fn decoded(&self, bytes: &[u8]) -> Vec<Instruction> {
        if self.thumb {
            let halves =
                bytes.chunks_exact(2).map(|two| u16::from_le_bytes(two.try_into().unwrap()));
            halves.map(decode::thumb).collect()
        } else {
            let words =
                bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
            words.map(decode::arm).collect()
        }
    }
}

/// The instruction as source text: `.` stands for its address, where ours prints `pc`.
fn line(instruction: &Instruction, thumb: bool) -> String {
    let text = instruction.to_string();
    match instruction.operation {
        Operation::Branch { offset, .. } | Operation::BranchToThumb { offset } => {
            let (mnemonic, _) = text.split_once(' ').unwrap();
            format!("{mnemonic} .{:+}", offset + if thumb { 4 } else { 8 })
        }
        _ => text,
    }
}

/// Removes what the text does not express: the carry of an immediate, which depends on the rotation
/// that the assembler selects, the result of comparisons, and the first operand of moves.
fn normal(mut instruction: Instruction) -> Instruction {
    let operation = &mut instruction.operation;
    if let Operation::Data { operation, rd, rn, .. } = operation {
        use boardlab_arm926::instruction::DataOperation::{Cmn, Cmp, Mov, Mvn, Teq, Tst};
        match operation {
            Tst | Teq | Cmp | Cmn => *rd = Register::field(0),
            Mov | Mvn => *rn = Register::field(0),
            _ => {}
        }
    }
    if let Operation::Data { operand: Operand::Immediate { carry, .. }, .. }
    | Operation::WriteStatus { operand: Operand::Immediate { carry, .. }, .. } = operation
    {
        *carry = None;
    }
    if let Operation::Transfer(transfer) = operation
        && let (Register::PC, Offset::Literal(offset)) = (transfer.rn, transfer.offset)
    {
        transfer.offset = Offset::Immediate(offset);
    }
    instruction
}

/// Assembles `text` in `folder`; returns the bytes, or the rejected lines, counted from 0.
fn assembled(folder: &Path, text: &str) -> Result<Vec<u8>, BTreeSet<usize>> {
    let path = |name: &str| folder.join(name);
    fs::write(path("a.s"), text).unwrap();
    let mut assembler = Command::new("arm-none-eabi-as");
    assembler.args(["-mcpu=arm926ej-s", "-o"]).arg(path("a.o")).arg(path("a.s"));
    let output = assembler.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let errors = said.lines().filter(|line| line.contains("Error:"));
    if env::var_os("SHOW").is_some() {
        errors.clone().for_each(|line| eprintln!("{line}"));
    }
    let number =
        |line: &str| line.split(':').nth(1).and_then(|number| number.parse::<usize>().ok());
    let refused: BTreeSet<_> = errors.filter_map(number).map(|line| line - 3).collect();
    if !output.status.success() {
        assert!(!refused.is_empty(), "{said}");
        return Err(refused);
    }
    let mut copy = Command::new("arm-none-eabi-objcopy");
    copy.args(["-O", "binary", "-j", ".text"]).arg(path("a.o")).arg(path("a.bin"));
    assert!(copy.status().unwrap().success());
    Ok(fs::read(path("a.bin")).unwrap())
}

/// Prints, assembles, decodes and compares; returns the number of rejected instructions.
fn round_trip(name: &str, tried: &Tried) -> usize {
    let folder = env::temp_dir().join(format!("boardlab-listing-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut skipped = BTreeSet::new();
    let bytes = loop {
        match assembled(&folder, &tried.text(&skipped)) {
            Ok(bytes) => break bytes,
            Err(refused) => skipped.extend(refused),
        }
    };
    fs::remove_dir_all(&folder).unwrap();
    let kept = (0..).zip(&tried.instructions).filter(|(index, _)| !skipped.contains(index));
    let kept: Vec<_> = kept.map(|(_, instruction)| *instruction).collect();
    let again = tried.decoded(&bytes);
    for (first, second) in kept.iter().zip(&again) {
        assert_eq!(normal(*first), normal(*second), "{}", line(first, tried.thumb));
    }
    assert!(again.len() >= kept.len() && again.len() <= kept.len() + 1, "padding alone is more");
    skipped.len()
}

fn is_there(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        eprintln!("skipped: needs {tool}");
    }
    there
}

/// A word of the encoding space: uniform, or similar to one whose fields are often all zeros or ones.
fn word(stream: &mut Stream) -> u32 {
    let word = u32::try_from(stream.next_u64() >> 32).unwrap();
    if stream.chance(1, 8) { word | 0xE000_0000 } else { word }
}

#[test]
fn arm_instructions_are_printed_as_the_assembler_reads_them() {
    if !is_there("arm-none-eabi-as") {
        return;
    }
    let mut stream = Seed::new(6).stream("listing");
    let full = env::var_os("BOARDLAB_FULL").is_some();
    let words = (0..if full { 1_000_000 } else { 40_000 }).map(|_| word(&mut stream));
    let instructions = words.map(decode::arm);
    let kept = |one: &Instruction| match one.operation {
        // The assembler may replace an addition to pc by a subtraction.
        Operation::Data { rn: Register::PC, operand: Operand::Immediate { .. }, .. } => false,
        operation => operation != Operation::Undefined,
    };
    let tried = Tried { thumb: false, instructions: instructions.filter(kept).collect() };
    let refused = round_trip("arm", &tried);
    let all = tried.instructions.len();
    assert!(all > 20_000 && refused * 100 < all * 10, "seed 6: {refused} of {all} refused");
}

#[test]
fn thumb_instructions_are_printed_as_the_assembler_reads_them() {
    if !is_there("arm-none-eabi-as") {
        return;
    }
    let instructions = (0..=u16::MAX).map(decode::thumb);
    let whole = |one: &Instruction| {
        use Operation::{BranchPrefix, BranchSuffix, Undefined};
        !matches!(one.operation, BranchPrefix { .. } | BranchSuffix { .. } | Undefined)
    };
    let tried = Tried { thumb: true, instructions: instructions.filter(whole).collect() };
    let refused = round_trip("thumb", &tried);
    let all = tried.instructions.len();
    assert!(all > 50_000 && refused * 100 < all * 2, "{refused} of {all} refused");
}
