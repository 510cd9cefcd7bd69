//! Identifies the contents of a file: which filesystem or other content, of which flash, and the
//! evidence.
//!
//! Layer: rank 7. Main type: [`Identity`]; main function: [`identify`]. In reading order: `sweep`
//! searches the file once for all filesystems of the [list](crate::fs::ALL), [`magic`] knows the
//! headers of other content, `repeated` headers that repeat over the flash. The file is untrusted:
//! the search is bounded, and nothing is believed without a check.

mod repeated;
pub(crate) mod sweep;

use crate::contents::Contents;
use crate::detection::{Confidence, Detection, Kind};
use crate::fs::{ALL, DetectedFileSystem, Detector, FileSystemType};
use crate::magic;
use boardlab_sim::Bytes;
use sweep::Sweep;

/// The alignment at which content may begin within a file: the smallest erase block of NOR in use.
const BORDER: Bytes = Bytes::kib(64);
/// The number of aligned offsets that are examined.
const BORDERS: u64 = 16_384;
/// The number of contents that are listed.
const FOUND: usize = 32;

/// What is in a file.
#[derive(Debug)]
pub struct Identity {
    /// How long the file is.
    pub length: Bytes,
    /// The contents, in order; at least one.
    pub found: Vec<Detection>,
    /// The filesystem that can be mounted: the first in the file.
    pub filesystem: Option<Box<dyn DetectedFileSystem>>,
}

impl Identity {
    /// The main content of the file: the first of those with the highest confidence.
    #[must_use]
    pub fn main(&self) -> &Detection {
        let mut best = &self.found[0];
        for found in &self.found[1..] {
            if found.confidence > best.confidence {
                best = found;
            }
        }
        best
    }
}

/// Identifies `contents`.
#[must_use]
pub fn identify(contents: &Contents) -> Identity {
    identify_types(contents, ALL)
}

/// As [`identify`], with another list of filesystems.
#[must_use]
pub fn identify_types(contents: &Contents, types: &[FileSystemType]) -> Identity {
    let mut searches: Vec<_> = types.iter().map(|one| (one.search)()).collect();
    let mut all: Vec<&mut dyn Detector> = searches.iter_mut().map(|one| &mut **one as _).collect();
    let sweep = Sweep::of(contents, &mut all);
    let mut found = headers(contents, &sweep);
    let mut systems = Vec::new();
    for search in searches {
        if let Some((one, system)) = search.conclude(contents, &found) {
            // Its header gives less information than the filesystem itself.
            found.retain(|other| other.kind != one.kind);
            systems.push((one.at, system));
            found.push(one);
        }
    }
    // UBI that was recognised has a shape.
    for one in found.iter_mut().filter(|one| is_ubi(one) && one.shape.is_none()) {
        *one = repeated::ubi(contents, one.at, std::mem::take(&mut one.detail));
    }
    found.sort_by_key(|one| one.at);
    if found.is_empty() {
        found.push(featureless(contents, &sweep));
    }
    let first = systems.into_iter().min_by_key(|(at, _)| *at);
    Identity { length: contents.length(), found, filesystem: first.map(|(_, system)| system) }
}

/// The kind of a file without any known header.
fn featureless(contents: &Contents, sweep: &Sweep) -> Detection {
    let certain = |kind| Detection::new(kind, Bytes::ZERO, Confidence::Certain);
    match sweep.first_programmed {
        _ if contents.length().is_zero() => certain(Kind::Empty),
        None => certain(Kind::Erased),
        Some(Bytes::ZERO) if sweep.zeros => certain(Kind::Zeros),
        Some(at) => {
            let bytes = contents.window(at, 16);
            let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Detection::new(Kind::Unknown, at, Confidence::Possible)
                .because(at, format!("first bytes {}", bytes.join(" ")))
        }
    }
}

fn is_ubi(found: &Detection) -> bool {
    found.kind == Kind::Ubi && found.confidence == Confidence::Certain
}

/// All other content that begins at the start of the file, after erased flash, or at an aligned offset.
fn headers(contents: &Contents, sweep: &Sweep) -> Vec<Detection> {
    let mut found: Vec<Detection> = Vec::new();
    let Some(first) = sweep.first_programmed else { return found };
    let page = Bytes::new(512);
    let first = page * (first / page);
    let borders = (0..BORDERS).map(|number| BORDER * number);
    let mut places: Vec<Bytes> = borders.take_while(|at| *at < contents.length()).collect();
    places.push(first);
    places.sort_unstable();
    places.dedup();
    let mut end = Bytes::ZERO;
    for at in places.into_iter().filter(|at| *at >= first) {
        if at < end || found.len() == FOUND {
            continue;
        }
        let Some(hit) = magic::recognise(&contents.window(at, magic::HEAD)) else { continue };
        // In the middle of a file a magic number alone is coincidence.
        if at != first && hit.confidence < Confidence::Certain {
            continue;
        }
        end = at + hit.size.unwrap_or(Bytes::ZERO).min(contents.length());
        found.push(hit.found(at));
        if found.last().is_some_and(is_ubi) {
            // Each of its blocks begins with such a header.
            return found;
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests;
