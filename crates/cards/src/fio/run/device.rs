//! The device that the jobs run on: a card in a slot, or a drive at a SATA host.
//!
//! Layer: rank 10. Main types: [`Device`], either of them as a block device over the same translation
//! layers, and [`DeviceWork`], its work.

use super::HELP;
use crate::fio::scenario::Composition;
use boardlab_block::{BlockDevice, Completion, Error, Geometry, Request};
use boardlab_experiment::{Cause, Failure};
use boardlab_ftl::{Counters, Translation};
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
    /// A drive, and its IDENTIFY data.
    Drive(Box<Disk<Flash>>, Box<Identify>),
}

/// What a device and its flash did so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceWork {
    /// Commands.
    pub commands: u64,
    /// Pages that were read because only some of their sectors were written.
    pub merged: u64,
    /// The work of the translation layer.
    pub counters: Counters,
    /// Erases of all blocks.
    pub erases: u64,
}

impl DeviceWork {
    /// What was done after `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            merged: self.merged - earlier.merged,
            counters: self.counters.since(&earlier.counters),
            erases: self.erases - earlier.erases,
        }
    }
}

impl Device {
    /// A new and empty device, which does not keep the data written to it.
    pub(crate) fn new(composition: &Composition, seed: Seed) -> Result<Self, Failure> {
        let failed = |system: &str, error: Cause| Failure::run(system, error, HELP);
        Ok(match composition {
            Composition::Card(part, host) => {
                let card = compose(part, host, Data::Lost, seed);
                Self::Card(Box::new(card.map_err(|error| failed("the card", error.into()))?))
            }
            Composition::Drive(part, host) => {
                let drive = drive::compose(part, host.port, false, seed)
                    .map_err(|error| failed("the drive", error.into()))?;
                let disk = Disk::new(drive.storage, &drive.wiring, host.driver);
                Self::Drive(Box::new(disk), Box::new(drive.identify))
            }
        })
    }

    /// Its translation layer.
    pub(crate) fn layer(&self) -> &dyn Translation {
        match self {
            Self::Card(card) => card.translation(),
            Self::Drive(disk, _) => disk.storage().translation(),
        }
    }

    /// What it did so far.
    pub(crate) fn did(&self) -> DeviceWork {
        let (commands, merged) = match self {
            Self::Card(card) => (card.counts().commands, card.counts().merged),
            Self::Drive(disk, _) => (disk.counts().commands, disk.storage().counts().merged),
        };
        let (counters, wear) = (*self.layer().counters(), self.layer().wear());
        DeviceWork { commands, merged, counters, erases: wear.summary().total }
    }

    /// The registers and the data that describe it to a host.
    pub(crate) fn described(&self) -> Vec<Table> {
        match self {
            Self::Card(card) => vec![health_table(card), register_table(card)],
            Self::Drive(_, identify) => vec![identify_table(identify)],
        }
    }

    /// Its name in findings and tables.
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
