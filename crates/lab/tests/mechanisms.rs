//! The mechanism that a finding names for a cell that differs: it is varied, and the cell becomes close.
//!
//! Every cell of the NOR, NAND and SATA evaluations with the verdict `differs` has an entry here.

use crate::runs::{number, ran, words};
use crate::{nandfs, nor, sata};
use boardlab_experiment::reference::Reference;
use boardlab_experiment::verdict::judge;
use boardlab_lab::registry;
use boardlab_result::{Agreement, RunResult, Verdict};
use std::collections::BTreeSet;
use std::path::Path;

/// A cell: table, row and column.
type Place = (&'static str, &'static str, &'static str);

/// Settings that vary one mechanism, and the cells that become close.
struct Mechanism {
    what: &'static str,
    scenario: &'static str,
    set: &'static [&'static str],
    cells: &'static [Place],
}

/// Settings that leave out the other runs of the NAND evaluation.
const FILL_ALONE: [&str; 5] = [
    "tiobench.size=1 MiB",
    "tiobench.random=1",
    "tiobench.data=[\"zero\"]",
    "compare.chips=[\"16 MiB\"]",
    "grades.wear.endurance=0",
];
const TIOBENCH_ALONE: [&str; 7] = [
    "fill.level=1 %",
    "compare.files=[\"64 KiB\"]",
    "compare.levels=[\"1 %\"]",
    "compare.data=[\"random\"]",
    "compare.data_level=1 %",
    "compare.chips=[\"16 MiB\"]",
    "grades.wear.endurance=0",
];

