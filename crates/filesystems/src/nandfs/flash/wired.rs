//! A part on a board, of which flash devices are made.
//!
//! Layer: rank 10. Main types: [`Wired`]; [`FlashPart`], a part of the same kind, of another size perhaps.

use super::Flash;
use crate::nandfs::scenario::errors::{Errors, SOUND};
use crate::nandfs::scenario::{Kernel, KernelSettings};
use boardlab_experiment::Cause;
use boardlab_media::NandGeometry;
use boardlab_mtd::FlashKind;
use boardlab_nand::chip::Die;
use boardlab_nand::{Nand, Port, PortTiming, Profile};
use boardlab_nor::chip::Chip;
use boardlab_nor::driver::{Board, Kind};
use boardlab_nor::part::Region;
use boardlab_nor::{Bus, Host, NorMtd};
use boardlab_parts::nand::board::{BoardSpec as NandBoard, Port as PortCosts};
use boardlab_parts::nor::board::BoardSpec;
use boardlab_sim::{Bytes, Clock, Seed};
use std::sync::Arc;

/// What the random streams of a NAND are called.
pub(crate) const NAND: &str = "nand";

/// A part, and how it is wired to its board.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wired<'a> {
    Nand {
        part: &'a boardlab_nand::Part,
        /// What the port of the board costs.
        port: PortCosts,
        errors: &'a Errors,
    },
    /// Its sectors are of one size.
    Nor { part: &'a boardlab_nor::Part, board: &'a BoardSpec },
}

/// A part of which one flash is made.
#[derive(Debug, Clone)]
pub(crate) enum FlashPart {
    Nand(Arc<boardlab_nand::Part>),
    Nor(Arc<boardlab_nor::Part>),
}

impl<'a> Wired<'a> {
    /// A NAND on its board, without wear and errors.
    pub(crate) fn sound_nand(part: &'a boardlab_nand::Part, board: &NandBoard) -> Self {
        Self::Nand { part, port: board.port, errors: &SOUND }
    }

    /// What it is.
    pub(crate) fn kind(self) -> FlashKind {
        match self {
            Self::Nand { .. } => FlashKind::Nand,
            Self::Nor { .. } => FlashKind::Nor,
        }
    }

    /// The part, if it is a NAND.
    pub(crate) fn nand(self) -> Option<&'a boardlab_nand::Part> {
        match self {
            Self::Nand { part, .. } => Some(part),
            Self::Nor { .. } => None,
        }
    }

    /// Main bytes of all chips.
    pub(crate) fn size(self) -> Bytes {
        self.block_size() * u64::from(self.blocks())
    }

    /// Bytes of an erase block.
    pub(crate) fn block_size(self) -> Bytes {
        match self {
            Self::Nand { part, .. } => part.geometry.block_size(),
            Self::Nor { part, board } => part.regions[0].size * board.chips as u64,
        }
    }

    /// Erase blocks.
    pub(crate) fn blocks(self) -> u32 {
        match self {
            Self::Nand { part, .. } => part.geometry.blocks,
            Self::Nor { part, .. } => part.sector_count(),
        }
    }

    /// Rated erases of a block.
    pub(crate) fn endurance(self) -> u32 {
        match self {
            Self::Nand { part, .. } => part.endurance,
            Self::Nor { part, .. } => part.endurance,
        }
    }

    /// The part as it is.
    pub(crate) fn whole(self) -> FlashPart {
        self.resized(self.blocks(), self.endurance())
    }

    /// A part of so many blocks that are rated for so many erases.
    pub(crate) fn resized(self, blocks: u32, endurance: u32) -> FlashPart {
        match self {
            Self::Nand { part, .. } => {
                let geometry = NandGeometry { blocks, ..part.geometry };
                let part = boardlab_nand::Part { geometry, endurance, ..part.clone() };
                FlashPart::Nand(Arc::new(part))
            }
            Self::Nor { part, .. } => {
                let regions = vec![Region { count: blocks, ..part.regions[0] }];
                FlashPart::Nor(Arc::new(boardlab_nor::Part { regions, endurance, ..part.clone() }))
            }
        }
    }

    /// A small part for runs whose power is cut.
    pub(crate) fn small(self) -> FlashPart {
        match self {
            Self::Nand { part, .. } => {
                let geometry = NandGeometry { blocks: 96, pages_per_block: 16, ..part.geometry };
                FlashPart::Nand(Arc::new(boardlab_nand::Part { geometry, ..part.clone() }))
            }
            Self::Nor { part, board } => {
                // Not all of it may be written in a single buffer.
                let size = Bytes::new(Bytes::kib(32).get() / board.chips as u64);
                let size = size.max(part.write_buffer.unwrap_or(size)).min(part.regions[0].size);
                let regions = vec![Region { count: 64, size }];
                FlashPart::Nor(Arc::new(boardlab_nor::Part { regions, ..part.clone() }))
            }
        }
    }

    /// The same without wear and errors.
    pub(crate) fn sound(self) -> Self {
        match self {
            Self::Nand { part, port, .. } => Self::Nand { part, port, errors: &SOUND },
            nor @ Self::Nor { .. } => nor,
        }
    }

    /// A new flash of `part` behind the driver of the kernel; every block of a NAND has the wear of the scenario.
    ///
    /// # Errors
    /// The part is none that the driver takes.
    ///
    /// # Panics
    /// When `part` is of another kind.
    pub(crate) fn attach(
        self,
        part: FlashPart,
        kernel: KernelSettings,
        seed: Seed,
    ) -> Result<Flash, Cause> {
        match (self, part) {
            (Self::Nand { port, errors, .. }, FlashPart::Nand(part)) => {
                let profile = match kernel.profile {
                    Kernel::Linux26 => Profile::linux_2_6(&part)?,
                    Kernel::Linux61 => Profile::linux_6_1(&part)?,
                };
                let profile = Profile { verify_write: kernel.verify_write, ..profile };
                let setup = errors.setup(seed.child(NAND));
                let mut die = Die::new(part, &setup)?;
                errors.wear(&mut die);
                let timing = PortTiming {
                    per_command: port.per_command,
                    per_byte: port.per_byte,
                    ..PortTiming::default()
                };
                let port = Port::new(die, timing)?;
                Ok(Nand::attach(port, profile, &mut Clock::new())?.into())
            }
            (Self::Nor { board, .. }, FlashPart::Nor(part)) => {
                let chip =
                    |index| Chip::new(Arc::clone(&part), seed.child(&format!("nor.chip.{index}")));
                let chips = (0..board.chips).map(chip).collect::<Result<_, _>>()?;
                let bus = Bus::new(chips, board.bus);
                let host = Host::new(board.host.clone(), seed.stream("nor.host"));
                let kind = driver(kernel.profile, &part);
                let mut mtd = NorMtd::attach(kind, Board::new(bus, host), &mut Clock::new())?;
                // Filesystems hand over memory of the kernel.
                mtd.driver.profile.copy_unit = None;
                Ok(mtd.into())
            }
            _ => unreachable!("a flash is made of a part of its own kind"),
        }
    }
}

/// The driver for the AMD command set: that of Linux 3.4 stands for older ones.
fn driver(kernel: Kernel, part: &boardlab_nor::Part) -> Kind {
    match kernel {
        Kernel::Linux26 => Kind::Linux34,
        Kernel::Linux61 if part.features.status_register => Kind::Linux61StatusRegister,
        Kernel::Linux61 => Kind::Linux61,
    }
}
