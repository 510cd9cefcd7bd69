//! What differs between two trees of files, and between the erase blocks of two images.
//!
//! Layer: rank 7. Main functions: [`diff`], [`blocks`].

use crate::contents::Contents;
use crate::files::tree::Node;
use crate::files::why::kind_word;
use crate::files::{Tree, Why};
use crate::names::shown;
use boardlab_sim::Bytes;
use boardlab_vfs::{Kind, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Bytes that are compared at once.
const PIECE: usize = 1 << 16;

/// A difference of one name.
#[derive(Debug)]
pub struct Change {
    /// The path.
    pub path: Vec<u8>,
    /// What differs.
    pub what: What,
}

/// What differs.
#[derive(Debug)]
pub enum What {
    /// Only the second has it.
    Added(Kind),
    /// Only the first has it.
    Removed(Kind),
    /// It is something else.
    Kind(Kind, Kind),
    /// Permission bits.
    Mode(u32, u32),
    /// Owner and group.
    Owner((u32, u32), (u32, u32)),
    /// The time of the last change of content.
    Modified(Timestamp, Timestamp),
    /// The target of a symbolic link.
    Target(Vec<u8>, Vec<u8>),
    /// The first name of the file; `None` where this is the first.
    Link(Option<Vec<u8>>, Option<Vec<u8>>),
    /// An extended attribute.
    Attribute {
        /// Its name.
        name: Vec<u8>,
        /// Whether only the first has it, only the second, or both, with another value.
        side: Side,
    },
    /// Bytes of the file.
    Size(u64, u64),
    /// The content.
    Content {
        /// The first byte that differs.
        first: u64,
        /// Blocks of 4 KiB that differ.
        blocks: u64,
    },
    /// One of them cannot be read, so that the content is not compared.
    Unread(Why),
}

/// Where something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In the first alone.
    First,
    /// In the second alone.
    Second,
    /// In both.
    Both,
}

impl What {
    /// A word for all differences of a kind.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Removed(_) => "removed",
            Self::Kind(..) => "kind",
            Self::Mode(..) => "mode",
            Self::Owner(..) => "owner",
            Self::Modified(..) => "time",
            Self::Target(..) => "target",
            Self::Link(..) => "hard link",
            Self::Attribute { .. } => "attribute",
            Self::Size(..) => "size",
            Self::Content { .. } => "content",
            Self::Unread(_) => "cannot be read",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = |first: &Option<Vec<u8>>| match first {
            Some(path) => format!("another name of {}", shown(path)),
            None => "a first name".to_owned(),
        };
        match self {
            Self::Added(kind) | Self::Removed(kind) => f.write_str(&kind_word(*kind)),
            Self::Kind(one, other) => write!(f, "{} → {}", kind_word(*one), kind_word(*other)),
            Self::Mode(one, other) => write!(f, "{one:04o} → {other:04o}"),
            Self::Owner(one, other) => {
                write!(f, "{}:{} → {}:{}", one.0, one.1, other.0, other.1)
            }
            Self::Modified(one, other) => write!(f, "{one} s → {other} s"),
            Self::Target(one, other) => write!(f, "{} → {}", shown(one), shown(other)),
            Self::Link(one, other) => write!(f, "{} → {}", link(one), link(other)),
            Self::Attribute { name, side } => {
                let side = match side {
                    Side::First => "removed",
                    Side::Second => "added",
                    Side::Both => "another value",
                };
                write!(f, "{}: {side}", shown(name))
            }
            Self::Size(one, other) => write!(f, "{one} → {other} bytes"),
            Self::Content { first, blocks: 1 } => {
                write!(f, "1 block of 4 KiB, from byte {first} on")
            }
            Self::Content { first, blocks } => {
                write!(f, "{blocks} blocks of 4 KiB, from byte {first} on")
            }
            Self::Unread(why) => why.fmt(f),
        }
    }
}

/// What differs between two trees, in the order of paths. Times are compared in whole seconds where one of them
/// has no fraction, since not every filesystem keeps it.
#[must_use]
pub fn diff(before: &Tree, after: &Tree) -> Vec<Change> {
    let paths = |tree: &'_ Tree| -> BTreeMap<Vec<u8>, usize> {
        tree.nodes.iter().enumerate().map(|(index, node)| (node.path.clone(), index)).collect()
    };
    let (ours, theirs) = (paths(before), paths(after));
    let mut changes = Vec::new();
    for path in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let mut add = |what| changes.push(Change { path: path.clone(), what });
        match (ours.get(path), theirs.get(path)) {
            (Some(&one), None) => add(What::Removed(before.nodes[one].kind)),
            (None, Some(&other)) => add(What::Added(after.nodes[other].kind)),
            (Some(&one), Some(&other)) => {
                metadata((before, one), (after, other)).into_iter().for_each(&mut add);
                let [one_node, other_node] = [&before.nodes[one], &after.nodes[other]];
                let are_files = [one_node, other_node].iter().all(|node| node.kind == Kind::File);
                // Each file once, unless its names were put together otherwise.
                let is_first = one_node.same.is_none() || other_node.same.is_none();
                if are_files && is_first {
                    content((before, one), (after, other)).into_iter().for_each(&mut add);
                }
            }
            (None, None) => {}
        }
    }
    changes
}

