//! Older states: the trees of the commits that master nodes still name.
//!
//! Layer: rank 5. Main types: [`History`], the commits of a volume; [`Commit`]; [`Survey`], what of a
//! commit's index still stands. UBIFS writes out of place, so the nodes of an older commit stay until
//! garbage collection or a new index takes their LEBs.
//!
//! What stands at a place that an older index names is not what it meant when its kind, length or key
//! differ, or when its sequence number is not below those of the commit. Garbage collection copies nodes
//! as they are, so this is enough: a node of the same key that is older than the commit and not the one
//! that was meant was dead already, and is never written again.
//!
//! No journal is replayed, and nothing is written. This has no counterpart in the kernel.

mod find;
mod walk;

use crate::check::{Audit, Gap, Leaf};
use crate::error::MountError;
use crate::format::ROOT_INO;
use crate::format::index::Branch;
use crate::format::inode::InodeNode;
use crate::format::key::{Key, KeyType};
use crate::format::master::Master;
use crate::layout::Layout;
use crate::options::Options;
use crate::{Error, LebIndex, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;
use std::collections::{BTreeMap, BTreeSet};
use walk::{Facts, Walk, Whole};

/// The branches of older indexes that are followed in all surveys together: a forged index can lead to
/// the same nodes over and over.
const BRANCHES: u64 = 1 << 22;

/// A commit that is named by a master node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its number.
    pub number: u64,
    /// The master nodes that name it, each with its sequence number, in that order. A mount and an
    /// unmount write it again.
    pub places: Vec<(LebIndex, u32, u64)>,
    /// The last of them.
    pub master: Master,
    /// Leaf nodes of the commit have sequence numbers below this.
    pub(crate) leaves_below: u64,
    /// Indexing nodes of the commit have sequence numbers below this.
    pub(crate) index_below: u64,
}

/// What still stands of the index of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Survey {
    /// Indexing nodes that stand.
    pub index_nodes: u64,
    /// Leaf nodes that stand.
    pub leaves: u64,
    /// Indexing nodes that do not; what they referred to is unknown.
    pub index_missing: u64,
    /// Leaf nodes that do not.
    pub leaves_missing: u64,
    /// Whether the survey ended early, because this and other surveys took too many steps.
    pub ended: bool,
}

impl Survey {
    /// Whether everything stands.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.index_missing == 0 && self.leaves_missing == 0 && !self.ended
    }
}

/// The commits of a volume.
#[derive(Debug)]
pub struct History<L> {
    volume: Volume<L>,
    commits: Vec<Commit>,
    /// The nodes that were read, by their places.
    known: BTreeMap<(LebIndex, u32), Result<Facts, Error>>,
    /// The parts of indexes that stand completely.
    whole: BTreeMap<(LebIndex, u32), Whole>,
    /// The branches that may still be followed.
    left: u64,
}

/// What a mount of an older commit keeps besides the volume.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    /// Leaf nodes have sequence numbers below this.
    pub leaves_below: u64,
    /// The number of the newest commit.
    newest: u64,
    /// All leaf nodes that the standing part of the index names.
    leaves: Vec<Branch>,
    damaged: Vec<(Branch, Error)>,
    gaps: Vec<Gap>,
    /// The root and directories of which names stand, where the inode does not.
    directories: BTreeSet<u32>,
}

