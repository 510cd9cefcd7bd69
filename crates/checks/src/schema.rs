//! What `boardlab` prints as JSON follows the published JSON Schema.

use crate::violation::Violation;
use serde_json::Value;

/// The published schema.
pub const PATH: &str = "docs/formats/result.schema.json";

/// Validates `json`, printed by `command`, against the `schema`.
#[must_use]
pub fn check(schema: &str, command: &str, json: &str) -> Vec<Violation> {
    let schema = match serde_json::from_str::<Value>(schema) {
        Ok(schema) => schema,
        Err(error) => return vec![Violation::new(PATH, error.line(), format!("no JSON: {error}"))],
    };
    let validator = match jsonschema::validator_for(&schema) {
        Ok(validator) => validator,
        Err(error) => return vec![Violation::new(PATH, 1, format!("no JSON Schema: {error}"))],
    };
    let value = match serde_json::from_str::<Value>(json) {
        Ok(value) => value,
        Err(error) => {
            return vec![Violation::new(command, error.line(), format!("no JSON: {error}"))];
        }
    };
    let errors = validator.iter_errors(&value);
    let message = |error: jsonschema::ValidationError<'_>| {
        let text = error.to_string().chars().take(500).collect::<String>();
        Violation::new(command, 1, format!("at `{}`: {text}", error.instance_path()))
    };
    errors.map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"anyOf": [{"$ref": "#/$defs/run"}],
        "$defs": {"run": {"type": "object", "required": ["schema"],
        "properties": {"schema": {"const": 1}}, "additionalProperties": false}}}"##;

    #[test]
    fn what_follows_the_schema_passes() {
        assert_eq!(check(SCHEMA, "boardlab list", r#"{"schema": 1}"#), []);
    }

    #[test]
    fn what_does_not_follow_it_is_found() {
        for bad in [r#"{"schema": 2}"#, "{}", r#"{"schema": 1, "other": 0}"#, "{", "[]"] {
            let found = check(SCHEMA, "boardlab list", bad);
            assert_eq!(found.len(), 1, "{bad}");
            assert_eq!(found[0].path, "boardlab list");
        }
    }

    #[test]
    fn a_broken_schema_is_found() {
        assert_eq!(check("{", "boardlab list", "{}")[0].path, PATH);
        assert_eq!(check(r#"{"type": 5}"#, "boardlab list", "{}")[0].path, PATH);
    }
}
