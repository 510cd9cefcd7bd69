//! The guide: every key has a meaning, and every name an answer.

use boardlab_document::source::Kind;
use boardlab_lab::{guide, registry};
use boardlab_parts::catalog;
use boardlab_result::{RunResult, Value};

fn text(run: &RunResult, row: &str, column: &str) -> String {
    let cell = run.tables.iter().find_map(|table| table.cell(row, column));
    match cell.map(|cell| &cell.value) {
        Some(Value::Text(text)) => text.clone(),
        other => panic!("{row}, {column}: {other:?}"),
    }
}

/// Rows of the keys of `scenario`: key, value, what it holds, meaning.
fn keys(scenario: &str, set: &[&str]) -> Vec<[String; 4]> {
    let run = guide::keys(scenario, set).unwrap_or_else(|error| panic!("{scenario}: {error}"));
    let rows = run.tables.iter().flat_map(|table| &table.rows);
    let cell = |row: &str, column| text(&run, row, column);
    rows.map(|row| &row.id)
        .map(|id| [id.clone(), cell(id, "value"), cell(id, "holds"), cell(id, "meaning")])
        .collect()
}

#[test]
fn every_key_of_every_scenario_has_a_meaning_on_the_pages() {
    let mut all = 0;
    for file in catalog::all(Kind::Scenario) {
        for [key, _, _, meaning] in keys(file.name, &[]) {
            assert!(!meaning.is_empty(), "{}: `{key}` is not in docs/formats", file.name);
            all += 1;
        }
    }
    assert!(all > 500, "{all}");
}

#[test]
fn a_key_shows_limits_default_and_origin() {
    let run = guide::keys("nor-write", &["part=s29gl01gs"]).unwrap();
    assert_eq!(text(&run, "board.bus.chips", "holds"), "a whole number, 1 to 16");
    assert_eq!(text(&run, "board.bus.chips", "value"), "1");
    assert_eq!(text(&run, "part.geometry.write_buffer", "origin"), "datasheet");
    assert!(text(&run, "uboot.check_erased", "meaning").contains("default false"));
    assert!(text(&run, "part.boot", "holds").starts_with("one of uniform, "));
    let set = ["linux.poll_gap=2 us", "part=s29gl01gs", "part.timing.erase_window=60 us"];
    let own = guide::keys("nor-write", &set).unwrap();
    assert_eq!(text(&own, "linux.poll_gap", "value"), "2 us");
    for key in ["linux.poll_gap", "part", "part.timing.erase_window"] {
        assert_eq!(text(&own, key, "origin"), "--set", "{key}");
    }
    for key in ["board", "uboot.poll_gap"] {
        assert_eq!(text(&own, key, "origin"), "", "{key}");
    }
}

/// Each value and each limit is in one of the two columns.
#[test]
fn a_meaning_does_not_repeat_what_the_key_may_hold() {
    for (scenario, key, holds, meaning) in [
        ("nor-write", "part.width", "one of x8, x16", "bus width"),
        ("nor-write", "board.cpu.jiffies", "a frequency, 1 Hz to 10 kHz", "the kernel's HZ"),
        ("card-fio", "board.sd_slot.lines", "one of 1, 4, 8", "data lines"),
        (
            "nor-write",
            "board.bus.chips",
            "a whole number, 1 to 16",
            "how many equal parts share the bus; they are filled in turn",
        ),
        (
            "sd-life",
            "pattern.trim",
            "a ratio, 0 % to 95 %",
            "share of these data that is trimmed at any time",
        ),
        (
            "context-switch",
            "exec.card",
            "name of a built-in part, or path of a part file",
            "an SD card",
        ),
    ] {
        let run = guide::keys::<&str>(scenario, &[]).unwrap();
        assert_eq!(text(&run, key, "holds"), holds, "{key}");
        assert_eq!(text(&run, key, "meaning"), meaning, "{key}");
    }
}

/// What the list shows can be given back to `--set`.
#[test]
fn each_value_in_the_list_is_one_that_set_takes() {
    for scenario in ["nor-write", "card-fio"] {
        for [key, value, ..] in keys(scenario, &[]) {
            // A value in brackets or a dash stands for an omitted key, and a list is written otherwise.
            if value.starts_with(['(', '-', '[']) {
                continue;
            }
            let set = format!("{key}={value}");
            if let Err(error) = guide::keys(scenario, &[&set]) {
                // A key that is right and idle in this run is refused by name.
                let words = error.to_string();
                assert!(words.contains("has no effect"), "{scenario} --set {set}: {words}");
            }
        }
    }
}

#[test]
fn a_name_of_each_kind_is_explained() {
    for (word, id, part) in [
        ("linux.wait", "key", "before the first poll"),
        ("linux.wait", "key", "boardlab run nor-write --set linux.wait=word-time"),
        ("close", "term", "within 5 %"),
        ("fitted", "term", "published"),
        ("table6-own-gap", "table", "gap"),
        ("GC", "term", "erasing it"),
        ("garbage collection", "term", "erasing it"),
        ("table3.3-counts", "table", "nand-filesystems"),
        ("nor", "scenario", "boardlab reproduce nor"),
        ("kioxia-16gb", "part", "--set part=kioxia-16gb"),
        ("part.spi.clock", "key", "the highest clock"),
    ] {
        let run = guide::explain(word, &[]).unwrap_or_else(|error| panic!("{word}: {error}"));
        let table = run.table(id).unwrap_or_else(|| panic!("{word}: no {id} in {:?}", run.tables));
        assert!(format!("{table:?}").contains(part), "{word}: {table:?}");
    }
    assert!(guide::explain("GC", &[]).unwrap().table("table").is_none(), "`TABLE` is not any word");
    let many = guide::explain("page", &[]).unwrap();
    assert!(many.tables.iter().any(|table| table.id == "keys" && table.rows.len() > 3));
}

#[test]
fn an_unknown_word_gets_the_nearest_name() {
    let error = guide::explain("over-provisoning", &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `over-provisioning`?"), "{error}");
}

/// A sample, because the keys of all scenarios are read for each.
#[test]
fn names_that_completions_offer_are_explained() {
    let names = guide::names(&[]).unwrap();
    assert!(names.len() > 500, "{}", names.len());
    for name in names.iter().step_by(41) {
        guide::explain(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_scenario_is_found_by_the_name_of_its_evaluation() {
    for experiment in registry::published() {
        let opened = registry::open::<&str>(experiment.name, &[]).unwrap();
        assert_eq!(opened.experiment.scenario, experiment.scenario);
    }
}
