//! Moves data from a little worn block, or from one with bit flips, to a free block.
//!
//! Layer: rank 4. Source: Linux 6.1, `drivers/mtd/ubi/wl.c`, `wear_leveling_worker` and
//! `ensure_wear_leveling`.

use crate::device::Ubi;
use crate::eba::copy::Move;
use crate::io::Found;
use crate::lebs::{Error, PebIndex};
use crate::wear::{Wl, Work};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Where the source of a move that failed goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// To the protection queue: its LEB was changed, or is about to be.
    Protect,
    /// Back to where it was.
    Keep,
    /// Its data cannot be read.
    Erroneous,
    /// It is to be scrubbed.
    Scrub,
    /// Its erase was interrupted before the attach: it is erased, with a test.
    Erase,
}

/// How a move ended.
enum Outcome {
    Moved,
    /// The target was not touched and stays free.
    TargetClean(Source),
    /// The target is erased, with a test.
    TargetSpoilt,
}

impl<M: Mtd> Ubi<M> {
    /// Schedules a move if one is due (`ensure_wear_leveling`).
    pub(crate) fn ensure_wear_levelling(&mut self) {
        if self.wl.level_scheduled || (self.wl.scrub.is_empty() && !self.needs_levelling()) {
            return;
        }
        self.wl.level_scheduled = true;
        self.wl.works.push_back(Work::Level);
    }

    /// Whether the least worn used block is far below the most worn of the free ones.
    fn needs_levelling(&mut self) -> bool {
        if self.fastmap.is_some() {
            return self.pooled_needs_levelling();
        }
        let Some((least, _)) = self.wl.used.first() else { return false };
        let target = Wl::most_worn(&self.wl.free, self.wl.free_diff());
        target.is_some_and(|peb| self.wl.is_far_above(self.wl.key(peb).0, least))
    }

    /// Takes a worn free block for old data (`get_peb_for_wl`).
    fn take_worn(&mut self) -> Option<PebIndex> {
        let peb = Wl::most_worn(&self.wl.free, self.wl.free_diff())?;
        let key = self.wl.key(peb);
        self.wl.free.remove(key);
        Some(peb)
    }

    /// Chooses source and target of a move; the flag says whether it is for bit flips.
    fn choose_move(&mut self) -> Option<(PebIndex, PebIndex, bool)> {
        if self.fastmap.is_some() {
            return self.choose_pooled_move();
        }
        let nothing = self.wl.used.is_empty() && self.wl.scrub.is_empty();
        if self.wl.free.is_empty() || nothing {
            return None;
        }
        if let Some(source) = self.wl.scrub.first() {
            let target = self.take_worn()?;
            self.wl.scrub.remove(source);
            return Some((PebIndex(source.1), target, true));
        }
        let source = self.wl.used.first()?;
        let target = self.take_worn()?;
        if !self.wl.is_far_above(self.wl.key(target).0, source.0) {
            self.wl.add_free(target);
            return None;
        }
        self.wl.used.remove(source);
        Some((PebIndex(source.1), target, false))
    }

    /// Moves the data of one block (`wear_leveling_worker`).
    pub(crate) fn level(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let Some((source, target, scrubbing)) = self.choose_move() else {
            self.wl.level_scheduled = false;
            return Ok(());
        };
        let outcome = self.try_move(clock, source, target);
        self.wl.level_scheduled = false;
        let ended = match outcome {
            Ok(Outcome::Moved) => {
                self.wl.moved += 1;
                self.wl.used.insert(self.wl.key(target));
                self.erase_peb(clock, source, false)
            }
            Ok(Outcome::TargetClean(place)) => {
                self.return_source(source, place, scrubbing);
                self.wl.add_free(target);
                self.ensure_wear_levelling();
                if place == Source::Erase { self.erase_peb(clock, source, true) } else { Ok(()) }
            }
            Ok(Outcome::TargetSpoilt) => {
                self.return_source(source, Source::Keep, scrubbing);
                self.erase_peb(clock, target, true)
            }
            Err(error) => {
                self.wl.retire(source);
                self.wl.retire(target);
                Err(error)
            }
        };
        if ended.is_err() {
            self.io.read_only = true;
        }
        ended
    }

    fn return_source(&mut self, source: PebIndex, place: Source, scrubbing: bool) {
        let key = self.wl.key(source);
        match place {
            Source::Protect => self.wl.protect(source),
            Source::Erroneous => self.wl.erroneous.insert(key),
            Source::Scrub => self.wl.scrub.insert(key),
            Source::Erase => {}
            Source::Keep if scrubbing => self.wl.scrub.insert(key),
            Source::Keep => self.wl.used.insert(key),
        }
    }

    fn try_move(
        &mut self,
        clock: &mut Clock,
        source: PebIndex,
        target: PebIndex,
    ) -> Result<Outcome, Error> {
        let header = match self.io.read_vid(clock, source)? {
            Found::Header { header, .. } => header,
            Found::Erased { bitflips: false } => return Ok(Outcome::TargetClean(Source::Protect)),
            Found::Erased { bitflips: true } => return Ok(Outcome::TargetClean(Source::Scrub)),
            Found::Bad { ecc: true } if self.was_attached_by_fastmap() => {
                return Ok(Outcome::TargetClean(Source::Erase));
            }
            Found::Bad { .. } => return Err(Error::NoHeader { peb: source }),
        };
        match self.copy_leb(clock, source, target, header)? {
            Move::Done => Ok(Outcome::Moved),
            Move::Cancelled => Ok(Outcome::TargetClean(Source::Protect)),
            Move::TargetFailed => Ok(Outcome::TargetSpoilt),
            Move::SourceUnreadable => {
                let erroneous = u32::try_from(self.wl.erroneous.len()).unwrap_or(u32::MAX);
                if erroneous > self.io.layout.erroneous_max() {
                    return Err(Error::NoHeader { peb: source });
                }
                Ok(Outcome::TargetClean(Source::Erroneous))
            }
        }
    }
}
