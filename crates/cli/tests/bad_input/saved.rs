//! Files that are no saved results.

use crate::case::Case;

const REPORT: &[&str] = &["report", "a.json"];
const HELP: &str = "expected the JSON that --format json prints";

const fn json(
    name: &'static str,
    content: &'static str,
    at: &'static str,
    says: &'static [&'static str],
) -> Case {
    Case::whole("a.json", content.as_bytes(), at, says).with(REPORT).called(name)
}

/// One wrong file.
pub(crate) const CASES: &[Case] = &[
    Case::arguments(
        "report of a missing file",
        REPORT,
        &[
            "cannot read `a.json`: no such file or directory",
            "name a JSON file, or a folder with the result.json",
        ],
    )
    .at("a.json"),
    Case::arguments(
        "report of a folder without a result",
        &["report", "."],
        &["cannot read `./result.json`: no such file"],
    )
    .at("./result.json"),
    Case::arguments("report of a device", &["report", "/dev/zero"], &["it is not a regular file"])
        .at("/dev/zero"),
    Case::arguments(
        "report of an unreadable file",
        &["report", "/proc/self/mem"],
        &["cannot read"],
    )
    .at("/proc/self/mem"),
    Case::arguments(
        "report of a scenario",
        &["report", "scenario.toml"],
        &["not a saved result", HELP],
    )
    .at("scenario.toml:1:"),
    json("report of an empty file", "", "a.json:1:1", &["not a saved result: EOF", HELP]),
    json(
        "report of broken JSON",
        "{\n  \"schema\": 1,\n  x",
        "a.json:3:3",
        &["not a saved result", HELP],
    ),
    json("report of other JSON", "[1, 2]", "a.json:1:", &["not a saved result", HELP]),
    json(
        "report of another schema",
        "{\"schema\": 3}",
        "a.json",
        &["`schema`: found 3, expected 1 or 2", "run the scenario again"],
    ),
    json(
        "report without schema",
        "{\"tables\": []}",
        "a.json",
        &["`schema`: found nothing, expected 1"],
    ),
    json(
        "report of another schema inside",
        "{\"schema\": 1, \"results\": [{\"schema\": \"1\"}]}",
        "a.json",
        &["`results[0].schema`: found \"1\", expected 1"],
    ),
    json(
        "report of an unknown field",
        "{\"schema\": 1, \"results\": [],\n \"colour\": 1}",
        "a.json:2:",
        &["unknown field `colour`", HELP],
    ),
    json(
        "report without a field",
        "{\"schema\": 1}",
        "a.json:1:13",
        &["missing field `scenario`", HELP],
    ),
    json(
        "report of a negative seed",
        "{\"schema\": 1, \"scenario\": \"x\", \"title\": \"x\",\n\"seed\": -1}",
        "a.json:2:",
        &["invalid value: integer `-1`, expected u64", HELP],
    ),
    json(
        "report of hostile JSON",
        "{\"schema\": 1, \"results\": [],\n \"\\u001b[2J\": 1}",
        "a.json:2:",
        &["unknown field `\\u{1b}[2J`"],
    ),
    Case::whole("a.json", DEEP, "a.json:1:", &["not a saved result: ", HELP])
        .with(REPORT)
        .called("report of deep JSON"),
    Case::whole("a.json", b"{\"a\":\n \"\xff\"}", "a.json:2:3", &["it is not UTF-8 text"])
        .with(REPORT),
    Case::zeros("a.json", (256 << 20) + 1, "a.json", &["it is larger than 268435456 bytes"])
        .with(REPORT),
    Case::arguments("compare with a missing file", &["compare", "a.json", "b.json"], &["`a.json`"])
        .at("a.json"),
    Case::whole(
        "a.json",
        b"{\"schema\": 1, \"results\": []}",
        "",
        &["the two results have no scenario in common", "the first has none"],
    )
    .with(&["compare", "a.json", "a.json"])
    .nowhere(),
];

/// Lists in lists.
const DEEP: &[u8] = &[b'['; 100_000];
