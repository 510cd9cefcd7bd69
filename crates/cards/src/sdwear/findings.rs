//! Findings about the publication and about cards.
//!
//! Layer: rank 10. Main types: [`Facts`], and [`Explaining`], the findings that explain cells. Every
//! number in a finding is computed from the runs, the scenario or the reference. Volumes are in units
//! of 1,000, as drives are sold; rates in MiB/s.

use super::run::Measurements;
use super::run::measure::Rates;
use super::run::power::WearCurve;
use super::run::rewrites::{BandRow, RewriteOutcome};
use super::run::wear::VariantWear;
use super::scenario::Scenario;
use super::tables::{NEAR, amplification, levelling, near};
use boardlab_document::error::Error;
use boardlab_experiment::finding::{find, find_if, on_print};
use boardlab_experiment::reference::Reference;
use boardlab_result::RunResult;
use boardlab_result::prose::{GIB, KIB, MIB, counted, listed, real};
use boardlab_sim::{Bytes, Duration};
use std::collections::BTreeMap;

/// The ratio of wear from which levelling is called broken.
const WORSE: f64 = 1.2;

/// The basis of the findings.
pub(super) struct Facts<'f> {
    pub(super) scenario: &'f Scenario,
    pub(super) measured: &'f Measurements,
    /// Bytes of all blocks of the flash.
    pub(super) physical: Bytes,
    /// The printed clusters of experiment 2, by row.
    pub(super) clusters: &'f [(&'static str, f64)],
}

impl Facts<'_> {
    /// The mean rate of experiment 1, in bytes a second.
    fn mean_rate(&self) -> f64 {
        Rates::of(&self.measured.free.runs.rates).mean
    }
}

/// `18.2 MiB/s`.
fn mib_per_s(rate: f64) -> String {
    format!("{:.2} MiB/s", rate / MIB)
}

/// `18.2 MiB/s (19.1 MB/s)`.
fn both(rate: f64) -> String {
    format!("{:.2} MiB/s ({:.2} MB/s)", rate / MIB, rate / 1e6)
}

/// `3.56 TB`.
fn tb(bytes: Bytes) -> String {
    format!("{:.3} TB", real(bytes) / 1e12)
}

/// The indices of the findings that explain cells.
pub(super) struct Explaining {
    pub(super) rate: usize,
    pub(super) cycles: usize,
    pub(super) clusters: usize,
}

/// Adds all findings; returns those that explain cells if there is a print.
pub(super) fn all(
    run: &mut RunResult,
    facts: &Facts<'_>,
    print: Option<&Reference>,
) -> Result<Option<Explaining>, Error> {
    notes(run, facts);
    let explaining = print.map(|reference| of_print(run, facts, reference)).transpose()?;
    run.answer = Some(find(run, levelling_finding(facts)));
    find(run, kept_finding(facts));
    find(run, averages_finding(facts));
    find(run, controllers_finding(facts));
    find_if(run, loops_finding(facts));
    find_if(run, facts.measured.free.worn.clone());
    for power in power_findings(facts) {
        find(run, power);
    }
    Ok(explaining)
}

fn of_print(
    run: &mut RunResult,
    facts: &Facts<'_>,
    reference: &Reference,
) -> Result<Explaining, Error> {
    let rate = rate_finding(run, facts, reference)?;
    let rate = on_print(run, rate);
    let cycles = on_print(run, cycles_finding(facts, reference)?);
    let clusters = on_print(run, clusters_finding(facts, reference)?);
    on_print(run, output_finding(facts, reference)?);
    on_print(run, duration_finding(facts));
    Ok(Explaining { rate, cycles, clusters })
}

/// Adds the remarks and the errors of fio as warnings.
fn notes(run: &mut RunResult, facts: &Facts<'_>) {
    let Measurements { free, rewritten, .. } = facts.measured;
    run.warnings.extend(free.runs.notes.iter().map(|note| format!("experiment 1: {note}")));
    let failed = free.runs.error.iter().map(|error| format!("experiment 1 ended early: {error}"));
    run.warnings.extend(failed);
    for one in rewritten {
        for error in [&one.runs.error, &one.probe.runs.error].into_iter().flatten() {
            run.warnings.push(format!("{} ended early: {error}", one.id));
        }
    }
}

