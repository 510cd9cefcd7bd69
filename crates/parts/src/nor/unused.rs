//! Keys of NOR parts that no driver asks for, or not of such a part.
//!
//! Layer: rank 8. Function: [`refuse`].

use boardlab_document::{Read, Section};
use boardlab_nor::Part;

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
const UNDONE: [(&str, &str); 8] = [
    ("part.cfi.erase_max", "here: only u-boot reads it, and the erases are Linux'"),
    ("part.timing.suspend_latency", "here: nothing is suspended"),
    ("part.timing.protected_latency", "here: no sector is protected"),
    ("part.timing.reset_latency", "here: the part is not reset"),
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

/// Refuses in `--set` what drivers do not use of `part`.
pub fn refuse(section: &Section<'_>, part: &Part) -> Read<()> {
    let leave = "leave it out";
    let mut all: Vec<Read<()>> = Vec::new();
    let mut idle = |key: &str, why: &str, help: &str| all.push(section.idle(key, why, help));
    for key in UNASKED {
        idle(key, "here: it changes nothing that a driver does", leave);
    }
    for (key, why) in UNDONE {
        idle(key, why, leave);
    }
    idle("part.timing.sector_erase_max", "here: no erase fails", leave);
    let (keys, why, help) = match part.write_buffer {
        Some(_) => (&WORDS[..], "on a part with a write buffer", "take a part without one"),
        None => (&BUFFERS[..], "on a part without a write buffer", "take a part with one"),
    };
    for key in keys {
        idle(key, why, help);
    }
    all.into_iter().collect()
}
