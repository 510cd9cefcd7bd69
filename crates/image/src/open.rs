//! An image mounted: the flash chosen, the filesystem on it found and read.
//!
//! Layer: rank 7. Main type: [`Opened`]; main function: [`open`]. The mount is read-only, and what it
//! would change in the flash all the same stays beside the file.

use crate::choose::{Choice, Hints, choose};
use crate::contents::Contents;
use crate::dump::Dump;
use crate::error::Error;
use boardlab_jffs2::{Jffs2, Options, Profile};
use boardlab_sim::Clock;

/// A mounted image.
#[derive(Debug)]
pub struct Opened {
    /// The filesystem.
    pub fs: Jffs2<Dump>,
    /// The clock of its operations, which cost nothing.
    pub clock: Clock,
    /// How the image was read.
    pub choice: Choice,
}

/// Mounts the JFFS2 filesystem in `contents`.
///
/// # Errors
/// Those of [`choose`], and [`Error::Mount`].
pub fn open(contents: &Contents, hints: &Hints) -> Result<Opened, Error> {
    let choice = choose(contents, hints)?;
    // What Linux reads twice is not read twice here: in an image made for it that takes hours.
    let profile = Profile { rereads_empty: false, ..Profile::LINUX_6_1 };
    let byte_order = Some(choice.order);
    let options = Options { byte_order, profile, read_only: true, ..Options::default() };
    let mut clock = Clock::new();
    let fs = Jffs2::mount(&mut clock, choice.dump()?, options)?;
    Ok(Opened { fs, clock, choice })
}
