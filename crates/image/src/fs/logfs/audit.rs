//! The damage on the flash of a LogFS image, in words, and a mounted one.
//!
//! Layer: rank 7. Main type: [`Opened`].

use crate::audit::{Audit, KindCount, Place};
use crate::dump::Dump;
use crate::error::Error;
use crate::finding::{self, Finding, Severity};
use crate::places::Places;
use boardlab_logfs::audit::Fault;
use boardlab_logfs::format::{BLOCK, BlockId, MASTER, SEGMENT_FILE};
use boardlab_logfs::{Logfs, What};
use boardlab_result::prose::counted;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, pass_on};
use std::collections::BTreeMap;
use std::ops::Range;

/// The places that are listed.
const PLACES: usize = 1_000;

/// A mounted LogFS, and what an audit of it found.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) fs: Logfs<Dump>,
    found: boardlab_logfs::audit::Audit,
}

impl Opened {
    pub(super) fn new(fs: Logfs<Dump>) -> Self {
        Self { fs, found: boardlab_logfs::audit::Audit::default() }
    }

    /// The inodes with objects in a range of the flash.
    pub(super) fn inodes_of(&self, range: Range<u64>) -> Vec<u32> {
        let objects = &self.found.objects;
        let end = objects.partition_point(|(object, _)| object.start < range.end);
        let touched =
            objects[..end].iter().rev().take_while(|(object, _)| object.end > range.start);
        let mut inodes: Vec<u32> = touched.filter_map(|(_, id)| inode_of(*id)).collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes
    }
}

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl FileSystem for Opened {
    pass_on! { inner:
        caching size_max writes_inodes_on_fsync root lookup getattr setattr create link unlink rmdir rename readdir
        readlink read_page next_data write_page begin_write reserve_page page_dirtied release_page write_inode take_dirtied
        getxattr setxattr listxattr fsync sync evict_inode shrink background statfs unmount check_tables
    }
}

/// The inode that a block belongs to, as tools number inodes.
fn inode_of(id: BlockId) -> Option<u32> {
    let ino = if id.ino == MASTER && id.level == 0 { id.index } else { id.ino };
    u32::try_from(ino).ok()
}

/// Reads everything.
pub(super) fn audit(opened: &mut Opened, clock: &mut Clock) -> Result<Audit, Error> {
    let failed = |problem: boardlab_logfs::Error| Error::Audit { problem: problem.into() };
    opened.found = opened.fs.audit(clock).map_err(failed)?;
    let mut audit = Audit { nodes: opened.found.objects.len() as u64, ..Audit::default() };
    audit.kinds = kinds(&opened.found.objects);
    for fault in &opened.found.faults {
        match fault {
            Fault::Object(error) => object(&mut audit, error),
            Fault::Dangling { ino, .. } => {
                audit.unknown_loss = true;
                let what = format!("a name of {}", inode(*ino));
                place(&mut audit, None, what, "its file is missing", None);
            }
            Fault::Shared { at, block } => {
                let what = format!("{block}, whose object another pointer leads to");
                damage(&mut audit, *block, "a block is that of something else");
                place(
                    &mut audit,
                    Some(*at),
                    what,
                    "something is missing or older",
                    inode_of(*block),
                );
            }
            _ => {}
        }
    }
    let findings = opened.fs.findings();
    if !findings.interrupted_segments.is_empty()
        || findings.journal_segments_without_commit > 0
        || findings.torn_commit.is_some()
    {
        let text = "The filesystem was not unmounted, and something was being written: the state is that of the last commit.";
        audit.foreign = Some(text.into());
    }
    Ok(audit)
}

fn inode(ino: u64) -> String {
    format!("inode {ino}")
}

