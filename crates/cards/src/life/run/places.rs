//! The pages that a load writes and trims next, on a card of any scale.
//!
//! Layer: rank 10. Main types: [`Places`], the stream of operations on one card; [`Op`], an operation;
//! [`Work`], a load independent of the card. A pattern is drawn at the card's own scale. A recorded
//! list is thinned: of every `per / of` pages written, the place of one is taken. So a range of
//! neighbours becomes each of its larger pages once, and scattered pages become a sample.

use super::model::{Model, Scale};
use crate::life::scenario::{self, Days, Pattern};
use boardlab_document::quantity::Ratio;
use boardlab_ftl::Extent;
use boardlab_result::prose::float;
use boardlab_sim::{Bytes, Seed, Stream};
use std::sync::Arc;

/// The most operations of a recorded load: each takes 12 bytes.
pub(crate) const OPERATIONS: usize = 1 << 25;
/// Quantiles of Zipf's law in the table.
const QUANTILES: usize = 4_096;
/// The most repetitions over which a recorded list is thinned.
const REPETITIONS: u32 = 64;

/// An operation on logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A write.
    Write(Extent),
    /// A trim.
    Trim(Extent),
}

/// A recorded load, in pages of the real card.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedLoad {
    /// The operations, in order.
    pub(crate) operations: Vec<Op>,
    /// Bytes that the host wrote for them.
    pub(crate) bytes: u64,
    /// Pages written.
    pub(crate) pages: u64,
}

/// The operations of a load, independent of the card.
#[derive(Debug, Clone)]
pub enum Source {
    /// Drawn from a pattern.
    Pattern(Pattern),
    /// Recorded, and repeated.
    Recorded(Arc<RecordedLoad>),
}

/// A load with its volume in a day.
#[derive(Debug, Clone)]
pub struct Work {
    /// Bytes that the host writes in a day.
    pub bytes_a_day: f64,
    /// Its operations.
    pub source: Source,
    /// The conditions of its days.
    pub days: Days,
}

impl Work {
    /// Bytes of the host for which one page of the real card is written.
    pub(crate) fn bytes_a_page(&self, model: &Model) -> f64 {
        let page = model.geometry.page();
        match &self.source {
            Source::Pattern(pattern) => {
                let pages = pattern.request.div_ceil(page);
                let joined = model.joins && pattern.places == scenario::Places::Sequential;
                if joined { float(page.get()) } else { float(pattern.request.get()) / float(pages) }
            }
            Source::Recorded(list) => float(list.bytes) / float(list.pages.max(1)),
        }
    }

    /// Whether all places in use are written equally often.
    #[must_use]
    pub const fn is_even(&self) -> bool {
        use scenario::Places::{Random, Sequential};
        matches!(&self.source, Source::Pattern(pattern) if matches!(pattern.places, Random | Sequential))
    }

    /// Share of the card that is in use.
    pub(crate) fn used(&self) -> f64 {
        match &self.source {
            Source::Pattern(pattern) => pattern.used.as_f64(),
            Source::Recorded(_) => 1.0,
        }
    }
}

/// The operations of one card, without end.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    kind: Kind,
    stream: Stream,
    /// The number of pages that hold data, which are the first ones.
    used: u32,
    /// Pages of a request.
    request: u32,
    /// How often each page of a sequence is written before the next.
    repeats: u32,
    repeated: u32,
    next: u32,
    /// The chance of a trim before each write, in 2^-64.
    trims: u64,
    trimmed: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    Sequential,
    Random,
    HotCold { space: u32, writes: u64 },
    Zipf(Arc<[u64]>),
    List(Arc<[Op]>),
}

/// A share in 2^-64.
fn fraction(millionths: u64) -> u64 {
    u64::try_from((u128::from(millionths) << 64) / 1_000_000).unwrap_or(u64::MAX)
}

fn times(count: u32, share: Ratio) -> u32 {
    let part = u64::from(count) * share.millionths().min(1_000_000) / 1_000_000;
    u32::try_from(part).unwrap_or(u32::MAX)
}

impl Places {
    /// The operations of `work` on a card like `model`.
    pub(crate) fn new(work: &Work, model: &Model, seed: Seed) -> Self {
        let used = model.geometry.logical_pages();
        let mut places = Self {
            kind: Kind::Random,
            stream: seed.stream("life.places"),
            used,
            request: 1,
            repeats: 1,
            repeated: 0,
            next: 0,
            trims: 0,
            trimmed: false,
        };
        match &work.source {
            Source::Recorded(list) => {
                places.kind = Kind::List(thin(list, model.scale, used).into());
            }
            Source::Pattern(pattern) => places.place(pattern, model),
        }
        places
    }

