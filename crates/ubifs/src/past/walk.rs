//! The walk over an older index, of which any node may be gone.
//!
//! Layer: rank 5. Main types: [`Walk`], [`Tally`]. Parts that stand completely are remembered, since the
//! indexes of neighbouring commits have most of their nodes in common.

use super::{Commit, History, Survey};
use crate::check::Gap;
use crate::error::Problem;
use crate::format::data::Data;
use crate::format::dirent::Dirent;
use crate::format::index::{Branch, IndexNode};
use crate::format::inode::InodeNode;
use crate::format::key::Key;
use crate::format::{Header, Malformed, NodeType, check_checksum, usize_of};
use crate::tnc::{key_of, kind_of};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// What a leaf node says, wherever the index that names it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    kind: NodeType,
    len: u32,
    sqnum: u64,
    key: Option<Key>,
}

/// What a walk has counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub survey: Survey,
    /// The highest sequence numbers met.
    newest_leaf: u64,
    newest_index: u64,
}

/// A part of an index that stands, with what its parent has to say of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    len: u32,
    level: u16,
    keys: (Key, Key),
    tally: Tally,
}

/// An indexing node to read: its branch, the level that it must have, and the key that limits its keys
/// from above.
struct Visit {
    branch: Branch,
    level: Option<u16>,
    upper: Key,
}

/// A walk over the index of one commit.
pub(super) struct Walk {
    leaves_below: u64,
    index_below: u64,
    /// The branches that may still be followed.
    pub left: u64,
    /// Whether to remember the leaves.
    collects: bool,
    /// The leaves that the index names, those that do not stand included.
    pub leaves: Vec<Branch>,
    /// Those that do not stand.
    pub damaged: Vec<(Branch, Error)>,
    /// The parts of the index that do not stand.
    pub gaps: Vec<Gap>,
}

