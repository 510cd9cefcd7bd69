//! What is wrong with a mounted image, and which files that touches.
//!
//! Layer: rank 7. Main type: [`Damage`]. It brings together what the error correction met
//! ([`Health`](crate::Health)) and what the filesystem says after it ([`Audit`]).

use crate::audit::Audit;
use crate::error::Error;
use crate::fs::Opened;
use crate::health::Step;
use crate::shape::Shape;
use boardlab_sim::Bytes;
use boardlab_vfs::Ino;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What is wrong with an image; by default nothing.
#[derive(Debug, Clone, Default)]
pub struct Damage {
    /// What the filesystem says.
    pub audit: Audit,
    /// Steps of the error correction that were not right, in order.
    pub steps: Vec<Touched>,
    /// Bits that were put right.
    pub corrected_bits: u64,
    /// Steps with too many wrong bits.
    pub uncorrectable_steps: u64,
    /// Pages, or pieces of 512 bytes, that the operating system does not give.
    pub unreadable: Vec<u64>,
    /// How places are told.
    pub places: Places,
    /// The file ends too early: bytes that it should have at least.
    pub truncated: Option<Bytes>,
}

/// A step that was not right, with the inodes whose nodes lie in it.
#[derive(Debug, Clone)]
pub struct Touched {
    /// Which one.
    pub step: Step,
    /// The inodes, in order.
    pub inodes: Vec<u32>,
}

/// How a place of the flash is told.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    shape: Shape,
    /// Where the filesystem begins in the file.
    start: Bytes,
    /// Bytes of a page, or what stands for one.
    pub unit: Bytes,
    /// Data bytes of a step.
    pub step: Bytes,
}

/// Those of a NOR, where nothing is wrong.
impl Default for Places {
    fn default() -> Self {
        let shape = Shape::nor(Bytes::kib(64));
        Self { shape, start: Bytes::ZERO, unit: Bytes::new(512), step: Bytes::ZERO }
    }
}

impl Places {
    /// The block of a place.
    #[must_use]
    pub fn block(&self, at: Bytes) -> u64 {
        at / self.shape.block
    }

    /// The page of a place within its block; `None` where there are no pages.
    #[must_use]
    pub fn page(&self, at: Bytes) -> Option<u64> {
        let within = at - self.shape.block * self.block(at);
        self.shape.is_nand().then(|| within / self.shape.page)
    }

    /// The place in the file.
    #[must_use]
    pub fn in_file(&self, at: Bytes) -> Bytes {
        self.start + self.shape.in_file(at)
    }

    /// Where a step lies on the flash.
    #[must_use]
    pub fn of_step(&self, step: &Step) -> Range<Bytes> {
        let start = self.unit * step.page + self.step * step.step;
        start..start + self.step
    }
}

impl Damage {
    /// Reads everything on the flash of `image` and says what is wrong.
    ///
    /// # Errors
    /// [`Error::Audit`] when the flash answers with an error that is no bit error.
    pub fn of(image: &mut Opened) -> Result<Self, Error> {
        let Opened { fs, clock, at, truncated } = image;
        let mut audit = fs.audit(clock)?;
        let dump = fs.dump();
        let places =
            Places { shape: dump.shape(), start: *at, unit: dump.unit(), step: dump.step() };
        let (corrected_bits, uncorrectable_steps) =
            (dump.health().corrected_bits(), dump.health().uncorrectable_steps());
        let unreadable: Vec<u64> = dump.health().unreadable().collect();
        let touched = |step: Step| {
            let inodes = fs.inodes_in(places.of_step(&step));
            Touched { step, inodes }
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

    /// Whether all that is on the flash is there as it was written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.audit.hurt.is_empty() && !self.may_miss_names()
    }

    /// Whether there may be names, or newer content, that nobody can find any longer.
    #[must_use]
    pub fn may_miss_names(&self) -> bool {
        self.audit.unknown_loss || self.truncated.is_some()
    }

    /// What an inode has lost, in words.
    #[must_use]
    pub fn of_inode(&self, ino: Ino) -> Option<&str> {
        self.audit.hurt.get(&u32::try_from(ino.0).ok()?).map(String::as_str)
    }

    /// The inodes that any table of this speaks of.
    #[must_use]
    pub fn inodes(&self) -> BTreeSet<u32> {
        let touched = self.steps.iter().flat_map(|touched| touched.inodes.iter().copied());
        let places = self.audit.places.iter().filter_map(|place| place.ino);
        touched.chain(places).chain(self.audit.hurt.keys().copied()).collect()
    }
}

/// Paths of inodes, as far as they were met.
pub type Paths = BTreeMap<u32, String>;
