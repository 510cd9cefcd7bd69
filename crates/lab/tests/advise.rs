//! The choices of table 3.7 beside those of `nand-advise`, each for a product that has its criteria as limits.

use boardlab_document::source::{Kind, Source};
use boardlab_experiment::Action;
use boardlab_experiment::reference::Reference;
use boardlab_lab::registry;
use boardlab_result::{RunResult, Value};
use boardlab_sim::Seed;

/// The products, and their rows.
const PRODUCTS: [(&str, &str); 3] = [
    ("product-files", "many_files_and_rare_writes"),
    ("product-start", "instant_start_and_much_ram"),
    ("product-stream", "steady_throughput"),
];

fn advised(product: &str) -> RunResult {
    let set: [&str; 0] = [];
    let made = registry::perform(Action::Run, product, &set, Seed::new(1), &|_| ());
    made.unwrap_or_else(|failure| panic!("{product}: {failure}"))
}

#[test]
fn each_product_of_the_publication_gets_its_choice() {
    let text = include_str!("../../../reference/nandfs.toml");
    let print = Reference::read(&Source::new(Kind::Reference, "nandfs.toml", text));
    let print = print.unwrap_or_else(|error| panic!("{error}"));
    for (product, row) in PRODUCTS {
        let run = advised(product);
        let first = &run.table("advise").expect("a ranking").rows[0];
        let chosen = print.quote("table3.7", row, "system").expect("printed");
        assert!(
            first.id.starts_with(&format!("{chosen}/")),
            "{product}: {} for {chosen}",
            first.id
        );
        assert_eq!(first.cells["missed_count"].value, Value::Int(0), "{product}");
    }
}

/// A NOR of 2 MiB, without other cases.
const SMALL_NOR: [&str; 7] = [
    "part=m29ew",
    "part.geometry.region=[{ count = 128, size = \"16 KiB\" }]",
    "product.file=16 KiB",
    "product.write=16 KiB",
    "product.levels=[\"50 %\"]",
    "product.chips=[\"4 MiB\"]",
    "product.kinds=[\"percent:50\"]",
];

fn on_nor(set: &[&str]) -> Result<RunResult, String> {
    let made = registry::perform(Action::Advise, "nor-advise", set, Seed::new(1), &|_| ());
    made.map_err(|failure| failure.to_string())
}

fn figure(run: &RunResult, candidate: &str, column: &str) -> f64 {
    let rows = &run.table("advise").expect("a ranking").rows;
    let row = rows.iter().find(|row| row.id == candidate).expect("a candidate");
    match row.cells[column].value {
        Value::Int(value) => value as f64,
        Value::Real(value) => value,
        ref other => panic!("{other:?}"),
    }
}

/// JFFS2 and UBIFS run on a NOR, with what its bus and its cells cost.
#[test]
fn a_nor_has_the_two_filesystems_that_are_for_it() {
    let aligned = "ubifs.vid_offset=960 B";
    let run = on_nor(&[&SMALL_NOR[..], &[aligned]].concat()).unwrap();
    let rows = &run.table("advise").expect("a ranking").rows;
    let mut names: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["jffs2/zlib", "ubifs/LZO", "ubifs/none", "ubifs/zlib", "ubifs/zstd"]);
    for name in names {
        assert_eq!(figure(&run, name, "lost_count"), 0.0, "{name}");
        assert!(figure(&run, name, "cuts_count") > 50.0, "{name}");
        // The part programs a KiB in some 900 us, to which the bus adds as much, and half of the data compress.
        let rate = figure(&run, name, "rate_bytes_per_s");
        assert!((300_000.0..2_000_000.0).contains(&rate), "{name}: {rate}");
    }
    // Without compression twice as much goes over the same cells.
    let ratio = ["zlib", "none"].map(|kind| figure(&run, &format!("ubifs/{kind}"), "room_bytes"));
    assert!((1.7..2.4).contains(&(ratio[0] / ratio[1])), "{ratio:?}");
}

