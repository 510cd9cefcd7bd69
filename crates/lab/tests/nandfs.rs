//! The NAND experiment against what the publication prints and what its own counts demand.

use crate::runs::{cell, number, ran, words};
use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_result::{Origin, RunResult, Table, Value, Verdict};
use boardlab_sim::Seed;
use std::sync::LazyLock;

fn run(set: &[&str]) -> RunResult {
    ran("nand-filesystems", set)
}

/// The run as published, made once.
pub(crate) static PUBLISHED: LazyLock<RunResult> = LazyLock::new(|| run(&[]));

/// A run of seconds: a part of 16 MiB, one size of files, little data.
const SMALL: [&str; 10] = [
    "grades.wear.endurance=0",
    "part.geometry.blocks=128",
    "fill.file=16 KiB",
    "compare.files=[\"16 KiB\"]",
    "compare.levels=[\"0 %\", \"75 %\"]",
    "compare.data=[\"zero\", \"random\"]",
    "compare.chips=[\"16 MiB\"]",
    "tiobench.size=2 MiB",
    "tiobench.random=50",
    "tiobench.data=[\"zero\", \"random\"]",
];

fn table<'r>(run: &'r RunResult, id: &str) -> &'r Table {
    run.table(id).unwrap_or_else(|| panic!("no table {id}"))
}

/// The filesystems that are built.
const BUILT: [&str; 4] = ["jffs2", "yaffs2", "logfs", "ubifs"];

/// The rows of a filesystem in a table of all.
fn rows_of(id: &str, system: &str) -> Vec<&'static boardlab_result::Row> {
    let begins = format!("{system}/");
    table(&PUBLISHED, id).rows.iter().filter(|row| row.id.starts_with(&begins)).collect()
}

/// The published tables with their rows.
const PRINTED: [(&str, &[&str]); 4] = [
    ("table3.2", &["mount", "ls"]),
    ("table3.3", &["sequential_write", "random_write", "sequential_read", "random_read"]),
    ("table3.4", &["ram"]),
    ("table3.5", &["metadata", "share"]),
];

/// The published tables of words.
const JUDGED: [&str; 4] = ["table3.6", "table3.7", "table2.1", "table3.8"];

#[test]
fn every_cell_of_a_built_filesystem_is_there_and_none_fails() {
    assert_eq!(PUBLISHED.verdict_count(Verdict::Fail), 0);
    for (id, rows) in PRINTED {
        for row in rows {
            for system in BUILT {
                let cell = table(&PUBLISHED, id).cell(row, system).unwrap();
                let at = format!("{id} {row} {system}");
                assert!(cell.value.as_f64().is_some_and(|value| value > 0.0), "{at}");
                assert!(cell.printed.is_some(), "{at}");
                let named = matches!(cell.verdict, Some(Verdict::Close | Verdict::Differs));
                assert_eq!(named, cell.finding.is_some(), "{at}");
                assert!(named || cell.verdict == Some(Verdict::Pass), "{at}");
            }
        }
    }
}

#[test]
fn metadata_is_within_a_quarter_of_the_print() {
    let ours = number(&PUBLISHED, "table3.5", "metadata", "jffs2") / 1_024.0;
    assert!((ours / 12_764.0 - 1.0).abs() <= 0.25, "{ours} KiB");
    let share = number(&PUBLISHED, "table3.5", "share", "jffs2");
    assert!((ours / 262_144.0 - share).abs() < 1e-4);
}

#[test]
fn cells_with_fitted_constants_are_inputs() {
    for (id, rows) in &PRINTED[..2] {
        for row in *rows {
            for system in BUILT {
                let cell = table(&PUBLISHED, &format!("{id}-fitted")).cell(row, system).unwrap();
                assert_eq!(cell.verdict, Some(Verdict::Input), "{id} {row} {system}");
            }
        }
    }
    let fitted: Vec<_> =
        PUBLISHED.parameters.iter().filter(|one| one.origin == Origin::Fitted).collect();
    assert_eq!(fitted.len(), 2, "{fitted:?}");
    assert!(fitted.iter().all(|one| one.key.starts_with("board.nand_port.fitted.")));
    assert_eq!(table(&PUBLISHED, "table3.2").fitted_count, 0);
    assert_eq!(table(&PUBLISHED, "table3.2-fitted").fitted_count, 2);
}