const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        what: "how well the data in the files compress: the mount",
        scenario: "nand-filesystems",
        set: &["fill.data=percent:12", "compare.files=[\"64 KiB\"]", "compare.levels=[\"75 %\"]"],
        cells: &[("table3.2", "mount", "jffs2")],
    },
    Mechanism {
        what: "the port of the flash, by which the attach reads the headers",
        scenario: "nand-filesystems",
        set: &[
            "board.nand_port.per_command=41 us",
            "compare.files=[\"64 KiB\"]",
            "compare.levels=[\"75 %\"]",
        ],
        cells: &[("table3.2", "mount", "ubifs")],
    },
    Mechanism {
        what: "how well the data in the files compress: RAM",
        scenario: "nand-filesystems",
        set: &["fill.data=percent:15", "compare.files=[\"64 KiB\"]", "compare.levels=[\"75 %\"]"],
        cells: &[("table3.4", "ram", "jffs2")],
    },
    Mechanism {
        what: "how many bytes of nodes ls has to check",
        scenario: "nand-filesystems",
        set: &["fill.level=22 %", "compare.files=[\"64 KiB\"]", "compare.levels=[\"22 %\"]"],
        cells: &[("table3.2", "ls", "jffs2")],
    },
    Mechanism {
        what: "the cycles of deflate, and of inflate for whole nodes in order",
        scenario: "nand-filesystems",
        set: &[
            "board.cpu.work.deflate.per_kib=97000",
            "board.cpu.work.inflate.each=51000",
            "tiobench.data=[\"zero\"]",
        ],
        cells: &[
            ("table3.3", "sequential_write", "jffs2"),
            ("table3.3", "random_write", "jffs2"),
            ("table3.3", "sequential_read", "jffs2"),
        ],
    },
    Mechanism {
        what: "the cycles of inflate, at random places",
        scenario: "nand-filesystems",
        set: &["board.cpu.work.inflate.each=110000", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_read", "jffs2")],
    },
    Mechanism {
        what: "the size of the files",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=32 KiB",
            "compare.files=[\"32 KiB\"]",
            "compare.levels=[\"1 %\"]",
            "fill.level=1 %",
        ],
        cells: &[("table3.5", "metadata", "jffs2"), ("table3.5", "share", "jffs2")],
    },
    Mechanism {
        what: "how many files ls of UBIFS reads",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=56 KiB",
            "compare.files=[\"56 KiB\"]",
            "fill.level=1 %",
            "compare.levels=[\"1 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.2", "ls", "ubifs")],
    },
    Mechanism {
        what: "the size of the files, for UBIFS",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=4 MiB",
            "compare.files=[\"4 MiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
        ],
        cells: &[("table3.5", "metadata", "ubifs"), ("table3.5", "share", "ubifs")],
    },
    Mechanism {
        what: "the cycles of a page that UBIFS writes in order",
        scenario: "nand-filesystems",
        set: &["board.cpu.work.lzo_compress.each=81600", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "sequential_write", "ubifs")],
    },
    Mechanism {
        what: "the cycles of a page that UBIFS writes at random places",
        scenario: "nand-filesystems",
        set: &["board.cpu.work.lzo_compress.each=443000", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_write", "ubifs")],
    },
    Mechanism {
        what: "the cycles of a page that UBIFS reads in order",
        scenario: "nand-filesystems",
        set: &["board.cpu.work.lzo_decompress.each=237000", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "sequential_read", "ubifs")],
    },
    Mechanism {
        what: "the cycles of a page that UBIFS reads at random places",
        scenario: "nand-filesystems",
        set: &["board.cpu.work.lzo_decompress.each=477800", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_read", "ubifs")],
    },
    Mechanism {
        what: "the port of the flash, by which YAFFS2 reads its checkpoint",
        scenario: "nand-filesystems",
        set: &[
            "board.nand_port.per_byte=640 ns",
            "compare.files=[\"64 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.2", "mount", "yaffs2")],
    },
    Mechanism {
        what: "how many headers ls of YAFFS2 reads",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=1700 KiB",
            "compare.files=[\"1700 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.2", "ls", "yaffs2")],
    },
    Mechanism {
        what: "how many objects YAFFS2 holds",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=768 KiB",
            "compare.files=[\"768 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.4", "ram", "yaffs2")],
    },
    Mechanism {
        what: "the number of files that fill the flash, for YAFFS2",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=128 MiB",
            "compare.files=[\"128 MiB\"]",
            "compare.levels=[\"1 %\"]",
            "fill.level=1 %",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.5", "metadata", "yaffs2"), ("table3.5", "share", "yaffs2")],
    },
    Mechanism {
        what: "the port of the flash and the verify after write, for pages that YAFFS2 writes in order",
        scenario: "nand-filesystems",
        set: &[
            "kernel.verify_write=true",
            "board.nand_port.per_byte=677 ns",
            "tiobench.data=[\"zero\"]",
        ],
        cells: &[("table3.3", "sequential_write", "yaffs2")],
    },
    Mechanism {
        what: "the port of the flash and the verify after write, for pages that YAFFS2 writes at random places",
        scenario: "nand-filesystems",
        set: &[
            "kernel.verify_write=true",
            "board.nand_port.per_byte=829 ns",
            "tiobench.data=[\"zero\"]",
        ],
        cells: &[("table3.3", "random_write", "yaffs2")],
    },
    Mechanism {
        what: "the port of the flash, for pages that YAFFS2 reads in order",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=894 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "sequential_read", "yaffs2")],
    },
    Mechanism {
        what: "the port of the flash, for pages that YAFFS2 reads at random places",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=1062 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_read", "yaffs2")],
    },
    Mechanism {
        what: "the port of the flash, for what the mount of LogFS reads",
        scenario: "nand-filesystems",
        set: &[
            "board.nand_port.per_byte=576 ns",
            "compare.files=[\"64 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.2", "mount", "logfs")],
    },
    Mechanism {
        what: "how many inodes ls of LogFS reads",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=3500 KiB",
            "compare.files=[\"3500 KiB\"]",
            "compare.levels=[\"75 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.2", "ls", "logfs")],
    },
    Mechanism {
        what: "the pages that the mount of LogFS reads: fewer on a flash with little in it",
        scenario: "nand-filesystems",
        set: &[
            "fill.level=1 %",
            "compare.files=[\"64 KiB\"]",
            "compare.levels=[\"1 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.4", "ram", "logfs")],
    },
    Mechanism {
        what: "the number of files that fill the flash, for LogFS",
        scenario: "nand-filesystems",
        set: &[
            "fill.file=128 MiB",
            "fill.level=1 %",
            "compare.files=[\"128 MiB\"]",
            "compare.levels=[\"1 %\"]",
            "compare.data=[\"random\"]",
            "compare.data_level=1 %",
        ],
        cells: &[("table3.5", "metadata", "logfs"), ("table3.5", "share", "logfs")],
    },
    Mechanism {
        what: "the port of the flash, for blocks that LogFS writes in order",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=315 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "sequential_write", "logfs")],
    },
    Mechanism {
        what: "the port of the flash, for blocks that LogFS writes at random places",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=424 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_write", "logfs")],
    },
    Mechanism {
        what: "the port of the flash, for blocks that LogFS reads in order",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=325 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "sequential_read", "logfs")],
    },
    Mechanism {
        what: "the port of the flash, for blocks that LogFS reads at random places",
        scenario: "nand-filesystems",
        set: &["board.nand_port.per_byte=412 ns", "tiobench.data=[\"zero\"]"],
        cells: &[("table3.3", "random_read", "logfs")],
    },
    Mechanism {
        what: "the unit of the text below table 6-2, in which 32 MB are 32 x 10^6 bytes",
        scenario: "sata-ssd",
        set: &["continuous.sectors=62500"],
        cells: &[("table6-2", "command", "write"), ("table6-2", "command", "read")],
    },
];

