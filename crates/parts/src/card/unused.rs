//! Keys of cards and of their boards that no run uses, because they only describe.
//!
//! Layer: rank 8. Functions: [`described`], [`around`].

use super::part::CardPart;
use boardlab_document::{Read, Section};
use boardlab_sd::Kind;

/// Keys of SD cards alone: an eMMC has no such feature, or has it in a form that is not read from
/// the part.
const SD_ALONE: [&str; 7] = [
    "part.identity",
    "part.classes",
    "part.erase_time",
    "part.health",
    "part.bus.set_block_count",
    "part.controller.erased",
    "board.emmc_slot.set_block_count",
];
/// Keys that only registers and health report show.
const DESCRIBED: [&str; 4] = ["identity", "classes", "erase_time", "health"];

/// Refuses in `--set` the keys that only registers and health report of the card at the dotted path
/// `card` show, for a run that shows neither.
pub fn described(section: &Section<'_>, card: &str) -> Read<()> {
    let help = "`boardlab run card-fio` shows what a host reads of a card";
    let keys = DESCRIBED.map(|key| format!("{card}.{key}"));
    section.idle_each(keys, "here: only a host that reads it would see it", help)
}

/// Refuses in `--set` the keys of a board besides the slot of `part`.
pub fn around(section: &Section<'_>, part: &CardPart) -> Read<()> {
    let (other, kind) = match part.face.kind {
        Kind::Sd => ("board.emmc_slot", "on an SD card"),
        Kind::Emmc => ("board.sd_slot", "on an eMMC"),
    };
    let cache = match part.face.cache {
        Some(_) => Ok(()),
        None => section.idle(
            "part.controller.write_back_after",
            "without part.controller.write_cache",
            "give the card a write cache",
        ),
    };
    cache?;
    if part.face.kind == Kind::Emmc {
        for key in SD_ALONE {
            section.idle(key, kind, "it is part of an SD card's registers and of its protocol")?;
        }
    }
    let computer = "on a card: of its board only the slot is modelled";
    let all = [
        section.idle(other, kind, "set the slot that the card is put into"),
        section.idle("board.memory", computer, "leave it out"),
        section.idle("board.cpu", computer, "leave it out"),
    ];
    all.into_iter().collect()
}
