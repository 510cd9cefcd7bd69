//! The charts of the wear experiment.
//!
//! Layer: rank 10. Function: [`draw`].

use super::scenario::Wear;
use super::tables::{by_system, three, years};
use crate::nandfs::run::wear::Course;
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};

/// Blocks of one row of an erase map, and of one of a flash with many.
const COLUMNS: [usize; 2] = [32, 64];
const MANY: usize = 512;

/// Draws amplification and lives against the fill level, and erase maps.
pub(super) fn draw(run: &mut RunResult, courses: &[Course], wear: &Wear) {
    amplification(run, courses);
    for &cycles in &wear.endurance {
        lives(run, courses, cycles);
    }
    for level in &wear.check_levels {
        let at: Vec<_> = courses.iter().filter(|one| one.level == *level).collect();
        map(run, &at, &level.to_string());
    }
}

fn percent(course: &Course) -> f64 {
    course.level.as_f64() * 100.0
}

fn amplification(run: &mut RunResult, courses: &[Course]) {
    let caption = "Bytes that are programmed for each byte of the file, when that is steady.";
    let axes = [Axis::from_zero("fill level (%)"), Axis::from_zero("write amplification")];
    let mut chart =
        Chart::new("wear-amplification", "Write amplification against fill level", caption, axes);
    for (system, levels) in by_system(courses) {
        let points = levels.iter();
        let points = points.map(|one| (percent(one), round(one.seen.amplification, 3)));
        let id = format!("wear_amplification_{system}");
        run.plot(&mut chart, (id, system), "ratio", Style::Line, points);
    }
    run.charts.push(chart);
}

fn lives(run: &mut RunResult, courses: &[Course], cycles: u64) {
    let caption = "Extrapolated. The line is the first write that is refused, the dashes the first block that dies.";
    let axes = [Axis::from_zero("fill level (%)"), Axis::from_zero("years")];
    let title = format!("Lives of parts of {cycles} cycles against fill level");
    let mut chart = Chart::new(format!("wear-years-{cycles}"), title, caption, axes);
    for (system, levels) in by_system(courses) {
        for (what, style, first) in
            [("first refused write", Style::Line, false), ("first dead block", Style::Dashed, true)]
        {
            let points = levels.iter().filter_map(|one| {
                let (_, life) = one.lives.iter().find(|(rated, _)| *rated == cycles)?;
                let writings = if first { life.first } else { life.end };
                Some((percent(one), three(years(writings, one.seen.each))))
            });
            let end = if first { "first" } else { "end" };
            let id = format!("wear_years_{cycles}_{system}_{end}");
            run.plot(&mut chart, (id, format!("{system}, {what}")), "count", style, points);
            if let Some(layer) = chart.layers.last_mut().filter(|_| first) {
                layer.like = Some(format!("{system}, first refused write"));
            }
        }
    }
    run.charts.push(chart);
}

/// Draws how often each block was erased, a row for so many blocks.
fn map(run: &mut RunResult, courses: &[&Course], level: &str) {
    let blocks = courses.iter().map(|one| one.seen.erases().len()).max().unwrap_or_default();
    let columns = COLUMNS[usize::from(blocks > MANY)];
    let caption = format!(
        "Erases of each block by the end of the observation, {columns} blocks a row, in the order of the flash."
    );
    let axes = [Axis::fitting("block of the row"), Axis::from_zero("erases")];
    let id = format!("wear-map-{}", level.trim_end_matches(" %"));
    let mut chart =
        Chart::new(id.clone(), format!("Erases of each block, {level} full"), caption, axes);
    chart.categories = (0..columns).map(|column| column.to_string()).collect();
    for course in courses {
        for (row, erases) in course.seen.erases().chunks(columns).enumerate() {
            let points = erases.iter().enumerate().map(|(at, &one)| (float(at), f64::from(one)));
            let (from, system) = (row * columns, course.system);
            let curve = format!("{}_{system}_{from}", id.replace('-', "_"));
            run.plot(&mut chart, (curve, format!("{system} {from}")), "count", Style::Heat, points);
        }
    }
    run.charts.push(chart);
}
