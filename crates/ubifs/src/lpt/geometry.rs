//! The sizes of the LEB properties tree (LPT): bit widths, nodes, height, and the LEBs that it needs.
//!
//! Layer: rank 5. Main type: [`Geometry`]. Source: Linux 6.1, `fs/ubifs/lpt.c`, `do_calc_lpt_geom`,
//! `ubifs_calc_lpt_geom`, `calc_dflt_lpt_geom`.

/// Branches of a node.
pub(super) const FANOUT: u32 = 4;
/// Bits that choose a branch.
pub(super) const FANOUT_BITS: u32 = 2;
/// Bytes of the checksum.
pub(super) const CRC_SIZE: usize = 2;
/// Bits of the checksum.
const CRC_BITS: u32 = 16;
/// Bits of the type of a node.
pub(super) const TYPE_BITS: u32 = 4;
/// The least LEBs of the tree.
const LEBS_MIN: u32 = 2;
/// How often a default tree is enlarged before that is given up.
const ATTEMPTS: u32 = 64;

/// What the sizes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inputs {
    /// The smallest write.
    pub(super) min_io: u32,
    /// Bytes of a LEB.
    pub(super) leb_size: u32,
    /// LEBs in use.
    pub(super) leb_count: u32,
    /// LEBs that the filesystem may grow to.
    pub(super) max_leb_count: u32,
    /// LEBs of the main area.
    pub(super) main_lebs: u32,
    /// LEBs of the tree.
    pub(super) lpt_lebs: u32,
    /// LEB numbers in the save table.
    pub(super) lsave_count: u32,
    /// The large model.
    pub(super) big: bool,
}

/// The sizes of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Geometry {
    /// The large model: nodes have numbers, and there is a save table.
    pub(crate) big: bool,
    /// Levels of nnodes.
    pub(crate) height: u32,
    /// Leaves.
    pub(crate) pnode_count: u32,
    /// Inner nodes.
    pub(crate) nnode_count: u32,
    /// Bits of free or dirty space of a LEB, in units of 8 bytes.
    pub(super) space_bits: u32,
    /// Bits of a LEB of the tree's own area.
    pub(super) lnum_bits: u32,
    /// Bits of an offset.
    pub(super) offs_bits: u32,
    /// Bits of the space of a LEB of the tree's own area.
    pub(super) own_space_bits: u32,
    /// Bits of the number of a node (large model).
    pub(super) number_bits: u32,
    /// Bits of a LEB number in the save table.
    pub(super) saved_bits: u32,
    /// Bytes of a leaf.
    pub(crate) pnode_sz: u32,
    /// Bytes of an inner node.
    pub(crate) nnode_sz: u32,
    /// Bytes of the table of the tree's own LEBs.
    pub(crate) ltab_sz: u32,
    /// Bytes of the save table.
    pub(crate) lsave_sz: u32,
    /// Bytes of the whole tree, with what is lost at the ends of LEBs.
    pub(crate) size: u64,
}

/// The position of the highest bit, from one; 0 for 0.
const fn fls(value: u32) -> u32 {
    u32::BITS - value.leading_zeros()
}

impl Geometry {
    /// The number of the first leaf below branch `iip` of an inner node (`calc_pnode_num_from_parent`).
    pub(super) const fn first_leaf(&self, (number, level): (u32, u32), iip: u32) -> u32 {
        let (mut way, mut first) = (number, 0);
        let mut above = level;
        while above < self.height {
            first = (first * FANOUT) | (way % FANOUT);
            way /= FANOUT;
            above += 1;
        }
        ((first * FANOUT) | iip) << ((level - 1) * FANOUT_BITS)
    }

    /// The sizes for these inputs.
    pub(super) fn of(inputs: &Inputs) -> Self {
        let Inputs { leb_size, max_leb_count, main_lebs, lpt_lebs, big, .. } = *inputs;
        let most = (main_lebs + (max_leb_count - inputs.leb_count)).div_ceil(FANOUT);
        let (mut height, mut reach) = (1, u64::from(FANOUT));
        while reach < u64::from(most) {
            height += 1;
            reach <<= FANOUT_BITS;
        }
        let pnode_count = main_lebs.div_ceil(FANOUT);
        let (mut level, mut nnode_count) = (pnode_count, 0);
        for _ in 0..height {
            level = level.div_ceil(FANOUT);
            nnode_count += level;
        }
        let space_bits = fls(leb_size) - 3;
        let (lnum_bits, offs_bits) = (fls(lpt_lebs), fls(leb_size - 1));
        let number_bits = fls(max_leb_count.div_ceil(FANOUT) - 1);
        let saved_bits = fls(max_leb_count - 1);
        let header = CRC_BITS + TYPE_BITS;
        let numbered = header + if big { number_bits } else { 0 };
        let bytes = |bits: u32| bits.div_ceil(8);
        let own_space_bits = fls(leb_size);
        let mut geometry = Self {
            big,
            height,
            pnode_count,
            nnode_count,
            space_bits,
            lnum_bits,
            offs_bits,
            own_space_bits,
            number_bits,
            saved_bits,
            pnode_sz: bytes(numbered + (space_bits * 2 + 1) * FANOUT),
            nnode_sz: bytes(numbered + (lnum_bits + offs_bits) * FANOUT),
            ltab_sz: bytes(header.saturating_add(lpt_lebs.saturating_mul(own_space_bits * 2))),
            lsave_sz: bytes(header.saturating_add(saved_bits.saturating_mul(inputs.lsave_count))),
            size: 0,
        };
        geometry.size = geometry.total(inputs);
        geometry
    }

