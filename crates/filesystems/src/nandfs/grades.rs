//! Tables 3.6 and 3.7 of the publication: grades, and what suits which product.
//!
//! Layer: rank 10. Main type: [`Graded`]. The publication grades by judgement. Here one rule grades all figures, those
//! of the print as well: by how many times as bad as the best of its row a figure is.

use super::fs::FileSystemType;
use super::run::measure::{Column, PHASES, memory};
use super::scenario::grades::{Criterion, Grades};
use super::tables::{SystemRow, at_the_head, by_system};
use boardlab_document::error::Error;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::reference::Reference;
use boardlab_parts::nand::board::Port;
use boardlab_result::prose::{float, listed, real, round};
use boardlab_result::{Cell, Row, Table};

/// A grade; the better the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Poor,
    Fair,
    Good,
    Excellent,
}

impl Grade {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }

    /// Points for the choice for a product: 3 for the best.
    fn points(self) -> u64 {
        match self {
            Self::Poor => 0,
            Self::Fair => 1,
            Self::Good => 2,
            Self::Excellent => 3,
        }
    }
}

impl Criterion {
    const fn title(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Throughput => "mean of the four tests of tiobench",
            Self::Ram => "RAM after the mount",
            Self::Flash => "metadata on a full flash",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Mount => "ns",
            Self::Throughput => "bytes_per_s",
            Self::Ram => "bytes",
            Self::Flash => "ratio",
        }
    }

    /// The figure of a filesystem, in that unit.
    fn figure(self, column: &Column, port: Port) -> f64 {
        match self {
            Self::Mount => float(column.mounting.mount.with(port).as_nanos()),
            Self::Throughput => column
                .throughput
                .first()
                .map_or(0.0, |run| mean(run.phases.iter().map(|phase| phase.rate(port)))),
            Self::Ram => real(memory(&column.mounting.mounted)),
            Self::Flash => column.capacity.share(),
        }
    }

    /// The same as it was printed.
    fn printed(self, print: &Reference, system: &str) -> Result<f64, Error> {
        match self {
            Self::Mount => print.number("table3.2", "mount", system),
            Self::Throughput => {
                let rates = PHASES.iter().map(|phase| print.number("table3.3", phase, system));
                Ok(mean(rates.collect::<Result<Vec<_>, _>>()?.into_iter()))
            }
            Self::Ram => print.number("table3.4", "ram", system),
            Self::Flash => print.number("table3.5", "share", system),
        }
    }

    /// How many times as bad as the best of `figures` each of them is.
    fn times_the_best(self, figures: &[f64]) -> Vec<f64> {
        let most = |one: f64, other: f64| one.max(other);
        let least = |one: f64, other: f64| one.min(other);
        match self {
            Self::Throughput => {
                let best = figures.iter().copied().fold(0.0, most);
                figures.iter().map(|figure| best / figure).collect()
            }
            _ => {
                let best = figures.iter().copied().fold(f64::INFINITY, least);
                figures.iter().map(|figure| figure / best).collect()
            }
        }
    }
}

/// The geometric mean, for which a factor counts as much in a slow test as in a fast one.
fn mean(rates: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = rates.fold((0, 0.0), |(count, sum), rate| (count + 1, sum + rate.ln()));
    (sum / f64::from(count)).exp()
}

impl Grades {
    /// The grade of a figure that is so many times as bad as the best.
    fn grade(&self, times: f64) -> Grade {
        let within = |most: Ratio| times <= most.as_f64();
        match () {
            () if within(self.excellent) => Grade::Excellent,
            () if within(self.good) => Grade::Good,
            () if within(self.fair) => Grade::Fair,
            () => Grade::Poor,
        }
    }

    /// The rule in words.
    fn rule(&self) -> String {
        let times = |ratio: Ratio| round(ratio.as_f64(), 2);
        format!(
            "excellent up to {} times the best of the row, good up to {}, fair up to {}, poor beyond",
            times(self.excellent),
            times(self.good),
            times(self.fair),
        )
    }
}

