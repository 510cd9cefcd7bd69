//! Board files of the card experiments: the slots, and the cost of their driver for each command.
//!
//! Layer: rank 8. Main types: [`Host`], and [`Slot`], what a card is put into; function: [`read`].
//! Left out: DMA that competes for memory, interrupts of other devices, tuning of the bus.

use super::part::CardPart;
use super::{limits, values};
use boardlab_document::{Read, Section, fields, section};
use boardlab_sd::{Bus, Kind, Mode, Width, Wiring};
use boardlab_sim::{Bytes, Duration, Hertz};

const WIDTHS: [(&str, Width); 3] = [("1", Width::One), ("4", Width::Four), ("8", Width::Eight)];
/// The slowest and the fastest clock.
const CLOCKS: [Hertz; 2] = [Hertz::from_hz(100_000), Hertz::from_hz(100_000_000_000)];

/// What the card experiments need of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The title.
    pub name: String,
    /// The CPU's clock.
    pub cpu: Hertz,
    /// The size of the memory.
    pub ram: Bytes,
    /// The slot for SD cards, if there is one.
    pub sd: Option<Slot>,
    /// The slot for an eMMC, if there is one.
    pub emmc: Option<Slot>,
}

section! {
    /// A slot for a card.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Slot {
        /// The bus modes that it supports.
        pub modes: Vec<Mode> => with(values::modes),
        /// Data lines.
        pub width as "lines": Width => one_of(WIDTHS),
        /// The highest clock, where it is lower than a mode's.
        pub clock: Option<Hertz> => within(CLOCKS[0], CLOCKS[1]),
        /// From one request to the next: interrupt, completion, set-up of the transfer.
        pub request: Duration => up_to(limits::COMMAND),
        /// Largest transfer of one command.
        pub largest: Bytes => within(Bytes::new(512), limits::MEMORY),
        /// Whether the driver announces lengths by CMD23 to cards that support it.
        pub counts_blocks as "set_block_count": bool,
        /// Whether the driver asks for the state by CMD13 after each write.
        pub asks_state: bool,
    }
}

impl Host {
    /// The slot for a card of `kind`.
    #[must_use]
    pub const fn slot(&self, kind: Kind) -> Option<&Slot> {
        match kind {
            Kind::Sd => self.sd.as_ref(),
            Kind::Emmc => self.emmc.as_ref(),
        }
    }
}

impl Slot {
    /// The fastest bus mode that slot and card both support, with its wiring.
    #[must_use]
    pub fn wiring(&self, card: &CardPart) -> Option<Wiring> {
        let (kind, gaps, width) = (card.face.kind, card.gaps, self.width);
        let both = self.modes.iter().copied().filter(|mode| card.modes.contains(mode));
        let wired = both.filter_map(|mode| {
            let clock =
                self.clock.filter(|clock| mode.clock(kind).is_some_and(|most| *clock < most));
            let bus = Bus::new(kind, mode, width, clock, gaps)?;
            Some((bus.raw(), Wiring { mode, width, clock, gaps }))
        });
        // Of two equally fast modes, takes the last in the list: DDR50 needs a lower clock than SDR50.
        wired.max_by_key(|(rate, _)| *rate).map(|(_, wiring)| wiring)
    }
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without any slot.
pub fn read(section: Section<'_>) -> Read<Host> {
    section.needs(
        &["sd_slot", "emmc_slot"],
        "describes no slot for a card",
        "a board with [sd_slot] or [emmc_slot]",
        "use --set board=raspberry-pi-4, or add what that board has: boardlab list keys card-fio",
    )?;
    fields!(section => Host {
        name as "title": String,
        ram as "memory": Bytes => only("ram", |ram| ram.within(Bytes::mib(1), limits::RAM)),
        cpu: Hertz => only("clock", |clock| clock.within(CLOCKS[0], CLOCKS[1])),
        sd as "sd_slot": Option<Slot>,
        emmc as "emmc_slot": Option<Slot>,
    })
}
