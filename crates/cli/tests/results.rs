//! What the commands print and write, and the exit status.

use crate::bench::{Scratch, repository, run, run_in};
use serde_json::{Value, json};

/// A saved result with one cell of the given verdict.
pub(crate) fn result(scenario: &str, mean_ns: u64, verdict: &str) -> Value {
    json!({
        "schema": 2, "scenario": scenario, "title": "A sample", "seed": 1, "version": "0.1.0",
        "virtual_time_ns": 5, "wall_time_ns": 7,
        "tables": [{
            "id": "table5", "title": "Linux", "columns": [{"id": "mean_ns", "title": "mean"}],
            "rows": [{"id": "L-7", "cells": {"mean_ns":
                {"value": mean_ns, "published": 253_000, "printed": "253 us", "verdict": verdict}}}],
        }],
        "series": [{"id": "total", "unit": "s", "x": [1.0], "y": [2.0]}],
        "parameters": [], "findings": [], "warnings": [],
    })
}

pub(crate) fn with_attachment(name: &str) -> Value {
    let mut result = result("nor-write", 253_694, "pass");
    result["attachments"] = json!([{"name": name, "title": "A patch", "text": "--- a\n+++ b\n"}]);
    result
}

#[test]
fn list_shows_the_same_in_three_forms() {
    let json = run(&["list", "--format", "json"]).json();
    let csv = run(&["list", "--format", "csv"]).success();
    let table = run(&["list"]).success();
    for kind in ["parts", "boards", "scenarios"] {
        let tables = json["tables"].as_array().unwrap();
        let rows = tables.iter().find(|table| table["id"] == kind).unwrap()["rows"].as_array();
        for row in rows.unwrap() {
            let id = row["id"].as_str().unwrap();
            assert!(csv.contains(&format!("\nlist,{kind},{id},title,")), "{id}:\n{csv}");
            assert!(table.contains(id), "{id}:\n{table}");
        }
    }
}

#[test]
fn a_key_with_its_old_name_is_read_and_a_warning_states_the_new_one() {
    let with = |set: &str| {
        run(&["run", "card-fio", "--set", set, "--format", "json", "--no-wall-time"]).json()
    };
    let (mut old, new) = (with("part.spare=8 %"), with("part.over_provisioning=8 %"));
    let warning =
        "--set part.spare=8 %: `spare` is now called `over_provisioning`; use the new name.";
    let warnings = old["warnings"].as_array_mut().unwrap();
    assert_eq!(warnings.remove(0), warning);
    assert_eq!(old, new);
}

