//! Findings about the publication and beyond it.
//!
//! Layer: rank 11. Function: [`all`]. Every number in a finding is computed from the runs or the scenario.

use super::run::measure::{Measurements, Way};
use super::run::programs::{ProgramStart, Starts};
use super::run::spent::{Costs, nanoseconds};
use super::run::switches::Point;
use super::scenario::Scenario;
use super::tables::{both, gain, gain_of_whole};
use boardlab_computer::masked::Stretch;
use boardlab_experiment::finding::{find, find_if};
use boardlab_result::RunResult;
use boardlab_result::prose::{counted, float, listed};
use boardlab_sim::Hertz;
use std::fmt;

/// Adds all findings; returns the index of the one that explains table 1.
pub(super) fn all(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    is_as_published: bool,
) -> usize {
    let facts = Facts { scenario, measured, clock: scenario.computer.settings.core_clock };
    let quantum = find(run, facts.quantum(is_as_published));
    run.answer = Some(find(run, facts.at_once()));
    find_if(run, facts.gains_most());
    find_if(run, facts.beyond_the_cache());
    find_if(run, facts.lockdown());
    find_if(run, facts.qemu());
    find(run, facts.latency());
    find_if(run, facts.sections());
    find_if(run, facts.programs());
    find_if(run, facts.cached());
    quantum
}

/// The gain below which FCSE gains little.
const GAINED: f64 = 1.5;

/// The point at which FCSE gains most.
struct Most<'p> {
    point: &'p Point,
    gain: f64,
    /// The gain with the work of the processes included.
    whole: f64,
}

impl fmt::Display for Most<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point { processes, working_set, .. } = self.point;
        write!(f, "{:.2} times ({processes} processes of {working_set})", self.gain)
    }
}

struct Facts<'f> {
    scenario: &'f Scenario,
    measured: &'f Measurements,
    clock: Hertz,
}

/// `12.3 us`, in the unit that suits the span.
fn told(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n >= 1e9 => format!("{:.3} s", n / 1e9),
        n if n >= 1e6 => format!("{:.2} ms", n / 1e6),
        n if n >= 1e4 => format!("{:.1} us", n / 1e3),
        n if n >= 1e3 => format!("{:.2} us", n / 1e3),
        n => format!("{n:.0} ns"),
    }
}

