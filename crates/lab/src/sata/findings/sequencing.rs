//! The gain of sequencing in hardware, and what 28-bit commands show about the overhead.
//!
//! Layer: rank 11, findings. Functions: [`gain`], [`whole_drives`].

use crate::sata::findings::Facts;
use crate::sata::run::measure::WholeDrive;
use crate::sata::tables::means;
use crate::sata::tables::told::{mb_per_s, micros, percent, short, span};
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::{KIB, float, real};
use boardlab_sata::SECTOR;

/// The gain that table 6-1 prints, beside the one that table 6-2 explains.
pub(crate) fn gain(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let (mut told, mut times) = (Vec::new(), Vec::new());
    let tested = &facts.measured.g_monster;
    let host = &facts.scenario.host;
    let saved = [
        ("write", host.firmware.write.as_secs_f64() - host.sequencer.write.as_secs_f64()),
        ("read", host.firmware.read.as_secs_f64() - host.sequencer.read.as_secs_f64()),
    ];
    let loops = facts.scenario.continuous.loops.as_slice();
    let rows = means::printed(reference, "table5-2", loops)?;
    let deviation = means::deviation(&rows);
    for (at, (column, saved)) in saved.into_iter().enumerate() {
        let firmware = reference.number("table6-1", "firmware", column)?;
        let sequencer = reference.number("table6-1", "sequencer", column)?;
        let printed_gain = facts.command() / firmware - facts.command() / sequencer;
        let ours = tested.firmware.named()[at].1.rate();
        let theirs = tested.sequencer.as_ref().map_or(f64::NAN, |pair| pair.named()[at].1.rate());
        let (rise, apart) = (sequencer - firmware, 2_f64.sqrt() * deviation[at]);
        let highest = rows.iter().map(|row| row[at]).fold(0.0, f64::max);
        let inside = if rise < apart {
            "two runs differ by as much".to_owned()
        } else if sequencer > highest {
            format!(
                "{} is above every row, of which {} is the highest",
                mb_per_s(sequencer),
                mb_per_s(highest)
            )
        } else {
            "two runs usually differ by less".to_owned()
        };
        times.push(format!("{:.1} times as much for {column}s", printed_gain / saved));
        told.push(format!(
            "The printed rate of {column}s rises from {} to {} ({}), which is {} a command. Table 6-2 saves {}; that gives {} here (from \
             {} to {}). The rise is {:.1} times the standard deviation of a difference of two rows of table 5-2 ({:.2} MB/s): {inside}.",
            mb_per_s(firmware),
            mb_per_s(sequencer),
            percent(sequencer / firmware - 1.0),
            micros(printed_gain),
            micros(saved),
            percent(theirs / ours - 1.0),
            mb_per_s(ours),
            mb_per_s(theirs),
            rise / apart,
            apart / 1e6,
        ));
    }
    Ok(format!(
        "Table 6-1 shows more than table 6-2 explains: {}. {} So the rise of reads is chance. That of writes has mostly another cause than overhead, \
         such as another state of the drive. Neither is evidence of the gain of a sequencer in hardware; the time that it saves is.",
        times.join(", "),
        told.join(" "),
    ))
}

/// Bytes of a command of a sweep.
fn command(facts: &Facts<'_>) -> f64 {
    real(SECTOR * u64::from(facts.scenario.sweep.sectors))
}

/// The ceiling on the rate of 28-bit commands if each took the overhead of firmware.
pub(crate) fn whole_drives(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let host = &facts.scenario.host;
    let overhead = host.firmware.write.as_secs_f64();
    let ceiling = command(facts) / overhead;
    let mut told = Vec::new();
    let drives = &facts.scenario.drives;
    let rows = [("transcend", &drives.transcend), ("buffalo", &drives.buffalo)];
    for ((row, part), swept) in rows.into_iter().zip(&facts.measured.swept) {
        let write = reference.number("table7-1", row, "write")?;
        let (firmware, sequencer) =
            (slowed(facts, swept, host.firmware.write), slowed(facts, swept, host.sequencer.write));
        told.push(format!(
            "The {} was measured at {}, {} a command in total. With {} or {} on top of the time of its flash it would write at {} or {}.",
            short(part),
            mb_per_s(write),
            micros(command(facts) / write),
            span(host.firmware.write),
            span(host.sequencer.write),
            mb_per_s(firmware),
            mb_per_s(sequencer),
        ));
    }
    let [first, _] = &facts.measured.swept;
    Ok(format!(
        "Firmware cannot spend {} on every command, or no drive would write faster than {}. The whole drives take {} \
         commands of {:.0} KiB. {} So most of the overhead of a command of 32 MB is the end of a write in the drive, which \
         empties its buffer, and not the work of a MicroBlaze ({:.0} cycles at 100 MHz). Here the sequencing of these \
         commands costs {}, the figure of reads, and the drive's own end of a write follows from its flash.",
        span(host.firmware.write),
        mb_per_s(ceiling),
        first.commands,
        command(facts) / KIB,
        told.join(" "),
        overhead * 100e6,
        span(host.firmware.read),
    ))
}

/// The rate of a sweep's writes if each command took `overhead` instead of the sequencing of reads.
fn slowed(facts: &Facts<'_>, swept: &WholeDrive, overhead: boardlab_sim::Duration) -> f64 {
    let (bytes, time) = swept.firmware.write.all();
    let more = overhead.as_secs_f64() - facts.scenario.host.firmware.read.as_secs_f64();
    real(bytes) / (time.as_secs_f64() + more * float(swept.commands))
}
