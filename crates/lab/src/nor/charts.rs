//! The pictures of the NOR experiment, as data.

use super::run::Runs;
use super::run::write::{WriteMeasurement, host, nanos, poll_loop, program_time};
use super::scenario::{Scenario, Wait};
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_nor::driver::Step;
use boardlab_nor::tuner::{Completion, Replay};
use boardlab_nor::wait::{FixedThenToggle, cfi_udelay};
use boardlab_nor::{Host, Pause};
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, Mark, RunResult, Side, Style};
use boardlab_sim::{Duration, Seed};

/// How long the program time was, as u-boot saw it, with the fixed waits.
pub(super) fn histogram(run: &mut RunResult, runs: &Runs<'_>, tuned_us: u64) {
    let wait = runs.uboot.steps.of(Step::Wait);
    // u-boot sees the end only at its polls: narrower bins than two of them would show a comb.
    let range = wait.max().zip(wait.min()).map_or(Duration::ZERO, |(max, min)| max - min);
    let width = nanos(runs.poll_period_us * 2.0).min(range / 8).max(Duration::from_nanos(50));
    let middle = |edge: Duration| round((edge + width / 2).as_micros_f64(), 3);
    let points = wait.bins(width).into_iter().map(|(edge, count)| (middle(edge), float(count)));
    let marks = fixed_waits(runs, tuned_us);
    let lines = match marks.is_empty() {
        true => "",
        false => "; the lines are the fixed waits of Linux, as long as they really last",
    };
    let scenario = runs.scenario;
    let unit = scenario.program_unit();
    let polled = match scenario.uboot.wait {
        Wait::None => " by polling from the beginning",
        _ => ", with the wait that [uboot] sets before the first poll",
    };
    let late = match scenario.board.chips {
        1 => String::new(),
        chips => format!(
            ". With {chips} chips in turn a wait begins only when the other chips have their next {unit}"
        ),
    };
    let title =
        format!("How long u-boot waits for a {unit}, and how long Linux waits before it asks");
    let caption = format!("Waits that u-boot measured{polled}{lines}{late}.");
    let axes = [Axis::fitting("wait for completion (us)"), Axis::from_zero(format!("{unit}s"))];
    let mut chart = Chart::new("wait-histogram", title, caption, axes);
    run.plot(&mut chart, ("wait_histogram", format!("{unit}s")), "count", Style::Bars, points);
    run.charts.push(Chart { marks, ..chart });
}

/// The waits of Linux before its first poll, where `udelay` makes them: from a millisecond on it sleeps.
fn fixed_waits(runs: &Runs<'_>, tuned_us: u64) -> Vec<Mark> {
    let whose = if runs.as_published { "the authors' change" } else { "[improved]" };
    let linux = match runs.scenario.linux.wait {
        Wait::WordTime => "Linux as released",
        _ => "[linux]",
    };
    let all = [
        (runs.improved_us, whose),
        (tuned_us, "the best for the stated cost of a poll"),
        (runs.linux_us, linux),
    ];
    let label = |micros, whose| move |x| format!("udelay({micros}), {whose}: {x} us");
    let marks = all.map(|(micros, whose)| mark(runs.host, micros, label(micros, whose)));
    marks.into_iter().flatten().collect()
}

/// A mark where `udelay(micros)` ends; none where Linux sleeps instead, from a millisecond on.
fn mark(host: &Host, micros: u64, label: impl Fn(f64) -> String) -> Option<Mark> {
    let x = round(host.udelay(micros).as_micros_f64(), 1);
    matches!(cfi_udelay(micros), Pause::Spin(_)).then(|| Mark { x, label: label(x) })
}

/// How many operations stand for all of them where the CPU's share is computed, and how many polls
/// they may take.
const REPLAYED: usize = 4_000;
const POLLS: f64 = 1e6;

