//! A state of a drive in which it pauses once after a certain amount of reads since it was last idle.
//!
//! Layer: rank 8, a translation layer over another. Main types: [`Pause`], [`Housekeeping`]. What
//! the drive does in the pause is not known; it may write back a table or refresh blocks. It
//! answers no request meanwhile. When the drive is idle the count restarts.
//!
//! Source: one drive of the evaluation, whose runs of 4, 8 and 16 GB exceed the time at their rate
//! by the same amount (sata.md, table 5-2).

use super::limits;
use boardlab_document::section;
use boardlab_ftl::{
    Busy, Completion, Counters, Error, Extent, Occupancy, Translation, Version, Wear,
};
use boardlab_sata::SECTOR;
use boardlab_sim::{Bytes, Duration, Instant};

section! {
    /// The pause.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Pause {
        /// The amount of reads after which it begins.
        pub after: Bytes => within(SECTOR, limits::READ),
        /// Its length.
        pub span as "pause": Duration => up_to(limits::PAUSE),
    }
}

/// A translation layer with or without such a pause.
#[derive(Debug, Clone)]
pub struct Housekeeping<T> {
    layer: T,
    pause: Option<Pause>,
    /// Bytes read since the drive was last idle.
    read: Bytes,
    /// When the pause ends.
    until: Instant,
}

impl<T: Translation> Housekeeping<T> {
    /// `layer` with `pause`, if there is one.
    pub const fn new(layer: T, pause: Option<Pause>) -> Self {
        Self { layer, pause, read: Bytes::ZERO, until: Instant::ZERO }
    }

    /// The layer below.
    pub const fn layer(&self) -> &T {
        &self.layer
    }

    #[cold]
    fn begin(&mut self, at: Instant, pause: Pause) {
        self.until = at.max(self.until) + pause.span;
    }
}

impl<T: Translation> Translation for Housekeeping<T> {
    fn pages(&self) -> u32 {
        self.layer.pages()
    }

    fn page_size(&self) -> Bytes {
        self.layer.page_size()
    }

    #[inline]
    fn write(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        self.layer.write(at.max(self.until), extent)
    }

    #[inline]
    fn read(
        &mut self,
        at: Instant,
        extent: Extent,
        versions: &mut [Version],
    ) -> Result<Completion, Error> {
        if let Some(pause) = self.pause {
            let before = self.read;
            self.read += self.layer.page_size() * u64::from(extent.count);
            if before < pause.after && self.read >= pause.after {
                self.begin(at, pause);
            }
        }
        self.layer.read(at.max(self.until), extent, versions)
    }

    fn trim(&mut self, at: Instant, extent: Extent) -> Result<Completion, Error> {
        self.layer.trim(at.max(self.until), extent)
    }

    fn flush(&mut self, at: Instant) -> Completion {
        self.layer.flush(at.max(self.until))
    }

    fn idle(&mut self, from: Instant, until: Instant) -> Instant {
        self.read = Bytes::ZERO;
        self.layer.idle(from.max(self.until), until.max(self.until))
    }

    fn counters(&self) -> &Counters {
        self.layer.counters()
    }

    fn wear(&self) -> Wear {
        self.layer.wear()
    }

    fn occupancy(&self) -> Occupancy {
        self.layer.occupancy()
    }

    fn busy(&self) -> Busy {
        self.layer.busy()
    }
}
