//! What is in a flash, one piece behind the other: boot loaders, environments, kernels, filesystems, erased parts.
//!
//! Layer: rank 7. Main function: [`partitions`]; main type: [`Partition`]. In reading order: [`flash`], the data of
//! a file without its OOB bytes; [`headers`], headers that [`magic`] knows, with what more they say; [`boot`], the
//! headers of boot ROMs; [`environment`], the variables of U-Boot; [`tree`], device trees; [`table`], `mtdparts`.
//! Every size is checked against the file, which is untrusted: where a header says more than there is, the piece
//! is that of the rest, and the reason says so.

mod boot;
mod environment;
mod flash;
mod headers;
mod table;
mod tree;

pub(crate) use flash::FlashData;

use crate::detection::{Confidence, Detection, Kind};
use crate::magic;
use boardlab_sim::Bytes;
use environment::Environment;
use memchr::memmem::Finder;
use table::MtdParts;

/// The pieces that are listed.
const MOST: usize = 500;
/// The steps in which a file is walked.
const STEPS: u64 = 1 << 17;
/// The smallest step: the smallest sector of NOR.
const STEP: u64 = 4_096;

/// A piece of a flash.
#[derive(Debug, Clone)]
pub struct Partition {
    /// What it is. Offsets and sizes are those of the data, without OOB bytes.
    pub found: Detection,
    /// Its name, where `mtdparts` has it.
    pub name: Option<String>,
    /// Where it begins in the file.
    pub in_file: Bytes,
}

/// The pieces of a flash, and what the environment says.
#[derive(Debug, Default)]
pub struct Partitions {
    /// The pieces, in order.
    pub all: Vec<Partition>,
    /// Whether there are more.
    pub more: bool,
    /// `bootargs` and `mtdparts`, with the values of the first environment that has them.
    pub variables: Vec<(String, String)>,
    /// What `mtdparts` says that no piece is: names with offset and size.
    pub named: Vec<(String, Bytes, Bytes)>,
}

/// A run of blocks of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Run {
    Erased,
    Zeros,
    /// Anything else, perhaps with a version of U-Boot.
    Other(Option<String>),
}

/// The pieces of `flash`. `known` are filesystems that were found in it, with offsets of the file.
#[must_use]
pub(crate) fn partitions(flash: &mut FlashData, known: &[Detection]) -> Partitions {
    let step = flash.step(STEP, STEPS);
    let known: Vec<(Bytes, &Detection)> = known
        .iter()
        .filter(|one| {
            matches!(one.kind, Kind::FileSystem(_)) && one.confidence > Confidence::Possible
        })
        .filter_map(|one| Some((flash.of_file(one.at)?, one)))
        .collect();
    let mut walk =
        Walk { step, found: Vec::new(), run: None, environments: Vec::new(), more: false };
    let mut at = Bytes::ZERO;
    while at < flash.length() {
        if walk.found.len() == MOST {
            walk.more = true;
            break;
        }
        at = walk.look(flash, at, &known);
    }
    walk.end_run(at.min(flash.length()));
    walk.conclude(flash)
}

/// A walk over a flash.
struct Walk {
    step: Bytes,
    found: Vec<Detection>,
    /// Blocks that are nothing by themselves, and where they begin.
    run: Option<(Bytes, Run)>,
    environments: Vec<Environment>,
    more: bool,
}

impl Walk {
    /// Looks at a place, and returns the next one.
    fn look(&mut self, flash: &mut FlashData, at: Bytes, known: &[(Bytes, &Detection)]) -> Bytes {
        let step = self.step;
        let kind = self.block(flash, at);
        if matches!(kind, Run::Other(_)) {
            let recognised = match known.iter().find(|(start, _)| (at..at + step).contains(start)) {
                Some((start, one)) => Some(filesystem(flash, *start, one, known)),
                None => self.recognise(flash, at),
            };
            if let Some(mut found) = recognised {
                self.end_run(found.at);
                let size = found.size.unwrap_or(step).max(Bytes::new(1));
                let rest = flash.length() - found.at;
                if size > rest {
                    let what = format!("it says {size}, and {rest} are left in the file");
                    found = found.because(at, what);
                    found.confidence = found.confidence.min(Confidence::Likely);
                }
                let size = size.min(rest);
                found.size = Some(size);
                let end = found.at + size;
                self.found.push(found);
                return step * end.div_ceil(step);
            }
        }
        match (&mut self.run, kind) {
            (Some((_, Run::Other(version))), Run::Other(found)) => {
                if version.is_none() {
                    *version = found;
                }
            }
            (Some((_, run)), kind) if *run == kind => {}
            (_, kind) => {
                self.end_run(at);
                self.run = Some((at, kind));
            }
        }
        at + step
    }