/// The origin of the rate of experiment 1, and its difference from the print.
fn rate_finding(
    run: &RunResult,
    facts: &Facts<'_>,
    reference: &Reference,
) -> Result<String, Error> {
    let runs = &facts.measured.free.runs;
    let rates = Rates::of(&runs.rates);
    let volume = reference.number("experiment1", "written", "card")?;
    let iterations = reference.number("experiment1", "iterations", "card")?;
    let runtime = facts.scenario.free.job.jobs[0].settings.timing.runtime;
    let each = runtime.map_or(f64::NAN, Duration::as_secs_f64);
    let implied = volume / iterations / each;
    let program = run.parameters.iter().find(|one| one.key == "part.flash.times.program");
    let program = program.map_or_else(String::new, |one| {
        format!(" The time of a program ({}) is {}: {}.", one.value, one.origin, one.source)
    });
    Ok(format!(
        "Experiment 1 runs at {} in the mean, {:+.1} % off the print. Single iterations run at {} to {}. The print says {}. Its total over \
         {iterations:.0} times {each:.0} s gives {}, so its MB/s are MiB/s. The volume of {} (printed: {}) and its cycles follow from the \
         rate alone. The rate is that of one row's transfer over the bus and its program, one after the other. Slower cells that overlap \
         with transfers would give the same number, and one number cannot tell the two apart.{program}",
        both(rates.mean),
        (rates.mean / implied - 1.0) * 100.0,
        mib_per_s(rates.least),
        mib_per_s(rates.most),
        reference.quote("experiment1", "throughput", "card")?,
        both(implied),
        tb(runs.written),
        reference.quote("experiment1", "written", "card")?,
    ))
}

/// The total and the cycles in exact units.
fn cycles_finding(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let volume = reference.number("experiment1", "written", "card")?;
    let capacity = reference.number("experiment1", "capacity", "card")?;
    let (decimal, physical) = (capacity / GIB * 1e9, real(facts.physical));
    let dynamic = facts.measured.worn("dynamic");
    Ok(format!(
        "The printed {} are {:.3} TB or {:.1} GiB, because fio's KB are KiB. As kB they would be {:.3} TB. Over {} that is {:.0} cycles \
         with GB = 2^30 B and {:.0} with GB = 10^9 B, not about {} (about 10 TB over {}). A block of the flash sees fewer: over all {:.2} \
         GiB, over-provisioning included, it is {:.0} cycles, and the most worn block of the simulated card has {} with dynamic levelling.",
        reference.quote("experiment1", "written", "card")?,
        volume / 1e12,
        volume / GIB,
        volume / KIB * 1e3 / 1e12,
        reference.quote("experiment1", "capacity", "card")?,
        volume / capacity,
        volume / decimal,
        reference.quote("experiment1", "cycles", "card")?,
        reference.quote("experiment1", "capacity", "card")?,
        physical / GIB,
        volume / physical,
        dynamic.figures.most,
    ))
}

/// The wear of a variant, its first block over the limit, and its end.
fn fate(one: &VariantWear, limit: u32) -> String {
    let passed = one.passed.map_or_else(
        || format!("no block passes {limit}"),
        |(iteration, written)| {
            format!("the first block passes {limit} after {} (iteration {iteration})", tb(written))
        },
    );
    let died = one.died.map_or_else(String::new, |(iteration, written)| {
        format!(", the card is read-only after {} (iteration {iteration})", tb(written))
    });
    format!(
        "{}: erases {}/{:.1}/{} (least, mean, most), {passed}{died}",
        one.title, one.figures.least, one.figures.mean, one.figures.most
    )
}

/// The fates of the variants with these ids.
fn fates(facts: &Facts<'_>, ids: &[&str]) -> String {
    let limit = facts.scenario.wear.endurance;
    let each = ids.iter().map(|id| fate(facts.measured.worn(id), limit));
    each.collect::<Vec<_>>().join("; ")
}

