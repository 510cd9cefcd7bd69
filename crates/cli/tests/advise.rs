//! The options of `advise`: each is a key of the scenario, and what is asked for is what is run.

use crate::bench::{Scratch, run_by, run_in};
use serde_json::Value;

/// A flash as small as the filesystem takes, without other cases.
const SMALL: [&str; 14] = [
    "--set",
    "systems=[\"ubifs\"]",
    "--set",
    "part.geometry.blocks=64",
    "--set",
    "part.geometry.pages_per_block=16",
    "--set",
    "product.compressions=false",
    "--set",
    "product.levels=[\"30 %\"]",
    "--set",
    "product.chips=[\"4 MiB\"]",
    "--set",
    "product.kinds=[\"text\"]",
];

/// Options, and the keys that they are.
const OPTIONS: [(&str, &str, &str); 9] = [
    ("--level", "40 %", "product.level"),
    ("--boot", "2 s", "product.boot"),
    ("--ram", "2 MiB", "product.ram"),
    ("--life", "2 years", "product.life"),
    ("--writes", "3 MB/day", "product.writes"),
    ("--room", "1 MiB", "product.room"),
    ("--throughput", "1 MB/s", "product.throughput"),
    ("--mainline", "no", "product.mainline"),
    ("--power-cuts", "no", "product.power_cuts"),
];

#[test]
fn every_option_is_a_key_of_the_run() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("tree")).unwrap();
    for (name, length) in [("a", 5_000), ("b", 70_000), ("c", 0)] {
        scratch.write(&format!("tree/{name}"), "some words ".repeat(length / 11));
    }
    let given = OPTIONS.iter().flat_map(|(option, value, _)| [*option, *value]);
    let named = ["advise", "--part", "k9f1g08u0a", "--board", "at91sam9260", "--tree", "tree"];
    let rest = ["--seed", "2", "--format", "json", "--no-wall-time"];
    let all: Vec<&str> = named.into_iter().chain(given).chain(SMALL).chain(rest).collect();
    let run: Value = serde_json::from_str(&run_in(scratch.path(), &all).success()).unwrap();
    assert_eq!(run["seed"], 2);
    let parameters = run["parameters"].as_array().unwrap();
    let value = |key: &str| {
        let found = parameters.iter().find(|one| one["key"] == key);
        found.unwrap_or_else(|| panic!("no {key} in {parameters:#?}"))["value"].to_string()
    };
    for (option, given, key) in OPTIONS {
        let expected = if given == "no" { "false" } else { given };
        assert_eq!(value(key).trim_matches('"'), expected, "{option}");
    }
    assert_eq!(value("part.identity").trim_matches('"'), "[0xEC, 0xF1, 0x80, 0x15]");
    assert_eq!(value("board.cpu.clock").trim_matches('"'), "180 MHz");
    assert_eq!(value("product.data").trim_matches('"'), "sample:tree");
    assert_eq!(value("product.file").trim_matches('"'), "tree");
    let tables = run["tables"].as_array().unwrap();
    let table = |id: &str| tables.iter().find(|one| one["id"] == id).unwrap();
    assert_eq!(table("samples")["rows"][0]["cells"]["files_count"]["value"], 3);
    let limits = table("advise-limits")["rows"].as_array().unwrap();
    let ids: Vec<_> = limits.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let limits = ["boot", "ram", "life", "room", "throughput"];
    assert_eq!(ids, limits.map(|limit| format!("ubifs/LZO/{limit}")));
}

/// A card is chosen by its life and by what a job does on it.
#[test]
fn a_card_has_limits_of_its_own() {
    let scratch = Scratch::new();
    let given = ["--part", "sandisk-inand-7232-16gb", "--latency", "90 ms", "--life", "2 years"];
    let more = ["--set", "compare=none", "--set", "life.cards=1", "--format", "json"];
    let all: Vec<&str> = ["advise"].into_iter().chain(given).chain(more).collect();
    let run: Value = serde_json::from_str(&run_in(scratch.path(), &all).success()).unwrap();
    assert_eq!(run["scenario"], "card-advise");
    let parameters = run["parameters"].as_array().unwrap();
    for (key, value) in [("product.latency", "90 ms"), ("product.life", "2 years")] {
        let found = parameters.iter().find(|one| one["key"] == key).unwrap();
        assert_eq!(found["value"], value, "{key}");
    }
}

/// What a user types makes an image that holds the files.
#[test]
fn the_commands_make_images() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("root")).unwrap();
    scratch.write("root/greeting", "some words ".repeat(3_000));
    let named = ["advise", "--power-cuts", "no", "--level", "40 %", "--format", "json"];
    let other = ["--set", "part.geometry.blocks=128", "--set", "product.pages=[\"2 KiB\"]"];
    let all: Vec<&str> = named.into_iter().chain(other).chain(SMALL[4..].iter().copied()).collect();
    assert_eq!(images_made(&scratch, &all), 4);
}

/// The same on a NOR, which `--part` alone chooses.
#[test]
fn the_commands_make_images_for_a_nor() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("root")).unwrap();
    scratch.write("root/greeting", "some words ".repeat(3_000));
    let named = ["advise", "--part", "m29ew", "--power-cuts", "no", "--level", "40 %"];
    let small = [
        "part.geometry.region=[{ count = 128, size = \"64 KiB\" }]",
        "product.compressions=false",
        "product.levels=[\"30 %\"]",
        "product.chips=[\"4 MiB\"]",
        "product.kinds=[\"text\"]",
    ];
    let small = small.into_iter().flat_map(|one| ["--set", one]);
    let all: Vec<&str> = named.into_iter().chain(small).chain(["--format", "json"]).collect();
    assert_eq!(images_made(&scratch, &all), 2);
}

/// Types the commands of every filesystem; how many there are.
fn images_made(scratch: &Scratch, advise: &[&str]) -> usize {
    let run: Value = serde_json::from_str(&run_in(scratch.path(), advise).success()).unwrap();
    let tables = run["tables"].as_array().unwrap();
    let table = tables.iter().find(|one| one["id"] == "advise-commands").unwrap();
    let rows = table["rows"].as_array().unwrap();
    for row in rows {
        let make = row["cells"]["make"]["value"].as_str().unwrap();
        let script =
            "PATH=$(dirname \"$0\"):$PATH:/usr/sbin; eval \"$1\" >&2 && boardlab image ls \"$2\"";
        let image = match row["id"].as_str().unwrap().split('/').next().unwrap() {
            "ubifs" => "ubi.img",
            "yaffs2" => "yaffs2.img",
            "logfs" => "logfs.img",
            _ => "jffs2.sum",
        };
        let listed = run_by("sh", script, scratch.path(), &[make, image]).success();
        assert!(listed.contains("greeting") && listed.contains("32.23 KiB"), "{make}: {listed}");
    }
    rows.len()
}
