//! `boardlab tune`: the best waits for program and erase, by theory, brute force and learning.

use super::erase::{self, EraseMeasurement};
use super::patch;
use super::read;
use super::write::{WriteMeasurement, host, nanos, poll_loop, program_time, simulate, tuned_wait};
use crate::nor::charts;
use crate::nor::scenario::{Scenario, System, Wait, wait_call};
use crate::nor::tables::saving;
use boardlab_document::Reading;
use boardlab_experiment::crew::in_order;
use boardlab_experiment::finding::{find, find_if};
use boardlab_experiment::verdict::{self, is_of};
use boardlab_experiment::{Failure, Progress, Request};
use boardlab_nor::driver::{Kind, Ready, Step};
use boardlab_nor::tuner::{Completion, PollLoop, Replay, ReplayResult};
use boardlab_nor::wait::{FixedThenToggle, cfi_udelay};
use boardlab_nor::{Host, Pause};
use boardlab_result::prose::{float, percent_of, round};
use boardlab_result::{Cell, Row, RunResult, Table};
use boardlab_sim::{Duration, Seed};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Operations of one trial; as many as 64 MiB take with a buffer of 512 bytes.
const OPERATIONS: usize = 131_072;
/// Operations of a brute-force trial, of which there is one a wait.
const OPERATIONS_BRUTE: usize = 20_000;
/// Waits that brute force tries at the most.
const WAITS_BRUTE: u64 = 128;
/// Polls of one trial at the most: a slow part is tried with fewer operations.
const POLLS: f64 = 4e7;
/// Operations after which the adaptive wait is expected to have settled.
const SETTLED: usize = 256;
/// The adaptive wait follows a drift when its mean does to this share of the mean program time.
const ADAPTED: f64 = 0.03;

/// Beginnings of the keys that no table of waits depends on.
const UNUSED: [&str; 5] = ["uboot", "improved", "what_if", "linux.wait", "linux.poll_gap"];

/// Everything that is tuned against.
struct Bench<'s> {
    scenario: &'s Scenario,
    completion: Completion,
    poll: PollLoop,
    host: Host,
    /// Value of a poll in microseconds.
    cost: f64,
    /// The wait as released, in microseconds of `udelay`.
    stock_us: u64,
    /// The recommended one.
    tuned_us: u64,
    /// The write as released.
    stock: WriteMeasurement,
    /// The write with the recommended wait where several chips take turns: no formula says how long it takes.
    in_turn: Option<WriteMeasurement>,
    seed: Seed,
}

impl Bench<'_> {
    fn lasted(&self, micros: u64) -> f64 {
        self.host.udelay(micros).as_micros_f64()
    }

    /// The same drawn operations always, `count` of them or as many as are polled in good time.
    fn replay(&self, count: usize) -> Replay {
        let each = (self.completion.quantile(1.0) / self.poll.period).max(1.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        let count = count.min((POLLS / each) as usize);
        let mut stream = self.seed.stream("nor.tune");
        let table = program_time(&self.scenario.part);
        Replay::new(table, &mut stream, count, self.scenario.board.bus, self.host.clone())
    }

    /// The whole write of one chip when the wait for a program takes `time` microseconds.
    fn whole(&self, time: f64) -> Duration {
        let waits = self.stock.steps.of(Step::Wait);
        let micros = time * float(waits.count());
        self.stock.total.saturating_sub(waits.total()) + nanos(micros)
    }
}

/// Linux with another wait, and with the driver's own gap between polls.
fn system(scenario: &Scenario, wait: Wait) -> System {
    System { wait, poll_gap_us: 1, ..scenario.linux.clone() }
}

