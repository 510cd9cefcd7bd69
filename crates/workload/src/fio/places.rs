//! The sequence of blocks of a job: in order, with holes or backwards, in zones, or at random.
//!
//! Layer: rank 6. Main types: [`Places`], [`Span`]. The order of sequential jobs is fio's, measured
//! with `write_iolog` of fio 3.33: each direction keeps a position of its own; `rw=read:4k` leaves
//! a hole after each block and restarts at the end; zones are used one after the other. Random
//! orders are not fio's: without `norandommap` a keyed permutation visits each block once, without
//! memory for a map.
//!
//! Deliberate deviation: with several block sizes the permutation counts in the smallest, so that
//! blocks may be visited more than once, where fio's map shortens them.

use crate::fio::settings::{Area, Blocks, Direction, Distribution, Settings};
use boardlab_sim::{Seed, Stream, mix};

/// A part of the device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// How many.
    pub length: u64,
}

/// A random permutation of `0..count`: a Feistel network of four rounds, iterated until the value
/// is within the range (cycle walking).
#[derive(Debug, Clone)]
struct Permutation {
    count: u64,
    half: u32,
    keys: [u64; 4],
    next: u64,
}

impl Permutation {
    fn new(count: u64, stream: &mut Stream) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let half = bits.div_ceil(2).max(1);
        let keys = std::array::from_fn(|_| stream.next_u64());
        Self { count, half, keys, next: 0 }
    }

    fn scramble(&self, value: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (value >> self.half, value & mask);
        for key in self.keys {
            let mixed = mix(right ^ key) & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half | right
    }

    fn draw(&mut self) -> Option<u64> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        Some(self.at(self.next - 1))
    }

    /// The position of `value`, which is below the count, in the order.
    fn at(&self, value: u64) -> u64 {
        let mut value = self.scramble(value);
        while value >= self.count {
            value = self.scramble(value);
        }
        value
    }
}

/// The distribution of random offsets of one direction.
#[derive(Debug, Clone)]
enum Sampler {
    Uniform,
    /// Theta, and which block has which rank.
    Zipf(f64, Permutation),
    /// The exponent, and which block has which rank.
    Pareto(f64, Permutation),
    /// Deviation as a share of the area.
    Normal(f64),
    /// Cumulated percent of requests, first and count of blocks.
    Zoned(Vec<(u64, u64, u64)>),
}

impl Sampler {
    fn new(distribution: &Distribution, blocks: u64, unit: u64, stream: &mut Stream) -> Self {
        // Spread as in fio, so that the most popular blocks may lie anywhere.
        let mut spread = || Permutation::new(blocks, stream);
        match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf(theta) => Self::Zipf(*theta, spread()),
            Distribution::Pareto(power) => Self::Pareto(power.ln() / (1.0 - power).ln(), spread()),
            Distribution::Normal(deviation) => Self::Normal(deviation / 100.0),
            Distribution::Zoned { zones, absolute } => {
                Self::Zoned(zone_blocks(zones, *absolute, blocks, unit))
            }
        }
    }

    fn draw(&self, blocks: u64, stream: &mut Stream) -> u64 {
        match self {
            Self::Uniform => stream.below(blocks),
            Self::Zipf(theta, spread) => spread.at(zipf(*theta, spread.count, stream)) % blocks,
            Self::Pareto(exponent, spread) => {
                let rank = floor(to_f64(spread.count) * unit(stream).powf(*exponent));
                spread.at(rank.min(spread.count - 1)) % blocks
            }
            Self::Normal(share) => {
                let (radius, angle) = (-2.0 * unit(stream).ln(), unit(stream));
                let normal = radius.sqrt() * (angle * std::f64::consts::TAU).cos();
                floor((to_f64(blocks) * (0.5 + share * normal)).clamp(0.0, 1e18)).min(blocks - 1)
            }
            Self::Zoned(zones) => {
                let share = stream.below(100);
                let zone = zones.iter().find(|(upto, _, count)| share < *upto && *count > 0);
                zone.map_or(0, |&(_, first, count)| first + stream.below(count))
            }
        }
    }
}