/// The effect of levelling on the volume.
fn levelling_finding(facts: &Facts<'_>) -> String {
    let (fixed, dynamic) = (facts.measured.worn("static"), facts.measured.worn("dynamic"));
    let more = (amplification(&fixed.counters) / amplification(&dynamic.counters) - 1.0) * 100.0;
    let costs = match more {
        more if more >= 0.005 => format!("costs {more:.2} % more programs than dynamic"),
        more if more <= -0.005 => format!("takes {:.2} % fewer programs than dynamic", -more),
        _ => "costs no more programs than dynamic".into(),
    };
    let reached = if fixed.counters.levelled > 0 {
        String::new()
    } else if dynamic.figures.least > 0 {
        ": what never changes here is unused space, which dynamic levelling reaches as well".into()
    } else {
        format!(
            ": the spread of erases does not pass its threshold of {}",
            facts.scenario.wear.threshold
        )
    };
    format!(
        "Over the same {} the most worn block has {} erases without levelling, {} with dynamic, {} with static. By \
         variant: {}. Static levelling moves {} and {costs}{reached}.",
        tb(facts.scenario.wear.volume),
        facts.measured.worn("none").figures.most,
        dynamic.figures.most,
        fixed.figures.most,
        fates(facts, &["none", "none-dies", "dynamic", "static"]),
        counted(fixed.counters.levelled, "block"),
    )
}

/// The defect that makes dynamic levelling ineffective.
fn kept_finding(facts: &Facts<'_>) -> String {
    let (kept, dynamic) = (facts.measured.worn("kept"), facts.measured.worn("dynamic"));
    let times = f64::from(kept.figures.most) / f64::from(dynamic.figures.most.max(1));
    let (amplified, ordinary) = (amplification(&kept.counters), amplification(&dynamic.counters));
    let hidden = match (amplified / ordinary - 1.0).abs() < 0.01 && times >= WORSE {
        true => ": throughput and amplification do not show it, erase counts do",
        false => "",
    };
    let lead = match times >= WORSE {
        true => format!(
            "Dynamic levelling can silently do nothing: the most worn block has {} erases instead of {}. If blocks without \
             valid pages wait for garbage collection instead of becoming free at once, there are hardly any free blocks of \
             which to take the least worn",
            kept.figures.most, dynamic.figures.most,
        ),
        false => "Whether blocks without valid pages wait for garbage collection makes little difference to dynamic \
                  levelling here. Otherwise they become free at once"
            .into(),
    };
    format!(
        "{lead}. By variant: {}. The most worn block has {times:.1} times the erases of the same policy with blocks returned \
         at once, at an amplification of {amplified:.4} against {ordinary:.4}{hidden}.",
        fates(facts, &["kept", "kept-dies"]),
    )
}

/// The printed clusters that the controllers reproduce, and those that they do not.
fn clusters_finding(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let (clusters, all) = (facts.clusters, &facts.measured.rewritten);
    // Whether a controller has a band near the printed cluster, its MB read as `unit`.
    let gives = |one: &RewriteOutcome, cluster: f64, unit: f64| {
        near(&one.bands, cluster / MIB * unit).is_some()
    };
    let ids = |fits: &dyn Fn(&RewriteOutcome) -> bool| -> Vec<String> {
        all.iter().filter(|one| fits(one)).map(|one| one.id.clone()).collect()
    };
    let mut told = Vec::new();
    for &(row, cluster) in clusters {
        let binary = ids(&|one| gives(one, cluster, MIB));
        let more = ids(&|one| gives(one, cluster, 1e6) && !gives(one, cluster, MIB));
        let more = match more.as_slice() {
            [] => String::new(),
            more => format!(" (and with MB = 10^6 B from {})", listed(more)),
        };
        let print = reference.quote("experiment2", row, "card")?;
        told.push(format!("{print} come from {}{more}", listed(&binary)));
    }
    let every =
        |one: &RewriteOutcome, unit: f64| clusters.iter().all(|one_of| gives(one, one_of.1, unit));
    let both = match [ids(&|one| every(one, MIB)), ids(&|one| every(one, 1e6))].concat().as_slice()
    {
        [] => "No controller".to_owned(),
        both => format!("Only {}", listed(both)),
    };
    Ok(format!(
        "{both} gave all {} printed clusters as bands of single rewrites, within {:.0} %. By cluster: {}. Of the controllers \
         that also run experiment 1 at the rate of this card, {}. {} Times of cells and bus are those of experiment 1, and \
         none was tuned towards the print. Table experiment2-bands has the bands with their causes.",
        clusters.len(),
        NEAR * 100.0,
        told.join("; "),
        with_both(facts, reference)?,
        mechanisms(all),
    ))
}

