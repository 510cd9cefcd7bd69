//! The volume table: read at attach, restored, written again at every change.
//!
//! Layer: rank 4. Main type: [`Table`]. Both copies are changed one after the other, each as an atomic
//! LEB change, so at least one is whole at any time.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/vtbl.c`.

use crate::attach::compare::{Candidate, add_to_volume};
use crate::attach::{AttachInfo, AttachPeb};
use crate::error::AttachError;
use crate::format::vid::{Compat, Payload, VidHeader};
use crate::format::vtbl::{self, Limits, Record, TableError, parse_table};
use crate::format::{EC_MAX, LAYOUT_LEBS, LAYOUT_VOLUME, to_usize};
use crate::io::{Health, Io};
use crate::lebs::{Error, PebIndex};
use crate::options::Options;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Blocks tried for a copy of the table after the first that cannot be written.
const TRIES: u32 = 5;

/// The volume table in memory: the bytes on flash, with those that fill the last write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    bytes: Vec<u8>,
    slots: u32,
}

impl Table {
    fn vacant(slots: u32, size: usize) -> Self {
        let mut bytes = Record::vacant().repeat(to_usize(slots));
        bytes.resize(size, 0);
        Self { bytes, slots }
    }

    /// The number of records.
    pub(crate) const fn slots(&self) -> u32 {
        self.slots
    }

    /// The bytes to write.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sets or clears a record.
    pub(crate) fn set(&mut self, id: u32, record: Option<&Record>) {
        let at = to_usize(id) * vtbl::SIZE;
        let new = record.map_or_else(Record::vacant, Record::bytes);
        self.bytes[at..at + vtbl::SIZE].copy_from_slice(&new);
    }
}

/// Finds the volume table, and restores a damaged copy (`ubi_read_volume_table`).
pub(crate) fn read<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    info: &mut AttachInfo,
    options: &Options,
) -> Result<(Table, Vec<Option<Record>>), AttachError> {
    let leb_size = io.layout.leb_size;
    let slots = vtbl::slots(leb_size);
    if slots == 0 {
        return Err(AttachError::SmallLebs { leb_size });
    }
    let size = (to_usize(slots) * vtbl::SIZE).next_multiple_of(to_usize(io.layout.min_io));
    let mut reader = Reader { io, info, options, slots, size };
    if reader.info.volumes.contains_key(&LAYOUT_VOLUME) {
        return reader.process(clock);
    }
    if !reader.info.is_empty {
        return Err(AttachError::NoTable);
    }
    let table = Table::vacant(slots, size);
    for copy in 0..LAYOUT_LEBS {
        reader.create(clock, copy, &table.bytes)?;
    }
    Ok((table, vec![None; to_usize(slots)]))
}

struct Reader<'a, M> {
    io: &'a mut Io<M>,
    info: &'a mut AttachInfo,
    options: &'a Options,
    slots: u32,
    size: usize,
}

