//! Lines of CSV, for all CSV that the program writes.
//!
//! Layer: rank 1. Function: [`line()`]. Fields are quoted as RFC 4180 says; lines end with a bare
//! newline, not with its CRLF, because the readers are shell tools as often as spreadsheets. A
//! spreadsheet evaluates a cell that begins with `=`, `+`, `-`, `@`, a tab or a line break as a
//! formula, so such texts are prefixed with an apostrophe (OWASP, CSV Injection); numbers stay numbers.

use std::borrow::Cow;

/// Adds a line with `fields` to `csv`.
pub fn line<'t>(csv: &mut String, fields: impl IntoIterator<Item = Cow<'t, str>>) {
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            csv.push(',');
        }
        csv.push_str(&quoted(&defused(&field)));
    }
    csv.push('\n');
}

/// `field` in a form that no spreadsheet evaluates. The full-width forms of `=`, `+`, `-` and `@`
/// count as well.
fn defused(field: &str) -> Cow<'_, str> {
    const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if field.starts_with(FORMULA) && !is_number(field) {
        format!("'{field}").into()
    } else {
        field.into()
    }
}

/// Whether `field` is a decimal number as we write it: `-12`, `0.5`, `1e-7`.
fn is_number(field: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let signed = |text: &str| digits(text.strip_prefix(['-', '+']).unwrap_or(text));
    let (mantissa, exponent) = field.split_once('e').unwrap_or((field, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    signed(whole) && digits(fraction) && signed(exponent)
}

/// RFC 4180, 2.6 and 2.7: quotes around a field with a comma, a quote or a line break; a quote inside becomes two.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_would_be_a_formula_begin_with_an_apostrophe_and_numbers_do_not() {
        for number in ["-12", "+3", "-0.25", "-1e-7", "12", ""] {
            assert_eq!(defused(number), number);
        }
        for words in ["-e5", "-1.", "-.5", "-1-2", "+1 %", "=1", "@x", "\t=1", "-inf", "－1", "-"]
        {
            assert_eq!(defused(words), format!("'{words}"));
        }
        for words in ["a=1", "1-2", "'=1", "e5", "é-"] {
            assert_eq!(defused(words), words);
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut csv = String::new();
        line(&mut csv, ["a", "b,c", "d\"e", "=f\n,", "-1"].map(Cow::Borrowed));
        assert_eq!(csv, "a,\"b,c\",\"d\"\"e\",\"'=f\n,\",-1\n");
    }
}