/// Zones in blocks: cumulated share of requests, first block, count.
fn zone_blocks(
    zones: &[(u64, u64)],
    absolute: bool,
    blocks: u64,
    unit: u64,
) -> Vec<(u64, u64, u64)> {
    let (mut shares, mut sizes) = (0, 0);
    let border = |size: u64| {
        let whole = u128::from(blocks) * u128::from(size) / 100;
        let percent = u64::try_from(whole).unwrap_or(blocks);
        if absolute { (size / unit).min(blocks) } else { percent.min(blocks) }
    };
    let place = |&(share, size): &(u64, u64)| {
        let first = border(sizes);
        sizes += if absolute && size == 0 { u64::MAX / 2 } else { size };
        shares += share;
        (shares, first, border(sizes) - first)
    };
    zones.iter().map(place).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a choice at random needs no more")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest u64, and callers take it below their bound"
)]
fn floor(value: f64) -> u64 {
    value as u64
}

/// Above 0, at most 1.
fn unit(stream: &mut Stream) -> f64 {
    to_f64((stream.next_u64() >> 11) + 1) / to_f64(1 << 53)
}

/// A rank from 0 by Zipf's law, by rejection and inversion: W. Hörmann and G. Derflinger, "Rejection-
/// inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
fn zipf(theta: f64, count: u64, stream: &mut Stream) -> u64 {
    let power = 1.0 - theta;
    let area = |x: f64| (x.powf(power) - 1.0) / power;
    let inverse = |y: f64| (1.0 + y * power).powf(1.0 / power);
    let (low, high) = (area(1.5) - 1.0, area(to_f64(count) + 0.5));
    loop {
        let y = high + unit(stream) * (low - high);
        let x = inverse(y);
        let rank = (x + 0.5).floor().clamp(1.0, to_f64(count));
        if y >= area(rank + 0.5) - rank.powf(-theta) {
            return floor(rank) - 1;
        }
    }
}

/// The offsets of the requests on one file of a job.
#[derive(Debug, Clone)]
pub struct Places {
    span: Span,
    random: bool,
    modifier: i64,
    /// Whether each place is used again instead of the next (`rw_sequencer=identical`).
    identical: bool,
    /// Where the last request of each direction began, from the start of the span.
    last: [u64; 3],
    no_map: bool,
    share: [u64; 3],
    blocks: [Blocks; 3],
    unaligned: bool,
    align: [u64; 3],
    samplers: [Sampler; 3],
    /// The next position of each direction, from the start of the span.
    position: [u64; 3],
    /// Requests left before the next random place.
    left: u64,
    map: Option<Permutation>,
    zones: Option<Zones>,
    stream: Stream,
    /// Whether to restart at the end (`time_based`).
    endless: bool,
}

/// `zonemode=strided`: after `size` bytes the next zone follows, and requests stay within `range`
/// bytes of each, which begin again when they are used up.
#[derive(Debug, Clone, Copy)]
struct Zones {
    size: u64,
    range: u64,
    step: u64,
    start: u64,
    /// Bytes moved in the zone.
    used: u64,
    /// The next position of a sequential job in the zone.
    next: u64,
}

impl Zones {
    fn new(area: &Area) -> Option<Self> {
        let range = if area.zone_range == 0 { area.zone_size } else { area.zone_range };
        let step = range.saturating_add(area.zone_skip);
        let zones = Self { size: area.zone_size, range, step, start: 0, used: 0, next: 0 };
        area.strided.then_some(zones)
    }
}

impl Places {
    /// The offsets in `span` for a job; `seed` determines the random ones.
    #[must_use]
    pub fn new(settings: &Settings, span: Span, seed: Seed) -> Self {
        let minimum = |index: usize| settings.blocks[index].minimum().max(1);
        let align = |index: usize| match settings.align[index] {
            0 => minimum(index),
            align => align,
        };
        let align: [u64; 3] = std::array::from_fn(align);
        let mut stream = seed.stream("fio.places");
        let distributions = &settings.randomness.distribution;
        let samplers = std::array::from_fn(|index| {
            let unit = align[index];
            let blocks = (span.length / unit).max(1);
            Sampler::new(&distributions[index], blocks, unit, &mut stream)
        });
        let uniform = distributions.iter().all(|kind| *kind == Distribution::Uniform);
        let mut places = Self {
            span,
            random: settings.access.random,
            modifier: settings.access.modifier,
            identical: settings.randomness.identical,
            last: [0; 3],
            no_map: settings.randomness.no_map || !uniform,
            share: settings.randomness.share,
            blocks: settings.blocks.clone(),
            unaligned: settings.unaligned,
            align,
            samplers,
            position: [0; 3],
            left: 0,
            map: None,
            zones: Zones::new(&settings.area),
            stream,
            endless: settings.timing.time_based,
        };
        places.restart();
        places
    }