impl Walk {
    /// A walk that only counts.
    pub(super) const fn counting(commit: &Commit, left: u64) -> Self {
        Self {
            leaves_below: commit.leaves_below,
            index_below: commit.index_below,
            left,
            collects: false,
            leaves: Vec::new(),
            damaged: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// A walk that collects all leaves.
    pub(super) fn collecting(commit: &Commit, left: u64) -> Self {
        Self { collects: true, ..Self::counting(commit, left) }
    }

    fn lose(&mut self, visit: &Visit, error: Error) {
        if self.collects {
            let Branch { lnum: leb, offs, key: first, .. } = visit.branch;
            self.gaps.push(Gap { leb, offs, first, end: visit.upper, error });
        }
    }
}

impl Tally {
    /// What was counted, before a node with a sequence number was met.
    fn of(survey: Survey) -> Self {
        Self { survey, ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        let (sum, more) = (&mut self.survey, other.survey);
        sum.index_nodes = sum.index_nodes.saturating_add(more.index_nodes);
        sum.leaves = sum.leaves.saturating_add(more.leaves);
        sum.index_missing = sum.index_missing.saturating_add(more.index_missing);
        sum.leaves_missing = sum.leaves_missing.saturating_add(more.leaves_missing);
        sum.ended |= more.ended;
        self.newest_leaf = self.newest_leaf.max(other.newest_leaf);
        self.newest_index = self.newest_index.max(other.newest_index);
    }
}

impl IndexNode {
    /// Its lowest and its highest key. A parsed node has branches.
    fn ends(&self) -> (Key, Key) {
        let (first, last) = (self.branches.first(), self.branches.last());
        (first.map_or(Key::HIGHEST, |one| one.key), last.map_or(Key::HIGHEST, |one| one.key))
    }
}

impl Whole {
    /// Whether it is what a branch of the walk's commit names.
    fn fits(&self, walk: &Walk, visit: &Visit) -> bool {
        self.len == visit.branch.len
            && visit.level.is_none_or(|level| level == self.level)
            && self.keys.0 >= visit.branch.key
            && below(self.keys.1, visit.upper)
            && self.tally.newest_leaf < walk.leaves_below
            && self.tally.newest_index < walk.index_below
    }
}

impl<L: Lebs> History<L> {
    /// Walks over the whole index of `commit`.
    pub(super) fn walk(&mut self, clock: &mut Clock, walk: &mut Walk, commit: &Commit) -> Tally {
        let branch = commit.master.root();
        self.visit(clock, walk, &Visit { branch, level: None, upper: Key::HIGHEST })
    }

    /// Levels descend one by one from at most [`LEVELS_MAX`](crate::format::LEVELS_MAX), so the depth of
    /// the recursion is bounded.
    fn visit(&mut self, clock: &mut Clock, walk: &mut Walk, visit: &Visit) -> Tally {
        let place = (visit.branch.lnum, visit.branch.offs);
        if let Some(whole) = self.whole.get(&place).filter(|_| !walk.collects)
            && whole.fits(walk, visit)
        {
            return whole.tally;
        }
        let (node, sqnum) = match self.volume.past_index_node(clock, visit, walk.index_below) {
            Ok(found) => found,
            Err(error) => {
                walk.lose(visit, error);
                return Tally::of(Survey { index_missing: 1, ..Survey::default() });
            }
        };
        let mut tally = Tally::of(Survey { index_nodes: 1, ..Survey::default() });
        tally.newest_index = sqnum;
        let ends = node.branches.iter().skip(1).map(|next| next.key).chain([visit.upper]);
        for (&branch, upper) in node.branches.iter().zip(ends) {
            if !self.may_go_on(walk) {
                let error = Error::at(branch.lnum, branch.offs, Problem::Index);
                walk.lose(&Visit { branch, level: None, upper: visit.upper }, error);
                tally.survey.ended = true;
                break;
            }
            walk.left -= 1;
            tally.add(match node.level.checked_sub(1) {
                None => self.leaf(clock, walk, branch),
                level => self.visit(clock, walk, &Visit { branch, level, upper }),
            });
        }
        if tally.survey.is_whole() {
            let (len, level, keys) = (visit.branch.len, node.level, node.ends());
            self.whole.insert(place, Whole { len, level, keys, tally });
        }
        tally
    }

    /// No more leaves than the main area has room for, and not for ever.
    fn may_go_on(&self, walk: &Walk) -> bool {
        walk.left > 0 && self.volume.layout.takes_leaves(walk.leaves.len())
    }

    fn leaf(&mut self, clock: &mut Clock, walk: &mut Walk, branch: Branch) -> Tally {
        let found = self.check_leaf(clock, branch, walk.leaves_below);
        if walk.collects {
            walk.leaves.push(branch);
        }
        match found {
            Ok(newest_leaf) => {
                let survey = Survey { leaves: 1, ..Survey::default() };
                Tally { newest_leaf, ..Tally::of(survey) }
            }
            Err(error) => {
                if walk.collects {
                    walk.damaged.push((branch, error));
                }
                Tally::of(Survey { leaves_missing: 1, ..Survey::default() })
            }
        }
    }

    /// Whether the leaf that a branch names is there; its sequence number.
    fn check_leaf(
        &mut self,
        clock: &mut Clock,
        branch: Branch,
        leaves_below: u64,
    ) -> Result<u64, Error> {
        let Branch { lnum: leb, offs, len, key } = branch;
        let facts = match self.known.get(&(leb, offs)) {
            Some(known) => known.clone(),
            None => {
                let facts = self.volume.facts(clock, leb, offs);
                self.known.insert((leb, offs), facts.clone());
                facts
            }
        }?;
        if facts.sqnum >= leaves_below {
            return Err(Error::at(leb, offs, Problem::Newer));
        }
        if Some(facts.kind) != kind_of(key) || facts.len != len || facts.key != Some(key) {
            return Err(Error::at(leb, offs, Problem::WrongKey));
        }
        Ok(facts.sqnum)
    }
}

impl<L: Lebs> Volume<L> {
    /// The indexing node of an older commit, and its sequence number.
    fn past_index_node(
        &mut self,
        clock: &mut Clock,
        visit: &Visit,
        index_below: u64,
    ) -> Result<(IndexNode, u64), Error> {
        let Branch { lnum: leb, offs, len, key } = visit.branch;
        let layout = &self.layout;
        let inside = leb >= layout.main_first && leb.0 < layout.leb_count;
        let possible = layout.min_idx_node_sz..=layout.max_idx_node_sz;
        if !inside || !offs.is_multiple_of(8) || !possible.contains(&len) {
            return Err(Error::at(leb, offs, Problem::Area));
        }
        let wrong = |cause| erased_or(leb, offs, cause);
        let read = self.read_node(clock, NodeType::Index, leb, offs, len);
        let bytes = read.map_err(|error| match error {
            Error::Node { cause, .. } => wrong(cause),
            other => other,
        })?;
        let sqnum = Header::parse(&bytes).map_err(wrong)?.sqnum;
        if sqnum >= index_below {
            return Err(Error::at(leb, offs, Problem::Newer));
        }
        let node = IndexNode::parse(&bytes, self.layout.fanout).map_err(wrong)?;
        self.check_branches(&visit.branch, &node)?;
        let (first, last) = node.ends();
        let fits = visit.level.is_none_or(|level| node.level == level)
            && first >= key
            && below(last, visit.upper);
        if fits { Ok((node, sqnum)) } else { Err(Error::at(leb, offs, Problem::Index)) }
    }

    /// What the leaf node at a place says, if it is a right one.
    fn facts(&mut self, clock: &mut Clock, leb: LebIndex, offs: u32) -> Result<Facts, Error> {
        let wrong = |cause| erased_or(leb, offs, cause);
        let mut head = [0; crate::format::HEADER_SIZE];
        self.check_place(leb, offs, crate::format::u32_of(head.len()))?;
        self.leb_read_unchecked(clock, leb, offs, &mut head)?;
        let Header { sqnum, len, node_type: kind, .. } = Header::parse(&head).map_err(wrong)?;
        self.check_place(leb, offs, len)?;
        let mut bytes = vec![0; usize_of(len)];
        self.leb_read_unchecked(clock, leb, offs, &mut bytes)?;
        let header = Header::parse(&bytes).map_err(wrong)?;
        check_checksum(&bytes, &header).map_err(wrong)?;
        match kind {
            NodeType::Inode => InodeNode::parse(&bytes).map(drop),
            NodeType::Data => Data::parse(&bytes).map(drop),
            NodeType::Dirent | NodeType::Xattr => Dirent::parse(&bytes).map(drop),
            _ => Ok(()),
        }
        .map_err(wrong)?;
        Ok(Facts { kind, len, sqnum, key: key_of(&bytes) })
    }
}

/// The error of a place that may be erased.
const fn erased_or(leb: LebIndex, offs: u32, cause: Malformed) -> Error {
    match cause {
        Malformed::Magic(u32::MAX) => Error::at(leb, offs, Problem::Erased),
        cause => Error::Node { leb, offs, cause },
    }
}

/// Whether a key may stand before another one. Only entries whose names have the same hash share a key.
fn below(key: Key, upper: Key) -> bool {
    key < upper || key == upper && (key.is_hashed() || key == Key::HIGHEST)
}
