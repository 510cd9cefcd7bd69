//! Findings about questions that the publication does not ask.
//!
//! Layer: rank 11. Function: [`all`].

use crate::sata::findings::Facts;
use crate::sata::run::what_if::{CachePoint, SizePoint};
use crate::sata::tables::cache_name;
use crate::sata::tables::told::{beside, mb_per_s, percent, short};
use boardlab_experiment::finding::find_if;
use boardlab_result::RunResult;
use boardlab_result::prose::counted;
use boardlab_sata::SECTOR;
use boardlab_sata::device::WriteCache;

/// The least share that counts as a gain.
const GAINED: f64 = 0.001;

/// Adds a finding for each what-if.
pub(crate) fn all(run: &mut RunResult, facts: &Facts<'_>) {
    find_if(run, cache(facts));
    find_if(run, sizes(facts));
    find_if(run, speeds(facts));
    find_if(run, queue(facts));
}

/// The gain of the sequencer over firmware for writes with the cache of `cached`, as a share.
fn gain(cached: &CachePoint) -> f64 {
    cached.sequencer.write.rate() / cached.firmware.write.rate() - 1.0
}

/// The effect of a write cache on the gain.
fn cache(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.caches;
    let (through, back) = (gain(all.first()?), gain(all.last()?));
    let told = all.iter().map(|one| {
        let (_, title) = cache_name(one.cache);
        format!(
            "at {} with firmware and {} with the state machine ({}) where {title}",
            mb_per_s(one.firmware.write.rate()),
            mb_per_s(one.sequencer.write.rate()),
            percent(gain(one)),
        )
    });
    let host = &facts.scenario.host;
    let early = "The flash has written the buffered data before the next command arrives";
    let (lead, why) = if host.firmware.write == host.sequencer.write || through < GAINED {
        (
            "A write cache has no overhead to hide here",
            "It makes no difference to the writes of this drive who sequences them",
        )
    } else if back < through / 10.0 {
        (
            "A write cache would hide the overhead",
            "While the host prepares the next command, the flash writes the buffered data, and a sequencer has nothing to \
             gain. That firmware costs anything at all shows that the drives end a write when it is on flash",
        )
    } else if back < through * 0.9 {
        ("A write cache of this size would hide part of the overhead", early)
    } else {
        ("A write cache of this size would hide nothing of the overhead", early)
    };
    Some(format!(
        "{lead}: the sequencer gains {} without it, {} with it. On the {} writes run {}. {why}.",
        percent(through),
        percent(back),
        short(&facts.scenario.drives.g_monster),
        told.collect::<Vec<_>>().join("; "),
    ))
}

/// The gain of the sequencer by the size of a command.
fn sizes(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.sizes;
    let (first, last) = (all.first()?, all.last()?);
    let mut chosen = vec![first];
    chosen.extend(
        all.iter().find(|one| one.sectors >= 256).filter(|one| one.sectors > first.sectors),
    );
    if chosen.last()?.sectors < last.sectors {
        chosen.push(last);
    }
    let told = chosen.iter().map(|one| {
        let (firmware, sequencer) = (&one.firmware, &one.sequencer);
        format!(
            "{}: firmware reads at {}, where the link alone allows {}; the state machine is {} firmware for reads and {} it for writes",
            counted(one.sectors, "sector"),
            mb_per_s(firmware.read.rate()),
            mb_per_s(one.link[1]),
            beside(sequencer.read.rate(), firmware.read.rate()),
            beside(sequencer.write.rate(), firmware.write.rate()),
        )
    });
    let gain = |one: &SizePoint| one.sequencer.read.rate() / one.firmware.read.rate() - 1.0;
    let lead = match gain(first) > gain(last) + GAINED {
        true => "Small commands are where a sequencer pays for reads",
        false => "A sequencer does not gain more for reads where commands are small",
    };
    let of =
        |one: &SizePoint| format!("{} at {}", percent(gain(one)), counted(one.sectors, "sector"));
    let large = if chosen.len() > 1 { format!(", {}", of(last)) } else { String::new() };
    let continuous = facts.scenario.continuous.sectors;
    let command = SECTOR * u64::from(continuous);
    // Only these are measured with what the sequencing of a write costs after a large command.
    let smaller = match first.sectors < continuous {
        true => format!(" Below {command} a write costs as much sequencing here as a read."),
        false => String::new(),
    };
    let flash = match facts.scenario.drives.intel.drive.write_cache {
        WriteCache::Through => " Writes wait until they are on flash.",
        WriteCache::Back(_) | WriteCache::Protected(_) => "",
    };
    Some(format!(
        "{lead}: {}{large}. On the {}, {}. The runs of tables 5-1 and 5-2 use commands of {command}.{smaller}{flash}",
        of(first),
        short(&facts.scenario.drives.intel),
        told.collect::<Vec<_>>().join("; "),
    ))
}

/// The rates on slower and faster links.
fn speeds(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.speeds;
    let (first, last) = (all.first()?, all.last()?);
    let told = all.iter().map(|one| {
        format!(
            "{} (write) and {} (read) at {}, where the link alone allows {} and {}",
            mb_per_s(one.pair.write.rate()),
            mb_per_s(one.pair.read.rate()),
            one.speed,
            mb_per_s(one.link[0]),
            mb_per_s(one.link[1]),
        )
    });
    Some(format!(
        "The {} reads at {} on a link of {} and at {} on one of {}. It reaches {}.",
        short(&facts.scenario.drives.intel),
        mb_per_s(first.pair.read.rate()),
        first.speed,
        mb_per_s(last.pair.read.rate()),
        last.speed,
        told.collect::<Vec<_>>().join("; "),
    ))
}

/// The effect of a queue on small commands.
fn queue(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.queue;
    let (first, last) = (all.first()?, all.last()?);
    let depth = last.depth?;
    let lead = match last.rates[1] > first.rates[1] * (1.0 + GAINED) {
        true => "A queue keeps more dies busy",
        false => "A queue does not speed up these reads",
    };
    Some(format!(
        "{lead}: random reads run at {} without one and at {} with {depth} queued. The example, on a link of its own speed, \
         accesses {} at random places; writes run at {} without a queue and at {} with it.",
        mb_per_s(first.rates[1]),
        mb_per_s(last.rates[1]),
        counted(facts.scenario.what_if.queued, "sector"),
        mb_per_s(first.rates[0]),
        mb_per_s(last.rates[0]),
    ))
}
