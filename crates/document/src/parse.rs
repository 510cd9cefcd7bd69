//! From text to tree, on top of the `toml` crate's parse with spans.
//!
//! Layer: rank 7. The `toml` crate limits nesting to 80 levels, so the recursion here is bounded.

use super::node::{Content, Entry, Node, Table};
use crate::error::Error;
use crate::source::{Place, Source};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a whole file.
pub(crate) fn document(source: &Arc<Source>) -> Result<Node, Error> {
    let root = DeTable::parse(source.text()).map_err(|error| syntax(source, &error))?;
    let text = Text { source, offset: 0 };
    let content = Content::Table(text.table(root.get_ref()));
    Ok(Node { place: Place::new(source, 0..0), content })
}

/// Reads the value of an argument, which stands at the bytes `span` of `source`.
///
/// What is not a TOML value is a bare string: the shell eats the quotes of `--set wait="256 us"`.
/// A date is a bare string as well, for nothing in boardlab takes one.
pub(crate) fn argument(source: &Arc<Source>, span: std::ops::Range<usize>) -> Node {
    let written = source.text()[span.clone()].trim_end();
    let skipped = written.len() - written.trim_start().len();
    let (offset, written) = (span.start + skipped, written.trim_start());
    let place = Place::new(source, offset..offset + written.len());
    match DeValue::parse(written) {
        Ok(value) if !value.get_ref().is_datetime() => Text { source, offset }.node(&value),
        _ => Node { place, content: Content::Text(written.into()) },
    }
}

fn syntax(source: &Arc<Source>, error: &toml::de::Error) -> Error {
    let end = source.text().len();
    let place = Place::new(source, error.span().unwrap_or(end..end));
    Error::Syntax(place, error.message().into())
}

/// A text that is being turned into nodes.
struct Text<'s> {
    source: &'s Arc<Source>,
    /// Where what was parsed begins in the source.
    offset: usize,
}

impl Text<'_> {
    fn place(&self, span: &std::ops::Range<usize>) -> Place {
        Place::new(self.source, span.start + self.offset..span.end + self.offset)
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let content = match value.get_ref() {
            DeValue::String(text) => Content::Text(text.to_string()),
            DeValue::Integer(number) => {
                Content::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok())
            }
            DeValue::Float(number) => Content::Float(number.as_str().into()),
            DeValue::Boolean(yes) => Content::Boolean(*yes),
            DeValue::Datetime(date) => Content::Date(date.to_string()),
            DeValue::Array(items) => {
                Content::List(items.iter().map(|item| self.node(item)).collect())
            }
            DeValue::Table(table) => Content::Table(self.table(table)),
        };
        Node { place: self.place(&value.span()), content }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let mut entries: Vec<_> = table.iter().collect();
        // The parser sorts by name; people read in the order of the file.
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<_>, _)| Entry {
            key: self.place(&key.span()),
            node: self.node(value),
        };
        let named = entries
            .into_iter()
            .map(|(key, value)| (key.get_ref().to_string(), entry((key, value))));
        Table(named.collect())
    }
}
