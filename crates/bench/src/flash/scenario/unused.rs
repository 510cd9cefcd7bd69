//! Keys of NAND parts that no step uses, or none with the other settings.
//!
//! Layer: rank 10. Function: [`refuse`].

use super::Kernel;
use boardlab_document::{Read, Section};
use boardlab_nand::Part;

/// Keys that no step uses, with the reason.
const UNUSED: [(&str, &str); 10] = [
    ("part.identity", "here: the driver expects what the part answers"),
    ("part.onfi", "here: no driver asks for it"),
    ("part.cell", "here: pages are programmed upwards, as those of every cell may be"),
    ("part.timing.reset", "here: no chip that works is reset"),
    ("part.timing.program_max", "here: no block wears out, and no program fails"),
    ("part.timing.erase_max", "here: no block wears out, and no erase fails"),
    ("part.limits", "here: the flash is new, and every block is good"),
    ("part.errors", "here: the flash is new, and no bit flips"),
    ("part.ecc.bits", "here: no bit flips"),
    ("part.on_die_ecc.bits", "here: no bit flips"),
];

/// Refuses in `--set` what the steps do not use.
pub(super) fn refuse(section: &Section<'_>, part: &Part, kernel: Kernel) -> Read<()> {
    let mut all: Vec<Read<()>> = Vec::new();
    for (key, why) in UNUSED {
        all.push(section.idle(key, why, "leave it out"));
    }
    let _ = (part, kernel);
    all.into_iter().collect()
}
