//! Reads the headers of all blocks.
//!
//! Layer: rank 4. Per block: whether it is bad, its EC header, its VID header; all data of the block
//! only if the EC header is good and the VID header damaged.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/attach.c`, `scan_all`, `scan_peb`, `late_analysis`.

use super::compare::{Candidate, add_to_volume};
use super::{AttachInfo, AttachPeb};
use crate::error::AttachError;
use crate::format::vid::{Compat, VidHeader};
use crate::format::{EcHeader, FASTMAP_ANCHOR, FASTMAP_DATA, LAYOUT_VOLUME, VOLUMES_MAX, to_usize};
use crate::io::{Found, Health, Io};
use crate::lebs::PebIndex;
use crate::options::{FastmapMode, Options};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::ops::Range;

/// Corrupted blocks from which on a small device is refused.
const CORRUPTED_SMALL: u32 = 8;
/// Damaged blocks up to which an otherwise empty flash counts as empty.
const MAYBE_BAD_MAX: u32 = 2;

/// Scans these blocks and all conclusions are drawn, as if the others were scanned before.
pub(crate) fn scan_all<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    info: &mut AttachInfo,
    pebs: Range<u32>,
    options: &Options,
) -> Result<(), AttachError> {
    for peb in pebs {
        let mut scan = Scan { io, info, options, fast: false };
        scan.peb(clock, PebIndex(peb))?;
    }
    info.settle_mean();
    conclude(io, info, options)?;
    info.fill_unknown();
    Ok(())
}

/// Decides whether the flash as a whole is acceptable (`late_analysis`).
fn conclude<M>(
    io: &mut Io<M>,
    info: &mut AttachInfo,
    options: &Options,
) -> Result<(), AttachError> {
    let count = io.layout.peb_count - info.bad_count - info.alien_count;
    let limit = if count / 20 == 0 { CORRUPTED_SMALL } else { count / 20 };
    let corrupted = u32::try_from(info.corrupted.len()).expect("a device has fewer blocks");
    if corrupted >= limit {
        return Err(AttachError::Corrupted { found: corrupted, limit });
    }
    if info.empty_count + info.maybe_bad_count == count {
        if info.maybe_bad_count > MAYBE_BAD_MAX {
            return Err(AttachError::NotUbi { found: info.maybe_bad_count });
        }
        info.is_empty = true;
        io.image_seq = options.image_seq;
    }
    Ok(())
}

/// A scan in progress.
pub(crate) struct Scan<'a, M> {
    pub(crate) io: &'a mut Io<M>,
    pub(crate) info: &'a mut AttachInfo,
    pub(crate) options: &'a Options,
    /// Whether only a fastmap is looked for.
    pub(crate) fast: bool,
}

/// What the EC header of a block says.
#[derive(Clone, Copy)]
struct EcState {
    ec: Option<u32>,
    /// Whether the header is damaged.
    damaged: bool,
    /// Whether it is damaged by bit flips.
    ecc: bool,
    bitflips: bool,
}

