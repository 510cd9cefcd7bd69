//! The common representation of ARM and Thumb instructions.
//!
//! Layer: rank 3. [`Instruction`] is a [`Condition`] and an [`Operation`]; `decode` creates it from
//! words and half-words, and all engines use it. Source: ARM DDI 0100E, chapters A3 to A7. A Thumb
//! instruction is represented by the ARM operation of the same effect. Offsets of branches and literals
//! are relative to `r15` as the instruction reads it: its own address + 8, or + 4 in Thumb state. A
//! Thumb literal load and `ADD Rd, PC` align that value ([`Operation::Address`], [`Offset::Literal`]).

use serde::{Deserialize, Serialize};

use crate::registers::Psr;

mod display;
mod target;
mod transfer;

pub use display::Disassembly;
pub use transfer::{BlockTransfer, Index, Item, Offset, Transfer};

/// A register number, 0 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Register(u8);

impl Register {
    /// r13.
    pub const SP: Self = Self(13);
    /// r14.
    pub const LR: Self = Self(14);
    /// r15.
    pub const PC: Self = Self(15);

    /// The register whose number is in the lowest four bits of `field`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "masked to four bits")]
    pub const fn field(field: u32) -> Self {
        Self((field & 15) as u8)
    }

    /// The register's number, 0 to 15.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "const: the cast widens")]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// The register's number as an index, 0 to 15.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The odd register of the pair of a double word.
    #[must_use]
    pub const fn odd(self) -> Self {
        Self(self.0 | 1)
    }
}

/// A condition: the values of the condition field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Condition {
    /// Z set.
    Eq,
    /// Z clear.
    Ne,
    /// C set.
    Cs,
    /// C clear.
    Cc,
    /// N set.
    Mi,
    /// N clear.
    Pl,
    /// V set.
    Vs,
    /// V clear.
    Vc,
    /// C set and Z clear.
    Hi,
    /// C clear or Z set.
    Ls,
    /// N equals V.
    Ge,
    /// N differs from V.
    Lt,
    /// Z clear, N equals V.
    Gt,
    /// Z set, or N differs from V.
    Le,
    /// Always; also for instructions in the unconditional space.
    Al,
}

impl Condition {
    /// All conditions, in the order of the condition field.
    pub const ALL: [Self; 15] = [
        Self::Eq,
        Self::Ne,
        Self::Cs,
        Self::Cc,
        Self::Mi,
        Self::Pl,
        Self::Vs,
        Self::Vc,
        Self::Hi,
        Self::Ls,
        Self::Ge,
        Self::Lt,
        Self::Gt,
        Self::Le,
        Self::Al,
    ];

    /// For each condition: bit n is set if it holds when N, Z, C, V are n.
    const HOLDS: [u16; 15] = {
        let mut table = [0; 15];
        let mut index = 0;
        while index < 15 {
            let mut flags = 0;
            while flags < 16 {
                if Self::ALL[index].is_met(Psr(flags << 28)) {
                    table[index] |= 1 << flags;
                }
                flags += 1;
            }
            index += 1;
        }
        table
    };

    /// Whether the condition holds with the flags of `status`.
    #[inline]
    #[must_use]
    pub const fn holds(self, status: Psr) -> bool {
        Self::HOLDS[self as usize] >> (status.0 >> 28) & 1 != 0
    }

    /// The definition of the condition (DDI 0100E, table A3-1).
    const fn is_met(self, status: Psr) -> bool {
        let (n, z) = (status.has(Psr::N), status.has(Psr::Z));
        let (c, v) = (status.has(Psr::C), status.has(Psr::V));
        match self {
            Self::Eq => z,
            Self::Ne => !z,
            Self::Cs => c,
            Self::Cc => !c,
            Self::Mi => n,
            Self::Pl => !n,
            Self::Vs => v,
            Self::Vc => !v,
            Self::Hi => c && !z,
            Self::Ls => !c || z,
            Self::Ge => n == v,
            Self::Lt => n != v,
            Self::Gt => !z && n == v,
            Self::Le => z || n != v,
            Self::Al => true,
        }
    }
}