impl<L: Lebs> History<L> {
    /// Finds the commits of a volume. Neither the journal nor the newest index need be right.
    ///
    /// # Errors
    /// [`MountError`] when the superblock is not right, or the volume cannot be read.
    pub fn read(clock: &mut Clock, lebs: L, options: Options) -> Result<Self, MountError> {
        let layout = Layout::early(&lebs.shape())?;
        let mut volume = Volume::new(lebs, layout, Options { read_only: true, ..options });
        volume.read_superblock(clock)?;
        volume.init_constants_sb()?;
        volume.alloc_wbufs();
        let commits = volume.find_commits(clock)?;
        let (known, whole) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { volume, commits, known, whole, left: BRANCHES })
    }

    /// The commits, in the order in which they were made.
    #[must_use]
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// The last commit of this number.
    #[must_use]
    pub fn commit(&self, number: u64) -> Option<&Commit> {
        self.commits.iter().rfind(|commit| commit.number == number)
    }

    /// Reads every node of the index of a commit. What a survey before has read is not read again.
    pub fn survey(&mut self, clock: &mut Clock, commit: &Commit) -> Survey {
        let mut walk = Walk::counting(commit, self.left);
        let tally = self.walk(clock, &mut walk, commit);
        self.left = walk.left;
        tally.survey
    }

    /// The filesystem as the commit `number` left it, read-only. What does not stand any more is missing
    /// in it; [`Ubifs::audit`] tells what. A directory whose inode is lost is shown with mode 0755.
    ///
    /// # Errors
    /// ENOENT when no master node names that commit; what is wrong with the root of its index, when
    /// nothing stands.
    pub fn mount(mut self, clock: &mut Clock, number: u64) -> Result<Ubifs<L>, MountError> {
        let commit = self.commit(number).cloned();
        let commit = commit.ok_or(Error::Refused(Errno::NoEnt))?;
        let mut walk = Walk::collecting(&commit, BRANCHES);
        self.walk(clock, &mut walk, &commit);
        let Walk { leaves, damaged, gaps, .. } = walk;
        if leaves.is_empty() {
            let nothing = Error::Refused(Errno::NoEnt);
            return Err(gaps.into_iter().next().map_or(nothing, |gap| gap.error).into());
        }
        let newest = self.commits.last().map_or(number, |commit| commit.number);
        let mut volume = self.volume;
        // A branch to a name that does not stand would end the listing of its directory.
        let place = |branch: &Branch| (branch.lnum, branch.offs);
        let lost: BTreeSet<_> = damaged.iter().map(|(branch, _)| place(branch)).collect();
        let stands = |branch: &&Branch| !branch.key.is_hashed() || !lost.contains(&place(branch));
        let standing: Vec<Branch> = leaves.iter().filter(stands).copied().collect();
        volume.stand_in(&standing);
        let directories = directories_without_inode(&standing, &lost);
        volume.master = commit.master.clone();
        volume.cmt_no = commit.number;
        volume.max_sqnum = commit.places.last().map_or(0, |place| place.2);
        volume.highest_inum = u32::try_from(commit.master.highest_inum).unwrap_or(u32::MAX);
        let leaves_below = commit.leaves_below;
        volume.past =
            Some(Box::new(Past { leaves_below, newest, leaves, damaged, gaps, directories }));
        volume.mode.mounting = false;
        volume.iget(clock, ROOT_INO)?;
        Ok(Ubifs { volume })
    }
}

impl<L> Ubifs<L> {
    /// Of a filesystem that [`History::mount`] has mounted, the number of its commit and of the newest
    /// one.
    #[must_use]
    pub fn older_commit(&self) -> Option<(u64, u64)> {
        let past = self.volume.past.as_ref()?;
        Some((self.volume.cmt_no, past.newest))
    }
}

/// The root and the directories of standing entries, if they have no standing inode.
fn directories_without_inode(
    standing: &[Branch],
    lost: &BTreeSet<(LebIndex, u32)>,
) -> BTreeSet<u32> {
    let of_kind = |kind| move |branch: &&Branch| branch.key.kind() == Some(kind);
    let inodes = standing.iter().filter(of_kind(KeyType::Inode));
    let stands = |branch: &&Branch| !lost.contains(&(branch.lnum, branch.offs));
    let inodes: BTreeSet<u32> = inodes.filter(stands).map(|branch| branch.key.ino()).collect();
    let parents = standing.iter().filter(of_kind(KeyType::Dirent)).map(|branch| branch.key.ino());
    parents.chain([ROOT_INO]).filter(|ino| !inodes.contains(ino)).collect()
}

impl Past {
    /// What stands for the lost inode of a directory, so that the names in it can be reached.
    pub(crate) fn lost_directory(&self, ino: u32) -> Option<InodeNode> {
        let directory =
            InodeNode { nlink: 2, mode: 0o040_755, ..InodeNode::zeroed(Key::inode(ino)) };
        self.directories.contains(&ino).then_some(directory)
    }

    /// What the mount has found; `contradiction` is left to the caller.
    pub(crate) fn audit(&self) -> Audit {
        let damaged = self.damaged.iter().map(|(branch, error)| ((*branch).into(), error.clone()));
        Audit {
            leaves: self.leaves.iter().copied().map(Leaf::from).collect(),
            damaged: damaged.collect(),
            gaps: self.gaps.clone(),
            ..Audit::default()
        }
    }
}

#[cfg(test)]
mod tests;
