//! Limits of a product, the figures that meet or miss them, and the order that follows.
//!
//! Layer: rank 9. Main types: [`Limit`], what a product limits; [`Held`], a figure against its limit. Functions: [`order`],
//! [`missed`], [`table`], and some of the words. First come those that miss the fewest limits; of equals, those that miss them by the least; then
//! those that use the least of them. Nothing is weighed against anything: a share of a limit is the only unit.

use boardlab_result::prose::{counted, float, round};
use boardlab_result::{Cell, Row, Table};
use std::cmp::Ordering;

/// What a product limits.
pub trait Limit: Copy {
    /// Its name and its unit in a table; the name is that of the key.
    fn words(self) -> [&'static str; 2];

    /// Whether a figure can use a share of it; others are met or missed.
    fn has_shares(self) -> bool {
        true
    }
}

/// A figure held against its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held<L> {
    /// The limit.
    pub limit: L,
    /// The figure, in the unit of the limit.
    pub figure: f64,
    /// The most, or the least, as the limit is.
    pub bound: f64,
    /// How much of the limit is used: above 1 it is missed.
    pub used: f64,
}

/// The share that a figure uses of a limit that it must reach.
const NOTHING: f64 = 1e-9;

impl<L> Held<L> {
    /// A figure that may be `bound` at most.
    pub fn most(limit: L, figure: f64, bound: f64) -> Self {
        Self { limit, figure, bound, used: figure / bound.max(NOTHING) }
    }

    /// A figure that has to be `bound` at least.
    pub fn least(limit: L, figure: f64, bound: f64) -> Self {
        Self { limit, figure, bound, used: bound / figure.max(NOTHING) }
    }

    /// One that is met with nothing, and missed with anything.
    pub fn none(limit: L, figure: f64) -> Self {
        Self { limit, figure, bound: 0.0, used: if figure > 0.0 { 2.0 } else { 0.0 } }
    }

    /// Whether the figure keeps to the limit.
    pub fn is_met(&self) -> bool {
        self.used <= 1.0
    }
}

/// How many limits are missed.
pub fn missed<L>(held: &[Held<L>]) -> usize {
    held.iter().filter(|one| !one.is_met()).count()
}

/// A share of a limit below which less makes no difference.
const LITTLE: f64 = 0.01;
/// Shares whose geometric means are so many times apart are told apart.
const APART: f64 = 1.05;

/// Which of two comes first; equal where the figures are too close to say.
pub fn order<L: Limit>(one: &[Held<L>], other: &[Held<L>]) -> Ordering {
    // The geometric mean in steps.
    let step = |held: &[Held<L>], missed: bool| -> i64 {
        let counted = held.iter().filter(|one| one.limit.has_shares());
        let counted = counted.filter(|one| !missed || !one.is_met());
        let logs: Vec<f64> = counted.map(|one| one.used.max(LITTLE).ln()).collect();
        let sum: f64 = logs.iter().sum();
        // Those that are missed count in all, for a second one is no relief.
        let mean = if missed { sum } else { sum / float(logs.len().max(1) as u64) };
        #[allow(clippy::cast_possible_truncation, reason = "a few hundred steps")]
        let steps = (mean / APART.ln()).round() as i64;
        steps
    };
    let by = |missed| step(one, missed).cmp(&step(other, missed));
    missed(one).cmp(&missed(other)).then(by(true)).then(by(false))
}

/// The limits that are missed, by name.
#[must_use]
pub fn missed_by_name<L: Limit>(held: &[Held<L>]) -> Cell {
    let names = held.iter().filter(|held| !held.is_met()).map(|held| held.limit.words()[0]);
    Cell::text(names.collect::<Vec<_>>().join(", "))
}

/// All the limits of a product that has so many, for a sentence: `both limits`, `all 3 limits`.
#[must_use]
pub fn all_of(count: usize) -> String {
    match count {
        1 => "the limit".to_owned(),
        2 => "both limits".to_owned(),
        all => format!("all {all} limits"),
    }
}

/// What the other candidates meet and miss, by name, as a finding; `told` says a figure with its limit. `None` where there
/// are none, or no limits.
pub fn others<L>(rest: &[(&str, &[Held<L>])], told: impl Fn(&Held<L>) -> String) -> Option<String> {
    rest.first().filter(|(_, held)| !held.is_empty())?;
    let each = rest.iter().map(|(name, held)| match missed(held) {
        0 => format!("{name} meets all: {}", told_all(held.iter(), &told)),
        some => {
            let missed = held.iter().filter(|one| !one.is_met());
            format!("{name} misses {some}: {}", told_all(missed, &told))
        }
    });
    let each: Vec<_> = each.collect();
    let met = rest.iter().filter(|(_, held)| missed(held) == 0).count();
    let headline = match (met, rest.len()) {
        (0, 1) => "The other one does not meet all limits".to_owned(),
        (0, all) => format!("None of the {} meets all limits", counted(all as u64, "other")),
        (met, all) if met == all => "Every other one would do as well".to_owned(),
        (met, all) => format!("{met} of the {} would do as well", counted(all as u64, "other")),
    };
    Some(format!("{headline}. {}.", each.join("; ")))
}

