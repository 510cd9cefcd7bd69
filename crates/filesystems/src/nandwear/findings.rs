//! What the wear experiment found.
//!
//! Layer: rank 10. Function: [`add`].

use super::scenario::Scenario;
use super::tables::{by_system, off, three, years};
use crate::nandfs::fs::{Levelling, Moves};
use crate::nandfs::run::wear::{Course, Life};
use crate::nandfs::scenario::system;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::finding::{find, find_if};
use boardlab_result::RunResult;
use boardlab_result::prose::{counted, listed, percent_of, round};

/// Adds the findings.
pub(super) fn add(run: &mut RunResult, courses: &[Course], scenario: &Scenario) {
    find(run, lives(courses, scenario));
    find(run, evenness(courses, scenario));
    find(run, amplification(courses));
    find_if(run, checked(courses, scenario));
    find_if(run, ends(courses, scenario));
    find_if(run, unsteady(courses));
}

/// The level that sentences are about: the fullest of those that were checked, or of all.
fn level(scenario: &Scenario) -> Ratio {
    let wear = &scenario.wear;
    let checked = wear.check_levels.iter().max();
    *checked.or_else(|| wear.levels.iter().max()).expect("a scenario has levels")
}

/// The filesystems at a level, with the life on a part of the lowest rating.
fn at<'c>(
    courses: &'c [Course],
    level: Ratio,
) -> impl Iterator<Item = (&'c Course, Life)> + use<'c> {
    let there = courses.iter().filter(move |one| one.level == level);
    there.filter_map(|one| Some((one, one.lives.iter().min_by_key(|(cycles, _)| *cycles)?.1)))
}

/// A time in the unit that people would take.
fn told(years: f64) -> String {
    match three(years) {
        years if years >= 100.0 => format!("{years:.0} years"),
        years if years >= 10.0 => format!("{years:.1} years"),
        years if years >= 1.0 => format!("{years:.2} years"),
        years if years * 12.0 >= 1.0 => format!("{:.1} months", years * 12.0),
        years if years * 365.25 >= 1.0 => format!("{:.1} days", years * 365.25),
        years => format!("{:.1} hours", years * 365.25 * 24.0),
    }
}

fn lives(courses: &[Course], scenario: &Scenario) -> String {
    let level = level(scenario);
    let cycles = scenario.wear.endurance.iter().min().copied().unwrap_or_default();
    let mut all: Vec<_> = at(courses, level).collect();
    all.sort_by(|(_, a), (_, b)| b.end.total_cmp(&a.end));
    let end = |(course, life): &(&Course, Life)| told(years(life.end, course.seen.each));
    let headline = match all.as_slice() {
        [only] => format!(
            "A part of {cycles} cycles, {level} full, lasts {} with {}",
            end(only),
            only.0.system
        ),
        [first, .., last] => format!(
            "A part of {cycles} cycles, {level} full, lasts {} with {}, and {} with {}",
            end(first),
            first.0.system,
            end(last),
            last.0.system,
        ),
        [] => unreachable!("a scenario has filesystems and levels"),
    };
    let each = all.iter().map(|(course, life)| {
        let first = told(years(life.first, course.seen.each));
        format!("{} {first} and {}", course.system, told(years(life.end, course.seen.each)))
    });
    format!(
        "{headline}. That is extrapolated to the first write that fails, with {} written every {}. Until the first block dies, and until then: {}.",
        scenario.wear.file,
        all.iter().map(|(course, _)| course.seen.each).max().unwrap_or(scenario.wear.period),
        each.collect::<Vec<_>>().join("; "),
    )
}

/// How a filesystem levels wear, in words.
fn rule(course: &Course, levelling: Levelling, threshold: Option<u32>) -> String {
    let each = course.seen.erases_per_move.map_or(0, |each| (each + 500) / 1_000);
    match levelling.moves {
        Moves::Never => "data at rest are never moved".into(),
        Moves::Oldest if each > 0 => {
            format!("the data that lie longest are moved once in {each} erases")
        }
        Moves::LeastWorn if each > 0 => {
            format!("data in the least worn block are moved once in {each} erases")
        }
        Moves::Oldest | Moves::LeastWorn => "no move of data at rest was seen".into(),
        Moves::Apart => format!(
            "data at rest are moved when erase counters are {} apart, which was left out here",
            threshold.unwrap_or_default()
        ),
    }
}

fn evenness(courses: &[Course], scenario: &Scenario) -> String {
    let level = level(scenario);
    let all: Vec<_> = at(courses, level).map(|(one, _)| one).collect();
    let worst = all.iter().max_by(|a, b| a.seen.spread.total_cmp(&b.seen.spread));
    let worst = worst.expect("a scenario has filesystems");
    let each = all.iter().map(|course| {
        let system = system(&scenario.systems, course.system);
        let rule = rule(course, system.levelling(scenario.kernel.profile), system.wear_threshold());
        format!("{} {:.1} times, and {rule}", course.system, course.seen.spread)
    });
    format!(
        "{level} full, {} wears the most worn block {:.1} times as fast as the mean one. The file keeps to the blocks that hold nothing else, \
         unless data at rest are moved. By filesystem: {}.",
        worst.system,
        worst.seen.spread,
        each.collect::<Vec<_>>().join("; "),
    )
}

fn amplification(courses: &[Course]) -> String {
    let by = |a: &&Course, b: &&Course| a.seen.amplification.total_cmp(&b.seen.amplification);
    let least = courses.iter().min_by(by).expect("a scenario has filesystems");
    let most = courses.iter().max_by(by).expect("a scenario has filesystems");
    let share = |course: &Course| percent_of(course.seen.amplification);
    let each = by_system(courses).map(|(system, levels)| {
        let all = levels.iter().map(|one| format!("{} at {}", share(one), one.level));
        format!("{system} {}", listed(&all.collect::<Vec<_>>()))
    });
    let headline = match courses {
        [only] => format!("For each byte of the file {} programs {}", only.system, share(only)),
        _ => format!(
            "For each byte of the file {} programs {} at the least, and {} {} at the most",
            least.system,
            share(least),
            most.system,
            share(most),
        ),
    };
    format!(
        "{headline}. Headers of nodes and objects, pages that are \
         filled up at a sync, metadata and garbage collection come on top of the data: {}.",
        each.collect::<Vec<_>>().join("; "),
    )
}

/// How good the extrapolation is.
fn checked(courses: &[Course], scenario: &Scenario) -> Option<String> {
    let all = courses.iter().flat_map(|one| one.checks.iter().map(move |check| (one, check)));
    let all: Vec<_> = all
        .map(|(course, check)| {
            let [first, end] = [
                off(check.expected.first, check.ended.first),
                off(check.expected.end, check.ended.rewrites),
            ];
            (course, check, first, end)
        })
        .collect();
    let size = |share: f64| share.abs();
    let most = |(_, _, first, end): &(_, _, f64, f64)| size(*first).max(size(*end));
    let worst = all.iter().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let (course, _, first, end) = worst;
    let farthest = if size(*first) > size(*end) { *first } else { *end };
    let signed = |share: f64| format!("{:+} %", round(share * 100.0, 0));
    let each = all.iter().map(|(course, check, first, end)| {
        let of =
            check.of.map_or_else(String::new, |cycles| format!(" levelled as one of {cycles}"));
        format!("{} {}{of} {} and {}", course.system, course.level, signed(*first), signed(*end))
    });
    Some(format!(
        "Parts of {} cycles that ran to their end lie at most {} from the extrapolation: {} with {}. First dead block and first refused write, \
         extrapolated against run: {}. The extrapolation knows the turns of blocks and not what is in them.",
        scenario.wear.check_cycles,
        percent_of(size(farthest)),
        signed(farthest),
        course.system,
        each.collect::<Vec<_>>().join("; "),
    ))
}

/// How the parts ended.
fn ends(courses: &[Course], scenario: &Scenario) -> Option<String> {
    let all: Vec<_> =
        courses.iter().flat_map(|one| one.checks.iter().map(move |check| (one, check))).collect();
    let (course, check) = all.iter().min_by_key(|(_, check)| check.ended.bad)?;
    let lost: u64 = all.iter().map(|(_, check)| check.ended.lost).sum();
    let each = all.iter().map(|(course, check)| {
        let bad = counted(check.ended.bad, "bad block");
        format!("{} after {bad}: {}", course.system, check.ended.last)
    });
    let reserve = courses.iter().find_map(|one| Some((one.system, one.seen.reserve?)));
    let reserve = reserve.map_or_else(String::new, |(system, reserve)| {
        let kept = counted(reserve, "block");
        format!(
            " For those {system} keeps {kept}, and stops when one more dies, or one that cannot even be marked."
        )
    });
    let of = scenario.wear.chip / scenario.file.part.geometry.block_size();
    let lost = match lost {
        0 => "No file was lost".into(),
        1 => "One file was lost".into(),
        some => format!("{some} files were lost"),
    };
    Some(format!(
        "With {} of {of}, {} takes no more writes.{reserve} {lost} in all {} that ran to their end. What each said: {}.",
        counted(check.ended.bad, "bad block"),
        course.system,
        counted(u64::try_from(all.len()).unwrap_or(u64::MAX), "part"),
        each.collect::<Vec<_>>().join("; "),
    ))
}

fn unsteady(courses: &[Course]) -> Option<String> {
    let all = courses.iter().filter(|one| one.seen.steady.is_none());
    let all: Vec<_> = all.map(|one| format!("{} at {}", one.system, one.level)).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Erases were not steady when the run stopped to look: {}. Their lives are extrapolated from the last rounds all the same.",
            listed(&all)
        )
    })
}