    /// Bytes of all nodes, with what is lost at the ends of LEBs and pages.
    fn total(&self, inputs: &Inputs) -> u64 {
        let product = |count: u32, size: u32| u64::from(count) * u64::from(size);
        let nodes = product(self.pnode_count, self.pnode_sz)
            + product(self.nnode_count, self.nnode_sz)
            + u64::from(self.ltab_sz)
            + if self.big { u64::from(self.lsave_sz) } else { 0 };
        let loss = u64::from(self.pnode_sz.max(self.nnode_sz));
        let leb_size = u64::from(inputs.leb_size);
        // Each LEB but the last loses up to a node at its end.
        let (mut last, mut lost) = (nodes + loss, loss);
        while last > leb_size {
            last = last + loss - leb_size;
            lost += loss;
        }
        nodes + lost + last.next_multiple_of(u64::from(inputs.min_io)) - last
    }

    /// LEBs for `times` the size of the tree.
    pub(super) fn lebs(&self, times: u64, leb_size: u32) -> u64 {
        (self.size * times).div_ceil(u64::from(leb_size))
    }

    /// The sizes of a new tree that shares `inputs.main_lebs` LEBs with the main area, and the LEBs of
    /// each. `None` if they do not suffice.
    pub(super) fn default(inputs: &Inputs) -> Option<(Self, Inputs)> {
        let shared = inputs.main_lebs;
        let sized = |lpt_lebs: u32, big: bool| {
            let main_lebs = shared.checked_sub(lpt_lebs).filter(|&lebs| lebs > 0)?;
            let inputs = Inputs { lpt_lebs, main_lebs, big, ..*inputs };
            Some((Self::of(&inputs), inputs))
        };
        let (mut geometry, mut chosen) = sized(LEBS_MIN, false)?;
        let big = geometry.size > u64::from(inputs.leb_size);
        if big {
            (geometry, chosen) = sized(LEBS_MIN, true)?;
        }
        for _ in 0..ATTEMPTS {
            let needed = geometry.lebs(4, inputs.leb_size);
            if needed <= u64::from(chosen.lpt_lebs) {
                return (geometry.ltab_sz <= inputs.leb_size).then_some((geometry, chosen));
            }
            (geometry, chosen) = sized(u32::try_from(needed).ok()?, big)?;
        }
        None
    }
}

/// The number of the inner node at `column` of `row`; the root is row 0.
pub(super) fn nnode_number(row: u32, mut column: u32) -> u32 {
    let mut number = 1;
    for _ in 0..row {
        number = (number << FANOUT_BITS) | (column & (FANOUT - 1));
        column >>= FANOUT_BITS;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_for_1_900_lebs_has_these_sizes() {
        // Counted by hand: 475, 119, 30, 8, 2 and 1 nodes, and bits of the fields.
        let inputs = Inputs {
            min_io: 2_048,
            leb_size: 129_024,
            leb_count: 2_004,
            max_leb_count: 2_004,
            main_lebs: 1_900,
            lpt_lebs: 2,
            lsave_count: 256,
            big: false,
        };
        let geometry = Geometry::of(&inputs);
        assert_eq!((geometry.space_bits, geometry.lnum_bits, geometry.offs_bits), (14, 2, 17));
        assert_eq!((geometry.height, geometry.pnode_count, geometry.nnode_count), (5, 475, 160));
        assert_eq!((geometry.pnode_sz, geometry.nnode_sz, geometry.ltab_sz), (17, 12, 11));
    }

    #[test]
    fn a_default_tree_takes_the_large_model_only_where_a_leb_is_too_small() {
        let inputs = |leb_size, lebs| Inputs {
            min_io: 512,
            leb_size,
            leb_count: lebs,
            max_leb_count: lebs,
            main_lebs: lebs - 10,
            lpt_lebs: 0,
            lsave_count: 256,
            big: false,
        };
        let (small, chosen) = Geometry::default(&inputs(126_976, 2_000)).unwrap();
        assert_eq!((small.big, chosen.lpt_lebs, chosen.main_lebs), (false, 2, 1_988));
        let (large, chosen) = Geometry::default(&inputs(15_872, 16_000)).unwrap();
        assert!(large.big && chosen.lpt_lebs > 16, "{large:?} {chosen:?}");
        assert_eq!(Geometry::default(&inputs(126_976, 12)), None);
    }

    #[test]
    fn numbers_of_inner_nodes_say_the_way_from_the_root() {
        assert_eq!((nnode_number(0, 0), nnode_number(1, 2), nnode_number(2, 6)), (1, 6, 0b1_10_01));
    }
}