    /// Restarts, as each pass over a file does.
    pub fn restart(&mut self) {
        self.position = [0; 3];
        self.left = 0;
        self.zones = self.zones.map(|zones| Zones { start: 0, used: 0, next: 0, ..zones });
        // All directions share one permutation: a place is read or written, not both.
        let unit = self.align.into_iter().min().unwrap_or(1);
        let count = (self.span.length / unit).max(1);
        let mapped = self.random && !self.no_map;
        self.map = mapped.then(|| Permutation::new(count, &mut self.stream));
    }

    fn length(&mut self, direction: usize) -> u64 {
        match &self.blocks[direction] {
            Blocks::Fixed(size) => *size,
            Blocks::Range(low, high) => {
                let size = low + self.stream.below(high - low + 1);
                if self.unaligned { size } else { size / low * low }
            }
            Blocks::Split(entries) => {
                let mut share = self.stream.below(100);
                let mut chosen = entries.last().map_or(0, |&(size, _)| size);
                for &(size, percent) in entries {
                    if share < percent {
                        chosen = size;
                        break;
                    }
                    share -= percent;
                }
                chosen
            }
        }
    }

    /// The offset and length of the next request; `None` at the end of the file.
    pub fn next(&mut self, direction: Direction) -> Option<Span> {
        let index = direction as usize;
        let length = self.length(index);
        if self.zones.is_some() {
            return self.next_in_zone(index, length);
        }
        let offset = self.offset(index, length)?;
        self.fit(index, offset, length)
    }

    /// Shortens a request to the rest of the file, in whole smallest blocks.
    fn fit(&mut self, index: usize, offset: u64, length: u64) -> Option<Span> {
        let left = self.span.length.checked_sub(offset)?;
        let minimum = self.blocks[index].minimum().max(1);
        let length = if length <= left { length } else { left / minimum * minimum };
        if length == 0 {
            return None;
        }
        (self.position[index], self.last[index]) = (offset + length, offset);
        Some(Span { start: self.span.start + offset, length })
    }

    fn offset(&mut self, index: usize, length: u64) -> Option<u64> {
        if self.random && self.is_random(index) {
            return self.random(index, self.span.length, length);
        }
        if self.random && self.identical {
            return Some(self.last[index]);
        }
        match self.sequential(index) {
            None if self.random => self.random(index, self.span.length, length),
            place => place,
        }
    }