/// Cells that a test of their own is about.
const APART: &[Place] = &[
    ("table3.4", "ram", "ubifs"),
    ("table2.1", "wear", "jffs2"),
    ("table2.1", "wear", "logfs"),
    ("table3.6", "mount", "yaffs2"),
    ("table3.6", "mount", "ubifs"),
    ("table3.6", "throughput", "yaffs2"),
    ("table3.6", "ram", "ubifs"),
    ("table3.6", "flash", "ubifs"),
    ("table3.6", "flash", "logfs"),
    ("table6-own-gap", "L-7-poll", "mean_ns"),
    ("table6-own-gap", "saving", "total_ns"),
    ("table2-1", "intel-x25-e", "write"),
    ("table2-1", "intel-x25-e", "read"),
    ("table2-1", "transcend", "write"),
    ("table2-1", "transcend", "read"),
];

impl Mechanism {
    fn run(&self) -> RunResult {
        let (table, _, system) = self.cells[0];
        let alone = format!("systems=[\"{system}\"]");
        let apart: &[&str] = match table {
            "table3.3" => &TIOBENCH_ALONE,
            table if table.starts_with("table3.") => &FILL_ALONE,
            _ => return ran(self.scenario, self.set),
        };
        ran(self.scenario, &[self.set, apart, &[&alone, "compare.readings=false"]].concat())
    }
}

/// What the published figure in `place` says of `ours`.
fn judged(scenario: &str, (table, row, column): Place, ours: f64) -> Verdict {
    let name = registry::published().find(|one| one.scenario == scenario).unwrap().name;
    let reference = Reference::named(name).unwrap();
    let table = reference.table(table).unwrap();
    judge(ours, table.cell(row, column).unwrap(), table)
}

/// Checks that `ours` would be close in `place` at least.
fn assert_close(scenario: &str, place: Place, ours: f64, what: &str) {
    let verdict = judged(scenario, place, ours);
    let near = matches!(verdict, Verdict::Pass | Verdict::Close);
    assert!(near, "{what}: {place:?}: {ours} is {verdict}");
}

#[test]
fn a_varied_mechanism_moves_the_cells_that_differ_to_close() {
    for one in MECHANISMS {
        let run = one.run();
        for &place in one.cells {
            let (table, row, column) = place;
            assert_close(one.scenario, place, number(&run, table, row, column), one.what);
        }
    }
}

#[test]
fn every_cell_that_differs_has_a_mechanism_that_is_varied() {
    let known = MECHANISMS.iter().flat_map(|one| one.cells).chain(APART).copied();
    let known: BTreeSet<_> = known.collect();
    let runs = [&*nor::PUBLISHED, &*nandfs::PUBLISHED, &*sata::WHOLE];
    let mut met = BTreeSet::new();
    for table in runs.into_iter().flat_map(|run| &run.tables) {
        for (row, column, cell) in table.cells() {
            if cell.verdict == Some(Verdict::Differs) {
                let place = (table.id.as_str(), row.id.as_str(), column);
                assert!(known.contains(&place), "{place:?} differs and no mechanism is varied");
                met.insert(place);
            }
        }
    }
    let superfluous: Vec<_> = known.iter().filter(|place| !met.contains(*place)).collect();
    assert!(superfluous.is_empty(), "{superfluous:?} do not differ");
}

#[test]
fn the_readme_has_the_agreement_of_the_evaluations() {
    for (name, run) in
        [("NOR", &*nor::PUBLISHED), ("NAND", &*nandfs::PUBLISHED), ("SATA", &*sata::WHOLE)]
    {
        assert_in_readme(name, run);
    }
}

