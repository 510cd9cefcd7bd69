//! Checks of the index, and the walk over all of it.
//!
//! Layer: rank 5.
//!
//! Source: Linux 6.1, `fs/ubifs/debug.c` (`dbg_check_tnc`, `dbg_check_znode`, `dbg_check_key_order`,
//! `dbg_walk_index`).

use super::load::name_of;
use super::znode::{Zbranch, ZnodeId};
use super::{Tnc, broken};
use crate::format::dirent::Dirent;
use crate::format::index::Branch;
use crate::format::key::Key;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Contradiction;

/// What is called for every branch to a leaf node.
type Leaf<'a, V> = &'a mut dyn FnMut(&mut V, &mut Clock, Branch) -> Result<(), Error>;

impl<L: Lebs> Volume<L> {
    /// Compares the znodes in memory with each other and with their counts; it takes no time.
    pub(crate) fn compare_tnc(&self) -> Result<(), Contradiction> {
        let wrong = |text: String| Err(Contradiction(text));
        let (mut dirty, mut clean) = (0, 0);
        for id in self.tnc.postorder() {
            if let Err(fact) = self.tnc.check_znode(id) {
                let branch = self.tnc.own_branch(id).branch();
                let (leb, offs) = (branch.lnum, branch.offs);
                return wrong(format!("the znode of LEB {leb}, offset {offs}: {fact}"));
            }
            *(if self.tnc.arena.node(id).dirty { &mut dirty } else { &mut clean }) += 1;
        }
        if (dirty, clean) != self.znode_counts() {
            return wrong(format!(
                "{dirty} znodes are dirty and {clean} clean, not {} and {}",
                self.tnc.dirty, self.tnc.clean
            ));
        }
        Ok(())
    }

    /// Checks the znodes in memory, and the order of colliding entries by reading them, if the options
    /// want it (`dbg_check_tnc`). `counts`: their numbers, too.
    pub(super) fn check_tnc(&mut self, clock: &mut Clock, counts: bool) -> Result<(), Error> {
        if !self.options.checks.index {
            return Ok(());
        }
        let order = self.tnc.postorder();
        let mut previous: Option<Branch> = None;
        for id in order {
            let own = self.tnc.own_branch(id).branch();
            self.tnc.check_znode(id).map_err(|_| broken(&own))?;
            if self.tnc.arena.node(id).level > 0 || self.mode.replaying {
                previous = None;
                continue;
            }
            let branches: Vec<Branch> =
                self.tnc.arena.branches(id).iter().map(Zbranch::branch).collect();
            for branch in branches {
                if let Some(left) = previous.filter(|left| left.key == branch.key) {
                    self.check_key_order(clock, &left, &branch)?;
                }
                previous = Some(branch);
            }
        }
        if counts && self.compare_tnc().is_err() {
            return Err(broken(&self.tnc.zroot.branch()));
        }
        Ok(())
    }

    /// Reads two entries with one key: the first name must be lower.
    fn check_key_order(
        &mut self,
        clock: &mut Clock,
        left: &Branch,
        right: &Branch,
    ) -> Result<(), Error> {
        let first = self.tnc_read_node(clock, *left)?;
        let second = self.tnc_read_node(clock, *right)?;
        for (node, branch) in [(&first, left), (&second, right)] {
            Dirent::parse(node).map_err(|cause| Error::Node {
                leb: branch.lnum,
                offs: branch.offs,
                cause,
            })?;
        }
        if name_of(&first) < name_of(&second) { Ok(()) } else { Err(broken(right)) }
    }

