//! Findings about what the publication did not ask.
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

/// A gain that is worth a word, as a share.
const GAINED: f64 = 0.001;

/// One for each what-if.
pub(crate) fn all(run: &mut RunResult, facts: &Facts<'_>) {
    find_if(run, cache(facts));
    find_if(run, sizes(facts));
    find_if(run, speeds(facts));
    find_if(run, queue(facts));
}

/// The gain of the sequencer over firmware for writes that end as `cached` says, as a share.
fn gain(cached: &CachePoint) -> f64 {
    cached.sequencer.write.rate() / cached.firmware.write.rate() - 1.0
}

/// What a buffer that ends writes early does to the gain.
fn cache(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.caches;
    let (through, back) = (gain(all.first()?), gain(all.last()?));
    let told = all.iter().map(|one| {
        let (_, title) = cache_name(one.cache);
        format!(
            "{title}: {} with firmware, {} with the state machine ({})",
            mb_per_s(one.firmware.write.rate()),
            mb_per_s(one.sequencer.write.rate()),
            percent(gain(one)),
        )
    });
    let host = &facts.scenario.host;
    let (lead, why) = if host.firmware.write == host.sequencer.write || through < GAINED {
        (
            "A write cache has no overhead to hide here",
            "Who sequences the writes of this drive makes no difference to them",
        )
    } else if back < through / 10.0 {
        (
            "A write cache would hide the overhead",
            "While the host prepares the next command the flash works on what is buffered, and the sequencer has nothing \
             to gain: that firmware costs anything at all says that the drives end a write when it is on flash",
        )
    } else if back < through * 0.9 {
        (
            "A write cache of this size would hide part of the overhead",
            "The flash is done with what is buffered before the next command comes",
        )
    } else {
        (
            "A write cache of this size would hide nothing of the overhead",
            "The flash is done with what is buffered before the next command comes",
        )
    };
    Some(format!(
        "{lead}. {}, {}. {why}.",
        short(&facts.scenario.drives.g_monster),
        told.collect::<Vec<_>>().join("; "),
    ))
}

/// From which size on sequencing matters.
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
            "{}: firmware reads at {}, the link alone would at {}; the state machine is {} firmware for reads and {} it for writes",
            counted(one.sectors, "sector"),
            mb_per_s(firmware.read.rate()),
            mb_per_s(one.link[1]),
            beside(sequencer.read.rate(), firmware.read.rate()),
            beside(sequencer.write.rate(), firmware.write.rate()),
        )
    });
    let told = told.collect::<Vec<_>>().join("; ");
    let gain = |one: &SizePoint| one.sequencer.read.rate() / one.firmware.read.rate() - 1.0;
    let lead = match gain(first) > gain(last) + GAINED {
        true => "Small commands are where a sequencer pays for reads",
        false => "What a sequencer gives by the size of a command",
    };
    let continuous = facts.scenario.continuous.sectors;
    let command = SECTOR * u64::from(continuous);
    // Only these are measured with what the sequencing of a write costs after a large command.
    let smaller = match first.sectors < continuous {
        true => {
            format!(" Below {command} a write costs whoever sequences it here what a read does.")
        }
        false => String::new(),
    };
    let flash = match facts.scenario.drives.intel.drive.write_cache {
        WriteCache::Through => " Writes wait for their end on flash.",
        WriteCache::Back(_) | WriteCache::Protected(_) => "",
    };
    Some(format!(
        "{lead}. {}, {told}. The runs of tables 5-1 and 5-2 are of commands of {command}.{smaller}{flash}",
        short(&facts.scenario.drives.intel),
    ))
}

/// What a faster link would give.
fn speeds(facts: &Facts<'_>) -> Option<String> {
    let told = facts.measured.speeds.iter().map(|one| {
        format!(
            "{}: {} (write) and {} (read), of {} and {}",
            one.speed,
            mb_per_s(one.pair.write.rate()),
            mb_per_s(one.pair.read.rate()),
            mb_per_s(one.link[0]),
            mb_per_s(one.link[1]),
        )
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "The {} by the speed of its link, and what the link alone allows. {}.",
            short(&facts.scenario.drives.intel),
            told.join("; ")
        )
    })
}

/// What a queue does for small commands.
fn queue(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.queue;
    let (first, last) = (all.first()?, all.last()?);
    let depth = last.depth?;
    let lead = match last.rates[1] > first.rates[1] * (1.0 + GAINED) {
        true => "A queue keeps more dies busy",
        false => "A queue gives these reads nothing",
    };
    Some(format!(
        "{lead}. The example on a link of its own speed reads {} at random places at {} without one and at {} with {depth} \
         queued, and writes them at {} and {}.",
        counted(facts.scenario.what_if.queued, "sector"),
        mb_per_s(first.rates[1]),
        mb_per_s(last.rates[1]),
        mb_per_s(first.rates[0]),
        mb_per_s(last.rates[0]),
    ))
}
