//! The damage of a UBIFS image, in words.
//!
//! Layer: rank 7. Main function: [`audit`].

use super::lebs::ImageLebs;
use crate::audit::{Audit, KindCount, Place};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::LebIndex;
use boardlab_ubifs::check::{self, Gap, Leaf};
use boardlab_ubifs::format::key::{Key, KeyType};
use boardlab_ubifs::{Error, Ubifs};
use std::collections::{BTreeMap, BTreeSet};

/// The places that are listed; more are counted.
const PLACES: usize = 1_000;
/// Bytes of a block of content.
const BLOCK: u64 = 4_096;

/// Reads all nodes and reports the damage.
pub(super) fn audit(fs: &mut Ubifs<ImageLebs>, clock: &mut Clock) -> Audit {
    let found = fs.audit(clock);
    let nodes = found.leaves.iter().filter_map(|leaf| {
        let start = fs.lebs().place(leaf.leb, leaf.offs)?;
        Some((start..start + Bytes::new(u64::from(leaf.len)), leaf.ino))
    });
    let mut nodes: Vec<_> = nodes.collect();
    nodes.sort_unstable_by_key(|(range, ino)| (range.start, *ino));
    fs.lebs_mut().nodes = nodes;
    let lebs = fs.lebs();
    let mut audit = Audit {
        nodes: found.leaves.len() as u64,
        damaged: found.damaged.len() as u64,
        more: (found.damaged.len() + found.gaps.len()).saturating_sub(PLACES) as u64,
        kinds: kinds(&found),
        ..Audit::default()
    };
    let mut damage: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (leaf, error) in &found.damaged {
        if audit.places.len() < PLACES {
            audit.places.push(place(lebs, leaf, error));
        }
        damage.entry(leaf.ino).or_default().push(loss(leaf));
    }
    for gap in &found.gaps {
        if audit.places.len() < PLACES {
            audit.places.push(place_of_gap(lebs, gap));
        }
        audit.unknown_loss = true;
    }
    for (ino, loss) in losses_in_gaps(&found) {
        damage.entry(ino).or_default().push(loss);
    }
    audit.inode_damage =
        damage.into_iter().map(|(ino, losses)| (ino, shortened(&losses))).collect();
    if let Some(error) = found.index {
        audit.places.push(Place {
            at: place_of(&error).and_then(|(leb, offs)| lebs.place(leb, offs)),
            what: format!("the index: {error}"),
            meaning: "lost; names or files may be missing",
            is_loss: true,
            ino: None,
        });
        audit.unknown_loss = true;
    }
    if let Some(error) = found.contradiction {
        audit.places.push(Place {
            at: None,
            what: error.to_string(),
            meaning: "something may be missing or older",
            is_loss: true,
            ino: None,
        });
        audit.unknown_loss = true;
    }
    audit
}

/// The nodes of each kind.
fn kinds(found: &check::Audit) -> BTreeMap<&'static str, KindCount> {
    let mut kinds: BTreeMap<&'static str, KindCount> = BTreeMap::new();
    for leaf in &found.leaves {
        let count = kinds.entry(plural(leaf)).or_default();
        count.nodes += 1;
        count.bytes += u64::from(leaf.len);
    }
    for (leaf, _) in &found.damaged {
        kinds.entry(plural(leaf)).or_default().damaged += 1;
    }
    kinds
}

const fn plural(leaf: &Leaf) -> &'static str {
    match leaf.kind {
        Some(KeyType::Inode) => "inodes",
        Some(KeyType::Data) => "data",
        Some(KeyType::Dirent) => "names",
        Some(KeyType::Xattr) => "extended attributes",
        Some(KeyType::Truncation) | None => "unknown",
    }
}

fn place_of_gap(lebs: &ImageLebs, gap: &Gap) -> Place {
    Place {
        at: lebs.place(gap.leb, gap.offs),
        what: format!("an indexing node: {}", gap.error),
        meaning: "lost; names, files or content may be missing",
        is_loss: true,
        ino: None,
    }
}

/// What the gaps take of inodes that stand in part: those at which a gap begins and ends. Of those in
/// between nothing stands.
fn losses_in_gaps(found: &check::Audit) -> Vec<(u32, String)> {
    let standing: BTreeSet<u32> = found.leaves.iter().map(|leaf| leaf.ino).collect();
    let mut losses = Vec::new();
    for gap in &found.gaps {
        let ends = BTreeSet::from([gap.first.ino(), gap.end.ino()]);
        let known = ends.into_iter().filter(|ino| standing.contains(ino));
        losses.extend(known.filter_map(|ino| Some((ino, loss_in_gap(ino, gap)?))));
    }
    losses
}

/// What a gap takes of an inode; `None` when it takes nothing.
fn loss_in_gap(ino: u32, gap: &Gap) -> Option<String> {
    let (first, end) = (gap.first.max(Key::lowest_of(ino)), gap.end.min(Key::highest_of(ino)));
    if first >= end {
        return None;
    }
    let is_data = |key: Key| key.ino() == ino && key.kind() == Some(KeyType::Data);
    let start = BLOCK * u64::from(first.low());
    Some(match (is_data(first), is_data(gap.end)) {
        (true, true) => {
            let stop = BLOCK * u64::from(gap.end.low());
            format!("bytes {start} to {} may be missing", stop.saturating_sub(1))
        }
        (true, false) => format!("bytes from {start} on may be missing"),
        _ => "a part of it may be missing".into(),
    })
}

fn place(lebs: &ImageLebs, leaf: &Leaf, error: &Error) -> Place {
    Place {
        at: lebs.place(leaf.leb, leaf.offs),
        what: format!("{}: {error}", kind(leaf)),
        meaning: "something is missing",
        is_loss: true,
        ino: Some(leaf.ino),
    }
}

const fn kind(leaf: &Leaf) -> &'static str {
    match leaf.kind {
        Some(KeyType::Inode) => "an inode",
        Some(KeyType::Data) => "data",
        Some(KeyType::Dirent) => "a name",
        Some(KeyType::Xattr) => "an extended attribute",
        Some(KeyType::Truncation) | None => "a node of unknown kind",
    }
}

fn loss(leaf: &Leaf) -> String {
    match leaf.kind {
        Some(KeyType::Inode) => "mode, owner, times and size are lost".into(),
        Some(KeyType::Data) => {
            let start = BLOCK * u64::from(leaf.block);
            format!("bytes {start} to {} are lost", start + BLOCK - 1)
        }
        Some(KeyType::Dirent) => "a name in it is missing".into(),
        Some(KeyType::Xattr) => "an extended attribute is missing".into(),
        Some(KeyType::Truncation) | None => "a node of it is damaged".into(),
    }
}

/// The first losses of an inode, and how many more there are.
fn shortened(losses: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut words = losses.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    if losses.len() > SHOWN {
        words += &format!("; and {} more", losses.len() - SHOWN);
    }
    words
}

/// The place that an error is about.
pub(super) fn place_of(error: &Error) -> Option<(LebIndex, u32)> {
    match error {
        Error::Node { leb, offs, .. } | Error::Corrupted { leb, offs, .. } => Some((*leb, *offs)),
        _ => None,
    }
}
