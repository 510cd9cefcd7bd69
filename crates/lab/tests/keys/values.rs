//! Other values for a key, likely to be legal: names from the list, numbers more or less.

use super::explore::{Key, What};
use super::tree::value_of;
use toml::Value;

/// Values worth a try where a key has none.
const FIRST: &[(&str, &[&str])] = &[
    ("a duration", &["1 ms", "1 us", "1 s", "1 h", "10 days"]),
    ("a size", &["4 KiB", "16 KiB", "1 MiB", "64 MiB", "1 GiB", "512 B"]),
    ("a frequency", &["10 MHz", "1 MHz", "100 MHz", "1 kHz"]),
    ("a rate", &["10 MB/s", "1 MB/s", "100 MB/s"]),
    ("a ratio", &["10 %", "50 %", "1 %", "90 %", "100 %", "0 %"]),
    ("a whole number", &["1", "2", "8", "64", "1024", "0"]),
    ("a probability", &["\"1e-3\"", "\"1e-6\"", "\"2e-5\""]),
];

/// What a number is multiplied by.
const FACTORS: [(i64, i64); 8] =
    [(2, 1), (1, 2), (3, 4), (5, 4), (8, 1), (1, 8), (100, 1), (1, 100)];

/// Values of keys for which none is found by altering the present one.
const GIVEN: &[(&str, &[&str])] = &[
    ("fio.job", &["\"[one]\\nfilename=/dev/x\\ndirect=1\\nrw=write\\nbs=64k\\nsize=1M\\n\""]),
    ("wait", &["120 us", "none", "tuned"]),
    (
        "workload.file",
        &[
            concat!("\"", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml\""),
            concat!("\"", env!("CARGO_MANIFEST_DIR"), "/src/lib.rs\""),
        ],
    ),
    ("published.phases", &["[\"0 ms\", \"1 ms\"]"]),
    ("exec.slot.clock", &["6 MHz", "3 MHz"]),
    ("fill.data", &["zero", "text"]),
    ("powercut.systems", &["[\"jffs2\", \"yaffs2\"]", "[\"jffs2\"]"]),
    ("systems", &["[\"jffs2\"]", "[\"yaffs2\"]"]),
    ("wear.data", &["\"zero\""]),
    ("many_files_and_rare_writes", &["[\"mount\"]"]),
    ("steady_throughput", &["[\"ram\"]"]),
    ("limits.bad_marks", &["[\"first\", \"last\"]", "[\"first\"]", "[\"last\"]"]),
    (
        "experiment1.job",
        &[
            "--readwrite=write --bs=512k --size=24M --filename=/dev/mmcblk0 --runtime=1 --time_based --direct=1",
        ],
    ),
    (
        "experiment2.job",
        &["--readwrite=write --filename=/dev/mmcblk0 --bs=1M --size=2M --loops=8 --direct=1"],
    ),
    ("controller.0.set", &["[\"part.over_provisioning=50 %\"]"]),
    ("write_back_after", &["1 h"]),
    ("intel-x25-e.title", &["Another thing: of another kind"]),
    ("g-monster-v2.title", &["Another thing: of another kind"]),
    ("transcend.title", &["Another thing: of another kind"]),
    ("buffalo.title", &["Another thing: of another kind"]),
    ("idle_after", &["1 h", "1 s"]),
    ("trace.disk", &["\"8,0\"", "\"8,16\""]),
    // Of the hundreds of programs of a short run some have to fail.
    ("endurance.program_failures", &["\"1e-2\""]),
    ("classes.speed", &["4", "6"]),
    ("classes.uhs", &["3", "0"]),
    ("classes.video", &["10", "30"]),
    ("bus.modes", &["[\"default\"]", "[\"default\", \"high-speed\"]"]),
    ("slot.modes", &["[\"default\"]", "[\"default\", \"high-speed\"]"]),
];

