//! How often the kernel's JFFS2 and UBIFS erase each block, against how often ours do for the same workload.
//!
//! Which block JFFS2 collects depends on the kernel's tick counter, and which one UBI takes on how far its thread has
//! come, so that no two runs are equal. They are compared as one: all blocks of all runs of a workload.

use crate::counts::{self, recorded};
use crate::{assert_none, counts_ubi};
use boardlab_checks::Repository;
use boardlab_checks::counts::{ALL, Case, Counts, Filesystem, Wear, Workload};

/// What a wearing workload left.
pub(crate) struct Worn {
    pub(crate) counts: Vec<Counts>,
    /// The erases that the chip saw.
    pub(crate) wear: Vec<Wear>,
    /// The erase counters of UBI, at the same moments.
    pub(crate) counters: Vec<Wear>,
}

impl Worn {
    /// What a record says.
    fn parse(text: &str) -> Self {
        Self {
            counts: text.lines().filter_map(Counts::parse).collect(),
            wear: text.lines().filter_map(Wear::parse).collect(),
            counters: text.lines().filter_map(Wear::parse_counters).collect(),
        }
    }

    /// What ours leaves.
    fn ours(case: &Case) -> Self {
        match case.filesystem {
            Filesystem::Jffs2 => counts::Run::new(case).wear(&case.text()),
            Filesystem::Ubifs | Filesystem::Ubi => counts_ubi::Run::new(*case).wear(&case.text()),
        }
    }

    fn last(&self) -> &Wear {
        self.wear.last().unwrap()
    }

    /// UBI's counters have grown as the chip was erased.
    fn assert_counted(&self, case: &Case) {
        if case.filesystem == Filesystem::Jffs2 {
            return;
        }
        assert_eq!(self.counters.len(), self.wear.len(), "{}: counters", case.name);
        let grown = |moments: &[Wear]| moments.last().unwrap().since(&moments[0]).erases;
        assert_eq!(grown(&self.counters), grown(&self.wear), "{}: counters", case.name);
    }
}

/// How far two flashes may be apart, in percent.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Of all erases.
    total: f64,
    /// Of the most worn block.
    most: f64,
    /// The mean difference of blocks of the same rank, of the mean wear.
    distance: f64,
}

/// Runs of the kernel are up to 1.5 percent of the erases apart, and 10 percent in distance. Ours draws the victim anew
/// after each program, where the kernel's tick counter stands still for some ten: that costs three percent more
/// erases on the small flash (docs/models/wear-levelling.md).
const JFFS2: Limits = Limits { total: 5.0, most: 8.0, distance: 15.0 };
/// UBI's thread erases while the writer goes on, so that another block may be at the root of the tree.
const UBIFS: Limits = Limits { total: 0.5, most: 12.0, distance: 15.0 };
/// The same between two runs of the kernel: of UBIFS, three were up to 13 percent in the most worn block and 20 percent
/// in distance apart.
const RUNS: Limits = Limits { total: 3.0, most: 20.0, distance: 30.0 };

/// Whether a case wears a flash.
pub(crate) const fn is_about(case: &Case) -> bool {
    matches!(case.workload, Workload::Wear(..))
}

fn row(name: &str, wear: &Wear) -> String {
    format!(
        "{name:6} total {} least {} mean {:.2} most {} deviation {:.2} rested {} tenths {:?}",
        wear.total(),
        wear.least(),
        wear.mean(),
        wear.most(),
        wear.deviation(),
        wear.rested(),
        wear.deciles()
    )
}

/// The difference in percent of the kernel's.
fn percent(kernel: f64, ours: f64) -> f64 {
    (ours - kernel).abs() / kernel * 100.0
}

/// Both flashes side by side, and whether they are as near as they must be.
fn compare(name: &str, limits: Limits, kernel: &Wear, ours: &Wear) -> (String, bool) {
    let mean = percent(kernel.mean(), ours.mean());
    let real = |count: u64| f64::from(u32::try_from(count).unwrap());
    let most = percent(real(kernel.most()), real(ours.most()));
    let distance = kernel.distance(ours) / kernel.mean() * 100.0;
    let both = format!("{}\n{}", row("kernel", kernel), row("ours", ours));
    let said =
        format!("{name}: total {mean:.1} %, most {most:.1} %, distance {distance:.1} %\n{both}\n");
    let near = mean <= limits.total && most <= limits.most && distance <= limits.distance;
    (said, near)
}

/// How a new measurement of the kernel differs from the record.
pub(crate) fn compare_records(case: &Case, recorded: &str, counts: &str) -> Option<String> {
    if !is_about(case) {
        return None;
    }
    let (recorded, measured) = (Worn::parse(recorded), Worn::parse(counts));
    measured.assert_counted(case);
    let (said, near) = compare(case.name, RUNS, recorded.last(), measured.last());
    (!near).then_some(said)
}

/// Compares all runs of each workload on a filesystem, as one: all that was compared, and what differs.
fn compare_pooled(filesystem: Filesystem, limits: Limits) -> (String, Vec<String>) {
    let repository = Repository::here();
    let cases = ALL.into_iter().filter(|case| is_about(case) && case.filesystem == filesystem);
    let cases: Vec<_> = cases.collect();
    let (mut summary, mut differences) = (String::new(), Vec::new());
    let mut note = |name, limits, kernel: &Wear, ours: &Wear| {
        let (said, near) = compare(name, limits, kernel, ours);
        summary += &said;
        (!near).then_some(said)
    };
    for runs in cases.chunk_by(|one, next| one.workload == next.workload) {
        let (mut kernels, mut our) = (Vec::new(), Vec::new());
        for case in runs {
            let (kernel, ours) = (Worn::parse(&recorded(&repository, case)), Worn::ours(case));
            kernel.assert_counted(case);
            ours.assert_counted(case);
            if filesystem == Filesystem::Ubifs {
                let counts = kernel.counts.iter().zip(&ours.counts);
                differences.extend(counts.filter_map(|(k, o)| counts_ubi::compare(case, k, o)));
            }
            kernels.push(kernel.last().clone());
            our.push(ours.last().clone());
        }
        for other in &kernels[1..] {
            differences.extend(note("runs of the kernel", RUNS, &kernels[0], other));
        }
        let (kernel, ours) = (Wear::pooled(&kernels), Wear::pooled(&our));
        differences.extend(note(runs[0].name, limits, &kernel, &ours));
    }
    (summary, differences)
}

#[test]
fn our_jffs2_wears_the_flash_as_the_kernels_does() {
    let (summary, differences) = compare_pooled(Filesystem::Jffs2, JFFS2);
    println!("{summary}");
    assert_none(&differences);
}

#[test]
fn our_ubifs_wears_the_flash_as_the_kernels_does() {
    let (summary, differences) = compare_pooled(Filesystem::Ubifs, UBIFS);
    println!("{summary}");
    assert_none(&differences);
}