/// Total time and CPU use of `linux`'s write against the wait before the first poll, with `marks`
/// in microseconds of `udelay`; none with several chips in turn, of which the theory knows nothing.
pub(super) fn time_against_wait(
    run: &mut RunResult,
    scenario: &Scenario,
    linux: &WriteMeasurement,
    marks: &[(u64, &str)],
    seed: Seed,
) {
    let board = &scenario.board;
    if board.chips > 1 {
        // A wait for a chip that worked while others were filled is only a rest of it.
        return;
    }
    let host = host(board, seed);
    let table = program_time(&scenario.part);
    let (completion, poll) = (Completion::new(table), poll_loop(board, seed));
    let mut stream = seed.stream("nor.replay");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
    let count = (POLLS * poll.period / completion.quantile(1.0).max(poll.period)) as usize;
    let count = count.clamp(50, REPLAYED);
    let replay = Replay::new(table, &mut stream, count, board.bus, host.clone());
    let waits = linux.steps.of(Step::Wait);
    // All but the waits is the same for every wait.
    let rest = linux.total.saturating_sub(waits.total()).as_secs_f64();
    let count = float(waits.count());
    let longest = (table.max().as_micros() * 13 / 10).max(10);
    let step = (longest / 150).max(1);
    let (mut time, mut busy) = (Vec::new(), Vec::new());
    for micros in (0..=longest).step_by(usize::try_from(step).expect("small")) {
        let lasted = host.udelay(micros).as_micros_f64();
        let seconds = rest + poll.expected(&completion, lasted).time * count / 1e6;
        time.push((round(lasted, 2), round(seconds, 3)));
        if micros % (step * 4) == 0 {
            let sleep = Pause::Sleep(Duration::from_micros(micros));
            let mut policy = FixedThenToggle { wait: sleep, gap: Pause::Spin(1) };
            let tried = replay.run(&mut policy);
            let waiting = tried.time * count / 1e6;
            let share = (rest + waiting * tried.busy) / (rest + waiting);
            busy.push((round(lasted, 2), round(share * 100.0, 2)));
        }
    }
    let title = "Total time against the wait before the first poll";
    let caption = "Waiting up to the shortest program costs nothing; beyond it every microsecond \
                   counts. A poll is two reads, with udelay(1) between polls. Dashed: the CPU's share \
                   when that wait is a sleep instead of a spin (a spin keeps it at 100 %).";
    let axes =
        [Axis::from_zero("wait before the first poll (us)"), Axis::fitting("total time (s)")];
    let mut chart = Chart::new("time-against-wait", title, caption, axes);
    chart.y2 = Some(Axis::from_zero("CPU busy when sleeping (%)"));
    run.plot(&mut chart, ("time_by_wait", "total time"), "s", Style::Line, time);
    let sleeping = ("cpu_by_wait", "CPU busy when sleeping");
    run.plot(&mut chart, sleeping, "percent", Style::Dashed, busy);
    chart.layers[1].side = Side::Right;
    let marks = marks.iter().map(|&(micros, label)| mark(&host, micros, |_| label.into()));
    chart.marks = marks.flatten().collect();
    run.charts.push(chart);
}

/// The steps that take time, with their rows in the tables of u-boot and of Linux; u-boot copies nothing.
const LONG_STEPS: [(Step, Option<&str>, &str); 3] =
    [(Step::Fill, Some("U-5"), "L-6"), (Step::Wait, Some("U-6"), "L-7"), (Step::Copy, None, "L-3")];

/// A stacked bar: its name, the seconds of each of [`LONG_STEPS`], and of the other steps.
type Bar = (String, Vec<f64>);

/// A bar of `steps` out of a `total`, all in seconds.
fn bar(name: String, mut steps: Vec<f64>, total: f64) -> Bar {
    steps.push((total - steps.iter().sum::<f64>()).max(0.0));
    (name, steps)
}

/// The bar of `table` as printed.
fn printed_bar(name: &str, table: &str, reference: &Reference) -> Result<Bar, Error> {
    let seconds = |row: &str| -> Result<f64, Error> {
        let printed = reference.table(table)?.cell(row, "total_ns")?;
        Ok(printed.published.as_f64().unwrap_or(0.0) / 1e9)
    };
    let rows =
        LONG_STEPS.map(|(_, uboot, linux)| if table == "table4" { uboot } else { Some(linux) });
    let steps = rows.into_iter().map(|row| row.map_or(Ok(0.0), seconds));
    Ok(bar(format!("{name}, print"), steps.collect::<Result<_, _>>()?, seconds("total")?))
}

/// The time of each system by step, beside the print; without verdicts the print is left out.
pub(super) fn steps(
    run: &mut RunResult,
    runs: &Runs<'_>,
    reference: &Reference,
) -> Result<(), Error> {
    let mut bars = Vec::new();
    for (table, name, measured) in [
        ("table4", "u-boot", runs.uboot),
        ("table5", "Linux", runs.linux),
        ("table6", "Linux, improved", runs.improved),
    ] {
        let seconds = |step| measured.steps.of(step).total().as_secs_f64();
        let steps = LONG_STEPS.map(|(step, ..)| seconds(step)).to_vec();
        bars.push(bar(name.into(), steps, measured.total.as_secs_f64()));
        if runs.as_published {
            bars.push(printed_bar(name, table, reference)?);
        }
    }
    let caption = "The steps of tables 4 (u-boot), 5 (Linux) and 6 (Linux, improved).";
    let axes = [Axis::fitting("system"), Axis::from_zero("time (s)")];
    let mut chart = Chart::new("steps", "Where the time goes", caption, axes);
    let names = LONG_STEPS.map(|(step, ..)| step.title()).into_iter().chain(["other steps"]);
    for (at, name) in names.enumerate() {
        let points =
            bars.iter().enumerate().map(|(x, (_, seconds))| (float(x), round(seconds[at], 3)));
        let id = format!("steps_{}", name.replace(' ', "_"));
        run.plot(&mut chart, (id, name), "s", Style::Stacked, points);
    }
    chart.categories = bars.into_iter().map(|(name, _)| name).collect();
    run.charts.push(chart);
    Ok(())
}
