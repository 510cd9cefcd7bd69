//! One card from the first write to the last.
//!
//! Layer: rank 10. Main types: [`Lived`], [`Point`], [`Look`]; function: [`live`]. The load is written a block at a time; between two
//! blocks the card is left alone for as long as the day's share lasts, so that it folds, levels and patrols. Time is
//! that of the load: what was written divided by the bytes of a day.

use super::faults::{Faults, Use};
use super::model::Model;
use super::pace::{Pace, batch};
use super::places::{Places, Work};
use boardlab_ftl::{Counters, Error, PageMapped, Translation, Untimed};
use boardlab_result::prose::float;
use boardlab_sim::{Duration, Instant, Seed};

/// Looks at a card over its rated life.
const LOOKS: u32 = 256;
const YEAR: f64 = 365.25 * 86_400.0;

/// A point in a card's life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Since the first write.
    pub years: f64,
    /// Written by the host until then.
    pub bytes: f64,
}

/// What a card looks like at some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// When.
    pub at: Point,
    /// Mean cycles of a block,
    pub mean: f64,
    /// of the least worn one, and of the most worn one.
    pub least: f64,
    /// Of the most worn one.
    pub most: f64,
    /// Blocks that went bad.
    pub grown_bad: u32,
}

/// What a card's life was.
#[derive(Debug, Clone)]
pub struct Lived {
    /// When the first of its blocks went bad.
    pub first_bad: Option<Point>,
    /// When it took no more data; `None` when it still did at the horizon.
    pub read_only: Option<Point>,
    /// When it first lost data; `None` when it did not while it took data.
    pub uncorrectable: Option<Point>,
    /// When it was last looked at: read-only, or at the horizon.
    pub end: Point,
    /// What the simulated card did.
    pub counters: Counters,
    /// Cycles that each block went through, and lived for.
    pub worn: Vec<f64>,
    /// Cycles that each block lives for.
    pub lives: Vec<f64>,
    /// Blocks that were bad from the factory, went bad, and still could.
    pub factory_bad: u32,
    /// Blocks that went bad.
    pub grown_bad: u32,
    /// Spare blocks of the new card.
    pub spare: u32,
    /// From the first write on.
    pub looks: Vec<Look>,
}

impl Lived {
    /// The earlier of the two ends.
    #[must_use]
    pub fn first(&self) -> Option<Point> {
        match (self.read_only, self.uncorrectable) {
            (Some(a), Some(b)) => Some(if a.years <= b.years { a } else { b }),
            (one, other) => one.or(other),
        }
    }
}

fn instant(seconds: f64) -> Instant {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    Instant::from_nanos((seconds * 1e9) as u64)
}

/// The life of the card with this seed.
///
/// # Errors
/// [`Error::TooFewBlocks`] when too many of its blocks are bad from the factory.
pub fn live(
    model: &Model,
    pace: &Pace,
    work: &Work,
    horizon: Duration,
    seed: Seed,
) -> Result<Lived, Error> {
    let mut life = Course::new(model, work, seed)?;
    let horizon = horizon.as_secs_f64();
    let stop = loop {
        let written = life.write();
        let good = model.geometry.blocks() - life.layer.flash().pool().retired();
        life.advance(model, work, pace.at(good));
        life.note_first_bad();
        life.look_when_due();
        match written {
            Ok(()) if life.seconds < horizon => {}
            Ok(()) => break false,
            Err(Error::ReadOnly { .. }) => break true,
            Err(error) => return Err(error),
        }
    };
    Ok(life.ended(stop))
}

/// A life under way.
struct Course {
    layer: PageMapped<Untimed>,
    places: Places,
    faults: Option<Faults>,
    /// Cycles that an erase stands for.
    step: f64,
    seconds: f64,
    bytes: f64,
    /// Pages of the host so far, on the simulated card.
    written: u64,
    /// Erases at the next look, and between two.
    due: u64,
    every: u64,
    uncorrectable: Option<Point>,
    first_bad: Option<Point>,
    spare: u32,
    looks: Vec<Look>,
}

