//! The guide: every key has a meaning, and every name an answer.

use boardlab_document::source::Kind;
use boardlab_lab::guide::{self, CommandName};
use boardlab_lab::registry;
use boardlab_parts::catalog;
use boardlab_result::{RunResult, Value, Verdict};

fn explained(word: &str) -> RunResult {
    guide::explain(word, &[]).unwrap_or_else(|error| panic!("{word}: {error}"))
}

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
    let scenarios = catalog::all(Kind::Scenario).iter().map(|file| file.name);
    for name in scenarios.chain(guide::COMMANDS) {
        for [key, _, _, meaning] in keys(name, &[]) {
            assert!(!meaning.is_empty(), "{name}: `{key}` is not in docs/formats");
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

/// What the list shows can be given back to `--set`, but for the keys that it says have no effect.
#[test]
fn each_value_in_the_list_is_one_that_set_takes() {
    for scenario in ["nor-write", "card-fio"] {
        for [key, value, _, meaning] in keys(scenario, &[]) {
            // A value in brackets or a dash stands for an omitted key, and a list is written otherwise.
            if value.starts_with(['(', '-', '[']) {
                continue;
            }
            let set = format!("{key}={value}");
            let refused = guide::keys(scenario, &[&set]).err().map(|error| error.to_string());
            let words = refused.as_deref().unwrap_or_default();
            assert_eq!(meaning.starts_with("no effect "), refused.is_some(), "{key}: {words}");
            assert!(refused.is_none() || words.contains("has no effect"), "{set}: {words}");
        }
    }
}

#[test]
fn the_kind_of_a_mapping_is_a_key_and_that_of_a_part_is_none() {
    let listed: Vec<_> = keys("card-fio", &[]).into_iter().map(|[key, ..]| key).collect();
    assert!(listed.iter().any(|key| key == "part.mapping.kind"));
    assert!(!listed.iter().any(|key| ["part.kind", "part.title", "title"].contains(&key.as_str())));
}

#[test]
fn an_example_sets_another_value_and_uses_the_command_of_the_key() {
    for (key, example) in [
        ("board.bus.chips", "boardlab run nor-write --set board.bus.chips=2"),
        (
            "powercut.operations",
            "boardlab powercut nand-filesystems --set powercut.operations=2000",
        ),
        ("kernel.profile", "boardlab run nand-filesystems --set kernel.profile=linux-6.1"),
        ("board", "boardlab run nand-filesystems --set board=at91sam9260"),
    ] {
        assert_eq!(text(&explained(key), "example", "text"), example, "{key}");
    }
}

#[test]
fn a_part_or_a_board_in_place_of_a_scenario_shows_the_command_with_one() {
    for (typed, name, line) in [
        ("run", "s29gl01gs", "a part, not a scenario"),
        ("run", "s29gl01gs", "boardlab run nor-write --set part=s29gl01gs"),
        ("life", "kioxia-16gb", "boardlab life sd-life --set part=kioxia-16gb"),
        ("tune", "s29gl01gs", "boardlab tune nor-write --set part=s29gl01gs"),
        ("list keys", "kioxia-16gb", "boardlab list keys card-fio --set part=kioxia-16gb"),
        ("sweep", "s29gl01gs", "boardlab sweep nor-write --set part=s29gl01gs --grid"),
        ("run", "powerpc-800", "a board, not a scenario"),
        ("run", "powerpc-800", "boardlab run nor-write --set board=powerpc-800"),
        // No scenario with such a part has anything to tune.
        ("tune", "kioxia-16gb", "boardlab run card-fio --set part=kioxia-16gb"),
    ] {
        let error = registry::open::<&str>(name, &[]).unwrap_err();
        let error = registry::scenario_expected(typed, name, error).to_string();
        assert!(error.contains(line), "{typed} {name}: {error}");
    }
}

#[test]
fn a_name_of_each_kind_is_explained() {
    for (word, id, part) in [
        ("linux.wait", "key", "before the first poll"),
        ("linux.wait", "key", "boardlab run nor-write --set linux.wait=none"),
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
        let run = explained(word);
        let table = run.table(id).unwrap_or_else(|| panic!("{word}: no {id} in {:?}", run.tables));
        assert!(format!("{table:?}").contains(part), "{word}: {table:?}");
    }
    assert!(explained("GC").table("table").is_none(), "`TABLE` is not any word");
    let many = explained("page");
    assert!(many.tables.iter().any(|table| table.id == "keys" && table.rows.len() > 3));
}

#[test]
fn every_verdict_is_explained_by_its_name_and_by_its_sign_in_one_table() {
    for verdict in Verdict::ALL {
        let name = verdict.to_string();
        let by_sign = explained(verdict.sign());
        assert!(by_sign.tables[0].title.contains(&name), "{name}: {:?}", by_sign.tables);
        assert!(text(&by_sign, "meaning", "text").starts_with("Verdict: "), "{name}");
        // `input` is also a column of other tables.
        assert_eq!(explained(&name).tables[0], by_sign.tables[0]);
        assert_eq!(explained(&name).tables.iter().filter(|table| table.id == "term").count(), 1);
    }
}

#[test]
fn a_value_is_explained_with_the_keys_that_may_hold_it() {
    let run = explained("tuned");
    assert_eq!(run.tables[0].title, "tuned in uboot.wait, linux.wait, improved.wait");
    assert_eq!(text(&run, "meaning", "text"), "the best wait by the theory");
    for entry in ["sdr50", "hs400"] {
        let list = explained(entry);
        assert!(list.tables[0].title.contains("part.bus.modes"), "an entry of a list: {list:?}");
    }
}

#[test]
fn keys_that_say_the_same_are_one_entry() {
    let run = explained("wait");
    let [only] = run.tables.as_slice() else { panic!("{:?}", run.tables) };
    assert_eq!(only.title, "uboot.wait, linux.wait, improved.wait");
    assert!(text(&run, "value", "text").contains("linux.wait: word-time"));
    assert_eq!(text(&run, "scenarios", "text"), "nor-write");
    let many = explained("page");
    let flash = many.table("keys").unwrap().cell("part.flash.page", "also").unwrap();
    assert!(format!("{flash:?}").contains("exec.card, drives.intel-x25-e"), "{flash:?}");
}

#[test]
fn a_row_and_a_column_are_explained_by_their_tables() {
    for (name, table, role) in [
        ("U-5", "nor-write/table4", "row"),
        ("U-1", "nor-write/table4", "named"),
        ("overshoot_ns", "nor-write/erase_wait", "column"),
        ("mean_ns", "nor-write/table5", "column"),
    ] {
        assert_eq!(text(&explained(name), table, "role"), role, "{name}");
    }
    // A column that only the glossary describes.
    assert_eq!(explained("framing_ratio").tables[0].title, "framing");
}

#[test]
fn a_command_is_explained_with_where_its_help_is() {
    let commands = ["powercut", "image ls"]
        .map(|name| CommandName { name: name.into(), about: format!("What {name} does") });
    for (word, name) in [("powercut", "powercut"), ("ls", "image ls"), ("image ls", "image ls")] {
        let run = guide::explain(word, &commands).unwrap();
        assert_eq!(text(&run, "meaning", "text"), format!("What {name} does"));
        assert_eq!(text(&run, "help", "text"), format!("boardlab help {name}"));
    }
}

#[test]
fn terms_are_found_by_their_japanese_names() {
    for (word, term) in
        [("摩耗", "wear"), ("フィッティング", "fitted"), ("トグルビット", "toggle bit")]
    {
        assert!(explained(word).tables[0].title.starts_with(term), "{word}");
    }
}

/// The commands are those of `uses`, which checks each; here those that must and must not be among them.
#[test]
fn a_part_names_the_scenarios_that_take_it() {
    let rows = |name| {
        let run = explained(name);
        run.tables[0].rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        rows("kioxia-16gb"),
        ["title", "card-fio", "context-switch", "sd-life", "sd-wear", "card-advise"]
    );
    assert_eq!(rows("s29gl01gs"), ["title", "nor-write", "nor-advise"]);
    // The kernel of nand-filesystems is too old for its ECC.
    assert_eq!(rows("w25n01gv"), ["title", "nand-steps", "nand-advise"]);
    assert_eq!(rows("raspberry-pi-4"), ["title", "card-fio", "sd-life", "sd-wear", "card-advise"]);
    let card = text(&explained("kioxia-16gb"), "context-switch", "text");
    assert_eq!(card, "boardlab run context-switch --set exec.card=kioxia-16gb");
}

#[test]
fn a_kind_and_a_word_of_the_name_of_parts_lead_to_parts() {
    for (word, meaning) in [("SSD", "list parts sata"), ("フラッシュメモリ", "NAND flash")]
    {
        assert!(text(&explained(word), "meaning", "text").contains(meaning), "{word}");
    }
    for (word, list) in
        [("SD", "list parts sd"), ("eMMC", "list parts emmc"), ("nor", "list parts nor")]
    {
        assert_eq!(text(&explained(word), "list", "text"), format!("boardlab {list}"), "{word}");
    }
    for (word, part) in [("X25-E", "intel-x25-e-32gb"), ("JMF602", "photofast-g-monster-v2-128gb")]
    {
        assert!(explained(word).table("parts").unwrap().row(part).is_some(), "{word}");
    }
}

#[test]
fn capitals_do_not_matter() {
    for (word, name) in
        [("SATA", "sata"), ("l-7", "L-7"), ("Tuned", "tuned"), ("LINUX.WAIT", "linux.wait")]
    {
        assert_eq!(explained(word).tables, explained(name).tables, "{word}");
    }
}

#[test]
fn ids_of_answers_are_single_words() {
    for word in
        ["wait", "nor", "kioxia-16gb", "page", "mean_ns", "close", "part.spi.clock", "random"]
    {
        let run = explained(word);
        let ids = run.tables.iter().flat_map(|table| {
            let rows = table.rows.iter().map(|row| &row.id);
            rows.chain(table.columns.iter().map(|column| &column.id)).chain([&table.id])
        });
        for id in ids {
            assert!(id.is_ascii() && !id.contains(' '), "{word}: {id}");
        }
    }
}

#[test]
fn scenarios_name_their_evaluations() {
    let run = registry::list(&[Kind::Scenario], &[]).unwrap();
    for experiment in registry::EXPERIMENTS {
        let expected = if experiment.published { experiment.name } else { "" };
        assert_eq!(text(&run, experiment.scenario, "evaluation"), expected);
    }
}

#[test]
fn an_unknown_word_gets_the_nearest_names_and_where_to_look() {
    for (word, meant) in [
        ("over-provisoning", "did you mean `over-provisioning` or `over_provisioning`?"),
        ("pol_gap", "did you mean `poll_gap` or `poll gap`?"),
        ("buffered write", "`write buffer`"),
    ] {
        let error = guide::explain(word, &[]).unwrap_err().to_string();
        assert!(error.contains(meant) && error.contains("boardlab list keys"), "{error}");
        assert!(error.matches('`').count() <= 2 + 2 * 5, "{error}");
    }
    assert!(!guide::explain("xyzzy", &[]).unwrap_err().to_string().contains("did you mean"));
}

/// A sample, because the keys of all scenarios are read for each.
#[test]
fn names_that_completions_offer_are_explained() {
    let names = guide::names(&[]).unwrap();
    assert!(names.len() > 500, "{}", names.len());
    for name in names.iter().step_by(83) {
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

/// A scenario that extends another has the commands of that one.
#[test]
fn every_scenario_of_the_list_has_commands() {
    let list = registry::list(&[Kind::Scenario], &[]).unwrap();
    for row in &list.tables[0].rows {
        assert!(text(&list, &row.id, "commands").starts_with("run"), "{}", row.id);
    }
    assert_eq!(text(&list, "nor-advise", "commands"), "run, advise");
}
