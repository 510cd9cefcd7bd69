//! Keys of the part that no run uses, or not with the other settings.
//!
//! Layer: rank 11. Function: [`refuse`].

use crate::nor::scenario::Scenario;
use boardlab_document::{Read, Section};
use boardlab_nor::driver::Kind;
use boardlab_parts::nor::board::OF_KERNEL;
use boardlab_parts::nor::unused;

/// Refuses in `--set` what the runs of `scenario` do not use.
pub(crate) fn refuse(section: &Section<'_>, scenario: &Scenario) -> Read<()> {
    let mut all = vec![
        unused::refuse(section, &scenario.part),
        section.idle("part.limits", "here: no sector is erased twice", "leave it out"),
        section.idle(
            "part.features.masks_ones",
            "here: the flash is erased when it is written",
            "leave it out",
        ),
    ];
    let (why, help) = ("here: no filesystem is mounted", "boardlab advise nor-advise uses it");
    all.push(section.idle_each(OF_KERNEL, why, help));
    let systems = [&scenario.uboot, &scenario.linux, &scenario.improved];
    if systems.iter().all(|system| system.kind != Kind::Linux61StatusRegister) {
        let help = "set linux.driver=linux-6.1-status-register";
        all.push(section.idle("part.features.status_register", "with these drivers", help));
    }
    let buffer = scenario.part.write_buffer;
    if buffer.is_some_and(|buffer| scenario.data.len().is_multiple_of(buffer.to_usize())) {
        let help = "write bytes that are no multiple of part.geometry.write_buffer";
        let why = "when every buffer is full";
        all.push(section.idle("part.timing.buffer_overhead", why, help));
    }
    all.into_iter().collect()
}
