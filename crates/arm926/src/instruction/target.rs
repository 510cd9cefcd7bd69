//! Static targets of jumps: those that do not depend on registers.
//!
//! Layer: rank 3; a method of [`Operation`]. Source: ARM DDI 0100E, A4.1.5, A4.1.7 and A7.1.17.

use super::Operation;

impl Operation {
    /// The target of a jump at `at` in Thumb or ARM state, and whether it is in Thumb state. `None`
    /// if the operation is not a jump or its target depends on registers. (The second half of a Thumb
    /// call has a target only together with its first half, `before`.)
    #[must_use]
    pub const fn target(&self, at: u32, thumb: bool, before: Option<&Self>) -> Option<(u32, bool)> {
        let r15 = at.wrapping_add(if thumb { 4 } else { 8 });
        match (self, before) {
            (Self::Branch { offset, .. }, _) => Some((r15.wrapping_add_signed(*offset), thumb)),
            (Self::BranchToThumb { offset }, _) => {
                Some((r15.wrapping_add_signed(*offset) & !1, true))
            }
            (
                Self::BranchSuffix { offset, exchange },
                Some(Self::BranchPrefix { offset: upper }),
            ) => {
                let to = r15.wrapping_sub(2).wrapping_add_signed(*upper).wrapping_add(*offset);
                Some((to & if *exchange { !3 } else { !1 }, !*exchange))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_from_r15_as_it_reads_and_thumb_calls_from_their_first_half() {
        let branch = Operation::Branch { offset: -16, link: false };
        assert_eq!(branch.target(0x100, false, None), Some((0xF8, false)));
        assert_eq!(branch.target(0x100, true, None), Some((0xF4, true)));
        let to_thumb = Operation::BranchToThumb { offset: 6 };
        assert_eq!(to_thumb.target(0x100, false, None), Some((0x10E, true)));
        let before = Operation::BranchPrefix { offset: 0x1000 };
        for (exchange, target) in [(false, (0x110A, true)), (true, (0x1108, false))] {
            let suffix = Operation::BranchSuffix { offset: 8, exchange };
            assert_eq!(suffix.target(0x100, true, Some(&before)), Some(target));
            assert_eq!(suffix.target(0x100, true, Some(&branch)), None);
        }
    }
}