fn metadata((before, one): (&Tree, usize), (after, other): (&Tree, usize)) -> Vec<What> {
    let (one, other) = (&before.nodes[one], &after.nodes[other]);
    let mut changes = Vec::new();
    if one.kind != other.kind {
        changes.push(What::Kind(one.kind, other.kind));
    }
    if one.mode != other.mode {
        changes.push(What::Mode(one.mode, other.mode));
    }
    if (one.uid, one.gid) != (other.uid, other.gid) {
        changes.push(What::Owner((one.uid, one.gid), (other.uid, other.gid)));
    }
    let is_coarse = one.modified.nanos == 0 || other.modified.nanos == 0;
    let is_same_time = one.modified.seconds == other.modified.seconds
        && (is_coarse || one.modified.nanos == other.modified.nanos);
    if !is_same_time {
        changes.push(What::Modified(one.modified, other.modified));
    }
    if one.target != other.target {
        changes.push(What::Target(one.target.clone(), other.target.clone()));
    }
    let first = |tree: &Tree, node: &Node| node.same.map(|first| tree.nodes[first].path.clone());
    let (first_one, first_other) = (first(before, one), first(after, other));
    if first_one != first_other {
        changes.push(What::Link(first_one, first_other));
    }
    let ours: BTreeMap<_, _> = one.attributes.iter().cloned().collect();
    let theirs: BTreeMap<_, _> = other.attributes.iter().cloned().collect();
    for name in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let side = match (ours.get(name), theirs.get(name)) {
            (Some(_), None) => Side::First,
            (None, _) => Side::Second,
            (Some(one), Some(other)) if one != other => Side::Both,
            _ => continue,
        };
        changes.push(What::Attribute { name: name.clone(), side });
    }
    changes
}

/// How the content of two files differs.
fn content((before, one): (&Tree, usize), (after, other): (&Tree, usize)) -> Vec<What> {
    let (mut one, mut other) = match (before.content(one), after.content(other)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(why), _) | (_, Err(why)) => return vec![What::Unread(why)],
    };
    let mut changes = Vec::new();
    if one.size != other.size {
        changes.push(What::Size(one.size, other.size));
    }
    let (mut first, mut blocks): (Option<u64>, u64) = (None, 0);
    let mut differ = |number: u64, ours: &[u8], theirs: &[u8]| {
        let length = ours.len().max(theirs.len());
        let byte = |bytes: &[u8], at: usize| bytes.get(at).copied().unwrap_or(0);
        let differs = (0..length).find(|&at| byte(ours, at) != byte(theirs, at));
        if let Some(at) = differs {
            first = first.or(Some(number * crate::files::content::BLOCK as u64 + at as u64));
            blocks += 1;
        }
    };
    let mut next = |content: &mut crate::files::content::Content| loop {
        match content.next() {
            Ok(block) => return block.map(|(number, bytes)| (number, bytes.to_vec())),
            Err(why) => changes.push(What::Unread(why)),
        }
    };
    let (mut ours, mut theirs) = (next(&mut one), next(&mut other));
    loop {
        // The first of the blocks at which they are.
        let numbers = [&ours, &theirs].into_iter().flatten().map(|(number, _)| *number);
        let Some(number) = numbers.min() else { break };
        let bytes = |block: &Option<(u64, Vec<u8>)>| match block {
            Some((at, bytes)) if *at == number => bytes.clone(),
            _ => Vec::new(),
        };
        differ(number, &bytes(&ours), &bytes(&theirs));
        if ours.as_ref().is_some_and(|(at, _)| *at == number) {
            ours = next(&mut one);
        }
        if theirs.as_ref().is_some_and(|(at, _)| *at == number) {
            theirs = next(&mut other);
        }
    }
    changes.extend(first.map(|first| What::Content { first, blocks }));
    changes
}

/// Erase blocks, one after the other, that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedBlocks {
    /// The first block.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes in them that differ.
    pub bytes: u64,
}

/// The blocks of so many bytes in which two images differ. What only the longer one has differs in all bytes.
///
/// # Errors
/// Those of the operating system.
pub fn blocks(
    before: &Contents,
    after: &Contents,
    block: Bytes,
) -> std::io::Result<Vec<ChangedBlocks>> {
    let length = before.length().max(after.length());
    let mut changed: Vec<ChangedBlocks> = Vec::new();
    let (mut ours, mut theirs) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = Bytes::ZERO;
    while at < length {
        let number = at / block;
        // A piece does not reach into the next block.
        let end = (block * (number + 1)).min(at + Bytes::new(PIECE as u64)).min(length);
        let piece = (end - at).to_usize();
        let one = before.read(at, &mut ours[..piece])?;
        let other = after.read(at, &mut theirs[..piece])?;
        let both = one.min(other);
        let differ = ours[..both].iter().zip(&theirs[..both]).filter(|(one, other)| one != other);
        let bytes = (differ.count() + one.max(other) - both) as u64;
        if bytes > 0 {
            match changed.last_mut() {
                Some(last) if last.first + last.count == number => {
                    last.count += 1;
                    last.bytes += bytes;
                }
                Some(last) if last.first + last.count == number + 1 => last.bytes += bytes,
                _ => changed.push(ChangedBlocks { first: number, count: 1, bytes }),
            }
        }
        at = end;
    }
    Ok(changed)
}