#[test]
fn fitting_again_gives_the_constants_of_the_board() {
    for column in ["per_command_ns", "per_byte_ns"] {
        let (used, again) = (
            number(&PUBLISHED, "fit", "used", column),
            number(&PUBLISHED, "fit", "refitted", column),
        );
        assert!((used - again).abs() < 0.5, "{column}: {again}; put it into boards/mips-327.toml");
    }
    assert_eq!(PUBLISHED.warnings, [""; 0]);
    crate::sentences::check_headlines(&PUBLISHED.findings);
    let left = number(&PUBLISHED, "fit", "used", "fitted_off_ratio");
    assert!(left <= number(&PUBLISHED, "fit", "used", "data_sheet_off_ratio"));
}

#[test]
fn every_time_is_that_of_the_data_sheet_and_the_constants_times_its_counts() {
    let command = number(&PUBLISHED, "fit", "used", "per_command_ns");
    let byte = number(&PUBLISHED, "fit", "used", "per_byte_ns");
    for id in ["table3.2-counts", "table3.3-counts"] {
        for row in &table(&PUBLISHED, id).rows {
            let of = |column| number(&PUBLISHED, id, &row.id, column);
            let expected =
                of("time_ns") + command * of("commands_count") + byte * of("moved_bytes");
            assert!((of("fitted_ns") - expected).abs() < 1.0, "{id} {}", row.id);
        }
    }
}

#[test]
fn zeros_are_hardly_programmed_and_random_data_are_programmed_in_full() {
    let programs = |data: &str| {
        number(
            &PUBLISHED,
            "table3.3-counts",
            &format!("jffs2/{data}/sequential_write"),
            "programs_count",
        )
    };
    // 64 MiB in pages of 2 KiB.
    let pages = 32_768.0;
    assert!(programs("zero") < pages / 15.0, "{}", programs("zero"));
    assert!((pages..pages * 1.05).contains(&programs("random")), "{}", programs("random"));
    let half = programs("percent:50");
    assert!((pages * 0.45..pages * 0.65).contains(&half), "{half}");
}

#[test]
fn a_fuller_flash_takes_longer_to_mount() {
    let rows = rows_of("table3.2-levels", "jffs2");
    let times: Vec<_> =
        rows.iter().map(|row| number(&PUBLISHED, "table3.2-levels", &row.id, "mount_ns")).collect();
    assert!(times.is_sorted() && times.len() >= 4, "{times:?}");
}

#[test]
fn small_files_cost_ram_and_listing_time() {
    let rows = rows_of("table3.2-files", "jffs2");
    let of = |column| -> Vec<f64> {
        rows.iter().map(|row| number(&PUBLISHED, "table3.2-files", &row.id, column)).collect()
    };
    assert!(of("files_count").is_sorted_by(|a, b| a > b));
    assert!(of("mounted_bytes").is_sorted_by(|a, b| a > b), "{:?}", of("mounted_bytes"));
}

#[test]
fn data_that_compress_are_more_nodes_to_mount_to_list_and_to_hold() {
    let id = "table3.2-data";
    for column in ["files_count", "mount_ns", "ls_ns", "mounted_bytes", "listed_bytes"] {
        let each = ["random", "percent:50", "text", "zero"]
            .map(|data| number(&PUBLISHED, id, &format!("jffs2/{data}"), column));
        assert!(each.is_sorted_by(|less, more| less < more), "{column}: {each:?}");
    }
    assert_eq!(table(&PUBLISHED, id).fitted_count, 0);
}

#[test]
fn the_report_begins_with_what_the_publication_prints_and_not_with_what_is_fitted() {
    let heads = |table: &&Table| table.rows.iter().any(|row| row.headline);
    let ids: Vec<_> = PUBLISHED.tables.iter().filter(heads).map(|table| &table.id).collect();
    assert_eq!(ids, PRINTED.map(|(id, _)| id).into_iter().chain(JUDGED).collect::<Vec<_>>());
}

