//! Attaches by a fastmap.
//!
//! Layer: rank 4. The headers of the first 64 blocks are read in any case: one of them is the anchor.
//! Then the fastmap, and the headers of the blocks of its pools. A fastmap that is damaged in any way
//! is not used: all blocks are scanned.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/fastmap.c`, `ubi_scan_fastmap` and `ubi_attach_fastmap`;
//! `attach.c`, `scan_fast`.

use super::{FastmapState, MapBlock};
use crate::attach::compare::compare;
use crate::attach::scan::Scan;
use crate::attach::{AttachInfo, AttachPeb, AttachVolume};
use crate::error::AttachError;
use crate::format::fastmap::{self, Block, Fastmap, Pool, START, SuperBlock};
use crate::format::vid::{Compat, VidHeader};
use crate::format::{FASTMAP_ANCHOR, FASTMAP_DATA, to_usize};
use crate::io::{Found, Health, Io};
use crate::lebs::{Error, PebIndex};
use crate::options::Options;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::collections::BTreeSet;

/// Why a fastmap is not used.
pub(crate) enum Unusable {
    /// There is none: the scan goes on after the blocks that were read (`UBI_NO_FASTMAP`).
    None(Box<AttachInfo>),
    /// It is damaged: the scan starts again (`UBI_BAD_FASTMAP`).
    Bad,
    /// The attach fails.
    Attach(AttachError),
}

/// Why a part of the fastmap is not accepted.
enum Refusal {
    None,
    Bad,
    Attach(AttachError),
}

impl From<AttachError> for Refusal {
    fn from(error: AttachError) -> Self {
        Self::Attach(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        if error.is_uncorrectable() { Self::Bad } else { Self::Attach(error.into()) }
    }
}

/// Looks for a fastmap and reads what it says.
pub(crate) fn attach<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    state: &mut FastmapState,
    options: &Options,
) -> Result<AttachInfo, Unusable> {
    let mut start = AttachInfo::default();
    for peb in 0..START {
        let mut scan = Scan { io, info: &mut start, options, fast: true };
        scan.peb(clock, PebIndex(peb)).map_err(Unusable::Attach)?;
    }
    let anchors = start.fastmap.iter().filter(|block| block.volume == Some(FASTMAP_ANCHOR));
    // Of two with the same sequence number the first counts, and none with the number zero.
    let newest = anchors.rev().max_by_key(|block| block.sqnum);
    let anchor = newest.filter(|block| block.sqnum > 0).map(|block| block.peb);
    let Some(anchor) = anchor.filter(|_| !start.needs_full_scan) else {
        return Err(Unusable::None(Box::new(start)));
    };
    let found: Vec<AttachPeb> = start.fastmap.iter().cloned().collect();
    let mut reader = Reader { io, options, info: AttachInfo::default() };
    found.into_iter().for_each(|block| reader.info.fastmap.push_front(block));
    match reader.read(clock, anchor, state) {
        Ok(()) => Ok(reader.info),
        Err(Refusal::None) => Err(Unusable::None(Box::new(start))),
        Err(Refusal::Bad) => Err(Unusable::Bad),
        Err(Refusal::Attach(error)) => Err(Unusable::Attach(error)),
    }
}

struct Reader<'a, M> {
    io: &'a mut Io<M>,
    options: &'a Options,
    info: AttachInfo,
}

