//! The built-in files, and files on disk, of parts and boards.
//!
//! Layer: rank 12. Functions for Python: [`list_files`], [`file`] and [`uses`].

use crate::fault::Fault;
use crate::guard::guarded;
use boardlab_document::source::Kind;
use boardlab_document::{Document, Node};
use boardlab_lab::registry;
use boardlab_parts::catalog;
use pyo3::prelude::*;
use serde_json::{Value, json};

fn kind_of(kind: &str) -> Kind {
    match kind {
        "part" => Kind::Part,
        "board" => Kind::Board,
        _ => Kind::Scenario,
    }
}

/// The built-in files of a `kind`: `part`, `board` or `scenario`, as JSON; of parts only those whose
/// kind is `of`, if that is given.
#[pyfunction]
pub(crate) fn list_files(py: Python<'_>, kind: &str, of: Option<&str>) -> PyResult<String> {
    guarded(py, "list", || {
        let kind = kind_of(kind);
        let mut all = Vec::new();
        for file in catalog::all(kind) {
            let document = catalog::read(kind, file.name, None)?;
            if of.is_none_or(|of| text(&document, "kind") == Some(of)) {
                all.push(json!({
                    "name": file.name,
                    "title": document.title()?,
                    "kind": text(&document, "kind"),
                    "path": file.path,
                }));
            }
        }
        Ok(Value::from(all).to_string())
    })
}

/// The part or the board `name`, a built-in one or a path, as JSON.
#[pyfunction]
pub(crate) fn file(py: Python<'_>, kind: &str, name: &str) -> PyResult<String> {
    guarded(py, "Part.load", || described(kind_of(kind), name))
}

/// The built-in scenarios that take the part or the board `name`; none for one on disk.
#[pyfunction]
pub(crate) fn uses(py: Python<'_>, kind: &str, name: &str) -> PyResult<Vec<&'static str>> {
    guarded(py, "Part.uses", || {
        let kind = kind_of(kind);
        if !catalog::has(kind, name) {
            return Ok(Vec::new());
        }
        Ok(registry::uses(kind, name)?.into_iter().map(|(scenario, _)| scenario).collect())
    })
}

fn described(kind: Kind, name: &str) -> Result<String, Fault> {
    let source = catalog::find(kind, name, None)?;
    let document = catalog::read(kind, name, None)?;
    let values: Vec<_> = document.values().into_keys().map(|key| value(&document, &key)).collect();
    let known = json!({
        "name": name,
        "title": document.title()?,
        "kind": text(&document, "kind"),
        "path": source.name(),
        "text": source.text(),
        "values": values,
    });
    Ok(known.to_string())
}

/// A value with its origin and its source, where it has them.
fn value(document: &Document, key: &str) -> Value {
    let part = |part: &str| document.get(&format!("{key}.{part}"));
    let words = |node: Option<&Node>| node.and_then(Node::as_text).map(String::from);
    let node = part("value").filter(|_| part("origin").is_some()).or_else(|| document.get(key));
    json!({
        "key": key,
        "value": node.map(Node::written),
        "origin": words(part("origin")),
        "source": words(part("source")),
    })
}

fn text<'d>(document: &'d Document, key: &str) -> Option<&'d str> {
    document.get(key).and_then(Node::as_text)
}
