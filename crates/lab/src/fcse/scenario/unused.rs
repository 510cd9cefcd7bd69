//! Keys of the board and of the card that the context-switch experiment does not use.
//!
//! Layer: rank 11. Function: [`unused`]. The system writes some blocks of the card and reads programs from it for a moment: nothing wears,
//! ages, is collected or levelled.

use crate::fcse::scenario::Exec;
use boardlab_document::{Read, Section};
use boardlab_parts::card::unused::described;
use boardlab_parts::managed::unused::by_choice;
use boardlab_sd::BLOCK;

/// Keys of the card that take more writes, or more time, than a few programs.
const OF_LONG_RUNS: [&str; 17] = [
    "allocation_unit",
    "collection",
    "controller.discard",
    "controller.erased",
    "controller.write_back_after",
    "endurance.pe_cycles",
    "endurance.end_of_life",
    "endurance.factory_bad",
    "endurance.rated",
    "endurance.slc_wear",
    "flash.cache_program",
    "flash.pages_per_block",
    "flash.slots",
    "flash.times.erase",
    "levelling",
    "reads",
    "over_provisioning",
];

/// Refuses in `--set` what no run uses.
pub(crate) fn unused(section: &Section<'_>, exec: &Exec) -> Read<()> {
    let card = "exec.card";
    let mut all =
        vec![described(section, card), by_choice(section, card, &exec.card.managed, &|_| false)];
    let why = "here: programs are started from the card, and little is written";
    let help = "`boardlab run card-fio` puts a card under jobs of your own";
    all.push(section.idle_each(OF_LONG_RUNS.map(|key| format!("{card}.{key}")), why, help));
    if exec.slot.modes.len() == 1 {
        let why = "here: the slot has one mode";
        all.push(section.idle("exec.card.bus.modes", why, "set exec.slot.modes as well"));
    }
    if exec.slot.largest == BLOCK {
        let (why, help) = ("with one block a command", "set exec.slot.largest as well");
        let keys = ["exec.slot.set_block_count", "exec.card.bus.set_block_count"];
        all.push(section.idle_each(keys, why, help));
    }
    let leave = "leave it out";
    let why = "here: the kernel chooses where its vectors are";
    all.push(section.idle("board.core.high_vectors", why, leave));
    all.push(section.idle("board.rtc.start", "here: nothing asks for the time of day", leave));
    all.into_iter().collect()
}
