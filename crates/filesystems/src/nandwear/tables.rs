//! The tables of the wear experiment.
//!
//! Layer: rank 10. Functions: [`all`]; [`years`], [`off`], [`three`] and [`by_system`], for sentences and charts
//! as well.

use super::scenario::{Scenario, Wear};
use crate::nandfs::run::wear::{Check, Course, Life, Mounts};
use crate::nandfs::tables::samples;
use boardlab_result::prose::{YEAR, float, round};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Duration;

/// The years that so many writings of the file take, each after the time `each`.
pub(super) fn years(writings: f64, each: Duration) -> f64 {
    writings * each.as_secs_f64() / YEAR
}

/// How far an extrapolated number of writings is from that of a run.
pub(super) fn off(expected: f64, ran: u64) -> f64 {
    expected / float(ran.max(1)) - 1.0
}

/// The courses by filesystem.
pub(super) fn by_system(courses: &[Course]) -> impl Iterator<Item = (&'static str, &[Course])> {
    let groups = courses.chunk_by(|one, other| one.system == other.system);
    groups.filter_map(|group| Some((group.first()?.system, group)))
}

/// Rounded to three figures.
pub(super) fn three(value: f64) -> f64 {
    if value <= 0.0 {
        return value;
    }
    #[allow(clippy::cast_possible_truncation, reason = "the magnitude of a finite number")]
    let magnitude = value.log10().floor() as i32;
    round(value, 2 - magnitude)
}

/// All tables.
pub(super) fn all(courses: &[Course], scenario: &Scenario) -> Vec<Table> {
    let mut all = vec![work(courses), spread(courses), lives(courses)];
    if courses.iter().any(|one| !one.checks.is_empty()) {
        all.extend([checks(courses, &scenario.wear), ends(courses)]);
    }
    all.extend(samples(scenario.wear.data.sample().as_slice()));
    all
}

fn row(course: &Course) -> Row {
    Row::new(format!("{}/{}", course.system, course.level), "")
}

fn work(courses: &[Course]) -> Table {
    let rows = courses.iter().map(|one| (row(one), &one.seen));
    Table::new("wear", "What one file that is written over and over costs the flash")
        .of(rows)
        .column("at_rest_bytes", "data at rest", |seen| Cell::int(seen.rest.get()))
        .column("write_ns", "a writing until it is durable", |seen| {
            Cell::int(seen.durable.as_nanos())
        })
        .column("amplification_ratio", "write amplification", |seen| {
            Cell::real(round(seen.amplification, 3))
        })
        .column("erases", "erases a writing", |seen| Cell::real(round(seen.erases_per_rewrite, 3)))
        .column("hot_count", "blocks that take them", |seen| {
            count(seen.hot.len() + seen.journal.len())
        })
        .column("moves", "erases a move of data at rest", |seen| {
            seen.erases_per_move.map_or_else(
                || Cell::text("none seen"),
                |each| Cell::real(round(float(each) / 1e3, 1)),
            )
        })
        .column("steady_count", "writings until steady", |seen| {
            seen.steady.map_or_else(|| Cell::text("not steady"), Cell::int)
        })
        .table()
}

fn spread(courses: &[Course]) -> Table {
    let sorted = |erases: &[u32]| {
        let mut sorted = erases.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let rows = courses.iter().map(|one| (row(one), (&one.seen, sorted(one.seen.erases()))));
    let mean = |erases: &[u32]| {
        float(erases.iter().map(|&one| u64::from(one)).sum::<u64>()) / float(erases.len().max(1))
    };
    let at = |erases: &[u32], share: f64| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length"
        )]
        let index = (share * float(erases.len().saturating_sub(1))) as usize;
        Cell::int(erases.get(index).copied().unwrap_or_default().into())
    };
    Table::new("wear-spread", "How evenly the blocks are worn by then")
        .of(rows)
        .column("never_count", "blocks never erased", |(_, erases)| {
            count(erases.iter().filter(|&&one| one == 0).count())
        })
        .column("least_count", "fewest erases", |(_, erases)| at(erases, 0.0))
        .column("median_count", "median", |(_, erases)| at(erases, 0.5))
        .column("mean", "mean", |(_, erases)| Cell::real(round(mean(erases), 1)))
        .column("most_count", "most erases", |(_, erases)| at(erases, 1.0))
        .column("ahead_ratio", "growth of the most, of the mean's", |(seen, _)| {
            Cell::real(round(seen.spread, 3))
        })
        .table()
}

