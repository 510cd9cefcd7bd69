//! Keys of NAND parts and of their boards that no run uses, or none with the other settings.
//!
//! Layer: rank 10. Function: [`refuse`].

use super::{Errors, Kernel, Systems};
use boardlab_document::{Read, Section};
use boardlab_nand::Part;
use boardlab_parts::machine;
use boardlab_vfs::Work;

/// Keys that no run uses, with the reason.
const UNUSED: [(&str, &str); 5] = [
    ("part.identity", "here: the driver expects what the part answers"),
    ("part.onfi", "here: no driver asks for it"),
    ("part.timing.reset", "here: no chip that works is reset"),
    ("part.limits.bad_blocks", "here: errors.factory_bad says how many blocks are bad"),
    ("part.limits.programs_per_page", "here: a page is programmed twice at the most"),
];
/// Work that is counted without bytes.
const WITHOUT_BYTES: [Work; 4] = [Work::Call, Work::Lookup, Work::Page, Work::Node];

/// Refuses in `--set` what the runs do not use.
pub(crate) fn refuse(
    section: &Section<'_>,
    part: &Part,
    (kernel, systems, used): (Kernel, &Systems, &[&str]),
    errors: &Errors,
) -> Read<()> {
    let mut all: Vec<Read<()>> = Vec::new();
    let mut idle = |key: &str, why: &str, help: &str| all.push(section.idle(key, why, help));
    for (key, why) in UNUSED {
        idle(key, why, "leave it out");
    }
    if kernel == Kernel::Linux26 {
        let why = "with kernel.profile = \"linux-2.6\"";
        let code = "it corrects one bit in 256 bytes on every part; set kernel.profile=linux-6.1";
        idle("part.ecc", why, code);
    } else if part.on_die_ecc.is_some() {
        idle("part.ecc", "on a part that corrects by itself", "set part.on_die_ecc");
    } else if part.ecc.bits < 2 {
        let why = "with part.ecc.bits = 1";
        idle("part.ecc.step", why, "Linux then corrects one bit in 256 bytes; set more bits");
    }
    if errors.pe_cycles == 0 {
        let help = "set errors.pe_cycles, and part.limits.endurance";
        // How many pages were read before is seen where reads draw from chance, and where a worn block
        // is marked.
        if part.timing.read.min() == part.timing.read.max() && errors.rates.is_none() {
            idle(
                "part.limits.bad_marks",
                "here: the marks are read before anything is measured",
                help,
            );
        }
    }
    if errors.rates.is_none() {
        idle("part.errors", "with errors.bits = false", "set errors.bits=true");
    }
    all.push(of_systems(section, (kernel, systems, used)));
    all.into_iter().collect()
}

/// Refuses in `--set` filesystems that no run has, and costs of work that the others do not do.
pub(crate) fn of_systems(
    section: &Section<'_>,
    (kernel, systems, used): (Kernel, &Systems, &[&str]),
) -> Read<()> {
    let mut all: Vec<Read<()>> = Vec::new();
    let mut idle = |key: &str, why: &str, help: &str| all.push(section.idle(key, why, help));
    for work in WITHOUT_BYTES {
        let key = format!("board.cpu.work.{}.per_kib", work.name());
        idle(&key, "here: this work is counted without bytes", "leave it out");
    }
    let (used, others): (Vec<_>, Vec<_>) =
        systems.iter().partition(|(name, _)| used.contains(name));
    for (name, _) in others {
        idle(name, "with lists of systems that leave this filesystem out", "add it to the list");
    }
    for work in Work::ALL {
        if !used.iter().any(|(_, system)| system.uses(kernel, work)) {
            let key = format!("board.cpu.work.{}", work.name());
            let why = "here: no filesystem with these settings does this work";
            idle(&key, why, "compare ubifs.compressor and kernel.profile");
        }
    }
    let pushes = |work: &Work| {
        machine::pushes(*work) && used.iter().any(|(_, system)| system.uses(kernel, *work))
    };
    if !Work::ALL.iter().any(pushes) {
        let why = "here: no work of these filesystems changes more lines than it fetches";
        idle("board.cpu.core.push", why, "leave it out");
    }
    all.into_iter().collect()
}