impl Course {
    fn new(model: &Model, work: &Work, seed: Seed) -> Result<Self, Error> {
        let mut layer = model.card(seed)?;
        let places = Places::new(work, model, seed);
        let first = places.prepared(work.days.stale, model.geometry.logical_pages());
        layer.write(Instant::ZERO, first)?;
        let pages = float(model.capacity.get()) * work.used() / float(model.geometry.page().get());
        let block = f64::from(model.scale.per);
        let reads = float(work.days.reads_a_day.get()) / float(model.geometry.page().get());
        let of = Use { reads_a_day: reads / pages.max(1.0) * block, shelf: work.days.shelf };
        let errors = model.reliability.reads.as_ref();
        let faults = errors.map(|errors| Faults::new(errors, &layer, model.scale, of, seed));
        let rated = u64::from((model.rated / model.scale.step).max(1));
        let every = (rated * u64::from(model.geometry.blocks()) / u64::from(LOOKS)).max(1);
        let mut life = Self {
            spare: layer.spare_blocks(),
            written: layer.counters().written,
            layer,
            places,
            faults,
            step: f64::from(model.scale.step),
            seconds: 0.0,
            bytes: 0.0,
            due: every,
            every,
            uncorrectable: None,
            first_bad: None,
            looks: Vec::new(),
        };
        life.look();
        Ok(life)
    }

    fn point(&self) -> Point {
        Point { years: self.seconds / YEAR, bytes: self.bytes }
    }

    /// About a block of the load.
    fn write(&mut self) -> Result<(), Error> {
        let (at, pages) = (instant(self.seconds), self.layer.flash().geometry().pages_per_block());
        batch(&mut self.layer, &mut self.places, at, pages)
    }

    /// Time passes for what was written since the last time.
    fn advance(&mut self, model: &Model, work: &Work, pace: f64) {
        let written = self.layer.counters().written;
        let pages = float(written - self.written) * model.scale.pages() * self.step * pace;
        self.written = written;
        let bytes = pages * work.bytes_a_page(model);
        let before = instant(self.seconds);
        self.bytes += bytes;
        self.seconds += bytes / work.bytes_a_day * 86_400.0;
        self.layer.idle(before, instant(self.seconds));
    }

    fn note_first_bad(&mut self) {
        let bad = self.layer.flash().pool().retired();
        if self.first_bad.is_none() && bad > self.factory_bad() {
            self.first_bad = Some(self.point());
        }
    }

    fn factory_bad(&self) -> u32 {
        self.layer.flash().health().map_or(0, |health| health.factory_bad)
    }

    fn look_when_due(&mut self) {
        if self.layer.counters().erases.total() >= self.due {
            self.due += self.every;
            self.look();
        }
    }

    fn look(&mut self) {
        let worn = self.worn();
        let sum: f64 = worn.iter().sum();
        let wear = self.layer.wear();
        self.looks.push(Look {
            at: self.point(),
            mean: sum / f64::from(self.layer.flash().geometry().blocks()),
            least: worn.iter().copied().fold(f64::INFINITY, f64::min),
            most: worn.iter().copied().fold(0.0, f64::max),
            grown_bad: wear.retired - wear.factory_bad,
        });
        let now = instant(self.seconds);
        if let Some(faults) = &mut self.faults
            && self.uncorrectable.is_none()
            && faults.look(&self.layer, now)
        {
            self.uncorrectable = Some(self.point());
        }
    }

    fn cycles(&self, of: impl Fn(u32) -> u64) -> Vec<f64> {
        let blocks = 0..self.layer.flash().geometry().blocks();
        blocks.map(|block| float(of(block)) / 1_000.0 * self.step).collect()
    }

    fn worn(&self) -> Vec<f64> {
        self.cycles(|block| self.layer.flash().health().map_or(0, |health| health.worn(block)))
    }

    fn ended(mut self, read_only: bool) -> Lived {
        self.look();
        let wear = self.layer.wear();
        let end = self.point();
        Lived {
            first_bad: self.first_bad,
            read_only: read_only.then_some(end),
            uncorrectable: self.uncorrectable,
            end,
            counters: *self.layer.counters(),
            worn: self.worn(),
            lives: self
                .cycles(|block| self.layer.flash().health().map_or(0, |health| health.life(block))),
            factory_bad: wear.factory_bad,
            grown_bad: wear.retired - wear.factory_bad,
            spare: self.spare,
            looks: self.looks,
        }
    }
}
