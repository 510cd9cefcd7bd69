//! Findings about what the publication did not ask.
//!
//! Layer: rank 8. Function: [`all`].

use super::findings::Facts;
use super::tables::cache_name;
use super::told::{mb_per_s, percent};

/// One for each what-if.
pub(super) fn all(facts: &Facts<'_>) -> Vec<String> {
    let all = [cache(facts), sizes(facts), speeds(facts), queue(facts)];
    all.into_iter().flatten().collect()
}

/// What a buffer that ends writes early does to the gain.
fn cache(facts: &Facts<'_>) -> Option<String> {
    let told = facts.measured.caches.iter().map(|one| {
        let (firmware, sequencer) = (one.firmware.write.rate(), one.sequencer.write.rate());
        let (_, title) = cache_name(one.cache);
        format!(
            "{title}: {} with firmware, {} with the state machine ({})",
            mb_per_s(firmware),
            mb_per_s(sequencer),
            percent(sequencer / firmware - 1.0),
        )
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "A write cache would hide the overhead. G-Monster V2, {}. While the host prepares the next command the flash works on what is buffered, and the sequencer \
             has nothing to gain: that firmware costs anything at all says that the drives end a write when it is on flash.",
            told.join("; "),
        )
    })
}

/// From which size on sequencing matters.
fn sizes(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.sizes;
    let told = [all.first()?, all.iter().find(|one| one.sectors >= 256)?, all.last()?].map(|one| {
        format!(
            "{} sectors: reads {} of {} on the link alone, the state machine {} faster than firmware for reads and {} for writes",
            one.sectors,
            mb_per_s(one.firmware.read.rate()),
            mb_per_s(one.link[1]),
            percent(one.sequencer.read.rate() / one.firmware.read.rate() - 1.0),
            percent(one.sequencer.write.rate() / one.firmware.write.rate() - 1.0),
        )
    });
    Some(format!(
        "Small commands are where a sequencer pays. X25-E, {}. The publication measures 32 MB, where hardly anything of it is left. Below 32 MB a write costs the sequencer here what a read does; \
         what writes lose is their end on flash.",
        told.join("; "),
    ))
}

/// What a faster link would give.
fn speeds(facts: &Facts<'_>) -> Option<String> {
    let told: Vec<String> = facts
        .measured
        .speeds
        .iter()
        .map(|one| {
            format!(
                "{}: {} (write) and {} (read), of {} and {}",
                one.speed,
                mb_per_s(one.pair.write.rate()),
                mb_per_s(one.pair.read.rate()),
                mb_per_s(one.link[0]),
                mb_per_s(one.link[1]),
            )
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "The X25-E by the speed of its link, and what the link alone allows. {}.",
            told.join("; ")
        )
    })
}

/// What a queue does for small commands.
fn queue(facts: &Facts<'_>) -> Option<String> {
    let all = &facts.measured.queue;
    let (first, last) = (all.first()?, all.last()?);
    let depth = last.depth?;
    Some(format!(
        "A queue keeps more dies busy. The example on a link of its own speed reads {} sectors at random places at {} without one and at {} with {depth} queued, and writes \
         them at {} and {}.",
        facts.scenario.what_if.queued,
        mb_per_s(first.rates[1]),
        mb_per_s(last.rates[1]),
        mb_per_s(first.rates[0]),
        mb_per_s(last.rates[0]),
    ))
}
