//! What a user can write wrongly, and what the error says: place, found, expected, what to try.
//!
//! Each case changes one line of a document that is right and lists parts of the message. The
//! reader is a small one of its own, so that the cases do not change with the experiments.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use boardlab_document::error::Error;
use boardlab_document::quantity::Ratio;
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Override, Read, Reading, Section, SourcedValue};
use boardlab_sim::{Bytes, Duration, Hertz, QuantileTable, Rate};
use std::path::PathBuf;

/// Right as a scenario; line numbers in the cases count from `title`.
const RIGHT: &str = "\
title = \"a demonstration\"
policy = \"toggle\"
fast = true
[bus]
width = 16
write_cycle = \"284 ns\"
buffer = \"512 B\"
clock = \"33.3 MHz\"
copy = \"4 MiB / 11 ms\"
share = \"10 %\"
waits = [\"1 us\", \"2 us\"]
[chip.program]
typical = \"triangular(170 us, 204 us, 226 us)\"
[[region]]
count = 4
size = \"128 KiB\"
";

#[derive(Debug)]
struct Demo {
    policy: u8,
    write_cycle: SourcedValue<Duration>,
    regions: usize,
}

fn bus(section: Section<'_>) -> Read<SourcedValue<Duration>> {
    let width = section.key::<u64>("width").within(8, 32).required();
    let write_cycle = section.key("write_cycle").positive().sourced();
    let buffer = section.key::<Bytes>("buffer").within(Bytes::new(2), Bytes::kib(4)).required();
    let clock = section.required::<Hertz>("clock");
    let copy = section.required::<Rate>("copy");
    let share = section.optional::<Ratio>("share");
    let waits = section.key::<Vec<Duration>>("waits").positive().optional();
    section.finish()?;
    let width = width?;
    if !buffer?.get().is_multiple_of(width / 8) {
        let problem = "is not a multiple of the width";
        return Err(section.refuse("buffer", problem, "whole words", "try \"512 B\""));
    }
    let _ = (clock?, copy?, share?, waits?);
    write_cycle
}

fn demo(top: Section<'_>) -> Read<Demo> {
    let title = top.required::<String>("title");
    let policy = top.one_of("policy", &[("toggle", 0), ("fixed", 1), ("sleep", 2)]);
    let fast = top.key::<bool>("fast").or(false).required();
    let bus = top.section("bus", bus);
    let chip = top.section("chip", |chip| {
        let program = chip.section("program", |program| {
            let typical = program.key::<QuantileTable>("typical").positive().sourced();
            program.finish()?;
            typical
        });
        chip.finish()?;
        program
    });
    let regions = top.sections("region", |region| {
        let count = region.key::<u64>("count").positive().required();
        let size = region.key::<Bytes>("size").positive().required();
        region.finish()?;
        Ok((count?, size?))
    });
    top.finish()?;
    let _ = (title?, fast?, chip?);
    Ok(Demo { policy: policy?, write_cycle: bus?, regions: regions?.len() })
}

fn read(kind: Kind, text: &str, set: &[&str]) -> Result<Reading<Demo>, Error> {
    let source = Source::in_folder(kind, "x.toml", text, Some(PathBuf::new()));
    let mut document = Document::parse(&source)?;
    let overrides = set.iter().map(|one| Override::parse(one)).collect::<Result<Vec<_>, _>>()?;
    document.set(&overrides)?;
    document.read(demo)
}

/// Asserts that the message has all `parts`, a caret, and help in its last line.
fn assert_message(case: &str, error: &Error, parts: &[&str]) {
    let text = error.to_string();
    if std::env::var_os("SHOW").is_some() {
        println!("{text}\n");
    }
    for part in parts {
        assert!(text.contains(part), "{case}: no `{part}` in\n{text}");
    }
    assert!(text.starts_with("error: "), "{case}:\n{text}");
    assert!(text.lines().last().unwrap().contains("= help: "), "{case}:\n{text}");
    assert!(text.contains('^'), "{case}:\n{text}");
    assert_eq!(error.all().len(), 1, "{case}: one slip, one message:\n{text}");
}

fn assert_each(kind: Kind, right: &str, cases: &[(&str, &str, &[&str])]) {
    read(kind, right, &[]).unwrap_or_else(|error| panic!("the right document:\n{error}"));
    for (line, wrong, parts) in cases {
        assert!(right.contains(line), "{line}");
        let text = right.replacen(line, wrong, 1);
        let error = read(kind, &text, &[]).err().unwrap_or_else(|| panic!("taken: {wrong}"));
        assert_message(wrong, &error, parts);
    }
}

#[test]
fn a_right_document_is_read_with_its_parameters() {
    let reading = read(Kind::Scenario, RIGHT, &[]).unwrap();
    assert_eq!(reading.value.policy, 0);
    assert_eq!(reading.value.regions, 1);
    assert_eq!(reading.value.write_cycle.value, Duration::from_nanos(284));
    let keys: Vec<_> = reading.parameters.iter().map(|parameter| parameter.key.as_str()).collect();
    assert_eq!(keys, ["bus.write_cycle", "chip.program.typical"]);
    assert_eq!(reading.parameters[0].value, "284 ns");
}

#[test]
fn a_quantity_that_is_wrong_says_what_is_due() {
    assert_each(
        Kind::Scenario,
        RIGHT,
        &[
            (
                "\"284 ns\"",
                "284",
                &[
                    "`bus.write_cycle`: `284` has no unit",
                    "--> x.toml:6:15",
                    "expected a duration",
                    "write it like \"256 us\"; units: ns us ms s min h days",
                ],
            ),
            ("\"284 ns\"", "\"284\"", &["`284` has no unit", "x.toml:6:15"]),
            ("\"284 ns\"", "28.4", &["`28.4` has no unit"]),
            ("\"284 ns\"", "-5", &["`-5` is negative"]),
            ("\"284 ns\"", "1_000", &["`1_000` has no unit"]),
            ("\"284 ns\"", "0x11", &["`0x11` has no unit"]),
            ("\"284 ns\"", "1e3", &["`1e3` has no unit"]),
            ("\"284 ns\"", "nan", &["`nan` has no unit"]),
            ("\"284 ns\"", "\"-284 ns\"", &["is negative"]),
            ("\"284 ns\"", "\"0 ns\"", &["`0 ns` is zero", "expected a duration"]),
            ("\"284 ns\"", "\"284 KiB\"", &["`KiB`, a unit of size", "expected a duration"]),
            ("\"284 ns\"", "\"284 NS\"", &["unknown unit `NS`", "did you mean `ns`?"]),
            ("\"284 ns\"", "\"284 parsecs\"", &["unknown unit `parsecs`", "ns us ms s"]),
            ("\"284 ns\"", "\"284.5 ns\"", &["is not a whole number of nanoseconds"]),
            ("\"284 ns\"", "\"99999999999 days\"", &["is larger than", "nanoseconds"]),
            ("\"284 ns\"", "\"1234567890123456789012345 ns\"", &["more than 22 digits"]),
            ("\"284 ns\"", "\"\"", &["the value is empty", "expected a duration"]),
            ("\"284 ns\"", "\"fast\"", &["`fast` does not begin with a number"]),
            ("\"284 ns\"", "true", &["`true` is a boolean", "expected a duration"]),
            ("\"284 ns\"", "[\"284 ns\"]", &["is a list", "expected a duration"]),
            ("\"284 ns\"", "1999-01-01", &["is a date", "expected a duration"]),
            ("\"284 ns\"", "{ ns = 284 }", &["is a section", "expected a duration"]),
            ("\"512 B\"", "\"512\"", &["`bus.buffer`", "has no unit", "B KiB MiB", "x.toml:7:10"]),
            ("\"512 B\"", "\"512 us\"", &["`us`, a unit of time", "expected a size"]),
            ("\"512 B\"", "\"512 b\"", &["unknown unit `b`", "did you mean `B`?"]),
            ("\"512 B\"", "\"0.3 KiB\"", &["is not a whole number of bytes"]),
            ("\"512 B\"", "\"1 MiB\"", &["`1 MiB` is not from 2 B to 4 KiB"]),
            ("\"512 B\"", "\"99999999999 TiB\"", &["is larger than"]),
            (
                "\"512 B\"",
                "\"511 B\"",
                &["is not a multiple of the width", "whole words", "x.toml:7:10"],
            ),
            ("\"33.3 MHz\"", "\"33.3\"", &["`bus.clock`", "has no unit", "Hz kHz MHz GHz"]),
            ("\"33.3 MHz\"", "\"0 Hz\"", &["is zero", "expected a frequency"]),
            ("\"33.3 MHz\"", "\"33.3 mhz\"", &["did you mean `MHz`?"]),
            ("\"33.3 MHz\"", "\"33.3 us\"", &["`us`, a unit of time", "expected a frequency"]),
            (
                "\"4 MiB / 11 ms\"",
                "\"4 MiB\"",
                &["`bus.copy`", "expected a rate", "a unit of size"],
            ),
            ("\"4 MiB / 11 ms\"", "\"4 MiB / 11\"", &["has no unit", "expected a rate"]),
            ("\"4 MiB / 11 ms\"", "\"4 MiB / 0 ms\"", &["is zero"]),
            ("\"4 MiB / 11 ms\"", "\"11 ms / 4 MiB\"", &["`ms`, a unit of time"]),
            ("\"4 MiB / 11 ms\"", "381", &["`381` has no unit", "\"381 MB/s\""]),
            ("\"10 %\"", "\"10\"", &["`bus.share`", "has no unit", "expected a ratio"]),
            ("\"10 %\"", "0.1", &["`0.1` has no unit", "\"10 %\""]),
            ("[\"1 us\", \"2 us\"]", "[\"1 us\", \"2\"]", &["`2` has no unit", "x.toml:11:18"]),
            ("[\"1 us\", \"2 us\"]", "[]", &["is empty", "a list, each entry a duration"]),
            ("[\"1 us\", \"2 us\"]", "\"1 us\"", &["is a string", "a list", "[\"256 us\"]"]),
            ("[\"1 us\", \"2 us\"]", "[\"1 us\", \"0 us\"]", &["is zero"]),
        ],
    );
}

#[test]
fn a_value_of_another_kind_that_is_wrong_says_what_is_due() {
    assert_each(
        Kind::Scenario,
        RIGHT,
        &[
            ("16", "\"16\"", &["`16` is a string", "expected a whole number", "without quotes"]),
            ("16", "16.5", &["is a decimal number", "expected a whole number"]),
            ("16", "-16", &["`-16` is negative"]),
            ("16", "7", &["`7` is not from 8 to 32", "a whole number from 8 to 32", "x.toml:5:9"]),
            ("16", "33", &["`33` is not from 8 to 32"]),
            ("16", "99999999999999999999999", &["is larger than 18446744073709551615"]),
            ("16", &("9".repeat(60)), &["is larger than 18446744073709551615"]),
            ("count = 4", "count = 0", &["`region.0.count`: `0` is zero", "x.toml:15:9"]),
            ("true", "1", &["`fast`: `1` is an integer", "expected true or false"]),
            ("true", "\"yes\"", &["is a string", "expected true or false", "x.toml:3:8"]),
            ("\"a demonstration\"", "5", &["`title`: `5` is an integer", "expected text"]),
            ("\"a demonstration\"", "\" \"", &["is empty", "expected text"]),
            (
                "\"toggle\"",
                "\"togle\"",
                &["`policy`: `togle` is not known here", "did you mean `toggle`?", "x.toml:2:10"],
            ),
            ("\"toggle\"", "\"random\"", &["known: toggle, fixed, sleep"]),
            (
                "\"toggle\"",
                "7",
                &["`policy`: `7` is not known here", "expected one of toggle, fixed"],
            ),
        ],
    );
}

#[test]
fn a_distribution_that_is_wrong_points_at_the_part() {
    let right = "\"triangular(170 us, 204 us, 226 us)\"";
    assert_each(
        Kind::Scenario,
        RIGHT,
        &[
            (right, "\"triangular(170 us, 204, 226 us)\"", &["`204` has no unit", "x.toml:13:31"]),
            (
                right,
                "\"triangulr(1 us, 2 us, 3 us)\"",
                &["did you mean `triangular`?", "x.toml:13:12"],
            ),
            (right, "\"triangular(1 us, 2 us)\"", &["write triangular(MIN, MODE, MAX)"]),
            (right, "\"triangular(1 us, 2 us, 3 us\"", &["wrong arguments"]),
            (right, "\"triangular(3 us, 2 us, 1 us)\"", &["breaks the order MIN <= MODE <= MAX"]),
            (right, "\"uniform(2 us, 1 us)\"", &["breaks the order MIN <= MAX"]),
            (right, "\"normal(2 us, 0 us, 1 us, 3 us)\"", &["`0 us` is zero"]),
            (right, "\"normal(9 us, 1 us, 1 us, 3 us)\"", &["MIN <= MEAN <= MAX"]),
            (right, "\"percentiles(p0=1 us, p50=2 us)\"", &["write percentiles("]),
            (right, "\"percentiles(p0=1 us, p200=2 us)\"", &["`p200=2 us`", "x.toml:13:33"]),
            (right, "\"percentiles(p0=2 us, p100=1 us)\"", &["breaks the order"]),
            (right, "\"uniform(0 us, 1 us)\"", &["is zero"]),
            (right, "200", &["`200` has no unit", "a duration or a distribution"]),
            (right, "\"200\"", &["`200` has no unit", "shapes: constant, uniform, triangular"]),
        ],
    );
}

#[test]
fn a_key_or_section_that_is_wrong_names_the_nearest() {
    assert_each(
        Kind::Scenario,
        RIGHT,
        &[
            (
                "write_cycle =",
                "write_cycl =",
                &[
                    "unknown key `write_cycl` in `bus`",
                    "--> x.toml:6:1",
                    "expected `write_cycle`?",
                    "did you mean `write_cycle`? known: width, write_cycle, buffer",
                ],
            ),
            ("[bus]", "[bus]\ncolour = 1", &["unknown key `colour` in `bus`", "x.toml:5:1"]),
            (
                "fast",
                "quick",
                &["unknown key `quick` in the top level", "known: title, policy, fast"],
            ),
            ("[bus]", "[buss]", &["unknown key `buss`", "did you mean `bus`?", "x.toml:4:2"]),
            (
                "clock = \"33.3 MHz\"\n",
                "",
                &[
                    "missing key `clock` in `bus`",
                    "x.toml:4:1",
                    "add a line like clock = \"48 MHz\"",
                ],
            ),
            ("title = \"a demonstration\"\n", "", &["missing key `title` in the top level"]),
            ("policy = \"toggle\"\n", "", &["missing key `policy`", "one of toggle, fixed, sleep"]),
            ("size = \"128 KiB\"\n", "", &["missing key `size` in `region.0`", "x.toml:14:1"]),
            (
                "[chip.program]\ntypical",
                "[chip]\nprogram",
                &["`chip.program`", "is a string", "expected a section", "[chip.program]"],
            ),
            (
                "[[region]]\ncount = 4",
                "[region]\ncount = 4",
                &["`region`", "a list of sections", "[[region]]"],
            ),
            (
                "[[region]]\ncount = 4\nsize = \"128 KiB\"\n",
                "",
                &["missing key `region`", "[[region]]"],
            ),
            ("[bus]", "[bus]\nwidth = 8", &["not TOML: duplicate key"]),
        ],
    );
}

#[test]
fn a_text_that_is_no_toml_says_where() {
    assert_each(
        Kind::Scenario,
        RIGHT,
        &[
            ("\"284 ns\"", "284 ns", &["not TOML", "x.toml:6:15", "stand in quotes"]),
            ("\"284 ns\"", "", &["not TOML", "x.toml:6:15"]),
            ("\"284 ns\"", "\"284 ns", &["not TOML", "x.toml:6:"]),
            ("[bus]", "[bus", &["not TOML", "x.toml:4:5"]),
            ("[bus]", "[bus]\n[bus]", &["not TOML", "x.toml:5:2"]),
            ("fast = true", "fast = true fast = false", &["not TOML", "x.toml:3:"]),
            ("fast = true", "= true", &["not TOML", "x.toml:3:1"]),
            ("fast = true", "fast = \"\u{7}\"", &["not TOML", "x.toml:3:"]),
            ("[bus]", "\u{1b}[2J", &["not TOML", "x.toml:4:"]),
        ],
    );
}

/// Every number of [`RIGHT`] with a source.
fn right_part() -> String {
    let sourced = |value: &str| {
        format!("{{ value = {value}, origin = \"datasheet\", source = \"DS, table 1\" }}")
    };
    let with_source = |line: &str| match line.split_once(" = ") {
        Some((key, value)) if !["title", "policy", "fast"].contains(&key) => {
            format!("{key} = {}\n", sourced(value))
        }
        _ => format!("{line}\n"),
    };
    RIGHT.lines().map(with_source).collect()
}

#[test]
fn every_number_of_a_part_needs_a_source() {
    let bare = |value: &str| {
        format!("{{ value = {value}, origin = \"datasheet\", source = \"DS, table 1\" }}")
    };
    let (width, cycle) = (bare("16"), bare("\"284 ns\""));
    let (width, cycle) = (width.as_str(), cycle.as_str());
    let write = |value: &str| cycle.replace("\"DS, table 1\"", value);
    assert_each(
        Kind::Part,
        &right_part(),
        &[
            (
                cycle,
                "\"284 ns\"",
                &[
                    "`bus.write_cycle`: `284 ns` has no source",
                    "x.toml:6:15",
                    "expected a duration with its origin and source",
                    "every number needs a source: write_cycle = { value = \"284 ns\", origin",
                ],
            ),
            (width, "16", &["`bus.width`: `16` has no source", "width = { value = 16, origin"]),
            (cycle, "284", &["`284` has no unit"]),
            (
                cycle,
                "{ value = \"284 ns\", source = \"DS\" }",
                &["missing key `origin` in `bus.write_cycle`", "datasheet, published, derived"],
            ),
            (
                cycle,
                "{ value = \"284 ns\", origin = \"datasheet\" }",
                &["missing key `source` in `bus.write_cycle`", "add a line like source = \"...\""],
            ),
            (
                cycle,
                "{ origin = \"datasheet\", source = \"DS\" }",
                &["missing key `value` in `bus.write_cycle`"],
            ),
            (
                cycle,
                "{ value = \"284 ns\", origin = \"datashet\", source = \"DS\" }",
                &["`datashet` is not known here", "did you mean `datasheet`?"],
            ),
            (
                cycle,
                "{ value = \"284 ns\", orign = \"datasheet\", source = \"DS\" }",
                &["unknown key `orign` in `bus.write_cycle`", "did you mean `origin`?"],
            ),
            (cycle, &write("\"\""), &["`bus.write_cycle.source`", "is empty"]),
            (cycle, &write("7"), &["`bus.write_cycle.source`: `7` is an integer"]),
            (cycle, &cycle.replace(" ns", " nm"), &["unknown unit `nm`"]),
        ],
    );
}

#[test]
fn a_missing_number_of_a_part_is_shown_with_a_source() {
    let cycle = right_part();
    let line = cycle.lines().find(|line| line.starts_with("write_cycle")).unwrap();
    let text = cycle.replace(line, "");
    let error = read(Kind::Part, &text, &[]).unwrap_err();
    assert_message(
        "missing",
        &error,
        &["add a line like write_cycle = { value = \"256 us\", origin = \"datasheet\", source ="],
    );
}

#[test]
fn an_override_that_is_wrong_shows_the_argument() {
    let cases: &[(&str, &[&str])] = &[
        ("bus.write_cycle", &["has no `=`", "--> --set:1:1", "expected KEY=VALUE"]),
        ("", &["has no `=`", "--set:1:1"]),
        ("=5", &["a part of the key is empty", "--set:1:1"]),
        ("bus..width=5", &["a part of the key is empty", "--set:1:5"]),
        ("bus.=5", &["a part of the key is empty"]),
        ("title.x=5", &["`title` is a string and has no keys", "--set:1:7"]),
        ("region.1.count=5", &["`region` has no entry `1`", "expected 0, the only entry"]),
        ("region.first.count=5", &["`region` has no entry `first`"]),
        (&("a.".repeat(20) + "b=1"), &["more than 16 parts"]),
        ("bus.write_cycle=100", &["`100` has no unit", "--set:1:17", "bus.write_cycle=100"]),
        ("bus.write_cycle=", &["is empty", "--set:1:17", "expected a duration"]),
        ("bus.write_cycle=100 KiB", &["`KiB`, a unit of size", "--set:1:17"]),
        ("bus.width=wide", &["`wide` is a string", "expected a whole number", "--set:1:11"]),
        ("bus.width=7", &["`7` is not from 8 to 32", "--set:1:11"]),
        ("policy=togle", &["did you mean `toggle`?", "--set:1:8"]),
        ("fast=yes", &["`yes` is a string", "expected true or false"]),
        ("bus=5", &["`bus`: `5` is an integer", "expected a section", "--set:1:5"]),
        (
            "bus.write_cycl=1us",
            &["unknown key `write_cycl` in `bus`", "did you mean `write_cycle`?", "--set:1:5"],
        ),
        (
            "write_cycle=1us",
            &["unknown key `write_cycle`", "did you mean `bus.write_cycle`?", "--set:1:1"],
        ),
        ("program.typical=1us", &["unknown key `program`", "did you mean `chip.program.typical`?"]),
        ("buss.write_cycle=1us", &["unknown key `buss`", "did you mean `bus`?"]),
        ("chip.program.typical=uniform(1us, 2)", &["`2` has no unit", "--set:1:35"]),
    ];
    for (argument, parts) in cases {
        let error = read(Kind::Scenario, RIGHT, &[argument]).err();
        assert_message(argument, &error.unwrap_or_else(|| panic!("taken: {argument}")), parts);
    }
}

#[test]
fn only_another_value_alters_a_document() {
    let overridden = |argument: &str| {
        let source = Source::new(Kind::Scenario, "x.toml", RIGHT);
        let mut document = Document::parse(&source).unwrap();
        document.set(&[Override::parse(argument).unwrap()]).unwrap();
        document.is_overridden()
    };
    for same in [
        "bus.write_cycle=284ns",
        "bus.write_cycle=0.284 us",
        "bus.clock=33300 kHz",
        "bus.width=16",
        "chip.program.typical=triangular(170us,204us,226us)",
        "policy=toggle",
        "fast=true",
        "title=another",
    ] {
        assert!(!overridden(same), "{same}");
    }
    for other in [
        "bus.write_cycle=284 us",
        "bus.width=8",
        "chip.program.typical=1 us",
        "policy=fixed",
        "fast=false",
        "x=1",
    ] {
        assert!(overridden(other), "{other}");
    }
}

#[test]
fn several_slips_are_shown_at_once_in_the_order_of_the_file() {
    let text = RIGHT
        .replace("true", "1")
        .replace("284 ns", "284")
        .replace("clock", "clok")
        .replace("128 KiB", "128");
    let error = read(Kind::Scenario, &text, &[]).unwrap_err();
    let places: Vec<_> = error.all().iter().map(|one| one.place().unwrap().line()).collect();
    assert_eq!(places, [3, 6, 8, 16], "{error}");
}

#[test]
fn more_than_ten_slips_are_counted() {
    let many: String = (0..25).map(|index| format!("x{index} = 1\n")).collect();
    let error = read(Kind::Scenario, &(many + RIGHT), &[]).unwrap_err();
    assert_eq!(error.all().len(), 10);
    assert!(error.to_string().ends_with("error: and 15 more; correct these first"), "{error}");
}

#[test]
fn a_hopeless_file_of_the_largest_size_is_answered_at_once() {
    let many: String = (0..100_000).map(|index| format!("k{index}=1\n")).collect();
    assert!(many.len() < 1 << 20);
    let error = read(Kind::Scenario, &many, &[]).unwrap_err();
    // Six keys of the right document lack, and a hundred thousand are unknown.
    assert!(error.to_string().contains("error: and 99"), "{error}");
    let nested = "a = ".to_owned() + &"[".repeat(500_000);
    assert!(read(Kind::Scenario, &nested, &[]).unwrap_err().to_string().contains("not TOML"));
}