#[test]
fn a_list_that_names_a_thing_twice_is_refused() {
    for set in [
        "compare.files=[\"8 KiB\", \"8 KiB\"]",
        "compare.levels=[\"75 %\", \"75 %\"]",
        "compare.data=[\"zero\", \"zero\"]",
        "compare.chips=[\"1 GiB\", \"1 GiB\"]",
        "tiobench.data=[\"zero\", \"zero\"]",
    ] {
        let error =
            registry::perform(Action::Run, "nand-filesystems", &[set], Seed::new(1), &|_| ())
                .unwrap_err();
        assert!(error.to_string().contains("names a thing twice"), "{set}: {error}");
    }
}

#[test]
fn a_flash_of_a_few_blocks_or_of_millions_is_not_attached() {
    for size in ["1 MiB", "1 TiB"] {
        let set = format!("compare.chips=[\"{size}\"]");
        let error =
            registry::perform(Action::Run, "nand-filesystems", &[&set], Seed::new(1), &|_| ())
                .unwrap_err();
        assert!(error.to_string().contains("too few blocks of the part"), "{size}: {error}");
    }
}

/// The headers of every block are read in a scan; a map of all blocks has a few bytes of each.
#[test]
fn the_attach_grows_with_the_chip_by_scan_and_hardly_by_fastmap() {
    let cell = |chip: &str, column: &str| {
        number(&PUBLISHED, "table3.2-attach", &format!("ubifs/{chip}"), column)
    };
    for column in ["scan_ns", "scan_reads_count"] {
        let growth = cell("8 GiB", column) / cell("256 MiB", column);
        assert!((31.0..33.0).contains(&growth), "{column}: {growth}");
    }
    assert!(cell("8 GiB", "map_ns") < 4.0 * cell("256 MiB", "map_ns"));
    assert!(cell("8 GiB", "map_ns") < cell("256 MiB", "scan_ns"));
    let memory = cell("8 GiB", "memory_bytes") - cell("256 MiB", "memory_bytes");
    // An entry of 24 bytes and a pointer for each block, and the map of the volume.
    let each = memory / (65_536.0 - 2_048.0);
    assert!((31.0..33.0).contains(&each), "{each} bytes of RAM a block");
    assert!(table(&PUBLISHED, "table3.2-attach").rows.iter().all(|row| !row.id.contains("jffs2")));
}

#[test]
fn a_part_that_kernel_or_filesystem_cannot_have_is_refused() {
    let refused = |set: &[&str]| {
        let error = registry::perform(Action::Run, "nand-filesystems", set, Seed::new(1), &|_| ())
            .unwrap_err();
        error.to_string()
    };
    let text = refused(&["part=w25n01gv"]);
    assert!(text.contains("corrects by itself") && text.contains("linux-6.1"), "{text}");
    let text = refused(&["part=mlc-4k", "kernel.profile=linux-6.1"]);
    assert!(text.contains("programmed once only"), "{text}");
}

#[test]
fn an_altered_scenario_leaves_the_print_out() {
    let run = run(&SMALL);
    assert!(run.warnings.iter().any(|warning| warning.contains("altered")));
    assert!(run.table("fit").is_none());
    assert!(run.tables.iter().flat_map(Table::cells).all(|(_, _, cell)| cell.published.is_none()));
}

#[test]
fn a_mount_without_summary_reads_more() {
    let with = run(&SMALL);
    let without = run(&[&SMALL[..], &["jffs2.summary=false"]].concat());
    let reads = |run| number(run, "table3.2-counts", "jffs2/mount", "reads_count");
    assert!(reads(&without) > 2.0 * reads(&with), "{} {}", reads(&without), reads(&with));
}