/// Tunes the waits of the NOR scenario.
pub(crate) fn tune(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let progress = |step, done| {
        (request.progress)(Progress { step, done, total: 4 });
        request.stop.check()
    };
    let (board, seed) = (&scenario.board, request.seed);
    let write = |wait| simulate(&scenario, board, &system(&scenario, wait), seed);
    let stock = write(Wait::WordTime)?;
    let in_turn = (board.chips > 1).then(|| write(Wait::Tuned)).transpose()?;
    progress("Linux as released", 1)?;
    let bench = Bench {
        completion: Completion::new(program_time(&scenario.part)),
        poll: poll_loop(board, seed),
        host: host(board, seed),
        cost: scenario.tune.poll_cost.as_micros_f64(),
        stock_us: stock.cfi_info.word_typical_us,
        tuned_us: tuned_wait(&scenario.part, board, scenario.tune.poll_cost, seed),
        stock,
        in_turn,
        scenario: &scenario,
        seed,
    };
    let mut run = request.blank("The best waits for program and erase", parameters);
    run.tables.push(optimum(&bench));
    progress("optimum", 2)?;
    run.tables.extend(programs(&bench)?);
    progress("program", 3)?;
    let erased = erase::compare(&scenario, seed)?;
    run.tables.push(erases(&erased));
    progress("erase", 4)?;
    findings(&mut run, &bench, &erased);
    let marks = [(bench.tuned_us, "best"), (bench.stock_us, "Linux")];
    charts::time_against_wait(&mut run, &scenario, &bench.stock, &marks, seed);
    let sleeps = matches!(cfi_udelay(bench.tuned_us), Pause::Jiffies(_));
    if sleeps {
        run.warnings.push(format!(
            "The best wait of {} us is a millisecond or more, for which cfi_udelay() of Linux sleeps whole milliseconds \
             instead of spinning. Linux would do what the row `tuned` of program_wait shows, not the optimum.",
            bench.tuned_us,
        ));
    }
    if bench.stock.cfi_info.write_buffer.is_some() {
        run.attachments = patch::all(bench.tuned_us);
    } else {
        run.warnings.push(
            "The part has no write buffer: the patch for Linux' buffered writes is left out."
                .into(),
        );
    }
    run.virtual_time_ns = bench.stock.virtual_time.as_nanos();
    verdict::name_parameters(&mut run, |_, key| !is_of(key, &UNUSED));
    Ok(run)
}

fn micros_cell(micros: f64) -> Cell {
    Cell::int(nanos(micros).as_nanos())
}

/// The best wait by theory, by brute force, and with free polls; and what the adaptive one reaches.
fn optimum(bench: &Bench<'_>) -> Table {
    let (stock, tuned, cost) = (bench.stock_us, bench.tuned_us, nanos(bench.cost));
    let best = |cost| bench.poll.best_wait(&bench.completion, cost);
    let waits = [
        ("theory", format!("theory, a poll worth {cost}"), best(bench.cost)),
        ("recommended", format!("recommended: udelay({tuned})"), bench.lasted(tuned)),
        ("fastest", "theory, polls cost nothing".into(), best(0.0)),
        ("stock", format!("as released: udelay({stock})"), bench.lasted(stock)),
    ];
    let by_theory = waits.into_iter().map(|(id, title, wait)| {
        let expected = bench.poll.expected(&bench.completion, wait);
        (Row::new(id, title), (wait, expected.time, expected.polls))
    });
    let table_time = program_time(&bench.scenario.part);
    let (low, high) = (table_time.min().as_micros(), table_time.max().as_micros());
    let replay = bench.replay(OPERATIONS_BRUTE);
    let (first, last) = (low.saturating_sub(10), high + 5);
    let step = usize::try_from((last - first).div_ceil(WAITS_BRUTE)).expect("microseconds");
    let waits = (first..=last).step_by(step);
    let (near, _) = replay.brute_force(waits, Pause::Spin(1), bench.cost);
    // Every microsecond around the best of a coarse grid, and around the recommended wait.
    let step = step as u64;
    let around = |wait: u64| wait.saturating_sub(step)..=wait + step;
    let fine = around(near).chain(around(tuned));
    let (brute, tried) = replay.brute_force(fine, Pause::Spin(1), bench.cost);
    let row = Row::new("brute-force", format!("brute force: udelay({brute})"));
    let by_force = (row, (bench.lasted(brute), tried.time, tried.polls));
    Table::new("optimum", "The best wait before the first poll of a program")
        .of(by_theory.chain([by_force]))
        .column("wait_ns", "wait", |(wait, ..)| micros_cell(*wait))
        .column("mean_ns", "mean time", |(_, time, _)| micros_cell(*time))
        .column("polls", "polls", |(.., polls)| Cell::real(round(*polls, 2)))
        .column("cost_ns", "time and polls", |(_, time, polls)| {
            micros_cell(time + bench.cost * polls)
        })
        .column("quantile_ratio", "done by then", |(wait, ..)| {
            Cell::real(round(bench.completion.done_by(*wait), 4))
        })
        .table()
}

