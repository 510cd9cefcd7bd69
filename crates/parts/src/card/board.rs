//! Board files of the card experiments: the slots, and what their driver does around each command.
//!
//! Layer: rank 8. Main types: [`Host`], and [`Slot`], what a card is put into; function: [`read`]. Leaves
//! out: DMA that competes for memory, interrupts of other devices, tuning of the bus.

use super::part::CardPart;
use super::{limits, values};
use boardlab_document::{Read, Section};
use boardlab_sd::{Bus, Kind, Mode, Width, Wiring};
use boardlab_sim::{Bytes, Duration, Hertz};

const WIDTHS: [(&str, Width); 3] = [("1", Width::One), ("4", Width::Four), ("8", Width::Eight)];

/// What the card experiments need of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// What it is, one line.
    pub name: String,
    /// The CPU's clock.
    pub cpu: Hertz,
    /// Memory in all.
    pub ram: Bytes,
    /// The slot for SD cards, if there is one.
    pub sd: Option<Slot>,
    /// The way to an eMMC, if there is one.
    pub emmc: Option<Slot>,
}

/// What a card is put into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Modes of the bus that it can do.
    pub modes: Vec<Mode>,
    /// Data lines.
    pub width: Width,
    /// The highest clock, where it is lower than a mode's.
    pub clock: Option<Hertz>,
    /// From one request to the next: interrupt, completion, set-up of the transfer.
    pub request: Duration,
    /// Largest transfer of one command.
    pub largest: Bytes,
    /// The driver announces lengths by CMD23 where a card understands it.
    pub counts_blocks: bool,
    /// The driver asks for the state by CMD13 after each write.
    pub asks_state: bool,
}

impl Host {
    /// What a card of `kind` is put into.
    #[must_use]
    pub const fn slot(&self, kind: Kind) -> Option<&Slot> {
        match kind {
            Kind::Sd => self.sd.as_ref(),
            Kind::Emmc => self.emmc.as_ref(),
        }
    }
}

impl Slot {
    /// The fastest mode that slot and card both can do, as wired.
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
        // Of two that are equally fast the one named last: DDR50 needs a lower clock than SDR50.
        wired.max_by_key(|(rate, _)| *rate).map(|(_, wiring)| wiring)
    }
}

/// Reads the section of a board.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind, and a board without any slot.
pub fn read(section: Section<'_>) -> Read<Host> {
    if !section.has("sd_slot") && !section.has("emmc_slot") {
        section.leave_rest();
        return Err(section.refuse(
            "title",
            "tells of no slot for a card",
            "a board with [sd_slot] or [emmc_slot]",
            "take board = \"raspberry-pi-4\", or add what docs/formats/board.md lists for cards",
        ));
    }
    let name = section.required::<String>("title");
    let ram = section.section("memory", |memory| {
        let ram = memory.key::<Bytes>("ram").within(Bytes::mib(1), limits::RAM).required();
        memory.finish()?;
        ram
    });
    let cpu = section.section("cpu", |cpu| {
        let clock = hertz(&cpu, "clock").required();
        cpu.finish()?;
        clock
    });
    let sd = section.optional_section("sd_slot", slot);
    let emmc = section.optional_section("emmc_slot", slot);
    section.finish()?;
    Ok(Host { name: name?, cpu: cpu?, ram: ram?, sd: sd?, emmc: emmc? })
}

fn hertz<'s, 'a>(section: &'s Section<'a>, key: &'s str) -> boardlab_document::Key<'s, 'a, Hertz> {
    let (slowest, fastest) = (Hertz::from_hz(100_000), Hertz::from_hz(100_000_000_000));
    section.key::<Hertz>(key).within(slowest, fastest)
}

/// Reads the section of a slot.
///
/// # Errors
/// Whatever is missing, unknown or of the wrong kind.
pub fn slot(section: Section<'_>) -> Read<Slot> {
    let modes = values::modes(&section);
    let width = section.one_of("lines", &WIDTHS);
    let clock = hertz(&section, "clock").optional();
    let request =
        section.key::<Duration>("request").within(Duration::ZERO, limits::COMMAND).required();
    let largest =
        section.key::<Bytes>("largest").within(Bytes::new(512), limits::MEMORY).required();
    let counts_blocks = section.required::<bool>("set_block_count");
    let asks_state = section.required::<bool>("asks_state");
    section.finish()?;
    Ok(Slot {
        modes: modes?,
        width: width?,
        clock: clock?,
        request: request?,
        largest: largest?,
        counts_blocks: counts_blocks?,
        asks_state: asks_state?,
    })
}
