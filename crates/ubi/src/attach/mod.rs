//! Attaching: finding out from the headers of all blocks which LEB is where.
//!
//! Layer: rank 4. Main types: [`AttachInfo`], the result; [`AttachPeb`] and [`AttachVolume`], its
//! parts. [`scan`] fills it from the headers, [`compare`] decides between two copies of a LEB.
//!
//! ```text
//!  EC header    VID header    the block goes to
//!  0xFF         -             erase list, erase counter unknown
//!  good         0xFF          free list
//!  bad          0xFF          erase list
//!  good         bad           erase list if the data are 0xFF or uncorrectable (a power cut);
//!                             otherwise corrupted: kept
//!  bad          bad           erase list
//!  any          good          its volume; of two copies of a LEB the older goes to the erase list
//! ```
//! Source: Linux 6.1, `drivers/mtd/ubi/attach.c`.

pub(crate) mod compare;
pub(crate) mod scan;

use crate::error::AttachError;
use crate::format::vid::{Compat, VidHeader};
use crate::format::vtbl::VolumeKind;
use crate::lebs::PebIndex;
use crate::tree::Tree;
use std::collections::{BTreeMap, VecDeque};

/// A block, as its headers describe it (`struct ubi_ainf_peb`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachPeb {
    pub(crate) peb: PebIndex,
    /// The erase counter; `None` until the mean is known.
    pub(crate) ec: Option<u32>,
    pub(crate) volume: Option<u32>,
    pub(crate) leb: Option<u32>,
    /// Whether its data must be moved, because of bit flips.
    pub(crate) scrub: bool,
    pub(crate) copy: bool,
    pub(crate) sqnum: u64,
}

impl AttachPeb {
    pub(crate) const fn new(peb: PebIndex, ec: Option<u32>) -> Self {
        Self { peb, ec, volume: None, leb: None, scrub: false, copy: false, sqnum: 0 }
    }
}

/// A volume, as the VID headers of its blocks describe it (`struct ubi_ainf_volume`).
#[derive(Debug, Clone)]
pub(crate) struct AttachVolume {
    pub(crate) id: u32,
    pub(crate) kind: VolumeKind,
    pub(crate) used_lebs: u32,
    pub(crate) data_pad: u32,
    #[allow(dead_code, reason = "part of what a header says")]
    pub(crate) compat: Compat,
    pub(crate) highest_leb: u32,
    pub(crate) last_data_size: u32,
    /// The blocks by LEB, and the tree that the kernel keeps them in: its shape orders removals.
    lebs: BTreeMap<u32, AttachPeb>,
    tree: Tree<u32>,
}

impl AttachVolume {
    pub(crate) fn new(id: u32, kind: VolumeKind, compat: Compat) -> Self {
        Self {
            id,
            kind,
            compat,
            used_lebs: 0,
            data_pad: 0,
            highest_leb: 0,
            last_data_size: 0,
            lebs: BTreeMap::new(),
            tree: Tree::new(),
        }
    }

    fn from_header(header: &VidHeader) -> Self {
        Self {
            used_lebs: header.payload.used_lebs(),
            data_pad: header.data_pad,
            ..Self::new(header.volume, header.payload.kind(), header.compat)
        }
    }

    /// The number of LEBs that are mapped.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.lebs.len()).expect("a device has fewer blocks")
    }

    pub(crate) fn leb(&self, leb: u32) -> Option<&AttachPeb> {
        self.lebs.get(&leb)
    }

    pub(crate) fn leb_mut(&mut self, leb: u32) -> Option<&mut AttachPeb> {
        self.lebs.get_mut(&leb)
    }

    /// The blocks in the order of their LEBs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &AttachPeb)> {
        self.lebs.iter().map(|(&leb, peb)| (leb, peb))
    }

    /// Adds the block of a LEB that has none.
    pub(crate) fn insert(&mut self, leb: u32, peb: AttachPeb) {
        self.tree.insert(leb);
        self.lebs.insert(leb, peb);
    }

    pub(crate) fn remove(&mut self, leb: u32) -> Option<AttachPeb> {
        self.tree.remove(leb);
        self.lebs.remove(&leb)
    }

    /// Whether a header agrees with those before (`validate_vid_hdr`).
    fn check(&self, header: &VidHeader) -> Result<(), AttachError> {
        if self.lebs.is_empty() {
            return Ok(());
        }
        let of_kind = |kind: VolumeKind| u32::from(kind.number());
        let pairs = [
            ("the type", of_kind(self.kind), of_kind(header.payload.kind())),
            ("the number of used LEBs", self.used_lebs, header.payload.used_lebs()),
            ("the padding", self.data_pad, header.data_pad),
        ];
        for (field, expected, found) in pairs {
            expect_equal(self.id, field, expected, found)?;
        }
        Ok(())
    }
}

/// An error unless a property of a volume is what it is elsewhere.
pub(crate) fn expect_equal(
    volume: u32,
    field: &'static str,
    expected: u32,
    found: u32,
) -> Result<(), AttachError> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (u64::from(expected), u64::from(found));
    Err(AttachError::Inconsistent { volume, field, expected, found })
}

/// What the headers of all blocks say (`struct ubi_attach_info`).
#[derive(Debug, Clone, Default)]
pub(crate) struct AttachInfo {
    pub(crate) volumes: BTreeMap<u32, AttachVolume>,
    pub(crate) corrupted: VecDeque<AttachPeb>,
    pub(crate) free: VecDeque<AttachPeb>,
    pub(crate) erase: VecDeque<AttachPeb>,
    pub(crate) fastmap: VecDeque<AttachPeb>,
    pub(crate) alien_count: u32,
    pub(crate) empty_count: u32,
    pub(crate) bad_count: u32,
    pub(crate) maybe_bad_count: u32,
    /// Whether nothing is on the flash.
    pub(crate) is_empty: bool,
    pub(crate) needs_full_scan: bool,
    pub(crate) max_ec: u32,
    pub(crate) mean_ec: u32,
    pub(crate) ec_sum: u64,
    pub(crate) ec_count: u32,
    pub(crate) max_sqnum: u64,
}

impl AttachInfo {
    /// Counts an erase counter.
    pub(crate) fn count_ec(&mut self, ec: u32) {
        self.ec_sum += u64::from(ec);
        self.ec_count += 1;
        self.max_ec = self.max_ec.max(ec);
    }

    /// Computes the mean of the counted erase counters.
    pub(crate) fn settle_mean(&mut self) {
        let mean = self.ec_sum.checked_div(u64::from(self.ec_count)).unwrap_or(0);
        self.mean_ec = u32::try_from(mean).expect("a mean of u32");
    }

    /// Gives blocks with an unknown erase counter the mean.
    fn fill_unknown(&mut self) {
        let mean = self.mean_ec;
        let in_volumes = self.volumes.values_mut().flat_map(|volume| volume.lebs.values_mut());
        let listed = self.free.iter_mut().chain(&mut self.corrupted).chain(&mut self.erase);
        for peb in in_volumes.chain(listed) {
            peb.ec.get_or_insert(mean);
        }
    }

    /// Drops a volume; its blocks are to be erased (`ubi_remove_av`).
    pub(crate) fn remove_volume(&mut self, id: u32) {
        let Some(mut volume) = self.volumes.remove(&id) else { return };
        for leb in volume.tree.postorder() {
            self.erase.extend(volume.lebs.remove(&leb));
        }
    }
}

impl AttachInfo {
    /// The number of blocks with data but without a VID header.
    pub(crate) fn corrupted_count(&self) -> u32 {
        u32::try_from(self.corrupted.len()).expect("a device has fewer blocks")
    }
}