/// Checks that the READMEs say how near the evaluation `name` comes in `run`.
pub(crate) fn assert_in_readme(name: &str, run: &RunResult) {
    let all = Agreement::of(run).unwrap();
    let [pass, close, differs] =
        [Verdict::Pass, Verdict::Close, Verdict::Differs].map(|one| run.verdict_count(one));
    let [median, ninetieth] = [all.median(), all.ninetieth()].map(|share| share.unwrap() * 100.0);
    let worst = all.worst.unwrap();
    let row = format!(
        " | {} | {} | {pass} | {close} | {differs} | {median:.1} % | {ninetieth:.1} % | {:+.1} %: {}, {}, ",
        all.cells,
        all.inputs,
        worst.share * 100.0,
        worst.table.id,
        worst.row.id,
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for readme in ["README.md", "README.ja.md"] {
        let text = std::fs::read_to_string(root.join(readme)).unwrap();
        let line = text.lines().find(|line| line.starts_with(&format!("| [{name}]("))).unwrap();
        assert!(line.contains(&row), "{readme}: {line} should have{row}");
    }
}

/// The grades differ because the figures do: by the same rule the printed figures get the printed grades. One does
/// not: the metadata of LogFS are nine times the best, and the print calls them fair.
#[test]
fn the_rule_gives_the_printed_figures_the_printed_grades() {
    let told = nandfs::PUBLISHED.findings.iter().find(|one| one.contains("in 11 of 12 cells"));
    let told = told.expect("the finding about the rule");
    let only = "flash of logfs, 9.3 times the best, is poor by the rule and fair in print)";
    assert!(told.contains(only), "{told}");
    let differing = APART.iter().filter(|place| place.0 == "table3.6");
    for (table, row, system) in differing {
        let cell = nandfs::PUBLISHED.table(table).unwrap().cell(row, system).unwrap();
        assert_eq!(cell.verdict, Some(Verdict::Differs), "{row} of {system}");
    }
}

/// The print has the four in the order of our figures: where excellent begins is a matter of judgement.
#[test]
fn another_threshold_gives_the_printed_grades_of_wear() {
    let set = ["grades.wear.excellent=97 %", "fill.level=1 %"];
    let others = ["compare.levels=[\"1 %\"]", "compare.data_level=1 %", "compare.readings=false"];
    let run = ran("nand-filesystems", &[&FILL_ALONE[..3], &set, &others].concat());
    let reference = Reference::named("nandfs").unwrap();
    for system in ["jffs2", "yaffs2", "logfs", "ubifs"] {
        let printed = reference.quote("table2.1", "wear", system).unwrap();
        assert_eq!(words(&run, "table2.1", "wear", system), printed, "{system}");
    }
    assert_eq!(words(&nandfs::PUBLISHED, "table3.8", "ubifs_memory", "wanted"), "yes");
}

/// The makers' rates are not what the publication measured on the same drives either.
#[test]
fn the_drives_that_miss_their_rating_meet_their_measurement() {
    let differing = APART.iter().copied().filter(|place| place.0 == "table2-1");
    for (_, drive, column) in differing {
        let measured = match drive {
            "intel-x25-e" => ("table5-1", "mean", column),
            _ => ("table7-1", drive, column),
        };
        let ours = number(&sata::WHOLE, "table2-1", drive, column);
        assert_close("sata-ssd", measured, ours, "the rating");
    }
}

/// The printed RAM of UBIFS lies between ours after the mount and ours after ls: what was read makes it up.
#[test]
fn the_index_that_ls_has_read_makes_up_the_printed_ram_of_ubifs() {
    let files = ["fill.file=200 KiB", "compare.files=[\"200 KiB\"]", "compare.levels=[\"75 %\"]"];
    let others = ["compare.data=[\"random\"]", "compare.data_level=1 %"];
    let alone = ["systems=[\"ubifs\"]", "compare.readings=false"];
    let run = ran("nand-filesystems", &[&files[..], &others, &FILL_ALONE, &alone].concat());
    let listed = number(&run, "table3.4", "ram_after_ls", "ubifs");
    assert_close("nand-filesystems", ("table3.4", "ram", "ubifs"), listed, "RAM after ls");
}

/// One parameter, the gap between polls, separates the two readings of table 6.
#[test]
fn with_the_fitted_gap_the_polls_take_what_is_printed() {
    for place in APART.iter().copied().filter(|place| place.0 == "table6-own-gap") {
        let (_, row, column) = place;
        let fitted = number(&nor::PUBLISHED, "table6", row, column);
        assert_close("nor-write", place, fitted, "the fitted gap");
    }
}

/// The printed clusters of the SD card depend on the kind of controller, which is not published.
#[test]
fn other_kinds_of_controllers_have_the_printed_clusters() {
    let set = [
        "experiment1.iterations=20",
        "experiment2.iterations=100",
        "experiment2.probes=2",
        "wear.volume=1 GiB",
    ];
    let run = ran("sd-wear", &set);
    let bands = &run.table("experiment2-bands").unwrap().rows;
    for (controller, cluster) in [
        ("single-bit-logs/dynamic/", "upper"),
        ("logs-in-order/dynamic/", "middle"),
        ("logs-in-order/static/", "lower"),
    ] {
        let own = bands.iter().filter(|row| row.id.starts_with(controller));
        let means: Vec<_> =
            own.filter_map(|row| row.cells["mean_bytes_per_s"].value.as_f64()).collect();
        let judged = |ours: &f64| judged("sd-wear", ("experiment2", cluster, "card"), *ours);
        let near = means.iter().any(|ours| judged(ours) != Verdict::Fail);
        assert!(near, "{controller} {cluster}: {means:?}");
    }
}