/// Theory beside simulation, and the policies beside each other.
fn programs(bench: &Bench<'_>) -> Result<[Table; 2], Failure> {
    let replay = bench.replay(OPERATIONS);
    let mut waits: Vec<u64> = [0.001, 0.1, 0.25, 0.5, 0.75, 0.999]
        .map(|probability| bench.host.micros_within(nanos(bench.completion.quantile(probability))))
        .to_vec();
    waits.extend([0, bench.tuned_us, bench.stock_us]);
    waits.sort_unstable();
    waits.dedup();
    let tried: Vec<_> = waits.par_iter().map(|&wait| replay.run(&mut fixed(wait))).collect();
    let rows = waits.into_iter().zip(tried).map(|(wait, tried)| {
        let expected = bench.poll.expected(&bench.completion, bench.lasted(wait));
        (Row::new(format!("{wait}us"), format!("udelay({wait})")), (expected, tried))
    });
    let theory = Table::new("theory", "Theory beside the simulated poll loop")
        .of(rows)
        .column("analytic_ns", "time, theory", |(expected, _)| micros_cell(expected.time))
        .column("simulated_ns", "time, simulated", |(_, tried)| micros_cell(tried.time))
        .column("difference_ns", "difference", |(expected, tried)| {
            Cell::real(round((tried.time - expected.time) * 1e3, 0))
        })
        .column("analytic_polls", "polls, theory", |(expected, _)| {
            Cell::real(round(expected.polls, 2))
        })
        .column("simulated_polls", "polls, simulated", |(_, tried)| {
            Cell::real(round(tried.polls, 2))
        });
    Ok([theory.table(), policies(bench, &replay)?])
}

fn fixed(micros: u64) -> FixedThenToggle {
    let wait = if micros == 0 { Pause::None } else { Pause::Spin(micros) };
    FixedThenToggle { wait, gap: Pause::Spin(1) }
}