/// A figure with its grade.
#[derive(Debug, Clone, Copy)]
struct GradedFigure {
    figure: f64,
    /// How many times as bad as the best of its row it is.
    times: f64,
    grade: Grade,
}

/// The figures of all filesystems with their grades.
pub(super) struct Graded<'g> {
    grades: &'g Grades,
    columns: &'g [Column],
    /// By criterion, in the order of the columns.
    rows: Vec<(Criterion, Vec<GradedFigure>)>,
}

impl<'g> Graded<'g> {
    /// Grades the figures of a run with a port.
    pub(super) fn new(grades: &'g Grades, columns: &'g [Column], port: Port) -> Self {
        let rows = Criterion::ALL.map(|criterion| {
            let figures: Vec<_> = columns.iter().map(|one| criterion.figure(one, port)).collect();
            let times = criterion.times_the_best(&figures);
            let all = figures.into_iter().zip(times).map(|(figure, times)| GradedFigure {
                figure,
                times,
                grade: grades.grade(times),
            });
            (criterion, all.collect())
        });
        Self { grades, columns, rows: rows.into() }
    }

    fn of(&self, criterion: Criterion) -> &[GradedFigure] {
        let found = self.rows.iter().find(|(one, _)| *one == criterion);
        found.map_or(&[], |(_, all)| all)
    }

    fn at(&self, system: &str) -> usize {
        self.columns.iter().position(|one| one.system == system).unwrap_or(0)
    }

    /// Table 3.6, its figures, and table 3.7.
    pub(super) fn tables(&self) -> Vec<Table> {
        let word = |criterion| {
            move |one: &Column| Cell::text(self.of(criterion)[self.at(one.system)].grade.name())
        };
        let words = Criterion::ALL.map(word);
        let rows: Vec<SystemRow<'_>> = Criterion::ALL
            .iter()
            .zip(&words)
            .map(|(one, cell)| (one.name(), one.title(), "", cell as &dyn Fn(&Column) -> Cell))
            .collect();
        let title = format!("Grades: {}", self.grades.rule());
        let table = by_system("table3.6", &title, self.columns, &rows);
        [at_the_head(table), self.figures(), at_the_head(self.products())].into()
    }

    /// What the grades follow from.
    fn figures(&self) -> Table {
        let figure = |criterion: Criterion| {
            move |one: &Column| {
                let figure = self.of(criterion)[self.at(one.system)].figure;
                let decimals = if criterion == Criterion::Flash { 5 } else { 0 };
                Cell::real(round(figure, decimals))
            }
        };
        let times = |criterion| {
            move |one: &Column| Cell::real(round(self.of(criterion)[self.at(one.system)].times, 2))
        };
        let (figures, multiples) = (Criterion::ALL.map(figure), Criterion::ALL.map(times));
        let ids = Criterion::ALL.map(|one| format!("{}_times_the_best", one.name()));
        let mut rows: Vec<SystemRow<'_>> = Vec::new();
        for (at, one) in Criterion::ALL.into_iter().enumerate() {
            rows.push((one.name(), one.title(), one.unit(), &figures[at]));
            rows.push((&ids[at], "times the best", "", &multiples[at]));
        }
        by_system("table3.6-figures", "The figures that are graded", self.columns, &rows)
    }

    /// The points of each column by some criteria, with the product of its multiples of the best.
    fn points(&self, criteria: &[Criterion]) -> Vec<(u64, f64)> {
        let of = |at: usize| {
            let all = criteria.iter().map(|criterion| self.of(*criterion)[at]);
            all.fold((0, 1.0), |(points, product), one| {
                (points + one.grade.points(), product * one.times)
            })
        };
        (0..self.columns.len()).map(of).collect()
    }

    /// The place of the column with the best points.
    fn choice(points: &[(u64, f64)]) -> Option<usize> {
        let best = points
            .iter()
            .enumerate()
            .min_by(|(_, one), (_, other)| other.0.cmp(&one.0).then(one.1.total_cmp(&other.1)));
        best.map(|(at, _)| at)
    }