/// The clusters of the controllers that are as fast in experiment 1 as the card is.
fn with_both(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let own = facts.mean_rate();
    let mut told = Vec::new();
    for one in facts.measured.rewritten.iter().filter(|one| agrees(one, own)) {
        let has = |(_, rate): &&(&str, f64)| near(&one.bands, *rate).is_some();
        let name =
            |(row, _): &(&str, f64)| Ok(reference.quote("experiment2", row, "card")?.to_owned());
        let names: Result<Vec<String>, Error> =
            facts.clusters.iter().filter(has).map(name).collect();
        told.push(format!("{} gives {}", one.id, listed(&names?)));
    }
    Ok(told.join("; "))
}

/// Whether a controller is within 5 % of the rate of experiment 1.
fn agrees(one: &RewriteOutcome, own: f64) -> bool {
    (Rates::of(&one.probe.runs.rates).mean / own - 1.0).abs() <= 0.05
}

/// The rates of rewrites by cause, over all controllers.
fn mechanisms(all: &[RewriteOutcome]) -> String {
    let mut causes = BTreeMap::new();
    // Only a band whose samples share one cause shows the effect of that cause.
    let bands = all.iter().flat_map(|one| &one.bands).filter(|band| !band.cause.contains('%'));
    for BandRow { cause, rates: Rates { mean, .. }, moved, .. } in bands {
        let (low, high, most) = causes.entry(cause).or_insert((*mean, *mean, *moved));
        (*low, *high, *most) = (low.min(*mean), high.max(*mean), most.max(*moved));
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by(|(_, (_, one, _)), (_, (_, other, _))| other.total_cmp(one));
    let told = causes.iter().map(|(cause, (low, high, moved))| {
        let moved = if *moved < 0.05 {
            String::new()
        } else {
            format!(" (up to {moved:.1} pages moved for each written)")
        };
        format!("{cause} {:.1} to {:.1} MiB/s{moved}", low / MIB, high / MIB)
    });
    format!("By the cause of the time the rates are: {}.", told.collect::<Vec<_>>().join(", "))
}

/// The bands of single loops that remain in the average that fio reports.
fn averages_finding(facts: &Facts<'_>) -> String {
    let all = &facts.measured.rewritten;
    let loops = facts.scenario.full.rewrites.job.jobs[0].settings.loops;
    let several = || all.iter().filter(|one| one.bands.len() > 1);
    let hidden = several().filter(|one| one.bands.len() > one.run_bands.len()).count();
    let kept = all.iter().filter(|one| one.run_bands.len() > 1);
    let kept: Vec<String> = kept
        .map(|one| {
            let rare = one.run_bands.iter().map(|band| band.count).min().unwrap_or(0);
            format!(
                "{} ({} of {} in the rarest)",
                one.id,
                rare,
                counted(one.runs.rates.len(), "run")
            )
        })
        .collect();
    let spread = |one: &RewriteOutcome| {
        let rates = Rates::of(&one.runs.rates);
        (rates.most - rates.least) / rates.mean.max(1.0) * 100.0
    };
    let widest = all.iter().map(spread).fold(0.0, f64::max);
    let print = match facts.clusters {
        [(_, upper), lower @ ..] if !lower.is_empty() => {
            let apart = lower.iter().map(|(_, rate)| format!("{:.1}", upper / rate));
            format!(
                " Clusters that lie factors of {} below the upper one in a plot of whole runs need a state that lasts for \
                 minutes, or are no averages over all loops.",
                listed(&apart.collect::<Vec<_>>()),
            )
        }
        _ => String::new(),
    };
    format!(
        "fio reports one number for {}, and this average hides bands of rewrites in {}. Of {} {several} with \
         several bands of single rewrites. Several bands of whole runs are left in: {}. Whole runs of one row differ by \
         {widest:.1} % at most. An average shows clusters only where the state of the card outlasts a run.{print}",
        counted(loops, "loop"),
        counted(hidden, "row"),
        counted(all.len(), "row"),
        listed(&kept),
        several = match several().count() {
            1 => "there is 1".to_owned(),
            count => format!("there are {count}"),
        },
    )
}

/// The controllers that agree with both experiments.
fn controllers_finding(facts: &Facts<'_>) -> String {
    let own = facts.mean_rate();
    let rate = |one: &RewriteOutcome| Rates::of(&one.probe.runs.rates).mean;
    let all = &facts.measured.rewritten;
    let names = |fits: bool| {
        let one = |one: &RewriteOutcome| format!("{} {}", one.id, mib_per_s(rate(one)));
        listed(&all.iter().filter(|one| agrees(one, own) == fits).map(one).collect::<Vec<_>>())
    };
    let runtime = facts.scenario.free.job.jobs[0].settings.timing.runtime;
    let span = runtime.map_or_else(String::new, |span| format!(" of {span}"));
    let paid = match all.iter().any(|one| !agrees(one, own)) {
        true => format!(
            " Fast cells that take every write first cost a fold or a merge later: where a run{span} is long enough to pay \
             for it, its rate shows both."
        ),
        false => String::new(),
    };
    format!(
        "{} of {} controllers run experiment 1 within 5 % of the {} of the card as its part file has it. A controller has to \
         give both experiments, so each also ran, {}, the job of experiment 1. Within 5 %: {}. Not: {}.{paid}",
        all.iter().filter(|one| agrees(one, own)).count(),
        all.len(),
        mib_per_s(own),
        counted(facts.scenario.full.probes, "time"),
        names(true),
        names(false),
    )
}

/// The opens and flushes of the loops; `None` if no run completed.
fn loops_finding(facts: &Facts<'_>) -> Option<String> {
    let first = facts.measured.rewritten.first()?;
    let [runs, rewrites] = [first.runs.rates.len(), first.rewrites]
        .map(|number| u64::try_from(number).unwrap_or(u64::MAX));
    let opens = first.runs.opens.checked_div(runs)?;
    let settings = &facts.scenario.full.rewrites.job.jobs[0].settings;
    let (loops, flushes) = (settings.loops, first.runs.syncs / runs);
    let reach = first.flushes / runs;
    let cached = facts.scenario.part.face.cache.is_some();
    let cache = match (cached, settings.submission.fsync_on_close) {
        (true, _) => format!("{reach} of these flushes reach the card as flushes of its cache"),
        (false, false) => format!(
            "{reach} of these flushes are commands: a card without a volatile cache has none for it"
        ),
        (false, true) => format!(
            "{reach} of these flushes are commands: a card without a volatile cache has none for it, so fsync_on_close \
             measures nothing here"
        ),
    };
    let more = match opens > loops && loops > 1 {
        true => format!(
            ", not {loops}. After every loop but the last fio opens and closes the file once more without a request"
        ),
        false => String::new(),
    };
    let writes = rewrites / runs / loops.max(1);
    Some(format!(
        "In a run of {} of {} each, fio opens the device {} and asks for {}{more}. {cache}. No cache of the host holds what \
         direct=1 writes, so there is nothing to drop before a run and nothing that invalidate=1 could invalidate.",
        counted(loops, "loop"),
        counted(writes, "write"),
        counted(opens, "time"),
        counted(flushes, "flush"),
    ))
}

/// The output that remains if every run writes to one file.
fn output_finding(facts: &Facts<'_>, reference: &Reference) -> Result<String, Error> {
    let iterations = reference.number("experiment1", "iterations", "card")?;
    let volume = reference.number("experiment1", "written", "card")?;
    let last = facts.measured.free.runs.rates.last().copied().unwrap_or(f64::NAN);
    Ok(format!(
        "A script that names one file in --output keeps the last of {iterations:.0} results (here {}). fio opens that file anew in every \
         run and truncates it. All results remain only where standard output is appended. The printed total is {:.4} GiB an iteration to \
         the last digit. So all results were there when it was added up, or it was counted in another way, as in /sys/block/mmcblk0/stat.",
        mib_per_s(last),
        volume / iterations / GIB,
    ))
}

/// The time of a run at the printed clusters.
fn duration_finding(facts: &Facts<'_>) -> String {
    let settings = &facts.scenario.full.rewrites.job.jobs[0].settings;
    let size =
        settings.area.size.map_or(0, |size| size.of(facts.scenario.part.face.capacity.get()));
    let moved = Bytes::new(size.saturating_mul(settings.loops));
    let each = facts.clusters.iter().map(|(_, rate)| format!("{:.0} s", real(moved) / rate));
    let ours = || facts.measured.rewritten.iter().map(RewriteOutcome::run_time);
    let (shortest, longest) = (ours().min().unwrap_or_default(), ours().max().unwrap_or_default());
    format!(
        "A run of experiment 2 takes {} at the printed clusters, not only seconds. It writes {:.0} MiB, and the publication \
         says that each run lasts only seconds. Either the plotted figure does not cover all loops, or few runs were in the \
         lower clusters. Here a run takes {:.1} s to {:.1} s.",
        listed(&each.collect::<Vec<_>>()),
        real(moved) / MIB,
        shortest.as_secs_f64(),
        longest.as_secs_f64(),
    )
}

/// Whether the volume of experiment 2 tells the two kinds of levelling apart, and the volume that would.
fn power_findings(facts: &Facts<'_>) -> Vec<String> {
    let limit = facts.scenario.wear.endurance;
    let rate = facts.mean_rate();
    let iterations = counted(facts.scenario.full.rewrites.iterations, "iteration");
    let pairs = facts.measured.power.chunks_exact(2);
    let told = pairs.map(|pair| {
        let (dynamic, fixed) = (&pair[0], &pair[1]);
        let (done, worst) = dynamic.published;
        let [one, other] = [dynamic, fixed].map(|curve| levelling(curve.levelling));
        let apart = |one: &WearCurve| one.published.1 > limit;
        let can = if apart(dynamic) == apart(fixed) { "cannot tell" } else { "tells" };
        format!(
            "With {} over-provisioning {} {can} {one} from {other} levelling at a limit of {limit}. After this volume of experiment 2 \
             in {iterations} the most worn block has {worst} erases with {one} levelling and {} with {other}. {}.",
            dynamic.spare,
            tb(done),
            fixed.published.1,
            needed(dynamic, fixed, limit, rate),
        )
    });
    told.collect()
}

/// The volume from which on a surviving card is evidence, and the time to write it at `rate`.
fn needed(dynamic: &WearCurve, fixed: &WearCurve, limit: u32, rate: f64) -> String {
    let Some(passed) = dynamic.passed else {
        return "With dynamic levelling no block passes it at any volume that was tried".into();
    };
    let tells = if fixed.end.1 > limit {
        "some block with static levelling has passed the limit as well, and no volume would tell"
    } else {
        "from that volume on a surviving card would show static levelling"
    };
    let expected = real(dynamic.spare_bytes) * f64::from(limit);
    let spare = real(dynamic.spare_bytes) / GIB;
    let about = match real(passed) / expected {
        0.8..1.25 => format!("about {limit} times that over-provisioning of {spare:.2} GiB; "),
        _ => String::new(),
    };
    format!(
        "With dynamic levelling alone a block passes the limit after {}, {:.1} times as much ({about}{:.1} days of writing at \
         the rate of experiment 1). The most worn block with static levelling then has {} erases: {tells}",
        tb(passed),
        real(passed) / real(dynamic.published.0).max(1.0),
        real(passed) / rate.max(1.0) / 86_400.0,
        fixed.end.1,
    )
}
