//! The flash of a product: a NAND or a NOR, and the board that it is on.
//!
//! Layer: rank 10. Main type: [`ProductFlash`].

use crate::nandfs::flash::Wired;
use boardlab_document::{Read, Section};
use boardlab_parts::kind_of_part;
use boardlab_parts::machine::Machine;
use boardlab_parts::nand::board as nand_board;
use boardlab_parts::nand::part::{self as nand_part, PartFile};
use boardlab_parts::nor::board::{self as nor_board, KernelBoard};
use boardlab_parts::nor::part as nor_part;

/// A part with its board.
#[derive(Debug, Clone)]
pub(crate) enum ProductFlash {
    Nand(Box<PartFile>, Box<nand_board::BoardSpec>),
    Nor(Box<boardlab_nor::Part>, Box<KernelBoard>),
}

/// The kinds of parts.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Nand,
    Nor,
}

const KINDS: [(&str, Kind); 2] = [("nand", Kind::Nand), ("nor", Kind::Nor)];

/// Keys of a NAND and its board that no run uses, with the reason.
const UNUSED_OF_NAND: &[(&str, &str)] = &[
    ("board.nand_port.fitted", "here: the times are those of board.nand_port alone"),
    ("part.limits.bad_blocks", "here: no block is bad at first"),
    ("part.limits.bad_marks", "here: no block is bad at first"),
    ("part.errors", "here: bits do not go wrong, blocks die"),
];
/// Those of a NOR.
const UNUSED_OF_NOR: &[(&str, &str)] = &[
    ("product.pages", "on a NOR, which has no pages"),
    ("kernel.verify_write", "on a NOR, whose driver reads nothing back"),
    ("ubifs.sub_pages", "on a NOR, whose bytes are written singly"),
    ("board.cpu.copy_rate", "here: filesystems hand over memory of the kernel"),
    ("board.cpu.context_switch", "here: the driver spins, or sleeps whole timer ticks"),
    ("board.cpu.wake_latency", "here: the driver spins, or sleeps whole timer ticks"),
    ("part.cfi.buffer_typical", "here: Linux waits by the time of a word"),
    ("part.cfi.buffer_max", "here: no program fails"),
    ("part.timing.buffer_program_max", "here: no program fails"),
    ("part.features.masks_ones", "here: no filesystem programs a one over a zero"),
];

impl ProductFlash {
    /// Keys that no run uses, with the reason.
    pub(super) fn unused(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Nand(..) => UNUSED_OF_NAND,
            Self::Nor(..) => UNUSED_OF_NOR,
        }
    }

    /// Reads the sections `part` and `board`; the kind of the part says what the board must have.
    pub(super) fn read(section: &Section<'_>) -> Read<Self> {
        match kind_of_part(section, &KINDS)? {
            Kind::Nand => {
                let part = section.section("part", nand_part::read);
                let board = section.section("board", nand_board::read);
                Ok(Self::Nand(Box::new(part?), Box::new(board?)))
            }
            Kind::Nor => {
                let part = section.section("part", for_filesystems);
                let board = section.section("board", nor_board::read_with_kernel);
                Ok(Self::Nor(Box::new(part?), Box::new(board?)))
            }
        }
    }

    /// The part on the board.
    pub(super) fn wired(&self) -> Wired<'_> {
        match self {
            Self::Nand(file, board) => Wired::sound_nand(&file.part, board),
            Self::Nor(part, board) => Wired::Nor { part, board: &board.flash },
        }
    }

    /// CPU and memory.
    pub(super) fn machine(&self) -> &Machine {
        match self {
            Self::Nand(_, board) => &board.machine,
            Self::Nor(_, board) => &board.machine,
        }
    }
}

/// A part that Linux finds, with sectors of one size.
fn for_filesystems(section: Section<'_>) -> Read<boardlab_nor::Part> {
    let part = nor_part::read(section)?;
    if part.cfi.is_none() {
        let problem = "gives no CFI answer, and the driver asks for it first";
        let help = "take a part with CFI: boardlab list parts nor";
        return Err(section.refuse("title", problem, "a part with a [cfi] section", help));
    }
    let sizes = || part.regions.iter().map(|region| region.size);
    if sizes().any(|size| size != part.regions[0].size) {
        let problem = "has sectors of several sizes, which UBI refuses and JFFS2 takes as one";
        let expected = "a part with equal sectors";
        let help = "a filesystem goes on a partition without the small ones: describe that as a part of its own";
        return Err(section.refuse("geometry", problem, expected, help));
    }
    Ok(part)
}
