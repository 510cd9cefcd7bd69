//! The chart of an advice.
//!
//! Layer: rank 10. Function: [`draw`].

use super::rank::{Advice, years};
use super::scenario::Scenario;
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, Mark, RunResult, Style};

/// Draws the rate of the jobs against the life of each card, with their limits.
pub(super) fn draw(run: &mut RunResult, advice: &Advice, scenario: &Scenario) {
    let caption = "One point a card: the years that 5 % of such cards do not reach, and what the slowest job writes. \
                   The further up and to the right, the better.";
    let axes = [Axis::from_zero("life (years)"), Axis::from_zero("writes of the job (MB/s)")];
    let mut chart = Chart::new("card-advise", "Rate against life", caption, axes);
    let mut last = 0.0_f64;
    for (number, one) in advice.ranked.iter().enumerate() {
        let point = (round(one.years, 2), round(float(one.candidate.jobs.rate) / 1e6, 3));
        last = last.max(point.0);
        let id = (format!("card_advise_{number}"), one.name());
        run.plot(&mut chart, id, "mb_per_s", Style::Points, [point]);
    }
    if let Some(limit) = scenario.product.throughput {
        let rate = round(limit.bytes_per_second() / 1e6, 3);
        let id = ("card_advise_limit", format!("limit: {rate} MB/s"));
        run.plot(&mut chart, id, "mb_per_s", Style::Dashed, [(0.0, rate), (last, rate)]);
    }
    if let Some(limit) = scenario.product.life {
        chart.marks.push(Mark { x: round(years(limit), 2), label: "limit".into() });
    }
    run.charts.push(chart);
}
