//! A red-black tree whose shape is that of Linux' after the same insertions and removals.
//!
//! Layer: rank 4. Main type: [`Tree`]. Wear levelling takes the *root* of the tree of free blocks, so
//! equal histories choose equal blocks only in trees of equal shape. Nodes lie in one arena.
//!
//! Source: Linux 6.1, `lib/rbtree.c`, `__rb_insert` and `____rb_erase_color`;
//! `include/linux/rbtree_augmented.h`, `__rb_erase_augmented` (a removed node with two children is
//! replaced by its successor).

use std::cmp::Ordering;

/// No node.
const NIL: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Node<K> {
    key: K,
    parent: usize,
    /// The left and the right child.
    children: [usize; 2],
    red: bool,
}

/// The side of a child.
const LEFT: usize = 0;
const RIGHT: usize = 1;

/// A sorted set.
#[derive(Debug, Clone)]
pub struct Tree<K> {
    nodes: Vec<Node<K>>,
    unused: Vec<usize>,
    root: usize,
}

impl<K> Default for Tree<K> {
    fn default() -> Self {
        Self { nodes: Vec::new(), unused: Vec::new(), root: NIL }
    }
}

impl<K: Ord + Copy> Tree<K> {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// The number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.nodes.len() - self.unused.len()
    }

    /// The key of the root.
    #[must_use]
    pub fn root(&self) -> Option<K> {
        self.key(self.root)
    }

    /// The smallest key (`rb_first`).
    #[must_use]
    pub fn first(&self) -> Option<K> {
        self.key(self.outermost(self.root, LEFT))
    }

    /// The largest key (`rb_last`).
    #[must_use]
    pub fn last(&self) -> Option<K> {
        self.key(self.outermost(self.root, RIGHT))
    }

    /// The key after that of the root (`rb_next`).
    #[must_use]
    pub fn after_root(&self) -> Option<K> {
        self.key(self.next(self.root))
    }

    /// The largest key for which `low` holds; `low` holds for all keys up to some key.
    pub fn last_where(&self, low: impl Fn(K) -> bool) -> Option<K> {
        let (mut at, mut found) = (self.root, None);
        while at != NIL {
            let key = self.nodes[at].key;
            if low(key) {
                found = Some(key);
            }
            at = self.nodes[at].children[if low(key) { RIGHT } else { LEFT }];
        }
        found
    }

    /// Whether the key is in the tree.
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.find(key) != NIL
    }

    /// The keys in order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let mut at = self.outermost(self.root, LEFT);
        std::iter::from_fn(move || {
            let key = self.key(at)?;
            at = self.next(at);
            Some(key)
        })
    }

    /// The keys with children before their parents, as Linux destroys a tree.
    #[must_use]
    pub fn postorder(&self) -> Vec<K> {
        let mut keys = Vec::with_capacity(self.len());
        let mut pending = vec![(self.root, false)];
        while let Some((at, visited)) = pending.pop() {
            if at == NIL {
                continue;
            }
            if visited {
                keys.push(self.nodes[at].key);
                continue;
            }
            let [left, right] = self.nodes[at].children;
            pending.extend([(at, true), (right, false), (left, false)]);
        }
        keys
    }

    /// Inserts a key.
    ///
    /// # Panics
    /// When it is in the tree already.
    pub fn insert(&mut self, key: K) {
        let (mut parent, mut side, mut at) = (NIL, LEFT, self.root);
        while at != NIL {
            parent = at;
            side = match key.cmp(&self.nodes[at].key) {
                Ordering::Less => LEFT,
                Ordering::Greater => RIGHT,
                Ordering::Equal => panic!("Tree::insert: the key is in the tree"),
            };
            at = self.nodes[at].children[side];
        }
        let node = Node { key, parent, children: [NIL; 2], red: true };
        let index = match self.unused.pop() {
            Some(index) => {
                self.nodes[index] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        if parent == NIL {
            self.root = index;
        } else {
            self.nodes[parent].children[side] = index;
        }
        self.balance_insertion(index);
    }

    /// Removes a key; returns whether it was in the tree.
    pub fn remove(&mut self, key: K) -> bool {
        let index = self.find(key);
        if index == NIL {
            return false;
        }
        let deficit = self.unlink(index);
        if deficit != NIL {
            self.balance_removal(deficit);
        }
        self.unused.push(index);
        if self.root == NIL {
            self.nodes.clear();
            self.unused.clear();
        }
        true
    }

    fn key(&self, at: usize) -> Option<K> {
        self.nodes.get(at).map(|node| node.key)
    }

    fn find(&self, key: K) -> usize {
        let mut at = self.root;
        while at != NIL {
            let node = &self.nodes[at];
            match key.cmp(&node.key) {
                Ordering::Less => at = node.children[LEFT],
                Ordering::Greater => at = node.children[RIGHT],
                Ordering::Equal => return at,
            }
        }
        NIL
    }

    fn outermost(&self, mut at: usize, side: usize) -> usize {
        while at != NIL && self.nodes[at].children[side] != NIL {
            at = self.nodes[at].children[side];
        }
        at
    }

    fn next(&self, mut at: usize) -> usize {
        if at == NIL {
            return NIL;
        }
        let right = self.nodes[at].children[RIGHT];
        if right != NIL {
            return self.outermost(right, LEFT);
        }
        loop {
            let parent = self.nodes[at].parent;
            if parent == NIL || self.nodes[parent].children[LEFT] == at {
                return parent;
            }
            at = parent;
        }
    }

    fn is_red(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.red)
    }

    /// Puts `new` in the place of `old` below its parent.
    fn replace(&mut self, old: usize, new: usize) {
        let parent = self.nodes[old].parent;
        if parent == NIL {
            self.root = new;
        } else {
            let side = usize::from(self.nodes[parent].children[RIGHT] == old);
            self.nodes[parent].children[side] = new;
        }
        if new != NIL {
            self.nodes[new].parent = parent;
        }
    }

    /// Rotates `at` down to `side`: its child on the other side takes its place.
    fn rotate(&mut self, at: usize, side: usize) {
        let up = self.nodes[at].children[1 - side];
        let between = self.nodes[up].children[side];
        self.replace(at, up);
        self.nodes[at].children[1 - side] = between;
        if between != NIL {
            self.nodes[between].parent = at;
        }
        self.nodes[up].children[side] = at;
        self.nodes[at].parent = up;
    }

    fn balance_insertion(&mut self, mut at: usize) {
        loop {
            let mut parent = self.nodes[at].parent;
            if parent == NIL {
                self.nodes[at].red = false;
                return;
            }
            if !self.nodes[parent].red {
                return;
            }
            let above = self.nodes[parent].parent;
            let side = usize::from(self.nodes[above].children[RIGHT] == parent);
            let uncle = self.nodes[above].children[1 - side];
            if self.is_red(uncle) {
                self.nodes[uncle].red = false;
                self.nodes[parent].red = false;
                self.nodes[above].red = true;
                at = above;
                continue;
            }
            if self.nodes[parent].children[1 - side] == at {
                self.rotate(parent, side);
                parent = at;
            }
            self.rotate(above, 1 - side);
            self.nodes[parent].red = false;
            self.nodes[above].red = true;
            return;
        }
    }

    /// Takes a node out of the tree. Returns the node below which one black node is missing, or none.
    fn unlink(&mut self, at: usize) -> usize {
        let Node { parent, children: [left, right], red, .. } = self.nodes[at];
        if left == NIL || right == NIL {
            let child = if left == NIL { right } else { left };
            self.replace(at, child);
            if child != NIL {
                self.nodes[child].red = red;
                return NIL;
            }
            return if red { NIL } else { parent };
        }
        let successor = self.outermost(right, LEFT);
        let orphan = self.nodes[successor].children[RIGHT];
        let mut below = self.nodes[successor].parent;
        if below == at {
            below = successor;
        } else {
            self.replace(successor, orphan);
            self.nodes[successor].children[RIGHT] = right;
            self.nodes[right].parent = successor;
        }
        self.nodes[successor].children[LEFT] = left;
        self.nodes[left].parent = successor;
        self.replace(at, successor);
        let lost_black = !std::mem::replace(&mut self.nodes[successor].red, red);
        if orphan != NIL {
            self.nodes[orphan].red = false;
            return NIL;
        }
        if lost_black { below } else { NIL }
    }

    fn balance_removal(&mut self, mut parent: usize) {
        let mut at = NIL;
        loop {
            // The side on which a black node is missing.
            let side = usize::from(self.nodes[parent].children[RIGHT] == at);
            let mut sibling = self.nodes[parent].children[1 - side];
            if self.nodes[sibling].red {
                self.rotate(parent, side);
                self.nodes[sibling].red = false;
                self.nodes[parent].red = true;
                sibling = self.nodes[parent].children[1 - side];
            }
            let far = self.nodes[sibling].children[1 - side];
            if !self.is_red(far) {
                let near = self.nodes[sibling].children[side];
                if !self.is_red(near) {
                    self.nodes[sibling].red = true;
                    if self.nodes[parent].red {
                        self.nodes[parent].red = false;
                        return;
                    }
                    at = parent;
                    parent = self.nodes[at].parent;
                    if parent == NIL {
                        return;
                    }
                    continue;
                }
                self.rotate(sibling, 1 - side);
                sibling = near;
            }
            let far = self.nodes[sibling].children[1 - side];
            self.rotate(parent, side);
            self.nodes[sibling].red = self.nodes[parent].red;
            self.nodes[parent].red = false;
            self.nodes[far].red = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;
    use std::collections::BTreeSet;

    impl<K: Ord + Copy + std::fmt::Debug> Tree<K> {
        /// Checks order, links and colours below `at`; returns the black height.
        fn check(&self, at: usize) -> u32 {
            if at == NIL {
                return 1;
            }
            let node = &self.nodes[at];
            for child in node.children {
                if child != NIL {
                    assert_eq!(self.nodes[child].parent, at);
                    assert!(!(node.red && self.nodes[child].red), "red below red");
                }
            }
            let [left, right] = node.children.map(|child| self.check(child));
            assert_eq!(left, right, "black heights");
            left + u32::from(!node.red)
        }

        /// The tree as text: `(left key right)`, red keys in upper case.
        fn shape(&self, at: usize) -> String {
            if at == NIL {
                return String::new();
            }
            let [left, right] = self.nodes[at].children.map(|child| self.shape(child));
            let colour = if self.nodes[at].red { "r" } else { "" };
            format!("({left}{:?}{colour}{right})", self.nodes[at].key)
        }
    }

    #[test]
    fn ascending_keys_have_the_shape_that_linux_gives_them() {
        let mut tree = Tree::new();
        (1..=8).for_each(|key| tree.insert(key));
        assert_eq!(tree.shape(tree.root), "(((1)2r(3))4((5)6r(7(8r))))");
        assert_eq!((tree.root(), tree.after_root()), (Some(4), Some(5)));
        tree.remove(4);
        assert_eq!(tree.shape(tree.root), "(((1)2r(3))5((6)7r(8)))");
        tree.remove(1);
        assert_eq!(tree.shape(tree.root), "((2(3r))5((6)7r(8)))");
    }

    /// The same 20,000 changes as a C program did with the kernel's `lib/rbtree.c`, and its checksum of
    /// all shapes and colours.
    #[test]
    fn twenty_thousand_changes_give_the_shapes_of_the_kernel() {
        fn walk(tree: &Tree<u32>, at: usize, sum: &mut u32) {
            if at == NIL {
                *sum = sum.wrapping_mul(31).wrapping_add(7);
                return;
            }
            let Node { key, children: [left, right], red, .. } = tree.nodes[at];
            *sum = sum.wrapping_mul(31).wrapping_add(1);
            walk(tree, left, sum);
            *sum = sum.wrapping_mul(31).wrapping_add(key * 2 + u32::from(red));
            walk(tree, right, sum);
        }
        let (mut tree, mut state, mut total) = (Tree::new(), 1_u32, 0_u32);
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let key = (state >> 16) % 200;
            if !tree.remove(key) {
                tree.insert(key);
            }
            let mut sum = 0;
            walk(&tree, tree.root, &mut sum);
            total = total.wrapping_mul(33).wrapping_add(sum);
        }
        assert_eq!(total, 4_245_121_128);
    }

    #[test]
    fn random_changes_keep_it_sorted_and_balanced() {
        let mut stream = Seed::new(5).stream("tree");
        let (mut tree, mut model) = (Tree::new(), BTreeSet::new());
        for _ in 0..4_000 {
            let key = stream.below(200);
            if model.contains(&key) {
                assert!(tree.remove(key));
                model.remove(&key);
            } else {
                assert!(!tree.remove(key));
                tree.insert(key);
                model.insert(key);
            }
            tree.check(tree.root);
            assert!(!tree.is_red(tree.root));
            assert_eq!(tree.len(), model.len());
            assert_eq!(
                (tree.first(), tree.last()),
                (model.first().copied(), model.last().copied())
            );
            let below = model.range(..100).next_back().copied();
            assert_eq!(tree.last_where(|key| key < 100), below);
        }
        assert!(tree.iter().eq(model.iter().copied()));
    }

    #[test]
    fn children_come_before_their_parents_in_postorder() {
        let mut tree = Tree::new();
        (1..=5).for_each(|key| tree.insert(key));
        assert_eq!(tree.postorder(), [1, 3, 5, 4, 2]);
    }

    #[test]
    #[should_panic(expected = "the key is in the tree")]
    fn a_key_is_inserted_once() {
        let mut tree = Tree::new();
        tree.insert(1);
        tree.insert(1);
    }
}
