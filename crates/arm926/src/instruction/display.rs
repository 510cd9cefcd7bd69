//! Instructions as text, in the unified syntax of the ARM assembler.
//!
//! Layer: rank 3. Main type: [`Disassembly`], an instruction at its address, which prints the
//! addresses of branch targets and literals. An [`Instruction`] alone prints them relative to `pc`.
//! The text can be assembled to an instruction of the same meaning, except the single halves of a
//! Thumb BL, which no assembler accepts. Mnemonics: ARM DDI 0100E, A4 and A7; the order of suffixes
//! (S before the condition) is that of the GNU assembler's `.syntax unified`.

use std::fmt;

use super::{
    BlockTransfer, Condition, CoprocessorAccess, DataOperation, Half, HalfMultiply, Index,
    Instruction, Item, Offset, Operand, Operation, Register, Saturating, Shift, Transfer,
};

/// An instruction at its address, which prints the addresses of its branch target and literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disassembly<'a> {
    instruction: &'a Instruction,
    /// The value that the instruction reads as r15, if its address is known.
    place: Option<u32>,
}

impl Instruction {
    /// This instruction at the address `at`, in Thumb state or not.
    #[must_use]
    pub const fn disassembly(&self, at: u32, thumb: bool) -> Disassembly<'_> {
        let place = Some(at.wrapping_add(if thumb { 4 } else { 8 }));
        Disassembly { instruction: self, place }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Disassembly { instruction: self, place: None }.fmt(f)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            13 => f.pad("sp"),
            14 => f.pad("lr"),
            15 => f.pad("pc"),
            index => f.pad(&format!("r{index}")),
        }
    }
}

impl fmt::Display for Condition {
    /// As a suffix: nothing for [`Condition::Al`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Cs => "cs",
            Self::Cc => "cc",
            Self::Mi => "mi",
            Self::Pl => "pl",
            Self::Vs => "vs",
            Self::Vc => "vc",
            Self::Hi => "hi",
            Self::Ls => "ls",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Gt => "gt",
            Self::Le => "le",
            Self::Al => "",
        })
    }
}

impl fmt::Display for DataOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::And => "and",
            Self::Eor => "eor",
            Self::Sub => "sub",
            Self::Rsb => "rsb",
            Self::Add => "add",
            Self::Adc => "adc",
            Self::Sbc => "sbc",
            Self::Rsc => "rsc",
            Self::Tst => "tst",
            Self::Teq => "teq",
            Self::Cmp => "cmp",
            Self::Cmn => "cmn",
            Self::Orr => "orr",
            Self::Mov => "mov",
            Self::Bic => "bic",
            Self::Mvn => "mvn",
        })
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lsl => "lsl",
            Self::Lsr => "lsr",
            Self::Asr => "asr",
            Self::Ror => "ror",
            Self::Rrx => "rrx",
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Immediate { value, .. } => write!(f, "#{}", Constant(value)),
            Self::Shifted { rm, shift, amount } => {
                write!(f, "{}", ShiftedRegister { rm, shift, amount })
            }
            Self::ShiftedBy { rm, shift, rs } => write!(f, "{rm}, {shift} {rs}"),
        }
    }
}

/// A constant: small ones in decimal, others in hexadecimal.
struct Constant(u32);

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_024 { write!(f, "{}", self.0) } else { write!(f, "{:#x}", self.0) }
    }
}

/// A register with its shift by a constant.
struct ShiftedRegister {
    rm: Register,
    shift: Shift,
    amount: u8,
}

impl fmt::Display for ShiftedRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rm, shift, amount } = self;
        match (shift, amount) {
            (Shift::Lsl, 0) => write!(f, "{rm}"),
            (Shift::Rrx, _) => write!(f, "{rm}, rrx"),
            _ => write!(f, "{rm}, {shift} #{amount}"),
        }
    }
}

/// The offset of a transfer with its sign.
struct SignedOffset(Offset);

impl fmt::Display for SignedOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Offset::Immediate(value) | Offset::Literal(value) => {
                let sign = if value < 0 { "-" } else { "" };
                write!(f, "#{sign}{}", Constant(value.unsigned_abs()))
            }
            Offset::Register { rm, shift, amount, subtract } => {
                let sign = if subtract { "-" } else { "" };
                write!(f, "{sign}{}", ShiftedRegister { rm, shift, amount })
            }
        }
    }
}

/// The base and the offset of a transfer.
struct AddressOperand {
    rn: Register,
    offset: Offset,
    index: Index,
}