/// Every policy on the same operations, and the whole write that follows from it.
fn policies(bench: &Bench<'_>, replay: &Replay) -> Result<Table, Failure> {
    let latency = bench.host.timing().wake_latency.max().as_micros_f64();
    let nap = nanos((bench.completion.quantile(0.01) - latency).max(1.0));
    let learns =
        format!("learns the {} quantile, one bit an operation", bench.scenario.tune.quantile);
    let mut named = vec![
        ("toggle-only", "polls from the beginning (u-boot)".into(), Wait::None),
        ("word-time", format!("{}, Linux as released", wait_call(bench.stock_us)), Wait::WordTime),
        (
            "buffer-time",
            format!("the {} time of CFI", bench.scenario.program_unit()),
            Wait::BufferTime,
        ),
        ("tuned", format!("{}, recommended", wait_call(bench.tuned_us)), Wait::Tuned),
        ("sleep", format!("sleeps {nap}, then polls"), Wait::Sleep(nap)),
        ("half-typical", "as with Intel's command set".into(), Wait::HalfTypical),
        ("staircase", "as with ST's command set".into(), Wait::Staircase),
        ("adaptive", learns, Wait::Adaptive),
    ];
    if let Some(own) = &bench.scenario.linux.own {
        named.push(("own", format!("the caller's {}", own.name()), Wait::Own));
    }
    let tried: Vec<ReplayResult> =
        named.par_iter().map(|(_, _, wait)| replay.run(&mut *bench.policy(*wait))).collect();
    let released = named.iter().position(|(id, _, _)| *id == "word-time").expect("in the list");
    let totals: Vec<Duration> = match bench.in_turn {
        None => tried.iter().map(|tried| bench.whole(tried.time)).collect(),
        Some(_) => {
            let whole = |(_, _, wait): &(_, _, Wait)| {
                let (scenario, system) = (bench.scenario, system(bench.scenario, *wait));
                let written = simulate(scenario, &scenario.board, &system, bench.seed);
                written.map(|written| written.total)
            };
            in_order(named.par_iter().map(whole))?
        }
    };
    let released = totals[released];
    let each = named.into_iter().zip(tried).zip(totals);
    let each = each.map(|(((id, title, _), tried), total)| (id, title, tried, Some(total)));
    let trials = bench.adaptive_trials(replay).into_iter().map(|(id, title, tried)| {
        let whole = bench.in_turn.is_none().then(|| bench.whole(tried.time));
        (id, title, tried, whole)
    });
    let rows = each.chain(trials);
    let rows = rows.map(|(id, title, tried, whole)| (Row::new(id, title), (tried, whole)));
    let of_whole = |whole: &Option<Duration>, cell: &dyn Fn(Duration) -> Cell| {
        whole.map_or_else(Cell::none, cell)
    };
    let table = Table::new("program_wait", "Waits for a program, on the same operations")
        .of(rows)
        .column("mean_ns", "mean time", |(tried, _)| micros_cell(tried.time))
        .column("polls", "polls", |(tried, _)| Cell::real(round(tried.polls, 2)))
        .column("cpu_busy_ratio", "CPU busy waiting", |(tried, _)| Cell::real(round(tried.busy, 4)))
        .column("total_ns", "whole write", |(_, whole)| {
            of_whole(whole, &|total| Cell::int(total.as_nanos()))
        })
        .column("saving_ns", "saving", |(_, whole)| {
            of_whole(whole, &|total| saving(released, total))
        })
        .column("early_count", "reported early", |(tried, _)| Cell::int(tried.early));
    Ok(table.table())
}

impl Bench<'_> {
    fn policy(&self, wait: Wait) -> Box<dyn boardlab_nor::WaitPolicy> {
        let (scenario, cfi_info) = (self.scenario, &self.stock.cfi_info);
        system(scenario, wait).policy(cfi_info, &scenario.tune, self.tuned_us, &scenario.board)
    }

    /// How far a part drifts over the first half of a trial: 60 us, less for a quick one.
    fn drift(&self) -> Duration {
        nanos((self.completion.mean() * 0.3).min(60.0).round())
    }

    /// The adaptive wait after it has settled, and on a part that drifts.
    fn adaptive_trials(&self, replay: &Replay) -> [(&'static str, String, ReplayResult); 3] {
        let run = |replay: &Replay| {
            let (mut total, mut count) = (Duration::ZERO, 0_u64);
            let mut policy = self.policy(Wait::Adaptive);
            let tried = replay.run_observed(&mut *policy, |at, span| {
                if at >= SETTLED {
                    (total, count) = (total + span, count + 1);
                }
            });
            ReplayResult { time: total.as_micros_f64() / float(count.max(1)), ..tried }
        };
        let half = (replay.len() / 2).max(1);
        let drift = self.drift().as_nanos();
        let moved = |at: usize| Duration::from_nanos(drift * at.min(half) as u64 / half as u64);
        let slower = replay.shifted(|at, span| span + moved(at));
        let faster = replay.shifted(|at, span| span.saturating_sub(moved(at)));
        [
            ("adaptive-settled", format!("adaptive, after {SETTLED} operations"), run(replay)),
            ("adaptive-slower", format!("adaptive, drifts by +{}", self.drift()), run(&slower)),
            ("adaptive-faster", format!("adaptive, drifts by -{}", self.drift()), run(&faster)),
        ]
    }
}

