//! Many cards under one load: their simulation, and its quantiles.
//!
//! Layer: rank 10. Main types: [`Study`], [`Band`]; function: [`study`]. Cards differ in the endurance
//! of their blocks, in those that are bad from the factory, and in the places of the load. Each has a
//! seed of its own by its number, so that the result does not depend on the number of threads.

use super::live::{CardLife, Point, live};
use super::model::Model;
use super::pace::{self, Pace};
use super::places::Work;
use crate::life::scenario::{Life, Method};
use boardlab_experiment::Stop;
use boardlab_experiment::crew::in_order;
use boardlab_ftl::Error;
use boardlab_parts::card::part::CardPart;
use boardlab_sim::Seed;
use rayon::prelude::*;
use std::fmt;

/// The most programs of all cards with which they are simulated in full.
const FULL: u64 = 400_000_000;

/// The simulated cards.
#[derive(Debug)]
pub struct Study {
    /// The model of the card.
    pub(crate) model: Model,
    /// The correction of a scaled card.
    pub(crate) pace: Pace,
    /// The load.
    pub(crate) work: Work,
    /// Every card, by number.
    pub cards: Vec<CardLife>,
}

/// Quantiles over the cards: 5, 50 and 95 %; `None` if that card had not reached its end at the
/// horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band(pub [Option<Point>; 3]);

impl Study {
    /// Quantiles of one of the ends.
    #[must_use]
    pub fn band(&self, end: impl Fn(&CardLife) -> Option<Point>) -> Band {
        let mut ends: Vec<Option<Point>> = self.cards.iter().map(end).collect();
        let years = |one: &Option<Point>| one.map_or(f64::INFINITY, |point| point.years);
        ends.sort_by(|a, b| years(a).total_cmp(&years(b)));
        let at = |percent: usize| (ends.len() * percent).div_ceil(100).max(1) - 1;
        Band([5, 50, 95].map(|percent| ends[at(percent)]))
    }

    /// The card whose life is the median.
    #[must_use]
    pub fn median(&self) -> &CardLife {
        let mut cards: Vec<&CardLife> = self.cards.iter().collect();
        let years = |one: &CardLife| one.first().map_or(f64::INFINITY, |point| point.years);
        cards.sort_by(|a, b| years(a).total_cmp(&years(b)));
        cards[cards.len().div_ceil(2) - 1]
    }
}

/// Why there are no lives.
#[derive(Debug)]
pub enum StudyError {
    /// An error of the translation layer: above all, too few good blocks.
    Layer(Error),
    /// Somebody stopped it.
    Stopped,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(error) => error.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for StudyError {}

impl From<Error> for StudyError {
    fn from(error: Error) -> Self {
        Self::Layer(error)
    }
}

/// Simulates the lives of `cards` cards, until somebody stops it.
///
/// # Errors
/// [`StudyError`].
pub fn study(
    part: &CardPart,
    work: Work,
    life: Life,
    cards: u64,
    seed: Seed,
    stop: &Stop,
) -> Result<Study, StudyError> {
    let full = Model::full(part, work.days.powered)?;
    let in_full = match life.method {
        Method::Full => true,
        Method::Scaled => false,
        Method::Auto => full.programs().saturating_mul(cards) <= FULL,
    };
    let (model, pace) = if in_full {
        (full, Pace::full())
    } else {
        let scaled = Model::scaled(part, work.days.powered, work.is_even())?;
        let pace = pace::measure(&full, &scaled, &work, seed.child("life.pace"))?;
        (scaled, pace)
    };
    let each = |number: u64| {
        stop.check().map_err(|_| StudyError::Stopped)?;
        let seed = seed.child(&format!("life.card.{number}"));
        Ok::<_, StudyError>(live(&model, &pace, &work, life.horizon, seed)?)
    };
    let cards = in_order((0..cards).into_par_iter().map(each))?;
    Ok(Study { cards, model, pace, work })
}
