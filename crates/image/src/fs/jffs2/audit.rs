//! What is damaged on the flash of a JFFS2 image, in words.
//!
//! Layer: rank 7. Main function: [`audit`].

use crate::audit::{Audit, Place};
use crate::dump::Dump;
use crate::error::Error;
use crate::names::shown;
use boardlab_jffs2::Jffs2;
use boardlab_jffs2::audit::{Audit as Judged, Hurt, Meaning, Place as JudgedPlace, What};
use boardlab_mtd::BlockIndex;
use boardlab_sim::Clock;
use std::fmt::Write;
use std::ops::Range;

/// Zero bits in a byte of the mark of a bad block that may have flipped by themselves.
const FLIPPED: u32 = 2;
/// Ranges of a file that are named; more are counted.
const RANGES: usize = 4;

/// Reads everything on the flash and says what is wrong.
pub(super) fn audit(fs: &mut Jffs2<Dump>, clock: &mut Clock) -> Result<Audit, Error> {
    let judged = fs.audit(clock, |dump, range| dump.is_lost(&range));
    let mut judged = judged.map_err(|problem| Error::Audit { problem: problem.into() })?;
    let doubtful_blocks = doubtful(fs, &mut judged)?;
    let foreign = judged.first_foreign.map(|first| {
        let count = judged.foreign_blocks;
        format!(
            "blocks with something else than JFFS2, which is not read: {count}, the first is block {first}"
        )
    });
    Ok(Audit {
        nodes: judged.nodes,
        damaged: judged.damaged,
        places: judged.places.iter().map(place_in_words).collect(),
        more: judged.more,
        hurt: judged.hurt.iter().map(|(ino, hurt)| (*ino, in_words(hurt))).collect(),
        unknown_loss: judged.unknown_loss || !doubtful_blocks.is_empty(),
        doubtful_blocks,
        foreign,
    })
}

/// Blocks that hold nodes and are marked bad by a bit or two. A flash that retires a block writes zeros.
fn doubtful(fs: &mut Jffs2<Dump>, audit: &mut Judged) -> Result<Vec<u32>, Error> {
    let block_size = fs.device().shape().block;
    let mut doubtful = Vec::new();
    for place in &mut audit.places {
        if !matches!(place.what, What::BadBlock { .. }) {
            continue;
        }
        let block = u32::try_from(place.at / block_size).expect("blocks are counted in u32");
        if fs.device_mut().mark_zeros(BlockIndex(block))? <= FLIPPED {
            place.meaning = Meaning::Unknown;
            doubtful.push(block);
        }
    }
    Ok(doubtful)
}

/// What an inode has lost, in words.
fn in_words(hurt: &Hurt) -> String {
    let mut words = Vec::new();
    if !hurt.stale.is_empty() {
        words.push(format!("{} older or missing: their node is damaged", ranges(&hurt.stale)));
    }
    if !hurt.missing.is_empty() {
        words.push(format!("{} missing: no node holds them", ranges(&hurt.missing)));
    }
    if hurt.metadata {
        words.push("mode, owner, times and size may be older or made up".into());
    }
    if hurt.names {
        words.push("a name in it is missing or leads elsewhere".into());
    }
    if hurt.attributes {
        words.push("an extended attribute is missing".into());
    }
    if hurt.suspected {
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

/// What lies in a place, in words, and what follows from it.
fn place_in_words(place: &JudgedPlace) -> Place {
    let what = match &place.what {
        What::Data { bytes } if bytes.is_empty() => "metadata with a wrong checksum".into(),
        What::Data { bytes } => {
            let last = bytes.end - 1;
            format!("data with a wrong checksum, bytes {} to {last}", bytes.start)
        }
        What::Name { name } => format!("a name with a wrong checksum, like `{}`", shown(name)),
        What::Fields(node_type, cause) => format!("a node ({node_type}): {cause}"),
        What::Attribute => "an extended attribute with a wrong checksum".into(),
        What::Summary => "a summary with a wrong checksum".into(),
        What::Strange => format!("{} bytes that begin no node", place.length),
        What::Erased => format!("{} erased bytes among nodes", place.length),
        What::Zeros => format!("{} zeros up to the end of the block", place.length),
        What::Hidden => "a node behind an erased beginning of its block".into(),
        What::BadBlock { nodes } => format!("a block marked bad with {nodes} nodes in it"),
    };
    let meaning = match (place.meaning, &place.what) {
        (Meaning::Unknown, What::BadBlock { .. }) => {
            "names may be missing: the mark may be a wrong bit"
        }
        (Meaning::Superseded, What::BadBlock { .. }) => "not read",
        (Meaning::Lost, _) => "something is missing or older",
        (Meaning::Unknown, _) => "lost; names or files may be missing",
        (Meaning::Superseded, _) => "nothing: not needed any longer",
        (Meaning::Torn, _) => "nothing: a write that was cut off",
    };
    let is_loss = matches!(place.meaning, Meaning::Lost | Meaning::Unknown);
    Place { at: place.at, what, meaning, is_loss, ino: place.ino }
}
