//! The life of one card, from the first write to the last.
//!
//! Layer: rank 10. Main types: [`CardLife`], [`Point`], [`Look`]; function: [`live`]. The load is written
//! a block at a time; between two blocks the card is idle for the block's share of a day, in which it
//! folds, levels wear and patrols. Time is that of the load: the bytes written divided by the bytes of
//! a day.

use super::faults::Faults;
use super::model::Model;
use super::pace::{Pace, batch};
use super::places::{Places, Work};
use boardlab_ftl::{Counters, Error, Health, PageMapped, Translation, UntimedMedium};
use boardlab_result::prose::{YEAR, float};
use boardlab_sim::{Duration, Instant, Seed};

/// Inspections of a card over its rated life.
const LOOKS: u32 = 256;

/// A point in a card's life.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Years since the first write.
    pub years: f64,
    /// Bytes written by the host until then.
    pub bytes: f64,
}

/// An inspection of a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// When it was.
    pub at: Point,
    /// The mean P/E cycles of a block.
    pub mean: f64,
    /// The cycles of the least worn block.
    pub least: f64,
    /// The cycles of the most worn block.
    pub most: f64,
    /// Blocks that went bad.
    pub grown_bad: u32,
}

/// A simulated life.
#[derive(Debug, Clone, Default)]
pub struct CardLife {
    /// When the first of its blocks went bad.
    pub first_bad: Option<Point>,
    /// When the card became read-only; `None` when it was not at the horizon.
    pub read_only: Option<Point>,
    /// When it first lost data; `None` when it did not before it was read-only.
    pub uncorrectable: Option<Point>,
    /// The end of the simulation: read-only, or at the horizon.
    pub end: Point,
    /// What the simulated card did.
    pub counters: Counters,
    /// The cycles that each block went through.
    pub worn: Vec<f64>,
    /// The endurance of each block, in cycles.
    pub lives: Vec<f64>,
    /// Blocks that were bad from the factory.
    pub factory_bad: u32,
    /// Blocks that went bad.
    pub grown_bad: u32,
    /// Spare blocks of the new card.
    pub spare: u32,
    /// The inspections, from the first write on.
    pub looks: Vec<Look>,
}

impl CardLife {
    /// The earlier of the two ends: read-only, or lost data.
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

/// Simulates the life of the card with this seed.
pub(crate) fn live(
    model: &Model,
    pace: &Pace,
    work: &Work,
    horizon: Duration,
    seed: Seed,
) -> Result<CardLife, Error> {
    let mut course = Course::new(model, work, seed)?;
    let horizon = horizon.as_secs_f64();
    let is_read_only = loop {
        let written = course.write();
        let good = model.geometry.blocks() - course.layer.flash().pool().retired();
        course.advance(model, work, pace.at(good));
        course.note_first_bad();
        course.look_when_due();
        match written {
            Ok(()) if course.seconds < horizon => {}
            Ok(()) => break false,
            Err(Error::ReadOnly { .. }) => break true,
            Err(error) => return Err(error),
        }
    };
    Ok(course.ended(is_read_only))
}

/// A life in progress.
struct Course {
    layer: PageMapped<UntimedMedium>,
    places: Places,
    faults: Option<Faults>,
    /// Cycles that an erase stands for.
    step: f64,
    seconds: f64,
    /// Pages of the host so far, on the simulated card.
    written: u64,
    /// The number of erases at the next inspection.
    due: u64,
    /// Erases between two inspections.
    every: u64,
    /// The life so far.
    life: CardLife,
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
        let reads = reads / pages.max(1.0) * block;
        let errors = model.reliability.reads.as_ref();
        let faults =
            errors.map(|one| Faults::new(one, &layer, model.scale, &work.days, reads, seed));
        let rated = u64::from((model.rated / model.scale.step).max(1));
        let every = (rated * u64::from(model.geometry.blocks()) / u64::from(LOOKS)).max(1);
        let (spare, factory_bad) = (layer.spare_blocks(), layer.wear().factory_bad);
        let mut course = Self {
            written: layer.counters().written,
            layer,
            places,
            faults,
            step: f64::from(model.scale.step),
            seconds: 0.0,
            due: every,
            every,
            life: CardLife { spare, factory_bad, ..CardLife::default() },
        };
        course.look();
        Ok(course)
    }

    /// Writes about a block of the load.
    fn write(&mut self) -> Result<(), Error> {
        let (at, pages) = (instant(self.seconds), self.layer.flash().geometry().pages_per_block());
        batch(&mut self.layer, &mut self.places, at, pages)
    }

    /// Lets time pass for what was written since the last call.
    fn advance(&mut self, model: &Model, work: &Work, pace: f64) {
        let written = self.layer.counters().written;
        let pages = float(written - self.written) * model.scale.pages() * self.step * pace;
        self.written = written;
        let bytes = pages * work.bytes_a_page(model);
        let before = instant(self.seconds);
        self.seconds += bytes / work.bytes_a_day * 86_400.0;
        self.life.end.bytes += bytes;
        self.life.end.years = self.seconds / YEAR;
        self.layer.idle(before, instant(self.seconds));
    }

    fn note_first_bad(&mut self) {
        let bad = self.layer.flash().pool().retired();
        if self.life.first_bad.is_none() && bad > self.life.factory_bad {
            self.life.first_bad = Some(self.life.end);
        }
    }

    fn look_when_due(&mut self) {
        if self.layer.counters().erases.total() >= self.due {
            self.due += self.every;
            self.look();
        }
    }

    fn look(&mut self) {
        let worn = self.cycles(Health::worn);
        let sum: f64 = worn.iter().sum();
        let (wear, at) = (self.layer.wear(), self.life.end);
        self.life.looks.push(Look {
            at,
            mean: sum / f64::from(self.layer.flash().geometry().blocks()),
            least: worn.iter().copied().fold(f64::INFINITY, f64::min),
            most: worn.iter().copied().fold(0.0, f64::max),
            grown_bad: wear.retired - wear.factory_bad,
        });
        let now = instant(self.seconds);
        if let Some(faults) = &mut self.faults
            && self.life.uncorrectable.is_none()
            && faults.look(&self.layer, now)
        {
            self.life.uncorrectable = Some(at);
        }
    }

    /// A figure of each block, which its health has in thousandths, in cycles.
    fn cycles(&self, of: fn(&Health, u32) -> u64) -> Vec<f64> {
        let blocks = 0..self.layer.flash().geometry().blocks();
        let health = self.layer.flash().health();
        let of = |block| health.map_or(0, |health| of(health, block));
        blocks.map(|block| float(of(block)) / 1_000.0 * self.step).collect()
    }

    fn ended(mut self, is_read_only: bool) -> CardLife {
        self.look();
        let wear = self.layer.wear();
        CardLife {
            read_only: is_read_only.then_some(self.life.end),
            counters: *self.layer.counters(),
            worn: self.cycles(Health::worn),
            lives: self.cycles(Health::life),
            grown_bad: wear.retired - wear.factory_bad,
            ..self.life
        }
    }
}
