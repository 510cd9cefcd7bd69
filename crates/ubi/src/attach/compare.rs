//! Two blocks hold one LEB: which of them counts.
//!
//! Layer: rank 4. The newer one does, unless it is a copy whose data are incomplete: then the power
//! was cut before the copy was complete, and the older one is whole.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/attach.c`, `ubi_compare_lebs` and `ubi_add_to_av`.

use super::{AttachInfo, AttachPeb, AttachVolume};
use crate::error::AttachError;
use crate::format::vid::VidHeader;
use crate::format::{crc, to_usize};
use crate::io::{Found, Health, Io};
use crate::lebs::PebIndex;
use crate::options::Mistake;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Whether the block found second counts.
    pub(crate) second: bool,
    /// Whether the one that counts had bit flips.
    pub(crate) bitflips: bool,
    /// Whether the newer one is damaged.
    pub(crate) damaged: bool,
}

/// A block with a VID header, as it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) peb: PebIndex,
    pub(crate) ec: Option<u32>,
    pub(crate) header: &'a VidHeader,
    pub(crate) bitflips: bool,
}

/// Compares a block that was found before with another one of the same LEB.
pub(crate) fn compare<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    first: &AttachPeb,
    (second_peb, second): (PebIndex, &VidHeader),
    mistake: Option<Mistake>,
) -> Result<Verdict, AttachError> {
    if second.sqnum == first.sqnum {
        let sqnum = first.sqnum;
        return Err(AttachError::SameSqnum { first: first.peb, second: second_peb, sqnum });
    }
    let newer_is_second =
        (second.sqnum > first.sqnum) != (mistake == Some(Mistake::PrefersOldCopies));
    let plain = Verdict { second: newer_is_second, bitflips: false, damaged: false };
    let newer_is_copy = if newer_is_second { second.payload.is_copy() } else { first.copy };
    if !newer_is_copy || mistake == Some(Mistake::TrustsCopies) {
        return Ok(plain);
    }
    let (peb, header, mut bitflips) = if newer_is_second {
        (second_peb, *second, false)
    } else {
        match io.read_vid(clock, first.peb)? {
            Found::Header { header, bitflips } => (first.peb, header, bitflips),
            _ => return Err(AttachError::Vanished { peb: first.peb }),
        }
    };
    let Some(extent) = header.payload.extent() else { return Ok(plain) };
    let mut data = vec![0; to_usize(extent.size)];
    let flawed = match io.read_data(clock, peb, 0, &mut data) {
        Ok(health) => health == Health::Bitflips,
        Err(error) if error.is_uncorrectable() => true,
        Err(error) => return Err(error.into()),
    };
    if crc(&data) != extent.crc {
        return Ok(Verdict { second: !newer_is_second, bitflips: false, damaged: true });
    }
    bitflips |= flawed;
    Ok(Verdict { bitflips, ..plain })
}

/// Adds a block to its volume (`ubi_add_to_av`).
pub(crate) fn add_to_volume<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    info: &mut AttachInfo,
    found: Candidate<'_>,
    mistake: Option<Mistake>,
) -> Result<(), AttachError> {
    let Candidate { peb, ec, header, bitflips } = found;
    info.max_sqnum = info.max_sqnum.max(header.sqnum);
    let volume = info.volumes.entry(header.volume);
    let volume = volume.or_insert_with(|| AttachVolume::from_header(header));
    let mut new = AttachPeb {
        volume: Some(header.volume),
        leb: Some(header.leb),
        scrub: bitflips,
        copy: header.payload.is_copy(),
        sqnum: header.sqnum,
        ..AttachPeb::new(peb, ec)
    };
    let Some(old) = volume.leb(header.leb) else {
        volume.check(header)?;
        if volume.highest_leb <= header.leb {
            volume.highest_leb = header.leb;
            volume.last_data_size = header.payload.size();
        }
        volume.insert(header.leb, new);
        return Ok(());
    };
    let verdict = compare(io, clock, old, (peb, header), mistake)?;
    let loser = if verdict.second {
        volume.check(header)?;
        new.scrub |= verdict.bitflips;
        if volume.highest_leb == header.leb {
            volume.last_data_size = header.payload.size();
        }
        let slot = volume.leb_mut(header.leb).expect("it was there above");
        std::mem::replace(slot, new)
    } else {
        new
    };
    let loser =
        AttachPeb { volume: loser.volume, leb: loser.leb, ..AttachPeb::new(loser.peb, loser.ec) };
    if verdict.damaged {
        info.erase.push_front(loser);
    } else {
        info.erase.push_back(loser);
    }
    Ok(())
}
