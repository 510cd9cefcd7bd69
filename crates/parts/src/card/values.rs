//! Values that only card files have: bus modes, and texts of letters.
//!
//! Layer: rank 8. Main type: [`Letters`].

use boardlab_document::misfit::Misfit;
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value};
use boardlab_sd::Mode;

/// A [`Mode`] as it is written in a file.
struct BusMode(Mode);

impl Value for BusMode {
    const NUMBER: bool = false;

    fn description() -> Description {
        Description::new("a bus mode", "\"ddr50\"").names(Mode::ALL.iter().map(|mode| mode.name()))
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        Mode::named(text).map(Self).ok_or_else(|| {
            let names = Mode::ALL.iter().map(|mode| mode.name().into()).collect();
            PlacedMisfit::new(node, Misfit::UnknownName(names))
        })
    }
}

/// Reads the list of bus modes called `key`.
pub(super) fn modes(section: &Section<'_>, key: &str) -> Read<Vec<Mode>> {
    let modes = section.required::<Vec<BusMode>>(key)?;
    Ok(modes.into_iter().map(|BusMode(mode)| mode).collect())
}

/// A text of exactly `N` ASCII letters or digits.
pub(super) struct Letters<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Value for Letters<N> {
    const NUMBER: bool = false;

    fn description() -> Description {
        let letters: String = "SD16G".chars().cycle().take(N).collect();
        Description::new(format!("{N} letters or digits"), format!("\"{letters}\""))
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        let letters = text.as_bytes().try_into().ok().filter(|_| text.is_ascii()).map(Self);
        letters.ok_or_else(|| {
            let problem = format!("is not {N} letters or digits");
            PlacedMisfit::new(node, Misfit::Rule(problem))
        })
    }
}
