//! The charts of a life.
//!
//! Layer: rank 10. Function: [`draw`].

use super::run::factors::Factor;
use super::run::live::{CardLife, Look};
use super::run::study::Study;
use super::tables::years;
use boardlab_result::prose::{counted, float, round};
use boardlab_result::{Axis, Chart, Layer, RunResult, Style};

/// Bars of the histogram of wear.
const BINS: usize = 40;

/// Draws all charts.
pub(super) fn draw(run: &mut RunResult, study: &Study, factors: &[Factor]) {
    let ends: Vec<Option<f64>> = study.cards.iter().map(|card| Some(card.first()?.years)).collect();
    let seen = study.cards.iter().filter_map(|card| Some(card.looks.last()?.at.years));
    survival(run, &ends, seen.fold(0.0, f64::max));
    let median = study.median();
    wear(run, median);
    course(run, median);
    waterfall(run, factors);
}

/// Draws the share of the cards that still work, with the confidence that so many cards give. `ends` are the
/// years at which each card came to its end; `None` for those that worked to the last look, at `seen`.
fn survival(run: &mut RunResult, ends: &[Option<f64>], seen: f64) {
    let mut at: Vec<f64> = ends.iter().flatten().copied().collect();
    at.sort_by(f64::total_cmp);
    let cards = ends.len();
    let first = at.first().map_or(0.0, |first| before(*first, at.last().copied().unwrap_or(seen)));
    let mut steps: Vec<(f64, usize)> = vec![(first, cards)];
    steps.extend((1..).zip(&at).map(|(ended, years)| (*years, cards - ended)));
    if at.len() < cards {
        steps.push((seen, cards - at.len()));
    }
    let caption = format!(
        "Share of {} that take data and have lost none. The band holds the true share at each time with 95 % confidence \
         (interval of Wilson).",
        counted(cards, "card")
    );
    let axes = [Axis::fitting("years"), Axis::from_zero("cards that still work (%)")];
    let mut chart = Chart::new("survival", "Cards that still work", caption, axes);
    let curve = |of: fn(usize, usize) -> f64| -> Vec<(f64, f64)> {
        let percent =
            |(at, alive): &(f64, usize)| (round(*at, 8), round(of(*alive, cards) * 100.0, 3));
        steps.iter().map(percent).collect()
    };
    run.draw("survival_low", "%", &curve(|alive, cards| wilson(alive, cards).0));
    run.draw("survival_high", "%", &curve(|alive, cards| wilson(alive, cards).1));
    chart.layers.push(Layer::band("95 % confidence", "survival_low", "survival_high"));
    let share = curve(|alive, cards| float(alive) / float(cards));
    run.plot(&mut chart, ("survival", "cards"), "%", Style::Steps, share);
    run.charts.push(chart);
}

/// Where the curve begins: so long before the `first` end that the ends, up to the `last`, fill most of it.
fn before(first: f64, last: f64) -> f64 {
    if last > first { (first - (last - first) / 2.0).max(0.0) } else { 0.0 }
}

/// The interval that holds, with 95 % confidence, the share of which `some` of `all` were drawn. E. B. Wilson: Probable
/// inference, the law of succession, and statistical inference (Journal of the American Statistical Association 22,
/// 1927).
fn wilson(some: usize, all: usize) -> (f64, f64) {
    /// The quantile of 97.5 % of the normal distribution.
    const Z: f64 = 1.959_964;
    let (n, share) = (float(all), float(some) / float(all));
    let squared = Z * Z / n;
    let middle = share + squared / 2.0;
    let half = Z * (share * (1.0 - share) / n + squared / (4.0 * n)).sqrt();
    let end = |edge: f64| (edge / (1.0 + squared)).clamp(0.0, 1.0);
    (end(middle - half), end(middle + half))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn curve<'r>(run: &'r RunResult, id: &str) -> [&'r [f64]; 2] {
        let curve = run.curve(id).unwrap();
        [&curve.x, &curve.y]
    }

    #[test]
    fn survival_falls_by_a_step_at_each_end_and_stays_where_cards_outlive_the_horizon() {
        let mut run = RunResult::new("s", "t", 1, "0");
        survival(&mut run, &[Some(3.0), None, Some(1.0), None], 10.0);
        let [x, y] = curve(&run, "survival");
        assert_eq!(x, [0.0, 1.0, 3.0, 10.0]);
        assert_eq!(y, [100.0, 75.0, 50.0, 50.0]);
        let ([_, low], [_, high]) = (curve(&run, "survival_low"), curve(&run, "survival_high"));
        for ((low, share), high) in low.iter().zip(y).zip(high) {
            assert!(low < share && share <= high, "{low} {share} {high}");
        }
        let layers = &run.charts[0].layers;
        assert_eq!(
            layers.iter().map(|layer| layer.style).collect::<Vec<_>>(),
            [Style::Band, Style::Steps]
        );
    }

    #[test]
    fn ends_close_together_fill_the_curve() {
        let mut run = RunResult::new("s", "t", 1, "0");
        survival(&mut run, &[Some(20.0), Some(22.0)], 22.0);
        assert_eq!(curve(&run, "survival")[0], [19.0, 20.0, 22.0]);
    }

    #[test]
    fn the_interval_is_that_of_wilson() {
        // 95 % for 8 of 10: 49.02 % to 94.33 %.
        let (low, high) = wilson(8, 10);
        assert!((low - 0.490_162).abs() < 1e-5 && (high - 0.943_318).abs() < 1e-5, "{low} {high}");
        assert!(wilson(0, 100).0 < 1e-12 && wilson(0, 100).1 > 0.03);
        assert!(wilson(100, 100).1 > 1.0 - 1e-12);
    }
}
