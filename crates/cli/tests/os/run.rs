//! `boardlab os run`.

use crate::bench::{Outcome, Scratch, run_fed, run_in};
use crate::guest::build;
use serde_json::Value;

fn run(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    run_in(scratch.path(), &[&["os", "run"], arguments].concat())
}

/// The figure in a cell of a result.
fn cell<'v>(result: &'v Value, table: &str, row: &str, column: &str) -> &'v Value {
    let by_id = |list: &'v Value, id: &str| {
        let all = list.as_array().unwrap();
        all.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {list}"))
    };
    let table = by_id(&result["tables"], table);
    &by_id(&table["rows"], row)["cells"][column]["value"]
}

#[test]
fn what_the_program_prints_is_on_standard_output_and_the_tables_beside_it() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let outcome = run(&scratch, &["plain.elf"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "hello\n385\n"));
    for text in ["instructions", "data cache", "exit 0", "waiting"] {
        assert!(outcome.stderr.contains(text), "{text}: {}", outcome.stderr);
    }
    let quiet = run(&scratch, &["plain.elf", "--quiet"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("hello\n385\n", ""));
}

#[test]
fn a_result_on_standard_output_leaves_the_program_standard_error() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let outcome = run(&scratch, &["plain.elf", "--format", "json", "--out", "kept"]);
    assert!(outcome.stderr.starts_with("hello\n385\n"), "{}", outcome.stderr);
    let result = outcome.json();
    assert_eq!(cell(&result, "run", "ended", "value"), "exit 0");
    assert!(result["parameters"].as_array().unwrap().len() > 8);
    let all = result["virtual_time_ns"].as_u64().unwrap();
    assert_eq!(cell(&result, "run", "cycles", "value").as_u64().unwrap() * 5, all, "at 200 MHz");
    assert!(scratch.names("kept").contains(&"result.json".into()));
}

#[test]
fn the_exit_code_of_the_program_decides() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=3"]) else { return };
    let outcome = run(&scratch, &["plain.elf", "--quiet"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, "hello\n385\n"));
    assert!(outcome.stderr.contains("ended with exit code 3"), "{}", outcome.stderr);
}

#[test]
fn bad_ends_say_where_and_what_to_try() {
    let scratch = Scratch::new();
    for (how, words) in [
        ("-DHOW=1", &["undefined instruction at 0x", "(undefined", "word e7f000f0", "vector"][..]),
        ("-DHOW=2", &["0x10020000", "(display+0x", "(PL111) is not modelled"]),
        ("-DHOW=3", &["sleeps for ever", "(forever+0x", "timer"]),
    ] {
        let Some(_) = build(&scratch, "bad", &[how]) else { return };
        let outcome = run(&scratch, &["bad.elf", "--quiet"]);
        assert_eq!(outcome.status, 1, "{how}: {}", outcome.stderr);
        for word in words.iter().chain(&["= help: "]) {
            assert!(outcome.stderr.contains(word), "{how}: {word}: {}", outcome.stderr);
        }
    }
}

#[test]
fn a_limit_ends_a_program_that_does_not() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "bad", &["-DHOW=4"]) else { return };
    let limited = |limit| {
        let arguments = ["bad.elf", "--limit", limit, "--format", "json"];
        run(&scratch, &arguments).json()
    };
    let result = limited("2 ms");
    let time = result["virtual_time_ns"].as_u64().unwrap();
    assert!((2_000_000..2_000_100).contains(&time), "{time}");
    assert_eq!(cell(&limited("12345"), "run", "instructions", "value"), 12_345);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("limit was reached"), "{warnings}");
}

#[test]
fn equal_input_makes_equal_runs_in_each_engine() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "echo", &[]) else { return };
    let echo = |engine| {
        let arguments =
            ["os", "run", "echo.elf", "--engine", engine, "--format", "json", "--no-wall-time"];
        let outcome = run_fed(scratch.path(), "typed and gone.never", &arguments);
        assert!(outcome.stderr.starts_with("typed and gone."), "{}", outcome.stderr);
        outcome.success()
    };
    let first = echo("interpreter");
    assert_eq!(first, echo("interpreter"));
    assert_eq!(first, echo("predecoded"));
    assert_eq!(first, echo("compiled"));
}

#[test]
fn a_profile_accounts_for_every_cycle_and_names_the_calls() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "calls", &[]) else { return };
    let plain = run(&scratch, &["calls.elf", "--format", "json"]).json();
    let result = run(&scratch, &["calls.elf", "--profile", "--format", "json"]).json();
    let cycles = cell(&result, "run", "cycles", "value");
    assert_eq!(cycles, cell(&plain, "run", "cycles", "value"), "looking changes nothing");
    assert_eq!(
        cell(&result, "run", "trace_hash", "value"),
        cell(&plain, "run", "trace_hash", "value")
    );
    let tables = result["tables"].as_array().unwrap();
    let functions = tables.iter().find(|table| table["id"] == "functions").unwrap();
    let of = |row: &Value, column: &str| row["cells"][column]["value"].as_u64().unwrap();
    let rows = functions["rows"].as_array().unwrap();
    let sum = |column: &str| rows.iter().map(|row| of(row, column)).sum::<u64>();
    assert_eq!(sum("cycles_count"), cycles.as_u64().unwrap());
    assert_eq!(
        sum("instructions_count"),
        cell(&result, "run", "instructions", "value").as_u64().unwrap()
    );
    assert_eq!(cell(&result, "functions", "sys_count", "calls_count"), 21);
    assert_eq!(cell(&result, "functions", "busy", "calls_count"), 1);
    assert_eq!(cell(&result, "calls", "call-1", "calls_count"), 20);
    let calls = tables.iter().find(|table| table["id"] == "calls").unwrap().to_string();
    assert!(calls.contains("\"title\":\"sys_count\""), "{calls}");
    // Interrupts are masked from reset on, then once more; from the second time on they stay so.
    let masked = |row: &str, column: &str| cell(&result, "interrupts-off", row, column);
    let [boot, work] = ["stretch-1", "stretch-2"].map(|row| masked(row, "cycles_count").as_u64());
    assert!(boot > work && work > Some(20), "{boot:?} {work:?}");
    assert!(masked("stretch-2", "from").as_str().unwrap().contains("(main+"));
    assert_eq!(masked("stretch-2", "times_count"), 1);
    let mean = |call: &str| cell(&result, "calls", call, "mean_ns").as_u64().unwrap();
    assert!(mean("call-3") > mean("call-1"), "the busy call takes longer: {calls}");
}

