//! Tables 2.1 and 3.8 of the publication: what the filesystems are, and what is wanted of them.
//!
//! Layer: rank 10. Main types: [`Judged`]; [`Wish`], an entry of table 3.8, with the figure that it depends on. What
//! no model can know is printed beside ours as an input: since when a filesystem is there, and how stable its code was.

use super::fs::FileSystemType;
use super::grades::Grade;
use super::run::measure::{Column, memory};
use super::run::wear::Course;
use super::scenario::grades::{Grades, WearGrades};
use super::scenario::{Kernel, Scenario, system};
use super::tables::{SystemRow, at_the_head, by_system};
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_nand::Part;
use boardlab_result::prose::{float, percent_of, round};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Bytes;

/// What wishes depend on.
pub(super) struct Basis<'b> {
    pub(super) part: &'b Part,
    pub(super) grades: &'b Grades,
    pub(super) column: &'b Column,
    /// The share of all rated cycles that the filesystem uses until the first block dies, where it was measured.
    pub(super) used: Option<f64>,
    /// RAM after the mount of the filesystem that needs the least.
    pub(super) least_memory: Bytes,
}

/// Something that the publication wants improved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// What it depends on.
    pub(super) figure: f64,
    /// What the figure would have to be.
    pub(super) limit: f64,
    /// Whether the limit is the most, or the least.
    pub(super) is_most: bool,
}

impl Wish {
    fn is_wanted(&self) -> bool {
        if self.is_most { self.figure > self.limit } else { self.figure < self.limit }
    }
}

impl WearGrades {
    /// The share of all rated cycles that are used when the first block dies.
    fn used(&self, course: &Course, part: &Part) -> Option<f64> {
        let (cycles, life) = course.lives.first()?;
        let blocks = self.load(part).chip / part.geometry.block_size();
        Some(life.first * course.seen.erases_per_rewrite / (float(blocks) * float(*cycles)))
    }

    fn grade(&self, used: f64) -> &'static str {
        match () {
            () if used >= self.excellent.as_f64() => Grade::Excellent.name(),
            () if used >= self.good.as_f64() => Grade::Good.name(),
            () => "weak",
        }
    }

    fn rule(&self) -> String {
        format!(
            "excellent from {} on of all rated cycles that are used when the first block dies, good from {}, weak below",
            self.excellent, self.good,
        )
    }
}

/// Indices of the findings about judgements.
pub(super) struct Judging {
    pub(super) products: usize,
    pub(super) wear: usize,
    pub(super) wishes: usize,
}

/// The filesystems with what they are judged by.
pub(super) struct Judged<'j> {
    pub(super) types: &'j [FileSystemType],
    pub(super) scenario: &'j Scenario,
    pub(super) grades: &'j Grades,
    pub(super) columns: &'j [Column],
    /// The wear of each filesystem, if it was measured.
    pub(super) courses: &'j [Course],
}

