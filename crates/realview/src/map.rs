//! The memory map of the board.
//!
//! Layer: rank 4. [`place`] decodes an address beyond the SDRAM. Sources: ARM DUI 0303, "Memory map",
//! for the board's parts; the machine `realview-eb` of QEMU 7.2 (`hw/arm/realview.c`) for their
//! addresses. Parts that are not modelled are listed by name, so that an access to one gives a clear
//! message.

use serde::{Deserialize, Serialize};

/// A modelled device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Device {
    /// The system registers.
    System,
    /// PL181, the memory card interface.
    Cards,
    /// PL011 number 0 to 3.
    Uart(u8),
    /// SP804 number 0 or 1, with two counters each.
    Timer(u8),
    /// PL031, the real-time clock.
    Clock,
    /// The CPU interface of the interrupt controller.
    InterruptInterface,
    /// The distributor of the interrupt controller.
    InterruptDistributor,
}

/// The decoding of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A device's register, by its offset in the device's 4 KiB.
    Device(Device, u32),
    /// A part of the board that is not modelled.
    NotModelled(Part),
    /// No part: the default slave of the AHB responds with an error, which causes an external abort.
    Nothing,
}

/// A part of the board that is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Part {
    /// SP810, the system controller.
    SystemController,
    /// The two-wire serial bus.
    SerialBus,
    /// PL041, audio.
    Audio,
    /// PL050, keyboard and mouse.
    Keyboard,
    /// The character display.
    CharacterDisplay,
    /// PL022, synchronous serial port.
    SerialPort,
    /// PL131, smart cards.
    SmartCard,
    /// SP805, the watchdog.
    Watchdog,
    /// PL061, general purpose inputs and outputs.
    Gpio,
    /// The registers of the dynamic memory controller.
    MemoryController,
    /// The PCI bridge and its windows.
    Pci,
    /// PL111, the display.
    Display,
    /// PL081, the DMA controller.
    Dma,
    /// The interrupt controllers of other core tiles.
    OtherInterruptControllers,
    /// The registers of the static memory controller.
    StaticMemoryController,
    /// NOR flash.
    NorFlash,
    /// Disk-on-chip.
    DiskOnChip,
    /// Static RAM.
    StaticRam,
    /// Configuration flash.
    ConfigurationFlash,
    /// SMC 91C111, Ethernet.
    Ethernet,
    /// USB.
    Usb,
    /// The PISMO expansion slots.
    Pismo,
}

impl Part {
    /// The part's name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SystemController => "system controller (SP810)",
            Self::SerialBus => "two-wire serial bus",
            Self::Audio => "audio interface (PL041)",
            Self::Keyboard => "keyboard and mouse interfaces (PL050)",
            Self::CharacterDisplay => "character display",
            Self::SerialPort => "synchronous serial port (PL022)",
            Self::SmartCard => "smart card interface (PL131)",
            Self::Watchdog => "watchdog (SP805)",
            Self::Gpio => "general purpose inputs and outputs (PL061)",
            Self::MemoryController => "dynamic memory controller",
            Self::Pci => "PCI bridge",
            Self::Display => "display controller (PL111)",
            Self::Dma => "DMA controller (PL081)",
            Self::OtherInterruptControllers => "interrupt controllers 2 to 4",
            Self::StaticMemoryController => "static memory controller",
            Self::NorFlash => "NOR flash",
            Self::DiskOnChip => "disk-on-chip",
            Self::StaticRam => "static RAM",
            Self::ConfigurationFlash => "configuration flash",
            Self::Ethernet => "Ethernet controller (SMC 91C111)",
            Self::Usb => "USB controller",
            Self::Pismo => "PISMO expansion",
        }
    }
}

/// Decodes the address `at`, which is beyond the SDRAM.
#[must_use]
pub const fn place(at: u32) -> Place {
    let offset = at & 0xFFF;
    let device = match at >> 12 {
        0x1_0000 => Device::System,
        0x1_0005 => Device::Cards,
        0x1_0009 => Device::Uart(0),
        0x1_000A => Device::Uart(1),
        0x1_000B => Device::Uart(2),
        0x1_000C => Device::Uart(3),
        0x1_0011 => Device::Timer(0),
        0x1_0012 => Device::Timer(1),
        0x1_0017 => Device::Clock,
        0x1_0040 => Device::InterruptInterface,
        0x1_0041 => Device::InterruptDistributor,
        page => {
            return match not_modelled(page) {
                Some(part) => Place::NotModelled(part),
                None => Place::Nothing,
            };
        }
    };
    Place::Device(device, offset)
}

/// The part that is not modelled in the 4 KiB page number `page`.
const fn not_modelled(page: u32) -> Option<Part> {
    Some(match page {
        0x1_0001 => Part::SystemController,
        0x1_0002 => Part::SerialBus,
        0x1_0004 => Part::Audio,
        0x1_0006 | 0x1_0007 => Part::Keyboard,
        0x1_0008 => Part::CharacterDisplay,
        0x1_000D => Part::SerialPort,
        0x1_000E => Part::SmartCard,
        0x1_0010 => Part::Watchdog,
        0x1_0013..=0x1_0015 => Part::Gpio,
        0x1_0018 => Part::MemoryController,
        0x1_0019 => Part::Pci,
        0x1_0020..=0x1_002F => Part::Display,
        0x1_0030..=0x1_003F => Part::Dma,
        0x1_0050..=0x1_007F => Part::OtherInterruptControllers,
        0x1_0080 => Part::StaticMemoryController,
        0x4_0000..=0x4_3FFF => Part::NorFlash,
        0x4_4000..=0x4_7FFF => Part::DiskOnChip,
        0x4_8000..=0x4_BFFF => Part::StaticRam,
        0x4_C000..=0x4_DFFF => Part::ConfigurationFlash,
        0x4_E000..=0x4_EFFF => Part::Ethernet,
        0x4_F000..=0x4_FFFF => Part::Usb,
        0x5_0000..=0x5_FFFF => Part::Pismo,
        0x6_0000..=0x6_FFFF => Part::Pci,
        _ => return None,
    })
}

/// The value of a PrimeCell identification register, if `offset` is one of them: 0xFE0 to 0xFFC, a
/// byte each.
#[must_use]
pub(crate) fn identification(bytes: [u8; 8], offset: u32) -> Option<u32> {
    let index = usize::try_from(offset.checked_sub(0xFE0)? / 4).ok()?;
    bytes.get(index).copied().map(u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_answer_where_the_board_has_them_and_holes_do_not() {
        assert_eq!(place(0x1000_9018), Place::Device(Device::Uart(0), 0x18));
        assert_eq!(place(0x1004_1100), Place::Device(Device::InterruptDistributor, 0x100));
        assert_eq!(place(0x4E00_0000), Place::NotModelled(Part::Ethernet));
        assert_eq!(place(0x1000_3000), Place::Nothing);
        assert_eq!(place(0x7000_0000), Place::Nothing);
        assert_eq!(place(0xFFFF_FFFC), Place::Nothing);
    }
}