#[test]
fn the_attach_of_ubi_is_most_of_its_mount_and_does_not_grow_with_the_files() {
    let reads = |row: &str| number(&PUBLISHED, "table3.2-counts", row, "reads_count");
    // Both headers of a block lie in one page, which the driver keeps; and the volume table.
    assert!((2_048.0..2_100.0).contains(&reads("ubifs/attach")), "{}", reads("ubifs/attach"));
    assert!(reads("ubifs/attach") > 0.8 * reads("ubifs/mount"));
    let rows = rows_of("table3.2-levels", "ubifs");
    let times = rows.iter().map(|row| number(&PUBLISHED, "table3.2-levels", &row.id, "mount_ns"));
    let times: Vec<_> = times.collect();
    assert!(times.iter().all(|time| (time / times[0] - 1.0).abs() < 0.1), "{times:?}");
}

#[test]
fn ubifs_reads_fewer_pages_than_jffs2_for_the_same_files_so_that_no_port_makes_its_reads_slower() {
    for data in ["zero", "percent:50", "random"] {
        for phase in ["sequential_read", "random_read"] {
            let commands = |system: &str| {
                let row = format!("{system}/{data}/{phase}");
                number(&PUBLISHED, "table3.3-counts", &row, "commands_count")
            };
            let (ubifs, jffs2) = (commands("ubifs"), commands("jffs2"));
            assert!(ubifs < jffs2, "{data} {phase}: {ubifs} {jffs2}");
        }
    }
}

#[test]
fn without_sub_pages_the_attach_reads_two_pages_of_each_block_and_with_a_fastmap_fewer() {
    let of = |set: &[&str]| {
        let run = run(&[&SMALL[..], set].concat());
        number(&run, "table3.2-counts", "ubifs/attach", "reads_count")
    };
    let (with, without) = (of(&[]), of(&["ubifs.sub_pages=false"]));
    assert!(without > 1.4 * with, "{without} {with}");
    let with = of(&["kernel.profile=linux-6.1"]);
    let fast = of(&["kernel.profile=linux-6.1", "ubifs.fastmap=true"]);
    assert!(fast < with - 30.0, "{fast} {with}");
}

#[test]
fn settings_that_a_kernel_lacks_are_refused() {
    for (set, says) in [
        (&["ubifs.fastmap=true"][..], "3.7"),
        (&["ubifs.compressor=zstd"], "5.3"),
        (&["kernel.verify_write=true"], "ubifs.sub_pages=false"),
        (&["kernel.verify_write=true", "kernel.profile=linux-6.1"], "3.5"),
    ] {
        let error = registry::perform(Action::Run, "nand-filesystems", set, Seed::new(1), &|_| ())
            .unwrap_err();
        assert!(error.to_string().contains(says), "{set:?}: {error}");
    }
}

/// A reading of YAFFS2, a column of it.
fn read_as(reading: &str, column: &str) -> f64 {
    number(&PUBLISHED, "readings", &format!("yaffs2/{reading}"), column)
}

#[test]
fn yaffs2_scans_the_tags_of_every_page_unless_it_has_a_checkpoint_or_summaries() {
    let reads = |reading| read_as(reading, "mount_reads_count");
    // Three quarters of 131,072 pages.
    assert!((98_304.0..108_000.0).contains(&reads("scan")), "{}", reads("scan"));
    assert!(reads("scan-summaries") < reads("scan") / 20.0);
    assert!(reads("checkpoint") < reads("scan-summaries"));
    for column in ["mount_ns", "ls_ns", "mounted_bytes", "metadata_bytes"] {
        let own = match column {
            "mount_ns" | "ls_ns" => {
                number(&PUBLISHED, "table3.2", &column[..column.len() - 3], "yaffs2")
            }
            "mounted_bytes" => number(&PUBLISHED, "table3.4", "ram", "yaffs2"),
            _ => number(&PUBLISHED, "table3.5", "metadata", "yaffs2"),
        };
        let same = (read_as("checkpoint", column) - own).abs() < 1e-6 * own;
        assert!(same, "{column}: the reading of the scenario is its column");
    }
}

#[test]
fn a_verify_after_write_moves_every_page_twice_and_changes_nothing_else() {
    for (phase, slower) in [("write", true), ("read", false)] {
        for order in ["sequential", "random"] {
            let column = format!("{order}_{phase}_bytes_per_s");
            let ratio = read_as("verify-after-write", &column) / read_as("checkpoint", &column);
            assert!(if slower { ratio < 0.8 } else { ratio == 1.0 }, "{column}: {ratio}");
        }
    }
    let mount = |reading| read_as(reading, "mount_reads_count");
    assert!((mount("verify-after-write") - mount("checkpoint")).abs() < 0.5);
}