    /// `rw=randread:8` draws for the first of every eight, `percentage_random` for its share.
    fn is_random(&mut self, index: usize) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.left = u64::try_from(self.modifier).unwrap_or(0).saturating_sub(1);
        self.share[index] >= 100 || self.stream.below(100) < self.share[index]
    }

    fn random(&mut self, index: usize, within: u64, length: u64) -> Option<u64> {
        let unit = self.align[index];
        let blocks = within.checked_sub(length)? / unit + 1;
        if let Some(map) = &mut self.map {
            let unit = self.align.into_iter().min().unwrap_or(1);
            let smallest = self.blocks[index].minimum();
            let end = within.saturating_sub(smallest);
            return std::iter::from_fn(|| map.draw())
                .map(|block| block * unit)
                .find(|at| *at <= end);
        }
        Some(self.samplers[index].draw(blocks, &mut self.stream) * unit)
    }

    fn sequential(&mut self, index: usize) -> Option<u64> {
        let (mut at, end) = (self.position[index], self.span.length);
        if at >= end && self.endless {
            at = 0;
        }
        if at >= end {
            return None;
        }
        if self.random {
            return Some(at);
        }
        match self.modifier {
            0 => {}
            hole if hole > 0 && at > 0 => {
                at += hole.unsigned_abs();
                at = if at >= end { 0 } else { at };
            }
            back if back < 0 => {
                // The first block is written at the start, the next one comes from the end.
                let back = back.unsigned_abs();
                let from = if at == 0 { None } else { Some(at) };
                at = match from.and_then(|from| from.checked_sub(back)) {
                    Some(place) => place,
                    None if from.is_some() => end.saturating_sub(back),
                    None => 0,
                };
            }
            _ => {}
        }
        Some(at)
    }

    fn next_in_zone(&mut self, index: usize, length: u64) -> Option<Span> {
        let mut zones = self.zones?;
        if zones.used >= zones.size {
            let start = zones.start.saturating_add(zones.step);
            zones.start = if start < self.span.length { start } else { 0 };
            (zones.used, zones.next) = (0, 0);
        }
        let end = zones.start.saturating_add(zones.range).min(self.span.length);
        let within = end - zones.start;
        if zones.next >= within {
            zones.next = 0;
        }
        let unit = self.align[index];
        let offset = if self.random {
            let blocks = within.saturating_sub(length) / unit + 1;
            zones.start + self.samplers[index].draw(blocks, &mut self.stream) * unit
        } else {
            zones.start + zones.next
        };
        let length = length.min(end.saturating_sub(offset));
        zones.used += length.max(1);
        zones.next += length.max(1);
        self.zones = Some(zones);
        self.fit(index, offset, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::{EmptyEnvironment, parse};
    use std::collections::BTreeSet;

    fn places(options: &str, length: u64) -> Places {
        let text = format!("[j]\n{options}\n").replace(' ', "\n");
        let file = parse("j", text.as_bytes(), &EmptyEnvironment).unwrap();
        Places::new(&file.jobs[0].settings, Span { start: 0, length }, Seed::new(1))
    }

    fn kib(places: &mut Places, count: usize) -> Vec<u64> {
        let direction = Direction::Read;
        (0..count).map_while(|_| places.next(direction)).map(|span| span.start / 1_024).collect()
    }

    #[test]
    fn a_random_pass_visits_each_block_once() {
        for blocks in [1, 2, 3, 7, 64, 1_000] {
            let mut places = places("rw=randread", blocks * 4_096);
            let mut seen = kib(&mut places, 2_000);
            if blocks > 10 {
                assert!(!seen.is_sorted());
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..blocks).map(|block| block * 4).collect::<Vec<_>>());
            places.restart();
            assert_eq!(kib(&mut places, 2_000).len() as u64, blocks);
        }
    }

    #[test]
    fn distributions_prefer_what_they_should() {
        let share = |options: &str, hot: &dyn Fn(u64) -> bool| {
            let mut places = places(&format!("rw=randread norandommap {options}"), 4_096 * 1_000);
            let drawn = kib(&mut places, 20_000);
            assert!(drawn.iter().all(|kib| *kib < 4_000));
            drawn.iter().filter(|kib| hot(**kib / 4)).count() * 100 / 20_000
        };
        assert!((48..=52).contains(&share("", &|block| block < 500)));
        let zoned = "random_distribution=zoned:50/5:30/15:20/80";
        assert!((48..=52).contains(&share(zoned, &|block| block < 50)));
        let normal = "random_distribution=normal:10";
        assert!((66..=70).contains(&share(normal, &|block| (400..600).contains(&block))));
    }

    #[test]
    fn random_places_of_a_zone_come_from_all_its_range() {
        let options = "rw=randread zonemode=strided zonesize=8k zonerange=32k zoneskip=16k";
        let drawn = kib(&mut places(options, 144 * 1_024), 6_000);
        let offsets: BTreeSet<u64> = drawn
            .chunks(2)
            .zip([0, 48, 96].into_iter().cycle())
            .flat_map(|(pair, zone)| pair.iter().map(move |kib| kib - zone))
            .collect();
        assert!(offsets.into_iter().eq((0..32).step_by(4)), "two blocks of each zone in turn");
    }

    #[test]
    fn zipf_ranks_follow_the_law() {
        let mut stream = Seed::new(5).stream("zipf");
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            let rank = zipf(1.2, 1_000, &mut stream);
            if let Some(count) = counts.get_mut(usize::try_from(rank).unwrap()) {
                *count += 1;
            }
        }
        let zeta: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-1.2)).sum();
        for (rank, count) in (1..).zip(counts) {
            let expected = 100_000.0 * f64::from(rank).powf(-1.2) / zeta;
            assert!((f64::from(count) / expected - 1.0).abs() < 0.03, "rank {rank}: {count}");
        }
    }
}