#[test]
fn list_shows_what_was_asked_for() {
    let rows = |arguments: &[&str]| -> Vec<(String, String)> {
        let json = run(&[arguments, &["--json"]].concat()).json();
        let tables = json["tables"].as_array().unwrap();
        let rows = tables.iter().flat_map(|table| table["rows"].as_array().unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        rows.map(|row| (text(&row["id"]), text(&row["cells"]["kind"]["value"]))).collect()
    };
    let all = rows(&["list", "parts"]);
    for kind in ["nor", "nand", "sd", "emmc", "sata"] {
        let some = rows(&["list", "parts", kind]);
        assert!(!some.is_empty() && some.iter().all(|row| all.contains(row)), "{some:?}");
        assert!(some.iter().all(|(_, found)| found == kind), "{kind}: {some:?}");
    }
    assert_eq!(rows(&["list", "parts", "nor", "nand", "sd", "emmc", "sata"]).len(), all.len());
    assert!(rows(&["list", "boards"]).iter().any(|(id, _)| id == "ml505"));
    assert!(rows(&["list", "scenarios"]).iter().any(|(id, _)| id == "nor-write"));
}

#[test]
fn the_verdict_fail_alone_gives_status_one() {
    let scratch = Scratch::new();
    for (verdict, status) in
        [("pass", 0), ("input", 0), ("close", 0), ("differs", 0), ("not_built", 0), ("fail", 1)]
    {
        scratch.write("a.json", result("x", 1, verdict).to_string());
        let outcome = run_in(scratch.path(), &["report", "a.json", "--quiet"]);
        assert_eq!(outcome.status, status, "{verdict}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("253 us"), "{}", outcome.stdout);
    }
}

#[test]
fn report_writes_all_results_into_one_folder() {
    let scratch = Scratch::new();
    scratch.write("a.json", with_attachment("wait.patch").to_string());
    scratch.write("b.json", json!({"schema": 2, "results": [result("b", 2, "pass")]}).to_string());
    let outcome = run_in(scratch.path(), &["report", "a.json", "b.json", "--out", "new/week"]);
    let stderr = outcome.stderr.clone();
    assert!(outcome.success().contains("table5"));
    let names =
        ["cells.csv", "index.html", "manifest.json", "result.json", "series.csv", "wait.patch"];
    assert_eq!(scratch.names("new/week"), names);
    for name in names {
        assert!(stderr.contains(&format!("wrote new/week/{name}\n")), "{stderr}");
    }
    let saved: Value = serde_json::from_str(&scratch.read("new/week/result.json")).unwrap();
    assert_eq!(saved["results"][1]["scenario"], "b");
    assert_eq!(saved["results"][0]["wall_time_ns"], 7);
    assert!(scratch.read("new/week/index.html").contains("253 us"));
    assert_eq!(scratch.read("new/week/wait.patch"), "--- a\n+++ b\n");
    assert!(scratch.read("new/week/series.csv").contains("b,total,s,1,2\n"));
}

#[test]
fn a_report_folder_can_be_read_back_and_its_other_files_stay() {
    let scratch = Scratch::new();
    scratch.write("a.json", result("a", 1, "pass").to_string());
    let first = run_in(scratch.path(), &["report", "a.json", "--format", "json"]).success();
    scratch.write("boardlab-report/notes.txt", "mine");
    let arguments = ["report", "boardlab-report", "--format", "json", "--quiet"];
    let again = run_in(scratch.path(), &arguments);
    assert_eq!(again.stderr, "");
    assert_eq!(again.success(), first);
    assert_eq!(scratch.read("boardlab-report/notes.txt"), "mine");
}

#[test]
fn no_wall_time_leaves_it_out_everywhere() {
    let scratch = Scratch::new();
    scratch.write("a.json", result("a", 1, "pass").to_string());
    let arguments = ["report", "a.json", "--format", "json", "--no-wall-time", "--out", "out"];
    assert!(!run_in(scratch.path(), &arguments).success().contains("wall_time_ns"));
    assert!(!scratch.read("out/result.json").contains("wall_time_ns"));
}

#[test]
fn an_attachment_that_would_leave_the_folder_is_refused() {
    let scratch = Scratch::new();
    for name in
        ["../evil", "/tmp/evil", "a/b", "a\\b", "..", "", ".bashrc", "index.html", "manifest.json"]
    {
        scratch.write("a.json", with_attachment(name).to_string());
        let outcome = run_in(scratch.path(), &["report", "a.json", "--out", "out"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{name}");
        assert!(outcome.stderr.contains("is not the name of a plain file"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--> a.json"), "{}", outcome.stderr);
        assert_eq!(scratch.names(""), ["a.json"], "nothing is written");
    }
}

#[test]
fn compare_shows_two_results_side_by_side() {
    let scratch = Scratch::new();
    scratch.write("a.json", result("x", 100, "pass").to_string());
    scratch.write("b.json", result("x", 150, "fail").to_string());
    let json = run_in(scratch.path(), &["compare", "a.json", "b.json", "--format", "json"]).json();
    let cells = &json["tables"][0]["rows"][0]["cells"];
    assert_eq!(cells["a_mean_ns"]["value"], 100);
    assert_eq!(cells["b_mean_ns"]["value"], 150);
    assert_eq!(cells["mean_ns_ratio"]["value"], 1.5);
}

#[test]
fn a_saved_result_cannot_move_the_cursor() {
    let scratch = Scratch::new();
    let mut hostile = result("x", 1, "pass");
    hostile["title"] = "\u{1b}[2J\u{1b}]0;owned\u{7} \u{9b}2J \u{202e}".into();
    hostile["tables"][0]["title"] = "\u{1b}[2J".into();
    scratch.write("a.json", hostile.to_string());
    for color in ["never", "always"] {
        let text = run_in(scratch.path(), &["report", "a.json", "--color", color]).success();
        for bad in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!text.contains(bad), "{color}: {bad:?}");
        }
        assert_eq!(text.contains("\u{1b}[1m"), color == "always");
    }
}

#[test]
fn errors_have_colours_only_where_they_are_wanted() {
    let plain = run(&["run", "nothing"]).stderr;
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let styled = run(&["run", "nothing", "--color", "always"]).stderr;
    assert!(styled.contains('\u{1b}'), "{styled}");
}

#[test]
fn files_are_read_beside_the_scenario_and_the_run_has_a_wall_time() {
    let scratch = Scratch::new();
    let scenario = repository("scenarios/nor-write.toml");
    scratch.write("small.toml", scenario.replacen("\"64 MiB\"", "\"64 KiB\"", 1));
    let arguments = ["run", "small.toml", "--seed", "7", "--format", "json", "--out", "out"];
    let outcome = run_in(scratch.path(), &arguments);
    assert!(outcome.status <= 1, "{}", outcome.stderr);
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&printed["scenario"], &printed["seed"]), (&json!("small"), &json!(7)));
    assert!(printed["wall_time_ns"].as_u64().unwrap() > 0);
    assert_eq!(scratch.read("out/result.json"), outcome.stdout);
}

#[test]
fn a_run_that_fails_has_status_one_and_says_which_system_failed() {
    // The part is slower than what it says of itself, so the driver gives up.
    let set = |value| ["--set", value];
    let slow = [
        set("workload.bytes=1KiB"),
        set("part.timing.buffer_program=9500 us"),
        set("part.timing.buffer_program_max=10 ms"),
    ];
    let arguments = [&["run", "nor-write"][..], &slow.concat()].concat();
    let outcome = run(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: u-boot 2013.04: write at offset 0x0"));
}
