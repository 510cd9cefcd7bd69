//! The keys of a scenario that name files of their own: parts and boards.
//!
//! Layer: rank 7. Functions: [`mounted`], [`mounts`].

use crate::source::Kind;
use crate::{Document, Node};

/// The keys of a scenario that name other files, and what those describe.
const MOUNTS: [(&str, Kind); 3] =
    [("part", Kind::Part), ("board", Kind::Board), ("exec.card", Kind::Part)];
/// The section of which every key names a part.
const DRIVES: &str = "drives";

/// What the file describes that the key at the dotted `path` names; `None` when it names none.
#[must_use]
pub fn mounted(path: &str) -> Option<Kind> {
    let known = MOUNTS.iter().find(|(key, _)| *key == path).map(|(_, kind)| *kind);
    let drive =
        || path.split_once('.').filter(|(section, key)| *section == DRIVES && !key.contains('.'));
    known.or_else(|| drive().map(|_| Kind::Part))
}

/// The keys of `document` that name other files.
#[must_use]
pub fn mounts(document: &Document) -> Vec<String> {
    let drives = document.get(DRIVES).and_then(Node::as_table);
    let drives =
        drives.into_iter().flat_map(|table| table.0.keys()).map(|key| format!("{DRIVES}.{key}"));
    MOUNTS.iter().map(|(key, _)| String::from(*key)).chain(drives).collect()
}
