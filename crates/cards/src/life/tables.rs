//! The tables of a life.
//!
//! Layer: rank 10. Functions: [`life`], [`factors`], [`wear`], [`health`], [`what_if`], [`pace`].

use super::run::factors::{Factor, causes};
use super::run::live::{CardLife, Point};
use super::run::pace::Level;
use super::run::study::{Band, Study};
use boardlab_result::prose::{float, round};
use boardlab_result::{Cell, Row, Table, TableWithItems};
use boardlab_sd::{LifeTime, PreEol};

/// Rounded to three significant digits.
pub(crate) fn years(value: f64) -> f64 {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        _ => 5,
    };
    round(value, decimals)
}

fn whole(value: f64) -> Cell {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes and counts")]
    Cell::int(value.max(0.0).round() as u64)
}

const SHARES: [&str; 3] = ["5", "50", "95"];

/// Adds columns of quantiles; `band` returns those of an item, `None` if it has none.
fn with_bands<T>(table: TableWithItems<T>, band: impl Fn(&T) -> Option<Band>) -> TableWithItems<T> {
    SHARES.into_iter().enumerate().fold(table, |table, (at, share)| {
        let of = |item: &T, cell: &dyn Fn(Point) -> Cell| {
            band(item).map(|Band(points)| points[at].map_or_else(Cell::none, cell))
        };
        table
            .column(format!("years_{share}"), format!("years, {share} % of cards"), |item| {
                of(item, &|point| Cell::real(years(point.years)))
            })
            .column(format!("written_{share}_bytes"), format!("written, {share} %"), |item| {
                of(item, &|point| whole(point.bytes))
            })
    })
}

/// When the cards reach their ends.
pub(super) fn life(study: &Study) -> Table {
    let ends = [
        (
            "end",
            "end of life: the earlier of both",
            CardLife::first as fn(&CardLife) -> Option<Point>,
        ),
        ("read_only", "read-only", |card: &CardLife| card.read_only),
        ("first_bad", "first block goes bad", |card: &CardLife| card.first_bad),
        ("uncorrectable", "first error that cannot be corrected", |card: &CardLife| {
            card.uncorrectable
        }),
    ];
    let rows = ends.map(|(id, title, end)| (Row::new(id, title), study.band(end)));
    let table = Table::new("life", "Life of the card").of(rows);
    let mut table = with_bands(table, |band| Some(*band)).table();
    table.rows[0].headline = true;
    table
}

/// The factors of a life.
pub(super) fn factors(lived: &CardLife, factors: &[Factor]) -> Table {
    let mut rows: Vec<_> = factors
        .iter()
        .map(|one| (Row::new(one.id, one.title), (one.factor, Some(one.years))))
        .collect();
    let programs = factors.iter().find(|one| one.id == "programs");
    let programs = programs.map_or(1.0, |one| 1.0 / one.factor);
    rows.extend(causes(lived, programs).into_iter().map(|(cause, count)| {
        let title = format!("of the programs: {cause}, a page");
        (Row::new(format!("programs_{cause}"), title), (count, None))
    }));
    Table::new("factors", "What shortens and lengthens life: the median card")
        .of(rows)
        .column("factor", "times", |(factor, _)| Cell::real(round(*factor, 4)))
        .column("years", "years with it and all above", |(_, until)| {
            until.map_or_else(Cell::none, |until| Cell::real(years(until)))
        })
        .column("change_ratio", "change", |(factor, until)| {
            until.map_or_else(Cell::none, |_| Cell::real(round(factor - 1.0, 4)))
        })
        .table()
}