/// The sixteen data-processing operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the mnemonics of the architecture")]
pub enum DataOperation {
    And,
    Eor,
    Sub,
    Rsb,
    Add,
    Adc,
    Sbc,
    Rsc,
    Tst,
    Teq,
    Cmp,
    Cmn,
    Orr,
    Mov,
    Bic,
    Mvn,
}

impl DataOperation {
    /// Whether there is a result besides the flags: true except for the four comparisons.
    #[must_use]
    pub const fn has_result(self) -> bool {
        !matches!(self, Self::Tst | Self::Teq | Self::Cmp | Self::Cmn)
    }
}

/// A kind of shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shift {
    /// Logical shift left.
    Lsl,
    /// Logical shift right.
    Lsr,
    /// Arithmetic shift right.
    Asr,
    /// Rotate right.
    Ror,
    /// Rotate right by one through the carry flag.
    Rrx,
}

/// The second operand of a data-processing instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operand {
    /// A constant.
    Immediate {
        /// The value after rotation.
        value: u32,
        /// The carry out of the shifter; `None` if the rotation is zero and the carry is unchanged.
        carry: Option<bool>,
    },
    /// A register, shifted by 0 to 31 (LSL), 1 to 32 (LSR, ASR), 1 to 31 (ROR) or 1 (RRX).
    Shifted {
        /// The register to shift.
        rm: Register,
        /// The kind of shift.
        shift: Shift,
        /// The shift amount.
        amount: u8,
    },
    /// A register, shifted by the lowest byte of another one (never RRX).
    ShiftedBy {
        /// The register to shift.
        rm: Register,
        /// The kind of shift.
        shift: Shift,
        /// The register that holds the shift amount.
        rs: Register,
    },
}

/// The half of a register that a 16-bit multiply reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Half {
    /// Bits 15 to 0.
    Bottom,
    /// Bits 31 to 16.
    Top,
}

/// A multiply of 16-bit halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HalfMultiply {
    /// SMULxy, or SMLAxy with an accumulator.
    Short {
        /// Half of `rm`.
        x: Half,
        /// Half of `rs`.
        y: Half,
        /// The accumulator.
        rn: Option<Register>,
    },
    /// SMULWy, or SMLAWy with an accumulator.
    Wide {
        /// Half of `rs`.
        y: Half,
        /// The accumulator.
        rn: Option<Register>,
    },
    /// SMLALxy: `rd` is the high word.
    Long {
        /// Half of `rm`.
        x: Half,
        /// Half of `rs`.
        y: Half,
        /// The low word.
        low: Register,
    },
}

/// The saturating additions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the mnemonics of the architecture")]
pub enum Saturating {
    Qadd,
    Qsub,
    Qdadd,
    Qdsub,
}