fn erases(erased: &[EraseMeasurement]) -> Table {
    let mean = |one: &EraseMeasurement| one.total / u64::from(one.sectors);
    Table::new("erase_wait", "Waits for a sector erase")
        .of(erased.iter().map(|one| (Row::new(&one.id, &one.title), one)))
        .column("mean_ns", "mean, a sector", |one| Cell::int(mean(one).as_nanos()))
        .column("overshoot_ns", "of it, already done", |one| {
            one.overshoot.map_or_else(Cell::none, |late| Cell::int(late.as_nanos()))
        })
        .column("polls", "polls, a sector", |one| Cell::real(round(one.polls_each(), 1)))
        .column("cpu_busy_ratio", "CPU busy", |one| Cell::real(round(one.busy, 4)))
        .column("total_ns", "total", |one| Cell::int(one.total.as_nanos()))
        .column("sectors_count", "sectors", |one| Cell::int(one.sectors.into()))
        .table()
}

/// Adds the recommended waits with their gains and risks.
fn findings(run: &mut RunResult, bench: &Bench<'_>, erased: &[EraseMeasurement]) {
    find(run, program(bench));
    find(run, risk(bench));
    find_if(run, adaptive(run, bench));
    find_if(run, erase_tick(bench, erased));
    find_if(run, erase_fine(bench, erased));
}

fn program(bench: &Bench<'_>) -> String {
    let expected = bench.poll.expected(&bench.completion, bench.lasted(bench.tuned_us));
    let stock = bench.stock.total;
    let total = bench.in_turn.as_ref().map_or_else(|| bench.whole(expected.time), |one| one.total);
    let change = match total.cmp(&stock) {
        Ordering::Less => format!("{} less", stock.saturating_sub(total)),
        Ordering::Equal => "no difference".into(),
        Ordering::Greater => format!("{} more, for fewer polls", total.saturating_sub(stock)),
    };
    let polls = match &bench.in_turn {
        None => format!("{:.1} polls a program", expected.polls),
        Some(one) => format!(
            "{:.1} polls a program; with {} chips in turn the driver waits for a program only when its chip has its next turn",
            one.polls_each(),
            bench.scenario.board.chips,
        ),
    };
    let first = match bench.tuned_us {
        0 => "With no wait".into(),
        micros => format!("With udelay({micros})"),
    };
    let alone = if bench.in_turn.is_some() { " of one chip alone" } else { "" };
    format!(
        "{first} before the first poll a write takes {total} instead of {stock} ({change}). With udelay(1) between polls \
         there are {polls}. If a poll is worth {}, the best wait{alone} is the {} quantile of the program time.",
        nanos(bench.cost),
        percent_of(bench.poll.best_quantile(bench.cost)),
    )
}

/// The name of what the chip signals the end of a program with.
fn sign_of_ready(kind: Kind) -> &'static str {
    match kind.profile().ready {
        Ready::Toggle => "toggle bit",
        Ready::ToggleAndDatum => "toggle bit, and then the datum itself,",
        Ready::Datum => "datum",
        Ready::StatusRegister => "status register",
    }
}

fn risk(bench: &Bench<'_>) -> String {
    let timing = &bench.scenario.part.timing;
    let timed = match bench.scenario.part.write_buffer {
        Some(_) => &timing.buffer_program,
        None => &timing.word_program,
    };
    let lasts = bench.lasted(bench.tuned_us);
    let late = (timed.max.as_micros_f64() - lasts) / bench.poll.period;
    let slow = match late > 0.5 {
        true => format!("is polled {late:.0} times instead of being found ready"),
        false => "is found ready by the first poll as well".into(),
    };
    format!(
        "The wait puts no data at risk: the chip's {} still decides when a program is done. A part as slow as the data \
         sheet allows ({}) {slow}. Waiting {} without any poll would fail in {} of the programs.",
        sign_of_ready(bench.scenario.linux.kind),
        timed.max,
        nanos(lasts),
        percent_of(1.0 - bench.completion.done_by(lasts)),
    )
}