    /// Walks over the whole index, children before parents, and reads what is not in memory
    /// (`dbg_walk_index`). `leaf` is called for every branch to a leaf node, `node` for every indexing
    /// node, with the length that it has or will have.
    pub(crate) fn walk_index(
        &mut self,
        clock: &mut Clock,
        leaf: Leaf<'_, Self>,
        node: &mut dyn FnMut(Branch),
    ) -> Result<(), Error> {
        let root = self.root_znode(clock)?;
        let mut at = self.lowest(clock, root)?;
        loop {
            let own = self.tnc.own_branch(at).branch();
            node(Branch { len: self.node_len(at), ..own });
            if self.tnc.arena.node(at).level == 0 {
                for slot in 0..self.tnc.arena.node(at).count() {
                    let branch = self.tnc.arena.branch(at, slot).branch();
                    leaf(self, clock, branch)?;
                }
            }
            let this = self.tnc.arena.node(at);
            let Some(parent) = this.parent() else { return Ok(()) };
            let slot = this.slot_in_parent() + 1;
            at = if slot < self.tnc.arena.node(parent).count() {
                let child = self.child_znode(clock, parent, slot)?;
                self.lowest(clock, child)?
            } else {
                parent
            };
        }
    }

    fn lowest(&mut self, clock: &mut Clock, id: ZnodeId) -> Result<ZnodeId, Error> {
        let mut id = id;
        while self.tnc.arena.node(id).level > 0 {
            id = self.child_znode(clock, id, 0)?;
        }
        Ok(id)
    }
}

impl Tnc {
    /// All znodes in memory, children before parents.
    fn postorder(&self) -> Vec<ZnodeId> {
        let mut order = Vec::new();
        let mut stack: Vec<ZnodeId> = self.zroot.child().into_iter().collect();
        // Parents first and from right to left, then reversed.
        while let Some(id) = stack.pop() {
            order.push(id);
            if self.arena.node(id).level > 0 {
                stack.extend(self.arena.branches(id).iter().filter_map(Zbranch::child));
            }
        }
        order.reverse();
        order
    }

    /// Checks one znode; the error is the fact that does not hold (`dbg_check_znode`).
    fn check_znode(&self, id: ZnodeId) -> Result<(), &'static str> {
        let require = |holds: bool, fact| if holds { Ok(()) } else { Err(fact) };
        let node = self.arena.node(id);
        let own = self.own_branch(id);
        require(node.count() > 0, "it has branches")?;
        require(own.len != 0 || node.dirty, "it is on flash, or dirty")?;
        match node.parent() {
            None => require(self.zroot.child() == Some(id), "it is the root")?,
            Some(parent) => self.check_in_parent(id, parent)?,
        }
        let branches = self.arena.branches(id);
        let ascends = |pair: &[Zbranch]| {
            let (left, right) = (pair[0].key, pair[1].key);
            left < right || (left == right && left.is_hashed())
        };
        require(branches.windows(2).all(ascends), "its keys ascend")?;
        for branch in branches {
            let on_flash = branch.lnum().0 != 0;
            require(on_flash == (branch.len != 0), "a branch has a LEB and a length, or neither")?;
            require(on_flash || branch.offs == 0, "a branch without a LEB has no offset")?;
            let child = if node.level > 0 { branch.child() } else { None };
            require(on_flash || child.is_some(), "a branch leads to flash or to a znode")?;
            let parent = child.map(|child| self.arena.node(child).parent());
            require(parent.is_none_or(|parent| parent == Some(id)), "a child knows its parent")?;
        }
        Ok(())
    }

    fn check_in_parent(&self, id: ZnodeId, parent: ZnodeId) -> Result<(), &'static str> {
        let require = |holds: bool, fact| if holds { Ok(()) } else { Err(fact) };
        let (node, above) = (self.arena.node(id), self.arena.node(parent));
        let slot = node.slot_in_parent();
        require(above.dirty || !node.dirty, "the parent of a dirty znode is dirty")?;
        require(node.level + 1 == above.level, "the levels descend")?;
        require(slot < above.count(), "its slot is in the parent")?;
        let siblings = self.arena.branches(parent);
        require(siblings[slot].child() == Some(id), "the parent leads to it")?;
        let branches = self.arena.branches(id);
        let (first, last) = (branches[0].key, branches[branches.len() - 1].key);
        let upper = siblings.get(slot + 1).map_or(Key::HIGHEST, |next| next.key);
        require(siblings[slot].key <= first, "its keys are not below the parent's")?;
        require(last <= upper, "its keys are not above the next one's")
    }
}
