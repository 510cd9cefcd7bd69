//! The split of jobs into commands, and the FISes of commands.
//!
//! Layer: below [`crate::host::Host`]. Main types: [`Command`], [`Plan`]. Source: ACS-2, chapter 7;
//! Linux 6.1 `ata_build_rw_tf` for the fields of LBA, count and tag. A count of zero means the maximum:
//! 256 sectors for 28-bit commands, 65,536 for 48-bit commands.

use crate::SECTOR_DWORDS;
use crate::host::job::{Addressing, Direction, Job, Transfer};
use crate::wire::fis::RegisterH2d;

/// The command set of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandSet {
    Lba28,
    Lba48,
    Queued,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Identify,
    Flush { extended: bool },
    SetFeatures { feature: u8, value: u8 },
    Transfer { direction: Direction, form: CommandSet },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) code: Code,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
    /// Attempts that failed because of the link.
    pub(crate) tries: u32,
}

/// Values of the device register. DEVICE_LBA selects LBA addressing; bits 7 and 5 are obsolete, and
/// hosts set them in 28-bit commands.
const DEVICE_LBA: u8 = 0x40;
const DEVICE_LBA28: u8 = 0xE0;
const DEVICE_NONE: u8 = 0xA0;

impl Command {
    /// Returns the payload dwords of the command.
    pub(crate) fn dwords(&self) -> u64 {
        match self.code {
            Code::Identify => u64::from(SECTOR_DWORDS),
            Code::Transfer { .. } => u64::from(self.sectors) * u64::from(SECTOR_DWORDS),
            Code::Flush { .. } | Code::SetFeatures { .. } => 0,
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self.code, Code::Transfer { direction: Direction::Write, .. })
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.code, Code::Transfer { form: CommandSet::Queued, .. })
    }

    /// Whether the address has 28 bits, four of them in the device register.
    pub(crate) const fn is_28_bit(&self) -> bool {
        matches!(self.code, Code::Transfer { form: CommandSet::Lba28, .. })
    }

    /// Returns the unqueued command for the same sectors, as reissued after an NCQ error.
    pub(crate) fn unqueued(self) -> Self {
        match self.code {
            Code::Transfer { direction, form: CommandSet::Queued } => {
                Self { code: Code::Transfer { direction, form: CommandSet::Lba48 }, ..self }
            }
            _ => self,
        }
    }

    /// Returns the command code.
    pub(crate) fn opcode(&self) -> u8 {
        match self.code {
            Code::Identify => 0xEC,
            Code::Flush { extended: true } => 0xEA,
            Code::Flush { extended: false } => 0xE7,
            Code::SetFeatures { .. } => 0xEF,
            Code::Transfer { direction: Direction::Read, form } => match form {
                CommandSet::Lba28 => 0xC8,
                CommandSet::Lba48 => 0x25,
                CommandSet::Queued => 0x60,
            },
            Code::Transfer { direction: Direction::Write, form } => match form {
                CommandSet::Lba28 => 0xCA,
                CommandSet::Lba48 => 0x35,
                CommandSet::Queued => 0x61,
            },
        }
    }

    /// Returns the FIS that issues the command with `tag`.
    pub(crate) fn fis(&self, tag: u8) -> RegisterH2d {
        let base =
            RegisterH2d { is_command: true, command: self.opcode(), ..RegisterH2d::default() };
        match self.code {
            Code::Identify => RegisterH2d { device: DEVICE_NONE, ..base },
            Code::Flush { extended } => {
                RegisterH2d { device: if extended { DEVICE_LBA } else { DEVICE_NONE }, ..base }
            }
            Code::SetFeatures { feature, value } => RegisterH2d {
                features: u16::from(feature),
                count: u16::from(value),
                device: DEVICE_NONE,
                ..base
            },
            Code::Transfer { form: CommandSet::Lba28, .. } => RegisterH2d {
                lba: self.lba & 0xFF_FFFF,
                device: DEVICE_LBA28 | high_nibble(self.lba),
                count: count_field(self.sectors) & 0xFF,
                ..base
            },
            Code::Transfer { form: CommandSet::Lba48, .. } => RegisterH2d {
                lba: self.lba,
                device: DEVICE_LBA,
                count: count_field(self.sectors),
                ..base
            },
            Code::Transfer { form: CommandSet::Queued, .. } => RegisterH2d {
                lba: self.lba,
                device: DEVICE_LBA,
                features: count_field(self.sectors),
                count: u16::from(tag) << 3,
                ..base
            },
        }
    }
}

/// Returns a count as encoded in 16 bits, where the maximum becomes zero.
fn count_field(sectors: u32) -> u16 {
    u16::try_from(sectors & 0xFFFF).expect("16 bits were kept")
}

/// Returns bits 27 to 24 of a 28-bit address.
fn high_nibble(lba: u64) -> u8 {
    u8::try_from(lba >> 24 & 0x0F).expect("4 bits were kept")
}

