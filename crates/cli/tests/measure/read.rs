//! `boardlab measure read`.

use super::board::{line, lines, whole};
use crate::bench::{Outcome, Scratch, run_by, run_in};

/// Reads `text` with further arguments.
fn read(text: &str, arguments: &[&str]) -> Outcome {
    let scratch = Scratch::new();
    scratch.write("out.jsonl", text);
    run_in(scratch.path(), &[&["measure", "read", "out.jsonl"], arguments].concat())
}

#[test]
fn a_measurement_is_shown_like_any_run() {
    let table = read(&whole(), &[]).success();
    for part in [
        "nor-write – Measured on Fake",
        "predictions – Predictions beside what was measured",
        "copy.mean_ns",
        "cpu.timer",
        "The prediction is within 10 % of what was measured.",
    ] {
        assert!(table.contains(part), "{part}:\n{table}");
    }
    assert!(!table.contains("seed"), "{table}");
    let csv = read(&whole(), &["--format", "csv"]).success();
    assert!(csv.contains("nor-write,predictions,copy.mean_ns,measured,500,"), "{csv}");
    let json = read(&whole(), &["--json"]);
    assert_eq!(json.json()["tables"][1]["id"], "steps");
}

#[test]
fn the_same_file_gives_the_same_bytes_and_reports_read_them() {
    let scratch = Scratch::new();
    scratch.write("out.jsonl", whole());
    let [one, other] = ["one", "other"].map(|folder| {
        run_in(scratch.path(), &["measure", "read", "out.jsonl", "--out", folder, "--quiet"])
            .success();
        scratch.read(&format!("{folder}/result.json"))
    });
    assert_eq!(one, other);
    assert!(scratch.read("one/index.html").contains("Predicted and measured times"));
    let compared = run_in(scratch.path(), &["compare", "one", "other"]).success();
    assert!(compared.contains("predictions: all rows equal (1)"), "{compared}");
    run_in(scratch.path(), &["report", "one", "other", "--out", "report", "--quiet"]).success();
    // Schema and reports agree.
    let schema = crate::bench::repository("docs/formats/result.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let result: serde_json::Value = serde_json::from_str(&one).unwrap();
    let known = schema["properties"].as_object();
    if let Some(known) = known {
        assert!(result.as_object().unwrap().keys().all(|key| known.contains_key(key)));
    }
}

#[test]
fn what_is_partial_or_damaged_fails_and_is_shown() {
    let lines = lines();
    for (text, says) in [
        (lines[..4].concat(), "it broke off in step `timer`"),
        (lines[..3].concat(), "its end is missing, after 1 step"),
        (whole().replacen("12288", "12289", 1), "Line 3 is damaged and was left out"),
        (whole().replace("complete", "failed"), "damaged"),
        (lines[0].clone() + &line(r#"{"refused":"no""#), "The agent refused the plan: no."),
    ] {
        let outcome = read(&text, &[]);
        assert_eq!(outcome.status, 1, "{says}: {}", outcome.stdout);
        let words = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{says}: {}", outcome.stdout);
    }
}

#[test]
fn several_files_and_several_measurements_of_a_file_are_shown() {
    let scratch = Scratch::new();
    scratch.write("log", whole() + "a prompt\n" + &whole());
    scratch.write("one", whole());
    let all = run_in(scratch.path(), &["measure", "read", "log", "one", "--json"]).json();
    assert_eq!(all["results"].as_array().unwrap().len(), 3);
    scratch.write("cut", lines()[..2].concat());
    assert_eq!(run_in(scratch.path(), &["measure", "read", "log", "cut"]).status, 1);
}

#[test]
fn what_is_no_measurement_is_refused() {
    let empty = read("hello\n", &[]);
    assert!(
        empty.status == 2 && empty.stderr.contains("`out.jsonl` has no measurement"),
        "{empty:?}"
    );
    let scratch = Scratch::new();
    let missing = run_in(scratch.path(), &["measure", "read", "none"]);
    assert!(missing.status == 2 && missing.stderr.contains("cannot read `none`"), "{missing:?}");
    let script = "mkfifo pipe; exec \"$0\" \"$@\"";
    let pipe = run_by("sh", script, scratch.path(), &["measure", "read", "pipe"]);
    assert!(pipe.status == 2 && pipe.stderr.contains("not a regular file"), "{pipe:?}");
}

#[test]
fn texts_of_the_agent_do_not_reach_a_terminal_as_they_are() {
    let hostile = lines()[0].replace("Fake", "\\u001b[2J");
    let head = hostile.split(",\"crc\"").next().unwrap();
    let outcome = read(&(line(head) + &lines()[1..].concat()), &[]);
    assert!(
        !outcome.stdout.contains('\u{1b}') && outcome.stdout.contains("\\u{1b}[2J"),
        "{outcome:?}"
    );
}
