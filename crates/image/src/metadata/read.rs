//! Reads metadata of files: untrusted JSON, each entry with its place.
//!
//! Layer: rank 7. Main types: [`Entry`], [`Placed`]; main function: [`read`]. What an entry says alone is checked while it is
//! parsed, so that an error has the place of the value; what entries say together is checked here.

use super::{FORMAT, VERSION};
use crate::files::FileProblem;
use crate::files::devices::place_of;
use crate::files::problem::MetadataProblem;
use crate::files::why::kind_word;
use crate::names::{shown, unshown};
use boardlab_vfs::{Device, Kind, NAME_MAX, Timestamp, is_plain_name};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt;

/// A place, line and column, and what is wrong there.
pub(super) type Found = ((usize, usize), FileProblem);

/// An entry and its place.
#[derive(Debug)]
pub(super) struct Placed {
    /// The byte that it begins with.
    at: usize,
    /// What it says.
    pub(super) entry: Entry,
    /// An earlier entry for the same file.
    pub(super) same: Option<usize>,
}

/// What the metadata say of a name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    path: TreePath,
    kind: Word,
    mode: Mode,
    /// Owner.
    pub(super) uid: u32,
    /// Group.
    pub(super) gid: u32,
    modified: i64,
    #[serde(default)]
    nanos: Nanos,
    device: Option<(u32, u32)>,
    target: Option<Name>,
    link: Option<TreePath>,
    #[serde(default)]
    attributes: Attributes,
}

impl Entry {
    /// The path in the tree.
    pub(super) fn path(&self) -> &[u8] {
        &self.path.0
    }

    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        let (major, minor) = self.device.unwrap_or_default();
        let device = Device { major, minor };
        match self.kind {
            Word::File => Kind::File,
            Word::Directory => Kind::Directory,
            Word::Link => Kind::Symlink,
            Word::Pipe => Kind::Fifo,
            Word::Socket => Kind::Socket,
            Word::Character => Kind::Character(device),
            Word::Block => Kind::Block(device),
        }
    }

    /// Permission bits.
    pub(super) const fn mode(&self) -> u32 {
        self.mode.0
    }

    /// The last change of the content.
    pub(super) const fn modified(&self) -> Timestamp {
        Timestamp { seconds: self.modified, nanos: self.nanos.0 }
    }

    /// The target of a symbolic link.
    pub(super) fn target(&self) -> &[u8] {
        self.target.as_ref().map_or(&[], |target| &target.0)
    }

    /// Extended attributes in the order of their names.
    pub(super) fn attributes(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.attributes.0
    }

    /// Whether it says the same of a file as `other`, which is another name of it.
    fn agrees(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.kind(), one.mode(), one.uid, one.gid, one.modified());
        of(self) == of(other)
            && self.target() == other.target()
            && self.attributes() == other.attributes()
    }

    /// What it has too much or too little for its kind.
    fn check(&self) -> Result<(), MetadataProblem> {
        let is_device = matches!(self.kind, Word::Character | Word::Block);
        let is_link = matches!(self.kind, Word::Link);
        let keys = [
            ("device", is_device, self.device.is_some()),
            ("target", is_link, self.target.is_some()),
            (
                "link",
                !matches!(self.kind, Word::Directory) && self.link.is_some(),
                self.link.is_some(),
            ),
        ];
        match keys.into_iter().find(|(_, needs, has)| needs != has) {
            Some((key, is_missing, _)) => {
                let kind = kind_word(self.kind());
                Err(MetadataProblem::Key { path: shown(self.path()), key, kind, is_missing })
            }
            None => Ok(()),
        }
    }
}

/// Words for kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Character,
    Block,
}

/// Bytes that the JSON has with escapes.
#[derive(Debug, Clone)]
struct Name(Vec<u8>);

fn unescaped<E: Error>(text: &str) -> Result<Vec<u8>, E> {
    unshown(text.as_bytes()).map_err(|at| {
        let what = format!("the backslash at byte {at} of the text begins no escape");
        E::custom(format_args!("{what}, expected \\x00 to \\xff, or \\u{{0}} to \\u{{10ffff}}"))
    })
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        unescaped(&String::deserialize(from)?).map(Self)
    }
}

/// A path of the tree.
#[derive(Debug, Clone)]
struct TreePath(Vec<u8>);

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let path = unescaped(&text)?;
        let names = path.strip_prefix(b"/").map(|rest| rest.split(|&byte| byte == b'/'));
        let fits = |name: &[u8]| is_plain_name(name) && name.len() <= NAME_MAX;
        if path == b"/" || names.is_some_and(|mut names| names.all(fits)) {
            return Ok(Self(path));
        }
        let path = shown(text.as_bytes());
        Err(D::Error::custom(format_args!(
            "`{path}` is no path, expected one from / on, with names of at most {NAME_MAX} bytes, and no . or .."
        )))
    }
}

