//! The damage on the flash of a JFFS2 image, in words.
//!
//! Layer: rank 7. Main function: [`audit`].

use crate::audit::{Audit, FLIPPED, Place};
use crate::dump::Dump;
use crate::error::Error;
use crate::names::shown;
use boardlab_jffs2::Jffs2;
use boardlab_jffs2::audit::{
    Audit as Judged, Consequence, DamageKind, InodeDamage, Place as JudgedPlace,
};
use boardlab_mtd::BlockIndex;
use boardlab_result::prose::counted;
use boardlab_sim::Clock;
use std::fmt::Write;
use std::ops::Range;

/// The number of ranges of a file that are listed; more are counted.
const RANGES: usize = 4;

/// Reads the whole flash and reports the damage.
pub(super) fn audit(fs: &mut Jffs2<Dump>, clock: &mut Clock) -> Result<Audit, Error> {
    let judged = fs.audit(clock, |dump, range| dump.is_lost(&range));
    let mut judged = judged.map_err(|problem| Error::Audit { problem: problem.into() })?;
    let doubtful_blocks = doubtful(fs, &mut judged)?;
    let foreign = judged.first_foreign.map(|first| {
        let blocks = counted(judged.foreign_blocks, "block");
        format!(
            "Content other than JFFS2 is in {blocks} and is not read; the first is block {first}."
        )
    });
    Ok(Audit {
        nodes: judged.nodes,
        damaged: judged.damaged,
        places: judged.places.iter().map(place_in_words).collect(),
        more: judged.more,
        inode_damage: judged
            .inode_damage
            .iter()
            .map(|(ino, damage)| (*ino, in_words(damage)))
            .collect(),
        unknown_loss: judged.unknown_loss || !doubtful_blocks.is_empty(),
        doubtful_blocks,
        foreign,
        ..Audit::default()
    })
}

/// Blocks with nodes that are marked bad by one or two bits. A flash that retires a block writes zeros.
fn doubtful(fs: &mut Jffs2<Dump>, audit: &mut Judged) -> Result<Vec<u32>, Error> {
    let block_size = fs.device().shape().block;
    let mut doubtful = Vec::new();
    for place in &mut audit.places {
        if !matches!(place.what, DamageKind::BadBlock { .. }) {
            continue;
        }
        let block = u32::try_from(place.at / block_size).expect("blocks are counted in u32");
        if fs.device_mut().mark_zeros(BlockIndex(block))? <= FLIPPED {
            place.meaning = Consequence::Unknown;
            doubtful.push(block);
        }
    }
    Ok(doubtful)
}

/// The damage of an inode, in words.
fn in_words(damage: &InodeDamage) -> String {
    let mut words = Vec::new();
    if !damage.stale.is_empty() {
        words.push(format!("{} older or missing: their node is damaged", ranges(&damage.stale)));
    }
    if !damage.missing.is_empty() {
        words.push(format!("{} missing: no node holds them", ranges(&damage.missing)));
    }
    if damage.metadata {
        words.push("mode, owner, times and size may be older or made up".into());
    }
    if damage.names {
        words.push("a name in it is missing or leads elsewhere".into());
    }
    if damage.attributes {
        words.push("an extended attribute is missing".into());
    }
    if damage.suspected {
        words.push("a node of it may be lost".into());
    }
    words.join("; ")
}

/// `bytes 0 to 4095, 8192 to 9000 and 3 more ranges`.
fn ranges(ranges: &[Range<u64>]) -> String {
    let mut words = String::from("bytes ");
    for (number, range) in ranges.iter().take(RANGES).enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let last = range.end.saturating_sub(1);
        write!(words, "{comma}{} to {last}", range.start).expect("a String takes all text");
    }
    if ranges.len() > RANGES {
        let more = ranges.len() - RANGES;
        write!(words, " and {more} more ranges").expect("a String takes all text");
    }
    words
}

/// The description of a damaged place, and the consequence.
fn place_in_words(place: &JudgedPlace) -> Place {
    let what = match &place.what {
        DamageKind::Data { bytes } if bytes.is_empty() => "metadata with a wrong checksum".into(),
        DamageKind::Data { bytes } => {
            let last = bytes.end - 1;
            format!("data with a wrong checksum, bytes {} to {last}", bytes.start)
        }
        DamageKind::Name { name } => {
            format!("a name with a wrong checksum, like `{}`", shown(name))
        }
        DamageKind::Fields(node_type, cause) => format!("a node ({node_type}): {cause}"),
        DamageKind::Attribute => "an extended attribute with a wrong checksum".into(),
        DamageKind::Summary => "a summary with a wrong checksum".into(),
        DamageKind::Strange => format!("{} bytes that begin no node", place.length),
        DamageKind::Erased => format!("{} erased bytes among nodes", place.length),
        DamageKind::Zeros => format!("{} zeros up to the end of the block", place.length),
        DamageKind::Hidden => "a node behind an erased beginning of its block".into(),
        DamageKind::BadBlock { nodes } => format!("a block marked bad with {nodes} nodes in it"),
    };
    let meaning = match (place.meaning, &place.what) {
        (Consequence::Unknown, DamageKind::BadBlock { .. }) => {
            "names may be missing: the mark may be a wrong bit"
        }
        (Consequence::Superseded, DamageKind::BadBlock { .. }) => "not read",
        (Consequence::Lost, _) => "something is missing or older",
        (Consequence::Unknown, _) => "lost; names or files may be missing",
        (Consequence::Superseded, _) => "nothing: not needed any longer",
        (Consequence::Torn, _) => "nothing: a write that was cut off",
    };
    let is_loss = matches!(place.meaning, Consequence::Lost | Consequence::Unknown);
    Place { at: Some(place.at), what, meaning, is_loss, ino: place.ino }
}
