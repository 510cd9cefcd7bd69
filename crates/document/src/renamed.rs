//! Renamed keys: files and arguments with the old name are still read, and the user learns the new one.
//!
//! Layer: rank 7. Main type: [`RenamedKey`]; function: [`update`], which a document and an override apply to what they
//! parsed, so that readers know the new names only. A key whose new name stands beside it keeps its own, which the
//! reader reports as unknown.

use crate::node::{Content, Entry, Node, Table};
use crate::source::{Kind, Place};
use std::fmt;

/// The old and the new name of a key, behind the section that holds it if others have such a key too.
const KEYS: [(&str, &str); 12] = [
    ("spare", "over_provisioning"),
    ("wear.spares", "over_provisioning"),
    ("wear.limit", "endurance"),
    ("what_if.cache_blocks", "slc_cache_blocks"),
    ("single_bit_cache", "slc_cache"),
    ("single_bit_wear", "slc_wear"),
    ("flash.single_bit", "slc"),
    ("endurance.cycles", "pe_cycles"),
    ("errors.erases", "pe_cycles"),
    ("program.erases", "pe_cycles"),
    ("retention.erases", "pe_cycles"),
    ("disturb.erases", "pe_cycles"),
];
/// A key, and the old and the new name of one of its values.
const VALUES: [(&str, &str, &str); 1] = [("mapping.cells", "single-bit", "slc")];
/// The section whose keys are the user's own names.
const VARIABLES: &str = "variables";

/// An old name that was read as the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedKey {
    /// Where the old name stands.
    place: Place,
    /// The old name.
    old: &'static str,
    /// The new name.
    pub(crate) new: &'static str,
}

/// A warning.
impl fmt::Display for RenamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, Self { old, new, .. }) = (self.place.source(), self);
        match source.is_argument() {
            true => write!(f, "{} {}", source.name(), source.text())?,
            false => write!(f, "{}:{}", source.name(), self.place.line())?,
        }
        write!(f, ": `{old}` is now called `{new}`; use the new name.")
    }
}

/// Gives the keys and values at and below `node`, the value of `key`, their new names. Adds each old name to `found`.
pub(crate) fn update(node: &mut Node, key: &str, found: &mut Vec<RenamedKey>) {
    if node
        .place
        .source()
        .kind()
        .is_some_and(|kind| matches!(kind, Kind::Board | Kind::Reference | Kind::Defaults))
    {
        return;
    }
    match &mut node.content {
        Content::Table(table) => update_table(table, key, found),
        Content::List(items) => items.iter_mut().for_each(|item| update(item, key, found)),
        _ => {}
    }
}

fn update_table(table: &mut Table, section: &str, found: &mut Vec<RenamedKey>) {
    let old = std::mem::take(&mut table.0);
    let taken = |name: &str| old.contains_key(name);
    let renamed = |key: &str, entry: &Entry| {
        let renamed = renamed(section, key, &entry.key)?;
        (!taken(renamed.new)).then_some(renamed)
    };
    let names: Vec<_> = old.iter().map(|(key, entry)| renamed(key, entry)).collect();
    for ((key, mut entry), renamed) in old.into_iter().zip(names) {
        let key = renamed.as_ref().map_or(key, |renamed| renamed.new.into());
        found.extend(renamed);
        update(&mut entry.node, &key, found);
        found.extend(update_value(&mut entry.node, section, &key));
        table.0.insert(key, entry);
    }
}