/// Permission bits as an octal number.
#[derive(Debug, Clone, Copy)]
struct Mode(u32);

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| are_digits && *mode <= 0o7777);
        mode.map(Self).ok_or_else(|| {
            let text = shown(text.as_bytes());
            let expected = "an octal number up to 7777 as text, such as \"0755\"";
            D::Error::custom(format_args!("the mode cannot be `{text}`, expected {expected}"))
        })
    }
}

/// A part of a second.
#[derive(Debug, Clone, Copy, Default)]
struct Nanos(u32);

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let nanos = u32::deserialize(from)?;
        if nanos < 1_000_000_000 {
            return Ok(Self(nanos));
        }
        Err(D::Error::custom(format_args!("{nanos} nanoseconds, expected less than a second")))
    }
}

/// Extended attributes, none of them twice.
#[derive(Debug, Clone, Default)]
struct Attributes(Vec<(Vec<u8>, Vec<u8>)>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(AttributesVisitor)
    }
}

struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the values of extended attributes")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Attributes, M::Error> {
        let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        while let Some((Name(name), Name(value))) = map.next_entry()? {
            if name.is_empty() {
                return Err(M::Error::custom("an attribute without a name, expected a name"));
            }
            all.push((name, value));
        }
        all.sort();
        if let Some(twice) = all.windows(2).find(|two| two[0].0 == two[1].0) {
            let name = shown(&twice[0].0);
            return Err(M::Error::custom(format_args!(
                "the attribute `{name}` twice, expected once"
            )));
        }
        Ok(Attributes(all))
    }
}

/// What tells whether the rest can be understood.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u64>,
}

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u64,
    #[serde(rename = "image")]
    _image: String,
    #[serde(borrow)]
    files: Vec<&'a RawValue>,
}

/// Line and column of a byte of `text`.
fn place(text: &str, at: usize) -> (usize, usize) {
    place_of(&text.as_bytes()[..at.min(text.len())])
}

/// What the reader of JSON says of `part`, which begins at `start` of `text`.
fn refused(text: &str, (start, part): (usize, &str), error: &serde_json::Error) -> Found {
    let lines = part.split_inclusive('\n').take(error.line().saturating_sub(1));
    let at = start + lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    let says = error.to_string();
    let says = says.rsplit_once(" at line ").map_or(says.as_str(), |(says, _)| says);
    let problem = MetadataProblem::Json { says: shown(says.as_bytes()) };
    (place(text, at), problem.into())
}

/// The entries of metadata.
///
/// # Errors
/// The place, and what is wrong there.
pub(super) fn read(text: &str) -> Result<Vec<Placed>, Found> {
    let whole = |error: serde_json::Error| refused(text, (0, text), &error);
    let head: Head = serde_json::from_str(text).map_err(whole)?;
    let wrong = |problem: MetadataProblem| Err(((1, 1), problem.into()));
    match (head.format.as_deref(), head.version) {
        (Some(FORMAT), Some(VERSION)) => {}
        (Some(FORMAT), Some(found)) => return wrong(MetadataProblem::Version { found }),
        (Some(FORMAT), None) => {}
        (found, _) => {
            let found = found.map(|found| shown(found.as_bytes()));
            return wrong(MetadataProblem::Format { found });
        }
    }
    let document: Document<'_> = serde_json::from_str(text).map_err(whole)?;
    let mut all: Vec<Placed> = Vec::with_capacity(document.files.len());
    let mut known: HashMap<Vec<u8>, usize> = HashMap::with_capacity(document.files.len());
    for (number, part) in document.files.iter().map(|part| part.get()).enumerate() {
        let at = part.as_ptr().addr() - text.as_ptr().addr();
        let entry: Entry =
            serde_json::from_str(part).map_err(|error| refused(text, (at, part), &error))?;
        let same = related(text, &entry, &all, &known);
        let same = same.map_err(|problem| (place(text, at), problem.into()))?;
        known.insert(entry.path().to_vec(), number);
        all.push(Placed { at, entry, same });
    }
    Ok(all)
}

/// The earlier entry for the same file, which says the same of it.
fn related(
    text: &str,
    entry: &Entry,
    all: &[Placed],
    known: &HashMap<Vec<u8>, usize>,
) -> Result<Option<usize>, MetadataProblem> {
    entry.check()?;
    let path = || shown(entry.path());
    let line = |found: usize| place(text, all[found].at).0;
    if let Some(&first) = known.get(entry.path()) {
        return Err(MetadataProblem::Twice { path: path(), line: line(first) });
    }
    let Some(TreePath(target)) = &entry.link else { return Ok(None) };
    let first = || shown(target);
    let Some(&found) = known.get(target) else {
        return Err(MetadataProblem::First { path: path(), first: first() });
    };
    if !entry.agrees(&all[found].entry) {
        return Err(MetadataProblem::Differs { path: path(), first: first(), line: line(found) });
    }
    Ok(Some(all[found].same.unwrap_or(found)))
}

#[cfg(test)]
mod tests;
