//! What the runs say of the publication and beyond it.
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
use boardlab_result::prose::{counted, float};
use boardlab_sim::Hertz;
use std::fmt;

/// Adds all findings; tells which one explains table 1.
pub(super) fn all(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    is_as_published: bool,
) -> usize {
    let facts = Facts { scenario, measured, clock: scenario.computer.settings.core_clock };
    let quantum = find(run, facts.quantum(is_as_published));
    find(run, facts.at_once());
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

/// Up to so many times faster is little.
const GAINED: f64 = 1.5;

/// Where FCSE gains most.
struct Most<'p> {
    point: &'p Point,
    gain: f64,
    /// The gain with the work.
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

/// `12.3 us`, with as many units as it needs.
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
                "A switch by sys_chg waits for the timer, so {} are {count} timer interrupts of {tick}, whatever a switch costs",
                counted(count, "switch"),
            ),
            false => format!(
                "A switch by sys_chg waits for the timer, and at a tick of {tick} one takes longer than that: {count} of them \
                 took up to {} timer interrupts",
                ticks.max().unwrap_or(0),
            ),
        };
        let begun = match all.len() {
            1 => format!("{} begun {phase} after an interrupt", self.time(first)),
            _ => format!(
                "{} from one interrupt on, and {} if the first is asked for {phase} after one",
                self.time(first),
                self.time(last),
            ),
        };
        let mut found = format!(
            "{waits}: {begun}; without FCSE and with it they differ by {} at most.",
            self.time(largest),
        );
        if is_as_published {
            found += &format!(
                " The two printed figures are such waits: {count} quanta, and little more than {} of them, as the first switch waits for all of its quantum or for a small part. They do not compare the ways, \
                 and whoever looks at his clock a moment later finds the other figure. The quantum itself is fitted to them.",
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
        let less = match ratio {
            ratio if ratio >= 1.05 => format!("{ratio:.1} times less"),
            ratio if ratio <= 0.95 => format!("{:.1} times as long", 1.0 / ratio),
            _ => "as long".into(),
        };
        format!(
            "Without the wait {} between two processes that do nothing else take {} without FCSE and {} with it, {less}: {instructions:.0} instructions a switch, with the calling \
             program's own, and {} flushes in all against {}. Without FCSE, but with the data cache cleaned ahead while interrupts are on, they take {}.",
            counted(fcse.switches, "switch"),
            self.time(tables.spent.cycles),
            self.time(fcse.spent.cycles),
            fcse.flushes,
            tables.flushes,
            self.time(ahead.spent.cycles),
        )
    }

    /// The rings without and with FCSE, and what it gains.
    fn pairs(&self, how: usize) -> Vec<(&Point, &Point, f64)> {
        let of = |way| self.measured.of(way).rings[how].iter();
        let both = of(Way::Tables).zip(of(Way::Fcse));
        both.filter_map(|(tables, fcse)| Some((tables, fcse, gain(tables, fcse)?))).collect()
    }

    /// The largest gain of those that `keep` keeps, by chg and by pipes.
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
            true => "FCSE gains most",
            false => "FCSE gains little anywhere",
        };
        Some(format!(
            "{gains}, {chg} by chg and {pipe} by pipes: a switch without it writes the data cache back, empties both caches and the TLB, and each process then fetches what it needs again."
        ))
    }

    fn beyond_the_cache(&self) -> Option<String> {
        let cache = u64::from(self.scenario.computer.settings.core.data_cache.kib()) * 1_024;
        let beyond =
            |point: &Point| u64::from(point.processes) * point.working_set.get() > 2 * cache;
        let [chg, pipe] = self.most(beyond)?;
        let gains = match chg.gain < GAINED {
            true => format!(
                "FCSE gains little: {chg} at most by chg, for the processes displace each other's lines as a flush would"
            ),
            false => format!(
                "FCSE still gains {chg} by chg, although the processes displace each other's lines"
            ),
        };
        let path = match pipe.gain > chg.gain {
            true => "the kernel's own path, which a flush empties too, is longer there",
            false => "the kernel's own path, which a flush empties too, makes no more of it there",
        };
        Some(format!(
            "Where the working sets together are more than twice the data cache of {} KiB, {gains}. By pipes it is {pipe}: {path}. The work that is taken off misses by itself; with it, FCSE gains {:.2} times by chg and {:.2} by pipes.",
            cache / 1_024,
            chg.whole,
            pipe.whole,
        ))
    }

    /// What the ways of the caches that are locked cost and save.
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
                "{:.2} times ({:.0} for {:.0} cycles, {} processes of {})",
                ratio(pair),
                locked.cycles(),
                free.cycles(),
                free.processes,
                free.working_set
            )
        };
        let costs = match pairs.len() {
            1 => told(worst),
            _ => format!("{} at worst and {} at best", told(worst), told(best)),
        };
        Some(format!(
            "With the kernel's path locked a switch by chg costs {costs} of what it costs without: nobody displaces the kernel's lines, but one way of four of each cache is gone for everybody else.",
        ))
    }

    fn qemu(&self) -> Option<String> {
        let ran = self.measured.qemu.as_ref().ok()?;
        let of = |way: Way| ran.iter().find(|one| one.way == way);
        let (tables, fcse) = (of(Way::Tables)?, of(Way::Fcse)?);
        let ratio = float(tables.at_once.as_nanos()) / float(fcse.at_once.as_nanos().max(1));
        Some(format!(
            "On QEMU the same switches take {} without FCSE and {} with it where they wait for the timer, and {} and {} at once, without it {ratio:.2} times as long: what is left are the instructions. QEMU has \
             no caches, and its TLB is indexed by virtual addresses, so it empties it at each write of the process number: it cannot show what FCSE saves.",
            told(float(tables.waiting.as_nanos())),
            told(float(fcse.waiting.as_nanos())),
            told(float(tables.at_once.as_nanos())),
            told(float(fcse.at_once.as_nanos())),
        ))
    }

    fn latency(&self) -> String {
        let worst = |way: Way| {
            let task = &self.measured.of(way).latency[1].task;
            format!("{} at most and {} in 99.9 %", self.time(task.max), self.time(task.p999))
        };
        format!(
            "From the timer to the task that waits for it a loaded system takes {} without FCSE, {} where the data cache is cleaned ahead of a switch, {} with FCSE, and {} with the kernel's path locked in TLB and caches, of {}.",
            worst(Way::Tables),
            worst(Way::Ahead),
            worst(Way::Fcse),
            worst(Way::Locked),
            counted(self.scenario.real_time.samples, "timer interrupt"),
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
        let of = |way: Way| longest(way).map(told);
        Some(format!(
            "The longest stretch with interrupts off is {} with FCSE, and {} without it. Where the data cache is cleaned ahead of a switch, with interrupts on, it is {} without FCSE, and {} with it while a process lives that is too large for a slot.",
            of(Way::Fcse)?,
            of(Way::Tables)?,
            of(Way::Ahead)?,
            told(self.measured.beside_large.first()?),
        ))
    }

    /// What the RAM disk costs, and what it saves at a start.
    fn programs(&self) -> Option<String> {
        let [memory, card] = &self.measured.started;
        let saved = |(ram, card): (&Starts, &Starts)| {
            let saved = card.cold.exec.mean - ram.cold.exec.mean;
            let less = if saved < 0.0 { "less than nothing: minus " } else { "" };
            let [saved, ram, card] = [saved.abs(), ram.cold.exec.mean, card.cold.exec.mean]
                .map(|cycles| told(nanoseconds(cycles, self.clock)));
            format!("{less}{saved} ({ram} instead of {card})")
        };
        let both = || memory.iter().zip(card);
        let (least, most) = (both().next()?, both().next_back()?);
        let disk = &self.measured.memory;
        let mut found = format!(
            "Programs that are loaded with the kernel cost {} KiB of RAM disk, {} KiB of it their files. That saves {} at each cold start of a program of {} from the card",
            disk.disk / 1_024,
            disk.files / 1_024,
            saved(most),
            most.0.size,
        );
        if least.0.size < most.0.size {
            found += &format!(", and {} for one of {}", saved(least), least.0.size);
        }
        Some(found + ".")
    }

    /// Which programs the buffer cache holds, and what that saves.
    fn cached(&self) -> Option<String> {
        let [memory, card] = &self.measured.started;
        let both = || memory.iter().zip(card);
        let time = |started: &ProgramStart| told(nanoseconds(started.exec.mean, self.clock));
        let fits = both().rfind(|(_, card)| card.warm.blocks <= 0.0)?;
        let (ram, of_card) = fits;
        let mut found = format!(
            "A program of {} that lies in the buffer cache starts in {} from the RAM disk and in {} from the card.",
            ram.size,
            time(&ram.warm),
            time(&of_card.warm),
        );
        if let Some((_, large)) = both().find(|(_, card)| card.warm.blocks > 0.0) {
            found += &format!(
                " One of {} does not stay there, and the card is read at each start: {:.0} blocks, {}, however recent the last start.",
                large.size,
                large.warm.blocks,
                time(&large.warm),
            );
        }
        Some(found)
    }
}
