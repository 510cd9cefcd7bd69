//! Every number of a part or a board says where it comes from.
//!
//! A number, or a text that is a quantity (`"284 ns"`), stands in a table with an `origin`, one of the
//! six of `boardlab-result`, and a `source` that is not empty:
//! `x = { value = "284 ns", origin = "published", source = "..." }`. The two keys cover all that stands
//! in the same table, so a distribution of three numbers names its source once. A source that names a
//! document says where in it, see [`place`]: also those of a scenario's own values.

mod place;

use crate::violation::{Violation, line_of};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a parameter may rest on.
const ORIGINS: [&str; 6] = ["datasheet", "published", "derived", "measured", "assumed", "fitted"];
/// Keys whose texts are names and prose, which may begin with a number.
const PROSE: [&str; 10] = [
    "id",
    "title",
    "name",
    "description",
    "note",
    "source",
    "vendor",
    "schema",
    "serial",
    "firmware",
];
const UNITS: [&str; 32] = [
    "ns", "us", "ms", "s", "min", "h", "d", "days", "years", "bit", "bits", "B", "KiB", "MiB",
    "GiB", "TiB", "kB", "MB", "GB", "Hz", "kHz", "MHz", "GHz", "V", "mV", "A", "mA", "uA", "W",
    "mW", "%", "words",
];

/// Checks the part or board file `text`.
#[must_use]
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    walk(path, text, true)
}

/// Checks the scenario `text`, whose numbers are choices: only those with an origin have a source.
#[must_use]
pub fn check_scenario(path: &str, text: &str) -> Vec<Violation> {
    walk(path, text, false)
}

fn walk(path: &str, text: &str, every_number: bool) -> Vec<Violation> {
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            return vec![Violation::new(path, line, format!("not TOML: {}", error.message()))];
        }
    };
    let mut walk = Walk { path, text, every_number, violations: Vec::new() };
    walk.table(&table, "");
    walk.violations
}

struct Walk<'a> {
    path: &'a str,
    text: &'a str,
    /// Whether every number needs an origin.
    every_number: bool,
    violations: Vec<Violation>,
}

impl Walk<'_> {
    fn report(&mut self, offset: usize, message: String) {
        self.violations.push(Violation::new(self.path, line_of(self.text, offset), message));
    }

    fn table(&mut self, table: &DeTable<'_>, key: &str) {
        let (origin, source) = (table.get("origin"), table.get("source"));
        if let Some(origin) = origin {
            self.origin(origin, source, key);
            return;
        }
        for (name, value) in table {
            let name = name.get_ref();
            let full = if key.is_empty() { name.to_string() } else { format!("{key}.{name}") };
            self.value(value, &full, name);
        }
    }

    fn origin(
        &mut self,
        origin: &Spanned<DeValue<'_>>,
        source: Option<&Spanned<DeValue<'_>>>,
        key: &str,
    ) {
        let name = origin.get_ref().as_str().unwrap_or_default();
        if !ORIGINS.contains(&name) {
            let message = format!("`{key}`: origin `{name}` is none of {}", ORIGINS.join(", "));
            self.report(origin.span().start, message);
        }
        let source = source.and_then(|source| source.get_ref().as_str()).unwrap_or_default();
        if source.trim().is_empty() {
            let message = format!("`{key}`: has an origin and no source: name document and place");
            self.report(origin.span().start, message);
        } else if place::is_missing(source) {
            let message = format!(
                "`{key}`: the source names a document and no place in it: add section, table, figure, page, heading, \
                 parameter or file, or `section not recorded`: {source}"
            );
            self.report(origin.span().start, message);
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, key: &str, name: &str) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, key),
            DeValue::Array(values) => {
                for value in values {
                    self.value(value, key, name);
                }
            }
            DeValue::Integer(_) | DeValue::Float(_) if !PROSE.contains(&name) => {
                self.unsourced(value, key);
            }
            DeValue::String(text) if !PROSE.contains(&name) && is_quantity(text) => {
                self.unsourced(value, key);
            }
            _ => {}
        }
    }

    fn unsourced(&mut self, value: &Spanned<DeValue<'_>>, key: &str) {
        if self.every_number {
            let message = format!("`{key}`: a number without origin and source");
            self.report(value.span().start, message);
        }
    }
}