/// The wear of a card's blocks at its end.
pub(super) fn wear(lived: &CardLife, rated: u32) -> Table {
    let blocks = float(lived.worn.len().max(1));
    let mean = lived.worn.iter().sum::<f64>() / blocks;
    let squares = lived.worn.iter().map(|worn| (worn - mean).powi(2)).sum::<f64>();
    let most = lived.worn.iter().copied().fold(0.0, f64::max);
    let least = lived.worn.iter().copied().fold(f64::INFINITY, f64::min);
    let deviation = (squares / blocks).sqrt();
    let (lives, end) = (lived.lives.iter().sum::<f64>() / blocks, lived.end);
    let mut table = Table::new("wear", "Wear at the end: the median card").column("value", "value");
    for (id, title, cell) in [
        ("blocks_count", "blocks", whole(blocks)),
        ("rated_count", "cycles that a block is rated for", whole(f64::from(rated))),
        ("lives_mean", "cycles that blocks live for, mean", Cell::real(round(lives, 1))),
        ("cycles_least", "cycles of the least worn block", Cell::real(round(least, 1))),
        ("cycles_mean", "mean", Cell::real(round(mean, 1))),
        ("cycles_most", "of the most worn block", Cell::real(round(most, 1))),
        ("cycles_deviation", "standard deviation", Cell::real(round(deviation, 1))),
        ("most_to_mean", "most worn to mean", Cell::real(round(most / mean.max(1e-9), 4))),
        ("factory_bad_count", "factory bad blocks", whole(lived.factory_bad.into())),
        ("grown_bad_count", "blocks that went bad", whole(lived.grown_bad.into())),
        ("spare_count", "spare blocks of the new card", whole(lived.spare.into())),
        ("years", "years", Cell::real(years(end.years))),
        ("written_bytes", "written by the host", whole(end.bytes)),
    ] {
        let row = Row::new(id, title).cell("value", cell);
        table.rows.push(if id == "written_bytes" { row.of_unit("bytes") } else { row });
    }
    table
}

/// When the health registers change.
pub(super) fn health(lived: &CardLife, rated: u32) -> Table {
    let mut rows = Vec::new();
    let mut put = |id: &str, title: &str, code: u8, at: Point| {
        rows.push((Row::new(format!("{id}_{code:02x}"), title), (code, at)));
    };
    let (mut life, mut pre) = (None, None);
    for look in &lived.looks {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cycles")]
        let used = LifeTime::new(look.mean as u64, rated.into()).map_or(0, LifeTime::code);
        if life.replace(used) != Some(used) {
            let title = "DEVICE_LIFE_TIME_EST_TYP_B, or the same of CMD56";
            put("life", title, used, look.at);
        }
        let now = PreEol::new(look.grown_bad.into(), lived.spare.into());
        if pre.replace(now) != Some(now) {
            put("pre_eol", "PRE_EOL_INFO", now.code(), look.at);
        }
    }
    Table::new("health", "The health report of the card: the median card")
        .of(rows)
        .column("value", "value", |(code, _)| Cell::text(format!("0x{code:02X}")))
        .column("years", "years", |(_, at)| Cell::real(years(at.years)))
        .column("written_bytes", "written", |(_, at)| whole(at.bytes))
        .table()
}

/// The alternatives.
pub(super) fn what_if(rows: &[(String, String, Result<Study, String>)]) -> Table {
    let median = |study: &Result<Study, String>| {
        study.as_ref().ok().and_then(|study| study.band(CardLife::first).0[1])
    };
    let base = rows.first().and_then(|(_, _, study)| median(study));
    let each = rows.iter().map(|(id, title, study)| (Row::new(id, title), study));
    let table = Table::new("what-if", "What else could be chosen").of(each);
    with_bands(table, |study| Some(study.as_ref().ok()?.band(CardLife::first)))
        .column("change_ratio", "change of the median", |study| {
            let change = base.zip(median(study));
            let change = change.map(|(base, this)| this.years / base.years - 1.0);
            let cell = change.map_or_else(Cell::none, |change| Cell::real(round(change, 4)));
            study.is_ok().then_some(cell)
        })
        .column("why", "why not", |study| study.as_ref().err().map(Cell::text))
        .table()
}

/// The correction of the scaled card.
pub(super) fn pace(study: &Study) -> Table {
    let scale = study.model.scale;
    let title = format!(
        "Wear a page of the host: {} pages a block in full, {} scaled, one erase for {}",
        scale.per, scale.of, scale.step
    );
    let levels = study.pace.levels.iter().enumerate().map(|(number, level)| {
        (Row::new(format!("level{number}"), format!("{} good blocks", level.blocks)), level)
    });
    let stands = |level: &Level| scale.pages() * study.pace.at(level.blocks);
    Table::new("pace", title)
        .of(levels)
        .column("blocks_count", "good blocks", |level| whole(level.blocks.into()))
        .column("full", "worn pages a page, in full", |level| Cell::real(round(level.full, 4)))
        .column("scaled", "scaled", |level| Cell::real(round(level.scaled, 4)))
        .column("stands_for", "pages of the host for each of the scaled card", |level| {
            Cell::real(round(stands(level), 3))
        })
        .table()
}