/// The remaining commands of a job.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    single: Option<Command>,
    direction: Direction,
    addressing: Addressing,
    command_sectors: u32,
    next_lba: u64,
    remaining: u64,
}

impl Plan {
    pub(crate) fn new(job: &Job, extended: bool) -> Self {
        let one = |code| Some(Command { code, lba: 0, sectors: 0, tries: 0 });
        let single = match *job {
            Job::Identify => one(Code::Identify),
            Job::Flush => one(Code::Flush { extended }),
            Job::SetFeatures { feature, value } => one(Code::SetFeatures { feature, value }),
            Job::Transfer(ref transfer) => return Self::for_transfer(transfer),
        };
        let (direction, addressing) = (Direction::Read, Addressing::Lba48);
        Self { single, direction, addressing, command_sectors: 1, next_lba: 0, remaining: 0 }
    }

    fn for_transfer(transfer: &Transfer) -> Self {
        let Transfer { direction, first, sectors, command_sectors, addressing, .. } = *transfer;
        Self {
            single: None,
            direction,
            addressing,
            command_sectors,
            next_lba: first,
            remaining: sectors,
        }
    }

    #[inline]
    pub(crate) fn next_command(&mut self) -> Option<Command> {
        if self.remaining == 0 {
            return self.single.take();
        }
        let remaining = u32::try_from(self.remaining).unwrap_or(u32::MAX);
        let (lba, sectors) = (self.next_lba, self.command_sectors.min(remaining));
        self.next_lba += u64::from(sectors);
        self.remaining -= u64::from(sectors);
        let form = match self.addressing {
            Addressing::Queued(_) => CommandSet::Queued,
            addressing if addressing.is_28_bit(lba, sectors) => CommandSet::Lba28,
            _ => CommandSet::Lba48,
        };
        let code = Code::Transfer { direction: self.direction, form };
        Some(Command { code, lba, sectors, tries: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Read, Write};

    fn commands(transfer: &Transfer) -> Vec<Command> {
        let mut plan = Plan::for_transfer(transfer);
        std::iter::from_fn(|| plan.next_command()).collect()
    }

    fn only(transfer: &Transfer) -> RegisterH2d {
        let [one] = commands(transfer)[..] else { panic!("one command was expected") };
        one.fis(5)
    }

    #[test]
    fn the_largest_counts_are_written_as_zero() {
        let long = Transfer::looped(Read, 7, 65_536, 1);
        let fis = only(&long);
        assert_eq!((fis.command, fis.count, fis.lba, fis.device), (0x25, 0, 7, 0x40));
        let short = Transfer::looped(Write, 7, 256, 1).with_addressing(Addressing::Lba28);
        let fis = only(&short);
        assert_eq!((fis.command, fis.count, fis.lba, fis.device), (0xCA, 0, 7, 0xE0));
        let fis = only(&long.with_addressing(Addressing::Queued(32)));
        assert_eq!((fis.command, fis.features, fis.count), (0x60, 0, 5 << 3));
    }

    #[test]
    fn a_28_bit_address_continues_in_the_device_register() {
        let last = (1 << 28) - 2;
        let transfer = Transfer::looped(Read, last, 1, 1).with_addressing(Addressing::Lba28);
        let fis = only(&transfer);
        assert_eq!((fis.command, fis.lba, fis.device, fis.count), (0xC8, 0xFF_FFFE, 0xEF, 1));
    }

    #[test]
    fn linux_leaves_short_commands_before_the_last_short_sector() {
        let opcodes = |first, command_sectors, loops| {
            let transfer = Transfer::looped(Write, first, command_sectors, loops);
            let both = commands(&transfer.with_addressing(Addressing::LinuxChoice));
            both.iter().map(Command::opcode).collect::<Vec<_>>()
        };
        let end = (1 << 28) - 1;
        assert_eq!(opcodes(end - 9, 8, 1), [0xCA]);
        assert_eq!(opcodes(end - 8, 8, 1), [0x35]);
        assert_eq!(opcodes(end - 600, 256, 4), [0xCA, 0xCA, 0x35, 0x35]);
        assert_eq!(opcodes(0, 257, 1), [0x35]);
    }

    #[test]
    fn the_whole_drive_of_the_evaluation_takes_its_commands() {
        let mut sweep = Transfer::looped(Read, 0, 256, 1).with_addressing(Addressing::Lba28);
        sweep.sectors = 62_586_880;
        let all = commands(&sweep);
        assert_eq!((sweep.commands(), all.len()), (244_480, 244_480));
        let end = all.iter().fold(0, |next, command| {
            assert_eq!((command.lba, command.sectors), (next, 256));
            next + 256
        });
        assert_eq!(end, 62_586_880);
        sweep.sectors = 1_000;
        assert_eq!(commands(&sweep).last().map(|command| command.sectors), Some(232));
    }
}
