//! Keys of NAND parts that no step uses, or none with the other settings.
//!
//! Layer: rank 10. Function: [`refuse`].

use boardlab_document::{Read, Section};

/// Keys that no step uses, with the reason.
const UNUSED: [(&str, &str); 8] = [
    ("part.identity", "here: the driver expects what the part answers"),
    ("part.onfi", "here: no driver asks for it"),
    ("part.cell", "here: pages are programmed upwards, as those of every cell may be"),
    ("part.timing.reset", "here: no chip that works is reset"),
    ("part.limits", "here: the flash is new, and every block is good"),
    ("part.errors", "here: the flash is new, and no bit flips"),
    ("part.ecc.bits", "here: no bit flips"),
    ("part.on_die_ecc.bits", "here: no bit flips"),
];

/// Refuses in `--set` what the steps do not use.
pub(super) fn refuse(section: &Section<'_>) -> Read<()> {
    let all = UNUSED.map(|(key, why)| section.idle(key, why, "leave it out"));
    all.into_iter().collect()
}
