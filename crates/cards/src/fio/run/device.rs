//! What the jobs may run on: a card in a slot, or a drive on a SATA host.
//!
//! Layer: rank 10. Main type: [`Device`], either of them as a block device over the same translation layers.

use super::failed;
use crate::fio::scenario::Composition;
use boardlab_block::{BlockDevice, Completion, Error, Geometry, Request};
use boardlab_experiment::Failure;
use boardlab_ftl::Translation;
use boardlab_parts::card::compose::compose;
use boardlab_parts::card::{health_table, register_table};
use boardlab_parts::drive;
use boardlab_parts::drive::compose::Flash;
use boardlab_parts::drive::identify_table;
use boardlab_result::Table;
use boardlab_sata::disk::Disk;
use boardlab_sata::wire::identify::Identify;
use boardlab_sd::{Card, Data};
use boardlab_sim::{Instant, Seed};

/// A device with flash behind it.
pub(crate) enum Device {
    /// An SD card or an eMMC.
    Card(Box<Card<boardlab_parts::managed::Layer>>),
    /// A drive, and what it says of itself.
    Drive(Box<Disk<Flash>>, Box<Identify>),
}

/// What a device did that no translation layer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Did {
    /// Commands.
    pub commands: u64,
    /// Pages that had to be read because only some of their sectors were written.
    pub merged: u64,
}

impl Device {
    /// A new and empty device; what is written to it is forgotten.
    pub(crate) fn new(composition: &Composition, seed: Seed) -> Result<Self, Failure> {
        Ok(match composition {
            Composition::Card(part, host) => {
                let card = compose(part, host, Data::Lost, seed);
                Self::Card(Box::new(card.map_err(|error| failed("the card", error))?))
            }
            Composition::Drive(part, host) => {
                let drive = drive::compose(part, host.port, false, seed)
                    .map_err(|error| failed("the drive", error))?;
                let disk = Disk::new(drive.storage, &drive.wiring, host.driver);
                Self::Drive(Box::new(disk), Box::new(drive.identify))
            }
        })
    }

    /// The translation layer behind it.
    pub(crate) fn layer(&self) -> &dyn Translation {
        match self {
            Self::Card(card) => card.translation(),
            Self::Drive(disk, _) => disk.storage().translation(),
        }
    }

    /// What it did so far.
    pub(crate) fn did(&self) -> Did {
        match self {
            Self::Card(card) => {
                let counts = card.counts();
                Did { commands: counts.commands, merged: counts.merged }
            }
            Self::Drive(disk, _) => {
                let (counts, merged) = (disk.counts(), disk.storage().counts().merged);
                Did { commands: counts.commands, merged }
            }
        }
    }

    /// What a host reads of it besides data.
    pub(crate) fn described(&self) -> Vec<Table> {
        match self {
            Self::Card(card) => vec![health_table(card), register_table(card)],
            Self::Drive(_, identify) => vec![identify_table(identify)],
        }
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Card(_) => "card",
            Self::Drive(..) => "drive",
        }
    }
}

impl BlockDevice for Device {
    fn geometry(&self) -> &Geometry {
        match self {
            Self::Card(card) => card.geometry(),
            Self::Drive(disk, _) => disk.geometry(),
        }
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        match self {
            Self::Card(card) => card.submit(at, request),
            Self::Drive(disk, _) => disk.submit(at, request),
        }
    }
}