/// How closely the adaptive wait follows a part that drifts, from the rows of its trials.
fn adaptive(run: &RunResult, bench: &Bench<'_>) -> Option<String> {
    let table = run.table("program_wait")?;
    let of = |row: &str, column: &str| table.cell(row, column)?.value.as_f64();
    let [settled, slower, faster] =
        ["adaptive-settled", "adaptive-slower", "adaptive-faster"].map(|row| of(row, "mean_ns"));
    let (settled, slower, faster) = (settled? / 1e3, slower? / 1e3, faster? / 1e3);
    let early: f64 = table.rows.iter().filter_map(|row| of(&row.id, "early_count")).sum();
    let drift = bench.drift();
    // It drifts over the first half and stays there: three quarters of the drift on average.
    let moved = drift.as_micros_f64() * 0.75;
    let off = (slower - settled - moved).abs().max((settled - faster - moved).abs());
    let follows = off <= ADAPTED * bench.completion.mean();
    let (also, enough) = match follows {
        true => ("and follows", "is enough to follow"),
        false => ("but does not follow", "is not enough here to follow"),
    };
    let step = bench.scenario.tune.step;
    let how = if follows { String::new() } else { format!(" with steps of {step}") };
    let early = match early > 0.0 {
        true => format!("{early:.0} operations were reported done early"),
        false => "it cannot report an operation done early, and none was".into(),
    };
    Some(format!(
        "The adaptive wait takes {} a program after {SETTLED} operations {also} a part that drifts. One bit an operation (was the first \
         poll ready?) {enough} the quantile through temperature and wear{how}. It needs no figure of the part but its CFI times. On a part \
         that drifts by +{drift} it takes {}, and on one that drifts by -{drift} {}. It only decides when to poll: {early}.",
        nanos(settled),
        nanos(slower),
        nanos(faster),
    ))
}

/// The time between the end of an erase and the poll that notices it.
fn lost(one: &EraseMeasurement) -> String {
    one.overshoot.map_or_else(|| format!("less than {}", erase::EXACT), |late| late.to_string())
}

/// The time that the timer tick between polls adds to an erase.
fn erase_tick(bench: &Bench<'_>, erased: &[EraseMeasurement]) -> Option<String> {
    let row = |id: &str| erased.iter().find(|one| one.id == id);
    let (slow, usual, fast) = (row("linux-hz100")?, row("linux-hz250")?, row("linux-hz1000")?);
    let time = &bench.scenario.part.timing.sector_erase.time;
    let first = Duration::from_micros(bench.stock.cfi_info.erase_typical_ms * 500);
    let (where_, tick) = match first <= time.min() {
        true => ("where the shortest erase takes", "So the delay is the timer tick between polls"),
        false => (
            "although the shortest erase takes only",
            "So the delay is the rest of that wait, or of a timer tick between polls",
        ),
    };
    let late = slow.overshoot.unwrap_or(Duration::ZERO);
    Some(format!(
        "At HZ 100 Linux notices the end of a sector erase {} late, {} of the mean time. The delay is {} at HZ 250 and {} at HZ 1000. The \
         publication leaves erases open. Linux' first wait is half of the typical time, {first} here, {where_} {}. {tick}.",
        lost(slow),
        percent_of(late.as_secs_f64() / time.mean().as_secs_f64()),
        lost(usual),
        lost(fast),
        time.min(),
    ))
}

/// The gain of the high-resolution timer and of queued sectors for an erase.
fn erase_fine(bench: &Bench<'_>, erased: &[EraseMeasurement]) -> Option<String> {
    let best = erased.iter().find(|one| one.id == "recommended")?;
    let queued = erased.iter().rfind(|one| one.queued > 1);
    let queued = queued.map_or_else(String::new, |one| {
        format!(
            " Sectors that are queued in the chip's erase window share one wait: with {} a command, it loses {} with {:.1} polls a sector.",
            one.queued,
            lost(one),
            one.polls_each(),
        )
    });
    Some(format!(
        "Sleeping by the high-resolution timer loses {} a sector whatever HZ is. The driver sleeps to the {} quantile of \
         the erase and then a millisecond at a time, with {:.1} polls a sector (mean erase: {}).{queued}",
        lost(best),
        percent_of(erase::EARLY),
        best.polls_each(),
        bench.scenario.part.timing.sector_erase.time.mean(),
    ))
}