/// Other values than `current`.
pub(crate) fn others(key: &Key, current: Option<&Value>) -> Vec<Value> {
    let given = GIVEN.iter().filter(|(end, _)| ends(&key.path, end)).flat_map(|(_, all)| *all);
    let mut all: Vec<Value> = given.map(|one| value_of(one)).collect();
    all.extend(altered_or_first(key, current));
    all.retain(|one| Some(one) != current);
    all
}

fn ends(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with(['.', '_']))
}

fn altered_or_first(key: &Key, current: Option<&Value>) -> Vec<Value> {
    match (&key.what, current) {
        (What::Names(names), _) => names.iter().cloned().map(Value::String).collect(),
        (What::Value(what), _) if what == "true or false" => {
            vec![Value::Boolean(true), Value::Boolean(false)]
        }
        (_, Some(current)) => altered(current),
        (What::Value(what), None) => {
            let known = FIRST.iter().find(|(expected, _)| what.contains(expected));
            known
                .map(|(_, list)| list.iter().map(|one| value_of(one)).collect())
                .unwrap_or_default()
        }
        (What::Text, None) => vec![Value::String("another".into())],
    }
}

fn altered(current: &Value) -> Vec<Value> {
    match current {
        Value::Boolean(yes) => vec![Value::Boolean(!yes)],
        Value::Integer(number) => {
            let mut all: Vec<i64> =
                FACTORS.iter().map(|(times, over)| number.saturating_mul(*times) / over).collect();
            all.extend([number + 1, number - 1, 1, 0, 7]);
            all.retain(|one| one != number && *one >= 0);
            all.into_iter().map(Value::Integer).collect()
        }
        Value::String(text) if text.contains(|c: char| c.is_ascii_digit()) => {
            let scaled = FACTORS.iter().map(|by| scaled(text, *by));
            let zero = ["1", "10", "50", "1000"].iter().filter_map(|number| {
                text.strip_prefix("0 ").map(|unit| format!("{number} {unit}"))
            });
            let none = text.split_once(' ').map(|(_, unit)| format!("0 {unit}"));
            let letters = [format!("X{}", text.get(1..).unwrap_or_default())];
            let all = scaled.chain(zero).chain(none).chain(letters).filter(|one| one != text);
            all.map(Value::String).collect()
        }
        Value::String(text) => vec![Value::String(format!("{text}x")), Value::String("XY".into())],
        Value::Array(items) => {
            let mut all = Vec::new();
            for (times, over) in FACTORS {
                let each = items.iter().map(|item| match item {
                    Value::Integer(number) => Value::Integer(number * times / over),
                    Value::String(text) => Value::String(scaled(text, (times, over))),
                    other => other.clone(),
                });
                all.push(Value::Array(each.collect()));
            }
            if items.len() > 1 {
                all.insert(0, Value::Array(items[..items.len() - 1].to_vec()));
                all.insert(1, Value::Array(items[1..].to_vec()));
            }
            all
        }
        _ => Vec::new(),
    }
}

/// Every number in `text` times a factor; of a rate that is written as a quotient, the first.
fn scaled(text: &str, (times, over): (i64, i64)) -> String {
    let (text, rest) = text.find(" / ").map_or((text, ""), |at| text.split_at(at));
    let (mut out, mut digits) = (String::new(), String::new());
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_digit() || (character == '.' && !digits.is_empty()) {
            digits.push(character);
            continue;
        }
        // The number of a name, such as p50 or e-5, stays.
        let is_name = out.ends_with(|c: char| c.is_ascii_alphabetic()) || out.ends_with("e-");
        match digits.parse::<f64>() {
            Ok(number) if !is_name => {
                #[allow(clippy::cast_precision_loss, reason = "small factors")]
                let number = number * times as f64 / over as f64;
                let text = format!("{number:.6}");
                out.push_str(text.trim_end_matches('0').trim_end_matches('.'));
            }
            _ => out.push_str(&digits),
        }
        digits.clear();
        if character != '\n' {
            out.push(character);
        }
    }
    out + rest
}
