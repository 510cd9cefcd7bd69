//! The pictures of a life, as data.

use super::run::factors::Factor;
use super::run::live::Lived;
use super::run::study::Study;
use super::tables::years;
use boardlab_result::prose::round;
use boardlab_result::{Axis, Chart, Layer, RunResult, Style};

/// Bars of the histogram of wear.
const BINS: usize = 40;

fn number(count: usize) -> f64 {
    super::run::places::real(u64::try_from(count).unwrap_or(u64::MAX))
}

/// All of them.
pub(super) fn draw(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    distribution(run, study);
    let median = study.median();
    wear(run, median);
    course(run, median);
    waterfall(run, factors);
}

/// The share of cards at their end over the years.
fn distribution(run: &mut RunResult, study: &Study) {
    let mut ends: Vec<f64> =
        study.cards.iter().filter_map(|card| Some(card.first()?.years)).collect();
    ends.sort_by(f64::total_cmp);
    let all = number(study.cards.len());
    let points: Vec<(f64, f64)> = ends
        .iter()
        .enumerate()
        .map(|(at, end)| (years(*end), round(number(at + 1) / all * 100.0, 3)))
        .collect();
    run.draw("cards_at_their_end", "%", &points);
    let caption = "Share of the cards that take no more data, or have lost some.";
    let axes = [Axis::fitting("years"), Axis::from_zero("cards at their end (%)")];
    run.charts.push(Chart {
        layers: vec![Layer::new("cards", "cards_at_their_end", Style::Line)],
        ..Chart::new("life-distribution", "When cards come to their end", caption, axes)
    });
}

/// Blocks by cycles at the end.
fn wear(run: &mut RunResult, card: &Lived) {
    let most = card.worn.iter().chain(&card.lives).copied().fold(1.0, f64::max);
    let width = most / number(BINS);
    let histogram = |values: &[f64]| {
        let mut counts = [0_usize; BINS + 1];
        for value in values {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin")]
            let bin = ((value / width) as usize).min(BINS);
            counts[bin] += 1;
        }
        let middle = |bin: usize| round((number(bin) + 0.5) * width, 1);
        counts.iter().enumerate().map(|(bin, count)| (middle(bin), number(*count))).collect()
    };
    let (worn, lives): (Vec<_>, Vec<_>) = (histogram(&card.worn), histogram(&card.lives));
    run.draw("worn", "blocks", &worn);
    run.draw("lives", "blocks", &lives);
    let caption = "Cycles that the blocks of the median card went through, and live for.";
    let axes = [Axis::from_zero("cycles"), Axis::from_zero("blocks")];
    run.charts.push(Chart {
        layers: vec![
            Layer::new("worn at the end", "worn", Style::Bars),
            Layer::new("lives of blocks", "lives", Style::Line),
        ],
        ..Chart::new("wear-histogram", "Wear at the end", caption, axes)
    });
}

/// Wear over the years.
fn course(run: &mut RunResult, card: &Lived) {
    let curve = |of: fn(&super::run::live::Look) -> f64| -> Vec<(f64, f64)> {
        card.looks.iter().map(|look| (years(look.at.years), round(of(look), 1))).collect()
    };
    run.draw("cycles_most", "cycles", &curve(|look| look.most));
    run.draw("cycles_mean", "cycles", &curve(|look| look.mean));
    run.draw("cycles_least", "cycles", &curve(|look| look.least));
    let caption = "The most worn, the mean and the least worn block of the median card.";
    let axes = [Axis::from_zero("years"), Axis::from_zero("cycles")];
    run.charts.push(Chart {
        layers: vec![
            Layer::new("most worn", "cycles_most", Style::Line),
            Layer::new("mean", "cycles_mean", Style::Line),
            Layer::new("least worn", "cycles_least", Style::Dashed),
        ],
        ..Chart::new("wear-over-time", "Wear over the years", caption, axes)
    });
}

/// Years with each factor and all before it.
fn waterfall(run: &mut RunResult, factors: &[Factor]) {
    let points: Vec<(f64, f64)> =
        factors.iter().enumerate().map(|(at, one)| (number(at), years(one.years))).collect();
    run.draw("years_by_factor", "years", &points);
    let caption =
        "From the ideal life to the real one: years with each factor and all to its left.";
    let axes = [Axis::fitting("factor"), Axis::from_zero("years")];
    run.charts.push(Chart {
        categories: factors.iter().map(|one| one.id.to_owned()).collect(),
        layers: vec![Layer::new("years", "years_by_factor", Style::Bars)],
        ..Chart::new("factors", "What shortens and lengthens life", caption, axes)
    });
}
