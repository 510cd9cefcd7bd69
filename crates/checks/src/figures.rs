//! No published figure stands in the code: what the tables print is what a run must find by itself.
//!
//! The figures are read from `reference/*.toml`, where each cell keeps its printed form. A figure is
//! distinctive when it has three significant digits and is not a power of two; it is looked for as
//! printed and in every unit of its quantity (`43.2 s`, `43_200 ms`, `43_200_000_000` ns). Comments and
//! tests may quote figures; numbers and texts in the code may not.

use crate::source::SourceFile;
use crate::violation::{Violation, line_of};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A published figure that is no input of the code although the same number stands there.
#[derive(Debug, Clone, Copy)]
pub struct AllowedNumber {
    /// File in which the number stands.
    pub path: &'static str,
    /// The number as written in the code.
    pub literal: &'static str,
    /// Why it has nothing to do with the figure.
    pub reason: &'static str,
}

/// The exceptions. Empty as long as no coincidence is unavoidable.
pub const ALLOWED: &[AllowedNumber] = &[];

/// Published figures: canonical number and the place that prints it.
#[derive(Debug, Clone, Default)]
pub struct Figures(BTreeMap<String, String>);

impl Figures {
    /// How many distinctive forms there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds every printed figure of the reference table `text`.
    ///
    /// # Errors
    /// When the file is not TOML.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), Violation> {
        let table = DeTable::parse(text)
            .map_err(|error| Violation::new(path, 1, format!("not TOML: {error}")))?;
        let mut printed = Vec::new();
        for (key, value) in table.get_ref() {
            collect_printed(key.get_ref(), value, &mut printed);
        }
        for (offset, figure) in printed {
            let place = format!("`{figure}`, {path}:{}", line_of(text, offset));
            for form in forms(&figure) {
                self.0.entry(form).or_insert_with(|| place.clone());
            }
        }
        Ok(())
    }

    /// Where the number written as `literal` is published, if it is distinctive.
    #[must_use]
    pub fn find(&self, literal: &str) -> Option<&str> {
        self.0.get(&canonical(literal)?).map(String::as_str)
    }
}

fn collect_printed(key: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<(usize, String)>) {
    match value.get_ref() {
        DeValue::String(text) if key == "printed" => {
            found.push((value.span().start, text.to_string()));
        }
        DeValue::Array(values) => {
            for value in values {
                collect_printed(key, value, found);
            }
        }
        DeValue::Table(table) => {
            for (key, value) in table {
                collect_printed(key.get_ref(), value, found);
            }
        }
        _ => {}
    }
}

/// The distinctive forms of a printed figure such as `43.2 s` or `170 to 226 us`.
fn forms(printed: &str) -> Vec<String> {
    let unit = printed.rsplit(' ').next().unwrap_or_default();
    let steps: &[i32] = match unit {
        "ns" => &[0],
        "us" => &[0, 3],
        "ms" => &[0, 3, 6],
        "s" => &[0, 3, 6, 9],
        _ => &[0],
    };
    let numbers = numbers_in(printed).filter_map(Decimal::parse).filter(Decimal::is_distinctive);
    numbers.flat_map(|number| steps.iter().map(move |step| number.shifted(*step))).collect()
}

/// A number as its digits without zeros at the ends, times a power of ten.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    digits: String,
    exponent: i32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let text: String = text.chars().filter(|c| *c != '_' && *c != ',').collect();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa.to_string(), exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        let dropped = i32::try_from(digits.len() - kept.len()).ok()?;
        let decimals = i32::try_from(fraction.len()).ok()?;
        Some(Self { digits: kept.into(), exponent: exponent - decimals + dropped })
    }

    /// Three significant digits, zeros at the end not counted, and no power of two.
    fn is_distinctive(&self) -> bool {
        let zeros = usize::try_from(self.exponent).unwrap_or(0);
        let whole = format!("{}{}", self.digits, "0".repeat(zeros.min(30))).parse::<u128>();
        let power = self.exponent >= 0 && whole.is_ok_and(u128::is_power_of_two);
        self.digits.len() >= 3 && !power
    }

    fn shifted(&self, step: i32) -> String {
        format!("{}e{}", self.digits, self.exponent + step)
    }
}

/// One form for each value: `43_200`, `43.2e3` and `43200_u64` are the same. A number in another base is
/// a command, a mask or an address and gives none.
fn canonical(literal: &str) -> Option<String> {
    Decimal::parse(strip_suffix(literal)).map(|number| number.shifted(0))
}

