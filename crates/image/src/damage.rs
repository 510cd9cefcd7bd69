//! The damage of a mounted image, and the files that it affects.
//!
//! Layer: rank 7. Main types: [`Damage`], which combines the results of the error correction
//! ([`Health`](crate::Health)) with the audit of the filesystem ([`Audit`]); [`PendingDamage`], which is
//! determined while the files are already read.

use crate::audit::Audit;
use crate::deleted::DeletedTree;
use crate::error::Error;
use crate::fs::MountedImage;
use crate::health::Step;
use crate::places::Places;
use boardlab_sim::Bytes;
use boardlab_vfs::Ino;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread::{Builder, JoinHandle};

/// The damage of an image; none by default.
#[derive(Debug, Clone, Default)]
pub struct Damage {
    /// The audit of the filesystem.
    pub audit: Audit,
    /// ECC steps with bit errors, in order.
    pub steps: Vec<DamagedStep>,
    /// Corrected bits.
    pub corrected_bits: u64,
    /// Uncorrectable ECC steps.
    pub uncorrectable_steps: u64,
    /// Pages, or units of 512 bytes, that the operating system cannot read.
    pub unreadable: Vec<u64>,
    /// The conversion of flash offsets to places.
    pub places: Places,
    /// When the file is truncated: the bytes that it should have at least.
    pub truncated: Option<Bytes>,
}

/// An ECC step with bit errors, and the inodes with nodes in it.
#[derive(Debug, Clone)]
pub struct DamagedStep {
    /// The step.
    pub step: Step,
    /// The inodes, in order.
    pub inodes: Vec<u32>,
}

impl Damage {
    /// Reads the whole flash of `image` and determines the damage.
    ///
    /// # Errors
    /// [`Error::Audit`] when the flash returns an error other than a bit error.
    pub fn of(image: &mut MountedImage) -> Result<Self, Error> {
        let MountedImage { fs, clock, at, truncated } = image;
        let mut audit = fs.audit(clock)?;
        let dump = fs.dump();
        let places = Places::of(dump, *at);
        let (corrected_bits, uncorrectable_steps) =
            (dump.health().corrected_bits(), dump.health().uncorrectable_steps());
        let unreadable: Vec<u64> = dump.health().unreadable().collect();
        let touched = |step: Step| {
            let inodes = fs.inodes_in(places.of_step(&step));
            DamagedStep { step, inodes }
        };
        let steps = dump.health().steps().map(touched).collect();
        audit.unknown_loss |= !unreadable.is_empty();
        Ok(Self {
            audit,
            steps,
            corrected_bits,
            uncorrectable_steps,
            unreadable,
            places,
            truncated: *truncated,
        })
    }

    /// What is missing of deleted files; `truncated` is the length that the file of a truncated image should have.
    #[must_use]
    pub fn of_deleted(tree: &DeletedTree, truncated: Option<Bytes>) -> Self {
        let mut damage = Self { truncated, ..Self::default() };
        let losses = tree.losses();
        let losses = losses.filter_map(|(ino, words)| Some((u32::try_from(ino.0).ok()?, words)));
        damage.audit.inode_damage.extend(losses);
        damage.audit.unknown_loss = tree.is_cut();
        damage
    }

    /// Whether everything on the flash is intact.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.audit.inode_damage.is_empty() && !self.may_miss_names()
    }

    /// Whether names or newer content may be missing without a trace.
    #[must_use]
    pub fn may_miss_names(&self) -> bool {
        self.audit.unknown_loss || self.truncated.is_some()
    }

    /// The damage of an inode, in words.
    #[must_use]
    pub fn of_inode(&self, ino: Ino) -> Option<&str> {
        self.audit.inode_damage.get(&u32::try_from(ino.0).ok()?).map(String::as_str)
    }

    /// The inodes that occur in any table of the damage.
    #[must_use]
    pub fn inodes(&self) -> BTreeSet<u32> {
        let touched = self.steps.iter().flat_map(|touched| touched.inodes.iter().copied());
        let places = self.audit.places.iter().filter_map(|place| place.ino);
        touched.chain(places).chain(self.audit.inode_damage.keys().copied()).collect()
    }
}

/// The damage of an image, known or being determined.
#[derive(Debug)]
pub enum PendingDamage {
    /// It is known.
    Known(Box<Damage>),
    /// A thread audits a copy of the filesystem.
    Audit(JoinHandle<Result<Damage, Error>>),
}

impl PendingDamage {
    /// Begins to determine the damage of `image`: on a thread of its own where the filesystem can be
    /// copied, else at once. What is read of `image` meanwhile makes no difference.
    ///
    /// # Errors
    /// Those of [`Damage::of`], when it is determined at once.
    pub fn of(image: &mut MountedImage) -> Result<Self, Error> {
        if let Some(mut copy) = image.copy() {
            let audit = Builder::new().name("audit".to_owned());
            if let Ok(audit) = audit.spawn(move || Damage::of(&mut copy)) {
                return Ok(Self::Audit(audit));
            }
        }
        Damage::of(image).map(Self::from)
    }

    /// Waits for the damage.
    ///
    /// # Errors
    /// Those of [`Damage::of`].
    pub fn wait(self) -> Result<Damage, Error> {
        match self {
            Self::Known(damage) => Ok(*damage),
            Self::Audit(audit) => audit.join().unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }
}

impl From<Damage> for PendingDamage {
    fn from(damage: Damage) -> Self {
        Self::Known(Box::new(damage))
    }
}

/// The known paths of inodes.
pub type Paths = BTreeMap<u32, String>;
