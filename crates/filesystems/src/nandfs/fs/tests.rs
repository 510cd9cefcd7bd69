//! A filesystem that only this test knows, through the whole experiment.

#[path = "../../../../workload/tests/toy/mod.rs"]
mod toy;

use super::*;
use crate::nandfs::run::powercut::powercut_types;
use crate::nandfs::run::run_types;
use boardlab_experiment::{Failure, NEVER, Request};
use boardlab_parts::catalog;
use boardlab_result::{RunResult, Value};
use toy::Toy;

/// The section `[toy]`.
#[derive(Debug)]
struct ToySystem;

const TYPES: &[FileSystemType] = &[
    super::jffs2::TYPE,
    super::yaffs2::TYPE,
    super::logfs::TYPE,
    super::ubifs::TYPE,
    FileSystemType {
        name: "toy",
        read: read_toy,
        merged: None,
        removed: None,
        explain: |_| unreachable!("no print has it"),
        wishes: |_| Vec::new(),
    },
];

fn read_toy(section: Section<'_>) -> Read<Arc<dyn System>> {
    let halves = section.key::<u64>("halves").within(2, 2).required();
    section.finish()?;
    halves?;
    Ok(Arc::new(ToySystem))
}

impl System for ToySystem {
    fn compression(&self) -> &'static str {
        "none"
    }

    fn commands(&self, _: Kernel, _: Wired<'_>) -> Commands {
        Commands { make: "none".into(), mount: "none".into() }
    }

    fn levelling(&self, _kernel: Kernel) -> Levelling {
        Levelling { pick: Pick::InTurn, moves: Moves::Never }
    }

    fn uses(&self, _: Kernel, _: Work) -> bool {
        false
    }

    fn mount(&self, _: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause> {
        Ok(OnFlash { fs: Box::new(Toy::mount(clock, flash)?), attach: None })
    }

    fn mount_watched(
        &self,
        _: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause> {
        Ok(Box::new(Toy::mount(clock, flash)?))
    }
}

impl Mounted for Toy<Flash> {
    fn fork(&self) -> Box<dyn Mounted> {
        Box::new(self.clone())
    }

    fn flash(&self) -> &Flash {
        Self::flash(self)
    }

    fn into_flash(self: Box<Self>, _: &mut Clock) -> Result<Flash, Cause> {
        Ok(Self::into_flash(*self))
    }

    fn structures(&self) -> Vec<Structure> {
        Vec::new()
    }
}

fn asked(
    set: &[&str],
    ask: fn(&Request<'_>, &[FileSystemType]) -> Result<RunResult, Failure>,
) -> RunResult {
    let set = [&["toy.halves=2", "grades.wear.endurance=0"], set].concat();
    let document = catalog::compose("nand-filesystems", &set).expect("built in");
    let (scenario, seed) = ("nand-filesystems", Seed::new(1));
    let stop = &NEVER;
    let request = Request { document: &document, scenario, seed, progress: &|_| (), stop };
    ask(&request, TYPES).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn a_further_filesystem_has_its_column_in_every_table() {
    let set = [
        "part.geometry.blocks=64",
        "fill.level=20 %",
        "fill.file=16 KiB",
        "compare.files=[\"16 KiB\"]",
        "compare.levels=[\"10 %\"]",
        "compare.data=[\"text\"]",
        "compare.chips=[\"16 MiB\"]",
        "tiobench.size=128 KiB",
        "tiobench.random=5",
        "tiobench.data=[\"zero\"]",
    ];
    let run = asked(&set, run_types);
    for (id, row) in [("table3.2", "mount"), ("table3.4", "ram"), ("table3.5", "metadata")] {
        let table = run.table(id).unwrap_or_else(|| panic!("{id}"));
        for system in ["jffs2", "toy"] {
            let cell = table.cell(row, system).unwrap_or_else(|| panic!("{id}: {row}, {system}"));
            assert!(cell.value != Value::None, "{id}: {row}, {system}");
        }
    }
    let mount = |system| run.table("table3.2").and_then(|table| table.cell("mount", system));
    assert_ne!(mount("jffs2"), mount("toy"));
}

/// Cuts the power with these settings; there are cuts, and nothing is lost by any.
fn assert_nothing_is_lost(set: &[&str]) {
    let run = asked(set, powercut_types);
    let table = run.table("powercut").expect("its table");
    assert!(table.rows.len() > 3, "programs and erases, whole and torn");
    let lost = |row: &boardlab_result::Row| row.cells["lost_count"].value.as_f64();
    let losses = run.table("powercut-losses");
    assert!(table.rows.iter().all(|row| lost(row) == Some(0.0)), "{losses:?}");
}

#[test]
fn a_further_filesystem_has_its_power_cut() {
    // It does not look whether an erase did what it said.
    let set = [
        "powercut.systems=[\"toy\"]",
        "powercut.operations=400",
        "powercut.exhaustive=400",
        "powercut.brownout_one_in=0",
    ];
    assert_nothing_is_lost(&set);
}

#[test]
fn ubifs_loses_nothing_by_power_cuts_on_a_flash_that_is_large_enough() {
    let set = [
        "powercut.systems=[\"ubifs\"]",
        "powercut.blocks=80",
        "powercut.pages_per_block=64",
        "powercut.live=15 %",
        "powercut.operations=300",
        "powercut.exhaustive=300",
        "powercut.brownout_one_in=0",
    ];
    assert_nothing_is_lost(&set);
}