#[test]
fn summaries_take_a_page_of_each_block() {
    let more =
        read_as("checkpoint-summaries", "metadata_bytes") - read_as("checkpoint", "metadata_bytes");
    // Of 2,048 blocks; less the headers of the files that have no room.
    assert!((0.9..1.0).contains(&(more / (2_048.0 * 2_048.0))), "{more}");
}

#[test]
fn one_file_leaves_the_printed_metadata_of_yaffs2() {
    let whole = number(&PUBLISHED, "table3.5-files", "yaffs2/one file", "metadata_bytes");
    assert!((whole / (1_402.0 * 1_024.0) - 1.0).abs() < 0.08, "{whole}");
    let of = |file: &str| {
        number(&PUBLISHED, "table3.5-files", &format!("yaffs2/{file}"), "metadata_bytes")
    };
    assert!(of("8 KiB") > of("64 KiB") && of("64 KiB") > of("512 KiB") && of("512 KiB") > whole);
    // The same files as those of table 3.5.
    let table35 = number(&PUBLISHED, "table3.5", "metadata", "yaffs2");
    assert!((of("64 KiB") - table35).abs() < 0.5);
}

#[test]
fn yaffs2_takes_the_same_time_for_zeros_and_for_random_data() {
    for phase in ["sequential_write", "random_write", "sequential_read", "random_read"] {
        let time = |data: &str| {
            number(&PUBLISHED, "table3.3-counts", &format!("yaffs2/{data}/{phase}"), "time_ns")
        };
        assert!((time("zero") - time("random")).abs() < 0.5, "{phase}");
    }
}

#[test]
fn the_same_seed_gives_the_same_result() {
    assert_eq!(run(&SMALL), run(&SMALL));
}

#[test]
fn files_of_ones_own_are_stored_as_what_they_hold() {
    let folder = std::env::temp_dir().join(format!("boardlab-nandfs-{}", std::process::id()));
    let inner = folder.join("zeros/below");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir_all(folder.join("mixed")).unwrap();
    std::fs::write(inner.join("a"), vec![0; 70_000]).unwrap();
    std::fs::write(folder.join("zeros/b"), vec![0; 30_000]).unwrap();
    let noise = boardlab_workload::data::Data::Random.bytes(1, 80_000);
    std::fs::write(folder.join("mixed/noise"), noise).unwrap();
    std::fs::write(folder.join("mixed/zeros"), vec![0; 80_000]).unwrap();
    std::os::unix::fs::symlink("b", folder.join("zeros/link")).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let data = format!(
        "[\"zero\", \"random\", \"sample:{}\", \"sample:{}\"]",
        path("zeros"),
        path("mixed")
    );
    let own = [
        format!("compare.data={data}"),
        format!("tiobench.data={data}"),
        "compare.readings=false".into(),
        "systems=[\"jffs2\", \"yaffs2\"]".into(),
    ];
    let set: Vec<&str> = SMALL.iter().copied().chain(own.iter().map(String::as_str)).collect();
    let result = run(&set);
    std::fs::remove_dir_all(&folder).unwrap();
    let bytes = |system: &str, data: &str| {
        number(
            &result,
            "table3.3-counts",
            &format!("{system}/{data}/sequential_write"),
            "programs_count",
        )
    };
    for system in ["jffs2", "yaffs2"] {
        assert!((bytes(system, "sample:zeros") - bytes(system, "zero")).abs() < 0.5, "{system}");
    }
    let (zero, mixed, random) =
        (bytes("jffs2", "zero"), bytes("jffs2", "sample:mixed"), bytes("jffs2", "random"));
    let share = (mixed - zero) / (random - zero);
    assert!((0.4..0.6).contains(&share), "half of it is noise: {share}");
    let of = |name: &str, column: &str| number(&result, "samples", name, column);
    for (column, expected) in [
        ("files_count", 2.0),
        ("total_bytes", 100_000.0),
        ("taken_bytes", 100_000.0),
        ("others_count", 1.0),
    ] {
        assert!((of("zeros", column) - expected).abs() < 0.5, "{column}");
    }
}