/// Figures with their limits, as `told` says each.
pub fn told_all<'h, L: 'h>(
    held: impl Iterator<Item = &'h Held<L>>,
    told: impl Fn(&Held<L>) -> String,
) -> String {
    held.map(told).collect::<Vec<_>>().join(", ")
}

/// The table `id` of every limit of every candidate, by its name.
pub fn table<'h, L: Limit + 'h>(
    id: &str,
    candidates: impl IntoIterator<Item = (&'h str, &'h [Held<L>])>,
) -> Table {
    let rows = candidates.into_iter().flat_map(|(name, held)| {
        held.iter().map(move |held| {
            let [limit, unit] = held.limit.words();
            // No suffix says years.
            let title = if unit == "years" { unit } else { "" };
            (Row::new(format!("{name}/{limit}"), title).of_unit(unit), held)
        })
    });
    Table::new(id, "Every limit, met or missed")
        .of(rows)
        .column("figure", "figure", |held| Cell::real(round(held.figure, 1)))
        .column("limit", "limit", |held| Cell::real(round(held.bound, 1)))
        .column("used_ratio", "of the limit", |held| match held.limit.has_shares() {
            true => Cell::real(round(held.used, 3)),
            false => Cell::none(),
        })
        .column("met", "met", |held| Cell::text(if held.is_met() { "yes" } else { "no" }))
        .table()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Of {
        Boot,
        Ram,
        PowerCuts,
    }

    impl Limit for Of {
        fn words(self) -> [&'static str; 2] {
            match self {
                Self::Boot => ["boot", "years"],
                Self::Ram => ["ram", "bytes"],
                Self::PowerCuts => ["power_cuts", "count"],
            }
        }

        fn has_shares(self) -> bool {
            !matches!(self, Self::PowerCuts)
        }
    }

    /// Boot and RAM of which so much is used, and power cuts with losses.
    fn of(boot: f64, ram: f64, lost: f64) -> Vec<Held<Of>> {
        vec![
            Held::most(Of::Boot, boot, 1.0),
            Held::most(Of::Ram, ram, 1.0),
            Held::none(Of::PowerCuts, lost),
        ]
    }

    #[test]
    fn fewer_limits_missed_come_first_then_smaller_misses_then_more_room() {
        let mut all = [
            of(1.2, 1.2, 0.0),
            of(1.5, 0.1, 0.0),
            of(0.9, 0.9, 0.0),
            of(1.2, 0.9, 0.0),
            of(0.5, 0.9, 0.0),
            of(0.9, 0.9, 7.0),
        ];
        all.sort_by(|one, other| order(one, other));
        let told: Vec<_> = all.iter().map(|one| (one[0].figure, one[2].figure)).collect();
        let expected = [(0.5, 0.0), (0.9, 0.0), (0.9, 7.0), (1.2, 0.0), (1.5, 0.0), (1.2, 0.0)];
        assert_eq!(told, expected);
    }

    #[test]
    fn figures_that_are_close_are_equal_and_little_is_nothing() {
        assert_eq!(order(&of(0.500, 0.5, 0.0), &of(0.501, 0.5, 0.0)), Ordering::Equal);
        assert_eq!(order(&of(0.001, 0.5, 0.0), &of(0.009, 0.5, 0.0)), Ordering::Equal);
        assert_eq!(order(&of(0.4, 0.5, 0.0), &of(0.5, 0.5, 0.0)), Ordering::Less);
    }

    #[test]
    fn a_limit_that_is_just_reached_is_met() {
        assert!(Held::most(Of::Ram, 1_024.0, 1_024.0).is_met());
        assert!(Held::least(Of::Ram, 1_024.0, 1_024.0).is_met());
        assert!(!Held::least(Of::Ram, 1_023.0, 1_024.0).is_met());
        assert!(!Held::most(Of::Boot, 0.5, 0.0).is_met());
    }

    #[test]
    fn the_table_has_a_row_a_limit_and_no_share_where_there_is_none() {
        let held = of(0.5, 1.5, 1.0);
        let table = table("limits", [("one", held.as_slice())]);
        let ids: Vec<_> = table.rows.iter().map(|row| (row.id.as_str(), &*row.title)).collect();
        assert_eq!(ids, [("one/boot", "years"), ("one/ram", ""), ("one/power_cuts", "")]);
        let met = |row: usize| table.rows[row].cells["met"].value.clone();
        assert_eq!([met(0), met(1)], [Cell::text("yes").value, Cell::text("no").value]);
        assert_eq!(table.rows[2].cells["used_ratio"].value, Cell::none().value);
        assert_eq!(missed_by_name(&held).value, Cell::text("ram, power_cuts").value);
    }
}