/// An access to a coprocessor's register: MCR and MRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CoprocessorAccess {
    /// MRC: from the coprocessor; MCR otherwise.
    pub load: bool,
    /// The coprocessor's number, 0 to 15.
    pub coprocessor: u8,
    /// opcode 1.
    pub opcode1: u8,
    /// CRn.
    pub crn: u8,
    /// CRm.
    pub crm: u8,
    /// opcode 2.
    pub opcode2: u8,
    /// The register of the core; r15 in an MRC sets the flags N, Z, C, V.
    pub rd: Register,
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Data processing.
    Data {
        /// The operation.
        operation: DataOperation,
        /// The S bit: sets the flags; with `rd` r15, restores CPSR from SPSR.
        s: bool,
        /// The result (not of the four comparisons).
        rd: Register,
        /// The first operand (not of MOV and MVN).
        rn: Register,
        /// The second operand.
        operand: Operand,
    },
    /// Thumb `ADD Rd, PC, #n`: `r15` with its lowest two bits zero, plus `offset`.
    Address {
        /// The result.
        rd: Register,
        /// The offset.
        offset: u32,
    },
    /// MUL, MLA.
    Multiply {
        /// Sets N and Z.
        s: bool,
        /// The result.
        rd: Register,
        /// The first factor.
        rm: Register,
        /// The second factor.
        rs: Register,
        /// The accumulator.
        rn: Option<Register>,
    },
    /// UMULL, UMLAL, SMULL, SMLAL.
    MultiplyLong {
        /// Whether the operands are signed.
        signed: bool,
        /// Whether the product is added to the result registers.
        accumulate: bool,
        /// Sets N and Z.
        s: bool,
        /// The high word of the result.
        high: Register,
        /// The low word of the result.
        low: Register,
        /// The first factor.
        rm: Register,
        /// The second factor.
        rs: Register,
    },
    /// The 16-bit multiplies.
    MultiplyHalf {
        /// The kind.
        kind: HalfMultiply,
        /// The result, or its high word.
        rd: Register,
        /// The first factor.
        rm: Register,
        /// The second factor.
        rs: Register,
    },
    /// QADD, QSUB, QDADD, QDSUB: `rm` op `rn`.
    Saturating {
        /// The kind.
        kind: Saturating,
        /// The result.
        rd: Register,
        /// The first operand.
        rm: Register,
        /// The second operand, doubled in QDADD and QDSUB.
        rn: Register,
    },
    /// CLZ.
    Clz {
        /// The result.
        rd: Register,
        /// The operand.
        rm: Register,
    },
    /// LDR, STR and their variants.
    Transfer(Transfer),
    /// LDM, STM.
    BlockTransfer(BlockTransfer),
    /// SWP, SWPB.
    Swap {
        /// SWPB: swaps a byte.
        byte: bool,
        /// The register loaded.
        rd: Register,
        /// The register stored.
        rm: Register,
        /// The address.
        rn: Register,
    },
    /// PLD, which has no effect on this core.
    Preload {
        /// The base.
        rn: Register,
        /// The offset.
        offset: Offset,
    },
    /// B, BL.
    Branch {
        /// The offset of the target from `r15` as read.
        offset: i32,
        /// The return address goes to r14.
        link: bool,
    },
    /// BLX to an address: to Thumb code.
    BranchToThumb {
        /// The offset of the target from `r15` as read, a multiple of two.
        offset: i32,
    },
    /// BX, BLX to a register.
    BranchExchange {
        /// Address and state.
        rm: Register,
        /// The return address goes to r14.
        link: bool,
    },
    /// The first half of a Thumb BL or BLX: r14 = `r15` as read + `offset`.
    BranchPrefix {
        /// The upper part.
        offset: i32,
    },
    /// The second half of a Thumb BL or BLX: to r14 + `offset`, r14 = the next address with bit 0 set.
    BranchSuffix {
        /// The lower part.
        offset: u32,
        /// BLX: to ARM code, at a multiple of four.
        exchange: bool,
    },
    /// MRS.
    ReadStatus {
        /// The result.
        rd: Register,
        /// SPSR; CPSR otherwise.
        saved: bool,
    },
    /// MSR.
    WriteStatus {
        /// SPSR; CPSR otherwise.
        saved: bool,
        /// The bits that the field mask names.
        mask: u32,
        /// The value: an immediate or a plain register.
        operand: Operand,
    },
    /// SWI.
    SoftwareInterrupt {
        /// 24 bits in ARM state, 8 in Thumb state.
        comment: u32,
    },
    /// BKPT: a prefetch abort.
    Breakpoint {
        /// 16 bits in ARM state, 8 in Thumb state.
        comment: u32,
    },
    /// MCR, MRC.
    Coprocessor(CoprocessorAccess),
    /// Undefined instructions, and coprocessor instructions that no coprocessor accepts.
    Undefined,
}

/// A decoded instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// The condition.
    pub condition: Condition,
    /// The operation.
    pub operation: Operation,
}

impl Instruction {
    /// Whether its execution writes r15, even if with the next address: the pipeline is refilled.
    #[must_use]
    pub const fn jumps(&self) -> bool {
        match self.operation {
            Operation::Branch { .. }
            | Operation::BranchToThumb { .. }
            | Operation::BranchExchange { .. }
            | Operation::BranchSuffix { .. } => true,
            Operation::Data { operation, rd, .. } => rd.index() == 15 && operation.has_result(),
            Operation::Transfer(transfer) => transfer.load && transfer.rd.index() == 15,
            Operation::BlockTransfer(transfer) => transfer.jumps(),
            _ => false,
        }
    }
}
