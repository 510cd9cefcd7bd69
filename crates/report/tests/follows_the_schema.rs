//! Written results follow the published JSON Schema, and the schema forbids everything else.

use crate::sample;

use boardlab_report::json;
use boardlab_result::RunResult;
use jsonschema::Validator;
use serde_json::{Value, json};

fn validator() -> Validator {
    let text = include_str!("../../../docs/formats/result.schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn assert_valid(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> = validator()
        .iter_errors(&value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn a_run_and_a_reproduction_are_valid() {
    assert_valid(&json::run(&sample::nor_write()));
    assert_valid(&json::run(&sample::with_every_verdict()));
    assert_valid(&json::reproduction(&sample::reproduction()));
    assert_valid(&json::run(&RunResult::new("empty", "", u64::MAX, "0.1.0")));
}

#[test]
fn the_example_of_the_document_is_valid_and_is_read() {
    let document = include_str!("../../../docs/formats/result.md");
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    assert_valid(example);
    assert_eq!(json::read(example).unwrap().results[0].scenario, "nor-write");
}

/// Every object in `value`, by its JSON pointer.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(at.into());
            for (key, field) in fields {
                objects(field, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn an_unknown_field_is_invalid_everywhere() {
    let validator = validator();
    let good: Value = serde_json::from_str(&json::run(&sample::nor_write())).unwrap();
    let mut places = Vec::new();
    objects(&good, "", &mut places);
    assert!(places.len() > 100, "{}", places.len());
    for place in places {
        let mut bad = good.clone();
        bad.pointer_mut(&place).unwrap()["unknown"] = json!(1);
        assert!(!validator.is_valid(&bad), "an unknown field at `{place}` is valid");
    }
}

#[test]
fn wrong_values_are_invalid() {
    let validator = validator();
    let good: Value = serde_json::from_str(&json::run(&sample::nor_write())).unwrap();
    for (place, wrong) in [
        ("/schema", json!(1)),
        ("/seed", json!(-1)),
        ("/virtual_time_ns", json!("1 s")),
        ("/tables/0/rows/0/cells/mean_ns/verdict", json!("good")),
        ("/tables/0/rows/0/cells/mean_ns/value", json!([1])),
        ("/charts/0/layers/0/style", json!("pie")),
        ("/parameters/0/origin", json!("guessed")),
        ("/attachments/0/name", json!("../escape")),
        ("/findings/0", json!(1)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = wrong;
        assert!(!validator.is_valid(&bad), "{place}");
    }
    for value in [json!([]), json!({}), json!({"schema": 2, "results": [{}]}), json!(null)] {
        assert!(!validator.is_valid(&value), "{value}");
    }
}