impl Judged<'_> {
    /// Tables 2.1 and 3.8, and the figures that wear is graded by.
    pub(super) fn tables(&self, print: Option<&Reference>) -> Vec<Table> {
        let first = at_the_head(self.filesystems(print));
        [first].into_iter().chain(self.wear()).chain([at_the_head(self.wishes())]).collect()
    }

    fn used(&self, system: &str) -> Option<f64> {
        let course = self.courses.iter().find(|one| one.system == system)?;
        self.grades.wear.used(course, &self.scenario.file.part)
    }

    fn of_type(&self, system: &str) -> &FileSystemType {
        let found = self.types.iter().find(|one| one.name == system);
        found.expect("every column is one of them")
    }

    /// Table 2.1.
    fn filesystems(&self, print: Option<&Reference>) -> Table {
        // What the print alone knows; a cell that it lacks is not built.
        let quoted = |row: &'static str| {
            move |one: &Column| {
                let quote = print.and_then(|print| print.quote("table2.1", row, one.system).ok());
                quote.map_or_else(Cell::none, Cell::text)
            }
        };
        let (since, stability) = (quoted("since"), quoted("stability"));
        let merged = |one: &Column| match self.of_type(one.system).merged {
            Some(version) => Cell::text(version.map(|one| one.to_string()).join(".")),
            None => Cell::text("never"),
        };
        let mainline = |one: &Column| {
            let is_in = self.of_type(one.system).is_in(Kernel::Linux26.version());
            Cell::text(if is_in { "yes" } else { "no" })
        };
        let compression =
            |one: &Column| Cell::text(system(&self.scenario.systems, one.system).compression());
        let wear = |one: &Column| {
            self.used(one.system)
                .map_or_else(Cell::none, |used| Cell::text(self.grades.wear.grade(used)))
        };
        let mut rows: Vec<SystemRow<'_>> = Vec::new();
        if print.is_some() {
            rows.push(("since", "there since", "", &since));
        }
        rows.push(("merged", "in Linux since", "", &merged));
        rows.push(("mainline", "in Linux by the end of 2008", "", &mainline));
        if print.is_some() {
            rows.push(("stability", "stability at the time", "", &stability));
        }
        rows.push(("compression", "compression with these settings", "", &compression));
        if !self.courses.is_empty() {
            rows.push(("wear", "wear levelling", "", &wear));
        }
        by_system("table2.1", "The filesystems", self.columns, &rows)
    }

    /// What wear levelling is graded by.
    fn wear(&self) -> Option<Table> {
        let course = |one: &Column| self.courses.iter().find(|other| other.system == one.system);
        let used = |one: &Column| {
            self.used(one.system).map_or_else(Cell::none, |used| Cell::real(round(used, 3)))
        };
        let figure = |of: fn(&Course) -> f64| {
            move |one: &Column| {
                course(one).map_or_else(Cell::none, |course| Cell::real(round(of(course), 3)))
            }
        };
        let amplification = figure(|one| one.seen.amplification);
        let erases = figure(|one| one.seen.erases_per_rewrite);
        let rows: [SystemRow<'_>; 3] = [
            ("used", "rated cycles used when the first block dies", "ratio", &used),
            ("amplification", "write amplification", "ratio", &amplification),
            ("erases", "erases for a writing of the file", "", &erases),
        ];
        let WearGrades { level, file, endurance, .. } = &self.grades.wear;
        let chip = self.grades.wear.load(&self.scenario.file.part).chip;
        let title = format!(
            "Wear levelling is {}; {file} written over and over on {chip}, {level} full, extrapolated to {endurance} cycles",
            self.grades.wear.rule(),
        );
        let table = by_system("table2.1-wear", &title, self.columns, &rows);
        (!self.courses.is_empty()).then_some(table)
    }

    /// The wishes of all filesystems.
    fn all_wishes(&self) -> Vec<(&'static str, Wish)> {
        let memories = self.columns.iter().map(|one| memory(&one.mounting.mounted));
        let least_memory = memories.min().unwrap_or(Bytes::ZERO);
        let of = |column: &Column| {
            let used = self.used(column.system);
            let (part, grades) = (&self.scenario.file.part, self.grades);
            let basis = Basis { part, grades, column, used, least_memory };
            let all = (self.of_type(column.system).wishes)(&basis);
            all.into_iter().map(|wish| (column.system, wish)).collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(of).collect()
    }

    /// Table 3.8.
    fn wishes(&self) -> Table {
        let wishes = self.all_wishes();
        let rows = wishes.iter().map(|(system, wish)| {
            (Row::new(wish.id, wish.title).of_unit(wish.unit), (*system, wish))
        });
        Table::new("table3.8", "What is wanted of each filesystem")
            .of(rows)
            .column("wanted", "wanted", |(_, wish)| {
                Cell::text(if wish.is_wanted() { "yes" } else { "no" })
            })
            .column("figure", "by this figure", |(_, wish)| Cell::real(round(wish.figure, 3)))
            .column("is", "which is to be", |(_, wish)| {
                Cell::text(if wish.is_most { "at most" } else { "at least" })
            })
            .column("limit", "limit", |(_, wish)| Cell::real(round(wish.limit, 3)))
            .table()
    }

    /// Why the grades of wear levelling are what they are.
    pub(super) fn on_wear(&self, print: &Reference) -> Result<String, Error> {
        let each = self.courses.iter().map(|course| {
            let used = self.used(course.system).unwrap_or_default();
            let grade = self.grades.wear.grade(used);
            let printed = print.quote("table2.1", "wear", course.system)?;
            let (share, system) = (percent_of(used), course.system);
            Ok(format!("{system} {share}, {grade} by the rule and {printed} in print"))
        });
        let each = each.collect::<Result<Vec<_>, Error>>()?;
        Ok(format!(
            "Wear levelling is graded in print by what a filesystem does, here by what that comes to. A part of {} cycles has used this share of              the cycles of all blocks when its first block dies: {}. The print ranks UBIFS above the others because UBI also moves data that lie still by              erase counters, and on bit flips. What JFFS2 and LogFS do, one move of data at rest in so many erases, levels nearly as well in a              life as long as this one. With 3,000 cycles UBI's threshold is never reached, and the order is another: boardlab run nand-wear.",
            self.grades.wear.endurance,
            each.join("; "),
        ))
    }

    /// What table 3.8 has beside the wishes of the print.
    pub(super) fn on_wishes(&self) -> String {
        let all = self.all_wishes();
        let wanted = all.iter().filter(|(_, wish)| wish.is_wanted()).count();
        let others = all.iter().filter(|(_, wish)| !wish.is_wanted()).map(|(_, wish)| {
            let Wish { id, figure, limit, .. } = wish;
            let value = |value: f64| match wish.unit {
                "ratio" => percent_of(value),
                "bytes" => format!("{:.1} KiB", value / 1_024.0),
                _ => value.to_string(),
            };
            let (figure, limit) = (value(*figure), value(*limit));
            format!(" Not wanted is {id}, where the figure is {figure} and the limit {limit}.")
        });
        let others: String = others.collect();
        format!(
            "By our figures {wanted} of the {} improvements that the print wants are wanted.{others} The RAM of UBI grows with the number of blocks, and reaches its limit on flash of another size. YAFFS2 of today refreshes blocks and can keep its tags in the              pages (kernel.profile = \"linux-6.1\"). LogFS of boardlab handles or refuses the conditions on which Linux aborts, and keeps what Linux loses              (docs/models/logfs.md). UBI of today still holds a record of each block in RAM; a fastmap shortens the attach alone (table3.2-attach).",
            all.len(),
        )
    }
}