impl fmt::Display for AddressOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rn, offset, index } = self;
        match (index, offset) {
            (Index::Offset, Offset::Immediate(0)) => write!(f, "[{rn}]"),
            (Index::Offset, _) => write!(f, "[{rn}, {}]", SignedOffset(*offset)),
            (Index::Pre, _) => write!(f, "[{rn}, {}]!", SignedOffset(*offset)),
            (Index::Post | Index::PostUser, _) => write!(f, "[{rn}], {}", SignedOffset(*offset)),
        }
    }
}

/// A register list, with consecutive registers as ranges.
struct List(u16);

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |index: u32| index < 16 && self.0 >> index & 1 == 1;
        let (mut index, mut joint) = (0, "");
        f.write_str("{")?;
        while index < 16 {
            let first = index;
            // sp, lr and pc are printed by name, not in a range.
            while has(index) && index < 13 && has(index + 1) && index + 1 < 13 {
                index += 1;
            }
            if has(first) {
                let dash = if index > first + 1 { "-" } else { ", " };
                write!(f, "{joint}{}", Register::field(first))?;
                if index > first {
                    write!(f, "{dash}{}", Register::field(index))?;
                }
                joint = ", ";
            }
            index += 1;
        }
        f.write_str("}")
    }
}

const fn half(half: Half) -> char {
    match half {
        Half::Bottom => 'b',
        Half::Top => 't',
    }
}

const fn s_suffix(s: bool) -> &'static str {
    if s { "s" } else { "" }
}

impl fmt::Display for Disassembly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let condition = self.instruction.condition;
        match self.instruction.operation {
            Operation::Data { .. } => self.data(f),
            Operation::Address { rd, offset } => {
                write!(f, "add{condition} {rd}, pc, #{}", Constant(offset))?;
                self.comment(f, offset, true)
            }
            Operation::Multiply { .. }
            | Operation::MultiplyLong { .. }
            | Operation::MultiplyHalf { .. }
            | Operation::Saturating { .. } => self.multiply(f),
            Operation::Clz { rd, rm } => write!(f, "clz{condition} {rd}, {rm}"),
            Operation::Transfer(transfer) => self.transfer(f, &transfer),
            Operation::BlockTransfer(block) => self.block(f, &block),
            Operation::Swap { byte, rd, rm, rn } => {
                let byte = if byte { "b" } else { "" };
                write!(f, "swp{byte}{condition} {rd}, {rm}, [{rn}]")
            }
            Operation::Preload { rn, offset } => {
                write!(f, "pld {}", AddressOperand { rn, offset, index: Index::Offset })
            }
            Operation::Coprocessor(access) => self.coprocessor(f, &access),
            Operation::Undefined => f.write_str("undefined"),
            _ => self.control(f),
        }
    }
}