/// Whether `text` is a number, alone or with a unit: `284 ns`, `0x227E`, `33.3MHz`, `5 %`, or a
/// distribution of such: `triangular(80 us, 95 us, 130 us)`.
fn is_quantity(text: &str) -> bool {
    let text = text.trim();
    if let Some((_, arguments)) = text.strip_suffix(')').and_then(|call| call.split_once('(')) {
        return arguments.split(',').any(is_quantity);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let unsigned = text.trim_start_matches(['-', '+', '~', '<', '>']).trim_start();
    let end = unsigned.find(|c: char| !(c.is_ascii_digit() || "._,".contains(c)));
    let (number, unit) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let unit = unit.trim();
    let base = unit.split(['/', ' ']).next().unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit()) && (unit.is_empty() || UNITS.contains(&base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        check("parts/a.toml", text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sourced_number_passes_at_any_depth() {
        let good = r#"
            title = "128 MiB part"
            id = "29gl01"
            cfi = true
            command_set = "amd"
            [program]
            typical = { value = "284 ns", origin = "published", source = "S29 data sheet, 11.3" }
            wait = { min = "170 us", max = "226 us", origin = "assumed", source = "guess" }
            [[regions]]
            count = { value = 127, origin = "datasheet", source = "DS, 5" }
            sizes = [{ value = "8 KiB", origin = "derived", source = "sum" }]
        "#;
        assert_eq!(messages(good), [""; 0]);
    }

    #[test]
    fn a_bare_number_is_found_with_its_line_and_key() {
        assert_eq!(
            messages("[program]\nbuffer = 512\n"),
            ["parts/a.toml:2: `program.buffer`: a number without origin and source"]
        );
        for bare in [
            "\"284 ns\"",
            "1.5",
            "\"0x227E\"",
            "[1]",
            "\"33.3MHz\"",
            "\"-5 %\"",
            "\"uniform(1 us, 2 us)\"",
            "\"7 MB/s\"",
        ] {
            assert_eq!(messages(&format!("x = {bare}\n")).len(), 1, "{bare}");
        }
        assert_eq!(messages("x = { value = \"1 us\", source = \"DS\" }\n").len(), 1);
        assert_eq!(messages("[[regions]]\ncount = 127\nsize = \"64 KiB\"\n").len(), 2);
    }

    #[test]
    fn an_origin_is_one_of_six_and_comes_with_a_source() {
        assert_eq!(messages("x = { value = 1, origin = \"guess\", source = \"me\" }\n").len(), 1);
        assert_eq!(messages("x = { value = 1, origin = \"derived\", source = \" \" }\n").len(), 1);
        assert_eq!(messages("x = { value = 1, origin = \"derived\" }\n").len(), 1);
        assert_eq!(messages("x = { value = 1, origin = 5 }\n").len(), 2);
    }

    #[test]
    fn a_source_that_names_a_document_names_a_place_in_it() {
        let text = "x = { value = 1, origin = \"datasheet\", source = \"S29 data sheet\" }\n";
        assert_eq!(messages(text).len(), 1);
        assert!(messages(text)[0].contains("no place in it"));
        assert_eq!(check_scenario("scenarios/a.toml", text).len(), 1);
        assert_eq!(check_scenario("scenarios/a.toml", "x = 1\n").len(), 0, "a choice");
    }

    #[test]
    fn words_are_no_quantities() {
        for words in ["s29gl01gs", "2-bit status", "toggle", "4.x kernels", "128M parts"] {
            assert!(!is_quantity(words), "{words}");
        }
    }

    #[test]
    fn a_broken_file_is_a_violation() {
        assert_eq!(messages("a = 1\nb = = 2\n").len(), 1);
    }
}