#[test]
fn a_timeline_is_chrome_trace_json_that_covers_the_run() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "calls", &[]) else { return };
    let arguments = ["calls.elf", "--timeline", "run.json", "--format", "json"];
    let result = run(&scratch, &arguments).json();
    let timeline: Value = serde_json::from_str(&scratch.read("run.json")).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let total: f64 = slices.map(|slice| slice["dur"].as_f64().unwrap()).sum();
    let all = result["virtual_time_ns"].as_f64().unwrap() / 1_000.0;
    assert!((total - all).abs() < 1.0, "{total} us of {all} us");
    let text = timeline.to_string();
    for name in ["FCSE PID 1", "call 2 (sys_count)", "\"user\""] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn a_saved_run_goes_on_as_if_it_had_not_stopped() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "calls", &[]) else { return };
    let whole = run(&scratch, &["calls.elf", "--format", "json", "--no-wall-time"]).success();
    run(&scratch, &["calls.elf", "--limit", "5000", "--save", "half", "--quiet"]).success();
    let arguments = ["calls.elf", "--restore", "half", "--format", "json", "--no-wall-time"];
    assert_eq!(run(&scratch, &arguments).success(), whole);
    let other = run(&scratch, &["calls.elf", "--restore", "half", "--memory", "64MiB"]);
    assert_eq!(other.status, 2);
    assert!(other.stderr.contains("another board"), "{}", other.stderr);
    let snapshot = std::fs::read(scratch.path().join("half")).unwrap();
    scratch.write("cut", &snapshot[..snapshot.len() - 7]);
    let cut = run(&scratch, &["calls.elf", "--restore", "cut"]);
    assert_eq!((cut.status, cut.stdout.as_str()), (2, ""));
    assert!(cut.stderr.contains("--> cut") && cut.stderr.contains("bytes"), "{}", cut.stderr);
}

#[test]
fn a_raw_image_is_put_where_it_was_told_to() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    scratch.write("image", [1, 2, 3, 4]);
    let outcome = run(&scratch, &["plain.elf", "--load", "image@0x07fffffc", "--quiet"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let outcome = run(&scratch, &["plain.elf", "--load", "image@0x07fffffd"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("does not fit into 128 MiB"), "{}", outcome.stderr);
}

#[test]
fn coherence_is_looked_for_where_it_is_asked_for() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    assert_eq!(run(&scratch, &["plain.elf", "--check", "--quiet"]).status, 0);
}

#[test]
fn a_violation_of_coherence_is_told_by_address_function_and_missing_operation() {
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "coherence", &["-DFAULT=2", "-fno-inline"]) else { return };
    let unseen = run(&scratch, &["coherence.elf", "--quiet"]);
    assert_eq!((unseen.status, unseen.stderr.as_str()), (0, ""), "nobody asked");
    let outcome = run(&scratch, &["coherence.elf", "--check"]);
    assert_eq!((outcome.status, &outcome.stdout), (1, &unseen.stdout));
    for text in [
        "an instruction; the",
        "cache line (c7, c5, 1)",
        "error: the program ended, but used at 1 place what was not the newest",
        "= help: ",
    ] {
        assert!(outcome.stderr.contains(text), "{text}: {}", outcome.stderr);
    }
    let json = run(&scratch, &["coherence.elf", "--check", "--format", "json"]);
    assert_eq!(json.status, 1, "also with the result on standard output");
    let result: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(cell(&result, "coherence", "violation-1", "by"), "code");
    let missing = cell(&result, "coherence", "violation-1", "missing").as_str().unwrap();
    assert!(missing.contains("c7, c5, 1"), "{missing}");
}

#[test]
fn an_engine_that_does_not_execute_what_it_was_chosen_for_is_told() {
    const WARNING: &str = "every instruction is executed by the reference interpreter";
    let scratch = Scratch::new();
    let Some(_) = build(&scratch, "plain", &["-DCODE=0"]) else { return };
    let warned = |arguments: &[&str]| {
        let outcome = run(&scratch, &[&["plain.elf", "--format", "json"], arguments].concat());
        let result = outcome.json();
        let warnings = result["warnings"].as_array().unwrap().clone();
        warnings.iter().any(|one| one.as_str().unwrap().contains(WARNING))
    };
    for engine in ["predecoded", "compiled"] {
        assert!(warned(&["--check", "--engine", engine]), "--check and {engine}");
        assert!(warned(&["--profile", "--engine", engine]), "--profile and {engine}");
        assert!(!warned(&["--engine", engine]), "{engine}");
    }
    assert!(!warned(&["--check", "--engine", "interpreter"]));
    assert!(!warned(&["--check"]), "nobody chose another one");
    let Some(_) = build(&scratch, "plain", &["-DCODE=0", "-DL4"]) else { return };
    assert!(warned(&[]) && warned(&["--engine", "compiled"]), "L4");
    assert!(!warned(&["--engine", "interpreter"]), "L4 on the reference");
}