impl Disassembly<'_> {
    fn data(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation::Data { operation, s, rd, rn, operand } = self.instruction.operation else {
            return Ok(());
        };
        let (condition, s) = (self.instruction.condition, s_suffix(s));
        match operation {
            DataOperation::Tst | DataOperation::Teq | DataOperation::Cmp | DataOperation::Cmn => {
                write!(f, "{operation}{condition} {rn}, {operand}")
            }
            DataOperation::Mov => match operand {
                Operand::Shifted { rm, shift: Shift::Rrx, .. } => {
                    write!(f, "rrx{s}{condition} {rd}, {rm}")
                }
                Operand::Shifted { rm, shift, amount } if amount > 0 => {
                    write!(f, "{shift}{s}{condition} {rd}, {rm}, #{amount}")
                }
                Operand::ShiftedBy { rm, shift, rs } => {
                    write!(f, "{shift}{s}{condition} {rd}, {rm}, {rs}")
                }
                _ => write!(f, "mov{s}{condition} {rd}, {operand}"),
            },
            DataOperation::Mvn => write!(f, "mvn{s}{condition} {rd}, {operand}"),
            _ => write!(f, "{operation}{s}{condition} {rd}, {rn}, {operand}"),
        }
    }

    fn multiply(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let condition = self.instruction.condition;
        match self.instruction.operation {
            Operation::Multiply { s, rd, rm, rs, rn: None } => {
                write!(f, "mul{}{condition} {rd}, {rm}, {rs}", s_suffix(s))
            }
            Operation::Multiply { s, rd, rm, rs, rn: Some(rn) } => {
                write!(f, "mla{}{condition} {rd}, {rm}, {rs}, {rn}", s_suffix(s))
            }
            Operation::MultiplyLong { signed, accumulate, s, high, low, rm, rs } => {
                let sign = if signed { 's' } else { 'u' };
                let kind = if accumulate { "mlal" } else { "mull" };
                write!(f, "{sign}{kind}{}{condition} {low}, {high}, {rm}, {rs}", s_suffix(s))
            }
            Operation::MultiplyHalf { kind, rd, rm, rs } => match kind {
                HalfMultiply::Short { x, y, rn } => {
                    let (kind, x, y) =
                        (if rn.is_some() { "smla" } else { "smul" }, half(x), half(y));
                    write!(f, "{kind}{x}{y}{condition} {rd}, {rm}, {rs}")?;
                    rn.map_or(Ok(()), |rn| write!(f, ", {rn}"))
                }
                HalfMultiply::Wide { y, rn } => {
                    let (kind, y) = (if rn.is_some() { "smlaw" } else { "smulw" }, half(y));
                    write!(f, "{kind}{y}{condition} {rd}, {rm}, {rs}")?;
                    rn.map_or(Ok(()), |rn| write!(f, ", {rn}"))
                }
                HalfMultiply::Long { x, y, low } => {
                    write!(f, "smlal{}{}{condition} {low}, {rd}, {rm}, {rs}", half(x), half(y))
                }
            },
            Operation::Saturating { kind, rd, rm, rn } => {
                let kind = match kind {
                    Saturating::Qadd => "qadd",
                    Saturating::Qsub => "qsub",
                    Saturating::Qdadd => "qdadd",
                    Saturating::Qdsub => "qdsub",
                };
                write!(f, "{kind}{condition} {rd}, {rm}, {rn}")
            }
            _ => Ok(()),
        }
    }

    fn transfer(&self, f: &mut fmt::Formatter<'_>, transfer: &Transfer) -> fmt::Result {
        let Transfer { load, item, rd, rn, offset, index } = *transfer;
        let kind = if load { "ldr" } else { "str" };
        let item_suffix = match item {
            Item::Word => "",
            Item::Byte => "b",
            Item::Half => "h",
            Item::SignedByte => "sb",
            Item::SignedHalf => "sh",
            Item::Double => "d",
        };
        let user = if index == Index::PostUser { "t" } else { "" };
        write!(f, "{kind}{item_suffix}{user}{} {rd}, ", self.instruction.condition)?;
        if item == Item::Double {
            write!(f, "{}, ", Register::field(u32::from(rd.0) + 1))?;
        }
        write!(f, "{}", AddressOperand { rn, offset, index })?;
        match (rn, index, offset) {
            (Register::PC, Index::Offset, Offset::Immediate(offset)) => {
                self.comment(f, offset.cast_unsigned(), false)
            }
            (Register::PC, Index::Offset, Offset::Literal(offset)) => {
                self.comment(f, offset.cast_unsigned(), true)
            }
            _ => Ok(()),
        }
    }

    /// The address relative to r15 as a comment, if the instruction's own address is known.
    fn comment(&self, f: &mut fmt::Formatter<'_>, offset: u32, aligned: bool) -> fmt::Result {
        let Some(pc) = self.place else { return Ok(()) };
        let pc = if aligned { pc & !3 } else { pc };
        write!(f, " @ {:#x}", pc.wrapping_add(offset))
    }

    fn block(&self, f: &mut fmt::Formatter<'_>, block: &BlockTransfer) -> fmt::Result {
        let BlockTransfer { load, rn, list, up, before, writeback, user } = *block;
        let condition = self.instruction.condition;
        let stacked = rn == Register::SP && writeback && !user && list.count_ones() > 1;
        let user = if user { "^" } else { "" };
        let registers = List(list);
        match (load, up, before) {
            (false, false, true) if stacked => write!(f, "push{condition} {registers}"),
            (true, true, false) if stacked => write!(f, "pop{condition} {registers}"),
            _ => {
                let kind = if load { "ldm" } else { "stm" };
                let order = match (up, before) {
                    (true, false) => "",
                    (true, true) => "ib",
                    (false, false) => "da",
                    (false, true) => "db",
                };
                let back = if writeback { "!" } else { "" };
                write!(f, "{kind}{order}{condition} {rn}{back}, {registers}{user}")
            }
        }
    }

    fn coprocessor(&self, f: &mut fmt::Formatter<'_>, access: &CoprocessorAccess) -> fmt::Result {
        let CoprocessorAccess { load, coprocessor, opcode1, crn, crm, opcode2, rd } = access;
        let (kind, condition) = (if *load { "mrc" } else { "mcr" }, self.instruction.condition);
        write!(f, "{kind}{condition} p{coprocessor}, {opcode1}, ")?;
        match (load, *rd) {
            (true, Register::PC) => f.write_str("APSR_nzcv")?,
            (_, rd) => write!(f, "{rd}")?,
        }
        write!(f, ", c{crn}, c{crm}, {opcode2}")
    }

    /// Branches, status registers, calls.
    fn control(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let condition = self.instruction.condition;
        let link = |link: bool| if link { "l" } else { "" };
        match self.instruction.operation {
            Operation::Branch { offset, link: is_call } => {
                write!(f, "b{}{condition} ", link(is_call))?;
                self.target(f, offset)
            }
            Operation::BranchToThumb { offset } => {
                f.write_str("blx ")?;
                self.target(f, offset)
            }
            Operation::BranchExchange { rm, link: is_call } => {
                write!(f, "b{}x{condition} {rm}", link(is_call))
            }
            Operation::BranchPrefix { offset } => {
                f.write_str("bl (1 of 2): lr = ")?;
                self.target(f, offset)
            }
            Operation::BranchSuffix { offset, exchange } => {
                let exchange = if exchange { "x" } else { "" };
                write!(f, "bl{exchange} (2 of 2): lr + {}", Constant(offset))
            }
            Operation::ReadStatus { rd, saved } => {
                write!(f, "mrs{condition} {rd}, {}", status(saved))
            }
            Operation::WriteStatus { saved, mask, operand } => {
                write!(f, "msr{condition} {}_", status(saved))?;
                for (shift, field) in [(24, 'f'), (16, 's'), (8, 'x'), (0, 'c')] {
                    if mask >> shift & 0xFF != 0 {
                        write!(f, "{field}")?;
                    }
                }
                write!(f, ", {operand}")
            }
            Operation::SoftwareInterrupt { comment } => write!(f, "svc{condition} {comment:#x}"),
            Operation::Breakpoint { comment } => write!(f, "bkpt{condition} {comment:#x}"),
            _ => Ok(()),
        }
    }

    /// An address relative to r15.
    fn target(&self, f: &mut fmt::Formatter<'_>, offset: i32) -> fmt::Result {
        match self.place {
            Some(pc) => write!(f, "{:#x}", pc.wrapping_add_signed(offset)),
            None => write!(f, "pc{offset:+}"),
        }
    }
}