fn lives(courses: &[Course]) -> Table {
    let rows = courses.iter().flat_map(|one| {
        one.lives.iter().map(move |(cycles, life)| {
            let row = Row::new(format!("{}/{}/{cycles}", one.system, one.level), "");
            (row, (life, one.seen.each))
        })
    });
    let years = |writings: f64, each| Cell::real(three(years(writings, each)));
    Table::new(
        "wear-years",
        "Extrapolated lives of parts, by filesystem, fill level and rated cycles",
    )
    .of(rows)
    .column("first_writings_count", "writings to the first dead block", |(life, _)| {
        whole(life.first)
    })
    .column("first_years", "years to it", |(life, each)| years(life.first, *each))
    .column("end_writings_count", "writings to the first refused write", |(life, _)| {
        whole(life.end)
    })
    .column("end_years", "years to it", |(life, each)| years(life.end, *each))
    .table()
}

fn count(things: usize) -> Cell {
    Cell::int(u64::try_from(things).expect("a count fits u64"))
}

/// A number of writings.
fn whole(writings: f64) -> Cell {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, rounded")]
    let writings = writings.round() as u64;
    Cell::int(writings)
}

/// Each part that ran to its end.
fn checked(courses: &[Course]) -> impl Iterator<Item = (Row, &Check)> {
    courses.iter().flat_map(|one| {
        one.checks.iter().map(move |check| {
            let of = check.of.map_or_else(String::new, |cycles| format!("/as-{cycles}"));
            (Row::new(format!("{}/{}{of}", one.system, one.level), ""), check)
        })
    })
}

fn checks(courses: &[Course], wear: &Wear) -> Table {
    let title = format!(
        "The extrapolation beside parts of {} cycles that ran to their end",
        wear.check_cycles
    );
    let of = |check: &&Check, of: fn(&Life) -> f64| of(&check.expected);
    let deviation = |expected: f64, ran: u64| Cell::real(round(off(expected, ran), 3));
    Table::new("wear-check", title)
        .of(checked(courses))
        .column("first_expected_count", "first dead block, extrapolated", move |check| {
            whole(of(check, |one| one.first))
        })
        .column("first_count", "ran", |check| Cell::int(check.ended.first))
        .column("first_off_ratio", "off", |check| {
            deviation(check.expected.first, check.ended.first)
        })
        .column("end_expected_count", "first refused write, extrapolated", move |check| {
            whole(of(check, |one| one.end))
        })
        .column("end_count", "ran", |check| Cell::int(check.ended.rewrites))
        .column("end_off_ratio", "off", |check| deviation(check.expected.end, check.ended.rewrites))
        .table()
}

fn ends(courses: &[Course]) -> Table {
    Table::new("wear-ends", "How these parts ended")
        .of(checked(courses))
        .column("bad_count", "bad blocks", |check| Cell::int(check.ended.bad))
        .column("said", "what the filesystem said", |check| Cell::text(check.ended.last.clone()))
        .column("mounts", "mounts again", |check| {
            Cell::text(match check.ended.mounts {
                Mounts::Yes => "yes",
                Mounts::ReadOnly => "read-only",
                Mounts::No => "no",
            })
        })
        .column("lost_count", "files lost", |check| Cell::int(check.ended.lost))
        .table()
}