impl<M: Mtd> Reader<'_, M> {
    fn read(
        &mut self,
        clock: &mut Clock,
        anchor: PebIndex,
        state: &mut FastmapState,
    ) -> Result<(), Refusal> {
        let mut first = [0; fastmap::SUPER_SIZE];
        let health = self.io.read_data(clock, anchor, 0, &mut first)?;
        let found = SuperBlock::parse(&first).map_err(|_| Refusal::Bad)?;
        if found.blocks.len() != to_usize(state.block_count) {
            return Err(Refusal::Bad);
        }
        let mut blocks = Vec::new();
        let mut bytes = Vec::new();
        for (index, block) in found.blocks.iter().enumerate() {
            let expected = (index == 0).then_some(anchor);
            let mut read = self.block(clock, block, expected, &mut bytes)?;
            read.torture |= index == 0 && health == Health::Bitflips;
            blocks.push(read);
        }
        let (_, map) = Fastmap::parse(&bytes).map_err(|_| Refusal::Bad)?;
        self.take(clock, &map, &blocks)?;
        state.blocks = Some(blocks);
        state.pool.size_max = map.pool.size_max;
        state.wl_pool.size_max = map.wl_pool.size_max;
        state.disabled = false;
        state.attached_fast = true;
        Ok(())
    }

    /// Reads a block of the fastmap with its headers.
    fn block(
        &mut self,
        clock: &mut Clock,
        block: &Block,
        anchor: Option<PebIndex>,
        bytes: &mut Vec<u8>,
    ) -> Result<MapBlock, Refusal> {
        let peb = PebIndex(block.peb);
        if block.peb >= self.io.layout.peb_count
            || self.io.is_bad(clock, peb)?
            || anchor.is_some_and(|anchor| anchor != peb)
        {
            return Err(Refusal::Bad);
        }
        let Found::Header { header, bitflips: torture } = self.io.read_ec(clock, peb)? else {
            return Err(Refusal::Bad);
        };
        if self.io.image_seq == 0 {
            self.io.image_seq = header.image_seq;
        }
        self.check_image(header.image_seq)?;
        let header = match self.io.read_vid(clock, peb)? {
            Found::Header { header, .. } => header,
            Found::Erased { bitflips: false } => return Err(Refusal::None),
            _ => return Err(Refusal::Bad),
        };
        let volume = if anchor.is_some() { FASTMAP_ANCHOR } else { FASTMAP_DATA };
        if header.volume != volume {
            return Err(Refusal::Bad);
        }
        self.info.max_sqnum = self.info.max_sqnum.max(header.sqnum);
        let mut data = vec![0; to_usize(self.io.layout.leb_size)];
        self.io.read_data(clock, peb, 0, &mut data)?;
        bytes.append(&mut data);
        Ok(MapBlock { peb, ec: block.ec, torture })
    }

    fn check_image(&self, found: u32) -> Result<(), Refusal> {
        let differs = found != 0 && found != self.io.image_seq;
        if differs { Err(Refusal::Bad) } else { Ok(()) }
    }

    /// Sorts the blocks of a fastmap as a scan would have (`ubi_attach_fastmap`).
    fn take(
        &mut self,
        clock: &mut Clock,
        map: &Fastmap,
        blocks: &[MapBlock],
    ) -> Result<(), Refusal> {
        let lists = [&map.free, &map.used, &map.scrub, &map.erase];
        let all = || lists.into_iter().flatten();
        let pools = || map.pool.pebs.iter().chain(&map.wl_pool.pebs);
        let count = self.io.layout.peb_count;
        if all().map(|block| &block.peb).chain(pools()).any(|&peb| peb >= count) {
            return Err(Refusal::Bad);
        }
        all().for_each(|block| self.info.count_ec(block.ec));
        self.info.settle_mean();
        self.info.bad_count = map.bad_count;
        let entry = |block: &Block, scrub| AttachPeb {
            scrub,
            ..AttachPeb::new(PebIndex(block.peb), Some(block.ec))
        };
        self.info.free.extend(map.free.iter().map(|block| entry(block, false)));
        let used = map.used.iter().map(|block| entry(block, false));
        let mut used: Vec<_> =
            used.chain(map.scrub.iter().map(|block| entry(block, true))).collect();
        self.info.erase.extend(map.erase.iter().map(|block| entry(block, true)));
        for volume in &map.volumes {
            self.volume(volume, &mut used)?;
        }
        let mut free = self.pool(clock, &map.pool)?;
        free.append(&mut self.pool(clock, &map.wl_pool)?);
        self.info.free.extend(free);
        self.info.erase.extend(used);
        self.check_completeness(map, blocks)
    }

    fn volume(
        &mut self,
        volume: &fastmap::Volume,
        used: &mut Vec<AttachPeb>,
    ) -> Result<(), Refusal> {
        if self.info.volumes.contains_key(&volume.id) {
            return Err(Refusal::Bad);
        }
        let mut added = AttachVolume::new(volume.id, volume.kind, Compat::None);
        added.data_pad = volume.data_pad;
        added.last_data_size = volume.last_bytes;
        if volume.kind == crate::VolumeKind::Static {
            added.used_lebs = volume.used_lebs;
        }
        for (leb, peb) in (0..).zip(&volume.mapping) {
            let Some(peb) = *peb else { continue };
            let position = used.iter().position(|block| block.peb == PebIndex(peb));
            let block = used.remove(position.ok_or(Refusal::Bad)?);
            added.highest_leb = added.highest_leb.max(leb);
            added.insert(leb, AttachPeb { leb: Some(leb), ..block });
        }
        self.info.volumes.insert(volume.id, added);
        Ok(())
    }

    /// Reads the headers of the blocks of a pool; returns those that are still free (`scan_pool`).
    fn pool(&mut self, clock: &mut Clock, pool: &Pool) -> Result<Vec<AttachPeb>, Refusal> {
        let mut free = Vec::new();
        for &peb in &pool.pebs {
            let peb = PebIndex(peb);
            if self.io.is_bad(clock, peb)? {
                return Err(Refusal::Bad);
            }
            let Found::Header { header: ec, bitflips } = self.io.read_ec(clock, peb)? else {
                return Err(Refusal::Bad);
            };
            self.check_image(ec.image_seq)?;
            let block = AttachPeb { scrub: bitflips, ..AttachPeb::new(peb, Some(ec.ec)) };
            match self.io.read_vid(clock, peb)? {
                Found::Erased { bitflips } => {
                    self.unmap(peb);
                    self.info.count_ec(ec.ec);
                    free.push(AttachPeb { scrub: block.scrub || bitflips, ..block });
                }
                Found::Header { header, bitflips } => {
                    self.info.max_sqnum = self.info.max_sqnum.max(header.sqnum);
                    let block = AttachPeb {
                        leb: Some(header.leb),
                        sqnum: header.sqnum,
                        copy: header.payload.is_copy(),
                        scrub: block.scrub || bitflips,
                        ..block
                    };
                    self.written(clock, block, &header)?;
                }
                Found::Bad { .. } => return Err(Refusal::Bad),
            }
        }
        Ok(free)
    }

    /// Unmaps a block that is mapped in the fastmap and empty on flash (`unmap_peb`).
    fn unmap(&mut self, peb: PebIndex) {
        for volume in self.info.volumes.values_mut() {
            let leb = volume.iter().find(|(_, block)| block.peb == peb).map(|(leb, _)| leb);
            if let Some(leb) = leb {
                volume.remove(leb);
                return;
            }
        }
    }

    /// A block that was written since the fastmap (`process_pool_aeb`, `update_vol`).
    fn written(
        &mut self,
        clock: &mut Clock,
        block: AttachPeb,
        header: &VidHeader,
    ) -> Result<(), Refusal> {
        if [FASTMAP_ANCHOR, FASTMAP_DATA].contains(&header.volume) {
            return Ok(());
        }
        let volume = self.info.volumes.get_mut(&header.volume).ok_or(Refusal::Bad)?;
        let Some(old) = volume.leb(header.leb) else {
            if volume.highest_leb <= header.leb {
                volume.highest_leb = header.leb;
                volume.last_data_size = header.payload.size();
            }
            if volume.kind == crate::VolumeKind::Static {
                volume.used_lebs = header.payload.used_lebs();
            }
            volume.insert(header.leb, block);
            return Ok(());
        };
        if old.peb == block.peb {
            return Ok(());
        }
        let verdict = compare(self.io, clock, old, (block.peb, header), self.options.mistake)?;
        if !verdict.second {
            self.info.erase.push_back(block);
            return Ok(());
        }
        if volume.highest_leb == header.leb {
            volume.last_data_size = header.payload.size();
        }
        let slot = volume.leb_mut(header.leb).expect("it was there above");
        let old = std::mem::replace(slot, block);
        self.info.erase.push_back(AttachPeb::new(old.peb, old.ec));
        Ok(())
    }

    /// Whether every block that is not bad is somewhere, and nowhere twice (`count_fastmap_pebs`).
    fn check_completeness(&self, map: &Fastmap, blocks: &[MapBlock]) -> Result<(), Refusal> {
        let info = &self.info;
        let mapped = info.volumes.values().flat_map(|volume| volume.iter().map(|(_, peb)| peb));
        let listed = info.free.iter().chain(&info.erase).chain(mapped).map(|block| block.peb);
        let pebs: Vec<_> = listed.chain(blocks.iter().map(|block| block.peb)).collect();
        let distinct: BTreeSet<_> = pebs.iter().collect();
        let good = self.io.layout.peb_count.checked_sub(map.bad_count).ok_or(Refusal::Bad)?;
        let complete = pebs.len() == to_usize(good) && distinct.len() == pebs.len();
        if complete { Ok(()) } else { Err(Refusal::Bad) }
    }
}
