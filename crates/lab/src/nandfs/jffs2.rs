//! JFFS2 for the tables: how it is mounted here.

use super::scenario::{Kernel, Scenario};
use super::simulate::System;
use boardlab_jffs2::{Compression, Jffs2, Options, Profile};
use boardlab_nand::Nand;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::Structure;

/// JFFS2 on the scenario's NAND.
pub(super) struct Jffs2System;

/// What a mount chooses in `scenario`: compression by priority, as Linux does, and LZO where the kernel
/// has it.
pub(super) fn options(scenario: &Scenario, seed: Seed) -> Options {
    let (profile, lzo) = match scenario.kernel {
        Kernel::Linux26 => (Profile::LINUX_2_6_24, false),
        Kernel::Linux61 => (Profile::LINUX_6_1, true),
    };
    Options {
        host: scenario.board.host(),
        seed,
        compression: Compression { lzo, ..Compression::default() },
        summary: scenario.summary,
        profile,
        ..Options::default()
    }
}

impl System for Jffs2System {
    const ID: &'static str = "jffs2";
    type Fs = Jffs2<Nand>;
    type Error = boardlab_jffs2::MountError;

    fn mount(
        scenario: &Scenario,
        nand: Nand,
        seed: Seed,
        clock: &mut Clock,
    ) -> Result<Self::Fs, Self::Error> {
        Jffs2::mount(clock, nand, options(scenario, seed))
    }

    fn flash(fs: &Self::Fs) -> &Nand {
        fs.device()
    }

    fn into_flash(fs: Self::Fs) -> Nand {
        fs.into_device()
    }

    fn structures(fs: &Self::Fs) -> Vec<Structure> {
        fs.structures()
    }
}