const fn status(saved: bool) -> &'static str {
    if saved { "SPSR" } else { "CPSR" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always(operation: Operation) -> Instruction {
        Instruction { condition: Condition::Al, operation }
    }

    fn r(index: u32) -> Register {
        Register::field(index)
    }

    #[test]
    fn a_list_names_ranges_of_three_or_more() {
        let text = |list| List(list).to_string();
        assert_eq!(text(0b0000_0000_0000_0111), "{r0-r2}");
        assert_eq!(text(0b1101_0000_0011_0001), "{r0, r4, r5, r12, lr, pc}");
        assert_eq!(text(0b0011_1000_0000_0000), "{r11, r12, sp}");
        assert_eq!(text(0xFFFF), "{r0-r12, sp, lr, pc}");
        assert_eq!(text(0), "{}");
    }

    #[test]
    fn the_condition_follows_the_s() {
        let operand = Operand::Shifted { rm: r(3), shift: Shift::Asr, amount: 32 };
        let operation =
            Operation::Data { operation: DataOperation::Sub, s: true, rd: r(1), rn: r(2), operand };
        let instruction = Instruction { condition: Condition::Ne, operation };
        assert_eq!(instruction.to_string(), "subsne r1, r2, r3, asr #32");
    }

    #[test]
    fn a_shift_alone_has_a_name_of_its_own() {
        let data = |operand| {
            let operation = DataOperation::Mov;
            always(Operation::Data { operation, s: false, rd: r(0), rn: r(0), operand }).to_string()
        };
        let shifted = |shift, amount| Operand::Shifted { rm: r(1), shift, amount };
        assert_eq!(data(shifted(Shift::Lsl, 0)), "mov r0, r1");
        assert_eq!(data(shifted(Shift::Lsr, 32)), "lsr r0, r1, #32");
        assert_eq!(data(shifted(Shift::Rrx, 1)), "rrx r0, r1");
        assert_eq!(
            data(Operand::Immediate { value: 0xFF00_0000, carry: None }),
            "mov r0, #0xff000000"
        );
    }

    #[test]
    fn branches_and_literals_say_where_in_both_states() {
        let branch = always(Operation::Branch { offset: -8, link: true });
        assert_eq!(branch.to_string(), "bl pc-8");
        assert_eq!(branch.disassembly(0x8000, false).to_string(), "bl 0x8000");
        assert_eq!(branch.disassembly(0x8000, true).to_string(), "bl 0x7ffc");
        let load = always(Operation::Transfer(Transfer {
            load: true,
            item: Item::Word,
            rd: r(0),
            rn: Register::PC,
            offset: Offset::Literal(8),
            index: Index::Offset,
        }));
        assert_eq!(load.to_string(), "ldr r0, [pc, #8]");
        assert_eq!(load.disassembly(0x102, true).to_string(), "ldr r0, [pc, #8] @ 0x10c");
    }
}