/// An object that cannot be read.
fn object(audit: &mut Audit, error: &boardlab_logfs::Error) {
    audit.damaged += 1;
    audit.nodes += 1;
    let boardlab_logfs::Error::Damaged { at, what, cause } = error else {
        audit.unknown_loss = true;
        return place(audit, None, error.to_string(), "something is missing or older", None);
    };
    let What::Block(id) = *what else {
        return place(audit, Some(*at), format!("{what}: {cause}"), "something is missing", None);
    };
    // Of an indirect block of the inode file nobody knows which inodes it leads to.
    let unknown = id.ino == MASTER && id.level > 0;
    audit.unknown_loss |= unknown || (id.ino == MASTER && id.level == 0);
    if id.ino != SEGMENT_FILE {
        let words = match (id.ino, id.level) {
            (MASTER, 0) => "the inode is damaged: its content is missing".to_owned(),
            (_, 0) => {
                let start = id.index * BLOCK as u64;
                format!("bytes {start} to {} missing, if it is a file", start + BLOCK as u64 - 1)
            }
            (_, level) => {
                format!("everything behind an indirect block of level {level} is missing")
            }
        };
        damage(audit, id, &words);
    }
    let meaning =
        if unknown { "lost; names or files may be missing" } else { "something is missing" };
    place(audit, Some(*at), format!("{what}: {cause}"), meaning, inode_of(id));
}

fn damage(audit: &mut Audit, id: BlockId, words: &str) {
    if let Some(ino) = inode_of(id) {
        let said = audit.inode_damage.entry(ino).or_default();
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(words);
    }
}

fn place(
    audit: &mut Audit,
    at: Option<u64>,
    what: String,
    meaning: &'static str,
    ino: Option<u32>,
) {
    if audit.places.len() >= PLACES {
        audit.more += 1;
        return;
    }
    audit.places.push(Place { at: at.map(Bytes::new), what, meaning, is_loss: true, ino });
}

/// The objects by their kind.
fn kinds(objects: &[(Range<u64>, BlockId)]) -> BTreeMap<&'static str, KindCount> {
    let mut kinds: BTreeMap<&'static str, KindCount> = BTreeMap::new();
    for (range, id) in objects {
        let kind = match (id.ino, id.level) {
            (MASTER, 0) => "inode",
            (SEGMENT_FILE, _) => "segment file",
            (_, 0) => "data or directory entry",
            _ => "indirect block",
        };
        let count = kinds.entry(kind).or_default();
        count.nodes += 1;
        count.bytes += range.end - range.start;
    }
    kinds
}

/// What contradicts itself without a loss.
pub(super) fn findings(opened: &Opened, places: &Places) -> Vec<Finding> {
    let mut findings = Vec::new();
    let segment_size = u64::from(opened.fs.layout().segment_size);
    for fault in &opened.found.faults {
        let severity = match fault {
            Fault::Object(_) | Fault::Dangling { .. } | Fault::Shared { .. } => continue,
            Fault::Orphan(_)
            | Fault::Valid { .. }
            | Fault::Level { .. }
            | Fault::TotalUsed { .. } => Severity::Warning,
            _ => Severity::Error,
        };
        let mut finding = Finding::new(severity, "the tree", fault.to_string(), "no contradiction");
        if let Fault::Valid { segment, .. } | Fault::Level { segment, .. } = fault {
            let at = Bytes::new(u64::from(*segment) * segment_size);
            finding = finding.at(finding::Place::of(places, at));
        }
        findings.push(finding);
    }
    let found = opened.fs.findings();
    for (copy, bad) in ["first", "last"].into_iter().zip(found.bad_superblocks) {
        if let Some(cause) = bad {
            let what = format!("the {copy} superblock");
            let expected = "the same as the other; a writable mount repairs it";
            findings.push(Finding::new(Severity::Warning, what, cause.to_string(), expected));
        }
    }
    if found.superblocks_differ {
        let (found, expected) = ("they differ", "the same; a writable mount repairs them");
        findings.push(Finding::new(Severity::Warning, "the superblocks", found, expected));
    }
    if found.aliases > 0 {
        let words = format!("{} in the journal alone", counted(found.aliases, "changed word"));
        findings.push(Finding::new(Severity::Note, "the journal", words, "usual"));
    }
    findings
}
