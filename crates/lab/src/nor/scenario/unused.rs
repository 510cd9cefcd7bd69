//! Keys of NOR parts and of the workload that no run uses, or not with the other settings.
//!
//! Layer: rank 11. Function: [`refuse`].

use crate::nor::scenario::Scenario;
use boardlab_document::{Read, Section};
use boardlab_nor::driver::Kind;

/// What the part answers, and no driver asks for.
const UNASKED: [&str; 14] = [
    "part.identity",
    "part.boot",
    "part.cfi.chip_typical",
    "part.cfi.chip_max",
    "part.cfi.vcc_min",
    "part.cfi.vcc_max",
    "part.cfi.vpp_min",
    "part.cfi.vpp_max",
    "part.cfi.interface",
    "part.cfi.primary_minor",
    "part.cfi.silicon_revision",
    "part.cfi.protection_group",
    "part.cfi.protection_scheme",
    "part.cfi.page_mode",
];
/// What the part can do, and no run lets it do; with the reason.
const UNDONE: [(&str, &str); 9] = [
    ("part.cfi.erase_max", "here: only u-boot reads it, and the erases are Linux'"),
    ("part.timing.suspend_latency", "here: nothing is suspended"),
    ("part.timing.protected_latency", "here: no sector is protected"),
    ("part.timing.reset_latency", "here: the part is not reset"),
    ("part.limits", "here: no sector is erased twice"),
    ("part.features.unlock_bypass", "here: no driver uses it"),
    ("part.features.erase_suspend", "here: nothing is suspended"),
    ("part.features.program_suspend", "here: nothing is suspended"),
    ("part.features.ppb", "here: no sector is protected"),
];
/// What programs of words take, and of buffers.
const WORDS: [&str; 3] =
    ["part.timing.word_program", "part.timing.word_program_max", "part.cfi.word_max"];
const BUFFERS: [&str; 5] = [
    "part.timing.buffer_program",
    "part.timing.buffer_program_max",
    "part.timing.buffer_overhead",
    "part.cfi.buffer_typical",
    "part.cfi.buffer_max",
];

/// Refuses in `--set` what the runs of `scenario` do not use.
pub(crate) fn refuse(section: &Section<'_>, scenario: &Scenario) -> Read<()> {
    let leave = "leave it out";
    let mut all: Vec<Read<()>> = Vec::new();
    let mut idle = |key: &str, why: &str, help: &str| all.push(section.idle(key, why, help));
    for key in UNASKED {
        idle(key, "here: it changes nothing that a driver does", leave);
    }
    for (key, why) in UNDONE {
        idle(key, why, leave);
    }
    idle("part.features.masks_ones", "here: the flash is erased when it is written", leave);
    idle("part.timing.sector_erase_max", "here: no erase fails", leave);
    let systems = [&scenario.uboot, &scenario.linux, &scenario.improved];
    if systems.iter().all(|system| system.kind != Kind::Linux61StatusRegister) {
        let help = "set linux.driver=linux-6.1-status-register";
        idle("part.features.status_register", "with these drivers", help);
    }
    match scenario.part.write_buffer {
        Some(buffer) => {
            for key in WORDS {
                idle(key, "on a part with a write buffer", "take a part without one");
            }
            if scenario.data.len().is_multiple_of(buffer.to_usize()) {
                let help = "write bytes that are no multiple of part.geometry.write_buffer";
                idle("part.timing.buffer_overhead", "when every buffer is full", help);
            }
        }
        None => {
            for key in BUFFERS {
                idle(key, "on a part without a write buffer", "take a part with one");
            }
        }
    }
    all.into_iter().collect()
}