impl<M: Mtd> Scan<'_, M> {
    /// Scans one block (`scan_peb`).
    pub(crate) fn peb(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<(), AttachError> {
        if self.io.is_bad(clock, peb)? {
            self.info.bad_count += 1;
            return Ok(());
        }
        let Some(state) = self.ec(clock, peb)? else { return Ok(()) };
        let counted = match self.io.read_vid(clock, peb)? {
            Found::Header { header, bitflips } => {
                let state = EcState { bitflips: state.bitflips || bitflips, ..state };
                self.mapped(clock, peb, state, &header)?
            }
            Found::Bad { ecc } => {
                self.damaged(clock, peb, state, ecc)?;
                true
            }
            Found::Erased { bitflips } => {
                let entry = AttachPeb::new(peb, state.ec);
                if bitflips || state.damaged || state.bitflips {
                    self.info.erase.push_front(entry);
                } else {
                    self.info.free.push_back(entry);
                }
                true
            }
        };
        if let (true, Some(ec)) = (counted, state.ec) {
            self.info.count_ec(ec);
        }
        Ok(())
    }

    /// Reads the EC header; `None` if the block is empty, which is all there is to know.
    fn ec(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<Option<EcState>, AttachError> {
        let entry = AttachPeb::new(peb, None);
        match self.io.read_ec(clock, peb)? {
            Found::Header { header, bitflips } => {
                self.check_image(peb, &header)?;
                let ec = Some(header.ec);
                Ok(Some(EcState { ec, damaged: false, ecc: false, bitflips }))
            }
            Found::Erased { bitflips } => {
                self.info.empty_count += 1;
                if bitflips {
                    self.info.erase.push_front(entry);
                } else {
                    self.info.erase.push_back(entry);
                }
                Ok(None)
            }
            Found::Bad { ecc } => {
                Ok(Some(EcState { ec: None, damaged: true, ecc, bitflips: true }))
            }
        }
    }

    fn check_image(&mut self, peb: PebIndex, header: &EcHeader) -> Result<(), AttachError> {
        let found = header.image_seq;
        if self.io.image_seq == 0 {
            self.io.image_seq = found;
        }
        let expected = self.io.image_seq;
        if found != 0 && found != expected {
            return Err(AttachError::ImageSeq { peb, found, expected });
        }
        Ok(())
    }

    /// A block whose VID header is damaged.
    fn damaged(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        state: EcState,
        ecc: bool,
    ) -> Result<(), AttachError> {
        if ecc && state.ecc {
            self.info.maybe_bad_count += 1;
        }
        self.info.needs_full_scan |= self.fast;
        let entry = AttachPeb::new(peb, state.ec);
        if !state.damaged && self.has_foreign_data(clock, peb)? {
            self.info.corrupted.push_front(entry);
        } else {
            self.info.erase.push_front(entry);
        }
        Ok(())
    }

    /// Whether a block without a VID header has data, which no power cut explains (`check_corruption`).
    fn has_foreign_data(&mut self, clock: &mut Clock, peb: PebIndex) -> Result<bool, AttachError> {
        let mut data = vec![0; to_usize(self.io.layout.leb_size)];
        match self.io.read_data(clock, peb, 0, &mut data) {
            Ok(Health::Clean) => Ok(!boardlab_mtd::is_erased(&data)),
            Ok(Health::Bitflips) => Ok(false),
            Err(error) if error.is_uncorrectable() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A block with a VID header. Returns whether its erase counter counts.
    fn mapped(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        state: EcState,
        header: &VidHeader,
    ) -> Result<bool, AttachError> {
        let volume = header.volume;
        let in_fastmap = [FASTMAP_ANCHOR, FASTMAP_DATA].contains(&volume);
        let fastmaps = self.options.fastmap != FastmapMode::Absent;
        let known = volume == LAYOUT_VOLUME || (fastmaps && in_fastmap);
        let listed = AttachPeb {
            volume: Some(volume),
            leb: Some(header.leb),
            ..AttachPeb::new(peb, state.ec)
        };
        if volume > VOLUMES_MAX && !known {
            match header.compat {
                Compat::Delete => {
                    self.info.erase.push_front(listed);
                    return Ok(false);
                }
                Compat::Preserve => {
                    self.info.alien_count += 1;
                    return Ok(false);
                }
                Compat::Reject => return Err(AttachError::Rejected { peb, volume }),
                Compat::ReadOnly | Compat::None => self.io.read_only = true,
            }
        }
        if in_fastmap {
            let entry = AttachPeb { leb: None, sqnum: header.sqnum, ..listed };
            self.info.fastmap.push_front(entry);
            return Ok(true);
        }
        let found = Candidate { peb, ec: state.ec, header, bitflips: state.bitflips };
        add_to_volume(self.io, clock, self.info, found, self.options.mistake)?;
        Ok(true)
    }
}
