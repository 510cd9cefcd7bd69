//! What is wrong with a mounted image, and which files that touches.
//!
//! Layer: rank 7. Main type: [`Damage`]. It brings together what the error correction met
//! ([`Health`](crate::Health)) and what the nodes say after it ([`Audit`]).

use crate::error::Error;
use crate::health::Step;
use crate::open::Opened;
use boardlab_jffs2::audit::{Audit, Hurt, Meaning, Place, What};
use boardlab_mtd::BlockIndex;
use boardlab_sim::Bytes;
use boardlab_vfs::Ino;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// Zero bits in a byte of the mark of a bad block that may have flipped by themselves.
const FLIPPED: u32 = 2;
/// Ranges of a file that are named; more are counted.
const RANGES: usize = 4;

/// What is wrong with an image; by default nothing.
#[derive(Debug, Clone, Default)]
pub struct Damage {
    /// What the nodes say.
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
    /// Whether bits of a block's spare bytes flipped so that it looks bad while nodes are in it.
    pub doubtful_blocks: Vec<u32>,
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
    shape: crate::shape::Shape,
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
        let shape = crate::shape::Shape::nor(Bytes::kib(64));
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
        let Opened { fs, clock, choice } = image;
        let audit = fs.audit(clock, |dump, range| dump.is_lost(&range));
        let mut audit = audit.map_err(|problem| Error::Audit { problem })?;
        let dump = fs.device();
        let places =
            Places { shape: dump.shape(), start: choice.at, unit: dump.unit(), step: dump.step() };
        let (corrected_bits, uncorrectable_steps) =
            (dump.health().corrected_bits(), dump.health().uncorrectable_steps());
        let unreadable: Vec<u64> = dump.health().unreadable().collect();
        let touched = |step: Step| {
            let inodes = fs.inodes_in(places.of_step(&step));
            Touched { step, inodes }
        };
        let steps = dump.health().steps().map(touched).collect();
        let doubtful_blocks = doubtful(image, &mut audit)?;
        let audit_unknown = audit.unknown_loss || !unreadable.is_empty();
        audit.unknown_loss = audit_unknown || !doubtful_blocks.is_empty();
        let truncated = image.choice.truncated;
        Ok(Self {
            audit,
            steps,
            corrected_bits,
            uncorrectable_steps,
            unreadable,
            places,
            truncated,
            doubtful_blocks,
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

    /// What an inode has lost.
    #[must_use]
    pub fn of_inode(&self, ino: Ino) -> Option<&Hurt> {
        self.audit.hurt.get(&u32::try_from(ino.0).ok()?)
    }

    /// The inodes that any table of this speaks of.
    #[must_use]
    pub fn inodes(&self) -> BTreeSet<u32> {
        let touched = self.steps.iter().flat_map(|touched| touched.inodes.iter().copied());
        let places = self.audit.places.iter().filter_map(|place| place.ino);
        touched.chain(places).chain(self.audit.hurt.keys().copied()).collect()
    }
}

/// Blocks that hold nodes and are marked bad by a bit or two. A flash that retires a block writes zeros.
fn doubtful(image: &mut Opened, audit: &mut Audit) -> Result<Vec<u32>, Error> {
    let block_size = image.choice.shape.block;
    let mut doubtful = Vec::new();
    for place in &mut audit.places {
        if !matches!(place.what, What::BadBlock { .. }) {
            continue;
        }
        let block = u32::try_from(place.at / block_size).expect("blocks are counted in u32");
        if image.fs.device_mut().mark_zeros(BlockIndex(block))? <= FLIPPED {
            place.meaning = Meaning::Unknown;
            doubtful.push(block);
        }
    }
    Ok(doubtful)
}

/// What an inode has lost, in words.
#[must_use]
pub fn in_words(hurt: &Hurt) -> String {
    let mut words = Vec::new();
    if !hurt.stale.is_empty() {
        words.push(format!("{} older or missing: their node is damaged", ranges(&hurt.stale)));
    }
    if !hurt.missing.is_empty() {
        words.push(format!("{} missing: no node holds them", ranges(&hurt.missing)));
    }
    if hurt.metadata {
        words.push("mode, owner, times and size may be older or made up".into());
    }
    if hurt.names {
        words.push("a name in it is missing or leads elsewhere".into());
    }
    if hurt.attributes {
        words.push("an extended attribute is missing".into());
    }
    if hurt.suspected {
        words.push("a node of it may be lost".into());
    }
    words.join("; ")
}

/// `bytes 0 to 4095, 8192 to 9000 and 3 more ranges`.
fn ranges(ranges: &[Range<u64>]) -> String {
    let mut words = String::from("bytes ");
    for (number, range) in ranges.iter().take(RANGES).enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let last = range.end.saturating_sub(1);
        write!(words, "{comma}{} to {last}", range.start).expect("a String takes all text");
    }
    if ranges.len() > RANGES {
        let more = ranges.len() - RANGES;
        write!(words, " and {more} more ranges").expect("a String takes all text");
    }
    words
}

/// What lies in a place, in words, and what follows from it.
#[must_use]
pub fn place_in_words(place: &Place, shown: impl Fn(&[u8]) -> String) -> [String; 2] {
    let what = match &place.what {
        What::Data { bytes } if bytes.is_empty() => "metadata with a wrong checksum".into(),
        What::Data { bytes } => {
            let last = bytes.end - 1;
            format!("data with a wrong checksum, bytes {} to {last}", bytes.start)
        }
        What::Name { name } => format!("a name with a wrong checksum, like `{}`", shown(name)),
        What::Fields(node_type, cause) => format!("a node ({node_type}): {cause}"),
        What::Attribute => "an extended attribute with a wrong checksum".into(),
        What::Summary => "a summary with a wrong checksum".into(),
        What::Strange => format!("{} bytes that begin no node", place.length),
        What::Erased => format!("{} erased bytes among nodes", place.length),
        What::Zeros => format!("{} zeros up to the end of the block", place.length),
        What::Hidden => "a node behind an erased beginning of its block".into(),
        What::BadBlock { nodes } => format!("a block marked bad with {nodes} nodes in it"),
    };
    let meaning = match (place.meaning, &place.what) {
        (Meaning::Unknown, What::BadBlock { .. }) => {
            "names may be missing: the mark may be a wrong bit"
        }
        (Meaning::Superseded, What::BadBlock { .. }) => "not read",
        (Meaning::Lost, _) => "something is missing or older",
        (Meaning::Unknown, _) => "lost; names or files may be missing",
        (Meaning::Superseded, _) => "nothing: not needed any longer",
        (Meaning::Torn, _) => "nothing: a write that was cut off",
    };
    [what, meaning.into()]
}

/// Paths of inodes, as far as they were met.
pub type Paths = BTreeMap<u32, String>;