    /// The kind of the block at a place.
    fn block(&self, flash: &FlashData, at: Bytes) -> Run {
        let bytes = flash.stored(at, self.step);
        if boardlab_mtd::is_erased(&bytes) {
            return Run::Erased;
        }
        if bytes.iter().all(|&byte| byte == 0) {
            return Run::Zeros;
        }
        Run::Other(version(&bytes))
    }

    fn recognise(&mut self, flash: &mut FlashData, at: Bytes) -> Option<Detection> {
        let head = flash.read(at, magic::HEAD);
        if let Some(environment) = Environment::at(flash, at, &head) {
            let found = environment.found(at);
            self.environments.push(environment);
            return Some(found);
        }
        boot::recognise(&head, at)
            .or_else(|| headers::repeated(flash, at, &head, self.step))
            .or_else(|| headers::recognise(flash, at, &head))
    }

    /// Ends the run of blocks that are nothing by themselves.
    fn end_run(&mut self, end: Bytes) {
        let Some((start, run)) = self.run.take().filter(|(start, _)| *start < end) else { return };
        let (kind, confidence) = match run {
            Run::Erased => (Kind::Erased, Confidence::Certain),
            Run::Zeros => (Kind::Zeros, Confidence::Certain),
            Run::Other(Some(_)) => (Kind::UBoot, Confidence::Likely),
            Run::Other(None) => (Kind::Unknown, Confidence::Possible),
        };
        let mut found = Detection::new(kind, start, confidence);
        found.size = Some(end - start);
        found = match run {
            Run::Erased => found.because(start, "0xFF alone"),
            Run::Zeros => found.because(start, "zeros alone"),
            Run::Other(None) => found.because(start, "no header that is known"),
            Run::Other(Some(version)) => {
                found.detail = version;
                found.because(start, "the text of its version is in it")
            }
        };
        self.found.push(found);
    }

    fn conclude(self, flash: &FlashData) -> Partitions {
        let mut variables: Vec<(String, String)> = Vec::new();
        for name in ["bootargs", "mtdparts", "mtdids"] {
            let values = self.environments.iter().filter_map(|one| one.value(name));
            variables.extend(values.take(1).map(|value| (name.to_owned(), value)));
        }
        let parts = MtdParts::of(&variables, flash.length());
        let name = |found: &Detection| parts.name_at(found.at);
        let all: Vec<Partition> = self
            .found
            .into_iter()
            .map(|found| Partition { name: name(&found), in_file: flash.in_file(found.at), found })
            .collect();
        Partitions { all, more: self.more, variables, named: parts.all }
    }
}

/// A filesystem that was found before: it extends to the next one, or to the end, unless it says how long it is.
fn filesystem(
    flash: &FlashData,
    at: Bytes,
    one: &Detection,
    known: &[(Bytes, &Detection)],
) -> Detection {
    let next = known.iter().map(|(start, _)| *start).filter(|start| *start > at).min();
    let end = next.unwrap_or(flash.length());
    let stated = one.size.filter(|_| !flash.has_oob());
    let mut found = Detection::new(one.kind, at, one.confidence);
    found.detail.clone_from(&one.detail);
    found.size = Some(stated.unwrap_or(end - at));
    found.evidence.extend(one.evidence.iter().take(1).cloned());
    found
}

/// A version of U-Boot, as its text says it.
fn version(bytes: &[u8]) -> Option<String> {
    let finders = [&b"U-Boot 20"[..], b"U-Boot SPL 20", b"U-Boot 1."].map(Finder::new);
    let at = finders.iter().find_map(|finder| finder.find(bytes))?;
    let text =
        bytes[at..].iter().take(48).take_while(|byte| byte.is_ascii_graphic() || **byte == b' ');
    let text: String = text.map(|&byte| char::from(byte)).collect();
    Some(text.split(" (").next().unwrap_or(&text).trim_end().to_owned())
}

#[cfg(test)]
mod tests;