impl<M: Mtd> Reader<'_, M> {
    /// Reads both copies and restores the damaged or older one (`process_lvol`).
    fn process(&mut self, clock: &mut Clock) -> Result<(Table, Vec<Option<Record>>), AttachError> {
        let [first, second] = self.read_copies(clock)?;
        let good_pebs = self.io.layout.peb_count - self.info.bad_count;
        let (leb_size, min_io) = (self.io.layout.leb_size, self.io.layout.min_io);
        let limits = Limits { leb_size, min_io, good_pebs };
        let slots = self.slots;
        let damage = match first.as_deref().map(|bytes| parse_table(bytes, limits)) {
            Some(Ok(records)) => {
                let bytes = first.unwrap_or_default();
                if second.as_ref() != Some(&bytes) {
                    self.create(clock, 1, &bytes)?;
                }
                return Ok((Table { bytes, slots }, records));
            }
            Some(Err(damage @ TableError::Damaged { .. })) => Some(damage),
            Some(Err(illegal)) => return Err(AttachError::Table(illegal)),
            None => None,
        };
        match second.as_deref().map(|bytes| parse_table(bytes, limits)) {
            Some(Ok(records)) => {
                let bytes = second.unwrap_or_default();
                self.create(clock, 0, &bytes)?;
                Ok((Table { bytes, slots }, records))
            }
            Some(Err(cause)) => Err(AttachError::Table(cause)),
            None => Err(damage.map_or(AttachError::NoTable, AttachError::Table)),
        }
    }

    fn read_copies(&mut self, clock: &mut Clock) -> Result<[Option<Vec<u8>>; 2], AttachError> {
        let mut copies = [None, None];
        let layout = self.info.volumes.get_mut(&LAYOUT_VOLUME);
        let layout = layout.expect("the caller found the layout volume");
        if let Some((leb, _)) = layout.iter().find(|&(leb, _)| leb >= LAYOUT_LEBS) {
            return Err(AttachError::LayoutLeb { leb });
        }
        for (slot, leb) in copies.iter_mut().zip(0..) {
            let Some(block) = layout.leb_mut(leb) else { continue };
            let mut bytes = vec![0; self.size];
            match self.io.read_data(clock, block.peb, 0, &mut bytes) {
                Ok(Health::Clean) => {}
                Ok(Health::Bitflips) => block.scrub = true,
                Err(error) if error.is_uncorrectable() => block.scrub = true,
                Err(error) => return Err(error.into()),
            }
            *slot = Some(bytes);
        }
        Ok(copies)
    }

    /// Writes a copy of the table to a new block (`create_vtbl`).
    fn create(&mut self, clock: &mut Clock, copy: u32, table: &[u8]) -> Result<(), AttachError> {
        let mut tries = 0;
        loop {
            let block = self.take_block(clock)?;
            self.info.max_sqnum += 1;
            let header = VidHeader {
                volume: LAYOUT_VOLUME,
                leb: copy,
                compat: Compat::Reject,
                data_pad: 0,
                payload: Payload::Dynamic,
                sqnum: self.info.max_sqnum,
            };
            let peb = block.peb;
            let written = self.io.write_vid(clock, peb, &header);
            match written.and_then(|()| self.io.write_data(clock, peb, 0, table)) {
                Ok(()) => {
                    let found = Candidate { peb, ec: block.ec, header: &header, bitflips: false };
                    let mistake = self.options.mistake;
                    return add_to_volume(self.io, clock, self.info, found, mistake);
                }
                Err(error) if error.is_io() && tries < TRIES => {
                    tries += 1;
                    self.info.erase.push_front(block);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A free block, or one that is erased for this (`ubi_early_get_peb`).
    fn take_block(&mut self, clock: &mut Clock) -> Result<AttachPeb, AttachError> {
        if let Some(block) = self.info.free.pop_front() {
            return Ok(block);
        }
        for index in 0..self.info.erase.len() {
            let block = &mut self.info.erase[index];
            let ec = *block.ec.get_or_insert(self.info.mean_ec);
            let peb = block.peb;
            let next = ec.saturating_add(1);
            match erase_early(self.io, clock, peb, next) {
                Ok(()) => {
                    let mut block = self.info.erase.remove(index).expect("it is in the list");
                    block.ec = Some(next);
                    return Ok(block);
                }
                Err(error) if error.is_power_cut() => return Err(error.into()),
                Err(_) => {}
            }
        }
        Err(AttachError::Operation(Error::NoFreePeb))
    }
}

/// Erases a block and writes its EC header (`early_erase_peb`).
fn erase_early<M: Mtd>(
    io: &mut Io<M>,
    clock: &mut Clock,
    peb: PebIndex,
    ec: u32,
) -> Result<(), Error> {
    if ec >= EC_MAX {
        return Err(Error::EraseCounter { peb });
    }
    io.erase(clock, peb, false)?;
    io.write_ec(clock, peb, ec)
}
