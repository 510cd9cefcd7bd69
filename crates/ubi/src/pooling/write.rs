//! Writes a fastmap.
//!
//! Layer: rank 4. Source: Linux 6.1, `drivers/mtd/ubi/fastmap.c`, `ubi_update_fastmap` and
//! `ubi_write_fastmap`; `fastmap-wl.c`, `ubi_wl_put_fm_peb`.

use crate::device::Ubi;
use crate::fastmap::MapBlock;
use crate::format::fastmap::{BLOCKS_MAX, Block, Fastmap, Pool, Volume};
use crate::format::vid::{Compat, Payload, VidHeader};
use crate::format::{FASTMAP_ANCHOR, FASTMAP_DATA, to_usize};
use crate::lebs::{Error, PebIndex};
use crate::state::VolumeState;
use crate::wear::Work;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Ubi<M> {
    /// Fills the pools and writes a new fastmap to new blocks, or to the old ones where there are no
    /// others. A fastmap that cannot be written is given up. Nothing happens where the kernel writes
    /// none.
    ///
    /// # Errors
    /// After a power cut.
    pub fn update_fastmap(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.fastmap.is_none() {
            return Ok(());
        }
        self.refill_pools(clock)?;
        if self.io.read_only || !self.writes_fastmaps() {
            return Ok(());
        }
        let old = self.map().blocks.take();
        let mut old: Vec<_> = old.into_iter().flatten().map(Some).collect();
        let mut new = Vec::new();
        let written = match self.choose_blocks(clock, &mut old, &mut new) {
            Ok(()) => self.write_fastmap(clock, &new),
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => self.map().blocks = Some(new),
            Err(error) if error.is_power_cut() => return Err(error),
            Err(_) => {
                self.put_map_blocks(&mut old);
                let mut new: Vec<_> = new.into_iter().map(Some).collect();
                self.put_map_blocks(&mut new);
            }
        }
        self.ensure_anchor();
        Ok(())
    }

    fn put_map_blocks(&mut self, blocks: &mut [Option<MapBlock>]) {
        for (leb, block) in (0..).zip(blocks) {
            if let Some(block) = block.take() {
                self.put_map_block(block, leb);
            }
        }
    }

    /// Schedules the erase of a block of a fastmap.
    fn put_map_block(&mut self, block: MapBlock, leb: u32) {
        let MapBlock { peb, ec, torture } = block;
        if self.wl.ec_of(peb).is_none() {
            self.wl.enter(peb, ec);
        }
        let volume = Some(if leb == 0 { FASTMAP_ANCHOR } else { FASTMAP_DATA });
        self.wl.works.push_back(Work::Erase { peb, volume, leb: Some(leb), torture });
    }

    /// Chooses the blocks of a new fastmap, the anchor last. Blocks of the old one that are not used
    /// again are given back.
    fn choose_blocks(
        &mut self,
        clock: &mut Clock,
        old: &mut [Option<MapBlock>],
        new: &mut Vec<MapBlock>,
    ) -> Result<(), Error> {
        let count = self.map().block_count;
        if count > BLOCKS_MAX {
            return Err(Error::NoFreePeb);
        }
        let mut chosen = Vec::new();
        let result = (1..count).try_for_each(|leb| {
            let free = self.take_for_map(false);
            let block = self.choose_block(clock, old, leb, free)?;
            chosen.push(block);
            Ok(())
        });
        let kept = old.len().min(to_usize(count));
        let anchor = result.and_then(|()| {
            for (leb, block) in (count..).zip(&mut old[kept..]) {
                if let Some(block) = block.take() {
                    self.put_map_block(block, leb);
                }
            }
            let free = self.map().anchor.take();
            self.choose_block(clock, old, 0, free)
        });
        match anchor {
            Ok(anchor) => {
                new.push(anchor);
                new.append(&mut chosen);
                Ok(())
            }
            Err(error) => {
                (1..).zip(chosen).for_each(|(leb, block)| self.put_map_block(block, leb));
                Err(error)
            }
        }
    }

    /// One block of a new fastmap: a free one, or that of the old one, erased.
    fn choose_block(
        &mut self,
        clock: &mut Clock,
        old: &mut [Option<MapBlock>],
        leb: u32,
        free: Option<PebIndex>,
    ) -> Result<MapBlock, Error> {
        let before = old.get_mut(to_usize(leb));
        if let Some(peb) = free {
            if let Some(block) = before.and_then(Option::take) {
                self.put_map_block(block, leb);
            }
            let (ec, _) = self.wl.key(peb);
            return Ok(MapBlock { peb, ec, torture: false });
        }
        let slot = before.ok_or(Error::NoFreePeb)?;
        let block = slot.ok_or(Error::NoFreePeb)?;
        self.wl.enter(block.peb, block.ec);
        self.erase_now(clock, block.peb, block.torture)?;
        *slot = None;
        let (ec, _) = self.wl.key(block.peb);
        Ok(MapBlock { ec, torture: false, ..block })
    }

    /// What a fastmap of the present state says.
    fn fastmap_of_now(&mut self) -> Fastmap {
        let pebs = |list: &[PebIndex]| list.iter().map(|peb| peb.0).collect();
        let map = self.map();
        let pool = Pool { pebs: pebs(&map.pool.pebs), size_max: map.pool.size_max };
        let wl_pool = Pool { pebs: pebs(&map.wl_pool.pebs), size_max: map.wl_pool.size_max };
        let wl = &self.wl;
        let block = |(ec, peb): (u32, u32)| Block { peb, ec };
        let protected = wl.queue.iter().flatten().map(|&peb| wl.key(peb));
        let erased = wl.works.iter().filter_map(|work| match work {
            Work::Erase { peb, .. } => Some(block(wl.key(*peb))),
            Work::Level => None,
        });
        Fastmap {
            pool,
            wl_pool,
            free: wl.free.iter().map(block).collect(),
            used: wl.used.iter().chain(protected).map(block).collect(),
            scrub: wl.scrub.iter().map(block).collect(),
            erase: erased.collect(),
            bad_count: self.space.bad,
            volumes: self.volumes.iter().flatten().map(volume_of).collect(),
        }
    }

    fn write_fastmap(&mut self, clock: &mut Clock, blocks: &[MapBlock]) -> Result<(), Error> {
        let size = self.map().size;
        let places = blocks.iter().map(|block| Block { peb: block.peb.0, ec: block.ec });
        let places: Vec<_> = places.collect();
        let bytes = self.fastmap_of_now().bytes(&places, size);
        for (leb, block) in (0..).zip(blocks) {
            let header = VidHeader {
                volume: if leb == 0 { FASTMAP_ANCHOR } else { FASTMAP_DATA },
                leb,
                compat: Compat::Delete,
                data_pad: 0,
                payload: Payload::Dynamic,
                sqnum: self.next_sqnum(),
            };
            self.io.write_vid(clock, block.peb, &header)?;
        }
        let leb_size = to_usize(self.io.layout.leb_size);
        for (block, data) in blocks.iter().zip(bytes.chunks(leb_size)) {
            self.io.write_data(clock, block.peb, 0, data)?;
        }
        Ok(())
    }
}

fn volume_of(volume: &VolumeState) -> Volume {
    Volume {
        id: volume.id,
        kind: volume.kind,
        data_pad: volume.data_pad,
        used_lebs: volume.used_lebs,
        last_bytes: volume.last_bytes,
        mapping: volume.mapping().iter().map(|peb| peb.map(|peb| peb.0)).collect(),
    }
}