/// The new name of `key` in `section`, if it has one.
pub(crate) fn renamed(section: &str, key: &str, place: &Place) -> Option<RenamedKey> {
    let known = |&&(old, _): &&(&'static str, _)| is(old, section, key);
    let (old, new) = KEYS.iter().find(known)?;
    let old = old.rsplit('.').next().unwrap_or(old);
    Some(RenamedKey { place: place.clone(), old, new })
}

/// Gives the value of `key` in `section` its new name; returns the old one.
pub(crate) fn update_value(node: &mut Node, section: &str, key: &str) -> Option<RenamedKey> {
    let node = match &mut node.content {
        Content::Table(table) => &mut table.0.get_mut("value")?.node,
        _ => node,
    };
    let Content::Text(text) = &mut node.content else { return None };
    let known = |(of, old, _): &&(&str, &str, &str)| is(of, section, key) && text == old;
    let (_, old, new) = VALUES.iter().find(known)?;
    *text = String::from(*new);
    Some(RenamedKey { place: node.place.clone(), old, new })
}

/// Whether `pattern` is `key` in `section`.
fn is(pattern: &str, section: &str, key: &str) -> bool {
    match pattern.split_once('.') {
        Some(pattern) => pattern == (section, key),
        None => pattern == key && section != VARIABLES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::{Document, Override};

    const OLD: &str = "\
spare = \"7 %\"
[flash.single_bit]
erase = \"2 ms\"
[mapping]
cells = { value = \"single-bit\", origin = \"assumed\", source = \"a test\" }
[[controller]]
reads.errors.program.erases = [0, 10]
";

    fn document(kind: Kind, text: &str, set: &[&str]) -> Document {
        let mut document = Document::parse(&Source::new(kind, "my.toml", text)).unwrap();
        let set: Vec<_> = set.iter().map(|one| Override::parse(one).unwrap()).collect();
        document.set(&set).unwrap();
        document
    }

    fn keys(document: &Document) -> Vec<String> {
        document.values().into_keys().collect()
    }

    #[test]
    fn a_file_with_old_names_reads_as_one_with_the_new() {
        let document = document(Kind::Part, OLD, &[]);
        let list = "controller.0.reads.errors.program.pe_cycles";
        let list = [format!("{list}.0"), format!("{list}.1")];
        let others = ["over_provisioning", "flash.slc.erase", "mapping.cells"].map(String::from);
        assert_eq!(keys(&document), [&others[..], &list].concat());
        assert!(document.values()["mapping.cells"].starts_with("{ value = slc,"));
        let warnings: Vec<_> = document.renamed().iter().map(ToString::to_string).collect();
        let first = "my.toml:1: `spare` is now called `over_provisioning`; use the new name.";
        assert_eq!((warnings.len(), warnings[0].as_str()), (4, first));
        assert!(
            warnings[2].starts_with("my.toml:5: `single-bit` is now called `slc`"),
            "{warnings:?}"
        );
    }

    #[test]
    fn an_argument_with_an_old_name_changes_the_key_with_the_new() {
        let new = "over_provisioning = 1\n[part.slc_cache]\nblocks = 2\n[part.mapping]\ncells = \"ordinary\"\n";
        let set = ["spare=7", "part.single_bit_cache.blocks=8", "part.mapping.cells=single-bit"];
        let document = document(Kind::Scenario, new, &set);
        let values: Vec<_> = document.values().into_values().collect();
        assert_eq!(values, ["7", "8", "slc"]);
        let warning = "--set spare=7: `spare` is now called `over_provisioning`; use the new name.";
        assert_eq!(document.renamed()[0].to_string(), warning);
        assert_eq!(document.renamed().len(), 3);
    }

    #[test]
    fn keys_that_only_look_alike_keep_their_names() {
        let text = "[fio.variables]\nspare = 1\n[onfi]\ncycles = 2\nerases = 3\n";
        let document = document(Kind::Scenario, text, &["fio.variables.spare=4"]);
        assert_eq!(keys(&document), ["fio.variables.spare", "onfi.cycles", "onfi.erases"]);
        let reference = Document::parse(&Source::new(Kind::Reference, "r.toml", OLD)).unwrap();
        assert!(document.renamed().is_empty() && reference.renamed().is_empty());
    }

    #[test]
    fn an_old_name_beside_the_new_one_is_left_to_the_reader() {
        let document = document(Kind::Part, "spare = 1\nover_provisioning = 2\n", &[]);
        assert_eq!(keys(&document), ["spare", "over_provisioning"]);
        assert!(document.renamed().is_empty());
    }
}