impl Facts<'_> {
    fn time(&self, cycles: u64) -> String {
        told(nanoseconds(float(cycles), self.clock))
    }

    fn quantum(&self, is_as_published: bool) -> String {
        let published = &self.scenario.published;
        let (count, tick) = (published.switches, published.tick);
        let all: Vec<_> = both(self.measured).collect();
        let largest = all.iter().map(|(a, b)| a.cycles.abs_diff(b.cycles)).max().unwrap_or(0);
        let first = all.first().map_or(0, |(tables, _)| tables.cycles);
        let (phase, last) = all.last().map_or((tick, 0), |(_, fcse)| (fcse.phase, fcse.cycles));
        let ticks = all.iter().flat_map(|(tables, fcse)| [tables.ticks, fcse.ticks]);
        let waits = match ticks.clone().all(|ticks| ticks <= u64::from(count) + 1) {
            true => format!(
                "Waiting for the timer makes {} by sys_chg last {} of {tick}, whatever they cost",
                counted(count, "switch"),
                counted(count, "timer interrupt"),
            ),
            false => format!(
                "A switch by sys_chg waits for the timer and outlasts its tick of {tick}: {count} took up to {} ticks",
                ticks.max().unwrap_or(0),
            ),
        };
        let [first, last, largest] = [first, last, largest].map(|cycles| self.time(cycles));
        let begun = match all.len() {
            1 => format!("{first} from a request {phase} after an interrupt"),
            _ => {
                format!("{first} from an interrupt on, and {last} from a request {phase} after one")
            }
        };
        let mut found = format!(
            "{waits}. They take {begun}. With FCSE and without it these times differ by {largest} at most."
        );
        if is_as_published {
            found += &format!(
                " The two printed figures are such waits: {count} quanta, and little more than {} of them, because the first switch waits \
                 for its whole quantum or for a small part of it. They do not compare switches with FCSE and without it. Whoever reads the \
                 clock a moment later finds the other figure. The quantum itself is fitted to them.",
                count - 1,
            );
        }
        found
    }

    fn at_once(&self) -> String {
        let of = |way| &self.measured.of(way).at_once;
        let (tables, ahead, fcse) = (of(Way::Tables), of(Way::Ahead), of(Way::Fcse));
        let instructions = Costs::each(fcse.spent.instructions, fcse.switches);
        let ratio = float(tables.spent.cycles) / float(fcse.spent.cycles.max(1));
        let gain = match ratio {
            ratio if ratio >= 1.05 => format!("{ratio:.1} times as fast"),
            ratio if ratio <= 0.95 => format!("{:.1} times as slow", 1.0 / ratio),
            _ => "no faster".into(),
        };
        format!(
            "Back to back, {} between two processes took {} without FCSE and {} with it. With FCSE, switches of processes that do nothing else are \
             thus {gain}. A switch takes {instructions:.0} instructions, including those of the calling program, and there are {} flushes in all \
             against {}. Without FCSE, but with the data cache cleaned ahead while interrupts are enabled, the switches take {}.",
            counted(fcse.switches, "switch"),
            self.time(tables.spent.cycles),
            self.time(fcse.spent.cycles),
            fcse.flushes,
            tables.flushes,
            self.time(ahead.spent.cycles),
        )
    }

    /// The rings without and with FCSE, and the gain of FCSE.
    fn pairs(&self, how: usize) -> Vec<(&Point, &Point, f64)> {
        let of = |way| self.measured.of(way).rings[how].iter();
        let both = of(Way::Tables).zip(of(Way::Fcse));
        both.filter_map(|(tables, fcse)| Some((tables, fcse, gain(tables, fcse)?))).collect()
    }

    /// The largest gains among the points that `keep` accepts, by chg and by pipes.
    fn most(&self, keep: impl Fn(&Point) -> bool) -> Option<[Most<'_>; 2]> {
        let of = |how| {
            let kept = self.pairs(how).into_iter().filter(|one| keep(one.0));
            let (tables, fcse, gain) = kept.max_by(|a, b| a.2.total_cmp(&b.2))?;
            Some(Most { point: tables, gain, whole: gain_of_whole(tables, fcse) })
        };
        Some([of(0)?, of(1)?])
    }

    fn gains_most(&self) -> Option<String> {
        let [chg, pipe] = self.most(|_| true)?;
        let gains = match chg.gain > GAINED {
            true => "FCSE gains at most",
            false => "FCSE gains little anywhere: at most",
        };
        Some(format!(
            "{gains} {chg} by chg and {pipe} by pipes. A switch without it writes the data cache back and flushes both \
             caches and the TLB. Each process then has to refill what it needs."
        ))
    }

    fn beyond_the_cache(&self) -> Option<String> {
        let cache = u64::from(self.scenario.computer.settings.core.data_cache.kib()) * 1_024;
        let beyond =
            |point: &Point| u64::from(point.processes) * point.working_set.get() > 2 * cache;
        let [chg, pipe] = self.most(beyond)?;
        let gains = match chg.gain < GAINED {
            true => format!("FCSE gains little, at most {chg} by chg"),
            false => format!("FCSE still gains {chg} by chg"),
        };
        let path = match pipe.gain > chg.gain {
            true => "the kernel's own path, which a flush evicts too, is longer there",
            false => "the kernel's own path, which a flush evicts too, adds no gain there",
        };
        Some(format!(
            "With more than twice the data cache in use, {gains}. The working sets together are more than twice the {} KiB of the cache, so \
             the processes evict each other's lines with FCSE as well. By pipes the gain is at most {pipe}: {path}. The work itself, \
             which is subtracted, misses too; with it, FCSE gains {:.2} times by chg and {:.2} by pipes.",
            cache / 1_024,
            chg.whole,
            pipe.whole,
        ))
    }

    /// The cost and the gain of locking the kernel's path in ways of the caches.
    fn lockdown(&self) -> Option<String> {
        let of = |way| self.measured.of(way).rings[0].iter();
        let ratio = |(free, locked): &(&Point, &Point)| locked.cycles() / free.cycles();
        let pairs: Vec<_> =
            of(Way::Fcse).zip(of(Way::Locked)).filter(|(free, _)| free.net.cycles > 0).collect();
        let by_ratio = |a: &&_, b: &&_| ratio(a).total_cmp(&ratio(b));
        let (worst, best) = (pairs.iter().max_by(by_ratio)?, pairs.iter().min_by(by_ratio)?);
        let told = |pair: &(&Point, &Point)| {
            let (free, locked) = pair;
            format!(
                "{:.0} instead of {:.0} cycles ({} processes of {})",
                locked.cycles(),
                free.cycles(),
                free.processes,
                free.working_set
            )
        };
        let (times, also) = match pairs.len() {
            1 => Default::default(),
            _ => (
                format!(" at worst and {:.2} at best", ratio(best)),
                format!(" and {}", told(best)),
            ),
        };
        Some(format!(
            "With the kernel's path locked, a switch by chg costs {:.2} times as much{times}. It takes {}{also}. No process \
             evicts the kernel's lines, but the rest of the system has one way of four less in each cache.",
            ratio(worst),
            told(worst),
        ))
    }

    fn qemu(&self) -> Option<String> {
        let ran = self.measured.qemu.as_ref().ok()?;
        let of = |way: Way| ran.iter().find(|one| one.way == way);
        let (tables, fcse) = (of(Way::Tables)?, of(Way::Fcse)?);
        let ratio = float(tables.at_once.as_nanos()) / float(fcse.at_once.as_nanos().max(1));
        Some(format!(
            "On QEMU the same switches take {} without FCSE and {} with it, back to back. They take {ratio:.2} times as long without it: \
             only the instructions are left. Where they wait for the timer they take {} and {}. QEMU has no caches, and it flushes its \
             TLB, which is indexed by virtual addresses, at each write of the process number. It cannot show what FCSE saves.",
            told(float(tables.at_once.as_nanos())),
            told(float(fcse.at_once.as_nanos())),
            told(float(tables.waiting.as_nanos())),
            told(float(fcse.waiting.as_nanos())),
        ))
    }

    fn latency(&self) -> String {
        let tasks = [Way::Tables, Way::Fcse, Way::Ahead, Way::Locked]
            .map(|way| &self.measured.of(way).latency[1].task);
        let [tables, fcse, ahead, locked] = tasks.map(|task| self.time(task.max));
        format!(
            "A loaded system takes up to {tables} from the timer to the waiting task without FCSE, and {fcse} with it. It takes \
             up to {ahead} where the data cache is cleaned ahead of a switch, and {locked} with the kernel's path locked in TLB \
             and caches. In 99.9 % of {} these four take at most {}.",
            counted(self.scenario.real_time.samples, "timer interrupt"),
            listed(&tasks.map(|task| self.time(task.p999))),
        )
    }

    fn sections(&self) -> Option<String> {
        let longest = |way: Way| self.measured.of(way).sections.first();
        let told = |stretch: &Stretch| {
            format!(
                "{} cycles from {} on",
                stretch.cycles,
                self.measured.symbols.place(stretch.from)
            )
        };
        Some(format!(
            "The longest section with interrupts disabled has {} with FCSE. Without FCSE it has {}. Where the data cache is cleaned ahead of a \
             switch, with interrupts enabled, it has {} without FCSE, and {} with it while a process lives that is too large for a slot.",
            told(longest(Way::Fcse)?),
            told(longest(Way::Tables)?),
            told(longest(Way::Ahead)?),
            told(self.measured.beside_large.first()?),
        ))
    }

    /// The cost of the RAM disk, and the time that it saves at a start.
    fn programs(&self) -> Option<String> {
        let [memory, card] = &self.measured.started;
        let saved = |(ram, card): (&Starts, &Starts)| {
            let saved = card.cold.exec.mean - ram.cold.exec.mean;
            let verb = if saved < 0.0 { "loses" } else { "saves" };
            let [saved, ram, card] = [saved.abs(), ram.cold.exec.mean, card.cold.exec.mean]
                .map(|cycles| told(nanoseconds(cycles, self.clock)));
            (format!("{verb} {saved}"), format!("{ram} instead of {card}"))
        };
        let both = || memory.iter().zip(card);
        let (least, most) = (both().next()?, both().next_back()?);
        let (disk, (gain, times)) = (&self.measured.memory, saved(most));
        let mut found = format!(
            "Loading programs with the kernel costs {} KiB of RAM disk and {gain} at each cold start of {}. Their files take {} \
             KiB of it. A program of {} starts in {times} from the card",
            disk.disk / 1_024,
            most.0.size,
            disk.files / 1_024,
            most.0.size,
        );
        if least.0.size < most.0.size {
            let (gain, times) = saved(least);
            found += &format!(", and one of {} in {times}, which {gain}", least.0.size);
        }
        Some(found + ".")
    }

    /// The programs that the buffer cache holds, and their start times.
    fn cached(&self) -> Option<String> {
        let [memory, card] = &self.measured.started;
        let both = || memory.iter().zip(card);
        let time = |started: &ProgramStart| told(nanoseconds(started.exec.mean, self.clock));
        let fits = both().rfind(|(_, card)| card.warm.blocks <= 0.0)?;
        let (ram, of_card) = fits;
        let mut found = format!(
            "A program of {} in the buffer cache starts in {} from the RAM disk and in {} from the card.",
            ram.size,
            time(&ram.warm),
            time(&of_card.warm),
        );
        if let Some((_, large)) = both().find(|(_, card)| card.warm.blocks > 0.0) {
            found += &format!(
                " One of {} does not stay there: each start reads {:.0} blocks from the card and takes {}, however recent the last start.",
                large.size,
                large.warm.blocks,
                time(&large.warm),
            );
        }
        Some(found)
    }
}
