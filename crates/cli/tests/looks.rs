//! What `image info` finds by looking: codes and layouts, pieces, blocks, and how to make an image again.

use crate::bench::{Scratch, run_in};
use boardlab_image::controller::{CodePattern, Constant, PageCode, named};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The result of a command, as JSON.
fn told(folder: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["--format", "json", "--no-wall-time"], arguments].concat();
    let outcome = run_in(folder, &arguments);
    assert_eq!(outcome.status, 0, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// The rows of a table.
fn rows(run: &Value, id: &str) -> Vec<Value> {
    let tables = run["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["id"] == id);
    table.map_or_else(Vec::new, |table| table["rows"].as_array().unwrap().clone())
}

fn value(row: &Value, column: &str) -> String {
    let value = &row["cells"][column]["value"];
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The pages of an image as a controller stores them.
fn stored(image: &[u8], page: usize, oob: usize, layout: &str, text: &str) -> Vec<u8> {
    let layout = named(layout).unwrap();
    let pattern: CodePattern = text.parse().unwrap();
    let code = (layout.codes)(page, oob).into_iter().find(|code| pattern.means(code)).unwrap();
    let code = PageCode::new(layout, page, oob, code, Constant::Zero).unwrap();
    let pages = image.chunks(page).map(|data| {
        let mut bytes = [data, &vec![0xFF; oob]].concat();
        if data.iter().any(|&byte| byte != 0xFF) {
            code.protect(&mut bytes);
        }
        code.map.store(&bytes)
    });
    pages.collect::<Vec<_>>().concat()
}

fn files(scratch: &Scratch) {
    fs::create_dir(scratch.path().join("DIR")).unwrap();
    for number in 0..20_u8 {
        let content: Vec<u8> =
            (0..9_000_u32).map(|at| ((at * 7) >> (number % 5)).to_le_bytes()[0]).collect();
        scratch.write(&format!("DIR/file-{number}"), content);
    }
}

/// The images that are made, each with the tables that must be the same of what is made again.
const MADE: &[(&str, &str)] = &[
    (
        "--page 2KiB --block 128KiB --sub-page 512 --max-blocks 500 --image-seq 9",
        "flash superblock volumes",
    ),
    (
        "--page 4KiB --block 256KiB --max-blocks 300 --compression zstd --fix-up --volume-name r$x",
        "flash volumes",
    ),
    ("--page 2KiB --block 128KiB --max-blocks 500 --oob 64 --ecc 4/512", "flash volumes"),
    ("--page 1 --block 64KiB --max-blocks 500 --compression zlib", "flash volumes"),
    (
        "--page 2KiB --block 128KiB --max-blocks 400 --volume-only --compression none",
        "flash superblock",
    ),
    ("--fs yaffs2 --page 2KiB --oob 64 --block 128KiB", "flash filesystem"),
    (
        "--fs yaffs2 --page 2KiB --oob 64 --block 128KiB --tags start --big-endian",
        "flash filesystem",
    ),
    ("--fs yaffs2 --page 4KiB --block 256KiB --tags in-band", "flash filesystem"),
    ("--fs yaffs2 --page 512 --oob 16 --block 16KiB", "flash filesystem"),
    ("--fs jffs2 --page 1 --block 16KiB", "flash filesystem"),
    ("--fs jffs2 --page 512 --oob 16 --block 16KiB --ecc 1/256 --big-endian", "flash filesystem"),
    ("--fs logfs --page 2KiB --oob 64 --block 128KiB --max-blocks 64", "flash filesystem"),
];

#[test]
fn the_commands_that_are_printed_make_an_image_with_the_same_geometry() {
    for (number, (options, same)) in MADE.iter().enumerate() {
        let scratch = Scratch::new();
        files(&scratch);
        let first = format!("first-{number}");
        let create = ["image", "create", "DIR", &first].into_iter().chain(options.split(' '));
        let create: Vec<&str> = create.collect();
        run_in(scratch.path(), &create).success();
        let before = told(scratch.path(), &["image", "info", &first]);
        let steps = rows(&before, "rebuild");
        let line = steps.iter().find(|step| value(step, "with") == "boardlab");
        let line = value(line.unwrap_or_else(|| panic!("{options}: {steps:?}")), "line");
        // As a shell takes it: names that need it are quoted.
        let words: Vec<String> =
            line.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words[..3], ["boardlab", "image", "create"], "{line}");
        run_in(scratch.path(), &words[1..]).success();
        let after = told(scratch.path(), &["image", "info", words[4]]);
        for table in same.split(' ') {
            let (mut before, mut after) = (rows(&before, table), rows(&after, table));
            // A UUID is drawn.
            before.retain(|row| row["id"] != "UUID");
            after.retain(|row| row["id"] != "UUID");
            assert_eq!(before, after, "{options}: {line}: {table}");
        }
        assert_eq!(rows(&before, "rebuild"), rows(&after, "rebuild"), "{options}");
    }
}

#[test]
fn info_names_the_code_and_the_option_that_says_it() {
    let scratch = Scratch::new();
    files(&scratch);
    let create = "image create DIR plain.ubi --page 2KiB --block 128KiB --max-blocks 500";
    run_in(scratch.path(), &create.split(' ').collect::<Vec<_>>()).success();
    let plain = fs::read(scratch.path().join("plain.ubi")).unwrap();
    for (layout, code, option) in [
        ("gpmi", "8/512", "--spare gpmi --ecc 8/512:lsb"),
        ("omap", "8/512", "--spare omap --ecc 8/512"),
    ] {
        let file = format!("{layout}.bin");
        let mut bytes = stored(&plain, 2_048, 64, layout, code);
        for at in (3_000..bytes.len()).step_by(9_001) {
            if bytes[at] != 0xFF {
                bytes[at] ^= 4;
            }
        }
        scratch.write(&file, bytes);
        let run = told(scratch.path(), &["image", "info", &file]);
        let ecc = &rows(&run, "ecc")[0];
        assert_eq!(value(ecc, "option"), option);
        assert_eq!(value(ecc, "confidence"), "certain");
        assert!(value(ecc, "reason").contains("have up to"), "{ecc}");
        let flash = &rows(&run, "flash")[0];
        assert!(
            value(flash, "correction").ends_with(&format!("in the layout {layout}")),
            "{flash}"
        );
        let named: Vec<&str> =
            ["image", "ls", &file].into_iter().chain(option.split(' ')).collect();
        assert_eq!(rows(&told(scratch.path(), &named), "files").len(), 21);
        let pages = ["image", "info", &file, "--page", "2KiB", "--oob", "64"];
        assert_eq!(value(&rows(&told(scratch.path(), &pages), "ecc")[0], "option"), option);
    }
    let wrong = run_in(scratch.path(), &["image", "check", "gpmi.bin", "--spare", "omap"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("no code that --spare omap means"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("give --spare gpmi --ecc 8/512:lsb"), "{}", wrong.stderr);
}

#[test]
fn the_blocks_are_shown_when_they_are_asked_for() {
    let scratch = Scratch::new();
    let mut flash = vec![0xFF; 1 << 20];
    flash[..131_072].fill(b'x');
    scratch.write("flash.bin", &flash);
    let plain = told(scratch.path(), &["image", "info", "flash.bin"]);
    assert!(rows(&plain, "block_map").is_empty());
    let run = told(scratch.path(), &["image", "info", "flash.bin", "--blocks"]);
    let kinds: Vec<_> = rows(&run, "block_map").iter().map(|row| value(row, "kind")).collect();
    assert_eq!(kinds, ["text", "erased"]);
    assert_eq!(run["charts"][0]["id"], "block-map");
    let out = run_in(scratch.path(), &["image", "info", "flash.bin", "--blocks", "--out", "o"]);
    out.success();
    let html = fs::read_to_string(scratch.path().join("o/index.html")).unwrap();
    assert!(html.contains("Entropy of each block"));
}