/// Removes the type from `43_200_u64`.
fn strip_suffix(literal: &str) -> &str {
    const SUFFIXES: [&str; 14] = [
        "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
        "f32", "f64",
    ];
    let suffix = SUFFIXES.iter().find_map(|suffix| literal.strip_suffix(suffix));
    suffix.unwrap_or(literal).trim_end_matches('_')
}

/// The numbers in a text, such as `170` and `226` in `170 to 226 us`. Digits that belong to a word or a
/// version (`u64`, `2013.04.1`) are none.
fn numbers_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "._,".contains(c)));
    let words =
        words.map(|word| word.trim_matches(['.', ',']).trim_end_matches(['n', 'u', 'm', 's']));
    words.filter(|word| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.matches('.').count() < 2
            && word.chars().all(|c| c.is_ascii_digit() || "._,".contains(c))
    })
}

/// Looks for published figures in one file of code.
#[must_use]
pub fn check(source: &SourceFile, figures: &Figures) -> Vec<Violation> {
    let Ok(tokens) = source.text.parse::<TokenStream>() else { return Vec::new() };
    let mut literals = Vec::new();
    collect_literals(tokens, &mut literals);
    let mut violations = Vec::new();
    for literal in literals {
        let text = literal.to_string();
        let quoted = text.contains('"');
        let numbers: Vec<&str> =
            if quoted { numbers_in(&text).collect() } else { vec![text.as_str()] };
        for number in numbers {
            let excused = ALLOWED.iter().any(|a| a.path == source.path && a.literal == number);
            if let Some(place) = figures.find(number).filter(|_| !excused) {
                let message = format!("`{number}` is a published figure ({place}): read it there");
                violations.push(source.violation(literal.span(), message));
            }
        }
    }
    source.outside_tests(violations)
}

/// Collects all literals but those of documentation, which is an attribute `#[doc = ".."]` here.
fn collect_literals(tokens: TokenStream, found: &mut Vec<proc_macro2::Literal>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => found.push(literal),
            TokenTree::Group(group) => {
                let mut inner = group.stream().into_iter();
                let documentation =
                    matches!(inner.next(), Some(TokenTree::Ident(name)) if name == "doc");
                if !documentation {
                    collect_literals(group.stream(), found);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "[[rows]]\nid = \"L-7\"\nmean_ns = { printed = \"253 us\" }\n\
        count = { printed = \"131072\" }\nshort_ns = { printed = \"11 ms\" }\n\
        cells = [{ printed = \"43.2 s\" }, { printed = \"170 to 226 us\" }]\n";

    fn figures() -> Figures {
        let mut figures = Figures::default();
        figures.read("reference/nor.toml", TABLE).unwrap();
        figures
    }

    fn messages(text: &str) -> Vec<String> {
        let source = SourceFile::parse("crates/nor/src/a.rs", text).unwrap();
        check(&source, &figures()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_figure_in_code_is_found_however_it_is_written() {
        for literal in [
            "253",
            "253_000",
            "253e3",
            "253.0_f64",
            "43.2",
            "43_200_000_000_u64",
            "226",
            "43_200",
            "\"about 253 us\"",
            "\"43.2s\"",
        ] {
            let text = format!("const A: X = {literal};");
            assert_eq!(messages(&text).len(), 1, "{literal}");
        }
    }

    #[test]
    fn the_message_says_where_the_figure_is_published() {
        assert_eq!(
            messages("\nconst A: u64 = f(253_000);"),
            ["crates/nor/src/a.rs:2: `253_000` is a published figure \
              (`253 us`, reference/nor.toml:3): read it there"]
        );
    }

    #[test]
    fn other_numbers_are_free() {
        for literal in [
            "131_072",
            "11",
            "11_000_000",
            "170",
            "2530",
            "25.3",
            "432",
            "1.43",
            "'4'",
            "\"v253\"",
            "\"2.253.1\"",
            "0x253",
            "0xFD",
        ] {
            let text = format!("const A: X = {literal};");
            assert_eq!(messages(&text), [""; 0], "{literal}");
        }
    }

    #[test]
    fn comments_documentation_and_tests_may_quote_figures() {
        assert_eq!(messages("/// Printed as 253 us.\nconst A: u8 = 1; // 43.2 s\n"), [""; 0]);
        assert_eq!(messages("#[cfg(test)]\nmod tests { const A: u64 = 253_000; }"), [""; 0]);
        let outside =
            SourceFile::parse("crates/nor/tests/a.rs", "const A: u64 = 253_000;").unwrap();
        assert_eq!(check(&outside, &figures()), []);
    }

    #[test]
    fn each_allowed_number_has_its_reason() {
        for allowed in ALLOWED {
            assert!(!allowed.reason.is_empty(), "{}: {}", allowed.path, allowed.literal);
        }
    }
}