    /// Takes its operations from `pattern`.
    fn place(&mut self, pattern: &Pattern, model: &Model) {
        let page = model.geometry.page();
        let used = times(self.used, pattern.used).max(1);
        let pages = pattern.request.div_ceil(page);
        let scaled = (float(pages) / model.scale.pages()).round().max(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a request")]
        let request = (scaled as u32).min(used);
        let small = if model.joins { Bytes::ZERO } else { pattern.request };
        let repeats = if small.is_zero() || small >= page { 1 } else { page / small };
        let sequential = pattern.places == scenario::Places::Sequential;
        let block = model.geometry.pages_per_block().min(used);
        let trim = pattern.trim.millionths();
        let kind = match pattern.places {
            scenario::Places::Sequential => Kind::Sequential,
            scenario::Places::Random => Kind::Random,
            scenario::Places::HotCold { space, writes } => Kind::HotCold {
                space: times(used, space).clamp(1, used.saturating_sub(1).max(1)),
                writes: fraction(writes.millionths()),
            },
            scenario::Places::Zipf(exponent) => Kind::Zipf(zipf(exponent.as_f64(), used)),
        };
        (self.kind, self.used) = (kind, used);
        self.request = if sequential && repeats == 1 { block } else { request };
        self.repeats = if sequential { u32::try_from(repeats).unwrap_or(u32::MAX) } else { 1 };
        // With q trims a write a share q / (1 + q) of uniformly written data is given up.
        self.trims = fraction(trim * 1_000_000 / (1_000_000 - trim).max(1));
    }

    /// The pages to write before the load begins: those that it uses, and with `stale` all others.
    pub(crate) fn prepared(&self, stale: bool, logical: u32) -> Extent {
        let none = matches!(self.kind, Kind::List(_)) && !stale;
        let used = if none { 0 } else { self.used };
        Extent::new(0, if stale { logical } else { used })
    }

    /// The next operation.
    pub(crate) fn take(&mut self) -> Op {
        if let Kind::List(list) = &self.kind {
            let at = self.next as usize;
            self.next = if at + 1 < list.len() { self.next + 1 } else { 0 };
            return list[at];
        }
        if self.trims > 0 && !self.trimmed && self.stream.next_u64() < self.trims {
            self.trimmed = true;
            return Op::Trim(self.draw());
        }
        self.trimmed = false;
        Op::Write(self.draw())
    }

    fn draw(&mut self) -> Extent {
        let slots = self.used / self.request;
        let below = |stream: &mut Stream, slots: u32| {
            u32::try_from(stream.below(slots.max(1).into())).unwrap_or(0)
        };
        let slot = match &self.kind {
            Kind::Sequential | Kind::List(_) => return self.follow(),
            Kind::Random => below(&mut self.stream, slots),
            Kind::HotCold { space, writes } => {
                let hot = (space / self.request).max(1).min(slots);
                if self.stream.next_u64() < *writes || hot == slots {
                    below(&mut self.stream, hot)
                } else {
                    hot + below(&mut self.stream, slots - hot)
                }
            }
            Kind::Zipf(quantiles) => between(quantiles, self.stream.next_u64()) / self.request,
        };
        Extent::new(slot.min(slots.max(1) - 1) * self.request, self.request)
    }

    /// The next range of a sequence.
    fn follow(&mut self) -> Extent {
        let count = self.request.min(self.used - self.next);
        let extent = Extent::new(self.next, count);
        self.repeated += 1;
        if self.repeated >= self.repeats {
            self.repeated = 0;
            self.next = if self.next + count < self.used { self.next + count } else { 0 };
        }
        extent
    }
}

/// Quantiles of Zipf's law over `used` places, in 2^-32 of a place: the first is the most popular.
///
/// The law is taken as continuous, place k from k - 1/2 to k + 1/2, which is within 1.5 % of the sums:
/// `P(place <= k) = ((k + 1/2)^(1-s) - (1/2)^(1-s)) / ((n + 1/2)^(1-s) - (1/2)^(1-s))`.
fn zipf(exponent: f64, used: u32) -> Arc<[u64]> {
    let (first, last) = (0.5_f64, f64::from(used) + 0.5);
    let power = 1.0 - exponent;
    let at = |step: usize| {
        let share = float(u64::try_from(step).unwrap_or(0)) / float(QUANTILES as u64);
        let place = if power.abs() < 1e-9 {
            first * (last / first).powf(share)
        } else {
            let (low, high) = (first.powf(power), last.powf(power));
            ((high - low) * share + low).powf(1.0 / power)
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let fixed = ((place - first).clamp(0.0, f64::from(used)) * 4_294_967_296.0) as u64;
        fixed
    };
    (0..=QUANTILES).map(at).collect()
}

/// The place at a uniformly drawn position.
fn between(quantiles: &[u64], drawn: u64) -> u32 {
    let scaled = u128::from(drawn) * u128::from(QUANTILES as u64);
    let step = usize::try_from(scaled >> 64).unwrap_or(0);
    let (low, high) = (quantiles[step], quantiles[step + 1]);
    let within = scaled & u128::from(u64::MAX);
    let place = u128::from(low) + ((u128::from(high - low) * within) >> 64);
    u32::try_from(place >> 32).unwrap_or(u32::MAX)
}

/// A recorded list for a card of this scale.
fn thin(list: &RecordedLoad, scale: Scale, logical: u32) -> Vec<Op> {
    if scale.per == scale.of {
        return list.operations.clone();
    }
    let (mut out, mut trimmed) = (Vec::new(), 0);
    for repetition in 0..REPETITIONS {
        // Begins elsewhere each time, so that all pages of a list get their turn.
        let mut written = u64::from(scale.per) * u64::from(repetition) / u64::from(REPETITIONS);
        for op in &list.operations {
            let owed = if matches!(op, Op::Write(_)) { &mut written } else { &mut trimmed };
            thin_one(&mut out, *op, scale, logical, owed);
        }
        if out.len() >= list.operations.len().min(OPERATIONS / 2) {
            break;
        }
    }
    if !out.iter().any(|op| matches!(op, Op::Write(_))) {
        let write = list.operations.iter().find(|op| matches!(op, Op::Write(_)));
        out.extend(write.map(|_| Op::Write(Extent::new(0, 1))));
    }
    out
}

/// Adds the pages of the scaled card that `op` amounts to. `owed` counts the pages, times `scale.of`,
/// that do not yet amount to one.
fn thin_one(out: &mut Vec<Op>, op: Op, scale: Scale, logical: u32, owed: &mut u64) {
    let (Op::Write(extent) | Op::Trim(extent)) = op;
    let (per, of) = (u64::from(scale.per), u64::from(scale.of));
    let (mut at, end) = (u64::from(extent.first), u64::from(extent.first + extent.count));
    while at < end {
        let page = at * of / per;
        let next = ((page + 1) * per).div_ceil(of).min(end);
        *owed += (next - at) * of;
        while *owed >= per {
            *owed -= per;
            let page = u32::try_from(page).unwrap_or(u32::MAX).min(logical - 1);
            append(out, page, matches!(op, Op::Write(_)));
        }
        at = next;
    }
}

/// Adds a page, to the last operation if it continues that.
fn append(out: &mut Vec<Op>, page: u32, writes: bool) {
    match out.last_mut() {
        Some(Op::Write(last)) if writes && last.first + last.count == page => last.count += 1,
        Some(Op::Trim(last)) if !writes && last.first + last.count == page => last.count += 1,
        _ if writes => out.push(Op::Write(Extent::new(page, 1))),
        _ => out.push(Op::Trim(Extent::new(page, 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(operations: &[Op]) -> RecordedLoad {
        let pages = operations.iter().map(|op| match op {
            Op::Write(extent) => u64::from(extent.count),
            Op::Trim(_) => 0,
        });
        let pages = pages.sum();
        RecordedLoad { operations: operations.to_vec(), bytes: pages * 4_096, pages }
    }

    const SCALE: Scale = Scale { per: 768, of: 24, step: 1 };

    #[test]
    fn a_stretch_becomes_each_of_its_larger_pages_once() {
        let operations = [Op::Write(Extent::new(0, 3_200))];
        let thinned = thin(&list(&operations), SCALE, 1_000);
        assert_eq!(thinned[0], Op::Write(Extent::new(0, 100)));
    }

    #[test]
    fn scattered_pages_become_one_in_32_and_stay_where_they_are() {
        let mut random = Seed::new(5).stream("test");
        let operations: Vec<Op> = (0..64_000)
            .map(|_| Op::Write(Extent::new(u32::try_from(random.below(32_000)).unwrap(), 1)))
            .collect();
        let thinned = thin(&list(&operations), SCALE, 1_000);
        let pages: u32 = thinned
            .iter()
            .map(|op| match op {
                Op::Write(extent) => extent.count,
                Op::Trim(_) => 0,
            })
            .sum();
        assert_eq!(pages % 2_000, 0, "{pages} pages");
        let first_half = thinned.iter().filter(|op| matches!(op, Op::Write(e) if e.first < 500));
        let half = first_half.count() * 2;
        assert!((half * 20).abs_diff(thinned.len() * 20) < thinned.len(), "{half}");
    }

    #[test]
    fn zipf_gives_the_first_places_the_share_that_the_law_says() {
        for exponent in [0.5, 1.0, 1.2] {
            let quantiles = zipf(exponent, 10_000);
            let mut random = Seed::new(3).stream("test");
            let mut first = 0_u32;
            for _ in 0..100_000 {
                first += u32::from(between(&quantiles, random.next_u64()) < 100);
            }
            let sum = |n: u32| -> f64 { (1..=n).map(|k| f64::from(k).powf(-exponent)).sum() };
            let law = sum(100) / sum(10_000);
            let found = f64::from(first) / 100_000.0;
            assert!((found / law - 1.0).abs() < 0.02, "{exponent}: {found} against {law}");
        }
    }
}
