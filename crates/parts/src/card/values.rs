//! Values of card files that no other file has: a mode of the bus, a word of letters.
//!
//! Layer: rank 8. Main type: [`Letters`]; and [`Mode`] as a [`Value`].

use boardlab_document::{Misplaced, Node, Value};
use boardlab_document::misfit::Misfit;
use boardlab_sd::Mode;

impl Value for Mode {
    const NUMBER: bool = false;

    fn expected() -> String {
        "a mode of the bus".into()
    }

    fn example() -> String {
        "\"ddr50\"".into()
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        let text = node.as_text().ok_or_else(|| Misplaced::of_type(node))?;
        Self::named(text).ok_or_else(|| {
            let names = Self::ALL.iter().map(|mode| mode.name().into()).collect();
            Misplaced::new(node, Misfit::UnknownName { names })
        })
    }
}

/// Exactly `N` letters of ASCII.
pub(super) struct Letters<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Value for Letters<N> {
    const NUMBER: bool = false;

    fn expected() -> String {
        format!("{N} letters or digits")
    }

    fn example() -> String {
        format!("\"{}\"", "SD16G"[..].chars().cycle().take(N).collect::<String>())
    }

    fn read(node: &Node) -> Result<Self, Misplaced> {
        let text = node.as_text().ok_or_else(|| Misplaced::of_type(node))?;
        let letters = text.as_bytes().try_into().ok().filter(|_| text.is_ascii()).map(Self);
        letters.ok_or_else(|| {
            let problem = format!("is not {N} letters or digits");
            Misplaced::new(node, Misfit::Rule { problem })
        })
    }
}