    /// Table 3.7: the filesystem with the most points for the criteria of a product.
    fn products(&self) -> Table {
        let title = "What suits which product: the most points for its criteria, 3 for excellent to 0 for poor; \
                     of equals the one nearer to the best";
        let mut table = Table::new("table3.7", title)
            .column("system", "suits best")
            .column("criteria", "criteria");
        table = self.columns.iter().fold(table, |table, one| table.column(one.system, one.system));
        for (name, criteria) in &self.grades.products {
            let words: Vec<_> = criteria.iter().map(|one| one.name().to_owned()).collect();
            let points = self.points(criteria);
            let choice = Self::choice(&points).map_or("", |at| self.columns[at].system);
            let row = Row::new(name, name.replace('_', " "))
                .cell("system", Cell::text(choice))
                .cell("criteria", Cell::text(listed(&words)));
            let points = points.into_iter().zip(self.columns);
            table.rows.push(
                points.fold(row, |row, ((points, _), one)| row.cell(one.system, Cell::int(points))),
            );
        }
        table
    }

    /// How far the rule gives the printed grades to the printed figures, for the finding about tables 3.6.
    pub(super) fn on_the_print(
        &self,
        print: &Reference,
        types: &[FileSystemType],
    ) -> Result<String, Error> {
        let (mut same, mut others) = (0, Vec::new());
        for criterion in Criterion::ALL {
            let named: Vec<_> = types.iter().map(|one| one.name).collect();
            let figures = named.iter().map(|system| criterion.printed(print, system));
            let figures = figures.collect::<Result<Vec<_>, _>>()?;
            let times = criterion.times_the_best(&figures);
            for (system, times) in named.iter().zip(times) {
                // The publication takes JFFS2 for granted and does not grade it.
                let Ok(printed) = print.quote("table3.6", criterion.name(), system) else {
                    continue;
                };
                let ours = self.grades.grade(times).name();
                if ours == printed {
                    same += 1;
                } else {
                    others.push(format!(
                        "{} of {system}, {times:.1} times the best, is {ours} by the rule and {printed} in print",
                        criterion.name(),
                    ));
                }
            }
        }
        let total = same + others.len();
        let others =
            if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
        Ok(format!(
            "The publication grades by judgement and names no rule. One rule for all rows gives the printed figures the printed grades in \
             {same} of {total} cells{others}: {}. Throughput is the geometric mean of the four tests. Where a grade of ours differs, the \
             figure does, and the finding at that figure says why.",
            self.grades.rule(),
        ))
    }

    /// Why the choices differ from those of the print.
    pub(super) fn on_products(&self, print: &Reference) -> Result<String, Error> {
        let mut told = Vec::new();
        for (name, criteria) in &self.grades.products {
            let Ok(printed) = print.quote("table3.7", name, "system") else { continue };
            let Some(best) = Self::choice(&self.points(criteria)) else { continue };
            let ours = self.columns[best].system;
            let theirs = self.at(printed);
            let figures = |at: usize| {
                let each = criteria.iter().map(|criterion| {
                    let GradedFigure { times, grade, .. } = self.of(*criterion)[at];
                    format!("{} {} ({times:.1} times the best)", criterion.name(), grade.name())
                });
                each.collect::<Vec<_>>().join(", ")
            };
            let product = name.replace('_', " ");
            told.push(match ours == printed {
                true => format!("{product}: {ours}, as in print ({})", figures(best)),
                false => format!(
                    "{product}: {ours} ({}), where the print has {printed} ({})",
                    figures(best),
                    figures(theirs),
                ),
            });
        }
        Ok(format!(
            "The filesystem for a product has the most points for what the product needs. {}. The publication compares the three new \
             filesystems with each other; here JFFS2 is one of four.",
            told.join("; "),
        ))
    }
}
