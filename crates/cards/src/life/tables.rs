//! The tables of a life.
//!
//! Layer: rank 10. Functions: [`life`], [`factors`], [`wear`], [`health`], [`what_if`], [`pace`].

use super::run::factors::{Factor, causes};
use super::run::live::{Lived, Point};
use super::run::study::{Band, Study};
use boardlab_result::prose::round;
use boardlab_result::{Cell, Row, Table};
use boardlab_sd::{LifeTime, PreEol};

/// With three digits that count.
pub(super) fn years(value: f64) -> f64 {
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

fn band(row: Row, band: Band) -> Row {
    let each = SHARES.into_iter().zip(band.0);
    each.fold(row, |row, (share, point)| {
        let of = |cell: &dyn Fn(Point) -> Cell| point.map_or_else(Cell::none, cell);
        row.cell(format!("years_{share}"), of(&|point| Cell::real(years(point.years))))
            .cell(format!("written_{share}_bytes"), of(&|point| whole(point.bytes)))
    })
}

fn with_bands(table: Table) -> Table {
    SHARES.into_iter().fold(table, |table, share| {
        table
            .column(format!("years_{share}"), format!("years, {share} % of cards"))
            .column(format!("written_{share}_bytes"), format!("written, {share} %"))
    })
}

/// When cards come to their ends.
pub(super) fn life(study: &Study) -> Table {
    let mut table = with_bands(Table::new("life", "Life of the card"));
    for (id, title, end) in [
        ("end", "end of life: the earlier of both", Lived::first as fn(&Lived) -> Option<Point>),
        ("read_only", "read-only", |card: &Lived| card.read_only),
        ("first_bad", "first block goes bad", |card: &Lived| card.first_bad),
        ("uncorrectable", "first error that cannot be corrected", |card: &Lived| {
            card.uncorrectable
        }),
    ] {
        let row = band(Row::new(id, title), study.band(end));
        table.rows.push(if id == "end" { row.at_the_head() } else { row });
    }
    table
}

/// What a life is made of.
pub(super) fn factors(lived: &Lived, factors: &[Factor]) -> Table {
    let mut table = Table::new("factors", "What shortens and lengthens life: the median card")
        .column("factor", "times")
        .column("years", "years with it and all above")
        .column("change_ratio", "change");
    for one in factors {
        let row = Row::new(one.id, one.title)
            .cell("factor", Cell::real(round(one.factor, 4)))
            .cell("years", Cell::real(years(one.years)))
            .cell("change_ratio", Cell::real(round(one.factor - 1.0, 4)));
        table.rows.push(row);
    }
    let programs =
        factors.iter().find(|one| one.id == "programs").map_or(1.0, |one| 1.0 / one.factor);
    for (cause, count) in causes(lived, programs) {
        let row =
            Row::new(format!("programs_{cause}"), format!("of the programs: {cause}, a page"))
                .cell("factor", Cell::real(round(count, 4)))
                .cell("years", Cell::none())
                .cell("change_ratio", Cell::none());
        table.rows.push(row);
    }
    table
}

/// How worn the blocks of a card are at its end.
pub(super) fn wear(lived: &Lived, rated: u32) -> Table {
    let count = lived.worn.len().max(1);
    #[allow(clippy::cast_precision_loss, reason = "a number of blocks")]
    let blocks = count as f64;
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
        ("factory_bad_count", "blocks bad from the factory", whole(lived.factory_bad.into())),
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

/// When the registers that tell of health change.
pub(super) fn health(lived: &Lived, rated: u32) -> Table {
    let mut table = Table::new("health", "What the card tells of its health: the median card")
        .column("value", "value")
        .column("years", "years")
        .column("written_bytes", "written");
    let mut put = |id: String, title: &str, value: String, at: Point| {
        let row = Row::new(id, title)
            .cell("value", Cell::text(value))
            .cell("years", Cell::real(years(at.years)))
            .cell("written_bytes", whole(at.bytes));
        table.rows.push(row);
    };
    let (mut life, mut pre) = (None, None);
    for look in &lived.looks {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cycles")]
        let used = LifeTime::new(look.mean as u64, rated.into()).map_or(0, LifeTime::code);
        if life != Some(used) {
            life = Some(used);
            let title = "DEVICE_LIFE_TIME_EST_TYP_B, or the same of CMD56";
            put(format!("life_{used:02x}"), title, format!("0x{used:02X}"), look.at);
        }
        let now = PreEol::new(look.grown_bad.into(), lived.spare.into());
        if pre != Some(now) {
            pre = Some(now);
            let code = now.code();
            put(format!("pre_eol_{code:02x}"), "PRE_EOL_INFO", format!("0x{code:02X}"), look.at);
        }
    }
    table
}

/// What else could be chosen.
pub(super) fn what_if(rows: &[(String, String, Result<Study, String>)]) -> Table {
    let mut table = with_bands(Table::new("what-if", "What else could be chosen"))
        .column("change_ratio", "change of the median")
        .column("why", "why not");
    let median = |study: &Result<Study, String>| {
        study.as_ref().ok().and_then(|study| study.band(Lived::first).0[1])
    };
    let base = rows.first().and_then(|(_, _, study)| median(study));
    for (id, title, study) in rows {
        let row = Row::new(id, title);
        table.rows.push(match study {
            Ok(done) => {
                let change = base.zip(median(study));
                let change = change.map(|(base, this)| this.years / base.years - 1.0);
                let cell = change.map_or_else(Cell::none, |change| Cell::real(round(change, 4)));
                band(row, done.band(Lived::first)).cell("change_ratio", cell)
            }
            Err(why) => row.cell("why", Cell::text(why)),
        });
    }
    table
}

/// How the scaled card was put right.
pub(super) fn pace(study: &Study) -> Table {
    let scale = study.model.scale;
    let title = format!(
        "Wear a page of the host: {} pages a block in full, {} scaled, one erase for {}",
        scale.per, scale.of, scale.step
    );
    let mut table = Table::new("pace", title)
        .column("blocks_count", "good blocks")
        .column("full", "worn pages a page, in full")
        .column("scaled", "scaled")
        .column("stands_for", "pages of the host for each of the scaled card");
    for (number, level) in study.pace.levels.iter().enumerate() {
        let row = Row::new(format!("level{number}"), format!("{} good blocks", level.blocks))
            .cell("blocks_count", whole(level.blocks.into()))
            .cell("full", Cell::real(round(level.full, 4)))
            .cell("scaled", Cell::real(round(level.scaled, 4)))
            .cell("stands_for", Cell::real(round(scale.pages() * study.pace.at(level.blocks), 3)));
        table.rows.push(row);
    }
    table
}