/// Cuts the power of filesystems with these settings.
fn cut(set: &[&str]) -> RunResult {
    let cut = registry::perform(Action::PowerCut, "nand-filesystems", set, Seed::new(1), &|_| ());
    cut.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn nothing_is_lost_by_a_power_cut() {
    let set = [
        "powercut.systems=[\"jffs2\"]",
        "powercut.blocks=16",
        "powercut.page=512 B",
        "powercut.oob=16 B",
        "powercut.live=30 %",
        "powercut.brownout_one_in=10",
        "powercut.operations=150",
        "powercut.exhaustive=150",
    ];
    let cut = cut(&set);
    assert_eq!(cut.verdict_count(Verdict::Fail), 0, "{:?}", cut.findings);
    assert!(cut.verdict_count(Verdict::Pass) >= 6);
    let cuts: f64 = table(&cut, "powercut")
        .rows
        .iter()
        .map(|row| number(&cut, "powercut", &row.id, "cuts_count"))
        .sum();
    assert!(cuts >= 450.0, "{cuts}");
    assert!(!cut.charts.is_empty());
}

#[test]
fn power_cuts_compare_the_four_filesystems() {
    let set = ["powercut.operations=400", "powercut.exhaustive=0", "powercut.one_in=4"];
    let cut = cut(&set);
    let of = |system: &str, column: &str| number(&cut, "powercut-systems", system, column);
    let time = |system: &str, column: &str| number(&cut, "powercut-times", system, column);
    let rows: Vec<_> = table(&cut, "powercut-systems").rows.iter().map(|row| &row.id).collect();
    assert_eq!(rows, ["jffs2", "yaffs2", "logfs", "ubifs"]);
    for system in rows {
        let kinds = ["everything", "use", "names", "content", "attributes"];
        let lost: f64 = kinds.iter().map(|kind| of(system, &format!("{kind}_count"))).sum();
        assert!((lost - of(system, "lost_count")).abs() < 0.5, "{system}");
        assert_eq!(lost > 0.0, system == "yaffs2", "{system}: {:?}", cut.findings);
        let of_rows = |id: &str| {
            let rows = table(&cut, id).rows.iter().map(|row| &row.id);
            let rows = rows.filter(|row| row.starts_with(&format!("{system}/")));
            rows.map(|row| number(&cut, id, row, "cuts_count")).sum::<f64>()
        };
        let cuts = of_rows("powercut") + of_rows("powercut-recovery");
        assert!((cuts - of(system, "cuts_count")).abs() < 0.5 && cuts > 200.0, "{system}: {cuts}");
        let [longest, mean] =
            ["longest_mount_ns", "mount_after_cut_ns"].map(|column| time(system, column));
        assert!(longest >= mean, "{system}");
    }
    // A commit, and a mount that replays nothing, need an unmount.
    for system in ["logfs", "ubifs"] {
        assert!(time(system, "mount_after_cut_ns") > 1.2 * time(system, "mount_after_unmount_ns"));
    }
    // JFFS2 writes nodes at once, and its buffer after 5 s; the pages of UBIFS wait for 30 s; LogFS commits by syncs.
    let seconds = |system, column| time(system, column) / 1e9;
    for column in ["new_file_ns", "rewritten_file_ns"] {
        assert!((4.0..6.5).contains(&seconds("jffs2", column)), "{column}");
        assert!((30.0..45.0).contains(&seconds("ubifs", column)), "{column}");
        let never = table(&cut, "powercut-times").cell("logfs", column);
        assert_eq!(never.expect("a cell").value, Value::Text("until a sync".into()));
    }
}

/// The mount reads two superblocks, the journal and a few blocks, whatever the flash holds.
#[test]
fn the_mount_of_logfs_grows_neither_with_the_files_nor_with_the_chip() {
    let rows = rows_of("table3.2-levels", "logfs");
    let reads =
        rows.iter().map(|row| number(&PUBLISHED, "table3.2-levels", &row.id, "mount_reads_count"));
    let reads: Vec<_> = reads.collect();
    assert!(reads.iter().all(|&count| count < 300.0), "{reads:?}");
    assert!(rows.len() >= 4);
    let of = |system: &str| number(&PUBLISHED, "table3.2", "mount", system);
    assert!(BUILT.iter().all(|system| of("logfs") <= of(system)));
    let of = |system: &str, chip: &str| {
        number(&PUBLISHED, "table3.2-chips", &format!("{system}/{chip}"), "mount_ns")
    };
    let growth = |system| of(system, "8 GiB") / of(system, "256 MiB");
    assert!(growth("logfs") < 1.5, "{}", growth("logfs"));
    assert!(growth("ubifs") > 10.0, "{}", growth("ubifs"));
}

/// The publication's text says that files are compressed, its table 2.1 that they are not: both are in the readings.
#[test]
fn logfs_with_zlib_reads_faster_and_writes_slower() {
    let of = |reading: &str, column: &str| {
        number(&PUBLISHED, "readings", &format!("logfs/{reading}"), column)
    };
    // Zeros are packed to nothing, and the CPU of the board packs slower than the flash programs.
    for column in ["sequential_write_bytes_per_s", "random_write_bytes_per_s"] {
        assert!(of("zlib", column) < of("plain", column), "{column}");
    }
    for column in ["sequential_read_bytes_per_s", "random_read_bytes_per_s"] {
        assert!(of("zlib", column) > of("plain", column), "{column}");
    }
    assert!(of("zlib", "metadata_bytes") <= of("plain", "metadata_bytes"));
}

/// The worst multiple of the best that each grade allows, as the built-in scenario has them.
const GRADES: [(&str, f64); 4] =
    [("excellent", 1.25), ("good", 4.0), ("fair", 6.0), ("poor", f64::INFINITY)];

#[test]
fn each_grade_is_that_of_its_figure_and_what_has_no_grade_in_print_has_no_verdict() {
    let text = |table: &str, row: &str, column: &str| {
        (words(&PUBLISHED, table, row, column), cell(&PUBLISHED, table, row, column).verdict)
    };
    let figures = |row: &str| BUILT.map(|one| number(&PUBLISHED, "table3.6-figures", row, one));
    let rates = |system| {
        let rows = PRINTED[1].1.iter().map(|row| number(&PUBLISHED, "table3.3", row, system));
        rows.product::<f64>().powf(0.25)
    };
    assert_eq!(figures("throughput"), BUILT.map(|one| rates(one).round()));
    assert_eq!(figures("mount"), BUILT.map(|one| number(&PUBLISHED, "table3.2", "mount", one)));
    assert_eq!(figures("ram"), BUILT.map(|one| number(&PUBLISHED, "table3.4", "ram", one)));
    assert_eq!(figures("flash"), BUILT.map(|one| number(&PUBLISHED, "table3.5", "share", one)));
    for row in ["mount", "throughput", "ram", "flash"] {
        let all = figures(row);
        for (system, figure) in BUILT.into_iter().zip(all) {
            let times = match row {
                "throughput" => all.into_iter().fold(0.0, f64::max) / figure,
                _ => figure / all.into_iter().fold(f64::INFINITY, f64::min),
            };
            let (word, verdict) = text("table3.6", row, system);
            let due = GRADES.iter().find(|(_, most)| times <= *most).unwrap().0;
            assert_eq!(word, due, "{row} of {system}: {times} times the best");
            assert_eq!(verdict.is_none(), system == "jffs2");
        }
    }
    for (product, criteria) in [
        ("many_files_and_rare_writes", &["flash"][..]),
        ("instant_start_and_much_ram", &["mount", "ram"]),
        ("steady_throughput", &["throughput"]),
    ] {
        let points = |system: &str| {
            let grades = criteria.iter().map(|row| text("table3.6", row, system).0);
            let of = |word: &str| GRADES.iter().rev().position(|(one, _)| *one == word).unwrap();
            grades.map(of).sum::<usize>()
        };
        let (chosen, verdict) = text("table3.7", product, "system");
        let most = BUILT.into_iter().map(points).max();
        assert_eq!(Some(points(chosen)), most, "{product}");
        assert!(verdict.is_some(), "{product}");
    }
}

#[test]
fn wear_levelling_and_wishes_follow_from_their_figures() {
    for system in BUILT {
        let used = number(&PUBLISHED, "table2.1-wear", "used", system);
        let due = match used {
            0.8.. => "excellent",
            0.5.. => "good",
            _ => "weak",
        };
        assert_eq!(words(&PUBLISHED, "table2.1", "wear", system), due, "{system}: {used}");
        assert!((0.1..=1.1).contains(&used), "{system}: {used}");
    }
    let wishes = self::table(&PUBLISHED, "table3.8");
    assert_eq!(wishes.rows.len(), 5);
    for row in &wishes.rows {
        let [figure, limit] =
            ["figure", "limit"].map(|column| number(&PUBLISHED, "table3.8", &row.id, column));
        let is_most = !row.id.starts_with("yaffs2");
        let due = if is_most { figure > limit } else { figure < limit };
        assert_eq!(words(&PUBLISHED, "table3.8", &row.id, "wanted") == "yes", due, "{}", row.id);
    }
    let used = number(&PUBLISHED, "table2.1-wear", "used", "yaffs2");
    assert_eq!(number(&PUBLISHED, "table3.8", "yaffs2_life", "figure"), used);
}

#[test]
fn other_thresholds_give_other_grades() {
    let set = ["grades.good=125 %", "grades.fair=125 %", "systems=[\"jffs2\", \"ubifs\"]"];
    let run = ran("nand-filesystems", &[&SMALL[..], &["compare.readings=false"], &set].concat());
    let words: Vec<_> = table(&run, "table3.6").cells().map(|(_, _, cell)| &cell.value).collect();
    let extreme = |word: &&Value| matches!(word, Value::Text(word) if ["excellent", "poor"].contains(&&**word));
    assert_eq!(words.iter().filter(|word| extreme(word)).count(), 8, "{words:?}");
}

/// A part, a core and a way to fill the flash of one's own; all else is that of the built-in scenario.
const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tasks/camera.toml");

#[test]
fn a_scenario_of_forty_lines_predicts_all_filesystems_on_a_part_and_a_core_of_ones_own() {
    assert!(std::fs::read_to_string(CAMERA).unwrap().lines().count() <= 40);
    let small = "part.geometry.blocks=256";
    let (run, faster) = (ran(CAMERA, &[small]), ran(CAMERA, &[small, "board.cpu.clock=360 MHz"]));
    for system in ["jffs2", "yaffs2", "logfs", "ubifs"] {
        for (table, row, quicker) in [
            ("table3.2", "mount", 1.0),
            ("table3.2", "ls", 1.0),
            ("table3.3", "random_write", -1.0),
        ] {
            let [slow, fast] = [&run, &faster].map(|run| number(run, table, row, system));
            assert!(slow * quicker > fast * quicker, "{system}, {row}: {slow}, {fast}");
        }
    }
    let fitted = |id: &str| id == "fit" || id.ends_with("-fitted");
    assert!(!run.tables.iter().any(|table| fitted(&table.id)), "nothing is fitted on this board");
    let line = run.parameters.iter().find(|one| one.key == "board.cpu.core.line").unwrap();
    assert_eq!((&*line.value, &*line.source), ("32 B", "the manual of the core"));
}

#[test]
fn only_the_filesystems_that_are_asked_for_are_measured() {
    let small =
        ["part.geometry.blocks=256", "compare.readings=false", "compare.chips=[\"32 MiB\"]"];
    let little = ["tiobench.size=1 MiB", "tiobench.data=[\"zero\"]", "compare.levels=[\"75 %\"]"];
    let set = [&small[..], &little, &["systems=[\"ubifs\", \"logfs\"]"]].concat();
    let run = ran("nand-filesystems", &set);
    let columns = run.table("table3.2").unwrap().columns.iter().map(|one| &*one.id);
    assert_eq!(columns.collect::<Vec<_>>(), ["logfs", "ubifs"]);
    assert!(run.table("readings").is_none());
}