/// UBIFS recovers what lies within one write buffer, counted from the begin of its data. Where a buffer of the part lies
/// across two of those, now and then a volume cannot be mounted again.
#[test]
fn ubifs_survives_on_a_nor_when_its_data_begin_at_a_write_buffer() {
    let only = ["systems=[\"ubifs\"]", "product.compressions=false", "product.cut_operations=3000"];
    let lost = |aligned: &str| {
        let run = on_nor(&[&SMALL_NOR[..], &only, &[aligned]].concat()).unwrap();
        let told = run.findings.iter().any(|one| one.contains("can make ubifs unusable"));
        (figure(&run, "ubifs/LZO", "lost_count") > 0.0, told)
    };
    assert_eq!(lost("ubifs.vid_offset=960 B"), (false, false));
    assert_eq!(lost("ubifs.vid_offset=64 B"), (true, true));
    assert_eq!(lost("part.geometry.write_buffer=128 B"), (false, false));
}

/// A bus that is twice as slow takes twice as long for what is read: JFFS2 reads every node at the first `ls`.
#[test]
fn the_first_ls_of_jffs2_on_a_nor_is_reads_of_the_bus() {
    let only = ["systems=[\"jffs2\"]", "product.power_cuts=false"];
    let ls = |cycle: &str| {
        let cycle = format!("board.bus.read_cycle={cycle}");
        figure(
            &on_nor(&[&SMALL_NOR[..], &only[..], &[cycle.as_str()]].concat()).unwrap(),
            "jffs2/zlib",
            "ls_ns",
        )
    };
    let (quick, slow) = (ls("200 ns"), ls("400 ns"));
    // 75 % of 2 MiB, two bytes a cycle; the rest is the CPU.
    let bytes = 0.75 * f64::from(2 << 20);
    let more = (slow - quick) / (bytes / 2.0 * 200.0);
    assert!((0.8..1.1).contains(&more), "{quick} {slow}: {more}");
}

#[test]
fn what_a_nor_cannot_have_is_refused() {
    for (set, said) in [
        ("systems=[\"yaffs2\"]", "which is for NAND"),
        ("part=sst-8mib-top", "sectors of several sizes"),
        ("part=am29lv-no-cfi", "gives no CFI answer"),
        ("board=powerpc-800", "describes no NOR flash on the bus of a CPU with memory"),
        ("board=mips-327", "describes no NOR flash on the bus of a CPU with memory"),
        ("product.chips=[\"48 MiB\"]", "a size in `chips` that no NOR has"),
        ("product.pages=[\"4 KiB\"]", "on a NOR, which has no pages"),
        ("kernel.verify_write=true", "false with linux-6.1"),
    ] {
        let error = on_nor(&["kernel.profile=linux-6.1", set]).unwrap_err();
        assert!(error.contains(said), "{set}: {error}");
    }
}

/// What no filesystem can be on is their error, and none of the program.
#[test]
fn a_flash_of_one_block_is_what_the_filesystems_refuse() {
    let set =
        ["part.geometry.region=[{ count = 1, size = \"128 KiB\" }]", "product.power_cuts=false"];
    let error = on_nor(&[&set[..], &["product.compressions=false"]].concat()).unwrap_err();
    assert!(error.contains("JFFS2 needs 5 erase blocks"), "{error}");
}

/// A board with a kernel is a board for the driver alone as well, which needs none of it.
#[test]
fn a_board_with_a_kernel_writes_a_nor_as_one_without() {
    let less = "workload.bytes=64 KiB";
    let run = |set: &[&str]| {
        let made = registry::perform(Action::Run, "nor-write", set, Seed::new(1), &|_| ());
        made.map_err(|failure| failure.to_string())
    };
    let (with, without) = (run(&[less, "board=powerpc-800-linux"]), run(&[less]));
    let (with, without) = (with.unwrap(), without.unwrap());
    assert_eq!(with.tables.len(), without.tables.len());
    for (one, other) in with.tables.iter().zip(&without.tables) {
        assert_eq!(format!("{:?}", one.rows), format!("{:?}", other.rows), "{}", one.id);
    }
    let keys = |run: &RunResult| -> Vec<String> {
        run.parameters.iter().map(|one| one.key.clone()).collect()
    };
    assert_eq!(keys(&with), keys(&without));
    let idle = run(&[less, "board=powerpc-800-linux", "board.memory.ram=64 MiB"]).unwrap_err();
    assert!(idle.contains("no filesystem is mounted"), "{idle}");
}
