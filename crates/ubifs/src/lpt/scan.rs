//! A scan of the LEB properties tree (LPT) through nodes that need not stay in memory.
//!
//! Layer: rank 5. Main types: [`ScanStep`], `Path`. Only what the caller asks for is added to the tree
//! in memory; the rest is read and forgotten.
//!
//! Source: Linux 6.1, `fs/ubifs/lpt.c`, `ubifs_lpt_scan_nolock`.

use super::Lpt;
use super::geometry::{FANOUT, FANOUT_BITS};
use super::node::{Place, Props};
use super::tree::{NONE, ReadNnode};
use crate::format::usize_of;
use crate::lprops::{Lprops, flag};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;

/// What a scan does with the LEB that it has come to (`LPT_SCAN_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// Goes on.
    Continue,
    /// Adds the leaf to the tree in memory, and goes on.
    Add,
    /// Adds the leaf, and ends.
    Stop,
}

/// A node on the way from the root to a leaf.
#[derive(Debug, Clone, Copy)]
struct PathNode {
    /// Its position in memory, or [`NONE`].
    at: u32,
    /// What was read, if it is not in memory.
    read: ReadNnode,
}

/// The way from the root to the present leaf, and the leaf.
#[derive(Debug)]
struct Path {
    /// The nodes, the root first.
    nodes: Vec<PathNode>,
    /// The number of the leaf.
    number: u32,
    /// The properties in the leaf, if it is not in memory.
    props: Option<[Props; 4]>,
}

impl<L: Lebs> Volume<L> {
    /// Passes the properties of all LEBs from `start` to `end` to `step`, wrapping around at the end of
    /// the volume; `None` starts behind `end`. The last argument of `step` says whether they are in
    /// memory. Returns where it stopped.
    ///
    /// # Errors
    /// A damaged node, and any of the LEBs.
    pub(crate) fn lpt_scan(
        &mut self,
        clock: &mut Clock,
        start: Option<LebIndex>,
        end: LebIndex,
        step: &mut dyn FnMut(&Self, Lprops, bool) -> ScanStep,
    ) -> Result<Option<Lprops>, Error> {
        let (main_lebs, end) = (self.layout.main_lebs, self.main_index(end));
        let mut index = start.map_or((end + 1) % main_lebs, |leb| self.main_index(leb));
        let mut path = self.path_to(clock, index >> FANOUT_BITS, None)?;
        loop {
            let (lprops, in_memory) = self.lprops_on(&path, index);
            let next = step(self, lprops, in_memory);
            if next != ScanStep::Continue {
                self.keep_path(&mut path);
                if in_memory {
                    self.ensure_category(index);
                }
            }
            if next == ScanStep::Stop {
                return Ok(Some(lprops));
            }
            if index == end {
                return Ok(None);
            }
            index = (index + 1) % main_lebs;
            if index == 0 {
                path = self.path_to(clock, 0, None)?;
            } else if index.is_multiple_of(FANOUT) {
                path = self.path_to(clock, index >> FANOUT_BITS, Some(&path))?;
            }
        }
    }

    /// The way to a leaf; what it shares with `previous` is not read again.
    fn path_to(
        &mut self,
        clock: &mut Clock,
        number: u32,
        previous: Option<&Path>,
    ) -> Result<Path, Error> {
        let height = self.lpt.height;
        let root = self.lpt_root(clock)?;
        let mut nodes = vec![self.known(root)];
        for level in (1..height).rev() {
            let above = nodes[nodes.len() - 1];
            let iip = Lpt::branch_to(number, level + 1);
            let (place, child) = self.below(&above, iip);
            let numbered = self.lpt.child_number((above.read.number, above.read.level), iip);
            let depth = nodes.len();
            let shared = previous.map(|path| path.nodes[depth]);
            let node = match shared.filter(|node| node.read.number == numbered) {
                _ if child != NONE => self.known(child),
                Some(node) => node,
                None => {
                    let read = self.read_nnode(clock, place, (numbered, level))?;
                    PathNode { at: NONE, read }
                }
            };
            nodes.push(node);
        }
        let above = nodes[nodes.len() - 1];
        let (place, _) = self.below(&above, Lpt::branch_to(number, 1));
        let in_memory = self.lpt.pnode_of(number).is_some();
        let props = if in_memory { None } else { Some(self.read_pnode(clock, place, number)?) };
        Ok(Path { nodes, number, props })
    }

    fn known(&self, at: u32) -> PathNode {
        let node = &self.lpt.nnodes[usize_of(at)];
        let places = node.branches.map(|branch| branch.place);
        PathNode { at, read: ReadNnode { number: node.number, level: node.level, places } }
    }

    /// Place and position in memory of what is below a node.
    fn below(&self, node: &PathNode, iip: u32) -> (Place, u32) {
        if node.at == NONE {
            return (node.read.places[usize_of(iip)], NONE);
        }
        let branch = self.lpt.nnodes[usize_of(node.at)].branches[usize_of(iip)];
        (branch.place, branch.child)
    }

    fn lprops_on(&self, path: &Path, index: u32) -> (Lprops, bool) {
        let leb = LebIndex(self.layout.main_first.0 + index);
        let Some(props) = &path.props else { return (self.lprops(leb), true) };
        let Props { free, dirty, index } = props[usize_of(index % FANOUT)];
        let flags = if index { flag::INDEX } else { 0 };
        (Lprops { leb, free, dirty, flags }, false)
    }

    /// Adds all nodes of the way to the tree in memory.
    fn keep_path(&mut self, path: &mut Path) {
        for depth in 1..path.nodes.len() {
            if path.nodes[depth].at == NONE {
                let parent = path.nodes[depth - 1].at;
                let read = path.nodes[depth].read;
                let iip = Lpt::branch_to(path.number, read.level + 1);
                path.nodes[depth].at = self.lpt.insert_nnode(parent, iip, &read);
            }
        }
        if let Some(props) = path.props.take() {
            let parent = path.nodes[path.nodes.len() - 1].at;
            self.insert_pnode(parent, path.number, &props);
        }
    }
}
