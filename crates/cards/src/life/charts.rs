//! The charts of a life.
//!
//! Layer: rank 10. Function: [`draw`].

use super::run::factors::Factor;
use super::run::live::{CardLife, Look};
use super::run::study::Study;
use super::tables::years;
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};

/// Bars of the histogram of wear.
const BINS: usize = 40;

/// Draws all charts.
pub(super) fn draw(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    distribution(run, study);
    let median = study.median();
    wear(run, median);
    course(run, median);
    waterfall(run, factors);
}

/// Draws the share of cards at their end over the years.
fn distribution(run: &mut RunResult, study: &Study) {
    let mut ends: Vec<f64> =
        study.cards.iter().filter_map(|card| Some(card.first()?.years)).collect();
    ends.sort_by(f64::total_cmp);
    let all = float(study.cards.len());
    let caption = "Share of the cards that take no more data, or have lost some.";
    let axes = [Axis::fitting("years"), Axis::from_zero("cards at their end (%)")];
    let title = "When cards come to their end";
    let mut chart = Chart::new("life-distribution", title, caption, axes);
    let share = |at: usize| round(float(at + 1) / all * 100.0, 3);
    let points = ends.iter().enumerate().map(|(at, end)| (years(*end), share(at)));
    run.plot(&mut chart, ("cards_at_their_end", "cards"), "%", Style::Line, points);
    run.charts.push(chart);
}

/// Draws the number of blocks by their cycles at the end.
fn wear(run: &mut RunResult, card: &CardLife) {
    let most = card.worn.iter().chain(&card.lives).copied().fold(1.0, f64::max);
    let width = most / float(BINS);
    let histogram = |values: &[f64]| {
        let mut counts = [0_usize; BINS + 1];
        for value in values {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin")]
            let bin = ((value / width) as usize).min(BINS);
            counts[bin] += 1;
        }
        let middle = |bin: usize| round((float(bin) + 0.5) * width, 1);
        (0..).zip(counts).map(move |(bin, count)| (middle(bin), float(count)))
    };
    let caption = "Cycles that the blocks of the median card went through, and live for.";
    let axes = [Axis::from_zero("cycles"), Axis::from_zero("blocks")];
    let mut chart = Chart::new("wear-histogram", "Wear at the end", caption, axes);
    let (worn, lives) = (("worn", "worn at the end"), ("lives", "lives of blocks"));
    run.plot(&mut chart, worn, "blocks", Style::Bars, histogram(&card.worn));
    run.plot(&mut chart, lives, "blocks", Style::Line, histogram(&card.lives));
    run.charts.push(chart);
}

/// Draws wear over the years.
fn course(run: &mut RunResult, card: &CardLife) {
    let caption = "The most worn, the mean and the least worn block of the median card.";
    let axes = [Axis::from_zero("years"), Axis::from_zero("cycles")];
    let mut chart = Chart::new("wear-over-time", "Wear over the years", caption, axes);
    let mut line = |id, label, style, of: fn(&Look) -> f64| {
        let points = card.looks.iter().map(|look| (years(look.at.years), round(of(look), 1)));
        run.plot(&mut chart, (id, label), "cycles", style, points);
    };
    line("cycles_most", "most worn", Style::Line, |look| look.most);
    line("cycles_mean", "mean", Style::Line, |look| look.mean);
    line("cycles_least", "least worn", Style::Dashed, |look| look.least);
    run.charts.push(chart);
}

/// Draws the years with each factor and all before it.
fn waterfall(run: &mut RunResult, factors: &[Factor]) {
    let caption =
        "From the ideal life to the real one: years with each factor and all to its left.";
    let axes = [Axis::fitting("factor"), Axis::from_zero("years")];
    let mut chart = Chart::new("factors", "What shortens and lengthens life", caption, axes);
    chart.categories = factors.iter().map(|one| one.id.to_owned()).collect();
    let points = factors.iter().enumerate().map(|(at, one)| (float(at), years(one.years)));
    run.plot(&mut chart, ("years_by_factor", "years"), "years", Style::Bars, points);
    run.charts.push(chart);
}
